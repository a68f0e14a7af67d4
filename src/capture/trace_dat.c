// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/trace_dat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/rows.h"
#include "allocfilt/capture/read.h"
#include "capture/chunks.h"

#define OPTIONS_MAX  (16u << 20) /* bytes of all options: they may name each other in a circle */
#define OPTION_COST  64		 /* bytes that count for each */
#define CPUS_MAX     8192	 /* of a buffer: more than any kernel has */
#define PLACES_MAX   65536 /* CPUs of all buffers: they may name the same places in the file */
#define BUFFERS_MAX  4096
#define FILES_MAX    65536	   /* the kernel numbers its events with 16 bits */
#define BYTES_MAX    (256u << 20)  /* of all texts */
#define SECTION_MAX  FILE_TEXT_MAX /* bytes of one that is not data, in the file and expanded */
#define SECTION_PACK 1		   /* a flag of a section: it is compressed */

static const char magic[] = "\x17\x08\x44tracing";

/* Sections are version 7, CPUCOUNT is version 6, the others are both. trace-cmd.dat.v7(5) */
enum option {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_CPUCOUNT = 8,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

/* A part of the file, or of memory, that is read from its beginning to its end. */
struct span {
	struct trace_dat *dat;
	const char *memory; /* NULL: the file */
	off_t at, end;
	bool big_endian;
};

static bool span_read(struct span *span, void *to, size_t size)
{
	size_t length = size;
	int ret = 0;

	if (size > (uint64_t)(span->end - span->at))
		return false;
	if (span->memory)
		memcpy(to, span->memory + span->at, size);
	else
		ret = file_read_at(span->dat->fd, to, size, span->at, &length);
	if (ret)
		span->dat->error = -ret;
	if (length < size)
		return false;
	span->at += (off_t)size;
	return true;
}

static bool span_number(struct span *span, size_t size, uint64_t *ret_value)
{
	unsigned char bytes[8];

	if (!span_read(span, bytes, size))
		return false;
	*ret_value = event_number(bytes, size, span->big_endian);
	return true;
}

/* Returns false if there is none, or it is longer than @text. */
static bool span_string(struct span *span, char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!span_read(span, text + i, 1))
			return false;
		else if (!text[i])
			return true;
	return false;
}

/* Returns that many bytes as a text. NULL: the section ends before. */
static char *span_bytes(struct span *span, uint64_t length)
{
	bool fits = length <= (uint64_t)(span->end - span->at) && length <= FILE_TEXT_MAX;
	char *text = fits ? malloc(length + 1) : NULL;

	if (!text || !span_read(span, text, length)) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

/* The text behind its size, a number of @width bytes. */
static char *span_text(struct span *span, size_t width, uint64_t *ret_length)
{
	return span_number(span, width, ret_length) ? span_bytes(span, *ret_length) : NULL;
}

/* ---- texts ---- */

/* Takes @text over, or frees it. */
static bool add_file(struct trace_dat *dat, const char *path, char *text, size_t length)
{
	const struct source_file file = { strdup(path), text, length };

	if (!file.path || dat->nr_files == FILES_MAX || length > BYTES_MAX - dat->bytes ||
	    rows_append(&dat->files, &dat->nr_files, &file, sizeof(file)) < 0) {
		free(file.path);
		free(text);
		return false;
	}
	dat->bytes += length;
	return true;
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp(((const struct source_file *)left)->path,
		      ((const struct source_file *)right)->path);
}

/* Two files of one path: either of them stays. */
static void drop_file(void *kept, const void *file)
{
	(void)kept;
	free(((const struct source_file *)file)->path);
	free(((const struct source_file *)file)->text);
}

static bool add_text(struct trace_dat *dat, struct span *span, size_t width, const char *path)
{
	uint64_t length;
	char *text = span_text(span, width, &length);

	return text && add_file(dat, path, text, length);
}

static bool read_header_info(struct trace_dat *dat, struct span *span)
{
	char name[16];

	return span_string(span, name, sizeof(name)) && !strcmp(name, "header_page") &&
	       add_text(dat, span, 8, "events/header_page") &&
	       span_string(span, name, sizeof(name)) && !strcmp(name, "header_event") &&
	       add_text(dat, span, 8, "events/header_event");
}

/* The path is in no other place than the format's first line: "name: NAME". */
static bool add_format(struct trace_dat *dat, struct span *span, const char *system)
{
	char path[2 * NAME_MAX + 32], name[NAME_MAX + 1];
	uint64_t length;
	char *text = span_text(span, 8, &length);

	if (!text)
		return false;
	if (sscanf(text, "name: %255s", name) != 1 || strchr(name, '/') || strchr(system, '/')) {
		free(text);
		return true;
	}
	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	return add_file(dat, path, text, length);
}

static bool read_system(struct trace_dat *dat, struct span *span, const char *system)
{
	uint64_t count;
	bool good = span_number(span, 4, &count);

	for (; good && count; count--)
		good = add_format(dat, span, system);
	return good;
}

static bool read_ftrace_events(struct trace_dat *dat, struct span *span)
{
	return read_system(dat, span, "ftrace");
}

static bool read_event_formats(struct trace_dat *dat, struct span *span)
{
	char system[NAME_MAX + 1];
	uint64_t count;
	bool good = span_number(span, 4, &count);

	for (; good && count; count--)
		good = span_string(span, system, sizeof(system)) && read_system(dat, span, system);
	return good;
}

/* The parts in the order of version 6. In version 7 each is a section. */
static const struct part {
	enum option option;
	const char *name;
	bool (*read)(struct trace_dat *dat, struct span *span);
	size_t width; /* bytes of the size before a text, which is the file @name; 0: @read reads it */
} parts[] = {
	{ OPTION_HEADER_INFO, "header_page", read_header_info },
	{ OPTION_FTRACE_EVENTS, "the formats of ftrace", read_ftrace_events },
	{ OPTION_EVENT_FORMATS, "the formats of events", read_event_formats },
	{ OPTION_KALLSYMS, "kallsyms", NULL, 4 },
	{ OPTION_PRINTK, "printk_formats", NULL, 4 },
	{ OPTION_CMDLINES, "saved_cmdlines", NULL, 8 },
};

static bool read_part(struct trace_dat *dat, const struct part *part, struct span *span)
{
	return part->width ? add_text(dat, span, part->width, part->name) : part->read(dat, span);
}

static void set_flaw(struct trace_dat *dat, const char *flaw)
{
	if (!dat->flaw)
		dat->flaw = flaw;
}

/* ---- buffers ---- */

static struct dat_buffer *add_buffer(struct trace_dat *dat, const char *name, const char *clock)
{
	struct dat_buffer buffer = { .name = strdup(name) };

	snprintf(buffer.clock, sizeof(buffer.clock), "%s", clock);
	if (buffer.name && dat->nr_buffers < BUFFERS_MAX &&
	    rows_append(&dat->buffers, &dat->nr_buffers, &buffer, sizeof(buffer)) > 0)
		return &dat->buffers[dat->nr_buffers - 1];
	free(buffer.name);
	return NULL;
}

/* Places of the CPUs: version 7 has their numbers as well. */
static bool read_cpus(struct trace_dat *dat, struct dat_buffer *buffer, struct span *span,
		      uint64_t count)
{
	uint64_t number, offset, size;

	if (count > CPUS_MAX || count > dat->places_left ||
	    count * 16 > (uint64_t)(span->end - span->at))
		return false;
	dat->places_left -= (unsigned int)count;
	buffer->cpus = calloc(count + 1, sizeof(*buffer->cpus));
	if (!buffer->cpus)
		return false;
	for (number = 0; number < count; number++) {
		uint64_t cpu = number;

		if ((dat->version > 6 && !span_number(span, 4, &cpu)) ||
		    !span_number(span, 8, &offset) || !span_number(span, 8, &size))
			return false;
		/* The decoder's state of a CPU is found by its number. */
		if (cpu >= CPUS_MAX || (number && (int)cpu <= buffer->cpus[number - 1].cpu))
			return false;
		/* A file that was cut has what is left. */
		if (offset > (uint64_t)dat->size)
			offset = dat->size;
		if (size > (uint64_t)dat->size - offset) {
			size = (uint64_t)dat->size - offset;
			set_flaw(dat, "the end of the file");
		}
		/*
		 * Buffers do not overlap: reading all of them takes as long as reading the file
		 * once.
		 */
		if ((off_t)size > dat->data_left)
			return false;
		dat->data_left -= (off_t)size;
		buffer->cpus[buffer->count++] =
			(struct dat_cpu){ (int)cpu, (off_t)offset, (off_t)size };
	}
	return true;
}

/* The chosen one of "local [mono]". trace-cmd goes on without it, too. */
static bool read_clock(struct dat_buffer *buffer, struct span *span)
{
	uint64_t length;
	char *text = span_text(span, 8, &length);

	if (text && strchr(text, '['))
		sscanf(strchr(text, '['), "[%63[^]]", buffer->clock);
	free(text);
	return *buffer->clock;
}

/*
 * Version 6: the same data is at the offset of a buffer and at the end of the header. @clock: it
 * follows, as trace-cmd wrote it before 3.0
 */
static bool read_places(struct trace_dat *dat, struct dat_buffer *buffer, struct span *span,
			uint64_t cpus, bool clock)
{
	char kind[10];

	if (!span_read(span, kind, sizeof(kind)))
		return false;
	if (!memcmp(kind, "latency  ", sizeof(kind)))
		dat->latency = true;
	if (memcmp(kind, "flyrecord", sizeof(kind)) || !read_cpus(dat, buffer, span, cpus))
		return false;
	if (clock && !read_clock(buffer, span))
		set_flaw(dat, "the trace clock");
	return true;
}

static struct span part_of_file(struct trace_dat *dat, uint64_t at)
{
	return (struct span){
		.dat = dat,
		.at = at < (uint64_t)dat->size ? (off_t)at : dat->size,
		.end = dat->size,
		.big_endian = dat->big_endian,
	};
}

static bool read_section_header(struct span *span, uint64_t *ret_flags, uint64_t *ret_size)
{
	uint64_t id, description;

	return span_number(span, 2, &id) && span_number(span, 2, ret_flags) &&
	       span_number(span, 4, &description) && span_number(span, 8, ret_size);
}

static bool read_buffer_option(struct trace_dat *dat, struct span *option)
{
	char name[NAME_MAX + 1], clock[64] = "";
	uint64_t offset, flags, size, page_size, cpus;
	struct dat_buffer *buffer;
	struct span section;

	if (!span_number(option, 8, &offset) || !span_string(option, name, sizeof(name)))
		return false;
	if (dat->version == 6) {
		/* Its places come after the number of CPUs is known: see read_version_6(). */
		buffer = add_buffer(dat, name, clock);
		if (buffer)
			buffer->places = offset;
		return buffer;
	}
	section = part_of_file(dat, offset);
	if (!span_string(option, clock, sizeof(clock)) || !span_number(option, 4, &page_size) ||
	    !span_number(option, 4, &cpus) || !read_section_header(&section, &flags, &size) ||
	    (flags & SECTION_PACK && !dat->codec))
		return false;
	buffer = add_buffer(dat, name, clock);
	if (!buffer)
		return false;
	buffer->compressed = flags & SECTION_PACK;
	if (page_size >= PAGE_SIZE_MIN && page_size <= PAGE_SIZE_MAX &&
	    !(page_size & (page_size - 1)))
		buffer->page_size = page_size;
	return read_cpus(dat, buffer, option, cpus);
}

/* ---- options ---- */

static bool read_text_option(struct trace_dat *dat, struct span *data, enum option id)
{
	char *text = span_bytes(data, (uint64_t)(data->end - data->at));

	if (!text)
		return false;
	if (id == OPTION_CLOCK)
		return add_file(dat, "trace_clock", text, strlen(text));
	/* us as "0x…"; or "Linux HOST RELEASE MACHINE" */
	if (id == OPTION_DATE)
		dat->date = strtoull(text, NULL, 0) * NS_PER_US;
	else
		sscanf(text, "%*s %64s %64s %64s", dat->host, dat->release, dat->machine);
	free(text);
	return true;
}

/* Reads the section that an option of version 7 names. */
static bool read_section(struct trace_dat *dat, const struct part *part, uint64_t offset)
{
	struct span section = part_of_file(dat, offset);
	uint64_t flags, size, packed, expanded;
	char *from, *to;
	bool good;

	if (!read_section_header(&section, &flags, &size) || size > SECTION_MAX ||
	    size > (uint64_t)(section.end - section.at))
		return false;
	section.end = section.at + (off_t)size;
	if (!(flags & SECTION_PACK))
		return read_part(dat, part, &section);
	if (!dat->codec || !span_number(&section, 4, &packed) ||
	    !span_number(&section, 4, &expanded) || expanded > SECTION_MAX)
		return false;
	from = span_bytes(&section, packed);
	to = malloc(expanded + 1);
	good = from && to && !codec_expand(dat->codec, to, expanded, from, packed);
	section.memory = to;
	section.at = 0;
	section.end = (off_t)expanded;
	good = good && read_part(dat, part, &section);
	free(from);
	free(to);
	return good;
}

/* Options that were read so far. */
struct options_found {
	uint64_t bytes;
	uint64_t next;	/* version 7: the offset of the next options; 0: there are none */
	uint64_t cpus;	/* version 6: CPUCOUNT; 0: none */
	uint64_t parts; /* a bit for each of parts[] that was read */
	bool clock;
	bool clock_follows; /* version 6: the offset is not in the option, but after the places */
};

static bool read_option(struct trace_dat *dat, struct span *data, enum option id,
			struct options_found *found)
{
	uint64_t offset;

	switch (id) {
	case OPTION_BUFFER:
		return read_buffer_option(dat, data);
	case OPTION_CLOCK:
		if (found->clock)
			return true;
		found->clock = true;
		found->clock_follows = dat->version == 6 && data->at == data->end;
		if (found->clock_follows)
			return true;
		/* fall through */
	case OPTION_UNAME:
	case OPTION_DATE:
		return read_text_option(dat, data, id);
	case OPTION_BUFFER_TEXT:
		dat->latency = true;
		return true;
	case OPTION_CPUCOUNT:
		return span_number(data, 4, &found->cpus);
	default:
		break;
	}
	for (size_t i = 0; dat->version > 6 && i < ARRAY_SIZE(parts); i++) {
		if (parts[i].option != id || found->parts & 1u << i)
			continue;
		found->parts |= 1u << i;
		if (!span_number(data, 8, &offset) || !read_section(dat, &parts[i], offset))
			set_flaw(dat, parts[i].name);
	}
	return true;
}

/* Reads options up to the last one. Unknown ones are passed over. */
static bool read_options(struct trace_dat *dat, struct span *span, struct options_found *found)
{
	uint64_t id, size;

	for (;;) {
		struct span data = *span;

		if (!span_number(span, 2, &id))
			return false;
		found->next = 0;
		if (id == OPTION_DONE && dat->version == 6)
			return true;
		if (!span_number(span, 4, &size) || size > (uint64_t)(span->end - span->at))
			return false;
		found->bytes += size + OPTION_COST;
		if (found->bytes > OPTIONS_MAX)
			return false;
		data.at = span->at;
		data.end = span->at + (off_t)size;
		if (id == OPTION_DONE)
			return span_number(&data, 8, &found->next);
		if (!read_option(dat, &data, id, found))
			set_flaw(dat, "an option");
		span->at = data.end;
	}
}

static bool read_version_6(struct trace_dat *dat, struct span *span)
{
	struct options_found found = { 0 };
	struct dat_buffer *top;
	uint64_t cpus;
	char kind[10];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!read_part(dat, &parts[i], span)) {
			set_flaw(dat, parts[i].name);
			return false;
		}
	top = add_buffer(dat, "", "");
	if (!top || !span_number(span, 4, &cpus) || !span_read(span, kind, sizeof(kind)))
		return false;
	if (!memcmp(kind, "options  ", sizeof(kind))) {
		if (!read_options(dat, span, &found))
			return false;
	} else {
		span->at -= (off_t)sizeof(kind);
	}
	if (found.cpus)
		cpus = found.cpus;
	if (!read_places(dat, &dat->buffers[0], span, cpus, found.clock_follows))
		return false;
	for (size_t i = 1; i < dat->nr_buffers; i++) {
		struct dat_buffer *buffer = &dat->buffers[i];
		struct span places = part_of_file(dat, buffer->places);

		if (!read_places(dat, buffer, &places, cpus, found.clock_follows))
			set_flaw(dat, "a buffer");
	}
	return true;
}

static bool read_version_7(struct trace_dat *dat, uint64_t offset)
{
	struct options_found found = { .next = offset };

	while (found.next) {
		struct span section = part_of_file(dat, found.next);
		uint64_t flags, size;

		if (!read_section_header(&section, &flags, &size) || flags & SECTION_PACK ||
		    !read_options(dat, &section, &found))
			return false;
	}
	return true;
}

/* ---- the beginning of the file ---- */

static int refuse_compression(const char *path, const char *name, const char *package,
			      struct failure *failure)
{
	if (package)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOTSUP,
				   "%s: compressed with %s, which this allocfilt was built "
				   "without (Debian: %s); trace-cmd convert --compression none "
				   "makes a file that it reads",
				   path, name, package);
	return failure_set(failure, EXIT_STATUS_USAGE, ENOTSUP,
			   "%s: compressed in an unknown way (%s); trace-cmd convert "
			   "--compression none makes a file that can be read",
			   path, name);
}

/* A name for messages; a text that is no name is not shown. */
static bool is_word(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")];
}

static int read_up_to_data(struct trace_dat *dat, const char *path, struct failure *failure)
{
	struct span span = { .dat = dat, .end = dat->size };
	char mark[sizeof(magic) - 1], version[8], codec[16], codec_version[32];
	const char *package;
	uint64_t order = 0, long_size, page_size, offset;
	bool good;

	if (!span_read(&span, mark, sizeof(mark)) || memcmp(mark, magic, sizeof(mark)) ||
	    !span_string(&span, version, sizeof(version)) || !is_word(version))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s: neither a trace.dat of trace-cmd nor a capture", path);
	if (strcmp(version, "6") && strcmp(version, "7"))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOTSUP,
				   "%s: a trace.dat of version %s; versions 6 and 7 can be "
				   "read, trace-cmd convert makes them",
				   path, version);
	dat->version = *version - '0';
	good = span_number(&span, 1, &order) && span_number(&span, 1, &long_size);
	dat->big_endian = span.big_endian = order == 1;
	good = good && order <= 1 && span_number(&span, 4, &page_size);
	if (good && dat->version > 6) {
		good = span_string(&span, codec, sizeof(codec)) && is_word(codec) &&
		       span_string(&span, codec_version, sizeof(codec_version)) &&
		       span_number(&span, 8, &offset);
		if (good && strcmp(codec, "none")) {
			dat->codec = codec_find(codec, &package);
			if (!dat->codec)
				return refuse_compression(path, codec, package, failure);
		}
		good = good && read_version_7(dat, offset);
	} else if (good) {
		good = read_version_6(dat, &span);
	}
	if (good && dat->nr_buffers)
		return 0;
	if (dat->latency)
		return failure_set(failure, EXIT_STATUS_USAGE, ENODATA, "%s: " CAPTURE_NO_EVENTS,
				   path);
	if (dat->error)
		return failure_set(failure, EXIT_STATUS_USAGE, dat->error, "%s: %m", path);
	return failure_set(failure, EXIT_STATUS_USAGE, EBADMSG,
			   "%s: a damaged trace.dat: %s cannot be read", path,
			   dat->flaw ? dat->flaw :
			   good	     ? "a buffer" :
				       "its header");
}

int trace_dat_open(struct trace_dat **ret_dat, const char *path, struct failure *failure)
{
	struct trace_dat *dat = calloc(1, sizeof(*dat));
	struct stat status;
	int ret;

	if (!dat)
		return failure_no_memory(failure);
	dat->fd = file_open(NULL, path, INT64_MAX);
	dat->files = calloc(1, sizeof(*dat->files));
	if (!dat->files)
		ret = failure_no_memory(failure);
	else if (dat->fd < 0)
		ret = failure_set(failure, EXIT_STATUS_USAGE, -dat->fd, "%s: %s", path,
				  file_error(-dat->fd));
	else if (fstat(dat->fd, &status))
		ret = failure_set(failure, EXIT_STATUS_USAGE, errno, "%s: %m", path);
	else {
		dat->size = dat->data_left = status.st_size;
		dat->places_left = PLACES_MAX;
		ret = read_up_to_data(dat, path, failure);
	}
	if (ret) {
		trace_dat_free(dat);
		return ret;
	}
	rows_merge(dat->files, &dat->nr_files, sizeof(*dat->files), compare_paths, drop_file);
	*ret_dat = dat;
	return 0;
}

void trace_dat_free(struct trace_dat *dat)
{
	if (!dat)
		return;
	for (size_t i = 0; i < dat->nr_buffers; i++) {
		free(dat->buffers[i].name);
		free(dat->buffers[i].cpus);
	}
	free(dat->buffers);
	for (size_t i = 0; i < dat->nr_files; i++) {
		free(dat->files[i].path);
		free(dat->files[i].text);
	}
	free(dat->files);
	file_close(dat->fd);
	free(dat);
}
