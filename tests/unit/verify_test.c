// SPDX-License-Identifier: GPL-2.0-or-later
/* Captures made by hand: each fault is found at its place, and nothing else is called one. */
#include "allocfilt/output/findings.h"
#include "allocfilt/output/form.h"
#include "allocfilt/run/signals.h"
#include "allocfilt/verify/verify.h"
#include "made_cpus.h"
#include "made_event.h"
#include "test_directory.h"
#include "unit_test.h"
#include "written_text.h"

#define TASK 100
#define STEP NS_PER_MS

static const struct made_event exit_event = {
	"funcgraph_exit", 10, "func 8, int depth 4s, unsigned int overrun 4, calltime 8, rettime 8",
	"\"\""
};
static const struct made_event reclaim_begin = { "mm_vmscan_direct_reclaim_begin", 20,
						 "int order 4s", "\"%d\", REC->order" };
static const struct made_event reclaim_end = { "mm_vmscan_direct_reclaim_end", 21, "nr_reclaimed 8",
					       "\"%lu\", REC->nr_reclaimed" };
static const struct made_event foreign = { "foreign", 4321, "x 8", "\"\"" };

static const struct page_layout *layout;
static struct data_source source;
static struct verify *verify;
static struct verify_findings *found;
static struct made_page page;
static uint64_t offsets[2]; /* of the next page of each CPU */
static uint64_t next_ts;    /* of the page after the one that is put */

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
	};
	memset(offsets, 0, sizeof(offsets));
	next_ts = UINT64_MAX;
	verify = verify_new(&source, &offer);
	assert_non_null(verify);
}

static void end(void)
{
	found = verify_finish(verify);
}

static int tear_down(void **state)
{
	verify_free(verify);
	verify = NULL;
	return remove_test_directory(state);
}

/* Nothing is behind its bytes: valgrind and the sanitizers see a read past them. */
static void put_page(int cpu, size_t length)
{
	unsigned char *bytes = malloc(length);

	memcpy(bytes, page.bytes, length);
	verify_page(verify, cpu, bytes, length, offsets[cpu], next_ts);
	offsets[cpu] += length;
	free(bytes);
}

/* Where records were lost, as @bits say, five of them. */
static void end_page(int cpu, uint64_t bits)
{
	made_end(&page, bits);
	if (bits & MADE_STORED)
		made_put(&page, 5, (size_t)layout->long_size);
	put_page(cpu, MADE_PAGE_SIZE);
}

static void put_record(uint32_t delta, const struct made_event *event,
		       const struct made_value *values)
{
	struct made_page payload;

	make_payload(&payload, layout, event, values);
	made_number(layout, payload.bytes + 4, TASK, 4);
	made_record(&page, delta, payload.bytes, (payload.at + 3) / 4 * 4);
}

/* A page of one record. */
static void put_one(int cpu, uint64_t ts, const struct made_event *event,
		    const struct made_value *values)
{
	made_begin(&page, layout, ts);
	put_record(0, event, values);
	end_page(cpu, 0);
}

/* A page of two records. */
static void put_two(int cpu, uint64_t ts, uint64_t bits)
{
	made_begin(&page, layout, ts);
	put_record(0, &reclaim_begin, NULL);
	put_record(0, &reclaim_end, NULL);
	end_page(cpu, bits);
}

static void put_damaged(int cpu)
{
	made_begin(&page, layout, 1);
	made_commit(&page, 5000);
	put_page(cpu, MADE_PAGE_SIZE);
}

static void assert_verdict(const char *expected)
{
	struct line line;

	line_clear(&line);
	assert_int_equal(verify_verdict(found, &line), !strncmp(expected, "clean: ", 7));
	assert_string_equal(line.text, expected);
}

#define RUN(test) UNIT_TEST_WITH(test, set_up, tear_down)

RUN(clean)
{
	for (size_t i = 0; i < MADE_LAYOUTS; i++) {
		layout = &made_layouts[i];
		begin();
		put_one(0, STEP, &exit_event,
			VALUES({ "depth", 0 }, { "calltime", 8 }, { "rettime", 9 }));
		put_two(0, 11 * STEP, 0);
		put_two(1, 3 * STEP, 0);
		end();
		assert_verdict("clean: 2 CPUs, 3 pages, 5 records, 10 ms");
		assert_int_equal(found->cpus[0].pages, 2);
		assert_int_equal(found->cpus[0].bytes, 2 * MADE_PAGE_SIZE);
		assert_int_equal(found->cpus[0].first, STEP);
		assert_int_equal(found->cpus[0].last, 11 * STEP);
		assert_int_equal(found->cpus[1].records, 2);
		assert_int_equal(found->cpus[1].first, 3 * STEP);
	}
	begin();
	end();
	assert_verdict("clean: 2 CPUs, 0 pages, 0 records, 0 us");
}

RUN(damaged_pages)
{
	const struct verify_finding *damages;

	begin();
	made_begin(&page, layout, 0);
	offsets[0] = 1ull << 40;
	put_page(0, 100);
	for (int i = 0; i < VERIFY_LISTED; i++)
		put_damaged(0);
	end();
	assert_verdict("not clean: 21 damaged pages");
	damages = found->lists[VERIFY_DAMAGE].listed;
	assert_int_equal(found->lists[VERIFY_DAMAGE].count, 21);
	assert_int_equal(found->cpus[0].damaged, 21);
	assert_int_equal(damages[0].page, 1ull << 28);
	assert_int_equal(damages[0].byte, 1ull << 40);
	assert_int_equal(damages[0].number, 1ull << 40);
	assert_string_equal(damages[0].text, "of zeros");
	assert_int_equal(damages[VERIFY_LISTED - 1].number, 0);
	begin();
	put_two(1, STEP, 0);
	put_damaged(1);
	put_two(1, 3 * STEP, 0);
	end();
	assert_verdict("not clean: 1 damaged page");
	assert_int_equal(found->cpus[1].damaged, 1);
	assert_int_equal(found->cpus[1].pages, 3);
	damages = found->lists[VERIFY_DAMAGE].listed;
	assert_int_equal(damages[0].cpu, 1);
	assert_int_equal(damages[0].page, 1);
	assert_int_equal(damages[0].byte, MADE_PAGE_SIZE + 8);
	assert_int_equal(damages[0].number, 0);
	assert_string_equal(damages[0].text, "a commit of 5000 bytes in a page of 4096");
}

RUN(lost_records)
{
	const struct verify_finding *losses;

	begin();
	made_begin(&page, layout, 4 * STEP); /* nothing but a loss */
	end_page(0, MADE_MISSED | MADE_STORED);
	put_two(1, STEP, 0);
	put_two(1, 2 * STEP, MADE_MISSED | MADE_STORED);
	put_two(1, 3 * STEP, MADE_MISSED);
	end();
	assert_verdict("not clean: 10 lost records, 1 loss of an unknown number of records");
	losses = found->lists[VERIFY_LOSS].listed;
	assert_int_equal(found->lists[VERIFY_LOSS].count, 3);
	assert_int_equal(losses[0].cpu, 0);
	assert_int_equal(losses[1].cpu, 1);
	assert_int_equal(losses[1].page, 1);
	assert_int_equal(losses[1].byte, MADE_PAGE_SIZE);
	assert_int_equal(losses[1].ts, 2 * STEP);
	assert_int_equal(losses[1].number, 5);
	assert_int_equal(losses[2].number, RECORD_LOST_UNKNOWN);
	assert_int_equal(found->cpus[1].lost, 5);
	assert_int_equal(found->cpus[1].lost_unknown, 1);
	assert_int_equal(found->cpus[0].lost, 5);
	assert_int_equal(found->cpus[0].records, 0);
}

/* What the kernel counted, of records that are in no page. */
RUN(expected_records)
{
	begin();
	put_two(0, STEP, MADE_MISSED | MADE_STORED);
	verify_expect(verify, 0, 3, 9);
	verify_expect(verify, 1, 4, 0);
	end();
	assert_verdict("not clean: 9 lost records, 7 missing records");
	assert_int_equal(found->cpus[0].lost, 5);
	assert_int_equal(found->cpus[0].missing, 7);
	assert_int_equal(found->cpus[1].lost, 4);
	/* The kernel's count has the losses of an unknown number. */
	begin();
	put_two(0, STEP, MADE_MISSED);
	put_two(1, STEP, MADE_MISSED);
	verify_expect(verify, 0, 3, 0);
	verify_expect(verify, 1, 0, 0);
	end();
	assert_verdict("not clean: 3 lost records, 1 loss of an unknown number of records");
	assert_int_equal(found->cpus[0].lost_unknown, 0);
	begin();
	put_two(0, STEP, 0);
	verify_expect(verify, 0, 0, 2);
	end();
	assert_verdict("clean: 2 CPUs, 1 page, 2 records, 0 us");
}

/* A page that does not fit between the others is damaged, and its records do not count. */
RUN(pages_out_of_order)
{
	const struct verify_finding *damages;

	begin();
	put_two(1, 3 * STEP, 0);
	next_ts = 5 * STEP;
	put_two(1, 1ull << 60, 0);
	next_ts = UINT64_MAX;
	put_two(1, 5 * STEP, 0);
	put_two(1, 4 * STEP, 0);
	put_two(1, 6 * STEP, 0);
	made_begin(&page, layout, 7 * STEP); /* by a time of its own */
	put_record(0, &reclaim_begin, NULL);
	made_time(&page, 31, 6 * STEP);
	put_record(0, &reclaim_end, NULL);
	end_page(1, 0);
	end();
	assert_verdict("not clean: 3 damaged pages");
	assert_int_equal(found->cpus[1].records, 6);
	assert_int_equal(found->cpus[1].last, 6 * STEP);
	damages = found->lists[VERIFY_DAMAGE].listed;
	assert_int_equal(damages[0].page, 1);
	assert_string_equal(damages[0].text,
			    "a time that is not between those of the pages around it");
	assert_int_equal(damages[1].page, 3);
	assert_int_equal(damages[1].byte, 3 * MADE_PAGE_SIZE);
	assert_string_equal(damages[1].text, damages[0].text);
	assert_int_equal(damages[2].page, 5);
	assert_string_equal(damages[2].text, "a time that is not after that of the record before");
}

RUN(types_without_a_format)
{
	struct writer *writer = begin_text();

	begin();
	put_one(0, STEP, &foreign, NULL);
	put_one(0, STEP, &foreign, NULL);
	put_one(1, STEP, &foreign, NULL);
	put_two(1, STEP, 0);
	end();
	assert_verdict("not clean: 3 records of a type without a format");
	assert_int_equal(found->nr_types, 2);
	assert_int_equal(found->types[0].type, 4321);
	assert_int_equal(found->types[0].cpu, 0);
	assert_int_equal(found->types[0].records, 2);
	assert_int_equal(found->types[1].cpu, 1);
	assert_int_equal(found->cpus[0].unknown, 2);
	assert_int_equal(found->cpus[1].unknown, 1);
	assert_int_equal(findings_json(writer, "x", found), 0);
	text_has(end_text(writer), "\"unknown_types\":[{\"cpu\":0,\"id\":4321,\"records\":2},"
				   "{\"cpu\":1,\"id\":4321,\"records\":1}]");
	/* one that the catalog does not have, and the capture has */
	put_format("any", &foreign);
	begin();
	put_one(0, STEP, &foreign, NULL);
	end();
	assert_verdict("clean: 2 CPUs, 1 page, 1 record, 0 us");
}

RUN(more_types_than_are_told_apart)
{
	begin();
	made_begin(&page, layout, STEP);
	for (int i = 0; i < VERIFY_TYPES_MAX + 5; i++) {
		struct made_event event = foreign;

		event.type += i;
		put_record(0, &event, NULL);
	}
	end_page(0, 0);
	end();
	assert_int_equal(found->nr_types, VERIFY_TYPES_MAX);
	assert_int_equal(found->cpus[0].unknown, VERIFY_TYPES_MAX + 5);
}

/* Not one format: nothing can be told apart. */
RUN(no_format)
{
	shell("rm -r %s/events", test_directory);
	begin();
	put_two(0, STEP, 0);
	end();
	assert_verdict("not clean: 2 records of a type without a format, 1 damaged file");
	assert_int_equal(found->types[0].type, -1);
	assert_non_null(strstr(found->first_bad_file, "events/ftrace/funcgraph_exit/format"));
}

RUN(damaged_formats_and_records)
{
	put_text("events/vmscan/mm_vmscan_direct_reclaim_end/format", "ID: 21\n");
	begin();
	put_one(0, STEP, &reclaim_begin, NULL);
	end();
	assert_verdict("not clean: 1 damaged file");
	assert_non_null(strstr(found->first_bad_file, "mm_vmscan_direct_reclaim_end/format"));
	put_format("vmscan", &reclaim_end);
	begin();
	made_begin(&page, layout, STEP);
	made_record(&page, 0, "\12\0\0\0\1\0\0\0", 8); /* a window that is cut */
	end_page(0, 0);
	put_one(0, STEP, &exit_event, VALUES({ "depth", 0 }, { "calltime", 9 }, { "rettime", 8 }));
	end();
	assert_verdict("not clean: 2 damaged records");
}

RUN(stopped)
{
	begin();
	put_two(0, STEP, 0);
	end();
	found->stopped = true;
	assert_verdict("not clean: stopped before its end");
}

/* ---- a run ---- */

/* Stopped between two pages it tells what was read, and that it is not all. */
RUN(run_that_is_stopped)
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

UNIT_TEST_MAIN(NULL, NULL)
