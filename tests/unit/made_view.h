/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_MADE_VIEW_H
#define ALLOCFILT_TEST_MADE_VIEW_H

#include "allocfilt/names/shrinkers.h"
#include "allocfilt/output/view.h"
#include "made_cpus.h"

/* What a summary is made of, with nothing counted yet. A test that has shrinker_names adds them. */
static struct summary_view view;
static struct losses *losses; /* view.losses */

static inline void make_view(const struct plan *plan, struct resolver *resolver, int nr_cpus)
{
	static const struct options none;
	struct cpu_list cpus = made_cpus(nr_cpus);

	losses = losses_new(&cpus);
	view = (struct summary_view){
		.options = &none,
		.plan = plan,
		.resolver = resolver,
		.summary = summary_new(),
		.units = units_new(20),
		.losses = losses,
		.cpus = cpus,
		.top = 10,
		.report = plan->threshold,
	};
}

static inline void lose(int cpu, int64_t records)
{
	losses_add(losses, cpu, records);
	view.lost = losses_total(losses, &view.lost_times);
}

static inline void free_view(void)
{
	summary_free(view.summary);
	units_free(view.units);
	shrinker_names_free(view.shrinker_names);
	losses_free(losses);
}

#endif
