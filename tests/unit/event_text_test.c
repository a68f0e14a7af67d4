// SPDX-License-Identifier: GPL-2.0-or-later
#include <glob.h>

#include "allocfilt/base/file.h"
#include "allocfilt/stall/stall.h"
#include "made_event.h"
#include "made_page.h"
#include "names/symbols.h"
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

/* The linker takes this one, as it comes before the library's. */
int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	assert_null(symbols);
	return snprintf(text, size, "%s:%llx", style == 'S' ? "long" : "short",
			(unsigned long long)address);
}

static struct event_texts *texts_of(const struct page_layout *layout, const char *format)
{
	struct event_texts *texts = event_texts_new(1, layout, NULL);

	assert_non_null(texts);
	assert_int_equal(event_texts_add(texts, 0, format, strlen(format)), 0);
	return texts;
}

static struct event_texts *compile(const struct page_layout *layout, const char *fmt)
{
	const struct made_event event = event_of(layout, fmt);

	return texts_of(layout, format_of(&event));
}

/* Returns what follows the event's name. */
static const char *print(const struct event_texts *texts, const void *record, size_t size)
{
	const struct record event = {
		.kind = RECORD_EVENT,
		.raw = record,
		.raw_size = (uint16_t)size,
	};
	static char text[1024];
	size_t length = event_text(texts, &event, NULL, text, sizeof(text));

	assert_int_equal(length, strlen(text));
	assert_int_equal(strncmp(text, "made: ", 6), 0);
	return text + 6;
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
	struct event_texts *texts = compile(layout, fmt);
	struct made_page made;
	const char *text;

	make_record(&made, layout);
	text = print(texts, made.bytes, made.at);
	if (strcmp(text, expected))
		fail_msg("%s: \"%s\" != \"%s\"", fmt, text, expected);
	event_texts_free(texts);
}

struct expectation {
	const char *fmt;
	const char *expected;
};

UNIT_TEST(texts_of_64_bit)
{
	static const struct expectation texts[] = {
		{ "\"\"", "" },
		{ "\"nothing to see\"", "nothing to see" },
		{ "\"100%%\"", "100%" },
		{ "\"a\\tb\\\\c\\\"d\" \"e\"", "a\tb\\c\"de" },
		{ "\"%d%%\", REC->number", "-42%" },
		/* Expected: lib/vsprintf.c of the kernel. */
		{ "\"%d\", REC->number", "-42" },
		{ "\"%i\", REC->number", "-42" },
		{ "\"%u\", REC->number", "4294967254" },
		{ "\"%x\", REC->number", "ffffffd6" },
		{ "\"%ld %lu\", REC->big, REC->ubig", "-5000000000 18364758544493064720" },
		{ "\"%lld %llu\", REC->big, REC->ubig", "-5000000000 18364758544493064720" },
		{ "\"%llx 0x%Lx\", REC->ubig, REC->half", "fedcba9876543210 0xabcd" },
		{ "\"%x\", REC->ubig", "76543210" },
		{ "\"%d\", REC->ubig", "1985229328" },
		{ "\"%d %d\", REC->small, REC->usmall", "-2 254" },
		{ "\"%lu\", REC->unumber", "4294967286" },
		{ "\"%ld\", REC->number", "-42" },
		{ "\"%zu %zd\", REC->flags, REC->big", "36032 -5000000000" },
		{ "\"[%6d] [%06d] [%1d]\", REC->number, REC->number, REC->number",
		  "[   -42] [-00042] [-42]" },
		{ "\"[%10x] [%010lx] [%03d]\", REC->half, REC->half, 7",
		  "[      abcd] [000000abcd] [007]" },
		{ "\"%lld\", 1 - 1", "0" },
		/* As C calculates: promotion, wrap at the size, signs. */
		{ "\"%d\", 2 + 3 - 4", "1" },
		{ "\"%d\", 9 - (2 + 3)", "4" },
		{ "\"%d\", 1 | 6 & 2 + 1 << 1", "7" },
		{ "\"%d\", REC->number + 2", "-40" },
		{ "\"%d\", REC->number - 2", "-44" },
		{ "\"%d\", REC->number >> 1", "-21" },
		{ "\"%u\", REC->unumber >> 1", "2147483643" },
		{ "\"%lu\", 1UL << 40", "1099511627776" },
		{ "\"%llu\", 1 << 40", "0" },
		{ "\"%lu\", 1UL << (REC->usmall - 190)", "0" },
		{ "\"%d\", REC->half & 0xff", "205" },
		{ "\"%x\", REC->half | 0xf0000", "fabcd" },
		{ "\"%llx %llx\", (u64)(~0x10), (u64)(~0x10u)", "ffffffffffffffef ffffffef" },
		{ "\"%llx\", ~(u64)0x10", "ffffffffffffffef" },
		{ "\"%llx\", (u64)(~(u32)0x10)", "ffffffef" },
		{ "\"%d %llu\", -254, -1", "-254 18446744073709551615" },
		{ "\"%llu\", REC->unumber + 20", "10" },
		{ "\"%llu\", (u64)REC->unumber + 20", "4294967306" },
		{ "\"%d %d\", REC->number ? 1 : 2, 0 ? 1 : 2", "1 2" },
		{ "\"%d\", (REC->number & 1 ? 1 : 2) + 3", "5" },
		{ "\"%d\", 0 ? 1 : 0 ? 2 : 3", "3" },
		{ "\"%d\", (int)REC->ubig", "1985229328" },
		{ "\"%lx\", (unsigned long)REC->address", "ffffffff81000010" },
		{ "\"%llu\", (((u64)REC->half << 32) | REC->usmall)", "188896956645630" },
		{ "\"%lld\", (long long)(unsigned int)REC->number", "4294967254" },
		{ "\"%s\", REC->number ? \"yes\" : \"no\"", "yes" },
		{ "\"%s|%s\", REC->number & 1 ? \"yes\" : \"\", __get_str(text)", "|hello" },
		{ "\"%s\", __get_str(text)", "hello" },
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
		{ "\"[%s]\", __print_symbolic(REC->usmall, {0, \"Zero\"}, {254, \"Max\"})",
		  "[Max]" },
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
		/* a name without a text ends the list, as does the kernel's own */
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0xcc0, \"KERNEL\"}, "
		  "{ 0, ((void *)0) } )",
		  "KERNEL|0x8000" },
		/* a name whose value is not known is no other's */
		{ "\"%s %d\", __print_flags(REC->flags, \"|\", {1 << SOME_BIT, \"SOME\"}, "
		  "{0xcc0, \"KERNEL\"}, {OTHER_BIT, \"OTHER\"}), REC->number",
		  "KERNEL|0x8000 -42" },
		{ "\"%s\", __print_symbolic(REC->usmall, {SOME_NAME, \"x\"})", "0xfe" },
		{ "\"%s\", __print_symbolic(1 - 1, {SOME_NAME, \"x\"})", "0x0" },
		/* a sum of masks in parentheses, which libtraceevent 1.7.1 takes apart */
		{ "\"%s\", __print_flags(REC->flags & (0x00000040 | 0x00008000 | 0x00000001), "
		  "\"|\", {0x1, \"A\"}, {0x40, \"B\"}, {0x8000, \"C\"})",
		  "B|C" },
		/* Kernels from 7.2 on write these, and some leave names of constants. */
		{ "\"pid=%d %s\", REC->ent.pid, "
		  "(REC->common_flags & 0x18) ? \"(in-irq)\" : \"\"",
		  "pid=-5 (in-irq)" },
		{ "\"%s\", (REC->ent.flags & (TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ)) ? "
		  "\"REC->ent.flags TRACE_FLAG_NMI\" : \"\"",
		  "REC->ent.flags TRACE_FLAG_NMI" },
		{ "\"%d %d\", REC->ent.type, REC->ent.preempt_count", "300 16" },
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

UNIT_TEST(texts_of_32_bit)
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

UNIT_TEST(formats_that_are_not_known)
{
	static const char *const formats[] = {
		/* C and the kernel know these; no event of the catalog needs them. */
		"\"%o\", REC->number",
		"\"%X\", REC->number",
		"\"%c\", 65",
		"\"%#x\", REC->number",
		"\"%-6d\", REC->number",
		"\"%.5d\", REC->number",
		"\"%1000d\", REC->number",
		"\"%8s\", REC->letters",
		"\"%hd\", REC->half",
		"\"%8pS\", REC->address",
		"\"%pI4\", __get_str(text)",
		"\"%pM\", REC->letters",
		"\"%d\", REC->number * 4",
		"\"%d\", REC->number / 4",
		"\"%d\", REC->number < 0",
		"\"%d\", REC->number == 0",
		"\"%d\", REC->number && 1",
		"\"%d\", !REC->number",
		"\"%d\", -REC->number",
		"\"%d\", ~REC->number",
		"\"%d\", 'a'",
		"\"%d\", sizeof(REC->letters)",
		"\"%d\", REC->letters[1]",
		"\"%d\", *(s8 *)&REC->small",
		"\"%d\", (s8)REC->half",
		"\"%s\", (char *)REC->letters",
		"\"%s\", __print_hex(REC->letters, 4)",
		"\"%s\", __print_array(REC->array, 2, 4)",
		"\"%s\", __get_bitmask(text)",
		"\"%d\", __get_dynamic_array_len(text)",
		/* Nobody knows these. */
		"\"%pU\", REC->address",
		"\"%pSR\", REC->address",
		"\"%*d\", 5, REC->number",
		"\"%e\", REC->number",
		"\"%d\"",
		"\"%\"",
		"\"no conversion\", REC->number",
		"\"%d\", REC->array",
		"\"%d\", SOME_NAME",
		"\"%d\", some_function(REC->number)",
		"\"%d\", (struct unknown)REC->number",
		"\"%s\", REC->address",
		"\"%s\", REC->number",
		"\"%d\", REC->letters.member",
		"\"%d\", \"text\"",
		"\"%d\", -\"text\"",
		"\"%d\", 1 + \"text\"",
		"\"%d\", \"text\" + 1",
		"\"%s\", \"text\" + 1",
		"\"%s\", (long)\"text\"",
		"\"%s\", \"text\" ? \"text\" : \"text\"",
		"\"%s\", REC->number ? \"text\" : 1",
		"\"%s\", __print_symbolic(REC->number, {some_function(1), \"x\"})",
		"\"%s\", __print_symbolic(SOME_NAME, {1, \"x\"})",
		"\"%s\", __print_symbolic(\"text\", {1, \"x\"})",
		"\"%s\", __print_symbolic(REC->number, {1, SOME_NAME})",
		"\"%s\", __print_symbolic(REC->number, {REC->half, \"x\"})",
		"\"%s\", __print_symbolic(REC->number, {1 ? 2 : 3, \"x\"})",
		"\"%s\", __print_symbolic(REC->number, {1, 2})",
		"\"%s\", __print_symbolic(REC->number, {0, ((void *)0)}, {1, \"one\"})",
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
		"\"%d\", (REC->number",
		"\"%d\", (int",
		"\"%d\", REC->number ?",
		"\"%d\", REC->number ? 1 :",
		"\"%s\", __print_flags(REC->number, \"|\", {1, \"one",
		"no string at all",
	};

	for (size_t i = 0; i < COUNT(formats); i++)
		assert_text(&made_layouts[0], formats[i], made_fields);
}

/*
 * The format of a kprobe event says "%lx", and print_kprobe_event() of the kernel prints its address by
 * seq_print_ip_sym() with TRACE_ITER_SYM_OFFSET: "(psi_memstall_enter+0x0/0xc0) caller=0xffff…".
 */
UNIT_TEST(address_of_a_probe)
{
	static const struct {
		int layout;
		const char *fields, *print, *expected;
	} cases[] = {
		{ 0, "unsigned long __probe_ip 8, u64 caller 8",
		  "\"(%lx) caller=0x%Lx\", REC->__probe_ip, REC->caller",
		  "(long:ffffffffb2300010) caller=0xffffffffb233a949" },
		{ 2, "unsigned long __probe_ip 4, u32 caller 4",
		  "\"(%lx) caller=0x%x\", REC->__probe_ip, REC->caller",
		  "(long:b2300010) caller=0xb233a949" },
		{ 0, "unsigned long __probe_ip 8, u64 caller 8", "\"(%lx)\", REC->__probe_ip",
		  "(long:ffffffffb2300010)" },
		/* another field */
		{ 0, "unsigned long __probe_ipx 8, u64 caller 8",
		  "\"(%lx) %lx\", REC->__probe_ipx, REC->caller",
		  "(ffffffffb2300010) ffffffffb233a949" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct page_layout *layout = &made_layouts[cases[i].layout];
		const struct made_event event = {
			.name = "made",
			.type = 300,
			.fields = cases[i].fields,
			.print = cases[i].print,
		};
		struct event_texts *texts = texts_of(layout, format_of(&event));
		struct made_page made;

		make_payload(&made, layout, &event,
			     VALUES({ i == 3 ? "__probe_ipx" : "__probe_ip", 0xffffffffb2300010 },
				    { "caller", 0xffffffffb233a949 }));
		assert_string_equal(print(texts, made.bytes, made.at), cases[i].expected);
		event_texts_free(texts);
	}
}

/* A probe that is made after the first reading, and that somebody made before: the last format counts. */
UNIT_TEST(format_that_is_read_again)
{
	static const char *const formats[][2] = {
		{ "\"%d\", REC->number", "-42" },
		{ "\"%s\", __print_flags(REC->flags, \"|\", {0xcc0, \"KERNEL\"})",
		  "KERNEL|0x8000" },
		{ "\"%o\", REC->number", made_fields },
		{ "\"%u\", REC->usmall", "254" },
	};
	struct event_texts *texts = event_texts_new(1, &made_layouts[0], NULL);
	struct made_page made;

	make_record(&made, &made_layouts[0]);
	for (size_t i = 0; i < COUNT(formats); i++) {
		const struct made_event event = event_of(&made_layouts[0], formats[i][0]);
		const char *format = format_of(&event);

		assert_int_equal(event_texts_add(texts, 0, format, strlen(format)), 0);
		assert_string_equal(print(texts, made.bytes, made.at), formats[i][1]);
	}
	/* no format at all: the one before stays */
	assert_int_equal(event_texts_add(texts, 0, "name: x\n", 8), -EINVAL);
	assert_string_equal(print(texts, made.bytes, made.at), "254");
	event_texts_free(texts);
}

/* Its conversion alone, as the whole text has it. */
UNIT_TEST(one_field)
{
	static const struct {
		const char *fmt;
		const char *field;
		const char *expected;
	} cases[] = {
		{ "\"flags %s number=%d\", (REC->flags) ? __print_flags(REC->flags, \"|\", "
		  "{0xcc0, \"KERNEL\"}) : \"none\", REC->number",
		  "flags", "KERNEL|0x8000" },
		{ "\"%s %d!\", REC->flags ? \"yes\" : \"no\", REC->number", "number", "-42" },
		{ "\"%s%s\", __get_str(text), __get_rel_str(near)", "text", "hello" },
		{ "\"%d %u\", REC->number, REC->number", "number", "-42" },
		{ "\"%d\", REC->ent.pid", "common_pid", "-5" },
		{ "\"%o\", REC->number", "number", "-42" },
		{ "\"%d\", REC->flags & REC->number", "number", "" },
		{ "\"%d\", REC->number", "flags", "" },
		{ "\"nothing\"", "", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct event_texts *texts = compile(&made_layouts[0], cases[i].fmt);
		struct record record = { .kind = RECORD_EVENT };
		struct made_page made;
		char text[64];

		make_record(&made, &made_layouts[0]);
		record.raw = made.bytes;
		record.raw_size = (uint16_t)made.at;
		assert_int_equal(event_text(texts, &record, cases[i].field, text, sizeof(text)),
				 strlen(cases[i].expected));
		assert_string_equal(text, cases[i].expected);
		event_texts_free(texts);
	}
}

/* Only of an event that has one, in the room that there is. */
UNIT_TEST(no_text)
{
	struct event_texts *texts = event_texts_new(2, &made_layouts[0], NULL);
	const struct made_event event = event_of(&made_layouts[0], "\"text\"");
	struct record record = { .kind = RECORD_EVENT };
	char text[16] = "x";

	assert_int_equal(event_texts_add(texts, 0, "name: x\n", 8), -EINVAL);
	assert_int_equal(event_texts_add(texts, 1, format_of(&event), strlen(format_of(&event))),
			 0);
	assert_int_equal(event_text(texts, &record, NULL, text, 0), 0);
	assert_string_equal(text, "x");
	assert_int_equal(event_text(texts, &record, NULL, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	record.event = 1;
	assert_int_equal(event_text(texts, &record, NULL, text, sizeof(text)),
			 strlen("made: text"));
	assert_int_equal(event_text(texts, &record, NULL, text, 3), 2);
	assert_string_equal(text, "ma");
	record.event = 2;
	assert_int_equal(event_text(texts, &record, NULL, text, sizeof(text)), 0);
	record = (struct record){ .kind = RECORD_WINDOW, .event = 1 };
	assert_int_equal(event_text(texts, &record, NULL, text, sizeof(text)), 0);
	event_texts_free(texts);
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
	struct event_texts *texts;
	struct made_page made;

	at = stpcpy(at, head);
	while (count--)
		at = stpcpy(at, repeated);
	strcpy(stpcpy(at, tail), "\n");
	texts = texts_of(&made_layouts[0], text);
	make_record(&made, &made_layouts[0]);
	assert_string_equal(print(texts, made.bytes, made.at), expected);
	event_texts_free(texts);
	free(text);
}

/* As deep as some kernel's may be; and deeper than any stack. */
UNIT_TEST(nested_formats)
{
	static const struct {
		const char *head;
		const char *repeated;
		const char *tail;
		const char *expected;
	} cases[] = {
		{ "\"%d\", ", "-", "254", "254" },
		{ "\"%d\", ", "(int)", "REC->usmall", "254" },
		{ "\"%d\", ", "REC->usmall ? ", "5", NULL },
		{ "\"%d\", ", "REC->usmall ? 7 : ", "5", "7" },
		{ "\"%d\", ", "(", "REC->usmall", NULL },
		{ "\"%s\", ", "__print_flags(", "REC->usmall", NULL },
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
	/* a sum needs two places on the stack, and this one a place for each number */
	assert_repeated("\"%d\", REC->usmall", " + 1", 1000, "", "1254");
	assert_repeated("\"%d\", ", "REC->usmall + (", 31, "0)))))))))))))))))))))))))))))))",
			"7874");
	assert_repeated("\"%d\", ", "REC->usmall + (", 32, "0))))))))))))))))))))))))))))))))",
			made_fields);
}

/* No text takes much memory, or much time for a record. */
UNIT_TEST(formats_that_cost_too_much)
{
	assert_repeated("\"%d\", REC->usmall", " + 1", 50000, "", made_fields);
	assert_repeated("\"%d\", 1", " + 1", 50000, "", "50001");
	assert_repeated("\"%s\", __print_flags(REC->usmall, \"\"", ", {1, \"\"}", 10000, ")",
			made_fields);
}

/* Parts of every text of three kernels: compiled and run, which is for the sanitizers to judge. */
UNIT_TEST(cuts_of_real_formats)
{
	static const unsigned char record[300] = { 1, 2, 3, [200] = 0xff };
	glob_t formats;
	size_t compiled = 0;
	char out[256];

	assert_int_equal(
		glob("fixtures/{5.10,7.3,s390x}/events/*/*/format", GLOB_BRACE, NULL, &formats), 0);
	for (size_t i = 0; i < formats.gl_pathc; i++) {
		size_t length, cut;
		char *text;

		assert_int_equal(file_read(".", formats.gl_pathv[i], &text, &length), 0);
		cut = (size_t)(strstr(text, "\nprint fmt: ") + 13 - text);
		/* A third of them: most texts are in each of the three directories. */
		for (cut += i % 3; cut < length; cut += 3 * test_stride()) {
			char last[2] = { text[cut], text[cut + 1] };
			struct record event = { .kind = RECORD_EVENT };
			struct event_texts *texts;

			strcpy(text + cut, "\n");
			texts = texts_of(&made_layouts[i % 4], text);
			event.raw = record;
			event.raw_size = sizeof(record);
			event_text(texts, &event, NULL, out, sizeof(out));
			event_texts_free(texts);
			memcpy(text + cut, last, 2);
			compiled++;
		}
		free(text);
	}
	assert_in_range(compiled, 20000 / test_stride(), 400000);
	globfree(&formats);
}

/* An allocation with all flags set, each with its name and a separator: nothing is cut. */
UNIT_TEST(names_of_gfp_flags_have_room)
{
	glob_t formats;

	assert_int_equal(glob("fixtures/*/events/vmscan/mm_vmscan_direct_reclaim_begin/format", 0,
			      NULL, &formats),
			 0);
	for (size_t i = 0; i < formats.gl_pathc; i++) {
		size_t length, room = 0;
		char *text;

		assert_int_equal(file_read(".", formats.gl_pathv[i], &text, &length), 0);
		for (const char *at = text; (at = strstr(at, "\"__GFP_")); at++)
			room += strcspn(at + 1, "\"") + 1;
		assert_in_range(room, 160, STALL_GFP_MAX - 1);
		free(text);
	}
	globfree(&formats);
}

/* Any room, and any part of a record: no byte outside of either. */
UNIT_TEST(cut_records_and_texts)
{
	static const char fmt[] =
		"\"%d %s %s [%12d] %s %s %ps %llx|\", REC->number, __get_str(text), "
		"__get_rel_str(near), REC->usmall, REC->letters, __print_flags(REC->flags, \"|\", "
		"{0xcc0, \"KERNEL\"}), REC->address, REC->ubig";
	static const char expected[] =
		"made: -42 hello near [         254] abcd KERNEL|0x8000 short:ffffffff81000010 "
		"fedcba9876543210|";
	struct event_texts *texts = compile(&made_layouts[0], fmt);
	struct record record = { .kind = RECORD_EVENT };
	struct made_page made;
	unsigned char *copy;
	char text[256];

	make_record(&made, &made_layouts[0]);
	record.raw = made.bytes;
	record.raw_size = (uint16_t)made.at;
	for (size_t size = 1; size < sizeof(expected) + 2; size++) {
		size_t fits = size < sizeof(expected) ? size - 1 : strlen(expected);

		memset(text, '#', sizeof(text));
		assert_int_equal(event_text(texts, &record, NULL, text, size), fits);
		assert_memory_equal(text, expected, fits);
		assert_int_equal(text[fits], '\0');
		assert_int_equal(text[fits + 1], '#');
	}
	for (size_t size = 0; size <= made.at; size++) {
		copy = malloc(size + !size);
		memcpy(copy, made.bytes, size);
		record.raw = copy;
		record.raw_size = (uint16_t)size;
		assert_in_range(event_text(texts, &record, NULL, text, sizeof(text)), 37,
				sizeof(expected) - 1);
		free(copy);
	}
	event_texts_free(texts);
}

/* A string that says it lies behind its record, or is not ended. */
UNIT_TEST(strings_out_of_the_record)
{
	struct event_texts *texts = compile(&made_layouts[0], "\"[%s]\", __get_str(text)");
	struct made_page made;

	make_record(&made, &made_layouts[0]);
	place_text(&made, 0xffff, 78);
	assert_string_equal(print(texts, made.bytes, 82), "[near]");
	place_text(&made, 0xffff, 0xffff);
	assert_string_equal(print(texts, made.bytes, 82), "[]");
	place_text(&made, 0xffff, 72);
	assert_string_equal(print(texts, made.bytes, 74), "[he]");
	place_text(&made, 3, 72);
	assert_string_equal(print(texts, made.bytes, 82), "[hel]");
	event_texts_free(texts);
}

UNIT_TEST_MAIN(NULL, NULL)
