/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_MERGE_H
#define ALLOCFILT_RECORD_MERGE_H

#include "allocfilt/base/trace_dir.h"
#include "allocfilt/record/page.h"

/*
 * Records of all CPUs in one order of time. Pages are pulled: the merge has one page of each CPU, and
 * reads the next one when all records of a page were passed on. A CPU that has no page now is
 * complete up to the newest time that was seen, on any CPU, before it was read; a record that is newer
 * waits in its page until that CPU was read again. Equal times: the lower place first; one CPU's
 * records keep their order.
 */

/* Gives the pages of all CPUs. */
struct page_source {
	/*
	 * The next page of the CPU at a place of the list. Returns 1 with what page_check() found in
	 * it, valid until the next page of this place is read; 0: there is none now; or -errno. A
	 * page that is damaged is a loss of RECORD_LOST_UNKNOWN records, without data; its time is
	 * that of the next one, UINT64_MAX: not known. @newest is of page_in_order(), for this place.
	 */
	int (*read)(void *context, int place, uint64_t *newest, struct page_content *content);
	void *context;
	bool grows; /* a CPU without a page may have one later; false: that is the end of its data */
};

/* A record as it is in its page, or a loss. */
struct raw_record {
	uint64_t ts;	  /* ns, the trace clock; of one CPU never less than before */
	const void *data; /* valid until the next call of merge_next(); NULL: a loss */
	size_t size;	  /* bytes */
	int64_t lost;	  /* of a loss: records, or RECORD_LOST_UNKNOWN */
	int cpu;	  /* its number */
	uint64_t until;	  /* ns: of a loss: no later record is missing; UINT64_MAX: not known */
};

/* A CPU, and its page. */
struct merge_cpu {
	int number;
	struct page_cursor cursor; /* at the record that goes next */
	uint64_t ts;		   /* of that record; no earlier than the one before it */
	uint64_t until;		   /* ns: records up to this time go before those of other CPUs */
	uint64_t newest;	   /* ns: of page_in_order() */
	int64_t lost;		   /* goes before the record; 0: none */
	bool more;		   /* there is a record, or a loss */
	uint64_t complete;	   /* ns, without a page: no record up to this time is to come */
	bool ended;		   /* no page is to come */
};

/* A CPU that has a page. */
struct merge_head {
	uint64_t ts; /* of what goes next */
	int place;
};

/* Its members are of merge_next() and merge.c alone. */
struct merge {
	struct merge_cpu *turn; /* the CPU whose record went last; NULL: none did */
	struct page_source source;
	const struct page_layout *layout;
	struct merge_cpu *cpus;	 /* by place */
	struct merge_head *heap; /* the earliest on top; the CPU of the turn is there */
	int count;		 /* of the cpus */
	int heap_size;
	uint64_t newest; /* ns: over all pages that were read */
	uint64_t line;	 /* ns: the CPUs without a page are complete up to this time */
};

/**
 * merge_new - a merge that has read nothing
 * @cpus: one or more
 * @layout: only its byte order is used, at each page; it has to outlive the merge
 * @source: copied
 *
 * Returns NULL if there is no memory, or with errno EINVAL if there is no CPU.
 */
struct merge *merge_new(const struct cpu_list *cpus, const struct page_layout *layout,
			const struct page_source *source);
void merge_free(struct merge *merge);

/** merge_reset - drop what was read: the pages of the source are no longer there */
void merge_reset(struct merge *merge);

/** merge_next_turn - merge_next() where another CPU may come first, or a page ended */
int merge_next_turn(struct merge *merge, struct raw_record *raw);

/** merge_pass - take a CPU's next record, and go to the one after it */
static inline void merge_pass(struct merge_cpu *cpu, struct raw_record *raw)
{
	*raw = (struct raw_record){
		.ts = cpu->ts,
		.data = cpu->cursor.data,
		.size = cpu->cursor.size,
		.cpu = cpu->number,
	};
	cpu->more = page_next(&cpu->cursor) > 0;
	if (cpu->more)
		cpu->ts = cpu->cursor.ts;
}

/**
 * merge_next - the next record of all
 *
 * A loss is at the time of the last record before it, or, where there is none now, at the time up to
 * which the CPU was complete: before all records of other CPUs that the lost ones may belong to. Without a
 * record before it is at 0. Returns 1, 0 where no CPU has a record now, or -errno of the
 * source: then the next call reads the same CPU again.
 */
static inline int merge_next(struct merge *merge, struct raw_record *raw)
{
	struct merge_cpu *turn = merge->turn;

	if (!turn || !turn->more || turn->ts > turn->until)
		return merge_next_turn(merge, raw);
	merge_pass(turn, raw);
	return 1;
}

#endif
