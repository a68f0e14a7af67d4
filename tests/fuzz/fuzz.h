/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_FUZZ_H
#define ALLOCFILT_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A callback receives its context, whether it needs it or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/*
 * A target of libFuzzer is one file: it takes any bytes through one parser. They run in the root of
 * the tree, where the fixtures are. tests/fuzz/corpus writes what they begin with.
 */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a parser promises, whatever its input. */
#define PROMISED(condition)                                                                        \
	((condition) ? (void)0 :                                                                   \
		       (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* A copy with nothing behind it, so that a read past its end is seen; free() it. */
static inline void *exact_copy(const void *data, size_t size)
{
	void *copy = malloc(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

/* Arguments as main() has them, of a line of words; free_arguments() them. */
static inline char **arguments_of(const char *line, int *ret_count)
{
	char *copy = strdup(line), *rest = copy, *word, **arguments = calloc(64, sizeof(char *));

	*ret_count = 0;
	while (*ret_count < 63 && (word = strsep(&rest, " ")))
		arguments[(*ret_count)++] = word;
	return arguments;
}

static inline void free_arguments(char **arguments)
{
	free(arguments[0]);
	free(arguments);
}

/* The path of a file with these bytes, until the next call. */
static inline const char *file_of(const void *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	PROMISED(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

#endif
