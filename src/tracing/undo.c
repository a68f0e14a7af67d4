// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "tracing/undo.h"

#define UNDO_MAGIC   "allocfilt-undo"
#define UNDO_VERSION "1"
#define UNDO_FIELDS  6
#define BOOT_ID	     "/proc/sys/kernel/random/boot_id"

/* A filter of all functions of a kernel is 1 MiB. */
#define UNDO_SIZE_MAX (16 << 20)

struct undo {
	char *dir;
	int lock;
	char boot[64];
};

static int refuse(struct failure *failure, const char *path, const char *why)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EPERM,
			   "%s %s: not acted on; look at it and remove it", path, why);
}

/* What another user can write to must not tell root what to write. */
static const char *distrust(const struct stat *st, mode_t type)
{
	if ((st->st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "is not a directory" : "is not a regular file";
	if (st->st_uid != geteuid())
		return "is another user's";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others";
	if (type == S_IFREG && st->st_nlink > 1)
		return "has another name (hard link)";
	return NULL;
}

static int make_dir(struct undo *undo, struct failure *failure)
{
	struct stat st;
	const char *why;

	if (mkdir(undo->dir, 0700) < 0 && errno != EEXIST)
		return failure_set(failure,
				   errno == EACCES || errno == EPERM ? EXIT_STATUS_NO_TRACEFS :
								       EXIT_STATUS_RUN_TIME,
				   errno, "cannot make %s: %s", undo->dir, strerror(errno));
	if (lstat(undo->dir, &st) < 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "%s: %s", undo->dir,
				   strerror(errno));
	why = distrust(&st, S_IFDIR);
	return why ? refuse(failure, undo->dir, why) : 0;
}

/* Opens RUN_DIR/NAME, which has to be a file of ours alone; returns its descriptor. */
static int open_trusted(struct undo *undo, const char *name, int flags, struct failure *failure)
{
	char path[PATH_MAX];
	const char *why;
	struct stat st;
	int fd;

	fd = file_path(path, undo->dir, name);
	if (!fd)
		fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ELOOP)
		return refuse(failure, path, "is a symbolic link");
	if (fd < 0)
		return failure_set(failure,
				   errno == EACCES ? EXIT_STATUS_NO_TRACEFS : EXIT_STATUS_RUN_TIME,
				   errno, "%s: %s", path, strerror(errno));
	why = fstat(fd, &st) < 0 ? strerror(errno) : distrust(&st, S_IFREG);
	if (!why)
		return fd;
	close(fd);
	return refuse(failure, path, why);
}

static int in_use(struct undo *undo, struct failure *failure)
{
	char *text = NULL;
	int pid = 0;

	if (!file_read(undo->dir, "lock", &text, NULL))
		pid = atoi(text);
	free(text);
	if (pid > 0)
		return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
				   "another allocfilt is running, pid %d", pid);
	return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
			   "another allocfilt is starting (%s/lock)", undo->dir);
}

static int write_pid(int fd)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d\n", getpid());

	if (ftruncate(fd, 0) < 0)
		return -errno;
	return write(fd, text, length) == length ? 0 : -(errno ? errno : ENOSPC);
}

static int take_lock(struct undo *undo, struct failure *failure)
{
	int ret;

	undo->lock = open_trusted(undo, "lock", O_RDWR | O_CREAT, failure);
	if (undo->lock < 0)
		return undo->lock;
	if (flock(undo->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ?
			       in_use(undo, failure) :
			       failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "%s/lock: %s",
					   undo->dir, strerror(errno));
	errno = 0;
	ret = write_pid(undo->lock);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "cannot write %s/lock, so nothing is changed: %s", undo->dir,
				   strerror(-ret));
	return 0;
}

static int read_boot(struct undo *undo, struct failure *failure)
{
	char *text;
	int ret = file_read(NULL, BOOT_ID, &text, NULL);

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, BOOT_ID ": %s",
				   strerror(-ret));
	text[strcspn(text, "\n")] = '\0';
	snprintf(undo->boot, sizeof(undo->boot), "%s", text);
	free(text);
	return 0;
}

int undo_open(struct undo **ret_undo, const char *run_dir, struct failure *failure)
{
	struct undo *undo = calloc(1, sizeof(*undo));
	int ret = -ENOMEM;

	if (undo) {
		undo->lock = -1;
		undo->dir = strdup(run_dir);
	}
	if (!undo || !undo->dir)
		failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	else
		ret = make_dir(undo, failure);
	if (!ret)
		ret = read_boot(undo, failure);
	if (!ret)
		ret = take_lock(undo, failure);
	if (!ret)
		*ret_undo = undo;
	else
		undo_close(undo);
	return ret;
}

void undo_close(struct undo *undo)
{
	if (!undo)
		return;
	/* Nobody is to be told of a pid that has gone. */
	if (undo->lock >= 0) {
		if (flock(undo->lock, LOCK_EX | LOCK_NB) == 0 && ftruncate(undo->lock, 0) < 0)
			errno = 0;
		close(undo->lock);
	}
	free(undo->dir);
	free(undo);
}

static uint64_t checksum(const char *text, size_t length)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3;
	return sum;
}

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '\t':
			fputs("\\t", file);
			break;
		case '\n':
			fputs("\\n", file);
			break;
		case '\\':
			fputs("\\\\", file);
			break;
		default:
			fputc(*text, file);
		}
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1]) {
			text++;
			*to++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

static void put_step(FILE *file, const struct step *step, bool sure)
{
	sure = sure && step->sure && !step->undoing;
	fprintf(file, "step\t%d\t%d\t", step->kind, sure);
	put_escaped(file, step->path);
	fputc('\t', file);
	put_escaped(file, step->found);
	fputc('\t', file);
	put_escaped(file, step->wrote);
	fputc('\n', file);
}

/* The whole text, free() it; NULL: no memory. */
static char *compose(const struct undo *undo, const struct steps *steps, size_t *ret_length)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, ret_length);

	if (!file)
		return NULL;
	fprintf(file, UNDO_MAGIC "\t" UNDO_VERSION "\t%s\t%d\t", undo->boot, getpid());
	put_escaped(file, steps->dir);
	fputc('\n', file);
	for (int i = 0; i < steps->count; i++)
		if (!steps->step[i].done && !steps->step[i].within)
			put_step(file, &steps->step[i], !steps->restoring);
	if (!fflush(file))
		fprintf(file, "end\t%016llx\n", (unsigned long long)checksum(text, *ret_length));
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

static int write_file(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int ret = 0;

	if (fd < 0)
		return -errno;
	while (length && !ret) {
		ssize_t wrote = write(fd, text, length);

		if (wrote > 0) {
			text += wrote;
			length -= wrote;
		} else if (wrote == 0 || errno != EINTR) {
			ret = wrote ? -errno : -EIO;
		}
	}
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

static int replace_file(const struct undo *undo, const char *text, size_t length)
{
	char path[PATH_MAX], beside[PATH_MAX];
	int ret = file_path(path, undo->dir, "undo");

	if (!ret)
		ret = file_path(beside, undo->dir, "undo.new");
	if (ret)
		return ret;
	/* What a run that was killed here left; the lock is ours. */
	if (unlink(beside) < 0 && errno != ENOENT)
		return -errno;
	ret = write_file(beside, text, length);
	if (!ret && rename(beside, path) < 0)
		ret = -errno;
	if (ret)
		unlink(beside);
	return ret;
}

int undo_note(void *context, const struct steps *steps)
{
	const struct undo *undo = context;
	size_t length;
	char *text = compose(undo, steps, &length);
	int ret;

	if (!text)
		return -ENOMEM;
	ret = length > UNDO_SIZE_MAX ? -EFBIG : replace_file(undo, text, length);
	free(text);
	return ret;
}

int undo_remove(struct undo *undo)
{
	char path[PATH_MAX];
	int ret = file_path(path, undo->dir, "undo");

	if (!ret && unlink(path) < 0 && errno != ENOENT)
		ret = -errno;
	return ret;
}

/* Splits a line at its tabs and unescapes the parts; returns how many there are. */
static int split(char *line, char *fields[UNDO_FIELDS])
{
	int count = 0;
	char *tab;

	do {
		if (count == UNDO_FIELDS)
			return count + 1;
		tab = strchr(line, '\t');
		if (tab)
			*tab = '\0';
		unescape(line);
		fields[count++] = line;
		line = tab + 1;
	} while (tab);
	return count;
}

/* A path of a tracing directory leads nowhere else. */
static bool is_inner_path(const char *path)
{
	size_t length = strlen(path);

	return length && path[0] != '/' && strcmp(path, "..") && strncmp(path, "../", 3) &&
	       !strstr(path, "/../") && (length < 3 || strcmp(path + length - 3, "/.."));
}

static int load_step(struct steps *steps, char *line)
{
	char *fields[UNDO_FIELDS];
	int kind, ret;

	if (split(line, fields) != 6 || strcmp(fields[0], "step"))
		return -EBADMSG;
	kind = atoi(fields[1]);
	if (kind < 0 || kind >= STEP_KINDS || !is_inner_path(fields[3]))
		return -EBADMSG;
	ret = steps_add(steps, kind, fields[3], fields[4], fields[5], false);
	if (!ret)
		steps->step[steps->count - 1].sure = !strcmp(fields[2], "1");
	return ret;
}

/* Cuts the last line off and looks whether it tells the truth about the rest. */
static bool check_end(char *text, size_t length)
{
	char expected[32], *end = length ? memrchr(text, '\n', length - 1) : NULL;

	if (!end || strlen(text) != length)
		return false;
	snprintf(expected, sizeof(expected), "\nend\t%016llx\n",
		 (unsigned long long)checksum(text, end + 1 - text));
	if (strcmp(end, expected))
		return false;
	end[1] = '\0';
	return true;
}

static const char *load_header(const struct undo *undo, char *line, struct steps *steps, int *pid)
{
	char *fields[UNDO_FIELDS];

	if (split(line, fields) != 5 || strcmp(fields[0], UNDO_MAGIC))
		return "is damaged";
	if (strcmp(fields[1], UNDO_VERSION))
		return "is of another version of allocfilt";
	if (strcmp(fields[2], undo->boot))
		return "is of another boot, so that nothing in it applies any more";
	if (fields[4][0] != '/')
		return "is damaged";
	*pid = atoi(fields[3]);
	return steps_init(steps, fields[4]) ? strerror(ENOMEM) : NULL;
}

/* NULL, or what is wrong with it; then @steps holds nothing. */
static const char *load_text(const struct undo *undo, char *text, size_t length,
			     struct steps *steps, int *pid)
{
	const char *why = "is damaged";
	char *save, *line;

	if (!check_end(text, length))
		return why;
	line = strtok_r(text, "\n", &save);
	if (line)
		why = load_header(undo, line, steps, pid);
	if (why)
		return why;
	while ((line = strtok_r(NULL, "\n", &save)))
		if (load_step(steps, line)) {
			steps_free(steps);
			return "is damaged";
		}
	return NULL;
}

static int read_trusted(struct undo *undo, char **ret_text, size_t *ret_length,
			struct failure *failure)
{
	int fd = open_trusted(undo, "undo", O_RDONLY, failure);
	char path[32];
	struct stat st;
	int ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_size > UNDO_SIZE_MAX) {
		close(fd);
		return refuse(failure, undo->dir, "has an undo file that is too large");
	}
	/* The file that was looked at, not one that has its name by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = file_read(NULL, path, ret_text, ret_length);
	close(fd);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s/undo: %s", undo->dir,
				   strerror(-ret));
	return 0;
}

int undo_load(struct undo *undo, struct steps *steps, int *ret_pid, struct failure *failure)
{
	struct failure why_not;
	char path[PATH_MAX], *text;
	const char *why;
	size_t length;
	int ret;

	ret = read_trusted(undo, &text, &length, &why_not);
	if (ret == -ENOENT)
		return ret;
	if (ret) {
		*failure = why_not;
		return ret;
	}
	why = load_text(undo, text, length, steps, ret_pid);
	free(text);
	if (!why)
		return 0;
	ret = file_path(path, undo->dir, "undo");
	return ret ? ret : refuse(failure, path, why);
}
