/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COUNTED_MALLOC_H
#define COUNTED_MALLOC_H

#include <stdbool.h>
#include <stdlib.h>

/* Counts calls of malloc() and its like, of the whole program: included once, by the test. */

static volatile bool counting;
/* volatile: to a compiler malloc() has no effect on other memory */
static volatile unsigned int allocations;
/* bytes, also of what was freed again */
__attribute__((unused)) static volatile size_t allocated;

__attribute__((unused)) static void start_counting(void)
{
	allocations = 0;
	allocated = 0;
	counting = true;
}

/* The sanitizers have an allocator of their own, which must not be taken over. */
#ifndef __SANITIZE_ADDRESS__
#define COUNTED 1

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static void count(size_t size)
{
	allocations += counting;
	allocated += counting ? size : 0;
}

void *malloc(size_t size)
{
	count(size);
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count(number * size);
	return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
	count(size);
	return __libc_realloc(old, size);
}
#else
#define COUNTED 0
#endif

#endif
