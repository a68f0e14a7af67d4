// SPDX-License-Identifier: GPL-2.0-or-later
/* Captures made by hand: each fault is found at its place, and nothing else is called one. */
#include "allocfilt/config.h"
#include "allocfilt/output.h"
#include "allocfilt/run.h"
#include "allocfilt/verify.h"
#include "made_cpus.h"
#include "made_event.h"
#include "test_directory.h"
#include "unit_test.h"

#define TASK  100 /* has a name */
#define OTHER 7	  /* has none */

/* A step is shorter than a pause. */
#define STEP NS_PER_MS

static const struct made_event exit_event = {
	"funcgraph_exit", 10, "func 8, int depth 4s, unsigned int overrun 4, calltime 8, rettime 8",
	"\"\""
};
static const struct made_event reclaim_begin = { "mm_vmscan_direct_reclaim_begin", 20,
						 "int order 4s", "\"%d\", REC->order" };
static const struct made_event reclaim_end = { "mm_vmscan_direct_reclaim_end", 21, "nr_reclaimed 8",
					       "\"%lu\", REC->nr_reclaimed" };
static const struct made_event slab_start = { "mm_shrink_slab_start", 22, "shr 8", "\"\"" };
static const struct made_event slab_end = { "mm_shrink_slab_end", 23, "shr 8", "\"\"" };
static const struct made_event compaction_begin = { "mm_compaction_begin", 24, "zone 8", "\"\"" };
static const struct made_event compaction_end = { "mm_compaction_end", 25, "zone 8", "\"\"" };
static const struct made_event foreign = { "foreign", 4321, "x 8", "\"\"" };

static const struct page_layout *layout;
static struct data_source source;
static struct verify *verify;
static struct verify_findings *found;
static struct made_page page;
static uint64_t offsets[2]; /* of the next page of each CPU */

/* Pages that wait to be read. */
static struct {
	unsigned char bytes[MADE_PAGE_SIZE];
	size_t length;
	uint64_t offset;
} pages[2][256];
static int nr_pages[2], nr_read[2];

static int read_page(void *context, int place, struct page_content *content)
{
	int i = nr_read[place];

	if (i == nr_pages[place])
		return 0;
	nr_read[place]++;
	verify_page(verify, place, pages[place][i].bytes, pages[place][i].length,
		    pages[place][i].offset, content);
	return 1;
}

static const struct page_source source_of_pages = { read_page };

static bool has_event(void *context, const char *system, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	return !access(test_path(path), F_OK);
}

static const struct plan_offer offer = { .function_graph = true, .has_event = has_event };

static void put_format(const char *system, const struct made_event *event)
{
	char path[256];

	snprintf(path, sizeof(path), "events/%s/%s/format", system, event->name);
	put_text(path, format_of(event));
}

static int set_up(void **state)
{
	if (make_test_directory(state))
		return -1;
	put_format("ftrace", &exit_event);
	put_format("vmscan", &reclaim_begin);
	put_format("vmscan", &reclaim_end);
	put_format("vmscan", &slab_start);
	put_format("vmscan", &slab_end);
	put_format("compaction", &compaction_begin);
	put_format("compaction", &compaction_end);
	put_text("saved_cmdlines", "100 named\n");
	layout = &made_layouts[0];
	return 0;
}

static void begin(void)
{
	verify_free(verify);
	source = (struct data_source){
		.dir = test_directory,
		.layout = *layout,
		.cpus = made_cpus(2),
		.local_clock = true,
	};
	memset(offsets, 0, sizeof(offsets));
	memset(nr_pages, 0, sizeof(nr_pages));
	memset(nr_read, 0, sizeof(nr_read));
	verify = verify_new(&source, &offer, &source_of_pages);
	assert_non_null(verify);
}

static void end(void)
{
	while (verify_read(verify) > 0)
		;
	found = verify_finish(verify);
}

static int tear_down(void **state)
{
	verify_free(verify);
	verify = NULL;
	return remove_test_directory(state);
}

static void put_page(int cpu, size_t length)
{
	int i = nr_pages[cpu]++;

	assert_in_range(i, 0, COUNT(pages[cpu]) - 1);
	memcpy(pages[cpu][i].bytes, page.bytes, MADE_PAGE_SIZE);
	pages[cpu][i].length = length;
	pages[cpu][i].offset = offsets[cpu];
	offsets[cpu] += length;
}

/* Where records were lost, as @bits say, five of them. */
static void end_page(int cpu, uint64_t bits)
{
	made_end(&page, bits);
	if (bits & MADE_STORED)
		made_put(&page, 5, (size_t)layout->long_size);
	put_page(cpu, MADE_PAGE_SIZE);
}

static void put_record(uint32_t delta, const struct made_event *event, int tid, int flags,
		       const struct made_value *values)
{
	struct made_page payload;

	make_payload(&payload, layout, event, values);
	payload.bytes[2] = (unsigned char)flags;
	made_number(layout, payload.bytes + 4, (uint64_t)tid, 4);
	made_record(&page, delta, payload.bytes, (payload.at + 3) / 4 * 4);
}

/* A page of one record. */
static void put_one(int cpu, uint64_t ts, const struct made_event *event, int tid, int flags,
		    const struct made_value *values)
{
	made_begin(&page, layout, ts);
	put_record(0, event, tid, flags, values);
	end_page(cpu, 0);
}

static void put_other(uint64_t ts, uint64_t bits)
{
	made_begin(&page, layout, ts);
	put_record(0, &reclaim_begin, OTHER, 0, NULL);
	put_record(0, &reclaim_end, OTHER, 0, NULL);
	end_page(1, bits);
}

static void put_damaged(int cpu)
{
	made_begin(&page, layout, 1);
	made_commit(&page, 5000);
	put_page(cpu, MADE_PAGE_SIZE);
}

/*
 * What happens, a character each STEP:
 *   B E  compaction of TASK begins, ends; I: in an interrupt it begins
 *   b e  direct reclaim
 *   s S  a shrinker; z Z: another one
 *   wN   a function returns that was called N steps before; iN: in an interrupt
 *   .    records of another task, on CPU 1; L: the same, and records were lost before them
 *   D    a damaged page of CPU 1
 *   _    a pause
 */
static void play(const char *script)
{
	uint64_t ts = STEP;

	begin();
	for (; *script; script++, ts += STEP) {
		const struct made_value *one = VALUES({ "shr", 0xa0 }),
					*two = VALUES({ "shr", 0xb0 });
		uint64_t steps = script[1] >= '0' && script[1] <= '9' ? script[1] - '0' : 0;

		switch (*script) {
		case 'B':
			put_one(0, ts, &compaction_begin, TASK, 0, NULL);
			break;
		case 'I':
			put_one(0, ts, &compaction_begin, TASK, RECORD_FLAG_HARDIRQ, NULL);
			break;
		case 'E':
			put_one(0, ts, &compaction_end, TASK, 0, NULL);
			break;
		case 'b':
			put_one(0, ts, &reclaim_begin, TASK, 0, NULL);
			break;
		case 'e':
			put_one(0, ts, &reclaim_end, TASK, 0, NULL);
			break;
		case 's':
			put_one(0, ts, &slab_start, TASK, 0, one);
			break;
		case 'S':
			put_one(0, ts, &slab_end, TASK, 0, one);
			break;
		case 'z':
			put_one(0, ts, &slab_start, TASK, 0, two);
			break;
		case 'Z':
			put_one(0, ts, &slab_end, TASK, 0, two);
			break;
		case 'w':
		case 'i':
			put_one(0, ts, &exit_event, TASK, *script == 'i' ? RECORD_FLAG_SOFTIRQ : 0,
				VALUES({ "func", 0x1000 }, { "depth", 0 },
				       { "calltime", ts - steps * STEP }, { "rettime", ts }));
			script++;
			break;
		case '.':
			put_other(ts, 0);
			break;
		case 'L':
			put_other(ts, MADE_MISSED);
			break;
		case 'D':
			put_damaged(1);
			break;
		case '_':
			ts += VERIFY_PAUSE;
		}
	}
	end();
}

static void assert_verdict(const char *expected)
{
	struct line line;

	line_clear(&line);
	verify_verdict(found, &line);
	assert_string_equal(line.text, expected);
	assert_int_equal(verify_is_clean(found), !strncmp(expected, "clean: ", 7));
}

/* ---- pages ---- */

static void clean(void **state)
{
	for (size_t i = 0; i < MADE_LAYOUTS; i++) {
		layout = &made_layouts[i];
		play("BE.bsSzZe.w3");
		assert_verdict("clean: 2 CPUs, 11 pages, 13 records, 10.0 ms");
		assert_int_equal(found->cpus[0].pages, 9);
		assert_int_equal(found->cpus[0].bytes, 9 * MADE_PAGE_SIZE);
		assert_int_equal(found->cpus[0].first, STEP);
		assert_int_equal(found->cpus[0].last, 11 * STEP);
		assert_int_equal(found->cpus[1].records, 4);
		assert_int_equal(found->cpus[1].first, 3 * STEP);
		assert_int_equal(found->windows, 1);
		assert_int_equal(found->tasks, 2);
		assert_int_equal(found->unnamed, 1);
		assert_int_equal(found->unnamed_tids[0], OTHER);
	}
	begin();
	end();
	assert_verdict("clean: 2 CPUs, 0 pages, 0 records, 0 us");
}

static void damaged_pages(void **state)
{
	begin();
	made_begin(&page, layout, 0);
	offsets[0] = 1ull << 40;
	put_page(0, 100);
	for (int i = 0; i < VERIFY_LISTED; i++)
		put_damaged(0);
	end();
	assert_verdict("not clean: 21 damaged pages");
	assert_int_equal(found->cpus[0].damaged, 21);
	assert_int_equal(found->damages[0].place.page, 1ull << 28);
	assert_int_equal(found->damages[0].place.offset, 1ull << 40);
	assert_int_equal(found->damages[0].hole, 1ull << 40);
	assert_string_equal(found->damages[0].text, "of zeros");
	assert_int_equal(found->damages[VERIFY_LISTED - 1].hole, 0);
	begin();
	put_other(STEP, 0);
	put_damaged(1);
	put_other(3 * STEP, 0);
	end();
	assert_verdict("not clean: 1 damaged page");
	assert_int_equal(found->cpus[1].damaged, 1);
	assert_int_equal(found->cpus[1].pages, 3);
	assert_int_equal(found->damages[0].place.cpu, 1);
	assert_int_equal(found->damages[0].place.page, 1);
	assert_int_equal(found->damages[0].place.offset, MADE_PAGE_SIZE + 8);
	assert_int_equal(found->damages[0].hole, 0);
	assert_string_equal(found->damages[0].text, "a commit of 5000 bytes in a page of 4096");
}

static void lost_records(void **state)
{
	begin();
	put_other(STEP, 0);
	put_other(2 * STEP, MADE_MISSED | MADE_STORED);
	put_other(3 * STEP, MADE_MISSED);
	made_begin(&page, layout, 4 * STEP); /* nothing but a loss */
	end_page(0, MADE_MISSED | MADE_STORED);
	end();
	assert_verdict("not clean: 10 lost records, 1 loss of an unknown number of records");
	assert_int_equal(found->nr_losses, 3);
	assert_int_equal(found->losses[0].place.cpu, 0);
	assert_int_equal(found->losses[1].place.cpu, 1);
	assert_int_equal(found->losses[1].place.page, 1);
	assert_int_equal(found->losses[1].place.offset, MADE_PAGE_SIZE);
	assert_int_equal(found->losses[1].ts, 2 * STEP);
	assert_int_equal(found->losses[1].count, 5);
	assert_int_equal(found->losses[2].count, RECORD_LOST_UNKNOWN);
	assert_int_equal(found->cpus[1].lost, 5);
	assert_int_equal(found->cpus[1].lost_unknown, 1);
	assert_int_equal(found->cpus[0].lost, 5);
	assert_int_equal(found->cpus[0].records, 0);
}

/* Between pages, and inside one by a time of its own. */
static void records_out_of_order(void **state)
{
	begin();
	put_other(9 * STEP, 0);
	put_other(4 * STEP, 0);
	made_begin(&page, layout, 5 * STEP);
	put_record(0, &reclaim_begin, OTHER, 0, NULL);
	made_time(&page, 31, 2 * STEP);
	put_record(0, &reclaim_end, OTHER, 0, NULL);
	end_page(1, 0);
	end();
	assert_verdict("not clean: 2 records out of order");
	assert_int_equal(found->cpus[1].back, 2);
	assert_int_equal(found->backs[0].place.page, 1);
	assert_int_equal(found->backs[0].ts, 4 * STEP);
	assert_int_equal(found->backs[0].by, 5 * STEP);
	assert_int_equal(found->backs[1].place.page, 2);
	assert_int_equal(found->backs[1].place.offset, 2 * MADE_PAGE_SIZE);
	assert_int_equal(found->backs[1].by, 3 * STEP);
	assert_int_equal(found->cpus[1].first, 2 * STEP);
	assert_int_equal(found->cpus[1].last, 9 * STEP);
}

static void types_without_a_format(void **state)
{
	begin();
	put_other(STEP, 0);
	put_one(0, STEP, &foreign, TASK, 0, NULL);
	put_one(0, STEP, &foreign, TASK, 0, NULL);
	put_one(1, STEP, &foreign, TASK, 0, NULL);
	end();
	assert_verdict("not clean: 3 records of a type without a format");
	assert_int_equal(found->nr_types, 2);
	assert_int_equal(found->types[0].type, 4321);
	assert_int_equal(found->types[0].cpu, 0);
	assert_int_equal(found->types[0].records, 2);
	assert_int_equal(found->types[1].cpu, 1);
	assert_int_equal(found->cpus[0].unknown, 2);
	assert_int_equal(found->cpus[1].unknown, 1);
	/* one that the catalog does not have, and the capture has */
	put_format("any", &foreign);
	begin();
	put_one(0, STEP, &foreign, TASK, 0, NULL);
	end();
	assert_verdict("clean: 2 CPUs, 1 page, 1 record, 0 us");
}

static void more_types_than_are_told_apart(void **state)
{
	begin();
	made_begin(&page, layout, STEP);
	for (int i = 0; i < VERIFY_TYPES_MAX + 5; i++) {
		struct made_event event = foreign;

		event.type += i;
		put_record(0, &event, TASK, 0, NULL);
	}
	end_page(0, 0);
	end();
	assert_int_equal(found->nr_types, VERIFY_TYPES_MAX);
	assert_int_equal(found->cpus[0].unknown, VERIFY_TYPES_MAX + 5);
}

/* Not one format: nothing can be told apart. */
static void no_format(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s/events", test_directory);
	assert_int_equal(system(command), 0);
	play("BE");
	assert_verdict("not clean: 2 records of a type without a format, 1 damaged file");
	assert_int_equal(found->types[0].type, -1);
	assert_non_null(strstr(found->first_bad_file, "events/ftrace/funcgraph_exit/format"));
}

static void damaged_formats_and_records(void **state)
{
	put_text("events/compaction/mm_compaction_end/format", "ID: 25\n");
	play("B.");
	assert_verdict("not clean: 1 damaged file");
	assert_non_null(strstr(found->first_bad_file, "mm_compaction_end/format"));
	put_format("compaction", &compaction_end);
	begin();
	made_begin(&page, layout, STEP);
	made_record(&page, 0, "\12\0\0\0\1\0\0\0", 8); /* a window that is cut */
	end_page(0, 0);
	put_one(0, STEP, &exit_event, TASK, 0,
		VALUES({ "depth", 0 }, { "calltime", 9 }, { "rettime", 8 }));
	end();
	assert_verdict("not clean: 2 damaged records");
}

static void stopped(void **state)
{
	play("BE");
	found->stopped = true;
	assert_verdict("not clean: stopped before its end");
}

/* ---- pairs ---- */

static void pairs(void **state)
{
	static const struct {
		const char *script;
		enum event_id kind;
		uint64_t lone_begins, lone_ends, begin_faults, end_faults;
		uint64_t ts, from, to; /* of the first fault, a begin if there is one, in steps */
	} cases[] = {
		/* tracing began, or ended, in between */
		{ ".E.BE.", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ ".BE.B.", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		/* nothing was lost */
		{ ".BE.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 5, 3, 5 },
		{ ".B.BE", EVENT_COMPACTION_BEGIN, 1, 0, 1, 0, 2, 2, 4 },
		{ ".BE.E.E.B.BE", EVENT_COMPACTION_BEGIN, 1, 2, 1, 2, 9, 9, 11 },
		/* tracing was off */
		{ ".BE_.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ ".B._BE", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		{ "._BE.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 56, 54, 56 },
		{ ".B.BE_.", EVENT_COMPACTION_BEGIN, 1, 0, 1, 0, 2, 2, 4 },
		/* records of some CPU were lost */
		{ ".BE.L.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ ".B.L.BE", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		{ ".BEEL.", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 }, /* before it is told */
		{ ".L.BE.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 7, 5, 7 },
		{ ".B.BE.L.", EVENT_COMPACTION_BEGIN, 1, 0, 1, 0, 2, 2, 4 },
		{ ".BED.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ ".D.BE.E", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 7, 5, 7 },
		{ ".BE.E.DE", EVENT_COMPACTION_BEGIN, 0, 2, 0, 1, 5, 3, 5 },
		/* a function has both inside */
		{ "..Ew2.", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 3, 2, 3 },
		{ "..Ew3.BE", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ "BE_..Ew2.", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 56, 55, 56 },
		{ ".BE_.Ew6.", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ "..Ew1.BE", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 }, /* none inside */
		{ "..Ei2.BE", EVENT_COMPACTION_BEGIN, 0, 1, 0, 0 },
		{ ".BE..B.w2_", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		{ ".BE.B.w3.", EVENT_COMPACTION_BEGIN, 1, 0, 1, 0, 5, 5, 7 },
		{ ".BE.BLw3.", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		/* so has a pair */
		{ ".bB.e.BE", EVENT_COMPACTION_BEGIN, 1, 0, 1, 0, 3, 3, 5 },
		{ ".b.E.e.BE", EVENT_COMPACTION_BEGIN, 0, 1, 0, 1, 4, 2, 4 },
		{ ".bB_.e.BE", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		{ ".bsb.sSe.", EVENT_DIRECT_RECLAIM_BEGIN, 1, 0, 1, 0, 2, 2, 4 },
		/* shrinkers: reclaim in one of them may call it again, but none calls another */
		{ ".sbsSeS.", EVENT_SLAB_START, 0, 0, 0, 0 },
		{ ".szZ.S", EVENT_SLAB_START, 1, 1, 1, 1, 2, 2, 3 },
		{ ".sSzS.", EVENT_SLAB_START, 1, 1, 0, 1, 5, 4, 5 },
		/* an interrupt's are not those of the task */
		{ ".BIE.", EVENT_COMPACTION_BEGIN, 1, 0, 0, 0 },
		{ ".I.E.BE", EVENT_COMPACTION_BEGIN, 1, 1, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct verify_pairs *pairs;
		const struct verify_lone *lone;

		play(cases[i].script);
		pairs = &found->pairs[cases[i].kind];
		lone = pairs->begin_faults ? &pairs->first_begin : &pairs->first_end;
		if (pairs->lone_begins != cases[i].lone_begins ||
		    pairs->lone_ends != cases[i].lone_ends ||
		    pairs->begin_faults != cases[i].begin_faults ||
		    pairs->end_faults != cases[i].end_faults || lone->ts / STEP != cases[i].ts ||
		    lone->from / STEP != cases[i].from || lone->to / STEP != cases[i].to)
			fail_msg("%s: %d begins and %d ends alone, unexplained %d and %d, at %d, "
				 "%d to %d",
				 cases[i].script, (int)pairs->lone_begins, (int)pairs->lone_ends,
				 (int)pairs->begin_faults, (int)pairs->end_faults,
				 (int)(lone->ts / STEP), (int)(lone->from / STEP),
				 (int)(lone->to / STEP));
		assert_int_equal(found->pauses,
				 strchr(cases[i].script, '_') && !strstr(cases[i].script, "w2_"));
	}
}

static void one_event_of_a_pair(void **state)
{
	play(".B.B.B");
	assert_true(verify_one_sided(&found->pairs[EVENT_COMPACTION_BEGIN]));
	assert_verdict("clean: 2 CPUs, 6 pages, 9 records, 5.0 ms");
	play(".e.e.e");
	assert_false(verify_one_sided(&found->pairs[EVENT_DIRECT_RECLAIM_BEGIN]));
	assert_verdict("not clean: 2 events without their partner");
}

/* Each begin lacks its end, and nothing tells when that was. */
static void more_begins_than_are_kept(void **state)
{
	begin();
	for (uint64_t i = 1; i <= 40; i++) {
		put_one(0, 2 * i * STEP, &slab_start, TASK, 0, VALUES({ "shr", i }));
		put_one(0, (2 * i + 1) * STEP, &reclaim_begin, TASK, RECORD_FLAG_NMI, NULL);
	}
	end();
	assert_int_equal(found->pairs[EVENT_SLAB_START].lone_begins, 40);
	assert_int_equal(found->pairs[EVENT_DIRECT_RECLAIM_BEGIN].lone_begins, 40);
}

/* ---- windows ---- */

static void windows(void **state)
{
	static const struct {
		const char *script;
		uint64_t overlaps;
	} cases[] = {
		{ "..w2.w2", 0 },	  { "..w1w2w4", 0 }, { "..w2w2", 1 }, { "...w1w1w4w1", 0 },
		{ "....w1..w1w4.w3", 1 }, { "..w2i2", 0 },   { "..i2i2", 1 }, { "..w1w1w1w3w2", 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		play(cases[i].script);
		if (found->nr_overlaps != cases[i].overlaps)
			fail_msg("%s: %d overlaps", cases[i].script, (int)found->nr_overlaps);
	}
	play("..w2w2");
	assert_verdict("not clean: 1 impossible overlap of windows");
	assert_int_equal(found->overlaps[0].key.id, TASK);
	assert_int_equal(found->overlaps[0].calltime, STEP);
	assert_int_equal(found->overlaps[0].rettime, 3 * STEP);
	assert_int_equal(found->overlaps[0].other_calltime, 2 * STEP);
	assert_int_equal(found->overlaps[0].other_rettime, 4 * STEP);
}

static void windows_of_another_clock(void **state)
{
	begin();
	source.local_clock = false;
	put_one(0, 5 * STEP, &compaction_end, TASK, 0, NULL);
	for (int i = 6; i < 8; i++)
		put_one(0, i * STEP, &exit_event, TASK, 0,
			VALUES({ "depth", 0 }, { "calltime", 0 }, { "rettime", 3 * STEP }));
	end();
	assert_int_equal(found->windows, 2);
	assert_int_equal(found->nr_overlaps, 0);
	assert_int_equal(found->pairs[EVENT_COMPACTION_BEGIN].end_faults, 0);
}

/* ---- tasks ---- */

static void more_tasks_than_are_followed(void **state)
{
	int tid = 1000;

	begin();
	for (uint64_t ts = STEP; tid < 1000 + VERIFY_TASKS_MAX + 100; ts += STEP) {
		made_begin(&page, layout, ts);
		for (int i = 0; i < 100; i++) {
			put_record(1, &reclaim_begin, tid, 0, NULL);
			put_record(1, &reclaim_end, tid++, 0, NULL);
		}
		end_page(0, 0);
	}
	end();
	assert_int_equal(found->tasks, tid - 1000);
	assert_int_equal(found->dropped_tasks, tid - 1000 - VERIFY_TASKS_MAX);
	assert_int_equal(found->unnamed, tid - 1000);
	assert_int_equal(found->unnamed_tids[VERIFY_LISTED - 1], 1000 + VERIFY_LISTED - 1);
	assert_true(verify_is_clean(found));
}

/* ---- a run ---- */

/* Stopped between two rounds it tells what was read, and that it is not all. */
static void run_that_is_stopped(void **state)
{
	char name[] = "allocfilt", option[] = "--verify=fixtures/6.1";
	char *argv[] = { name, option, NULL }, *text, *all;
	struct options options;
	struct run_context run = { .options = &options };
	struct failure failure = { 0 };
	FILE *file = fopen(test_path("output"), "w");

	assert_int_equal(options_parse(&options, 2, argv, output_form_names(), &failure), 0);
	assert_int_equal(signals_block(&run.signals), 0);
	run.output = writer_new(fileno(file), -1);
	kill(getpid(), SIGTERM);
	assert_int_equal(verify_run(&run, &failure), -EBADMSG);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_string_equal(failure.text, "fixtures/6.1: not clean: stopped before its end");
	assert_int_equal(signals_next(run.signals), SIGTERM);
	writer_free(run.output);
	signals_free(run.signals);
	options_free(&options);
	fclose(file);
	assert_int_equal(file_read(test_directory, "output", &text, NULL), 0);
	all = strstr(text, "\n all ");
	assert_non_null(all);
	assert_in_range(strtol(all + 6, NULL, 10), 1, 40); /* of 53 pages */
	free(text);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(clean),
		RUN(damaged_pages),
		RUN(lost_records),
		RUN(records_out_of_order),
		RUN(types_without_a_format),
		RUN(more_types_than_are_told_apart),
		RUN(no_format),
		RUN(damaged_formats_and_records),
		RUN(stopped),
		RUN(pairs),
		RUN(one_event_of_a_pair),
		RUN(more_begins_than_are_kept),
		RUN(windows),
		RUN(windows_of_another_clock),
		RUN(more_tasks_than_are_followed),
		RUN(run_that_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
