// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/waits.h"
#include "allocfilt/base/base.h"
#include "allocfilt/stats/ranking.h"

void waits_add(struct waits *waits, const struct memory_wait *wait, bool is_long)
{
	struct wait_sum *sum = &waits->of[wait->role];
	uint64_t ns = wait->end - wait->start;

	if (wait->in_progress) {
		waits->in_progress++;
		add_ns(&waits->in_progress_ns, ns);
		return;
	}
	if (!sum->count++)
		sum->since = wait->end;
	add_ns(&sum->total, ns);
	sum->long_count += is_long;
	if (is_long)
		add_ns(&sum->long_total, ns);
	waits->parts += wait->is_part;
}

static bool is_wait(int role)
{
	return role != ROLE_OOM_KILLER && role != ROLE_IO;
}

struct wait_sum waits_all(const struct waits *waits)
{
	struct wait_sum all = { 0 };

	for (int role = 0; role < ROLE_COUNT; role++) {
		const struct wait_sum *sum = &waits->of[role];

		if (!is_wait(role))
			continue;
		all.count += sum->count;
		add_ns(&all.total, sum->total);
		all.long_count += sum->long_count;
		add_ns(&all.long_total, sum->long_total);
	}
	return all;
}

int waits_next(const struct waits *waits, int role)
{
	do {
		role = ranking_next(&waits->of[0].total, sizeof(waits->of[0]), ROLE_COUNT, role);
	} while (role >= 0 && (!waits->of[role].count || !is_wait(role)));
	return role;
}
