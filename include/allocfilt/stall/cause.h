/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_CAUSE_H
#define ALLOCFILT_STALL_CAUSE_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/stall/stall.h"

/*
 * The cause of a stall: a chain from the whole downwards. Each step is a part of the step before it
 * and at least half of the stall, so the chain is never a guess. CAUSE_MIXED has no chain: the two
 * groups with most time are named.
 */

struct cause_step {
	const char *title;
	const struct stall_slice
		*shrinker; /* shown instead of the title; NULL: the title is shown */
	uint64_t ns;
};

#define CAUSE_STEPS_MAX 3

/*
 * A wait for a CPU that has half of the stall, in all phases together, is the cause. Else the cause is
 * the group of phases with half; if there is none, or if that is PHASE_OUTSIDE, another state off
 * the CPU with half: inside reclaim a task sleeps because of the reclaim. CAUSE_MIXED: no group and no
 * state off the CPU has half. Its number is that of STATE_RUNNING, which is no cause; nor is
 * STATE_UNKNOWN, the last one.
 */
#define CAUSE_OF_STATE(state) (PHASE_GROUPS + (state))
#define CAUSE_MIXED	      CAUSE_OF_STATE(STATE_RUNNING)
#define CAUSES		      CAUSE_OF_STATE(STATE_UNKNOWN)

struct stall_cause {
	int which;	/* below CAUSES */
	uint64_t whole; /* ns: of the stall */
	uint64_t ns;	/* of the cause; of CAUSE_MIXED the largest group */
	size_t nr_steps;
	/* of a state the group with half, if there is one; of CAUSE_MIXED two groups at most */
	struct cause_step steps[CAUSE_STEPS_MAX];
	/*
	 * The state with half of the stall: one off the CPU, or STATE_RUNNING where the cause is
	 * PHASE_OUTSIDE. STATE_UNKNOWN: none.
	 */
	enum phase_state state;
	uint64_t state_ns;
};

/* Stalls with the same cause. */
struct cause_sum {
	uint64_t count;
	uint64_t total; /* ns */
};

/** cause_name - title and key of a cause below CAUSES */
const struct phase_name *cause_name(int cause);

/** stall_cause - the cause of a stall; valid as long as its shrinkers are */
void stall_cause(const struct stall *stall, struct stall_cause *cause);

/** cause_which - stall_cause.which alone */
int cause_which(const struct stall *stall);

/** cause_share - hundredths of a percent of the stall that the cause has, rounded down */
unsigned int cause_share(const struct stall_cause *cause);

/** cause_percent - the same in percent, rounded as cause_text() has it */
unsigned int cause_percent(const struct stall_cause *cause);

/** shrinker_add_freed - append " (freed 20 of 1024)" objects to its name; " (freed 0)": none was scanned */
void shrinker_add_freed(const struct stall_slice *shrinker, char *text, size_t size);

#define STALL_CAUSE_MAX 512

/**
 * cause_text - print the cause of a stall; any bytes
 *
 * "direct reclaim 100 %: inactive list 95 %", "direct reclaim; waiting for a CPU 61 %"
 */
void cause_text(struct resolver *resolver, const struct stall *stall, char text[STALL_CAUSE_MAX]);

/** cause_detail - print it as cause_text(), after what cause_name() says; "": no more is known */
void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX]);

#endif
