// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall/slices.h"

void log_record(struct log_entry *entry, struct record *record)
{
	*record = (struct record){
		.ts = entry->ts,
		.tid = entry->tid,
		.cpu = entry->cpu,
		.flags = entry->flags,
		.event = entry->event,
		.indent = entry->indent,
	};
	if (entry->kind == LOG_WINDOW) {
		record->kind = RECORD_WINDOW;
		record->window = log_window(entry)->at;
		return;
	}
	record->kind = RECORD_EVENT;
	record->raw = log_raw(entry);
	record->raw_size = entry->size;
	if (entry->has_stack)
		record->stack = *log_stack(entry);
}

bool stall_next_window(const struct stall *stall, struct stall_window *window)
{
	struct log_entry *entry = window->entry ? window->entry->next : stall->windows;

	if (!entry)
		return false;
	*window = (struct stall_window){
		.start = log_start(entry),
		.end = log_end(entry),
		.role = entry->role,
		.is_pair = entry->kind == LOG_END,
		.entry = entry,
		.next_event = *log_events(entry),
	};
	log_record(entry, &window->exit);
	if (!window->is_pair)
		return true;
	window->begin = (struct record){ .event = entry->event };
	if (log_pair(entry)->partner != entry)
		log_record(log_pair(entry)->partner, &window->begin);
	window->shrinker = log_pair(entry)->shrinker;
	window->callback = log_pair(entry)->callback;
	return true;
}

bool stall_next_event(struct stall_window *window, struct record *event)
{
	struct log_entry *entry = window->next_event;

	if (!entry)
		return false;
	window->next_event = entry->next;
	log_record(entry, event);
	return true;
}

bool stall_next_off_cpu(const struct stall *stall, struct stall_off_cpu *off_cpu)
{
	struct log_entry *entry = off_cpu->entry ? off_cpu->entry->next : stall->off_times;
	const struct log_off_cpu *times;

	if (!entry)
		return false;
	times = log_off_cpu(entry);
	off_cpu->entry = entry;
	off_cpu->left = entry->ts > stall->start ? entry->ts : stall->start;
	off_cpu->came = times->came < stall->end ? times->came : stall->end;
	off_cpu->state = (enum phase_state)times->state;
	off_cpu->woken = times->state == STATE_WAITED ? off_cpu->left :
			 times->woken > off_cpu->left ? times->woken :
			 times->woken		      ? off_cpu->left :
							off_cpu->came;
	off_cpu->woken = MIN(off_cpu->woken, off_cpu->came);
	off_cpu->nr_runners = 0;
	slices_add_runners(stall->runs, times, off_cpu->woken, off_cpu->came, off_cpu->runners,
			   &off_cpu->nr_runners);
	slices_sort(off_cpu->runners, off_cpu->nr_runners);
	return true;
}
