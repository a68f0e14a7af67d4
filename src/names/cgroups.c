// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"

#define HANDLE_KERNFS 0xfe  /* FILEID_KERNFS, include/linux/exportfs.h: from 5.5 on */
#define PRINT_MAX     65536 /* cgroups in the file of a capture */

struct known {
	uint64_t id;
	uint64_t used; /* when: a number that counts up */
	char path[CGROUP_PATH_MAX];
};

struct cgroups {
	int mount;	     /* descriptor of the root of cgroup2; -1: none */
	size_t mount_length; /* of its path */
	FILE *saved;	     /* NULL: none */
	char buffer[BUFSIZ]; /* of saved, which would allocate its own when it is first read */
	uint64_t uses;
	uint64_t evicted;
	uint64_t missed;
	size_t size;
	size_t count;
	struct known table[];
};

/* Where cgroup2 is mounted; -ENOENT for nowhere. */
static int find_mount(const char *mounts, char mount[PATH_MAX])
{
	FILE *stream = setmntent(mounts, "re");
	struct mntent entry;
	char text[2 * PATH_MAX];
	int ret = -ENOENT;

	if (!stream)
		return -errno;
	while (ret && getmntent_r(stream, &entry, text, sizeof(text))) {
		if (strcmp(entry.mnt_type, "cgroup2"))
			continue;
		snprintf(mount, PATH_MAX, "%s", entry.mnt_dir);
		ret = 0;
	}
	endmntent(stream);
	return ret;
}

struct cgroups *cgroups_new(const char *mounts, const char *saved, size_t size)
{
	struct cgroups *cgroups = calloc(1, sizeof(*cgroups) + size * sizeof(cgroups->table[0]));
	char mount[PATH_MAX];

	if (!cgroups)
		return NULL;
	cgroups->size = size;
	cgroups->mount = -1;
	if (mounts && !find_mount(mounts, mount)) {
		cgroups->mount = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cgroups->mount_length = strlen(mount);
	}
	cgroups->saved = saved ? fopen(saved, "re") : NULL;
	if (cgroups->saved)
		setvbuf(cgroups->saved, cgroups->buffer, _IOFBF, sizeof(cgroups->buffer));
	return cgroups;
}

void cgroups_free(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	if (cgroups->mount >= 0)
		close(cgroups->mount);
	if (cgroups->saved)
		fclose(cgroups->saved);
	free(cgroups);
}

static void set_path(char path[CGROUP_PATH_MAX], const char *from)
{
	size_t length = strlen(from);

	if (!length)
		from = "/";
	if (length >= CGROUP_PATH_MAX)
		from += length - (CGROUP_PATH_MAX - 1);
	strcpy(path, from);
}

/* kernfs takes the number of an inode for a handle, so that no tree has to be searched. */
static void look_up_live(const struct cgroups *cgroups, uint64_t id, char known[CGROUP_PATH_MAX])
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} of = { .handle = { .handle_bytes = sizeof(uint64_t), .handle_type = HANDLE_KERNFS } };
	char link[64];
	char path[PATH_MAX];
	ssize_t length;
	int fd;

	memcpy(of.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(cgroups->mount, &of.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (length < (ssize_t)cgroups->mount_length)
		return;
	path[length] = '\0';
	set_path(known, path + cgroups->mount_length);
}

static void look_up_saved(const struct cgroups *cgroups, uint64_t id, char known[CGROUP_PATH_MAX])
{
	char line[4 * PATH_MAX];
	char word[PATH_MAX];

	rewind(cgroups->saved);
	while (fgets(line, sizeof(line), cgroups->saved)) {
		const char *at = line;

		if (!text_parse_field(&at, word, sizeof(word)) || strtoull(word, NULL, 10) != id)
			continue;
		if (text_parse_field(&at, word, sizeof(word)))
			set_path(known, word);
		break;
	}
}

static struct known *find(struct cgroups *cgroups, uint64_t id)
{
	for (size_t i = 0; i < cgroups->count; i++)
		if (cgroups->table[i].id == id)
			return &cgroups->table[i];
	return NULL;
}

static struct known *least_recently_used(struct cgroups *cgroups)
{
	struct known *least = cgroups->table;

	for (size_t i = 1; i < cgroups->count; i++)
		if (cgroups->table[i].used < least->used)
			least = &cgroups->table[i];
	return least;
}

static struct known *add(struct cgroups *cgroups, uint64_t id, const char *path)
{
	struct known *known;

	if (cgroups->count < cgroups->size) {
		known = &cgroups->table[cgroups->count++];
	} else {
		known = least_recently_used(cgroups);
		cgroups->evicted++;
	}
	known->id = id;
	strcpy(known->path, path);
	return known;
}

/* Where the path is not to be found, none makes room for it. */
static struct known *look_up(struct cgroups *cgroups, uint64_t id)
{
	char path[CGROUP_PATH_MAX] = "";

	if (cgroups->mount >= 0)
		look_up_live(cgroups, id, path);
	else if (cgroups->saved)
		look_up_saved(cgroups, id, path);
	if (*path)
		return add(cgroups, id, path);
	/* What a capture does not have now it did not have then. */
	if (cgroups->evicted && cgroups->mount >= 0)
		cgroups->missed++;
	return NULL;
}

/* The number of a cgroup that is gone does not come back: it counts up. */
const char *cgroups_path(struct cgroups *cgroups, uint64_t id)
{
	struct known *known;

	if (!id)
		return "";
	known = find(cgroups, id);
	if (!known)
		known = look_up(cgroups, id);
	if (!known)
		return "";
	known->used = ++cgroups->uses;
	return known->path;
}

uint64_t cgroups_evicted(const struct cgroups *cgroups)
{
	return cgroups->evicted;
}

uint64_t cgroups_missed(const struct cgroups *cgroups)
{
	return cgroups->missed;
}

/* nftw(3) hands on no context. */
static struct {
	FILE *stream;
	size_t mount_length;
	int count;
} printing;

static int print_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)where;
	if (type != FTW_D)
		return 0;
	if (printing.count++ >= PRINT_MAX)
		return 1;
	fprintf(printing.stream, "%" PRIu64 " ", (uint64_t)status->st_ino);
	path += printing.mount_length;
	text_print_field(printing.stream, *path ? path : "/", '\n');
	return 0;
}

void cgroups_print(FILE *stream, const char *mounts)
{
	char mount[PATH_MAX];

	if (find_mount(mounts, mount))
		return;
	printing.stream = stream;
	printing.mount_length = strlen(mount);
	printing.count = 0;
	nftw(mount, print_one, 16, FTW_PHYS | FTW_MOUNT);
}
