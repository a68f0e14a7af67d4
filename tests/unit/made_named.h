/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_MADE_NAMED_H
#define ALLOCFILT_TEST_MADE_NAMED_H

#include <stdio.h>

#include "allocfilt/stall/stall.h"

/* A stall with its names, as the pipeline gives it to a form. A test changes what it is about. */
struct made_named {
	struct stall stall;
	struct task_info info;
	struct named_stall named;
};

static inline struct named_stall *make_named(struct made_named *made, const struct stall *stall,
					     const char *name, const char *cgroup)
{
	*made = (struct made_named){ .stall = *stall };
	if (!stall->gfp_names)
		made->stall.gfp_names = "";
	if (!stall->compaction)
		made->stall.compaction = "";
	made->info.tid = stall->tid;
	snprintf(made->info.cgroup, sizeof(made->info.cgroup), "%s", cgroup);
	made->named = (struct named_stall){ .stall = &made->stall,
					    .name = name,
					    .task_info = &made->info,
					    .function = "f",
					    .memcg = "",
					    .limit = "" };
	return &made->named;
}

#endif
