/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_H
#define ALLOCFILT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base.h"

/*
 * Pages of ring buffers are merged, and their records decoded in order of time. The type that flows
 * from decode to stall is one record with all that the later stages need, independent of the kernel,
 * byte order and size of a long.
 */

enum record_kind {
	RECORD_WINDOW,	   /* funcgraph_exit: a traced function returned */
	RECORD_EVENT,	   /* a tracepoint that the plan knows; of these two see decode_fields() */
	RECORD_LOST,	   /* the kernel lost records of this CPU just before this place */
	RECORD_CLOCK,	   /* our own trace_marker: wall-clock time at this record */
	RECORD_SUPERBLOCK, /* our own probe: the superblock of a shrinker */
	RECORD_STACK,	   /* the kernel stack of this task's event just before it */
	RECORD_SLEEP,	   /* where this task, which has just left its CPU, sleeps */
};

/* Bits of common_flags for interrupt context: TRACE_FLAG_* of linux/trace_events.h. */
#define RECORD_FLAG_HARDIRQ    0x08
#define RECORD_FLAG_SOFTIRQ    0x10
#define RECORD_FLAG_NMI	       0x40
#define RECORD_FLAGS_INTERRUPT (RECORD_FLAG_HARDIRQ | RECORD_FLAG_SOFTIRQ | RECORD_FLAG_NMI)

/* The kernel knows that records were lost, but not how many. */
#define RECORD_LOST_UNKNOWN (-1)

/* Payloads of catalog events are smaller on every kernel so far (104 bytes at most). */
#define RECORD_RAW_MAX 112

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

/* sched_switch and sched_wakeup, and RECORD_SLEEP */
struct record_sched {
	uint64_t prev_state; /* of the task that leaves */
	uint64_t sleeps_in;  /* an address in the function that sleeps; 0: unknown */
	int32_t tid;	     /* of the task that comes, or that was woken */
};

/* A kernel stack of --stack; its frames are in struct stacks. */
struct record_stack {
	uint64_t ts;	       /* ns */
	uint32_t number;       /* of stacks_add(); 0: none */
	uint8_t flags;	       /* common_flags */
	uint8_t preempt_count; /* common_preempt_count */
};

struct format;

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
	};
	bool counted; /* the end of a slab pair: the pair is in the shrinkers' sums already */
	struct record_stack stack;   /* RECORD_STACK, and the event that it belongs to */
	const struct format *format; /* of decode: RECORD_WINDOW, RECORD_EVENT */
	const void *raw; /* RECORD_EVENT, RECORD_SUPERBLOCK, RECORD_WINDOW until decode_fields(): as
			  * the kernel wrote it, common fields first; valid as long as the record
			  * itself (see record_store) */
};

/* A record that outlives the page it came from. */
struct stored_record {
	struct record record;
	unsigned char raw[RECORD_RAW_MAX];
};

/*
 * Room for payloads over RECORD_RAW_MAX, which only `-e` events have, all of it allocated at the
 * start.
 */
struct payloads;

/* Bytes in which the largest payload fits once all others were released. */
#define PAYLOADS_MIN ((size_t)UINT16_MAX + 64)

/** payloads_new - @size bytes beyond PAYLOADS_MIN; NULL with errno ENOMEM */
struct payloads *payloads_new(size_t size);

/** payloads_free - NULL is allowed */
void payloads_free(struct payloads *payloads);

/** payloads_oldest - the record whose payload is in it for longest; there must be one */
struct stored_record *payloads_oldest(struct payloads *payloads);

/**
 * record_store - copy a record with its payload
 *
 * Release it with record_store_release(); a payload over RECORD_RAW_MAX points to @stored, which must
 * not move until then. Returns 0, or -ENOSPC and nothing is stored: release payloads_oldest(), as
 * often as it takes.
 */
int record_store(struct stored_record *stored, const struct record *record,
		 struct payloads *payloads);

/** record_store_release - give back what record_store() took of @payloads, if anything */
void record_store_release(struct stored_record *stored, struct payloads *payloads);

static inline bool record_in_interrupt(const struct record *record)
{
	return record->flags & RECORD_FLAGS_INTERRUPT;
}

/*
 * One page (sub-buffer) of a CPU's ring buffer, as read from trace_pipe_raw: a header with time
 * stamp and commit, then records. kernel/trace/ring_buffer.c;
 * Documentation/trace/ring-buffer-*
 */

struct page_layout {
	size_t size;   /* bytes of a whole page, header and data */
	size_t header; /* bytes before the data: 16, or 12 where a long has 4 bytes */
	int long_size; /* 4 or 8 */
	bool big_endian;
};

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

/**
 * page_layout_parse - read the text of events/header_page
 * @big_endian: the text does not have it; the caller knows (own host) or finds out
 *
 * Returns 0 or -EINVAL where a field is missing or a size is out of bounds (4 KiB … 64 MiB).
 */
int page_layout_parse(struct page_layout *layout, const char *text, size_t length, bool big_endian);

/**
 * page_layout_guess_order - find out the byte order from a page of the data
 *
 * The commit is never larger than a page, so it is plausible in one order only. Sets
 * layout->big_endian. Returns 0, -ENODATA where both orders are plausible (an empty page) or the
 * page is cut, -EBADMSG where none is.
 */
int page_layout_guess_order(struct page_layout *layout, const void *page, size_t length);

/* What page_check() found. */
enum page_state {
	PAGE_GOOD,
	PAGE_EMPTY,   /* commit 0: nothing in it */
	PAGE_CUT,     /* shorter than its header or its commit */
	PAGE_ZEROS,   /* time stamp and commit are both 0 */
	PAGE_DAMAGED, /* commit over the page, a record over the commit, data after it, … */
};

/* What is in a page: records, all of which are inside of it. */
struct page_content {
	const void *data; /* the first record; in the page */
	size_t size;	  /* bytes of whole records */
	uint64_t ts; /* ns, trace clock: the page's own, which its first record is relative to */
	uint64_t newest; /* ns: the highest time of a record; that of the page without any */
	int64_t lost;	 /* records just before the page, or RECORD_LOST_UNKNOWN; 0: none */
};

/**
 * page_check - find out what a page is and what is in it
 * @page: @length bytes
 *
 * The whole page is checked: commit against the page, every record's length against the commit,
 * every step forward. kbuffer of libtraceevent does not check what it reads. @content is set where
 * the page is PAGE_GOOD or PAGE_EMPTY.
 */
enum page_state page_check(const struct page_layout *layout, const void *page, size_t length,
			   struct page_content *content);

#define PAGE_FAULT_MAX 96

/* Why page_check() refuses a page, for people. */
struct page_fault {
	size_t offset; /* bytes from the start of the page */
	char text[PAGE_FAULT_MAX];
};

/** page_explain - say what is wrong with a page that page_check() does not call good or empty */
void page_explain(const struct page_layout *layout, const void *page, size_t length,
		  struct page_fault *ret_fault);

/* A place in the records of a page. */
struct page_cursor {
	const unsigned char *next; /* where page_next() goes on */
	const unsigned char *end;
	uint64_t ts;	  /* ns, the trace clock; this and the rest are of the present record */
	const void *data; /* as the event's format describes it */
	size_t size;
	bool big_endian;
	bool native; /* the same order as that of this machine */
};

/**
 * page_begin - start before the first record of a page
 * @data: @size bytes that page_check() described, or a copy of them
 * @ts: of the page
 */
void page_begin(struct page_cursor *cursor, const struct page_layout *layout, const void *data,
		size_t size, uint64_t ts);

/**
 * page_next - go to the next record
 *
 * Returns 1, 0 at the end, or -EBADMSG where the next one is not as a whole inside the data.
 */
int page_next(struct page_cursor *cursor);

/*
 * Where pages come from: the buffers of a running kernel, or a capture. Both are read in rounds of
 * a few pages a CPU, so that no CPU starves another and time can be merged between rounds.
 */

#define SOURCE_QUOTA 32 /* pages a CPU and round */

struct source_sink {
	void *context;
	/* how many pages of this CPU may be read now */
	size_t (*room)(void *context, int cpu);
	/* a page, valid during the call; @last: the end of a capture's file */
	int (*page)(void *context, int cpu, const void *page, size_t length, bool last);
	/* this CPU was not read to its end in this round */
	void (*left_with_data)(void *context, int cpu);
};

/*
 * From a record's bytes to a struct record: fields are bound by name once, when a format is added.
 * That of a capture is not trusted: see record/event_format.h.
 */

struct decode;
struct stacks;

/* What decode asks and where its records go. */
struct decode_callbacks {
	/* role of the function at an address: enum role, or ROLE_NONE; the answers are cached */
	int (*role_of)(void *context, uint64_t function);
	/* text of an address, as the kernel's %ps ('s') and %pS ('S'); returns its length */
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	/* where a task sleeps that has this stack: an address, 0 if it is not known */
	uint64_t (*sleeps_in)(void *context, const uint64_t *frames, size_t count);
	void *context; /* of these */
	/* 0, or -errno to stop (an output that failed); of a window or an event see decode_fields() */
	int (*sink)(void *context, struct record *record);
	void *sink_context;
};

/* events/ftrace/{funcgraph_exit,print} and what the plan lists */
#define DECODE_FUNCGRAPH_EXIT (-1)
#define DECODE_PRINT	      (-2)
#define DECODE_IGNORE	      (-3) /* known but not used: dropped and not counted */
#define DECODE_SUPERBLOCK     (-4) /* our probe, see probes.h */
#define DECODE_STACK	      (-5) /* kernel_stack */

/**
 * decode_new - a decoder without formats; see decode_add_format()
 * @stacks: where frames go; NULL: stacks are left out, but for those of sched_switch, of which
 *	sleeps_in alone is kept
 *
 * A capture may have events that the plan lacks: at the first record of an unknown type its other
 * formats are read, whose records are dropped and not counted. The callbacks are copied, the
 * source is not. Returns NULL with errno ENOMEM.
 */
struct decode *decode_new(const struct data_source *source, struct stacks *stacks,
			  const struct decode_callbacks *callbacks);

/** decode_free - leaves source and stacks to their owner; NULL is allowed */
void decode_free(struct decode *decode);

/**
 * decode_add_format - add the format of one event
 * @event: index into the plan's events, or DECODE_…
 * @id: which fields to bind: enum event_id of the catalog, EVENT_USER for none
 * @text: the format file; of DECODE_IGNORE only the number is read
 *
 * Returns 0, -EINVAL for a text that is no format, is larger than any kernel's or lacks a field that
 * the event cannot do without (funcgraph_exit: func, calltime, rettime, depth; our probe: shr, id;
 * kernel_stack: caller), -ENOMEM, -EEXIST for a known id.
 */
int decode_add_format(struct decode *decode, int event, int id, const char *text, size_t length);

/** decode_read_format - the same with events/@system/@name/format of the source; or its -errno */
int decode_read_format(struct decode *decode, int event, int id, const char *system,
		       const char *name);

/**
 * decode_record, decode_lost - the two functions of a merge_sink
 *
 * A record of a type without a format is counted (decode_unknown) and dropped, one shorter than
 * its fields is counted as damaged. Returns 0 or what the sink returned.
 */
int decode_record(void *decode, int cpu, uint64_t ts, const void *data, size_t size);
int decode_lost(void *decode, int cpu, uint64_t ts, int64_t count);

/**
 * decode_type - the number of a record's event
 *
 * Returns -1 for a record that is too short to have one, and for all while no format is known.
 */
int decode_type(const struct decode *decode, const void *data, size_t size);

/**
 * decode_fields - read what the sink needs not have of all records
 *
 * Of a window its role; of an event all fields and the stack. The sink calls it if it goes on with one
 * of these.
 */
void decode_fields(struct decode *decode, struct record *record);

/**
 * decode_again - decode a copy of a window or an event that decode_record() has passed on
 * @indent: as it was in the record
 *
 * Sets all of @record. No state of its CPU is changed.
 */
void decode_again(struct decode *decode, int cpu, uint64_t ts, int indent, const void *data,
		  size_t size, struct record *record);

/**
 * decode_task - the task of a window or an event, before its record is passed on
 * @record: kind, event, ts and tid are set, and nothing else
 *
 * Returns false for any other record.
 */
bool decode_task(const struct decode *decode, uint64_t ts, const void *data, size_t size,
		 struct record *record);

/** decode_unknown - records whose type has no format, and the type of the first of them */
uint64_t decode_unknown(const struct decode *decode, int *first_type);
/** decode_damaged - records shorter than the fields of their format */
uint64_t decode_damaged(const struct decode *decode);

/**
 * decode_text - an event as the kernel prints it: "mm_vmscan_…: order=0 …", no newline
 *
 * Byte for byte the text of the event in `trace`, but for %p: where the kernel has a hash, this
 * prints the address, in the same width. An event whose print format is not understood is printed as
 * "name: field=value …". Allocates nothing. Returns the length, cut to size - 1 and always ended by
 * NUL.
 */
size_t decode_text(struct decode *decode, const struct record *record, char *text, size_t size);

/*
 * Records of all CPUs in one order of time. The buffers are read in rounds: what was written
 * before a round began is read by its end, so when a round ends, all records up to the newest time
 * seen in the round before can go. Records after the newest time that was read from a CPU that was left
 * with data are held. Equal times: the lower CPU first; one CPU's records keep their order.
 * tracefs_iterate_raw_events() opens all CPUs at each call, and orders only what it reads in that call.
 */

#define MERGE_CPU_BYTES (256u << 10) /* of pages held for a CPU, where a machine has few */
#define MERGE_BYTES	(4u << 20)   /* for all of them, where that is a page or more for each */

/* Receives records in order. Each returns 0, or -errno to stop. */
struct merge_sink {
	void *context;
	/* a record of the ring buffer; @data is valid during the call only; @ts: ns, the trace clock */
	int (*record)(void *context, int cpu, uint64_t ts, const void *data, size_t size);
	/* records lost here; @count: how many, or RECORD_LOST_UNKNOWN */
	int (*lost)(void *context, int cpu, uint64_t ts, int64_t count);
};

struct merge;

/** merge_share - pages held for each of so many CPUs, 1 at least */
size_t merge_share(int cpus, size_t page_size);

/**
 * merge_new - an empty merge
 * @cpus: the list is copied, its numbers are not
 * @layout, @sink: copied
 * @share: pages of each CPU; memory for all of them is allocated here, and comes as it is used
 *
 * Returns NULL with errno ENOMEM or EINVAL.
 */
struct merge *merge_new(const struct cpu_list *cpus, const struct page_layout *layout, size_t share,
			const struct merge_sink *sink);

/** merge_free - what is held is discarded, see merge_flush(); NULL is allowed */
void merge_free(struct merge *merge);

/**
 * merge_put - add a copy of a page's records, and what was lost before them
 *
 * The times of a CPU do not go back. A record that does all the same (seen with damaged data) is put
 * at the newest time of its CPU. Returns 0, -EINVAL for a CPU that is not in the list or a page that
 * is larger than the layout says, -ENOSPC without merge_room().
 */
int merge_put(struct merge *merge, int cpu, const struct page_content *content);

/**
 * merge_room - for how many more pages of @cpu is there room?
 *
 * Each CPU has its share, so that one that is ahead in time cannot use up the memory of the one
 * that the others wait for. A share of one page is enough: the records of the CPU that the others
 * wait for go out a round later at the latest.
 */
size_t merge_room(const struct merge *merge, int cpu);

/** merge_left_with_data - in this round @cpu was not read to its end */
void merge_left_with_data(struct merge *merge, int cpu);

/** merge_end_round - pass on what is complete; returns 0 or what the sink returned */
int merge_end_round(struct merge *merge);

/** merge_flush - pass on all that is held, at the end of a run or a capture */
int merge_flush(struct merge *merge);

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

#endif
