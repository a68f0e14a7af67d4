/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_HISTOGRAM_H
#define ALLOCFILT_ACCOUNT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The text of a histogram, as events/SYSTEM/EVENT/hist has it: kernel/trace/trace_events_hist.c,
 * hist_trigger_show(). A file has one for each trigger of the event.
 */

struct histogram_row {
	char *keys;	/* "{ common_pid:       1, order:          0 }", without the braces */
	uint64_t count; /* "hitcount" */
	char *values;	/* "bytes_req:   8  bytes_alloc:   8" */
	char *saved;	/* "max:  192  name: dentry"; NULL: nothing is saved */
};

struct histogram_text {
	char *next;    /* NULL: the last row was read */
	uint64_t hits; /* set likewise after the last row */
	uint64_t dropped;
	uint64_t unreadable; /* rows, so far */
};

/**
 * histogram_begin - find the histogram with a name
 * @text: of the file, which is changed and has to stay
 *
 * Returns false if there is none.
 */
bool histogram_begin(struct histogram_text *histogram, char *text, const char *name);

/** histogram_next - the next row; false after the last */
bool histogram_next(struct histogram_text *histogram, struct histogram_row *row);

/** histogram_number - the number of a key or value; false if there is none */
bool histogram_number(const char *text, const char *name, uint64_t *ret_number);

/** histogram_tid - the number of a key that is a thread id; false if there is none */
bool histogram_tid(const struct histogram_row *row, const char *key, int *ret_tid);

/** histogram_string - the text of the last key, without blanks at its end; NULL: there is none */
const char *histogram_string(char *keys, const char *name);

/**
 * histogram_symbol - the address and the name of a key with .sym-offset
 *
 * "[ffffffff81a5e33d] seq_read_iter+0x38d/0x480" becomes "seq_read_iter+0x38d"; the name of a module
 * stays. The keys after it are lost. Returns the name, or NULL.
 */
const char *histogram_symbol(char *keys, const char *name, uint64_t *ret_address);

#endif
