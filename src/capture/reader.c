// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/capture.h"

struct capture_cpu {
	int cpu;
	int fd;	    /* -1: read to its end, or not there */
	off_t left; /* bytes */
};

struct capture {
	struct data_source source;
	char *dir;
	char *symbols; /* of the source */
	char *mounts;
	bool order_known;
	bool function_graph;
	bool described;
	char release[65];
	uint64_t threshold; /* ns */
	pid_t *pids;	    /* 0 ends; NULL: all */
	char *functions;    /* text of the list of functions */
	struct capture_cpu *cpus;
	int *numbers; /* of the cpus */
	int count;
	void *page;
	uint64_t flaws;
	char first_flaw[256];
};

static char *read_text(const struct capture *capture, const char *name)
{
	char *text;

	return file_read(capture->dir, name, &text, NULL) ? NULL : text;
}

static void flaw(struct capture *capture, const char *name, const char *what)
{
	if (!capture->flaws++)
		snprintf(capture->first_flaw, sizeof(capture->first_flaw), "%s: %s", name, what);
}

/* What stands behind "KEY " at the start of a line of the file `capture`; NULL: no such line. */
static const char *described(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text) {
		if (!strncmp(text, key, length) && text[length] == ' ')
			return text + length + 1;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

/* The same, up to the line's end. */
static bool described_value(const char *text, const char *key, char *value, size_t size)
{
	const char *at = described(text, key);

	if (at)
		snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
	return at;
}

/* Numbers with blanks between; a line that has anything else is as good as none. */
static void take_pids(struct capture *capture, const char *line)
{
	size_t length = strcspn(line, "\n"), count = 0;
	const char *end = line + length;

	/* No number has less than a digit and a blank. */
	capture->pids = calloc(length / 2 + 2, sizeof(*capture->pids));
	while (capture->pids && line < end) {
		char *behind;
		long pid = strtol(line, &behind, 10);

		if (behind == line || behind > end || pid <= 0 || pid > INT_MAX)
			break;
		capture->pids[count++] = pid;
		line = behind + strspn(behind, " ");
	}
	if (line < end || !count) {
		free(capture->pids);
		capture->pids = NULL;
	}
	capture->source.recorded = capture->pids;
}

static void take_tasks(struct capture *capture, const char *text)
{
	const char *pids = described(text, "pids");
	char value[64];

	if (described_value(text, "own", value, sizeof(value)))
		capture->source.own = atoi(value);
	if (pids)
		take_pids(capture, pids);
}

static void take_description(struct capture *capture, const char *text)
{
	char value[64];

	capture->described = true;
	if (described_value(text, "byte_order", value, sizeof(value))) {
		capture->source.layout.big_endian = !strcmp(value, "big");
		capture->order_known = true;
	}
	described_value(text, "release", capture->release, sizeof(capture->release));
	if (described_value(text, "threshold_us", value, sizeof(value)))
		capture->threshold = strtoull(value, NULL, 10) * 1000;
	if (described_value(text, "clock", value, sizeof(value)))
		capture->source.local_clock = !strcmp(value, "local");
	if (described_value(text, "tracer", value, sizeof(value)))
		capture->function_graph = !strcmp(value, "function_graph");
	take_tasks(capture, text);
}

/* Without the file `capture`: what the copied files of the tracing directory tell. */
static void take_copied_files(struct capture *capture)
{
	char *clock = read_text(capture, "trace_clock");
	char *tracer = read_text(capture, "current_tracer");
	char *threshold = read_text(capture, "tracing_thresh");

	if (clock)
		capture->source.local_clock = !strchr(clock, '[') || strstr(clock, "[local]");
	if (tracer && *tracer)
		capture->function_graph = !strcmp(tracer, "function_graph\n");
	if (threshold)
		capture->threshold = strtoull(threshold, NULL, 10) * 1000;
	free(threshold);
	free(tracer);
	free(clock);
}

static int read_layout(struct capture *capture, struct failure *failure)
{
	size_t length;
	char *text;
	int ret = file_read(capture->dir, "events/header_page", &text, &length);

	if (ret)
		return failure_set(
			failure, EXIT_STATUS_USAGE, -ret,
			"%s: neither a tracing directory nor a capture: events/header_page: %s",
			capture->dir, strerror(-ret));
	ret = page_layout_parse(&capture->source.layout, text, length, false);
	free(text);
	if (ret)
		return failure_set(
			failure, EXIT_STATUS_USAGE, -ret,
			"%s: events/header_page: not the text of a tracing directory's header_page",
			capture->dir);
	return 0;
}

static void cpu_flaw(struct capture *capture, const struct capture_cpu *cpu, int error)
{
	char name[64];

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu->cpu);
	flaw(capture, name, strerror(error));
}

/* Returns 0 or -errno. A capture made by hand may have some CPUs only: that is no flaw. */
static int open_cpu(struct capture *capture, struct capture_cpu *cpu)
{
	char path[PATH_MAX];
	struct stat status;
	int error;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", capture->dir, cpu->cpu);
	cpu->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (cpu->fd >= 0) {
		if (!fstat(cpu->fd, &status))
			cpu->left = status.st_size;
		return 0;
	}
	error = errno;
	if (error != ENOENT)
		cpu_flaw(capture, cpu, error);
	return -error;
}

static int open_cpus(struct capture *capture, struct failure *failure)
{
	int count = cpu_directories(capture->dir, &capture->numbers);
	int opened = 0, ret = 0;

	if (count <= 0)
		return failure_set(
			failure, EXIT_STATUS_USAGE, ENOENT,
			"%s: no CPU directory: per_cpu/cpu*/trace_pipe_raw is where a capture has its data",
			capture->dir);
	capture->cpus = calloc(count, sizeof(*capture->cpus));
	for (int i = 0; capture->cpus && i < count; i++) {
		capture->cpus[i].cpu = capture->numbers[i];
		ret = open_cpu(capture, &capture->cpus[i]);
		opened += !ret;
	}
	if (!capture->cpus)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	capture->count = count;
	capture->source.cpus = (struct cpu_list){ capture->numbers, count };
	if (!opened)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "%s: none of per_cpu/cpu*/trace_pipe_raw can be read: %s",
				   capture->dir, strerror(-ret));
	return 0;
}

static bool guess_from_cpu(struct capture *capture, const struct capture_cpu *cpu)
{
	size_t size = capture->source.layout.size;

	for (off_t offset = 0; cpu->fd >= 0 && offset < cpu->left; offset += size) {
		ssize_t length = pread(cpu->fd, capture->page, size, offset);

		if (length <= 0)
			return false;
		if (!page_layout_guess_order(&capture->source.layout, capture->page, length))
			return true;
	}
	return false;
}

/* Data in which no page tells its order is damaged throughout; page_read() will say so. */
static void guess_order(struct capture *capture)
{
	for (int i = 0; !capture->order_known && i < capture->count; i++)
		capture->order_known = guess_from_cpu(capture, &capture->cpus[i]);
}

static bool is_list_of_functions(const char *text)
{
	return text && *text && *text != '#';
}

static void read_functions(struct capture *capture)
{
	capture->functions = read_text(capture, "set_ftrace_filter");
	if (is_list_of_functions(capture->functions))
		return;
	free(capture->functions);
	capture->functions = read_text(capture, "available_filter_functions");
}

static bool has_format(struct capture *capture, const char *system, const char *name)
{
	char path[NAME_MAX * 2 + 32];
	char full[PATH_MAX + sizeof(path)];
	struct stat status;
	char *text;
	bool has;

	snprintf(path, sizeof(path), "events/%s/%s", system, name);
	snprintf(full, sizeof(full), "%s/%s", capture->dir, path);
	if (stat(full, &status))
		return false;
	strncat(path, "/format", sizeof(path) - strlen(path) - 1);
	text = read_text(capture, path);
	has = text && strstr(text, "ID:");
	if (!text)
		flaw(capture, path, strerror(errno));
	else if (!has)
		flaw(capture, path, *text ? "not a format" : "empty");
	free(text);
	return has;
}

static int open_all(struct capture *capture, struct failure *failure)
{
	char *description;
	int ret = read_layout(capture, failure);

	if (ret)
		return ret;
	ret = open_cpus(capture, failure);
	if (ret)
		return ret;
	capture->page = malloc(capture->source.layout.size);
	if (!capture->page)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	description = read_text(capture, "capture");
	if (description)
		take_description(capture, description);
	else
		take_copied_files(capture);
	free(description);
	guess_order(capture);
	read_functions(capture);
	if (capture->function_graph && !has_format(capture, "ftrace", "funcgraph_exit")) {
		capture->function_graph = false;
		flaw(capture, "events/ftrace/funcgraph_exit/format", "not there");
	}
	return 0;
}

int capture_open(struct capture **ret_capture, const char *dir, struct failure *failure)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int ret;

	if (!capture || !(capture->dir = strdup(dir)) ||
	    asprintf(&capture->symbols, "%s/kallsyms", dir) < 0 ||
	    asprintf(&capture->mounts, "%s/mountinfo", dir) < 0) {
		capture_close(capture);
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	}
	capture->function_graph = true;
	capture->source.local_clock = true;
	capture->source.dir = capture->source.names_dir = capture->dir;
	capture->source.symbols = capture->symbols;
	capture->source.mounts = capture->mounts;
	capture->source.release = capture->release;
	ret = open_all(capture, failure);
	if (ret) {
		capture_close(capture);
		return ret;
	}
	*ret_capture = capture;
	return 0;
}

void capture_close(struct capture *capture)
{
	if (!capture)
		return;
	for (int i = 0; i < capture->count; i++)
		if (capture->cpus[i].fd >= 0)
			close(capture->cpus[i].fd);
	free(capture->cpus);
	free(capture->numbers);
	free(capture->page);
	free(capture->functions);
	free(capture->pids);
	free(capture->mounts);
	free(capture->symbols);
	free(capture->dir);
	free(capture);
}

const struct data_source *capture_source(const struct capture *capture)
{
	return &capture->source;
}

uint64_t capture_threshold(const struct capture *capture)
{
	return capture->threshold;
}

bool capture_has_description(const struct capture *capture)
{
	return capture->described;
}

uint64_t capture_flaws(const struct capture *capture, const char **ret_first)
{
	*ret_first = capture->first_flaw;
	return capture->flaws;
}

static int visit_functions(void *context, int (*visit)(void *visitor, const char *name),
			   void *visitor)
{
	struct capture *capture = context;
	const char *line = capture->functions;

	while (line && *line) {
		char name[256];
		size_t length = strcspn(line, " \t\n");
		int ret;

		snprintf(name, sizeof(name), "%.*s", (int)length, line);
		/* a line with a colon is a function probe: name:traceoff:unlimited */
		ret = *name && *name != '#' && !strchr(name, ':') ? visit(visitor, name) : 0;
		if (ret)
			return ret;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return 0;
}

static bool has_event(void *context, const char *system, const char *name)
{
	return has_format(context, system, name);
}

void capture_offer(struct capture *capture, struct plan_offer *offer)
{
	offer->function_graph = capture->function_graph;
	offer->functions = visit_functions;
	offer->has_event = has_event;
	offer->context = capture;
}

static void end_cpu(struct capture_cpu *cpu)
{
	close(cpu->fd);
	cpu->fd = -1;
}

static ssize_t read_whole(int fd, char *page, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t part = read(fd, page + length, size - length);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return -errno;
		if (!part)
			break;
		length += part;
	}
	return length;
}

/* Returns 1 with a page given on, 0 at the end, -errno of the sink. */
static int read_page(struct capture *capture, struct capture_cpu *cpu,
		     const struct source_sink *sink)
{
	ssize_t length = read_whole(cpu->fd, capture->page, capture->source.layout.size);
	int ret;

	if (length < 0)
		cpu_flaw(capture, cpu, -length);
	if (length <= 0) {
		end_cpu(cpu);
		return 0;
	}
	cpu->left -= length;
	ret = sink->page(sink->context, cpu->cpu, capture->page, length, cpu->left <= 0);
	return ret ? ret : 1;
}

static int read_cpu(struct capture *capture, struct capture_cpu *cpu,
		    const struct source_sink *sink)
{
	int pages = 0;

	while (cpu->fd >= 0) {
		int ret;

		if (pages == SOURCE_QUOTA || !sink->ready(sink->context, cpu->cpu)) {
			sink->left_with_data(sink->context, cpu->cpu);
			return pages;
		}
		ret = read_page(capture, cpu, sink);
		if (ret < 0)
			return ret;
		pages += ret;
	}
	return pages;
}

int capture_round(struct capture *capture, const struct source_sink *sink)
{
	int more = 0;

	for (int i = 0; i < capture->count; i++) {
		int ret = read_cpu(capture, &capture->cpus[i], sink);

		if (ret < 0)
			return ret;
		more |= capture->cpus[i].fd >= 0;
	}
	return more;
}
