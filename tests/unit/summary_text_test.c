// SPDX-License-Identifier: GPL-2.0-or-later
/* The summary as text and as JSON. */
#include "fake_resolver.h"
#include "made_named.h"
#include "made_view.h"
#include "output/json.h"
#include "unit_test.h"
#include "written_text.h"

#define MS 1000000ull

#define SCAN 0xc0

static int symbol(void *context, uint64_t address, char style, char *to, size_t size)
{
	if (address == SCAN)
		return snprintf(to, size, "super_cache_scan");
	return snprintf(to, size, "0x%llx", (unsigned long long)address);
}

static struct resolver resolver = { .symbol = symbol };
static struct plan plan = { .threshold = 1000 };
static const char *text;

static int set_up(void **state)
{
	plan = (struct plan){ .threshold = 134000 };
	make_view(&plan, &resolver, 1);
	view.shrinker_names = shrinker_names_new(-1, &resolver);
	view.top = 2;
	return 0;
}

static int set_up_with_waits(void **state)
{
	int ret = set_up(state);

	view.has_waits = true;
	return ret;
}

static int tear_down(void **state)
{
	free_view();
	return 0;
}

static void count_stall(const struct stall *stall, const char *name, const char *cgroup,
			bool background)
{
	struct made_named made;

	make_named(&made, stall, name, cgroup);
	made.named.background = background;
	made.named.resolver = &resolver;
	summary_stall(view.summary, &made.named);
}

static void stall(int tid, const char *name, uint64_t ns)
{
	struct stall one = { .tid = tid, .end = ns };
	char cgroup[64];

	snprintf(cgroup, sizeof(cgroup), "/%s", name);
	count_stall(&one, name, cgroup, false);
}

static void wait_of(int tid, const char *name, int role, uint64_t ns, bool is_long)
{
	const struct memory_wait wait = {
		.tid = tid,
		.start = MS,
		.end = MS + ns,
		.role = role,
		.is_part = role == ROLE_WAIT,
	};
	struct made_named made;
	char cgroup[64];

	snprintf(cgroup, sizeof(cgroup), "/%s.service", name);
	make_named(&made, &(struct stall){ .tid = tid }, name, cgroup);
	summary_wait(view.summary, &made.named, &wait, is_long);
}

static void window(uint64_t function, uint64_t ns)
{
	summary_window(view.summary, &(struct stall_window){
					     .end = ns,
					     .role = ROLE_NONE,
					     .exit.window.function = function,
				     });
}

static void slab(uint64_t callback, uint64_t ns)
{
	summary_shrinker(view.summary, callback, -1, ns);
}

static void print(bool json)
{
	struct writer *writer = begin_text();

	if (json)
		json_summary(writer, &view);
	else
		summary_text(writer, &view);
	text = end_text(writer);
}

static void shows(const char *what)
{
	print(false);
	text_has(text, what);
}

static void json_shows(const char *what)
{
	print(true);
	text_has(text, what);
}

static void lacks(bool json, const char *what)
{
	print(json);
	assert_null(strstr(text, what));
}

/* Each table is filled with 50 ms, and then one comes with twice 40 ms. */
UNIT_TEST_WITH(test_newcomers, set_up, tear_down)
{
	view.form = SUMMARY_FULL;
	for (int i = 1; i <= SUMMARY_TASKS_MAX; i++)
		stall(i, "once", 50 * MS);
	for (int i = 1; i <= SUMMARY_FUNCTIONS_MAX; i++)
		window(i, 50 * MS);
	for (int i = 1; i <= SHRINKERS_MAX; i++)
		slab(i, 50 * MS);
	lacks(false, "more)");
	for (int i = 0; i < 2; i++) {
		stall(1001, "new", 40 * MS);
		window(0xabc, 40 * MS);
		slab(0xdef, 40 * MS);
	}
	shows("\ntask (2 of 128)     stalls     total       max   stalls by main cause\n"
	      "  new-1001               2     80 ms     40 ms   several causes 100 % (up to 50 ms more)\n"
	      "  once-2                 1     50 ms     50 ms   several causes 100 %\n");
	text_has(
		text,
		"\n0xabc: count 2, total 80 ms, p50 40 ms, p99 40 ms, max 40 ms (up to 50 ms more)\n");
	text_has(text, "\n0xdef : total time = 80.000000 ms, max latency = 40.000000 ms "
		       "(up to 50 ms more)\n");
	json_shows(
		"{\"tid\":1001,\"name\":\"new\",\"count\":2,\"total_ns\":80000000,\"p50_ns\":40000000,"
		"\"p99_ns\":40000000,\"max_ns\":40000000,\"error_ns\":50000000,"
		"\"causes\":[{\"cause\":\"mixed\",\"count\":2,\"total_ns\":80000000}]}");
	text_has(text,
		 "{\"name\":\"0xdef\",\"callback\":\"0xdef\",\"count\":2,\"total_ns\":80000000,"
		 "\"max_ns\":40000000,\"error_ns\":50000000,\"superblocks\":[]}");
}

static void shrink_superblock(int number, uint64_t ns)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .fields.callback = SCAN };
	char name[16];

	snprintf(name, sizeof(name), "d%d", number);
	record.raw = name;
	record.superblock.shrinker = record.fields.shrinker = 64 * (uint64_t)number;
	record.superblock.callback = SCAN;
	record.superblock.device = number;
	record.superblock.name_length = (uint16_t)strlen(name);
	shrinker_names_see(view.shrinker_names, &record);
	summary_shrinker(view.summary, SCAN,
			 shrinker_names_superblock(view.shrinker_names, &record), ns);
}

/* The two of 22 with least time share a line with their own maximum. Another callback has none. */
UNIT_TEST_WITH(test_other_superblocks, set_up, tear_down)
{
	for (int i = 1; i <= 22; i++)
		shrink_superblock(i, (100 - i) * MS);
	slab(0xdef, 30000 * MS);
	json_shows("\"total_ns\":30000000000,\"max_ns\":30000000000,\"superblocks\":[]}");
	shows("\n0xdef : total time = 30000.000000 ms, max latency = 30000.000000 ms\n"
	      "super_cache_scan : ");
	text_has(text, "\n  super_cache_scan[2 others] : total time = 157.000000 ms, max latency = "
		       "79.000000 ms\n");
}

/*
 * There are 10 more than have room. The first one took 150 ms of 151.132 ms and made room, the last
 * one with 100 us is named. Nobody knows which of the others had the longest run.
 */
UNIT_TEST_WITH(test_superblocks_that_made_room, set_up, tear_down)
{
	shrink_superblock(1, 150 * MS);
	for (int i = 2; i < SHRINKER_NAMES_MAX + 10; i++)
		shrink_superblock(i, 1000);
	shrink_superblock(SHRINKER_NAMES_MAX + 10, 100000);
	/* 150 ms and 1032 times 1 us and 100 us; listed are 100 us and 19 times 1 us */
	shows("\nsuper_cache_scan : total time = 151.132000 ms, max latency = 150.000000 ms\n"
	      "  super_cache_scan[d1034] : total time = 0.100000 ms, max latency = 0.100000 "
	      "ms\n");
	text_has(text, "\n  super_cache_scan[others] : total time = 151.013000 ms, max latency = "
		       "150.000000 ms\n");
	assert_null(strstr(text, "[d1]"));
	/* The longest run is that of one with a line. */
	shrink_superblock(SHRINKER_NAMES_MAX + 10, 2000 * MS);
	shows("\n  super_cache_scan[others] : total time = 151.013000 ms, max latency = "
	      "151.013000 ms\n");
	json_shows("{\"name\":\"super_cache_scan[d1034]\",\"count\":2,\"total_ns\":2000100000,");
	assert_null(strstr(text, "\"super_cache_scan[d1]\""));
}

/* A capture that was tampered with: no others are made up where a superblock has more than its callback. */
UNIT_TEST_WITH(test_superblock_of_two_callbacks, set_up, tear_down)
{
	struct record name = { .kind = RECORD_SUPERBLOCK, .raw = "vda" };
	struct record record = { .fields = { .shrinker = 1, .callback = SCAN } };
	int superblock;

	name.superblock.shrinker = 1;
	name.superblock.callback = SCAN;
	name.superblock.name_length = 3;
	shrinker_names_see(view.shrinker_names, &name);
	superblock = shrinker_names_superblock(view.shrinker_names, &record);
	assert_true(superblock >= 0);
	summary_shrinker(view.summary, 0x10000, superblock, 10 * MS);
	summary_shrinker(view.summary, SCAN, superblock, 10 * MS);
	shows("\nsuper_cache_scan : total time = 10.000000 ms, max latency = 10.000000 ms\n"
	      "  super_cache_scan[vda] : total time = 20.000000 ms, max latency = 10.000000 ms\n");
	assert_null(strstr(text, "others]"));
}

/* The place and the kernel. */
UNIT_TEST_WITH(test_machine, set_up, tear_down)
{
	struct data_source source = { .host = "db\0331", .release = "6.1.0" };
	struct stall one = { .tid = 1, .end = 3 * MS };

	view.source = &source;
	shows("\nno stall of 134 us or more on db\\x1b1, 6.1.0\n");
	source.host = "(none)";
	shows("\nno stall of 134 us or more on 6.1.0\n");
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 3 * MS);
	count_stall(&one, "a", "", false);
	source.release = NULL;
	shows("\n1 stall of 134 us or more\nit took 3.0 ms, waiting or running\n");
	count_stall(&(struct stall){ .tid = 9, .end = 5 * MS }, "kswapd0", "/", true);
	shows("\nbackground (nobody waited): kswapd0 1 run, 5.0 ms\n");
	view.is_interval = view.is_part = true;
	source.release = "6.1.0";
	lacks(false, "6.1.0");
}

static bool pressure_except_b(void *context, const char *cgroup, uint64_t *ret_ns)
{
	*ret_ns = 4321 * MS;
	return strcmp(cgroup, "/b") != 0;
}

/* The kernel's own account stands in the run's table where it is known; the root's is the machine's. */
UNIT_TEST_WITH(test_pressure_of_cgroups, set_up, tear_down)
{
	stall(1, "a", 3 * MS);
	stall(2, "b", 5 * MS);
	count_stall(&(struct stall){ .tid = 3, .end = 4 * MS }, "c", "/", false);
	view.top = 3;
	lacks(false, "PSI");
	lacks(true, "pressure");
	resolver.pressure = pressure_except_b;
	shows("\nwho                 stalls     total       max       PSI   stalls by main cause\n"
	      "  b                      1    5.0 ms    5.0 ms         -   several causes 100 %\n"
	      "  /                      1    4.0 ms    4.0 ms         -   several causes 100 %\n"
	      "  a                      1    3.0 ms    3.0 ms     4.3 s   several causes 100 %\n"
	      "\n");
	print(true);
	text_has(strstr(text, "\"cgroup\":\"/a\""),
		 "\"reclaimed_from\":[],\"pressure_some_ns\":4321000000}");
	assert_int_equal(count_in(text, "pressure_some_ns"), 1);
	view.is_interval = view.is_part = true;
	lacks(false, "PSI");
	resolver.pressure = NULL;
}

/* Who has most memory is told where the machine is short, and not of an interval. */
UNIT_TEST_WITH(test_most_memory, set_up, tear_down)
{
	struct stall one = { .tid = 1, .end = 3 * MS };
	struct stall two = { .tid = 2, .end = MS };
	struct stall three = { .tid = 3, .end = 4 * MS };

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, 3 * MS);
	phases_spend(&two.phases, PHASE_MEMCG_RECLAIM, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&three.phases, PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_RUNNING, 4 * MS);
	count_stall(&one, "t", "/a", false);
	count_stall(&two, "u", "/b", false);
	count_stall(&three, "v", "/c", false);
	lacks(false, "most memory:");
	lacks(true, "most_memory");
	resolver.most_memory = "/system.slice/batch.service";
	shows("\nnext: (50 %, felt by c, most memory: 400 MiB in batch.service) Tasks were made");
	text_has(text,
		 "\nnext: (38 %, felt by a, most memory: 400 MiB in batch.service) The machine");
	text_has(text, "\nnext: (12 %, felt by b) A limit was reached");
	json_shows(
		"\"most_memory\":\"/system.slice/batch.service\",\"most_memory_bytes\":419430400,");
	view.is_interval = view.is_part = true;
	lacks(false, "most memory:");
	lacks(true, "most_memory");
	resolver.most_memory = NULL;
}

/* The columns keep apart from the longest title, with and without states. */
UNIT_TEST_WITH(test_columns, set_up, tear_down)
{
	struct stall one = { .tid = -1, .end = 2039000 }; /* a capture that was tampered with */

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&one.phases, PHASE_DRAIN, PART_ITSELF, STATE_RUNNING, MS);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 39000);
	count_stall(&one, "a", "/b/c", false);
	count_stall(&one, "a", "/d/c", false);
	json_shows("{\"tid\":-1,\"name\":\"a\",");
	shows("\n  a--1 ");
	text_has(text, "\n  /b/c ");
	view.has_sched = true;
	shows("\nwhy                               ms    %\n"
	      "  running                        4.1  100   reclaim itself 2.0, draining per-CPU "
	      "lists 2.0\n"
	      "in                                ms    %\n"
	      "  direct reclaim                 2.0   49   reclaim itself 2.0\n"
	      "  draining per-CPU lists         2.0   49\n"
	      "  outside reclaim              0.078    2\n");
}

/*
 * The states are summed up over all phases: by hand, of 30 ms 18 ms asleep, 5 of them outside.
 * Stalls before the first switch, or after the last that was recorded, have unknown states.
 */
UNIT_TEST_WITH(test_states, set_up, tear_down)
{
	struct stall seen = { .tid = 1, .end = 24 * MS, .off_cpu = true };
	struct stall unseen = { .tid = 2, .end = 6 * MS };

	view.has_sched = true;
	phases_spend(&seen.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_SLEPT, 5 * MS);
	phases_spend(&seen.phases, PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_SLEPT, 6 * MS);
	phases_spend(&seen.phases, PHASE_MEMCG_RECLAIM, PART_ITSELF, STATE_SLEPT, 3 * MS);
	phases_spend(&seen.phases, PHASE_COMPACTION, PART_ITSELF, STATE_SLEPT, 4 * MS);
	phases_spend(&seen.phases, PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_BLOCKED, 6 * MS);
	phases_spend(&unseen.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_UNKNOWN, 6 * MS);
	count_stall(&seen, "a", "", false);
	count_stall(&unseen, "b", "", false);
	shows("\n  asleep                          18   60   reclaim itself 9.0, "
	      "outside reclaim 5.0, compaction 4.0\n"
	      "  asleep, uninterruptible        6.0   20   throttled 6.0\n"
	      "  unknown                        6.0   20   outside reclaim 6.0\n"
	      "in                                ms    %\n"
	      "  direct reclaim                  12   40   reclaim itself 6.0, throttled 6.0\n"
	      "  outside reclaim                 11   37\n"
	      "  compaction                     4.0   13\n"
	      "  memcg reclaim                  3.0   10   reclaim itself 3.0\n"
	      "\n");
}

static const struct task_info *in_unit(void *context, int tid, uint64_t ts)
{
	static const struct task_info unit = { .cgroup = "/x/batch.service" },
				      root = { .cgroup = "/" };

	return tid == 5 ? &unit : &root;
}

/* A stall of 200 ms that waits for a CPU all the time. */
static void wait_for_cpu(const struct stall_slice *runners, size_t count)
{
	struct stall one = { .tid = 1,
			     .end = 200 * MS,
			     .off_cpu = true,
			     .runners = runners,
			     .nr_runners = count };

	view.has_sched = true;
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 200 * MS);
	summary_reset(view.summary);
	resolver.task_info = in_unit;
	count_stall(&one, "t", "", false);
	resolver.task_info = NULL;
	print(false);
}

/*
 * By hand, of 200 ms: 90, 50, 33 and 20 ms; 7 ms are not recorded, and the third has no room. The unit that
 * had the CPU for half of the time is the culprit.
 */
UNIT_TEST_WITH(test_had_cpu, set_up, tear_down)
{
	struct stall_slice runners[] = {
		{ .tid = 5, .ns = 90 * MS, .name = "a\033" },
		{ .tid = 6, .ns = 50 * MS, .name = "kworker/u8:1" },
		{ .tid = 0, .ns = 33 * MS, .name = "swapper/1" },
		{ .tid = 7, .ns = 20 * MS, .name = "b" },
	};

	wait_for_cpu(runners, COUNT(runners));
	text_has(text,
		 "\n  waiting for a CPU              200  100   had it: a\\x1b in batch.service "
		 "45 %, kworker/u8 25 %, not recorded 4 %\n");
	text_has(text, "\nnext: (96 %) Other tasks had the CPUs");
	runners[0].ns = 100 * MS;
	runners[3].ns = 10 * MS;
	wait_for_cpu(runners, COUNT(runners));
	text_has(text, "\nnext: (96 %, caused by batch.service) Other tasks had");
	runners[0].reclaiming = 20 * MS;
	wait_for_cpu(runners, COUNT(runners));
	text_has(text, " had it (10 % in reclaim): a\\x1b in batch.service 50 %, ");
	text_has(text, "\nnext: (86 %) Other tasks had the CPUs");
	text_has(text, "\nnext: (14 %) Others had the CPUs, who reclaimed memory");
	/* No one is told to limit this program. */
	strcpy(runners[0].name, "allocfilt");
	wait_for_cpu(runners, COUNT(runners));
	text_has(text, "\nnext: (50 %) allocfilt itself had the CPUs for more than 5 %");
	text_has(text, "\nnext: (46 %) Other tasks had the CPUs");
}

/* Whether memory was short in the machine or in cgroups, with that line alone. */
UNIT_TEST_WITH(test_reclaim_ran_for, set_up, tear_down)
{
	static const struct {
		enum phase_group group;
		const char *cgroup; /* NULL: of a kernel thread */
		const char *limit;
		const char *line;
	} rows[] = {
		{ PHASE_COMPACTION, "/x/c", "", NULL },
		{ PHASE_COMPACTION, NULL, "", NULL },
		{ PHASE_MEMORY_HIGH, "", "", "cgroups at their limits, not for the machine\n" },
		{ PHASE_OTHER_RECLAIM, "/x/b", "/x",
		  "cgroups at their limits, not for the machine\n" },
		{ PHASE_MEMCG_RECLAIM, "/x/a", "/x/a",
		  "cgroups at their limits (a), not for the machine\n" },
		{ PHASE_MEMORY_HIGH, "/x/b", "/x/b",
		  "cgroups at their limits (a, b), not for the machine\n" },
		{ PHASE_MEMCG_RECLAIM, "/x/a", "/x",
		  "cgroups at their limits (x, a, b), not for the machine\n" },
		{ PHASE_MEMCG_RECLAIM, "/x/b", "",
		  "cgroups at their limits (x, a, b or above it, b), not for the machine\n" },
		{ PHASE_DIRECT_RECLAIM, NULL, "",
		  "cgroups at their limits (x, a, b or above it, b), and for the machine\n" },
	};

	view.top = 4;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stall one = { .tid = 1, .end = MS };
		char line[100] = "reclaim ran for ";
		struct made_named made;

		phases_spend(&one.phases, rows[i].group, PART_ITSELF, STATE_RUNNING, MS);
		make_named(&made, &one, "t", rows[i].cgroup ? rows[i].cgroup : "/");
		made.named.background = !rows[i].cgroup;
		made.named.limit = rows[i].limit;
		summary_stall(view.summary, &made.named);
		print(false);
		if (rows[i].line)
			text_has(text, strcat(line, rows[i].line));
		else
			assert_null(strstr(text, line));
	}
}

static void work(const char *cgroup, const char *source, const char *memcg, enum phase_group group)
{
	struct stall one = { .tid = 1, .end = MS };
	struct made_named made;

	phases_spend(&one.phases, group, PART_ITSELF, STATE_RUNNING, MS);
	make_named(&made, &one, "agent", cgroup);
	made.info.source = source;
	made.named.background = made.named.on_purpose = true;
	made.named.memcg = memcg;
	summary_stall(view.summary, &made.named);
}

/* It is in no other line. The cgroup of a task is not supposed to be the one that it reclaimed. */
UNIT_TEST_WITH(test_work_on_purpose, set_up, tear_down)
{
	lacks(false, "on purpose");
	work("/s.slice/a.service", NULL, "/s.slice/web.service", PHASE_MEMCG_RECLAIM);
	work("/s.slice/a.service", NULL, "/s.slice/web.service", PHASE_MEMCG_RECLAIM);
	work("/s.slice/a.service", NULL, "", PHASE_COMPACTION);
	view.top = 4;
	shows("\n\nno shrinker ran\nwork done on purpose (nobody waited): agent in a.service "
	      "reclaimed from web.service 2 runs, 2.0 ms; agent in a.service compacted memory 1 run, "
	      "1.0 ms\n");
	text_has(text, "no stall of 134 us or more\n");
	lacks(false, "reclaim ran");
	lacks(false, "next: ");
	lacks(false, "background");
	json_shows(",\"on_purpose\":[{\"name\":\"agent in a.service reclaimed from web.service\","
		   "\"count\":2,\"total_ns\":2000000,");
	text_has(text, ",{\"name\":\"agent in a.service compacted memory\",\"count\":1,");
	work("/web", "reclaim", "/web", PHASE_OTHER_RECLAIM);
	shows("; agent reclaimed from /web 1 run, 1.0 ms\n");
	view.top = 1;
	shows(" 2.0 ms; 2 more\n");
}

static void reclaim(const char *cgroup, const char *memcg, uint64_t pages, uint64_t ns)
{
	struct stall one = { .tid = 1, .end = ns, .has_reclaimed = true, .nr_reclaimed = pages };
	struct made_named made;

	phases_spend(&one.phases, pages ? PHASE_DIRECT_RECLAIM : PHASE_COMPACTION, PART_ITSELF,
		     STATE_RUNNING, ns);
	make_named(&made, &one, "t", cgroup)->memcg = memcg;
	made.named.resolver = &resolver;
	summary_stall(view.summary, &made.named);
}

/* Whose memory a cgroup's stalls reclaimed, most pages first; why they waited, most time first. */
UNIT_TEST_WITH(test_whose, set_up, tear_down)
{
	view.top = 10;
	reclaim("/s/a.service", "/s/b.service", 30, 10 * MS);
	reclaim("/s/a.service", "/s/a.service", 20, 10 * MS);
	reclaim("/s/a.service", "/s/a.service", 11, 10 * MS);
	reclaim("/s/a.service", "/s/c.service", 29, 10 * MS);
	reclaim("/s/a.service", "/s/d.service", 0, 60 * MS);
	reclaim("/s/b.service", "", 7, 50 * MS);
	shows("\nwho                 stalls     total       max   stalls by main cause   "
	      "reclaimed from\n"
	      "  a.service              5    100 ms     60 ms   compaction 60 %     "
	      "   itself, b.service\n"
	      "  b.service              1     50 ms     50 ms   direct reclaim 100 %\n"
	      "task ");
	json_shows("\"reclaimed_from\":[{\"memcg\":\"/s/a.service\",\"pages\":31},"
		   "{\"memcg\":\"/s/b.service\",\"pages\":30},"
		   "{\"memcg\":\"/s/c.service\",\"pages\":29}]}");
	text_has(text, "\"count\":1,\"total_ns\":50000000}],\"reclaimed_from\":[]}");
}

/* Tasks may wait for years together. Sums stop at 2^64 ns, and nothing is divided by 0. */
UNIT_TEST_WITH(test_sums_of_years, set_up, tear_down)
{
	const uint64_t year = 365ull * 86400 * 1000 * MS;
	struct stall one = { .tid = 1, .end = 8 * year };

	phases_spend(&one.phases, PHASE_COMPACTION, PART_ITSELF, STATE_RUNNING, 6 * year);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 2 * year);
	count_stall(&one, "a", "", false);
	shows("\n  compaction               189216000000   75\n"
	      "  outside reclaim          63072000000   25\n");
	one = (struct stall){ .tid = 1, .end = 1ull << 63 };
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 1ull << 63);
	for (int i = 0; i < 3; i++)
		count_stall(&one, "a", "", false);
	shows("they took 18446744073.7 s together, ");
	text_has(text, "\n  outside reclaim          18446744073710  100\n");
	text_has(text, "\n  compaction               189216000000    0\n");
}

static void victim(int tid, const char *name, const char *cgroup, int limit)
{
	const struct memory_wait kill = { .tid = tid,
					  .start = MS,
					  .end = MS,
					  .role = ROLE_OOM_KILLER };
	struct made_named made;

	make_named(&made, &(struct stall){ .tid = 0 }, name, cgroup);
	made.info.limit = (uint16_t)limit;
	summary_wait(view.summary, &made.named, &kill, false);
}

static void kernel_counts(uint64_t before, uint64_t after)
{
	view.pressure_before = (struct memory_pressure){ .known = true, .oom_kills = before };
	view.pressure_after = (struct memory_pressure){ .known = true, .oom_kills = after };
}

/* By hand: 2 for one limit, 1 for another one, 1 for none, 1 of which nothing is known, 1 more. They are no waits. */
UNIT_TEST_WITH(test_oom_kills, set_up_with_waits, tear_down)
{
	view.top = 4;
	lacks(false, "OOM");
	json_shows(",\"oom_kills\":[],");
	victim(11, "w", "/s/web.service", 2);
	victim(12, "w", "/s/web.service", 2);
	victim(13, "w", "/s/web.service", 14);
	victim(14, "java", "/s/db.service", 1);
	shows("\nno records lost\nOOM kills: 4\n"
	      "  2 of w in web.service, at the limit of s; the last: 12\n"
	      "  1 of java in db.service, at no cgroup's limit; the last: 14\n"
	      "  1 of w in web.service, at the limit of web.service; the last: 13\n"
	      "waits for memory: none\n\nno shrinker ran\n");
	victim(15, "x", "", 0);
	victim(16, "y", "/s/y.service", 0);
	shows("\nOOM kills: 6\n");
	text_has(text, "\n  1 of x, cgroup not known, limit not known; the last: 15\n  1 more\n");
	json_shows(
		",\"oom_kills\":["
		"{\"name\":\"w\",\"tid\":12,\"cgroup\":\"/s/web.service\",\"limit\":\"/s\",\"count\":2},"
		"{\"name\":\"java\",\"tid\":14,\"cgroup\":\"/s/db.service\",\"limit\":\"/\",\"count\":1},");
	text_has(text, ",{\"name\":\"x\",\"tid\":15,\"count\":1},"
		       "{\"name\":\"y\",\"tid\":16,\"cgroup\":\"/s/y.service\",\"count\":1}],");
	text_has(
		text,
		"\"memory_waits\":{\"count\":0,\"total_ns\":0,\"long_count\":0,\"long_ns\":0,\"reasons\":[]}");
	assert_int_equal(summary_count(view.summary, SUMMARY_TASKS), 0);
	/* The kernel counts what is not recorded, with -p; of a part of the run it has no count. */
	kernel_counts(7, 14);
	shows("\nOOM kills: 7 by the kernel's count, 6 recorded\n  2 of w");
	json_shows(",\"full_total_ns\":0,\"oom_kills\":14}");
	view.is_part = true;
	shows("\nOOM kills: 6\n");
}

UNIT_TEST_WITH(test_kills_that_are_not_recorded, set_up, tear_down)
{
	kernel_counts(14, 14);
	lacks(false, "OOM");
	kernel_counts(14, 13);
	lacks(false, "OOM");
	kernel_counts(13, 14);
	shows("\nOOM kills: 1 by the kernel's count, 0 recorded\nmemory pressure");
}

static void open_wait(int tid, const char *name, uint64_t ms)
{
	const struct memory_wait wait = { .tid = tid,
					  .start = 9000 * MS,
					  .end = (9000 + ms) * MS,
					  .role = ROLE_MEMORY_HIGH,
					  .in_progress = true };
	struct made_named made;

	summary_wait(view.summary, make_named(&made, &(struct stall){ .tid = tid }, name, "/a/b"),
		     &wait, true);
}

static void reads_of(const char *cgroup, int role, uint64_t ms)
{
	const struct memory_wait wait = { .tid = 7,
					  .start = MS,
					  .end = MS + ms * MS,
					  .role = role };
	struct made_named made;

	make_named(&made, &(struct stall){ .tid = 7 }, "w", cgroup);
	summary_wait(view.summary, &made.named, &wait, false);
}

/* A cgroup that had other I/O alone did not wait for memory. */
UNIT_TEST_WITH(test_reads, set_up_with_waits, tear_down)
{
	reads_of("/s/io.service", ROLE_IO, 900);
	lacks(true, "io.service");
	lacks(true, "not in PSI");
	shows("\nwaits for memory: none\n"
	      "other waits for I/O: 900 ms, first reads among them; these are not for memory\n");
	json_shows(",\"reasons\":[],\"other_io\":{\"count\":1,\"total_ns\":900000000,");
	assert_int_equal(summary_count(view.summary, SUMMARY_CGROUPS), 0);
	reads_of("/s/web.service", ROLE_REFAULT_NOT_IN_PSI, 40);
	reads_of("/s/web.service", ROLE_REFAULT, 10);
	reads_of("/s/web.service", ROLE_IO, 100);
	shows("\nwaits for memory: 0 us in these stalls, 50 ms in 2 shorter ones "
	      "(refault, not in PSI 40 ms, refault 10 ms)\n"
	      "not in PSI: 40 ms of these, reads of pages that were not in use when taken\n"
	      "other waits for I/O: 1.0 s, first reads among them; these are not for memory\n");
	text_has(text, "   shorter other I/O");
	text_has(text, "     50 ms    100 ms");
	json_shows("\"reason\":\"refault_not_in_psi\",\"count\":1,\"total_ns\":40000000,");
}

/* Two tasks are named, those that wait longest; they are no rows of the tables. */
UNIT_TEST_WITH(test_waits_that_had_not_ended, set_up_with_waits, tear_down)
{
	open_wait(7, "seven", 800);
	open_wait(8, "eight", 900);
	open_wait(9, "nine", 700);
	shows("\nwaits for memory: none; 3 more had not ended, 2.4 s so far: "
	      "eight-8 in b (memory.high) since 9.000000; seven-7 in b (memory.high) since 9.000000\n");
	json_shows(",\"not_ended\":[{\"name\":\"eight\",\"tid\":8,\"cgroup\":\"/a/b\","
		   "\"reason\":\"memory_high\",\"ts_ns\":9000000000,\"duration_ns\":900000000},");
	assert_int_equal(summary_count(view.summary, SUMMARY_CGROUPS), 0);
	view.has_waits = false;
	lacks(true, "not_ended");
}

/* Kills and PSI tell that memory was short, although no task waited. */
UNIT_TEST_WITH(test_shortage, set_up_with_waits, tear_down)
{
	static const char none[] =
		"\nwaits for memory: none, so these stalls are no shortage of memory\n";

	view.since = MS;
	view.ts = 10001 * MS;
	stall(7, "a", 6 * MS);
	shows(none);
	kernel_counts(3, 3);
	view.pressure_after.some = 100000; /* us, 1 % of 10 s */
	shows(none);
	view.pressure_after.some = 100001;
	shows("\nwaits for memory: none\n");
	kernel_counts(3, 4);
	shows("\nwaits for memory: none\n");
	kernel_counts(3, 3);
	view.pressure_before.refaults = 50000;
	view.pressure_after.refaults = 51000; /* 100 a second */
	shows(none);
	view.pressure_after.refaults = 51001;
	shows("\nwaits for memory: none\n");
	json_shows(",\"full_total_ns\":0,\"oom_kills\":3,\"refaults\":51001}");
	view.pressure_before.known = view.pressure_after.known = false; /* without PSI */
	shows("\nwaits for memory: none\n");
	view.is_part = true;
	shows(none);
	view.is_part = false;
	view.pressure_after.refaults = 0; /* not known */
	shows(none);
	victim(8, "b", "/b", 0);
	shows("\nwaits for memory: none\n");
}

static void fill_view(void)
{
	for (int i = 1; i <= 128; i++) {
		struct stall one = {
			.tid = i,
			.end = PHASE_GROUPS * MS,
			.incomplete = i % STALL_LACKS,
		};
		char name[16], cgroup[64];

		for (int group = 0; group < PHASE_GROUPS; group++)
			phases_spend(&one.phases, group, PART_ITSELF, group % PHASE_STATES, MS);
		snprintf(name, sizeof(name), "task%d", i);
		snprintf(cgroup, sizeof(cgroup), "/cgroup%d.service", i);
		count_stall(&one, name, cgroup, i > 96);
	}
	for (int role = 0; role < ROLE_COUNT; role++)
		if ((catalog_roles[role].waits_in[0] || role == ROLE_WAIT) &&
		    role != ROLE_REFAULT_READ)
			wait_of(1, "task1", role, MS, false);
	for (int i = 0; i < 64; i++)
		victim(i, "victim", "/a/b/c", 2 * i);
	view.top = 128;
	view.pressure_before.known = view.pressure_after.known = true;
	view.has_sched = true;
	view.sched.switches = 1;
}

/* With all that there can be but shrinkers, whatever --top says. */
UNIT_TEST_WITH(test_forty_lines, set_up_with_waits, tear_down)
{
	int lines = 0;

	fill_view();
	work("/a.service", NULL, "", PHASE_COMPACTION);
	shows("\nwho (4 of 64) ");
	text_has(text, "\ntask (4 of 96) ");
	text_has(text, "; 28 more\n");
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	/* beside those of the shrinkers */
	text_has(text, "\n\nno shrinker ran\n");
	text_has(text, "\nOOM kills: 64\n");
	text_has(text, "\n  60 more\n");
	assert_in_range(lines - 2 - 6, 33, 40);
	view.form = SUMMARY_FULL;
	shows("\ntask                stalls ");
	text_has(text, "\nkernel thread       stalls ");
	text_has(text, "\n  task96-96 ");
	text_has(text, "\n  task128-128 ");
	text_has(text, "\nlongest stall that is explained:\n");
	text_has(text, "\nbackground: why ");
	view.form = SUMMARY_NONE;
	print(false);
	assert_string_equal(text, "");
}

static void losses_are(const char *expected)
{
	const char *at;
	char line[256];

	print(false);
	at = strchr(text + 1, '\n');
	if (!strncmp(at, "\nit took ", 9) || !strncmp(at, "\nthey took ", 11))
		at = strchr(at + 1, '\n');
	assert_int_equal(sscanf(at, "\n%255[^\n]", line), 1);
	assert_string_equal(line, expected);
}

UNIT_TEST_WITH(test_losses, set_up, tear_down)
{
	struct stall one = { .tid = 1, .end = MS, .incomplete = LACKS_LOST };
	const struct overflow overflows[] = {
		{ "names", "tasks were left out", 0 },
		{ "stalls", "stalls lack details", 3 },
	};

	losses_are("no records lost");
	lose(0, 1);
	losses_are("1 record was lost");
	count_stall(&one, "a", "", false);
	losses_are("1 record was lost; 1 stall is incomplete (records were lost)");
	lose(0, RECORD_LOST_UNKNOWN);
	lose(0, 11);
	count_stall(&one, "a", "", true);
	losses_are("at least 12 records were lost; 2 stalls are incomplete (records were lost)");
	memcpy(view.overflows, overflows, sizeof(overflows));
	view.nr_overflows = COUNT(overflows);
	view.journal.held_back = 5;
	losses_are("at least 12 records were lost; 2 stalls are incomplete (records were lost); "
		   "3 stalls lack details; 5 stalls have no entry of their own in the journal");
	view.lost = 0;
	view.nr_overflows = 0;
	view.journal.held_back = 0;
	losses_are("records were lost; 2 stalls are incomplete (records were lost)");
}

/* An interval has the counts since it began. */
UNIT_TEST_WITH(test_since, set_up, tear_down)
{
	struct summary_view before;

	view.report = MS;
	view.since = MS;
	view.ts = 2 * MS;
	view.nr_overflows = 1;
	view.overflows[0] = (struct overflow){ "names", "names are missing", 7 };
	view.not_shown.shorter = view.not_shown.others = 4;
	view.has_sched = true;
	view.sched = (struct sched_counts){ .switches = 100, .wakeups = 50 };
	lose(0, 5);
	lose(0, RECORD_LOST_UNKNOWN);
	before = view;
	summary_view_since(&view, &before);
	losses_are("no records lost");
	view = before;
	lose(0, 11);
	view.ts = 9 * MS;
	view.overflows[0].count = 9;
	view.not_shown.others = 5;
	view.sched.switches = 101;
	summary_view_since(&view, &before);
	losses_are("11 records were lost; 2 names are missing; 1 other stall is not shown");
	text_has(text, "no stall of 1 ms or more in 7.0 ms\n");
}

UNIT_TEST_WITH(test_psi, set_up, tear_down)
{
	view.since = MS;
	view.ts = 10001 * MS;
	view.pressure_before = (struct memory_pressure){ true, 1205, 0, 5000000, 700000 };
	view.pressure_after = (struct memory_pressure){ true, 4010, 3009, 6234567, 700999 };
	/* 1,234,567 us of 10 s */
	shows("\nno records lost\n"
	      "memory pressure, as the kernel counts it (PSI some): 1.2 s of 10.0 s, 12.3 %\n\n");
	/* Records of other processes are not read, but PSI has them. */
	view.pids = (const pid_t[]){ 1, 0 };
	shows("\nmemory pressure of the whole machine, as the kernel counts it (PSI some): 1.2 s");
	view.pids = NULL;
	json_shows(",\"pressure\":{\"before\":{\"some_avg10\":12.05,\"full_avg10\":0.00,"
		   "\"some_total_ns\":5000000000,\"full_total_ns\":700000000},"
		   "\"after\":{\"some_avg10\":40.10,\"full_avg10\":30.09,"
		   "\"some_total_ns\":6234567000,\"full_total_ns\":700999000}},");
	view.pressure_after.known = false;
	lacks(false, "PSI");
	lacks(true, "\"pressure\"");
	/* of a capture that somebody made up */
	view.pressure_after.known = true;
	view.pressure_after.some = 4999999;
	lacks(false, "PSI");
}

/*
 * By hand: 3 refaults of 2.5 ms in all, of which one of 1.5 ms is long; 1 wait of 4 ms; 6.5 ms in all,
 * 5.5 of them in 2 long ones.
 */
UNIT_TEST_WITH(test_pressure, set_up_with_waits, tear_down)
{
	struct stall one = { .tid = 7, .end = 6 * MS };

	view.report = 1500000;
	shows("\nno records lost\nwaits for memory: none\n\nno shrinker ran\n");
	count_stall(&one, "a", "/a.service", false);
	wait_of(7, "a", ROLE_REFAULT, 1500000, true);
	wait_of(8, "b", ROLE_REFAULT, 400000, false);
	wait_of(8, "b", ROLE_REFAULT, 600000, false);
	wait_of(7, "a", ROLE_MEMORY_HIGH, 4000000, true);
	view.since = MS;
	view.ts = 10001 * MS;
	view.pressure_before = (struct memory_pressure){ true, 0, 0, 5000000, 700000 };
	view.pressure_after = (struct memory_pressure){ true, 0, 0, 5007000, 700000 };
	shows("\nmemory pressure, as the kernel counts it (PSI some): 7.0 ms of 10.0 s, 0.1 %\n"
	      "waits for memory: 5.5 ms in these stalls, 1.0 ms in 2 shorter ones (refault 1.0 ms)\n\n"
	      "who                 stalls     total       max   shorter   stalls by main cause\n"
	      "  a.service              1    6.0 ms    6.0 ms      0 us   several causes 100 %\n"
	      "  b.service              0      0 us      0 us    1.0 ms\n"
	      "\n");
	view.pressure_after.known = false;
	wait_of(8, "b", ROLE_MEMORY_HIGH, 2000000, false);
	shows("\nwaits for memory: 5.5 ms in these stalls, 3.0 ms in 3 shorter ones "
	      "(memory.high 2.0 ms, refault 1.0 ms)\n");
}

/* As test_pressure, with 1 wait of 100 us that was in progress; none of the 5 sums is another one's. */
UNIT_TEST_WITH(test_waits_in_json, set_up_with_waits, tear_down)
{
	static const char of_a[] =
		"\"memory_waits\":{\"count\":3,\"total_ns\":5600000,\"long_count\":2,\"long_ns\":5500000,"
		"\"began_before\":1,\"reasons\":["
		"{\"reason\":\"memory_high\",\"count\":1,\"total_ns\":4000000,\"long_count\":1,"
		"\"long_ns\":4000000},"
		"{\"reason\":\"refault\",\"count\":1,\"total_ns\":1500000,\"long_count\":1,"
		"\"long_ns\":1500000},"
		"{\"reason\":\"memory_wait\",\"count\":1,\"total_ns\":100000,\"long_count\":0,"
		"\"long_ns\":0}]}}";
	static const char of_b[] =
		"\"memory_waits\":{\"count\":2,\"total_ns\":1000000,\"long_count\":0,\"long_ns\":0,"
		"\"reasons\":[{\"reason\":\"refault\",\"count\":2,\"total_ns\":1000000,"
		"\"long_count\":0,\"long_ns\":0}]}}";
	static const char none[] =
		"\"phases\":{},\"causes\":[],\"memory_waits\":{\"count\":0,\"total_ns\":0,"
		"\"long_count\":0,\"long_ns\":0,\"reasons\":[]}}";

	wait_of(7, "a", ROLE_REFAULT, 1500000, true);
	wait_of(8, "b", ROLE_REFAULT, 400000, false);
	wait_of(8, "b", ROLE_REFAULT, 600000, false);
	wait_of(7, "a", ROLE_MEMORY_HIGH, 4000000, true);
	wait_of(7, "a", ROLE_WAIT, 100000, false);
	json_shows(",\"memory_waits\":{\"count\":5,\"total_ns\":6600000,\"long_count\":2,"
		   "\"long_ns\":5500000,\"began_before\":1,\"reasons\":[");
	text_has(text, "{\"reason\":\"refault\",\"count\":3,\"total_ns\":2500000,\"long_count\":1,"
		       "\"long_ns\":1500000}");
	text_has(strstr(text, "\"background\":{"), none);
	/* of a task, and of its cgroup */
	assert_int_equal(count_in(text, of_a), 2);
	assert_int_equal(count_in(text, of_b), 2);
	/* They were not recorded. */
	view.has_waits = false;
	lacks(true, "memory_waits");
	lacks(false, "waits for memory");
}

/* Before the first record nothing is known of the time. */
UNIT_TEST_WITH(test_no_stall, set_up, tear_down)
{
	static const pid_t one[] = { 812, 0 }, two[] = { 812, 977, 0 };
	static char comm[] = "a\033*", cgroup[] = "/b";
	static const struct {
		uint64_t report;
		const pid_t *pids;
		uint64_t since, ts;
		const char *text;
		struct options options;
	} cases[] = {
		{ 134000, NULL, 0, 0, "no stall of 134 us or more" },
		{ 10 * MS, NULL, 5 * MS, 5 * MS, "no stall of 10 ms or more" },
		{ 1500000, NULL, 1000 * MS, 4700 * MS, "no stall of 1500 us or more in 3.7 s" },
		{ 2000 * MS, one, MS, 3 * MS, "no stall of process 812 of 2 s or more in 2.0 ms" },
		{ 5000, two, 0, 0, "no stall of these 2 processes of 5 us or more" },
		{ 5000,
		  NULL,
		  0,
		  0,
		  "no stall of threads named 'a\\x1b*', of cgroup '/b', of order 3 or more, of 5 us or more",
		  { .comm = comm, .cgroup = cgroup, .min_order = 3 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char expected[256];

		view.report = cases[i].report;
		view.pids = cases[i].pids;
		view.options = &cases[i].options;
		view.since = cases[i].since;
		view.ts = cases[i].ts;
		snprintf(expected, sizeof(expected), "\n%s\nno records lost\n\nno shrinker ran\n",
			 cases[i].text);
		print(false);
		assert_string_equal(text, expected);
	}
}

/* By hand, of 1000 ms: one part of 1 %, one below, and largest ones that would be 140 columns wide. */
UNIT_TEST_WITH(test_parts, set_up, tear_down)
{
	struct stall one = { .tid = 7, .start = 2000001000, .end = 3000001000, .order = 3 };

	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING,
		     302 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHORT_SCANS, STATE_RUNNING, 201 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_THROTTLED, STATE_RUNNING, 120 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, STATE_RUNNING,
		     110 * MS);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_ACTIVE_LIST, STATE_RUNNING, 100 * MS);
	phases_spend(&one.phases, PHASE_MEMCG_RECLAIM, PART_ITSELF, STATE_RUNNING, 10 * MS);
	phases_spend(&one.phases, PHASE_MEMCG_RECLAIM, PART_SHRINKERS, STATE_RUNNING, 9999999);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, 140 * MS);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, 7000001);
	count_stall(&one, "a", "/system.slice/a.service", false);
	shows("\n  direct reclaim                 833   83   shrinker lookup and locks 302, "
	      "short list scans 201, throttled 120\n"
	      "  outside reclaim                147   15\n");
	text_has(text,
		 "\nlongest: 2.000001 a-7 in a.service, 1.0 s, order 3: direct reclaim 83 %\n");
	text_has(text, "\n  memcg reclaim                   20    2   reclaim itself 10\n");
}

UNIT_TEST_WITH(test_not_shown, set_up, tear_down)
{
	view.not_shown.shorter = 1;
	losses_are("no records lost; 1 shorter stall is not shown");
	view.not_shown.shorter = 120;
	losses_are("no records lost; 120 shorter stalls are not shown");
	view.not_shown.others = 7;
	losses_are("no records lost; 120 shorter stalls are not shown; "
		   "7 other stalls are not shown");
	view.report = 10 * MS;
	json_shows(",\"report_ns\":10000000,\"not_shown\":{\"shorter\":120,\"others\":7},");
}

/* With an argument it prints a summary with each phase, reason and lack, for tests/replay/summary.test. */
int main(int argc, char **argv)
{
	static const char *const tables[] = { "cpus",	     "names", "stalls", "stacks",
					      "superblocks", "units", "summary" };

	if (argc == 1)
		return unit_tests_run(NULL, NULL);
	if (set_up_with_waits(NULL))
		return 1;
	fill_view();
	for (; view.nr_overflows < COUNT(tables); view.nr_overflows++)
		view.overflows[view.nr_overflows].key = tables[view.nr_overflows];
	view.so_far = true;
	print(true);
	fputs(text, stdout);
	return tear_down(NULL);
}
