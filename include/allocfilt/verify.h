/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_VERIFY_H
#define ALLOCFILT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "allocfilt/stall.h"

/*
 * Is a capture whole? Each page by itself, and what all records say together. Nothing is shown of
 * them but what is wrong, and where. Memory does not grow with the capture.
 */

#define VERIFY_LISTED	 20    /* of each kind of finding; the others are only counted */
#define VERIFY_TYPES_MAX 64    /* of types without a format, each of a CPU */
#define VERIFY_TASKS_MAX 16384 /* that are followed at a time */

/*
 * So long a time without a record on any CPU may be one in which nothing was recorded: tracing was
 * off, or there was nothing to record.
 */
#define VERIFY_PAUSE (50 * NS_PER_MS)

struct verify_place {
	int cpu;
	uint64_t page;	 /* the first is 0 */
	uint64_t offset; /* bytes from the start of the CPU's data */
};

struct verify_cpu {
	int cpu;
	uint64_t pages; /* that were read, those without a record and damaged ones too */
	uint64_t records;
	uint64_t bytes;	       /* of the pages */
	uint64_t first, last;  /* ns, trace clock: lowest and highest time; only with records */
	uint64_t back;	       /* records with an earlier time than the one before */
	uint64_t damaged;      /* pages */
	uint64_t lost;	       /* records */
	uint64_t lost_unknown; /* times that the kernel lost records and does not know how many */
	uint64_t unknown;      /* records of a type without a format */
	uint64_t missing;      /* records that were read from the buffer and are not in the pages */
};

struct verify_damage {
	struct verify_place place; /* offset: of the fault */
	uint64_t hole; /* bytes of a hole that the page ends, of which nothing else was read */
	char text[PAGE_FAULT_MAX];
};

/* Records that the kernel lost between the page and the one before. */
struct verify_loss {
	struct verify_place place;
	uint64_t ts;   /* ns: of the page */
	int64_t count; /* RECORD_LOST_UNKNOWN */
};

struct verify_back {
	struct verify_place place; /* offset: of the record's page */
	uint64_t ts;
	uint64_t by; /* ns */
};

struct verify_type {
	int type; /* -1: not known, as not one format is */
	int cpu;
	uint64_t records;
};

/* An event whose partner is missing, though nothing was lost where it must have been. */
struct verify_lone {
	struct task_key key;
	int cpu;
	uint64_t ts;
	uint64_t from, to; /* ns: where the partner must have been */
};

/* Pairs of one kind. An event without its partner is either a fault or explained: see verify_new(). */
struct verify_pairs {
	uint64_t begins, ends;
	uint64_t lone_begins, lone_ends; /* in all */
	uint64_t begin_faults, end_faults;
	struct verify_lone first_begin, first_end; /* of the faults */
};

/* Two windows of a task of which each has only a part of the other. */
struct verify_overlap {
	struct task_key key;
	int cpu;
	uint64_t calltime, rettime; /* ns: the one that ended first */
	uint64_t other_calltime, other_rettime;
};

struct verify_findings {
	struct verify_cpu *cpus; /* in the order of the source */
	int nr_cpus;
	struct verify_cpu all; /* the sums, and times over all of them; cpu: -1 */
	struct verify_damage damages[VERIFY_LISTED];
	struct verify_loss losses[VERIFY_LISTED];
	uint64_t nr_losses;
	struct verify_back backs[VERIFY_LISTED];
	struct verify_type types[VERIFY_TYPES_MAX];
	size_t nr_types;
	struct verify_pairs pairs[EVENT_COUNT]; /* by the begin */
	uint64_t pauses;			/* of VERIFY_PAUSE or longer */
	bool local_clock; /* else windows are not compared with each other nor with pairs */
	uint64_t windows;
	uint64_t nr_overlaps;
	struct verify_overlap overlaps[VERIFY_LISTED];
	uint64_t damaged_records; /* shorter than their format, or windows of impossible times */
	uint64_t tasks, unnamed;  /* interrupts and the idle task are none */
	int unnamed_tids[VERIFY_LISTED];
	uint64_t dropped_tasks; /* VERIFY_TASKS_MAX was reached so often */
	uint64_t bad_files;	/* files of the capture that are damaged, missing or unreadable */
	char first_bad_file[768];
	bool stopped; /* it was not read to its end */
};

struct verify;

/**
 * verify_new - checks that have seen nothing
 * @source, @offer: of a capture; the source has to outlive the checks, and names of tasks and formats
 *	are read from it
 *
 * A begin without its end, or an end without its begin, is explained where its partner may be in a
 * place from which there is no record: before the first record or after the last of that kind in its
 * task, in records that were lost, in a damaged page, or in a pause (VERIFY_PAUSE). A window that
 * has the event inside has the partner inside as well. @pages: each read calls verify_page(). Returns NULL with errno ENOMEM.
 */
struct verify *verify_new(const struct data_source *source, const struct plan_offer *offer,
			  const struct page_source *pages);

/** verify_free - NULL is allowed */
void verify_free(struct verify *verify);

/**
 * verify_page - check a page that the source reads
 * @place: of its CPU
 * @offset: bytes from the start of the CPU's data
 * @content: set as page_source.read() has to
 */
void verify_page(struct verify *verify, int place, const void *page, size_t length, uint64_t offset,
		 struct page_content *content);

/** verify_read - check some records; returns 1, 0 at the end of all pages, or -errno of the source */
int verify_read(struct verify *verify);

/**
 * verify_expect - what the kernel's counters said of a CPU, after its last page
 * @lost: records, with those of which pages tell
 * @read: records; 0: not known
 */
void verify_expect(struct verify *verify, int cpu, uint64_t lost, uint64_t read);

/** verify_finish - after the last record; the findings are valid until verify_free() */
struct verify_findings *verify_finish(struct verify *verify);

/** verify_is_clean - is nothing wrong? What is explained is not wrong, nor is a task without a name */
bool verify_is_clean(const struct verify_findings *findings);

/** verify_one_sided - was only one of the two events of a pair recorded at all? */
bool verify_one_sided(const struct verify_pairs *pairs);

/** verify_verdict - "clean: 2 CPUs, 53 pages, …", "not clean: 2 damaged pages, 31 lost records" */
void verify_verdict(const struct verify_findings *findings, struct line *line);

#endif
