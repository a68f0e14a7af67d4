// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "allocfilt/capture.h"
#include "test_directory.h"
#include "unit_test.h"

#define PAGE 4096

static struct capture_writer *create(void)
{
	struct capture_writer *writer = NULL;
	struct failure failure = { .text = "" };

	assert_int_equal(capture_create(&writer, test_path("new"), PAGE, &failure), 0);
	return writer;
}

static void check_mode(const char *name, mode_t type, mode_t mode)
{
	struct stat status;

	assert_int_equal(lstat(test_path(name), &status), 0);
	assert_int_equal(status.st_mode & S_IFMT, type);
	assert_int_equal(status.st_mode & 07777, mode);
}

static size_t read_back(const char *name, char *bytes, size_t size)
{
	FILE *file = fopen(test_path(name), "r");
	size_t length;

	assert_non_null(file);
	length = fread(bytes, 1, size, file);
	fclose(file);
	return length;
}

static void check_text(const char *name, const char *expected)
{
	char text[256];

	text[read_back(name, text, sizeof(text) - 1)] = '\0';
	assert_string_equal(text, expected);
}

static off_t size_of(const char *name)
{
	struct stat status;

	assert_int_equal(stat(test_path(name), &status), 0);
	return status.st_size;
}

/* --- the directory --- */

static void test_new_directory(void **state)
{
	mode_t mask = umask(0);
	struct capture_writer *writer = create();

	check_mode("new", S_IFDIR, 0700);
	assert_int_equal(capture_put(writer, "a/b/c", "text", 4), 0);
	assert_int_equal(capture_add_cpu(writer, 12), 0);
	check_mode("new/a", S_IFDIR, 0700);
	check_mode("new/a/b", S_IFDIR, 0700);
	check_mode("new/a/b/c", S_IFREG, 0600);
	check_mode("new/per_cpu/cpu12", S_IFDIR, 0700);
	check_mode("new/per_cpu/cpu12/trace_pipe_raw", S_IFREG, 0600);
	capture_writer_free(writer);
	capture_writer_free(NULL);
	umask(mask);
}

static void test_empty_directory_becomes_private(void **state)
{
	struct capture_writer *writer;

	assert_int_equal(mkdir(test_path("new"), 0755), 0);
	writer = create();
	check_mode("new", S_IFDIR, 0700);
	capture_writer_free(writer);
}

static void check_refused(const char *name, int error, enum exit_status status)
{
	struct capture_writer *writer = NULL;
	struct failure failure = { .text = "" };

	assert_int_equal(capture_create(&writer, test_path(name), PAGE, &failure), -error);
	assert_int_equal(failure.status, status);
	assert_non_null(strstr(failure.text, test_path(name)));
	assert_null(writer);
}

static void test_directory_that_is_refused(void **state)
{
	put_text("full/.hidden", "mine\n");
	check_refused("full", EEXIST, EXIT_STATUS_USAGE);
	check_text("full/.hidden", "mine\n");
	put_text("file", "mine\n");
	check_refused("file", EEXIST, EXIT_STATUS_USAGE);
	check_text("file", "mine\n");
	check_refused("no/such/parent", ENOENT, EXIT_STATUS_USAGE);
	check_refused("file/below", ENOTDIR, EXIT_STATUS_USAGE);
}

/* Not an error of usage. */
static void test_no_descriptor_left(void **state)
{
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	check_refused("new", EMFILE, EXIT_STATUS_RUN_TIME);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* --- files --- */

static void test_put_replaces_whole_files(void **state)
{
	struct capture_writer *writer = create();

	assert_int_equal(capture_put(writer, "capture", "first, and longer\n", 18), 0);
	assert_int_equal(capture_put(writer, "capture", "second\n", 7), 0);
	check_text("new/capture", "second\n");
	assert_int_equal(capture_put(writer, "empty", "", 0), 0);
	check_text("new/empty", "");
	assert_int_equal(capture_put(writer, "empty/b", "text", 4), -ENOTDIR);
	capture_writer_free(writer);
}

static struct rlimit no_limit;

/* Files can grow no further than this: a full disk that needs no disk of its own. */
static void limit_files(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &no_limit), 0);
	limit = no_limit;
	limit.rlim_cur = size;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_files(void)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &no_limit), 0);
}

/* On a full disk the old file is unchanged, and no part of the new one is left. */
static void test_put_on_a_full_disk(void **state)
{
	struct capture_writer *writer = create();
	char text[2 * PAGE] = "newer";
	int ret;

	assert_int_equal(capture_put(writer, "capture", "older\n", 6), 0);
	limit_files(PAGE);
	ret = capture_put(writer, "capture", text, sizeof(text));
	unlimit_files();
	assert_int_equal(ret, -EFBIG);
	check_text("new/capture", "older\n");
	assert_int_equal(unlink(test_path("new/capture")), 0);
	assert_int_equal(rmdir(test_path("new")), 0);
	capture_writer_free(writer);
}

static void test_copy(void **state)
{
	struct capture_writer *writer = create();

	put_text("from/events/vmscan/x/format", "ID: 3\n");
	assert_int_equal(capture_copy(writer, test_path("from"), "events/vmscan/x/format"), 0);
	check_text("new/events/vmscan/x/format", "ID: 3\n");
	assert_int_equal(capture_copy(writer, test_path("from"), "trace_clock"), -ENOENT);
	assert_int_not_equal(access(test_path("new/trace_clock"), F_OK), 0);
	capture_writer_free(writer);
}

/* --- data --- */

static void put_page(int fd, char letter)
{
	char page[PAGE];

	memset(page, letter, sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), PAGE);
}

static void end(struct capture_writer *writer, int fds[2])
{
	capture_writer_free(writer);
	close(fds[0]);
	close(fds[1]);
}

static void test_drain_a_pipe(void **state)
{
	struct capture_writer *writer = create();
	char bytes[4 * PAGE];
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(capture_add_cpu(writer, 3), 0);
	assert_int_equal(capture_drain(writer, 3, fds[0]), 0);
	put_page(fds[1], 'a');
	put_page(fds[1], 'b');
	assert_int_equal(capture_drain(writer, 3, fds[0]), 2 * PAGE);
	put_page(fds[1], 'c');
	assert_int_equal(capture_drain(writer, 3, fds[0]), PAGE);
	assert_int_equal(capture_drain(writer, 3, fds[0]), 0);
	assert_int_equal(capture_bytes(writer), 3 * PAGE);
	assert_int_equal(read_back("new/per_cpu/cpu3/trace_pipe_raw", bytes, sizeof(bytes)),
			 3 * PAGE);
	assert_int_equal(bytes[0], 'a');
	assert_int_equal(bytes[PAGE], 'b');
	assert_int_equal(bytes[3 * PAGE - 1], 'c');
	end(writer, fds);
}

static void test_each_cpu_its_file(void **state)
{
	struct capture_writer *writer = create();
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(capture_add_cpu(writer, 40), 0);
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	put_page(fds[1], 'x');
	assert_int_equal(capture_drain(writer, 0, fds[0]), PAGE);
	put_page(fds[1], 'y');
	put_page(fds[1], 'y');
	assert_int_equal(capture_drain(writer, 40, fds[0]), 2 * PAGE);
	assert_int_equal(size_of("new/per_cpu/cpu0/trace_pipe_raw"), PAGE);
	assert_int_equal(size_of("new/per_cpu/cpu40/trace_pipe_raw"), 2 * PAGE);
	/* a CPU that was never added, or is not open */
	put_page(fds[1], 'z');
	assert_int_equal(capture_drain(writer, 5, fds[0]), 0);
	assert_int_equal(capture_drain(writer, 41, fds[0]), 0);
	assert_int_equal(capture_drain(writer, -1, fds[0]), 0);
	assert_int_equal(capture_drain(writer, 0, -1), 0);
	assert_int_equal(capture_bytes(writer), 3 * PAGE);
	/* an existing file is not overwritten */
	put_text("new/per_cpu/cpu1/trace_pipe_raw", "mine");
	assert_int_equal(capture_add_cpu(writer, 1), -EEXIST);
	check_text("new/per_cpu/cpu1/trace_pipe_raw", "mine");
	end(writer, fds);
}

/* A partly filled page becomes a whole page of the file. */
static void test_rest_is_padded(void **state)
{
	struct capture_writer *writer = create();
	char bytes[2 * PAGE];
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	assert_int_equal(write(fds[1], "rest", 4), 4);
	assert_int_equal(capture_drain_rest(writer, 0, fds[0]), PAGE);
	assert_int_equal(capture_drain_rest(writer, 0, fds[0]), 0);
	assert_int_equal(capture_drain_rest(writer, 7, fds[0]), 0);
	assert_int_equal(read_back("new/per_cpu/cpu0/trace_pipe_raw", bytes, sizeof(bytes)), PAGE);
	assert_memory_equal(bytes, "rest\0\0\0", 7);
	assert_int_equal(bytes[PAGE - 1], 0);
	end(writer, fds);
}

/* An eventfd supports read but not splice; the first call falls back to read. */
static void test_drain_by_read(void **state)
{
	struct capture_writer *writer = create();
	uint64_t value = 5;
	char bytes[2 * PAGE];
	int fd = eventfd(5, EFD_NONBLOCK);

	assert_int_equal(capture_add_cpu(writer, 0), 0);
	assert_int_equal(capture_drain(writer, 0, fd), PAGE);
	assert_int_equal(capture_drain(writer, 0, fd), 0);
	assert_int_equal(write(fd, &value, sizeof(value)), sizeof(value));
	assert_int_equal(capture_drain(writer, 0, fd), PAGE);
	assert_int_equal(capture_bytes(writer), 2 * PAGE);
	capture_writer_free(writer);
	assert_int_equal(read_back("new/per_cpu/cpu0/trace_pipe_raw", bytes, sizeof(bytes)),
			 2 * PAGE);
	assert_memory_equal(bytes, &value, sizeof(value));
	assert_memory_equal(bytes + PAGE, &value, sizeof(value));
	close(fd);
}

/* A full disk: the errno is returned, and the data written so far stays. */
static void check_full_disk(bool by_read)
{
	struct capture_writer *writer = create();
	int64_t ret;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	put_page(fds[1], 'a');
	assert_int_equal(capture_drain(writer, 0, fds[0]), PAGE);
	limit_files(PAGE);
	put_page(fds[1], 'b');
	ret = by_read ? capture_drain_rest(writer, 0, fds[0]) : capture_drain(writer, 0, fds[0]);
	unlimit_files();
	assert_int_equal(ret, -EFBIG);
	assert_int_equal(capture_bytes(writer), PAGE);
	assert_int_equal(size_of("new/per_cpu/cpu0/trace_pipe_raw"), PAGE);
	end(writer, fds);
}

static void test_full_disk(void **state)
{
	check_full_disk(false);
	assert_int_equal(remove_test_directory(state), 0);
	assert_int_equal(make_test_directory(state), 0);
	check_full_disk(true);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, make_test_directory, remove_test_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_new_directory),
		RUN(test_empty_directory_becomes_private),
		RUN(test_directory_that_is_refused),
		RUN(test_no_descriptor_left),
		RUN(test_put_replaces_whole_files),
		RUN(test_put_on_a_full_disk),
		RUN(test_copy),
		RUN(test_drain_a_pipe),
		RUN(test_each_cpu_its_file),
		RUN(test_rest_is_padded),
		RUN(test_drain_by_read),
		RUN(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
