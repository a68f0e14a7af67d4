/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_RECORD_H
#define ALLOCFILT_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Pages of ring buffers are merged, and their records decoded in order of time. The type that flows
 * from decode to stall is one record with all that the later stages need, independent of the kernel,
 * byte order and size of a long.
 */

enum record_kind {
	RECORD_WINDOW,	   /* funcgraph_exit: a traced function returned */
	RECORD_EVENT,	   /* a tracepoint that the plan knows; see decode_fields() */
	RECORD_LOST,	   /* records of this CPU are missing from here on */
	RECORD_CLOCK,	   /* our own trace_marker: wall-clock time at this record */
	RECORD_SUPERBLOCK, /* our own probe: the superblock of a shrinker */
	RECORD_STACK,	   /* the kernel stack of this task's event just before it */
};

/* Bits of common_flags for interrupt context: TRACE_FLAG_* of linux/trace_events.h. */
#define RECORD_FLAG_HARDIRQ    0x08
#define RECORD_FLAG_SOFTIRQ    0x10
#define RECORD_FLAG_NMI	       0x40
#define RECORD_FLAGS_INTERRUPT (RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ | RECORD_FLAG_NMI)

struct record_window {
	uint64_t function; /* address */
	uint64_t calltime; /* ns, local clock */
	uint64_t rettime;  /* ns, local clock */
	int32_t depth;
};

#define RECORD_PAGES_UNKNOWN UINT32_MAX

/*
 * Fields of the catalog's events, by common meaning; 0 if the event lacks the field. In
 * EVENT_SHRINK_INACTIVE and EVENT_SLAB_START 0 is a value: there a missing field is
 * RECORD_PAGES_UNKNOWN, or negative.
 */
struct record_fields {
	uint64_t shrinker;     /* struct shrinker *: shr */
	uint64_t callback;     /* its scan function: shrink; of a memory wait its caller */
	uint64_t nr_reclaimed; /* pages */
	uint64_t memcg_id;     /* inode number of the cgroup; 0 where the event has none */
	uint32_t gfp;	       /* gfp_flags, gfp_mask: a gfp_t, also where the field is a long */
	uint32_t nr_scanned;   /* pages, as the next two; slab's total_scan: objects to scan */
	uint32_t nr_dirty;
	uint32_t nr_writeback;
	int32_t order;
	int32_t nid;
	int32_t priority; /* of reclaim */
	int32_t status; /* compaction's outcome; throttled's reason; slab's retval: objects freed */
};

struct record_superblock {
	uint64_t shrinker;    /* struct shrinker * */
	uint64_t callback;    /* its scan function; 0: only super_cache_scan writes this record */
	uint32_t device;      /* s_dev in the kernel's encoding: 12 bits major, 20 bits minor */
	uint16_t name;	      /* offset of s_id in raw, terminated by NUL */
	uint16_t name_length; /* 0: it could not be read */
};

#define RECORD_COMM_SIZE                                                                           \
	16 /* bytes of a task's name with its NUL: TASK_COMM_LEN of linux/sched.h */

/* sched_switch and sched_wakeup; of the OOM killer's victim the tid alone */
struct record_sched {
	uint64_t prev_state; /* of the task that leaves */
	int32_t tid;	     /* of the task that comes, or that was woken */
	int32_t target_cpu; /* of the task that was woken: the CPU that it waits for; -1: unknown */
	uint16_t name; /* offset in raw of the name of the task that comes; 0: it is not known */
};

/* A kernel stack of --stack; its frames are in struct stacks. */
struct record_stack {
	uint64_t ts;	       /* ns */
	uint32_t number;       /* of stacks_add(); 0: none */
	uint8_t flags;	       /* common_flags */
	uint8_t preempt_count; /* common_preempt_count */
};

/* The frames of RECORD_STACK: return addresses, the innermost first. */
struct record_frames {
	const uint64_t *at; /* valid until the next record is decoded */
	size_t count;
};

struct record {
	uint64_t ts; /* ns, the trace clock */
	int32_t tid; /* common_pid: the thread */
	int32_t cpu;
	uint8_t kind;	   /* enum record_kind */
	uint8_t flags;	   /* common_flags */
	uint16_t event;	   /* RECORD_EVENT: index into the plan's events */
	int16_t indent;	   /* depth at which the kernel's text shows an event: that of the
				 * last exit record of this CPU, less one; 0 before the first */
	uint16_t raw_size; /* bytes at raw */
	union {
		struct record_window window;
		struct record_fields fields;
		int32_t child; /* of sched_process_fork: the new task */
		struct {
			int64_t lost;	     /* records, or RECORD_LOST_UNKNOWN */
			uint64_t lost_until; /* ns: no later one; UINT64_MAX: not known */
		};
		struct {
			uint64_t realtime;  /* ns since the epoch */
			uint64_t threshold; /* ns, of the run that wrote the mark; 0: not known */
		};
		struct record_superblock superblock;
		struct record_sched sched;
		struct record_frames frames;
	};
	struct record_stack stack; /* RECORD_STACK (number: 0), and the event that it belongs to */
	const void *raw; /* RECORD_EVENT, RECORD_SUPERBLOCK, RECORD_WINDOW: as the kernel wrote it,
			  * common fields first; that of a page is valid until the next record */
};

static inline bool record_in_interrupt(const struct record *record)
{
	return record->flags & RECORD_FLAGS_INTERRUPT;
}

#endif
