/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_H
#define ALLOCFILT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu_list.h"
#include "failure.h"
#include "page.h"
#include "plan.h"
#include "source.h"

/*
 * A directory laid out as the tracing directory is, kept by `-w` or made by hand with cp and cat:
 * read only, in the same rounds as a running kernel.
 */

struct capture;

/**
 * capture_open
 *
 * Returns 0, or -errno with @failure (status 2: neither a tracing directory nor a capture, not
 * readable). What is damaged but can be done without is counted in capture_flaws().
 */
int capture_open(struct capture **capture, const char *dir, struct failure *failure);
void capture_close(struct capture *capture);

const char *capture_dir(const struct capture *capture);
const struct page_layout *capture_layout(const struct capture *capture);

/** capture_cpus - those with a directory; the numbers live as long as the capture */
struct cpu_list capture_cpus(const struct capture *capture);

/** capture_threshold - ns that it was taken with; 0: not known */
uint64_t capture_threshold(const struct capture *capture);

/** capture_has_description - is there the file `capture`, whose threshold is the default? */
bool capture_has_description(const struct capture *capture);

/** capture_release - `uname -r` of the kernel that it was taken on, "" where it is not known */
const char *capture_release(const struct capture *capture);

/** capture_own - pid of the process that took it, 0: not known */
pid_t capture_own(const struct capture *capture);

/** capture_pids - processes of -p that it was taken with, 0 ends; NULL: all, or not known */
const pid_t *capture_pids(const struct capture *capture);

bool capture_local_clock(const struct capture *capture);

/**
 * capture_flaws - files that were damaged, missing or not to be read so far
 * @ret_first: "" or the first of them
 */
uint64_t capture_flaws(const struct capture *capture, const char **ret_first);

/** capture_offer - for plan_make(); valid as long as the capture is open */
void capture_offer(struct capture *capture, struct plan_offer *offer);

/** capture_round - each CPU up to its quota; 0 at the end of all files, 1 before, or -errno */
int capture_round(struct capture *capture, const struct source_sink *sink);

#endif
