// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/plan/catalog.h"

const struct phase_name phase_group_names[PHASE_GROUPS] = {
	[PHASE_DIRECT_RECLAIM] = { "direct reclaim", "direct_reclaim" },
	[PHASE_MEMCG_RECLAIM] = { "memcg reclaim", "memcg_reclaim" },
	[PHASE_NODE_RECLAIM] = { "node reclaim", "node_reclaim" },
	[PHASE_OTHER_RECLAIM] = { "other reclaim", "other_reclaim" },
	[PHASE_COMPACTION] = { "compaction", "compaction" },
	[PHASE_MEMORY_HIGH] = { "memory.high", "memory_high" },
	[PHASE_OOM] = { "OOM killer", "oom_killer" },
	[PHASE_DRAIN] = { "draining per-CPU lists", "drain" },
	[PHASE_SWAP_IN] = { "swap-in", "swap_in" },
	[PHASE_REFAULT] = { "refault", "refault" },
	[PHASE_OUTSIDE] = { "outside reclaim", "outside" },
};

const struct phase_name phase_part_names[PHASE_PARTS] = {
	[PART_ITSELF] = { "reclaim itself", "itself" },
	[PART_SHRINKERS] = { "shrinkers", "shrinkers" },
	[PART_SHRINKER_LOOKUP] = { "shrinker lookup and locks", "shrinker_lookup" },
	[PART_INACTIVE_LIST] = { "inactive list", "inactive_list" },
	[PART_ACTIVE_LIST] = { "active list", "active_list" },
	[PART_SHORT_SCANS] = { "short list scans", "short_scans" },
	[PART_THROTTLED] = { "throttled", "throttled" },
	[PART_SOFT_LIMIT] = { "soft limit", "soft_limit" },
};

const struct phase_name phase_state_names[PHASE_STATES] = {
	[STATE_RUNNING] = { "running", "running" },
	[STATE_WAITED] = { "waiting for a CPU", "cpu_wait" },
	[STATE_BLOCKED] = { "asleep, uninterruptible", "blocked" },
	[STATE_SLEPT] = { "asleep", "slept" },
	[STATE_OFF] = { "off the CPU (unknown why)", "off_cpu" },
	[STATE_UNKNOWN] = { "unknown", "unknown" },
};

const struct catalog_role catalog_roles[ROLE_COUNT] = {
	/*
	 * From 6.15 on the second name only calls the first: tracing both would show each
	 * allocation twice.
	 */
	[ROLE_PAGE_ALLOCATION] = {
		"page allocation", "page_allocation", PHASE_OUTSIDE, PART_ITSELF, ROLE_NONE,
		{ "__alloc_frozen_pages_noprof", "__alloc_pages_noprof", "__alloc_pages",
		  "__alloc_pages_nodemask" },
	},
	[ROLE_DIRECT_RECLAIM] = {
		"direct reclaim", "direct_reclaim", PHASE_DIRECT_RECLAIM, PART_ITSELF, ROLE_NONE,
		{ "try_to_free_pages" },
		{ "__alloc_pages_slowpath", "__alloc_pages_direct_reclaim", "__perform_reclaim" },
	},
	[ROLE_MEMCG_RECLAIM] = {
		"memcg reclaim", "memcg_reclaim", PHASE_MEMCG_RECLAIM, PART_ITSELF, ROLE_NONE,
		{ "try_to_free_mem_cgroup_pages" },
		{ "try_charge_memcg", "try_charge", "try_to_free_mem_cgroup_pages" },
	},
	/*
	 * Not traced unless a user asks for it: each return to user mode of a program with rseq calls
	 * it on 6.1. Its memory waits tell when a task slept or reclaimed there.
	 */
	[ROLE_MEMORY_HIGH] = {
		"memory.high", "memory_high", PHASE_MEMORY_HIGH, PART_ITSELF, ROLE_NONE,
		{ "__mem_cgroup_handle_over_high", "mem_cgroup_handle_over_high" },
		{ "__mem_cgroup_handle_over_high", "mem_cgroup_handle_over_high", "reclaim_high" },
	},
	[ROLE_SOFT_LIMIT] = {
		"soft limit reclaim", "soft_limit_reclaim", PHASE_OTHER_RECLAIM, PART_SOFT_LIMIT, ROLE_NONE,
		{ "memcg1_soft_limit_reclaim", "mem_cgroup_soft_limit_reclaim" },
	},
	[ROLE_NODE] = {
		"one node's lists", "node_lists", PHASE_OTHER_RECLAIM, PART_ITSELF, ROLE_NONE,
		{ "shrink_node" },
		{ "balance_pgdat" },
	},
	[ROLE_NODE_RECLAIM] = {
		"node reclaim", "node_reclaim", PHASE_NODE_RECLAIM, PART_ITSELF, ROLE_NONE,
		{ "node_reclaim" },
		{ "node_reclaim", "__node_reclaim" },
	},
	[ROLE_DIRECT_THROTTLE] = {
		"direct reclaim throttled", "direct_reclaim_throttled", PHASE_OTHER_RECLAIM, PART_THROTTLED, ROLE_NONE,
		{ "throttle_direct_reclaim" },
	},
	[ROLE_LRUVEC] = {
		"one memcg's lists", "memcg_lists", PHASE_OTHER_RECLAIM, PART_SHORT_SCANS, ROLE_NONE,
		{ "shrink_lruvec", "shrink_node_memcg" },
	},
	[ROLE_LRUVEC_GENERATIONS] = {
		"one memcg's lists (multi-gen LRU)", "memcg_lists", PHASE_OTHER_RECLAIM, PART_INACTIVE_LIST,
		ROLE_LRUVEC,
		{ "try_to_shrink_lruvec" },
	},
	[ROLE_SLAB] = {
		"slab", "slab", PHASE_OTHER_RECLAIM, PART_SHRINKER_LOOKUP, ROLE_NONE,
		{ "shrink_slab" },
	},
	[ROLE_ACTIVE_LIST] = {
		"active list", "active_list", PHASE_OTHER_RECLAIM, PART_ACTIVE_LIST, ROLE_NONE,
		{ "shrink_active_list" },
	},
	[ROLE_INACTIVE_LIST] = {
		"inactive list", "inactive_list", PHASE_OTHER_RECLAIM, PART_INACTIVE_LIST, ROLE_GENERATIONS,
		{ "shrink_inactive_list" },
	},
	[ROLE_GENERATIONS] = {
		"inactive list (multi-gen LRU)", "inactive_list", PHASE_OTHER_RECLAIM, PART_INACTIVE_LIST,
		ROLE_INACTIVE_LIST,
		{ "evict_folios" },
	},
	[ROLE_RECLAIM_THROTTLE] = {
		"throttling in reclaim", "reclaim_throttle", PHASE_OTHER_RECLAIM, PART_THROTTLED, ROLE_NONE,
		{ "reclaim_throttle", "congestion_wait" },
	},
	[ROLE_ZONE_COMPACTION] = {
		"compaction of a zone", "zone_compaction", PHASE_COMPACTION, PART_ITSELF, ROLE_NONE,
		{ "compact_zone", "compact_zone_order" },
		{ "kcompactd", "kcompactd_do_work" },
	},
	[ROLE_DIRECT_COMPACTION] = {
		"direct compaction", "direct_compaction", PHASE_COMPACTION, PART_ITSELF, ROLE_NONE,
		{ "try_to_compact_pages" },
		{ "__alloc_pages_direct_compact" },
	},
	[ROLE_OOM_KILLER] = {
		"OOM killer", "oom_killer", PHASE_OOM, PART_ITSELF, ROLE_NONE,
		{ "out_of_memory" },
	},
	[ROLE_DRAIN] = {
		"draining per-CPU lists", "drain", PHASE_DRAIN, PART_ITSELF, ROLE_NONE,
		{ "drain_all_pages" },
	},
	[ROLE_SWAP_IN] = {
		"swap-in", "swap_in", PHASE_SWAP_IN, PART_ITSELF, ROLE_NONE,
		{ "do_swap_page" },
		{ "swap_readpage", "swap_read_folio", "swap_read_page" },
	},
	[ROLE_IO] = {
		"other wait for I/O", "io", PHASE_OUTSIDE, PART_ITSELF, ROLE_NONE,
		{ "io_schedule" },
	},
	[ROLE_REFAULT] = {
		"refault", "refault", PHASE_REFAULT, PART_ITSELF, ROLE_NONE, { NULL },
		{ "folio_wait_bit_common", "wait_on_page_bit_common",
		  "migration_entry_wait_on_locked" },
	},
	[ROLE_REFAULT_READ] = {
		"refault", "refault", PHASE_REFAULT, PART_ITSELF, ROLE_NONE, { NULL },
		{ "read_pages", "filemap_read_folio", "submit_bio", "add_ra_bio_pages" },
	},
	[ROLE_REFAULT_NOT_IN_PSI] = {
		"refault, not in PSI", "refault_not_in_psi", PHASE_REFAULT, PART_ITSELF, ROLE_NONE, { NULL },
	},
	[ROLE_WAIT] = {
		"memory wait", "memory_wait", PHASE_OTHER_RECLAIM, PART_ITSELF, ROLE_NONE, { NULL },
	},
	[ROLE_SHRINKER] = {
		"shrinker", "shrinker", PHASE_OTHER_RECLAIM, PART_SHRINKERS, ROLE_NONE, { NULL },
	},
};

#define SIDE(own, own_side, other, group, own_name, ...)                                           \
	[own] = { group, own_name, own_side, other, .needs = ROLE_NONE, .owners = __VA_ARGS__ }
/* The last arguments are the owners, and other members of both events. */
#define PAIR(begin, end, group, begin_name, end_name, ...)                                         \
	SIDE(begin, EVENT_BEGIN, end, group, begin_name, __VA_ARGS__),                             \
		SIDE(end, EVENT_END, begin, group, end_name, __VA_ARGS__)
#define SINGLE(owner_bits) .side = EVENT_SINGLE, .partner = EVENT_COUNT, .owners = (owner_bits)

const struct catalog_event catalog_events[EVENT_COUNT] = {
	PAIR(EVENT_DIRECT_RECLAIM_BEGIN, EVENT_DIRECT_RECLAIM_END, "vmscan",
	     "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end",
	     ROLE_BIT(ROLE_DIRECT_RECLAIM)),
	PAIR(EVENT_MEMCG_RECLAIM_BEGIN, EVENT_MEMCG_RECLAIM_END, "vmscan",
	     "mm_vmscan_memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_end",
	     ROLE_BIT(ROLE_MEMCG_RECLAIM)),
	PAIR(EVENT_SOFT_LIMIT_BEGIN, EVENT_SOFT_LIMIT_END, "vmscan",
	     "mm_vmscan_memcg_softlimit_reclaim_begin", "mm_vmscan_memcg_softlimit_reclaim_end",
	     ROLE_BIT(ROLE_SOFT_LIMIT), .repeats = true),
	PAIR(EVENT_NODE_RECLAIM_BEGIN, EVENT_NODE_RECLAIM_END, "vmscan",
	     "mm_vmscan_node_reclaim_begin", "mm_vmscan_node_reclaim_end",
	     ROLE_BIT(ROLE_NODE_RECLAIM)),
	PAIR(EVENT_COMPACTION_BEGIN, EVENT_COMPACTION_END, "compaction",
	     "mm_compaction_begin", "mm_compaction_end",
	     ROLE_BIT(ROLE_ZONE_COMPACTION)),
	[EVENT_TRY_TO_COMPACT] = {
		"compaction", "mm_compaction_try_to_compact_pages",
		SINGLE(ROLE_BIT(ROLE_DIRECT_COMPACTION)), .needs = ROLE_NONE,
	},
	[EVENT_THROTTLED] = {
		"vmscan", "mm_vmscan_throttled",
		SINGLE(ROLE_BIT(ROLE_RECLAIM_THROTTLE)), .needs = ROLE_NONE, .any_window = true,
	},
	[EVENT_SHRINK_INACTIVE] = {
		"vmscan", "mm_vmscan_lru_shrink_inactive",
		SINGLE(ROLE_BIT(ROLE_INACTIVE_LIST) | ROLE_BIT(ROLE_GENERATIONS)),
		.needs = ROLE_INACTIVE_LIST, .owners_without = ROLE_BIT(ROLE_LRUVEC),
		.repeats = true,
	},
	PAIR(EVENT_SLAB_START, EVENT_SLAB_END,
	     "vmscan", "mm_shrink_slab_start", "mm_shrink_slab_end", 0, .repeats = true),
	PAIR(EVENT_WAIT_BEGIN, EVENT_WAIT_END,
	     PROBE_SYSTEM, "memory_wait_begin", "memory_wait_end", 0),
	[EVENT_REFAULT] = {
		PROBE_SYSTEM, "refault", SINGLE(ROLE_BIT(ROLE_IO)), .needs = ROLE_NONE,
	},
	[EVENT_EXEC] = {
		"sched", "sched_process_exec", SINGLE(0), .needs = ROLE_NONE, .children = true,
	},
	[EVENT_FORK] = {
		"sched", "sched_process_fork", SINGLE(0), .needs = ROLE_NONE, .children = true,
	},
	[EVENT_EXIT] = {
		"sched", "sched_process_exit", SINGLE(0), .needs = ROLE_NONE, .children = true,
	},
	[EVENT_SCHED_SWITCH] = {
		"sched", "sched_switch", SINGLE(0), .needs = ROLE_NONE, .off_cpu = true,
	},
	[EVENT_SCHED_WAKEUP] = {
		"sched", "sched_wakeup", SINGLE(0), .needs = ROLE_NONE, .off_cpu = true,
	},
	[EVENT_OOM_VICTIM] = {
		"oom", "mark_victim", SINGLE(0), .needs = ROLE_NONE, .children = true,
	},
};

/* include/trace/events/kmem.h, task.h and sched.h */
const struct catalog_histogram catalog_histograms[HISTOGRAM_COUNT] = {
	[HISTOGRAM_FORKS] = { "task", "task_newtask", "common_pid,pid,clone_flags" },
	[HISTOGRAM_EXITS] = { "sched", "sched_process_exit", "common_pid,comm" },
	[HISTOGRAM_KMALLOC] = { "kmem", "kmalloc", "call_site.sym-offset",
				"bytes_req,bytes_alloc" },
	[HISTOGRAM_KMALLOC_NODE] = { "kmem", "kmalloc_node", "call_site.sym-offset",
				     "bytes_req,bytes_alloc" },
	[HISTOGRAM_CACHE] = { "kmem", "kmem_cache_alloc", "call_site.sym-offset",
			      "bytes_req,bytes_alloc" },
	[HISTOGRAM_CACHE_NODE] = { "kmem", "kmem_cache_alloc_node", "call_site.sym-offset",
				   "bytes_req,bytes_alloc" },
	/* An allocation that fails is counted as well, without a page. */
	[HISTOGRAM_PAGES] = { "kmem", "mm_page_alloc", "common_pid,order", NULL,
			      "pfn != 0xffffffffffffffff" },
	[HISTOGRAM_FALLBACKS] = { "kmem", "mm_page_alloc_extfrag", "common_pid" },
	[HISTOGRAM_REFILLS] = { "kmem", "mm_page_alloc_zone_locked", "common_pid", NULL,
				"percpu_refill == 1" },
	[HISTOGRAM_DRAINS] = { "kmem", "mm_page_pcpu_drain", "common_pid" },
};

bool catalog_name_matches(const char *function, const char *name)
{
	/* No strlen() here: this runs for each name and each of the kernel's symbols. */
	while (*name && *name == *function)
		name++, function++;
	return !*name && (!*function || *function == '.');
}

static bool has_name(const char *const names[CATALOG_NAMES_MAX], const char *function)
{
	for (int i = 0; i < CATALOG_NAMES_MAX && names[i]; i++)
		if (catalog_name_matches(function, names[i]))
			return true;
	return false;
}

enum role catalog_role_of(const char *function)
{
	for (int role = 0; role < ROLE_COUNT; role++)
		if (has_name(catalog_roles[role].names, function))
			return role;
	return ROLE_NONE;
}

enum role catalog_wait_role(const char *function)
{
	for (int role = 0; role < ROLE_COUNT; role++)
		if (has_name(catalog_roles[role].waits_in, function))
			return role;
	return ROLE_WAIT;
}

const char *catalog_role_title(enum role role)
{
	return role == ROLE_NONE ? NULL : catalog_roles[role].title;
}

const char *catalog_role_key(enum role role)
{
	return role == ROLE_NONE ? "other" : catalog_roles[role].key;
}

enum role catalog_pair_role(enum event_id id)
{
	if (id == EVENT_SLAB_START || id == EVENT_SLAB_END)
		return ROLE_SHRINKER;
	if (id == EVENT_WAIT_BEGIN || id == EVENT_WAIT_END)
		return ROLE_WAIT;
	if (id >= EVENT_COUNT || catalog_events[id].side == EVENT_SINGLE)
		return ROLE_NONE;
	return __builtin_ctzll(catalog_events[id].owners);
}
