// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/plan.h"
#include "allocfilt/record.h"
#include "made_page.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* The layouts of funcgraph_exit; all fields are packed. */

static const char exit_5_10[] =
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long overrun;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:40;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
	"REC->depth, REC->calltime, REC->rettime, REC->depth\n";

static const char exit_6_1[] =
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
	"REC->depth, REC->calltime, REC->rettime, REC->depth\n";

/* CONFIG_FUNCTION_GRAPH_RETVAL; depth without a sign as on 7.3 */
static const char exit_retval[] =
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int depth;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx\", "
	"(void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval\n";

static const char exit_32_bit[] =
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:int depth;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:20;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:28;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"<-- %ps\", (void *)REC->func\n";

/* 5.10 has gfp_flags of 4 bytes in mm_shrink_slab_start. */
static const char slab_start_5_10[] =
	"name: mm_shrink_slab_start\nID: 500\nformat:\n" COMMON
	"\tfield:struct shrinker * shr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:void * shrink;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int nid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:long nr_objects_to_shrink;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:gfp_t gfp_flags;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long cache_items;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long delta;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long total_scan;\toffset:64;\tsize:8;\tsigned:0;\n"
	"\tfield:int priority;\toffset:72;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"%pS %p: nid: %d objects to shrink %ld\", REC->shrink, REC->shr, REC->nid, "
	"REC->nr_objects_to_shrink\n";

/* 7.2 moves the fields and adds memcg_id. */
static const char slab_start_7_3[] =
	"name: mm_shrink_slab_start\nID: 500\nformat:\n" COMMON
	"\tfield:struct shrinker * shr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:void * shrink;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:long nr_objects_to_shrink;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned long gfp_flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long cache_items;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long delta;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long total_scan;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:int priority;\toffset:64;\tsize:4;\tsigned:1;\n"
	"\tfield:int nid;\toffset:68;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 memcg_id;\toffset:72;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"%pS %p: nid: %d pid: %d memcg_id: %llu\", REC->shrink, REC->shr, REC->nid, "
	"REC->ent.pid, REC->memcg_id\n";

static const char slab_end[] = "name: mm_shrink_slab_end\nID: 501\nformat:\n" COMMON
			       "\tfield:struct shrinker * shr;\toffset:8;\tsize:8;\tsigned:0;\n"
			       "\tfield:int nid;\toffset:16;\tsize:4;\tsigned:1;\n"
			       "\tfield:void * shrink;\toffset:24;\tsize:8;\tsigned:0;\n"
			       "\tfield:int retval;\toffset:32;\tsize:4;\tsigned:1;\n"
			       "\nprint fmt: \"%d\", REC->retval\n";

static const char throttled[] = "name: mm_vmscan_throttled\nID: 502\nformat:\n" COMMON
				"\tfield:int nid;\toffset:8;\tsize:4;\tsigned:1;\n"
				"\tfield:int usec_timeout;\toffset:12;\tsize:4;\tsigned:1;\n"
				"\tfield:int usec_delayed;\toffset:16;\tsize:4;\tsigned:1;\n"
				"\tfield:int reason;\toffset:20;\tsize:4;\tsigned:1;\n"
				"\nprint fmt: \"nid=%d\", REC->nid\n";

/* No kernel has it so: a field of two bytes with a sign. */
static const char narrow[] = "name: mm_vmscan_throttled\nID: 507\nformat:\n" COMMON
			     "\tfield:short nid;\toffset:8;\tsize:2;\tsigned:1;\n"
			     "\tfield:u16 order;\toffset:10;\tsize:2;\tsigned:0;\n"
			     "\nprint fmt: \"nid=%d\", REC->nid\n";

static const char compact[] =
	"name: mm_compaction_try_to_compact_pages\nID: 503\nformat:\n" COMMON
	"\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long gfp_mask;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int prio;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"order=%d gfp_mask=%s priority=%d\", REC->order, (REC->gfp_mask) ? "
	"__print_flags(REC->gfp_mask, \"|\", {0xcc0, \"GFP_KERNEL\"}) : \"none\", REC->prio\n";

static const char reclaim_end[] =
	"name: mm_vmscan_direct_reclaim_end\nID: 504\nformat:\n" COMMON
	"\tfield:unsigned long nr_reclaimed;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"nr_reclaimed=%lu\", REC->nr_reclaimed\n";

static const char print[] = "name: print\nID: 5\nformat:\n" COMMON
			    "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
			    "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:1;\n"
			    "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

/* What libtraceevent alone can print: an array. */
static const char with_array[] = "name: of_a_user\nID: 505\nformat:\n" COMMON
				 "\tfield:u8 bytes[4];\toffset:8;\tsize:4;\tsigned:0;\n"
				 "\nprint fmt: \"bytes=%s\", __print_hex(REC->bytes, 4)\n";

#define GIVEN_MAX 64

struct given {
	struct decode *decode;
	size_t count;
	struct record records[GIVEN_MAX];
	int roles_asked;
	int stop_with;
};

static int take(void *context, const struct record *record)
{
	struct given *given = context;

	assert_in_range(given->count, 0, GIVEN_MAX - 1);
	given->records[given->count++] = *record;
	return given->stop_with;
}

static int role_of(void *context, uint64_t function)
{
	struct given *given = context;

	given->roles_asked++;
	return function == 0xffffffff81234560 || function == 0xc1234560 ? ROLE_DIRECT_RECLAIM :
									  ROLE_NONE;
}

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	(void)context;
	return snprintf(text, size, "symbol_%llx_%c", (unsigned long long)address, style);
}

static void start(struct given *given, const struct page_layout *layout, bool local_clock)
{
	const struct decode_setup setup = {
		.layout = *layout,
		.local_clock = local_clock,
		.role_of = role_of,
		.symbol = symbol,
		.context = given,
		.sink = take,
		.sink_context = given,
	};

	memset(given, 0, sizeof(*given));
	given->decode = decode_new(&setup);
	assert_non_null(given->decode);
}

static void add(struct given *given, int event, int id, const char *text)
{
	assert_int_equal(decode_add_format(given->decode, event, id, "system", text, strlen(text)),
			 0);
}

/* The payload of a record with its common fields; the page's bytes before it stay unused. */
static void begin_record(struct made_page *made, const struct page_layout *layout, int type,
			 int flags, int pid)
{
	made_begin(made, layout, 0);
	made->at = 0;
	made_put(made, (uint64_t)type, 2);
	made_put(made, (uint64_t)flags, 1);
	made_put(made, 0, 1);
	made_put(made, (uint64_t)pid, 4);
}

static void decode_made(struct given *given, int cpu, uint64_t ts, const struct made_page *made)
{
	assert_int_equal(decode_record(given->decode, cpu, ts, made->bytes, made->at),
			 given->stop_with);
}

/* ---- windows ---- */

enum exit_layout { EXIT_5_10, EXIT_6_1, EXIT_RETVAL, EXIT_32_BIT };

static void put_exit(struct made_page *made, const struct page_layout *layout,
		     enum exit_layout fields, uint64_t function, int depth)
{
	begin_record(made, layout, 10, 0, 4711);
	made_put(made, function, fields == EXIT_32_BIT ? 4 : 8);
	if (fields == EXIT_RETVAL)
		made_put(made, 0xdeadbeefdeadbeef, 8);
	if (fields == EXIT_5_10)
		made_put(made, 0x1111111111111111, 8);
	else
		made_put(made, (uint64_t)depth | 0x2222222200000000, 4);
	if (fields != EXIT_5_10)
		made_put(made, 0x33333333, 4);
	made_put(made, 5000000001, 8);
	made_put(made, 5000400002, 8);
	if (fields == EXIT_5_10)
		made_put(made, (uint64_t)depth, 4);
}

static void assert_window(const struct record *record, uint64_t function)
{
	assert_int_equal(record->kind, RECORD_WINDOW);
	assert_int_equal(record->ts, 5000400100);
	assert_int_equal(record->pid, 4711);
	assert_int_equal(record->cpu, 2);
	assert_int_equal(record->window.function, function);
	assert_int_equal(record->window.calltime, 5000000001);
	assert_int_equal(record->window.rettime, 5000400002);
	assert_int_equal(record->window.depth, 3);
	assert_int_equal(record->window.role, ROLE_DIRECT_RECLAIM);
}

static void windows_of_all_layouts(void **state)
{
	static const char *const formats[] = { exit_5_10, exit_6_1, exit_retval };
	struct made_page made;
	struct given given;

	(void)state;
	for (size_t order = 0; order < 2; order++) {
		for (int fields = EXIT_5_10; fields <= EXIT_RETVAL; fields++) {
			start(&given, &made_layouts[order], true);
			add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, formats[fields]);
			put_exit(&made, &made_layouts[order], (enum exit_layout)fields,
				 0xffffffff81234560, 3);
			decode_made(&given, 2, 5000400100, &made);
			assert_int_equal(given.count, 1);
			assert_window(&given.records[0], 0xffffffff81234560);
			decode_free(given.decode);
		}
	}
}

static void windows_of_32_bit(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	for (size_t order = 2; order < 4; order++) {
		start(&given, &made_layouts[order], true);
		add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_32_bit);
		put_exit(&made, &made_layouts[order], EXIT_32_BIT, 0xc1234560, 3);
		decode_made(&given, 2, 5000400100, &made);
		assert_int_equal(given.count, 1);
		assert_window(&given.records[0], 0xc1234560);
		decode_free(given.decode);
	}
}

/* Another trace clock: the window ends at its record and is as long as it was. */
static void windows_of_another_clock(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], false);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	put_exit(&made, &made_layouts[0], EXIT_6_1, 0xffffffff81234560, 0);
	decode_made(&given, 0, 77000000000, &made);
	assert_int_equal(given.records[0].window.rettime, 77000000000);
	assert_int_equal(given.records[0].window.calltime, 77000000000 - 400001);
	decode_free(given.decode);
}

static void role_is_asked_once(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	for (int i = 0; i < 10; i++) {
		put_exit(&made, &made_layouts[0], EXIT_6_1,
			 i % 2 ? 0xffffffff81234560 : 0xffffffff81999990, 0);
		decode_made(&given, 0, 1, &made);
	}
	assert_int_equal(given.roles_asked, 2);
	assert_int_equal(given.records[8].window.role, ROLE_NONE);
	assert_int_equal(given.records[9].window.role, ROLE_DIRECT_RECLAIM);
	decode_free(given.decode);
}

/* More functions than the table holds: asked again and again, and still right. */
static void roles_beyond_the_table(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 3000; i++) {
			given.count = 0;
			put_exit(&made, &made_layouts[0], EXIT_6_1, 0xffffffff82000000 + i * 16, 0);
			decode_made(&given, 0, 1, &made);
			assert_int_equal(given.records[0].window.role, ROLE_NONE);
		}
	}
	/* 2048 are kept, the other 952 are asked for in both rounds */
	assert_int_equal(given.roles_asked, 2048 + 2 * 952);
	given.count = 0;
	put_exit(&made, &made_layouts[0], EXIT_6_1, 0xffffffff81234560, 0);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[0].window.role, ROLE_DIRECT_RECLAIM);
	decode_free(given.decode);
}

static void impossible_depth_is_damage(void **state)
{
	static const int depths[] = { -1, 1025, 0x7fffffff };
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	for (size_t i = 0; i < 3; i++) {
		put_exit(&made, &made_layouts[0], EXIT_6_1, 1, depths[i]);
		decode_made(&given, 0, 1, &made);
	}
	assert_int_equal(given.count, 0);
	assert_int_equal(decode_damaged(given.decode), 3);
	decode_free(given.decode);
}

/* ---- events ---- */

static void put_slab_start(struct made_page *made, const struct page_layout *layout, bool new)
{
	begin_record(made, layout, 500, 0x08, -5);
	made_put(made, 0xffff888012345678, 8);
	made_put(made, 0xffffffff81300000, 8);
	if (!new) {
		made_put(made, (uint64_t)-2, 4); /* nid */
		made->at += 4;
	}
	made_put(made, 999, 8); /* nr_objects_to_shrink */
	made_put(made, 0x80000cc0, new ? 8 : 4);
	made->at += new ? 0 : 4;
	made_put(made, 1, 8);
	made_put(made, 2, 8);
	made_put(made, 3, 8);
	made_put(made, 12, 4); /* priority */
	if (new) {
		made_put(made, (uint64_t)-2, 4);   /* nid */
		made_put(made, 0x123456789abc, 8); /* memcg_id */
	}
}

static void slab_start_of_both_layouts(void **state)
{
	struct made_page made;
	struct given given;
	struct record *record = &given.records[0];

	(void)state;
	for (int i = 0; i < 4; i++) {
		start(&given, &made_layouts[i / 2], true);
		add(&given, 7, EVENT_SLAB_START, i % 2 ? slab_start_7_3 : slab_start_5_10);
		put_slab_start(&made, &made_layouts[i / 2], i % 2);
		decode_made(&given, 1, 42, &made);
		assert_int_equal(given.count, 1);
		assert_int_equal(record->kind, RECORD_EVENT);
		assert_int_equal(record->event, 7);
		assert_int_equal(record->ts, 42);
		assert_int_equal(record->pid, -5);
		assert_int_equal(record->flags, 0x08);
		assert_true(record_in_interrupt(record));
		assert_int_equal(record->fields.shrinker, 0xffff888012345678);
		assert_int_equal(record->fields.callback, 0xffffffff81300000);
		assert_int_equal(record->fields.gfp, 0x80000cc0);
		assert_int_equal(record->fields.nid, -2);
		assert_int_equal(record->fields.memcg_id, i % 2 ? 0x123456789abc : 0);
		assert_int_equal(record->fields.nr_reclaimed, 0);
		assert_int_equal(record->raw_size, made.at);
		assert_ptr_equal(record->raw, made.bytes);
		decode_free(given.decode);
	}
}

static void fields_that_share_a_member(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[1], true);
	add(&given, 0, EVENT_SLAB_END, slab_end);
	add(&given, 1, EVENT_THROTTLED, throttled);
	add(&given, 2, EVENT_TRY_TO_COMPACT, compact);
	add(&given, 3, EVENT_DIRECT_RECLAIM_END, reclaim_end);

	begin_record(&made, &made_layouts[1], 501, 0, 1);
	made_put(&made, 1, 8);
	made_put(&made, 0, 8);
	made_put(&made, 2, 8);
	made_put(&made, (uint64_t)-7, 4);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[0].fields.status, -7);

	begin_record(&made, &made_layouts[1], 502, 0, 1);
	made_put(&made, 1, 4);
	made_put(&made, 100000, 4);
	made_put(&made, 98765, 4);
	made_put(&made, 4, 4);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[1].fields.status, 4);
	assert_int_equal(given.records[1].fields.usec_delayed, 98765);
	assert_int_equal(given.records[1].fields.nid, 1);

	begin_record(&made, &made_layouts[1], 503, 0, 1);
	made_put(&made, 9, 4);
	made.at += 4;
	made_put(&made, 0xcc0, 8);
	made_put(&made, 1, 4);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[2].fields.order, 9);
	assert_int_equal(given.records[2].fields.gfp, 0xcc0);

	begin_record(&made, &made_layouts[1], 504, 0, 1);
	made_put(&made, 0x1122334455667788, 8);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[3].fields.nr_reclaimed, 0x1122334455667788);
	assert_int_equal(given.records[3].fields.order, 0);
	decode_free(given.decode);
}

static void narrow_fields_keep_their_sign(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	for (size_t order = 0; order < 2; order++) {
		start(&given, &made_layouts[order], true);
		add(&given, 0, EVENT_THROTTLED, narrow);
		begin_record(&made, &made_layouts[order], 507, 0, 1);
		made_put(&made, 0xfffd, 2);
		made_put(&made, 0xfffd, 2);
		decode_made(&given, 0, 1, &made);
		assert_int_equal(given.records[0].fields.nid, -3);
		assert_int_equal(given.records[0].fields.order, 65533);
		decode_free(given.decode);
	}
}

/* A user's event may have fields of the same names, which mean something else there. */
static void fields_of_a_user_are_not_bound(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, 0, EVENT_USER, reclaim_end);
	begin_record(&made, &made_layouts[0], 504, 0, 1);
	made_put(&made, 5, 8);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.records[0].fields.nr_reclaimed, 0);
	decode_free(given.decode);
}

/* ---- indentation ---- */

static void indent_is_kept_by_cpu(void **state)
{
	static const int expected[] = { 0, 2, 2, 0, -1 };
	struct made_page exit, event;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	add(&given, 0, EVENT_DIRECT_RECLAIM_END, reclaim_end);
	begin_record(&event, &made_layouts[0], 504, 0, 1);
	made_put(&event, 5, 8);

	decode_made(&given, 1, 1, &event); /* before the first exit */
	put_exit(&exit, &made_layouts[0], EXIT_6_1, 1, 3);
	decode_made(&given, 1, 2, &exit);
	decode_made(&given, 1, 3, &event);
	decode_made(&given, 0, 4, &event); /* another CPU */
	put_exit(&exit, &made_layouts[0], EXIT_6_1, 1, 0);
	decode_made(&given, 1, 5, &exit);
	decode_made(&given, 1, 6, &event);
	assert_int_equal(given.count, 6);
	assert_int_equal(given.records[0].indent, expected[0]);
	assert_int_equal(given.records[2].indent, expected[2]);
	assert_int_equal(given.records[3].indent, expected[3]);
	assert_int_equal(given.records[5].indent, expected[4]);
	/* a CPU that cannot be has no state, and harms none */
	decode_made(&given, -1, 7, &exit);
	decode_made(&given, 1000000, 8, &event);
	assert_int_equal(given.records[7].indent, 0);
	decode_free(given.decode);
}

/* ---- our own mark ---- */

static void decode_print(struct given *given, const char *text, size_t size)
{
	struct made_page made;

	begin_record(&made, &made_layouts[0], 5, 0, 77);
	made_put(&made, 0xffffffff81000000, 8);
	made_bytes(&made, text, size);
	decode_made(given, 0, 123, &made);
}

static void mark_of_the_clock(void **state)
{
	static const char plain[] = "allocfilt: realtime 1763733305.000000042";
	static const char newline[] = "allocfilt: realtime 1763733305.999999999\n";
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_PRINT, EVENT_USER, print);
	decode_print(&given, plain, sizeof(plain));
	decode_print(&given, newline, sizeof(newline));
	decode_print(&given, plain, sizeof(plain) - 1); /* no NUL behind it */
	assert_int_equal(given.count, 3);
	assert_int_equal(given.records[0].kind, RECORD_CLOCK);
	assert_int_equal(given.records[0].ts, 123);
	assert_int_equal(given.records[0].pid, 77);
	assert_int_equal(given.records[0].realtime, 1763733305000000042);
	assert_int_equal(given.records[1].realtime, 1763733305999999999);
	assert_int_equal(given.records[2].realtime, 1763733305000000042);
	decode_free(given.decode);
}

static void marks_of_others(void **state)
{
	static const char *const texts[] = {
		"",
		"hello",
		"allocfilt: ",
		"allocfilt: realtime ",
		"allocfilt: realtime 12",
		"allocfilt: realtime 12.",
		"allocfilt: realtime 12.5",
		"allocfilt: realtime 12.0000000001",
		"allocfilt: realtime 12.+12345678",
		"allocfilt: realtime -1.000000000",
		"allocfilt: realtime 12 .00000000",
		"allocfilt: realtime 12.000000000 and more",
		"allocfilt: realtime 99999999999.000000000",
		"x allocfilt: realtime 12.000000000",
	};
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_PRINT, EVENT_USER, print);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		decode_print(&given, texts[i], strlen(texts[i]) + 1);
	decode_print(&given, "", 0);
	assert_int_equal(given.count, 0);
	assert_int_equal(decode_damaged(given.decode), 0);
	assert_int_equal(decode_unknown(given.decode, NULL), 0);
	decode_free(given.decode);
}

/* ---- what is dropped, and what is counted ---- */

static void unknown_types_are_counted(void **state)
{
	struct made_page made;
	struct given given;
	int first = 0;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, 0, EVENT_DIRECT_RECLAIM_END, reclaim_end);
	assert_int_equal(decode_unknown(given.decode, &first), 0);
	begin_record(&made, &made_layouts[0], 4711, 0, 1);
	decode_made(&given, 0, 1, &made);
	begin_record(&made, &made_layouts[0], 65535, 0, 1);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_unknown(given.decode, &first), 2);
	assert_int_equal(first, 4711);
	assert_int_equal(given.count, 0);
	decode_free(given.decode);
}

static void ignored_types_are_not(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	add(&given, DECODE_IGNORE, EVENT_USER, reclaim_end);
	begin_record(&made, &made_layouts[0], 504, 0, 1);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_unknown(given.decode, NULL), 0);
	assert_int_equal(decode_damaged(given.decode), 0);
	assert_int_equal(given.count, 0);
	decode_free(given.decode);
}

static int times_asked;

static void ignore_reclaim_end(void *sink_context)
{
	times_asked++;
	add(sink_context, DECODE_IGNORE, EVENT_USER, reclaim_end);
}

static void more_formats_are_asked_for_once(void **state)
{
	struct made_page made;
	struct given given = { 0 };
	const struct decode_setup setup = {
		.layout = made_layouts[0],
		.sink = take,
		.sink_context = &given,
		.more_formats = ignore_reclaim_end,
	};
	int first = 0;

	(void)state;
	given.decode = decode_new(&setup);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	times_asked = 0;
	begin_record(&made, &made_layouts[0], 504, 0, 1);
	decode_made(&given, 0, 1, &made);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_unknown(given.decode, NULL), 0);
	begin_record(&made, &made_layouts[0], 4711, 0, 1);
	decode_made(&given, 0, 1, &made);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_unknown(given.decode, &first), 2);
	assert_int_equal(first, 4711);
	assert_int_equal(times_asked, 1);
	assert_int_equal(given.count, 0);
	decode_free(given.decode);
}

static void short_records_are_damaged(void **state)
{
	struct made_page made;
	struct given given;
	size_t whole;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	put_exit(&made, &made_layouts[0], EXIT_6_1, 1, 3);
	whole = made.at;
	for (made.at = 0; made.at < whole; made.at++)
		decode_made(&given, 0, 1, &made);
	assert_int_equal(given.count, 0);
	assert_int_equal(decode_damaged(given.decode), whole);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(given.count, 1);
	decode_free(given.decode);
}

static void losses_are_handed_on(void **state)
{
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	assert_int_equal(decode_lost(given.decode, 5, 900, 17), 0);
	assert_int_equal(given.records[0].kind, RECORD_LOST);
	assert_int_equal(given.records[0].cpu, 5);
	assert_int_equal(given.records[0].ts, 900);
	assert_int_equal(given.records[0].lost, 17);
	given.stop_with = -EIO;
	assert_int_equal(decode_lost(given.decode, 5, 900, -1), -EIO);
	decode_free(given.decode);
}

static void sink_stops(void **state)
{
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, DECODE_FUNCGRAPH_EXIT, EVENT_USER, exit_6_1);
	put_exit(&made, &made_layouts[0], EXIT_6_1, 1, 3);
	given.stop_with = -ENOSPC;
	assert_int_equal(decode_record(given.decode, 0, 1, made.bytes, made.at), -ENOSPC);
	decode_free(given.decode);
}

/* ---- formats ---- */

static void formats_that_are_none(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"name: x\n",
		"ID: 5\n",
		"name: x\nID: \nformat:\n",
		"name: x\nID: -5\n",
		"name: x\nID: 65536\nformat:\n" COMMON "\nprint fmt: \"\"\n",
		"name: x\nID: 99999999999999999999\nformat:\n",
		"name: x\nID: 7\n",
		"name: x\nID: 7\nformat:\n",
		"<html><body>404</body></html>\n",
		/* no common_pid */
		"name: x\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\n"
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->a\n",
	};
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(decode_add_format(given.decode, 0, EVENT_USER, "system", texts[i],
						   strlen(texts[i])),
				 -EINVAL);
	decode_free(given.decode);
}

static void exit_needs_its_fields(void **state)
{
	static const char *const fields[] = { "func", "depth", "calltime", "rettime" };
	char text[sizeof(exit_6_1)], name[32];
	struct given given;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		start(&given, &made_layouts[0], true);
		memcpy(text, exit_6_1, sizeof(text));
		snprintf(name, sizeof(name), " %s;", fields[i]);
		strstr(text, name)[1] = 'z';
		assert_int_equal(decode_add_format(given.decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER,
						   "ftrace", text, strlen(text)),
				 -EINVAL);
		decode_free(given.decode);
	}
}

static void formats_are_added_once(void **state)
{
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, 0, EVENT_DIRECT_RECLAIM_END, reclaim_end);
	assert_int_equal(decode_add_format(given.decode, 1, EVENT_USER, "system", reclaim_end,
					   strlen(reclaim_end)),
			 -EEXIST);
	decode_free(given.decode);
}

/* The bytes behind the end could belong to a whole format; they must not be read. */
static void cut_formats(void **state)
{
	const size_t whole = strlen(slab_start_7_3);
	struct given given;

	(void)state;
	for (size_t length = 0; length <= whole; length++) {
		start(&given, &made_layouts[0], true);
		assert_int_equal(decode_add_format(given.decode, 0, EVENT_SLAB_START, "vmscan",
						   slab_start_7_3, length),
				 length < whole ? -EINVAL : 0);
		decode_free(given.decode);
	}
}

/* ---- text ---- */

static void text_of_an_event(void **state)
{
	char text[256];
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[1], true);
	add(&given, 0, EVENT_SLAB_START, slab_start_7_3);
	put_slab_start(&made, &made_layouts[1], true);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_text(given.decode, &given.records[0], text, sizeof(text)), 106);
	assert_string_equal(text,
			    "mm_shrink_slab_start: symbol_ffffffff81300000_S ffff888012345678: "
			    "nid: -2 pid: -5 memcg_id: 20015998343868");
	decode_free(given.decode);
}

static void text_is_cut_to_its_room(void **state)
{
	char text[64];
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, 0, EVENT_DIRECT_RECLAIM_END, reclaim_end);
	begin_record(&made, &made_layouts[0], 504, 0, 1);
	made_put(&made, 5, 8);
	decode_made(&given, 0, 1, &made);
	assert_int_equal(decode_text(given.decode, &given.records[0], text, sizeof(text)), 44);
	assert_string_equal(text, "mm_vmscan_direct_reclaim_end: nr_reclaimed=5");
	for (size_t size = 1; size <= 45; size++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(decode_text(given.decode, &given.records[0], text, size),
				 size - 1);
		assert_int_equal(text[size - 1], '\0');
		assert_int_equal(text[size], 'x');
	}
	decode_free(given.decode);
}

static void text_by_the_library(void **state)
{
	char text[64];
	struct made_page made;
	struct given given;

	(void)state;
	start(&given, &made_layouts[0], true);
	add(&given, 0, EVENT_USER, with_array);
	begin_record(&made, &made_layouts[0], 505, 0, 1);
	made_bytes(&made, "\x01\x02\xfe\xff", 4);
	decode_made(&given, 0, 1, &made);
	decode_text(given.decode, &given.records[0], text, sizeof(text));
	assert_string_equal(text, "of_a_user: bytes=01 02 fe ff");
	decode_text(given.decode, &given.records[0], text, 15);
	assert_string_equal(text, "of_a_user: byt");
	decode_free(given.decode);
}

/* ---- damaged data ---- */

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void made_payload(struct made_page *page, uint32_t delta, const struct made_page *payload)
{
	made_record(page, delta, payload->bytes, (payload->at + 3) / 4 * 4);
}

/* A page with a record of each kind. */
static void make_mixed_page(struct made_page *page, const struct page_layout *layout)
{
	struct made_page payload;

	made_begin(page, layout, 1000000);
	for (int i = 0; i < 5; i++) {
		put_exit(&payload, layout, EXIT_6_1, 0xffffffff81234560, i);
		made_payload(page, 100, &payload);
		put_slab_start(&payload, layout, true);
		made_payload(page, 200, &payload);
		made_time(page, 30, 1ull << 30);
		begin_record(&payload, layout, 5, 0, 1);
		made_put(&payload, 1, 8);
		made_bytes(&payload, "allocfilt: realtime 1763733305.000000042", 41);
		made_payload(page, 300, &payload);
		made_padding(page, 3, 24);
	}
	made_end(page, MADE_MISSED);
}

struct fuzz {
	struct decode *decode;
	uint64_t records;
};

/* Touches all of a record, so that ASan sees what is not there. */
static int touch(void *context, const struct record *record)
{
	struct fuzz *fuzz = context;
	const unsigned char *raw = record->raw;
	char text[300];
	unsigned int sum = 0;

	for (size_t i = 0; i < record->raw_size; i++)
		sum += raw[i];
	assert_in_range(sum, 0, 255 * record->raw_size);
	if (record->kind == RECORD_EVENT)
		assert_in_range(decode_text(fuzz->decode, record, text, sizeof(text)), 20, 299);
	if (record->kind == RECORD_WINDOW)
		assert_in_range(record->window.depth, 0, 1024);
	fuzz->records++;
	return 0;
}

static void mutated_pages(void **state)
{
	struct page_sink sink = { .record = decode_record, .lost = decode_lost };
	struct decode_setup setup = { .local_clock = true, .sink = touch };
	uint64_t seed = 1234567890123, states[PAGE_DAMAGED + 1] = { 0 };
	struct made_page page, mutated;
	struct page_reader *reader;
	struct fuzz fuzz = { 0 };
	enum page_state found;

	(void)state;
	setup.layout = made_layouts[0];
	setup.sink_context = &fuzz;
	fuzz.decode = sink.context = decode_new(&setup);
	decode_add_format(fuzz.decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace", exit_6_1,
			  strlen(exit_6_1));
	decode_add_format(fuzz.decode, DECODE_PRINT, EVENT_USER, "ftrace", print, strlen(print));
	decode_add_format(fuzz.decode, 0, EVENT_SLAB_START, "vmscan", slab_start_7_3,
			  strlen(slab_start_7_3));
	reader = page_reader_new(&made_layouts[0], &sink);
	make_mixed_page(&page, &made_layouts[0]);
	for (int round = 0; round < 20000; round++) {
		mutated = page;
		for (uint64_t n = next_random(&seed) % 4 + 1; n; n--)
			mutated.bytes[next_random(&seed) % page.at] =
				(unsigned char)next_random(&seed);
		assert_int_equal(page_read(reader, 0, mutated.bytes, MADE_PAGE_SIZE, &found), 0);
		states[found]++;
	}
	/* most mutations hit a payload, some a length or the header */
	assert_in_range(states[PAGE_GOOD], 10000, 19900);
	assert_in_range(states[PAGE_DAMAGED], 100, 10000);
	assert_in_range(fuzz.records, 100000, 400000);
	page_reader_free(reader);
	decode_free(fuzz.decode);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_all_layouts),
		cmocka_unit_test(windows_of_32_bit),
		cmocka_unit_test(windows_of_another_clock),
		cmocka_unit_test(role_is_asked_once),
		cmocka_unit_test(roles_beyond_the_table),
		cmocka_unit_test(impossible_depth_is_damage),
		cmocka_unit_test(slab_start_of_both_layouts),
		cmocka_unit_test(fields_that_share_a_member),
		cmocka_unit_test(narrow_fields_keep_their_sign),
		cmocka_unit_test(fields_of_a_user_are_not_bound),
		cmocka_unit_test(indent_is_kept_by_cpu),
		cmocka_unit_test(mark_of_the_clock),
		cmocka_unit_test(marks_of_others),
		cmocka_unit_test(unknown_types_are_counted),
		cmocka_unit_test(ignored_types_are_not),
		cmocka_unit_test(more_formats_are_asked_for_once),
		cmocka_unit_test(short_records_are_damaged),
		cmocka_unit_test(losses_are_handed_on),
		cmocka_unit_test(sink_stops),
		cmocka_unit_test(formats_that_are_none),
		cmocka_unit_test(exit_needs_its_fields),
		cmocka_unit_test(formats_are_added_once),
		cmocka_unit_test(cut_formats),
		cmocka_unit_test(text_of_an_event),
		cmocka_unit_test(text_is_cut_to_its_room),
		cmocka_unit_test(text_by_the_library),
		cmocka_unit_test(mutated_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
