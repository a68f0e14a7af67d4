// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After start-up nothing is allocated on the path of an event: calls of malloc() and its like are
 * counted while a whole capture goes from its pages to lines, stalls and entries of the journal,
 * and to metrics in a file; and while a running kernel has 100,000 short-lived tasks.
 */
#include <fcntl.h>
#include <limits.h>

#include "allocfilt/journal/journal.h"
#include "allocfilt/run/loop.h"
#include "counted_malloc.h"
#include "made_cpus.h"
#include "made_event.h"
#include "made_view.h"
#include "run/pipeline.h"
#include "run/report.h"
#include "test_directory.h"
#include "unit_test.h"

static char metrics_path[] = "metrics.prom";

#define OPTIONS                                                                                    \
	.stack = true, .top = 10, .limit_memory = 4 << 20, .metrics = metrics_path,                \
	.metrics_cgroups = 20

/* A pipeline of a capture's plan. */
static struct {
	struct capture *capture;
	struct plan *plan;
	struct writer *writer;
	struct pipeline *pipeline;
	struct data_source source;
} path;

static void begin_path(const char *dir, const struct plan_request *request, int fd)
{
	struct plan_offer offer;
	struct failure failure;

	assert_int_equal(capture_open(&path.capture, dir, &failure), 0);
	capture_offer(path.capture, &offer);
	assert_int_equal(plan_make(&path.plan, request, &offer, &failure), 0);
	path.writer = writer_new(fd, -1);
	path.source = *capture_source(path.capture);
}

static void make_pipeline(const struct options *options)
{
	struct failure failure;

	assert_int_equal(pipeline_new(&path.pipeline, options, path.plan, &path.source, path.writer,
				      NULL, &failure),
			 0);
}

static void end_path(void)
{
	pipeline_free(path.pipeline);
	plan_free(path.plan);
	capture_close(path.capture);
	writer_free(path.writer);
	path.pipeline = NULL;
	path.plan = NULL;
}

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
	struct summary_view so_far;

	pipeline_view(pipeline, &so_far);
	output_tick(pipeline_output(pipeline), now, &so_far);
}

static unsigned int count_in(const char *dir, char *const *events, const struct options *options)
{
	const struct plan_request request = {
		.threshold = 50000,
		.events = events,
		.off_cpu = true,
	};
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC), more;
	struct metrics_file *metrics = metrics_file_new(test_path("metrics.prom"));
	uint64_t now = 0;

	begin_path(dir, &request, fd);
	make_pipeline(options);
	pipeline_read_capture(path.pipeline, path.capture);
	start_counting();
	do {
		more = pipeline_read(path.pipeline);
		assert_true(more >= 0);
		tick(path.pipeline, now += 1800000000000ull);
	} while (more > 0);
	assert_int_equal(pipeline_flush(path.pipeline), 0);
	tick(path.pipeline, now + 1800000000000ull);
	write_metrics(metrics, path.pipeline);
	counting = false;
	if (options->journal)
		check_journal(path.pipeline, options);
	metrics_file_free(metrics);
	end_path();
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
	const struct plan_request request = { .threshold = 50000 };
	static const struct options options = { .format = "trace", OPTIONS };

	begin_path("fixtures/7.3", &request, -1);
	path.source.cpus = made_cpus(cpus);
	path.source.proc = "fixtures/7.3"; /* that of a user without rights has no addresses */
	path.source.bytes = 0;
	start_counting();
	make_pipeline(&options);
	counting = false;
	end_path();
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
				     .memcg = "",
				     .limit = "" };

	snprintf(task_info.cgroup, sizeof(task_info.cgroup), "/%d", tid);
	summary_stall(summary, &named);
}

/* What the service writes while memory is short, with full tables, which no capture has. */
UNIT_TEST(test_reports_of_many)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	static const struct options options = { .format = "trace", OPTIONS };
	static const struct data_source source = { .dir = "/none" };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct writer *writer = writer_new(fd, -1);
	struct failure failure;

	make_view(plan, NULL, 1);
	view.options = &options;
	view.top = 100;
	view.form = SUMMARY_FULL;
	assert_int_equal(resolver_new(&view.resolver, plan, &source, &options, &failure), 0);
	for (uint64_t i = 0; i < SHRINKERS_MAX; i++) {
		summary_shrinker(view.summary, i, -1, i);
		stall_of_many(view.summary, (int)i);
	}
	start_counting();
	assert_int_equal(metrics_text(writer, &view, NULL), 0);
	assert_int_equal(summary_text(writer, &view), 0);
	counting = false;
	assert_int_equal(allocations, 0);
	writer_free(writer);
	close(fd);
	free_view();
	resolver_free(view.resolver);
	free(plan);
}

/* ---- short-lived tasks ---- */

/* Many times what any table holds. */
#define TASKS 100000

#define TASK_TIME 300000 /* ns from one task to the next */
#define WINDOW	  200000 /* ns */
#define CGROUPS	  80
#define CALLBACKS 1000
#define PAGE_ROOM 256 /* bytes: limit of the records of a task */

static struct {
	struct cpu_buffers *buffers;
	int fds[2]; /* the kernel's side of them */
	struct made_page page;
	int cpu;
	uint64_t ts;	   /* ns, of the page's last record */
	uint64_t function; /* address */
	int reclaim_begin, reclaim_end, slab_start, slab_end, exit; /* types of records */
} flood;

static int type_of(const char *event)
{
	char name[64], *text;
	int type;

	snprintf(name, sizeof(name), "events/%s/format", event);
	assert_int_equal(file_read("fixtures/6.1", name, &text, NULL), 0);
	assert_int_equal(sscanf(text, "name: %*s ID: %d", &type), 1);
	free(text);
	return type;
}

/* A /proc where many tasks are at first, to fill the tables, and then few, each in one of several cgroups. */
static void make_proc(void)
{
	char link[PATH_MAX], name[64], text[64];

	shell("cp fixtures/6.1/kallsyms %s", test_directory);
	for (int i = 0; i < CGROUPS; i++) {
		snprintf(name, sizeof(name), "kind%d/cgroup", i);
		snprintf(text, sizeof(text), "0::/cgroup%d\n", i);
		put_text(name, text);
		snprintf(name, sizeof(name), "kind%d/comm", i);
		put_text(name, "short-lived\n");
		snprintf(name, sizeof(name), "kind%d/status", i);
		put_text(name, "Name:\tshort-lived\nTgid:\t1\n");
	}
	for (int pid = 1; pid <= TASKS; pid += pid < 1600 ? 1 : pid < 10000 ? 8400 : 10000) {
		snprintf(name, sizeof(name), "kind%d", pid % CGROUPS);
		snprintf(link, sizeof(link), "%s/%d", test_directory, pid);
		assert_int_equal(symlink(name, link), 0);
	}
}

static void make_buffers(void)
{
	struct failure failure;
	char name[64];

	for (int cpu = 0; cpu < 2; cpu++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		make_test_folders(name);
		assert_int_equal(mkfifo(test_path(name), 0600), 0);
		flood.fds[cpu] = open(test_path(name), O_RDWR | O_CLOEXEC);
		assert_true(flood.fds[cpu] >= 0);
	}
	assert_int_equal(cpu_buffers_open(&flood.buffers, test_directory, &path.source.cpus,
					  MADE_PAGE_SIZE, &failure),
			 0);
}

static void put_record(uint64_t ts, int type, int pid, void *data, size_t size)
{
	made_number(&flood.page.layout, data, (uint64_t)type, 2);
	made_number(&flood.page.layout, (char *)data + 4, (uint64_t)pid, 4);
	made_record(&flood.page, (uint32_t)(ts - flood.ts), data, size);
	flood.ts = ts;
}

static void put_number(unsigned char *data, size_t at, uint64_t value)
{
	made_number(&made_layouts[0], data + at, value, 8);
}

/* Offsets of the fields are those of the fixture's formats. */
static void put_begins(int pid, uint64_t ts)
{
	unsigned char reclaim[24] = { 0 }, slab[80] = { 0 };

	put_number(reclaim, 16, 0xcc0); /* GFP_KERNEL */
	put_record(ts + 1000, flood.reclaim_begin, pid, reclaim, sizeof(reclaim));
	put_number(slab, 8, 0x1000);
	put_number(slab, 16, (uint64_t)(1 + pid % CALLBACKS));
	put_record(ts + 2000, flood.slab_start, pid, slab, sizeof(slab));
}

static void put_ends(int pid, uint64_t ts)
{
	unsigned char reclaim[16] = { 0 }, slab[64] = { 0 }, window[40] = { 0 };

	put_number(slab, 8, 0x1000);
	put_number(slab, 24, (uint64_t)(1 + pid % CALLBACKS));
	put_record(ts + 3000, flood.slab_end, pid, slab, sizeof(slab));
	put_record(ts + WINDOW - 1000, flood.reclaim_end, pid, reclaim, sizeof(reclaim));
	put_number(window, 8, flood.function);
	put_number(window, 24, ts);
	put_number(window, 32, ts + WINDOW);
	put_record(ts + WINDOW, flood.exit, pid, window, sizeof(window));
}

static void send_page(void)
{
	made_end(&flood.page, 0);
	assert_int_equal(write(flood.fds[flood.cpu], flood.page.bytes, MADE_PAGE_SIZE),
			 MADE_PAGE_SIZE);
	assert_int_equal(pipeline_read_all(path.pipeline), 1);
	flood.cpu = !flood.cpu;
	flood.page.at = 0;
}

/* Two of three tasks exit between begin and end and leave state. */
static void put_tasks(void)
{
	for (int pid = 1; pid <= TASKS; pid++) {
		uint64_t ts = (uint64_t)pid * TASK_TIME;

		if (flood.page.at + PAGE_ROOM > MADE_PAGE_SIZE)
			send_page();
		if (!flood.page.at) {
			made_begin(&flood.page, &made_layouts[0], ts);
			flood.ts = ts;
		}
		put_begins(pid, ts);
		if (pid % 3 == 0)
			put_ends(pid, ts);
	}
	send_page();
}

/* The number after "KEY": of a text, behind a word. */
static long long number_after(const char *text, const char *word, const char *key)
{
	text = strstr(text, word);
	assert_non_null(text);
	text = strstr(text, key);
	assert_non_null(text);
	return strtoll(text + strlen(key), NULL, 10);
}

/* The tasks that were forgotten for room had no stall. */
static void check_summary(void)
{
	static char text[1 << 20];
	struct summary_view so_far;
	FILE *file = tmpfile();
	struct writer *writer = writer_new(fileno(file), -1);

	pipeline_view(path.pipeline, &so_far);
	assert_int_equal(output_so_far(pipeline_output(path.pipeline), writer, &so_far), 0);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	assert_int_equal(number_after(text, "\"stalls\":{", "\"count\":"), TASKS / 3);
	assert_int_equal(number_after(text, "\"overflows\"", "\"stalls\":"), 0);
	assert_int_equal(number_after(text, "\"overflows\"", "\"names\":"), 0);
	assert_true(number_after(text, "\"overflows\"", "\"summary\":") > 0);
	writer_free(writer);
	fclose(file);
}

/* All tables are full long before the first tenth of them, and no stall lacks anything. */
UNIT_TEST(test_short_lived_tasks)
{
	const struct plan_request request = { .threshold = 50000 };
	static const struct options options = { .format = "json",
						.top = 10,
						.limit_memory = 4 << 20 };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	make_proc();
	begin_path("fixtures/6.1", &request, fd);
	path.source.cpus = made_cpus(2);
	path.source.proc = test_directory;
	make_pipeline(&options);
	make_buffers();
	pipeline_read_buffers(path.pipeline, flood.buffers, NULL);
	resolver_read_symbols(pipeline_resolver(path.pipeline));
	flood.function = resolver_address(pipeline_resolver(path.pipeline), "try_to_free_pages");
	assert_true(flood.function);
	flood.reclaim_begin = type_of("vmscan/mm_vmscan_direct_reclaim_begin");
	flood.reclaim_end = type_of("vmscan/mm_vmscan_direct_reclaim_end");
	flood.slab_start = type_of("vmscan/mm_shrink_slab_start");
	flood.slab_end = type_of("vmscan/mm_shrink_slab_end");
	flood.exit = type_of("ftrace/funcgraph_exit");
	start_counting();
	put_tasks();
	assert_int_equal(pipeline_flush(path.pipeline), 0);
	counting = false;
	assert_int_equal(allocations, 0);
	check_summary();
	cpu_buffers_close(flood.buffers);
	for (int cpu = 0; cpu < 2; cpu++)
		close(flood.fds[cpu]);
	end_path();
	close(fd);
}

/* The counter does count. */
UNIT_TEST(test_counter)
{
	void *volatile block;

	start_counting();
	block = malloc(1);
	counting = false;
	free(block);
	assert_int_equal(allocations, COUNTED);
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
