// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/stall/cause.h"

const struct phase_name *cause_name(int cause)
{
	static const struct phase_name mixed = { "mixed", "mixed" };

	if (cause < PHASE_GROUPS)
		return &phase_group_names[cause];
	return cause == CAUSE_MIXED ? &mixed : &phase_state_names[cause - PHASE_GROUPS];
}

/* ---- the chain ---- */

static bool is_half(const struct stall_cause *cause, uint64_t ns)
{
	return ns && ns >= cause->whole - ns;
}

static void add_step(struct stall_cause *cause, const char *title,
		     const struct stall_slice *shrinker, uint64_t ns)
{
	cause->steps[cause->nr_steps++] = (struct cause_step){ title, shrinker, ns };
}

/* Finds the state with half, in all phases together. Of equals STATE_WAITED is first, STATE_RUNNING last. */
static void find_state(struct stall_cause *cause, const struct phases *phases)
{
	cause->state = STATE_UNKNOWN;
	for (int state = STATE_UNKNOWN - 1; state >= 0; state--) {
		uint64_t ns = phases_state(phases, state);

		if (!is_half(cause, ns) ||
		    (state == STATE_RUNNING && cause->state != STATE_UNKNOWN))
			continue;
		cause->state = (enum phase_state)state;
		cause->state_ns = ns;
	}
}

/*
 * Two groups at most are half of a stall: the first of equals is the cause, and PHASE_OUTSIDE comes
 * last. Returns the sum of all but @except.
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
		add_step(cause, phase_group_names[group].title, NULL, ns);
}

/* Goes on from a group to its part and its shrinker. */
static void add_parts(struct stall_cause *cause, const struct stall *stall, int group)
{
	const struct phases *phases = &stall->phases;
	int half = -1;

	for (int part = 0; part < PHASE_PARTS && phases_is_reclaim(group); part++)
		if (is_half(cause, phases_part(phases, group, part)) &&
		    (half < 0 ||
		     phases_part(phases, group, part) > phases_part(phases, group, half)))
			half = part;
	if (half >= 0)
		add_step(cause, phase_part_names[half].title, NULL,
			 phases_part(phases, group, half));
	for (size_t i = 0; half == PART_SHRINKERS && i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];

		if ((int)shrinker->group != group || !is_half(cause, shrinker->ns))
			continue;
		/* Without an object to scan do_shrink_slab() has nothing to do between its events. */
		add_step(cause,
			 shrinker->freed ? NULL :
			 shrinker->scanned || !shrinker->in[STATE_UNKNOWN] ?
					   "one that freed nothing" :
					   "one that freed nothing (asleep, or not running)",
			 shrinker->freed ? shrinker : NULL, shrinker->ns);
		return;
	}
}

void stall_cause(const struct stall *stall, struct stall_cause *cause)
{
	const struct phases *phases = &stall->phases;
	int group, second;
	uint64_t ns;

	cause->whole = largest_group(phases, -1, &group, &cause->ns);
	cause->which = group >= 0 && is_half(cause, cause->ns) ? group : CAUSE_MIXED;
	cause->nr_steps = 0;
	find_state(cause, phases);
	add_group(cause, group, cause->ns);
	if (cause->state == STATE_RUNNING && cause->which != PHASE_OUTSIDE)
		cause->state = STATE_UNKNOWN;
	if (cause->state == STATE_WAITED ||
	    (cause->state > STATE_WAITED && cause->state < STATE_UNKNOWN &&
	     (cause->which == CAUSE_MIXED || cause->which == PHASE_OUTSIDE))) {
		cause->nr_steps = cause->which != CAUSE_MIXED;
		cause->which = CAUSE_OF_STATE(cause->state);
		cause->ns = cause->state_ns;
	} else if (cause->which == CAUSE_MIXED) {
		largest_group(phases, group, &second, &ns);
		add_group(cause, second, ns);
	} else {
		add_parts(cause, stall, group);
	}
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
	return cause->whole ? (unsigned int)(cause->ns * 10000 / cause->whole) : 0;
}

static unsigned int rounded_percent(const struct stall_cause *cause, uint64_t ns)
{
	uint64_t whole = cause->whole;
	unsigned int percent = whole ? (unsigned int)((ns * 100 + whole / 2) / whole) : 0;

	return cause->which == CAUSE_MIXED && percent > 49 ? 49 : percent; /* 49.6 % is not half */
}

unsigned int cause_percent(const struct stall_cause *cause)
{
	return rounded_percent(cause, cause->ns);
}

static bool is_state(const struct stall_cause *cause)
{
	return cause->which >= PHASE_GROUPS && cause->which != CAUSE_MIXED;
}

/* Appends "inactive list 95 %", with a separator before it unless it is the first. */
static void add_share(const struct stall_cause *cause, char text[STALL_CAUSE_MAX],
		      const char *separator, const char *name, uint64_t ns)
{
	char percent[TEXT_NUMBER_MAX + 1];
	size_t used = strlen(text);

	*text_unsigned(percent, rounded_percent(cause, ns)) = '\0';
	used = text_append(text, STALL_CAUSE_MAX, used, used ? separator : "");
	used = text_append(text, STALL_CAUSE_MAX, used, name);
	used = text_append(text, STALL_CAUSE_MAX, used, " ");
	used = text_append(text, STALL_CAUSE_MAX, used, percent);
	text_append(text, STALL_CAUSE_MAX, used, " %");
}

void shrinker_add_freed(const struct stall_slice *shrinker, char *text, size_t size)
{
	size_t used = strlen(text);

	used += snprintf(text + used, size - used, " (freed %" PRIu64, shrinker->freed);
	if (shrinker->scanned && used < size)
		used += snprintf(text + used, size - used, " of %" PRIu64, shrinker->scanned);
	text_append(text, size, used, ")");
}

static void add_steps(struct resolver *resolver, const struct stall_cause *cause, size_t from,
		      char text[STALL_CAUSE_MAX])
{
	text[0] = '\0';
	for (size_t i = from; i < cause->nr_steps; i++) {
		const struct cause_step *step = &cause->steps[i];
		char name[STALL_CAUSE_MAX];

		if (step->shrinker) {
			resolver_shrinker(resolver, step->shrinker->shrinker,
					  step->shrinker->callback, name, 2 * STALL_FUNCTION_MAX);
			shrinker_add_freed(step->shrinker, name, sizeof(name));
		}
		add_share(cause, text, cause->which == CAUSE_MIXED ? ", " : ": ",
			  step->shrinker ? name : step->title, step->ns);
	}
	/* It is not of the last step alone. */
	if (cause->state != STATE_UNKNOWN && !is_state(cause))
		add_share(cause, text, "; ", phase_state_names[cause->state].title,
			  cause->state_ns);
}

void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX])
{
	add_steps(resolver, cause, cause->which < PHASE_GROUPS, text);
}

void cause_text(struct resolver *resolver, const struct stall *stall, char text[STALL_CAUSE_MAX])
{
	struct stall_cause cause;

	stall_cause(stall, &cause);
	if (is_state(&cause)) {
		text_append(text, STALL_CAUSE_MAX, 0, cause.nr_steps ? cause.steps[0].title : "");
		add_share(&cause, text, "; ", cause_name(cause.which)->title, cause.ns);
		return;
	}
	add_steps(resolver, &cause, 0, text);
	if (!cause.nr_steps)
		text_append(text, STALL_CAUSE_MAX, 0, "not known");
	else if (cause.which == PHASE_OUTSIDE && phases_state(&stall->phases, STATE_UNKNOWN))
		text_append(text, STALL_CAUSE_MAX, strlen(text), ", not traced");
}
