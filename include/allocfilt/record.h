/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_H
#define ALLOCFILT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The type that flows from decode through merge to stall: one record of a ring buffer with all
 * that the later stages ask of it, whatever kernel, byte order and size of a long it came from.
 */

enum record_kind {
	RECORD_WINDOW,		/* funcgraph_exit: a traced function returned */
	RECORD_EVENT,		/* a tracepoint that the plan knows */
	RECORD_LOST,		/* the kernel lost records of this CPU just before this place */
	RECORD_CLOCK,		/* our own trace_marker: wall-clock time at this record */
	RECORD_SUPERBLOCK,	/* our own probe: whose a superblock shrinker is */
	RECORD_STACK,		/* the kernel stack of the event of this task just before it */
};

/* Bits of common_flags that tell interrupt context: TRACE_FLAG_* of linux/trace_events.h. */
#define RECORD_FLAG_HARDIRQ	0x08
#define RECORD_FLAG_SOFTIRQ	0x10
#define RECORD_FLAG_NMI		0x40
#define RECORD_FLAGS_INTERRUPT	(RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ | RECORD_FLAG_NMI)

/* A lost count that the kernel did not tell: kbuffer_missed_events(3) gives -1. */
#define RECORD_LOST_UNKNOWN	(-1)

/* Payloads of catalog events are smaller on every kernel so far (104 bytes at most). */
#define RECORD_RAW_MAX		112

struct record_window {
	uint64_t function;	/* address */
	uint64_t calltime;	/* ns, local clock */
	uint64_t rettime;	/* ns, local clock */
	int32_t depth;
	int32_t role;		/* enum role, or ROLE_NONE for a function that no table knows */
};

/* Fields of the catalog's events, by the meaning they share; what an event lacks is 0. */
struct record_fields {
	uint64_t shrinker;	/* struct shrinker *: shr */
	uint64_t callback;	/* its scan function: shrink */
	uint64_t gfp;		/* gfp_flags, gfp_mask */
	uint64_t nr_reclaimed;	/* pages */
	uint64_t nr_scanned;	/* pages */
	uint64_t memcg_id;	/* inode number of the cgroup; 0 where the event has none */
	int32_t order;
	int32_t nid;
	int32_t status;		/* compaction's outcome; throttled's reason; slab's retval */
	int32_t usec_delayed;
};

struct record_superblock {
	uint64_t shrinker;	/* struct shrinker * */
	uint64_t callback;	/* its scan function; 0: only super_cache_scan writes this record */
	uint32_t device;	/* s_dev as the kernel keeps it: 12 bits major, 20 bits minor */
	uint16_t name;		/* offset in raw of s_id, which ends with a NUL there */
	uint16_t name_length;	/* 0: it could not be read */
};

/* A stack of --stack; its frames are in the table of stacks. */
struct record_stack {
	uint64_t ts;		/* ns */
	uint32_t number;	/* of stacks_add(); 0: none */
	uint8_t flags;		/* common_flags */
	uint8_t preempt_count;	/* common_preempt_count */
};

struct record {
	uint64_t ts;		/* ns, the trace clock */
	int32_t pid;		/* common_pid */
	int32_t cpu;
	uint8_t kind;		/* enum record_kind */
	uint8_t flags;		/* common_flags */
	uint16_t event;		/* RECORD_EVENT: index into the plan's events */
	int16_t indent;		/* depth at which the kernel's text shows an event: that of the
				 * last exit record of this CPU, less one; 0 before the first */
	uint16_t raw_size;	/* bytes at raw */
	union {
		struct record_window window;
		struct record_fields fields;
		int64_t lost;		/* records, or RECORD_LOST_UNKNOWN */
		uint64_t realtime;	/* ns since the epoch */
		struct record_superblock superblock;
	};
	struct record_stack stack;	/* RECORD_STACK, and the event that it belongs to */
	const void *raw;	/* RECORD_EVENT, RECORD_SUPERBLOCK: as the kernel wrote it, common
				 * fields first; valid as long as the record itself (see
				 * record_store) */
};

/* A record that outlives the page it came from. */
struct stored_record {
	struct record record;
	unsigned char raw[RECORD_RAW_MAX];
};

/**
 * record_store - copy a record with its payload
 *
 * A payload over RECORD_RAW_MAX (only `-e` events have one) goes to the heap; release it with
 * record_store_release(). Returns 0 or -ENOMEM, then nothing is stored.
 */
int record_store(struct stored_record *stored, const struct record *record);

/** record_store_release - free what record_store() put on the heap, if anything */
void record_store_release(struct stored_record *stored);

static inline bool record_in_interrupt(const struct record *record)
{
	return record->flags & RECORD_FLAGS_INTERRUPT;
}

/* What a stage calls to hand a record on: 0, or -errno to stop (an output that failed). */
typedef int (*record_sink)(void *context, const struct record *record);

#endif
