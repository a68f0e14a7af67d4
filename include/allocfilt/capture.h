/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_H
#define ALLOCFILT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"

/*
 * A capture is a directory laid out like the tracing directory, recorded by `-w` or copied by hand
 * with cp and cat, or a ring buffer of a trace.dat.
 */

struct capture;

/* Of a trace.dat from which nothing can be shown. */
#define CAPTURE_NO_EVENTS                                                                          \
	"no event of slow allocations in it; what it takes: trace-cmd record -p function_graph "   \
	"-l '__alloc*_pages*' -l 'try_to_*_pages' -l 'shrink_*' -l 'compact_zone*' "               \
	"-e vmscan -e compaction"

/**
 * capture_open - open a directory, or a trace.dat with its first buffer that has data
 *
 * Returns 0, or -errno with @failure (status 2: neither a tracing directory nor a capture, not
 * readable). Damaged files that are not essential are counted in capture_info.
 */
int capture_open(struct capture **capture, const char *path, struct failure *failure);

/** capture_open_buffer - the same with the buffer of a trace.dat that has this name */
int capture_open_buffer(struct capture **capture, const char *path, const char *buffer,
			struct failure *failure);

/**
 * capture_next_buffer - go on to the next buffer of the file that has data
 *
 * What was offered or described of the one before is no longer valid. Returns 1, 0 if there is none, or
 * -errno with @failure as capture_open().
 */
int capture_next_buffer(struct capture *capture, struct failure *failure);

/** capture_close - NULL is allowed */
void capture_close(struct capture *capture);

/** capture_source - describes the data; valid while the capture is open */
const struct data_source *capture_source(const struct capture *capture);

struct capture_info {
	uint64_t threshold;   /* ns, of the recording; 0: not known */
	bool described;	      /* has the file `capture`; its threshold is the default */
	uint64_t flaws;	      /* files that were damaged, missing or unreadable so far */
	char first_flaw[768]; /* "" or the first of them */
};

/** capture_info - valid while the capture is open; flaws grow as it is read */
const struct capture_info *capture_info(const struct capture *capture);

/**
 * capture_find_traced - find out what was traced, where it is a trace.dat: no file tells
 * @stop: is the user done with waiting? All data is read once
 *
 * To be called before capture_offer(), by who filters. Returns 0, 1 if it was stopped, -ENODATA if
 * there is no event of the catalog, -EBADMSG if there is none in what is left of a damaged file, or
 * -ENOMEM.
 */
int capture_find_traced(struct capture *capture, bool (*stop)(void *context), void *context);

struct capture_counts {
	uint64_t lost; /* records */
	uint64_t read; /* records that were read from the buffer: none of them is missing */
};

/**
 * capture_counts - what the kernel's counters said of a CPU, in the file `capture`
 *
 * 0 where it does not say, as in a recording that did not come to its end. NULL: no such CPU.
 */
const struct capture_counts *capture_counts(const struct capture *capture, int cpu);

/** capture_offer - what plan_make() may choose from; valid while the capture is open */
void capture_offer(struct capture *capture, struct plan_offer *offer);

/* A page of a CPU's data as it is there. */
struct capture_page {
	const void *data; /* valid until the next one of this CPU is read */
	size_t length;	  /* bytes; less than a whole page at the end only */
	uint64_t offset; /* bytes from the start of this CPU's data; holes of a sparse file count */
	bool last;	 /* nothing follows it but zeros */
};

/**
 * capture_read - read the next page of a CPU
 * @place: of the source's list of CPUs
 *
 * Returns 1, or 0 at the end of its data. Data that cannot be read counts as a flaw and ends it.
 */
int capture_read(struct capture *capture, int place, struct capture_page *ret_page);

/*
 * Writes a capture: a directory (0700) with files 0600, because they contain kernel addresses.
 * Everything needed to read the data is written first, so a capture cut short by a full disk can
 * still be read.
 */

struct capture_writer;

/**
 * capture_create - make the directory, or use an empty one that only we can write
 *
 * In one that another user can write he could put links, and have our files read by him. Returns 0,
 * or -errno with @failure (status 2: exists and is not empty, not ours, writable by others or a
 * symbolic link, cannot be created; 1 for errors not caused by the path, such as a full disk).
 */
int capture_create(struct capture_writer **writer, const char *dir, struct failure *failure);

/** capture_set_page_size - bytes of a page, before data is moved; 0 or -ENOMEM */
int capture_set_page_size(struct capture_writer *writer, size_t page_size);

/** capture_writer_free - closes the files; NULL is allowed */
void capture_writer_free(struct capture_writer *writer);

/** capture_abandon - remove the directory if it is still empty */
void capture_abandon(struct capture_writer *writer);

/** capture_directory - a descriptor of the directory, as long as the writer */
int capture_directory(const struct capture_writer *writer);

/** capture_remove - remove the directory with all that is in it */
void capture_remove(struct capture_writer *writer);

/*
 * Segments: directories 000001, 000002 and so on, each of which is a capture. The name of one that is
 * being made or removed begins with a dot.
 */

/**
 * capture_begin_segment - what is written from now on goes to the next segment
 *
 * Then its files are written, CPUs added, and capture_settle_segment() called. Returns 0, or -errno
 * and all is as before.
 */
int capture_begin_segment(struct capture_writer *writer);

/**
 * capture_settle_segment - the new segment is whole, or cannot be written: the old one goes on
 * @ret: 0, or -errno of what was written to the new one
 *
 * Returns @ret, or -errno.
 */
int capture_settle_segment(struct capture_writer *writer, int ret);

/** capture_remove_segment - remove an earlier segment of this writer */
void capture_remove_segment(struct capture_writer *writer, unsigned int number);

/** capture_segment - the number of the present segment; 0: there are none */
unsigned int capture_segment(const struct capture_writer *writer);

/** capture_segment_bytes - bytes of data in the present segment */
uint64_t capture_segment_bytes(const struct capture_writer *writer);

/**
 * capture_put - write a file of the capture atomically (rename)
 * @path: relative to the directory; directories in it are created, links in it not followed
 *
 * Returns 0, or -errno and an older file of that name is unchanged.
 */
int capture_put(struct capture_writer *writer, const char *path, const char *text, size_t length);

/**
 * capture_copy - copy a file from another directory
 *
 * While a segment is begun it is linked to that of the segment before. Returns as capture_put(), or
 * -ENOENT.
 */
int capture_copy(struct capture_writer *writer, const char *from_dir, const char *name);

/** capture_add_cpu - open per_cpu/cpuN/trace_pipe_raw for data; 0 or -errno */
int capture_add_cpu(struct capture_writer *writer, int cpu);

/**
 * capture_drain - move the full pages of a CPU's buffer to its file
 * @fd: its trace_pipe_raw, opened with O_NONBLOCK
 *
 * Uses splice where kernel and file system support it, else read and write. Returns bytes
 * (0: nothing to read), or the -errno of the file (-ENOSPC, …).
 */
int64_t capture_drain(struct capture_writer *writer, int cpu, int fd);

/** capture_drain_rest - move a page, also a partly filled one; returns as capture_drain() */
int64_t capture_drain_rest(struct capture_writer *writer, int cpu, int fd);

/**
 * capture_hold_pages - before CPUs are added: data will come by capture_add_page()
 * @layout: of the pages, in this machine's order; not copied
 */
void capture_hold_pages(struct capture_writer *writer, const struct page_layout *layout);

/**
 * capture_add_page - add a page that was read, which the kernel may not have filled yet
 *
 * Such parts become whole pages again, which are written when the next one comes; else data of a
 * machine with few records would be pages with few records. Returns 0, or -errno of the file.
 */
int capture_add_page(struct capture_writer *writer, int cpu, const void *page, size_t length);

/** capture_flush - write the pages that wait for another part; 0, or -errno of a file */
int capture_flush(struct capture_writer *writer);

/** capture_sync_all - begin to sync all files of the capture, or segment; see capture_synced() */
void capture_sync_all(struct capture_writer *writer);

/** capture_sync_data - the same for data since the last call, unless earlier syncs are under way */
void capture_sync_data(struct capture_writer *writer);

/**
 * capture_synced - did what was begun to be synced succeed?
 * @wait: for its end; else what is under way is left to a later call
 *
 * Returns 0, or -errno of one that failed since the last call.
 */
int capture_synced(struct capture_writer *writer, bool wait);

/** capture_bytes - bytes of data written so far */
uint64_t capture_bytes(const struct capture_writer *writer);

#endif
