/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_MADE_ENTRY_H
#define ALLOCFILT_TEST_MADE_ENTRY_H

#include "stall/task_log.h"

/* Entries of a log as the walk leaves them, for forms that show the windows of a stall. */

struct made_entry {
	struct log_entry head;
	struct log_pair pair; /* the largest payload */
	uint64_t raw;
	struct record_stack stack;
};

/* The raw data is record->raw_size bytes, at most 8, all of them 0. */
static inline struct log_entry *made_entry(struct made_entry *made, enum log_kind kind,
					   const struct record *record)
{
	struct log_entry *entry = &made->head;

	memset(made, 0, sizeof(*made));
	*entry = (struct log_entry){
		.ts = record->ts,
		.tid = record->tid,
		.cpu = record->cpu,
		.event = record->event,
		.indent = record->indent,
		.size = record->raw_size,
		.kind = kind,
		.has_stack = record->stack.number,
	};
	if (kind == LOG_WINDOW)
		*log_window(entry) = (struct log_window){ .at = record->window,
							  .start = record->window.calltime };
	else
		*log_stack(entry) = record->stack;
	return entry;
}

/* The end of a pair; @within: an event that it owns, NULL: none */
static inline struct log_entry *made_pair(struct made_entry made[3], const struct record *begin,
					  const struct record *end, const struct record *within)
{
	struct log_entry *entry = made_entry(&made[1], LOG_END, end);

	log_pair(entry)->partner = made_entry(&made[0], LOG_BEGIN, begin);
	if (within)
		log_pair(entry)->events = made_entry(&made[2], LOG_EVENT, within);
	return entry;
}

#endif
