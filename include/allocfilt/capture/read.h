/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_READ_H
#define ALLOCFILT_CAPTURE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/plan/plan.h"
#include "allocfilt/record/source.h"

/*
 * A capture is a directory laid out like the tracing directory, recorded by `-w` or copied by hand
 * with cp and cat, or a ring buffer of a trace.dat.
 */

struct capture;

/* The message for a trace.dat from which nothing can be shown. */
#define CAPTURE_NO_EVENTS                                                                          \
	"no event of slow allocations in it; what it takes: trace-cmd record -p function_graph "   \
	"-l '__alloc*_pages*' -l 'try_to_*_pages' -l 'shrink_*' -l 'compact_zone*' "               \
	"-e vmscan -e compaction"

/**
 * capture_open - open a directory, FILE or FILE:BUFFER
 *
 * FILE is a trace.dat, and BUFFER one of its ring buffers ("top": that of the top level), by default the
 * first one with data. Returns 0, or -errno with @failure (status 2: neither a tracing directory nor a
 * capture, not readable). Damaged files that are not essential are counted in capture_info.
 */
int capture_open(struct capture **capture, const char *path, struct failure *failure);
void capture_close(struct capture *capture);

/** capture_is_file - is it a trace.dat that is the same file as that descriptor's? */
bool capture_is_file(const struct capture *capture, int fd);

/** capture_source - describes the data; valid while the capture is open */
const struct data_source *capture_source(const struct capture *capture);

struct capture_info {
	uint64_t threshold; /* ns, of the recording; 0: not known */
	bool described; /* by the file `capture`, or a mark of ours: the threshold is the default */
	uint64_t flaws; /* files found damaged, missing or unreadable so far */
	char first_flaw[768]; /* "" or the first of them */
	char others[256]; /* names of the other buffers with data, printable; "": there are none */
};

/** capture_info - valid while the capture is open; flaws grow as it is read */
const struct capture_info *capture_info(const struct capture *capture);

/**
 * capture_find_traced - find what a trace.dat has traced, and when: none of its texts tells
 * @stop: does the user want an end? All data is read once
 *
 * To be called before capture_offer(), by a run that filters. Returns 0, 1 if it was stopped, -ENODATA if
 * there is no event of the catalog, -EBADMSG if there is none in what is left of a damaged file, or
 * -ENOMEM.
 */
int capture_find_traced(struct capture *capture, bool (*stop)(void *context), void *context);

struct capture_counts {
	uint64_t lost; /* records */
	uint64_t read; /* records that were read from the buffer: the data must have them all */
};

/**
 * capture_counts - the kernel's counters of a CPU, from the file `capture`
 * @place: of the source's list of CPUs
 *
 * A count is 0 where the file lacks it, as in a recording that did not come to its end.
 */
const struct capture_counts *capture_counts(const struct capture *capture, int place);

/** capture_offer - what plan_make() may choose from; valid while the capture is open */
void capture_offer(struct capture *capture, struct plan_offer *offer);

/* A page of a CPU's data, unchecked. */
struct capture_page {
	const void *data; /* valid until the next one of this CPU is read */
	size_t length;	  /* bytes; less than a whole page only at the end of the data */
	uint64_t offset; /* bytes from the start of this CPU's data; holes of a sparse file count */
	uint64_t next_ts; /* page_time() of the next one */
	bool last;	  /* only zeros follow it */
};

/**
 * capture_read - read the next page of a CPU
 * @place: of the source's list of CPUs
 *
 * Returns 1, or 0 at the end of its data. Data that cannot be read counts as a flaw and ends it.
 */
int capture_read(struct capture *capture, int place, struct capture_page *ret_page);

#endif
