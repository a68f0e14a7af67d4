// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "allocfilt/capture/write.h"
#include "capture/file_sync.h"
#include "made_page.h"
#include "test_directory.h"
#include "unit_test.h"

#define PAGE 4096

#define NOBODY 65534

#define RAW(cpu) "new/per_cpu/cpu" #cpu "/trace_pipe_raw"

static struct capture_writer *writer;
static int from, to; /* a pipe in the place of trace_pipe_raw */

static bool refuse_to_sync; /* without waiting for it */
static int started, waited; /* syncs */
static int sync_error;

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	va_list list;
	long arguments[6];

	va_start(list, number);
	for (size_t i = 0; i < COUNT(arguments); i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_io_setup && refuse_to_sync) {
		errno = ENOSYS;
		return -1;
	}
	started += number == SYS_io_submit;
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}

int fsync(int fd)
{
	waited++;
	errno = sync_error;
	return sync_error ? -1 : 0;
}

static void create(void)
{
	static const struct page_layout layout = { .size = PAGE };
	struct failure failure = { .text = "" };

	capture_writer_free(writer);
	assert_int_equal(capture_create(&writer, test_path("new"), &failure), 0);
	assert_int_equal(capture_set_layout(writer, &layout, false), 0);
}

static int set_up(void **state)
{
	int fds[2];

	if (make_test_directory(state) || pipe2(fds, O_NONBLOCK))
		return -1;
	from = fds[0];
	to = fds[1];
	return 0;
}

static int tear_down(void **state)
{
	capture_writer_free(writer);
	writer = NULL;
	close(from);
	close(to);
	return remove_test_directory(state);
}

static void check_mode(const char *name, mode_t type, mode_t mode)
{
	struct stat status;

	assert_int_equal(lstat(test_path(name), &status), 0);
	assert_int_equal(status.st_mode & S_IFMT, type);
	assert_int_equal(status.st_mode & 07777, mode);
}

/* The bytes of a file; free() them. */
static char *read_bytes(const char *name, size_t expected_length)
{
	size_t length;
	char *bytes;

	assert_int_equal(file_read(test_directory, name, &bytes, &length), 0);
	assert_int_equal(length, expected_length);
	return bytes;
}

static void check_size(const char *name, size_t size)
{
	free(read_bytes(name, size));
}

static int set_up_writer(void **state)
{
	if (set_up(state))
		return -1;
	create();
	return 0;
}

#define RUN(test)    UNIT_TEST_WITH(test, set_up, tear_down)
#define RUN_IN(test) UNIT_TEST_WITH(test, set_up_writer, tear_down)

/* --- the directory --- */

/* A directory that is there and empty becomes private. */
RUN(test_new_directory)
{
	mode_t mask = umask(0);

	assert_int_equal(mkdir(test_path("new"), 0755), 0);
	create();
	check_mode("new", S_IFDIR, 0700);
	assert_int_equal(rmdir(test_path("new")), 0);
	create();
	check_mode("new", S_IFDIR, 0700);
	assert_int_equal(capture_put(writer, "a/b/c", "text", 4), 0);
	assert_int_equal(capture_add_cpu(writer, 12), 0);
	check_mode("new/a", S_IFDIR, 0700);
	check_mode("new/a/b", S_IFDIR, 0700);
	check_mode("new/a/b/c", S_IFREG, 0600);
	check_mode("new/per_cpu/cpu12", S_IFDIR, 0700);
	check_mode(RAW(12), S_IFREG, 0600);
	umask(mask);
}

static void check_refused(const char *name, int error, enum exit_status status)
{
	struct failure failure = { .text = "" };

	assert_int_equal(capture_create(&writer, test_path(name), &failure), -error);
	assert_int_equal(failure.status, status);
	assert_non_null(strstr(failure.text, test_path(name)));
	assert_null(writer);
}

RUN(test_directory_that_is_refused)
{
	rlim_t limit;

	put_text("full/.hidden", "mine\n");
	assert_int_equal(chmod(test_path("full"), 0755), 0);
	check_refused("full", EEXIST, EXIT_STATUS_USAGE);
	check_mode("full", S_IFDIR, 0755);
	assert_text("full/.hidden", "mine\n");
	put_text("file", "mine\n");
	check_refused("file", ENOTDIR, EXIT_STATUS_USAGE);
	assert_text("file", "mine\n");
	check_refused("no/such/parent", ENOENT, EXIT_STATUS_USAGE);
	check_refused("file/below", ENOTDIR, EXIT_STATUS_USAGE);
	/* not an error of usage */
	limit = set_soft_limit(RLIMIT_NOFILE, 0);
	check_refused("new", EMFILE, EXIT_STATUS_RUN_TIME);
	set_soft_limit(RLIMIT_NOFILE, limit);
}

/* What another user can change, or could lead elsewhere, is refused and stays as it is. */
RUN(test_directory_of_others)
{
	assert_int_equal(mkdir(test_path("shared"), 0700), 0);
	assert_int_equal(chmod(test_path("shared"), 0770), 0);
	check_refused("shared", EPERM, EXIT_STATUS_USAGE);
	check_mode("shared", S_IFDIR, 0770);
	assert_int_equal(chmod(test_path("shared"), 01777), 0);
	check_refused("shared", EPERM, EXIT_STATUS_USAGE);
	assert_int_equal(mkdir(test_path("real"), 0755), 0);
	assert_int_equal(symlink("real", test_path("link")), 0);
	check_refused("link", ENOTDIR, EXIT_STATUS_USAGE);
	check_refused("link/", ENOTDIR, EXIT_STATUS_USAGE);
	check_mode("real", S_IFDIR, 0755);
	if (geteuid())
		return;
	assert_int_equal(chown(test_path("real"), NOBODY, NOBODY), 0);
	check_refused("real", EPERM, EXIT_STATUS_USAGE);
	check_mode("real", S_IFDIR, 0755);
}

/* --- files --- */

/* No link in the directory leads out of it. */
RUN_IN(test_links_are_not_followed)
{
	put_text("victim/file", "mine\n");
	assert_int_equal(symlink("../victim", test_path("new/events")), 0);
	assert_int_equal(capture_put(writer, "events/file", "text", 4), -ELOOP);
	assert_int_equal(symlink("../victim/file", test_path("new/capture")), 0);
	assert_int_equal(capture_put(writer, "capture", "text", 4), -ELOOP);
	assert_int_equal(unlink(test_path("new/capture")), 0);
	assert_int_equal(symlink("../victim/file", test_path("new/.capture.allocfilt")), 0);
	assert_int_equal(capture_put(writer, "capture", "text", 4), 0);
	assert_text("new/capture", "text");
	assert_int_equal(mkdir(test_path("new/per_cpu"), 0700), 0);
	assert_int_equal(symlink("../../victim", test_path("new/per_cpu/cpu0")), 0);
	assert_int_equal(capture_add_cpu(writer, 0), -ELOOP);
	assert_int_equal(mkdir(test_path("new/per_cpu/cpu1"), 0700), 0);
	assert_int_equal(symlink("../../../victim/new", test_path(RAW(1))), 0);
	assert_int_equal(capture_add_cpu(writer, 1), -EEXIST);
	assert_text("victim/file", "mine\n");
	assert_int_equal(unlink(test_path("victim/file")), 0);
	assert_int_equal(rmdir(test_path("victim")), 0);
}

/* It is the directory that was made, also where another one has its name by now. */
RUN_IN(test_directory_that_was_replaced)
{
	const char *old = strdupa(test_path("old"));

	assert_int_equal(rename(test_path("new"), old), 0);
	assert_int_equal(mkdir(test_path("new"), 0700), 0);
	assert_int_equal(capture_put(writer, "events/file", "text", 4), 0);
	assert_text("old/events/file", "text");
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	assert_int_equal(access(test_path("old/per_cpu/cpu0/trace_pipe_raw"), F_OK), 0);
	assert_int_equal(rmdir(test_path("new")), 0);
}

RUN_IN(test_put_replaces_whole_files)
{
	assert_int_equal(capture_put(writer, "capture", "first, and longer\n", 18), 0);
	assert_int_equal(capture_put(writer, "capture", "second\n", 7), 0);
	assert_text("new/capture", "second\n");
	assert_int_equal(capture_put(writer, "empty", "", 0), 0);
	assert_text("new/empty", "");
	assert_int_equal(capture_put(writer, "empty/b", "text", 4), -ENOTDIR);
}

/* On a full disk the old file is unchanged, and no part of the new one is left. */
RUN_IN(test_put_on_a_full_disk)
{
	char text[2 * PAGE] = "newer";
	rlim_t limit;
	int ret;

	assert_int_equal(capture_put(writer, "capture", "older\n", 6), 0);
	limit = set_soft_limit(RLIMIT_FSIZE, PAGE);
	ret = capture_put(writer, "capture", text, sizeof(text));
	set_soft_limit(RLIMIT_FSIZE, limit);
	assert_int_equal(ret, -EFBIG);
	assert_text("new/capture", "older\n");
	assert_int_equal(unlink(test_path("new/capture")), 0);
	assert_int_equal(rmdir(test_path("new")), 0);
}

RUN_IN(test_copy)
{
	put_text("from/events/vmscan/x/format", "ID: 3\n");
	assert_int_equal(capture_copy(writer, test_path("from"), "events/vmscan/x/format"), 0);
	assert_text("new/events/vmscan/x/format", "ID: 3\n");
	assert_int_equal(capture_copy(writer, test_path("from"), "trace_clock"), -ENOENT);
	assert_int_not_equal(access(test_path("new/trace_clock"), F_OK), 0);
}

/* --- data --- */

static void put_page(char letter)
{
	char page[PAGE];

	memset(page, letter, sizeof(page));
	assert_int_equal(write(to, page, sizeof(page)), PAGE);
}

RUN_IN(test_drain_a_pipe)
{
	char *bytes;

	assert_int_equal(capture_add_cpu(writer, 3), 0);
	assert_int_equal(capture_drain(writer, 3, from), 0);
	put_page('a');
	put_page('b');
	assert_int_equal(capture_drain(writer, 3, from), 2 * PAGE);
	put_page('c');
	assert_int_equal(capture_drain(writer, 3, from), PAGE);
	assert_int_equal(capture_drain(writer, 3, from), 0);
	assert_int_equal(capture_bytes(writer), 3 * PAGE);
	bytes = read_bytes(RAW(3), 3 * PAGE);
	assert_int_equal(bytes[0], 'a');
	assert_int_equal(bytes[PAGE], 'b');
	assert_int_equal(bytes[3 * PAGE - 1], 'c');
	free(bytes);
}

RUN_IN(test_each_cpu_its_file)
{
	assert_int_equal(capture_add_cpu(writer, 40), 0);
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	put_page('x');
	assert_int_equal(capture_drain(writer, 0, from), PAGE);
	put_page('y');
	put_page('y');
	assert_int_equal(capture_drain(writer, 40, from), 2 * PAGE);
	check_size(RAW(0), PAGE);
	check_size(RAW(40), 2 * PAGE);
	/* a CPU that was never added, or is not open */
	put_page('z');
	assert_int_equal(capture_drain(writer, 5, from), 0);
	assert_int_equal(capture_drain(writer, 41, from), 0);
	assert_int_equal(capture_drain(writer, -1, from), 0);
	assert_int_equal(capture_drain(writer, 0, -1), 0);
	assert_int_equal(capture_bytes(writer), 3 * PAGE);
	/* an existing file is not overwritten */
	put_text(RAW(1), "mine");
	assert_int_equal(capture_add_cpu(writer, 1), -EEXIST);
	assert_text(RAW(1), "mine");
}

/* A partly filled page becomes a whole page of the file. */
RUN_IN(test_rest_is_padded)
{
	char *bytes;

	assert_int_equal(capture_add_cpu(writer, 0), 0);
	assert_int_equal(write(to, "rest", 4), 4);
	assert_int_equal(capture_drain_rest(writer, 0, from), PAGE);
	assert_int_equal(capture_drain_rest(writer, 0, from), 0);
	assert_int_equal(capture_drain_rest(writer, 7, from), 0);
	bytes = read_bytes(RAW(0), PAGE);
	assert_memory_equal(bytes, "rest\0\0\0", 7);
	assert_int_equal(bytes[PAGE - 1], 0);
	free(bytes);
}

/* An eventfd supports read but not splice; the first call falls back to read. */
RUN_IN(test_drain_by_read)
{
	uint64_t value = 5;
	int fd = eventfd(5, EFD_NONBLOCK);
	char *bytes;

	assert_int_equal(capture_add_cpu(writer, 0), 0);
	assert_int_equal(capture_drain(writer, 0, fd), PAGE);
	assert_int_equal(capture_drain(writer, 0, fd), 0);
	assert_int_equal(write(fd, &value, sizeof(value)), sizeof(value));
	assert_int_equal(capture_drain(writer, 0, fd), PAGE);
	assert_int_equal(capture_bytes(writer), 2 * PAGE);
	bytes = read_bytes(RAW(0), 2 * PAGE);
	assert_memory_equal(bytes, &value, sizeof(value));
	assert_memory_equal(bytes + PAGE, &value, sizeof(value));
	free(bytes);
	close(fd);
}

/* A full disk: the errno is returned, and the pages written so far stay, the last one whole. */
static void check_full_disk(int64_t (*drain)(struct capture_writer *writer, int cpu, int fd))
{
	rlim_t limit;
	int64_t ret;

	assert_int_equal(capture_add_cpu(writer, 0), 0);
	put_page('a');
	assert_int_equal(capture_drain(writer, 0, from), PAGE);
	limit = set_soft_limit(RLIMIT_FSIZE, PAGE + 100);
	put_page('b');
	ret = drain(writer, 0, from);
	set_soft_limit(RLIMIT_FSIZE, limit);
	assert_int_equal(ret, -EFBIG);
	assert_int_equal(capture_bytes(writer), PAGE);
	check_size(RAW(0), PAGE);
	put_page('c');
	assert_int_equal(capture_drain_rest(writer, 0, from), PAGE);
	check_size(RAW(0), 2 * PAGE);
}

RUN_IN(test_full_disk_by_splice)
{
	check_full_disk(capture_drain);
}

RUN_IN(test_full_disk_by_read)
{
	check_full_disk(capture_drain_rest);
}

/* --- pages that were read --- */

/* Adds a page of a number of records of 100 bytes, 3 ns apart. */
static void add_page(const struct page_layout *layout, uint64_t ts, int records, uint64_t bits)
{
	char data[100];
	struct made_page page;

	made_begin(&page, layout, ts);
	memset(data, 'a' + records % 26, sizeof(data));
	for (int i = 0; i < records; i++)
		made_record(&page, i ? 3 : 0, data, sizeof(data));
	made_end(&page, bits);
	assert_int_equal(capture_add_page(writer, 0, page.bytes, sizeof(page.bytes)), 0);
}

static void check_page(const struct page_layout *layout, const char *bytes, uint64_t newest,
		       size_t records, int64_t lost)
{
	struct page_content content;

	assert_int_equal(page_check(layout, bytes, PAGE, &content), PAGE_GOOD);
	assert_int_equal(content.newest, newest);
	assert_int_equal(content.size, records * 104);
	assert_int_equal(content.lost, lost);
}

/* What the kernel gives in parts is a page again, unless records were lost or it is too much. */
RUN(test_parts_of_a_page)
{
	for (size_t i = 0; i < MADE_LAYOUTS; i++) {
		const struct page_layout *layout = &made_layouts[i];
		char *bytes;

		if (layout->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
			continue;
		tear_down(state);
		set_up(state);
		create();
		assert_int_equal(capture_set_layout(writer, layout, true), 0);
		assert_int_equal(capture_add_cpu(writer, 0), 0);
		add_page(layout, 1000, 4, 0);
		add_page(layout, 1009, 0, 0);
		add_page(layout, 1009, 1, 0);
		add_page(layout, 1009, 30, 0); /* up to 1096: 35 records */
		assert_int_equal(capture_bytes(writer), 0);
		add_page(layout, 1096, 8, 0); /* too much; up to 1117 */
		assert_int_equal(capture_bytes(writer), PAGE);
		add_page(layout, 1118, 2, 0); /* another time; up to 1121 */
		add_page(layout, 1121, 1, MADE_MISSED);
		add_page(layout, 1121, 1, 0);
		assert_int_equal(capture_bytes(writer), 4 * PAGE);
		assert_int_equal(capture_flush(writer), 0);
		assert_int_equal(capture_flush(writer), 0);
		bytes = read_bytes(RAW(0), 5 * PAGE);
		check_page(layout, bytes, 1096, 35, 0);
		assert_int_equal(bytes[layout->header + 34 * 104 + 4], 'a' + 30 % 26);
		check_page(layout, bytes + PAGE, 1117, 8, 0);
		check_page(layout, bytes + 2 * PAGE, 1121, 2, 0);
		check_page(layout, bytes + 3 * PAGE, 1121, 1, RECORD_LOST_UNKNOWN);
		check_page(layout, bytes + 4 * PAGE, 1121, 1, 0);
		free(bytes);
	}
}

/* --- to the disk --- */

/* Files and directories of it, and the directory that has its name. */
RUN_IN(test_sync)
{
	assert_int_equal(capture_put(writer, "events/header_page", "text", 4), 0);
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	started = waited = 0;
	capture_sync_all(writer);
	assert_int_equal(started, 7);
	assert_int_equal(capture_synced(writer, true), 0);
	assert_int_equal(waited, 0);
	/* of the data only what is new */
	capture_sync_data(writer);
	assert_int_equal(started, 8);
	assert_int_equal(capture_synced(writer, true), 0);
	capture_sync_data(writer);
	assert_int_equal(started, 8);
	put_page('a');
	assert_int_equal(capture_drain(writer, 0, from), PAGE);
	capture_sync_data(writer);
	assert_int_equal(started, 9);
	assert_int_equal(capture_synced(writer, true), 0);
}

/* One that finds no room waits for room, not until all are done. */
RUN(test_sync_of_many_files)
{
	struct file_sync sync;
	int fd = open(test_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	file_sync_init(&sync);
	assert_true(sync.context);
	waited = 0;
	for (int i = 0; i < 1025; i++)
		file_sync_start(&sync, fd);
	assert_in_range(sync.pending, 1000, 1024);
	assert_int_equal(waited, 0);
	assert_int_equal(file_sync_result(&sync, true), 0);
	assert_int_equal(sync.pending, 0);
	file_sync_end(&sync);
	close(fd);
}

/* A kernel or container that has no asynchronous fsync(). */
RUN(test_sync_that_waits)
{
	refuse_to_sync = true;
	create();
	refuse_to_sync = false;
	assert_int_equal(capture_add_cpu(writer, 0), 0);
	started = waited = 0;
	capture_sync_all(writer);
	assert_int_equal(started, 0);
	assert_int_equal(waited, 5);
	assert_int_equal(capture_synced(writer, false), 0);
	sync_error = EIO;
	capture_sync_data(writer);
	sync_error = 0;
	assert_int_equal(capture_synced(writer, false), -EIO);
	assert_int_equal(capture_synced(writer, true), 0);
}

/* A segment that cannot be begun leaves nothing in the way of the next try. */
RUN_IN(test_segment_without_a_descriptor)
{
	rlim_t limit;

	limit = set_soft_limit(RLIMIT_NOFILE, 0);
	assert_int_equal(capture_begin_segment(writer, true), -EMFILE);
	set_soft_limit(RLIMIT_NOFILE, limit);
	assert_int_equal(capture_segment(writer), 0);
	assert_int_equal(capture_begin_segment(writer, true), 0);
	assert_int_equal(capture_settle_segment(writer, -ENOSPC), -ENOSPC);
	assert_int_equal(capture_segment(writer), 0);
	assert_int_equal(capture_begin_segment(writer, true), 0);
	assert_int_equal(capture_settle_segment(writer, 0), 0);
	check_mode("new/000001", S_IFDIR, 0700);
}

/* Files are linked from segment to segment while they are unchanged. */
RUN_IN(test_copies_of_segments)
{
	for (int i = 0; i < 4; i++) {
		put_text("kallsyms", i < 2 ? "old\n" : "new\n");
		assert_int_equal(capture_begin_segment(writer, i % 2), 0);
		assert_int_equal(capture_copy(writer, test_directory, "kallsyms"), 0);
		assert_int_equal(capture_settle_segment(writer, 0), 0);
	}
	assert_text("new/000001/kallsyms", "old\n");
	assert_text("new/000002/kallsyms", "old\n");
	assert_text("new/000003/kallsyms", "new\n");
	assert_text("new/000004/kallsyms", "new\n");
	for (int i = 2; i <= 4; i += 2) {
		char name[32];
		struct stat status;

		snprintf(name, sizeof(name), "new/%06d/kallsyms", i);
		assert_int_equal(stat(test_path(name), &status), 0);
		assert_int_equal(status.st_nlink, 2);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
