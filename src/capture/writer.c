// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/capture/write.h"
#include "capture/file_sync.h"

#define SPLICE_PAGES	 16 /* the buffers of a pipe */
#define SEGMENT_NAME_MAX 16

/* A page that the kernel may not have filled yet when it was read. */
struct held_page {
	char *bytes; /* NULL: pages are moved as they are */
	bool used;
	bool whole; /* nothing joins it */
	struct page_content content;
};

struct cpu_file {
	int fd; /* -1: the CPU was not added */
	bool synced;
	struct held_page held;
};

struct segment {
	unsigned int number; /* 0: the directory itself, there are no segments */
	int fd;
	struct cpu_file *files; /* by CPU */
	int nr_files;
};

struct capture_writer {
	char *dir;
	int dir_fd;
	struct segment now;    /* what is written goes there */
	struct segment before; /* while the present one is begun; its fd is -1: none */
	bool links;	       /* its files are linked to */
	size_t page_size;
	char *page;
	int pipe[2];
	bool can_splice;
	uint64_t bytes;
	struct file_sync sync;
	const struct page_layout *layout; /* NULL: pages are moved as they are */
};

uint64_t capture_bytes(const struct capture_writer *writer)
{
	return writer->bytes;
}

unsigned int capture_segment(const struct capture_writer *writer)
{
	return writer->now.number;
}

int capture_directory(const struct capture_writer *writer)
{
	return writer->dir_fd;
}

/* With a descriptor of its own, as closedir() closes it. */
static DIR *list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory)
		file_close(fd);
	return directory;
}

static struct dirent *next_entry(DIR *directory)
{
	struct dirent *entry;

	do {
		entry = readdir(directory);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	return entry;
}

/*
 * Calls @visit for each entry of a directory, and before that for the entries of a directory in it.
 */
static void walk(int dir,
		 void (*visit)(void *context, int dir, const char *name, bool is_directory),
		 void *context)
{
	DIR *directory = list(dir);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = next_entry(directory))) {
		int fd = dirfd(directory);
		int below =
			openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below >= 0) {
			walk(below, visit, context);
			close(below);
		}
		visit(context, fd, entry->d_name, below >= 0);
	}
	closedir(directory);
}

static bool is_empty(int dir)
{
	DIR *directory = list(dir);
	bool empty = directory && !next_entry(directory);

	if (directory)
		closedir(directory);
	return empty;
}

/* Returns a descriptor of the directory, made readable by its owner only, or -errno. */
static int make_directory(const char *dir, struct failure *failure)
{
	int fd = file_make_directory(dir), error = EPERM;
	const char *why;

	if (fd == -ENOTDIR)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOTDIR,
				   "-w %s: not a directory (a symbolic link is not followed), "
				   "name a new one",
				   dir);
	if (fd < 0)
		return failure_set(failure, failure_status_of_path(-fd), -fd, "-w %s: %m", dir);
	why = file_distrust(fd, S_IFDIR);
	if (!why && !is_empty(fd)) {
		error = EEXIST;
		why = "exists and is not an empty directory";
	} else if (!why && fchmod(fd, 0700)) {
		error = errno;
		why = strerror(error);
	}
	if (!why)
		return fd;
	close(fd);
	return failure_set(failure, EXIT_STATUS_USAGE, error, "-w %s: %s, name a new one", dir,
			   why);
}

int capture_create(struct capture_writer **ret_writer, const char *dir, struct failure *failure)
{
	int dir_fd = make_directory(dir, failure);
	struct capture_writer *writer;

	if (dir_fd < 0)
		return dir_fd;
	writer = calloc(1, sizeof(*writer));
	if (!writer) {
		close(dir_fd);
		return failure_no_memory(failure);
	}
	writer->dir_fd = dir_fd;
	writer->now.fd = dir_fd;
	writer->before.fd = -1;
	writer->dir = strdup(dir);
	file_sync_init(&writer->sync);
	writer->can_splice = !pipe2(writer->pipe, O_CLOEXEC | O_NONBLOCK);
	if (!writer->can_splice)
		writer->pipe[0] = writer->pipe[1] = -1;
	if (!writer->dir) {
		capture_writer_free(writer);
		return failure_no_memory(failure);
	}
	*ret_writer = writer;
	return 0;
}

int capture_set_layout(struct capture_writer *writer, const struct page_layout *layout, bool hold)
{
	char *page = realloc(writer->page, layout->size);

	if (!page)
		return -ENOMEM;
	writer->page = page;
	writer->page_size = layout->size;
	writer->layout = hold ? layout : NULL;
	return 0;
}

static void close_pipe(struct capture_writer *writer)
{
	file_close(writer->pipe[0]);
	file_close(writer->pipe[1]);
	writer->pipe[0] = -1;
	writer->pipe[1] = -1;
	writer->can_splice = false;
}

static void close_segment(struct segment *segment)
{
	for (int i = 0; i < segment->nr_files; i++) {
		file_close(segment->files[i].fd);
		free(segment->files[i].held.bytes);
	}
	free(segment->files);
	if (segment->number)
		file_close(segment->fd);
	*segment = (struct segment){ .fd = -1 };
}

void capture_writer_free(struct capture_writer *writer)
{
	if (!writer)
		return;
	close_segment(&writer->now);
	file_sync_end(&writer->sync);
	close_pipe(writer);
	file_close(writer->dir_fd);
	if (writer->dir)
		rmdir(writer->dir);
	free(writer->page);
	free(writer->dir);
	free(writer);
}

int capture_put(struct capture_writer *writer, const char *path, const char *text, size_t length)
{
	const char *name;
	int folder = file_open_folder(writer->now.fd, path, true, &name), ret;

	if (folder < 0)
		return folder;
	ret = file_replace(folder, name, text, length, false);
	close(folder);
	return ret;
}

/*
 * Files that do not change from segment to segment are hard links: their data is on the disk once.
 * Not all file systems have links.
 */
static bool link_from_before(struct capture_writer *writer, const char *path)
{
	const char *name;
	int folder, ret;

	if (writer->before.fd < 0 || !writer->links ||
	    faccessat(writer->before.fd, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return false;
	folder = file_open_folder(writer->now.fd, path, true, &name);
	if (folder < 0)
		return false;
	ret = linkat(writer->before.fd, path, folder, name, 0);
	close(folder);
	return !ret;
}

int capture_copy(struct capture_writer *writer, const char *from_dir, const char *name)
{
	size_t length;
	char *text;
	int ret;

	if (link_from_before(writer, name))
		return 0;
	ret = file_read(from_dir, name, &text, &length);
	if (ret)
		return ret;
	ret = capture_put(writer, name, text, length);
	free(text);
	return ret;
}

int capture_add_cpu(struct capture_writer *writer, int cpu)
{
	struct segment *segment = &writer->now;
	struct cpu_file *file;
	const char *name;
	char path[64];
	int folder, ret;

	if (cpu >= segment->nr_files) {
		struct cpu_file *files = realloc(segment->files, (cpu + 1) * sizeof(*files));

		if (!files)
			return -ENOMEM;
		segment->files = files;
		while (segment->nr_files <= cpu)
			segment->files[segment->nr_files++] = (struct cpu_file){ .fd = -1 };
	}
	file = &segment->files[cpu];
	if (writer->layout && !(file->held.bytes = malloc(writer->page_size)))
		return -ENOMEM;
	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	folder = file_open_folder(writer->now.fd, path, true, &name);
	if (folder < 0)
		return folder;
	file->fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ret = file->fd < 0 ? -errno : 0;
	close(folder);
	return ret;
}

/* A full disk may have taken a part of a page. @ret: of the write, which is returned */
static int drop_cut_page(const struct capture_writer *writer, int fd, int ret)
{
	off_t end = ret ? lseek(fd, 0, SEEK_CUR) : 0;

	if (end > 0) {
		end -= end % (off_t)writer->page_size;
		if (!ftruncate(fd, end))
			lseek(fd, end, SEEK_SET);
	}
	return ret;
}

static void count_bytes(struct capture_writer *writer, struct cpu_file *file, size_t bytes)
{
	writer->bytes += bytes;
	file->synced = false;
}

static int write_page(struct capture_writer *writer, struct cpu_file *file, const char *page)
{
	int ret = file_write_all(file->fd, page, writer->page_size);

	if (!ret)
		count_bytes(writer, file, writer->page_size);
	return drop_cut_page(writer, file->fd, ret);
}

/* Moves the pipe's contents to the file, by write if its file system does not support splice. */
static int pipe_to_file(struct capture_writer *writer, int fd, size_t length)
{
	while (length) {
		ssize_t moved = splice(writer->pipe[0], NULL, fd, NULL, length, SPLICE_F_MOVE);

		if (moved < 0 && errno == EINVAL) {
			size_t slice = length < writer->page_size ? length : writer->page_size;

			writer->can_splice = false;
			moved = read(writer->pipe[0], writer->page, slice);
			if (moved > 0) {
				int ret = file_write_all(fd, writer->page, moved);

				if (ret)
					return ret;
			}
		}
		if (moved < 0 && errno != EINTR)
			return -errno;
		if (!moved)
			return -EIO;
		length -= moved > 0 ? moved : 0;
	}
	return 0;
}

/*
 * Moves nothing and clears writer->can_splice if the source does not support splice.
 * tracefs_cpu_write() does the same, but loses what is in the pipe when the disk is full.
 */
static int64_t move_by_splice(struct capture_writer *writer, struct cpu_file *file, int fd)
{
	ssize_t length = splice(fd, NULL, writer->pipe[1], NULL, SPLICE_PAGES * writer->page_size,
				SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	int ret;

	if (length < 0 && errno == EINVAL)
		writer->can_splice = false;
	if (length <= 0)
		return 0;
	ret = drop_cut_page(writer, file->fd, pipe_to_file(writer, file->fd, length));
	if (ret) {
		/*
		 * A page in a pipe belongs to its ring buffer but holds no reference to it: closing
		 * the pipe after the instance was removed crashes the kernel (seen on 7.3).
		 */
		close_pipe(writer);
		return ret;
	}
	count_bytes(writer, file, length);
	return length;
}

static int64_t move_by_read(struct capture_writer *writer, struct cpu_file *file, int fd)
{
	ssize_t length = read(fd, writer->page, writer->page_size);
	int ret;

	if (length <= 0)
		return 0;
	/* The file consists of whole pages, also for a partly filled one. */
	memset(writer->page + length, 0, writer->page_size - length);
	ret = write_page(writer, file, writer->page);
	return ret ? ret : (int64_t)writer->page_size;
}

/* NULL: the CPU was not added */
static struct cpu_file *file_of(const struct capture_writer *writer, int cpu)
{
	if (cpu < 0 || cpu >= writer->now.nr_files || writer->now.files[cpu].fd < 0)
		return NULL;
	return &writer->now.files[cpu];
}

int64_t capture_drain_rest(struct capture_writer *writer, int cpu, int fd)
{
	struct cpu_file *file = file_of(writer, cpu);

	return !file || fd < 0 ? 0 : move_by_read(writer, file, fd);
}

int64_t capture_drain(struct capture_writer *writer, int cpu, int fd)
{
	struct cpu_file *file = file_of(writer, cpu);
	int64_t moved = 0;

	if (file && fd >= 0 && writer->can_splice)
		moved = move_by_splice(writer, file, fd);
	return moved || writer->can_splice ? moved : capture_drain_rest(writer, cpu, fd);
}

/* ---- pages that were read ---- */

static int write_held(struct capture_writer *writer, struct cpu_file *file)
{
	if (!file->held.used)
		return 0;
	file->held.used = false;
	return write_page(writer, file, file->held.bytes);
}

/*
 * The kernel may add records to a page that was read. They come as a page of their own, with the
 * time of the last record before it, for which the times of its records were made: so they may
 * follow that record.
 */
static bool join(struct capture_writer *writer, struct held_page *held,
		 const struct page_content *part)
{
	const struct page_layout *layout = writer->layout;
	size_t size = held->content.size + part->size;
	uint32_t commit = (uint32_t)size;
	/* The higher bytes of a long of 8 bytes are 0. */
	size_t at = 8 + (layout->big_endian ? layout->long_size - sizeof(commit) : 0);

	if (!held->used || held->whole || part->lost || part->ts != held->content.newest ||
	    size > layout->size - layout->header)
		return false;
	memcpy(held->bytes + layout->header + held->content.size, part->data, part->size);
	memcpy(held->bytes + at, &commit, sizeof(commit));
	held->content.size = size;
	held->content.newest = part->newest;
	return true;
}

int capture_add_page(struct capture_writer *writer, int cpu, const void *page, size_t length)
{
	struct cpu_file *file = file_of(writer, cpu);
	struct held_page *held = file ? &file->held : NULL;
	struct page_content content;
	enum page_state state = page_check(writer->layout, page, length, &content);
	int ret;

	if (!held || !held->bytes || (state == PAGE_EMPTY && !content.lost) ||
	    (state == PAGE_GOOD && join(writer, held, &content)))
		return 0;
	ret = write_held(writer, file);
	memcpy(held->bytes, page, length);
	memset(held->bytes + length, 0, writer->page_size - length);
	held->used = true;
	/* The number of lost records stands behind the last record. */
	held->whole = state != PAGE_GOOD || content.lost;
	held->content = content;
	return ret;
}

int capture_flush(struct capture_writer *writer)
{
	int ret = 0;

	for (int cpu = 0; !ret && cpu < writer->now.nr_files; cpu++)
		ret = write_held(writer, &writer->now.files[cpu]);
	return ret;
}

/* ---- to the disk ---- */

static void sync_file(void *context, int dir, const char *name, bool is_directory)
{
	struct capture_writer *writer = context;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	(void)is_directory;
	if (fd < 0)
		return;
	file_sync_start(&writer->sync, fd);
	close(fd);
}

void capture_sync_all(struct capture_writer *writer)
{
	walk(writer->now.fd, sync_file, writer);
	sync_file(writer, writer->now.fd, ".", true);
	if (writer->now.number)
		sync_file(writer, writer->dir_fd, ".", true);
	sync_file(writer, writer->dir_fd, "..", true);
}

void capture_sync_data(struct capture_writer *writer)
{
	if (writer->sync.pending)
		return;
	for (int i = 0; i < writer->now.nr_files; i++) {
		struct cpu_file *file = &writer->now.files[i];

		if (file->fd < 0 || file->synced)
			continue;
		file->synced = true;
		file_sync_start(&writer->sync, file->fd);
	}
}

int capture_synced(struct capture_writer *writer, bool wait)
{
	return file_sync_result(&writer->sync, wait);
}

/* ---- segments ---- */

/* A segment that is being made or removed has a dot before the name of a whole one. */
static void name_segment(char hidden[SEGMENT_NAME_MAX], unsigned int number)
{
	snprintf(hidden, SEGMENT_NAME_MAX, ".%06u", number);
}

int capture_begin_segment(struct capture_writer *writer, bool unchanged)
{
	struct segment next = { .number = writer->now.number + 1 };
	char name[SEGMENT_NAME_MAX];

	name_segment(name, next.number);
	if (mkdirat(writer->dir_fd, name, 0700))
		return -errno;
	next.fd = openat(writer->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next.fd < 0) {
		int ret = -errno;

		unlinkat(writer->dir_fd, name, AT_REMOVEDIR);
		return ret;
	}
	writer->links = unchanged;
	writer->before = writer->now;
	writer->now = next;
	return 0;
}

static void remove_file(void *context, int dir, const char *name, bool is_directory)
{
	(void)context;
	unlinkat(dir, name, is_directory ? AT_REMOVEDIR : 0);
}

static void remove_directory(struct capture_writer *writer, const char *name)
{
	int fd = openat(writer->dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	walk(fd, remove_file, NULL);
	close(fd);
	remove_file(NULL, writer->dir_fd, name, true);
}

void capture_remove(struct capture_writer *writer)
{
	walk(writer->dir_fd, remove_file, NULL);
	rmdir(writer->dir);
}

int capture_settle_segment(struct capture_writer *writer, int ret)
{
	char hidden[SEGMENT_NAME_MAX];

	name_segment(hidden, writer->now.number);
	if (!ret && renameat(writer->dir_fd, hidden, writer->dir_fd, hidden + 1))
		ret = -errno;
	if (ret) {
		remove_directory(writer, hidden);
		close_segment(&writer->now);
		writer->now = writer->before;
		writer->before = (struct segment){ .fd = -1 };
		return ret;
	}
	close_segment(&writer->before);
	return 0;
}

void capture_remove_segment(struct capture_writer *writer, unsigned int number)
{
	char hidden[SEGMENT_NAME_MAX];

	name_segment(hidden, number);
	if (!renameat(writer->dir_fd, hidden + 1, writer->dir_fd, hidden))
		remove_directory(writer, hidden);
}
