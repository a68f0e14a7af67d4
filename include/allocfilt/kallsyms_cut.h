/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_KALLSYMS_CUT_H
#define ALLOCFILT_KALLSYMS_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The lines of kallsyms that a capture keeps: each symbol that is asked for with the next one, so
 * that its size is known.
 */

/** kallsyms_cut_by_name - symbols whose name is wanted, to @stream; 0 or -errno */
int kallsyms_cut_by_name(const char *path, bool (*wanted)(void *context, const char *name),
			 void *context, FILE *stream);

/**
 * kallsyms_cut_by_address - symbols that contain one of the addresses, to @stream; 0 or -errno
 * @addresses: ascending
 */
int kallsyms_cut_by_address(const char *path, const uint64_t *addresses, size_t count,
			    FILE *stream);

#endif
