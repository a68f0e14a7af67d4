// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/trace_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dirent *next_event_directory(DIR *directory)
{
	const struct dirent *entry;

	do
		entry = readdir(directory);
	while (entry && (entry->d_name[0] == '.' || entry->d_type == DT_REG));
	return entry;
}

/* @system: NULL for those of all systems; a plain file beside them is skipped */
static int visit_events(const char *dir, const char *system,
			int (*visit)(void *context, const char *system, const char *name),
			void *context)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/events/%s", dir, system ? system : "");
	directory = opendir(path);
	if (!directory)
		return system ? 0 : -errno;
	while (!ret && (entry = next_event_directory(directory)))
		ret = system ? visit(context, system, entry->d_name) :
			       visit_events(dir, entry->d_name, visit, context);
	closedir(directory);
	return ret;
}

/* tracefs_event_systems() skips systems without an enable file: ftrace, and all of a capture. */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context)
{
	return visit_events(dir, NULL, visit, context);
}

/* The number after "cpu", as the kernel prints it, or -1 for another name. */
static int cpu_of_name(const char *name)
{
	char canonical[16];
	int cpu;

	if (sscanf(name, "cpu%5d", &cpu) != 1 || cpu < 0 || cpu > 65535)
		return -1;
	snprintf(canonical, sizeof(canonical), "cpu%d", cpu);
	return strcmp(name, canonical) ? -1 : cpu;
}

static int is_cpu_directory(const struct dirent *entry)
{
	return cpu_of_name(entry->d_name) >= 0;
}

int cpu_directories(const char *dir, int **ret_cpus)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int *cpus, count;

	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	/* versionsort(3) sorts canonical numbers by value. */
	count = scandir(path, &entries, is_cpu_directory, versionsort);
	if (count < 0)
		return -errno;
	cpus = count ? malloc(count * sizeof(*cpus)) : NULL;
	for (int i = 0; i < count; i++) {
		if (cpus)
			cpus[i] = cpu_of_name(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	*ret_cpus = cpus;
	return cpus || !count ? count : -ENOMEM;
}

static int compare_cpus(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

int cpu_list_place(const struct cpu_list *cpus, int cpu)
{
	const int *found;

	/* Without gaps the number is the index. */
	if (cpu >= 0 && cpu < cpus->count && cpus->numbers[cpu] == cpu)
		return cpu;
	found = bsearch(&cpu, cpus->numbers, cpus->count, sizeof(cpu), compare_cpus);
	return found ? (int)(found - cpus->numbers) : -1;
}

int cpu_list_highest(const struct cpu_list *cpus)
{
	return cpus->numbers[cpus->count - 1];
}
