// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "allocfilt/stall/cause.h"

const struct phase_name *cause_name(int cause)
{
	static const struct phase_name mixed = { "several", "mixed" };

	if (cause < PHASE_GROUPS)
		return &phase_group_names[cause];
	return cause == CAUSE_MIXED ? &mixed : &phase_state_names[cause - PHASE_GROUPS];
}

/* ---- the chain ---- */

static bool is_half(const struct stall_cause *cause, uint64_t ns)
{
	return ns && ns >= cause->whole - ns;
}

static void add_step(struct stall_cause *cause, const char *title, uint64_t ns)
{
	cause->steps[cause->nr_steps++] = (struct cause_step){ .title = title, .ns = ns };
}

/* Returns the state off the CPU that has half of this group and part; -1: no one has. */
static int half_state(const struct stall_cause *cause, const struct phases *phases, int group,
		      int part, uint64_t *ret_ns)
{
	uint64_t ns[PHASE_STATES] = { 0 };

	if (!phases_off_cpu(phases))
		return -1;
	PHASES_FOREACH(i, phases) {
		if (group >= 0 && i != group)
			continue;
		for (int j = 0; j < phases_parts(i); j++)
			for (int state = 0; state < PHASE_STATES && (part < 0 || j == part);
			     state++)
				ns[state] += phases->ns[i][j][state];
	}
	for (int state = STATE_RUNNING + 1; state < STATE_UNKNOWN; state++) {
		*ret_ns = ns[state];
		if (is_half(cause, ns[state]))
			return state;
	}
	return -1;
}

/*
 * Two groups at most are half of a stall: the first of equals is the cause, and time outside reclaim comes last.
 * Returns the sum of all but @except.
 */
static inline uint64_t largest_group(const struct phases *phases, int except, int *ret_group,
				     uint64_t *ret_ns)
{
	uint64_t sum = 0;

	*ret_group = -1;
	*ret_ns = 0;
	PHASES_FOREACH(group, phases) {
		uint64_t ns = group == except ? 0 : phases_group(phases, group);

		sum += ns;
		if (ns <= *ret_ns)
			continue;
		*ret_ns = ns;
		*ret_group = group;
	}
	return sum;
}

static void add_group(struct stall_cause *cause, int group, uint64_t ns)
{
	if (group >= 0)
		add_step(cause, phase_group_names[group].title, ns);
}

/* Nothing is half in all groups together, either. */
static void explain_mixed(struct stall_cause *cause, const struct phases *phases, int first,
			  uint64_t most)
{
	uint64_t ns;
	int state = half_state(cause, phases, -1, -1, &ns), second;

	if (state >= 0) {
		cause->which = CAUSE_OF_STATE(state);
		add_step(cause, phase_state_names[state].title, ns);
		return;
	}
	cause->which = CAUSE_MIXED;
	add_group(cause, first, most);
	largest_group(phases, first, &second, &ns);
	add_group(cause, second, ns);
}

static void explain_group(struct stall_cause *cause, const struct stall *stall)
{
	const struct phases *phases = &stall->phases;
	int group = cause->which, half = -1, state;
	uint64_t ns;

	for (int part = 0; part < PHASE_PARTS && phases_is_reclaim(group); part++)
		if (is_half(cause, phases_part(phases, group, part)) &&
		    (half < 0 ||
		     phases_part(phases, group, part) > phases_part(phases, group, half)))
			half = part;
	if (half >= 0)
		add_step(cause, phase_part_names[half].title, phases_part(phases, group, half));
	for (size_t i = 0; half == PART_SHRINKERS && i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];

		if ((int)shrinker->group != group || !is_half(cause, shrinker->ns))
			continue;
		add_step(cause, NULL, shrinker->ns);
		cause->steps[cause->nr_steps - 1].shrinker = shrinker;
		return;
	}
	state = half_state(cause, phases, group, half, &ns);
	if (state < 0)
		return;
	/* The state of the task explains more than "outside" does. */
	if (group == PHASE_OUTSIDE) {
		cause->which = CAUSE_OF_STATE(state);
		cause->nr_steps = 0;
	}
	add_step(cause, phase_state_names[state].title, ns);
}

void stall_cause(const struct stall *stall, struct stall_cause *cause)
{
	const struct phases *phases = &stall->phases;
	uint64_t most;
	int first;

	cause->whole = largest_group(phases, -1, &first, &most);
	cause->which = first;
	cause->nr_steps = 0;
	if (first < 0 || !is_half(cause, most)) {
		explain_mixed(cause, phases, first, most);
		return;
	}
	add_group(cause, first, most);
	if (first != PHASE_OUTSIDE || phases_off_cpu(phases))
		explain_group(cause, stall);
}

int cause_which(const struct stall *stall)
{
	struct stall_cause cause;

	stall_cause(stall, &cause);
	return cause.which;
}

/* ---- its text ---- */

unsigned int cause_share(const struct stall_cause *cause)
{
	return cause->whole ? (unsigned int)(cause->steps[0].ns * 10000 / cause->whole) : 0;
}

/* Share of a step, rounded. */
static unsigned int step_percent(const struct stall_cause *cause, const struct cause_step *step)
{
	unsigned int percent;

	if (!cause->whole)
		return 0;
	percent = (unsigned int)((step->ns * 100 + cause->whole / 2) / cause->whole);
	return cause->which == CAUSE_MIXED && percent > 49 ? 49 : percent; /* 49.6 % is not half */
}

unsigned int cause_percent(const struct stall_cause *cause)
{
	return step_percent(cause, &cause->steps[0]);
}

static void add_steps(struct resolver *resolver, const struct stall_cause *cause, size_t from,
		      char text[STALL_CAUSE_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = from; i < cause->nr_steps; i++) {
		const struct cause_step *step = &cause->steps[i];
		const char *before = cause->which == CAUSE_MIXED ? ", " : ": ";
		char name[2 * STALL_FUNCTION_MAX], percent[TEXT_NUMBER_MAX + 1];

		if (step->shrinker)
			resolver_shrinker(resolver, step->shrinker->shrinker,
					  step->shrinker->callback, name, sizeof(name));
		*text_unsigned(percent, step_percent(cause, step)) = '\0';
		used = text_append(text, STALL_CAUSE_MAX, used, i == from ? "" : before);
		used = text_append(text, STALL_CAUSE_MAX, used,
				   step->shrinker ? name : step->title);
		used = text_append(text, STALL_CAUSE_MAX, used, " ");
		used = text_append(text, STALL_CAUSE_MAX, used, percent);
		used = text_append(text, STALL_CAUSE_MAX, used, " %");
	}
}

void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX])
{
	add_steps(resolver, cause, cause->which == CAUSE_MIXED ? 0 : 1, text);
}

void cause_text(struct resolver *resolver, const struct stall *stall, char text[STALL_CAUSE_MAX])
{
	struct stall_cause cause;
	size_t used;

	stall_cause(stall, &cause);
	add_steps(resolver, &cause, 0, text);
	used = strlen(text);
	if (cause.which == CAUSE_MIXED)
		snprintf(text + used, STALL_CAUSE_MAX - used, "%snothing is half of it",
			 used ? "; " : "");
	else if (cause.which == PHASE_OUTSIDE)
		snprintf(text + used, STALL_CAUSE_MAX - used,
			 ", which no slow run of a traced function explains");
}
