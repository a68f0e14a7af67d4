// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "allocfilt/names.h"
#include "names/symbols.h"
#include "test_directory.h"
#include "unit_test.h"

static struct symbols *symbols;

static bool want_none(void *context, const char *name)
{
	return false;
}

static int open_kallsyms(void)
{
	return file_open(test_directory, "kallsyms", FILE_TEXT_MAX);
}

static bool live; /* how open_text() opens */

static void open_text(const char *text, bool (*wanted)(void *, const char *), void *context)
{
	symbols_free(symbols);
	put_text("kallsyms", text);
	symbols = symbols_new(open_kallsyms(), live);
	assert_non_null(symbols);
	symbols_read(symbols, wanted ? wanted : want_none, context);
}

static int tear_down(void **state)
{
	symbols_free(symbols);
	symbols = NULL;
	live = false;
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

static bool want(void *context, const char *name)
{
	return strstr(context, name) != NULL;
}

static void texts_of_the_kernel(void **state)
{
	open_text(kernel, NULL, NULL);
	assert_int_equal(symbols_readable(symbols), 0);
	assert_symbol(0xffffffff81000040, 's', "first");
	assert_symbol(0xffffffff81000040, 'S', "first+0x0/0x60");
	assert_symbol(0xffffffff8100009f, 'S', "first+0x5f/0x60");
	assert_symbol(0xffffffff8100009f, 's', "first");
	assert_symbol(0xffffffff810000a0, 'S', "second+0x0/0x160");
	assert_symbol(0xffffffff81000201, 'S', "third.isra.0+0x1/0x10");
}

/* A hostile file: nothing of the kernel's own block follows what is asked for, but all of a module. */
static void many_lines_of_another_block(void **state)
{
	static const char first[] = "ffffffff81000000 T _stext\n";
	char *text = malloc(sizeof(first) + 200000 * 32), *at = stpcpy(text, first);
	clock_t before;

	for (unsigned int i = 0; i < 200000; i++)
		at += sprintf(at, "ffffffffc%07x t f\t[one]\n", i);
	open_text(text, NULL, NULL);
	before = clock();
	for (uint64_t i = 1; i <= 40000; i++)
		assert_null(symbols_find(symbols, 0xffffffff81000000 + i));
	/* CPU time, of which it takes a hundredth. */
	assert_true(clock() - before < 2 * CLOCKS_PER_SEC);
	free(text);
}

/* The section's start may be a function's address, and its end that of nothing. */
static void scheduler_section(void **state)
{
	open_text("ffffffff81000040 T first\n"
		  "ffffffff81000100 T io_schedule_timeout\n"
		  "ffffffff81000100 T __sched_text_start\n"
		  "ffffffff81000140 T schedule\n"
		  "ffffffff81000200 T __sched_text_end\n"
		  "ffffffff81000210 T last\n",
		  NULL, NULL);
	assert_false(symbols_in_scheduler(symbols, 0xffffffff810000ff));
	assert_true(symbols_in_scheduler(symbols, 0xffffffff81000100));
	assert_true(symbols_in_scheduler(symbols, 0xffffffff810001ff));
	assert_false(symbols_in_scheduler(symbols, 0xffffffff81000200));
	open_text(kernel, NULL, NULL);
	assert_false(symbols_in_scheduler(symbols, 0));
	assert_false(symbols_in_scheduler(symbols, 0xffffffff81000040));
}

/* The first of several names is the kernel's, before and after it is in the table. */
static void first_of_several_names(void **state)
{
	static char both[] = "second_alias _text";
	open_text(kernel, want, both);
	assert_symbol(0xffffffff810000a0, 's', "second");
	assert_symbol(0xffffffff81000000, 'S', "_stext+0x0/0x40");
	open_text(kernel, NULL, NULL);
	assert_symbol(0xffffffff81000000, 'S', "_stext+0x0/0x40");
	assert_symbol(0xffffffff81000001, 'S', "_stext+0x1/0x40");
}

static void texts_of_modules(void **state)
{
	open_text(kernel, NULL, NULL);
	assert_symbol(0xffffffffc0001000, 's', "early [one]");
	/* the next of the same module, though [two] has one before it, and lines are in no order */
	assert_symbol(0xffffffffc0001010, 'S', "early+0x10/0x80 [one]");
	assert_symbol(0xffffffffc0001090, 'S', "middle+0x10/0x80 [one]");
	/* the last function of a module ends with its page of code, not with the data after it */
	assert_symbol(0xffffffffc0001100, 'S', "late+0x0/0xf00 [one]");
	assert_symbol(0xffffffffc0008000, 'S', "alone+0x0/0x1000 [two]");
}

static void unknown_addresses(void **state)
{
	open_text(kernel, NULL, NULL);
	for (int round = 0; round < 2; round++) {
		/* absolute ones are no code; nothing below the first or after the last */
		assert_symbol(0x10, 'S', "0x10");
		assert_symbol(0x1000, 's', "0x1000");
		assert_symbol(0xffffffff80ffffff, 'S', "0xffffffff80ffffff");
		assert_symbol(0xffffffff81000211, 'S', "0xffffffff81000211");
		assert_null(symbols_find(symbols, 0));
		assert_null(symbols_find(symbols, UINT64_MAX));
	}
}

/* What was wanted is in the table without another look into the file. */
static void wanted_symbols_need_no_file(void **state)
{
	static char names[] = "first third.isra.0";
	const struct symbol *symbol;

	open_text(kernel, want, names);
	put_text("kallsyms", "");
	symbol = symbols_find(symbols, 0xffffffff81000040);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "first");
	assert_int_equal(symbol->address, 0xffffffff81000040);
	assert_int_equal(symbol->size, 0x60);
	assert_string_equal(symbol->module, "");
	assert_symbol(0xffffffff81000200, 'S', "third.isra.0+0x0/0x10");
	assert_null(symbols_find(symbols, 0xffffffff810000a0));
}

/* Two of one function, one that no symbol has; then the file is emptied. */
static void several_in_one_pass(void **state)
{
	static const uint64_t frames[] = {
		0xffffffff81000044,
		0xffffffff810000a8,
		0xffffffff81000048,
		0x10,
	};

	open_text(kernel, NULL, NULL);
	symbols_look_up(symbols, frames, 4);
	put_text("kallsyms", "");
	assert_symbol(frames[0], 'S', "first+0x4/0x60");
	assert_symbol(frames[1], 'S', "second+0x8/0x160");
	assert_symbol(frames[2], 'S', "first+0x8/0x60");
	assert_symbol(frames[3], 'S', "0x10");
	/* one that was not looked up in time */
	assert_symbol(0xffffffff81000204, 'S', "0xffffffff81000204");
}

/* The next look into the file is a second later, for all that was asked for meanwhile. */
static void one_pass_a_second(void **state)
{
	const uint64_t start = 5 * NS_PER_SECOND;

	live = true;
	open_text(kernel, NULL, NULL);
	symbols_set_time(symbols, start);
	assert_symbol(0xffffffff81000044, 'S', "first+0x4/0x60");
	assert_symbol(0xffffffff810000a8, 's', "0xffffffff810000a8");
	assert_symbol(0xffffffffc0001010, 's', "0xffffffffc0001010");
	symbols_set_time(symbols, start + NS_PER_SECOND - 1);
	assert_symbol(0xffffffff810000a8, 's', "0xffffffff810000a8");
	symbols_set_time(symbols, start + NS_PER_SECOND);
	assert_symbol(0xffffffff81000200, 'S', "third.isra.0+0x0/0x10");
	put_text("kallsyms", "");
	assert_symbol(0xffffffff810000a8, 'S', "second+0x8/0x160");
	assert_symbol(0xffffffffc0001010, 'S', "early+0x10/0x80 [one]");
}

/* Between two symbols nothing is looked for again, until a module may have been loaded there. */
static void gaps_are_remembered(void **state)
{
	static const char module[] = "ffffffff81000040 T first\n"
				     "ffffffffc0005000 t loaded\t[new]\n"
				     "ffffffffc0006000 t loaded_next\t[new]\n"
				     "ffffffffc0030000 t other\t[two]\n";
	uint64_t now = NS_PER_SECOND;

	live = true;
	open_text("ffffffff81000040 T first\n"
		  "ffffffff81000080 T second\n"
		  "ffffffff81000100 D data\n"
		  "ffffffffc0030000 t other\t[two]\n",
		  NULL, NULL);
	symbols_set_time(symbols, now);
	assert_symbol(0xffffffffc0000001, 's', "0xffffffffc0000001");
	put_text("kallsyms", module);
	for (int i = 0; i < 4077; i++) {
		assert_null(symbols_find(symbols, 0xffffffffc0000010 + i * 32));
		if (i % 100 == 0)
			symbols_set_time(symbols, now += NS_PER_SECOND);
	}
	/* Its ends are symbols. */
	assert_symbol(0xffffffffc0030000, 's', "other [two]");
	symbols_set_time(symbols, now += 30 * NS_PER_SECOND);
	assert_symbol(0xffffffffc0005010, 'S', "loaded+0x10/0x1000 [new]");
}

/* Names and sizes are those of a capture, whatever is asked for together. */
static void passes_agree_with_the_index(void **state)
{
	enum { LINES = 400, ASKED = 100 };
	char *text = malloc(LINES * 64), *at = text, one[ASKED][128], other[128];
	uint64_t addresses[ASKED];
	unsigned int seed = 7;

	for (int i = 0; i < LINES; i++) {
		/* Blocks overlap and are in no order; several symbols have one address. */
		uint64_t address = 0xffffffffc0000000 + rand_r(&seed) % 600 * 48;
		int block = i / 50;

		at += sprintf(at, "%llx %c f%d%s%.*d%s\n",
			      (unsigned long long)(block ? address :
							   0xffffffffc0000000 + i / 2 * 96),
			      "tTdA"[rand_r(&seed) % 4], i, block ? "\t[m" : "", block > 0,
			      block % 3, block ? "]" : "");
	}
	for (int i = 0; i < ASKED; i++)
		addresses[i] = 0xffffffffc0000000 + rand_r(&seed) % 30000;
	for (int i = 0; i < ASKED; i++) {
		open_text(text, NULL, NULL);
		symbols_text(symbols, addresses[i], 'S', one[i], sizeof(one[i]));
	}
	live = true;
	for (int i = 0; i < ASKED; i++) {
		open_text(text, NULL, NULL);
		symbols_text(symbols, addresses[i], 'S', other, sizeof(other));
		assert_string_equal(one[i], other);
	}
	free(text);
}

/* An address that no table has costs a look at one line: what the others become is not seen. */
static void capture_is_read_once(void **state)
{
	open_text("ffffffff81000000 T first\n"
		  "ffffffff81000100 T other\n"
		  "ffffffff81000200 T last\n",
		  NULL, NULL);
	assert_symbol(0xffffffff81000004, 's', "first");
	put_text("kallsyms", "ffffffff81000000 T first\n"
			     "ffffffff81000180 T again\n"
			     "ffffffff81000200 T last\n");
	assert_symbol(0xffffffff81000104, 's', "0xffffffff81000104");
	put_text("kallsyms", "ffffffff81000000 T first\n"
			     "ffffffff81000100 T again\n");
	assert_symbol(0xffffffff81000104, 'S', "again+0x4/0x100");
	assert_symbol(0xffffffff81000204, 's', "0xffffffff81000204");
}

static void addresses_of_32_bit(void **state)
{
	open_text("c1000000 T _stext\nc1000010 t small\n"
		  "c1000044 t next\n",
		  NULL, NULL);
	assert_symbol(0xc1000014, 'S', "small+0x4/0x34");
	assert_symbol(0xc1000044, 's', "next");
	assert_symbol(0xb0000000, 's', "0xb0000000");
}

/* Their names end with numbers of @digits. */
static void open_many(size_t lines, int digits, bool (*wanted)(void *, const char *))
{
	char *text = malloc(lines * 128), *at = text;
	static char any[] = "f";

	for (size_t i = 0; i < lines; i++)
		at += sprintf(at, "%016llx t f%s%0*zu\n", 0xffffffff81000000ull + i * 32,
			      wanted ? "\t" : "", digits, i);
	open_text(text, wanted, any);
	free(text);
}

/* Where the table is full, those that are looked up replace others; long names fill it sooner. */
static void table_that_is_full(void **state)
{
	static const int digits[] = { 1, 31, 90 };
	const size_t lines = SYMBOLS_MAX + 100;
	char expected[128];

	assert_true(sizeof("f") + 90 < SYMBOL_NAME_MAX);
	assert_true(SYMBOLS_MAX * 92 > 2 * SYMBOLS_TEXT_MAX);
	for (size_t k = 0; k < COUNT(digits); k++) {
		open_many(lines, digits[k], NULL);
		for (int round = 0; round < 2; round++) {
			for (size_t i = 0; i < lines - 1; i += round ? 97 : 1) {
				snprintf(expected, sizeof(expected), "f%0*zu+0x4/0x20", digits[k],
					 i);
				assert_symbol(0xffffffff81000004 + i * 32, 'S', expected);
			}
		}
	}
}

/* Its entry is there, but the room of its name was given to another. */
static void symbol_that_was_replaced(void **state)
{
	char expected[128];

	open_many(SYMBOLS_MAX, 90, NULL);
	snprintf(expected, sizeof(expected), "f%090d", 0);
	assert_symbol(0xffffffff81000000, 's', expected);
	for (uint64_t i = 1; i < SYMBOLS_MAX - 1; i++)
		if (i % 32)
			symbols_find(symbols, 0xffffffff81000000 + i * 32);
	assert_symbol(0xffffffff81000000, 's', expected);
}

static void more_wanted_than_the_table_holds(void **state)
{
	open_many(SYMBOLS_MAX + 100, 1, want);
	assert_symbol(0xffffffff81000000, 'S', "f+0x0/0x20");
	assert_symbol(0xffffffff81000000 + (SYMBOLS_MAX + 5) * 32, 'S', "f+0x0/0x20");
	assert_symbol(0xffffffff81000000, 'S', "f+0x0/0x20");
}

static void address_of_a_function(void **state)
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

static void file_that_is_not_there(void **state)
{
	symbols = symbols_new(-ENOENT, false);
	assert_non_null(symbols);
	assert_int_equal(symbols_readable(symbols), -ENOENT);
	assert_symbol(0xffffffff81000000, 's', "0xffffffff81000000");
}

/* Without CAP_SYSLOG all addresses are zeros. */
static void addresses_that_are_zeros(void **state)
{
	static char name[] = "first";
	open_text("0000000000000000 T _stext\n"
		  "0000000000000000 T first\n"
		  "0000000000000000 t mod\t[one]\n",
		  want, name);
	assert_int_equal(symbols_readable(symbols), -EPERM);
	assert_symbol(0, 's', "0x0");
	open_text("", NULL, NULL);
	assert_int_equal(symbols_readable(symbols), -ENODATA);
	open_text("no symbol\n", NULL, NULL);
	assert_int_equal(symbols_readable(symbols), -ENODATA);
}

/* Damaged lines are skipped, and a last line without a newline is parsed. */
static void damaged_lines(void **state)
{
	char *text = malloc(100000), *at = text;

	at += sprintf(at, "\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
			  "fffffffff81000000 T too_long\nxyz T no_number\n"
			  "ffffffff81000000 T good\n");
	memset(at, 'x', 70000);
	at += 70000;
	at += sprintf(at, "\nffffffff81000100 T after\nffffffff81000180 T last\n"
			  "ffffffff81000200 T unfinished");
	open_text(text, NULL, NULL);
	free(text);
	assert_symbol(0xffffffff81000000, 'S', "good+0x0/0x100");
	assert_symbol(0xffffffff81000100, 'S', "after+0x0/0x80");
}

static void long_names_are_cut(void **state)
{
	char text[700], name[SYMBOL_NAME_MAX];

	strcpy(text, "ffffffff81000000 T ");
	memset(text + 19, 'n', 511);
	strcpy(text + 19 + 511, "\nffffffff81000010 T next\n");
	open_text(text, NULL, NULL);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_symbol(0xffffffff81000000, 's', name);
	assert_int_equal(symbols_text(symbols, 0xffffffff81000000, 'S', text, 10), 9);
	assert_string_equal(text, "nnnnnnnnn");
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(texts_of_the_kernel),
		TEST(scheduler_section),
		TEST(first_of_several_names),
		TEST(texts_of_modules),
		TEST(unknown_addresses),
		TEST(wanted_symbols_need_no_file),
		TEST(several_in_one_pass),
		TEST(addresses_of_32_bit),
		TEST(table_that_is_full),
		TEST(symbol_that_was_replaced),
		TEST(more_wanted_than_the_table_holds),
		TEST(address_of_a_function),
		TEST(file_that_is_not_there),
		TEST(addresses_that_are_zeros),
		TEST(one_pass_a_second),
		TEST(gaps_are_remembered),
		TEST(passes_agree_with_the_index),
		TEST(capture_is_read_once),
		TEST(many_lines_of_another_block),
		TEST(damaged_lines),
		TEST(long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
