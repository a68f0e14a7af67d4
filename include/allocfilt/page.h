/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PAGE_H
#define ALLOCFILT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One page (sub-buffer) of a CPU's ring buffer, as a read of trace_pipe_raw gives it: header with
 * time stamp and commit, then records. kernel/trace/ring_buffer.c;
 * Documentation/trace/ring-buffer-*
 */

struct page_layout {
	size_t size;		/* bytes of a whole page, header and data */
	size_t header;		/* bytes before the data: 16, or 12 where a long has 4 bytes */
	int long_size;		/* 4 or 8 */
	bool big_endian;
};

/**
 * page_layout_parse - read the text of events/header_page
 * @big_endian: the text does not tell it; the caller knows (own host) or finds out
 *
 * Returns 0 or -EINVAL where a field is missing or a size is out of bounds (4 KiB … 64 MiB).
 */
int page_layout_parse(struct page_layout *layout, const char *text, size_t length,
		      bool big_endian);

/**
 * page_layout_guess_order - find out the byte order from data
 * @page: a page of the capture, of at least layout->header bytes
 *
 * The commit is never larger than a page, so only one order gives a plausible one (an empty page
 * gives none). Sets layout->big_endian. Returns 0, -ENODATA where the page cannot tell, -EBADMSG
 * where no order is plausible.
 */
int page_layout_guess_order(struct page_layout *layout, const void *page, size_t length);

/* What a page is made of. Each returns 0, or -errno to stop. */
struct page_sink {
	void *context;
	/* a data record; data is valid during the call only; ts in ns of the trace clock */
	int (*record)(void *context, int cpu, uint64_t ts, const void *data, size_t size);
	/* records lost just before the page; count or RECORD_LOST_UNKNOWN */
	int (*lost)(void *context, int cpu, uint64_t ts, int64_t count);
};

struct page_reader;

/** page_reader_new - NULL and errno on failure; the sink is copied */
struct page_reader *page_reader_new(const struct page_layout *layout, const struct page_sink *sink);
void page_reader_free(struct page_reader *reader);

/* What page_read() found in a page that it could not give whole. */
enum page_state {
	PAGE_GOOD,
	PAGE_EMPTY,		/* commit 0: nothing in it */
	PAGE_CUT,		/* shorter than its header or its commit says */
	PAGE_ZEROS,		/* of zeros only: time stamp and commit both 0 */
	PAGE_DAMAGED,		/* commit over the page, a record over the commit, … */
};

/**
 * page_read - give all records of one page, in order
 * @page: @length bytes, at most layout.size
 * @state: what the page was; never NULL
 *
 * The whole page is checked (commit against the page, every record's length against the commit,
 * every step forward) before kbuffer of libtraceevent gets it and before the first record is
 * given, so a page that is not PAGE_GOOD gives none. Returns 0, or what a sink returned.
 */
int page_read(struct page_reader *reader, int cpu, const void *page, size_t length,
	      enum page_state *state);

#endif
