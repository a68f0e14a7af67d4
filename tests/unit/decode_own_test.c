// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "made_page.h"

/* Records that we have the kernel write: our probe's, and stacks behind events. */

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char event_probe[] =
	"name: shrinker\nID: 1393\nformat:\n" COMMON
	"\tfield:u64 shr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 shrink;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] id;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u32 dev;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \" shr=0x%Lx shrink=0x%Lx id=\\\"%s\\\" dev=%u\", REC->shr, REC->shrink, "
	"__get_str(id), REC->dev\n";

static const char kprobe[] =
	"name: shrinker\nID: 1347\nformat:\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 shr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] id;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u32 dev;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"(%lx) shr=0x%Lx id=\\\"%s\\\" dev=%u\", REC->__probe_ip, REC->shr, "
	"__get_str(id), REC->dev\n";

static const char kernel_stack[] =
	"name: kernel_stack\nID: 4\nformat:\n" COMMON
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
	"\nprint fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n";

static const char kernel_stack_32[] =
	"name: kernel_stack\nID: 4\nformat:\n" COMMON
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:12;\tsize:32;\tsigned:0;\n"
	"\nprint fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n";

#define LITTLE_64 made_layouts[0]
#define BIG_64	  made_layouts[1]
#define LITTLE_32 made_layouts[2]

struct given {
	struct decode *decode;
	struct stacks *stacks;
	int count;
	struct record record;
	char name[64];
};

static int take(void *context, const struct record *record)
{
	struct given *given = context;

	given->count++;
	given->record = *record;
	if (record->kind == RECORD_SUPERBLOCK)
		memcpy(given->name, (const char *)record->raw + record->superblock.name,
		       record->superblock.name_length);
	return 0;
}

static void start(struct given *given, const struct page_layout *layout, int event,
		  const char *format)
{
	struct decode_setup setup = { .layout = *layout, .sink = take, .sink_context = given };

	memset(given, 0, sizeof(*given));
	given->stacks = stacks_new();
	setup.stacks = given->stacks;
	given->decode = decode_new(&setup);
	assert_non_null(given->decode);
	assert_int_equal(decode_add_format(given->decode, event, EVENT_USER, "system", format,
					   strlen(format)),
			 0);
}

static void end(struct given *given)
{
	decode_free(given->decode);
	stacks_free(given->stacks);
}

/* In a block of its own size, so that a sanitizer sees a read behind it. */
static void decode_made(struct given *given, const struct made_page *made, size_t size)
{
	unsigned char *copy = malloc(size + !size);

	assert_non_null(copy);
	memcpy(copy, made->bytes, size);
	assert_int_equal(decode_record(given->decode, 1, 1000, copy, size), 0);
	free(copy);
}

static void begin(struct made_page *made, const struct page_layout *layout, int type)
{
	made_begin(made, layout, 0);
	made->at = 0;
	made_put(made, (uint64_t)type, 2);
	made_put(made, 0x21, 1);
	made_put(made, 0x10, 1);
	made_put(made, 4711, 4);
}

static void put_probe(struct made_page *made, const struct page_layout *layout, uint64_t location)
{
	begin(made, layout, 1393);
	made_put(made, 0xffff888812345678, 8);
	made_put(made, 0xffffffff81234560, 8);
	made_put(made, location, 4);
	made_put(made, 254u << 20 | 16, 4);
	for (const char *at = "vdb"; *at; at++)
		made_put(made, (unsigned char)*at, 1);
	made_put(made, 0, 1);
}

static void expect_probe(const struct page_layout *layout)
{
	struct made_page made;
	struct given given;

	start(&given, layout, DECODE_SUPERBLOCK, event_probe);
	put_probe(&made, layout, 4u << 16 | 32);
	decode_made(&given, &made, made.at);
	assert_int_equal(given.count, 1);
	assert_int_equal(given.record.kind, RECORD_SUPERBLOCK);
	assert_int_equal(given.record.superblock.shrinker, 0xffff888812345678);
	assert_int_equal(given.record.superblock.callback, 0xffffffff81234560);
	assert_int_equal(given.record.superblock.device, 254u << 20 | 16);
	assert_string_equal(given.name, "vdb");
	end(&given);
}

static void test_event_probe(void **state)
{
	(void)state;
	expect_probe(&LITTLE_64);
	expect_probe(&BIG_64);
}

static void test_kprobe(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &LITTLE_64, DECODE_SUPERBLOCK, kprobe);
	begin(&made, &LITTLE_64, 1347);
	made_put(&made, 0xffffffff81234560, 8);
	made_put(&made, 0xffff888812345678, 8);
	made_put(&made, 2u << 16 | 32, 4);
	made_put(&made, 22, 4);
	made_put(&made, 'x', 1);
	made_put(&made, 0, 1);
	decode_made(&given, &made, made.at);
	assert_int_equal(given.record.superblock.shrinker, 0xffff888812345678);
	assert_int_equal(given.record.superblock.callback, 0);
	assert_int_equal(given.record.superblock.device, 22);
	assert_string_equal(given.name, "x");
	end(&given);
}

/* A name that could not be read has no length; one that lies outside is none. */
static void test_name_outside(void **state)
{
	static const uint64_t locations[] = {
		0, 32, 4u << 16 | 36, 5u << 16 | 32, 4u << 16 | 0xffff, 0xffffffff,
	};
	struct made_page made;
	struct given given;

	(void)state;
	for (size_t i = 0; i < sizeof(locations) / sizeof(locations[0]); i++) {
		start(&given, &LITTLE_64, DECODE_SUPERBLOCK, event_probe);
		put_probe(&made, &LITTLE_64, locations[i]);
		decode_made(&given, &made, made.at);
		assert_int_equal(given.count, 1);
		assert_int_equal(given.record.superblock.name_length, 0);
		end(&given);
	}
}

static void test_probe_without_a_name(void **state)
{
	static const char text[] = "name: shrinker\nID: 7\nformat:\n" COMMON
				   "\tfield:u64 shr;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\nprint fmt: \" shr=0x%Lx\", REC->shr\n";
	struct given given;

	(void)state;
	start(&given, &LITTLE_64, DECODE_STACK, kernel_stack);
	assert_int_equal(decode_add_format(given.decode, DECODE_SUPERBLOCK, EVENT_USER, "allocfilt",
					   text, sizeof(text) - 1),
			 -EINVAL);
	end(&given);
}

static void put_stack(struct made_page *made, const struct page_layout *layout, int count)
{
	begin(made, layout, 4);
	made_put(made, (uint64_t)count, 4);
	if (layout->long_size == 8)
		made_put(made, 0xdeadbeef, 4);
	for (int i = 0; i < count; i++)
		made_put(made, 0x81000000 + (uint64_t)i, layout->long_size);
}

static void expect_stack(const struct page_layout *layout, const char *format, int count)
{
	const uint64_t *frames;
	struct made_page made;
	struct given given;

	start(&given, layout, DECODE_STACK, format);
	put_stack(&made, layout, count);
	decode_made(&given, &made, made.at);
	assert_int_equal(given.count, 1);
	assert_int_equal(given.record.kind, RECORD_STACK);
	assert_int_equal(given.record.pid, 4711);
	assert_int_equal(given.record.stack.flags, 0x21);
	assert_int_equal(given.record.stack.preempt_count, 0x10);
	assert_int_equal(given.record.stack.ts, 1000);
	assert_int_equal(stacks_of(given.stacks, given.record.stack.number, &frames), count);
	for (int i = 0; i < count; i++)
		assert_int_equal(frames[i], 0x81000000 + i);
	end(&given);
}

static void test_stack(void **state)
{
	(void)state;
	expect_stack(&LITTLE_64, kernel_stack, 3);
	expect_stack(&LITTLE_64, kernel_stack, 40);
	expect_stack(&BIG_64, kernel_stack, 12);
	expect_stack(&LITTLE_32, kernel_stack_32, 5);
}

static void test_stack_is_cut(void **state)
{
	const uint64_t *frames;
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &LITTLE_64, DECODE_STACK, kernel_stack);
	put_stack(&made, &LITTLE_64, 3);
	for (size_t size = 0; size < 16; size++)
		decode_made(&given, &made, size);
	assert_int_equal(given.count, 0);
	decode_made(&given, &made, 16);
	assert_int_equal(given.record.stack.number, 0);
	decode_made(&given, &made, made.at - 1);
	assert_int_equal(stacks_of(given.stacks, given.record.stack.number, &frames), 2);
	made_put(&made, UINT64_MAX, 8);
	made_put(&made, 1, 8);
	decode_made(&given, &made, made.at);
	assert_int_equal(stacks_of(given.stacks, given.record.stack.number, &frames), 3);
	end(&given);
}

static void test_stacks_not_wanted(void **state)
{
	const struct decode_setup setup = { .layout = LITTLE_64, .sink = take };
	struct given given = { .decode = decode_new(&setup) };
	struct made_page made;

	(void)state;
	assert_int_equal(decode_add_format(given.decode, DECODE_STACK, EVENT_USER, "ftrace",
					   kernel_stack, sizeof(kernel_stack) - 1),
			 0);
	put_stack(&made, &LITTLE_64, 3);
	decode_made(&given, &made, made.at);
	assert_int_equal(decode_unknown(given.decode, NULL), 0);
	decode_free(given.decode);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_probe),
		cmocka_unit_test(test_kprobe),
		cmocka_unit_test(test_name_outside),
		cmocka_unit_test(test_probe_without_a_name),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_stack_is_cut),
		cmocka_unit_test(test_stacks_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
