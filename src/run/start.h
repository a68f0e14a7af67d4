/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_START_H
#define ALLOCFILT_RUN_START_H

#include "allocfilt/record/source.h"
#include "allocfilt/run/run.h"
#include "allocfilt/tracing/kernel.h"

/* The first steps of tracing a running kernel. Each returns 0, or -errno with @failure. */

/**
 * start_source - describe the running kernel as a source of data
 * @ret_cpus: the CPUs of @source, to be freed with free()
 */
int start_source(struct data_source *source, int **ret_cpus, const struct kernel *kernel,
		 const struct run_context *run, struct failure *failure);

/** start_layout - read the layout of pages; @dir: an instance has sub-buffers of a size of its own */
int start_layout(struct data_source *source, const char *dir, struct failure *failure);

/** start_deadline - the time of -d begins now; without -d SIGALRM is left alone */
int start_deadline(const struct run_context *run, struct failure *failure);

#endif
