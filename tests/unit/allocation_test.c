// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After start-up nothing is allocated on the path of an event: calls of malloc() and its like are
 * counted while a whole capture goes from its pages to lines, stalls and entries of the journal,
 * and to metrics in a file.
 */
#include <fcntl.h>
#include <limits.h>

#include "allocfilt/journal/journal.h"
#include "allocfilt/run/loop.h"
#include "counted_malloc.h"
#include "made_cpus.h"
#include "made_event.h"
#include "run/pipeline.h"
#include "run/report.h"
#include "test_directory.h"
#include "unit_test.h"

static char metrics_path[] = "metrics.prom";

#define OPTIONS                                                                                    \
	.stack = true, .top = 10, .limit_memory = 4 << 20, .metrics = metrics_path,                \
	.metrics_cgroups = 20

/* Entries were made and held back, or this test would count nothing. */
static void check_journal(struct pipeline *pipeline, const struct options *options)
{
	struct journal_counts counts;

	assert_true(output_counts(pipeline_output(pipeline), &counts));
	assert_int_equal(counts.entries, 0);
	assert_int_equal(counts.held_back > 0, options->rate > 0);
}

static void write_metrics(struct metrics_file *file, struct pipeline *pipeline)
{
	const struct run_context run = { .started = loop_now() };
	struct failure failure;

	assert_int_equal(metrics_write(file, pipeline, &run, true, false, &failure), 0);
}

static void tick(struct pipeline *pipeline, uint64_t now)
{
	struct summary_view view;

	pipeline_view(pipeline, &view);
	output_tick(pipeline_output(pipeline), now, &view);
}

static unsigned int count_in(const char *dir, char *const *events, const struct options *options)
{
	struct plan_request request = {
		.threshold = 50000,
		.events = events,
		.off_cpu = true,
	};
	struct capture *capture = NULL;
	struct plan *plan = NULL;
	struct plan_offer offer;
	struct failure failure;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);
	struct metrics_file *metrics = metrics_file_new(test_path("metrics.prom"));
	struct pipeline *pipeline = NULL;
	uint64_t now = 0;
	int more;

	assert_int_equal(capture_open(&capture, dir, &failure), 0);
	capture_offer(capture, &offer);
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_int_equal(pipeline_new(&pipeline, options, plan, capture_source(capture), writer,
				      NULL, &failure),
			 0);
	pipeline_read_capture(pipeline, capture);
	allocations = 0;
	counting = true;
	do {
		more = pipeline_read(pipeline);
		assert_true(more >= 0);
		tick(pipeline, now += 1800000000000ull);
	} while (more > 0);
	assert_int_equal(pipeline_flush(pipeline), 0);
	tick(pipeline, now + 1800000000000ull);
	write_metrics(metrics, pipeline);
	counting = false;
	if (options->journal)
		check_journal(pipeline, options);
	metrics_file_free(metrics);
	pipeline_free(pipeline);
	plan_free(plan);
	capture_close(capture);
	writer_free(writer);
	close(fd);
	return allocations;
}

UNIT_TEST(test_count)
{
	static const char *const captures[] = {
		"fixtures/5.10",   "fixtures/6.1",	 "fixtures/6.12",    "fixtures/7.3",
		"fixtures/i386",   "fixtures/s390x",	 "fixtures/kept",    "fixtures/off-cpu",
		"fixtures/faults", "fixtures/arm64-16k", "fixtures/ppc64el", "fixtures/waits-7.3",
	};
	static const struct options runs[] = {
		{ .format = "trace", OPTIONS },
		{ .format = "trace", .report = 1000000, .on_command_line = UINT64_MAX, OPTIONS },
		{ .format = "tree", OPTIONS },
		{ .format = "json", OPTIONS },
		{ .format = "html", OPTIONS },
		{ .format = "folded", OPTIONS },
		{ .journal = true, .status_interval = 1, OPTIONS },
		{ .journal = true, .rate = 1, .burst = 1, OPTIONS },
	};

	journal_socket_path = "/does/not/exist";
	for (size_t i = 0; i < COUNT(captures); i++)
		for (size_t run = 0; run < COUNT(runs); run++)
			assert_int_equal(count_in(captures[i], NULL, &runs[run]), 0);
}

/* More events of -e, of 500 bytes each, than there is room for, before all others of a capture. */
UNIT_TEST(test_large_payloads)
{
	static const struct made_event event = { "large", 3000, "char text[492] 492",
						 "\"%s\", REC->text" };
	struct options options = { .format = "trace", OPTIONS };
	static char large[] = "user:large", *events[] = { large, NULL };
	static const char raw[] = "capture/per_cpu/cpu0/trace_pipe_raw";
	struct made_page page, payload;
	char *old, *dir;
	size_t length, pages = 400;
	FILE *file;

	options.limit_memory = 256 << 10;
	shell("cp -r fixtures/6.1 %s/capture && chmod -R u+w %s/capture", test_directory,
	      test_directory);
	put_text("capture/events/user/large/format", format_of(&event));
	assert_int_equal(file_read(test_directory, raw, &old, &length), 0);
	make_payload(&payload, &made_layouts[0], &event, NULL);
	file = fopen(test_path(raw), "we");
	assert_non_null(file);
	for (uint64_t ts = 1000; pages--; ts += 1000) {
		made_begin(&page, &made_layouts[0], ts);
		for (int i = 0; i < 8; i++)
			made_record(&page, 1, payload.bytes, payload.at);
		made_end(&page, 0);
		assert_int_equal(fwrite(page.bytes, sizeof(page.bytes), 1, file), 1);
	}
	assert_int_equal(fwrite(old, length, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	free(old);
	dir = strdup(test_path("capture"));
	assert_int_equal(count_in(dir, events, &options), 0);
	free(dir);
}

static size_t bytes_for(int cpus)
{
	struct plan_request request = { .threshold = 50000 };
	static const struct options options = { .format = "trace", OPTIONS };
	struct writer *writer = writer_new(-1, -1);
	struct pipeline *pipeline = NULL;
	struct capture *capture = NULL;
	struct data_source source;
	struct plan *plan = NULL;
	struct plan_offer offer;
	struct failure failure;

	assert_int_equal(capture_open(&capture, "fixtures/7.3", &failure), 0);
	capture_offer(capture, &offer);
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	source = *capture_source(capture);
	source.cpus = made_cpus(cpus);
	source.proc = "fixtures/7.3"; /* that of a user without rights has no addresses */
	allocated = 0;
	counting = true;
	assert_int_equal(pipeline_new(&pipeline, &options, plan, &source, writer, NULL, &failure),
			 0);
	counting = false;
	pipeline_free(pipeline);
	plan_free(plan);
	capture_close(capture);
	writer_free(writer);
	return allocated;
}

/* With limit-memory, 4 MiB. All of it may be locked at the start; the service may have 64 MiB. */
UNIT_TEST(test_bytes_of_many_cpus)
{
	size_t two = bytes_for(2);
	size_t many = bytes_for(256);

	if (!COUNTED)
		skip();
	assert_in_range(two, 1 << 20, 10 << 20);
	assert_in_range(many - two, 0, 4 << 20);
}

static void stall_of_many(struct summary *summary, int tid)
{
	struct stall stall = { .tid = tid, .end = 1, .gfp_names = "", .compaction = "" };
	struct task_info task_info = { .pid = tid };
	struct named_stall named = { .stall = &stall,
				     .name = "t",
				     .task_info = &task_info,
				     .function = "f",
				     .memcg = "" };

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "/%d", tid);
	summary_stall(summary, &named);
}

/* What the service writes while memory is short, with full tables, which no capture has. */
UNIT_TEST(test_reports_of_many)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	static const struct options options = { .format = "trace", OPTIONS };
	static const struct data_source source = {
		.dir = "/none",
	};
	struct cpu_list cpus = made_cpus(1);
	struct losses *losses = losses_new(&cpus);
	struct failure failure;
	struct summary_view view = {
		.options = &options,
		.plan = plan,
		.summary = summary_new(),
		.units = units_new(20),
		.losses = losses,
		.cpus = cpus,
		.top = 100,
		.form = SUMMARY_FULL,
	};
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);

	assert_int_equal(resolver_new(&view.resolver, plan, &source, &options, &failure), 0);
	for (uint64_t i = 0; i < SHRINKERS_MAX; i++) {
		summary_shrinker(view.summary, i, -1, i);
		stall_of_many(view.summary, (int)i);
	}
	allocations = 0;
	counting = true;
	assert_int_equal(metrics_text(writer, &view, NULL), 0);
	assert_int_equal(summary_text(writer, &view), 0);
	counting = false;
	assert_int_equal(allocations, 0);
	writer_free(writer);
	close(fd);
	summary_free(view.summary);
	units_free(view.units);
	losses_free(losses);
	resolver_free(view.resolver);
	free(plan);
}

/* The counter does count. */
UNIT_TEST(test_counter)
{
	void *volatile block;

	allocations = 0;
	counting = true;
	block = malloc(1);
	counting = false;
	free(block);
	assert_int_equal(allocations, COUNTED);
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
