// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stats/summary.h"
#include "fake_resolver.h"
#include "unit_test.h"

#define MS 1000000ull

static struct summary *summary;

static int set_up_used(void **state);

static int set_up(void **state)
{
	summary = summary_new();
	return !summary;
}

static int tear_down(void **state)
{
	summary_free(summary);
	return 0;
}

#define TEST(name) UNIT_TEST_TWICE(name, set_up, set_up_used, tear_down)

/* A stall with @rest of its time in PHASE_OUTSIDE, and the others in slab. */
struct made {
	int tid;
	const char *name;
	uint64_t ns;
	uint64_t rest;
	const char *cgroup;
	bool background;
	bool interrupt;
	uint64_t function;
	int role;
};

static void stall(struct made made)
{
	struct stall one = {
		.key.kind = made.interrupt ? OWNER_HARDIRQ : OWNER_TASK,
		.tid = made.tid,
		.start = 1000,
		.end = 1000 + made.ns,
		.function = made.function,
		.role = made.role,
		.gfp_names = "G",
		.compaction = "C",
	};
	struct task_info task_info = { .pid = 0 };
	struct named_stall named = {
		.stall = &one,
		.name = made.name ? made.name : "t",
		.task_info = &task_info,
		.background = made.background,
		.function = "f",
		.memcg = "",
		.limit = "",
	};

	if (made.cgroup)
		snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", made.cgroup);
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, made.rest);
	phases_spend(&one.phases, PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING,
		     made.ns - made.rest);
	summary_stall(summary, &named);
}

#define STALL(...) stall((struct made){ __VA_ARGS__ })

static const struct summary_total *at(enum summary_table which, size_t rank)
{
	const struct summary_total *total = summary_at(summary, which, rank);

	assert_non_null(total);
	return total;
}

TEST(test_waiters)
{
	const struct summary_stalls *waiting = summary_stalls(summary, STALLS_WAITING);
	const struct summary_stalls *background = summary_stalls(summary, STALLS_BACKGROUND);

	STALL(.tid = 1, .name = "a", .ns = 100, .cgroup = "/x");
	STALL(.tid = 2, .name = "b", .ns = 250, .cgroup = "/y");
	STALL(.tid = 1, .name = "a", .ns = 200, .cgroup = "/x");
	STALL(.tid = 3, .name = "k", .ns = 9000, .background = true);
	STALL(.tid = 4, .name = "i", .ns = 10, .interrupt = true);
	assert_int_equal(summary_count(summary, SUMMARY_TASKS), 2);
	assert_string_equal(at(SUMMARY_TASKS, 0)->ranked.name, "a");
	assert_int_equal(at(SUMMARY_TASKS, 0)->latency.total, 300);
	assert_int_equal(at(SUMMARY_TASKS, 0)->latency.count, 2);
	assert_int_equal(at(SUMMARY_TASKS, 1)->ranked.id, 2);
	assert_int_equal(summary_count(summary, SUMMARY_CGROUPS), 2);
	assert_string_equal(at(SUMMARY_CGROUPS, 0)->ranked.name, "/x");
	assert_int_equal(summary_count(summary, SUMMARY_KERNEL_THREADS), 1);
	assert_string_equal(at(SUMMARY_KERNEL_THREADS, 0)->ranked.name, "k");
	assert_int_equal(waiting->latency.total, 560);
	assert_int_equal(background->latency.total, 9000);
	assert_int_equal(phases_total(&waiting->phases), 560);
	assert_int_equal(phases_total(&background->phases), 9000);
}

TEST(test_longest)
{
	const struct named_stall *named;

	assert_null(summary_longest(summary));
	STALL(.name = "idle", .ns = 5000, .rest = 5000);
	assert_null(summary_most_explained(summary));
	STALL(.name = "slow", .ns = 3000, .rest = 1000, .cgroup = "/x");
	STALL(.name = "less", .ns = 2000, .rest = 100);
	STALL(.name = "kswapd0", .ns = 9000, .background = true);
	STALL(.name = "late", .ns = 5000, .rest = 5000);
	assert_string_equal(summary_longest(summary)->name, "idle");
	named = summary_most_explained(summary);
	assert_string_equal(named->name, "slow");
	assert_string_equal(named->task_info->cgroup, "/x");
	assert_string_equal(named->stall->gfp_names, "G");
	assert_int_equal(named->stall->end, 4000);
}

/* A newcomer may have had before what the evicted one had. */
TEST(test_limits)
{
	char name[16];

	for (int i = 1; i <= SUMMARY_TASKS_MAX; i++)
		STALL(.tid = i, .ns = 1000 + i);
	assert_int_equal(summary_overflow(summary), 0);
	STALL(.tid = 99999, .name = "new", .ns = 5);
	assert_int_equal(summary_overflow(summary), 1);
	assert_int_equal(summary_count(summary, SUMMARY_TASKS), SUMMARY_TASKS_MAX);
	assert_int_equal(at(SUMMARY_TASKS, 0)->latency.total, 1000 + SUMMARY_TASKS_MAX);
	assert_int_equal(at(SUMMARY_TASKS, 0)->ranked.error, 0);
	assert_string_equal(at(SUMMARY_TASKS, SUMMARY_TASKS_MAX - 1)->ranked.name, "new");
	assert_int_equal(at(SUMMARY_TASKS, SUMMARY_TASKS_MAX - 1)->latency.total, 5);
	assert_int_equal(at(SUMMARY_TASKS, SUMMARY_TASKS_MAX - 1)->ranked.error, 1001);
	for (int i = 1; i <= SUMMARY_CGROUPS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		STALL(.tid = 2, .ns = 10, .cgroup = name);
	}
	assert_int_equal(summary_count(summary, SUMMARY_CGROUPS), SUMMARY_CGROUPS_MAX);
	assert_int_equal(summary_overflow(summary), 6);
}

static void window(uint64_t function, uint64_t ns)
{
	summary_window(summary, &(struct stall_window){
					.end = ns,
					.role = ROLE_SLAB,
					.exit.window.function = function,
				});
}

static void pair(int role, uint64_t ns)
{
	summary_window(summary, &(struct stall_window){ .end = ns, .role = role, .is_pair = true });
}

TEST(test_functions)
{
	window(0xfff0a, 100);
	window(0xfff0b, 500);
	window(0xfff0a, 150);
	pair(ROLE_DIRECT_RECLAIM, 200);
	pair(ROLE_SHRINKER, 1000);
	pair(ROLE_NONE, 1000);
	assert_int_equal(summary_count(summary, SUMMARY_FUNCTIONS), 3);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 0)->function, 0xfff0b);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 0)->role, ROLE_SLAB);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 1)->latency.count, 2);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 1)->latency.max, 150);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 2)->function, 0);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 2)->role, ROLE_DIRECT_RECLAIM);
	assert_int_equal(at(SUMMARY_FUNCTIONS, 2)->latency.total, 200);
}

/* Stalls of kswapd are separate. */
TEST(test_sides)
{
	const struct summary_stalls *waiting = summary_stalls(summary, STALLS_WAITING);
	const struct summary_stalls *background = summary_stalls(summary, STALLS_BACKGROUND);

	STALL(.role = ROLE_DIRECT_RECLAIM, .ns = 30000);
	STALL(.role = ROLE_NONE, .function = 0xa, .ns = 1000);
	STALL(.role = ROLE_NODE, .ns = 60000, .background = true);
	assert_int_equal(waiting->latency.count, 2);
	assert_int_equal(waiting->latency.total, 31000);
	assert_int_equal(background->latency.count, 1);
	assert_int_equal(background->latency.total, 60000);
}

/* Counters of the metrics: each stall has one cause. */
TEST(test_causes)
{
	const struct summary_stalls *stalls = summary_stalls(summary, STALLS_WAITING);

	STALL(.ns = 1000, .rest = 400); /* shrinkers: 600 of 1000 */
	STALL(.ns = 1000, .rest = 501);
	STALL(.ns = 70, .rest = 70);
	assert_int_equal(stalls->causes[PHASE_DIRECT_RECLAIM].count, 1);
	assert_int_equal(stalls->causes[PHASE_DIRECT_RECLAIM].total, 1000);
	assert_int_equal(stalls->causes[PHASE_OUTSIDE].count, 2);
	assert_int_equal(stalls->causes[PHASE_OUTSIDE].total, 1070);
	for (int cause = 0; cause < CAUSES; cause++)
		if (cause != PHASE_DIRECT_RECLAIM && cause != PHASE_OUTSIDE)
			assert_int_equal(stalls->causes[cause].count, 0);
}

struct made_wait {
	int tid;
	const char *name;
	const char *cgroup;
	int role;
	uint64_t ns;
	bool is_long;
	bool background;
};

static void wait_of(struct made_wait made)
{
	const struct memory_wait wait = {
		.tid = made.tid,
		.start = 1000,
		.end = 1000 + made.ns,
		.role = made.role,
	};
	const struct stall no_stall = { .order = -1 };
	struct task_info task_info = { .pid = 0 };
	const struct named_stall named = {
		.stall = &no_stall,
		.name = made.name,
		.task_info = &task_info,
		.background = made.background,
	};

	if (made.cgroup)
		snprintf(task_info.cgroup, sizeof(task_info.cgroup), "%s", made.cgroup);
	summary_wait(summary, &named, &wait, made.is_long);
}

#define WAIT(...) wait_of((struct made_wait){ __VA_ARGS__ })

/* A task, its cgroup and the whole have its waits, which are no stalls; kswapd counts apart. */
TEST(test_waits)
{
	const struct summary_stalls *waiting = summary_stalls(summary, STALLS_WAITING);
	const struct summary_stalls *background = summary_stalls(summary, STALLS_BACKGROUND);
	const struct summary_total *total;

	WAIT(.tid = 1, .name = "a", .cgroup = "/x", .role = ROLE_REFAULT, .ns = 40);
	WAIT(.tid = 1, .name = "a", .cgroup = "/x", .role = ROLE_REFAULT, .ns = 500,
	     .is_long = true);
	WAIT(.tid = 2, .name = "b", .cgroup = "/x", .role = ROLE_MEMORY_HIGH, .ns = 30);
	WAIT(.tid = 3, .name = "c", .role = ROLE_REFAULT, .ns = 5);
	WAIT(.tid = 9, .name = "kswapd0", .cgroup = "/", .role = ROLE_NODE, .ns = 800,
	     .background = true);
	assert_int_equal(waiting->waits.of[ROLE_REFAULT].count, 3);
	assert_int_equal(waiting->waits.of[ROLE_REFAULT].total, 545);
	assert_int_equal(waiting->waits.of[ROLE_REFAULT].long_total, 500);
	assert_int_equal(waits_all(&waiting->waits).total, 575);
	assert_int_equal(waits_all(&background->waits).total, 800);
	assert_int_equal(background->waits.of[ROLE_NODE].count, 1);
	assert_int_equal(waiting->latency.count + background->latency.count, 0);
	assert_int_equal(phases_total(&waiting->phases), 0);
	assert_null(summary_longest(summary));
	assert_int_equal(summary_count(summary, SUMMARY_TASKS), 3);
	assert_int_equal(summary_count(summary, SUMMARY_KERNEL_THREADS), 0);
	/* one that is not known, and that of a kernel thread, are in no row */
	assert_int_equal(summary_count(summary, SUMMARY_CGROUPS), 1);
	total = at(SUMMARY_CGROUPS, 0);
	assert_string_equal(total->ranked.name, "/x");
	assert_int_equal(total->waits.of[ROLE_REFAULT].total, 540);
	assert_int_equal(total->waits.of[ROLE_MEMORY_HIGH].total, 30);
	assert_int_equal(total->latency.count, 0);
}

/* Short waits rank beside stalls, and the time of a long one is that of its stall: not twice. */
TEST(test_rank_of_waits)
{
	STALL(.tid = 1, .name = "a", .ns = 500, .cgroup = "/x");
	WAIT(.tid = 1, .name = "a", .cgroup = "/x", .role = ROLE_REFAULT, .ns = 500,
	     .is_long = true);
	WAIT(.tid = 2, .name = "b", .cgroup = "/y", .role = ROLE_REFAULT, .ns = 300);
	WAIT(.tid = 2, .name = "b", .cgroup = "/y", .role = ROLE_REFAULT, .ns = 300);
	for (int which = SUMMARY_CGROUPS; which <= SUMMARY_TASKS; which++) {
		assert_int_equal(at(which, 0)->ranked.total, 600);
		assert_int_equal(at(which, 0)->latency.total, 0);
		assert_int_equal(at(which, 0)->waits.of[ROLE_REFAULT].count, 2);
		assert_int_equal(at(which, 1)->ranked.total, 500);
		assert_int_equal(at(which, 1)->latency.total, 500);
		assert_int_equal(at(which, 1)->waits.of[ROLE_REFAULT].total, 500);
	}
	assert_string_equal(at(SUMMARY_TASKS, 0)->ranked.name, "b");
	assert_string_equal(at(SUMMARY_CGROUPS, 1)->ranked.name, "/x");
	WAIT(.tid = 1, .name = "a", .cgroup = "/x", .role = ROLE_SWAP_IN, .ns = 101);
	assert_string_equal(at(SUMMARY_TASKS, 0)->ranked.name, "a");
	assert_int_equal(at(SUMMARY_CGROUPS, 0)->ranked.total, 601);
	/* who comes in the place of another one inherits no waits */
	for (int i = 0; i < SUMMARY_TASKS_MAX; i++)
		WAIT(.tid = 1000 + i, .name = "t", .role = ROLE_REFAULT, .ns = 1);
	for (int i = 1; i < SUMMARY_TASKS_MAX; i++)
		assert_in_range(waits_all(&at(SUMMARY_TASKS, i)->waits).count, 1, 2);
}

struct made_runner {
	int tid;
	const char *name;
	uint64_t ns;
};

/* Kernel threads have tids below 20. */
static const struct task_info *info_of(void *context, int tid, uint64_t ts)
{
	static struct task_info info;

	snprintf(info.cgroup, sizeof(info.cgroup), "/%s", tid < 20 ? "" : tid < 30 ? "x" : "y");
	return &info;
}

/* A stall that waited for a CPU, and runners that end with one of no time. */
static void waited(uint64_t ns, bool background, const struct made_runner *runners)
{
	struct stall one = { .end = ns, .no_runner = ns, .gfp_names = "", .compaction = "" };
	struct task_info task_info = { .pid = 0 };
	struct named_stall named = {
		.stall = &one,
		.name = "t",
		.task_info = &task_info,
		.background = background,
		.function = "f",
		.memcg = "",
		.limit = "",
		.resolver = &(struct resolver){ .task_info = info_of },
	};
	struct stall_slice slices[4] = { 0 };

	one.runners = slices;
	for (; runners->ns; runners++) {
		struct stall_slice *slice = &slices[one.nr_runners++];

		slice->tid = runners->tid;
		slice->ns = runners->ns;
		snprintf(slice->name, sizeof(slice->name), "%s", runners->name);
		one.no_runner -= runners->ns;
	}
	phases_spend(&one.phases, PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, ns);
	summary_stall(summary, &named);
}

#define WAITED(ns, background, ...)                                                                \
	waited(ns, background, (const struct made_runner[]){ __VA_ARGS__, { 0 } })

TEST(test_had_cpu)
{
	static const struct {
		const char *name, *cgroup;
		uint64_t total;
		bool idle;
	} expected[] = {
		{ "a", "/x", 90 },	  { "kworker/u8", "/", 35 }, { "swapper", "/", 33, true },
		{ "kworker/0", "/", 25 }, { "a", "/y", 8 },	     { "a:b", "/", 7 },
		{ "swapper", "/", 1 },
	};

	WAITED(110, false, { 20, "a", 50 }, { 6, "kworker/u8:1", 30 }, { 0, "swapper", 20 },
	       { 10, "a:b", 7 });
	WAITED(108, false, { 29, "a", 40 }, { 8, "kworker/0:1H", 25 }, { 0, "swapper", 13 },
	       { 30, "a", 8 });
	WAITED(100, false, { 9, "kworker/u8:12", 5 }, { 11, "swapper", 1 });
	WAITED(1000, true, { 5, "a", 900 });
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct runner_total *runner = summary_at(summary, SUMMARY_RUNNERS, i);

		assert_non_null(runner);
		assert_string_equal(runner->ranked.name, expected[i].name);
		assert_string_equal(runner->cgroup, expected[i].cgroup);
		assert_int_equal(runner->ranked.id == SUMMARY_IDLE, expected[i].idle);
		assert_int_equal(runner->ranked.total, expected[i].total);
	}
	assert_null(summary_at(summary, SUMMARY_RUNNERS, COUNT(expected)));
	assert_int_equal(summary_had_cpu_unknown(summary), 3 + 22 + 94);
	assert_int_equal(summary_longest(summary)->stall->runners[1].ns, 30);
}

/* The kept stall has room for STALL_SLICES_MAX of all kinds: shrinkers first, most time first. */
TEST(test_longest_with_many_slices)
{
	static struct stall_slice slices[3][STALL_SLICES_MAX];
	struct task_info task_info = { .pid = 0 };
	struct stall one = { .end = 5 * MS, .gfp_names = "", .compaction = "" };
	struct named_stall named = {
		.stall = &one,
		.name = "t",
		.task_info = &task_info,
		.function = "f",
		.memcg = "",
		.limit = "",
		.resolver = &(struct resolver){ .task_info = info_of },
	};
	const struct stall *kept;

	for (int i = 0; i < STALL_SLICES_MAX; i++)
		for (int kind = 0; kind < 3; kind++)
			slices[kind][i].ns = 1000 * (kind + 1) - i;
	one.shrinkers = slices[0];
	one.nr_shrinkers = 100;
	one.sleeps = slices[1];
	one.nr_sleeps = 100;
	one.runners = slices[2];
	one.nr_runners = STALL_SLICES_MAX - 200;
	summary_stall(summary, &named);
	kept = summary_longest(summary)->stall;
	assert_int_equal(kept->incomplete, LACKS_NOTHING);
	assert_int_equal(kept->nr_runners, STALL_SLICES_MAX - 200);
	assert_int_equal(kept->shrinkers[99].ns, 1000 - 99);
	assert_int_equal(kept->sleeps[99].ns, 2000 - 99);
	assert_int_equal(kept->runners[STALL_SLICES_MAX - 201].ns, 3000 - (STALL_SLICES_MAX - 201));

	one.end++;
	one.nr_runners++;
	summary_stall(summary, &named);
	kept = summary_longest(summary)->stall;
	assert_int_equal(kept->incomplete, LACKS_DROPPED);
	assert_int_equal(kept->nr_shrinkers + kept->nr_sleeps, 200);
	assert_int_equal(kept->nr_runners, STALL_SLICES_MAX - 200);
}

/* All tables were full, and are reset. */
static int set_up_used(void **state)
{
	if (set_up(state))
		return -1;
	for (unsigned int i = 0; i < 2 * SUMMARY_TASKS_MAX; i++) {
		char name[16], cgroup[16];

		snprintf(name, sizeof(name), "task%u", i);
		snprintf(cgroup, sizeof(cgroup), "/c%u", i);
		STALL(.tid = 1000 + i, .name = name, .ns = i * MS, .rest = i, .cgroup = cgroup,
		      .background = i % 3 == 0, .function = 0x1000 + i);
		window(0x1000 + i, i * MS);
		WAIT(.tid = 1000 + i, .name = name, .cgroup = cgroup, .role = ROLE_REFAULT,
		     .ns = MS, .background = i % 3 == 0);
		WAITED(10, false, { 1000 + i, name, 5 });
	}
	assert_true(summary_overflow(summary) > 0);
	summary_reset(summary);
	assert_int_equal(summary_overflow(summary), 0);
	return 0;
}

UNIT_TEST_MAIN(NULL, NULL)
