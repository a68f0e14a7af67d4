// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 100,000 short-lived tasks, from pages to stalls and the summary, as from a running kernel: memory
 * does not grow after the first tenth, and no stall lacks anything.
 */
#include <fcntl.h>

#include "counted_malloc.h"
#include "made_cpus.h"
#include "made_page.h"
#include "run/pipeline.h"
#include "test_directory.h"
#include "unit_test.h"

/* Many times what any table holds. */
#define TASKS 100000

/* With the sanitizers, the size of the heap is checked. */
#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);

#define HEAP_BYTES() __sanitizer_get_current_allocated_bytes()
#else
#define HEAP_BYTES() 0u
#endif

#define TASK_TIME      300000 /* ns from one task to the next */
#define WINDOW	       200000 /* ns */
#define CGROUPS	       80
#define CALLBACKS      1000
#define FIXTURE	       "fixtures/6.1"
#define PAGE_ROOM      256	 /* bytes: limit of the records of a task */
#define RESIDENT_SLACK 2	 /* pages */
#define LIMIT	       (4 << 20) /* bytes of records that wait */

struct flood {
	struct capture *capture;
	struct plan *plan;
	struct writer *writer;
	struct data_source source;
	struct pipeline *pipeline;
	struct cpu_buffers *buffers;
	int fds[2]; /* the kernel's side of them */
	struct made_page page;
	int cpu;
	uint64_t ts;	   /* ns, of the page's last record */
	uint64_t function; /* address */
	int reclaim_begin, reclaim_end, slab_start, slab_end, exit; /* types of records */
};

static int type_of(const char *event)
{
	char path[PATH_MAX];
	FILE *stream;
	int type;

	snprintf(path, sizeof(path), FIXTURE "/events/%s/format", event);
	stream = fopen(path, "r");
	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "name: %*s ID: %d", &type), 1);
	fclose(stream);
	return type;
}

/* Tasks still in /proc when they are seen: many at first, to fill the tables, then few. */
static bool is_here(int pid)
{
	return pid <= 1600 || pid % 10000 == 0;
}

/* A /proc where some tasks are, each in one of several cgroups. */
static void make_proc(void)
{
	char path[PATH_MAX], target[64], name[64];

	for (int i = 0; i < CGROUPS; i++) {
		snprintf(name, sizeof(name), "kind%d/cgroup", i);
		snprintf(target, sizeof(target), "0::/cgroup%d\n", i);
		put_text(name, target);
		snprintf(name, sizeof(name), "kind%d/comm", i);
		put_text(name, "short-lived\n");
		snprintf(name, sizeof(name), "kind%d/status", i);
		put_text(name, "Name:\tshort-lived\nTgid:\t1\n");
	}
	for (int pid = 1; pid <= TASKS; pid++) {
		if (!is_here(pid))
			continue;
		snprintf(target, sizeof(target), "kind%d", pid % CGROUPS);
		snprintf(path, sizeof(path), "%s/%d", test_directory, pid);
		assert_int_equal(symlink(target, path), 0);
	}
}

static void make_buffers(struct flood *flood)
{
	struct failure failure;
	char name[64];

	for (int cpu = 0; cpu < 2; cpu++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		make_test_folders(name);
		unlink(test_path(name));
		assert_int_equal(mkfifo(test_path(name), 0600), 0);
		flood->fds[cpu] = open(test_path(name), O_RDWR | O_CLOEXEC);
		assert_true(flood->fds[cpu] >= 0);
	}
	assert_int_equal(cpu_buffers_open(&flood->buffers, test_directory, &flood->source.cpus,
					  MADE_PAGE_SIZE, &failure),
			 0);
}

static void make_live_pipeline(struct flood *flood)
{
	static const struct options options = {
		.format = "json",
		.top = 10,
		.limit_memory = LIMIT,
	};
	struct failure failure;
	char *symbols;

	/* Formats and symbols of the fixture, beside the names of tasks that this test makes. */
	shell("cp -r " FIXTURE "/events '%s'", test_directory);
	assert_int_equal(file_read(FIXTURE, "kallsyms", &symbols, NULL), 0);
	put_text("kallsyms", symbols);
	free(symbols);
	flood->source = (struct data_source){
		.dir = test_directory,
		.proc = test_directory,
		.layout = capture_source(flood->capture)->layout,
		.cpus = made_cpus(2),
		.local_clock = true,
	};
	assert_int_equal(pipeline_new(&flood->pipeline, &options, flood->plan, &flood->source,
				      flood->writer, NULL, &failure),
			 0);
	make_buffers(flood);
	pipeline_read_buffers(flood->pipeline, flood->buffers, NULL);
	resolver_read_symbols(pipeline_resolver(flood->pipeline));
	flood->function = resolver_address(pipeline_resolver(flood->pipeline), "try_to_free_pages");
	assert_true(flood->function);
}

static void flood_start(struct flood *flood, int fd)
{
	struct plan_request request = { .threshold = 50000 };
	struct plan_offer offer;
	struct failure failure;

	memset(flood, 0, sizeof(*flood));
	assert_int_equal(capture_open(&flood->capture, FIXTURE, &failure), 0);
	capture_offer(flood->capture, &offer);
	assert_int_equal(plan_make(&flood->plan, &request, &offer, &failure), 0);
	flood->writer = writer_new(fd, -1);
	make_live_pipeline(flood);
	flood->reclaim_begin = type_of("vmscan/mm_vmscan_direct_reclaim_begin");
	flood->reclaim_end = type_of("vmscan/mm_vmscan_direct_reclaim_end");
	flood->slab_start = type_of("vmscan/mm_shrink_slab_start");
	flood->slab_end = type_of("vmscan/mm_shrink_slab_end");
	flood->exit = type_of("ftrace/funcgraph_exit");
}

static void flood_end(struct flood *flood)
{
	pipeline_free(flood->pipeline);
	cpu_buffers_close(flood->buffers);
	for (int cpu = 0; cpu < 2; cpu++)
		close(flood->fds[cpu]);
	plan_free(flood->plan);
	capture_close(flood->capture);
	writer_free(flood->writer);
}

static void put_record(struct flood *flood, uint64_t ts, int type, int pid, void *data, size_t size)
{
	made_number(&flood->page.layout, data, (uint64_t)type, 2);
	made_number(&flood->page.layout, (char *)data + 4, (uint64_t)pid, 4);
	made_record(&flood->page, (uint32_t)(ts - flood->ts), data, size);
	flood->ts = ts;
}

static void put_number(unsigned char *data, size_t at, uint64_t value)
{
	made_number(&made_layouts[0], data + at, value, 8);
}

/* Offsets of the fields are those of the fixture's formats. */
static void put_begins(struct flood *flood, int pid, uint64_t ts)
{
	unsigned char reclaim[24] = { 0 }, slab[80] = { 0 };

	put_number(reclaim, 16, 0xcc0); /* GFP_KERNEL */
	put_record(flood, ts + 1000, flood->reclaim_begin, pid, reclaim, sizeof(reclaim));
	put_number(slab, 8, 0x1000);
	put_number(slab, 16, (uint64_t)(1 + pid % CALLBACKS));
	put_record(flood, ts + 2000, flood->slab_start, pid, slab, sizeof(slab));
}

static void put_ends(struct flood *flood, int pid, uint64_t ts)
{
	unsigned char reclaim[16] = { 0 }, slab[64] = { 0 }, window[40] = { 0 };

	put_number(slab, 8, 0x1000);
	put_number(slab, 24, (uint64_t)(1 + pid % CALLBACKS));
	put_record(flood, ts + 3000, flood->slab_end, pid, slab, sizeof(slab));
	put_record(flood, ts + WINDOW - 1000, flood->reclaim_end, pid, reclaim, sizeof(reclaim));
	put_number(window, 8, flood->function);
	put_number(window, 24, ts);
	put_number(window, 32, ts + WINDOW);
	put_record(flood, ts + WINDOW, flood->exit, pid, window, sizeof(window));
}

static void send_page(struct flood *flood)
{
	made_end(&flood->page, 0);
	assert_int_equal(write(flood->fds[flood->cpu], flood->page.bytes, MADE_PAGE_SIZE),
			 MADE_PAGE_SIZE);
	assert_int_equal(pipeline_read_all(flood->pipeline), 1);
	flood->cpu = !flood->cpu;
	flood->page.at = 0;
}

/* Two of three tasks exit between begin and end and leave state. */
static bool leaves_state(int pid)
{
	return pid % 3 != 0;
}

static void put_tasks(struct flood *flood, int from, int to)
{
	for (int pid = from; pid <= to; pid++) {
		uint64_t ts = (uint64_t)pid * TASK_TIME;

		if (flood->page.at + PAGE_ROOM > MADE_PAGE_SIZE)
			send_page(flood);
		if (!flood->page.at) {
			made_begin(&flood->page, &made_layouts[0], ts);
			flood->ts = ts;
		}
		put_begins(flood, pid, ts);
		if (!leaves_state(pid))
			put_ends(flood, pid, ts);
	}
	send_page(flood);
}

/* Pages, by proc(5). */
static long resident(void)
{
	char text[128];
	long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	assert_true(length > 0);
	text[length] = '\0';
	assert_int_equal(sscanf(text, "%*d %ld", &pages), 1);
	return pages;
}

/* The number after the first "key": of a text. */
static long long number_of(const char *text, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(text, quoted);
	assert_non_null(at);
	return strtoll(at + strlen(quoted), NULL, 10);
}

/* Tasks up to this one that leave state. */
static int count_leaving(int to)
{
	int count = 0;

	for (int pid = 1; pid <= to; pid++)
		count += leaves_state(pid);
	return count;
}

/* Compares the summary with the tasks made. */
static void check_summary(const char *text)
{
	static const char stalls[] = "\"stalls\":{\"count\":";
	const char *overflows = strstr(text, "\"overflows\"");
	const char *at = strstr(text, stalls);

	assert_non_null(at);
	assert_int_equal(atoll(at + strlen(stalls)), TASKS - count_leaving(TASKS));
	assert_non_null(overflows);
	/* The tasks that were forgotten for room had no stall. */
	assert_int_equal(number_of(overflows, "stalls"), 0);
	assert_int_equal(number_of(overflows, "names"), 0);
	assert_true(number_of(overflows, "summary") > 0);
}

static void read_summary(struct flood *flood, char *text, size_t size)
{
	struct summary_view view;
	FILE *file = tmpfile();
	struct writer *writer = writer_new(fileno(file), -1);

	pipeline_view(flood->pipeline, &view);
	assert_int_equal(output_so_far(pipeline_output(flood->pipeline), writer, &view), 0);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	writer_free(writer);
	fclose(file);
}

/* All tables are full long before the first tenth ends. */
static void check_flat(struct flood *flood)
{
	size_t heap;
	long pages;

	put_tasks(flood, 1, TASKS / 10);
	pages = resident();
	heap = HEAP_BYTES();
	put_tasks(flood, TASKS / 10 + 1, TASKS);
	if (COUNTED)
		assert_in_range(resident(), 0, pages + RESIDENT_SLACK);
	assert_int_equal(HEAP_BYTES(), heap);
}

UNIT_TEST_WITH(test_many_tasks, make_test_directory, remove_test_directory)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	static struct flood flood;
	static char text[1 << 20];

	make_proc();
	flood_start(&flood, fd);
	allocations = 0;
	counting = true;
	check_flat(&flood);
	assert_int_equal(pipeline_flush(flood.pipeline), 0);
	counting = false;
	assert_int_equal(allocations, 0);
	read_summary(&flood, text, sizeof(text));
	check_summary(text);
	flood_end(&flood);
	close(fd);
}

UNIT_TEST_MAIN(NULL, NULL)
