// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <sys/wait.h>
#include <tracefs.h>

#include "allocfilt/base/trace_dir.h"
#include "allocfilt/tracing/cpu_buffers.h"
#include "captured_stderr.h"
#include "cpu_files.h"
#include "unit_test.h"

static struct cpu_buffers *buffers;
static struct failure failure;

static int setup(void **state)
{
	forget_pages();
	return make_test_directory(state);
}

static int teardown(void **state)
{
	cpu_buffers_close(buffers);
	buffers = NULL;
	return remove_test_directory(state);
}

static int open_buffers(void)
{
	struct cpu_list cpus = { NULL };
	int *numbers = NULL, ret;

	cpus.count = cpu_directories(test_directory, &numbers);
	cpus.numbers = numbers;
	ret = cpu_buffers_open(&buffers, test_directory, &cpus, PAGE, &failure);
	free(numbers);
	return ret;
}

static void open_all(void)
{
	assert_int_equal(open_buffers(), 0);
}

/* Reads a page of each CPU in turn until there is none. Returns how many there were. */
static int read_all(void)
{
	int before = came.pages, more;

	do {
		more = came.pages;
		for (int i = 0; i < cpu_buffers_count(buffers); i++) {
			const void *page;
			size_t length = cpu_buffers_read(buffers, i, &page);

			if (length)
				note_page(cpu_buffers_cpu(buffers, i), page, length, false);
		}
	} while (came.pages > more);
	return came.pages - before;
}

#define RUN(test) UNIT_TEST_WITH(test, setup, teardown)

RUN(test_sparse_numbers_in_order)
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
	forget_pages();
	assert_int_equal(read_all(), 4);
	assert_string_equal(came.out, "0:a 2:a 10:a 2:b ");
	assert_int_equal(came.length, PAGE);
	assert_int_equal(read_all(), 0);
	assert_int_equal(cpu_buffers_errors(buffers), 0);
}

RUN(test_no_cpu)
{
	int *cpus = NULL;

	assert_int_equal(cpu_directories(test_directory, &cpus), -ENOENT);
	make_test_folders("per_cpu/x");
	assert_int_equal(cpu_directories(test_directory, &cpus), 0);
	assert_null(cpus);
	make_test_folders("per_cpu/cpu0/x");
	assert_int_equal(open_buffers(), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
	assert_null(buffers);
}

/* One that cannot be opened does not stop the rest, and may come back. */
RUN(test_offline_cpu)
{
	put_cpu(0, 1);
	make_test_folders("per_cpu/cpu1/x");
	put_cpu(2, 1);
	open_all();
	assert_int_equal(cpu_buffers_count(buffers), 3);
	assert_int_equal(cpu_buffers_fd(buffers, 1), -1);
	forget_pages();
	assert_int_equal(read_all(), 2);
	assert_string_equal(came.out, "0:a 2:a ");
	cpu_buffers_reopen(buffers);
	assert_int_equal(cpu_buffers_fd(buffers, 1), -1);
	put_cpu(1, 1);
	cpu_buffers_reopen(buffers);
	assert_true(cpu_buffers_fd(buffers, 1) >= 0);
	assert_int_equal(read_all(), 1);
	assert_string_equal(came.out, "0:a 2:a 1:a ");
}

static int read_error;

int tracefs_cpu_read(struct tracefs_cpu *cpu, void *page, bool nonblock)
{
	int (*read_it)(struct tracefs_cpu *, void *, bool) = dlsym(RTLD_NEXT, "tracefs_cpu_read");

	errno = read_error;
	return errno ? -1 : read_it(cpu, page, nonblock);
}

/* A CPU that went offline is no error of reading. */
RUN(test_errors)
{
	put_cpu(0, 1);
	open_all();
	for (int i = 0; i < 2; i++) {
		read_error = i ? EIO : ENODEV;
		assert_int_equal(read_all(), 0);
		assert_int_equal(cpu_buffers_errors(buffers), i);
	}
	read_error = 0;
}

/* As tracing_stats_read() of the kernel prints it. */
static void put_stats(int overrun, int commit_overrun, int dropped, int read)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "entries: 7\noverrun: %d\ncommit overrun: %d\nbytes: 900\n"
		 "oldest event ts:  5.1\nnow ts:  6.2\ndropped events: %d\nread events: %d\n",
		 overrun, commit_overrun, dropped, read);
	put_text("per_cpu/cpu3/stats", text);
}

static void check_counts(uint64_t lost, uint64_t dropped, uint64_t read)
{
	assert_int_equal(cpu_buffers_records(buffers, 1, CPU_LOST), lost);
	assert_int_equal(cpu_buffers_records(buffers, 1, CPU_DROPPED), dropped);
	assert_int_equal(cpu_buffers_records(buffers, 1, CPU_READ), read);
}

/* The counters of a top-level buffer may come from somebody else's run. */
RUN(test_counts_since_it_was_opened)
{
	put_cpu(0, 1);
	put_cpu(3, 1);
	put_stats(1000, 10, 100, 1000);
	open_all();
	check_counts(0, 0, 0);
	put_stats(1005, 10, 100, 1300);
	check_counts(5, 0, 300);
	put_stats(1005, 12, 140, 1300);
	check_counts(47, 42, 300);
	/* reset by somebody else */
	put_stats(3, 1, 0, 20);
	check_counts(4, 1, 20);
	unlink(test_path("per_cpu/cpu3/stats"));
	check_counts(0, 0, 0);
	assert_int_equal(cpu_buffers_records(buffers, 0, CPU_LOST), 0);
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
RUN(test_too_few_descriptors)
{
	int next = next_descriptor() + 1; /* behind the directory's */
	rlim_t before;

	for (int cpu = 0; cpu < 6; cpu++)
		put_cpu(cpu, 1);
	make_test_folders("per_cpu/cpu6/x");
	before = set_soft_limit(RLIMIT_NOFILE, next + 4 + CPU_BUFFERS_FILES_SPARE);
	open_all();
	assert_int_equal(cpu_buffers_starved(buffers), 2);
	assert_true(cpu_buffers_fd(buffers, 3) >= 0);
	assert_int_equal(cpu_buffers_fd(buffers, 4), -1);
	assert_int_equal(cpu_buffers_fd(buffers, 6), -1);
	assert_int_equal(next_descriptor(), next + 4);
	assert_int_equal(cpu_buffers_reopen(buffers), 0);
	assert_int_equal(cpu_buffers_starved(buffers), 2);
	set_soft_limit(RLIMIT_NOFILE, next + 5 + CPU_BUFFERS_FILES_SPARE);
	assert_int_equal(cpu_buffers_reopen(buffers), 1);
	assert_int_equal(cpu_buffers_starved(buffers), 1);
	set_soft_limit(RLIMIT_NOFILE, before);
	assert_int_equal(cpu_buffers_reopen(buffers), 1);
	assert_int_equal(cpu_buffers_starved(buffers), 0);
}

/* In a child of its own: a hard limit that is lowered stays low. @said: NULL for nothing */
static void check_limit(rlim_t soft, rlim_t hard, rlim_t expected, const char *said)
{
	struct rlimit limit = { soft, hard };
	int status;
	pid_t pid = fork();

	if (!pid) {
		const char *text;

		if (setrlimit(RLIMIT_NOFILE, &limit))
			_exit(1);
		capture_stderr();
		cpu_buffers_allow_files(test_directory, 2);
		text = captured();
		getrlimit(RLIMIT_NOFILE, &limit);
		_exit(limit.rlim_cur != expected || !!*text != !!said ||
		      (said && !strstr(text, said)));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The soft limit is raised to what the CPUs need, as far as the hard one goes. */
RUN(test_limit_of_open_files)
{
	const rlim_t needed = 2 * 5 + CPU_BUFFERS_FILES_OTHERS;

	for (int cpu = 0; cpu < 5; cpu++)
		put_cpu(cpu, 1);
	check_limit(needed + 1, needed + 9, needed + 1, NULL);
	check_limit(needed - 8, needed, needed, NULL);
	check_limit(needed - 8, needed - 1, needed - 1, "LimitNOFILE=");
}

/* A directory in its place opens but does not read. */
RUN(test_cpu_that_fails_to_read)
{
	make_test_folders("per_cpu/cpu0/trace_pipe_raw/x");
	put_cpu(1, 1);
	open_all();
	assert_int_equal(read_all(), 1);
	assert_string_equal(came.out, "1:a ");
	assert_int_equal(cpu_buffers_errors(buffers), 2);
}

/* A page stays as it is while other CPUs are read. */
RUN(test_pages_of_each_cpu)
{
	const void *pages[3];

	for (int cpu = 0; cpu < 3; cpu++)
		put_cpu(cpu, 1 + cpu);
	open_all();
	assert_int_equal(cpu_buffers_read(buffers, 2, &pages[2]), PAGE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cpu_buffers_read(buffers, i, &pages[i]), PAGE);
	assert_int_equal(*(const char *)pages[0], 'a');
	assert_int_equal(*(const char *)pages[1], 'a');
	assert_int_equal(*(const char *)pages[2], 'b');
}

/* As the kernel's file: nothing there is EAGAIN and no error, and reading never waits. */
RUN(test_fifo)
{
	static char page[PAGE];
	int fd;

	make_test_folders(cpu_file(0));
	assert_int_equal(mkfifo(test_path(cpu_file(0)), 0600), 0);
	fd = open(test_path(cpu_file(0)), O_RDWR);
	assert_true(fd >= 0);
	open_all();
	assert_int_equal(read_all(), 0);
	memset(page, 'p', sizeof(page));
	for (int i = 0; i < 3; i++)
		assert_int_equal(write(fd, page, sizeof(page)), PAGE);
	assert_int_equal(read_all(), 3);
	assert_int_equal(read_all(), 0);
	assert_int_equal(cpu_buffers_errors(buffers), 0);
	assert_string_equal(came.out, "0:p 0:p 0:p ");
	close(fd);
}

UNIT_TEST_MAIN(NULL, NULL)
