// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/capture/read.h"
#include "notes.h"
#include "unit_test.h"

/* What is available: blank-separated lists, as a kernel would list it. */
struct offered {
	const char *functions;
	const char *events;
	int many; /* functions many_0, many_1, … in addition */
};

static const char functions_6_1[] =
	"shrink_active_list evict_folios shrink_slab throttle_direct_reclaim reclaim_throttle "
	"shrink_lruvec shrink_node try_to_free_pages try_to_free_mem_cgroup_pages node_reclaim "
	"compact_zone compact_zone_order try_to_compact_pages __alloc_pages "
	"mem_cgroup_handle_over_high mem_cgroup_soft_limit_reclaim "
	"schedule kmalloc_order shrink_dcache_sb __alloc_pages_bulk shrink_page_list";

#define EVENTS_6_1                                                                                 \
	"vmscan:mm_vmscan_direct_reclaim_begin "                                                   \
	"vmscan:mm_vmscan_direct_reclaim_end "                                                     \
	"vmscan:mm_vmscan_memcg_reclaim_begin "                                                    \
	"vmscan:mm_vmscan_memcg_reclaim_end "                                                      \
	"vmscan:mm_vmscan_memcg_softlimit_reclaim_begin "                                          \
	"vmscan:mm_vmscan_memcg_softlimit_reclaim_end "                                            \
	"vmscan:mm_vmscan_node_reclaim_begin "                                                     \
	"vmscan:mm_vmscan_node_reclaim_end "                                                       \
	"compaction:mm_compaction_begin "                                                          \
	"compaction:mm_compaction_end "                                                            \
	"compaction:mm_compaction_try_to_compact_pages "                                           \
	"vmscan:mm_vmscan_lru_shrink_inactive "                                                    \
	"vmscan:mm_shrink_slab_start "                                                             \
	"vmscan:mm_shrink_slab_end "                                                               \
	"vmscan:mm_vmscan_throttled "                                                              \
	"allocfilt:memory_wait_begin "                                                             \
	"allocfilt:memory_wait_end "                                                               \
	"sched:sched_switch "

static bool has_event(void *context, const char *system, const char *name)
{
	const struct offered *offered = context;
	char full[128];

	snprintf(full, sizeof(full), "%s:%s ", system, name);
	return strstr(offered->events, full) || !strcmp(system, "many");
}

#define WORDS_MAX (PLAN_FUNCTIONS_MAX + PLAN_EVENTS_MAX)

/* Words of a text between blanks, NULL ends; NULL for none. */
static char **split(const char *words)
{
	char *rest = words ? strdup(words) : NULL;
	char **list = calloc(WORDS_MAX + 1, sizeof(*list));

	for (int i = 0; rest; i++) {
		assert_true(i < WORDS_MAX);
		list[i] = strsep(&rest, " ");
	}
	return list;
}

static void free_split(char **list)
{
	free(list[0]);
	free(list);
}

/* Those of COMMAND and --off-cpu are the last. */
#define EVENTS_OF_ALL EVENT_FORK

static struct plan *plan;
static struct failure failure;
static bool children; /* of COMMAND */
static bool off_cpu;

static int make(const struct offered *offered, bool function_graph, const char *functions,
		const char *events)
{
	char functions_text[16 * PLAN_FUNCTIONS_MAX], **offered_functions;
	struct plan_offer offer = { function_graph, NULL, has_event, (void *)(uintptr_t)offered };
	char **wanted_functions = split(functions), **wanted_events = split(events);
	struct plan_request request = {
		.threshold = 134000,
		.functions = wanted_functions,
		.events = wanted_events,
		.children = children,
		.off_cpu = off_cpu,
	};
	size_t length;
	int ret;

	memset(&failure, 0, sizeof(failure));
	plan_free(plan);
	plan = NULL;
	length = snprintf(functions_text, sizeof(functions_text), "%s", offered->functions);
	for (int i = 0; i < offered->many; i++)
		length += snprintf(functions_text + length, sizeof(functions_text) - length,
				   " many_%d", i);
	offer.functions = offered_functions = split(functions_text);
	ret = plan_make(&plan, &request, &offer, &failure);
	free_split(offered_functions);
	free_split(wanted_functions);
	free_split(wanted_events);
	return ret;
}

static int tear_down(void **state)
{
	plan_free(plan);
	plan = NULL;
	off_cpu = false;
	return 0;
}

static void plan_with(const char *offered_functions, const char *offered_events,
		      const char *functions, const char *events)
{
	struct offered offered = { .functions = offered_functions, .events = offered_events };

	if (make(&offered, true, functions, events))
		fail_msg("%s", failure.text);
	assert_int_equal(plan->threshold, 134000);
}

static void plan_for(const char *functions, const char *events)
{
	plan_with(functions, events, NULL, NULL);
}

static void check_refused(const struct offered *offered, bool function_graph, const char *functions,
			  const char *events, enum exit_status status, const char *part)
{
	assert_true(make(offered, function_graph, functions, events) < 0);
	assert_int_equal(failure.status, status);
	assert_non_null(strstr(failure.text, part));
	assert_null(strchr(failure.text, '\n'));
	assert_null(plan);
}

static bool has_function(const char *name)
{
	for (int i = 0; i < plan->nr_functions; i++)
		if (!strcmp(plan->functions[i].name, name))
			return true;
	return false;
}

/* The only function of a role; NULL: it has none. */
static void check_function(enum role role, const char *name)
{
	const struct plan_function *found = NULL;

	for (int i = 0; i < plan->nr_functions; i++)
		if (plan->functions[i].role == role) {
			assert_null(found);
			found = &plan->functions[i];
		}
	assert_int_equal(!!(plan->roles & ROLE_BIT(role)), !!name);
	assert_int_equal(!!found, !!name);
	if (!name)
		return;
	assert_string_equal(found->name, name);
	assert_false(plan_role_unavailable(plan, role));
}

static const struct plan_event *event_of(enum event_id id)
{
	int index = plan_event_of(plan, id);

	assert_true(index >= 0);
	assert_int_equal(plan->events[index].id, id);
	return &plan->events[index];
}

static void check_event(enum event_id id, enum event_rule rule, uint64_t owners)
{
	assert_int_equal(event_of(id)->rule, rule);
	assert_int_equal(event_of(id)->owners, owners);
}

/* --- kernels --- */

static void note_kernel(const char *dir)
{
	struct plan_request request = { .threshold = 134000 };
	struct plan_offer offer;
	struct capture *capture;

	assert_int_equal(capture_open(&capture, dir, &failure), 0);
	capture_offer(capture, &offer);
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	note("%d functions", plan->nr_functions);
	for (int i = 0; i < plan->nr_functions; i++)
		if (catalog_roles[plan->functions[i].role].names[1])
			note(", %s", plan->functions[i].name);
	for (int role = 0; role < ROLE_COUNT; role++)
		if (plan_role_unavailable(plan, role))
			note(", no %s", catalog_role_title(role));
	for (int id = 0; id < EVENT_COUNT; id++)
		if (!catalog_events[id].children && !catalog_events[id].off_cpu &&
		    plan_event_of(plan, id) < 0)
			note(", no %s", catalog_events[id].name);
	tear_down(NULL);
	capture_close(capture);
}

#define TEST(name) UNIT_TEST_WITH(name, NULL, tear_down)

/* These captures are older than the probes. */
#define NO_WAITS ", no memory_wait_begin, no memory_wait_end"

/* How many functions are traced, which of the roles with several names, and what is lacking. */
TEST(test_kernels)
{
	static const struct {
		const char *dir;
		const char *expected;
	} kernels[] = {
		{ "fixtures/5.10",
		  "17 functions, shrink_lruvec, congestion_wait, compact_zone, "
		  "__alloc_pages_nodemask, mem_cgroup_handle_over_high, "
		  "mem_cgroup_soft_limit_reclaim, no swap-in, no mm_vmscan_throttled" NO_WAITS },
		{ "fixtures/6.1",
		  "15 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_pages, "
		  "mem_cgroup_handle_over_high, mem_cgroup_soft_limit_reclaim, "
		  "no OOM killer, no draining per-CPU lists, no swap-in" NO_WAITS },
		{ "fixtures/6.12",
		  "14 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_pages_noprof, "
		  "mem_cgroup_handle_over_high, no soft limit reclaim, "
		  "no OOM killer, no draining per-CPU lists, no swap-in" NO_WAITS },
		/* tracing both page allocation functions would show each allocation twice */
		{ "fixtures/7.3",
		  "17 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_frozen_pages_noprof, "
		  "__mem_cgroup_handle_over_high, no soft limit reclaim, no swap-in" NO_WAITS },
	};

	for (size_t i = 0; i < COUNT(kernels); i++) {
		clear_notes();
		note_kernel(kernels[i].dir);
		assert_string_equal(notes.text, kernels[i].expected);
	}
}

/* Forks and exits are traced for COMMAND alone, and shown where -e asks for them. */
TEST(test_children)
{
	static const char events[] =
		EVENTS_6_1 "sched:sched_process_fork sched:sched_process_exit ";

	plan_for(functions_6_1, events);
	assert_int_equal(plan_event_of(plan, EVENT_FORK), -1);
	assert_int_equal(plan_event_of(plan, EVENT_EXIT), -1);
	children = true;
	plan_for(functions_6_1, events);
	check_event(EVENT_FORK, RULE_CHILDREN, 0);
	check_event(EVENT_EXIT, RULE_CHILDREN, 0);
	plan_with(functions_6_1, events, NULL, "sched:sched_process_exit");
	check_event(EVENT_FORK, RULE_CHILDREN, 0);
	check_event(EVENT_EXIT, RULE_ANY_WINDOW, 0);
	children = false;
}

TEST(test_inactive_list)
{
	plan_for("shrink_inactive_list evict_folios shrink_lruvec", EVENTS_6_1);
	check_function(ROLE_INACTIVE_LIST, "shrink_inactive_list");
	check_function(ROLE_GENERATIONS, "evict_folios");
	check_event(EVENT_SHRINK_INACTIVE, RULE_OWNER,
		    ROLE_BIT(ROLE_INACTIVE_LIST) | ROLE_BIT(ROLE_GENERATIONS));
	plan_for("shrink_node_memcg __alloc_pages", EVENTS_6_1);
	check_function(ROLE_LRUVEC, "shrink_node_memcg");
	assert_true(plan_role_unavailable(plan, ROLE_INACTIVE_LIST));
	assert_true(plan_role_unavailable(plan, ROLE_GENERATIONS));
	check_event(EVENT_SHRINK_INACTIVE, RULE_OWNER, ROLE_BIT(ROLE_LRUVEC));
}

TEST(test_events_without_their_owners)
{
	plan_for("__alloc_pages", EVENTS_6_1);
	check_event(EVENT_SOFT_LIMIT_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_SOFT_LIMIT_END, RULE_PAIR, 0);
	check_event(EVENT_THROTTLED, RULE_ANY_WINDOW, 0);
	check_event(EVENT_TRY_TO_COMPACT, RULE_NEVER, 0);
	check_event(EVENT_SHRINK_INACTIVE, RULE_NEVER, 0);
	/* a begin without its end */
	plan_for("__alloc_pages", "vmscan:mm_shrink_slab_start ");
	check_event(EVENT_SLAB_START, RULE_NEVER, 0);
	plan_for("__alloc_pages", "");
	assert_true(plan->function_graph);
	assert_int_equal(plan->nr_events, 0);
}

TEST(test_suffixes)
{
	plan_for("shrink_slab.part.0 shrink_slab shrink_node.isra.0 "
		 "shrink_node.constprop.0 shrink_node.isra.0",
		 EVENTS_6_1);
	/* the exact name where there is one; else all parts of it, each once */
	check_function(ROLE_SLAB, "shrink_slab");
	assert_true(has_function("shrink_node.isra.0"));
	assert_true(has_function("shrink_node.constprop.0"));
	assert_int_equal(plan->nr_functions, 3);
}

TEST(test_sides_and_partners)
{
	plan_for(functions_6_1, EVENTS_6_1);
	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];

		if (event->side == EVENT_SINGLE)
			assert_int_equal(event->partner, -1);
		else
			assert_int_equal(plan->events[event->partner].partner, i);
	}
	check_event(EVENT_SLAB_START, RULE_PAIR, 0);
	assert_int_equal(event_of(EVENT_SLAB_END)->side, EVENT_END);
	check_event(EVENT_DIRECT_RECLAIM_BEGIN, RULE_OWNER, ROLE_BIT(ROLE_DIRECT_RECLAIM));
	check_event(EVENT_THROTTLED, RULE_OWNER, ROLE_BIT(ROLE_RECLAIM_THROTTLE));
	check_event(EVENT_SHRINK_INACTIVE, RULE_OWNER,
		    ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC));
	assert_true(event_of(EVENT_SOFT_LIMIT_BEGIN)->repeats);
	assert_false(event_of(EVENT_COMPACTION_BEGIN)->repeats);
}

TEST(test_memory_waits)
{
	plan_for(functions_6_1, EVENTS_6_1);
	check_event(EVENT_WAIT_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_WAIT_END, RULE_PAIR, 0);
	assert_true(plan_has_waits(plan));
	/* the kernel refused them */
	plan_drop_waits(plan);
	assert_false(plan_has_waits(plan));
	check_event(EVENT_WAIT_BEGIN, RULE_NEVER, 0);
	check_event(EVENT_WAIT_END, RULE_NEVER, 0);
	check_event(EVENT_SLAB_START, RULE_PAIR, 0);
	plan_for(functions_6_1, "vmscan:mm_shrink_slab_start vmscan:mm_shrink_slab_end ");
	assert_false(plan_has_waits(plan));
	plan_drop_waits(plan);
	/* nothing can be told of one side */
	plan_for(functions_6_1, "allocfilt:memory_wait_begin ");
	assert_false(plan_has_waits(plan));
}

/* --- without function_graph --- */

TEST(test_fallback)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };

	assert_int_equal(make(&offered, false, NULL, NULL), 0);
	assert_false(plan->function_graph);
	assert_int_equal(plan->nr_functions, 0);
	assert_int_equal(plan->roles, 0);
	check_event(EVENT_DIRECT_RECLAIM_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_MEMCG_RECLAIM_END, RULE_PAIR, 0);
	check_event(EVENT_COMPACTION_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_SLAB_END, RULE_PAIR, 0);
	check_event(EVENT_SHRINK_INACTIVE, RULE_NEVER, 0);
	check_event(EVENT_THROTTLED, RULE_NEVER, 0);
	/* the one line about function_graph says it all */
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	/* the same where function_graph has no function to time */
	plan_for("schedule", EVENTS_6_1);
	assert_false(plan->function_graph);
	check_event(EVENT_COMPACTION_END, RULE_PAIR, 0);
}

/* --- what is requested --- */

TEST(test_requested_functions)
{
	plan_with(functions_6_1, EVENTS_6_1, "schedule shrink_d* shrink_slab shrink_[mnop]age_list",
		  NULL);
	assert_int_equal(plan->nr_functions, 15 + 3);
	assert_true(has_function("schedule"));
	assert_true(has_function("shrink_dcache_sb"));
	assert_true(has_function("shrink_page_list"));
	assert_int_equal(plan->functions[15].role, ROLE_NONE);
	/* they alone are enough */
	plan_with("schedule", "", "schedule", NULL);
	assert_true(plan->function_graph);
}

TEST(test_requested_events)
{
	const struct plan_event *event;

	plan_with(functions_6_1, EVENTS_6_1, NULL,
		  "sched:sched_switch vmscan:mm_shrink_slab_end sched:sched_switch");
	event = event_of(EVENT_USER);
	assert_int_equal(plan->nr_events, EVENTS_OF_ALL + 1);
	assert_string_equal(event->system, "sched");
	assert_string_equal(event->name, "sched_switch");
	assert_int_equal(event->rule, RULE_ANY_WINDOW);
	assert_int_equal(event->partner, -1);
	/* one of the catalog keeps its rule */
	check_event(EVENT_SLAB_END, RULE_PAIR, 0);
}

/* Only if asked for, and both or none; those of -e are shown. */
static void check_spare(enum event_id id, bool expected)
{
	assert_int_equal(plan_can_spare(plan, &plan->events[plan_event_of(plan, id)]), expected);
}

/* Never what nothing else tells. */
TEST(test_events_to_spare)
{
	off_cpu = true;
	plan_with(functions_6_1, EVENTS_6_1 "sched:sched_wakeup kmem:mm_page_alloc ", NULL,
		  "kmem:mm_page_alloc");
	check_spare(EVENT_USER, true);
	check_spare(EVENT_SCHED_SWITCH, true);
	check_spare(EVENT_SLAB_START, true);
	check_spare(EVENT_WAIT_BEGIN, false);
	check_spare(EVENT_WAIT_END, false);
	check_spare(EVENT_SHRINK_INACTIVE, true);
	check_spare(EVENT_DIRECT_RECLAIM_BEGIN, true);
	plan_for("schedule", EVENTS_6_1);
	assert_false(plan->function_graph);
	check_spare(EVENT_DIRECT_RECLAIM_BEGIN, false);
	check_spare(EVENT_WAIT_BEGIN, false);
	/* Slab pairs are inside of memory waits, where there are any. */
	check_spare(EVENT_SLAB_START, true);
	plan_for("schedule", "vmscan:mm_shrink_slab_start vmscan:mm_shrink_slab_end ");
	check_spare(EVENT_SLAB_START, false);
	/* one that has no function, among others that have */
	plan_for("try_to_free_pages", EVENTS_6_1);
	check_spare(EVENT_DIRECT_RECLAIM_BEGIN, true);
	check_spare(EVENT_MEMCG_RECLAIM_BEGIN, false);
	children = true;
	plan_with(functions_6_1, EVENTS_6_1 "sched:sched_process_fork sched:sched_process_exit ",
		  NULL, "sched:sched_process_exit");
	check_spare(EVENT_FORK, false);
	check_spare(EVENT_EXIT, false);
	children = false;
}

TEST(test_off_cpu)
{
	static const char both[] = EVENTS_6_1 "sched:sched_wakeup ";

	plan_for(functions_6_1, both);
	assert_false(plan_off_cpu(plan));
	off_cpu = true;
	plan_for(functions_6_1, both);
	assert_true(plan_off_cpu(plan));
	check_event(EVENT_SCHED_SWITCH, RULE_OFF_CPU, 0);
	check_event(EVENT_SCHED_WAKEUP, RULE_OFF_CPU, 0);
	plan_for(functions_6_1, EVENTS_6_1);
	assert_false(plan_off_cpu(plan));
	assert_int_equal(plan_event_of(plan, EVENT_SCHED_SWITCH), -1);
	plan_for(functions_6_1, "vmscan:mm_shrink_slab_end sched:sched_wakeup ");
	assert_int_equal(plan_event_of(plan, EVENT_SCHED_WAKEUP), -1);
	plan_with(functions_6_1, both, NULL, "sched:sched_switch");
	assert_true(plan_off_cpu(plan));
	check_event(EVENT_SCHED_SWITCH, RULE_ANY_WINDOW, 0);
	check_event(EVENT_SCHED_WAKEUP, RULE_OFF_CPU, 0);
	assert_int_equal(plan_event_of(plan, EVENT_USER), -1);
}

TEST(test_names_of_a_request)
{
	char glob[] = "vfs_*", name[] = "schedule", *patterns[] = { glob, name, NULL };
	struct plan_request request = { .functions = patterns };

	assert_true(plan_names(&request, "vfs_read"));
	assert_true(plan_names(&request, "schedule"));
	assert_false(plan_names(&request, "schedule_timeout"));
	assert_false(plan_names(&request, "shrink_slab"));
}

TEST(test_functions_to_leave_out)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	char **offered_functions = split(functions_6_1);
	struct plan_offer offer = { true, offered_functions, has_event, &offered };
	char name[] = "__alloc_pages", *patterns[] = { name, NULL };
	struct plan_request request = {
		.threshold = 134000,
		.leave_out = ROLE_BIT(ROLE_PAGE_ALLOCATION) | ROLE_BIT(ROLE_MEMORY_HIGH),
	};

	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_int_equal(plan->nr_functions, 13);
	check_function(ROLE_PAGE_ALLOCATION, NULL);
	check_function(ROLE_MEMORY_HIGH, NULL);
	assert_false(plan_role_unavailable(plan, ROLE_PAGE_ALLOCATION));
	assert_false(plan_role_unavailable(plan, ROLE_MEMORY_HIGH));
	assert_true(plan->left_out & ROLE_BIT(ROLE_PAGE_ALLOCATION));
	check_function(ROLE_DIRECT_RECLAIM, "try_to_free_pages");
	plan_free(plan);
	/* a request for it counts all the same */
	request.functions = patterns;
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	check_function(ROLE_PAGE_ALLOCATION, "__alloc_pages");
	free_split(offered_functions);
}

/* The same plan as on a kernel that has no function_graph, and no role is missing. */
TEST(test_without_functions)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	char **offered_functions = split(functions_6_1);
	struct plan_offer offer = { true, offered_functions, has_event, &offered };
	char name[] = "shrink_dcache_sb", *patterns[] = { name, NULL };
	struct plan_request request = { .leave_out = PLAN_ALL_ROLES };

	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_false(plan->function_graph);
	assert_int_equal(plan->nr_functions, 0);
	assert_int_equal(plan->left_out, PLAN_ALL_ROLES);
	check_event(EVENT_DIRECT_RECLAIM_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_COMPACTION_END, RULE_PAIR, 0);
	check_event(EVENT_SLAB_START, RULE_PAIR, 0);
	check_event(EVENT_WAIT_BEGIN, RULE_PAIR, 0);
	check_event(EVENT_THROTTLED, RULE_NEVER, 0);
	check_event(EVENT_SHRINK_INACTIVE, RULE_NEVER, 0);
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	plan_free(plan);
	plan = NULL;
	request.functions = patterns;
	request.function_setting = "/etc/allocfilt.conf: function";
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_string_equal(failure.text, "/etc/allocfilt.conf: function shrink_dcache_sb: "
					  "function-graph = no traces no function");
	request.functions = NULL;
	offered.events = "vmscan:mm_vmscan_throttled ";
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_string_equal(failure.text,
			    "this kernel has none of the vmscan and compaction events");
	free_split(offered_functions);
}

TEST(test_refusals)
{
	static const struct offered usual = { functions_6_1, EVENTS_6_1 };
	static const struct offered nothing = {
		"schedule", "vmscan:mm_vmscan_throttled vmscan:mm_shrink_slab_end "
	};
	static const struct {
		const struct offered *offered;
		bool function_graph;
		const char *functions, *events;
		enum exit_status status;
		const char *part;
	} cases[] = {
		{ &usual, true, "no_such_function", NULL, EXIT_STATUS_USAGE,
		  "-F no_such_function" },
		{ &usual, true, "no_such_*", NULL, EXIT_STATUS_USAGE, "-F no_such_*" },
		{ &usual, true, "", NULL, EXIT_STATUS_USAGE, "-F" },
		{ &usual, false, "schedule", NULL, EXIT_STATUS_NO_FEATURE, "-F schedule" },
		{ &usual, true, NULL, "sched:no_such_event", EXIT_STATUS_USAGE,
		  "-e sched:no_such_event" },
		{ &usual, true, NULL, "nosystem:sched_switch", EXIT_STATUS_USAGE,
		  "-e nosystem:sched_switch" },
		{ &usual, true, NULL, "sched_switch", EXIT_STATUS_USAGE, "-e sched_switch" },
		/* neither functions nor pairs */
		{ &nothing, true, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph" },
		{ &nothing, false, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check_refused(cases[i].offered, cases[i].function_graph, cases[i].functions,
			      cases[i].events, cases[i].status, cases[i].part);
}

/* --- limits --- */

TEST(test_function_limit)
{
	struct offered offered = { "__alloc_pages", "", .many = PLAN_FUNCTIONS_MAX - 1 };

	assert_int_equal(make(&offered, true, "many_*", NULL), 0);
	assert_int_equal(plan->nr_functions, PLAN_FUNCTIONS_MAX);
	offered.many++;
	check_refused(&offered, true, "many_*", NULL, EXIT_STATUS_USAGE, "many_*");
}

TEST(test_event_limit)
{
	struct offered offered = { "__alloc_pages", EVENTS_6_1, .many = 0 };
	char events[PLAN_EVENTS_MAX * 16] = "many:event_0";
	size_t length = strlen(events);

	for (int i = 1; i < PLAN_EVENTS_MAX - EVENTS_OF_ALL; i++)
		length += sprintf(events + length, " many:event_%d", i);
	assert_int_equal(make(&offered, true, NULL, events), 0);
	assert_int_equal(plan->nr_events, PLAN_EVENTS_MAX);
	strcpy(events + length, " many:last");
	check_refused(&offered, true, NULL, events, EXIT_STATUS_USAGE, "many:last");
}

#define EVENTS_OF_ACCOUNT                                                                          \
	"task:task_newtask sched:sched_process_exit kmem:kmalloc kmem:kmem_cache_alloc "           \
	"kmem:mm_page_alloc kmem:mm_page_alloc_extfrag kmem:mm_page_alloc_zone_locked "            \
	"kmem:mm_page_pcpu_drain "

static const char *fields; /* "mm_page_alloc_zone_locked.percpu_refill " */

static bool has_field(void *context, const char *system, const char *event, const char *field)
{
	char full[128];

	snprintf(full, sizeof(full), "%s.%s ", event, field);
	return strstr(fields, full);
}

static int make_account(const char *events, bool histograms, bool by_task)
{
	struct offered offered = { functions_6_1, events };
	char **offered_functions = split(functions_6_1);
	const struct plan_offer offer = { true,	    offered_functions, has_event,
					  &offered, histograms,	       has_field };
	const struct plan_request request = { .threshold = 1000000,
					      .account = true,
					      .sites_by_task = by_task };
	int ret;

	plan_free(plan);
	plan = NULL;
	failure = (struct failure){ 0 };
	ret = plan_make(&plan, &request, &offer, &failure);
	free_split(offered_functions);
	return ret;
}

TEST(test_histograms)
{
	const unsigned int all = (1u << HISTOGRAM_COUNT) - 1;
	const unsigned int nodes =
		HISTOGRAM_BIT(HISTOGRAM_KMALLOC_NODE) | HISTOGRAM_BIT(HISTOGRAM_CACHE_NODE);

	/* 7.3 */
	fields = "mm_page_alloc_zone_locked.percpu_refill kmem_cache_alloc.name ";
	assert_int_equal(make_account(EVENTS_6_1 EVENTS_OF_ACCOUNT, true, false), 0);
	assert_int_equal(plan->histograms, all & ~nodes);
	assert_true(plan->cache_names);
	assert_false(plan->sites_by_task);
	/* 6.1: no name */
	fields = "mm_page_alloc_zone_locked.percpu_refill ";
	assert_int_equal(make_account(EVENTS_6_1 EVENTS_OF_ACCOUNT
				      "kmem:kmalloc_node kmem:kmem_cache_alloc_node ",
				      true, true),
			 0);
	assert_int_equal(plan->histograms, all);
	assert_false(plan->cache_names);
	assert_true(plan->sites_by_task);
	/* before 5.19 */
	fields = "";
	assert_int_equal(make_account(EVENTS_6_1 EVENTS_OF_ACCOUNT, true, false), 0);
	assert_int_equal(plan->histograms, all & ~nodes & ~HISTOGRAM_BIT(HISTOGRAM_REFILLS));
	/* the least */
	assert_int_equal(make_account(EVENTS_6_1 "task:task_newtask sched:sched_process_exit "
						 "kmem:kmalloc kmem:mm_page_alloc ",
				      true, false),
			 0);
	assert_int_equal(plan->histograms,
			 HISTOGRAM_BIT(HISTOGRAM_FORKS) | HISTOGRAM_BIT(HISTOGRAM_EXITS) |
				 HISTOGRAM_BIT(HISTOGRAM_KMALLOC) | HISTOGRAM_BIT(HISTOGRAM_PAGES));
	/* a run has none */
	plan_for(functions_6_1, EVENTS_6_1 EVENTS_OF_ACCOUNT);
	assert_int_equal(plan->histograms, 0);
}

TEST(test_refused_accounts)
{
	static const struct {
		const char *events, *part;
		bool histograms;
	} cases[] = {
		{ EVENTS_6_1 EVENTS_OF_ACCOUNT, "CONFIG_HIST_TRIGGERS", false },
		{ EVENTS_6_1, "task:task_newtask", true },
		{ EVENTS_6_1 "task:task_newtask kmem:kmalloc kmem:mm_page_alloc ",
		  "sched:sched_process_exit", true },
		{ EVENTS_6_1 "task:task_newtask sched:sched_process_exit kmem:mm_page_alloc ",
		  "no event kmem:kmalloc", true },
		{ EVENTS_6_1 "task:task_newtask sched:sched_process_exit kmem:kmalloc ",
		  "kmem:mm_page_alloc", true },
	};

	fields = "";
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(make_account(cases[i].events, cases[i].histograms, false) < 0);
		assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
		assert_int_equal(failure.status, 5);
		assert_non_null(strstr(failure.text, cases[i].part));
		assert_null(plan);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
