// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/dat_file.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/run/signals.h"

/* trace-cmd numbers CPUs by their order: one without data gets an empty file. It may miss a full disk. */
static const char script[] =
	"umask 077; cpu=0 highest=$1 least=$2 name=$3 empty=; set --\n"
	"while [ $cpu -le $highest ]; do\n"
	"	file=per_cpu/cpu$cpu/trace_pipe_raw cpu=$((cpu + 1)) empty=\"$empty /dev/null\"\n"
	"	[ ! -s $file ] || { set -- \"$@\" ${empty% *} $file; empty=; }\n"
	"done\n"
	"[ $# -gt 0 ] || set -- /dev/null\n"
	"exec </dev/null >trace-cmd.log 2>&1\n"
	"trace-cmd restore -c -t . -k kallsyms -o head.dat &&\n"
	"trace-cmd restore -i head.dat -o trace.dat \"$@\" &&\n"
	"if [ $(wc -c <trace.dat) -lt $least ]; then echo 'trace.dat: too short'; false; fi &&\n"
	"sync trace.dat && ln -T trace.dat \"../$name\"\n";

bool dat_file_wanted(const char *path)
{
	size_t length = strlen(path);
	struct stat status;

	return length > 4 && !strcmp(path + length - 4, ".dat") &&
	       (stat(path, &status) || !S_ISDIR(status.st_mode));
}

int dat_file_check(const char *path, struct failure *failure)
{
	struct stat status;

	if (!lstat(path, &status))
		return failure_set(failure, EXIT_STATUS_USAGE, EEXIST,
				   "-w %s: exists, name a new file", path);
	if (system("command -v trace-cmd >/dev/null"))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "-w %s: trace-cmd, which makes such a file, is not in PATH: "
				   "apt-get install trace-cmd, or name a directory",
				   path);
	return 0;
}

static void exec_script(int dir, const char *highest, const char *least, const char *name)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (!setpgid(0, 0) && !fchdir(dir))
		execl("/bin/sh", "sh", "-c", script, "sh", highest, least, name, NULL);
	_exit(127);
}

int dat_file_make(const char *path, struct capture_writer *writer, const struct cpu_list *cpus,
		  struct signals *signals, struct failure *failure)
{
	char highest[16], least[32];
	struct stat file = { 0 };
	int status = -1;
	pid_t pid;

	snprintf(highest, sizeof(highest), "%d", cpu_list_highest(cpus));
	snprintf(least, sizeof(least), "%" PRIu64, capture_bytes(writer));
	pid = fork();
	if (!pid)
		exec_script(capture_directory(writer), highest, least, basename(path));
	while (pid > 0 && !waitpid(pid, &status, WNOHANG)) {
		poll(NULL, 0, 20);
		if (signals_stop_asked(signals))
			kill(-pid, SIGTERM);
	}
	if (!status && !stat(path, &file)) {
		capture_remove(writer);
		log_notice("%s: %" PRId64 " bytes, for trace-cmd report and KernelShark", path,
			   (int64_t)file.st_size);
		return 0;
	}
	unlinkat(capture_directory(writer), "head.dat", 0);
	unlinkat(capture_directory(writer), "trace.dat", 0);
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
			   "-w %s: trace-cmd restore failed, see %s.parts/trace-cmd.log; "
			   "what was recorded is in %s.parts",
			   path, path, path);
}
