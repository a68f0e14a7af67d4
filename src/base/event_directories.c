// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

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
