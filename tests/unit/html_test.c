// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The form `html`: what names from outside may do to the page, and its limits. The figures are held
 * against the form json by tests/replay/html.pl.
 */
#include "fake_resolver.h"
#include "made_view.h"
#include "unit_test.h"
#include "written_text.h"

#include "allocfilt/output/form.h"

#define BAD "\"'></title></style><script src=http://x>\xff\x1b&#60;\xe2\x80\xae"
#define HARMLESS                                                                                   \
	"&#34;&#39;&#62;&#60;/title&#62;&#60;/style&#62;&#60;script src=http://x&#62;\\xff\\x1b&#38;#60;\xe2\x80\xae"

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
	const struct stall_slice shrinker = { .group = PHASE_DIRECT_RECLAIM, .ns = ns };
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
	struct task_info info = { .pid = 7 };
	const struct named_stall named = {
		.stall = &one,
		.name = name,
		.task_info = &info,
		.function = name,
		.memcg = name,
		.resolver = &resolver,
	};

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_UNKNOWN, ns);
	snprintf(info.process, sizeof(info.process), "%s", name);
	snprintf(info.cgroup, sizeof(info.cgroup), "%s", name);
	summary_stall(view.summary, &named);
	assert_int_equal(output_stall(output, &named), 0);
	view.since = view.since && view.since < one.start ? view.since : one.start;
	view.ts = view.ts > one.end ? view.ts : one.end;
}

/* In each place in which a name may stand, it stands as text. */
UNIT_TEST(test_names)
{
	const struct overflow overflow = { BAD, BAD, 3 };
	const char *text;

	start(BAD);
	stall(BAD, 1000000, 500000);
	view.overflows[0] = overflow;
	view.nr_overflows = 1;
	text = end();
	assert_int_equal(count_in(text, "<script"), 0);
	assert_int_equal(count_in(text, "\xff"), 0);
	assert_int_equal(count_in(text, "\x1b"), 0);
	assert_int_equal(count_in(text, "</title>"), 1 + count_in(text, "<rect"));
	assert_int_equal(count_in(text, "</style>"), 1);
	assert_int_equal(count_in(text, "Nothing was lost"), 0);
	text_has(text, "<p class=\"warn\">3 " HARMLESS "</p>");
	text_has(text, "<p class=\"soft\"><bdi>" HARMLESS "</bdi>, ");
	text_has(text, "<tr><th scope=\"row\">kernel</th><td>" HARMLESS "</td></tr>");
	text_has(text, "<th scope=\"row\"><bdi>" HARMLESS "</bdi></th><td>1</td><td>0.500</td>");
	text_has(text, "</b> of <bdi>");
	text_has(text, " in <bdi>" HARMLESS "</bdi></summary>");
	text_has(text, "title=\"" HARMLESS ": 0.500 ms, 100 %\">" HARMLESS " 100 %</span>");
	text_has(text, ", from <bdi>" HARMLESS "</bdi>");
	text_has(text, "<li>" HARMLESS "</li>");
}

/* A hundred thousand stalls: the page is no larger than its tables. */
UNIT_TEST(test_many)
{
	const char *text;
	char name[16];

	start("");
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "t%d", i % 5000);
		stall(name, i * 36000000ull, 134000ull << i % 20);
	}
	text = end();
	assert_true(strlen(text) < (1 << 20) - 1);
	text_has(text, "</body></html>\n");
	text_has(text, "<dd>100000</dd>");
	assert_true(count_in(text, "<rect") > 1000);
	assert_true(count_in(text, "<rect") <= 128 * (LATENCY_EDGES + 1));
	assert_int_equal(count_in(text, "<details open"), SUMMARY_LONGEST_MAX);
	text_has(text, " times a cause had no room of its own here");
}

/* One of each is said as one. */
UNIT_TEST(test_losses)
{
	const char *text;

	start("");
	lose(0, 1);
	text = end();
	text_has(text, ">1 event was lost</p>");
	start("");
	lose(0, 2);
	lose(0, RECORD_LOST_UNKNOWN);
	text = end();
	text_has(text, ">2 events were lost</p>");
	text_has(text, ">1 time events were lost, and nobody knows how many</p>");
}

UNIT_TEST(test_none)
{
	const char *text;

	start(NULL);
	text = end();
	text_has(text, "<dt>stalls of 134 us or more</dt><dd>0</dd>");
	text_has(text, "<th scope=\"row\">shown from</th><td>134 us</td>");
	text_has(text, "</body></html>\n");
	text_has(text, ">Nothing was lost, no stall is incomplete.</p>");
	assert_int_equal(count_in(text, "<svg"), 0);
	assert_int_equal(count_in(text, "href"), 0);
}

UNIT_TEST_MAIN(NULL, NULL)
