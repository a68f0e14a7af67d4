// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dirent *next_directory(DIR *directory)
{
	const struct dirent *entry;

	do
		entry = readdir(directory);
	while (entry && (entry->d_name[0] == '.' || entry->d_type == DT_REG));
	return entry;
}

/* A file where a system would be is passed over. */
static int visit_system(const char *dir, const char *system,
			int (*visit)(void *context, const char *system, const char *name),
			void *context)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/events/%s", dir, system);
	directory = opendir(path);
	while (directory && !ret && (entry = next_directory(directory)))
		ret = visit(context, system, entry->d_name);
	if (directory)
		closedir(directory);
	return ret;
}

int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/events", dir);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while (!ret && (entry = next_directory(directory)))
		ret = visit_system(dir, entry->d_name, visit, context);
	closedir(directory);
	return ret;
}

/* Returns the number behind "cpu", or -1 for a name that is no CPU's. */
static int cpu_of_name(const char *name)
{
	char *end;
	long cpu;

	if (strncmp(name, "cpu", 3) || !isdigit((unsigned char)name[3]))
		return -1;
	errno = 0;
	cpu = strtol(name + 3, &end, 10);
	return *end || errno || cpu > 65535 ? -1 : (int)cpu;
}

static int by_number(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static int append_cpu(int **cpus, int count, int cpu)
{
	int *more = realloc(*cpus, (count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[count] = cpu;
	*cpus = more;
	return 0;
}

static int read_cpu_names(DIR *directory, int **ret_cpus)
{
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(directory))) {
		int cpu = cpu_of_name(entry->d_name);

		if (cpu < 0)
			continue;
		if (append_cpu(ret_cpus, count, cpu))
			return -ENOMEM;
		count++;
	}
	return count;
}

int cpu_directories(const char *dir, int **ret_cpus)
{
	char path[PATH_MAX];
	DIR *directory;
	int *cpus = NULL;
	int count;

	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	directory = opendir(path);
	if (!directory)
		return -errno;
	count = read_cpu_names(directory, &cpus);
	closedir(directory);
	if (count <= 0) {
		free(cpus);
		return count;
	}
	qsort(cpus, count, sizeof(*cpus), by_number);
	*ret_cpus = cpus;
	return count;
}
