// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/text.h"
#include "allocfilt/tracing/kernel.h"
#include "tracing/undo.h"

#define UNDO_MAGIC   "allocfilt-undo"
#define UNDO_VERSION "3"
#define UNDO_END     "end\n"
#define UNDO_FIELDS  6
#define BOOT_ID	     "/proc/sys/kernel/random/boot_id"

/* bytes; a filter of all functions of a kernel has 1 MiB */
#define UNDO_SIZE_MAX (16 << 20)

#define CHILD_TRIES   200
#define LOCK_TRIES    40
#define LOCK_PAUSE_US 50000

struct undo {
	char *dir;
	int dir_fd;
	int lock;
	char boot[64];
};

static int refuse_undo_file(struct failure *failure, const char *path, const char *why)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EPERM,
			   "%s %s: not acted on; look at it and remove it", path, why);
}

/* A file that another user can write must not decide what root writes. */
static int open_dir(struct undo *undo, struct failure *failure)
{
	enum exit_status status = EXIT_STATUS_RUN_TIME;
	const char *why;

	undo->dir_fd = file_make_directory(undo->dir);
	if (undo->dir_fd == -ENOTDIR)
		return refuse_undo_file(failure, undo->dir, "is not a directory");
	if (undo->dir_fd == -EACCES || undo->dir_fd == -EPERM)
		status = EXIT_STATUS_NO_TRACEFS;
	if (undo->dir_fd < 0)
		return failure_set(failure, status, -undo->dir_fd, "cannot make or open %s: %m",
				   undo->dir);
	why = file_distrust(undo->dir_fd, S_IFDIR);
	return why ? refuse_undo_file(failure, undo->dir, why) : 0;
}

/* Opens the undo file, which only we may be able to change; returns a descriptor or -errno. */
static int open_undo(struct undo *undo, struct failure *failure)
{
	char path[PATH_MAX];
	const char *why;
	int fd = openat(undo->dir_fd, "undo", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int error = errno;

	snprintf(path, sizeof(path), "%s/undo", undo->dir);
	if (fd < 0 && error == ENOENT)
		return -ENOENT;
	if (fd < 0 && error == ELOOP)
		return refuse_undo_file(failure, path, "is a symbolic link");
	if (fd < 0)
		return failure_set(failure,
				   error == EACCES ? EXIT_STATUS_NO_TRACEFS : EXIT_STATUS_RUN_TIME,
				   error, "%s: %m", path);
	why = file_distrust(fd, S_IFREG);
	if (!why)
		return fd;
	close(fd);
	return refuse_undo_file(failure, path, why);
}

/*
 * The pid in "1: FLOCK  ADVISORY  WRITE 1234 00:0c:1 0 EOF" of the lock's file, proc_locks(5). 0: it is
 * free by now, or its owner is of another PID namespace.
 */
static pid_t lock_owner(int lock)
{
	unsigned int major_number, minor_number;
	FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode;
	char line[256];
	struct stat st;
	pid_t owner = 0, pid;

	if (!locks)
		return 0;
	while (!fstat(lock, &st) && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*u: FLOCK %*s WRITE %d %x:%x:%llu", &pid, &major_number,
			   &minor_number, &inode) == 4 &&
		    inode == st.st_ino && makedev(major_number, minor_number) == st.st_dev)
			owner = pid;
	fclose(locks);
	return owner;
}

static int take_lock(struct undo *undo, const char *dir, struct failure *failure)
{
	undo->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Unmounted: undo_load() says what is left. */
	if (undo->lock < 0 && errno == ENOENT)
		return 0;
	if (undo->lock < 0)
		return failure_set(failure,
				   errno == EACCES ? EXIT_STATUS_NO_TRACEFS : EXIT_STATUS_RUN_TIME,
				   errno, "%s: %m", dir);
	for (int i = 0; flock(undo->lock, LOCK_EX | LOCK_NB) < 0; i++) {
		pid_t pid;

		if (errno != EWOULDBLOCK)
			return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "lock of %s: %m",
					   dir);
		pid = lock_owner(undo->lock);
		/*
		 * A killed run's child, which grows the buffer, still ends its write, and then its
		 * guardian restores tracing.
		 */
		if (i < (pid && kill(pid, 0) < 0 && errno == ESRCH ? CHILD_TRIES : LOCK_TRIES)) {
			usleep(LOCK_PAUSE_US);
			continue;
		}
		if (pid > 0)
			return failure_set(failure, EXIT_STATUS_IN_USE, EBUSY,
					   "another allocfilt is running, pid %d", pid);
		return failure_set(
			failure, EXIT_STATUS_IN_USE, EBUSY,
			"another allocfilt is running, in a container: it has a lock on %s", dir);
	}
	return 0;
}

int undo_open(struct undo **ret_undo, const char *run_dir, const char *dir, struct failure *failure)
{
	struct undo *undo = calloc(1, sizeof(*undo));
	char *boot = NULL;
	int ret;

	if (!undo || !(undo->dir = strdup(run_dir))) {
		free(undo);
		return failure_no_memory(failure);
	}
	undo->dir_fd = -1;
	undo->lock = -1;
	ret = open_dir(undo, failure);
	if (!ret) {
		/* An undo file of one boot does not apply in the next. */
		ret = file_read(NULL, BOOT_ID, &boot, NULL);
		if (ret)
			failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, BOOT_ID ": %m");
		else
			snprintf(undo->boot, sizeof(undo->boot), "%s", text_trim(boot));
		free(boot);
	}
	if (!ret && dir)
		ret = take_lock(undo, dir, failure);
	if (ret)
		undo_close(undo);
	else
		*ret_undo = undo;
	return ret;
}

void undo_close(struct undo *undo)
{
	if (!undo)
		return;
	file_close(undo->lock);
	file_close(undo->dir_fd);
	free(undo->dir);
	free(undo);
}

/* The whole text, free() it; NULL: no memory. */
static char *compose(const struct undo *undo, const struct settings *settings, size_t *ret_length)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, ret_length);

	if (!file)
		return NULL;
	fprintf(file, UNDO_MAGIC " " UNDO_VERSION " %s %d ", undo->boot, getpid());
	text_print_field(file, tracefs_instance_get_trace_dir(settings->top), '\n');
	for (int i = 0; i < settings->count; i++) {
		const struct setting *setting = &settings->setting[i];

		if (setting->done || setting->in_instance)
			continue;
		fprintf(file, "setting %d %d ", setting->kind,
			setting->verified && !setting->restoring);
		text_print_field(file, setting->path, ' ');
		text_print_field(file, setting->found, ' ');
		text_print_field(file, setting->wrote, '\n');
	}
	fputs(UNDO_END, file);
	return text_close(file, &text);
}

int undo_note(void *context, const struct settings *settings)
{
	const struct undo *undo = context;
	size_t length;
	char *text = compose(undo, settings, &length);
	int ret;

	if (!text)
		return -ENOMEM;
	ret = length > UNDO_SIZE_MAX ? -EFBIG :
				       file_replace(undo->dir_fd, "undo", text, length, true);
	free(text);
	return ret;
}

int undo_remove(struct undo *undo, struct failure *failure)
{
	int error = unlinkat(undo->dir_fd, "undo", 0) ? errno : 0;

	/* A file system that is read-only says so, also where there is no file. */
	if (!error || faccessat(undo->dir_fd, "undo", F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, error,
			   "all is put back, but %s/undo cannot be removed: %m", undo->dir);
}

/* Parses the fields of a line into @buffer, which is as long as the line; returns how many. */
static int parse_fields(const char *line, char *buffer, char *fields[UNDO_FIELDS])
{
	size_t size = strlen(line) + 1;
	int count = 0;

	while (count < UNDO_FIELDS && text_parse_field(&line, buffer, size)) {
		fields[count++] = buffer;
		size -= strlen(buffer) + 1;
		buffer += strlen(buffer) + 1;
	}
	return *line ? -1 : count;
}

/* Does a path stay below the tracing directory? */
static bool is_inner_path(const char *path)
{
	size_t length = strlen(path);

	return length && path[0] != '/' && strcmp(path, "..") && strncmp(path, "../", 3) &&
	       !strstr(path, "/../") && (length < 3 || strcmp(path + length - 3, "/.."));
}

/*
 * Returns 0, or -errno with @failure; then @settings is not initialised. @buffer has room for all of
 * the text.
 */
static int load_text(const struct undo *undo, char *text, size_t length, char *buffer,
		     struct settings *settings, int *pid, struct failure *failure)
{
	char *fields[UNDO_FIELDS], path[PATH_MAX], file[2 * PATH_MAX], *save, *line, *dir;
	int count, ret;

	snprintf(path, sizeof(path), "%s/undo", undo->dir);
	if (length < strlen(UNDO_END) || strlen(text) != length ||
	    strcmp(text + length - strlen(UNDO_END), UNDO_END))
		return refuse_undo_file(failure, path, "is damaged");
	text[length - strlen(UNDO_END)] = '\0';
	line = strtok_r(text, "\n", &save);
	count = line ? parse_fields(line, buffer, fields) : 0;
	if (count < 2 || strcmp(fields[0], UNDO_MAGIC))
		return refuse_undo_file(failure, path, "is damaged");
	if (strcmp(fields[1], UNDO_VERSION))
		return refuse_undo_file(failure, path, "is of another version of allocfilt");
	if (count != 5 || fields[4][0] != '/')
		return refuse_undo_file(failure, path, "is damaged");
	if (strcmp(fields[2], undo->boot))
		return refuse_undo_file(
			failure, path,
			"is of another boot, so that nothing in it applies any more");
	*pid = atoi(fields[3]);
	dir = fields[4];
	/* On a machine without tracefs mounted there seems to be nothing to restore. */
	if (!kernel_on_tracefs(dir))
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, ENODEV,
				   "%s stays: what process %d changed cannot be put back, as %s is "
				   "not on tracefs: mount -t tracefs tracefs %s",
				   path, *pid, dir, dir);
	ret = settings_init(settings, dir);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %m", dir);
	while ((line = strtok_r(NULL, "\n", &save))) {
		int kind;

		if (parse_fields(line, buffer, fields) != 6 || strcmp(fields[0], "setting") ||
		    (kind = atoi(fields[1])) < 0 || kind >= SETTING_KINDS ||
		    !is_inner_path(fields[3]) ||
		    settings_add(settings, kind, fields[3], fields[4], fields[5], false)) {
			settings_free(settings);
			return refuse_undo_file(failure, path, "is damaged");
		}
		settings->setting[settings->count - 1].verified = !strcmp(fields[2], "1");
		snprintf(file, sizeof(file), "%s/%s", tracefs_instance_get_trace_dir(settings->top),
			 fields[3]);
		if (access(file, F_OK) || kernel_on_tracefs(file))
			continue;
		settings_free(settings);
		return failure_set(
			failure, EXIT_STATUS_RUN_TIME, EXDEV,
			"%s is not acted on: something is mounted over %s; umount(8) that", path,
			file);
	}
	return 0;
}

int undo_load(struct undo *undo, struct settings *settings, int *ret_pid, struct failure *failure)
{
	char *text, *buffer;
	struct stat st;
	size_t length;
	int fd = open_undo(undo, failure), ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_size > UNDO_SIZE_MAX) {
		close(fd);
		return refuse_undo_file(failure, undo->dir, "has an undo file that is too large");
	}
	/* Reads the file that was checked, not one that has its name by now. */
	ret = file_read_fd(fd, &text, &length);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s/undo: %m", undo->dir);
	buffer = malloc(length + 1);
	ret = buffer ? load_text(undo, text, length, buffer, settings, ret_pid, failure) :
		       failure_no_memory(failure);
	free(buffer);
	free(text);
	return ret;
}
