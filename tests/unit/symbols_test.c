// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "allocfilt/base/base.h"
#include "allocfilt/names/resolver.h"
#include "names/symbols.h"
#include "test_directory.h"
#include "unit_test.h"

static struct symbols *symbols;
static bool has_room; /* the result of the last symbols_read() */

static int open_kallsyms(void)
{
	return file_open(test_directory, "kallsyms", FILE_TEXT_MAX);
}

static void open_text(const char *text)
{
	symbols_free(symbols);
	put_text("kallsyms", text);
	symbols = symbols_new(open_kallsyms(), -1);
	assert_non_null(symbols);
	has_room = symbols_read(symbols);
}

static uint64_t now; /* ns: of symbols, in place of the clock */

int clock_gettime(clockid_t id, struct timespec *time)
{
	*time = (struct timespec){ now / NS_PER_SECOND, now % NS_PER_SECOND };
	return 0;
}

/* A running kernel with these modules, "NAME SIZE USES USERS STATE ADDRESS". */
static void open_running(const char *text, const char *modules)
{
	symbols_free(symbols);
	put_text("kallsyms", text);
	put_text("modules", modules);
	symbols = symbols_new(open_kallsyms(), file_open(test_directory, "modules", FILE_TEXT_MAX));
	assert_non_null(symbols);
	symbols_read(symbols);
	now = 100 * NS_PER_SECOND;
	/* The first look is at once, the next ones are a second apart. */
	assert_null(symbols_find(symbols, 0x10));
	now += NS_PER_SECOND;
}

static int tear_down(void **state)
{
	symbols_free(symbols);
	symbols = NULL;
	return 0;
}

static void assert_symbol(uint64_t address, char style, const char *expected)
{
	char text[256];
	int length = symbols_text(symbols, address, style, text, sizeof(text));

	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

/* Several names at one address, absolute symbols, and modules with unordered symbols. */
static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
			     "0000000000001000 A cpu_debug_store\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000040 T first\n"
			     "ffffffff810000a0 t second\n"
			     "ffffffff810000a0 t second_alias\n"
			     "ffffffff81000200 T third.isra.0\n"
			     "ffffffff81000210 D data\n"
			     "ffffffffc0001100 t late\t[one]\n"
			     "ffffffffc0001000 t early\t[one]\n"
			     "ffffffffc0003000 d value\t[one]\n"
			     "ffffffffc0001080 t middle\t[one]\n"
			     "ffffffffc0001020 t other\t[two]\n"
			     "ffffffffc0008000 t alone\t[two]\n";

#define TEST(name) UNIT_TEST_WITH(name, NULL, tear_down)

/*
 * Hostile files of 64 MiB and their like: many lines of one address, in falling order, and of a block
 * each. Neither reading nor a lookup takes long.
 */
TEST(hostile_files)
{
	enum { LINES = 1000000 };
	char *text = malloc(64 + LINES * 32);

	for (int kind = 0; kind < 3; kind++) {
		char *at = stpcpy(text, "ffffffff81000000 T _stext\n");
		clock_t before;

		for (unsigned int i = 0; i < LINES; i++)
			at += sprintf(at, "ffffffffc%07x t f\t[%s]\n",
				      kind == 0 ? 5 : (LINES - i) * 16,
				      kind == 2 && i % 2 ? "a" : "b");
		before = clock();
		open_text(text);
		for (uint64_t i = 1; i <= 40000; i++)
			assert_null(symbols_find(symbols, 0xffffffff81000000 + i));
		/* CPU time, of which it takes a tenth. */
		assert_true(clock() - before < 5 * CLOCKS_PER_SEC);
	}
	free(text);
}

/* After the limit there are no names, and the others stay. */
TEST(more_than_the_table_holds)
{
	const unsigned int lines = SYMBOLS_MAX + 1000;
	char *text = malloc((size_t)lines * 28), *at = text;

	for (unsigned int i = 0; i < lines; i++)
		at += sprintf(at, "ffffffff%08x t f\n", i * 16);
	open_text(text);
	free(text);
	assert_false(has_room);
	assert_symbol(0xffffffff00000010, 'S', "f+0x0/0x10");
	assert_symbol(0xffffffff00000000 + (SYMBOLS_MAX - 2) * 16, 'S', "f+0x0/0x10");
	assert_null(symbols_find(symbols, 0xffffffff00000000 + (SYMBOLS_MAX + 2) * 16));
}

/* From 6.2 on there may be padding in front of each function, which has a symbol of its own. */
TEST(padding)
{
	open_text("ffffffff81000000 T first\n"
		  "ffffffff81000030 T __pfx_second\n"
		  "ffffffff81000040 T second\n"
		  "ffffffffc0001f00 t first\t[one]\n"
		  "ffffffffc0002100 t __pfx_second\t[one]\n"
		  "ffffffffc0002110 t second\t[one]\n"
		  "ffffffffc0004000 d data\t[one]\n");
	assert_symbol(0xffffffff8100002f, 'S', "first+0x2f/0x30");
	assert_null(symbols_find(symbols, 0xffffffff81000030));
	assert_symbol(0xffffffffc00020ff, 'S', "first+0x1ff/0x200 [one]");
	assert_null(symbols_find(symbols, 0xffffffffc0002100));
	assert_symbol(0xffffffffc0002fff, 'S', "second+0xeef/0xef0 [one]");
	assert_null(symbols_find(symbols, 0xffffffffc0003000));
}

/* The section's start may be a function's address, and its end that of nothing. */
TEST(scheduler_section)
{
	open_text("ffffffff81000040 T first\n"
		  "ffffffff81000100 T io_schedule_timeout\n"
		  "ffffffff81000100 T __sched_text_start\n"
		  "ffffffff81000140 T schedule\n"
		  "ffffffff81000200 T __sched_text_end\n"
		  "ffffffff81000210 T last\n");
	assert_false(symbols_in_scheduler(symbols, 0xffffffff810000ff));
	assert_true(symbols_in_scheduler(symbols, 0xffffffff81000100));
	assert_true(symbols_in_scheduler(symbols, 0xffffffff810001ff));
	assert_false(symbols_in_scheduler(symbols, 0xffffffff81000200));
	open_text(kernel);
	assert_false(symbols_in_scheduler(symbols, 0));
	assert_false(symbols_in_scheduler(symbols, 0xffffffff81000040));
}

#define MODULE_ONE "ffffffffc0001000 t old\t[one]\nffffffffc0001080 t last\t[one]\n"
#define MODULE_TWO "ffffffffc0001000 t new\t[two]\n"
#define KERNEL	   "ffffffff81000000 T first\nffffffff81000040 T next\n"

/* A symbol of a module is another one as soon as the modules are others, seen once a second. */
TEST(modules_that_come_and_go)
{
	static const struct {
		const char *kallsyms, *modules;
		uint64_t pause; /* ns, before the address is looked up */
		const char *expected;
	} cases[] = {
		{ KERNEL MODULE_TWO, "one 8192 2 - Live 0xffffffffc0001000\n", NS_PER_SECOND,
		  "old [one]" }, /* in use, but not another one */
		{ KERNEL MODULE_TWO, "two 4096 0 - Live 0xffffffffc0001000\n", NS_PER_SECOND - 1,
		  "old [one]" },
		{ KERNEL MODULE_TWO, "two 4096 0 - Live 0xffffffffc0001000\n", 1, "new [two]" },
		{ KERNEL, "", NS_PER_SECOND, "0xffffffffc0001004" },
		{ KERNEL MODULE_ONE, "one 8192 1 - Loading 0xffffffffc0001000\n", NS_PER_SECOND,
		  "old [one]" },
		{ KERNEL MODULE_ONE "ffffffffc0001002 t init\t[one]\n",
		  "one 8192 1 - Live 0xffffffffc0001000\n", NS_PER_SECOND, "init [one]" },
	};

	open_running(KERNEL MODULE_ONE, "one 8192 1 - Live 0xffffffffc0001000\n");
	assert_symbol(0xffffffffc0001004, 's', "old [one]");
	for (size_t i = 0; i < COUNT(cases); i++) {
		put_text("kallsyms", cases[i].kallsyms);
		put_text("modules", cases[i].modules);
		now += cases[i].pause;
		assert_symbol(0xffffffffc0001004, 's', cases[i].expected);
		assert_symbol(0xffffffff81000004, 'S', "first+0x4/0x40");
	}
}

/* What BPF loads is no module: an unknown address is looked for too, but less and less often. */
TEST(address_that_becomes_known)
{
	open_running(KERNEL, "");
	put_text("kallsyms", KERNEL "ffffffffc0001000 t bpf_prog_1\t[bpf]\n");
	assert_symbol(0xffffffffc0001000, 's', "bpf_prog_1 [bpf]");
	put_text("kallsyms", KERNEL);
	for (int i = 0; i < 2; i++) {
		now += NS_PER_SECOND;
		assert_null(symbols_find(symbols, 0x10));
	}
	/* The next pause is 3 s. */
	put_text("kallsyms", KERNEL "ffffffffc0001000 t bpf_prog_2\t[bpf]\n");
	for (int i = 0; i < 2; i++) {
		now += NS_PER_SECOND;
		assert_symbol(0xffffffffc0001000, 's', "0xffffffffc0001000");
	}
	now += NS_PER_SECOND;
	assert_symbol(0xffffffffc0001000, 's', "bpf_prog_2 [bpf]");
	/* Never more than a minute, whatever stays unknown. */
	for (int i = 0; i < 300; i++) {
		now += NS_PER_SECOND;
		assert_null(symbols_find(symbols, 0x10));
	}
	put_text("kallsyms", KERNEL "ffffffffc0002000 t bpf_prog_3\t[bpf]\n");
	now += 61 * NS_PER_SECOND;
	assert_symbol(0xffffffffc0002000, 's', "bpf_prog_3 [bpf]");
	/* A module is seen at once. */
	put_text("kallsyms", KERNEL MODULE_TWO);
	put_text("modules", "two 4096 0 - Live 0xffffffffc0001000\n");
	now += NS_PER_SECOND;
	assert_symbol(0xffffffffc0001000, 's', "new [two]");
}

static size_t own_pages(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

/* A year of modules that come and go takes the memory of the largest. */
TEST(memory_is_used_again)
{
	enum { SYMBOLS = 2000 };
	char *text = malloc(SYMBOLS * 64), modules[64];
	size_t before = 0;

	open_running(KERNEL, "");
	for (int round = 0; round < 300; round++) {
		char *at = stpcpy(text, KERNEL);

		for (int i = 0; i < SYMBOLS; i++)
			at += sprintf(at, "ffffffffc%07x t function_%d_%d\t[m%d]\n", i * 16, round,
				      i, round);
		put_text("kallsyms", text);
		snprintf(modules, sizeof(modules), "m%d 1 0 - Live 0xffffffffc0000000\n", round);
		put_text("modules", modules);
		now += NS_PER_SECOND;
		snprintf(modules, sizeof(modules), "function_%d_1999 [m%d]", round, round);
		assert_symbol(0xffffffffc0000000 + 1999 * 16, 's', modules);
		if (round == 10)
			before = own_pages();
	}
	/* Kept, the names and entries of all would be 30 MiB. */
	assert_true(own_pages() < before + (8 << 20) / 4096);
	free(text);
}

/* Lines of a module have the same names and ends in any order. */
TEST(order_of_lines)
{
	enum { LINES = 500 };
	char *lines[LINES], *text = malloc(LINES * 64), expected[LINES][64];
	unsigned int seed = 7;

	for (int round = 0; round < 20; round++) {
		char *at = text;

		for (int i = 0; i < LINES && !round; i++)
			assert_true(asprintf(&lines[i], "ffffffffc%07x %c f%d\t[m]\n", i * 48,
					     "tTwd"[rand_r(&seed) % 4], i) > 0);
		for (int i = 0; i < LINES; i++)
			at = stpcpy(at, lines[i]);
		open_text(text);
		for (int i = 0; i < LINES; i++) {
			uint64_t address = 0xffffffffc0000000 + i * 48 + 7;

			if (!round)
				symbols_text(symbols, address, 'S', expected[i], 64);
			else
				assert_symbol(address, 'S', expected[i]);
		}
		for (int i = LINES - 1; i > 0; i--) {
			int other = rand_r(&seed) % (i + 1);
			char *line = lines[i];

			lines[i] = lines[other];
			lines[other] = line;
		}
	}
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
	free(text);
}

TEST(address_of_a_function)
{
	put_text("kallsyms", "0000000000000000 T first\n"
			     "ffffffff81000000 T one_more\n"
			     "ffffffff81000010 T one\n"
			     "ffffffff81000020 T last\n");
	assert_true(kallsyms_address(open_kallsyms(), "one") == 0xffffffff81000010);
	assert_true(kallsyms_address(open_kallsyms(), "last") == 0xffffffff81000020);
	assert_true(kallsyms_address(open_kallsyms(), "first") == 0);
	assert_true(kallsyms_address(open_kallsyms(), "none") == 0);
	assert_true(kallsyms_address(-ENOENT, "one") == 0);
}

/* Damaged lines are skipped, and a last line without a newline is parsed. */
TEST(damaged_lines)
{
	char *text = malloc(100000), *at = text;

	at += sprintf(at, "\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
			  "fffffffff81000000 T too_long\nxyz T no_number\n"
			  "ffffffff81000000 T good\n");
	memset(at, 'x', 70000);
	at += 70000;
	at += sprintf(at, "\nffffffff81000100 T after\nffffffff81000180 T last\n"
			  "ffffffff81000200 T unfinished");
	open_text(text);
	free(text);
	assert_symbol(0xffffffff81000000, 'S', "good+0x0/0x100");
	assert_symbol(0xffffffff81000100, 'S', "after+0x0/0x80");
}

TEST(long_names_are_cut)
{
	char text[700], name[SYMBOL_NAME_MAX];

	strcpy(text, "ffffffff81000000 T ");
	memset(text + 19, 'n', 511);
	strcpy(text + 19 + 511, "\nffffffff81000010 T next\n");
	open_text(text);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_symbol(0xffffffff81000000, 's', name);
	assert_int_equal(symbols_text(symbols, 0xffffffff81000000, 'S', text, 10), 9);
	assert_string_equal(text, "nnnnnnnnn");
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
