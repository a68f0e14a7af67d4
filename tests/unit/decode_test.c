// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "allocfilt/plan/catalog.h"
#include "allocfilt/record/decode.h"
#include "made_cpus.h"
#include "made_event.h"
#include "made_page.h"
#include "notes.h"
#include "test_directory.h"
#include "unit_test.h"

/* ---- events, and their records ---- */

static const struct made_event exit_5_10 = { "funcgraph_exit", 10,
					     "func 8, overrun 8, calltime 8, rettime 8, depth 4s" };
static const struct made_event exit_6_1 = { "funcgraph_exit", 10,
					    "func 8, depth 4s, overrun 4, calltime 8, rettime 8" };
/* CONFIG_FUNCTION_GRAPH_RETVAL; depth without a sign as on 7.3 */
static const struct made_event exit_retval = {
	"funcgraph_exit", 10, "func 8, retval 8, depth 4, overrun 4, calltime 8, rettime 8"
};
static const struct made_event exit_32_bit = {
	"funcgraph_exit", 10, "func 4, depth 4s, overrun 4, calltime 8, rettime 8"
};
/* 5.10 has gfp_flags of 4 bytes. */
static const struct made_event slab_start_5_10 = {
	"mm_shrink_slab_start", 500,
	"shr 8, shrink 8, nid 4s, - 4, nr_objects_to_shrink 8s, gfp_flags 4, - 4, priority 4s",
	"\"%pS %p: nid: %d\", REC->shrink, REC->shr, REC->nid"
};
/* 7.2 moves the fields and adds memcg_id. */
static const struct made_event slab_start_7_3 = {
	"mm_shrink_slab_start", 500,
	"shr 8, shrink 8, nr_objects_to_shrink 8s, total_scan 8, gfp_flags 8, priority 4s, nid 4s, "
	"memcg_id 8",
	"\"%pS %p: nid: %d pid: %d memcg_id: %llu\", REC->shrink, REC->shr, REC->nid, "
	"REC->ent.pid, REC->memcg_id"
};
static const struct made_event reclaim_end = { "mm_vmscan_direct_reclaim_end", 504,
					       "nr_reclaimed 8",
					       "\"nr_reclaimed=%lu\", REC->nr_reclaimed" };
static const struct made_event sched_wakeup = {
	"sched_wakeup", 316, "char comm[16] 16, pid_t pid 4s, int prio 4s, int target_cpu 4s"
};
static const struct made_event print = { "print", 5, "ip 8, char buf[] 0s",
					 "\"%ps: %s\", (void *)REC->ip, REC->buf" };
/* Ours: an event probe, a kprobe. */
static const struct made_event event_probe = { "shrinker", 1393,
					       "shr 8, shrink 8, __data_loc char[] id 4s, dev 4" };
static const struct made_event kprobe = { "shrinker", 1347,
					  "__probe_ip 8, shr 8, __data_loc char[] id 4s, dev 4" };
static const struct made_event kernel_stack = { "kernel_stack", 4,
						"size 4s, - 4, unsigned long caller[8] 64" };
static const struct made_event kernel_stack_32 = { "kernel_stack", 4,
						   "size 4s, unsigned long caller[8] 32" };

/* ---- a decoder, and what comes out of it ---- */

#define RECLAIM 0x81234560 /* a function that has a role */

static struct {
	struct data_source source;
	struct decode *decode;
	const struct page_layout *layout;
	size_t count;
	struct record last;
	bool fields; /* those of events are noted */
	bool sched;  /* events are switches and wakeups */
} fixture;

/* " shr=…", in hexadecimal, and " order=…": those that are not 0. */
static void note_fields(const struct record_fields *fields)
{
	static const char *const names[] = { "shr",	"shrink", "reclaimed", "memcg",
					     "gfp",	"nid",	  "order",     "priority",
					     "scanned", "dirty",  "writeback", "status" };
	const int64_t values[COUNT(names)] = {
		(int64_t)fields->shrinker,
		(int64_t)fields->callback,
		(int64_t)fields->nr_reclaimed,
		(int64_t)fields->memcg_id,
		fields->gfp,
		fields->nid,
		fields->order,
		fields->priority,
		(int32_t)fields->nr_scanned,
		(int32_t)fields->nr_dirty,
		(int32_t)fields->nr_writeback,
		fields->status,
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		if (values[i] && i < 5)
			note(" %s=%" PRIx64, names[i], values[i]);
		else if (values[i])
			note(" %s=%" PRId64, names[i], values[i]);
	}
}

static void note_event(struct record *record)
{
	note("event %u", record->event);
	assert_non_null(record->raw);
	decode_fields(fixture.decode, record);
	if (fixture.sched)
		note(" %d state=%" PRIx64 " cpu=%d name=%u", record->sched.tid,
		     record->sched.prev_state, record->sched.target_cpu, record->sched.name);
	else if (fixture.fields)
		note_fields(&record->fields);
}

static void note_superblock(const struct record *record)
{
	const struct record_superblock *superblock = &record->superblock;

	note("superblock %" PRIx64 " %" PRIx64 " %u:%u '%.*s'", superblock->shrinker,
	     superblock->callback, superblock->device >> 20, superblock->device & 0xfffff,
	     superblock->name_length, (const char *)record->raw + superblock->name);
}

static void note_stack(const struct record *record)
{
	assert_int_equal(record->stack.flags, MADE_FLAGS);
	assert_int_equal(record->stack.preempt_count, MADE_PREEMPT_COUNT);
	assert_int_equal(record->stack.ts, record->ts);
	assert_int_equal(record->stack.number, 0);
	note("stack of %zu", record->frames.count);
	for (size_t i = 0; i < record->frames.count; i++)
		assert_int_equal(record->frames.at[i], 0x81000000 + i);
}

/* "CPU:TS KIND …, …" */
static void note_record(struct record *record)
{
	note_separator(", ");
	note("%d:%" PRIu64 " ", record->cpu, record->ts);
	if (record->kind == RECORD_LOST) {
		note("lost %" PRId64, record->lost);
		return;
	}
	assert_int_equal(record->tid, MADE_PID);
	assert_int_equal(record->flags, MADE_FLAGS);
	if (record->kind == RECORD_WINDOW)
		note("window %" PRIx64 " %" PRIu64 "-%" PRIu64 "/%d", record->window.function,
		     record->window.calltime, record->window.rettime, record->window.depth);
	else if (record->kind == RECORD_EVENT)
		note_event(record);
	else if (record->kind == RECORD_CLOCK)
		note(record->threshold ? "clock %" PRIu64 " threshold %" PRIu64 : "clock %" PRIu64,
		     record->realtime, record->threshold);
	else if (record->kind == RECORD_SUPERBLOCK)
		note_superblock(record);
	else
		note_stack(record);
}

/* Before a record is passed on, its task is told, or the time that it marks. */
static void assert_task_of(const struct raw_record *raw, const struct record *passed)
{
	struct record before = { 0 };

	if (passed->kind == RECORD_LOST)
		return;
	assert_int_equal(decode_task(fixture.decode, raw->ts, raw->data, raw->size, &before),
			 passed->kind <= RECORD_CLOCK);
	if (passed->kind > RECORD_CLOCK)
		return;
	assert_int_equal(before.kind, passed->kind);
	assert_int_equal(before.ts, passed->ts);
	assert_int_equal(before.tid, passed->tid);
	if (passed->kind == RECORD_EVENT)
		assert_int_equal(before.event, passed->event);
	if (passed->kind == RECORD_CLOCK)
		assert_int_equal(before.realtime, passed->realtime);
}

static void take(const struct raw_record *raw)
{
	if (!decode_record(fixture.decode, raw, &fixture.last))
		return;
	assert_task_of(raw, &fixture.last);
	note_record(&fixture.last);
	fixture.count++;
}

/* All notes since the last call. */
static void assert_records(const char *expected)
{
	assert_string_equal(notes.text, expected);
	clear_notes();
}

static int stop(void **state)
{
	decode_free(fixture.decode);
	memset(&fixture, 0, sizeof(fixture));
	clear_notes();
	return 0;
}

static void start(const struct page_layout *layout)
{
	stop(NULL);
	fixture.layout = layout;
	fixture.source = (struct data_source){
		.layout = *layout,
		.cpus = made_cpus(8),
		.local_clock = true,
		.proc = "/proc",
	};
	fixture.decode = decode_new(&fixture.source);
	assert_non_null(fixture.decode);
}

static int start_usual(void **state)
{
	start(&made_layouts[0]);
	return 0;
}

static int add_text(int index, int id, const char *text)
{
	return decode_add_format(fixture.decode, index, id, text, strlen(text));
}

static void add(int index, int id, const struct made_event *event)
{
	assert_int_equal(add_text(index, id, format_of(event)), 0);
}

/* In a block of its own size, so that a sanitizer sees a read past its end. */
static void decode_bytes(int cpu, uint64_t ts, const struct made_page *made, size_t size)
{
	unsigned char *copy = malloc(size + !size);

	assert_non_null(copy);
	memcpy(copy, made->bytes, size);
	take(&(struct raw_record){ .cpu = cpu, .ts = ts, .data = copy, .size = size });
	free(copy);
}

static void decode_event(int cpu, uint64_t ts, const struct made_event *event,
			 const struct made_value *values)
{
	struct made_page made;

	make_payload(&made, fixture.layout, event, values);
	decode_bytes(cpu, ts, &made, made.at);
}

#define TEST(name) UNIT_TEST_WITH(name, start_usual, stop)

/* ns: after the times of windows whose values are not given */
#define LATE (1ull << 61)

/* ---- windows ---- */

TEST(windows_of_all_layouts)
{
	static const struct made_event *const events[] = { &exit_5_10, &exit_6_1, &exit_retval };

	for (int i = 0; i < 8; i++) {
		const struct made_event *event = i < 6 ? events[i / 2] : &exit_32_bit;

		start(&made_layouts[i < 6 ? i % 2 : i - 4]);
		add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, event);
		decode_event(2, 5000400100, event,
			     VALUES({ "func", i < 6 ? 0xffffffff81234560 : RECLAIM },
				    { "depth", 3 }, { "calltime", 5000000001 },
				    { "rettime", 5000400002 }));
		assert_records(
			i < 6 ? "2:5000400100 window ffffffff81234560 5000000001-5000400002/3" :
				"2:5000400100 window 81234560 5000000001-5000400002/3");
	}
}

/* An event is shown at the depth of the last exit of its CPU, less one. */
TEST(indent_is_kept_by_cpu)
{
	static const struct {
		int cpu;
		int depth; /* -1: an event */
		int expected;
	} cases[] = {
		{ 1, -1, 0 },
		{ 1, 3, 2 },
		{ 1, -1, 2 },
		{ 0, -1, 0 },
		{ 1, 0, -1 },
		{ 1, -1, -1 },
		/* a CPU that cannot be harms none */
		{ -1, 3, 2 },
		{ 1000000, 5, 4 },
		{ 0, -1, 0 },
		{ 1, -1, -1 },
	};

	add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, &exit_6_1);
	add(0, EVENT_DIRECT_RECLAIM_END, &reclaim_end);
	for (size_t i = 0; i < COUNT(cases); i++) {
		decode_event(cases[i].cpu, LATE + i, cases[i].depth < 0 ? &reclaim_end : &exit_6_1,
			     VALUES({ "depth", (uint64_t)cases[i].depth }));
		assert_int_equal(fixture.count, i + 1);
		assert_int_equal(fixture.last.indent, cases[i].expected);
	}
}

/* ---- events ---- */

static const struct made_event inactive = {
	"mm_vmscan_lru_shrink_inactive", 510,
	"nid 4s, nr_scanned 8, nr_reclaimed 8, nr_dirty 8, nr_writeback 8, priority 4s"
};
static const struct made_event slab_end = {
	"mm_shrink_slab_end", 501, "shr 8, nid 4s, - 4, shrink 8, retval 4s, total_scan 8s"
};
static const struct made_event compact = { "mm_compaction_try_to_compact_pages", 503,
					   "order 4s, - 4, gfp_mask 8, prio 4s" };
static const struct made_event throttled = {
	"mm_vmscan_throttled", 502, "nid 4s, usec_timeout 4s, usec_delayed 4s, reason 4s"
};
/* No kernel has these so: fields of two bytes, and less of them. */
static const struct made_event narrow = { "mm_vmscan_throttled", 507, "nid 2s, order 2" };
static const struct made_event few = { "mm_vmscan_lru_shrink_inactive", 511, "nr_reclaimed 8" };
static const struct made_event few_of_slab = { "mm_shrink_slab_start", 512, "shr 8, shrink 8" };

/* Fields that share a member, have other places or are lacking: where 0 is a value, these are -1. */
TEST(fields_of_events)
{
	const struct {
		int id;
		const struct made_event *event;
		const struct made_value *values;
		const char *expected;
	} cases[] = {
		{ EVENT_SLAB_START, &slab_start_5_10,
		  VALUES({ "shr", 0xffff888012345678 }, { "shrink", 0xffffffff81300000 },
			 { "nid", (uint64_t)-2 }, { "gfp_flags", 0x80000cc0 }, { "priority", 0 }),
		  " shr=ffff888012345678 shrink=ffffffff81300000 gfp=80000cc0 nid=-2" },
		{ EVENT_SLAB_START, &slab_start_7_3,
		  VALUES({ "shr", 0xffff888012345678 }, { "shrink", 0xffffffff81300000 },
			 { "nid", (uint64_t)-2 }, { "gfp_flags", 0x80000cc0 }, { "priority", 12 },
			 { "memcg_id", 0x123456789abc }, { "total_scan", 1024 }),
		  " shr=ffff888012345678 shrink=ffffffff81300000 memcg=123456789abc gfp=80000cc0 "
		  "nid=-2 priority=12 scanned=1024" },
		{ EVENT_SLAB_START, &few_of_slab, VALUES({ "shr", 1 }, { "shrink", 2 }),
		  " shr=1 shrink=2 nid=-1 priority=-1" },
		{ EVENT_SLAB_END, &slab_end,
		  VALUES({ "shr", 1 }, { "nid", 0 }, { "shrink", 2 }, { "retval", (uint64_t)-7 },
			 { "total_scan", (uint64_t)-9 }),
		  " shr=1 shrink=2 scanned=-9 status=-7" },
		{ EVENT_TRY_TO_COMPACT, &compact, VALUES({ "order", 9 }, { "gfp_mask", 0xcc0 }),
		  " gfp=cc0 order=9" },
		{ EVENT_DIRECT_RECLAIM_END, &reclaim_end,
		  VALUES({ "nr_reclaimed", 0x1020304050607080 }), " reclaimed=1020304050607080" },
		{ EVENT_THROTTLED, &throttled, VALUES({ "nid", 1 }, { "reason", 4 }),
		  " nid=1 status=4" },
		{ EVENT_THROTTLED, &narrow, VALUES({ "nid", 0xfffd }, { "order", 0xfffd }),
		  " nid=-3 order=65533" },
		{ EVENT_SHRINK_INACTIVE, &inactive,
		  VALUES({ "nid", 1 }, { "nr_scanned", 32 }, { "nr_reclaimed", 5 },
			 { "nr_dirty", 0 }, { "nr_writeback", 7 }, { "priority", 0 }),
		  " reclaimed=5 nid=1 scanned=32 writeback=7" },
		{ EVENT_SHRINK_INACTIVE, &few, VALUES({ "nr_reclaimed", 6 }),
		  " reclaimed=6 nid=-1 priority=-1 scanned=-1 dirty=-1 writeback=-1" },
		/* A user's event may have fields of the same names, which mean something else there. */
		{ EVENT_USER, &reclaim_end, NULL, "" },
	};

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		start(&made_layouts[i % 2]);
		fixture.fields = true;
		add(7, cases[i / 2].id, cases[i / 2].event);
		decode_event(1, 42, cases[i / 2].event, cases[i / 2].values);
		assert_int_equal(strncmp(notes.text, "1:42 event 7", 12), 0);
		assert_string_equal(notes.text + 12, cases[i / 2].expected);
	}
	assert_true(record_in_interrupt(&fixture.last));
	assert_int_equal(fixture.last.raw_size, 16);
}

/* ---- our own records ---- */

static void decode_print(const char *text, size_t size)
{
	struct made_page made;

	make_payload(&made, fixture.layout, &print, NULL);
	made_bytes(&made, text, size);
	decode_bytes(0, 123, &made, made.at);
}

TEST(marks_of_the_clock)
{
	static const char *const of_others[] = {
		"",
		"hello",
		"allocfilt: ",
		"allocfilt: realtime ",
		"allocfilt: realtime 12",
		"allocfilt: realtime 12.",
		"allocfilt: realtime 12.5",
		"allocfilt: realtime 12.0000000001",
		"allocfilt: realtime 12.+12345678",
		"allocfilt: realtime -1.000000000",
		"allocfilt: realtime 12 .00000000",
		"allocfilt: realtime 12.000000000 and more",
		"allocfilt: realtime 12.000000000 threshold_us",
		"allocfilt: realtime 12.000000000 threshold_us x",
		"allocfilt: realtime 12.000000000 threshold_us 134 and more",
		"allocfilt: realtime 99999999999.000000000",
		"x allocfilt: realtime 12.000000000",
	};

	add(DECODE_PRINT, EVENT_USER, &print);
	/* with its NUL, and without */
	for (size_t nul = 0; nul < 2; nul++) {
		decode_print("allocfilt: realtime 1763733305.000000042", 40 + nul);
		assert_records("0:123 clock 1763733305000000042");
		decode_print("allocfilt: realtime 1763733305.999999999\n", 41 + nul);
		assert_records("0:123 clock 1763733305999999999");
		decode_print("allocfilt: realtime 1763733305.000000042 threshold_us 134", 57 + nul);
		assert_records("0:123 clock 1763733305000000042 threshold 134000");
		for (size_t i = 0; i < COUNT(of_others); i++)
			decode_print(of_others[i], strlen(of_others[i]) + nul);
		assert_records("");
	}
	assert_int_equal(decode_damaged(fixture.decode), 0);
	assert_int_equal(decode_unknown(fixture.decode, NULL), 0);
}

static void decode_probe(const struct made_event *event, uint64_t location)
{
	struct made_page made;

	make_payload(&made, fixture.layout, event,
		     VALUES({ "shr", 0xffff888812345678 }, { "shrink", 0xffffffff81234560 },
			    { "id", location }, { "dev", 254u << 20 | 16 }));
	made_bytes(&made, "vdb", 4);
	decode_bytes(0, 1, &made, made.at);
}

/* A name that could not be read has no length; one that lies outside the record is none. */
TEST(probes_of_superblocks)
{
	static const uint64_t nowhere[] = {
		0, 32, 4u << 16 | 36, 5u << 16 | 32, 4u << 16 | 0xffff, 0xffffffff,
	};

	for (int i = 0; i < 2; i++) {
		start(&made_layouts[i]);
		add(DECODE_SUPERBLOCK, EVENT_USER, &kprobe);
		decode_probe(&kprobe, 4u << 16 | 32);
		assert_records("0:1 superblock ffff888812345678 0 254:16 'vdb'");
		start(&made_layouts[i]);
		add(DECODE_SUPERBLOCK, EVENT_USER, &event_probe);
		decode_probe(&event_probe, 4u << 16 | 32);
		assert_records("0:1 superblock ffff888812345678 ffffffff81234560 254:16 'vdb'");
		for (size_t j = 0; j < COUNT(nowhere); j++) {
			decode_probe(&event_probe, nowhere[j]);
			assert_records(
				"0:1 superblock ffff888812345678 ffffffff81234560 254:16 ''");
		}
	}
}

static void make_stack(struct made_page *made, const struct page_layout *layout,
		       const struct made_event *event, int count)
{
	make_payload(made, layout, event, NULL);
	made->at = layout->long_size == 8 ? 16 : 12;
	for (int i = 0; i < count; i++)
		made_put(made, 0x81000000 + (uint64_t)i, (size_t)layout->long_size);
}

TEST(stacks_of_all_layouts)
{
	static const int counts[] = { 40, 12, 5, 5 };
	struct made_page made;
	char expected[32];

	for (size_t i = 0; i < COUNT(counts); i++) {
		const struct made_event *event = i < 2 ? &kernel_stack : &kernel_stack_32;

		start(&made_layouts[i]);
		add(DECODE_STACK, EVENT_USER, event);
		make_stack(&made, fixture.layout, event, counts[i]);
		decode_bytes(1, 1000, &made, made.at);
		snprintf(expected, sizeof(expected), "1:1000 stack of %d", counts[i]);
		assert_records(expected);
	}
}

/* By the end of the record, or by a frame of all ones. */
TEST(stacks_that_end_early)
{
	struct made_page made;

	add(DECODE_STACK, EVENT_USER, &kernel_stack);
	make_stack(&made, fixture.layout, &kernel_stack, 3);
	for (size_t size = 0; size <= 16; size++)
		decode_bytes(1, 1000, &made, size);
	assert_records("1:1000 stack of 0");
	decode_bytes(1, 1000, &made, made.at - 1);
	made_put(&made, UINT64_MAX, 8);
	made_put(&made, 1, 8);
	decode_bytes(1, 1000, &made, made.at);
	assert_records("1:1000 stack of 2, 1:1000 stack of 3");
}

/* ---- the scheduler ---- */

TEST(switches_and_wakeups)
{
	static const struct made_event switch_64 = {
		"sched_switch", 314,
		"char prev_comm[16] 16, pid_t prev_pid 4s, int prev_prio 4s, prev_state 8s, "
		"char next_comm[16] 16, pid_t next_pid 4s, int next_prio 4s"
	};
	static const struct made_event switch_32 = {
		"sched_switch", 314,
		"char prev_comm[16] 16, pid_t prev_pid 4s, int prev_prio 4s, prev_state 4s, "
		"char next_comm[16] 16, pid_t next_pid 4s, int next_prio 4s"
	};
	/* No kernel is known to lack these fields. */
	static const struct made_event nameless = {
		"sched_switch", 317, "prev_state 8s, char next_comm[8] 8, pid_t next_pid 4s"
	};
	static const struct made_event nowhere = { "sched_wakeup", 318, "pid_t pid 4s" };

	for (int i = 0; i < 4; i++) {
		const struct made_event *of_switch = i < 2 ? &switch_64 : &switch_32;

		start(&made_layouts[i]);
		fixture.sched = true;
		add(3, EVENT_SCHED_SWITCH, of_switch);
		add(4, EVENT_SCHED_WAKEUP, &sched_wakeup);
		add(5, EVENT_SCHED_SWITCH, &nameless);
		add(6, EVENT_SCHED_WAKEUP, &nowhere);
		decode_event(1, 1, of_switch, VALUES({ "prev_state", 0x102 }, { "next_pid", 77 }));
		/* The name is behind the common fields, the first name and three numbers. */
		assert_records(i < 2 ? "1:1 event 3 77 state=102 cpu=0 name=40" :
				       "1:1 event 3 77 state=102 cpu=0 name=36");
		decode_event(1, 2, &sched_wakeup, VALUES({ "pid", 78 }, { "target_cpu", 3 }));
		decode_event(1, 3, &nameless, VALUES({ "prev_state", 1 }, { "next_pid", 79 }));
		decode_event(1, 4, &nowhere, VALUES({ "pid", 80 }));
		assert_records("1:2 event 4 78 state=0 cpu=3 name=0, "
			       "1:3 event 5 79 state=1 cpu=0 name=0, "
			       "1:4 event 6 80 state=0 cpu=-1 name=0");
	}
}

/* ---- what is dropped, and what is counted ---- */

/* Types without a format are counted, after more formats were asked for once. */
TEST(types_without_a_format)
{
	static const struct made_event unknown = { "unknown", 4711, "", "" };
	static const struct made_event highest = { "highest", 65535, "", "" };
	int first = 0;

	assert_int_equal(make_test_directory(state), 0);
	put_text("events/vmscan/mm_vmscan_direct_reclaim_end/format", format_of(&reclaim_end));
	fixture.source.dir = test_directory;
	fixture.source.proc = NULL;
	decode_free(fixture.decode);
	fixture.decode = decode_new(&fixture.source);
	add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, &exit_6_1);
	decode_event(0, 1, &reclaim_end, NULL);
	decode_event(0, 1, &reclaim_end, NULL);
	assert_int_equal(decode_unknown(fixture.decode, &first), 0);
	assert_int_equal(decode_type(fixture.decode, "\x34\x12\0", 2), 0x1234);
	assert_int_equal(decode_type(fixture.decode, "\x34\x12\0", 1), -1);
	decode_event(0, 1, &unknown, NULL);
	decode_event(0, 1, &highest, NULL);
	assert_int_equal(decode_unknown(fixture.decode, &first), 2);
	assert_int_equal(first, 4711);
	assert_int_equal(decode_damaged(fixture.decode), 0);
	assert_int_equal(fixture.count, 0);
	remove_test_directory(state);
}

TEST(short_records_and_impossible_windows)
{
	static const int depths[] = { -1, 1025, 0x7fffffff };
	struct made_page made;

	add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, &exit_6_1);
	make_payload(&made, fixture.layout, &exit_6_1, VALUES({ "depth", 3 }));
	for (size_t size = 0; size < made.at; size++)
		decode_bytes(0, 1, &made, size);
	assert_int_equal(fixture.count, 0);
	assert_int_equal(decode_damaged(fixture.decode), made.at);
	for (size_t i = 0; i < 3; i++)
		decode_event(0, LATE, &exit_6_1, VALUES({ "depth", (uint64_t)depths[i] }));
	assert_int_equal(fixture.count, 0);
	assert_int_equal(decode_damaged(fixture.decode), made.at + 3);
	/* returned before it was called */
	decode_event(0, LATE, &exit_6_1,
		     VALUES({ "depth", 3 }, { "calltime", 400 }, { "rettime", 399 }));
	assert_int_equal(fixture.count, 0);
	assert_int_equal(decode_damaged(fixture.decode), made.at + 4);
	decode_bytes(0, LATE, &made, made.at);
	assert_int_equal(fixture.count, 1);
}

/* Another trace clock: the window ends at its record and is as long as it was. */
TEST(windows_that_return_after_their_record)
{
	static const struct {
		uint64_t ts, calltime, rettime;
		bool local;
		const char *expected;
	} cases[] = {
		{ 5000, 1000, 5000, true, "0:5000 window 81234560 1000-5000/0" },
		/* The record is written after the return, by a clock that may be a jiffy behind. */
		{ 5000, 1000, 5000 + 10000000, true, "0:5000 window 81234560 1000-10005000/0" },
		{ 5000, 1000, 5001 + 10000000, true, "" },
		{ 1000000000, 0, 1ull << 63, true, "" },
		{ UINT64_MAX, 0, UINT64_MAX, true,
		  "0:18446744073709551615 window 81234560 0-18446744073709551615/0" },
		{ 77000000000, 5000000001, 5000400002, false,
		  "0:77000000000 window 81234560 76999599999-77000000000/0" },
		{ 5000, 70000, 75000, false, "0:5000 window 81234560 0-5000/0" },
		{ 4999, 70000, 75000, false, "" },
		{ 1000000000, 0, 1ull << 63, false, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&made_layouts[0]);
		fixture.source.local_clock = cases[i].local;
		add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, &exit_6_1);
		decode_event(0, cases[i].ts, &exit_6_1,
			     VALUES({ "func", RECLAIM }, { "depth", 0 },
				    { "calltime", cases[i].calltime },
				    { "rettime", cases[i].rettime }));
		assert_records(cases[i].expected);
		assert_int_equal(decode_damaged(fixture.decode), !*cases[i].expected);
	}
}

TEST(losses)
{
	add(DECODE_FUNCGRAPH_EXIT, EVENT_USER, &exit_6_1);
	decode_event(5, LATE, &exit_6_1, VALUES({ "depth", 3 }));
	clear_notes();
	take(&(struct raw_record){ .cpu = 5, .ts = 900, .lost = 17 });
	assert_records("5:900 lost 17");
	assert_int_equal(fixture.last.indent, 2);
}

/* ---- formats ---- */

TEST(formats_that_are_rejected)
{
	static const char *const texts[] = {
		"",
		"\n",
		"name: x\n",
		"ID: 5\n",
		"name: x\nID: \nformat:\n",
		"name: x\nID: -5\n",
		"name: x\nID: 65536\nformat:\n" MADE_COMMON "\nprint fmt: \"\"\n",
		"name: x\nID: 99999999999999999999\nformat:\n",
		"name: x\nID: 7\n",
		"name: x\nID: 7\nformat:\n",
		"<html><body>404</body></html>\n",
		"name: x\nID: 7\nformat:\n" MADE_COMMON "\nprint fmt: \n",
		"name: x y\nID: 7\nformat:\n" MADE_COMMON "\nprint fmt: \"\"\n",
		"name: \nID: 7\nformat:\n" MADE_COMMON "\nprint fmt: \"\"\n",
		"name: x\nID: 7\nformat:\n" MADE_COMMON "\tfield:int a\n\nprint fmt: \"\"\n",
		"name: x\nID: 7\nformat:\n" MADE_COMMON "what is this\n\nprint fmt: \"\"\n",
		/* common_preempt_count and common_pid are missing */
		"name: x\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\n"
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->a\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(add_text(0, EVENT_USER, texts[i]), -EINVAL);
	add(0, EVENT_DIRECT_RECLAIM_END, &reclaim_end);
	/* On a running kernel it is another event's now. */
	assert_int_equal(add_text(1, EVENT_USER, format_of(&reclaim_end)), 0);
	fixture.source.proc = NULL;
	assert_int_equal(add_text(2, EVENT_USER, format_of(&reclaim_end)), -EEXIST);
}

/* The text of an event with @old replaced by @new. */
static const char *changed_format(const struct made_event *event, const char *old, const char *new)
{
	const char *text = format_of(event), *at = strstr(text, old);
	static char changed[4096];

	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, new,
		 at + strlen(old));
	return changed;
}

/* All kernels have the first fields at the same place, funcgraph_exit's in the same size, and these names. */
TEST(fields_of_no_kernel)
{
	static const struct made_event bare_print = { "print", 5, "ip 8, char buf[] 0s" };
	static const struct {
		int index;
		const struct made_event *event;
		const char *old;
		const char *new;
	} cases[] = {
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:0;\tsize:2;", "offset:0;\tsize:4;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:2;\tsize:1;", "offset:16;\tsize:1;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:3;\tsize:1;", "offset:16;\tsize:1;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:4;\tsize:4;", "offset:8;\tsize:4;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:4;\tsize:4;", "offset:4;\tsize:2;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:8;\tsize:8;", "offset:8;\tsize:2;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:16;\tsize:4;", "offset:16;\tsize:8;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:24;\tsize:8;", "offset:24;\tsize:4;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:32;\tsize:8;", "offset:32;\tsize:4;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, " func;", " zunc;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, " depth;", " zepth;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, " calltime;", " zalltime;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, " rettime;", " zettime;" },
		{ DECODE_SUPERBLOCK, &event_probe, " shr;", " zhr;" },
		{ DECODE_SUPERBLOCK, &event_probe, " id;", " zd;" },
		{ DECODE_STACK, &kernel_stack, " caller[8];", " zaller[8];" },
		{ DECODE_PRINT, &bare_print, " buf[];", " zuf[];" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&made_layouts[0]);
		assert_int_equal(
			add_text(cases[i].index, EVENT_USER,
				 changed_format(cases[i].event, cases[i].old, cases[i].new)),
			-EINVAL);
		add(cases[i].index, EVENT_USER, cases[i].event);
	}
	/* nor has an event a field of its own before the end of these */
	assert_int_equal(
		add_text(0, EVENT_DIRECT_RECLAIM_END,
			 changed_format(&reclaim_end, "offset:8;\tsize:8;", "offset:4;\tsize:2;")),
		0);
	decode_event(0, 1, &reclaim_end, NULL);
	assert_int_equal(fixture.last.fields.nr_reclaimed, 0);
}

/* A declaration as libtraceevent 1.7.1 crashes on, and places that no record has. */
TEST(fields_that_cannot_be)
{
	static const char *const places[] = {
		"offset:60000;\tsize:4294967295;",
		"offset:16;\tsize:4294967295;",
		"offset:16;\tsize:-1;",
		"offset:-16;\tsize:0;",
		"offset:4294967312;\tsize:0;",
		"offset:65536;\tsize:0;",
		"offset:65535;\tsize:1;",
		"offset:0x10;\tsize:0;",
		"offset:16;\tsize:;",
		"offset:16;",
		"size:0;",
		"",
	};
	static const char *const declarations[] = {
		"field:",
		"field:char",
		"field: buf",
		"field:char ;",
		"field:char []",
		"field:char[] ;",
		"char buf[]",
		"field:__attribute__((x)) buf",
		"field:int STA_PR_FMT",
		"field:int buf \"\"",
		"field:__data_loc char[] buf",
	};

	for (size_t i = 0; i < COUNT(places); i++)
		assert_int_equal(add_text(DECODE_PRINT, EVENT_USER,
					  changed_format(&print, "offset:16;\tsize:0;", places[i])),
				 -EINVAL);
	for (size_t i = 0; i < COUNT(declarations); i++)
		assert_int_equal(
			add_text(DECODE_PRINT, EVENT_USER,
				 changed_format(&print, "field:char buf[]", declarations[i])),
			-EINVAL);
}

/* Places that a record might have, but none that comes: it is counted, and nothing is read. */
TEST(fields_behind_the_record)
{
	static const struct {
		int index;
		const struct made_event *event;
		const char *old;
		const char *new;
	} cases[] = {
		{ DECODE_PRINT, &print, "offset:16;\tsize:0;", "offset:60000;\tsize:0;" },
		{ DECODE_PRINT, &print, "offset:8;\tsize:8;", "offset:60000;\tsize:8;" },
		{ DECODE_STACK, &kernel_stack, "offset:16;\tsize:64;", "offset:60000;\tsize:64;" },
		{ DECODE_STACK, &kernel_stack, "offset:8;\tsize:4;", "offset:60000;\tsize:4;" },
		{ DECODE_SUPERBLOCK, &event_probe, "offset:24;\tsize:4;",
		  "offset:60000;\tsize:4;" },
		{ DECODE_FUNCGRAPH_EXIT, &exit_6_1, "offset:20;\tsize:4;",
		  "offset:65531;\tsize:4;" },
		{ 0, &reclaim_end, "offset:8;\tsize:8;", "offset:65527;\tsize:8;" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&made_layouts[0]);
		assert_int_equal(
			add_text(cases[i].index, EVENT_DIRECT_RECLAIM_END,
				 changed_format(cases[i].event, cases[i].old, cases[i].new)),
			0);
		decode_event(0, 1, cases[i].event, NULL);
		assert_int_equal(fixture.count, 0);
		assert_int_equal(decode_damaged(fixture.decode), 1);
	}
}

/* A stack without a frame is as long as the fields before it, and no field may lie behind these. */
TEST(fields_across_the_end)
{
	struct made_page made;

	assert_int_equal(add_text(DECODE_STACK, EVENT_USER,
				  changed_format(&kernel_stack, "offset:8;\tsize:4;",
						 "offset:14;\tsize:4;")),
			 0);
	make_stack(&made, fixture.layout, &kernel_stack, 1);
	decode_bytes(0, 1, &made, 16);
	decode_bytes(0, 1, &made, 17);
	assert_int_equal(fixture.count, 0);
	assert_int_equal(decode_damaged(fixture.decode), 2);
	decode_bytes(0, 1, &made, 18);
	assert_int_equal(fixture.count, 1);
}

/* More than any kernel writes is rejected before time is spent on it. */
TEST(formats_that_are_large)
{
	static const char field[] = "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n";
	static const char head[] = "name: x\nID: 7\nformat:\n" MADE_COMMON;
	static char text[2 << 20];
	char *at;

	for (int fields = 253; fields <= 40000; fields += fields) {
		at = stpcpy(text, head);
		for (int i = 0; i < fields; i++)
			at = stpcpy(at, field);
		strcpy(at, "\nprint fmt: \"\"\n");
		assert_int_equal(add_text(0, EVENT_USER, text), -EINVAL);
	}
	for (size_t size = 1 << 10; size < sizeof(text); size *= 2) {
		at = stpcpy(stpcpy(text, head), "\nprint fmt: \"");
		memset(at, 'x', size - (size_t)(at - text));
		strcpy(text + size - 2, "\"\n");
		start(&made_layouts[0]);
		assert_int_equal(add_text(0, EVENT_USER, text), size <= 256 << 10 ? 0 : -EINVAL);
	}
	start(&made_layouts[0]);
	assert_int_equal(add_text(0, EVENT_USER,
				  "name: x\nID: 65535\nformat:\n" MADE_COMMON
				  "\nprint fmt: \"\"\n"),
			 0);
}

/* The bytes after the end could belong to a whole format; they must not be read. */
TEST(cut_formats)
{
	const char *text = format_of(&slab_start_7_3);
	const size_t whole = strlen(text);

	for (size_t length = 0; length <= whole; length++) {
		start(&made_layouts[0]);
		assert_int_equal(decode_add_format(fixture.decode, 0, EVENT_SLAB_START, text,
						   length),
				 length < whole ? -EINVAL : 0);
	}
}

/* ---- damaged data ---- */

static void made_payload(struct made_page *page, uint32_t delta, const struct made_page *payload)
{
	made_record(page, delta, payload->bytes, (payload->at + 3) / 4 * 4);
}

/* A page with a record of each kind. */
static void make_mixed_page(struct made_page *page, const struct page_layout *layout)
{
	struct made_page payload;

	made_begin(page, layout, 1000000);
	for (int i = 0; i < 5; i++) {
		make_payload(&payload, layout, &exit_6_1, VALUES({ "depth", (uint64_t)i }));
		made_payload(page, 100, &payload);
		make_payload(&payload, layout, &slab_start_7_3, NULL);
		made_payload(page, 200, &payload);
		made_time(page, 30, 1ull << 30);
		make_payload(&payload, layout, &print, NULL);
		made_bytes(&payload, "allocfilt: realtime 1763733305.000000042", 41);
		made_payload(page, 300, &payload);
		made_padding(page, 3, 24);
	}
	made_end(page, MADE_MISSED);
}

/* Touches all of a record, so that ASan sees what is not there. */
static void touch(struct record *record)
{
	const unsigned char *raw;
	unsigned int sum = 0;

	if (record->kind == RECORD_EVENT)
		decode_fields(fixture.decode, record);
	raw = record->raw;
	for (size_t i = 0; i < record->raw_size; i++)
		sum += raw[i];
	assert_in_range(sum, 0, 255 * record->raw_size);
	if (record->kind == RECORD_WINDOW)
		assert_in_range(record->window.depth, 0, 1024);
	fixture.count++;
}

TEST(mutated_pages)
{
	static const struct made_event *const events[] = { &exit_6_1, &print, &slab_start_7_3 };
	static const int indexes[] = { DECODE_FUNCGRAPH_EXIT, DECODE_PRINT, 0 };
	uint64_t seed = 1234567890123, states[PAGE_DAMAGED + 1] = { 0 };
	struct made_page page, mutated;
	struct page_content content;
	struct page_cursor cursor;
	enum page_state found;
	struct record record;

	for (int i = 0; i < 3; i++)
		add(indexes[i], EVENT_SLAB_START, events[i]);
	make_mixed_page(&page, &made_layouts[0]);
	for (int round = 0; round < 20000; round++) {
		mutated = page;
		for (uint64_t n = made_random(&seed) % 4 + 1; n; n--)
			mutated.bytes[made_random(&seed) % page.at] =
				(unsigned char)made_random(&seed);
		found = page_check(&made_layouts[0], mutated.bytes, MADE_PAGE_SIZE, &content);
		states[found]++;
		if (found != PAGE_GOOD)
			continue;
		page_begin(&cursor, &made_layouts[0], content.data, content.size, content.ts);
		while (page_next(&cursor) > 0) {
			const struct raw_record raw = {
				.ts = cursor.ts,
				.data = cursor.data,
				.size = cursor.size,
			};

			if (decode_record(fixture.decode, &raw, &record))
				touch(&record);
		}
	}
	/* most mutations hit a payload, some a length or the header */
	assert_in_range(states[PAGE_GOOD], 10000, 19900);
	assert_in_range(states[PAGE_DAMAGED], 100, 10000);
	assert_in_range(fixture.count, 100000, 400000);
}

UNIT_TEST_MAIN(NULL, NULL)
