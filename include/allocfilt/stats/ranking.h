/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STATS_RANKING_H
#define ALLOCFILT_STATS_RANKING_H

#include <stddef.h>
#include <stdint.h>

/*
 * A table of fixed size, always sorted by time, which allocates nothing after its start. In a full
 * table a newcomer evicts the entry with the least sum of total and error, and takes this sum as its
 * error, the most that it can have had before: Space-Saving (Metwally, Agrawal, El Abbadi, "Efficient
 * computation of frequent and top-k elements in data streams", 2005). So the true total of an entry is
 * at least `total` and at most `total` + `error`, and a table of N entries has everything with more
 * than 1/N of all time.
 */

/* Each entry begins with this. */
struct ranked {
	uint64_t id;
	const char *name; /* any bytes; "" where the id alone tells it from others */
	uint64_t total;	  /* ns */
	uint64_t error;	  /* ns that may be missing in total */
	size_t rank;	  /* 0: most time */
};

struct ranking;

/**
 * ranking_new - an empty table
 * @most: entries
 * @size: of an entry, in bytes
 * @name_bytes: room of a name with its NUL, a longer one is cut; 1: there are none
 *
 * Returns NULL if there is no memory.
 */
struct ranking *ranking_new(size_t most, size_t size, size_t name_bytes);
void ranking_free(struct ranking *ranking);

/** ranking_reset - begin again without entries */
void ranking_reset(struct ranking *ranking);

/**
 * ranking_enter - the entry of an id and a name; if there is none, a new one
 *
 * A full table evicts its least entry. All bytes after the struct ranked of a new one are 0.
 */
void *ranking_enter(struct ranking *ranking, uint64_t id, const char *name);

/** ranking_enter_free - the same, but NULL where another entry would have to make room */
void *ranking_enter_free(struct ranking *ranking, uint64_t id, const char *name);

/** ranking_replace - evict an entry, whose place a new one takes, without an error */
void ranking_replace(struct ranking *ranking, void *entry, uint64_t id, const char *name);

/** ranking_spend - add time to an entry */
void ranking_spend(struct ranking *ranking, void *entry, uint64_t ns);

/** ranking_at - the entry of a rank, equal times by name, then by id; NULL after the last */
void *ranking_at(const struct ranking *ranking, size_t rank);

/** ranking_count - number of entries */
size_t ranking_count(const struct ranking *ranking);

/** ranking_evicted - number of evicted entries */
uint64_t ranking_evicted(const struct ranking *ranking);

/**
 * ranking_next - of an array of times, the index of the largest after that at @index, equal ones in order
 * @first: the first of the @count times, which are @stride bytes apart
 * @index: -1: the largest of all is wanted
 *
 * Returns -1 after the last.
 */
int ranking_next(const uint64_t *first, size_t stride, int count, int index);

#endif
