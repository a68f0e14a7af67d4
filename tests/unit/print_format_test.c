// SPDX-License-Identifier: GPL-2.0-or-later
#include <glob.h>

#include "allocfilt/base.h"
#include "made_event.h"
#include "made_page.h"
#include "record/event_format.h"
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

/* As decode does it. */
static struct print_format *compile_text(const struct page_layout *layout, const char *text)
{
	const struct print_setup setup = { layout->long_size, layout->big_endian, symbol, NULL };
	struct print_format *format;
	struct event_format event;
	char *copy = strdup(text);

	assert_int_equal(event_format_parse(&event, copy), 0);
	assert_int_equal(print_format_new(&format, &event, &setup), 0);
	free(copy);
	return format;
}

static struct print_format *compile(const struct page_layout *layout, const char *fmt)
{
	const struct made_event event = event_of(layout, fmt);

	return compile_text(layout, format_of(&event));
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
	struct print_format *format = compile(layout, fmt);
	struct made_page made;
	char text[512];
	size_t length;

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
		{ "\"%d %d\", REC->number / -4, REC->number % -4", "10 -2" },
		{ "\"%d %d\", REC->usmall / -4, REC->usmall % -4", "-63 2" },
		{ "\"%u\", REC->unumber / -4", "0" },
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
		{ "\"[%18p]\", REC->address", "[  ffffffff81000010]" },
		{ "\"%px %pK\", REC->address, REC->address", "ffffffff81000010 ffffffff81000010" },
		{ "\"%p\", (void *)(unsigned long)REC->half", "000000000000abcd" },
		{ "\"%ps\", REC->address", "short:ffffffff81000010" },
		{ "\"%pS %d\", REC->address, REC->number", "long:ffffffff81000010 -42" },
		{ "\"%ps\", (void *)REC->flags", "short:8cc0" },
		/* trace_print_hex_seq(), trace_print_array_seq(), bitmap_string() */
		{ "\"%s\", __print_hex(REC->letters, 4)", "61 62 63 64" },
		{ "\"%s\", __print_hex_str(__get_str(text), sizeof(REC->letters))", "68656c6c" },
		{ "\"%s|\", __print_hex(REC->letters, 0)", "|" },
		{ "\"%s\", __print_hex(REC->letters, 4000000000u)", "61 62 63 64" },
		{ "\"%s\", __print_array(&REC->number, 1, 4)", "{0xffffffd6}" },
		{ "\"%s\", __print_array(__get_dynamic_array(text), __get_dynamic_array_len(text), "
		  "sizeof(u8))",
		  "{0x68,0x65,0x6c,0x6c,0x6f,0x0}" },
		{ "\"%d %zu\", __get_dynamic_array_len(text), sizeof(unsigned long)", "6 8" },
		{ "\"%c%c%d\", REC->letters[1], REC->letters[REC->usmall - 252], REC->letters[4]",
		  "bc0" },
		{ "\"%d\", *(s8 *)&REC->small", "-2" },
		{ "\"%c\", ((char *)__get_dynamic_array(text))[4]", "o" },
		{ "\"%s\", (char *)REC->letters", "abcd" },
		{ "\"%d\", (REC)->number", "-42" },
		{ "\"%s %c\", \"a\" \"b\\tc\", 'x'", "ab\tc x" },
		/* a name without a text ends the list, as does the kernel's own */
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0xcc0, \"KERNEL\"}, "
		  "{ 0, ((void *)0) } )",
		  "KERNEL|0x8000" },
		/* a name whose value is not known is no other's */
		{ "\"%s %d\", __print_flags(REC->flags, \"|\", {1 << SOME_BIT, \"SOME\"}, "
		  "{0xcc0, \"KERNEL\"}, {OTHER_BIT, \"OTHER\"}), REC->number",
		  "KERNEL|0x8000 -42" },
		{ "\"%s\", __print_symbolic(REC->usmall, {SOME_NAME, \"x\"})", "0xfe" },
		{ "\"%s %s\", __print_symbolic(1 - 1, {SOME_NAME, \"x\"}), "
		  "__print_symbolic(2, { IOPRIO_CLASS_NONE, \"none\" }, { IOPRIO_CLASS_BE, \"be\" })",
		  "0x0 be" },
		/* kmem:mm_page_alloc */
		{ "\"%lx\", REC->flags != -1UL ? (((struct page *)vmemmap_base) + (REC->flags)) : "
		  "((void *)0)",
		  "8cc0" },
		/* a sum of masks in parentheses, which libtraceevent 1.7.1 takes apart */
		{ "\"%s\", __print_flags(REC->flags & (0x00000040 | 0x00008000 | 0x00000001), "
		  "\"|\", {0x1, \"A\"}, {0x40, \"B\"}, {0x8000, \"C\"})",
		  "B|C" },
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
		/* masks are longs */
		{ "\"%s\", __print_flags(REC->number, \"|\", {~41, \"ALL\"})", "ALL" },
		{ "\"%s\", __print_symbolic(REC->number, {1, \"one\"})", "0xffffffd6" },
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_text(&made_layouts[2], texts[i].fmt, texts[i].expected);
		assert_text(&made_layouts[3], texts[i].fmt, texts[i].expected);
	}
}

/* Instead of a text with something in it that is not known, the fields of the record. */
static const char made_fields[] =
	"small=-2 usmall=254 half=43981 number=-42 unumber=4294967286 letters=abcd "
	"big=-5000000000 ubig=18364758544493064720 text=hello near=near flags=36032 "
	"address=0xffffffff81000010 array={0x55667788,0x11223344}";

static void formats_that_are_not_known(void **state)
{
	static const char *const formats[] = {
		"\"%pI4\", REC->address",
		"\"%pU\", REC->address",
		"\"%pSR\", REC->address",
		"\"%*d\", 5, REC->number",
		"\"%e\", REC->number",
		"\"%d\"",
		"\"%\"",
		"\"no conversion\", REC->number",
		"\"%d\", REC->array",
		"\"%d\", REC->array[0][0]",
		"\"%d\", SOME_NAME",
		"\"%d\", some_function(REC->number)",
		"\"%d\", (struct unknown)REC->number",
		"\"%s\", REC->address",
		"\"%s\", REC->number",
		"\"%d\", REC->letters.member",
		"\"%d\", \"text\"",
		"\"%d\", -\"text\"",
		"\"%d\", 1 + \"text\"",
		"\"%s\", REC->number ? \"text\" : 1",
		"\"%s\", __print_symbolic(REC->number, {some_function(1), \"x\"})",
		"\"%s\", __print_symbolic(SOME_NAME, {1, \"x\"})",
		"\"%s\", __print_symbolic(REC->number, {1, SOME_NAME})",
		"\"%s\", __print_symbolic(REC->number, {REC->half, \"x\"})",
		"\"%s\", __print_symbolic(REC->number, {1, 2})",
		"\"%s\", __print_symbolic(REC->number, {0, ((void *)0)}, {1, \"one\"})",
		"\"%s\", __print_hex(REC->number, 4)",
		"\"%s\", __print_array(REC->array, 2, 3)",
		"\"%s\", __print_array(REC->array, 2, REC->half)",
		"\"%s\", __get_str(number)",
		"\"%s\", __get_str(none)",
		"\"%s\", REC->text",
		"\"%d\", 0x1ffffffffffffffff",
		"\"%d\", 12x",
		"\"%d\", REC->number REC->number",
		"\"%d\", REC->number;",
		"\"%d\", ({ 1; })",
		/* fields that are not there */
		"\"%d\", REC->numbers",
		"\"%d\", REC->numbe",
		"\"%d\", REC->",
		"\"%d\", REC->ent.none",
		"\"%d\", REC",
		/* not ended */
		"\"%d",
		"\"%d\\",
		"\"%d\", REC->number, \"",
		"\"%d\", sizeof( REC->number, ",
		"\"%d\", (REC->number",
		"\"%d\", (int",
		"\"%d\", 'a",
		"\"%d\", REC->number ?",
		"\"%d\", REC->number ? 1 :",
		"\"%d\", REC->array [1][2]",
		"\"%d\", REC->array[",
		"\"%s\", __print_flags(REC->number, \"|\", {1, \"one",
		"no string at all",
	};

	for (size_t i = 0; i < COUNT(formats); i++)
		assert_text(&made_layouts[0], formats[i], made_fields);
}

/* @repeated so many times, between @head and @tail */
static void assert_repeated(const char *head, const char *repeated, size_t count, const char *tail,
			    const char *expected)
{
	const struct made_event event = event_of(&made_layouts[0], "");
	const char *before = format_of(&event);
	char *text =
		malloc(strlen(before) + strlen(head) + strlen(repeated) * count + strlen(tail) + 2);
	char *at = mempcpy(text, before, strlen(before) - 1);
	struct print_format *format;
	struct made_page made;
	char out[512];

	at = stpcpy(at, head);
	while (count--)
		at = stpcpy(at, repeated);
	strcpy(stpcpy(at, tail), "\n");
	format = compile_text(&made_layouts[0], text);
	make_record(&made, &made_layouts[0]);
	print_format_text(format, made.bytes, made.at, out, sizeof(out));
	assert_string_equal(out, expected);
	print_format_free(format);
	free(text);
}

/* As deep as some kernel's may be; and deeper than any stack. */
static void nested_formats(void **state)
{
	static const struct {
		const char *head;
		const char *repeated;
		const char *tail;
		const char *expected;
	} cases[] = {
		{ "\"%d\", ", "-", "REC->usmall", "254" },
		{ "\"%d\", ", "(int)", "REC->usmall", "254" },
		{ "\"%d\", REC->usmall", " + 1", "", "294" },
		{ "\"%d\", ", "REC->usmall ? ", "5", NULL },
		{ "\"%d\", ", "REC->usmall ? 7 : ", "5", "7" },
		{ "\"%d\", ", "(", "REC->usmall", NULL },
		{ "\"%d\", ", "REC->array[", "REC->usmall", NULL },
		{ "\"%d\", ", "sizeof(", "REC->usmall", NULL },
		{ "\"%s\", ", "__print_flags(", "REC->usmall", NULL },
		{ "\"%d\", ", "*&", "REC->usmall", NULL },
	};
	static char closed[50001], tail[50100];

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_repeated(cases[i].head, cases[i].repeated, 40, cases[i].tail,
				cases[i].expected ? cases[i].expected : made_fields);
		assert_repeated(cases[i].head, cases[i].repeated, 10000, cases[i].tail,
				made_fields);
	}
	assert_repeated("\"%d\", ((((((((((((((((((((((((((((((", "", 0,
			"REC->usmall))))))))))))))))))))))))))))))", "254");
	memset(closed, ')', sizeof(closed) - 1);
	strcpy(stpcpy(tail, "REC->usmall"), closed);
	assert_repeated("\"%d\", ", "(", sizeof(closed) - 1, tail, made_fields);
	/* what is constant is not deep */
	assert_repeated("\"%d\", 1", " + 1", 1000, "", "1001");
}

/* No text takes much memory, or much time for a record. */
static void formats_that_cost_too_much(void **state)
{
	static char arguments[4000] = "\"", expected[512];

	assert_repeated("\"%d\", 1", " + 1", 50000, "", made_fields);
	for (int i = 0; i < 127; i++) {
		strcat(arguments, ", REC->usmall");
		strcat(expected, "254");
	}
	assert_repeated("\"", "%d", 127, arguments, expected);
	strcat(arguments, ", REC->usmall");
	assert_repeated("\"", "%d", 128, arguments, made_fields);
	/* nor is anything behind it read */
	assert_repeated("\"%d\", '", "", 0, "", made_fields);
}

/* Parts of every text of three kernels: compiled and run, which is for the sanitizers to judge. */
static void cuts_of_real_formats(void **state)
{
	static const unsigned char record[300] = { 1, 2, 3, [200] = 0xff };
	glob_t formats;
	size_t compiled = 0;

	assert_int_equal(
		glob("fixtures/{5.10,7.3,s390x}/events/*/*/format", GLOB_BRACE, NULL, &formats), 0);
	for (size_t i = 0; i < formats.gl_pathc; i++) {
		size_t length, cut;
		char *text, out[256];

		assert_int_equal(file_read(".", formats.gl_pathv[i], &text, &length), 0);
		cut = (size_t)(strstr(text, "\nprint fmt: ") + 13 - text);
		/* A third of them: most texts are in each of the three directories. */
		for (cut += i % 3; cut < length; cut += 3) {
			char last[2] = { text[cut], text[cut + 1] };
			struct print_format *format;

			strcpy(text + cut, "\n");
			format = compile_text(&made_layouts[i % 4], text);
			print_format_text(format, record, sizeof(record), out, sizeof(out));
			print_format_free(format);
			memcpy(text + cut, last, 2);
			compiled++;
		}
		free(text);
	}
	assert_in_range(compiled, 20000, 400000);
	globfree(&formats);
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
	struct print_format *format = compile(&made_layouts[0], fmt);
	struct made_page made;
	unsigned char *record;
	char text[256];

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
	struct print_format *format = compile(&made_layouts[0], "\"[%s]\", __get_str(text)");
	struct made_page made;
	char text[64];

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

/* Expected: lib/vsprintf.c of the kernel. */
static void addresses(void **state)
{
	static const struct {
		const char *fmt;
		const char *expected;
		size_t size;
		unsigned char bytes[28];
	} cases[] = {
		{ "\"%pI4\"", "127.0.0.1", 4, { 127, 0, 0, 1 } },
		{ "\"[%16pI4]\"", "[       127.0.0.1]", 4, { 127, 0, 0, 1 } },
		{ "\"%pI4\"", "(einval)", 3, { 127, 0, 0 } },
		{ "\"%pI6c\"", "fe80::1", 16, { 0xfe, 0x80, [15] = 1 } },
		{ "\"%pI6c\"", "::ffff:1.2.3.4", 16, { [10] = 255, 255, 1, 2, 3, 4 } },
		{ "\"%pI6c\"", "(einval)", 15, { 0xfe, 0x80 } },
		{ "\"%pISpc\"", "127.0.0.1:12345", 28, { 2, 0, 0x30, 0x39, 127, 0, 0, 1 } },
		{ "\"%pISpc\"",
		  "[fe80::1]:12345",
		  28,
		  { 10, 0, 0x30, 0x39, [8] = 0xfe, 0x80, [23] = 1 } },
		{ "\"%pISpc\"", "(einval)", 23, { 10, 0, 0x30, 0x39 } },
		{ "\"%pISpc\"", "(einval)", 28, { 1, 0, 0x30, 0x39 } },
		{ "\"%pM\"", "00:01:7f:80:fe:ff", 6, { 0, 1, 0x7f, 0x80, 0xfe, 0xff } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct print_format *format;
		struct made_page made;
		char fmt[64], text[64];

		snprintf(fmt, sizeof(fmt), "%s, __get_dynamic_array(text)", cases[i].fmt);
		format = compile(&made_layouts[0], fmt);
		make_record(&made, &made_layouts[0]);
		place_text(&made, cases[i].size, 72);
		made.at = 72;
		made_bytes(&made, cases[i].bytes, cases[i].size);
		print_format_text(format, made.bytes, made.at, text, sizeof(text));
		assert_string_equal(text, cases[i].expected);
		print_format_free(format);
	}
}

/* printf(3) is the judge, where the kernel does the same: not of zeros with a precision. */
static void numbers_as_printf(void **state)
{
	static const char *const flags[] = { "", "-", "+", " ", "0", "#", "#0", "#-", "+0", "+-" };
	static const char *const lengths[] = { "", "3", "12", "25", ".1", ".7", "12.7", "3.12" };
	static const struct {
		const char *conversion, *field;
		long long value;
	} numbers[] = {
		{ "lld", "big", -5000000000 }, { "llu", "ubig", 0xfedcba9876543210 },
		{ "llx", "big", -5000000000 }, { "llX", "ubig", 0xfedcba9876543210 },
		{ "llo", "big", -5000000000 }, { "llo", "usmall", 254 },
		{ "lld", "number", -42 },      { "lld", "usmall", 254 },
	};
	char fmt[64], format[32], expected[64];

	for (size_t i = 0; i < COUNT(flags) * COUNT(lengths) * COUNT(numbers); i++) {
		const char *flag = flags[i % COUNT(flags)];
		const char *length = lengths[i / COUNT(flags) % COUNT(lengths)];
		size_t n = i / COUNT(flags) / COUNT(lengths);

		if (strchr(length, '.') &&
		    (strchr(flag, '0') ||
		     (strchr(flag, '#') && strchr(numbers[n].conversion, 'o'))))
			continue;
		snprintf(format, sizeof(format), "[%%%s%s%s]", flag, length, numbers[n].conversion);
		snprintf(fmt, sizeof(fmt), "\"%s\", REC->%s", format, numbers[n].field);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(expected, sizeof(expected), format, numbers[n].value);
#pragma GCC diagnostic pop
		assert_text(&made_layouts[0], fmt, expected);
		assert_text(&made_layouts[1], fmt, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_64_bit),
		cmocka_unit_test(texts_of_32_bit),
		cmocka_unit_test(numbers_as_printf),
		cmocka_unit_test(formats_that_are_not_known),
		cmocka_unit_test(nested_formats),
		cmocka_unit_test(formats_that_cost_too_much),
		cmocka_unit_test(cuts_of_real_formats),
		cmocka_unit_test(cut_records_and_texts),
		cmocka_unit_test(strings_out_of_the_record),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
