/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_TRACED_H
#define ALLOCFILT_CAPTURE_TRACED_H

#include "allocfilt/capture/read.h"
#include "allocfilt/record/decode.h"

/*
 * Functions that were traced are found in the data, as a trace.dat does not list them: those of the
 * catalog that have a window.
 */

struct traced {
	uint64_t windows;   /* of any function */
	uint64_t events;    /* of the catalog */
	uint64_t bad_pages; /* damaged, and passed over */
	uint64_t first;	    /* ns: of the records; 0: none */
	uint64_t date;	    /* ns: by a mark of ours, see struct data_source; 0: there is none */
	uint64_t threshold; /* ns: by such a mark; 0: not known */
	int own;	    /* the process that wrote it */
	/* Functions of the catalog that the kernel has. */
	struct traced_function {
		uint64_t address;
		const char *name; /* in the text of kallsyms */
		bool seen;	  /* has a window */
	} functions[256];
	size_t nr_functions;
	char *symbols;
	struct decode *decode;
};

/** traced_init - returns 0 or -ENOMEM; traced_end() in both cases */
int traced_init(struct traced *traced, const struct data_source *source);
void traced_end(struct traced *traced);

/** traced_page - look at a page: all of the source's have to pass through it */
void traced_page(struct traced *traced, const struct data_source *source,
		 const struct capture_page *page);

/** traced_filter - the functions, as set_ftrace_filter has them; free() it; NULL where memory is short */
char *traced_filter(const struct traced *traced);

#endif
