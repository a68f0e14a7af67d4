// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tracing/setting.h"

static void assert_parsed(enum step_kind kind, const char *text, const char *value)
{
	char *parsed = setting_parse(kind, text);

	assert_non_null(parsed);
	assert_string_equal(parsed, value);
	free(parsed);
}

static void test_single_values(void **state)
{
	(void)state;
	assert_parsed(STEP_WORD, "[local] global counter\n", "local");
	assert_parsed(STEP_WORD, "local global [x86-tsc]\n", "x86-tsc");
	assert_parsed(STEP_TRACER, "nop\n", "nop");
	assert_parsed(STEP_NUMBER, "134\n", "134");
	assert_parsed(STEP_SIZE, "7 (expanded: 1408)\n", "1408");
	assert_parsed(STEP_SIZE, "4099\n", "4099");
	assert_parsed(STEP_SIZE, "X\n", "X");
	assert_parsed(STEP_ENABLE, "0*\n", "0");
	assert_parsed(STEP_ENABLE, "1*\n", "1");
	assert_parsed(STEP_FILTER, "nid == 1 && order > 2\n", "nid == 1 && order > 2");
}

static void test_triggers(void **state)
{
	static const char none[] =
		"# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event\n";
	char *text;

	(void)state;
	assert_parsed(STEP_TRIGGER, none, "absent");
	assert_parsed(STEP_TRIGGER, "", "absent");
	assert_parsed(STEP_TRIGGER, "traceoff:count=1\n", "absent");
	assert_parsed(STEP_TRIGGER, "stacktrace:unlimited\n", "present");
	assert_parsed(STEP_TRIGGER, "traceoff:count=1\nstacktrace:count=5 if order > 2\n",
		      "present");
	assert_parsed(STEP_TRIGGER, "hist:keys=stacktrace:vals=hitcount\n", "absent");
	text = setting_text(STEP_TRIGGER, "present");
	assert_string_equal(text, "stacktrace");
	free(text);
	text = setting_text(STEP_TRIGGER, "absent");
	assert_string_equal(text, "!stacktrace");
	free(text);
}

static void test_lists(void **state)
{
	(void)state;
	assert_parsed(STEP_LIST, "#### all functions enabled ####\n", "");
	assert_parsed(STEP_LIST, "vfs_read\next4_sync_fs [ext4]\n", "vfs_read\next4_sync_fs\n");
	assert_parsed(STEP_LIST, "vfs_read\nvfs_write:traceoff:unlimited\n", "vfs_read\n");
	assert_parsed(STEP_LIST, "x:mod:ext4\n", "x:mod:ext4\n");
	assert_parsed(STEP_EVENTS, "sched:sched_switch\nvmscan:a\n",
		      "sched:sched_switch\nvmscan:a\n");
	assert_parsed(STEP_PIDS, "no pid\n", "");
	assert_parsed(STEP_PIDS, "1\n17\n", "1\n17\n");
	assert_parsed(STEP_THREADS, "no pid\n", "");
	assert_parsed(STEP_THREADS, "1\n17\n", "1\n17\n");
}

static void test_text_to_write(void **state)
{
	char *text = setting_text(STEP_FILTER, "none");

	(void)state;
	assert_string_equal(text, "0");
	free(text);
	text = setting_text(STEP_FILTER, "nid == 1");
	assert_string_equal(text, "nid == 1");
	free(text);
}

static void test_same(void **state)
{
	(void)state;
	assert_true(setting_same(STEP_LIST, "a\nb\n", "b\na\na\n"));
	assert_false(setting_same(STEP_LIST, "a\nb\n", "a\n"));
	assert_false(setting_same(STEP_LIST, "", "a\n"));
	assert_false(setting_same(STEP_LIST, "a\nb\n", "a\nc\n"));
	assert_true(setting_same(STEP_NUMBER, "50", "50"));
	assert_false(setting_same(STEP_NUMBER, "", "0"));
	assert_false(setting_same(STEP_WORD, "mono", "mono_raw"));
}

static void test_took(void **state)
{
	(void)state;
	assert_true(setting_accepted(STEP_SIZE, "4096", "4099"));
	assert_true(setting_accepted(STEP_SIZE, "1408", "1410"));
	assert_false(setting_accepted(STEP_SIZE, "4096", "1410"));
	assert_false(setting_accepted(STEP_SIZE, "4096", "8198"));
	assert_false(setting_accepted(STEP_NUMBER, "134", "0"));
	assert_false(setting_accepted(STEP_LIST, "a\n", ""));
	assert_true(setting_accepted(STEP_PIDS, "1\n2\n", "1\n"));
	assert_true(setting_accepted(STEP_THREADS, "1\n2\n", "1\n3\n"));
}

static void test_ours(void **state)
{
	(void)state;
	assert_true(setting_ours(STEP_NUMBER, "0 50", "50"));
	assert_true(setting_ours(STEP_NUMBER, "0 50", "0"));
	assert_false(setting_ours(STEP_NUMBER, "0 50", "5"));
	assert_false(setting_ours(STEP_NUMBER, "134", "77"));
	assert_true(setting_ours(STEP_SIZE, "4096", "4099"));
	assert_false(setting_ours(STEP_SIZE, "4099", "1410"));
	/* a task that has exited is gone from the list */
	assert_true(setting_ours(STEP_PIDS, "1\n17\n", "17\n"));
	assert_true(setting_ours(STEP_PIDS, "17\n", ""));
	assert_false(setting_ours(STEP_PIDS, "1\n", "99\n"));
	assert_false(setting_ours(STEP_PIDS, "1\n", "1\n99\n"));
	assert_false(setting_ours(STEP_PIDS, "", "99\n"));
	assert_true(setting_ours(STEP_THREADS, "1\n", "1\n99\n"));
}

/* A kill in the middle of a list. */
static void test_part(void **state)
{
	(void)state;
	assert_true(setting_part(STEP_LIST, "a\nb\nc\n", "x\ny\n", "a\nb\n"));
	assert_true(setting_part(STEP_LIST, "a\nb\nc\n", "x\ny\n", "x\n"));
	assert_true(setting_part(STEP_LIST, "a\nb\nc\n", "x\ny\n", ""));
	assert_false(setting_part(STEP_LIST, "a\nb\nc\n", "x\ny\n", "a\nz\n"));
	assert_false(setting_part(STEP_NUMBER, "1", "2", "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_values), cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_lists),	      cmocka_unit_test(test_text_to_write),
		cmocka_unit_test(test_same),	      cmocka_unit_test(test_took),
		cmocka_unit_test(test_ours),	      cmocka_unit_test(test_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
