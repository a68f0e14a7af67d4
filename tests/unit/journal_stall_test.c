// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_journald.h"
#include "fake_resolver.h"
#include "journal/stall_entry.h"
#include "unit_test.h"

#define US 1000ull
#define MS 1000000ull

static const uint64_t frames[400];

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	return snprintf(text, size, address == 0xa ? "super_cache_scan" : "scan_%x",
			(unsigned int)address);
}

static const char *label(void *context, uint64_t shrinker)
{
	return shrinker == 1 ? "vda" : NULL;
}

static bool time_text(void *context, uint64_t ts, char *text)
{
	strcpy(text, "2026-11-21T20:00:00.000000001Z");
	return ts;
}

static size_t stack(void *context, uint32_t number, const uint64_t **ret_frames)
{
	*ret_frames = frames;
	return number;
}

static struct resolver resolver = {
	.symbol = symbol,
	.shrinker = label,
	.time = time_text,
	.stack = stack,
};

static const struct stall_slice shrinkers[] = {
	{ .shrinker = 1, .callback = 0xa, .group = PHASE_DIRECT_RECLAIM, .ns = 2900 * US },
	{ .shrinker = 2, .callback = 0xb, .group = PHASE_DIRECT_RECLAIM, .ns = 100 * US },
	{ .shrinker = 3, .callback = 0xc, .group = PHASE_MEMCG_RECLAIM, .ns = 50 * US },
};

static struct stall stall;
static struct task_info task_info;
static struct named_stall named;

static int make_stall(void **state)
{
	stall = (struct stall){
		.tid = 812,
		.cpu = 3,
		.start = 0,
		.end = 12800 * US,
		.order = 0,
		.gfp_names = "GFP_KERNEL",
		.compaction = "",
		.shrinkers = shrinkers,
		.nr_shrinkers = 3,
		.role = ROLE_PAGE_ALLOCATION,
	};
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 8200 * US);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 3000 * US);
	phases_spend(&stall.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 1100 * US);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 500 * US);
	task_info = (struct task_info){ .tid = 812,
					.pid = 812,
					.process = "nginx",
					.cgroup = "/system.slice/nginx.service" };
	named = (struct named_stall){ .stall = &stall,
				      .resolver = &resolver,
				      .name = "nginx",
				      .task_info = &task_info,
				      .function = "__alloc_pages",
				      .memcg = "",
				      .limit = "" };
	return 0;
}

static void message_is(const char *expected)
{
	char message[JOURNAL_MESSAGE_MAX];

	journal_stall_message(message, &named);
	assert_string_equal(message, expected);
}

#define USUAL "[812]: page allocation stalled 13 ms: direct reclaim 88 %: reclaim itself 64 %; "

#define TEST(function) UNIT_TEST_WITH(function, make_stall, NULL)

TEST(test_message)
{
	message_is("nginx" USUAL "order 0 GFP_KERNEL");
	stall.order = -1;
	message_is("nginx" USUAL "GFP_KERNEL");
	stall.gfp_names = "";
	stall.incomplete = LACKS_DROPPED;
	message_is("nginx" USUAL "incomplete: older records were dropped");
}

TEST(test_message_outside_reclaim)
{
	stall.phases.ns[PHASE_DIRECT_RECLAIM][PART_ITSELF][STATE_RUNNING] = 2000 * US;
	stall.phases.ns[PHASE_DIRECT_RECLAIM][PART_SHRINKERS][STATE_RUNNING] = 0;
	stall.phases.ns[PHASE_OUTSIDE][PART_ITSELF][STATE_RUNNING] = 9700 * US;
	message_is(
		"nginx[812]: page allocation stalled 13 ms: outside reclaim 76 %; running 100 %; "
		"order 0 GFP_KERNEL");
	stall.phases.ns[PHASE_DIRECT_RECLAIM][PART_ITSELF][STATE_RUNNING] = 5400 * US;
	stall.phases.ns[PHASE_OUTSIDE][PART_ITSELF][STATE_RUNNING] = 6300 * US;
	message_is(
		"nginx[812]: page allocation stalled 13 ms: outside reclaim 49 %, direct reclaim 42 %; "
		"order 0 GFP_KERNEL");
}

TEST(test_message_of_others)
{
	memset(&stall.phases, 0, sizeof(stall.phases));
	phases_spend(&stall.phases, PHASE_OTHER_RECLAIM, PART_ITSELF, STATE_RUNNING, 12800 * US);
	stall.order = -1;
	stall.gfp_names = "";
	stall.role = ROLE_NONE;
	named.function = "my_function";
	stall.tid = 815;
	named.name = "worker";
	message_is(
		"worker[815] of nginx[812]: my_function stalled 13 ms: other reclaim 100 %: reclaim itself 100 %");
	stall.key.kind = OWNER_SOFTIRQ;
	stall.role = ROLE_MEMORY_HIGH;
	message_is(
		"interrupt on CPU 3: memory.high stalled 13 ms: other reclaim 100 %: reclaim itself 100 %");
}

/* Names of any bytes still make one line of valid UTF-8. */
TEST(test_message_of_any_bytes)
{
	char message[JOURNAL_MESSAGE_MAX];
	static char long_names[4000];

	named.name = "a\n\x1b\xff\xc3\xa9";
	message_is("a\\x0a\\x1b\\xff\xc3\xa9" USUAL "order 0 GFP_KERNEL");
	for (size_t i = 0; i + 3 < sizeof(long_names); i += 3)
		memcpy(long_names + i, "\xe2\x82\xac", 4);
	stall.gfp_names = long_names;
	journal_stall_message(message, &named);
	assert_in_range(strlen(message), JOURNAL_MESSAGE_MAX - 40, JOURNAL_MESSAGE_MAX - 1);
	assert_non_null(strstr(message, "\xe2\x82\xac [cut]"));
	for (const char *at = message; *at; at += utf8_length(at))
		assert_true(utf8_length(at) > 0);
}

static struct journal_entry made;
static struct fake_entry entry;

static void read_fields(void)
{
	journal_entry_clear(&made);
	journal_stall_fields(&made, &named);
	fake_read(&entry, &made);
}

TEST(test_fields)
{
	stall.end += 999;
	read_fields();
	FIELDS("FUNCTION=__alloc_pages", "ROLE=page allocation", "LATENCY_USEC=12800",
	       "DIRECT_RECLAIM_USEC=11200", "DIRECT_RECLAIM_ITSELF_USEC=8200",
	       "DIRECT_RECLAIM_SHRINKERS_USEC=3000", "DIRECT_RECLAIM_THROTTLE_USEC",
	       "MEMCG_RECLAIM_USEC=0", "NODE_RECLAIM_USEC=0", "OTHER_RECLAIM_USEC=0",
	       "COMPACTION_USEC=1100", "MEMORY_HIGH_USEC=0", "OOM_KILLER_USEC=0", "DRAIN_USEC=0",
	       "OUTSIDE_USEC=500", "OUTSIDE_ITSELF_USEC", "ORDER=0", "GFP=GFP_KERNEL",
	       "SHRINKER=super_cache_scan[vda]", "SHRINKER_USEC=2900", "COMM=nginx", "TID=812",
	       "PID=812", "PROCESS=nginx", "CGROUP=/system.slice/nginx.service", "CPU=3",
	       "INCOMPLETE=0", "CAUSE=direct_reclaim", "CAUSE_DETAIL=reclaim itself 64 %",
	       "CAUSE_PERCENT=88", "CPU_WAIT_USEC", "SLEPT_IN", "HAD_CPU", "TIME", "STACK", "MEMCG",
	       "INTERRUPT", "RECLAIMED_PAGES", "COMPACTION_OUTCOME", "COMPACTION_OUTCOMES",
	       "COMPACTION_ATTEMPTS", "NODES", "RECLAIM_PRIORITY", "INACTIVE_SCANNED",
	       "INACTIVE_WRITEBACK");
}

TEST(test_off_cpu)
{
	static const struct stall_slice sleep = { .function = 5, .state = STATE_BLOCKED };
	static const struct stall_slice runner = { .name = "hog\n", .tid = 9, .ns = 3000000 };

	stall.runners = &runner;
	stall.nr_runners = 1;
	stall.no_runner = 1000000;
	stall.off_cpu = true;
	stall.sleeps = &sleep;
	stall.nr_sleeps = 1;
	phases_spend(&stall.phases, PHASE_COMPACTION, PART_ITSELF, STATE_WAITED, 4000000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_BLOCKED, 3000000);
	phases_spend(&stall.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_BLOCKED,
		     1000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_SLEPT, 2000);
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_OFF, 9000);
	read_fields();
	FIELDS("CPU_WAIT_USEC=4000", "BLOCKED_USEC=3001", "SLEPT_USEC=2", "OFF_CPU_USEC=9",
	       "SLEPT_IN=scan_5", "HAD_CPU=hog\\x0a-9 3.000 ms, not recorded 1.000 ms");
}

TEST(test_fields_not_known)
{
	task_info = (struct task_info){ .tid = 0 };
	stall.order = -1;
	stall.gfp_names = "";
	stall.role = ROLE_NONE;
	stall.nr_shrinkers = 0;
	stall.incomplete = LACKS_DROPPED;
	stall.key.kind = OWNER_SOFTIRQ;
	read_fields();
	FIELDS("PID", "PROCESS", "CGROUP", "ORDER", "GFP", "ROLE", "SHRINKER", "INCOMPLETE=1",
	       "INTERRUPT=1");
}

TEST(test_ended)
{
	task_info = (struct task_info){ .tid = 812, .ended = true };
	read_fields();
	FIELDS("PID", "CGROUP", "OBJECT_SYSTEMD_UNIT", "ENDED=1");
	message_is("nginx[812] (cgroup unknown: it had ended): page allocation stalled 13 ms: "
		   "direct reclaim 88 %: reclaim itself 64 %; order 0 GFP_KERNEL");
	FIELDS("CGROUP_SOURCE");
	task_info.source = "parent";
	strcpy(task_info.cgroup, "/system.slice/web.service");
	read_fields();
	FIELDS("CGROUP_SOURCE=parent", "OBJECT_SYSTEMD_UNIT=web.service");
	message_is("nginx[812] (cgroup from parent: it had ended): page allocation "
		   "stalled 13 ms: direct reclaim 88 %: reclaim itself 64 %; order 0 GFP_KERNEL");
	task_info.source = NULL;
	task_info.ended = false;
	read_fields();
	FIELDS("ENDED", "CGROUP_SOURCE");
}

TEST(test_fields_of_any_bytes)
{
	named.name = "\xff=\n\x01";
	strcpy(task_info.cgroup, "/a\nMESSAGE=no\n");
	stall.start = 1;
	stall.stack = 3;
	stall.has_reclaimed = true;
	stall.nr_reclaimed = 77;
	stall.compaction = "partial_skipped";
	strcpy(stall.outcomes, "partial_skipped x2, success");
	strcpy(stall.nodes, "0-1");
	stall.has_priority = true;
	stall.priority = 3;
	stall.counts = (struct stall_counts){ .known = 0x1f, .count = { 1200, 91, 40, 0, 3 } };
	named.memcg = "/m";
	read_fields();
	FIELDS("COMM=\xff=\n\x01", "CGROUP=/a\nMESSAGE=no\n");
	assert_null(fake_field(&entry, "MESSAGE"));
	FIELDS("STACK=scan_0\nscan_0\nscan_0", "TIME=2026-11-21T20:00:00.000000001Z",
	       "RECLAIMED_PAGES=77", "COMPACTION_OUTCOME=partial_skipped",
	       "COMPACTION_OUTCOMES=partial_skipped x2, success", "COMPACTION_ATTEMPTS=3",
	       "NODES=0-1", "RECLAIM_PRIORITY=3", "INACTIVE_SCANNED=1200", "INACTIVE_RECLAIMED=91",
	       "INACTIVE_DIRTY=40", "INACTIVE_WRITEBACK=0", "MEMCG=/m");
}

static int long_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	memset(text, 'f', size - 1);
	text[size - 1] = '\0';
	return size - 1;
}

static const char *long_label(void *context, uint64_t shrinker)
{
	static char text[512];

	memset(text, 'l', sizeof(text) - 1);
	return text;
}

/* The longest possible fields leave room for a message; what they leave out of a stack is marked. */
TEST(test_longest)
{
	static struct resolver longest = {
		.symbol = long_symbol,
		.shrinker = long_label,
		.time = time_text,
		.stack = stack,
	};
	struct stall_slice runners[6] = { 0 };
	char path[TASK_CGROUP_MAX];
	char names[160];
	const struct fake_field *stack_text;
	size_t length;

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memset(names, 'n', sizeof(names) - 1);
	names[sizeof(names) - 1] = '\0';
	memset(&stall.phases, 0, sizeof(stall.phases));
	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			phases_spend(&stall.phases, group, part, STATE_RUNNING, 100000000000 * MS);
	stall.off_cpu = true;
	for (size_t i = 0; i < COUNT(runners); i++) {
		memset(runners[i].name, 1, sizeof(runners[i].name) - 1);
		runners[i].tid = 4194304;
		runners[i].ns = 20000000000 * MS;
	}
	phases_spend(&stall.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 140000000000 * MS);
	stall.runners = runners;
	stall.nr_runners = COUNT(runners);
	stall.no_runner = 20000000000 * MS;
	stall.start = 1;
	stall.end = UINT64_MAX;
	stall.order = 10;
	stall.gfp_names = names;
	stall.compaction = names;
	stall.has_reclaimed = true;
	stall.nr_reclaimed = UINT64_MAX;
	memset(stall.outcomes, 'o', sizeof(stall.outcomes) - 1);
	memset(stall.nodes, '1', sizeof(stall.nodes) - 1);
	stall.has_priority = true;
	stall.counts.known = ~0u;
	memset(stall.counts.count, 0xff, sizeof(stall.counts.count));
	stall.stack = 400;
	named.memcg = path;
	named.function = names;
	named.name = "0123456789abcde";
	strcpy(task_info.process, "0123456789abcde");
	memcpy(path, "/user@0.service/", 16);
	strcpy(path + sizeof(path) - sizeof(".service"), ".service");
	strcpy(task_info.cgroup, path);
	journal_entry_clear(&made);
	named.resolver = &longest;
	journal_stall_fields(&made, &named);
	assert_in_range(made.used, JOURNAL_STACK_MAX, JOURNAL_FIELDS_MAX);
	fake_read(&entry, &made);
	assert_string_equal(fake_value(&entry, "OBJECT_SYSTEMD_USER_UNIT"), path + 16);
	assert_non_null(strstr(fake_value(&entry, "ALLOCFILT_HAD_CPU"),
			       "2 others 40000000000.000 ms, not recorded 20000000000.000 ms"));
	/* whole frames, of 95 bytes and a newline each */
	stack_text = fake_field(&entry, "ALLOCFILT_STACK");
	length = stack_text->length - strlen(JOURNAL_CUT);
	assert_string_equal(stack_text->value + length, JOURNAL_CUT);
	assert_int_equal((length + 1) % 96, 0);
}

/* The unit of the system's manager, and of a user's; an interrupt has none. */
TEST(test_units)
{
	read_fields();
	FIELDS("OBJECT_SYSTEMD_UNIT=nginx.service", "OBJECT_SYSTEMD_USER_UNIT", "OBJECT_PID");
	strcpy(task_info.cgroup, "/user.slice/user-7.slice/user@7.service/app.slice/a.service");
	read_fields();
	FIELDS("OBJECT_SYSTEMD_UNIT=user@7.service", "OBJECT_SYSTEMD_USER_UNIT=a.service");
	strcpy(task_info.cgroup, "/system.slice");
	read_fields();
	FIELDS("OBJECT_SYSTEMD_UNIT", "OBJECT_SYSTEMD_USER_UNIT");
	strcpy(task_info.cgroup, "/system.slice/nginx.service");
	stall.key.kind = OWNER_SOFTIRQ;
	read_fields();
	FIELDS("OBJECT_SYSTEMD_UNIT", "OBJECT_SYSTEMD_USER_UNIT");
}

UNIT_TEST_MAIN(NULL, NULL)
