// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/hash.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/memory.h"
#include "allocfilt/base/text.h"
#include "allocfilt/names/cgroups.h"
#include "names/line_reader.h"

#define HANDLE_KERNFS 0xfe  /* FILEID_KERNFS, include/linux/exportfs.h: from 5.5 on */
#define SAVED_MAX     65536 /* cgroups in the file of a capture */
#define UNKNOWN	      UINT64_MAX
#define ANSWERS	      64  /* of cgroups_limit(), by hash */
#define TEXT_MAX      512 /* of a cgroup's file */

struct cgroup {
	struct hash_link link; /* by inode number */
	uint64_t before;       /* us: "some total" of memory.pressure when the run began */
	uint64_t after;	       /* the same when it was read last since then */
	uint64_t hits; /* how often it was at a limit before the run; of a capture: in the run */
	char path[CGROUP_PATH_MAX];
};

struct cgroups {
	int mount;		/* descriptor of the root of cgroup2; -1: none */
	char mounted[PATH_MAX]; /* its path */
	uint64_t missed;
	size_t size;
	uint64_t before; /* of a cgroup that is not in the table; 0: those of the start are in it */
	uint64_t most;	 /* bytes; 0: not known */
	char most_path[CGROUP_PATH_MAX];
	struct limit_answer {
		uint64_t key, until; /* ns, the trace clock */
		size_t length;
	} answers[ANSWERS];
	struct hash hash;
	struct cgroup table[];
};

/* Opens the first mount point of cgroup2 in the mounts of a process; -1: there is none. */
static int open_cgroup2(const char *process, char mounted[PATH_MAX])
{
	char path[2 * PATH_MAX], text[2 * PATH_MAX];
	struct mntent entry;
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/mounts", process);
	stream = setmntent(path, "re");
	if (!stream)
		return -1;
	while (!found && getmntent_r(stream, &entry, text, sizeof(text))) {
		found = !strcmp(entry.mnt_type, "cgroup2");
		snprintf(mounted, PATH_MAX, "%s", entry.mnt_dir);
	}
	endmntent(stream);
	snprintf(path, sizeof(path), "%s/root%s", process, mounted);
	return found ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static struct cgroup *add_cgroup(struct cgroups *cgroups, uint64_t id, const char *path)
{
	struct cgroup *cgroup;
	size_t length = strlen(path);

	if (hash_is_full(&cgroups->hash))
		cgroups->before = UNKNOWN;
	cgroup = container_of(hash_insert(&cgroups->hash, id), struct cgroup, link);
	cgroup->before = cgroups->before;
	cgroup->after = UNKNOWN;
	cgroup->hits = cgroups->before;
	if (!length)
		path = "/";
	else if (length >= CGROUP_PATH_MAX)
		path += length - (CGROUP_PATH_MAX - 1);
	strcpy(cgroup->path, path);
	return cgroup;
}

static void count_memory(struct cgroups *cgroups, const char *path, uint64_t bytes)
{
	if (bytes <= cgroups->most)
		return;
	snprintf(cgroups->most_path, sizeof(cgroups->most_path), "%s", path);
	cgroups->most = bytes;
}

/* Returns the number of lines with a path. Without a table it only counts them. */
static size_t read_saved_cgroups(struct cgroups *cgroups, int saved)
{
	struct line_reader reader;
	size_t count = 0;
	const char *line;

	line_reader_start(&reader, saved);
	while (count < SAVED_MAX && (line = line_reader_next(&reader))) {
		char number[24], path[PATH_MAX];
		struct cgroup *cgroup;
		uint64_t id, bytes = 0;

		if (!text_parse_field(&line, number, sizeof(number)) ||
		    !text_parse_field(&line, path, sizeof(path)))
			continue;
		id = strtoull(number, NULL, 10);
		count++;
		if (!cgroups || hash_find(&cgroups->hash, id))
			continue;
		cgroup = add_cgroup(cgroups, id, path);
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &cgroup->after, &bytes,
			   &cgroup->hits) > 0)
			cgroup->before = 0;
		count_memory(cgroups, cgroup->path, bytes);
	}
	return count;
}

struct cgroups *cgroups_new(const char *process, int saved, size_t size)
{
	struct cgroups *cgroups;

	if (!process)
		size = read_saved_cgroups(NULL, saved) + 1;
	cgroups = calloc(1, sizeof(*cgroups) + size * sizeof(cgroups->table[0]));
	if (!cgroups ||
	    hash_init(&cgroups->hash, &cgroups->table[0].link, sizeof(cgroups->table[0]), size)) {
		free(cgroups);
		return NULL;
	}
	cgroups->size = size;
	cgroups->before = UNKNOWN;
	read_saved_cgroups(cgroups, saved);
	cgroups->mount = process ? open_cgroup2(process, cgroups->mounted) : -1;
	return cgroups;
}

void cgroups_free(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	file_close(cgroups->mount);
	hash_destroy(&cgroups->hash);
	free(cgroups);
}

/* Finds a path without a search: kernfs has the inode number as file handle (fs/kernfs/mount.c). */
static bool read_live(const struct cgroups *cgroups, uint64_t id, char path[PATH_MAX])
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} file = { .handle = { .handle_bytes = sizeof(uint64_t), .handle_type = HANDLE_KERNFS } };
	size_t mounted = strlen(cgroups->mounted);
	char link[64];
	ssize_t length;
	int fd;

	memcpy(file.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(cgroups->mount, &file.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	close(fd);
	if (length < 0)
		return false;
	path[length] = '\0';
	/* A cgroup outside of what is mounted has its path from the root of the hierarchy. */
	if (!strncmp(path, cgroups->mounted, mounted))
		memmove(path, path + mounted, (size_t)length + 1 - mounted);
	return true;
}

static noinline const char *read_path(struct cgroups *cgroups, uint64_t id)
{
	char path[PATH_MAX];

	if (read_live(cgroups, id, path))
		return add_cgroup(cgroups, id, path)->path;
	if (cgroups->hash.evicted)
		cgroups->missed++;
	return "";
}

/*
 * Inode numbers of cgroups are not reused, so an entry never becomes wrong. The table has all
 * cgroups of a capture.
 */
const char *cgroups_path(struct cgroups *cgroups, uint64_t id)
{
	struct hash_link *link = id ? hash_find(&cgroups->hash, id) : NULL;

	if (link)
		return container_of(link, struct cgroup, link)->path;
	return id && cgroups->mount >= 0 ? read_path(cgroups, id) : "";
}

bool cgroup_matches(const char *glob, const char *cgroup)
{
	char path[CGROUP_PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", cgroup);
	while ((slash = strrchr(path, '/'))) {
		if (!fnmatch(glob, path, FNM_NOESCAPE) ||
		    (slash[1] && !fnmatch(glob, slash + 1, FNM_NOESCAPE)))
			return true;
		*slash = '\0';
	}
	return *cgroup == '/' && !fnmatch(glob, "/", FNM_NOESCAPE);
}

void cgroups_check(const struct cgroups *cgroups, const char *glob)
{
	struct hash_link *link;
	const char *nearest = NULL;

	/* Cgroups of version 1 are elsewhere. */
	if (cgroups->before == UNKNOWN || faccessat(cgroups->mount, "memory.stat", F_OK, 0))
		return;
	TAILQ_FOREACH(link, &cgroups->hash.used, use) {
		const char *path = container_of(link, struct cgroup, link)->path;
		const char *name = basename(path);

		if (cgroup_matches(glob, path))
			return;
		text_hint(&nearest, glob, name);
		if (!nearest && strstr(name, glob))
			nearest = name;
	}
	log_warning("no cgroup matches --cgroup '%s' so far%s%s%s", glob,
		    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

uint64_t cgroups_missed(const struct cgroups *cgroups)
{
	return cgroups->missed;
}

/* In a capture there are those below it. In a running kernel each directory links back to it. */
bool cgroups_is_inner(const struct cgroups *cgroups, const char *path)
{
	char dir[CGROUP_PATH_MAX + 2];
	int length = snprintf(dir, sizeof(dir), ".%s/", path);
	struct hash_link *link;
	struct stat status;

	if (cgroups->mount >= 0)
		return !fstatat(cgroups->mount, dir, &status, AT_SYMLINK_NOFOLLOW) &&
		       status.st_nlink > 2;
	TAILQ_FOREACH(link, &cgroups->hash.used, use)
		if (!strncmp(container_of(link, struct cgroup, link)->path, dir + 1, length - 1))
			return true;
	return !strcmp(path, "/");
}

/* ---- limits ---- */

/* @dir: of a cgroup below the mount, "./a"; a name that is cut is not that of a file, which has "" */
static const char *read_text(const struct cgroups *cgroups, const char *dir, const char *file,
			     char text[TEXT_MAX])
{
	char name[CGROUP_PATH_MAX + sizeof("./memory.events.local")];

	snprintf(name, sizeof(name), "%s/%s", dir, file);
	file_read_start(openat(cgroups->mount, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), text,
			TEXT_MAX);
	return text;
}

/* Without one it says "max", and without the memory controller there is no file. */
static bool has_limit(const struct cgroups *cgroups, const char *dir)
{
	char text[TEXT_MAX];

	return isdigit(*read_text(cgroups, dir, "memory.max", text)) ||
	       isdigit(*read_text(cgroups, dir, "memory.high", text));
}

/* Charges that found it at memory.max or memory.high. Without the memory controller it has no limit. */
static uint64_t read_hits(const struct cgroups *cgroups, const char *dir)
{
	char text[TEXT_MAX];

	read_text(cgroups, dir, "memory.events.local", text);
	return text_number(text, "high ") + text_number(text, "max ");
}

/*
 * Returns how often a cgroup was at its limits in the run; UNKNOWN for one that is gone. Where nobody knows
 * how often it was before the run, it may have been at those that it has.
 */
static uint64_t hits_of(const struct cgroups *cgroups, const char *dir)
{
	uint64_t before, hits;
	struct hash_link *link;
	struct stat status;

	if (cgroups->mount >= 0) {
		if (fstatat(cgroups->mount, dir, &status, AT_SYMLINK_NOFOLLOW))
			return UNKNOWN;
		link = hash_peek(&cgroups->hash, status.st_ino);
		before = link ? container_of(link, struct cgroup, link)->hits : cgroups->before;
		hits = read_hits(cgroups, dir);
		return hits < before ? has_limit(cgroups, dir) : hits - before;
	}
	TAILQ_FOREACH(link, &cgroups->hash.used, use)
		if (!strcmp(container_of(link, struct cgroup, link)->path, dir + 1))
			return container_of(link, struct cgroup, link)->hits;
	return UNKNOWN;
}

/* Where several were at their limits in the run, nobody knows at which one a stall was. */
static size_t find_limit(const struct cgroups *cgroups, const char *path)
{
	char dir[CGROUP_PATH_MAX + 1] = ".";
	size_t found = 0;

	text_append(dir, sizeof(dir), 1, path);
	for (char *slash; (slash = strrchr(dir, '/')) && slash[1]; *slash = '\0') {
		uint64_t hits = hits_of(cgroups, dir);

		if (hits == UNKNOWN || (hits && found))
			return 0;
		if (hits)
			found = strlen(dir + 1);
	}
	return found;
}

/* The files of a running kernel are read once a second, however many stalls there are. */
const char *cgroups_limit(struct cgroups *cgroups, const char *path, uint64_t ts,
			  char limit[CGROUP_PATH_MAX])
{
	uint64_t key = hash_text(path);
	uint64_t until = cgroups->mount < 0 ? UNKNOWN : ts + NS_PER_SECOND;
	struct limit_answer *answer = &cgroups->answers[key % ANSWERS];

	if (answer->key != key || ts >= answer->until)
		*answer = (struct limit_answer){ key, until, find_limit(cgroups, path) };
	snprintf(limit, CGROUP_PATH_MAX, "%.*s", (int)answer->length, path);
	return limit;
}

/* ---- the walk ---- */

/* Leaves out a cgroup if nobody could tell that it is new. @dir: its directory below the mount, "./a" */
static void read_cgroup(struct cgroups *cgroups, uint64_t id, const char *dir, bool begins)
{
	struct hash_link *link = hash_find(&cgroups->hash, id);
	struct memory_pressure now;
	char text[TEXT_MAX];
	struct cgroup *cgroup;

	if (!link && !begins && cgroups->before == UNKNOWN)
		return;
	memory_pressure_parse(read_text(cgroups, dir, "memory.pressure", text), &now);
	cgroup = link ? container_of(link, struct cgroup, link) : add_cgroup(cgroups, id, dir + 1);
	if (begins)
		cgroup->hits = read_hits(cgroups, dir);
	if (begins)
		cgroup->before = now.known ? now.some : UNKNOWN;
	else if (now.known)
		cgroup->after = now.some;
}

/* Directories are opened by path: on cgroup2 nobody can rename one, or make a symbolic link. */
void cgroups_walk(struct cgroups *cgroups, enum cgroups_walk which, FILE *stream)
{
	size_t count = 0, most = stream ? SAVED_MAX : cgroups->size;
	char root[32];
	char *const roots[] = { root, NULL };
	bool whole = true;
	FTSENT *entry;
	FTS *tree;

	if (cgroups->mount < 0)
		return;
	cgroups->most = 0;
	if (which == CGROUPS_BEGIN)
		hash_clear(&cgroups->hash, &cgroups->table[0].link, cgroups->size);
	snprintf(root, sizeof(root), "/proc/self/fd/%d/.", cgroups->mount);
	tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	while (tree && count < most && (entry = fts_read(tree))) {
		const char *dir = entry->fts_path + strlen(root) - 1;
		const char *path = dir[1] ? dir + 1 : "/";
		struct stat status;
		char text[TEXT_MAX];
		uint64_t ns, bytes = 0;

		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			whole = whole && entry->fts_errno == ENOENT;
		if (entry->fts_info != FTS_D ||
		    fstatat(cgroups->mount, dir, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (count++ < cgroups->size && which != CGROUPS_NAMES)
			read_cgroup(cgroups, status.st_ino, dir, which == CGROUPS_BEGIN);
		/* The memory of a cgroup counts in those above it, too, which have more links. */
		if (which == CGROUPS_NOW && status.st_nlink <= 2) {
			bytes = strtoull(read_text(cgroups, dir, "memory.current", text), NULL, 10);
			count_memory(cgroups, path, bytes);
		}
		if (!stream)
			continue;
		fprintf(stream, "%" PRIu64 " ", (uint64_t)status.st_ino);
		text_print_field(stream, path, which == CGROUPS_NOW ? ' ' : '\n');
		if (which == CGROUPS_NOW)
			fprintf(stream, "%" PRIi64 " %" PRIu64 " %" PRIi64 "\n",
				cgroups_pressure(cgroups, path, &ns) ? (int64_t)(ns / NS_PER_US) :
								       -1,
				bytes, (int64_t)hits_of(cgroups, dir));
	}
	/* At the end of the tree fts_read() sets errno to 0. */
	whole = whole && tree && count < most && !errno;
	if (tree)
		fts_close(tree);
	if (which == CGROUPS_BEGIN)
		cgroups->before = 0;
	if (which != CGROUPS_NAMES && (!whole || count > cgroups->size))
		cgroups->before = UNKNOWN;
}

const char *cgroups_most_memory(const struct cgroups *cgroups, uint64_t *ret_bytes)
{
	*ret_bytes = cgroups->most;
	return cgroups->most ? cgroups->most_path : NULL;
}

bool cgroups_pressure(const struct cgroups *cgroups, const char *path, uint64_t *ret_ns)
{
	struct hash_link *link;
	bool known = false;

	*ret_ns = 0;
	TAILQ_FOREACH(link, &cgroups->hash.used, use) {
		const struct cgroup *cgroup = container_of(link, struct cgroup, link);

		if (strcmp(cgroup->path, path))
			continue;
		/* A cgroup that was made again lacks the pressure of the one before. */
		if (cgroup->after == UNKNOWN || cgroup->after < cgroup->before)
			return false;
		*ret_ns += (cgroup->after - cgroup->before) * NS_PER_US;
		known = true;
	}
	return known;
}
