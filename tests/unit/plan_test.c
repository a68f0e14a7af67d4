// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/plan.h"
#include "unit_test.h"

/* What is available: blank-separated lists, as a kernel would list it. */
struct offered {
	const char *functions;
	const char *events;
	int many;  /* functions many_0, many_1, … in addition */
	int error; /* of the list of functions */
};

#define OTHERS " schedule kmalloc_order shrink_dcache_sb __alloc_pages_bulk shrink_page_list"

static const char functions_5_10[] =
	"shrink_active_list shrink_inactive_list shrink_slab shrink_lruvec shrink_node "
	"try_to_free_pages try_to_free_mem_cgroup_pages node_reclaim compact_zone "
	"compact_zone_order try_to_compact_pages __alloc_pages_nodemask "
	"mem_cgroup_handle_over_high mem_cgroup_soft_limit_reclaim" OTHERS;
static const char functions_6_1[] =
	"shrink_active_list evict_folios shrink_slab throttle_direct_reclaim reclaim_throttle "
	"shrink_lruvec shrink_node try_to_free_pages try_to_free_mem_cgroup_pages node_reclaim "
	"compact_zone compact_zone_order try_to_compact_pages __alloc_pages "
	"mem_cgroup_handle_over_high mem_cgroup_soft_limit_reclaim" OTHERS;
static const char functions_6_12[] =
	"shrink_active_list evict_folios shrink_slab throttle_direct_reclaim.part.0 "
	"reclaim_throttle shrink_lruvec shrink_node try_to_free_pages "
	"try_to_free_mem_cgroup_pages node_reclaim compact_zone try_to_compact_pages "
	"__alloc_pages_noprof __mem_cgroup_handle_over_high" OTHERS;
static const char functions_7_3[] =
	"shrink_active_list evict_folios shrink_slab throttle_direct_reclaim reclaim_throttle "
	"shrink_lruvec shrink_node try_to_free_pages try_to_free_mem_cgroup_pages node_reclaim "
	"compact_zone.isra.0 try_to_compact_pages __alloc_pages_noprof "
	"__alloc_frozen_pages_noprof __mem_cgroup_handle_over_high" OTHERS;

#define EVENTS_5_10                                                                                \
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
	"sched:sched_switch "
#define EVENTS_6_1 EVENTS_5_10 "vmscan:mm_vmscan_throttled "

static int each_function(void *context, int (*visit)(void *visitor, const char *name),
			 void *visitor)
{
	const struct offered *offered = context;
	char *text = strdup(offered->functions), *rest = text, *name;
	int ret = offered->error;

	while (!ret && (name = strsep(&rest, " ")))
		ret = visit(visitor, name);
	for (int i = 0; !ret && i < offered->many; i++) {
		char numbered[32];

		snprintf(numbered, sizeof(numbered), "many_%d", i);
		ret = visit(visitor, numbered);
	}
	free(text);
	return ret;
}

static bool has_event(void *context, const char *system, const char *name)
{
	const struct offered *offered = context;
	char full[128];

	snprintf(full, sizeof(full), "%s:%s ", system, name);
	return strstr(offered->events, full) || !strcmp(system, "many");
}

/* Words of a text between blanks, NULL ends; NULL for none. */
static char **split(const char *words)
{
	char *rest = words ? strdup(words) : NULL;
	char **list = calloc(PLAN_EVENTS_MAX + 2, sizeof(*list));

	for (int i = 0; rest; i++) {
		assert_true(i <= PLAN_EVENTS_MAX);
		list[i] = strsep(&rest, " ");
	}
	return list;
}

static void free_split(char **list)
{
	free(list[0]);
	free(list);
}

/* The plan is valid until the next call. */
static int make(struct plan **plan, struct offered *offered, bool function_graph,
		const char *functions, const char *events, struct failure *failure)
{
	struct plan_offer offer = { function_graph, each_function, has_event, offered };
	char **wanted_functions = split(functions), **wanted_events = split(events);
	struct plan_request request = {
		.threshold = 134000,
		.functions = wanted_functions,
		.events = wanted_events,
	};
	static struct plan *last;
	int ret;

	memset(failure, 0, sizeof(*failure));
	plan_free(last);
	last = NULL;
	ret = plan_make(&last, &request, &offer, failure);
	*plan = last;
	free_split(wanted_functions);
	free_split(wanted_events);
	return ret;
}

static struct plan *plan_with(const char *offered_functions, const char *offered_events,
			      const char *functions, const char *events)
{
	struct offered offered = { .functions = offered_functions, .events = offered_events };
	struct failure failure;
	struct plan *plan;

	if (make(&plan, &offered, true, functions, events, &failure))
		fail_msg("%s", failure.text);
	assert_int_equal(plan->threshold, 134000);
	return plan;
}

static struct plan *plan_for(const char *functions, const char *events)
{
	return plan_with(functions, events, NULL, NULL);
}

static void check_refused(struct offered *offered, bool function_graph, const char *functions,
			  const char *events, enum exit_status status, const char *part)
{
	struct failure failure;
	struct plan *plan;

	assert_true(make(&plan, offered, function_graph, functions, events, &failure) < 0);
	assert_int_equal(failure.status, status);
	assert_non_null(strstr(failure.text, part));
	assert_null(strchr(failure.text, '\n'));
	assert_null(plan);
}

static bool has_function(const struct plan *plan, const char *name)
{
	for (int i = 0; i < plan->nr_functions; i++)
		if (!strcmp(plan->functions[i].name, name))
			return true;
	return false;
}

/* The only function of a role; NULL: it has none. */
static void check_function(const struct plan *plan, enum role role, const char *name)
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

static const struct plan_event *event_of(const struct plan *plan, enum event_id id)
{
	int index = plan_event_of(plan, id);

	assert_true(index >= 0);
	assert_int_equal(plan->events[index].id, id);
	return &plan->events[index];
}

static void check_event(const struct plan *plan, enum event_id id, enum event_rule rule,
			uint64_t owners)
{
	assert_int_equal(event_of(plan, id)->rule, rule);
	assert_int_equal(event_of(plan, id)->owners, owners);
}

/* --- kernels --- */

static void test_5_10(void **state)
{
	struct plan *plan = plan_for(functions_5_10, EVENTS_5_10);

	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages_nodemask");
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone");
	check_function(plan, ROLE_MEMORY_HIGH, "mem_cgroup_handle_over_high");
	check_function(plan, ROLE_SOFT_LIMIT, "mem_cgroup_soft_limit_reclaim");
	check_function(plan, ROLE_INACTIVE_LIST, "shrink_inactive_list");
	assert_true(plan_role_unavailable(plan, ROLE_DIRECT_THROTTLE));
	assert_true(plan_role_unavailable(plan, ROLE_RECLAIM_THROTTLE));
	/* shrink_inactive_list does its work there */
	assert_false(plan_role_unavailable(plan, ROLE_GENERATIONS));
	assert_int_equal(plan->nr_functions, 13);
	assert_int_equal(plan->nr_events, 14);
	assert_int_equal(plan_event_of(plan, EVENT_THROTTLED), -1);
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_OWNER, ROLE_BIT(ROLE_INACTIVE_LIST));
}

static void test_6_1(void **state)
{
	struct plan *plan = plan_for(functions_6_1, EVENTS_6_1);

	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages");
	/* compact_zone_order calls compact_zone: one of the two */
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone");
	check_function(plan, ROLE_GENERATIONS, "evict_folios");
	check_function(plan, ROLE_INACTIVE_LIST, NULL);
	assert_int_equal(plan->nr_functions, 15);
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_OWNER,
		    ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC));
	check_event(plan, EVENT_THROTTLED, RULE_OWNER, ROLE_BIT(ROLE_RECLAIM_THROTTLE));
}

static void test_6_12(void **state)
{
	struct plan *plan = plan_for(functions_6_12, EVENTS_6_1);

	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages_noprof");
	check_function(plan, ROLE_MEMORY_HIGH, "__mem_cgroup_handle_over_high");
	check_function(plan, ROLE_DIRECT_THROTTLE, "throttle_direct_reclaim.part.0");
	assert_true(plan_role_unavailable(plan, ROLE_SOFT_LIMIT));
	/* without its owner a pair decides by its own time */
	check_event(plan, EVENT_SOFT_LIMIT_BEGIN, RULE_PAIR, 0);
	check_event(plan, EVENT_SOFT_LIMIT_END, RULE_PAIR, 0);
}

/* Tracing both page allocation functions would show each allocation twice. */
static void test_7_3(void **state)
{
	struct plan *plan = plan_for(functions_7_3, EVENTS_6_1);

	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_frozen_pages_noprof");
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone.isra.0");
}

static void test_inactive_list(void **state)
{
	struct plan *plan = plan_for("shrink_inactive_list evict_folios shrink_lruvec", EVENTS_6_1);

	check_function(plan, ROLE_INACTIVE_LIST, "shrink_inactive_list");
	check_function(plan, ROLE_GENERATIONS, "evict_folios");
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_OWNER,
		    ROLE_BIT(ROLE_INACTIVE_LIST) | ROLE_BIT(ROLE_GENERATIONS));
	plan = plan_for("shrink_node_memcg __alloc_pages", EVENTS_6_1);
	check_function(plan, ROLE_LRUVEC, "shrink_node_memcg");
	assert_true(plan_role_unavailable(plan, ROLE_INACTIVE_LIST));
	assert_true(plan_role_unavailable(plan, ROLE_GENERATIONS));
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_OWNER, ROLE_BIT(ROLE_LRUVEC));
}

static void test_events_without_their_owners(void **state)
{
	struct plan *plan = plan_for("__alloc_pages", EVENTS_6_1);

	check_event(plan, EVENT_THROTTLED, RULE_ANY_WINDOW, 0);
	check_event(plan, EVENT_TRY_TO_COMPACT, RULE_NEVER, 0);
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_NEVER, 0);
	/* a begin without its end */
	plan = plan_for("__alloc_pages", "vmscan:mm_shrink_slab_start ");
	check_event(plan, EVENT_SLAB_START, RULE_NEVER, 0);
	plan = plan_for("__alloc_pages", "");
	assert_true(plan->function_graph);
	assert_int_equal(plan->nr_events, 0);
}

static void test_suffixes(void **state)
{
	struct plan *plan = plan_for("shrink_slab.part.0 shrink_slab shrink_node.isra.0 "
				     "shrink_node.constprop.0 shrink_node.isra.0",
				     EVENTS_6_1);

	/* the exact name where there is one; else all parts of it, each once */
	check_function(plan, ROLE_SLAB, "shrink_slab");
	assert_true(has_function(plan, "shrink_node.isra.0"));
	assert_true(has_function(plan, "shrink_node.constprop.0"));
	assert_int_equal(plan->nr_functions, 3);
}

static void test_sides_and_partners(void **state)
{
	struct plan *plan = plan_for(functions_6_1, EVENTS_6_1);

	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];

		if (event->side == EVENT_SINGLE)
			assert_int_equal(event->partner, -1);
		else
			assert_int_equal(plan->events[event->partner].partner, i);
	}
	check_event(plan, EVENT_SLAB_START, RULE_PAIR, 0);
	assert_int_equal(event_of(plan, EVENT_SLAB_END)->side, EVENT_END);
	check_event(plan, EVENT_DIRECT_RECLAIM_BEGIN, RULE_OWNER, ROLE_BIT(ROLE_DIRECT_RECLAIM));
	assert_true(event_of(plan, EVENT_SOFT_LIMIT_BEGIN)->repeats);
	assert_false(event_of(plan, EVENT_COMPACTION_BEGIN)->repeats);
}

/* --- without function_graph --- */

static void test_fallback(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct failure failure;
	struct plan *plan;

	assert_int_equal(make(&plan, &offered, false, NULL, NULL, &failure), 0);
	assert_false(plan->function_graph);
	assert_int_equal(plan->nr_functions, 0);
	assert_int_equal(plan->roles, 0);
	check_event(plan, EVENT_DIRECT_RECLAIM_BEGIN, RULE_PAIR, 0);
	check_event(plan, EVENT_MEMCG_RECLAIM_END, RULE_PAIR, 0);
	check_event(plan, EVENT_COMPACTION_BEGIN, RULE_PAIR, 0);
	check_event(plan, EVENT_SLAB_END, RULE_PAIR, 0);
	check_event(plan, EVENT_SHRINK_INACTIVE, RULE_NEVER, 0);
	check_event(plan, EVENT_THROTTLED, RULE_NEVER, 0);
	/* the one line about function_graph says it all */
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	/* the same where function_graph has no function to time */
	plan = plan_for("schedule", EVENTS_6_1);
	assert_false(plan->function_graph);
	check_event(plan, EVENT_COMPACTION_END, RULE_PAIR, 0);
}

static void test_neither_functions_nor_pairs(void **state)
{
	struct offered offered = {
		.functions = "schedule",
		.events = "vmscan:mm_vmscan_throttled vmscan:mm_shrink_slab_end ",
	};

	check_refused(&offered, true, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph");
	check_refused(&offered, false, NULL, NULL, EXIT_STATUS_NO_FEATURE, "function_graph");
}

static void test_list_that_cannot_be_read(void **state)
{
	struct offered offered = { .functions = "", .events = EVENTS_6_1, .error = -EIO };

	check_refused(&offered, true, NULL, NULL, EXIT_STATUS_RUN_TIME, strerror(EIO));
}

/* --- what is requested --- */

static void test_requested_functions(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct plan *plan = plan_with(functions_6_1, EVENTS_6_1,
				      "schedule shrink_d* shrink_slab shrink_[mnop]age_list", NULL);

	assert_int_equal(plan->nr_functions, 15 + 3);
	assert_true(has_function(plan, "schedule"));
	assert_true(has_function(plan, "shrink_dcache_sb"));
	assert_true(has_function(plan, "shrink_page_list"));
	assert_int_equal(plan->functions[15].role, ROLE_NONE);
	/* they alone are enough */
	plan = plan_with("schedule", "", "schedule", NULL);
	assert_true(plan->function_graph);
	check_refused(&offered, true, "no_such_function", NULL, EXIT_STATUS_USAGE,
		      "-F no_such_function");
	check_refused(&offered, true, "no_such_*", NULL, EXIT_STATUS_USAGE, "-F no_such_*");
	check_refused(&offered, true, "", NULL, EXIT_STATUS_USAGE, "-F");
	check_refused(&offered, false, "schedule", NULL, EXIT_STATUS_NO_FEATURE, "-F schedule");
}

static void test_requested_events(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct plan *plan =
		plan_with(functions_6_1, EVENTS_6_1, NULL,
			  "sched:sched_switch vmscan:mm_shrink_slab_end sched:sched_switch");
	const struct plan_event *event = event_of(plan, EVENT_USER);

	assert_int_equal(plan->nr_events, EVENT_COUNT + 1);
	assert_string_equal(event->system, "sched");
	assert_string_equal(event->name, "sched_switch");
	assert_int_equal(event->rule, RULE_ANY_WINDOW);
	assert_int_equal(event->partner, -1);
	/* one of the catalog keeps its rule */
	check_event(plan, EVENT_SLAB_END, RULE_PAIR, 0);
	check_refused(&offered, true, NULL, "sched:no_such_event", EXIT_STATUS_USAGE,
		      "-e sched:no_such_event");
	check_refused(&offered, true, NULL, "nosystem:sched_switch", EXIT_STATUS_USAGE,
		      "-e nosystem:sched_switch");
	check_refused(&offered, true, NULL, "sched_switch", EXIT_STATUS_USAGE, "-e sched_switch");
}

static void test_names_of_a_request(void **state)
{
	char glob[] = "vfs_*", name[] = "schedule", *patterns[] = { glob, name, NULL };
	struct plan_request request = { .functions = patterns };

	assert_true(plan_names(&request, "vfs_read"));
	assert_true(plan_names(&request, "schedule"));
	assert_false(plan_names(&request, "schedule_timeout"));
	assert_false(plan_names(&request, "shrink_slab"));
}

static void test_without_page_allocation(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct plan_offer offer = { true, each_function, has_event, &offered };
	char name[] = "__alloc_pages", *patterns[] = { name, NULL };
	struct plan_request request = { .threshold = 134000, .no_page_allocation = true };
	struct failure failure;
	struct plan *plan;

	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_int_equal(plan->nr_functions, 14);
	check_function(plan, ROLE_PAGE_ALLOCATION, NULL);
	assert_false(plan_role_unavailable(plan, ROLE_PAGE_ALLOCATION));
	assert_true(plan->left_out & ROLE_BIT(ROLE_PAGE_ALLOCATION));
	check_function(plan, ROLE_DIRECT_RECLAIM, "try_to_free_pages");
	plan_free(plan);
	/* a request for it counts all the same */
	request.functions = patterns;
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages");
	plan_free(plan);
}

/* --- limits --- */

static void test_function_limit(void **state)
{
	struct offered offered = { "__alloc_pages", "", .many = PLAN_FUNCTIONS_MAX - 1 };
	struct failure failure;
	struct plan *plan;

	assert_int_equal(make(&plan, &offered, true, "many_*", NULL, &failure), 0);
	assert_int_equal(plan->nr_functions, PLAN_FUNCTIONS_MAX);
	offered.many++;
	check_refused(&offered, true, "many_*", NULL, EXIT_STATUS_USAGE, "many_*");
}

static void test_event_limit(void **state)
{
	struct offered offered = { "__alloc_pages", EVENTS_6_1, .many = 0 };
	char events[PLAN_EVENTS_MAX * 16] = "many:event_0";
	size_t length = strlen(events);
	struct failure failure;
	struct plan *plan;

	for (int i = 1; i < PLAN_EVENTS_MAX - EVENT_COUNT; i++)
		length += sprintf(events + length, " many:event_%d", i);
	assert_int_equal(make(&plan, &offered, true, NULL, events, &failure), 0);
	assert_int_equal(plan->nr_events, PLAN_EVENTS_MAX);
	strcpy(events + length, " many:last");
	check_refused(&offered, true, NULL, events, EXIT_STATUS_USAGE, "many:last");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_5_10),
		cmocka_unit_test(test_6_1),
		cmocka_unit_test(test_6_12),
		cmocka_unit_test(test_7_3),
		cmocka_unit_test(test_inactive_list),
		cmocka_unit_test(test_events_without_their_owners),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_sides_and_partners),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_neither_functions_nor_pairs),
		cmocka_unit_test(test_list_that_cannot_be_read),
		cmocka_unit_test(test_requested_functions),
		cmocka_unit_test(test_requested_events),
		cmocka_unit_test(test_names_of_a_request),
		cmocka_unit_test(test_without_page_allocation),
		cmocka_unit_test(test_function_limit),
		cmocka_unit_test(test_event_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
