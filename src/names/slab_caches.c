// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/names.h"

#define CACHES_MAX     2048
#define CACHE_NAME_MAX 64

/* A directory of /sys/kernel/slab; merged caches share one, to which each name is a link. */
struct slab_cache {
	char directory[CACHE_NAME_MAX];
	char name[CACHE_NAME_MAX];
	uint64_t object_size; /* bytes */
	uint64_t size;	      /* bytes that an object takes */
};

struct slab_caches {
	size_t count;
	struct slab_cache cache[CACHES_MAX];
};

static bool read_size(const char *dir, const char *cache, const char *name, uint64_t *ret_size)
{
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s/%s", cache, name);
	if (file_read(dir, path, &text, NULL))
		return false;
	*ret_size = strtoull(text, NULL, 10);
	free(text);
	return *ret_size;
}

/* A cache that was merged from several has no name that says what it is. */
static void add_name(struct slab_caches *caches, const char *directory, const char *name)
{
	for (size_t i = 0; i < caches->count; i++) {
		struct slab_cache *cache = &caches->cache[i];

		if (strcmp(cache->directory, directory))
			continue;
		snprintf(cache->name, sizeof(cache->name), "%.*s", CACHE_NAME_MAX - 1,
			 *cache->name == ':' ? name : "");
	}
}

static void read_links(struct slab_caches *caches, const char *dir, DIR *stream)
{
	struct dirent *entry;

	while ((entry = readdir(stream))) {
		char path[PATH_MAX], target[CACHE_NAME_MAX];
		ssize_t length;

		if (entry->d_type != DT_LNK || file_path(path, dir, entry->d_name))
			continue;
		length = readlink(path, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		add_name(caches, target, entry->d_name);
	}
}

struct slab_caches *slab_caches_new(const char *dir)
{
	struct slab_caches *caches = calloc(1, sizeof(*caches));
	DIR *stream = opendir(dir);
	struct dirent *entry;

	while (caches && stream && caches->count < CACHES_MAX && (entry = readdir(stream))) {
		struct slab_cache *cache = &caches->cache[caches->count];

		if (entry->d_type != DT_DIR || strlen(entry->d_name) >= CACHE_NAME_MAX ||
		    !read_size(dir, entry->d_name, "object_size", &cache->object_size) ||
		    !read_size(dir, entry->d_name, "slab_size", &cache->size))
			continue;
		strcpy(cache->directory, entry->d_name);
		strcpy(cache->name, entry->d_name);
		caches->count++;
	}
	if (caches && stream) {
		rewinddir(stream);
		read_links(caches, dir, stream);
	}
	if (stream)
		closedir(stream);
	return caches;
}

void slab_caches_free(struct slab_caches *caches)
{
	free(caches);
}

const char *slab_caches_name(const struct slab_caches *caches, uint64_t object_size, uint64_t size)
{
	const char *name = NULL;

	for (size_t i = 0; i < caches->count; i++) {
		const struct slab_cache *cache = &caches->cache[i];

		if (cache->object_size != object_size || cache->size != size)
			continue;
		if (name)
			return NULL;
		name = cache->name;
	}
	return name && *name && *name != ':' ? name : NULL;
}
