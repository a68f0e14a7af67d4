/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RUN_OWN_USAGE_H
#define ALLOCFILT_RUN_OWN_USAGE_H

#include <stdint.h>

/* What this process takes of the machine. Nothing is allocated. */

/** own_resident - bytes, after /proc/self/statm (proc(5)); 0 where that cannot be read */
uint64_t own_resident(void);

/** own_cpu - ns of CPU time, user and system, of all threads: getrusage(2) */
uint64_t own_cpu(void);

#endif
