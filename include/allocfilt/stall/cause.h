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

#define CAUSE_STEPS_MAX 4

/*
 * A cause is the group of phases with at least half of the stall. If there is none, or if that is
 * outside reclaim, a state off the CPU that has half is the cause. CAUSE_MIXED: no group and no state has
 * half. Its number is that of STATE_RUNNING, which is no cause; nor is STATE_UNKNOWN, the last one.
 */
#define CAUSE_OF_STATE(state) (PHASE_GROUPS + (state))
#define CAUSE_MIXED	      CAUSE_OF_STATE(STATE_RUNNING)
#define CAUSES		      CAUSE_OF_STATE(STATE_UNKNOWN)

struct stall_cause {
	int which;	/* below CAUSES */
	uint64_t whole; /* ns */
	size_t nr_steps;
	/* of CAUSE_MIXED the groups with most time, two at most */
	struct cause_step steps[CAUSE_STEPS_MAX];
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

/** cause_share - hundredths of a percent of the stall that the cause has, rounded down; of CAUSE_MIXED the largest */
unsigned int cause_share(const struct stall_cause *cause);

/** cause_percent - the same in percent, rounded as cause_text() has it */
unsigned int cause_percent(const struct stall_cause *cause);

#define STALL_CAUSE_MAX 512

/** cause_text - print the chain of a stall: "direct reclaim 100 %: inactive list 95 %"; any bytes */
void cause_text(struct resolver *resolver, const struct stall *stall, char text[STALL_CAUSE_MAX]);

/** cause_detail - print it as cause_text(), after what cause_name() says; "": no more is known */
void cause_detail(struct resolver *resolver, const struct stall_cause *cause,
		  char text[STALL_CAUSE_MAX]);

#endif
