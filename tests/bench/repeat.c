// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a large capture from a small one: repeats the pages of its CPUs, each time later and, if that
 * is asked for, with other tasks and on other CPUs.
 *
 *   repeat [--records N | --copies N] [--cpus N] [--tasks N] CAPTURE COPY
 *
 * COPY is a copy of CAPTURE without per_cpu; tests/bench/repeat makes it.
 *
 * --records  at least so many, in whole copies of the capture; 10 million without
 * --copies   so many instead
 * --cpus     so many CPUs at the same time: CPU n of them has what CPU n modulo the capture's has in
 *            the capture; as many as the capture has without
 * --tasks    at least so many, in whole sets of the capture's; more CPUs take a set each, as a task
 *            runs on one CPU at a time
 *
 * What moves with a copy: the time of a page, absolute time stamps, calltime and rettime, and with
 * --cpus or --tasks each field that is named as a pid, and the names of tasks. A time in the text of a
 * trace_marker stays. Little-endian captures only. Prints one line: records, CPUs, tasks, bytes,
 * copies.
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT_OFFSET 8
#define COMMIT_SIZE   ((1u << 30) - 1) /* without the bits that tell of lost records */
#define EVENTS_MAX    65536	       /* common_type is a short */
#define FIELDS_MAX    8
#define PIDS_MAX      (4 << 20) /* linux/threads.h: PID_MAX_LIMIT */
#define CPUS_MAX      512	/* files open at once */
#define GAP	      1000000	/* ns between two copies */

/* kernel/trace/ring_buffer.c: type_len of a record */
enum { TYPE_LONG_DATA = 0, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

/* What a copy changes. */
enum place_kind { PLACE_TIME, PLACE_TIME_STAMP, PLACE_PID };

struct place {
	size_t offset; /* from the first page of its CPU */
	enum place_kind kind;
};

struct event {
	struct field {
		size_t offset;
		enum place_kind kind;
	} fields[FIELDS_MAX];
	int count;
};

struct cpu {
	unsigned char *pages;
	size_t size;
	struct place *places;
	size_t nr_places;
	uint64_t records;
};

static struct event events[EVENTS_MAX];
static int set_places[PIDS_MAX]; /* of a pid in its set, from 1; 0: no pid of a record */
static int set_size;		 /* tasks of the capture, without pid 0 */
static int first_pid;		 /* of the second set */
static uint64_t oldest = UINT64_MAX, newest;
static size_t page_size, page_header;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("repeat: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

static char *path_of(const char *dir, const char *format, ...)
{
	char *path, *name;
	va_list args;

	va_start(args, format);
	if (vasprintf(&name, format, args) < 0 || asprintf(&path, "%s/%s", dir, name) < 0)
		die("out of memory");
	va_end(args);
	free(name);
	return path;
}

static void *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *data = NULL;
	size_t size = 0, got;

	if (!file)
		die("%s: %m", path);
	do {
		data = realloc(data, size + (1 << 16) + 1);
		if (!data)
			die("out of memory");
		got = fread(data + size, 1, 1 << 16, file);
		size += got;
	} while (got);
	if (ferror(file))
		die("%s: %m", path);
	fclose(file);
	data[size] = '\0';
	*ret_size = size;
	return data;
}

static uint32_t read_u32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t read_u64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static void write_u32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void write_u64(unsigned char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static bool is_pid(const char *field)
{
	size_t length = strlen(field);

	return !strcmp(field, "pid") || (length > 4 && !strcmp(field + length - 4, "_pid"));
}

/* "	field:unsigned long long calltime;	offset:24;	size:8;	signed:0;" */
static void parse_format(char *text)
{
	struct event *event = NULL;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char name[64];
		size_t offset, size;
		unsigned int id;
		enum place_kind kind;

		if (sscanf(line, "ID: %u", &id) == 1 && id < EVENTS_MAX)
			event = &events[id];
		if (!event || !strchr(line, ';') ||
		    sscanf(strchr(line, ';'), "; offset:%zu; size:%zu;", &offset, &size) != 2)
			continue;
		*strchr(line, ';') = '\0';
		if (!strrchr(line, ' '))
			continue;
		snprintf(name, sizeof(name), "%s", strrchr(line, ' ') + 1);
		if (size == 4 && is_pid(name))
			kind = PLACE_PID;
		else if (size == 8 && (!strcmp(name, "calltime") || !strcmp(name, "rettime")))
			kind = PLACE_TIME;
		else
			continue;
		if (event->count == FIELDS_MAX)
			die("%s: too many fields that change", name);
		event->fields[event->count++] = (struct field){ offset, kind };
	}
}

static void read_formats(const char *dir)
{
	char *pattern = path_of(dir, "events/*/*/format");
	size_t size;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		die("%s: no formats", pattern);
	for (size_t i = 0; i < found.gl_pathc; i++)
		parse_format(read_file(found.gl_pathv[i], &size));
	globfree(&found);
	free(pattern);
}

/* "	field: char data;	offset:16;	size:4080;	signed:1;" */
static void read_page_size(const char *dir)
{
	size_t length, size;
	const char *data = strstr(read_file(path_of(dir, "events/header_page"), &length), " data;");

	if (!data || sscanf(data, " data; offset:%zu; size:%zu;", &page_header, &size) != 2)
		die("%s/events/header_page: not the text of a tracing directory's header_page",
		    dir);
	page_size = page_header + size;
}

static void see_time(uint64_t time)
{
	if (time < oldest)
		oldest = time;
	if (time > newest)
		newest = time;
}

static void add_place(struct cpu *cpu, const unsigned char *at, enum place_kind kind)
{
	/* doubles at the powers of two */
	if (!(cpu->nr_places & (cpu->nr_places - 1)))
		cpu->places =
			reallocarray(cpu->places, cpu->nr_places * 2 + 1, sizeof(*cpu->places));
	if (!cpu->places)
		die("out of memory");
	cpu->places[cpu->nr_places++] = (struct place){ at - cpu->pages, kind };
}

static void scan_record(struct cpu *cpu, const unsigned char *data, size_t length)
{
	const struct event *event = &events[length < 2 ? 0 : read_u32(data) & 0xffff];

	cpu->records++;
	for (int i = 0; i < event->count; i++) {
		const struct field *field = &event->fields[i];
		const unsigned char *at = data + field->offset;
		uint32_t pid;

		if (field->offset + (field->kind == PLACE_PID ? 4 : 8) > length)
			continue;
		add_place(cpu, at, field->kind);
		if (field->kind == PLACE_TIME)
			see_time(read_u64(at));
		pid = field->kind == PLACE_PID ? read_u32(at) : 0;
		if (pid && pid < PIDS_MAX && !set_places[pid])
			set_places[pid] = ++set_size;
		if (pid < PIDS_MAX && (int)pid >= first_pid)
			first_pid = (int)pid + 1;
	}
}

static void scan_page(struct cpu *cpu, const unsigned char *page, const char *name)
{
	uint64_t time = read_u64(page);
	size_t size = read_u32(page + COMMIT_OFFSET) & COMMIT_SIZE;
	const unsigned char *at = page + page_header, *end = at + size;

	if (size > page_size - page_header)
		die("%s: no page of a little-endian machine", name);
	add_place(cpu, page, PLACE_TIME);
	while (end - at >= 8) {
		uint32_t type = read_u32(at) & 31, delta = read_u32(at) >> 5;
		uint32_t second = read_u32(at + 4);
		size_t length = 4 + type * 4;

		if (type == TYPE_PADDING && !delta)
			break;
		if (type == TYPE_LONG_DATA || type == TYPE_PADDING)
			length = 4 + (size_t)second;
		if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP)
			length = 8;
		if (length < 8 || length > (size_t)(end - at))
			die("%s: damaged", name);
		time += delta;
		if (type == TYPE_TIME_EXTEND)
			time += (uint64_t)second << 27;
		if (type == TYPE_TIME_STAMP) {
			/* the five highest bits are those of the time before */
			time = ((uint64_t)second << 27) + delta + (time & ~(UINT64_MAX >> 5));
			add_place(cpu, at, PLACE_TIME_STAMP);
		} else if (type == TYPE_LONG_DATA) {
			scan_record(cpu, at + 8, length - 8);
		} else if (type < TYPE_PADDING) {
			scan_record(cpu, at + 4, length - 4);
		}
		see_time(time);
		at += length;
	}
}

static void scan_cpu(struct cpu *cpu, const char *name)
{
	cpu->pages = read_file(name, &cpu->size);
	cpu->size -= cpu->size % page_size;
	for (size_t at = 0; at < cpu->size; at += page_size)
		scan_page(cpu, cpu->pages + at, name);
}

static uint32_t pid_in_set(uint32_t pid, int set)
{
	if (!set || !pid || pid >= PIDS_MAX || !set_places[pid])
		return pid;
	return first_pid + (set - 1) * set_size + set_places[pid] - 1;
}

/* The places of the pages still have what the capture has. */
static void write_copy(const struct cpu *cpu, unsigned char *copy, uint64_t shift, int set,
		       FILE *file)
{
	memcpy(copy, cpu->pages, cpu->size);
	for (size_t i = 0; i < cpu->nr_places; i++) {
		unsigned char *at = copy + cpu->places[i].offset;
		uint64_t time;

		switch (cpu->places[i].kind) {
		case PLACE_TIME:
			write_u64(at, read_u64(at) + shift);
			break;
		case PLACE_TIME_STAMP:
			time = ((uint64_t)read_u32(at + 4) << 27) + (read_u32(at) >> 5) + shift;
			write_u32(at, TYPE_TIME_STAMP | (uint32_t)time << 5);
			write_u32(at + 4, (uint32_t)(time >> 27));
			break;
		case PLACE_PID:
			write_u32(at, pid_in_set(read_u32(at), set));
			break;
		}
	}
	fwrite(copy, 1, cpu->size, file);
}

/* Lines that begin with so many pids: those of the further sets follow. */
static void repeat_names(const char *path, int pids, int sets)
{
	size_t size;
	char *text, *line;
	FILE *file;

	if (access(path, F_OK))
		return;
	text = read_file(path, &size);
	file = fopen(path, "ae");
	if (!file)
		die("%s: %m", path);
	while ((line = strsep(&text, "\n"))) {
		unsigned long numbers[2];
		char *rest = line;

		for (int i = 0; i < pids; i++)
			numbers[i] = strtoul(rest, &rest, 10);
		if (!*line || numbers[0] >= PIDS_MAX || !set_places[numbers[0]])
			continue;
		for (int set = 1; set < sets; set++) {
			for (int i = 0; i < pids; i++)
				fprintf(file, "%s%u", i ? " " : "", pid_in_set(numbers[i], set));
			fprintf(file, "%s\n", rest);
		}
	}
	if (fclose(file))
		die("%s: %m", path);
}

static FILE *create(const char *dir, int cpu)
{
	char *path = path_of(dir, "per_cpu/cpu%d", cpu);
	FILE *file;

	if (mkdir(path, 0777))
		die("%s: %m", path);
	free(path);
	path = path_of(dir, "per_cpu/cpu%d/trace_pipe_raw", cpu);
	file = fopen(path, "wxe");
	if (!file)
		die("%s: %m", path);
	free(path);
	return file;
}

static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !value || value > max)
		die("%s: a number from 1 to %" PRIu64 " is needed", text, max);
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "records", required_argument, NULL, 'r' },
						 { "copies", required_argument, NULL, 'n' },
						 { "cpus", required_argument, NULL, 'c' },
						 { "tasks", required_argument, NULL, 't' },
						 { 0 } };
	uint64_t wanted = 10000000, records = 0, bytes = 0, period, copies = 0, wanted_copies = 0;
	int cpus = 0, tasks = 1, groups, sets, option;
	FILE *files[CPUS_MAX];
	struct cpu *sources;
	unsigned char *copy;
	size_t largest = 0;
	glob_t found;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			wanted = number(optarg, UINT64_MAX);
		else if (option == 'n')
			wanted_copies = number(optarg, UINT64_MAX);
		else if (option == 'c')
			cpus = (int)number(optarg, CPUS_MAX);
		else if (option == 't')
			tasks = (int)number(optarg, PIDS_MAX);
		else
			return 2;
	}
	if (argc - optind != 2)
		die("usage: repeat [--records N | --copies N] [--cpus N] [--tasks N] CAPTURE COPY");

	read_page_size(argv[optind]);
	read_formats(argv[optind]);
	if (glob(path_of(argv[optind], "per_cpu/cpu*/trace_pipe_raw"), 0, NULL, &found))
		die("%s: no data", argv[optind]);
	sources = calloc(found.gl_pathc, sizeof(*sources));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		scan_cpu(&sources[i], found.gl_pathv[i]);
		largest = sources[i].size > largest ? sources[i].size : largest;
	}
	copy = malloc(largest);
	if (!sources || !copy || !set_size)
		die("%s: no records of a little-endian machine", argv[optind]);
	period = newest - oldest + GAP;

	if (!cpus)
		cpus = (int)found.gl_pathc;
	groups = (cpus + (int)found.gl_pathc - 1) / (int)found.gl_pathc;
	sets = (tasks + set_size - 1) / set_size;
	sets = sets > groups ? sets : groups;
	if (first_pid + (int64_t)(sets - 1) * set_size > PIDS_MAX)
		die("more tasks than a kernel has pids");
	repeat_names(path_of(argv[optind + 1], "saved_cmdlines"), 1, sets);
	repeat_names(path_of(argv[optind + 1], "tasks"), 2, sets);

	if (mkdir(path_of(argv[optind + 1], "per_cpu"), 0777))
		die("%s/per_cpu: %m", argv[optind + 1]);
	for (int i = 0; i < cpus; i++)
		files[i] = create(argv[optind + 1], i);
	for (; wanted_copies ? copies < wanted_copies : records < wanted; copies++) {
		int group = (int)(copies % groups), first = group * (int)found.gl_pathc;
		/* Copies that run at the same time do not run in step. */
		uint64_t shift = copies / groups * period + period / groups * group;

		for (int i = 0; i < (int)found.gl_pathc && first + i < cpus; i++) {
			write_copy(&sources[i], copy, shift, (int)(copies % sets),
				   files[first + i]);
			records += sources[i].records;
			bytes += sources[i].size;
		}
	}
	for (int i = 0; i < cpus; i++)
		if (ferror(files[i]) | fclose(files[i]))
			die("cpu%d: %m", i);
	printf("%" PRIu64 " records, %d CPUs, %d tasks, %" PRIu64 " bytes, %" PRIu64 " copies\n",
	       records, cpus, (copies < (uint64_t)sets ? (int)copies : sets) * set_size, bytes,
	       copies);
	return 0;
}
