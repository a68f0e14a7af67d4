/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_TRACING_H
#define FAKE_TRACING_H

/*
 * A tracing directory of plain files that behaves as the kernel's does where that matters: a write
 * replaces a value and only lists are emptied by O_TRUNC, set_ftrace_filter accepts one name or
 * number a write, sizes are rounded up, the clock stands in brackets, an instance comes with its
 * files and goes with them, a dynamic event comes everywhere and cannot go while it is enabled. Two
 * CPUs are online, whatever number per_cpu/ has, and a sleep takes no time but moves the clock.
 *
 * The system calls of the program are taken over here: a call can be made to fail, or be the last
 * one before a kill. Include it first, in one file of a test.
 */

#undef _FORTIFY_SOURCE	 /* its inline functions would be in the way */
#undef _FILE_OFFSET_BITS /* open and open64 are two names here */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#include "unit_test.h"

#define FAKE_FDS      1024
#define FAKE_INSTANCE "instances/allocfilt"
#define FAKE_HISTOGRAM                                                                             \
	"hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 [active]\n" /* theirs */
#define FAKE_KALLSYMS "fixtures/7.3/kallsyms"
#define FAKE_ONLINE   2	  /* CPUs */
#define FAKE_POSSIBLE 128 /* CPUs, as in many a VM */

struct fake {
	char root[64]; /* scratch, removed at the end */
	char dir[80];  /* the tracing directory */
	char run_dir[80];
	char meminfo[80];	/* instead of /proc/meminfo */
	char modules[80];	/* instead of /proc/modules; there is none at first */
	bool instance_graph;	/* instances can do function_graph */
	bool tracer_busy;	/* somebody reads trace_pipe */
	char instance_from[96]; /* a directory whose files a new instance has besides; "": none */
	const char
		*refuse_probe; /* a part of the names of dynamic events that the kernel refuses */
	int refuse_error;      /* 0: EINVAL, as an older kernel that has no such fetch */
	int buffer_max_kb;     /* for a larger one there is no memory; 0: no limit */
	bool unmounted;	       /* the directory is not on tracefs (any longer) */
	bool can_fork;	       /* the program; calls of its children are not counted here */
	bool kill_children;    /* the OOM killer chooses them at once */
	int children;	       /* of the program */
	/* faults */
	bool armed;
	int calls;		/* since armed */
	int fail_from, fail_to; /* these calls fail, from 1 */
	int error;
	int kill_at;		  /* the process ends before this call */
	char last[PATH_MAX + 16]; /* what failed */
};

static struct fake fake;
static int64_t fake_slept_us; /* in all tests together */

/* What is known of an open file of the directory. */
static struct {
	bool value;
	bool no_buffer; /* per_cpu/ of a CPU that never came online */
	char name[64];
} fake_fds[FAKE_FDS];

static const char *const fake_functions[] = {
	"vfs_read", "__alloc_pages", "try_to_free_pages", "shrink_slab", "compact_zone",
};

static bool fake_fault(const char *call, const char *path)
{
	if (!fake.armed)
		return false;
	fake.calls++;
	if (fake.kill_at && fake.calls == fake.kill_at)
		_exit(9);
	if (fake.calls < fake.fail_from || fake.calls > fake.fail_to)
		return false;
	snprintf(fake.last, sizeof(fake.last), "%s %s", call, path);
	errno = fake.error;
	return true;
}

/* The calls @from to @to from now on fail with @error; fake.armed = false ends it. */
static inline void fake_fail(int from, int to, int error)
{
	fake.calls = 0;
	fake.fail_from = from;
	fake.fail_to = to;
	fake.error = error;
	fake.armed = true;
}

static bool fake_is_inside(const char *path)
{
	return fake.dir[0] && !strncmp(path, fake.dir, strlen(fake.dir));
}

static const char *fake_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool fake_is_list(const char *name)
{
	return !strncmp(name, "set_", 4) || !strcmp(name, "dynamic_events") ||
	       !strcmp(name, "trigger");
}

static const char *fake_path(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", fake.dir, name);
	return path;
}

static bool fake_has(const char *name)
{
	return !access(fake_path(name), F_OK);
}

/* The C library's own calls, as those of the kernel here, do not come to the functions below. */
static char *fake_get(const char *name)
{
	static char text[1 << 16];
	FILE *file = fopen(fake_path(name), "r");

	if (!file)
		return strcpy(text, "(absent)");
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* As few calls as can be: thousands of directories are made, compared and removed. */
static void fake_put_at(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0) {
		for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			syscall(SYS_mkdir, path, 0700);
			*slash = '/';
		}
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	}
	assert_int_equal(syscall(SYS_write, fd, text, strlen(text)), strlen(text));
	syscall(SYS_close, fd);
}

static inline void fake_put(const char *name, const char *text)
{
	fake_put_at(fake.dir, name, text);
}

/* What /proc/meminfo says. */
static inline void fake_put_available(unsigned long long kib)
{
	char text[64];

	snprintf(text, sizeof(text), "MemFree: 1 kB\nMemAvailable: %llu kB\n", kib);
	fake_put_at(fake.root, "meminfo", text);
}

static void fake_remove_at(int parent, const char *name)
{
	int fd = (int)syscall(SYS_openat, parent, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_type != DT_DIR)
			syscall(SYS_unlinkat, fd, entry->d_name, 0);
		else if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			fake_remove_at(fd, entry->d_name);
	if (dir)
		closedir(dir);
	syscall(SYS_unlinkat, parent, name, AT_REMOVEDIR);
}

static void fake_remove_tree(const char *path)
{
	fake_remove_at(AT_FDCWD, path);
}

int open(const char *path, int flags, ...)
{
	bool inside = fake_is_inside(path);
	bool value = inside && !fake_is_list(fake_base(path)) && (flags & O_ACCMODE) != O_RDONLY;
	mode_t mode = 0;
	va_list arguments;
	int fd;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	if (fake_fault("open", path))
		return -1;
	if (fake.root[0] && !strcmp(path, "/proc/meminfo"))
		path = fake.meminfo;
	/* The real one has no addresses for a user without rights. */
	if (fake.root[0] && !strcmp(path, "/proc/kallsyms"))
		path = FAKE_KALLSYMS;
	if (fake.root[0] && !strcmp(path, "/proc/modules"))
		path = fake.modules;
	if (inside && (flags & O_ACCMODE) != O_RDONLY)
		flags = (flags & ~(O_ACCMODE | (value ? O_TRUNC : 0))) | O_RDWR;
	fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (fd >= 0 && fd < FAKE_FDS) {
		const char *cpu = strstr(path, "/per_cpu/cpu");

		fake_fds[fd].value = value;
		fake_fds[fd].no_buffer = cpu && atoi(cpu + 12) >= FAKE_ONLINE;
		snprintf(fake_fds[fd].name, sizeof(fake_fds[fd].name), "%.63s",
			 inside ? fake_base(path) : "");
	}
	return fd;
}

/* The names that libtracefs calls it by. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));

int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	if (fake_fault("read", fd < FAKE_FDS ? fake_fds[fd].name : ""))
		return -1;
	return syscall(SYS_read, fd, buffer, size);
}

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	return read(fd, buffer, size < room ? size : room);
}

static ssize_t fake_store(int fd, const char *text)
{
	size_t length = strlen(text);

	if (ftruncate(fd, 0) < 0)
		return -1;
	return syscall(SYS_pwrite64, fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}

/* As the kernel shows it afterwards. */
static void fake_shown(const char *name, const char *value, char *shown, size_t size)
{
	long long number = atoll(value);

	if (!strcmp(name, "trace_clock"))
		snprintf(shown, size, "local [%s] mono\n", value);
	else if (!strcmp(name, "buffer_size_kb"))
		snprintf(shown, size, "%lld\n", (number * 1024 + 4079) / 4080 * 4080 / 1024);
	else if (!strcmp(name, "filter"))
		snprintf(shown, size, "%s\n", strcmp(value, "0") ? value : "none");
	else
		snprintf(shown, size, "%s\n", value);
}

static ssize_t fake_write_value(int fd, const void *buffer, size_t size)
{
	char value[4096], shown[4200];

	snprintf(value, sizeof(value), "%.*s", (int)size, (const char *)buffer);
	value[strcspn(value, "\n")] = '\0';
	if (fake.tracer_busy && !strcmp(fake_fds[fd].name, "current_tracer")) {
		errno = EBUSY;
		return -1;
	}
	if (!strcmp(fake_fds[fd].name, "buffer_size_kb")) {
		int wanted = atoi(value);

		syscall(SYS_pread64, fd, shown, sizeof(shown), 0);
		if (fake.buffer_max_kb && wanted > atoi(shown) && wanted > fake.buffer_max_kb) {
			/* No longer "7 (expanded: 1408)". */
			snprintf(shown, sizeof(shown), "%d\n", atoi(shown));
			fake_store(fd, shown);
			errno = ENOMEM;
			return -1;
		}
	}
	/* ring_buffer_size() of no buffer: a size changes nothing, and the first one is forgotten. */
	if (fake_fds[fd].no_buffer)
		strcpy(value, "0");
	fake_shown(fake_fds[fd].name, value, shown, sizeof(shown));
	return fake_store(fd, shown) ? -1 : (ssize_t)size;
}

/* One name, or the place of one, a write. */
static ssize_t fake_write_function(int fd, const char *text, size_t size)
{
	size_t length = strcspn(text, "\n") + 1;
	unsigned int index = atoi(text);
	char line[256];
	FILE *list;

	if (length > size)
		length = size;
	if (index > COUNT(fake_functions)) {
		list = fopen(fake_path("available_filter_functions"), "r");
		for (unsigned int i = 0; list && i < index; i++)
			if (!fgets(line, sizeof(line), list)) {
				fclose(list);
				list = NULL;
			}
		if (!list) {
			errno = EINVAL;
			return -1;
		}
		fclose(list);
	} else if (index)
		snprintf(line, sizeof(line), "%s\n", fake_functions[index - 1]);
	else
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
	return syscall(SYS_write, fd, line, strlen(line)) < 0 ? -1 : (ssize_t)length;
}

#define FAKE_PROBES "events/allocfilt"
#define FAKE_PROBE  FAKE_PROBES "/shrinker"

static const char *const fake_probes[] = { "shrinker", "memory_wait_begin", "memory_wait_end",
					   "refault" };

static void fake_put_probe(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), FAKE_PROBES "/%s/enable", name);
	fake_put_at(dir, path, "0\n");
	snprintf(path, sizeof(path), FAKE_PROBES "/%s/filter", name);
	fake_put_at(dir, path, "none\n");
}

static int fake_change_probe(const char *name, bool add)
{
	const char *const places[] = { "", FAKE_INSTANCE "/" };
	char path[128];

	if (add && fake.refuse_probe && strstr(name, fake.refuse_probe))
		return fake.refuse_error ? fake.refuse_error : EINVAL;
	snprintf(path, sizeof(path), FAKE_PROBES "/%s/enable", name);
	if (add == fake_has(path))
		return add ? EEXIST : ENOENT;
	for (int i = 0; i < 2 && !add; i++) {
		snprintf(path, sizeof(path), "%s" FAKE_PROBES "/%s/enable", places[i], name);
		if (fake_get(path)[0] == '1')
			return EBUSY;
	}
	for (int i = 0; i < 2; i++) {
		if (add && (!i || fake_has(FAKE_INSTANCE)))
			fake_put_probe(i ? fake_path(FAKE_INSTANCE) : fake.dir, name);
		if (add)
			continue;
		snprintf(path, sizeof(path), "%s" FAKE_PROBES "/%s", places[i], name);
		fake_remove_tree(fake_path(path));
		snprintf(path, sizeof(path), "%s" FAKE_PROBES, places[i]);
		syscall(SYS_rmdir, fake_path(path));
	}
	return 0;
}

/* "p:allocfilt/NAME FUNCTION", "-:allocfilt/NAME"; what others have there stays as it is. */
static ssize_t fake_write_dynamic(int fd, const char *text, size_t size)
{
	char name[64] = "", part[80], *now, *line;

	sscanf(text, "%*c:allocfilt/%63[a-z_]", name);
	errno = fake_change_probe(name, *text != '-');
	if (errno)
		return -1;
	now = fake_get("dynamic_events");
	snprintf(part, sizeof(part), ":allocfilt/%s", name);
	line = strstr(now, part);
	if (*text != '-')
		snprintf(now + strlen(now), 1024, "%.*s\n", (int)strcspn(text, "\n"), text);
	else if (line)
		memmove(line - 1, strchr(line, '\n') + 1, strlen(strchr(line, '\n')));
	return fake_store(fd, now) ? -1 : (ssize_t)size;
}

/*
 * A histogram is shown with what it has by default, and with its state. It is removed by what is shown,
 * without the state; one of the same name is refused, as kernel/trace/trace_events_hist.c does.
 */
static ssize_t fake_write_histogram(int fd, const char *text, size_t size)
{
	static const char state[] = " [active]\n";
	bool remove = *text == '!';
	char path[64], now[4096] = "", wanted[1024], *found, *end;
	int values, rest;

	assert_true(syscall(SYS_pread64, fd, now, sizeof(now) - 1024, 0) >= 0);
	snprintf(wanted, sizeof(wanted), "%.*s", (int)size - remove, text + remove);
	wanted[strcspn(wanted, "\n")] = '\0';
	if (remove) {
		for (end = wanted + strlen(wanted); end > wanted && end[-1] == ' ';)
			*--end = '\0';
		strcat(wanted, state);
		found = strstr(now, wanted);
		if (!found) {
			errno = ENOENT;
			return -1;
		}
		memmove(found, found + strlen(wanted), strlen(found + strlen(wanted)) + 1);
		return fake_store(fd, now) ? -1 : (ssize_t)size;
	}
	snprintf(path, sizeof(path), "%.*s:", (int)strcspn(wanted + 5, ":") + 5, wanted);
	if (strstr(now, path)) {
		errno = EEXIST;
		return -1;
	}
	/* hist:name=...:keys=...[:vals=...]:size=... */
	found = strstr(wanted, ":vals=");
	values = found ? (int)(found - wanted) : (int)(strstr(wanted, ":size=") - wanted);
	rest = (int)(strstr(wanted, ":size=") - wanted);
	snprintf(now + strlen(now), sizeof(now) - strlen(now),
		 "%.*s:vals=hitcount%s%.*s:sort=hitcount%s%s", values, wanted, found ? "," : "",
		 found ? rest - values - 6 : 0, found ? found + 6 : "", wanted + rest, state);
	return fake_store(fd, now) ? -1 : (ssize_t)size;
}

static ssize_t fake_write_trigger(int fd, const char *text, size_t size)
{
	static const char others[] = "traceoff:count=1\n";
	static const char command[] = "stacktrace";
	char both[128];

	if (!strncmp(text + (*text == '!'), "hist:", 5))
		return fake_write_histogram(fd, text, size);
	/* "stacktrace", or with a condition after it */
	snprintf(both, sizeof(both), "%s:unlimited%.*s\n%s", command, (int)(size - strlen(command)),
		 text + strlen(command), others);
	return fake_store(fd, *text == '!' ? others : both) ? -1 : (ssize_t)size;
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	/* Messages are not a part of the work. */
	if (fd == STDOUT_FILENO || fd == STDERR_FILENO)
		return syscall(SYS_write, fd, buffer, size);
	if (fake_fault("write", fd < FAKE_FDS ? fake_fds[fd].name : ""))
		return -1;
	if (fd < FAKE_FDS && !strcmp(fake_fds[fd].name, "dynamic_events"))
		return fake_write_dynamic(fd, buffer, size);
	if (fd < FAKE_FDS && !strcmp(fake_fds[fd].name, "trigger"))
		return fake_write_trigger(fd, buffer, size);
	if (fd < FAKE_FDS && fake_fds[fd].value)
		return fake_write_value(fd, buffer, size);
	/* A list grows by what is written; only O_TRUNC empties it. */
	if (fd < FAKE_FDS && fake_is_list(fake_fds[fd].name))
		lseek(fd, 0, SEEK_END);
	if (fd < FAKE_FDS && !strcmp(fake_fds[fd].name, "set_ftrace_filter"))
		return fake_write_function(fd, buffer, size);
	return syscall(SYS_write, fd, buffer, size);
}

/* An error of close() leaves the file closed. */
int close(int fd)
{
	bool fails = fake_fault("close", fd >= 0 && fd < FAKE_FDS ? fake_fds[fd].name : "");
	int error = errno;

	if (fd >= 0 && fd < FAKE_FDS)
		memset(&fake_fds[fd], 0, sizeof(fake_fds[fd]));
	if (syscall(SYS_close, fd) < 0)
		return -1;
	errno = error;
	return fails ? -1 : 0;
}

/* No test lasts through a power cut, and a real disk would take minutes for all of them. */
int fsync(int fd)
{
	return fake_fault("fsync", "") ? -1 : 0;
}

/* For files that are not of the tracing directory. */
int openat(int dir, const char *name, int flags, ...)
{
	struct stat at, proc;
	char path[PATH_MAX];
	mode_t mode = 0;
	va_list arguments;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	if (dir == AT_FDCWD)
		return open(name, flags, mode);
	if (!fstat(dir, &at) && !stat("/proc", &proc) && at.st_dev == proc.st_dev &&
	    at.st_ino == proc.st_ino) {
		snprintf(path, sizeof(path), "/proc/%s", name);
		return open(path, flags, mode);
	}
	return fake_fault("openat", name) ? -1 : (int)syscall(SYS_openat, dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...) __attribute__((alias("openat")));

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fake_fault("renameat", to) ?
		       -1 :
		       (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
	return fake_fault("unlinkat", name) ? -1 : (int)syscall(SYS_unlinkat, dir, name, flags);
}

/* The C library's own, under its other name. */
long __sysconf(int name);

long sysconf(int name)
{
	if (name == _SC_NPROCESSORS_ONLN)
		return FAKE_ONLINE;
	return name == _SC_NPROCESSORS_CONF ? FAKE_POSSIBLE : __sysconf(name);
}

/* The program's: a test that forks itself calls _Fork(). */
pid_t fork(void)
{
	pid_t child;

	if (!fake.can_fork) {
		errno = EAGAIN;
		return -1;
	}
	fake.children++;
	child = _Fork();
	if (!child && fake.kill_children)
		raise(SIGKILL);
	return child;
}

int usleep(useconds_t us)
{
	fake_slept_us += us;
	return 0;
}

static uint64_t fake_last_realtime; /* ns: that was asked for */

static time_t fake_worked_s; /* CPU time beyond what was used */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_PROCESS_CPUTIME_ID)
		now->tv_sec += fake_worked_s;
	if (clock == CLOCK_REALTIME)
		fake_last_realtime = now->tv_sec * 1000000000ull + now->tv_nsec;
	if (clock == CLOCK_MONOTONIC) {
		now->tv_sec += fake_slept_us / 1000000;
		now->tv_nsec += fake_slept_us % 1000000 * 1000;
		now->tv_sec += now->tv_nsec / 1000000000;
		now->tv_nsec %= 1000000000;
	}
	return ret;
}

int statfs(const char *path, struct statfs *found)
{
	if (fake_fault("statfs", path) || syscall(SYS_statfs, path, found) < 0)
		return -1;
	if (fake_is_inside(path) && !fake.unmounted)
		found->f_type = TRACEFS_MAGIC;
	return 0;
}

/* The name that our own objects call it by, which are built with 64-bit file offsets. */
int statfs64(const char *path, struct statfs64 *found)
{
	_Static_assert(sizeof(*found) == sizeof(struct statfs), "");
	return statfs(path, (struct statfs *)found);
}

/* What both the top level and an instance have. */
static void fake_put_own(const char *dir, bool graph)
{
	static const char *const files[][2] = {
		{ "current_tracer", "nop\n" },
		{ "trace_clock", "[local] global mono\n" },
		{ "buffer_size_kb", "7 (expanded: 1408)\n" },
		{ "buffer_percent", "50\n" },
		{ "tracing_on", "1\n" },
		{ "tracing_cpumask", "1\n" },
		{ "trace_marker", "" },
		{ "set_ftrace_filter", "#### all functions enabled ####\n" },
		{ "set_ftrace_notrace", "#### no functions disabled ####\n" },
		{ "set_ftrace_pid", "no pid\n" },
		{ "set_ftrace_notrace_pid", "no pid\n" },
		{ "set_event", "" },
		{ "set_event_pid", "" },
		{ "set_event_notrace_pid", "" },
		{ "options/overwrite", "1\n" },
		{ "options/stacktrace", "0\n" },
		{ "options/sleep-time", "1\n" },
		{ "options/event-fork", "0\n" },
		{ "per_cpu/cpu0/buffer_size_kb", "1408\n" },
		{ "per_cpu/cpu1/buffer_size_kb", "1408\n" },
		{ "per_cpu/cpu0/stats", "entries: 0\noverrun: 0\n" },
		{ "per_cpu/cpu1/stats", "entries: 0\noverrun: 0\n" },
		{ "events/vmscan/mm_shrink_slab_start/enable", "0\n" },
		{ "events/vmscan/mm_shrink_slab_start/filter", "none\n" },
		{ "events/vmscan/mm_shrink_slab_end/enable", "0\n" },
		{ "events/vmscan/mm_shrink_slab_end/filter", "none\n" },
		{ "events/vmscan/mm_vmscan_direct_reclaim_begin/enable", "0\n" },
		{ "events/vmscan/mm_vmscan_direct_reclaim_begin/filter", "none\n" },
		{ "events/vmscan/mm_vmscan_direct_reclaim_begin/trigger", "traceoff:count=1\n" },
		{ "events/sched/sched_switch/enable", "0\n" },
		{ "events/sched/sched_switch/filter", "none\n" },
		{ "events/sched/sched_switch/trigger", "traceoff:count=1\n" },
		{ "events/kmem/kmalloc/trigger", "" },
		{ "events/task/task_newtask/trigger", "" },
		{ "events/kmem/mm_page_alloc/trigger", FAKE_HISTOGRAM },
	};

	for (size_t i = 0; i < COUNT(files); i++)
		fake_put_at(dir, files[i][0], files[i][1]);
	fake_put_at(dir, "available_tracers",
		    graph ? "function_graph function nop\n" : "function nop\n");
}

int mkdir(const char *path, mode_t mode)
{
	if (fake_fault("mkdir", path) || syscall(SYS_mkdir, path, mode) < 0)
		return -1;
	if (!fake_is_inside(path))
		return 0;
	fake_put_own(path, fake.instance_graph);
	/* It takes over an option that has a file at the top level alone. */
	fake_put_at(path, "trace_options",
		    *fake_get("options/record-cmd") == '1' ? "record-cmd\n" : "norecord-cmd\n");
	if (fake.instance_graph)
		fake_put_at(path, "buffer_subbuf_size_kb", "4\n");
	if (fake.instance_from[0]) {
		char command[PATH_MAX + 128];

		snprintf(command, sizeof(command), "cp -r %s/. %s/", fake.instance_from, path);
		assert_int_equal(system(command), 0);
	}
	for (size_t i = 0; i < COUNT(fake_probes); i++) {
		char enable[128];

		snprintf(enable, sizeof(enable), FAKE_PROBES "/%s/enable", fake_probes[i]);
		if (fake_has(enable))
			fake_put_probe(path, fake_probes[i]);
	}
	return 0;
}

int rmdir(const char *path)
{
	if (fake_fault("rmdir", path))
		return -1;
	if (!fake_is_inside(path))
		return (int)syscall(SYS_rmdir, path);
	fake_remove_tree(path);
	return 0;
}

/* A directory as after the boot; @instances: of a kernel that has function_graph for them. */
static void fake_make(bool instances)
{
	memset(&fake, 0, sizeof(fake));
	/* In memory where that is possible: thousands of them are made. */
	snprintf(fake.root, sizeof(fake.root), "%s/allocfilt-test-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(fake.root));
	snprintf(fake.run_dir, sizeof(fake.run_dir), "%s/run", fake.root);
	snprintf(fake.dir, sizeof(fake.dir), "%s/tracing", fake.root);
	snprintf(fake.meminfo, sizeof(fake.meminfo), "%s/meminfo", fake.root);
	snprintf(fake.modules, sizeof(fake.modules), "%s/modules", fake.root);
	syscall(SYS_mkdir, fake.dir, 0700);
	fake.instance_graph = instances;
	fake_put_own(fake.dir, true);
	if (instances)
		fake_put("buffer_subbuf_size_kb", "4\n");
	fake_put_available(8 << 20);
	fake_put("tracing_thresh", "0\n");
	fake_put("max_graph_depth", "0\n");
	fake_put("options/record-cmd", "1\n");
	fake_put("set_graph_function", "#### all functions enabled ####\n");
	fake_put("set_graph_notrace", "#### no functions disabled ####\n");
	fake_put("instances/.recorder", "");
	fake_put("dynamic_events", "p:others/probe do_unlinkat\n");
}

/* What fake_remember() has seen. */
static char *fake_found;

static inline int fake_teardown(void **state)
{
	fake.armed = false;
	if (fake.root[0])
		fake_remove_tree(fake.root);
	memset(&fake, 0, sizeof(fake));
	free(fake_found);
	fake_found = NULL;
	return 0;
}

/* Text of a file as a person would compare it: without what the kernel itself does not give back
 * literally, and without its comments on lists. */
static void fake_print_file(FILE *out, int parent, const char *name)
{
	static char text[1 << 18]; /* more is not compared: data */
	int fd = (int)syscall(SYS_openat, parent, name, O_RDONLY);
	ssize_t got = syscall(SYS_read, fd, text, sizeof(text) - 1);

	assert_true(got >= 0);
	syscall(SYS_close, fd);
	text[got] = '\0';
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && (rest || *line);) {
		const char *shown = line;

		if (line[0] == '#' || !strcmp(line, "no pid"))
			continue;
		if (!strcmp(name, "buffer_size_kb") && !strncmp(line, "7 ", 2))
			shown = "1410";
		if (!strcmp(line, "[local] global mono"))
			shown = "local [local] mono";
		fprintf(out, "%s%s", shown, rest ? "\n" : "");
	}
}

/* @path of the directory, as it is shown, ends in a slash. */
static void fake_print_tree(FILE *out, int parent, const char *name, const char *path)
{
	int fd = (int)syscall(SYS_openat, parent, name, O_RDONLY | O_DIRECTORY);
	struct dirent **entries;
	int nr = scandirat(fd, ".", &entries, NULL, alphasort);

	for (int i = 0; i < nr; i++) {
		const char *entry = entries[i]->d_name;
		char below[PATH_MAX];

		snprintf(below, sizeof(below), "%s%s/", path, entry);
		if (entries[i]->d_type != DT_DIR && strcmp(entry, "trace_marker")) {
			fprintf(out, "%s%s\n", path, entry);
			fake_print_file(out, fd, entry);
		} else if (entries[i]->d_type == DT_DIR && strcmp(entry, ".") &&
			   strcmp(entry, "..")) {
			fake_print_tree(out, fd, entry, below);
		}
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
	syscall(SYS_close, fd);
}

/* All names and values, free() it. */
static char *fake_fingerprint(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	fake_print_tree(out, AT_FDCWD, fake.dir, "/");
	fclose(out);
	return text;
}

/* From now on the directory is as it was found. */
static inline void fake_remember(void)
{
	free(fake_found);
	fake_found = fake_fingerprint();
}

static inline bool fake_is_as_found(void)
{
	char *now = fake_fingerprint();
	bool same = !strcmp(fake_found, now);

	free(now);
	return same;
}

static inline void assert_as_found(void)
{
	char *now = fake_fingerprint();

	assert_string_equal(fake_found, now);
	free(now);
}

#endif
