// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/capture/read.h"
#include "notes.h"
#include "unit_test.h"

/* What is available: blank-separated lists, as a kernel would list it. */
struct offered {
	const char *functions;
	const char *events;
	int many; /* functions many_0, many_1, … in addition */
	bool no_function_graph;
	bool histograms;
	const char *fields; /* "mm_page_alloc_zone_locked.percpu_refill " */
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
	"allocfilt:refault "                                                                       \
	"sched:sched_switch "

static bool has_event(void *context, const char *system, const char *name)
{
	const struct offered *offered = context;
	char full[128];

	snprintf(full, sizeof(full), "%s:%s ", system, name);
	return strstr(offered->events, full) || !strcmp(system, "many");
}

static bool has_field(void *context, const char *system, const char *event, const char *field)
{
	const struct offered *offered = context;
	char full[128];

	snprintf(full, sizeof(full), "%s.%s ", event, field);
	return strstr(offered->fields, full);
}

static const struct offered usual = { functions_6_1, EVENTS_6_1 };

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
#define EVENTS_OF_ALL EVENT_EXEC

static struct plan *plan;
static struct failure failure;
static bool children; /* of COMMAND */
static bool off_cpu;

static int make(const struct offered *offered, struct plan_request request, const char *functions,
		const char *events)
{
	char functions_text[16 * PLAN_FUNCTIONS_MAX], **offered_functions;
	char **wanted_functions = split(functions), **wanted_events = split(events);
	struct plan_offer offer = {
		!offered->no_function_graph, NULL,     has_event, (void *)(uintptr_t)offered,
		offered->histograms,	     has_field
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
	request.functions = functions ? wanted_functions : NULL;
	request.events = wanted_events;
	ret = plan_make(&plan, &request, &offer, &failure);
	free_split(offered_functions);
	free_split(wanted_functions);
	free_split(wanted_events);
	return ret;
}

#define REQUEST(...)                                                                               \
	((struct plan_request){ .threshold = 134000,                                               \
				.children = children,                                              \
				.off_cpu = off_cpu,                                                \
				__VA_ARGS__ })

static int tear_down(void **state)
{
	plan_free(plan);
	plan = NULL;
	off_cpu = children = false;
	return 0;
}

static void plan_with(const char *offered_functions, const char *offered_events,
		      const char *functions, const char *events)
{
	const struct offered offered = { offered_functions, offered_events };

	if (make(&offered, REQUEST(), functions, events))
		fail_msg("%s", failure.text);
	assert_int_equal(plan->threshold, 134000);
}

static void plan_for(const char *functions, const char *events)
{
	plan_with(functions, events, NULL, NULL);
}

static void check_refused(const struct offered *offered, const char *functions, const char *events,
			  enum exit_status status, const char *part)
{
	assert_true(make(offered, REQUEST(), functions, events) < 0);
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

static void check_rules(enum event_rule rule, const enum event_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_event(ids[i], rule, 0);
}

/* These events have a rule, and no owner. */
#define CHECK_RULE(rule, ...)                                                                      \
	check_rules(rule, (const enum event_id[]){ __VA_ARGS__ },                                  \
		    COUNT(((const enum event_id[]){ __VA_ARGS__ })))

/* --- without function_graph --- */

/* The one line about function_graph says it all: no role is missing. */
static void check_fallback(void)
{
	assert_false(plan->function_graph);
	assert_int_equal(plan->nr_functions, 0);
	assert_int_equal(plan->roles, 0);
	CHECK_RULE(RULE_PAIR, EVENT_DIRECT_RECLAIM_BEGIN, EVENT_MEMCG_RECLAIM_END,
		   EVENT_COMPACTION_BEGIN, EVENT_COMPACTION_END, EVENT_SLAB_START, EVENT_SLAB_END,
		   EVENT_WAIT_BEGIN);
	CHECK_RULE(RULE_NEVER, EVENT_SHRINK_INACTIVE, EVENT_THROTTLED);
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
}

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
#define NO_WAITS ", no memory_wait_begin, no memory_wait_end, no refault"
#define NO_READS ", no swap-in, no other wait for I/O"

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
		  "mem_cgroup_soft_limit_reclaim" NO_READS ", no mm_vmscan_throttled" NO_WAITS },
		{ "fixtures/6.1",
		  "15 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_pages, "
		  "mem_cgroup_handle_over_high, mem_cgroup_soft_limit_reclaim, "
		  "no OOM killer, no draining per-CPU lists" NO_READS NO_WAITS },
		{ "fixtures/6.12",
		  "14 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_pages_noprof, "
		  "mem_cgroup_handle_over_high, no soft limit reclaim, "
		  "no OOM killer, no draining per-CPU lists" NO_READS NO_WAITS },
		/* tracing both page allocation functions would show each allocation twice */
		{ "fixtures/7.3",
		  "17 functions, reclaim_throttle, shrink_lruvec, compact_zone, __alloc_frozen_pages_noprof, "
		  "__mem_cgroup_handle_over_high, no soft limit reclaim" NO_READS NO_WAITS },
	};

	for (size_t i = 0; i < COUNT(kernels); i++) {
		clear_notes();
		note_kernel(kernels[i].dir);
		assert_string_equal(notes.text, kernels[i].expected);
	}
}

/* Execs, forks and exits are traced for COMMAND alone, and shown where -e asks for them. */
TEST(test_children)
{
	static const char events[] = EVENTS_6_1 "sched:sched_process_exec sched:sched_process_fork "
						"sched:sched_process_exit ";

	plan_for(functions_6_1, events);
	assert_int_equal(plan_event_of(plan, EVENT_EXEC), -1);
	assert_int_equal(plan_event_of(plan, EVENT_FORK), -1);
	assert_int_equal(plan_event_of(plan, EVENT_EXIT), -1);
	children = true;
	plan_for(functions_6_1, events);
	CHECK_RULE(RULE_CHILDREN, EVENT_EXEC, EVENT_FORK, EVENT_EXIT);
	plan_with(functions_6_1, events, NULL, "sched:sched_process_exit");
	CHECK_RULE(RULE_CHILDREN, EVENT_FORK);
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_EXIT);
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
	CHECK_RULE(RULE_PAIR, EVENT_SOFT_LIMIT_BEGIN, EVENT_SOFT_LIMIT_END);
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_THROTTLED);
	CHECK_RULE(RULE_NEVER, EVENT_TRY_TO_COMPACT, EVENT_SHRINK_INACTIVE);
	/* a begin without its end */
	plan_for("__alloc_pages", "vmscan:mm_shrink_slab_start ");
	CHECK_RULE(RULE_NEVER, EVENT_SLAB_START);
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

/* Without functions for now each pair is timed by itself, and events of -e are as they were. */
TEST(test_functions_for_a_time)
{
	static const struct offered offered = {
		functions_6_1, EVENTS_6_1 " sched:sched_switch sched:sched_wakeup kmem:kfree "
	};
	uint64_t roles;

	assert_int_equal(make(&offered, (struct plan_request){ .off_cpu = true }, NULL,
			      "kmem:kfree sched:sched_wakeup"),
			 0);
	roles = plan->roles;
	plan_trace_functions(plan, false);
	assert_false(plan->function_graph);
	CHECK_RULE(RULE_PAIR, EVENT_DIRECT_RECLAIM_BEGIN, EVENT_DIRECT_RECLAIM_END,
		   EVENT_COMPACTION_BEGIN, EVENT_SLAB_START, EVENT_WAIT_BEGIN);
	CHECK_RULE(RULE_NEVER, EVENT_THROTTLED, EVENT_SHRINK_INACTIVE, EVENT_TRY_TO_COMPACT);
	CHECK_RULE(RULE_OFF_CPU, EVENT_SCHED_SWITCH);
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_SCHED_WAKEUP, EVENT_USER);
	plan_trace_functions(plan, true);
	assert_true(plan->function_graph);
	assert_int_equal(plan->roles, roles);
	check_event(EVENT_DIRECT_RECLAIM_BEGIN, RULE_OWNER, ROLE_BIT(ROLE_DIRECT_RECLAIM));
	CHECK_RULE(RULE_PAIR, EVENT_SLAB_START, EVENT_WAIT_BEGIN);
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_SCHED_WAKEUP, EVENT_USER);
}

TEST(test_memory_waits)
{
	plan_for(functions_6_1, EVENTS_6_1);
	CHECK_RULE(RULE_PAIR, EVENT_WAIT_BEGIN, EVENT_WAIT_END);
	assert_true(plan_has_waits(plan));
	/* the kernel refused them */
	plan_drop_event(plan, EVENT_WAIT_BEGIN);
	plan_drop_event(plan, EVENT_WAIT_END);
	assert_false(plan_has_waits(plan));
	CHECK_RULE(RULE_NEVER, EVENT_WAIT_BEGIN, EVENT_WAIT_END);
	CHECK_RULE(RULE_PAIR, EVENT_SLAB_START);
	plan_for(functions_6_1, "vmscan:mm_shrink_slab_start vmscan:mm_shrink_slab_end ");
	assert_false(plan_has_waits(plan));
	plan_drop_event(plan, EVENT_WAIT_BEGIN);
	plan_drop_event(plan, EVENT_WAIT_END);
	/* nothing can be told of one side */
	plan_for(functions_6_1, "allocfilt:memory_wait_begin ");
	assert_false(plan_has_waits(plan));
}

/* --- without function_graph --- */

TEST(test_fallback)
{
	const struct offered offered = { functions_6_1, EVENTS_6_1, .no_function_graph = true };

	assert_int_equal(make(&offered, REQUEST(), NULL, NULL), 0);
	check_fallback();
	/* the same where function_graph has no function to time */
	plan_for("schedule", EVENTS_6_1);
	assert_false(plan->function_graph);
	CHECK_RULE(RULE_PAIR, EVENT_COMPACTION_END);
}

static void check_spares(bool expected, const enum event_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(plan_can_spare(plan, &plan->events[plan_event_of(plan, ids[i])]),
				 expected);
}

#define CHECK_SPARE(expected, ...)                                                                 \
	check_spares(expected, (const enum event_id[]){ __VA_ARGS__ },                             \
		     COUNT(((const enum event_id[]){ __VA_ARGS__ })))

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

/* Never what nothing else tells. */
TEST(test_events_to_spare)
{
	off_cpu = true;
	plan_with(functions_6_1, EVENTS_6_1 "sched:sched_wakeup kmem:mm_page_alloc ", NULL,
		  "kmem:mm_page_alloc");
	CHECK_SPARE(true, EVENT_USER, EVENT_SCHED_SWITCH, EVENT_SLAB_START, EVENT_SHRINK_INACTIVE,
		    EVENT_DIRECT_RECLAIM_BEGIN);
	CHECK_SPARE(false, EVENT_WAIT_BEGIN, EVENT_WAIT_END);
	assert_false(plan_has_refaults(plan));
	plan_for("try_to_free_pages io_schedule", EVENTS_6_1);
	assert_true(plan_has_refaults(plan));
	CHECK_SPARE(true, EVENT_REFAULT);
	plan_drop_event(plan, EVENT_REFAULT);
	assert_false(plan_has_refaults(plan));
	/* Slab pairs are inside of memory waits, where there are any. */
	plan_for("schedule", EVENTS_6_1);
	assert_false(plan->function_graph);
	CHECK_SPARE(true, EVENT_SLAB_START);
	CHECK_SPARE(false, EVENT_DIRECT_RECLAIM_BEGIN, EVENT_WAIT_BEGIN);
	plan_for("schedule", "vmscan:mm_shrink_slab_start vmscan:mm_shrink_slab_end ");
	CHECK_SPARE(false, EVENT_SLAB_START);
	/* one that has no function, among others that have */
	plan_for("try_to_free_pages", EVENTS_6_1);
	CHECK_SPARE(true, EVENT_DIRECT_RECLAIM_BEGIN);
	CHECK_SPARE(false, EVENT_MEMCG_RECLAIM_BEGIN);
	children = true;
	plan_with(functions_6_1, EVENTS_6_1 "sched:sched_process_fork sched:sched_process_exit ",
		  NULL, "sched:sched_process_exit");
	CHECK_SPARE(false, EVENT_FORK, EVENT_EXIT);
}

/* Only if asked for, and both or none; those of -e are shown. */
TEST(test_off_cpu)
{
	static const char both[] = EVENTS_6_1 "sched:sched_wakeup ";

	plan_for(functions_6_1, both);
	assert_false(plan_off_cpu(plan));
	off_cpu = true;
	plan_for(functions_6_1, both);
	assert_true(plan_off_cpu(plan));
	CHECK_RULE(RULE_OFF_CPU, EVENT_SCHED_SWITCH, EVENT_SCHED_WAKEUP);
	plan_for(functions_6_1, EVENTS_6_1);
	assert_false(plan_off_cpu(plan));
	assert_int_equal(plan_event_of(plan, EVENT_SCHED_SWITCH), -1);
	plan_for(functions_6_1, "vmscan:mm_shrink_slab_end sched:sched_wakeup ");
	assert_int_equal(plan_event_of(plan, EVENT_SCHED_WAKEUP), -1);
	plan_with(functions_6_1, both, NULL, "sched:sched_switch");
	assert_true(plan_off_cpu(plan));
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_SCHED_SWITCH);
	CHECK_RULE(RULE_OFF_CPU, EVENT_SCHED_WAKEUP);
	assert_int_equal(plan_event_of(plan, EVENT_USER), -1);
}

/* Traced on each kernel that has it, never to spare, and shown where -e asks for it. */
TEST(test_oom_victims)
{
	static const char events[] = EVENTS_6_1 "oom:mark_victim ";

	plan_for(functions_6_1, events);
	CHECK_RULE(RULE_CHILDREN, EVENT_OOM_VICTIM);
	CHECK_SPARE(false, EVENT_OOM_VICTIM);
	plan_with(functions_6_1, events, NULL, "oom:mark_victim");
	CHECK_RULE(RULE_ANY_WINDOW, EVENT_OOM_VICTIM);
	CHECK_SPARE(false, EVENT_OOM_VICTIM);
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
	const uint64_t some = ROLE_BIT(ROLE_PAGE_ALLOCATION) | ROLE_BIT(ROLE_MEMORY_HIGH);

	assert_int_equal(make(&usual, REQUEST(.leave_out = some), NULL, NULL), 0);
	assert_int_equal(plan->nr_functions, 13);
	check_function(ROLE_PAGE_ALLOCATION, NULL);
	check_function(ROLE_MEMORY_HIGH, NULL);
	assert_false(plan_role_unavailable(plan, ROLE_PAGE_ALLOCATION));
	assert_false(plan_role_unavailable(plan, ROLE_MEMORY_HIGH));
	assert_true(plan->left_out & ROLE_BIT(ROLE_PAGE_ALLOCATION));
	check_function(ROLE_DIRECT_RECLAIM, "try_to_free_pages");
	/* a request for it counts all the same */
	assert_int_equal(make(&usual, REQUEST(.leave_out = some), "__alloc_pages", NULL), 0);
	check_function(ROLE_PAGE_ALLOCATION, "__alloc_pages");
}

TEST(test_without_functions)
{
	const struct offered none = { functions_6_1, "vmscan:mm_vmscan_throttled " };
	const struct plan_request request =
		REQUEST(.leave_out = PLAN_ALL_ROLES,
			.function_setting = "/etc/allocfilt.conf: function");

	assert_int_equal(make(&usual, request, NULL, NULL), 0);
	check_fallback();
	assert_int_equal(plan->left_out, PLAN_ALL_ROLES);
	assert_int_equal(make(&usual, request, "shrink_dcache_sb", NULL), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_string_equal(failure.text, "/etc/allocfilt.conf: function shrink_dcache_sb: "
					  "function-graph = no traces no function");
	assert_int_equal(make(&none, request, NULL, NULL), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_string_equal(failure.text,
			    "this kernel has none of the vmscan and compaction events");
}

TEST(test_refusals)
{
	static const struct offered without = { functions_6_1, EVENTS_6_1,
						.no_function_graph = true };
	static const char few[] = "vmscan:mm_vmscan_throttled vmscan:mm_shrink_slab_end ";
	static const struct offered nothing = { "schedule", few };
	static const struct offered nothing_without = { "schedule", few,
							.no_function_graph = true };
	static const struct {
		const struct offered *offered;
		const char *functions, *events;
		enum exit_status status;
		const char *part;
	} cases[] = {
		{ &usual, "no_such_function", NULL, EXIT_STATUS_USAGE, "-F no_such_function" },
		{ &usual, "no_such_*", NULL, EXIT_STATUS_USAGE, "-F no_such_*" },
		{ &usual, "", NULL, EXIT_STATUS_USAGE, "-F" },
		{ &without, "schedule", NULL, EXIT_STATUS_NO_FEATURE, "-F schedule" },
		{ &usual, NULL, "sched:no_such_event", EXIT_STATUS_USAGE,
		  "-e sched:no_such_event" },
		{ &usual, NULL, "nosystem:sched_switch", EXIT_STATUS_USAGE,
		  "-e nosystem:sched_switch" },
		{ &usual, NULL, "sched_switch", EXIT_STATUS_USAGE, "-e sched_switch" },
		/* neither functions nor pairs */
		{ &nothing, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph" },
		{ &nothing_without, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check_refused(cases[i].offered, cases[i].functions, cases[i].events,
			      cases[i].status, cases[i].part);
}

/* --- limits --- */

TEST(test_function_limit)
{
	struct offered offered = { "__alloc_pages", "", .many = PLAN_FUNCTIONS_MAX - 1 };

	assert_int_equal(make(&offered, REQUEST(), "many_*", NULL), 0);
	assert_int_equal(plan->nr_functions, PLAN_FUNCTIONS_MAX);
	offered.many++;
	check_refused(&offered, "many_*", NULL, EXIT_STATUS_USAGE, "many_*");
}

TEST(test_event_limit)
{
	const struct offered offered = { "__alloc_pages", EVENTS_6_1 };
	char events[PLAN_EVENTS_MAX * 16] = "many:event_0";
	size_t length = strlen(events);

	for (int i = 1; i < PLAN_EVENTS_MAX - EVENTS_OF_ALL; i++)
		length += sprintf(events + length, " many:event_%d", i);
	assert_int_equal(make(&offered, REQUEST(), NULL, events), 0);
	assert_int_equal(plan->nr_events, PLAN_EVENTS_MAX);
	strcpy(events + length, " many:last");
	check_refused(&offered, NULL, events, EXIT_STATUS_USAGE, "many:last");
}

#define EVENTS_OF_ACCOUNT                                                                          \
	EVENTS_6_1 "task:task_newtask sched:sched_process_exit kmem:kmalloc "                      \
		   "kmem:kmem_cache_alloc kmem:mm_page_alloc kmem:mm_page_alloc_extfrag "          \
		   "kmem:mm_page_alloc_zone_locked kmem:mm_page_pcpu_drain "

TEST(test_histograms)
{
	const unsigned int nodes =
		HISTOGRAM_BIT(HISTOGRAM_KMALLOC_NODE) | HISTOGRAM_BIT(HISTOGRAM_CACHE_NODE);
	const unsigned int all = (1u << HISTOGRAM_COUNT) - 1;
	const struct {
		const char *events, *fields;
		bool by_task;
		unsigned int histograms;
		bool cache_names;
	} cases[] = {
		/* 7.3 */
		{ EVENTS_OF_ACCOUNT,
		  "mm_page_alloc_zone_locked.percpu_refill kmem_cache_alloc.name ", false,
		  all & ~nodes, true },
		/* 6.1: no name */
		{ EVENTS_OF_ACCOUNT "kmem:kmalloc_node kmem:kmem_cache_alloc_node ",
		  "mm_page_alloc_zone_locked.percpu_refill ", true, all, false },
		/* before 5.19 */
		{ EVENTS_OF_ACCOUNT, "", false, all & ~nodes & ~HISTOGRAM_BIT(HISTOGRAM_REFILLS),
		  false },
		/* the least */
		{ EVENTS_6_1 "task:task_newtask sched:sched_process_exit "
			     "kmem:kmalloc kmem:mm_page_alloc ",
		  "", false,
		  HISTOGRAM_BIT(HISTOGRAM_FORKS) | HISTOGRAM_BIT(HISTOGRAM_EXITS) |
			  HISTOGRAM_BIT(HISTOGRAM_KMALLOC) | HISTOGRAM_BIT(HISTOGRAM_PAGES),
		  false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct offered offered = { functions_6_1, cases[i].events, .histograms = true,
						 .fields = cases[i].fields };

		assert_int_equal(make(&offered,
				      REQUEST(.account = true, .sites_by_task = cases[i].by_task),
				      NULL, NULL),
				 0);
		assert_int_equal(plan->histograms, cases[i].histograms);
		assert_int_equal(plan->cache_names, cases[i].cache_names);
		assert_int_equal(plan->sites_by_task, cases[i].by_task);
	}
	/* a run has none */
	plan_for(functions_6_1, EVENTS_OF_ACCOUNT);
	assert_int_equal(plan->histograms, 0);
}

TEST(test_refused_accounts)
{
	static const struct {
		const char *events, *part;
		bool histograms;
	} cases[] = {
		{ EVENTS_OF_ACCOUNT, "CONFIG_HIST_TRIGGERS", false },
		{ EVENTS_6_1, "task:task_newtask", true },
		{ EVENTS_6_1 "task:task_newtask kmem:kmalloc kmem:mm_page_alloc ",
		  "sched:sched_process_exit", true },
		{ EVENTS_6_1 "task:task_newtask sched:sched_process_exit kmem:mm_page_alloc ",
		  "no event kmem:kmalloc", true },
		{ EVENTS_6_1 "task:task_newtask sched:sched_process_exit kmem:kmalloc ",
		  "kmem:mm_page_alloc", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct offered offered = { functions_6_1, cases[i].events,
						 .histograms = cases[i].histograms, .fields = "" };

		assert_true(make(&offered, REQUEST(.account = true), NULL, NULL) < 0);
		assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
		assert_int_equal(failure.status, 5);
		assert_non_null(strstr(failure.text, cases[i].part));
		assert_null(plan);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
