/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_H
#define ALLOCFILT_BASE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/types.h>

/*
 * Used by every stage, and independent of them: failures, the log, files, text, the writer.
 */

/* Of a function that is rare: what it needs is no burden to its callers. */
#define noinline __attribute__((noinline))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of which @pointer is the member. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define NS_PER_US     UINT64_C(1000)
#define NS_PER_MS     (1000 * NS_PER_US)
#define NS_PER_SECOND (1000 * NS_PER_MS)

/*
 * A failure as it is returned to main, which alone prints it and exits: the exit status and one
 * line that names what failed and what to do.
 */

enum exit_status {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_RUN_TIME = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NO_TRACEFS = 3, /* none mounted, or no right to it */
	EXIT_STATUS_IN_USE = 4,	    /* tracing is in use by somebody else */
	EXIT_STATUS_NO_FEATURE = 5, /* the kernel lacks what is needed */
	EXIT_STATUS_NOT_RESTORED = 6,
};

#define FAILURE_TEXT_MAX 512

struct failure {
	enum exit_status status;
	char text[FAILURE_TEXT_MAX]; /* without a newline */
};

/**
 * failure_set - fill in a failure; a text that is too long is cut
 * @error: a positive errno value; 0 stands for EINVAL
 *
 * Returns -@error, so that a caller can write `return failure_set(...)`. Logs nothing.
 */
int failure_set(struct failure *failure, enum exit_status status, int error, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/**
 * failure_status_of_path - exit status for a path of the command line that cannot be opened
 * @error: a positive errno value
 *
 * A usage error, but for a full disk or a lack of descriptors or memory: those are not the user's.
 */
enum exit_status failure_status_of_path(int error);

/*
 * Messages about the run, to stderr: one line each, with "allocfilt: " before it. What is shown of
 * the kernel's data goes to stdout by the output stage.
 */

enum log_level {
	LOG_LEVEL_ERROR,   /* -q: only these */
	LOG_LEVEL_WARNING, /* something is missing or lost, the run goes on */
	LOG_LEVEL_NOTICE,  /* default */
	LOG_LEVEL_DEBUG,   /* -v */
};

/** log_set_level - drop messages above this level; LOG_LEVEL_NOTICE until it is called */
void log_set_level(enum log_level level);

/**
 * log_look_for_journal - if stderr is a stream of the journal, start lines with their priority
 *
 * JOURNAL_STREAM is in systemd.exec(5), the prefixes are in sd-daemon(3).
 */
void log_look_for_journal(void);

/* Each writes one line with one write(2); no newline in @format. A line that is too long is cut. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Files: each function returns 0 or -errno and logs nothing. @dir: NULL: @path as it is. */

#define FILE_TEXT_MAX (64 << 20) /* bytes: larger than any text that we read */

/**
 * file_open - open a regular file for reading; never waits
 * @most: bytes; the kernel's own files have a size of 0
 *
 * A capture may come from anybody: opening a FIFO would wait for its writer, a device may have no
 * end, and a link may lead to any file. Returns a descriptor or -errno: -ELOOP for a symbolic link,
 * -EISDIR, -EMEDIUMTYPE for anything else that is not a regular file, -EFBIG for more than @most.
 */
int file_open(const char *dir, const char *path, int64_t most);

/** file_error - strerror(3) for a failure of file_open() or file_read(); @error: positive */
const char *file_error(int error);

/**
 * file_read - read a whole file into a buffer with a NUL after it; free() it
 * @ret_length: without the NUL; NULL where it is not needed
 *
 * Opened as by file_open(). -EFBIG for more than FILE_TEXT_MAX.
 */
int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length);

/** file_read_fd - the same from a descriptor, which stays open */
int file_read_fd(int fd, char **ret_text, size_t *ret_length);

/**
 * file_read_at - pread() until there are @size bytes, also after EINTR
 * @ret_length: how many were read, also where it fails; fewer than @size without a failure: the end
 */
int file_read_at(int fd, void *to, size_t size, off_t at, size_t *ret_length);

/** file_write_all - write() until all of it is written, also after EINTR */
int file_write_all(int fd, const char *text, size_t length);

/** file_path - "dir/path" in a buffer of PATH_MAX; 0 or -ENAMETOOLONG */
int file_path(char *buffer, const char *dir, const char *path);

/*
 * Files in memory, by the paths that they would have in a capture: what a trace.dat has of them.
 */

struct file_table;

/** file_table_new - NULL where memory is short */
struct file_table *file_table_new(void);

/** file_table_free - NULL is allowed */
void file_table_free(struct file_table *table);

/** file_table_add - add a file; @text belongs to the table, also after -ENOMEM and -E2BIG */
int file_table_add(struct file_table *table, const char *path, char *text, size_t length);

/**
 * file_table_sort - to be called once after the last file_table_add(), before all below
 *
 * Of files with one path a single one is left.
 */
void file_table_sort(struct file_table *table);

bool file_table_has(const struct file_table *table, const char *path);

/** file_table_read - as file_read() */
int file_table_read(const struct file_table *table, const char *path, char **ret_text,
		    size_t *ret_length);

/** file_table_open - a descriptor of a copy (memfd_create(2)), or -errno (-ENOENT) */
int file_table_open(const struct file_table *table, const char *path);

/** file_table_events - call @visit for each events/SYSTEM/NAME/format; non-zero stops */
int file_table_events(const struct file_table *table,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

/*
 * What is written may lie where another user can write, too. He must not make us write, truncate or
 * change a file that he could not write himself. So a directory is opened once, and what is written
 * in it goes by its descriptor and a name without a slash; no link in it is followed. How its path
 * leads there is the choice of whoever named it.
 */

/**
 * file_open_parent - open the directory of a path for the *at() calls (O_PATH)
 * @ret_name: the name in it, a part of @path
 *
 * Returns a descriptor, or -errno (-EISDIR: no name after the last slash).
 */
int file_open_parent(const char *path, const char **ret_name);

/**
 * file_make_directory - make a directory (0700) unless it exists, and open it
 *
 * Returns a descriptor, or -errno (-ENOTDIR: also a symbolic link). file_distrust() tells if the one
 * that exists is ours alone.
 */
int file_make_directory(const char *path);

/**
 * file_distrust - NULL where no other user can change a file or directory, or why that is possible
 * @type: S_IFREG or S_IFDIR
 *
 * "is another user's", "can be written by others", "is not a regular file", and the like.
 */
const char *file_distrust(int fd, mode_t type);

/**
 * file_replace - write a file anew, mode 0600: a reader sees the old text or the new one, whole
 * @dir: descriptor of its directory, which may be another user's
 * @name: without a slash
 * @sync: fsync() it before the rename, for a file that has to survive a crash
 *
 * The text goes to .NAME.allocfilt in the same directory, which is then renamed. What is there by
 * that name, of a killed run or of somebody else, is removed, and a link is not followed. Only a
 * regular file is replaced: root would else lose /dev/null or /dev/stdout. After a failure the file
 * has its old text. Errors as of file_open(), for file_error().
 */
int file_replace(int dir, const char *name, const char *text, size_t length, bool sync);

/* file_replace() in two steps, for a text that is written piece by piece. Allocates nothing. */
struct file_replacement {
	int fd; /* write the new text here */
	int dir;
	const char *name; /* not copied */
	char temporary[NAME_MAX + 1];
};

/**
 * file_replace_begin - open the temporary file
 * @mode: of the new file, whatever the umask is
 *
 * After a failure nothing is left to be done.
 */
int file_replace_begin(struct file_replacement *file, int dir, const char *name, mode_t mode);

/**
 * file_replace_end - rename the new file into place, or remove it where @ret is a failure
 *
 * To be called after each successful file_replace_begin(). Returns @ret if it is not 0.
 */
int file_replace_end(struct file_replacement *file, int ret, bool sync);

/**
 * memory_available - bytes that can be had without swapping; UINT64_MAX if the kernel does not say
 *
 * MemAvailable of /proc/meminfo: si_mem_available(), by which the kernel itself refuses to let a
 * ring buffer grow.
 */
uint64_t memory_available(void);

/*
 * Memory pressure, PSI: for how long some tasks, or all that had work, waited for memory. Linux,
 * Documentation/accounting/psi.rst. The kernel brings the totals up to date every two seconds.
 */
struct memory_pressure {
	bool known;
	unsigned int some_avg10; /* hundredths of a percent of the last 10 s */
	unsigned int full_avg10;
	uint64_t some; /* us since the machine started */
	uint64_t full;
};

/** memory_pressure_open - a descriptor for memory_pressure_read(); -1 if the kernel has no PSI */
int memory_pressure_open(void);

/** memory_pressure_read - the pressure now; allocates nothing; not known without a descriptor */
void memory_pressure_read(int fd, struct memory_pressure *pressure);

/**
 * memory_pressure_parse - parse the text of /proc/pressure/memory, or what is on one line of it
 *
 * Not known if a number is missing.
 */
void memory_pressure_parse(const char *text, struct memory_pressure *pressure);

/*
 * What lies below the tracing directory, or a capture, which is laid out in the same way.
 */

/**
 * cpu_directories - numbers of the cpuN directories below @dir/per_cpu, ascending
 *
 * Returns how many, or -errno; free() the array.
 */
int cpu_directories(const char *dir, int **ret_cpus);

/**
 * event_directories - call @visit for each events/SYSTEM/NAME, in no order
 * @dir: the directory that contains `events`
 * @visit: non-zero stops; on file systems whose readdir() has no types it also gets plain files
 *
 * Returns 0, what @visit returned, or -errno where `events` cannot be read.
 */
int event_directories(const char *dir,
		      int (*visit)(void *context, const char *system, const char *name),
		      void *context);

/*
 * The possible CPUs, which index the per-CPU tables. Their numbers may have gaps. A tracing
 * directory lists all possible CPUs, so one that comes online later has its index.
 */

struct cpu_list {
	const int *numbers; /* ascending; not owned */
	int count;	    /* at least 1 */
};

/** cpu_list_place - index of a CPU, 0 … count-1; -1 if it is not in the list */
int cpu_list_place(const struct cpu_list *cpus, int cpu);

/** cpu_list_highest - the highest number */
int cpu_list_highest(const struct cpu_list *cpus);

/*
 * The elements of a fixed array that are not in use. The memory of those that never were comes as it
 * is needed.
 */
struct pool {
	void *unused; /* the one used last; each has the one before it in its first bytes */
	char *fresh;
	size_t stride, nr_fresh;
};

/** pool_init - all elements are unused; @stride: bytes from one to the next */
static inline void pool_init(struct pool *pool, void *first, size_t stride, size_t count)
{
	*pool = (struct pool){ NULL, first, stride, count };
}

static inline bool pool_is_empty(const struct pool *pool)
{
	return !pool->unused && !pool->nr_fresh;
}

/** pool_take - an unused element; NULL: there is none */
static inline void *pool_take(struct pool *pool)
{
	void *element = pool->unused;

	if (element) {
		memcpy(&pool->unused, element, sizeof(pool->unused));
	} else if (pool->nr_fresh) {
		element = pool->fresh;
		pool->fresh += pool->stride;
		pool->nr_fresh--;
	}
	return element;
}

static inline void pool_put(struct pool *pool, void *element)
{
	memcpy(element, &pool->unused, sizeof(pool->unused));
	pool->unused = element;
}

/*
 * A hash table over a fixed array of entries, each of which embeds a struct hash_link. It keeps
 * the entries in order of their last use. After hash_init() nothing is allocated.
 */

struct hash_link {
	TAILQ_ENTRY(hash_link) use; /* of hash.used */
	struct hash_link *next;	    /* of the same bucket */
	uint64_t key;
};

TAILQ_HEAD(hash_links, hash_link);

struct hash {
	struct hash_links used; /* least recently used first */
	struct pool pool;
	struct hash_link **buckets;
	unsigned int shift; /* of a 64-bit hash value, leaves the number of a bucket */
};

/**
 * hash_init - a table of unused entries
 * @first: the link of the first entry of an array
 * @stride: bytes from one entry's link to the next
 * @count: entries of the array, at least 1
 *
 * The array stays the caller's and has to live as long as the table. Returns 0 or -ENOMEM.
 */
int hash_init(struct hash *hash, struct hash_link *first, size_t stride, size_t count);

/** hash_clear - make all entries unused, in the order of the array; first and count of hash_init() */
void hash_clear(struct hash *hash, struct hash_link *first, size_t count);

/** hash_destroy - free the buckets; a table that is all zeros may be passed */
void hash_destroy(struct hash *hash);

/** hash_text - a key for a text: 64 bits, so that no two texts of a table are expected to share one */
uint64_t hash_text(const char *text);

/** hash_find - the entry with that key, which becomes the most recently used one; NULL for none */
struct hash_link *hash_find(struct hash *hash, uint64_t key);

/** hash_peek - the same, and its place in the order of use stays */
struct hash_link *hash_peek(const struct hash *hash, uint64_t key);

/** hash_is_full - does the next hash_insert() evict an entry? */
bool hash_is_full(const struct hash *hash);

/** hash_oldest - the least recently used entry, the first to be evicted; NULL: empty */
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

/*
 * Buffered output to stdout or a file. A reader that does not read must not block a signal: a pipe
 * or terminal is written only when it has room, and waiting for room ends soon after a stop.
 */

#define WRITER_BUFFER	  (128u << 10) /* bytes */
#define WRITER_SILENCE_MS 2000	       /* for one wait, once a stop is asked for */
#define WRITER_GRACE_MS	  5000	       /* for all waits from then on */

struct writer;

/**
 * writer_new - a writer with an empty buffer
 * @fd: not closed by writer_free(); -1: the text stays in the buffer, and -EFBIG is returned once
 *	that is full
 * @stop_fd: readable when the run is to stop (a signalfd, which is not read here), -1 for none
 *
 * Returns NULL with errno ENOMEM.
 */
struct writer *writer_new(int fd, int stop_fd);

/**
 * writer_on_stop - not all that makes the stop descriptor readable asks for a stop
 * @asked: is one asked for? It reads the descriptor, so it has to know until the run has ended
 */
void writer_on_stop(struct writer *writer, bool (*asked)(void *context), void *context);

/** writer_stop - the run has ended: from now on waiting for room is limited as after a stop */
void writer_stop(struct writer *writer);

/** writer_free - what is queued is discarded; NULL is allowed */
void writer_free(struct writer *writer);

/** writer_fd - where it writes */
int writer_fd(const struct writer *writer);

/** writer_attach - use another descriptor; queued text and an earlier failure are discarded */
void writer_attach(struct writer *writer, int fd);

/**
 * writer_put - queue bytes; writes when the buffer is full
 *
 * Returns 0, -EPIPE when the reader has gone, -ETIMEDOUT when it did not read in time after a stop,
 * or the -errno of write(2) (-ENOSPC, …). After a failure every call returns it again
 * and writes nothing more.
 */
int writer_put(struct writer *writer, const char *text, size_t length);

/**
 * writer_room - where to put up to @size bytes without a copy; writer_advance() queues them
 * @size: WRITER_BUFFER at most
 *
 * Writes if the buffer has less room. Returns NULL after a failure, which writer_status() tells.
 */
char *writer_room(struct writer *writer, size_t size);

/** writer_advance - queue what was put at writer_room(), up to @end */
void writer_advance(struct writer *writer, const char *end);

/** writer_flush - write all that is queued; returns as writer_put() */
int writer_flush(struct writer *writer);

/** writer_status - -errno of the first call that failed, or 0 */
int writer_status(const struct writer *writer);

/** writer_queued - the bytes that are queued, without a NUL */
const char *writer_queued(const struct writer *writer, size_t *ret_length);

/* NULL-terminated lists of strings. A list without a string is NULL. */

/**
 * string_list_add - append a copy, unless the list contains it
 * @most: how many strings the list may have
 *
 * Returns 0, -E2BIG or -ENOMEM; then the list is unchanged.
 */
int string_list_add(char ***texts, const char *text, size_t most);

/** string_list_free - free a list with its strings; NULL is allowed */
void string_list_free(char **texts);

/*
 * Text. Names of tasks, cgroups and file systems hold any bytes, so whatever prints one escapes it
 * by the rule of its format.
 */

enum text_rule {
	TEXT_PRINTABLE, /* a terminal: control characters and invalid UTF-8 become \xNN */
	TEXT_ASCII,	/* the same, and all that is not ASCII */
	TEXT_JSON,	/* inside a JSON string; invalid UTF-8 reads as \xNN */
	TEXT_LABEL,	/* inside the value of a Prometheus label; the same */
	TEXT_FIELD,	/* a field of a line: octal as in /proc/mounts; see text_print_field() */
	TEXT_HTML,	/* text or an attribute in quotes; the rest as in TEXT_PRINTABLE */
};

#define TEXT_ESCAPED_MAX 8 /* longest escape of one character, with the NUL */

/**
 * text_escape - copy a text by the rule of a format
 * @size: at least TEXT_ESCAPED_MAX; the copy is cut before the first character that does not fit
 *
 * Returns how many bytes of @text were copied; call it again with the rest if there is any.
 */
size_t text_escape(char *to, size_t size, const char *text, enum text_rule rule);

/** text_columns - characters of valid UTF-8, such as text_escape() writes */
size_t text_columns(const char *text);

/**
 * utf8_length - bytes of the character at @text, 1 to 4 (a NUL counts as one)
 *
 * Returns 0 where it is not UTF-8: overlong forms, surrogates and what is above U+10FFFF are not
 * (RFC 3629).
 */
size_t utf8_length(const char *text);

/** text_print_field - print a field of a line and the character that ends it; empty is "-" */
void text_print_field(FILE *stream, const char *field, char end);

/**
 * text_parse_field - the next field of a line, as text_print_field() wrote it
 * @line: moved past the field
 * @field: cut to size - 1, NUL-terminated
 *
 * Returns false at the end of the line.
 */
bool text_parse_field(const char **line, char *field, size_t size);

/** text_trim - remove white space at both ends, in place; returns the first other character */
char *text_trim(char *text);

/*
 * Numbers as printf(3) writes them, at a fraction of its price: most of what is printed for each
 * record is numbers. Each writes from @to on, without a NUL, and returns the end.
 */

#define TEXT_NUMBER_MAX 20 /* digits of any number, with a sign */

/** text_unsigned - "%" PRIu64 */
char *text_unsigned(char *to, uint64_t number);

/** text_decimal - "%*" PRIu64 with fill ' ', "%0*" PRIu64 with '0' */
char *text_decimal(char *to, uint64_t number, int width, char fill);

/** text_signed - "%" PRId64 */
char *text_signed(char *to, int64_t number);

/** text_hex - "%" PRIx64 */
char *text_hex(char *to, uint64_t number);

/**
 * text_append - append to a text that ends at to[used]
 * @size: of @to, more than @used; what does not fit is cut off
 *
 * Returns what is used then, without the NUL that it writes.
 */
size_t text_append(char *to, size_t size, size_t used, const char *text);

#define TEXT_DURATION_MAX 32

/** text_duration - ns for a person: "134 us", "12.8 ms", "1.2 s", rounded; returns @text */
const char *text_duration(char text[TEXT_DURATION_MAX], uint64_t ns);

#define TEXT_TIME_MAX 40

/**
 * text_time - RFC 3339, UTC, with nanoseconds: "2026-11-21T14:45:00.123456789Z"
 * @realtime: ns since the epoch
 *
 * Returns false, and an empty text, for 0, which stands for a time that is not known.
 */
bool text_time(char text[TEXT_TIME_MAX], uint64_t realtime);

/* A line that is built in a fixed buffer; text that does not fit is cut off. */

#define LINE_MAX_BYTES 4096 /* with a newline */

struct line {
	size_t used;
	char text[LINE_MAX_BYTES + 1]; /* NUL-terminated */
};

/** line_clear - make the line empty; to be called first */
void line_clear(struct line *line);

/**
 * line_room - bytes at text + used, with a NUL, for who writes there himself
 *
 * At least 1. Who does adds to used what he wrote, and leaves the NUL.
 */
static inline size_t line_room(const struct line *line)
{
	/* The last byte is kept free for the newline. */
	return sizeof(line->text) - 1 - line->used;
}

/** line_add - add formatted text */
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** line_add_bytes - add bytes as they are */
void line_add_bytes(struct line *line, const char *bytes, size_t length);

/** line_add_text - add a text as it is */
static inline void line_add_text(struct line *line, const char *text)
{
	line_add_bytes(line, text, strlen(text));
}

/** line_add_spaces - add @count spaces, none if that is negative */
void line_add_spaces(struct line *line, int count);

/** line_add_escaped - add a name of any bytes; it is cut between characters */
void line_add_escaped(struct line *line, const char *text, enum text_rule rule);

/** line_put - write it with a newline; returns as writer_put() */
int line_put(struct line *line, struct writer *writer);

/* How often a table was full, for the summary. */
struct overflow {
	const char *key;  /* for programs */
	const char *text; /* for people: "waiting events were dropped" */
	uint64_t count;
};

#endif
