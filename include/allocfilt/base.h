/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_H
#define ALLOCFILT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

/*
 * What a function that failed tells its caller, so that the caller can decide and main alone
 * prints: the exit status of its class and one line that names the thing and the way out.
 */

enum exit_status {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_RUN_TIME = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NO_TRACEFS = 3, /* none mounted, or no right to it */
	EXIT_STATUS_IN_USE = 4,	    /* tracing is in use by somebody else */
	EXIT_STATUS_NO_FEATURE = 5, /* the kernel lacks what it takes */
	EXIT_STATUS_NOT_RESTORED = 6,
};

#define FAILURE_TEXT_MAX 512

struct failure {
	enum exit_status status;
	char text[FAILURE_TEXT_MAX]; /* without a newline */
};

/**
 * failure_set - note what went wrong
 * @failure: filled; a text that is too long is cut
 * @status: exit status of its class
 * @error: a positive errno value; 0 stands for EINVAL
 *
 * Returns -@error, so that a caller can write `return failure_set(...)`.
 */
int failure_set(struct failure *failure, enum exit_status status, int error, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/**
 * failure_status_of_path - of a path of the command line that cannot be made or opened
 * @error: a positive errno value
 *
 * A full disk, or no room for one more descriptor, is no mistake of who gave the path.
 */
enum exit_status failure_status_of_path(int error);

/*
 * What is said about the run, on stderr: one line each, "allocfilt: " in front. Everything that is
 * shown of the kernel's data goes to stdout by the output stage and never through here.
 */

enum log_level {
	LOG_LEVEL_ERROR,   /* -q: only these */
	LOG_LEVEL_WARNING, /* something is missing or lost, the run goes on */
	LOG_LEVEL_NOTICE,  /* default */
	LOG_LEVEL_DEBUG,   /* -v */
};

void log_set_level(enum log_level level);

/**
 * log_look_for_journal - is stderr a stream of the journal? Then lines tell their priority
 *
 * JOURNAL_STREAM in systemd.exec(5), the prefixes in sd-daemon(3).
 */
void log_look_for_journal(void);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The CPUs that there can be, of which each has a place in the tables that are per CPU: numbers may
 * have gaps, and the highest says nothing of how many there are. A tracing directory lists all
 * possible CPUs, so one that comes online later has its place.
 */

struct cpu_list {
	const int *numbers; /* ascending; of somebody else, who keeps them as long */
	int count;	    /* at least 1 */
};

/** cpu_list_place - 0 … count-1, or -1 for a CPU that is not in the list */
int cpu_list_place(const struct cpu_list *cpus, int cpu);

/** cpu_list_highest - the highest number */
int cpu_list_highest(const struct cpu_list *cpus);

/*
 * Small files of the kernel, whole: tracefs, /proc. No state and no message.
 */

/**
 * file_read - the text of a file, a NUL behind it; free() it
 * @dir: NULL: @path as it is
 *
 * Returns 0 or -errno (-EFBIG: over 64 MiB, a file without an end).
 */
int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length);

/**
 * file_write - write a text to a file that exists, emptied by opening it (O_TRUNC) as a shell does
 *
 * Goes on after a short write (tracefs takes one function name a write: ftrace.c,
 * ftrace_regex_write()) and splits only between lines. Returns 0 or -errno, that of close() as
 * well.
 */
int file_write(const char *dir, const char *path, const char *text);

/**
 * file_append - write a text to a file that exists, and leave what it has
 *
 * For a file that opening with O_TRUNC would clear of others' things as well (dynamic_events, an
 * event's trigger). Returns as file_write().
 */
int file_append(const char *dir, const char *path, const char *text);

/** file_path - "dir/path" in a buffer of PATH_MAX; 0 or -ENAMETOOLONG */
int file_path(char *buffer, const char *dir, const char *path);

/** file_read_text - text of a file below a directory, NUL behind it, free() it; NULL and errno */
char *file_read_text(const char *dir, const char *name, size_t *ret_length);

/**
 * cpu_directories - numbers of the cpuN directories below @dir/per_cpu, ascending
 *
 * Returns how many, or -errno; free() the array.
 */
int cpu_directories(const char *dir, int **ret_cpus);

/**
 * event_directories - each events/SYSTEM/NAME of a tracing directory or a capture
 * @dir: the directory in which `events` is
 * @visit: called until it returns non-zero; on file systems that do not tell directories from
 *         files it also gets names of files
 *
 * In no order. Returns 0, what @visit returned, or -errno where there is no `events` to read.
 */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

/*
 * A hash table over a fixed array of entries, each of which embeds a struct hash_link. It keeps
 * the entries in order of their last use. After hash_init() nothing is allocated.
 */

struct hash_link {
	TAILQ_ENTRY(hash_link) use; /* of hash.used or hash.unused */
	struct hash_link *next;	    /* of the same bucket */
	uint64_t key;
};

TAILQ_HEAD(hash_links, hash_link);

struct hash {
	struct hash_links used; /* least recently used first */
	struct hash_links unused;
	struct hash_link **buckets;
	unsigned int shift; /* of a 64-bit hash value, leaves the number of a bucket */
};

/* The entry of which @link is the member. */
#define hash_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/**
 * hash_init - a table of unused entries
 * @first: the link of the first entry of an array
 * @stride: bytes from one entry's link to the next
 * @count: entries of the array, at least 1
 *
 * The array stays the caller's and has to live as long as the table. Returns 0 or -ENOMEM.
 */
int hash_init(struct hash *hash, struct hash_link *first, size_t stride, size_t count);

/** hash_destroy - free the buckets; a table that is all zeros may be passed */
void hash_destroy(struct hash *hash);

/** hash_find - the entry with that key, which becomes the most recently used one; NULL for none */
struct hash_link *hash_find(struct hash *hash, uint64_t key);

/** hash_is_full - does the next hash_insert() evict an entry? */
bool hash_is_full(const struct hash *hash);

/** hash_oldest - the least recently used entry, which goes first; NULL in an empty table */
struct hash_link *hash_oldest(const struct hash *hash);

/**
 * hash_insert - an entry for a key that the table does not have
 *
 * Takes an unused entry, or evicts the least recently used one. What the entry held besides its
 * link is left as it was. The entry becomes the most recently used one.
 */
struct hash_link *hash_insert(struct hash *hash, uint64_t key);

/** hash_remove - the entry's key is no longer found, and the entry is unused */
void hash_remove(struct hash *hash, struct hash_link *link);

/* Buckets of the hash tables that struct hash has not replaced yet. */

/** hash_buckets - the lowest power of two that is at least @entries; 1 for 0 */
static inline size_t hash_buckets(size_t entries)
{
	size_t buckets = 1;

	while (buckets < entries)
		buckets *= 2;
	return buckets;
}

/**
 * hash_bucket - which bucket a number belongs into
 * @buckets: of hash_buckets(), at most 65536
 *
 * Knuth's multiplicative hashing: the upper bits depend on all of @key's.
 */
static inline size_t hash_bucket(uint32_t key, size_t buckets)
{
	return (key * 2654435761u >> 16) & (buckets - 1);
}

/*
 * Rings of things in fixed pools: a head, and in each thing a link that points to its neighbours.
 */

struct link {
	struct link *prev;
	struct link *next;
};

/* The thing of which @link is the member. */
#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct link *list)
{
	list->prev = list;
	list->next = list;
}

static inline bool list_empty(const struct link *list)
{
	return list->next == list;
}

static inline void list_append(struct link *list, struct link *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

static inline void list_remove(struct link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* Lists of texts that NULL ends. A list without a text is NULL. */

/**
 * string_list_add - add a copy at the end, unless it is there already
 * @most: how many may be in the list
 *
 * Returns 0, -E2BIG or -ENOMEM; then the list is as before.
 */
int string_list_add(char ***texts, const char *text, size_t most);

size_t string_list_count(char *const *texts);
bool string_list_contains(char *const *texts, const char *text);
bool string_list_equal(char *const *a, char *const *b);
void string_list_free(char **texts);

/* Names of tasks and cgroups hold any bytes; what is printed of them is valid and does no harm. */

/**
 * utf8_length - bytes of the character at @text (NUL ends it)
 *
 * Returns 1 to 4, or 0 where the bytes are no UTF-8: overlong forms, surrogates and what lies
 * above U+10FFFF are none (RFC 3629).
 */
size_t utf8_length(const char *text);

/**
 * utf8_printable - copy a text for a person's eyes
 * @ascii: the reader's locale has no UTF-8
 *
 * Control characters (C0, DEL, C1), bytes that are no UTF-8 and, with @ascii, all that is not
 * ASCII become \xNN. Cut at size - 1, never inside a character or an escape. Returns the columns
 * (characters) written.
 */
size_t utf8_printable(char *to, size_t size, const char *text, bool ascii);

/*
 * Words of a line of text with any bytes in them: blanks, newlines, backslashes and other bytes
 * that are no printable ASCII are written as a backslash and three octal digits, as in
 * /proc/mounts. An empty word is written as "-".
 */

/** word_print - a word, and a blank or newline behind it */
void word_print(FILE *stream, const char *word, char behind);

/**
 * word_take - the next word of a line
 * @line: moved behind the word
 * @word: cut to size - 1, NUL behind it
 *
 * Returns false at the end of the line.
 */
bool word_take(const char **line, char *word, size_t size);

/*
 * Bytes on their way to stdout or a file. A reader who does not read must not make the program
 * deaf to a signal: a pipe or terminal is written only when it has room, and who waits for room
 * watches the stop descriptor as well.
 */

#define WRITER_BUFFER	(128u << 10) /* bytes */
#define WRITER_GRACE_MS 2000	     /* waits for room, in all, once a stop is asked for */

struct writer;

/**
 * writer_new
 * @fd: not closed by writer_free()
 * @stop_fd: readable when the run is to stop (a signalfd, which is not read here), -1 for none
 *
 * Returns NULL with errno ENOMEM.
 */
struct writer *writer_new(int fd, int stop_fd);
void writer_free(struct writer *writer);

/** writer_fd - where it writes */
int writer_fd(const struct writer *writer);

/** writer_attach - begin anew on another descriptor: what is queued and what failed is forgotten */
void writer_attach(struct writer *writer, int fd);

/**
 * writer_put - queue bytes; writes when the buffer is full
 *
 * Returns 0, -EPIPE when the reader has gone, -ETIMEDOUT when it did not read within the grace
 * after a stop, or the -errno of write(2) (-ENOSPC, …). After a failure every call gives it again
 * and writes nothing more.
 */
int writer_put(struct writer *writer, const char *text, size_t length);

/** writer_flush - write all that is queued; returns as writer_put() */
int writer_flush(struct writer *writer);

/* A line of text that is put together piece by piece in a fixed buffer; what is too long is cut. */

#define LINE_MAX_BYTES 1024

struct line {
	size_t used;
	char text[LINE_MAX_BYTES];
};

void line_clear(struct line *line);
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** line_put - write it with a newline; 0 or -errno of the writer */
int line_put(struct line *line, struct writer *writer);

/** duration_text - ns as a person says it: "134 us", "12.8 ms", "1.2 s", rounded; returns @text */
#define DURATION_TEXT_MAX 32
const char *duration_text(char text[DURATION_TEXT_MAX], uint64_t ns);

/* A table that was full. */
struct overflow {
	const char *key;  /* for programs */
	const char *text; /* for people: "waiting events were dropped" */
	uint64_t count;
	bool harmless; /* most likely nothing is missing: not said without being asked */
};

#endif
