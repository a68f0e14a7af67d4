// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"
#include "allocfilt/tracing/kernel.h"
#include "tracing/kernel_look.h"
#include "tracing/kinds.h"

/* PROC_PID_INIT_INO and PROC_CGROUP_INIT_INO of include/linux/proc_ns.h */
#define FIRST_PID_NAMESPACE    0xEFFFFFFC
#define FIRST_CGROUP_NAMESPACE 0xEFFFFFFB

/* tracefs_file_exists() wants an instance, not a directory. */
static bool has_file(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/*
 * Sets the failure that @what cannot be opened: it advises to run as root, or names what denies it even to
 * root. A kernel that was locked down when it booted has no files of tracing (trace.c:
 * tracing_init_dentry()).
 */
static int cannot_open(struct failure *failure, const char *what, int error)
{
	char *text, *mode = NULL;

	if (error != EACCES && !file_read(NULL, "/sys/kernel/security/lockdown", &text, NULL)) {
		/* "none [integrity] confidentiality" */
		mode = setting_parse(SETTING_WORD, text);
		free(text);
	}
	if (mode && strcmp(mode, "none"))
		failure_set(failure, EXIT_STATUS_NO_TRACEFS, error,
			    "%s: %m: the kernel is locked down (%s), see kernel_lockdown(7)", what,
			    mode);
	else if (error == EPERM && !geteuid())
		failure_set(failure, EXIT_STATUS_NO_TRACEFS, error,
			    "%s: %m, even to root: a container forbids it, so run it on the host; "
			    "or kernel lockdown, see kernel_lockdown(7)",
			    what);
	else
		failure_set(failure, EXIT_STATUS_NO_TRACEFS, error, "%s: %m%s", what,
			    error == EPERM || error == EACCES ? ": run as root" : "");
	free(mode);
	return -error;
}

bool kernel_on_tracefs(const char *dir)
{
	struct statfs found;

	return !statfs(dir, &found) && found.f_type == TRACEFS_MAGIC;
}

bool kernel_functions_enabled(void)
{
	char text[16];
	int fd = file_open(NULL, "/proc/sys/kernel/ftrace_enabled", FILE_TEXT_MAX);

	return !file_read_start(fd, text, sizeof(text)) || atoi(text);
}

int kernel_check_pid_namespace(struct failure *failure)
{
	struct stat st;

	/* A kernel without namespaces has no such file. */
	if (stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NAMESPACE)
		return 0;
	return failure_set(failure, EXIT_STATUS_NO_TRACEFS, EPERM,
			   "this container has a PID namespace of its own, where numbers of tasks "
			   "are not those that the kernel records: run it on the host, or the "
			   "container with --pid=host");
}

const char *kernel_enter_cgroups(void)
{
	static const char *process; /* NULL: not called yet */
	struct stat st;
	int fd;

	if (process)
		return process;
	process = "/proc/self";
	if (stat("/proc/self/ns/cgroup", &st) || st.st_ino == FIRST_CGROUP_NAMESPACE)
		return process;
	fd = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWCGROUP)) {
		log_warning("cgroup namespace of a container, which cannot be left (%m): paths of "
			    "cgroups begin with /.., without their memory pressure; run it with "
			    "--cgroupns=host");
	} else {
		process = "/proc/1";
		log_notice("cgroup namespace of a container: it is left, so paths are the host's");
	}
	file_close(fd);
	return process;
}

int kernel_is_source(const char *dir, struct failure *failure)
{
	struct stat st;

	if (!stat(dir, &st) && !S_ISDIR(st.st_mode))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOTDIR, "-s %s: not a directory",
				   dir);
	if (access(dir, R_OK | X_OK) < 0) {
		if (kernel_on_tracefs(dir))
			return cannot_open(failure, dir, errno);
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "-s %s: %m", dir);
	}
	if (!kernel_on_tracefs(dir))
		return 0;
	if (!has_file(dir, "instances") || !has_file(dir, "events"))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "-s %s: not the top of the tracing directory (an instance has "
				   "no function list of its own)",
				   dir);
	return 1;
}

/*
 * If debugfs is mounted and tracefs is not, the library returns the directory below debugfs on
 * which tracefs would be mounted automatically. open(2) with O_PATH does not trigger that.
 */
static bool is_mounted(const char *dir)
{
	int fd = open(dir, O_PATH | O_CLOEXEC);
	struct statfs found;
	bool mounted = fd >= 0 && !fstatfs(fd, &found) && found.f_type == TRACEFS_MAGIC;

	file_close(fd);
	return mounted;
}

char *kernel_find_dir(void)
{
	static const char *dir; /* kept: the library allocates another at each call */

	if (dir && is_mounted(dir))
		return strdup(dir);
	if (tracefs_tracing_dir_is_mounted(false, &dir) != 1 || !is_mounted(dir))
		return NULL;
	return strdup(dir);
}

int kernel_online_cpus(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (int)count : 1;
}

bool kernel_has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; length && (at = strstr(at, word)); at += length) {
		bool starts = at == text || strchr(" \n", at[-1]);

		if (starts && strchr(" \n", at[length]))
			return true;
	}
	return false;
}

static int add_kernel_function(struct kernel *kernel, const char *name, unsigned int index)
{
	int count = kernel->nr_functions;
	char **functions = reallocarray(kernel->functions, count + 2, sizeof(*functions));
	unsigned int *indexes;

	if (!functions)
		return -ENOMEM;
	kernel->functions = functions;
	functions[count] = strdup(name);
	functions[count + 1] = NULL;
	if (!functions[count])
		return -ENOMEM;
	indexes = reallocarray(kernel->indexes, count + 1, sizeof(*indexes));
	if (!indexes)
		return -ENOMEM;
	kernel->indexes = indexes;
	indexes[count] = index;
	kernel->nr_functions++;
	return 0;
}

static int read_list(struct kernel *kernel, FILE *list, const struct plan_request *request)
{
	unsigned int index = 0;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	errno = 0;
	while (!ret && getline(&line, &size, list) > 0) {
		/* A module's function has " [module]" after it. */
		line[strcspn(line, " \t\n")] = '\0';
		index++;
		if (catalog_role_of(line) != ROLE_NONE || (request && plan_names(request, line)))
			ret = add_kernel_function(kernel, line, index);
	}
	free(line);
	if (!ret && ferror(list))
		ret = errno ? -errno : -EIO;
	return ret;
}

/* tracefs_filter_functions() returns names without their index. */
static int read_function_names(struct kernel *kernel, struct tracefs_instance *top,
			       const struct plan_request *request)
{
	int fd =
		tracefs_instance_file_open(top, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	FILE *list;
	int ret;

	if (fd < 0 && errno == ENOENT) {
		/* Without CONFIG_DYNAMIC_FTRACE there is no filter: all functions or none. */
		kernel->function_graph = false;
		return 0;
	}
	list = fd < 0 ? NULL : fdopen(fd, "r");
	if (!list) {
		ret = -errno;
		file_close(fd);
		return ret;
	}
	ret = read_list(kernel, list, request);
	fclose(list);
	return ret;
}

static int functions_failed(const struct kernel *kernel, int error, struct failure *failure)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/available_filter_functions", kernel->dir);
	if (error == -EPERM || error == -EACCES)
		return cannot_open(failure, path, -error);
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -error, "%s: %m", path);
}

/* tracefs_tracer_available() follows an uninitialised pointer when a read fails. */
int kernel_has_function_graph(struct tracefs_instance *top, const char *path)
{
	char *tracers;
	int has;

	errno = 0;
	tracers = tracefs_instance_file_read(top, path, NULL);
	has = tracers ? kernel_has_word(tracers, "function_graph") : -errno;
	free(tracers);
	return has;
}

static int read_tracers(struct kernel *kernel, struct tracefs_instance *top)
{
	int has = kernel_has_function_graph(top, "available_tracers");

	kernel->function_graph = has > 0;
	/* A kernel without any tracer still has events. */
	return has < 0 && !(has == -ENOENT && tracefs_dir_exists(top, "events")) ? has : 0;
}

static int read_kernel(struct kernel *kernel, const char *dir, const struct plan_request *request,
		       struct failure *failure)
{
	struct tracefs_instance *top;
	char path[PATH_MAX];
	int ret;

	/* The undo file must have the whole path. */
	kernel->dir = dir ? realpath(dir, NULL) : kernel_find_dir();
	if (!kernel->dir && dir)
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, errno,
				   "%s/available_tracers: %m", dir);
	if (!kernel->dir)
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, ENOENT,
				   "no tracefs is mounted: mount -t tracefs tracefs "
				   "/sys/kernel/tracing");
	uname(&kernel->system);
	top = tracefs_instance_alloc(kernel->dir, NULL);
	ret = top ? read_tracers(kernel, top) : -errno;
	snprintf(path, sizeof(path), "%s/available_tracers", kernel->dir);
	if (ret)
		cannot_open(failure, path, -ret);
	if (!ret) {
		kernel->function_enabled = kernel_functions_enabled();
		if (!request || request->leave_out != PLAN_ALL_ROLES)
			ret = read_function_names(kernel, top, request);
		if (ret)
			functions_failed(kernel, ret, failure);
	}
	tracefs_instance_free(top);
	return ret;
}

int kernel_open(struct kernel **ret_kernel, const char *dir, const struct plan_request *request,
		struct failure *failure)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int ret;

	if (!kernel)
		return failure_no_memory(failure);
	ret = read_kernel(kernel, dir, request, failure);
	if (ret) {
		kernel_close(kernel);
		return ret;
	}
	*ret_kernel = kernel;
	return 0;
}

void kernel_close(struct kernel *kernel)
{
	if (!kernel)
		return;
	text_list_free(kernel->functions);
	free(kernel->indexes);
	free(kernel->dir);
	free(kernel);
}

static bool offer_has_event(void *context, const char *system, const char *name)
{
	struct kernel *kernel = context;
	char event[PATH_MAX];

	if (strchr(system, '/') || strchr(name, '/'))
		return false;
	/* The session makes them. */
	if (!strcmp(system, PROBE_SYSTEM) &&
	    (!strncmp(name, "memory_wait_", 12) || !strcmp(name, "refault")))
		return has_file(kernel->dir, "kprobe_events");
	if (snprintf(event, sizeof(event), "events/%s/%s/enable", system, name) >=
	    (int)sizeof(event))
		return false;
	return has_file(kernel->dir, event);
}

static bool offer_has_field(void *context, const char *system, const char *event, const char *field)
{
	struct kernel *kernel = context;
	char name[PATH_MAX], member[NAME_MAX], *format;
	bool has;

	snprintf(name, sizeof(name), "events/%s/%s/format", system, event);
	if (file_read(kernel->dir, name, &format, NULL))
		return false;
	snprintf(member, sizeof(member), " %s;", field);
	has = strstr(format, member);
	free(format);
	return has;
}

void kernel_offer(struct kernel *kernel, struct plan_offer *offer)
{
	offer->function_graph = kernel->function_graph;
	offer->functions = kernel->functions;
	/* Each event has a file for them: kernel/trace/trace_events.c, event_create_dir(). */
	offer->histograms = has_file(kernel->dir, "events/kmem/mm_page_alloc/hist");
	offer->has_event = offer_has_event;
	offer->has_field = offer_has_field;
	offer->context = kernel;
}
