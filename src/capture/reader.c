// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/text.h"
#include "allocfilt/base/trace_dir.h"
#include "capture/chunks.h"
#include "capture/cpu_data.h"
#include "capture/trace_dat.h"
#include "capture/traced.h"

#define READ_BYTES (128u << 10) /* at a time, where a machine has few CPUs */
#define READ_ROOM  (4u << 20)	/* bytes for all of them, where that is a page or more for each */
#define CHUNK_ROOM ((size_t)2 << 30) /* bytes: chunks of 400 CPUs, if they are of 5 MiB */
#define LISTED_MAX 80		     /* bytes of a list of captures before its last one */
#define GUESS_MAX  1024		     /* pages of a CPU that are looked at for their byte order */

struct capture_cpu {
	int cpu;
	struct cpu_data data;
	unsigned char *pages; /* in capture.pages: one that was kept, and those that were read */
	size_t length, at;    /* bytes of them, and before the next one */
	off_t kept;	      /* offset of the first one in the data */
	bool done;	      /* read to its end, or not present */
	bool missing;
	struct capture_counts counts;
	bool flawed; /* counted */
};

struct capture {
	struct data_source source;
	struct capture_info info;
	struct trace_dat *dat;		 /* NULL: a directory */
	const struct dat_buffer *buffer; /* of it */
	char *dir;			 /* or FILE, or FILE:BUFFER */
	bool order_known;
	bool function_graph;
	/* as long as those of struct utsname */
	char host[65], release[65], machine[65], clock[65];
	pid_t *pids;	      /* 0 ends; NULL: all */
	char *functions_text; /* the lines of functions */
	char **functions;     /* NULL ends */
	struct capture_cpu *cpus;
	int *numbers; /* of the cpus */
	int count;
	unsigned char *pages; /* of all CPUs */
	size_t most;	      /* pages of a CPU that are read at a time */
};

static void count_flaw(struct capture *capture, const char *name, const char *what)
{
	struct capture_info *info = &capture->info;

	if (!info->flaws++)
		snprintf(info->first_flaw, sizeof(info->first_flaw), "%s: %s", name, what);
}

static void count_cpu_flaw(struct capture *capture, struct capture_cpu *cpu, int error)
{
	char name[64];

	snprintf(name, sizeof(name), capture->dat ? "CPU %d" : "per_cpu/cpu%d/trace_pipe_raw",
		 cpu->cpu);
	if (!cpu->flawed)
		count_flaw(capture, name,
			   cpu->data.chunks && error == EBADMSG ? "compressed data is damaged" :
								  file_error(error));
	cpu->flawed = true;
}

/* Returns NULL and errno if it cannot be read; only a file that does not exist is no flaw. */
static char *read_text(struct capture *capture, const char *name)
{
	char *text;
	int ret = source_read(&capture->source, name, &text, NULL);

	if (!ret)
		return text;
	if (ret != -ENOENT)
		count_flaw(capture, name, file_error(-ret));
	errno = -ret;
	return NULL;
}

/* Numbers separated by blanks; NULL for any other text. */
static pid_t *parse_pids(const char *text)
{
	/* Each number is at least a digit and a blank. */
	pid_t *pids = calloc(strlen(text) / 2 + 2, sizeof(*pids));
	size_t count = 0;

	while (pids && *text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > INT_MAX)
			break;
		pids[count++] = pid;
		text = end + strspn(end, " ");
	}
	if (*text || !count) {
		free(pids);
		return NULL;
	}
	return pids;
}

/* "cpuN COUNT" after "lost" or "read": each CPU of the recording has both lines. */
static void parse_cpu_count(struct capture *capture, bool lost, const char *text)
{
	char name[64];
	uint64_t count;
	int cpu, place;

	if (sscanf(text, "cpu%d %" SCNu64, &cpu, &count) != 2)
		return;
	place = cpu_list_place(&capture->source.cpus, cpu);
	if (lost && (place < 0 || capture->cpus[place].missing)) {
		snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		count_flaw(capture, name, "missing");
	}
	if (place >= 0)
		*(lost ? &capture->cpus[place].counts.lost : &capture->cpus[place].counts.read) =
			count;
}

/* The file `capture`: lines of "KEY VALUE". */
static void parse_description(struct capture *capture, char *text)
{
	struct data_source *source = &capture->source;
	char *line;

	capture->info.described = true;
	while ((line = strsep(&text, "\n"))) {
		const char *key = strsep(&line, " "), *value = line;

		if (!value)
			continue;
		if (!strcmp(key, "byte_order")) {
			source->layout.big_endian = !strcmp(value, "big");
			capture->order_known = true;
		} else if (!strcmp(key, "release")) {
			snprintf(capture->release, sizeof(capture->release), "%s", value);
		} else if (!strcmp(key, "threshold_us")) {
			capture->info.threshold = strtoull(value, NULL, 10) * 1000;
		} else if (!strcmp(key, "host")) {
			text_parse_field(&value, capture->host, sizeof(capture->host));
		} else if (!strcmp(key, "machine")) {
			snprintf(capture->machine, sizeof(capture->machine), "%s", value);
		} else if (!strcmp(key, "date")) {
			if (!text_parse_time(value, 0, false, &source->started))
				source->started = 0;
		} else if (!strcmp(key, "clock")) {
			snprintf(capture->clock, sizeof(capture->clock), "%s", value);
		} else if (!strcmp(key, "tracer")) {
			capture->function_graph = !strcmp(value, "function_graph");
		} else if (!strcmp(key, "own")) {
			source->own = atoi(value);
		} else if (!strcmp(key, "command")) {
			source->command = atoi(value);
		} else if (!strcmp(key, "pids")) {
			free(capture->pids);
			source->recorded = capture->pids = parse_pids(value);
		} else if (!strcmp(key, "lost") || !strcmp(key, "read")) {
			parse_cpu_count(capture, *key == 'l', value);
		} else if (!strcmp(key, "pressure_before")) {
			memory_pressure_parse(value, &source->pressure_before);
		} else if (!strcmp(key, "pressure_after")) {
			memory_pressure_parse(value, &source->pressure_after);
		}
	}
}

/* Without the file `capture`: the copied files of the tracing directory. */
static void parse_copied_files(struct capture *capture)
{
	char *clock = read_text(capture, "trace_clock");
	char *tracer = read_text(capture, "current_tracer");
	char *threshold = read_text(capture, "tracing_thresh");

	/* "local global [mono]" */
	if (capture->buffer && *capture->buffer->clock)
		snprintf(capture->clock, sizeof(capture->clock), "%s", capture->buffer->clock);
	else if (clock && strchr(clock, '['))
		sscanf(strchr(clock, '['), "[%64[^]]", capture->clock);
	if (tracer && *tracer)
		capture->function_graph = !strcmp(tracer, "function_graph\n");
	if (threshold)
		capture->info.threshold = strtoull(threshold, NULL, 10) * 1000;
	free(threshold);
	free(tracer);
	free(clock);
}

/* Lists the captures in a directory, the last one always: "000001, 000002, ..., 000140". */
static bool list_captures(const char *dir, char names[LISTED_MAX + NAME_MAX + 1])
{
	struct dirent **entries;
	int count = scandir(dir, &entries, NULL, versionsort), left_out = 0;
	char path[PATH_MAX], last[NAME_MAX + 1];
	size_t size = LISTED_MAX + NAME_MAX + 1, used = 0;

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		bool is_capture;

		snprintf(path, sizeof(path), "%s/%s/events/header_page", dir, name);
		is_capture = *name != '.' && !access(path, F_OK);
		if (is_capture && !left_out && used + strlen(name) < LISTED_MAX - 10) {
			used += (size_t)snprintf(names + used, size - used, "%s%s",
						 used ? ", " : "", name);
		} else if (is_capture) {
			left_out++;
			strcpy(last, name);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (left_out)
		used += (size_t)snprintf(names + used, size - used, "%s%s%s", used ? ", " : "",
					 left_out > 1 ? "..., " : "", last);
	return used;
}

static int read_page_layout(struct capture *capture, struct failure *failure)
{
	char *text = read_text(capture, "events/header_page"), names[LISTED_MAX + NAME_MAX + 1];
	int ret = errno;

	if (!text && !capture->dat && list_captures(capture->dir, names))
		return failure_set(failure, EXIT_STATUS_USAGE, EISDIR,
				   "%s is no capture; below it are: %s (name one)", capture->dir,
				   names);
	if (!text)
		return failure_set(
			failure, EXIT_STATUS_USAGE, ret,
			"%s: neither a tracing directory nor a capture: events/header_page: %s",
			capture->dir, file_error(ret));
	ret = page_layout_parse(&capture->source.layout, text, strlen(text),
				capture->dat && capture->dat->big_endian);
	/* header_page is of the top level; an instance has sub-buffers of its own size. */
	if (!ret && capture->buffer && *capture->buffer->name && capture->buffer->page_size)
		capture->source.layout.size = capture->buffer->page_size;
	free(text);
	if (ret)
		return failure_set(
			failure, EXIT_STATUS_USAGE, -ret,
			"%s: events/header_page: not the text of a tracing directory's header_page",
			capture->dir);
	return 0;
}

/* A capture made by hand may lack the data of some CPUs: not a flaw. Returns 0 or -errno. */
static int open_cpu(struct capture *capture, int place, struct chunk_limits *limits)
{
	struct capture_cpu *cpu = &capture->cpus[place];
	const struct dat_buffer *buffer = capture->buffer;
	int ret;

	cpu->cpu = capture->numbers[place];
	if (buffer)
		ret = cpu_data_open_part(&cpu->data, capture->dat, buffer, &buffer->cpus[place],
					 limits);
	else
		ret = cpu_data_open_file(&cpu->data, capture->dir, cpu->cpu);
	if (ret && ret != -ENOENT)
		count_cpu_flaw(capture, cpu, -ret);
	/* Compressed data can be read up to the damage. */
	cpu->done = ret && !cpu->data.chunks;
	cpu->missing = ret == -ENOENT;
	return cpu->done ? ret : 0;
}

/* Returns how many CPUs there are, in capture->numbers, or -errno. */
static int list_cpus(struct capture *capture)
{
	const struct dat_buffer *buffer = capture->buffer;

	if (!buffer)
		return cpu_directories(capture->dir, &capture->numbers);
	capture->numbers = calloc((size_t)buffer->count + 1, sizeof(*capture->numbers));
	if (!capture->numbers)
		return -ENOMEM;
	for (int i = 0; i < buffer->count; i++)
		capture->numbers[i] = buffer->cpus[i].cpu;
	return buffer->count;
}

static int open_cpus(struct capture *capture, struct failure *failure)
{
	struct chunk_limits limits = { capture->source.layout.size, CHUNK_ROOM };
	int count = list_cpus(capture);
	int opened = 0, error = ENOENT;

	if (count <= 0 && capture->dat)
		return failure_set(failure, EXIT_STATUS_USAGE, ENODATA, "%s: " CAPTURE_NO_EVENTS,
				   capture->dir);
	if (count <= 0)
		return failure_set(
			failure, EXIT_STATUS_USAGE, ENOENT,
			"%s: no CPU directory: per_cpu/cpu*/trace_pipe_raw is where a capture has its data",
			capture->dir);
	capture->cpus = calloc(count, sizeof(*capture->cpus));
	if (!capture->cpus)
		return failure_no_memory(failure);
	capture->count = count;
	capture->source.cpus = (struct cpu_list){ capture->numbers, count };
	for (int i = 0; i < count; i++) {
		int ret = open_cpu(capture, i, &limits);

		capture->source.bytes += (uint64_t)capture->cpus[i].data.size;
		opened += !ret;
		if (ret)
			error = -ret;
	}
	if (!opened)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "%s: none of per_cpu/cpu*/trace_pipe_raw can be read: %s",
				   capture->dir, file_error(error));
	return 0;
}

/* Where no page shows the byte order all pages are damaged; page_check() says so. */
static void guess_order(struct capture *capture)
{
	struct page_layout *layout = &capture->source.layout;

	for (int i = 0; !capture->order_known && i < capture->count; i++) {
		struct cpu_data *data = &capture->cpus[i].data;
		ssize_t length = 1;

		for (int page = 0; !capture->cpus[i].done && page < GUESS_MAX && length > 0 &&
				   !capture->order_known;
		     page++) {
			length = cpu_data_read(data, capture->cpus[i].pages, layout->size, 1);
			capture->order_known =
				length > 0 &&
				!page_layout_guess_order(layout, capture->cpus[i].pages,
							 (size_t)length);
		}
		cpu_data_rewind(data);
	}
}

/* No directory: the kernel lacked the event. An unreadable format is a flaw. */
static bool has_event(void *context, const char *system, const char *name)
{
	struct capture *capture = context;
	char path[NAME_MAX * 2 + 32], dir[PATH_MAX + NAME_MAX * 2 + 32];
	struct stat status;
	char *text;
	bool has;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	if (capture->dat)
		return source_has(&capture->source, path);
	snprintf(dir, sizeof(dir), "%s/events/%s/%s", capture->dir, system, name);
	if (stat(dir, &status))
		return false;
	text = read_text(capture, path);
	has = text && strstr(text, "ID:");
	if (!text && errno == ENOENT)
		count_flaw(capture, path, strerror(ENOENT));
	else if (text && !has)
		count_flaw(capture, path, *text ? "not a format" : "empty");
	free(text);
	return has;
}

/* A capture made by hand may lack these. Their readers take one that cannot be read as missing. */
static void check_names(struct capture *capture)
{
	static const char *const names[] = { "kallsyms", "mountinfo", "saved_cmdlines", "tasks",
					     "cgroups" };

	/* Files in memory can all be read. */
	if (capture->dat)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int fd = source_open(&capture->source, names[i]);

		if (fd >= 0)
			close(fd);
		else if (fd != -ENOENT)
			count_flaw(capture, names[i], file_error(-fd));
	}
}

/* @text: of set_ftrace_filter; belongs to the capture from now on */
static int use_functions(struct capture *capture, char *text)
{
	size_t count = 0;
	char *line;

	free(capture->functions_text);
	free(capture->functions);
	capture->functions_text = text;
	/* Each name has a letter and a newline at least. */
	capture->functions = calloc(strlen(text) / 2 + 2, sizeof(*capture->functions));
	while (capture->functions && (line = strsep(&text, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		/* a line with a colon is a function probe: name:traceoff:unlimited */
		if (*line && *line != '#' && !strchr(line, ':'))
			capture->functions[count++] = line;
	}
	return capture->functions ? 0 : -ENOMEM;
}

static int list_functions(struct capture *capture)
{
	char *text = read_text(capture, "set_ftrace_filter");

	/* An empty filter, or "#### all functions enabled ####", lists no functions. */
	if (!text || !*text || *text == '#') {
		free(text);
		text = read_text(capture, "available_filter_functions");
	}
	return text ? use_functions(capture, text) : 0;
}

/* Memory comes as it is used. */
static int make_pages(struct capture *capture)
{
	size_t page = capture->source.layout.size, share = READ_ROOM / (size_t)capture->count;

	share = MIN(share, READ_BYTES);
	capture->most = share > 2 * page ? share / page - 1 : 1;
	capture->pages = calloc((size_t)capture->count, (capture->most + 1) * page);
	if (!capture->pages)
		return -ENOMEM;
	for (int i = 0; i < capture->count; i++)
		capture->cpus[i].pages = capture->pages + (size_t)i * (capture->most + 1) * page;
	return 0;
}

static int open_all(struct capture *capture, struct failure *failure)
{
	char *description;
	uint64_t flaws;
	int ret = read_page_layout(capture, failure);

	if (ret)
		return ret;
	ret = open_cpus(capture, failure);
	if (ret)
		return ret;
	if (make_pages(capture))
		return failure_no_memory(failure);
	description = capture->dat ? NULL : read_text(capture, "capture");
	if (description)
		parse_description(capture, description);
	else
		parse_copied_files(capture);
	if (description && !capture->order_known)
		count_flaw(capture, "capture", "no byte order in it");
	free(description);
	capture->source.local_clock = !*capture->clock || !strcmp(capture->clock, "local");
	guess_order(capture);
	check_names(capture);
	if (list_functions(capture))
		return failure_no_memory(failure);
	flaws = capture->info.flaws;
	if (capture->function_graph && !has_event(capture, "ftrace", "funcgraph_exit")) {
		capture->function_graph = false;
		/*
		 * A kernel without function_graph lacks the format: trace-cmd records without it.
		 */
		if (capture->info.flaws == flaws && !capture->dat)
			count_flaw(capture, "events/ftrace/funcgraph_exit/format", "missing");
	}
	return 0;
}

static bool has_data(const struct dat_buffer *buffer)
{
	for (int i = 0; i < buffer->count; i++)
		if (buffer->cpus[i].size)
			return true;
	return false;
}

static const char *dat_buffer_name(const struct dat_buffer *buffer)
{
	return *buffer->name ? buffer->name : "top";
}

/* @name: NULL for the first one with data, or the first where none has */
static const struct dat_buffer *choose_buffer(const struct trace_dat *dat, const char *name)
{
	const struct dat_buffer *buffer = dat->buffers, *end = buffer + dat->nr_buffers;

	for (; buffer < end; buffer++)
		if (name ? !strcmp(dat_buffer_name(buffer), name) : has_data(buffer))
			return buffer;
	return name ? NULL : dat->buffers;
}

/* Messages name the buffer where the file has another one with data. */
static int name_buffer(struct capture *capture)
{
	struct capture_info *info = &capture->info;
	char name[256], *path;
	size_t used = 0;

	for (size_t i = 0; i < capture->dat->nr_buffers && used < sizeof(info->others); i++) {
		const struct dat_buffer *buffer = &capture->dat->buffers[i];

		if (buffer == capture->buffer || !has_data(buffer))
			continue;
		text_escape(name, sizeof(name), dat_buffer_name(buffer), TEXT_PRINTABLE);
		used += (size_t)snprintf(info->others + used, sizeof(info->others) - used, "%s%s",
					 used ? ", " : "", name);
	}
	if (!used)
		return 0;
	text_escape(name, sizeof(name), dat_buffer_name(capture->buffer), TEXT_PRINTABLE);
	if (asprintf(&path, "%s:%s", capture->dir, name) < 0)
		return -ENOMEM;
	free(capture->dir);
	capture->dir = path;
	return 0;
}

/* @name: as of choose_buffer() */
static int open_dat(struct capture *capture, const char *name, struct failure *failure)
{
	const struct trace_dat *dat;
	int ret = trace_dat_open(&capture->dat, capture->dir, failure);

	if (ret)
		return ret;
	dat = capture->dat;
	capture->buffer = choose_buffer(dat, name);
	if (!capture->buffer)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT, "%s: no buffer %s in it",
				   capture->dir, name);
	if (name_buffer(capture))
		return failure_no_memory(failure);
	if (dat->flaw)
		count_flaw(capture, dat->flaw, "damaged");
	capture->source.files = dat->files;
	capture->source.nr_files = dat->nr_files;
	capture->order_known = true;
	memcpy(capture->host, dat->host, sizeof(capture->host));
	memcpy(capture->release, dat->release, sizeof(capture->release));
	memcpy(capture->machine, dat->machine, sizeof(capture->machine));
	return 0;
}

/* Cuts FILE:BUFFER at its colon: both names may have one. Returns the buffer's; NULL: there is none. */
static const char *split_path(char *path)
{
	struct stat status;

	for (char *colon = stat(path, &status) ? strchr(path, ':') : NULL; colon;
	     colon = strchr(colon + 1, ':')) {
		*colon = '\0';
		if (!stat(path, &status) && S_ISREG(status.st_mode))
			return colon + 1;
		*colon = ':';
	}
	return NULL;
}

/* @path: used up */
static int open_path(struct capture *capture, char *path, struct failure *failure)
{
	const char *buffer = split_path(path);
	struct stat status;
	int ret = 0;

	capture->dir = strdup(path);
	if (!capture->dir)
		return failure_no_memory(failure);
	if (stat(path, &status))
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s: %m", path);
	capture->function_graph = true;
	capture->source.host = capture->host;
	capture->source.release = capture->release;
	capture->source.machine = capture->machine;
	capture->source.clock = capture->clock;
	if (!S_ISDIR(status.st_mode))
		ret = open_dat(capture, buffer, failure);
	capture->source.dir = capture->dir;
	return ret ? ret : open_all(capture, failure);
}

int capture_open(struct capture **ret_capture, const char *path, struct failure *failure)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	char *copy = strdup(path);
	int ret = capture && copy ? open_path(capture, copy, failure) : failure_no_memory(failure);

	free(copy);
	if (ret)
		capture_close(capture);
	else
		*ret_capture = capture;
	return ret;
}

void capture_close(struct capture *capture)
{
	if (!capture)
		return;
	for (int i = 0; i < capture->count; i++)
		cpu_data_close(&capture->cpus[i].data);
	free(capture->cpus);
	free(capture->numbers);
	free(capture->pages);
	free(capture->functions);
	free(capture->functions_text);
	free(capture->pids);
	free(capture->dir);
	trace_dat_free(capture->dat);
	free(capture);
}

bool capture_is_file(const struct capture *capture, int fd)
{
	struct stat in, out;

	return capture->dat && !fstat(capture->dat->fd, &in) && !fstat(fd, &out) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

const struct data_source *capture_source(const struct capture *capture)
{
	return &capture->source;
}

const struct capture_info *capture_info(const struct capture *capture)
{
	return &capture->info;
}

void capture_offer(struct capture *capture, struct plan_offer *offer)
{
	offer->function_graph = capture->function_graph;
	offer->functions = capture->functions;
	offer->has_event = has_event;
	offer->context = capture;
}

/* Reads the next pages of a CPU, behind the whole page that is left, or none. */
static void read_pages(struct capture *capture, struct capture_cpu *cpu)
{
	size_t page = capture->source.layout.size, left = cpu->length - cpu->at;
	ssize_t length;

	cpu->kept = cpu->data.offset - (off_t)left;
	memmove(cpu->pages + page - left, cpu->pages + cpu->at, left);
	cpu->at = page - left;
	length = cpu_data_read(&cpu->data, cpu->pages + page, page, capture->most);
	if (length < 0)
		count_cpu_flaw(capture, cpu, (int)-length);
	if (cpu->data.chunks && chunks_damaged(cpu->data.chunks))
		count_cpu_flaw(capture, cpu, EBADMSG);
	cpu->done = length <= 0;
	cpu->length = page + (length > 0 ? (size_t)length : 0);
}

int capture_read(struct capture *capture, int place, struct capture_page *ret_page)
{
	struct capture_cpu *cpu = &capture->cpus[place];
	struct cpu_data *data = &cpu->data;
	const struct page_layout *layout = &capture->source.layout;
	const unsigned char *page;
	size_t rest, length;
	off_t offset;

	/* The time of the page after it tells whether a page is in order. */
	if (cpu->length - cpu->at <= layout->size && !cpu->done)
		read_pages(capture, cpu);
	rest = cpu->length - cpu->at;
	if (!rest)
		return 0;
	page = cpu->pages + cpu->at;
	length = rest < layout->size ? rest : layout->size;
	offset = cpu->at < layout->size ? cpu->kept : data->offset - (off_t)rest;
	cpu->at += length;
	*ret_page = (struct capture_page){
		.data = page,
		.length = length,
		.offset = (uint64_t)offset,
		.next_ts = page_time(layout, page + length, rest - length),
		.last = rest == length && data->offset >= data->size,
	};
	if (!ret_page->last && !*page && cpu_data_ends_in_zeros(data, offset)) {
		data->offset = data->size;
		cpu->at = cpu->length;
		ret_page->last = true;
	}
	return 1;
}

const struct capture_counts *capture_counts(const struct capture *capture, int place)
{
	return &capture->cpus[place].counts;
}

/* The damage may be the reason. */
static int no_events(struct capture *capture, uint64_t bad_pages)
{
	char count[TEXT_COUNTED_MAX];

	if (bad_pages)
		count_flaw(capture, text_counted(count, bad_pages, "page{s}"), "damaged");
	return capture->info.flaws ? -EBADMSG : -ENODATA;
}

/*
 * A mark of ours tells that we recorded: trace-cmd restore writes the clock of the machine it runs on, which is
 * not the one of the buffer, and no threshold.
 */
static void use_marks(struct capture *capture, const struct traced *traced)
{
	struct data_source *source = &capture->source;
	uint64_t date = traced->date ? traced->date : capture->dat->date;

	source->date = capture->dat->date;
	source->started = date ? traced->first + date : 0;
	if (!traced->date)
		return;
	strcpy(capture->clock, "local");
	source->local_clock = true;
	source->own = traced->own;
	capture->info.threshold = traced->threshold;
	capture->info.described = traced->threshold;
}

int capture_find_traced(struct capture *capture, bool (*stop)(void *context), void *context)
{
	const struct data_source *source = &capture->source;
	struct capture_page page;
	struct traced traced;
	char *filter;
	bool stopped = false;
	int ret;

	if (!capture->dat)
		return 0;
	ret = traced_init(&traced, source);
	for (int place = 0; !ret && place < capture->count; place++) {
		struct capture_cpu *cpu = &capture->cpus[place];

		while (!stopped && capture_read(capture, place, &page)) {
			traced_page(&traced, source, &page);
			stopped = stop(context);
		}
		cpu_data_rewind(&cpu->data);
		cpu->length = cpu->at = 0;
		cpu->done = cpu->data.fd < 0;
	}
	capture->function_graph = traced.windows;
	use_marks(capture, &traced);
	if (stopped) {
		ret = 1;
	} else if (!ret && !traced.windows && !traced.events) {
		ret = no_events(capture, traced.bad_pages);
	} else if (!ret) {
		filter = traced_filter(&traced);
		ret = filter ? use_functions(capture, filter) : -ENOMEM;
	}
	traced_end(&traced);
	return ret;
}
