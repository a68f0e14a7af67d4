// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output.h"
#include "allocfilt/stall.h"
#include "fake_resolver.h"
#include "made_cpus.h"
#include "unit_test.h"
#include "written_text.h"

extern const struct output_ops trace_form;

/* A stack from its record to the event that it belongs to, and to the lines after that event. */

#define THRESHOLD 100

struct run {
	struct plan *plan;
	struct claims *claims;
	struct data_source source;
	struct resolver resolver;
	struct output output;
	char out[4096];
};

static const uint64_t frames[] = { 0xa0, 0xb0, 0, 0x7fffffff, 0x1234 };

static const char *name(void *context, int pid, uint64_t ts)
{
	return pid == 7 ? "kswapd0" : "a-long-name-here";
}

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	if (address == 0xa0)
		return snprintf(text, size, "compact_zone");
	if (address == 0xb0)
		return snprintf(text, size, "ext4_write [ext4]");
	return snprintf(text, size, "0x%llx", (unsigned long long)address);
}

static size_t event(void *context, const struct record *record, char *text, size_t size)
{
	return (size_t)snprintf(text, size, "event of %llu", (unsigned long long)record->ts);
}

static size_t stack(void *context, uint32_t number, const uint64_t **ret_frames)
{
	*ret_frames = frames;
	return number;
}

static int window_ended(void *context, const struct task_window *window)
{
	struct run *run = context;

	return trace_form.window(&run->output, window);
}

static int pair_ended(void *context, const struct task_pair *pair)
{
	struct run *run = context;

	return pair->slow ? trace_form.pair(&run->output, pair) : 0;
}

static void start(struct run *run, bool migrate_column)
{
	const struct data_source source = { .cpus = made_cpus(2), .local_clock = true };
	const struct limits limits = { .tasks = 8, .events = 64 };
	const struct claims_sink sink = { run, window_ended, pair_ended };

	*run = (struct run){
		.source = source,
		.resolver = { .task = name,
			      .symbol = symbol,
			      .event = event,
			      .stack = stack,
			      .migrate_column = migrate_column },
		.output = { .setup = { .source = &run->source,
				       .resolver = &run->resolver,
				       .writer = begin_text() } },
	};
	run->plan = calloc(1, sizeof(*run->plan));
	assert_non_null(run->plan);
	run->plan->threshold = THRESHOLD;
	run->plan->function_graph = true;
	run->plan->nr_events = 4;
	run->plan->events[0] = (struct plan_event){
		.id = EVENT_COMPACTION_BEGIN,
		.side = EVENT_BEGIN,
		.partner = 1,
		.rule = RULE_OWNER,
		.owners = ROLE_BIT(ROLE_ZONE_COMPACTION),
	};
	run->plan->events[1] = run->plan->events[0];
	run->plan->events[1].side = EVENT_END;
	run->plan->events[1].partner = 0;
	run->plan->events[2] = (struct plan_event){
		.id = EVENT_NODE_RECLAIM_BEGIN,
		.side = EVENT_BEGIN,
		.partner = 3,
		.rule = RULE_PAIR,
	};
	run->plan->events[3] = (struct plan_event){
		.id = EVENT_NODE_RECLAIM_END,
		.side = EVENT_END,
		.partner = 2,
		.rule = RULE_PAIR,
	};
	run->claims = claims_new(run->plan, &source, &limits, &sink);
}

/* The output without the lines of windows, and events from their text on. */
static const char *lines(struct run *run)
{
	const char *text = end_text(run->output.setup.writer);

	run->out[0] = '\0';
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *event = memmem(text, end - text, "/* event", strlen("/* event"));

		if (memmem(text, end - text, "} /*", strlen("} /*")))
			continue;
		text = event ? event : text;
		strncat(run->out, text, end + 1 - text);
	}
	return run->out;
}

static void end(struct run *run)
{
	claims_free(run->claims);
	free(run->plan);
}

static void put_event(struct run *run, uint64_t ts, int pid, int cpu, int number)
{
	struct record record = {
		.kind = RECORD_EVENT,
		.ts = ts,
		.tid = pid,
		.cpu = cpu,
		.event = (uint16_t)number,
	};

	assert_int_equal(claims_record(run->claims, &record), 0);
}

static void put_stack(struct run *run, uint64_t ts, int pid, int cpu, int flags, int preempt)
{
	struct record record = {
		.kind = RECORD_STACK,
		.ts = ts,
		.tid = pid,
		.cpu = cpu,
		.flags = 0,
		.stack = { ts, 2, (uint8_t)flags, (uint8_t)preempt },
	};

	assert_int_equal(claims_record(run->claims, &record), 0);
}

static void put_window(struct run *run, uint64_t from, uint64_t to, int pid)
{
	struct record record = {
		.kind = RECORD_WINDOW,
		.ts = to,
		.tid = pid,
		.window = { .calltime = from, .rettime = to, .role = ROLE_ZONE_COMPACTION },
	};

	assert_int_equal(claims_record(run->claims, &record), 0);
}

static void test_after_its_event(void **state)
{
	struct run run;

	start(&run, true);
	put_event(&run, 1000, 7, 1, 0);
	put_stack(&run, 7091122000, 7, 1, 0, 0);
	put_event(&run, 7091123000, 7, 0, 1);
	put_window(&run, 900, 7091124000, 7);
	assert_string_equal(lines(&run),
			    "/* event of 1000 */\n"
			    "         kswapd0-7       [001] .....     7.091122: <stack trace>\n"
			    " => compact_zone\n"
			    " => ext4_write\n"
			    "/* event of 7091123000 */\n");
	end(&run);
}

/* Another task's, another CPU's, or a second one belongs to none. */
static void test_not_its_own(void **state)
{
	struct run run;

	start(&run, true);
	put_stack(&run, 900, 7, 1, 0, 0);
	put_event(&run, 1000, 7, 1, 0);
	put_stack(&run, 1001, 8, 1, 0, 0);
	put_stack(&run, 1002, 7, 0, 0, 0);
	put_window(&run, 900, 2000, 7);
	assert_string_equal(lines(&run), "/* event of 1000 */\n");
	end(&run);
}

static void test_of_an_open_pair(void **state)
{
	struct run run;

	start(&run, false);
	put_event(&run, 1000, 7, 1, 0);
	put_event(&run, 1100, 7, 1, 2);
	put_stack(&run, 1101, 7, 1, 0, 0);
	put_event(&run, 1400, 7, 1, 3);
	assert_string_equal(lines(&run),
			    "/* event of 1100 */\n"
			    "         kswapd0-7       [001] ....     0.000001: <stack trace>\n"
			    " => compact_zone\n"
			    " => ext4_write\n"
			    "/* event of 1400 */\n");
	end(&run);
}

static void test_marks(void **state)
{
	static const struct {
		int flags, preempt;
		const char *marks;
	} cases[] = {
		{ 0x01, 0x00, "d...." }, { 0x80, 0x00, "b...." }, { 0x81, 0x02, "D..2." },
		{ 0x04, 0x10, ".n..1" }, { 0x24, 0xfa, ".N.af" }, { 0x20, 0x00, ".p..." },
		{ 0x02, 0x00, ".l..." }, { 0x22, 0x00, ".L..." }, { 0x06, 0x00, ".b..." },
		{ 0x26, 0x00, ".B..." }, { 0x08, 0x00, "..h.." }, { 0x10, 0x00, "..s.." },
		{ 0x18, 0x00, "..H.." }, { 0x40, 0x00, "..z.." }, { 0x48, 0x00, "..Z.." },
	};
	char expected[100];
	struct run run;

	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&run, true);
		put_event(&run, 1000, 1234567, 1, 0);
		put_stack(&run, 2000, 1234567, 1, cases[i].flags, cases[i].preempt);
		put_window(&run, 900, 3000, 1234567);
		snprintf(expected, sizeof(expected),
			 "a-long-name-here-1234567 [001] %s     0.000002: <stack trace>",
			 cases[i].marks);
		assert_non_null(strstr(lines(&run), expected));
		end(&run);
	}
}

static void test_odd_frames(void **state)
{
	struct task_window window = { 0 };
	struct record exit = { .kind = RECORD_WINDOW }, begin = { .kind = RECORD_EVENT };
	const struct record *events[] = { &begin };
	struct run run;

	start(&run, true);
	begin.stack.number = 5;
	window.exit = &exit;
	window.events = events;
	window.nr_events = 1;
	assert_int_equal(trace_form.window(&run.output, &window), 0);
	assert_non_null(strstr(lines(&run), " => 0\n => [FTRACE TRAMPOLINE]\n => 0x00001234\n"));
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_after_its_event), cmocka_unit_test(test_not_its_own),
		cmocka_unit_test(test_of_an_open_pair), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_odd_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
