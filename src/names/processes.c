// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/names.h"

#define FRESH 1000000000u /* ns */

struct known_task {
	int tid; /* 0: free */
	bool asked_for;
	uint64_t ts;
};

struct processes {
	pid_t *pids;
	char *proc;
	struct known_task known[PROCESSES_TASKS];
};

static size_t count_pids(const pid_t *pids)
{
	size_t count = 0;

	while (pids[count])
		count++;
	return count;
}

struct processes *processes_new(const pid_t *pids, const char *proc)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	size_t size = (count_pids(pids) + 1) * sizeof(*pids);

	if (!processes)
		return NULL;
	processes->pids = malloc(size);
	processes->proc = proc ? strdup(proc) : NULL;
	if (!processes->pids || (proc && !processes->proc)) {
		processes_free(processes);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(processes->pids, pids, size);
	return processes;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	free(processes->proc);
	free(processes->pids);
	free(processes);
}

static bool is_asked_for(const struct processes *processes, int pid)
{
	for (const pid_t *asked = processes->pids; *asked; asked++)
		if (*asked == pid)
			return true;
	return false;
}

/* Returns the process (thread group) of a task, 0 when it has gone. proc(5), Tgid of status. */
static int process_of(const struct processes *processes, int tid)
{
	char text[1024];
	char path[256];
	const char *line;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/status", processes->proc, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + 6) : 0;
}

static void look_up(struct processes *processes, struct known_task *known, int tid, uint64_t ts)
{
	int process = process_of(processes, tid);

	if (known->tid != tid)
		known->asked_for = is_asked_for(processes, tid);
	if (process)
		known->asked_for = is_asked_for(processes, process);
	known->tid = tid;
	known->ts = ts;
}

bool processes_have(struct processes *processes, int tid, uint64_t ts)
{
	struct known_task *known = &processes->known[(unsigned int)tid % PROCESSES_TASKS];

	if (!processes->proc || tid <= 0)
		return is_asked_for(processes, tid);
	if (known->tid != tid || ts - known->ts > FRESH)
		look_up(processes, known, tid, ts);
	return known->asked_for;
}
