/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_DIRECTORY_H
#define ALLOCFILT_TEST_DIRECTORY_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "allocfilt/base/file.h"
#include "unit_test.h"

/* A directory of a test's own, for files laid out as in a tracing directory. */
static char test_directory[64];
static int test_descriptors;

static inline int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static inline int make_test_directory(void **state)
{
	test_descriptors = count_descriptors();
	strcpy(test_directory, P_tmpdir "/allocfilt-test-XXXXXX");
	return mkdtemp(test_directory) ? 0 : -1;
}

static inline int remove_test_directory(void **state)
{
	char command[128];

	/* A descriptor that a test left open is one that the program left open. */
	if (count_descriptors() != test_descriptors) {
		print_error("%d descriptors, %d before\n", count_descriptors(), test_descriptors);
		return -1;
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", test_directory);
	return system(command);
}

static inline const char *test_path(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", test_directory, name);
	return path;
}

static inline void make_test_folders(const char *name)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", test_path(name));
	for (slash = strchr(path + strlen(test_directory) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* Writes a file anew; its folders are made. */
static inline void put_bytes(const char *name, const void *bytes, size_t length)
{
	FILE *file;

	make_test_folders(name);
	file = fopen(test_path(name), "w");
	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) {
		perror(name);
		abort();
	}
}

static inline void put_text(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static inline void assert_text(const char *name, const char *expected)
{
	size_t length;
	char *text;

	assert_int_equal(file_read(test_directory, name, &text, &length), 0);
	assert_int_equal(length, strlen(expected));
	assert_string_equal(text, expected);
	free(text);
}

static inline void assert_only_file(const char *name)
{
	DIR *directory = opendir(test_directory);
	struct dirent *entry;

	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			assert_string_equal(entry->d_name, name);
	closedir(directory);
}

/* Returns the limit before. With RLIMIT_FSIZE a write fails as on a full disk. */
static inline rlim_t set_soft_limit(int resource, rlim_t soft)
{
	struct rlimit limit;
	rlim_t before;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(resource, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = soft;
	assert_int_equal(setrlimit(resource, &limit), 0);
	return before;
}

#endif
