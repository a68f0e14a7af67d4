// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "allocfilt/stall.h"

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

static void add_step(struct stall_cause *cause, enum cause_kind kind, int which, uint64_t ns)
{
	cause->steps[cause->nr_steps++] =
		(struct cause_step){ .kind = kind, .which = which, .ns = ns };
}

/* A state in which a task does not run, if it is half in this group and part; -1: in all of them. */
static void add_state(struct stall_cause *cause, const struct phases *phases, int group, int part)
{
	for (int state = STATE_RAN + 1; state < PHASE_STATES; state++) {
		uint64_t ns = 0;

		for (int i = 0; i < PHASE_GROUPS; i++)
			for (int j = 0; j < PHASE_PARTS; j++)
				if ((group < 0 || i == group) && (part < 0 || j == part))
					ns += phases->ns[i][j][state];
		if (!is_half(cause, ns))
			continue;
		add_step(cause, CAUSE_STATE, state, ns);
		return;
	}
}

/* Two groups at most are half of a stall: the first of equals is the cause, and the rest comes last. */
static int largest_group(const struct phases *phases, int except)
{
	int largest = -1;

	for (int group = 0; group < PHASE_GROUPS; group++)
		if (group != except && phases_group(phases, group) &&
		    (largest < 0 || phases_group(phases, group) > phases_group(phases, largest)))
			largest = group;
	return largest;
}

static void explain_group(struct stall_cause *cause, const struct stall *stall, int group)
{
	const struct phases *phases = &stall->phases;
	int half = -1;

	for (int part = 0; part < PHASE_PARTS && phases_is_reclaim(group); part++)
		if (is_half(cause, phases_part(phases, group, part)) &&
		    (half < 0 ||
		     phases_part(phases, group, part) > phases_part(phases, group, half)))
			half = part;
	if (half >= 0)
		add_step(cause, CAUSE_PART, half, phases_part(phases, group, half));
	for (size_t i = 0; half == PART_SHRINKERS && i < stall->nr_shrinkers; i++) {
		const struct stall_shrinker *shrinker = &stall->shrinkers[i];

		if ((int)shrinker->group != group || !is_half(cause, shrinker->ns))
			continue;
		add_step(cause, CAUSE_SHRINKER, 0, shrinker->ns);
		cause->steps[cause->nr_steps - 1].shrinker = shrinker;
		return;
	}
	add_state(cause, phases, group, half);
}

void stall_cause(const struct stall *stall, struct stall_cause *cause)
{
	const struct phases *phases = &stall->phases;
	int first = largest_group(phases, -1), second;

	*cause = (struct stall_cause){ .whole = phases_total(phases) };
	if (first >= 0 && is_half(cause, phases_group(phases, first))) {
		add_step(cause, CAUSE_GROUP, first, phases_group(phases, first));
		explain_group(cause, stall, first);
		return;
	}
	add_state(cause, phases, -1, -1);
	if (cause->nr_steps)
		return;
	cause->mixed = true;
	second = largest_group(phases, first);
	if (first >= 0)
		add_step(cause, CAUSE_GROUP, first, phases_group(phases, first));
	if (second >= 0)
		add_step(cause, CAUSE_GROUP, second, phases_group(phases, second));
}

/* ---- its names ---- */

/* The rest says nothing where it is known what the task did instead. */
static size_t first_step(const struct stall_cause *cause)
{
	return !cause->mixed && cause->nr_steps > 1 && cause->steps[0].which == PHASE_REST;
}

int cause_of(const struct stall_cause *cause)
{
	const struct cause_step *step = &cause->steps[first_step(cause)];

	if (cause->mixed)
		return CAUSE_MIXED;
	return step->kind == CAUSE_STATE ? CAUSE_OF_STATE(step->which) : step->which;
}

unsigned int cause_share(const struct stall_cause *cause)
{
	const struct cause_step *step = &cause->steps[first_step(cause)];

	return cause->whole ? (unsigned int)(step->ns * 10000 / cause->whole) : 0;
}

void cause_step_name(struct resolver *resolver, const struct cause_step *step, char *text,
		     size_t size)
{
	switch (step->kind) {
	case CAUSE_GROUP:
		snprintf(text, size, "%s", phase_group_names[step->which].title);
		break;
	case CAUSE_PART:
		snprintf(text, size, "%s", phase_part_names[step->which].title);
		break;
	case CAUSE_STATE:
		snprintf(text, size, "%s", phase_state_names[step->which].title);
		break;
	case CAUSE_SHRINKER:
		resolver_shrinker(resolver, step->shrinker->shrinker, step->shrinker->callback,
				  text, size);
		break;
	}
}

/* Of a step, rounded. */
static unsigned int step_percent(const struct stall_cause *cause, const struct cause_step *step)
{
	unsigned int percent;

	if (!cause->whole)
		return 0;
	percent = (unsigned int)((step->ns * 100 + cause->whole / 2) / cause->whole);
	return cause->mixed && percent > 49 ? 49 : percent; /* 49.6 % is not half */
}

unsigned int cause_percent(const struct stall_cause *cause)
{
	return step_percent(cause, &cause->steps[first_step(cause)]);
}

static void add_steps(struct resolver *resolver, const struct stall_cause *cause, size_t from,
		      char text[STALL_CAUSE_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = from; i < cause->nr_steps && used < STALL_CAUSE_MAX; i++) {
		const struct cause_step *step = &cause->steps[i];
		char name[2 * STALL_FUNCTION_MAX];

		cause_step_name(resolver, step, name, sizeof(name));
		used += (size_t)snprintf(text + used, STALL_CAUSE_MAX - used, "%s%s %u %%",
					 i == from    ? "" :
					 cause->mixed ? ", " :
							": ",
					 name, step_percent(cause, step));
	}
}

void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX])
{
	add_steps(resolver, cause, cause->mixed ? 0 : first_step(cause) + 1, text);
}

void cause_text(struct resolver *resolver, const struct stall_cause *cause,
		char text[STALL_CAUSE_MAX])
{
	size_t used;

	add_steps(resolver, cause, first_step(cause), text);
	used = strlen(text);
	if (cause->mixed)
		snprintf(text + used, STALL_CAUSE_MAX - used, "%snothing is half of it",
			 used ? "; " : "");
	else if (cause_of(cause) == PHASE_REST)
		snprintf(text + used, STALL_CAUSE_MAX - used,
			 ", which no slow run of a traced function explains");
}
