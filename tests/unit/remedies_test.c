// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/base/base.h"
#include "allocfilt/stats/remedies.h"
#include "fake_resolver.h"
#include "unit_test.h"

#define INODES 0x10
#define OTHERS 0x20

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	return snprintf(text, size, "%s", address == INODES ? "super_cache_scan" : "ext4_es_scan");
}

static struct resolver resolver = { .symbol = symbol };
static struct remedies remedies;

/* A stall of 100 ns in one phase. */
struct made {
	enum phase_group group;
	enum phase_part part;
	enum phase_state state;
	int order;
	const char *gfp;
	uint64_t scanned, reclaimed;
	const uint64_t *dirty;	    /* NULL: the event has no such field */
	const int *priority;	    /* NULL: not known */
	const char *cgroup, *limit; /* of the task, and whose limit it was; NULL: "/c" */
	uint64_t shrinker;	    /* its callback */
	uint64_t objects, freed;    /* that it scanned, and freed */
	bool incomplete;
	const char *name;
	uint64_t compacts;   /* ns */
	const char *runner;  /* who had the CPU; NULL: not known */
	uint64_t reclaiming; /* ns: of the runner */
};

static void count(struct made made, uint64_t ns)
{
	struct stall_slice slice = { .callback = made.shrinker,
				     .scanned = made.objects,
				     .freed = made.freed };
	struct stall_slice runner = { .tid = 7, .ns = ns, .reclaiming = made.reclaiming };
	struct stall stall = {
		.order = made.order,
		.gfp_names = made.gfp ? made.gfp : "",
		.counts.known = 1u << COUNT_SCANNED | 1u << COUNT_RECLAIMED |
				(made.dirty ? 1u << COUNT_DIRTY : 0),
		.counts.count[COUNT_SCANNED] = made.scanned,
		.counts.count[COUNT_RECLAIMED] = made.reclaimed,
		.counts.count[COUNT_DIRTY] = made.dirty ? *made.dirty : 0,
		.has_priority = made.priority,
		.priority = made.priority ? *made.priority : 0,
		.shrinkers = &slice,
		.nr_shrinkers = made.shrinker != 0,
		.runners = &runner,
		.nr_runners = made.runner != NULL,
		.incomplete = made.incomplete ? LACKS_LOST : LACKS_NOTHING,
	};
	struct task_info info = { .pid = 1 };
	struct named_stall named = {
		.stall = &stall,
		.name = made.name ? made.name : "t",
		.task_info = &info,
		.memcg = "",
		.limit = made.limit ? made.limit : "/c",
		.resolver = &resolver,
	};

	snprintf(runner.name, sizeof(runner.name), "%s", made.runner ? made.runner : "");
	snprintf(info.cgroup, sizeof(info.cgroup), "%s", made.cgroup ? made.cgroup : "/c");
	phases_spend(&stall.phases, made.group, made.part, made.state, ns - made.compacts);
	phases_spend(&stall.phases, PHASE_COMPACTION, PART_ITSELF, made.state, made.compacts);
	remedies_stall(&remedies, &named);
}

static const char *key_at(int rank)
{
	uint64_t ns;
	const struct remedy *remedy = remedies_at(&remedies, rank, &ns);

	return remedy ? remedy->key : "nothing";
}

#define UNKNOWN STATE_UNKNOWN
#define DIRTY(n)                                                                                   \
	.dirty = &(const uint64_t)                                                                 \
	{                                                                                          \
		n                                                                                  \
	}
#define AT(n)                                                                                      \
	.priority = &(const int)                                                                   \
	{                                                                                          \
		n                                                                                  \
	}

/*
 * Each row where it must appear, and next to it where it must not. The figures of reclaim are those of stalls
 * that were seen: 20,889 dirty of 20,945, and 57 reclaimed of 8,013 at priority 0.
 */
static const struct {
	struct made made;
	const char *key;
} cases[] = {
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, .runner = "a" }, "cpu" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "a", .reclaiming = 9 }, "cpu" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "a", .reclaiming = 91 },
	  "cpu_reclaiming" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, STATE_WAITED }, "cpu_reclaiming" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "allocfilt" }, "cpu_own" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "allocfilt", .reclaiming = 100 },
	  "cpu_own" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_BLOCKED }, "nothing" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_OFF }, "nothing" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = INODES, .objects = 1024,
	    .freed = 1 },
	  "inode_caches" },
	{ { PHASE_MEMCG_RECLAIM, PART_SHRINKERS, STATE_BLOCKED, .shrinker = INODES, .objects = 9000,
	    .freed = 9000 },
	  "inode_caches" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = INODES }, "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = INODES, .objects = 1023,
	    .freed = 9 },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = INODES, .objects = 9000 },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = OTHERS, .objects = 9000,
	    .freed = 9000 },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, .shrinker = INODES, .objects = 9000,
	    .freed = 9000 },
	  "direct_reclaim" },
	{ { PHASE_OTHER_RECLAIM, PART_SHRINKERS, UNKNOWN, .shrinker = INODES, .objects = 9000,
	    .freed = 9000 },
	  "nothing" },
	{ { PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, UNKNOWN, .scanned = 20945, DIRTY(20889) },
	  "dirty" },
	{ { PHASE_DIRECT_RECLAIM, PART_THROTTLED, UNKNOWN, .scanned = 20945, DIRTY(20889) },
	  "dirty" },
	{ { PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, UNKNOWN, .scanned = 1000, DIRTY(750) },
	  "dirty" },
	{ { PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, UNKNOWN, .scanned = 1000, DIRTY(749) },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, UNKNOWN, .scanned = 31, DIRTY(31) },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_INACTIVE_LIST, UNKNOWN, .scanned = 1000 },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_THROTTLED, UNKNOWN }, "throttled" },
	{ { PHASE_OTHER_RECLAIM, PART_THROTTLED, UNKNOWN }, "nothing" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, 9, "GFP_TRANSHUGE|__GFP_THISNODE" },
	  "huge_pages" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, 9, "GFP_TRANSHUGE" }, "huge_pages" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, 9, "GFP_HIGHUSER_MOVABLE|__GFP_COMP" },
	  "nothing" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, 3, "GFP_KERNEL" }, "fragmentation" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, 5, "GFP_HIGHUSER|__GFP_RETRY_MAYFAIL" },
	  "nothing" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, 2, "GFP_KERNEL", .compacts = 20 },
	  "fragmentation" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, 2, "GFP_KERNEL", .compacts = 19 },
	  "direct_reclaim" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, 2, "GFP_KERNEL" }, "direct_reclaim" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, -1 }, "nothing" },
	{ { PHASE_COMPACTION, PART_ITSELF, UNKNOWN, 0 }, "nothing" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 8013, .reclaimed = 57, AT(0) },
	  "limit_in_use" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 8013, .reclaimed = 57, AT(1) },
	  "limit" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 8013, .reclaimed = 57 },
	  "limit" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 32, .reclaimed = 8, AT(0) },
	  "limit_in_use" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 31, AT(0) }, "limit" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 800, .reclaimed = 201, AT(0) },
	  "limit" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 8013, .reclaimed = 57, AT(0),
	    DIRTY(8000) },
	  "dirty" },
	{ { PHASE_DIRECT_RECLAIM, PART_ITSELF, UNKNOWN, .scanned = 8013, .reclaimed = 57, AT(0) },
	  "direct_reclaim" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "/a.slice/b.service",
	    .limit = "/a.slice" },
	  "limit_above" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "/a.slice/b.service",
	    .limit = "/a.slice", .scanned = 8013, .reclaimed = 57, AT(0) },
	  "limit_above" },
	{ { PHASE_MEMORY_HIGH, PART_ITSELF, STATE_SLEPT, .cgroup = "/a.slice/b/c",
	    .limit = "/a.slice" },
	  "limit_above" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "/a.slice", .limit = "/a.slice" },
	  "limit" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "/a.slicer/b",
	    .limit = "/a.slice" },
	  "limit_unknown" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "/a.slice",
	    .limit = "/a.slice/b" },
	  "limit_unknown" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .limit = "" }, "limit_unknown" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .limit = "", .scanned = 8013,
	    .reclaimed = 57, AT(0) },
	  "limit_unknown" },
	{ { PHASE_MEMORY_HIGH, PART_ITSELF, STATE_SLEPT, .limit = "" }, "limit_unknown" },
	{ { PHASE_MEMCG_RECLAIM, PART_ITSELF, UNKNOWN, .cgroup = "", .limit = "" },
	  "limit_unknown" },
	{ { PHASE_MEMORY_HIGH, PART_ITSELF, STATE_SLEPT }, "memory_high" },
	{ { PHASE_DIRECT_RECLAIM, PART_SHRINKER_LOOKUP, STATE_RUNNING }, "direct_reclaim" },
	{ { PHASE_OTHER_RECLAIM, PART_ITSELF, UNKNOWN }, "nothing" },
	{ { PHASE_DRAIN, PART_ITSELF, UNKNOWN }, "nothing" },
	{ { PHASE_NODE_RECLAIM, PART_ITSELF, UNKNOWN }, "node_reclaim" },
	{ { PHASE_SWAP_IN, PART_ITSELF, STATE_BLOCKED }, "swap_in" },
	{ { PHASE_REFAULT, PART_ITSELF, UNKNOWN }, "refault" },
	{ { PHASE_OOM, PART_ITSELF, UNKNOWN }, "oom" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING }, "allocator_runs" },
	{ { PHASE_OUTSIDE, PART_ITSELF, STATE_RUNNING, .incomplete = true }, "nothing" },
	{ { PHASE_OUTSIDE, PART_ITSELF, UNKNOWN }, "not_recorded" },
	{ { PHASE_OUTSIDE, PART_ITSELF, UNKNOWN, .incomplete = true }, "nothing" },
};

UNIT_TEST(test_rows)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		remedies = (struct remedies){ 0 };
		count(cases[i].made, 100);
		assert_string_equal(key_at(0), cases[i].key);
		assert_string_equal(key_at(1), "nothing");
		assert_int_equal(remedies.total, 100);
	}
}

static void spend(enum phase_group group, uint64_t ns)
{
	count((struct made){ group, PART_ITSELF, UNKNOWN }, ns);
}

/*
 * By hand: a tenth of 1000 ns are 100. Draining has no row, but is a part of the whole. The OOM killer is first
 * with any time.
 */
UNIT_TEST(test_which_are_shown)
{
	uint64_t ns;

	remedies = (struct remedies){ 0 };
	assert_string_equal(key_at(0), "nothing");
	spend(PHASE_MEMORY_HIGH, 99);
	spend(PHASE_DIRECT_RECLAIM, 150);
	spend(PHASE_DRAIN, 251);
	spend(PHASE_NODE_RECLAIM, 100);
	spend(PHASE_SWAP_IN, 150);
	spend(PHASE_DIRECT_RECLAIM, 250);
	assert_string_equal(key_at(0), "direct_reclaim");
	assert_string_equal(remedies_at(&remedies, 0, &ns)->key, "direct_reclaim");
	assert_int_equal(ns, 400);
	assert_string_equal(key_at(1), "swap_in");
	assert_string_equal(key_at(2), "node_reclaim");
	assert_string_equal(key_at(3), "nothing");
	spend(PHASE_DRAIN, 10);
	assert_string_equal(key_at(2), "nothing");
	spend(PHASE_OOM, 1);
	spend(PHASE_NODE_RECLAIM, 60);
	assert_string_equal(key_at(0), "oom");
	assert_string_equal(remedies_at(&remedies, 0, &ns)->key, "oom");
	assert_int_equal(ns, 1);
	assert_string_equal(key_at(1), "direct_reclaim");
	assert_string_equal(key_at(2), "node_reclaim");
	assert_string_equal(key_at(3), "nothing");
	spend(PHASE_OUTSIDE, 900);
	assert_string_equal(key_at(1), "direct_reclaim");
	assert_string_equal(key_at(2), "not_recorded");
	assert_string_equal(key_at(3), "nothing");
}

/* Who had the CPU is told by what they did meanwhile; this program with more than 5 % of it, and before others. */
UNIT_TEST(test_cpu)
{
	uint64_t ns;

	remedies = (struct remedies){ 0 };
	count((struct made){ PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "a",
			     .reclaiming = 30 },
	      95);
	count((struct made){ PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED,
			     .runner = "allocfilt" },
	      5);
	assert_string_equal(remedies_at(&remedies, 0, &ns)->key, "cpu");
	assert_int_equal(ns, 65);
	assert_string_equal(remedies_at(&remedies, 1, &ns)->key, "cpu_reclaiming");
	assert_int_equal(ns, 30);
	assert_string_equal(key_at(2), "nothing");
	spend(PHASE_SWAP_IN, 1000);
	spend(PHASE_MEMORY_HIGH, 1000);
	spend(PHASE_NODE_RECLAIM, 1000);
	assert_string_equal(key_at(2), "swap_in");
	/* More than a twentieth of a wait for a CPU that is no tenth of all time. */
	count((struct made){ PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "allocfilt" }, 1);
	for (int rank = 0; rank < 3; rank++) {
		assert_string_not_equal(key_at(rank), "cpu_own");
		assert_string_not_equal(key_at(rank), "nothing");
	}
	assert_string_equal(key_at(3), "nothing");
	assert_int_equal(remedies.total, 3101);
	/* All waits for a CPU rank it: 701, behind three of 1000, and before these. */
	count((struct made){ PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, .runner = "other" },
	      550);
	count((struct made){ PHASE_OUTSIDE, PART_ITSELF, STATE_WAITED, .runner = "allocfilt" }, 50);
	for (int rank = 0; rank < 3; rank++)
		assert_string_not_equal(key_at(rank), "cpu_own");
	count((struct made){ PHASE_DIRECT_RECLAIM, PART_ITSELF, STATE_WAITED, .runner = "other" },
	      300);
	assert_string_equal(remedies_at(&remedies, 0, &ns)->key, "cpu_own");
	assert_int_equal(ns, 6 + 50);
}

/* A long wait is in a stall already. Of a short one the reason alone is known, and perhaps the limit. */
UNIT_TEST(test_waits)
{
	static const struct {
		int role;
		const char *key, *limit;
	} waits[] = {
		{ ROLE_REFAULT, "refault" },
		{ ROLE_REFAULT_READ, "refault" },
		{ ROLE_SWAP_IN, "swap_in" },
		{ ROLE_MEMORY_HIGH, "memory_high", "/s/c" },
		{ ROLE_MEMORY_HIGH, "limit_above", "/s" },
		{ ROLE_MEMORY_HIGH, "limit_unknown" },
		{ ROLE_MEMCG_RECLAIM, "limit", "/s/c" },
		{ ROLE_MEMCG_RECLAIM, "limit_above", "/s" },
		{ ROLE_MEMCG_RECLAIM, "limit_unknown" },
		{ ROLE_DIRECT_RECLAIM, "direct_reclaim" },
		{ ROLE_DIRECT_COMPACTION, "nothing" },
		{ ROLE_WAIT, "nothing" },
	};

	for (size_t i = 0; i < COUNT(waits); i++) {
		const struct memory_wait wait = { .start = 5, .end = 75, .role = waits[i].role };
		const struct stall stall = {
			.order = -1,
			.gfp_names = "",
			.phases.groups = 1u << catalog_roles[waits[i].role].group,
		};
		const struct task_info info = { .cgroup = "/s/c" };
		const struct named_stall named = {
			.stall = &stall,
			.name = "t",
			.task_info = &info,
			.limit = waits[i].limit ? waits[i].limit : "",
		};

		remedies = (struct remedies){ 0 };
		remedies_wait(&remedies, &named, &wait, true);
		assert_int_equal(remedies.total, 0);
		remedies_wait(&remedies, &named, &wait, false);
		assert_int_equal(remedies.total, 70);
		assert_string_equal(key_at(0), waits[i].key);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
