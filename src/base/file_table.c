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

#define FILES_MAX 65536	       /* the kernel numbers its events with 16 bits */
#define BYTES_MAX (256u << 20) /* of all texts */

struct table_file {
	char *path;
	char *text;
	size_t length;
};

struct file_table {
	struct table_file *files; /* by path */
	size_t count;
	size_t size;  /* of files */
	size_t bytes; /* of all texts */
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
	char *copy;

	if (table->count == FILES_MAX || length > BYTES_MAX - table->bytes) {
		free(text);
		return -E2BIG;
	}
	copy = strdup(path);
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
	table->bytes += length;
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
	size_t kept = 0;

	if (table->count)
		qsort(table->files, table->count, sizeof(*table->files), by_path);
	/* Of those with one path any. */
	for (size_t i = 0; i < table->count; i++) {
		if (kept && !by_path(&table->files[kept - 1], &table->files[i])) {
			free(table->files[i].path);
			free(table->files[i].text);
			continue;
		}
		table->files[kept++] = table->files[i];
	}
	table->count = kept;
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

int file_table_read(const struct file_table *table, const char *path, char **ret_text,
		    size_t *ret_length)
{
	const struct table_file *file = find(table, path);
	char *text;

	if (!file)
		return -ENOENT;
	text = malloc(file->length + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, file->text, file->length);
	text[file->length] = '\0';
	*ret_text = text;
	if (ret_length)
		*ret_length = file->length;
	return 0;
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
