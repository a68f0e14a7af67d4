// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"

#define NONE	       UINT16_MAX
#define FRESH_NS       1000000000ull /* exec may have changed an older name */
#define PROC_COMM_MAX  64	     /* /proc adds to the name of a worker what it works on */
#define PID_DIGITS_MAX 11

/* Indices into the table instead of pointers: small, and NONE is "no entry". */
struct entry {
	int32_t pid;
	uint16_t next;	/* of the same bucket */
	uint16_t newer; /* order of use */
	uint16_t older;
	char name[NAME_MAX_COMM];
	uint64_t read_at; /* ts at which the name was read */
};

struct names {
	int proc; /* file descriptor of /proc; -1: a capture */
	char *saved;
	uint16_t size; /* of the table */
	uint16_t count;
	uint16_t newest;
	uint16_t oldest;
	uint64_t evicted;
	uint64_t missed;
	size_t nr_buckets;
	uint16_t *buckets;
	struct entry *table;
};

_Static_assert(NAMES_MAX < NONE, "an index has 16 bits");

static bool allocate_tables(struct names *names, const char *saved)
{
	names->nr_buckets = hash_buckets(names->size);
	names->buckets = malloc(names->nr_buckets * sizeof(*names->buckets));
	names->table = calloc(names->size, sizeof(*names->table));
	names->saved = saved ? strdup(saved) : NULL;
	return names->buckets && names->table && (names->saved || !saved);
}

struct names *names_new(const char *proc, const char *saved, unsigned int size)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->size = size < NAMES_MAX ? size : NAMES_MAX;
	names->proc = proc ? open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	names->newest = names->oldest = NONE;
	if (!allocate_tables(names, saved)) {
		names_free(names);
		errno = ENOMEM;
		return NULL;
	}
	memset(names->buckets, 0xff, names->nr_buckets * sizeof(*names->buckets));
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	if (names->proc >= 0)
		close(names->proc);
	free(names->saved);
	free(names->table);
	free(names->buckets);
	free(names);
}

uint64_t names_evicted(const struct names *names)
{
	return names->evicted;
}

uint64_t names_missed(const struct names *names)
{
	return names->missed;
}

/* ---- /proc/PID/comm ---- */

/* The kernel's own name of "kworker/0:1-events" is "kworker/0:1". */
static size_t worker_name_length(const char *name, size_t length)
{
	static const char worker[] = "kworker/";
	const char *colon, *end;

	if (length < sizeof(worker) || memcmp(name, worker, sizeof(worker) - 1))
		return length;
	colon = memchr(name, ':', length);
	if (!colon)
		return length;
	for (end = colon; end < name + length && *end != '-' && *end != '+'; end++)
		;
	return (size_t)(end - name);
}

static void set_name(char *name, const char *from, size_t length)
{
	if (length >= NAME_MAX_COMM)
		length = NAME_MAX_COMM - 1;
	memcpy(name, from, length);
	name[length] = '\0';
}

static bool read_proc(const struct names *names, int pid, char *name)
{
	char path[32], text[PROC_COMM_MAX + 2];
	ssize_t length;
	int fd;

	if (names->proc < 0)
		return false;
	snprintf(path, sizeof(path), "%d/comm", pid);
	fd = openat(names->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text));
	close(fd);
	if (length <= 0)
		return false;
	if (text[length - 1] == '\n')
		length--;
	set_name(name, text, worker_name_length(text, (size_t)length));
	return true;
}

/* ---- saved_cmdlines ---- */

/*
 * Lines of "PID NAME", where NAME may hold a newline: a line that does not begin with a number and
 * a space goes on with the name before it.
 */
struct saved_search {
	int pid;
	bool matches; /* the name that is being read is the one */
	bool done;
	bool in_name;
	char head[PID_DIGITS_MAX + 1];
	size_t head_length;
	char name[NAME_MAX_COMM];
	size_t name_length;
};

static void add_to_name(struct saved_search *search, const char *text, size_t length)
{
	size_t room = sizeof(search->name) - 1 - search->name_length;

	if (!search->matches)
		return;
	if (length > room)
		length = room;
	memcpy(search->name + search->name_length, text, length);
	search->name_length += length;
}

static void begin_name(struct saved_search *search)
{
	search->done = search->matches;
	search->head[search->head_length] = '\0';
	search->matches = strtoll(search->head, NULL, 10) == search->pid;
	search->in_name = true;
}

static void go_on_with_name(struct saved_search *search)
{
	add_to_name(search, "\n", 1);
	add_to_name(search, search->head, search->head_length);
	search->in_name = true;
}

static void take_char(struct saved_search *search, char c)
{
	if (!search->in_name) {
		if (c >= '0' && c <= '9' && search->head_length < PID_DIGITS_MAX) {
			search->head[search->head_length++] = c;
			return;
		}
		if (c == ' ' && search->head_length) {
			begin_name(search);
			return;
		}
		go_on_with_name(search);
	}
	if (c != '\n') {
		add_to_name(search, &c, 1);
		return;
	}
	search->in_name = false;
	search->head_length = 0;
}

static bool read_saved(const struct names *names, int pid, char *name)
{
	struct saved_search search = { .pid = pid };
	char buffer[4096];
	ssize_t got;
	int fd;

	fd = names->saved ? open(names->saved, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	while (!search.done && (got = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < got && !search.done; i++)
			take_char(&search, buffer[i]);
	close(fd);
	if (!search.done && search.matches && !search.in_name && search.head_length)
		go_on_with_name(&search);
	if (!search.done && !search.matches)
		return false;
	set_name(name, search.name, search.name_length);
	return true;
}

/* ---- the table ---- */

static uint16_t *bucket_of(struct names *names, int pid)
{
	return &names->buckets[hash_bucket((uint32_t)pid, names->nr_buckets)];
}

static void unlink_use(struct names *names, uint16_t index)
{
	struct entry *entry = &names->table[index];

	if (entry->newer != NONE)
		names->table[entry->newer].older = entry->older;
	else
		names->newest = entry->older;
	if (entry->older != NONE)
		names->table[entry->older].newer = entry->newer;
	else
		names->oldest = entry->newer;
}

static void link_newest(struct names *names, uint16_t index)
{
	struct entry *entry = &names->table[index];

	entry->newer = NONE;
	entry->older = names->newest;
	if (names->newest != NONE)
		names->table[names->newest].newer = index;
	else
		names->oldest = index;
	names->newest = index;
}

static struct entry *find(struct names *names, int pid)
{
	uint16_t index = *bucket_of(names, pid);

	while (index != NONE && names->table[index].pid != pid)
		index = names->table[index].next;
	if (index == NONE)
		return NULL;
	if (index != names->newest) {
		unlink_use(names, index);
		link_newest(names, index);
	}
	return &names->table[index];
}

static uint16_t evict_oldest(struct names *names)
{
	uint16_t index = names->oldest;
	uint16_t *at = bucket_of(names, names->table[index].pid);

	while (*at != index)
		at = &names->table[*at].next;
	*at = names->table[index].next;
	unlink_use(names, index);
	names->evicted++;
	return index;
}

/* Returns false and leaves the name as it is where there is none to be read. */
static bool read_name(struct names *names, struct entry *entry, uint64_t ts)
{
	char name[NAME_MAX_COMM];

	entry->read_at = ts;
	if (!read_proc(names, entry->pid, name) && !read_saved(names, entry->pid, name))
		return false;
	memcpy(entry->name, name, sizeof(name));
	return true;
}

static bool add(struct names *names, int pid, uint64_t ts)
{
	uint16_t index = names->count < names->size ? names->count++ : evict_oldest(names);
	struct entry *entry = &names->table[index];
	uint16_t *bucket = bucket_of(names, pid);

	entry->pid = pid;
	entry->next = *bucket;
	*bucket = index;
	link_newest(names, index);
	set_name(entry->name, "<...>", 5);
	return read_name(names, entry, ts);
}

void names_see(struct names *names, int pid, uint64_t ts)
{
	if (pid > 0 && !find(names, pid))
		add(names, pid, ts);
}

/* A capture does not change; what is read again of a live task that has gone is its saved name. */
static bool is_stale(const struct names *names, const struct entry *entry, uint64_t ts)
{
	return names->proc >= 0 && ts > entry->read_at && ts - entry->read_at > FRESH_NS;
}

/* All tasks are seen before they are asked for, so this one made room for another. What a capture
 * does not have now it did not have then. */
static const char *add_missed(struct names *names, int pid, uint64_t ts)
{
	if (!add(names, pid, ts) && names->evicted && names->proc >= 0)
		names->missed++;
	return names->table[names->newest].name;
}

const char *names_of(struct names *names, int pid, uint64_t ts)
{
	struct entry *entry;

	/* trace_find_cmdline() of the kernel */
	if (pid <= 0)
		return pid ? "<XXX>" : "<idle>";
	entry = find(names, pid);
	if (!entry)
		return add_missed(names, pid, ts);
	if (is_stale(names, entry, ts))
		read_name(names, entry, ts);
	return entry->name;
}
