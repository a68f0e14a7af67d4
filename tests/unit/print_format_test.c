// SPDX-License-Identifier: GPL-2.0-or-later
#include <event-parse.h>

#include "made_event.h"
#include "made_page.h"
#include "record/print_format.h"
#include "unit_test.h"

/* An event with a field of each kind; the print format comes from the test. */
static const char fields_64[] =
	"s8 small 1s, u8 usmall 1, u16 half 2, int number 4s, u32 unumber 4, char letters[4] 4s, "
	"s64 big 8s, u64 ubig 8, __data_loc char[] text 4s, __rel_loc char[] near 4s, "
	"unsigned long flags 8, void * address 8, int array[2] 8s";
static const char fields_32[] =
	"- 4, long number 4s, - 16, u64 ubig 8, - 8, unsigned long flags 4, "
	"- 4, void * address 4";

static struct made_event event_of(const struct page_layout *layout, const char *fmt)
{
	return (struct made_event){
		.name = "made",
		.type = 300,
		.fields = layout->long_size == 8 ? fields_64 : fields_32,
		.print = fmt,
	};
}

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	assert_null(context);
	return snprintf(text, size, "%s:%llx", style == 'S' ? "long" : "short",
			(unsigned long long)address);
}

/* As decode does it; returns what print_format_new() did. */
static int compile(struct print_format **format, const struct page_layout *layout, const char *fmt,
		   bool with_symbols)
{
	const struct made_event made = event_of(layout, fmt);
	const struct print_setup setup = { layout->long_size, layout->big_endian,
					   with_symbols ? symbol : NULL, NULL };
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event = NULL;
	char *mended;
	int ret;

	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, layout->long_size);
	mended = print_format_mend(format_of(&made));
	assert_non_null(mended);
	tep_parse_format(tep, &event, mended, strlen(mended), "system");
	assert_non_null(event);
	ret = print_format_new(format, event, &setup);
	free(mended);
	tep_free(tep);
	return ret;
}

static void make_record(struct made_page *made, const struct page_layout *layout)
{
	const struct made_event event = event_of(layout, "");

	make_payload(made, layout, &event,
		     VALUES({ "small", (uint64_t)-2 }, { "usmall", 254 }, { "half", 0xabcd },
			    { "number", (uint64_t)-42 }, { "unumber", 0xfffffff6 },
			    { "big", (uint64_t)-5000000000 }, { "ubig", 0xfedcba9876543210 },
			    { "text", 6 << 16 | 72 }, /* 6 bytes at 72 */
			    { "near", 5 << 16 | 30 }, /* 5 bytes at 44 + 4 + 30 */
			    { "flags", 0x8cc0 }, { "address", 0xffffffff81000010 }));
	memcpy(made->bytes + 20, "abcd", 4); /* letters */
	made_bytes(made, "hello\0near\0", 12);
}

/* The field `text` of a record. */
static void place_text(struct made_page *made, uint64_t size, uint64_t offset)
{
	made_number(&made->layout, made->bytes + 40, size << 16 | offset, 4);
}

static void assert_text(const struct page_layout *layout, const char *fmt, const char *expected)
{
	struct print_format *format = NULL;
	struct made_page made;
	char text[512];
	size_t length;
	int ret;

	ret = compile(&format, layout, fmt, true);
	if (ret)
		fail_msg("%s: %d", fmt, ret);
	make_record(&made, layout);
	length = print_format_text(format, made.bytes, made.at, text, sizeof(text));
	if (strcmp(text, expected))
		fail_msg("%s: \"%s\" != \"%s\"", fmt, text, expected);
	assert_int_equal(length, strlen(expected));
	print_format_free(format);
}

struct expectation {
	const char *fmt;
	const char *expected;
};

static void texts_of_64_bit(void **state)
{
	static const struct expectation texts[] = {
		{ "\"\"", "" },
		{ "\"nothing to see\"", "nothing to see" },
		{ "\"100%%\"", "100%" },
		{ "\"a\\tb\\\\c\\\"d\"", "a\tb\\c\"d" },
		{ "\"%d%%\", REC->number", "-42%" },
		/* Expected: lib/vsprintf.c of the kernel, which writes 0x before a zero too. */
		{ "\"%d\", REC->number", "-42" },
		{ "\"%i\", REC->number", "-42" },
		{ "\"%u\", REC->number", "4294967254" },
		{ "\"%x %X\", REC->number, REC->number", "ffffffd6 FFFFFFD6" },
		{ "\"%o\", REC->usmall", "376" },
		{ "\"%#x %#X %#o\", REC->half, REC->half, REC->half", "0xabcd 0XABCD 0125715" },
		{ "\"%ld %lu\", REC->big, REC->ubig", "-5000000000 18364758544493064720" },
		{ "\"%lld %llu\", REC->big, REC->ubig", "-5000000000 18364758544493064720" },
		{ "\"%llx\", REC->ubig", "fedcba9876543210" },
		{ "\"%x\", REC->ubig", "76543210" },
		{ "\"%d\", REC->ubig", "1985229328" },
		{ "\"%hd %hu\", REC->half, REC->half", "-21555 43981" },
		{ "\"%hhd %hhu\", REC->half, REC->half", "-51 205" },
		{ "\"%d %d\", REC->small, REC->usmall", "-2 254" },
		{ "\"%lu\", REC->unumber", "4294967286" },
		{ "\"%ld\", REC->number", "-42" },
		{ "\"%zu %zd\", REC->flags, REC->big", "36032 -5000000000" },
		{ "\"[%6d] [%-6d] [%06d]\", REC->number, REC->number, REC->number",
		  "[   -42] [-42   ] [-00042]" },
		{ "\"[%+d] [% d] [%+d]\", REC->usmall, REC->usmall, REC->number",
		  "[+254] [ 254] [-42]" },
		{ "\"[%.5d] [%8.5d] [%-8.5x]\", REC->number, REC->number, REC->half",
		  "[-00042] [  -00042] [0abcd   ]" },
		{ "\"[%#10x] [%#010x]\", REC->half, REC->half", "[    0xabcd] [0x0000abcd]" },
		{ "\"%c%3c\", 65, 66", "A  B" },
		{ "\"%lld\", 1 - 1", "0" },
		{ "\"%#x\", 1 - 1", "0x0" },
		{ "\"%#o\", 1 - 1", "0" },
		/* As C calculates: promotion, wrap at the size, signs. */
		{ "\"%d\", 2 + 3 * 4", "14" },
		{ "\"%d\", (2 + 3) * 4", "20" },
		{ "\"%d\", REC->number + 2", "-40" },
		{ "\"%d\", REC->number - 2", "-44" },
		{ "\"%d\", REC->number / 4", "-10" },
		{ "\"%d\", REC->number % 4", "-2" },
		{ "\"%d\", REC->number / 0", "0" },
		{ "\"%d\", REC->number % 0", "0" },
		{ "\"%d\", REC->number >> 1", "-21" },
		{ "\"%u\", REC->unumber >> 1", "2147483643" },
		{ "\"%lu\", 1UL << 40", "1099511627776" },
		{ "\"%lu\", 1UL << (REC->usmall - 190)", "0" },
		{ "\"%d\", REC->half & 0xff", "205" },
		{ "\"%x\", REC->half | 0xf0000", "fabcd" },
		{ "\"%x\", REC->half ^ 0xffff", "5432" },
		{ "\"%x\", ~REC->half", "ffff5432" },
		{ "\"%llx\", (u64)(~REC->half)", "ffffffffffff5432" },
		{ "\"%llx\", ~(u64)REC->half", "ffffffffffff5432" },
		{ "\"%llx\", (u64)(~(u32)REC->half)", "ffff5432" },
		{ "\"%d %d\", !REC->half, !0", "0 1" },
		{ "\"%d\", -REC->usmall", "-254" },
		{ "\"%llu\", REC->unumber + 20", "10" },
		{ "\"%llu\", (u64)REC->unumber + 20", "4294967306" },
		{ "\"%d\", REC->number < 0", "1" },
		{ "\"%d\", REC->number > REC->unumber", "0" },
		{ "\"%d %d\", REC->number > 1u, 1u < REC->number", "1 1" },
		{ "\"%d %d\", REC->big > REC->unumber, REC->unumber < REC->big", "0 0" },
		{ "\"%d\", REC->small == REC->usmall", "0" },
		{ "\"%d\", REC->small != REC->usmall", "1" },
		{ "\"%d %d\", REC->half >= 43981, REC->half <= 43980", "1 0" },
		{ "\"%d %d\", REC->half && 0, REC->half || 0", "0 1" },
		{ "\"%d\", REC->number > 0 ? 1 : 2", "2" },
		{ "\"%u\", (unsigned char)REC->half", "205" },
		{ "\"%d\", (s8)REC->half", "-51" },
		{ "\"%d\", (int)REC->ubig", "1985229328" },
		{ "\"%lx\", (unsigned long)REC->address", "ffffffff81000010" },
		{ "\"%llu\", (((u64)REC->half << 32) | REC->usmall)", "188896956645630" },
		{ "\"%s\", REC->number ? \"yes\" : \"no\"", "yes" },
		{ "\"%s|\", REC->number > 0 ? \"yes\" : \"\"", "|" },
		{ "\"[%5s] [%-5s] [%.2s] [%5.1s]\", \"abc\", \"abc\", \"abc\", \"abc\"",
		  "[  abc] [abc  ] [ab] [    a]" },
		{ "\"%s\", __get_str(text)", "hello" },
		{ "\"[%8s]\", __get_str(text)", "[   hello]" },
		{ "\"%s\", __get_rel_str(near)", "near" },
		{ "\"%s|\", REC->letters", "abcd|" },
		/* trace_print_flags_seq() and trace_print_symbols_seq() of the kernel. */
		/* 0x8cc0: the first name that fits takes its bits away */
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0xcc0, \"KERNEL\"}, {0x40, \"IO\"}, "
		  "{0x8000, \"NOFAIL\"})",
		  "KERNEL|NOFAIL" },
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0x40, \"IO\"}, {0xcc0, \"KERNEL\"})",
		  "IO|0x8c80" },
		{ "\"%s\", __print_flags(REC->flags, \"\", {0xcc0, \"A\"}, {0x8000, \"B\"})",
		  "AB" },
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0x1, \"A\"})", "0x8cc0" },
		{ "\"%s|\", __print_flags(REC->flags & 0x1, \"|\", {0x1, \"A\"})", "|" },
		{ "\"%s\", (REC->flags) ? __print_flags(REC->flags, \"|\", "
		  "{( unsigned long)((( gfp_t)0x400u) | (( gfp_t)0x800u)), \"RECLAIM\"}, "
		  "{( unsigned long)(( gfp_t)(0xccc0u) & ~(( gfp_t)0x4c00u)), \"REST\"}) "
		  ": \"none\"",
		  "RECLAIM|REST" },
		{ "\"%s\", (REC->flags & 0) ? __print_flags(REC->flags, \"|\", {1, \"A\"}) : "
		  "\"none\"",
		  "none" },
		{ "\"[%-8s]\", __print_symbolic(REC->usmall, {0, \"Zero\"}, {254, \"Max\"})",
		  "[Max     ]" },
		{ "\"%s\", __print_symbolic(REC->usmall, {0, \"Zero\"}, {1 << 1, \"Two\"})",
		  "0xfe" },
		{ "\"%s\", __print_symbolic(REC->small, {-2, \"minus\"})", "minus" },
		{ "\"%s\", __print_symbolic(REC->small, {2, \"plus\"})", "0xfffffffffffffffe" },
		/* a mask of no bits is in all flags */
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0, \"NONE\"}, {0x8cc0, \"ALL\"})",
		  "NONE|ALL" },
		{ "\"%p\", REC->address", "ffffffff81000010" },
		{ "\"%px %pK\", REC->address, REC->address", "ffffffff81000010 ffffffff81000010" },
		{ "\"%p\", (void *)(unsigned long)REC->half", "000000000000abcd" },
		{ "\"%ps\", REC->address", "short:ffffffff81000010" },
		{ "\"%pS %d\", REC->address, REC->number", "long:ffffffff81000010 -42" },
		{ "\"%ps\", (void *)REC->flags", "short:8cc0" },
		/* Of 7.2 and later, and of constants that the kernel leaves as names. */
		{ "\"pid=%d %s\", REC->ent.pid, "
		  "(REC->common_flags & 0x18) ? \"(in-irq)\" : \"\"",
		  "pid=-5 (in-irq)" },
		{ "\"%s\", (REC->ent.flags & (TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ)) ? "
		  "\"REC->ent.flags TRACE_FLAG_NMI\" : \"\"",
		  "REC->ent.flags TRACE_FLAG_NMI" },
		{ "\"%d %d\", REC->ent.type, REC->ent.preempt_count", "300 16" },
		{ "\"%d\", TRACE_FLAG_NMI + TRACE_FLAG_BH_OFF", "192" },
		{ "\"%s\", __print_flags(REC->flags & 0xf, \"|\", "
		  "{(1 << VMSCAN_THROTTLE_WRITEBACK), \"VMSCAN_THROTTLE_WRITEBACK\"})",
		  "" },
		{ "\"%s\", __print_flags(REC->number & 0xf, \"|\", "
		  "{(1 << VMSCAN_THROTTLE_WRITEBACK), \"VMSCAN_THROTTLE_WRITEBACK\"}, "
		  "{(1 << VMSCAN_THROTTLE_ISOLATED), \"VMSCAN_THROTTLE_ISOLATED\"}, "
		  "{(1 << VMSCAN_THROTTLE_NOPROGRESS), \"VMSCAN_THROTTLE_NOPROGRESS\"}, "
		  "{(1 << VMSCAN_THROTTLE_CONGESTED), \"VMSCAN_THROTTLE_CONGESTED\"})",
		  "VMSCAN_THROTTLE_ISOLATED|VMSCAN_THROTTLE_NOPROGRESS" },
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_text(&made_layouts[0], texts[i].fmt, texts[i].expected);
		assert_text(&made_layouts[1], texts[i].fmt, texts[i].expected);
	}
}

static void texts_of_32_bit(void **state)
{
	static const struct expectation texts[] = {
		{ "\"%ld %lu\", REC->number, REC->number", "-42 4294967254" },
		{ "\"%lx\", REC->ubig", "76543210" },
		{ "\"%llx\", REC->ubig", "fedcba9876543210" },
		{ "\"%p\", REC->address", "81000010" },
		{ "\"%pS\", REC->address", "long:81000010" },
		{ "\"%lx\", ~(unsigned long)0", "ffffffff" },
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0xcc0, \"KERNEL\"})",
		  "KERNEL|0x8000" },
		/* masks are longs: what libtraceevent worked out in 64 bits is cut */
		{ "\"%s\", __print_flags(REC->number, \"|\", {~41, \"ALL\"})", "ALL" },
		{ "\"%s\", __print_symbolic(REC->number, {1, \"one\"})", "0xffffffd6" },
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_text(&made_layouts[2], texts[i].fmt, texts[i].expected);
		assert_text(&made_layouts[3], texts[i].fmt, texts[i].expected);
	}
}

static void without_symbols(void **state)
{
	struct print_format *format;
	struct made_page made;
	char text[64];

	assert_int_equal(compile(&format, &made_layouts[0], "\"%pS\", REC->address", false), 0);
	make_record(&made, &made_layouts[0]);
	print_format_text(format, made.bytes, made.at, text, sizeof(text));
	assert_string_equal(text, "0xffffffff81000010");
	print_format_free(format);
}

static void formats_that_are_not_known(void **state)
{
	static const char *const formats[] = {
		"\"%pI4\", REC->address",
		"\"%pU\", REC->address",
		"\"%*d\", 5, REC->number",
		"\"%e\", REC->number",
		"\"%d\"",
		"\"%\"",
		"\"no conversion\", REC->number",
		"\"%d\", REC->array",
		"\"%d\", SOME_NAME",
		"\"%d\", (struct unknown)REC->number",
		"\"%s\", REC->address",
		"\"%s\", REC->number",
		"\"%s\", __print_hex(REC->letters, 4)",
		"\"%s\", __print_symbolic(REC->number, {SOME_NAME, \"x\"})",
	};
	struct print_format *format;

	for (size_t i = 0; i < COUNT(formats); i++) {
		format = NULL;
		if (compile(&format, &made_layouts[0], formats[i], true) != -ENOTSUP)
			fail_msg("%s", formats[i]);
		assert_null(format);
	}
}

static void assert_mended(const char *text, const char *expected)
{
	char *mended = print_format_mend(text);

	assert_non_null(mended);
	assert_string_equal(mended, expected);
	free(mended);
}

static void mending_leaves_the_rest(void **state)
{
	assert_mended("", "");
	assert_mended("name: REC->ent.pid\n", "name: REC->ent.pid\n");
	assert_mended(" common_pid;\nprint fmt: \"REC->ent.pid\\\" REC->ent.pid\", REC->ent.pid\n",
		      " common_pid;\nprint fmt: \"REC->ent.pid\\\" REC->ent.pid\", "
		      "REC->common_pid\n");
	assert_mended("\nprint fmt: \"\", XREC->ent.pid, TRACE_FLAG_NMI_2\n",
		      "\nprint fmt: \"\", XREC->ent.pid, TRACE_FLAG_NMI_2\n");
	assert_mended("\nprint fmt: \"\", TRACE_FLAG_NEED_RESCHED_LAZY|TRACE_FLAG_NEED_RESCHED",
		      "\nprint fmt: \"\", 0x02|0x04");
}

/* libtraceevent 1.7.1 crashes on some formats with a field that is not there. */
static void fields_that_are_not_there(void **state)
{
	static const char event[] = "\tfield:int a;\n\tfield:char b[16];\n\tfield:void * c;\n";
	static const struct {
		const char *arguments;
		bool kept;
	} cases[] = {
		{ "\"%d %s\", REC->a, REC->b, REC->c", true },
		{ "\"REC->d\", (REC->a)", true },
		{ "\"\\\"REC->d\", REC->c.member", true },
		{ "\"%s\", __print_symbolic(REC->a&a, {1, \"x\"})", true },
		{ "\"%s\", __print_symbolic(REC->d&a, {1, \"x\"})", false },
		{ "\"%d\", REC->aa", false },
		{ "\"%d\", REC->fiel", false },
		{ "\"%d\", REC->field", false },
		{ "\"%d\", REC->", false },
		{ "\"%d\", REC-> a", false },
		{ "\"%d\", REC->a, \"\", REC->d", false },
	};
	char text[256], expected[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(text, sizeof(text), "%s\nprint fmt: %s\n", event, cases[i].arguments);
		snprintf(expected, sizeof(expected), "%s\nprint fmt: %s\n", event,
			 cases[i].kept ? cases[i].arguments : "\"\"");
		assert_mended(text, expected);
	}
}

/* Any room, and any part of a record: no byte outside of either. */
static void cut_records_and_texts(void **state)
{
	static const char fmt[] =
		"\"%d %s %s [%12s] %s %ps %llx %-20s|\", REC->number, __get_str(text), "
		"__get_rel_str(near), REC->letters, __print_flags(REC->flags, \"|\", "
		"{0xcc0, \"KERNEL\"}), REC->address, REC->ubig, \"padded\"";
	static const char expected[] =
		"-42 hello near [        abcd] KERNEL|0x8000 short:ffffffff81000010 "
		"fedcba9876543210 padded              |";
	struct print_format *format;
	struct made_page made;
	unsigned char *record;
	char text[256];

	assert_int_equal(compile(&format, &made_layouts[0], fmt, true), 0);
	make_record(&made, &made_layouts[0]);
	for (size_t size = 1; size < sizeof(expected) + 2; size++) {
		memset(text, '#', sizeof(text));
		print_format_text(format, made.bytes, made.at, text, size);
		assert_int_equal(strncmp(text, expected,
					 size - 1 < strlen(expected) ? size - 1 : strlen(expected)),
				 0);
		assert_non_null(memchr(text, '\0', size));
		assert_int_equal(text[size], '#');
	}
	assert_int_equal(print_format_text(format, made.bytes, made.at, text, 0), 0);
	for (size_t size = 0; size <= made.at; size++) {
		record = malloc(size + !size);
		memcpy(record, made.bytes, size);
		assert_in_range(print_format_text(format, record, size, text, sizeof(text)), 50,
				sizeof(expected) - 1);
		free(record);
	}
	print_format_free(format);
}

/* A string that says it lies behind its record, or is not ended. */
static void strings_out_of_the_record(void **state)
{
	struct print_format *format;
	struct made_page made;
	char text[64];

	assert_int_equal(compile(&format, &made_layouts[0], "\"[%s]\", __get_str(text)", true), 0);
	make_record(&made, &made_layouts[0]);
	place_text(&made, 0xffff, 78);
	print_format_text(format, made.bytes, 82, text, sizeof(text));
	assert_string_equal(text, "[near]");
	place_text(&made, 0xffff, 0xffff);
	print_format_text(format, made.bytes, 82, text, sizeof(text));
	assert_string_equal(text, "[]");
	place_text(&made, 0xffff, 72);
	print_format_text(format, made.bytes, 74, text, sizeof(text));
	assert_string_equal(text, "[he]");
	place_text(&made, 3, 72);
	print_format_text(format, made.bytes, 82, text, sizeof(text));
	assert_string_equal(text, "[hel]");
	print_format_free(format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_64_bit),
		cmocka_unit_test(texts_of_32_bit),
		cmocka_unit_test(without_symbols),
		cmocka_unit_test(formats_that_are_not_known),
		cmocka_unit_test(mending_leaves_the_rest),
		cmocka_unit_test(fields_that_are_not_there),
		cmocka_unit_test(cut_records_and_texts),
		cmocka_unit_test(strings_out_of_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
