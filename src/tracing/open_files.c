// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"

/* Returns 0, or -errno: then the soft limit is as near to @soft as the hard one allows. */
static int set_limit(rlim_t soft)
{
	struct rlimit limit;
	rlim_t hard;
	int error;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	hard = limit.rlim_max;
	limit.rlim_cur = soft;
	if (soft > hard)
		limit.rlim_max = soft;
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	error = errno;
	limit = (struct rlimit){ hard, hard };
	setrlimit(RLIMIT_NOFILE, &limit);
	return -error;
}

static rlim_t soft_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : limit.rlim_cur;
}

static int set_asked_for(unsigned int limit, unsigned int needed, struct failure *failure)
{
	int ret = set_limit(limit);

	if (ret)
		return failure_set(
			failure, EXIT_STATUS_RUN_TIME, -ret,
			"limit-files %u: %s, %llu is what the hard limit allows; raise that with LimitNOFILE= in the unit, or 'ulimit -Hn' in a shell",
			limit, strerror(-ret), (unsigned long long)soft_limit());
	if (limit < needed)
		return failure_set(
			failure, EXIT_STATUS_RUN_TIME, EMFILE,
			"limit-files %u is too low: all CPUs take %u open files; set it to that or more, or not at all",
			limit, needed);
	return 0;
}

static int raise_if_needed(unsigned int needed, struct failure *failure)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return 0;
	if (limit.rlim_max < needed) {
		set_limit(limit.rlim_max);
		return failure_set(
			failure, EXIT_STATUS_RUN_TIME, EMFILE,
			"all CPUs take %u open files, the hard limit allows %llu; raise it with LimitNOFILE= in the unit, or 'ulimit -Hn' in a shell",
			needed, (unsigned long long)limit.rlim_max);
	}
	set_limit(needed);
	return 0;
}

int open_files_allow(unsigned int limit, unsigned int needed, struct failure *failure)
{
	if (limit)
		return set_asked_for(limit, needed, failure);
	return raise_if_needed(needed, failure);
}

void open_files_for_cpus(unsigned int limit, const char *dir, unsigned int each)
{
	struct failure failure = { 0 };
	int *cpus = NULL;
	int count = cpu_directories(dir, &cpus);

	free(cpus);
	if (count < 0)
		count = 0;
	if (open_files_allow(limit, (unsigned int)count * each + OPEN_FILES_OTHERS, &failure))
		log_warning("%s", failure.text);
}

int open_files_leave_spare(int fd)
{
	if (fd < 0)
		return -errno;
	if ((rlim_t)fd + OPEN_FILES_SPARE < soft_limit())
		return fd;
	close(fd);
	return -EMFILE;
}
