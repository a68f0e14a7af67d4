/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LIMITS_H
#define ALLOCFILT_LIMITS_H

/*
 * How large the tables may grow that depend on what the machine does. Each is allocated in full at
 * the start; what finds no place is counted, and told in the summary.
 */

#define LIMITS_SHRINKERS_LARGEST	4096	/* whoever keeps something for each relies on it */

struct limits {
	unsigned int tasks;	/* with something that waits */
	unsigned int events;	/* that wait, over all tasks */
	unsigned int task_events;	/* that wait, in one task while room is short */
	unsigned int names;	/* of tasks */
	unsigned int cgroups;	/* paths that are remembered, and those in the summary */
	unsigned int shrinkers;	/* up to LIMITS_SHRINKERS_LARGEST */
	unsigned int files;	/* open at a time: RLIMIT_NOFILE; 0: as it was found */
};

#define LIMITS_DEFAULT {		\
	.tasks = 4096,			\
	.events = 10240,		\
	.task_events = 640,		\
	.names = 8192,			\
	.cgroups = 64,			\
	.shrinkers = 512,		\
	.files = 0,			\
}

#endif
