// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/hash.h"
#include "allocfilt/base/text.h"
#include "allocfilt/names/tasks.h"
#include "names/line_reader.h"

#define FRESH	   NS_PER_SECOND	/* ns: older information is read again before it is shown */
#define SEEN	   (10 * NS_PER_SECOND) /* ns: older information is read again in task_cache_see() */
#define PASS_PAUSE NS_PER_SECOND	/* ns: between passes for tasks that were evicted */
#define SAVED_MAX  65536		/* tasks of a capture */
#define PF_KTHREAD 0x00200000		/* include/linux/sched.h: the same since 2.6.17 */
#define PF_EXITING 0x00000004		/* the same since 2.4 */
#define LOG_READ   3			/* SYSLOG_ACTION_READ_ALL of syslog(2) */
#define LOG_TAIL   65536 /* bytes of the kernel's log, which has tasks before a victim */

struct task {
	struct hash_link link; /* by thread id */
	char name[TASK_COMM_MAX];
	uint64_t name_at; /* ns: when the name was read */
	bool waits;	  /* for a pass over saved_cmdlines */
	bool doubtful;	  /* see struct saved_names */
	uint64_t info_at;
	bool has_info; /* was reading info tried? */
	bool is_known; /* its place in task_cache.infos is set */
};

struct task_cache {
	int proc;  /* descriptor of /proc; -1: a capture */
	int saved; /* descriptor of saved_cmdlines, -1: none */
	const struct data_source *source;
	struct hash hash;
	struct task *tasks;
	struct task_info *infos; /* of tasks; those of a capture may have nothing but a name */
	struct task *last;  /* found or inserted last, or NULL: most records ask for it again */
	uint64_t next_pass; /* ns: not before, unless a task was seen since the last one */
	bool waits;	    /* was a task seen that waits for a pass? */
	uint64_t victim_at; /* us, the log's own time: of the OOM killer's last victim */
	struct memory_pressure counted; /* by the kernel: victims */
	uint64_t missed;
	struct task_info unknown;
};

static const struct task_info *info_of(const struct task_cache *cache, const struct task *task)
{
	return task->is_known ? &cache->infos[task - cache->tasks] : &cache->unknown;
}

static void set_info(const struct task_cache *cache, struct task *task,
		     const struct task_info *info)
{
	cache->infos[task - cache->tasks] = *info;
	task->is_known = true;
}

/* ---- /proc ---- */

/* Reads a text file of /proc without its last newline, cut to size - 1. */
static bool read_file(const struct task_cache *cache, int tid, const char *name, char *text,
		      size_t size)
{
	char path[64];
	size_t length;

	snprintf(path, sizeof(path), "%d/%s", tid, name);
	length = file_read_start(openat(cache->proc, path, O_RDONLY | O_CLOEXEC), text, size);
	if (!length)
		return false;
	if (text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	return true;
}

/* Reads Tgid from status, and flags, the seventh field after the name in stat: proc(5). */
static bool read_process(const struct task_cache *cache, struct task_info *info,
			 unsigned int *flags)
{
	char text[1024];
	const char *at;

	if (!read_file(cache, info->tid, "status", text, sizeof(text)))
		return false;
	info->pid = (int)text_number(text, "\nTgid:");
	if (!info->pid)
		return false;
	/* The name is in parentheses and may contain parentheses and spaces. */
	if (read_file(cache, info->tid, "stat", text, sizeof(text)) && (at = strrchr(text, ')')) &&
	    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", flags) == 1)
		info->kernel_thread = *flags & PF_KTHREAD;
	if (read_file(cache, info->pid, "comm", text, sizeof(text)))
		snprintf(info->process, sizeof(info->process), "%.*s", TASK_COMM_MAX - 1, text);
	return true;
}

/* Matches "4:memory:/…", a line of the memory controller on cgroup v1. */
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

/*
 * The end of a long path is kept, without a slash at its start: it is not taken for a whole one, which
 * may be that of another unit.
 */
static void set_cgroup(struct task_info *info, const char *path)
{
	size_t length = strlen(path);

	if (length >= TASK_CGROUP_MAX)
		path += length - (TASK_CGROUP_MAX - 1);
	path += length >= TASK_CGROUP_MAX && *path == '/';
	strcpy(info->cgroup, path);
}

/*
 * Lines are "N:controllers:/path": cgroups(7). An exiting task has its path on cgroup2, with " (deleted)"
 * behind it if the cgroup is gone, but the root of each hierarchy of v1 (kernel/cgroup/cgroup.c:
 * proc_cgroup_show()).
 */
static void read_cgroup(const struct task_cache *cache, int tid, bool exiting,
			struct task_info *info)
{
	char text[8192];
	char *line, *rest = text;

	if (!read_file(cache, tid, "cgroup", text, sizeof(text)))
		return;
	while ((line = strsep(&rest, "\n"))) {
		bool memory = is_memory_line(line);
		char *path = strchr(line, ':'), *deleted;

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || (!memory && strncmp(line, "0::", 3)))
			continue;
		deleted = strrchr(path, ' ');
		if (exiting && deleted && !strcmp(deleted, " (deleted)"))
			*deleted = '\0';
		set_cgroup(info, memory && exiting ? "" : path + 1);
		if (memory)
			return;
	}
}

static bool has_ended(const struct task_cache *cache, int tid)
{
	char path[16];

	snprintf(path, sizeof(path), "%d", tid);
	return faccessat(cache->proc, path, F_OK, 0) && errno == ENOENT;
}

/*
 * A task that has exited keeps its old information, unless the next pass knows better. Memory of a thread
 * is charged to the cgroup of its process (mm/memcontrol.c: get_mem_cgroup_from_mm()), which often
 * outlives it.
 */
static noinline void read_info(struct task_cache *cache, struct task *task, uint64_t ts)
{
	struct task_info info = { .tid = (int)task->link.key };
	unsigned int flags = 0;

	task->has_info = true;
	task->info_at = ts;
	if (read_process(cache, &info, &flags)) {
		read_cgroup(cache, info.tid, flags & PF_EXITING, &info);
		if (!*info.cgroup && info.pid != info.tid)
			read_cgroup(cache, info.pid, flags & PF_EXITING, &info);
	}
	info.limit =
		strcmp(info.cgroup, info_of(cache, task)->cgroup) ? 0 : info_of(cache, task)->limit;
	info.ended = !*info.cgroup && (flags & PF_EXITING || has_ended(cache, info.tid));
	task->waits |= info.ended;
	cache->waits |= info.ended;
	if (info.ended ? !task->is_known : info.pid)
		set_info(cache, task, &info);
}

static void refresh_info(struct task_cache *cache, struct task *task, uint64_t ts, uint64_t max_age)
{
	if (cache->proc >= 0 && (!task->has_info || ts > task->info_at + max_age))
		read_info(cache, task, ts);
}

/* ---- saved_cmdlines ---- */

/*
 * Lines of "TID NAME". NAME may contain a newline: a line that does not begin with a number and a
 * space continues the name before it. One that does is doubtful where it could be a part of that name, too.
 * A recording has newlines escaped.
 */
struct saved_names {
	struct line_reader reader;
	const char *line; /* the next line, NULL at the end */
	bool escaped;
	int tid;
	char name[TASK_COMM_MAX];
	size_t length; /* of the name; at the start more than any */
	bool doubtful;
};

static bool begins_task(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	return digits && digits <= 10 && line[digits] == ' ';
}

static void saved_names_start(const struct task_cache *cache, struct saved_names *saved)
{
	saved->escaped = cache->proc < 0;
	saved->length = TASK_COMM_MAX;
	line_reader_start(&saved->reader, cache->source->no_saved_names ? -1 : cache->saved);
	do {
		saved->line = line_reader_next(&saved->reader);
	} while (saved->line && !begins_task(saved->line));
}

static void append_name(struct saved_names *saved, const char *text)
{
	while (*text && saved->length < TASK_COMM_MAX - 1)
		saved->name[saved->length++] = saved->escaped ? text_field_byte(&text) : *text++;
	saved->name[saved->length] = '\0';
}

static bool saved_names_next(struct saved_names *saved)
{
	char *name;

	if (!saved->line)
		return false;
	saved->doubtful = saved->length + 1 + strlen(saved->line) < TASK_COMM_MAX;
	saved->tid = (int)strtoll(saved->line, &name, 10);
	saved->length = 0;
	append_name(saved, name + 1);
	while ((saved->line = line_reader_next(&saved->reader)) && !begins_task(saved->line)) {
		append_name(saved, "\n");
		append_name(saved, saved->line);
	}
	return true;
}

/* A doubtful name is better than none; two of them that differ are none. */
static void take_saved_name(struct task *task, const struct saved_names *saved)
{
	bool has_name = strcmp(task->name, TASK_UNNAMED);

	if (saved->doubtful && has_name && !task->doubtful)
		return;
	strcpy(task->name, saved->doubtful && task->doubtful && strcmp(task->name, saved->name) ?
				   TASK_UNNAMED :
				   saved->name);
	task->doubtful = saved->doubtful;
}

/* ---- the table ---- */

static struct task *insert_task(struct task_cache *cache, int tid)
{
	struct hash_link *link = hash_insert(&cache->hash, (uint64_t)tid);
	struct task *task = container_of(link, struct task, link);

	*task = (struct task){ .link = *link, .name = TASK_UNNAMED };
	cache->last = task;
	return task;
}

static struct task *find_task(struct task_cache *cache, int tid)
{
	struct hash_link *link;

	if (cache->last && cache->last->link.key == (uint64_t)tid)
		return cache->last;
	link = hash_find(&cache->hash, (uint64_t)tid);
	if (link)
		cache->last = container_of(link, struct task, link);
	return link ? cache->last : NULL;
}

static struct task *find_or_insert(struct task_cache *cache, int tid)
{
	struct task *task = find_task(cache, tid);

	return task ? task : insert_task(cache, tid);
}

/* ---- names ---- */

/* A task that /proc does not have waits for a pass over saved_cmdlines. */
static void read_name(const struct task_cache *cache, struct task *task, uint64_t ts)
{
	char text[64]; /* longer than a name, for the suffix that /proc adds */
	char *colon;

	task->name_at = ts;
	task->waits = !read_file(cache, (int)task->link.key, "comm", text, sizeof(text));
	if (task->waits)
		return;
	/* /proc shows "kworker/0:1-events" for the task named "kworker/0:1". */
	colon = strncmp(text, "kworker/", 8) ? NULL : strchr(text, ':');
	if (colon)
		colon[strcspn(colon, "-+")] = '\0';
	snprintf(task->name, sizeof(task->name), "%.*s", TASK_COMM_MAX - 1, text);
	task->doubtful = false;
}

/* The kernel's count is much shorter than its log. */
static bool has_new_victims(struct task_cache *cache)
{
	uint64_t before = cache->counted.oom_kills;

	return !memory_counts(cache->proc, &cache->counted) || cache->counted.oom_kills != before;
}

/* The limit is that of the cgroup itself or of one around it; else the line says "global_oom". */
static uint16_t limit_of(const char *line, const char *end, const char *cgroup)
{
	const char *limit = strstr(line, ",oom_memcg=");
	size_t bytes = limit && limit < end ? (size_t)(end - limit) - strlen(",oom_memcg=") : 0;

	if (!bytes)
		return 1;
	return strlen(cgroup) < TASK_CGROUP_MAX &&
			       !strncmp(cgroup, limit + strlen(",oom_memcg="), bytes) &&
			       strchr("/", cgroup[bytes]) ?
		       (uint16_t)bytes :
		       0;
}

/*
 * The kernel's log has the cgroups of the OOM killer's victims, which may be gone by now, or have records
 * that are still to be read: "…,oom_memcg=PATH,task_memcg=PATH,task=NAME,pid=PID,uid=UID" (mm/oom_kill.c:
 * dump_oom_summary()). Names and paths may have any of these in them. The times of the lines tell new
 * ones. Without a table it only notes how far the log goes.
 */
void task_cache_see_victims(struct task_cache *cache, uint64_t ts)
{
	static const char before[] = ",task_memcg=";
	static char text[LOG_TAIL];
	int length, tid;
	char *line, *rest = text;

	if (cache->proc < 0 || (!has_new_victims(cache) && cache->tasks))
		return;
	length = klogctl(LOG_READ, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		char *path = strstr(line, before), *name = path ? strstr(path, ",task=") : NULL;
		char *uid = name ? strrchr(name + 1, ',') : NULL;
		uint64_t seconds, us;
		struct task *task;
		struct task_info info;

		if (!uid || strstr(path + 1, before) || !strstr(line, "] oom-kill:") ||
		    sscanf(line, "<%*u>[%" SCNu64 ".%" SCNu64, &seconds, &us) != 2 ||
		    seconds * 1000000 + us <= cache->victim_at)
			continue;
		cache->victim_at = seconds * 1000000 + us;
		*uid = '\0';
		if (!cache->tasks || sscanf(strrchr(name, ','), ",pid=%d", &tid) != 1 || tid <= 0)
			continue;
		*name = '\0';
		task = find_task(cache, tid);
		if (!task) {
			task = insert_task(cache, tid);
			read_name(cache, task, ts);
		}
		info = *info_of(cache, task);
		info.tid = tid;
		info.pid = info.pid ? info.pid : tid;
		info.ended = false;
		info.source = NULL;
		set_cgroup(&info, path + strlen(before));
		info.limit = limit_of(line, path, path + strlen(before));
		set_info(cache, task, &info);
	}
}

static void read_waiting_names(struct task_cache *cache, uint64_t ts)
{
	struct saved_names saved;
	struct hash_link *link;

	task_cache_see_victims(cache, ts);
	saved_names_start(cache, &saved);
	while (saved_names_next(&saved)) {
		struct task *task = find_task(cache, saved.tid);

		if (task && task->waits)
			take_saved_name(task, &saved);
	}
	TAILQ_FOREACH(link, &cache->hash.used, use) {
		container_of(link, struct task, link)->waits = false;
	}
	cache->waits = false;
}

/*
 * One pass serves all tasks seen by then. They come in rounds, so there are no more passes than
 * rounds. A task that was evicted comes alone.
 */
static void read_saved_if_due(struct task_cache *cache, const struct task *task, uint64_t ts)
{
	if (!task->waits || (!cache->waits && ts < cache->next_pass))
		return;
	cache->next_pass = ts + PASS_PAUSE;
	read_waiting_names(cache, ts);
}

static struct task *insert_and_read(struct task_cache *cache, int tid, uint64_t ts, bool lookup)
{
	struct task *task = insert_task(cache, tid);

	read_name(cache, task, ts);
	if (!task->waits)
		return task;
	if (!lookup) {
		cache->waits = true;
		return task;
	}
	read_saved_if_due(cache, task, ts);
	if (cache->hash.evicted && !strcmp(task->name, TASK_UNNAMED))
		cache->missed++;
	return task;
}

/*
 * The table has all tasks of a capture. A live run sees each task before it looks it up, so one
 * that is not found was evicted.
 */
static struct task *find_or_read(struct task_cache *cache, int tid, uint64_t ts, bool lookup)
{
	struct task *task = find_task(cache, tid);

	return task || cache->proc < 0 ? task : insert_and_read(cache, tid, ts, lookup);
}

bool task_cache_is_full(const struct task_cache *cache)
{
	return hash_is_full(&cache->hash);
}

void task_cache_see(struct task_cache *cache, int tid, uint64_t ts)
{
	struct task *task = tid > 0 ? find_or_read(cache, tid, ts, false) : NULL;

	if (task)
		refresh_info(cache, task, ts, SEEN);
}

void task_cache_see_saved(struct task_cache *cache, uint64_t ts)
{
	struct saved_names saved;

	task_cache_see_victims(cache, ts);
	saved_names_start(cache, &saved);
	while (saved_names_next(&saved)) {
		struct task *task = find_or_insert(cache, saved.tid);

		/*
		 * The name may be another program's, or another task's of the same id; the kernel
		 * may forget one.
		 */
		if (strcmp(task->name, saved.name) && strcmp(saved.name, TASK_UNNAMED)) {
			read_name(cache, task, ts);
			if (task->waits)
				take_saved_name(task, &saved);
			task->waits = false;
			task->has_info = false;
		}
		if (!task->has_info)
			read_info(cache, task, ts);
	}
}

const char *task_cache_name(struct task_cache *cache, int tid, uint64_t ts)
{
	struct task *task;

	/* as trace_find_cmdline() in kernel/trace */
	if (tid <= 0)
		return tid ? "<XXX>" : "<idle>";
	task = find_or_read(cache, tid, ts, true);
	if (!task)
		return TASK_UNNAMED;
	if (cache->proc >= 0 && ts > task->name_at + FRESH)
		read_name(cache, task, ts);
	read_saved_if_due(cache, task, ts);
	return task->name;
}

const struct task_info *task_cache_info(struct task_cache *cache, int tid, uint64_t ts)
{
	static const struct task_info idle;
	struct task *task;

	if (tid <= 0)
		return &idle;
	task = find_or_read(cache, tid, ts, true);
	if (!task)
		return &cache->unknown;
	refresh_info(cache, task, ts, FRESH);
	read_saved_if_due(cache, task, ts);
	return info_of(cache, task);
}

void task_cache_suppose(struct task_cache *cache, int tid, uint64_t ts, const char *source,
			const char *cgroup)
{
	struct task *task = tid > 0 ? find_or_read(cache, tid, ts, false) : NULL;
	struct task_info info;

	if (!task && tid > 0 && !hash_is_full(&cache->hash))
		task = insert_task(cache, tid);
	if (!task || !*cgroup || *info_of(cache, task)->cgroup)
		return;
	info = *info_of(cache, task);
	info.tid = tid;
	info.ended = true;
	info.source = source;
	set_cgroup(&info, cgroup);
	set_info(cache, task, &info);
}

uint64_t task_cache_missed(const struct task_cache *cache)
{
	return cache->missed;
}

/* ---- a capture's files ---- */

static void parse_info(struct task_cache *cache, const char *line)
{
	struct task_info info = { 0 };
	char number[16];

	if (!text_parse_field(&line, number, sizeof(number)) || (info.tid = atoi(number)) <= 0 ||
	    !text_parse_field(&line, number, sizeof(number)))
		return;
	info.pid = atoi(number);
	if (!text_parse_field(&line, number, sizeof(number)) ||
	    !text_parse_field(&line, info.process, sizeof(info.process)) ||
	    !text_parse_field(&line, info.cgroup, sizeof(info.cgroup)))
		return;
	info.kernel_thread = !strcmp(number, "k");
	if (text_parse_field(&line, number, sizeof(number)))
		info.limit = (uint16_t)strnlen(info.cgroup, (size_t)strtoul(number, NULL, 10));
	set_info(cache, find_or_insert(cache, info.tid), &info);
	/* A recording ends with a look at all threads. */
	cache->unknown.ended = !cache->hash.evicted;
}

/* Returns the number of lines. Without a table it only counts them. */
static size_t read_capture(struct task_cache *cache, int tasks)
{
	struct saved_names saved;
	struct line_reader reader;
	const char *line;
	size_t count = 0;

	saved_names_start(cache, &saved);
	for (; saved_names_next(&saved); count++)
		if (cache->tasks && saved.tid > 0)
			take_saved_name(find_or_insert(cache, saved.tid), &saved);
	line_reader_start(&reader, tasks);
	for (; (line = line_reader_next(&reader)); count++)
		if (cache->tasks)
			parse_info(cache, line);
	return count;
}

struct task_cache *task_cache_new(const struct data_source *source, size_t size)
{
	struct task_cache *cache = calloc(1, sizeof(*cache));
	const char *proc = source->proc;
	int tasks = -1;
	bool has_room;

	if (!cache)
		return NULL;
	cache->proc = proc ? open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	cache->saved = source_open(source, "saved_cmdlines");
	cache->source = source;
	if (proc) {
		task_cache_see_victims(cache, 0);
	} else {
		tasks = source_open(source, "tasks");
		size = read_capture(cache, tasks) + 1;
		size = MIN(size, SAVED_MAX);
	}
	cache->tasks = calloc(size, sizeof(*cache->tasks));
	cache->infos = calloc(size, sizeof(*cache->infos));
	has_room = cache->tasks && cache->infos &&
		   !hash_init(&cache->hash, &cache->tasks[0].link, sizeof(*cache->tasks), size);
	if (has_room && !proc)
		read_capture(cache, tasks);
	file_close(tasks);
	if (has_room)
		return cache;
	task_cache_free(cache);
	return NULL;
}

void task_cache_free(struct task_cache *cache)
{
	if (!cache)
		return;
	file_close(cache->proc);
	file_close(cache->saved);
	hash_destroy(&cache->hash);
	free(cache->infos);
	free(cache->tasks);
	free(cache);
}

/* A reader, trace-cmd as well, would take the text behind a newline for another task. */
static void print_name(FILE *stream, uint64_t tid, const char *name)
{
	fprintf(stream, "%" PRIu64 " ", tid);
	for (; *name; name++)
		fprintf(stream, *name == '\n' || *name == '\\' ? "\\%03o" : "%c", *name);
	fputc('\n', stream);
}

void task_cache_print(struct task_cache *cache, FILE *names, FILE *tasks)
{
	struct hash_link *link;

	TAILQ_FOREACH(link, &cache->hash.used, use) {
		const struct task *task = container_of(link, struct task, link);
		const struct task_info *info = info_of(cache, task);

		if (strcmp(task->name, TASK_UNNAMED))
			print_name(names, link->key, task->name);
		if (!info->pid)
			continue;
		fprintf(tasks, "%d %d %c ", info->tid, info->pid, info->kernel_thread ? 'k' : '-');
		text_print_field(tasks, info->process, ' ');
		text_print_field(tasks, info->cgroup, info->limit ? ' ' : '\n');
		if (info->limit)
			fprintf(tasks, "%u\n", info->limit);
	}
}
