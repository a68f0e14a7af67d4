// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"
#include "allocfilt/record/losses.h"

#define REPORT_INTERVAL NS_PER_SECOND

struct cpu_loss {
	uint64_t records;
	uint64_t unknown; /* times */
	bool pending;	  /* not reported yet */
};

struct losses {
	struct cpu_list cpus;
	const char *advice;
	bool reported; /* ever, at reported_at */
	bool pending;
	uint64_t reported_at;
	struct cpu_loss cpu[]; /* by place */
};

struct losses *losses_new(const struct cpu_list *cpus)
{
	struct losses *losses = calloc(1, sizeof(*losses) + cpus->count * sizeof(losses->cpu[0]));

	if (!losses)
		return NULL;
	losses->cpus = *cpus;
	losses->advice = " (a larger -b helps)";
	return losses;
}

void losses_free(struct losses *losses)
{
	free(losses);
}

void losses_add(struct losses *losses, int cpu, int64_t count)
{
	int place = cpu_list_place(&losses->cpus, cpu);
	struct cpu_loss *loss;

	if (place < 0)
		return;
	loss = &losses->cpu[place];
	if (count < 0)
		loss->unknown++;
	else
		loss->records += count;
	loss->pending = true;
	losses->pending = true;
}

void losses_taken(struct losses *losses)
{
	losses->advice = " (another reader takes them, as cat trace_pipe does)";
}

uint64_t losses_of(const struct losses *losses, int cpu, uint64_t *ret_unknown)
{
	int place = cpu_list_place(&losses->cpus, cpu);

	*ret_unknown = place < 0 ? 0 : losses->cpu[place].unknown;
	return place < 0 ? 0 : losses->cpu[place].records;
}

uint64_t losses_total(const struct losses *losses, uint64_t *ret_unknown)
{
	uint64_t records = 0;

	*ret_unknown = 0;
	for (int place = 0; place < losses->cpus.count; place++) {
		records += losses->cpu[place].records;
		*ret_unknown += losses->cpu[place].unknown;
	}
	return records;
}

static void report_cpu(const struct cpu_loss *loss, int cpu, const char *when, const char *advice)
{
	char records[TEXT_COUNTED_MAX], times[TEXT_COUNTED_MAX];

	text_counted(records, loss->records, "record{s}");
	text_counted(times, loss->unknown, "time{s} an unknown number");
	log_warning("CPU %d lost %s%s%s%s %s%s", cpu, loss->records ? records : "",
		    loss->records && loss->unknown ? " and " : "", loss->unknown ? times : "",
		    loss->records ? "" : " of records", when, advice);
}

void losses_report(struct losses *losses, uint64_t now)
{
	if (!losses->pending || (losses->reported && now - losses->reported_at < REPORT_INTERVAL))
		return;
	for (int place = 0; place < losses->cpus.count; place++) {
		if (losses->cpu[place].pending)
			report_cpu(&losses->cpu[place], losses->cpus.numbers[place], "so far",
				   losses->advice);
		losses->cpu[place].pending = false;
	}
	losses->reported = true;
	losses->pending = false;
	losses->reported_at = now;
}

void losses_report_all(const struct losses *losses, bool live)
{
	uint64_t unknown, records = losses_total(losses, &unknown);

	if (live && !records && !unknown)
		log_notice("no records lost");
	for (int place = 0; place < losses->cpus.count; place++)
		if (losses->cpu[place].records || losses->cpu[place].unknown)
			report_cpu(&losses->cpu[place], losses->cpus.numbers[place], "in all",
				   live ? losses->advice : "");
}
