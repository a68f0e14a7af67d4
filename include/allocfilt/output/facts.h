/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FACTS_H
#define ALLOCFILT_OUTPUT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base/line.h"
#include "allocfilt/stall/stall.h"

/* Details of a stall beside its times: each is one row, which every form and the journal show. */

#define STALL_FACTS 17

struct stall_fact {
	const char *key;	   /* in JSON */
	const char *journal_field; /* NULL: not in the journal */
	bool for_people;	   /* the text between before and after */
	bool below;		   /* shown in a line of its own below the head */
	const char *before;
	const char *after;
	bool known;
	const char *text; /* NULL: the number */
	uint64_t number;
	bool is_flags; /* bits, shown in hexadecimal */
};

/** stall_facts - the details of a stall, in the order of the output; valid as long as @named */
void stall_facts(const struct named_stall *named, struct stall_fact facts[STALL_FACTS]);

/* The punctuation with which a form shows a task. */
struct task_style {
	enum text_rule rule;
	bool brackets;		  /* "nginx[812]", not "nginx-812" */
	const char *bold, *plain; /* around the task's name and number */
	const char *cgroup, *end; /* around its cgroup */
};

/**
 * stall_task - append "worker-815 of nginx-812 in nginx.service": the thread, its process, its cgroup
 * @cgroup: as it is to be shown, "" for none
 */
void stall_task(struct line *line, const struct named_stall *named, const char *cgroup,
		const struct task_style *style);

/**
 * stall_had_cpu - append "nginx-812 17.210 ms, kworker/u8:3-266 11.002 ms, 2 others 0.500 ms": who had the
 *	CPU while the task waited for one
 *
 * Tasks with most time come first, then the others, then "not recorded". Returns false, and appends nothing, where
 * it did not wait.
 */
bool stall_had_cpu(struct line *line, const struct stall *stall, enum text_rule rule);

#endif
