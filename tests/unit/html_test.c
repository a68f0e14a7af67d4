// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The form `html`: what names from outside may do to the page, and its limits. The data are held
 * against the form json by tests/replay/html.pl.
 */
#include "fake_resolver.h"
#include "made_named.h"
#include "made_view.h"
#include "unit_test.h"
#include "written_text.h"

#include "allocfilt/output/form.h"

#define BAD "\"'<!--</script></pre><script>\xff\x1b&lt;\n\xe2\x80\xa8"
#define HARMLESS                                                                                   \
	"\\\"'\\u003c!--\\u003c/script>\\u003c/pre>\\u003cscript>\\\\xff\\u001b&lt;\\u000a\xe2\x80\xa8"
#define IN_TEXT "\"'&lt;!--&lt;/script>&lt;/pre>&lt;script>\\xff\\x1b&amp;lt;\\x0a\xe2\x80\xa8"

static int bad_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	return snprintf(text, size, "%s", BAD);
}

static const char *bad_shrinker(void *context, uint64_t shrinker)
{
	return BAD;
}

static const uint64_t frames[] = { 1, 2 };

static size_t stack(void *context, uint32_t number, const uint64_t **ret_frames)
{
	*ret_frames = frames;
	return COUNT(frames);
}

static struct resolver resolver = { .symbol = bad_symbol,
				    .shrinker = bad_shrinker,
				    .stack = stack };
static struct plan plan = { .threshold = 134000 };
static struct options options = { .format = "html" };
static struct output *output;
static struct writer *writer;

static void start(const char *release)
{
	static struct data_source source;
	struct output_setup setup = { &options, &plan, &source, &resolver, NULL };

	source.release = release;
	source.host = release;
	writer = begin_text();
	setup.writer = writer;
	output = output_new(&setup);
	assert_non_null(output);
	make_view(&plan, &resolver, 1);
	view.report = plan.threshold;
}

static const char *end(void)
{
	assert_int_equal(output_summary(output, &view), 0);
	output_free(output);
	free_view();
	return end_text(writer);
}

static void stall(const char *name, uint64_t start_ts, uint64_t ns)
{
	const struct stall_slice shrinker = { .group = PHASE_DIRECT_RECLAIM, .freed = 1, .ns = ns };
	struct stall one = {
		.role = ROLE_NONE,
		.start = start_ts,
		.end = start_ts + ns,
		.shrinkers = &shrinker,
		.nr_shrinkers = 1,
		.gfp_names = name,
		.compaction = name,
		.stack = 1,
	};
	struct made_named made;

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_UNKNOWN, ns);
	make_named(&made, &one, name, name);
	made.info.pid = 7;
	snprintf(made.info.process, sizeof(made.info.process), "%s", name);
	made.named.function = made.named.memcg = name;
	made.named.resolver = &resolver;
	summary_stall(view.summary, &made.named);
	assert_int_equal(output_stall(output, &made.named), 0);
	view.since = view.since && view.since < one.start ? view.since : one.start;
	view.ts = view.ts > one.end ? view.ts : one.end;
}

/* In each place in which a name may stand, it stands as text, and the page has no other script than its own. */
UNIT_TEST(test_names)
{
	const char *text;

	start(BAD);
	stall(BAD, 1000000, 500000);
	text = end();
	assert_int_equal(count_in(text, "<script"), 2);
	assert_int_equal(count_in(text, "</script>"), 2);
	assert_int_equal(count_in(text, "<!--"), 0);
	assert_int_equal(count_in(text, "</pre>"), 1);
	assert_int_equal(count_in(text, "\xff"), 0);
	assert_int_equal(count_in(text, "\x1b"), 0);
	text_has(text, "\"host\":\"" HARMLESS "\"");
	text_has(text, "\"name\":\"" HARMLESS "\"");
	text_has(text, "\"process\":\"\\\"'\\u003c!--\\u003c/");
	text_has(text, "\"cgroup\":\"" HARMLESS "\"");
	text_has(text, "\"memcg\":\"" HARMLESS "\"");
	text_has(text, "\"stack\":[\"" HARMLESS "\"");
	text_has(text, "{\"name\":\"" HARMLESS "\",\"total_ns\":500000,");
	text_has(text, IN_TEXT);
}

/* A hundred thousand stalls: the page is no larger than its tables, and has the longest of them. */
UNIT_TEST(test_many)
{
	const char *text;
	char name[16];

	start("");
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "t%d", i % 5000);
		stall(name, i * 36000000ull, 134000 + (uint64_t)(i * 7919 % 100000));
	}
	text = end();
	assert_true(strlen(text) < 512 << 10);
	text_has(text, "</body>\n</html>\n");
	text_has(text, "100000 stalls of 134 us or more");
	assert_int_equal(count_in(text, "{\"type\":\"stall\""), 200);
	/* 7919 and 100000 have no common divisor: each time comes once. */
	text_has(text, "\"duration_ns\":233999,");
	text_has(text, "\"duration_ns\":233800,");
	assert_int_equal(count_in(text, "\"duration_ns\":233799,"), 0);
	/* 3,600 s are 128 columns of 2^15 ms at most. */
	text_has(text, "\"width_ns\":32768000000,");
}

/* A time that equals an edge is in the row of that edge: 256 us is the fifth. */
UNIT_TEST(test_edges)
{
	start("");
	stall("t", 0, 256000);
	stall("t", 0, 256001);
	text_has(end(), "\"heat\":[0,0,0,0,1,1,0,");
}

/* A stall with more shrinkers and a longer stack than fit is shown with fewer, not left out. */
UNIT_TEST(test_slices)
{
	struct stall_slice shrinkers[STALL_SLICES_MAX];
	struct stall one = { .role = ROLE_NONE,
			     .end = 500000,
			     .shrinkers = shrinkers,
			     .nr_shrinkers = COUNT(shrinkers),
			     .sleeps = shrinkers,
			     .nr_sleeps = COUNT(shrinkers),
			     .stack = 1 };
	struct made_named made;
	const char *text;

	for (size_t i = 0; i < COUNT(shrinkers); i++)
		shrinkers[i] =
			(struct stall_slice){ .group = PHASE_OUTSIDE, .ns = 1, .count = i + 1 };
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN, 500000);
	start("");
	make_named(&made, &one, BAD, "");
	made.info.pid = 7;
	made.named.function = BAD;
	made.named.resolver = &resolver;
	assert_int_equal(output_stall(output, &made.named), 0);
	text = end();
	assert_int_equal(count_in(text, "{\"type\":\"stall\""), 1);
	text_has(text, "\"count\":16,\"scanned\":0,\"freed\":0,\"total_ns\":1}],\"sleeps\"");
	assert_int_equal(count_in(text, "\"count\":17,"), 0);
}

UNIT_TEST_MAIN(NULL, NULL)
