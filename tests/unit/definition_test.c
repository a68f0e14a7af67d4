// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/base.h"
#include "allocfilt/config.h"
#include "config/traceable.h"

static void parse(struct definition *definition, const char *text)
{
	const char *reason;

	if (definition_parse(definition, text, &reason))
		fail_msg("%s: %s", text, reason);
}

static void refused(const char *text, int error, const char *expected)
{
	struct definition definition;
	const char *reason;

	assert_int_equal(definition_parse(&definition, text, &reason), -error);
	assert_string_equal(reason, expected);
	assert_null(definition.title);
	assert_null(definition.functions);
	assert_null(definition.events);
}

static void test_whole(void **state)
{
	struct definition definition;

	(void)state;
	parse(&definition, " swap-out (mine) :  swap_writepage swap_writeout.isra.0 ; "
			   "events  vmscan:mm_vmscan_write_folio\tblock:block_rq_issue ");
	assert_string_equal(definition.title, "swap-out (mine)");
	assert_string_equal(definition.functions[0], "swap_writepage");
	assert_string_equal(definition.functions[1], "swap_writeout.isra.0");
	assert_null(definition.functions[2]);
	assert_string_equal(definition.events[0], "vmscan:mm_vmscan_write_folio");
	assert_string_equal(definition.events[1], "block:block_rq_issue");
	assert_null(definition.events[2]);
	definition_free(&definition);
}

static void test_without_events(void **state)
{
	struct definition definition;

	(void)state;
	parse(&definition, "a:b");
	assert_string_equal(definition.title, "a");
	assert_string_equal(definition.functions[0], "b");
	assert_null(definition.events);
	definition_free(&definition);
}

static void test_mistakes(void **state)
{
	(void)state;
	refused("", EINVAL, "has no colon behind its title");
	refused("a b", EINVAL, "has no colon behind its title");
	refused("a; events b:c", EINVAL, "has no colon behind its title");
	refused(": b", EINVAL, "has no title before the colon");
	refused("a:", EINVAL, "has no kernel function");
	refused("a: ; events b:c", EINVAL, "has no kernel function");
	refused("a: b;", EINVAL, "has no 'events' after the semicolon");
	refused("a: b; event c:d", EINVAL, "has no 'events' after the semicolon");
	refused("a: b; eventsc:d", EINVAL, "has no 'events' after the semicolon");
	refused("a: b; events", EINVAL, "has no event after 'events'");
	refused("a: b; events c", EINVAL, "has a word that cannot be an event");
	refused("a: b; events c:d; events e:f", EINVAL, "has a word that cannot be an event");
	refused("a: b c:d", EINVAL, "has a word that cannot be a kernel function");
	refused("a: b*", EINVAL, "has a word that cannot be a kernel function");
	refused("a: b, c", EINVAL, "has a word that cannot be a kernel function");
	refused("a\"b: c", EINVAL,
		"has a title with other characters than letters, digits, blanks and _-./()");
}

static void test_title_limit(void **state)
{
	struct definition definition;

	(void)state;
	parse(&definition, "1234567890123456789012345678901: b");
	definition_free(&definition);
	refused("12345678901234567890123456789012: b", E2BIG, "has a title of more than 31 bytes");
}

static void test_list_limits(void **state)
{
	struct definition definition;
	char text[512] = "t: a1 a2 a3 a4 a5 a6 a7 a8";

	(void)state;
	parse(&definition, text);
	assert_int_equal(string_list_count(definition.functions), 8);
	definition_free(&definition);
	refused("t: a1 a2 a3 a4 a5 a6 a7 a8 a9", E2BIG, "has more than 8 kernel functions");
	strcpy(text, "t: a; events");
	for (int i = 0; i < 16; i++)
		sprintf(text + strlen(text), " s:e%d", i);
	parse(&definition, text);
	assert_int_equal(string_list_count(definition.events), 16);
	definition_free(&definition);
	strcat(text, " s:e16");
	refused(text, E2BIG, "has more than 16 events");
}

static bool same(const char *a, const char *b)
{
	struct definition one, other;
	bool ret;

	parse(&one, a);
	parse(&other, b);
	ret = definition_same(&one, &other);
	definition_free(&one);
	definition_free(&other);
	return ret;
}

static void test_same(void **state)
{
	(void)state;
	assert_true(same("a: b c; events d:e", "a :b  c ;events d:e"));
	assert_false(same("a: b", "x: b"));
	assert_false(same("a: b c", "a: c b"));
	assert_false(same("a: b c", "a: b"));
	assert_false(same("a: b; events d:e", "a: b"));
	assert_false(same("a: b; events d:e", "a: b; events d:f"));
}

static void test_texts(void **state)
{
	char **texts = NULL;

	(void)state;
	assert_int_equal(string_list_count(NULL), 0);
	assert_int_equal(string_list_add(&texts, "a", 2), 0);
	assert_int_equal(string_list_add(&texts, "b", 2), 0);
	assert_int_equal(string_list_add(&texts, "a", 2), 0);
	assert_int_equal(string_list_add(&texts, "c", 2), -E2BIG);
	assert_int_equal(string_list_count(texts), 2);
	assert_true(string_list_contains(texts, "b"));
	assert_false(string_list_contains(texts, "c"));
	assert_false(string_list_equal(texts, NULL));
	assert_true(string_list_equal(NULL, NULL));
	string_list_free(texts);
	string_list_free(NULL);
}

static void test_traceable(void **state)
{
	(void)state;
	assert_true(traceable_function("shrink_slab.part.0"));
	assert_false(traceable_function(""));
	assert_false(traceable_function("shrink_*"));
	assert_false(traceable_function("schedule:traceoff"));
	assert_true(traceable_pattern("shrink_[a-z]*?"));
	assert_false(traceable_pattern("a b"));
	assert_false(traceable_pattern("a:b"));
	assert_true(traceable_event("kmem:mm_page_alloc"));
	assert_false(traceable_event("kmem"));
	assert_false(traceable_event("kmem:"));
	assert_false(traceable_event(":kfree"));
	assert_false(traceable_event("../kmem:kfree"));
	assert_false(traceable_event("kmem:../kfree"));
	assert_false(traceable_event("a:b:c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	    cmocka_unit_test(test_without_events),
		cmocka_unit_test(test_mistakes),    cmocka_unit_test(test_title_limit),
		cmocka_unit_test(test_list_limits), cmocka_unit_test(test_same),
		cmocka_unit_test(test_texts),	    cmocka_unit_test(test_traceable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
