/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_BASE_H
#define ALLOCFILT_BASE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/param.h> /* MIN(), MAX() */
#include <time.h>

/* A cold function is kept out of line, so that its callers stay small. */
#define noinline __attribute__((noinline))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of which @pointer is the member. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define NS_PER_US     UINT64_C(1000)
#define NS_PER_MS     (1000 * NS_PER_US)
#define NS_PER_SECOND (1000 * NS_PER_MS)
#define NS_PER_MINUTE (60 * NS_PER_SECOND)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)
#define NS_PER_DAY    (24 * NS_PER_HOUR)

/** clock_ns - ns of a clock of clock_gettime(2) */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/** add_ns - add to a sum of times, which stays at its highest: only damaged data goes that far */
static inline void add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

#endif
