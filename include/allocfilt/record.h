/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_H
#define ALLOCFILT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"
#include "allocfilt/record/page.h"

/*
 * Pages of ring buffers are merged, and their records decoded in order of time. The type that flows
 * from decode to stall is one record with all that the later stages need, independent of the kernel,
 * byte order and size of a long.
 */

enum record_kind {
	RECORD_WINDOW,	   /* funcgraph_exit: a traced function returned */
	RECORD_EVENT,	   /* a tracepoint that the plan knows; see decode_fields() */
	RECORD_LOST,	   /* the kernel lost records of this CPU just before this place */
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
	int32_t role; /* enum role, or ROLE_NONE for a function that the catalog does not have */
};

#define RECORD_PAGES_UNKNOWN UINT32_MAX

/*
 * Fields of the catalog's events, by common meaning; 0 if the event lacks the field. Those of
 * EVENT_SHRINK_INACTIVE and EVENT_SLAB_START, where 0 is a value, are RECORD_PAGES_UNKNOWN then, or
 * negative.
 */
struct record_fields {
	uint64_t shrinker;     /* struct shrinker *: shr */
	uint64_t callback;     /* its scan function: shrink */
	uint64_t nr_reclaimed; /* pages */
	uint64_t memcg_id;     /* inode number of the cgroup; 0 where the event has none */
	uint32_t gfp;	       /* gfp_flags, gfp_mask: a gfp_t, also where the field is a long */
	uint32_t nr_scanned;   /* pages, as the next two */
	uint32_t nr_dirty;
	uint32_t nr_writeback;
	int32_t order;
	int32_t nid;
	int32_t priority; /* of reclaim */
	int32_t status;	  /* compaction's outcome; throttled's reason; slab's retval */
};

struct record_superblock {
	uint64_t shrinker;    /* struct shrinker * */
	uint64_t callback;    /* its scan function; 0: only super_cache_scan writes this record */
	uint32_t device;      /* s_dev in the kernel's encoding: 12 bits major, 20 bits minor */
	uint16_t name;	      /* offset of s_id in raw, terminated by NUL */
	uint16_t name_length; /* 0: it could not be read */
};

/* sched_switch and sched_wakeup */
struct record_sched {
	uint64_t prev_state; /* of the task that leaves */
	int32_t tid;	     /* of the task that comes, or that was woken */
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
	bool after_switch; /* right after sched_switch: where the task that left its CPU sleeps */
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
		int32_t child;	   /* of sched_process_fork: the new task */
		int64_t lost;	   /* records, or RECORD_LOST_UNKNOWN */
		uint64_t realtime; /* ns since the epoch */
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

/* A file of a capture that is in memory. */
struct source_file {
	char *path; /* as in a capture */
	char *text; /* any bytes, and a NUL */
	size_t length;
};

/*
 * Describes the data of a running kernel or a capture. It, and what it points to, must outlive the
 * stages that use it.
 */
struct data_source {
	const char *dir; /* the tracing directory at its top level, the capture, or its trace.dat */
	const struct source_file *files; /* of a trace.dat, sorted by path; NULL: they are in dir */
	size_t nr_files;
	const char *proc; /* "/proc" of the running kernel, NULL for a capture */
	/* Of the machine that was traced; "" or NULL: not known. */
	const char *host;    /* name, any bytes */
	const char *release; /* uname -r */
	const char *machine; /* uname -m */
	const char *clock;   /* trace clock */
	uint64_t started;    /* ns since the epoch: start of tracing; 0: not known */
	struct page_layout layout;
	struct cpu_list cpus;
	bool local_clock;      /* false: a window's edges are those of its record's own time */
	pid_t own;	       /* the process that traced, which is not shown; 0: not known */
	pid_t command;	       /* COMMAND: it and its children alone are shown; 0: none */
	const pid_t *recorded; /* processes that the kernel was to record; 0 ends; NULL: all */
	struct memory_pressure pressure_before; /* of the run */
	struct memory_pressure pressure_after;	/* its end, or now */
};

/** event_number - an unsigned number of 1 to 8 bytes, in either byte order */
uint64_t event_number(const void *at, size_t size, bool big_endian);

/**
 * source_open - open a file of names or formats
 * @path: as in a capture: "kallsyms", "mountinfo", "saved_cmdlines", "events/SYSTEM/NAME/format" …
 *
 * Returns a descriptor, or -errno as file_open().
 */
int source_open(const struct data_source *source, const char *path);

/** source_read - read such a file as a whole, as file_read() does */
int source_read(const struct data_source *source, const char *path, char **ret_text,
		size_t *ret_length);

/** source_has - is there such a file? Of a trace.dat only */
bool source_has(const struct data_source *source, const char *path);

/** source_events - call @visit for each event that has a format; as event_directories() */
int source_events(const struct data_source *source,
		  int (*visit)(void *context, const char *system, const char *name), void *context);

/* Records that the kernel (or a damaged page) lost, per CPU, and their reports. */

struct losses;

/** losses_new - the list is copied, its numbers are not; NULL with errno ENOMEM */
struct losses *losses_new(const struct cpu_list *cpus);

/** losses_free - NULL is allowed */
void losses_free(struct losses *losses);

/** losses_add - @count may be RECORD_LOST_UNKNOWN; a CPU that is not in the list is ignored */
void losses_add(struct losses *losses, int cpu, int64_t count);

/** losses_of - records lost by a CPU, which is in the list; @ret_unknown: losses without a count */
uint64_t losses_of(const struct losses *losses, int cpu, uint64_t *ret_unknown);

/** losses_total - records lost by all CPUs; @ret_unknown: times without a count */
uint64_t losses_total(const struct losses *losses, uint64_t *ret_unknown);

/**
 * losses_report - log_warning() for each CPU with new losses, at most once a second
 * @now: ns of a clock that never goes back
 *
 * For a live run: it advises a larger buffer.
 */
void losses_report(struct losses *losses, uint64_t now);

/**
 * losses_report_all - the final lines: one for each CPU that lost records, or with @live that none did
 * @live: advise a larger buffer
 */
void losses_report_all(const struct losses *losses, bool live);

/*
 * Kernel stacks, each stored once under a number: many calls have the same stack, and a number in a
 * record needs less memory than its frames. All memory is allocated at the start.
 */

#define STACKS_MAX	  4096
#define STACKS_FRAMES_MAX (STACKS_MAX * 24) /* over all stacks */
#define STACK_DEPTH_MAX	  1024		    /* the kernel's own limit */

struct stacks;

/** stacks_new - NULL with errno ENOMEM */
struct stacks *stacks_new(void);

/** stacks_free - NULL is allowed */
void stacks_free(struct stacks *stacks);

/**
 * stacks_add - the number of a stack, new or known; 0 for an empty one, or where the table is full
 * @frames: return addresses, the innermost first; those over STACK_DEPTH_MAX are dropped
 */
uint32_t stacks_add(struct stacks *stacks, const uint64_t *frames, size_t count);

/** stacks_of - the frames of a stack; returns how many, 0 for a number that does not exist */
size_t stacks_of(const struct stacks *stacks, uint32_t number, const uint64_t **ret_frames);

/** stacks_overflow - stacks dropped because the table was full */
uint64_t stacks_overflow(const struct stacks *stacks);

#include "allocfilt/record/decode.h"
#include "allocfilt/record/merge.h"

#endif
