// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>
#include <sys/wait.h>

#include "allocfilt/tracing.h"
#include "test_directory.h"
#include "unit_test.h"

#define PAGE 4096

/* What came, as "CPU:FIRST-BYTE " of each page, "CPU+ " for one left with data. */
static struct {
	char out[4096];
	size_t used;
	int pages;
	int refused; /* this CPU has no room */
	int fail_at;
} run;

static struct cpu_buffers *buffers;
static struct failure failure;

static bool ready(void *context, int cpu)
{
	return cpu != run.refused;
}

static int got_page(void *context, int cpu, const void *page, size_t length, bool last)
{
	assert_int_equal(length, PAGE);
	assert_false(last);
	if (++run.pages == run.fail_at)
		return -EPIPE;
	run.used += snprintf(run.out + run.used, sizeof(run.out) - run.used, "%d:%c ", cpu,
			     *(const char *)page);
	assert_true(run.used < sizeof(run.out));
	return 0;
}

static void left_with_data(void *context, int cpu)
{
	run.used += snprintf(run.out + run.used, sizeof(run.out) - run.used, "%d+ ", cpu);
}

static const struct source_sink sink = { .ready = ready,
					 .page = got_page,
					 .left_with_data = left_with_data };

/* Forgets what came. */
static void forget(void)
{
	memset(&run, 0, sizeof(run));
	run.refused = -1;
}

static int setup(void **state)
{
	forget();
	return make_test_directory(state);
}

static int teardown(void **state)
{
	cpu_buffers_close(buffers);
	buffers = NULL;
	return remove_test_directory(state);
}

static const char *name_of(int cpu)
{
	static char name[64];

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	return name;
}

/* A file of so many pages, each full of its letter. */
static void put_cpu(int cpu, int pages)
{
	char *bytes = malloc((size_t)pages * PAGE + 1);

	for (int i = 0; i < pages; i++)
		memset(bytes + i * PAGE, 'a' + i % 26, PAGE);
	put_bytes(name_of(cpu), bytes, (size_t)pages * PAGE);
	free(bytes);
}

static void open_all(void)
{
	assert_int_equal(cpu_buffers_open(&buffers, test_directory, PAGE, &failure), 0);
}

static int read_round(void)
{
	return cpu_buffers_round(buffers, &sink);
}

static void test_sparse_numbers_in_order(void **state)
{
	put_cpu(10, 1);
	put_cpu(2, 2);
	put_cpu(0, 1);
	put_text("per_cpu/cpu/trace_pipe_raw", "");
	put_text("per_cpu/cpu3x/trace_pipe_raw", "");
	put_text("per_cpu/cpu-1/trace_pipe_raw", "");
	put_text("per_cpu/stats", "");
	open_all();
	assert_int_equal(cpu_buffers_count(buffers), 3);
	assert_int_equal(cpu_buffers_cpu(buffers, 0), 0);
	assert_int_equal(cpu_buffers_cpu(buffers, 1), 2);
	assert_int_equal(cpu_buffers_cpu(buffers, 2), 10);
	assert_true(cpu_buffers_fd(buffers, 2) >= 0);
	forget();
	assert_int_equal(read_round(), 4);
	assert_string_equal(run.out, "0:a 2:a 2:b 10:a ");
	assert_int_equal(read_round(), 0);
	assert_int_equal(cpu_buffers_errors(buffers), 0);
}

static void test_directories(void **state)
{
	int *cpus = NULL;

	assert_int_equal(cpu_directories(test_directory, &cpus), -ENOENT);
	make_test_folders("per_cpu/x");
	assert_int_equal(cpu_directories(test_directory, &cpus), 0);
	assert_null(cpus);
	make_test_folders("per_cpu/cpu100/x");
	make_test_folders("per_cpu/cpu9/x");
	assert_int_equal(cpu_directories(test_directory, &cpus), 2);
	assert_int_equal(cpus[0], 9);
	assert_int_equal(cpus[1], 100);
	free(cpus);
}

static void test_no_cpu(void **state)
{
	assert_int_equal(cpu_buffers_open(&buffers, test_directory, PAGE, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	make_test_folders("per_cpu/cpu0/x");
	assert_int_equal(cpu_buffers_open(&buffers, test_directory, PAGE, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_null(buffers);
}

/* One that cannot be opened does not stop the rest, and may come back. */
static void test_offline_cpu(void **state)
{
	put_cpu(0, 1);
	make_test_folders("per_cpu/cpu1/x");
	put_cpu(2, 1);
	open_all();
	assert_int_equal(cpu_buffers_count(buffers), 3);
	assert_int_equal(cpu_buffers_fd(buffers, 1), -1);
	forget();
	assert_int_equal(read_round(), 2);
	assert_string_equal(run.out, "0:a 2:a ");
	cpu_buffers_reopen(buffers);
	assert_int_equal(cpu_buffers_fd(buffers, 1), -1);
	put_cpu(1, 1);
	cpu_buffers_reopen(buffers);
	assert_true(cpu_buffers_fd(buffers, 1) >= 0);
	assert_int_equal(read_round(), 1);
	assert_string_equal(run.out, "0:a 2:a 1:a ");
}

/* As tracing_stats_read() of the kernel prints it. */
static void put_stats(int overrun, int commit_overrun, int dropped)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "entries: 7\noverrun: %d\ncommit overrun: %d\nbytes: 900\n"
		 "oldest event ts:  5.1\nnow ts:  6.2\ndropped events: %d\nread events: 1000\n",
		 overrun, commit_overrun, dropped);
	put_text("per_cpu/cpu3/stats", text);
}

static void check_losses(uint64_t lost, uint64_t dropped)
{
	assert_int_equal(cpu_buffers_lost(buffers, 1), lost);
	assert_int_equal(cpu_buffers_dropped(buffers, 1), dropped);
}

/* The counters of a top-level buffer may come from somebody else's run. */
static void test_losses_since_it_was_opened(void **state)
{
	put_cpu(0, 1);
	put_cpu(3, 1);
	put_stats(1000, 10, 100);
	open_all();
	check_losses(0, 0);
	put_stats(1005, 10, 100);
	check_losses(5, 0);
	put_stats(1005, 12, 140);
	check_losses(47, 42);
	/* reset by somebody else */
	put_stats(3, 1, 0);
	check_losses(4, 1);
	unlink(test_path("per_cpu/cpu3/stats"));
	check_losses(0, 0);
	assert_int_equal(cpu_buffers_lost(buffers, 0), 0);
}

static void set_soft_limit(rlim_t soft)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = soft;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The next descriptor that open(2) returns. */
static int next_descriptor(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* CPUs that find no descriptor count as starved, offline ones do not; some descriptors are left to others. */
static void test_too_few_descriptors(void **state)
{
	struct rlimit before;
	int next = next_descriptor();

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int cpu = 0; cpu < 6; cpu++)
		put_cpu(cpu, 1);
	make_test_folders("per_cpu/cpu6/x");
	set_soft_limit((rlim_t)next + 4 + CPU_BUFFERS_FILES_SPARE);
	open_all();
	assert_int_equal(cpu_buffers_starved(buffers), 2);
	assert_true(cpu_buffers_fd(buffers, 3) >= 0);
	assert_int_equal(cpu_buffers_fd(buffers, 4), -1);
	assert_int_equal(cpu_buffers_fd(buffers, 6), -1);
	assert_int_equal(next_descriptor(), next + 4);
	assert_int_equal(cpu_buffers_reopen(buffers), 0);
	assert_int_equal(cpu_buffers_starved(buffers), 2);
	set_soft_limit((rlim_t)next + 5 + CPU_BUFFERS_FILES_SPARE);
	assert_int_equal(cpu_buffers_reopen(buffers), 1);
	assert_int_equal(cpu_buffers_starved(buffers), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(cpu_buffers_reopen(buffers), 1);
	assert_int_equal(cpu_buffers_starved(buffers), 0);
}

/* In a child of its own: a hard limit that is lowered stays low. Returns the soft limit after. */
static rlim_t allowed(rlim_t soft, rlim_t hard, char *text, size_t size)
{
	struct rlimit limit = { soft, hard };
	rlim_t after;
	int result[2], log[2], status;
	ssize_t length;
	pid_t pid;

	assert_int_equal(pipe(result), 0);
	assert_int_equal(pipe(log), 0);
	pid = fork();
	if (!pid) {
		dup2(log[1], STDERR_FILENO);
		if (setrlimit(RLIMIT_NOFILE, &limit))
			_exit(1);
		cpu_buffers_allow_files(test_directory, 2);
		getrlimit(RLIMIT_NOFILE, &limit);
		_exit(write(result[1], &limit.rlim_cur, sizeof(after)) != sizeof(after));
	}
	close(log[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(result[0], &after, sizeof(after)), sizeof(after));
	length = read(log[0], text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	close(log[0]);
	close(result[0]);
	close(result[1]);
	return after;
}

/* The soft limit is raised to what the CPUs need, as far as the hard one goes. */
static void test_limit_of_open_files(void **state)
{
	const rlim_t needed = 2 * 5 + CPU_BUFFERS_FILES_OTHERS;
	char text[512];

	for (int cpu = 0; cpu < 5; cpu++)
		put_cpu(cpu, 1);
	assert_int_equal(allowed(needed + 1, needed + 9, text, sizeof(text)), needed + 1);
	assert_string_equal(text, "");
	assert_int_equal(allowed(needed - 8, needed, text, sizeof(text)), needed);
	assert_string_equal(text, "");
	assert_int_equal(allowed(needed - 8, needed - 1, text, sizeof(text)), needed - 1);
	assert_non_null(strstr(text, "LimitNOFILE="));
}

/* A directory in its place opens but does not read. */
static void test_cpu_that_fails_to_read(void **state)
{
	make_test_folders("per_cpu/cpu0/trace_pipe_raw/x");
	put_cpu(1, 1);
	open_all();
	assert_int_equal(read_round(), 1);
	assert_string_equal(run.out, "1:a ");
	assert_int_equal(cpu_buffers_errors(buffers), 1);
}

static void test_quota(void **state)
{
	put_cpu(0, 2 * SOURCE_QUOTA);
	put_cpu(1, 1);
	open_all();
	assert_int_equal(read_round(), SOURCE_QUOTA + 1);
	assert_non_null(strstr(run.out, "0:f 0+ 1:a ")); /* the 32nd letter */
	run.used = 0;
	assert_int_equal(read_round(), SOURCE_QUOTA);
	assert_non_null(strstr(run.out, "0+ "));
	assert_null(strstr(run.out, "1+ "));
	run.used = 0;
	run.out[0] = '\0';
	assert_int_equal(read_round(), 0);
	assert_string_equal(run.out, "");
}

/* Nobody is always first. */
static void test_turns_rotate(void **state)
{
	for (int cpu = 0; cpu < 3; cpu++)
		put_cpu(cpu, 3 * SOURCE_QUOTA);
	open_all();
	for (int round = 0; round < 3; round++) {
		forget();
		assert_int_equal(read_round(), 3 * SOURCE_QUOTA);
		assert_int_equal(run.out[0], '0' + round);
	}
}

/* Without room nothing is read, and what was not read counts as left. */
static void test_no_room(void **state)
{
	put_cpu(0, 1);
	put_cpu(1, 1);
	open_all();
	run.refused = 0;
	assert_int_equal(read_round(), 1);
	assert_string_equal(run.out, "0+ 1:a ");
	run.refused = -1;
	assert_int_equal(read_round(), 1);
	assert_string_equal(run.out, "0+ 1:a 0:a ");
}

static void test_sink_that_fails(void **state)
{
	put_cpu(0, 3);
	open_all();
	run.fail_at = 2;
	assert_int_equal(read_round(), -EPIPE);
}

/* As the kernel's file: nothing there is EAGAIN and no error, and reading never waits. */
static void test_fifo(void **state)
{
	static char page[PAGE];
	int fd;

	make_test_folders(name_of(0));
	assert_int_equal(mkfifo(test_path(name_of(0)), 0600), 0);
	fd = open(test_path(name_of(0)), O_RDWR);
	assert_true(fd >= 0);
	open_all();
	assert_int_equal(read_round(), 0);
	memset(page, 'p', sizeof(page));
	for (int i = 0; i < 3; i++)
		assert_int_equal(write(fd, page, sizeof(page)), PAGE);
	assert_int_equal(read_round(), 3);
	assert_int_equal(read_round(), 0);
	assert_int_equal(cpu_buffers_errors(buffers), 0);
	assert_string_equal(run.out, "0:p 0:p 0:p ");
	close(fd);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_sparse_numbers_in_order),
		RUN(test_directories),
		RUN(test_no_cpu),
		RUN(test_offline_cpu),
		RUN(test_losses_since_it_was_opened),
		RUN(test_too_few_descriptors),
		RUN(test_limit_of_open_files),
		RUN(test_cpu_that_fails_to_read),
		RUN(test_quota),
		RUN(test_turns_rotate),
		RUN(test_no_room),
		RUN(test_sink_that_fails),
		RUN(test_fifo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
