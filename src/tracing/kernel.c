// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"

#define READ_SIZE 65536

/* "none [integrity] confidentiality": the mode in brackets. */
const char *kernel_lockdown(void)
{
	static char mode[32];
	char *text, *start, *end;
	bool found = false;

	if (file_read(NULL, "/sys/kernel/security/lockdown", &text, NULL))
		return NULL;
	start = strchr(text, '[');
	end = start ? strchr(start, ']') : NULL;
	if (end && end - start <= (int)sizeof(mode)) {
		*end = '\0';
		strcpy(mode, start + 1);
		found = true;
	}
	free(text);
	return found ? mode : NULL;
}

static bool has_file(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return !file_path(path, dir, name) && !access(path, F_OK);
}

/* No right to @what: who may, or what forbids it even to root. */
static int refused(struct failure *failure, const char *what, int error)
{
	const char *lockdown = error == EPERM ? kernel_lockdown() : NULL;

	if (lockdown && strcmp(lockdown, "none"))
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, error,
				   "%s: %s: the kernel is locked down (%s), see kernel_lockdown(7)",
				   what, strerror(error), lockdown);
	if (error == EPERM && !geteuid())
		return failure_set(
			failure, EXIT_STATUS_NO_TRACEFS, error,
			"%s: %s, even to root: kernel lockdown or a container forbids it", what,
			strerror(error));
	return failure_set(failure, EXIT_STATUS_NO_TRACEFS, error, "%s: %s: run as root", what,
			   strerror(error));
}

static bool on_tracefs(const char *dir)
{
	struct statfs found;

	return !statfs(dir, &found) && found.f_type == TRACEFS_MAGIC;
}

int kernel_source_kind(const char *dir, enum source_kind *ret_kind, struct failure *failure)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "-s %s: %s", dir,
				   strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOTDIR, "-s %s: not a directory",
				   dir);
	if (access(dir, R_OK | X_OK) < 0) {
		if (on_tracefs(dir))
			return refused(failure, dir, errno);
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "-s %s: %s", dir,
				   strerror(errno));
	}
	if (!on_tracefs(dir)) {
		*ret_kind = SOURCE_CAPTURE;
		return 0;
	}
	if (!has_file(dir, "instances") || !has_file(dir, "events"))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "-s %s: not the top of the tracing directory (an instance has "
				   "no function list of its own)",
				   dir);
	*ret_kind = SOURCE_TRACEFS;
	return 0;
}

char *kernel_find_dir(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	char *dir = NULL;

	if (!mounts)
		return NULL;
	while (!dir && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "tracefs"))
			dir = strdup(mount->mnt_dir);
	endmntent(mounts);
	return dir;
}

static int set_dir(struct kernel *kernel, const char *dir, struct failure *failure)
{
	size_t length;

	kernel->dir = dir ? strdup(dir) : kernel_find_dir();
	if (!kernel->dir)
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, ENOENT,
				   "no tracefs is mounted: mount -t tracefs tracefs "
				   "/sys/kernel/tracing");
	for (length = strlen(kernel->dir); length > 1 && kernel->dir[length - 1] == '/'; length--)
		kernel->dir[length - 1] = '\0';
	/* So that libtracefs never looks for tracefs, and never mounts it, by itself. */
	if (tracefs_set_tracing_dir(kernel->dir))
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s: %s", kernel->dir,
				   strerror(ENOMEM));
	return 0;
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

static int read_tracers(struct kernel *kernel, struct failure *failure)
{
	char *text;
	int ret = file_read(kernel->dir, "available_tracers", &text, NULL);

	if (ret == -ENOENT && has_file(kernel->dir, "events"))
		return 0;
	if (ret == -EPERM || ret == -EACCES)
		return refused(failure, kernel->dir, -ret);
	if (ret)
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, -ret,
				   "%s/available_tracers: %s", kernel->dir, strerror(-ret));
	kernel->function_graph = kernel_has_word(text, "function_graph");
	free(text);
	return 0;
}

static bool read_function_enabled(void)
{
	char *text;
	bool enabled;

	if (file_read(NULL, "/proc/sys/kernel/ftrace_enabled", &text, NULL))
		return true;
	enabled = atoi(text) != 0;
	free(text);
	return enabled;
}

struct function_scan {
	struct kernel *kernel;
	const struct plan_request *request;
	unsigned int index;
	size_t room;
};

static bool is_wanted(const struct function_scan *scan, const char *name)
{
	return catalog_role_of(name) != ROLE_NONE ||
	       (scan->request && plan_names(scan->request, name));
}

/* Keeps room for the NULL that ends the list. */
static int grow(struct function_scan *scan)
{
	struct kernel *kernel = scan->kernel;
	size_t room = scan->room ? scan->room * 2 : 64;
	char **functions = realloc(kernel->functions, room * sizeof(*functions));
	unsigned int *indexes;

	if (!functions)
		return -ENOMEM;
	kernel->functions = functions;
	indexes = realloc(kernel->indexes, room * sizeof(*indexes));
	if (!indexes)
		return -ENOMEM;
	kernel->indexes = indexes;
	scan->room = room;
	return 0;
}

static int keep_function(struct function_scan *scan, const char *name)
{
	struct kernel *kernel = scan->kernel;

	if ((size_t)kernel->nr_functions + 1 >= scan->room && grow(scan))
		return -ENOMEM;
	kernel->functions[kernel->nr_functions] = strdup(name);
	if (!kernel->functions[kernel->nr_functions])
		return -ENOMEM;
	kernel->indexes[kernel->nr_functions] = scan->index;
	kernel->functions[++kernel->nr_functions] = NULL;
	return 0;
}

/* A line: a name, for a module's function " [module]" behind it. */
static int scan_line(struct function_scan *scan, char *line)
{
	line[strcspn(line, " \t")] = '\0';
	scan->index++;
	return is_wanted(scan, line) ? keep_function(scan, line) : 0;
}

/* Lines of a buffer; returns how much of it is an incomplete line at its end, or -errno. */
static ssize_t scan_lines(struct function_scan *scan, char *text, size_t length)
{
	char *line = text, *end = text + length, *newline;

	while ((newline = memchr(line, '\n', end - line))) {
		int ret;

		*newline = '\0';
		ret = scan_line(scan, line);
		if (ret)
			return ret;
		line = newline + 1;
	}
	memmove(text, line, end - line);
	return end - line;
}

static int scan_functions(struct function_scan *scan, int fd)
{
	static char text[READ_SIZE];
	ssize_t kept = 0, got;

	while ((got = read(fd, text + kept, sizeof(text) - 1 - kept)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		kept = scan_lines(scan, text, kept + got);
		if (kept < 0)
			return kept;
		if (kept == sizeof(text) - 1)
			return -EBADMSG;
	}
	text[kept] = '\0';
	return kept ? scan_line(scan, text) : 0;
}

static int read_functions(struct kernel *kernel, const struct plan_request *request,
			  struct failure *failure)
{
	struct function_scan scan = { .kernel = kernel, .request = request };
	char path[PATH_MAX];
	int fd, ret;

	if (grow(&scan))
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	kernel->functions[0] = NULL;
	ret = file_path(path, kernel->dir, "available_filter_functions");
	fd = ret ? ret : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		/* Without CONFIG_DYNAMIC_FTRACE there is no filter: all functions or none. */
		kernel->function_graph = false;
		return 0;
	}
	ret = fd < 0 ? -errno : scan_functions(&scan, fd);
	if (fd >= 0)
		close(fd);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/available_filter_functions: %s", kernel->dir,
				   strerror(-ret));
	return 0;
}

static int read_kernel(struct kernel *kernel, const char *dir, const struct plan_request *request,
		       struct failure *failure)
{
	struct utsname name;
	int ret;

	if (uname(&name) == 0)
		kernel->release = strdup(name.release);
	if (!kernel->release)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
	ret = set_dir(kernel, dir, failure);
	if (!ret)
		ret = read_tracers(kernel, failure);
	if (ret)
		return ret;
	kernel->function_enabled = read_function_enabled();
	return read_functions(kernel, request, failure);
}

int kernel_open(struct kernel **ret_kernel, const char *dir, const struct plan_request *request,
		struct failure *failure)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int ret;

	if (!kernel)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "%s", strerror(ENOMEM));
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
	for (int i = 0; i < kernel->nr_functions; i++)
		free(kernel->functions[i]);
	free(kernel->functions);
	free(kernel->indexes);
	free(kernel->release);
	free(kernel->dir);
	free(kernel);
}

static int offer_functions(void *context, int (*visit)(void *visitor, const char *name),
			   void *visitor)
{
	struct kernel *kernel = context;
	int ret = 0;

	for (int i = 0; i < kernel->nr_functions && !ret; i++)
		ret = visit(visitor, kernel->functions[i]);
	return ret;
}

static bool offer_has_event(void *context, const char *system, const char *name)
{
	struct kernel *kernel = context;
	char event[PATH_MAX];

	if (strchr(system, '/') || strchr(name, '/'))
		return false;
	if (snprintf(event, sizeof(event), "events/%s/%s/enable", system, name) >=
	    (int)sizeof(event))
		return false;
	return has_file(kernel->dir, event);
}

void kernel_offer(struct kernel *kernel, struct plan_offer *offer)
{
	offer->function_graph = kernel->function_graph;
	offer->functions = offer_functions;
	offer->has_event = offer_has_event;
	offer->context = kernel;
}
