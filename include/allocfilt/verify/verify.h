/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_VERIFY_VERIFY_H
#define ALLOCFILT_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/line.h"
#include "allocfilt/plan/plan.h"
#include "allocfilt/record/source.h"

/*
 * The check whether a capture is whole. Each page is checked by itself and for its time among the
 * others, and each record for its type. Memory does not grow with the capture.
 */

#define VERIFY_LISTED	 20 /* findings of each kind; the others are only counted */
#define VERIFY_TYPES_MAX 64 /* types without a format, each of a CPU */

struct verify_cpu {
	int cpu;
	uint64_t pages; /* all pages that were read, also empty and damaged ones */
	uint64_t records;
	uint64_t bytes;	       /* of the pages */
	uint64_t first, last;  /* ns, trace clock: lowest and highest time; only with records */
	uint64_t damaged;      /* pages */
	uint64_t lost;	       /* records */
	uint64_t lost_unknown; /* losses of an unknown number of records */
	uint64_t unknown;      /* records of a type without a format */
	uint64_t end;	       /* bytes from the start of its data to the end of the last page */
	uint64_t newest;       /* ns: of page_in_order() */
	uint64_t missing;      /* records that were read from the buffer and that the pages lack */
};

enum verify_kind {
	VERIFY_DAMAGE, /* a page that page_check() or page_in_order() refuses */
	VERIFY_LOSS,   /* records that the kernel lost before a page */
	VERIFY_KINDS
};

struct verify_finding {
	int cpu;
	uint64_t page; /* the first is 0 */
	uint64_t byte; /* offset of the page, or of the damage in it, in the CPU's data */
	uint64_t ts;   /* ns: of the page, or the record */
	/* Bytes of the hole before a damaged page; lost records or RECORD_LOST_UNKNOWN */
	int64_t number;
	char text[PAGE_FAULT_MAX]; /* of damage */
};

struct verify_list {
	uint64_t count;
	struct verify_finding listed[VERIFY_LISTED]; /* the first ones */
};

struct verify_type {
	int type; /* -1: unknown, because no format was read */
	int cpu;
	uint64_t records;
};

struct verify_findings {
	struct verify_cpu *cpus; /* in the order of the source */
	int nr_cpus;
	struct verify_cpu all; /* the sums, and times over all of them; cpu: -1 */
	struct verify_list lists[VERIFY_KINDS];
	struct verify_type types[VERIFY_TYPES_MAX];
	size_t nr_types;
	uint64_t damaged_records; /* shorter than their format, or windows of impossible times */
	uint64_t bad_files;	  /* files of the capture that are damaged, missing or unreadable */
	char first_bad_file[768];
	bool stopped; /* the capture was not read to its end */
};

struct verify;

/**
 * verify_new - checks that have seen nothing
 * @source, @offer: of a capture; the source has to outlive the checks
 *
 * Returns NULL if there is no memory.
 */
struct verify *verify_new(const struct data_source *source, const struct plan_offer *offer);
void verify_free(struct verify *verify);

/**
 * verify_page - check the next page of a CPU
 * @place: of the source's list of CPUs
 * @offset: bytes from the start of the CPU's data
 * @next: of page_in_order()
 */
void verify_page(struct verify *verify, int place, const void *page, size_t length, uint64_t offset,
		 uint64_t next);

/**
 * verify_expect - compare with the kernel's counters of a CPU, after its last page
 * @lost: lost records, including the losses that pages tell, with or without their number
 * @read: records that were read; 0: not known
 */
void verify_expect(struct verify *verify, int place, uint64_t lost, uint64_t read);

/** verify_finish - after the last page; the findings are valid until verify_free() */
struct verify_findings *verify_finish(struct verify *verify);

/**
 * verify_verdict - add "clean: 2 CPUs, 53 pages, …", or "not clean: 2 damaged pages, 31 lost records"
 *
 * Returns true if nothing is wrong.
 */
bool verify_verdict(const struct verify_findings *findings, struct line *line);

#endif
