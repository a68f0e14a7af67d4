/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_KERNEL_H
#define ALLOCFILT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "failure.h"
#include "page.h"
#include "plan.h"

/*
 * What is there: where tracefs is mounted, what this kernel offers. Reads only, changes nothing.
 */

struct kernel {
	char *dir;		/* the top-level tracing directory, no slash at its end */
	char *release;		/* uname -r */
	bool function_graph;	/* in available_tracers */
	bool function_enabled;	/* kernel.ftrace_enabled; true where there is no such sysctl */
	char **functions;	/* of available_filter_functions those that the catalog or the
				 * request names, NULL ends; several of one name stand as often */
	unsigned int *indexes;	/* place of each in that file, from 1: what set_ftrace_filter takes
				 * for a name at a hundredth of the time; 0: unknown */
	int nr_functions;
};

/* What a directory given with -s is. */
enum source_kind {
	SOURCE_TRACEFS,		/* the top-level tracing directory of a running kernel */
	SOURCE_CAPTURE,		/* a directory that is not on tracefs */
};

/**
 * kernel_source_kind - look at a directory (statfs)
 *
 * Returns 0, or -errno with @failure (status 2): not there, no directory, on tracefs but not the
 * top level (an instance), not readable (3 where it is on tracefs).
 */
int kernel_source_kind(const char *dir, enum source_kind *ret_kind, struct failure *failure);

/**
 * kernel_open - find tracefs (dir NULL: /proc/self/mounts; nothing gets mounted) and read it
 * @request: what plan_make() will get; NULL: the catalog's functions alone
 *
 * Returns 0, or -errno with @failure: status 3 without a mount (names the mount command), without
 * the right to it (root; lockdown where EPERM as root). Release with kernel_close().
 */
int kernel_open(struct kernel **kernel, const char *dir, const struct plan_request *request,
		struct failure *failure);
void kernel_close(struct kernel *kernel);

/** kernel_offer - for plan_make(); valid as long as the kernel is open */
void kernel_offer(struct kernel *kernel, struct plan_offer *offer);

/** kernel_read_file - text of a file below a directory, NUL behind it, free() it; NULL and errno */
char *kernel_read_file(const char *dir, const char *name, size_t *ret_length);

/** kernel_find_dir - where tracefs is mounted (/proc/self/mounts), free() it; NULL: nowhere */
char *kernel_find_dir(void);

/** kernel_has_word - is a word among those of a text that spaces or newlines part? */
bool kernel_has_word(const char *text, const char *word);

/** kernel_lockdown - text of the active mode ("none", "integrity", …) or NULL; static */
const char *kernel_lockdown(void);

#endif
