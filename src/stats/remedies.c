// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/stats/ranking.h"
#include "allocfilt/stats/remedies.h"

#define VM_RST	"Documentation/admin-guide/sysctl/vm.rst"
#define CGROUPS "Documentation/admin-guide/cgroup-v2.rst"
#define UNITS	"systemd.resource-control(5)"

#define BIT(n)	(1u << (n))
#define ANY	(~0u)
#define DIRECT	BIT(PHASE_DIRECT_RECLAIM)
#define MEMCG	BIT(PHASE_MEMCG_RECLAIM)
#define NODE	BIT(PHASE_NODE_RECLAIM)
#define HIGH	BIT(PHASE_MEMORY_HIGH)
#define RECLAIM (DIRECT | MEMCG | NODE)

/* ---- conditions ---- */

/*
 * Caches of dentries and inodes are those of superblocks, and scanned 1024 objects at a time: alloc_super()
 * in fs/super.c. The largest shrinker is the first.
 */
static bool shrinks_inodes(const struct named_stall *named)
{
	const struct stall_slice *first = named->stall->shrinkers;
	char name[STALL_FUNCTION_MAX];

	if (!named->stall->nr_shrinkers || first->scanned < 1024 || !first->freed)
		return false;
	resolver_symbol(named->resolver, first->callback, 's', name, sizeof(name));
	return !strcmp(name, "super_cache_scan");
}

/* Dirty pages contain those under writeback, and are pages of files: shrink_folio_list(). */
static bool scans_dirty(const struct named_stall *named)
{
	const uint64_t *count = named->stall->counts.count;

	return count[COUNT_SCANNED] >= 32 && 4 * count[COUNT_DIRTY] >= 3 * count[COUNT_SCANNED];
}

/* Huge pages of hugetlbfs have other flags. */
static bool asks_for_thp(const struct named_stall *named)
{
	return strstr(named->stall->gfp_names, "TRANSHUGE");
}

/*
 * Where memory itself is short, compaction is a small part: compaction_suitable() lets it begin seldom. Huge
 * pages that somebody reserves (vm.nr_hugepages) are larger, or have this flag where pages are large.
 */
static bool asks_for_block(const struct named_stall *named)
{
	const struct phases *phases = &named->stall->phases;

	return 4 * phases_group(phases, PHASE_COMPACTION) >=
		       phases_group(phases, PHASE_DIRECT_RECLAIM) &&
	       named->stall->order > 0 && named->stall->order < 9 &&
	       !strstr(named->stall->gfp_names, "__GFP_RETRY_MAYFAIL");
}

/* At priority 0 reclaim goes through all pages in one round. */
static bool scans_in_vain(const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const uint64_t *count = stall->counts.count;

	return stall->has_priority && !stall->priority &&
	       count[COUNT_SCANNED] >= 4 * count[COUNT_RECLAIMED] && count[COUNT_SCANNED] >= 32;
}

static bool is_limited_above(const struct named_stall *named)
{
	size_t length = strlen(named->limit);

	return length > 1 && !strncmp(named->task_info->cgroup, named->limit, length) &&
	       named->task_info->cgroup[length] == '/';
}

static bool is_limit_unknown(const struct named_stall *named)
{
	return !*named->limit || strcmp(named->limit, named->task_info->cgroup) != 0;
}

/* Lost records may have been of a slow function. */
static bool is_complete(const struct named_stall *named)
{
	return !named->stall->incomplete;
}

/* ---- the table ---- */

#define ROW(key, groups, parts, states, holds, ...)                                                \
	{                                                                                          \
		groups, parts, states, holds,                                                      \
		{                                                                                  \
			key, __VA_ARGS__                                                           \
		}                                                                                  \
	}

/*
 * The first row that fits a nanosecond has it, so special findings come before general ones. A wait for a CPU
 * belongs to one of the first three: see explain_waited().
 */
enum { CPU, CPU_RECLAIMING, CPU_OWN };

static const struct {
	unsigned int groups, parts, states;		/* bits of enum phase_group, … */
	bool (*holds)(const struct named_stall *named); /* NULL: always */
	struct remedy remedy;
} rows[REMEDIES] = {
	ROW("cpu", 0, 0, 0, NULL,
	    "Other tasks had the CPUs when these could have run: this part is not a shortage of memory.",
	    "Look at which tasks had the CPU meanwhile.",
	    "Raise CPUWeight= of the unit that waited, limit who had the CPU (CPUQuota=), or add CPUs.",
	    UNITS),
	ROW("cpu_reclaiming", 0, 0, 0, NULL,
	    "Others had the CPUs, who reclaimed memory meanwhile, or of whom that is not recorded.",
	    "Look at which tasks had the CPU meanwhile, and at their own stalls.",
	    "Limit the memory of who had the CPU (MemoryHigh=), or add memory.", UNITS),
	ROW("cpu_own", 0, 0, 0, NULL,
	    "allocfilt itself had the CPUs for more than 5 % of the time that these waited for one.",
	    "Look at the CPU time of allocfilt in top(1).",
	    "Record now (allocfilt record) and report later, or use a larger -t: both take less.",
	    "allocfilt(8)"),
	ROW("inode_caches", RECLAIM, BIT(PART_SHRINKERS), ANY, shrinks_inodes,
	    "Reclaim scanned caches of directories and inodes, 1024 objects or more in a stall.",
	    "Look at the file systems of super_cache_scan, and at slabtop(1).",
	    "Find what reads so many files there, or raise vm.vfs_cache_pressure a little above 100.",
	    VM_RST),
	ROW("dirty", RECLAIM, ANY, ANY, scans_dirty,
	    "Most pages that reclaim scanned were dirty: the disk cannot keep up with the writes.",
	    "Look at iostat -x 1, and at Dirty and Writeback in /proc/meminfo.",
	    "Lower vm.dirty_background_bytes, limit the writer (IOWriteBandwidthMax=), or use faster disks.",
	    VM_RST ", " UNITS),
	ROW("throttled", RECLAIM, BIT(PART_THROTTLED), ANY, NULL,
	    "Tasks were made to sleep, because reclaim was ahead of kswapd or of the disk.",
	    "Look at free, so and bo in vmstat 1.",
	    "Limit what uses most memory (MemoryHigh=), raise vm.min_free_kbytes, or swap to a faster disk.",
	    UNITS ", " VM_RST),
	ROW("huge_pages", DIRECT | BIT(PHASE_COMPACTION), ANY, ANY, asks_for_thp,
	    "A setting made tasks reclaim or compact memory themselves to get transparent huge pages.",
	    "Look at /sys/kernel/mm/transparent_hugepage/defrag, and at thp_* in /proc/vmstat.",
	    "Set transparent_hugepage/defrag to defer: khugepaged then makes huge pages later.",
	    "Documentation/admin-guide/mm/transhuge.rst"),
	ROW("fragmentation", DIRECT | BIT(PHASE_COMPACTION), ANY, ANY, asks_for_block,
	    "No free block of memory was large enough, and pages were moved or freed to make one.",
	    "Look at /proc/buddyinfo, and with --stack at who asks for such blocks.",
	    "Raise vm.compaction_proactiveness or vm.min_free_kbytes, to have blocks made in advance.",
	    VM_RST),
	ROW("limit_above", MEMCG | HIGH, ANY, ANY, is_limited_above,
	    "A cgroup above was at its limit, which all units in it share.",
	    "Look at the cgroup at its limit, and at memory.current of those in it.",
	    "Set MemoryLow= on the unit that suffers, MemoryHigh= on the one that takes most.",
	    UNITS ", " CGROUPS),
	ROW("limit_unknown", MEMCG | HIGH, ANY, ANY, is_limit_unknown,
	    "A limit was reached: the unit's own, or that of another cgroup, mostly one above it.",
	    "Look at memory.max, memory.high and memory.events.local of the unit and of its slices.",
	    "Raise the limit that is reached (MemoryMax=, MemoryHigh=), or use less memory below it.",
	    UNITS ", " CGROUPS),
	ROW("limit_in_use", MEMCG, ANY, ANY, scans_in_vain,
	    "The unit's own limit is below what it uses: everything was scanned to free a few pages.",
	    "Look at memory.stat, memory.peak and memory.events of the cgroup.",
	    "Raise MemoryMax= of the unit, or have it use less memory.", UNITS ", " CGROUPS),
	ROW("limit", MEMCG, ANY, ANY, NULL,
	    "The unit was at its own limit, and freed its own memory, not the machine's.",
	    "Look at memory.events and memory.peak of the unit, and of the slices that it is in.",
	    "Raise MemoryMax= or MemoryHigh= of the unit, or have it use less memory.",
	    UNITS ", " CGROUPS),
	ROW("memory_high", HIGH, ANY, ANY, NULL,
	    "The unit was above its MemoryHigh=, and the kernel slowed it down.",
	    "Look at memory.current, memory.high and memory.events of the unit, and of its slices.",
	    "Raise MemoryHigh= of the unit, or have it use less memory.", UNITS ", " CGROUPS),
	ROW("direct_reclaim", DIRECT, ANY, ANY, NULL,
	    "The machine, not one unit, was short: free memory ran out faster than kswapd freed more.",
	    "Look at systemd-cgtop -m (who uses the most memory), and allocstall_* in /proc/vmstat.",
	    "Limit what uses the most memory (MemoryHigh=), add some, or raise vm.watermark_scale_factor.",
	    VM_RST ", " UNITS),
	ROW("node_reclaim", NODE, ANY, ANY, NULL,
	    "The kernel reclaimed memory of one node before it took free memory of another.",
	    "Look at vm.zone_reclaim_mode, and at numastat(8).", "Set vm.zone_reclaim_mode to 0.",
	    VM_RST),
	ROW("swap_in", BIT(PHASE_SWAP_IN), ANY, ANY, NULL,
	    "Pages in use had been swapped out by reclaim, and tasks waited to get them back.",
	    "Look at si in vmstat 1, and at memory.swap.current of the unit.",
	    "Raise the unit's limit; if it has none, add memory or set MemoryLow=; or use faster swap.",
	    UNITS ", " CGROUPS),
	ROW("refault", BIT(PHASE_REFAULT), ANY, ANY, NULL,
	    "Pages of files had been freed by reclaim, and tasks waited to read them again.",
	    "Look at workingset_refault_* in memory.stat of the unit, and in /proc/vmstat.",
	    "Raise the unit's limit, so that its files fit; if it has none, add memory or set MemoryLow=.",
	    UNITS ", " CGROUPS),
	ROW("oom", BIT(PHASE_OOM), ANY, ANY, NULL,
	    "The OOM killer ran, because reclaim did not free what was asked for.",
	    "Look at journalctl -k -g 'Killed process'.",
	    "Limit the unit that grows (MemoryMax=), let systemd-oomd act earlier, or add memory.",
	    UNITS ", systemd-oomd.service(8)"),
	ROW("allocator_runs", BIT(PHASE_OUTSIDE), ANY, BIT(STATE_RUNNING), is_complete,
	    "Not explained: the task ran in code that is not timed, or its host had the CPU.",
	    "Look at perf top, and at st in vmstat 1.",
	    "If perf shows clear_page, use fewer huge pages; if st (steal) is not 0, give the VM more CPU.",
	    "Documentation/admin-guide/mm/transhuge.rst"),
	ROW("not_recorded", BIT(PHASE_OUTSIDE), ANY, BIT(STATE_UNKNOWN), is_complete,
	    "Not explained: nothing that was traced took this time; often other tasks had the CPU.",
	    "Look at /proc/pressure/cpu at the time of the stalls.",
	    "Record with --off-cpu, which tells waiting for a CPU from sleep and from work.",
	    "allocfilt(8)"),
};

const struct remedy remedy_none = {
	"none",
	"No setting is known to help with a tenth of the time.",
	"Look at the stalls themselves: journalctl SYSLOG_IDENTIFIER=allocfilt.",
	"Change nothing before that.",
	"allocfilt(8)",
};

/* ---- counting ---- */

static void explain_ns(struct remedies *remedies, unsigned int holding, unsigned int group,
		       unsigned int part, unsigned int state, uint64_t ns)
{
	int row = 0;

	while (row < REMEDIES && !(holding & BIT(row) && rows[row].groups & BIT(group) &&
				   rows[row].parts & BIT(part) && rows[row].states & BIT(state)))
		row++;
	if (row < REMEDIES)
		add_ns(&remedies->ns[row], ns);
	add_ns(&remedies->total, ns);
}

static unsigned int rows_holding(const struct named_stall *named)
{
	unsigned int holding = 0;

	for (int row = 0; row < REMEDIES; row++)
		if (!rows[row].holds ||
		    (rows[row].groups & named->stall->phases.groups && rows[row].holds(named)))
			holding |= BIT(row);
	return holding;
}

/* No one is told to limit this program, nor that its work is another task's. */
static void explain_waited(struct remedies *remedies, const struct stall *stall)
{
	uint64_t left = phases_state(&stall->phases, STATE_WAITED);

	add_ns(&remedies->total, left);
	for (size_t i = 0; i < stall->nr_runners; i++) {
		const struct stall_slice *runner = &stall->runners[i];
		bool is_own = !strcmp(runner->name, "allocfilt");
		uint64_t ns = is_own ? runner->ns : runner->ns - runner->reclaiming;

		add_ns(&remedies->ns[is_own ? CPU_OWN : CPU], ns);
		left -= ns;
	}
	add_ns(&remedies->ns[CPU_RECLAIMING], left);
}

void remedies_stall(struct remedies *remedies, const struct named_stall *named)
{
	const struct phases *phases = &named->stall->phases;
	unsigned int holding = rows_holding(named);

	explain_waited(remedies, named->stall);
	PHASES_FOREACH(group, phases)
		for (int part = 0; part < phases_parts(group); part++)
			for (int state = 0; state < PHASE_STATES; state++)
				if (phases->ns[group][part][state] && state != STATE_WAITED)
					explain_ns(remedies, holding, group, part, state,
						   phases->ns[group][part][state]);
}

void remedies_add(struct remedies *remedies, const struct remedies *more)
{
	add_ns(&remedies->total, more->total);
	for (int row = 0; row < REMEDIES; row++)
		add_ns(&remedies->ns[row], more->ns[row]);
}

void remedies_wait(struct remedies *remedies, const struct named_stall *named,
		   const struct memory_wait *wait, bool is_long)
{
	const struct catalog_role *reason = &catalog_roles[wait->role];

	if (!is_long)
		explain_ns(remedies, rows_holding(named), reason->group, reason->part,
			   STATE_UNKNOWN, wait->end - wait->start);
}

/* ---- reading ---- */

const struct remedy *remedies_at(const struct remedies *remedies, int rank, uint64_t *ret_ns)
{
	const uint64_t *ns = remedies->ns;
	uint64_t weights[REMEDIES], waited = ns[CPU] + ns[CPU_RECLAIMING] + ns[CPU_OWN];
	int row = -1;

	if (rank >= REMEDIES_SHOWN)
		return NULL;
	for (int i = 0; i < REMEDIES; i++) {
		weights[i] = ns[i] < remedies->total / 10 ? 0 : ns[i];
		if (weights[i] && rows[i].groups == BIT(PHASE_OUTSIDE))
			weights[i] = 1;
		if (ns[i] && rows[i].groups == BIT(PHASE_OOM))
			weights[i] = UINT64_MAX;
	}
	/* Our own part is small, and comes before the rest of the waits for a CPU, if these are shown. */
	if (20 * ns[CPU_OWN] > waited && waited >= remedies->total / 10)
		weights[CPU_OWN] = waited;
	else
		weights[CPU_OWN] = 0;
	do {
		row = ranking_next(weights, sizeof(weights[0]), REMEDIES, row);
	} while (row >= 0 && rank--);
	if (row < 0 || !weights[row])
		return NULL;
	*ret_ns = remedies->ns[row];
	return &rows[row].remedy;
}

uint64_t remedies_ns(const struct remedies *remedies, const struct remedy *remedy)
{
	int row = 0;

	while (&rows[row].remedy != remedy)
		row++;
	return remedies->ns[row];
}
