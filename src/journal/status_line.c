// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/journal.h"
#include "journal/stall_entry.h"

uint64_t status_lost(const struct summary_view *view, uint64_t *ret_times)
{
	uint64_t records = 0;

	*ret_times = 0;
	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		uint64_t unknown;

		records += losses_of(view->losses, cpu, &unknown);
		*ret_times += unknown;
	}
	return records;
}

static void add_longest(struct line *line, const struct named_stall *longest)
{
	char time[TEXT_DURATION_MAX];

	if (!longest)
		return;
	line_add(line, ", worst %s (",
		 text_duration(time, longest->stall->end - longest->stall->start));
	journal_stall_who(line, longest);
	line_add(line, ")");
}

size_t status_line(char *text, size_t size, const struct summary_view *view)
{
	uint64_t stalls = summary_stalls(view->summary, STALLS_WAITING)->latency.count;
	uint64_t times;
	uint64_t lost = status_lost(view, &times);
	struct line line;

	line_clear(&line);
	line_add(&line, "%" PRIu64 " stall%s", stalls, stalls == 1 ? "" : "s");
	add_longest(&line, summary_longest(view->summary));
	line_add(&line, ", %" PRIu64 " record%s lost", lost, lost == 1 ? "" : "s");
	if (times)
		line_add(&line, " and %" PRIu64 " time%s nobody knows how many", times,
			 times == 1 ? "" : "s");
	text_escape(text, size, line.text, TEXT_PRINTABLE);
	return strlen(text);
}
