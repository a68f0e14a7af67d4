// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/dat_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the capture: nobody else can write there. */
#define HEAD   "head.dat"
#define RESULT "trace.dat"

bool dat_file_wanted(const char *path)
{
	size_t length = strlen(path);
	struct stat status;

	return length > 4 && !strcmp(path + length - 4, ".dat") &&
	       (stat(path, &status) || !S_ISDIR(status.st_mode));
}

static int find_trace_cmd(char program[PATH_MAX])
{
	const char *dir = getenv("PATH");

	for (; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		int length = (int)strcspn(dir, ":");

		/* It is run in the capture. */
		if (*dir == '/' &&
		    snprintf(program, PATH_MAX, "%.*s/trace-cmd", length, dir) < PATH_MAX &&
		    !access(program, X_OK))
			return 0;
	}
	return -ENOENT;
}

int dat_file_init(struct dat_file *file, const char *path, struct failure *failure)
{
	struct stat status;

	file->path = path;
	if (snprintf(file->parts, sizeof(file->parts), "%s.parts", path) >= PATH_MAX)
		return failure_set(failure, EXIT_STATUS_USAGE, ENAMETOOLONG, "-w %s: %s", path,
				   strerror(ENAMETOOLONG));
	if (!lstat(path, &status))
		return failure_set(failure, EXIT_STATUS_USAGE, EEXIST,
				   "-w %s: exists, name a new file", path);
	if (find_trace_cmd(file->program))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "-w %s: trace-cmd, which makes such a file, is not in PATH: "
				   "apt-get install trace-cmd, or name a directory",
				   path);
	return 0;
}

/* Returns its pid or -errno. @log: what it says */
static pid_t start(const struct dat_file *file, char *const argv[], int dir, int log)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals;
	pid_t pid;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
	posix_spawn_file_actions_addfchdir_np(&actions, dir);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attributes, &signals);
	/* The only one that the program ignores by itself. */
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	error = posix_spawn(&pid, file->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error ? -error : pid;
}

/* Returns its status as of waitpid(2); a stop that is asked for ends it. */
static int wait_for(pid_t pid, struct signals *signals)
{
	struct pollfd fds[] = {
		{ .fd = pidfd_open(pid, 0), .events = POLLIN },
		{ .fd = signals_fd(signals), .events = POLLIN },
	};
	int status;

	while (fds[0].fd >= 0 && poll(fds, ARRAY_SIZE(fds), -1) >= 0 && !fds[0].revents) {
		if (!signals_stop_asked(signals)) {
			signals_summary_asked(signals);
			continue;
		}
		/* What is asked for stays so. */
		kill(pid, SIGTERM);
		fds[1].fd = -1;
	}
	if (fds[0].fd >= 0)
		close(fds[0].fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* The last line of what trace-cmd said. */
static void read_reason(int log, char *reason, size_t size)
{
	char *text, *line;

	lseek(log, 0, SEEK_SET);
	if (file_read_fd(log, &text, NULL))
		return;
	line = strrchr(text_trim(text), '\n');
	if (*text_trim(text))
		snprintf(reason, size, "%s", text_trim(line ? line : text));
	free(text);
}

/* Returns 0, or -errno with the @reason. @words: of the command line; used up */
static int run_trace_cmd(const struct dat_file *file, char *words, int dir, struct signals *signals,
			 char *reason, size_t size)
{
	char **argv = calloc(strlen(words) / 2 + 2, sizeof(*argv));
	int log = memfd_create("trace-cmd", MFD_CLOEXEC), status = 0;
	pid_t pid = -ENOMEM;

	for (int i = 0; argv && words; i++)
		argv[i] = strsep(&words, " ");
	if (argv)
		pid = log < 0 ? -errno : start(file, argv, dir, log);
	free(argv);
	if (pid >= 0)
		status = wait_for(pid, signals);
	if (WIFSIGNALED(status)) {
		snprintf(reason, size, "%s", strsignal(WTERMSIG(status)));
	} else if (status) {
		snprintf(reason, size, "status %d", WEXITSTATUS(status));
		read_reason(log, reason, size);
	}
	if (log >= 0)
		close(log);
	return pid < 0 ? pid : status ? -EIO : 0;
}

/*
 * The files of all CPUs up to the last one with data. trace-cmd numbers CPUs by their order: where there
 * is none it gets an empty one.
 */
static void print_files(FILE *stream, int dir, const struct cpu_list *cpus)
{
	int empty = 0;

	for (int cpu = 0; cpu <= cpu_list_highest(cpus); cpu++) {
		struct stat status;
		char path[64];

		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		if (fstatat(dir, path, &status, AT_SYMLINK_NOFOLLOW) || !status.st_size) {
			empty++;
			continue;
		}
		for (; empty; empty--)
			fputs(" /dev/null", stream);
		fprintf(stream, " %s", path);
	}
	if (empty > cpu_list_highest(cpus))
		fputs(" /dev/null", stream);
}

static int restore(const struct dat_file *file, int dir, const struct cpu_list *cpus,
		   struct signals *signals, char *reason, size_t size)
{
	char head[] = "trace-cmd restore -c -t . -k kallsyms -o " HEAD, *words;
	size_t length;
	FILE *stream = open_memstream(&words, &length);
	int ret;

	if (!stream)
		return -ENOMEM;
	fputs("trace-cmd restore -i " HEAD " -o " RESULT, stream);
	print_files(stream, dir, cpus);
	ret = fclose(stream) ? -ENOMEM : 0;
	if (!ret)
		ret = run_trace_cmd(file, head, dir, signals, reason, size);
	if (!ret)
		ret = run_trace_cmd(file, words, dir, signals, reason, size);
	free(words);
	return ret;
}

/* Never over a file that came meanwhile. @ret_size: of the file, once it is whole */
static int place(const struct dat_file *file, int dir, uint64_t least, off_t *ret_size)
{
	int fd = openat(dir, RESULT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), parent, ret = 0;
	struct stat status;
	const char *name;

	if (fd < 0)
		return -errno;
	/* A status of 0 alone does not say that the disk had room. */
	if (fchmod(fd, 0600) || fsync(fd) || fstat(fd, &status))
		ret = -errno;
	else if ((uint64_t)status.st_size < least)
		ret = -ENOSPC;
	close(fd);
	if (ret)
		return ret;
	*ret_size = status.st_size;
	parent = file_open_parent(file->path, &name);
	if (parent < 0)
		return parent;
	ret = renameat2(dir, RESULT, parent, name, RENAME_NOREPLACE) ? -errno : 0;
	if (ret == -EINVAL && faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW))
		ret = renameat(dir, RESULT, parent, name) ? -errno : 0;
	close(parent);
	return ret;
}

int dat_file_make(const struct dat_file *file, struct capture_writer *writer,
		  const struct cpu_list *cpus, struct signals *signals, struct failure *failure)
{
	int dir = capture_directory(writer);
	char reason[256] = "";
	off_t size = 0;
	int ret = restore(file, dir, cpus, signals, reason, sizeof(reason));

	if (!ret)
		ret = place(file, dir, capture_bytes(writer), &size);
	if (!ret) {
		capture_remove(writer);
		log_notice("%s: %" PRId64 " bytes, for trace-cmd report and KernelShark",
			   file->path, (int64_t)size);
		return 0;
	}
	unlinkat(dir, HEAD, 0);
	unlinkat(dir, RESULT, 0);
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
			   "-w %s: %s%s; what was recorded is in %s", file->path,
			   size ? "" : "trace-cmd restore: ", *reason ? reason : strerror(-ret),
			   file->parts);
}
