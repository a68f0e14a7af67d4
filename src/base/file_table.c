// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocfilt/base.h"

struct table_file {
	char *path;
	char *text;
	size_t length;
};

struct file_table {
	struct table_file *files; /* by path */
	size_t count;
	size_t size; /* of files */
};

struct file_table *file_table_new(void)
{
	return calloc(1, sizeof(struct file_table));
}

void file_table_free(struct file_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++) {
		free(table->files[i].path);
		free(table->files[i].text);
	}
	free(table->files);
	free(table);
}

int file_table_add(struct file_table *table, const char *path, char *text, size_t length)
{
	char *copy = strdup(path);

	if (copy && table->count == table->size) {
		size_t larger = table->size ? 2 * table->size : 64;
		struct table_file *files =
			reallocarray(table->files, larger, sizeof(*table->files));

		if (files) {
			table->files = files;
			table->size = larger;
		}
	}
	if (!copy || table->count == table->size) {
		free(copy);
		free(text);
		return -ENOMEM;
	}
	table->files[table->count++] = (struct table_file){ copy, text, length };
	return 0;
}

static int by_path(const void *left, const void *right)
{
	return strcmp(((const struct table_file *)left)->path,
		      ((const struct table_file *)right)->path);
}

void file_table_sort(struct file_table *table)
{
	if (table->count)
		qsort(table->files, table->count, sizeof(*table->files), by_path);
}

static const struct table_file *find(const struct file_table *table, const char *path)
{
	const struct table_file wanted = { .path = (char *)(uintptr_t)path };

	return table->count ? bsearch(&wanted, table->files, table->count, sizeof(*table->files),
				      by_path) :
			      NULL;
}

bool file_table_has(const struct file_table *table, const char *path)
{
	return find(table, path);
}

int file_table_open(const struct file_table *table, const char *path)
{
	const struct table_file *file = find(table, path);
	int fd, ret;

	if (!file)
		return -ENOENT;
	fd = memfd_create("allocfilt", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = file_write_all(fd, file->text, file->length);
	if (!ret && lseek(fd, 0, SEEK_SET))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int file_table_events(const struct file_table *table,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < table->count; i++) {
		char system[NAME_MAX + 1], name[NAME_MAX + 1];
		const char *path = table->files[i].path;
		int end = 0;

		sscanf(path, "events/%255[^/]/%255[^/]/format%n", system, name, &end);
		if (end && !path[end])
			ret = visit(context, system, name);
	}
	return ret;
}
