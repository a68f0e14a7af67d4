// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/trace_dat.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "test_directory.h"
#include "unit_test.h"

/* A file made by hand, as trace-cmd.dat.v7(5) and trace-cmd.dat.v6(5) have it; little-endian. */
static struct {
	unsigned char bytes[4 << 20];
	size_t at;
} file;

static struct trace_dat *dat;
static struct failure failure;

#define DONE	   0
#define BUFFER	   3
#define UNAME	   5
#define HEADER	   16
#define FORMATS	   18
#define COMPRESSED 1

static void put(const void *bytes, size_t size)
{
	assert_in_range(file.at + size, 0, sizeof(file.bytes));
	memcpy(file.bytes + file.at, bytes, size);
	file.at += size;
}

static void put_number(uint64_t value, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	put(bytes, size);
}

static void put_string(const char *text)
{
	put(text, strlen(text) + 1);
}

static size_t put_section(int id, int flags, size_t size)
{
	size_t at = file.at;

	put_number((uint64_t)id, 2);
	put_number((uint64_t)flags, 2);
	put_number(0, 4);
	put_number(size, 8);
	return at;
}

/* Up to the offset of the options, which put_options_here() sets. */
static size_t begin(const char *codec)
{
	size_t offset;

	memset(&file, 0, sizeof(file));
	put("\x17\x08\x44tracing", 10);
	put_string("7");
	put_number(0, 1);
	put_number(8, 1);
	put_number(4096, 4);
	put_string(codec);
	put_string("1");
	offset = file.at;
	put_number(0, 8);
	return offset;
}

static void set_offset(size_t at, size_t offset)
{
	size_t end = file.at;

	file.at = at;
	put_number(offset, 8);
	file.at = end;
}

static void put_option(int id, uint64_t value)
{
	put_number((uint64_t)id, 2);
	put_number(8, 4);
	put_number(value, 8);
}

struct place {
	uint32_t cpu;
	uint64_t offset, size;
};

static void put_buffer(size_t section, const char *name, const struct place *places, size_t count)
{
	put_number(BUFFER, 2);
	put_number(8 + strlen(name) + 1 + sizeof("local") + 8 + count * 20, 4);
	put_number(section, 8);
	put_string(name);
	put_string("local");
	put_number(4096, 4);
	put_number(count, 4);
	for (size_t i = 0; i < count; i++) {
		put_number(places[i].cpu, 4);
		put_number(places[i].offset, 8);
		put_number(places[i].size, 8);
	}
}

/* A file with one buffer. */
static void make_file(const char *codec, int flags, const struct place *places, size_t count)
{
	size_t options = begin(codec), section = put_section(BUFFER, flags, 0);

	set_offset(options, put_section(DONE, 0, 0));
	put_buffer(section, "", places, count);
	put_option(DONE, 0);
}

static int open_file(void)
{
	FILE *stream = fopen(test_path("trace.dat"), "w");

	assert_non_null(stream);
	assert_int_equal(fwrite(file.bytes, 1, file.at, stream), file.at);
	fclose(stream);
	trace_dat_free(dat);
	dat = NULL;
	failure = (struct failure){ 0 };
	return trace_dat_open(&dat, test_path("trace.dat"), &failure);
}

static void expect_refused(const char *text)
{
	assert_true(open_file() < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	if (!strstr(failure.text, text))
		fail_msg("'%s' and not '%s'", failure.text, text);
}

static int tear_down(void **state)
{
	trace_dat_free(dat);
	dat = NULL;
	return remove_test_directory(state);
}

#define TEST(test) UNIT_TEST_WITH(test, make_test_directory, tear_down)

TEST(test_what_is_in_it)
{
	static const struct place one[] = { { 0, 4096, 100 }, { 3, 8192, 200 } };
	static const struct place other[] = { { 1, 0, 0 } };
	size_t options = begin("none"), section = put_section(BUFFER, 0, 0), next;

	set_offset(options, put_section(DONE, 0, 0));
	put_buffer(section, "second", other, 1);
	put_number(UNAME, 2);
	put_number(sizeof("Linux host 6.1 arm"), 4);
	put_string("Linux host 6.1 arm");
	put_option(DONE, 0);
	next = file.at - 8;
	/* An unknown option, in a second section. */
	set_offset(next, put_section(DONE, 0, 0));
	put_option(99, 1);
	put_buffer(section, "", one, 2);
	put_option(DONE, 0);
	file.at = 12000;
	assert_int_equal(open_file(), 0);
	assert_null(dat->flaw);
	assert_string_equal(dat->host, "host");
	assert_string_equal(dat->release, "6.1");
	assert_string_equal(dat->machine, "arm");
	assert_int_equal(dat->nr_buffers, 2);
	assert_string_equal(dat->buffers[0].name, "second");
	assert_string_equal(dat->buffers[1].name, "");
	assert_string_equal(dat->buffers[1].clock, "local");
	assert_int_equal(dat->buffers[1].page_size, 4096);
	assert_int_equal(dat->buffers[1].count, 2);
	assert_int_equal(dat->buffers[1].cpus[1].cpu, 3);
	assert_int_equal(dat->buffers[1].cpus[1].offset, 8192);
	assert_int_equal(dat->buffers[1].cpus[1].size, 200);
}

/* Found by the fuzz target: compressed by nobody, and options in a circle. */
TEST(test_refused)
{
	static const struct place places[] = { { 0, 0, 100 } };
	size_t options, circle;

	make_file("none", COMPRESSED, places, 1);
	expect_refused("an option");
	options = begin("none");
	circle = put_section(DONE, 0, 0);
	set_offset(options, circle);
	put_option(DONE, circle);
	expect_refused("its header");
}

TEST(test_places_of_cpus)
{
	static const struct place beyond[] = { { 0, 4096, 1 << 20 }, { 1, 1 << 30, 5 } };
	static const struct place falling[] = { { 1, 0, 10 }, { 0, 0, 10 } };
	static const struct place highest[] = { { 1 << 20, 0, 10 } };
	struct place many[100];

	make_file("none", 0, beyond, 2);
	file.at = 5000;
	assert_int_equal(open_file(), 0);
	assert_int_equal(dat->buffers[0].cpus[0].size, 5000 - 4096);
	assert_int_equal(dat->buffers[0].cpus[1].size, 0);
	assert_string_equal(dat->flaw, "the end of the file");
	make_file("none", 0, falling, 2);
	assert_int_equal(open_file(), 0);
	assert_string_equal(dat->flaw, "an option");
	assert_int_equal(dat->buffers[0].count, 1);
	make_file("none", 0, highest, 1);
	assert_int_equal(open_file(), 0);
	assert_int_equal(dat->buffers[0].count, 0);
	/* All of them the whole file: it would be read a hundred times. */
	for (uint32_t i = 0; i < 100; i++)
		many[i] = (struct place){ i, 0, 1 << 20 };
	make_file("none", 0, many, 100);
	assert_int_equal(open_file(), 0);
	assert_int_equal(dat->buffers[0].count, 1);
}

TEST(test_sections)
{
	static const struct place places[] = { { 0, 0, 0 } };
	size_t options = begin("none"), header, buffer;

	header = put_section(HEADER, 0, 1 << 20);
	buffer = put_section(BUFFER, 0, 0);
	set_offset(options, put_section(DONE, 0, 0));
	put_option(HEADER, header);
	put_option(HEADER, 1ull << 63);
	put_buffer(buffer, "", places, 1);
	put_option(DONE, 0);
	assert_int_equal(open_file(), 0);
	assert_string_equal(dat->flaw, "header_page");
	assert_int_equal(dat->nr_files, 0);
}

/* A section of two texts that says it has @size bytes. */
static size_t put_header(uint64_t size)
{
	size_t header = put_section(HEADER, 0, size);

	put_string("header_page");
	put_number(5, 8);
	put("a\0b\nc", 5);
	put_string("header_event");
	put_number(4, 8);
	put("more", 4);
	return header;
}

TEST(test_large_sections)
{
	static const struct place places[] = { { 0, 0, 0 } };
	size_t options = begin("none"), header, buffer;

	/* A sparse file may be of any size. */
	header = put_header(1 << 30);
	buffer = put_section(BUFFER, 0, 0);
	set_offset(options, put_section(DONE, 0, 0));
	put_option(HEADER, header);
	put_buffer(buffer, "", places, 1);
	put_option(DONE, 0);
	open_file();
	assert_int_equal(truncate(test_path("trace.dat"), 2ll << 30), 0);
	trace_dat_free(dat);
	dat = NULL;
	assert_int_equal(trace_dat_open(&dat, test_path("trace.dat"), &failure), 0);
	assert_string_equal(dat->flaw, "header_page");
}

/* @count formats, of which the last two have one name. */
static size_t put_formats(uint32_t count)
{
	size_t section = put_section(FORMATS, 0, 0), end;
	char text[32];

	put_number(1, 4);
	put_string("a");
	put_number(count, 4);
	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "name: %u\n", i + 1 < count ? i : i - 1);
		put_number(strlen(text), 8);
		put(text, strlen(text));
	}
	end = file.at;
	file.at = section + 8;
	put_number(end - section - 16, 8);
	file.at = end;
	return section;
}

static int count_event(void *context, const char *system, const char *name)
{
	++*(int *)context;
	return 0;
}

/* No more than a kernel can number, and each once. */
TEST(test_formats)
{
	static const struct {
		uint32_t formats, files;
		bool flaw;
	} cases[] = { { 300, 299, false },
		      { 1 << 16, (1 << 16) - 1, false },
		      { 1 << 17, 1 << 16, true } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t options = begin("none"), formats = put_formats(cases[i].formats), buffer;
		struct data_source source = { 0 };
		int events = 0;
		char *text;

		buffer = put_section(BUFFER, 0, 0);
		set_offset(options, put_section(DONE, 0, 0));
		put_option(FORMATS, formats);
		put_buffer(buffer, "", NULL, 0);
		put_option(DONE, 0);
		assert_int_equal(open_file(), 0);
		assert_int_equal(dat->nr_files, cases[i].files);
		assert_int_equal(dat->flaw != NULL, cases[i].flaw);
		source.files = dat->files;
		source.nr_files = dat->nr_files;
		source_events(&source, count_event, &events);
		assert_int_equal(events, cases[i].files);
		assert_int_equal(source_read(&source, "events/a/7/format", &text, NULL), 0);
		assert_string_equal(text, "name: 7\n");
		free(text);
		assert_true(source_has(&source, "events/a/7/format"));
		assert_false(source_has(&source, "events/a"));
		assert_int_equal(source_read(&source, "events/a", &text, NULL), -ENOENT);
	}
}

TEST(test_texts)
{
	size_t options = begin("none"), header, buffer;
	struct data_source source = { 0 };
	char text[16] = "";
	int fd;

	header = put_header(12 + 8 + 5 + 13 + 8 + 4);
	buffer = put_section(BUFFER, 0, 0);
	set_offset(options, put_section(DONE, 0, 0));
	put_option(HEADER, header);
	put_buffer(buffer, "", NULL, 0);
	put_option(DONE, 0);
	assert_int_equal(open_file(), 0);
	assert_null(dat->flaw);
	source.files = dat->files;
	source.nr_files = dat->nr_files;
	fd = source_open(&source, "events/header_page");
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_memory_equal(text, "a\0b\nc", 5);
	close(fd);
	assert_int_equal(source_open(&source, "events"), -ENOENT);
}

TEST(test_version_6)
{
	static const char *const kinds[] = { "flyrecord", "latency  " };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		memset(&file, 0, sizeof(file));
		put("\x17\x08\x44tracing", 10);
		put_string("6");
		put_number(0, 1);
		put_number(8, 1);
		put_number(4096, 4);
		put_string("header_page");
		put_number(0, 8);
		put_string("header_event");
		put_number(0, 8);
		put_number(0, 4); /* formats of ftrace */
		put_number(0, 4); /* systems */
		put_number(0, 4); /* kallsyms */
		put_number(0, 4); /* printk_formats */
		put_number(0, 8); /* saved_cmdlines */
		put_number(1, 4);
		put_string(kinds[i]);
		put_number(100, 8);
		put_number(20, 8);
		file.at = 200;
		if (i) {
			expect_refused("what it takes: trace-cmd record");
			continue;
		}
		assert_int_equal(open_file(), 0);
		assert_int_equal(dat->buffers[0].cpus[0].offset, 100);
		assert_int_equal(dat->buffers[0].cpus[0].size, 20);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
