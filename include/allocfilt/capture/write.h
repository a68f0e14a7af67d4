/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_WRITE_H
#define ALLOCFILT_CAPTURE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/capture/read.h"

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

/** capture_writer_free - removes the directory if it is still empty */
void capture_writer_free(struct capture_writer *writer);

/**
 * capture_set_layout - before CPUs are added
 * @layout: of the pages, in this machine's order; not copied
 * @hold: data will come by capture_add_page(), not by capture_drain()
 *
 * Returns 0 or -ENOMEM.
 */
int capture_set_layout(struct capture_writer *writer, const struct page_layout *layout, bool hold);

/** capture_directory - a descriptor of the directory, as long as the writer */
int capture_directory(const struct capture_writer *writer);

/** capture_remove - remove the directory with all that is in it */
void capture_remove(struct capture_writer *writer);

/*
 * Segments: directories 000001, 000002 and so on, each of which is a capture. The name of one that is
 * being made or removed begins with a dot.
 */

/**
 * capture_begin_segment - make the next segment, which takes all that is written from now on
 * @unchanged: what capture_copy() copies is as it was for the segment before
 *
 * The caller writes its files, adds its CPUs, and calls capture_settle_segment(). Returns 0, or -errno
 * and all is as before.
 */
int capture_begin_segment(struct capture_writer *writer, bool unchanged);

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
 * While a segment is begun it is linked to that of the segment before, if it is unchanged. Returns
 * as capture_put(), or -ENOENT.
 */
int capture_copy(struct capture_writer *writer, const char *from_dir, const char *name);

/* The file `capture`: facts that no file of the kernel has. */
struct capture_description {
	const struct data_source *source; /* the running kernel */
	const struct plan *plan;
	const pid_t *pids; /* the only processes that are recorded, 0 ends; NULL: all */
	time_t date;	   /* of the start */
	const char *probe; /* lines on the probe; "": there is none */
	const struct capture_counts *counts; /* by place of source->cpus */
};

/** capture_describe - write the file `capture`; returns as capture_put() */
int capture_describe(struct capture_writer *writer, const struct capture_description *description);

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
 * capture_synced - did the syncs succeed that were begun?
 * @wait: for their end; else those under way are left to a later call
 *
 * Returns 0, or -errno of one that failed since the last call.
 */
int capture_synced(struct capture_writer *writer, bool wait);

/** capture_bytes - bytes of data written so far */
uint64_t capture_bytes(const struct capture_writer *writer);

#endif
