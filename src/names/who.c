// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"

#define FRESH	   1000000000ull  /* ns: who is shown is read again after that */
#define SEEN	   10000000000ull /* ns: who is only seen, after that */
#define PLACES	   8		  /* where a task may stand in the table */
#define PF_KTHREAD 0x00200000	  /* include/linux/sched.h: the same since 2.6.17 */

struct known {
	struct task_info task; /* pid 0: empty */
	uint64_t ts;	       /* when it was read */
};

struct who {
	int proc; /* descriptor of /proc; -1: a capture */
	uint64_t evicted;
	uint64_t missed;
	struct task_info unknown; /* what is told of a task of which nothing is known */
	size_t size;
	struct known table[];
};

/* ---- /proc ---- */

/* A text file below /proc, cut to size - 1; its length, or -1. */
static ssize_t read_file(const struct who *who, int pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	fd = openat(who->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	length = read(fd, text, size - 1);
	close(fd);
	if (length >= 0)
		text[length] = '\0';
	return length;
}

/* proc(5): the name in brackets may hold brackets and blanks; flags are the 7th word behind it. */
static bool read_kernel_thread(const struct who *who, int pid)
{
	char text[1024];
	const char *at;
	unsigned int flags = 0;

	if (read_file(who, pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return flags & PF_KTHREAD;
}

static int read_tgid(const struct who *who, int pid)
{
	char text[1024];
	const char *line;

	if (read_file(who, pid, "status", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + strlen("\nTgid:")) : 0;
}

static void read_process(const struct who *who, struct task_info *task)
{
	char text[64];
	ssize_t length = read_file(who, task->tgid, "comm", text, sizeof(text));

	if (length <= 0)
		return;
	if (text[length - 1] == '\n')
		text[length - 1] = '\0';
	snprintf(task->process, sizeof(task->process), "%.*s", TASK_COMM_MAX - 1, text);
}

/* Is this "4:memory:/…", a line of the memory controller on v1? */
static bool is_memory_line(const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *at = controllers;

	while (at && *at != '\0' && (at == controllers || *at == ',')) {
		if (!strncmp(at + 1, "memory", 6) && (at[7] == ':' || at[7] == ','))
			return true;
		at += 1 + strcspn(at + 1, ",:\n");
	}
	return false;
}

/* The path of a line "N:controllers:/path"; of a long one the end, where the unit stands. */
static void take_path(char cgroup[TASK_CGROUP_MAX], const char *line)
{
	const char *path = strchr(line, ':');
	size_t length;

	path = path ? strchr(path + 1, ':') : NULL;
	if (!path)
		return;
	path++;
	length = strcspn(path, "\n");
	if (length >= TASK_CGROUP_MAX) {
		path += length - (TASK_CGROUP_MAX - 1);
		length = TASK_CGROUP_MAX - 1;
	}
	memcpy(cgroup, path, length);
	cgroup[length] = '\0';
}

static void read_cgroup(const struct who *who, struct task_info *task)
{
	char text[8192];
	const char *line = text;

	if (read_file(who, task->pid, "cgroup", text, sizeof(text)) <= 0)
		return;
	while (line && *line) {
		bool memory = is_memory_line(line);

		if (memory || !strncmp(line, "0::", 3))
			take_path(task->cgroup, line);
		if (memory)
			return;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

static bool read_task(const struct who *who, struct task_info *task, int pid)
{
	*task = (struct task_info){ .pid = pid, .tgid = read_tgid(who, pid) };
	if (!task->tgid)
		return false;
	task->kernel_thread = read_kernel_thread(who, pid);
	read_process(who, task);
	read_cgroup(who, task);
	return true;
}

/* ---- the table ---- */

static struct known *places_of(struct who *who, int pid)
{
	return &who->table[(uint32_t)pid * 2654435761u % (who->size / PLACES) * PLACES];
}

static struct known *find(struct who *who, int pid)
{
	struct known *places = places_of(who, pid);

	for (size_t i = 0; i < PLACES; i++)
		if (places[i].task.pid == pid)
			return &places[i];
	return NULL;
}

/* An empty place, else that of the task that was read first. */
static struct known *add(struct who *who, const struct task_info *task, uint64_t ts)
{
	struct known *places = places_of(who, task->pid);
	struct known *oldest = places;

	for (size_t i = 1; i < PLACES; i++)
		if (places[i].ts < oldest->ts)
			oldest = &places[i];
	who->evicted += oldest->task.pid != 0;
	*oldest = (struct known){ .task = *task, .ts = ts };
	return oldest;
}

static void read_saved_line(struct who *who, const char *line)
{
	struct task_info task = { 0 };
	char number[16];
	char kind[4];

	if (!text_parse_field(&line, number, sizeof(number)))
		return;
	task.pid = atoi(number);
	if (task.pid <= 0 || !text_parse_field(&line, number, sizeof(number)))
		return;
	task.tgid = atoi(number);
	if (!text_parse_field(&line, kind, sizeof(kind)) ||
	    !text_parse_field(&line, task.process, sizeof(task.process)) ||
	    !text_parse_field(&line, task.cgroup, sizeof(task.cgroup)))
		return;
	task.kernel_thread = !strcmp(kind, "k");
	add(who, &task, 1);
}

static void read_saved(struct who *who, const char *path)
{
	FILE *stream = fopen(path, "re");
	char line[2048];

	if (!stream)
		return;
	while (fgets(line, sizeof(line), stream))
		read_saved_line(who, line);
	fclose(stream);
}

struct who *who_new(const char *proc, const char *saved)
{
	size_t size = proc ? WHO_LIVE_MAX : WHO_SAVED_MAX;
	struct who *who = calloc(1, sizeof(*who) + size * sizeof(who->table[0]));

	if (!who)
		return NULL;
	who->size = size;
	who->proc = proc ? open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (saved)
		read_saved(who, saved);
	return who;
}

void who_free(struct who *who)
{
	if (!who)
		return;
	if (who->proc >= 0)
		close(who->proc);
	free(who);
}

static const struct known *look(struct who *who, int pid, uint64_t ts, uint64_t fresh)
{
	struct known *known = find(who, pid);
	struct task_info task;

	if (who->proc < 0 || (known && ts <= known->ts + fresh))
		return known;
	if (!read_task(who, &task, pid)) {
		if (known)
			known->ts = ts;
		return known;
	}
	if (!known)
		return add(who, &task, ts);
	known->task = task;
	known->ts = ts;
	return known;
}

void who_see(struct who *who, int pid, uint64_t ts)
{
	if (pid > 0)
		look(who, pid, ts, SEEN);
}

const struct task_info *who_of(struct who *who, int pid, uint64_t ts)
{
	const struct known *known = pid > 0 ? look(who, pid, ts, FRESH) : NULL;

	if (!known && pid > 0 && who->evicted)
		who->missed++;
	return known ? &known->task : &who->unknown;
}

uint64_t who_evicted(const struct who *who)
{
	return who->evicted;
}

uint64_t who_missed(const struct who *who)
{
	return who->missed;
}

void who_print(FILE *stream, const struct task_info *task)
{
	if (!task->tgid)
		return;
	fprintf(stream, "%d %d %c ", task->pid, task->tgid, task->kernel_thread ? 'k' : '-');
	text_print_field(stream, task->process, ' ');
	text_print_field(stream, task->cgroup, '\n');
}
