/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_H
#define ALLOCFILT_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names of tasks: the cache of what a task was called when it was first seen, so that one that
 * has gone by the time it is printed still has its name.
 */

#define NAMES_MAX	32000	/* as many as a table can have */
#define NAME_MAX_COMM	16	/* TASK_COMM_LEN */

struct names;

/**
 * names_new
 * @proc: "/proc" for a live run, NULL for a capture: then only saved_cmdlines counts, as for the
 *	kernel's own text
 * @size: how many names are kept, 1 … NAMES_MAX; the one unused for longest goes first
 * @saved: path of a saved_cmdlines file, read when a task is not in @proc; may be NULL or absent
 *
 * Returns NULL with errno ENOMEM.
 */
struct names *names_new(const char *proc, const char *saved, unsigned int size);
void names_free(struct names *names);

/** names_see - note a task at its first sight; ts in ns of the trace clock; allocates nothing */
void names_see(struct names *names, int pid, uint64_t ts);

/**
 * names_of - the task's name, "<idle>" for 0, "<...>" at the very last; never NULL
 *
 * Any bytes but NUL; at most 15; valid until the next call. A name older than a second of the
 * trace clock is read again first, because exec changes it.
 */
const char *names_of(struct names *names, int pid, uint64_t ts);

/** names_evicted - names that made room for others: most are never asked for again */
uint64_t names_evicted(const struct names *names);

/**
 * names_missed - times that a name was asked for, had made room, and could not be read again
 *
 * Whether it was known before, nobody knows. 0 with a capture, which is there to be read again.
 */
uint64_t names_missed(const struct names *names);

#endif
