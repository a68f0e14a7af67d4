// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/plan.h"

/* What there is: blank-separated lists, as a kernel would give them. */
struct offered {
	const char *functions;
	const char *events;
	int many;  /* that many functions many_0, many_1, … besides */
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
	char *text = strdup(offered->functions);
	char *rest = text;
	char *name;
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
	return strstr(offered->events, full);
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

static int make(struct plan **plan, struct offered *offered, bool function_graph,
		const char *functions, const char *events, struct failure *failure)
{
	struct plan_offer offer = {
		.function_graph = function_graph,
		.functions = each_function,
		.has_event = has_event,
		.context = offered,
	};
	char **asked_functions = split(functions);
	char **asked_events = split(events);
	struct plan_request request = {
		.threshold = 134000,
		.functions = asked_functions,
		.events = asked_events,
	};
	int ret;

	memset(failure, 0, sizeof(*failure));
	*plan = NULL;
	ret = plan_make(plan, &request, &offer, failure);
	free_split(asked_functions);
	free_split(asked_events);
	return ret;
}

static struct plan *plan_for(const char *functions, const char *events)
{
	struct offered offered = { .functions = functions, .events = events };
	struct failure failure;
	struct plan *plan;

	assert_int_equal(make(&plan, &offered, true, NULL, NULL, &failure), 0);
	assert_int_equal(plan->threshold, 134000);
	return plan;
}

static const struct plan_function *function_of(const struct plan *plan, enum role role)
{
	const struct plan_function *found = NULL;

	for (int i = 0; i < plan->nr_functions; i++)
		if (plan->functions[i].role == role) {
			assert_null(found);
			found = &plan->functions[i];
		}
	return found;
}

static void check_function(const struct plan *plan, enum role role, const char *name)
{
	const struct plan_function *function = function_of(plan, role);

	assert_non_null(function);
	assert_string_equal(function->name, name);
	assert_true(plan->roles & ROLE_BIT(role));
	assert_false(plan_role_unavailable(plan, role));
}

static const struct plan_event *event_of(const struct plan *plan, enum event_id id)
{
	int index = plan_event_of(plan, id);

	assert_true(index >= 0);
	assert_int_equal(plan->events[index].id, id);
	return &plan->events[index];
}

static bool has_function(const struct plan *plan, const char *name)
{
	for (int i = 0; i < plan->nr_functions; i++)
		if (!strcmp(plan->functions[i].name, name))
			return true;
	return false;
}

/* --- kernels --- */

static void test_5_10(void **state)
{
	struct plan *plan = plan_for(functions_5_10, EVENTS_5_10);

	(void)state;
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages_nodemask");
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone");
	check_function(plan, ROLE_MEMORY_HIGH, "mem_cgroup_handle_over_high");
	check_function(plan, ROLE_SOFT_LIMIT, "mem_cgroup_soft_limit_reclaim");
	check_function(plan, ROLE_INACTIVE_LIST, "shrink_inactive_list");
	assert_true(plan_role_unavailable(plan, ROLE_DIRECT_THROTTLE));
	assert_true(plan_role_unavailable(plan, ROLE_RECLAIM_THROTTLE));
	/* its work is done by shrink_inactive_list there */
	assert_false(plan_role_unavailable(plan, ROLE_GENERATIONS));
	assert_int_equal(plan->nr_functions, 13);
	assert_int_equal(plan->nr_events, 14);
	assert_int_equal(plan_event_of(plan, EVENT_THROTTLED), -1);
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->owners,
			 ROLE_BIT(ROLE_INACTIVE_LIST));
	plan_free(plan);
}

static void test_6_1(void **state)
{
	struct plan *plan = plan_for(functions_6_1, EVENTS_6_1);

	(void)state;
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages");
	/* compact_zone_order calls compact_zone: one of the two */
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone");
	check_function(plan, ROLE_GENERATIONS, "evict_folios");
	assert_null(function_of(plan, ROLE_INACTIVE_LIST));
	assert_false(plan_role_unavailable(plan, ROLE_INACTIVE_LIST));
	assert_int_equal(plan->nr_functions, 15);
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->rule, RULE_OWNER);
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->owners,
			 ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC));
	assert_int_equal(event_of(plan, EVENT_THROTTLED)->rule, RULE_OWNER);
	assert_int_equal(event_of(plan, EVENT_THROTTLED)->owners, ROLE_BIT(ROLE_RECLAIM_THROTTLE));
	plan_free(plan);
}

static void test_6_12(void **state)
{
	struct plan *plan = plan_for(functions_6_12, EVENTS_6_1);

	(void)state;
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages_noprof");
	check_function(plan, ROLE_MEMORY_HIGH, "__mem_cgroup_handle_over_high");
	check_function(plan, ROLE_DIRECT_THROTTLE, "throttle_direct_reclaim.part.0");
	assert_true(plan_role_unavailable(plan, ROLE_SOFT_LIMIT));
	/* without its owner a pair decides by its own time */
	assert_int_equal(event_of(plan, EVENT_SOFT_LIMIT_BEGIN)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_SOFT_LIMIT_END)->rule, RULE_PAIR);
	plan_free(plan);
}

/* Tracing both page allocation functions would show each allocation twice. */
static void test_7_3(void **state)
{
	struct plan *plan = plan_for(functions_7_3, EVENTS_6_1);

	(void)state;
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_frozen_pages_noprof");
	assert_false(has_function(plan, "__alloc_pages_noprof"));
	check_function(plan, ROLE_ZONE_COMPACTION, "compact_zone.isra.0");
	plan_free(plan);
}

static void test_both_inactive_list_functions(void **state)
{
	struct plan *plan = plan_for("shrink_inactive_list evict_folios shrink_lruvec", EVENTS_6_1);

	(void)state;
	check_function(plan, ROLE_INACTIVE_LIST, "shrink_inactive_list");
	check_function(plan, ROLE_GENERATIONS, "evict_folios");
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->owners,
			 ROLE_BIT(ROLE_INACTIVE_LIST) | ROLE_BIT(ROLE_GENERATIONS));
	plan_free(plan);
}

static void test_neither_inactive_list_function(void **state)
{
	struct plan *plan = plan_for("shrink_node_memcg __alloc_pages", EVENTS_6_1);

	(void)state;
	check_function(plan, ROLE_LRUVEC, "shrink_node_memcg");
	assert_true(plan_role_unavailable(plan, ROLE_INACTIVE_LIST));
	assert_true(plan_role_unavailable(plan, ROLE_GENERATIONS));
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->owners, ROLE_BIT(ROLE_LRUVEC));
	plan_free(plan);
}

static void test_throttled_without_its_owner(void **state)
{
	struct plan *plan = plan_for("__alloc_pages", EVENTS_6_1);

	(void)state;
	assert_int_equal(event_of(plan, EVENT_THROTTLED)->rule, RULE_ANY_WINDOW);
	assert_int_equal(event_of(plan, EVENT_TRY_TO_COMPACT)->rule, RULE_NEVER);
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->rule, RULE_NEVER);
	plan_free(plan);
}

static void test_suffixes(void **state)
{
	struct plan *plan = plan_for("shrink_slab.part.0 shrink_slab shrink_node.isra.0 "
				     "shrink_node.constprop.0 shrink_node.isra.0",
				     EVENTS_6_1);

	(void)state;
	/* the exact name where there is one; else all parts of it, each once */
	check_function(plan, ROLE_SLAB, "shrink_slab");
	assert_true(has_function(plan, "shrink_node.isra.0"));
	assert_true(has_function(plan, "shrink_node.constprop.0"));
	assert_int_equal(plan->nr_functions, 3);
	plan_free(plan);
}

static void test_events_know_their_side_and_partner(void **state)
{
	struct plan *plan = plan_for(functions_6_1, EVENTS_6_1);

	(void)state;
	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];

		if (event->side == EVENT_SINGLE)
			assert_int_equal(event->partner, -1);
		else
			assert_int_equal(plan->events[event->partner].partner, i);
	}
	assert_int_equal(event_of(plan, EVENT_SLAB_START)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_SLAB_END)->side, EVENT_END);
	assert_int_equal(event_of(plan, EVENT_DIRECT_RECLAIM_BEGIN)->rule, RULE_OWNER);
	assert_true(event_of(plan, EVENT_SOFT_LIMIT_BEGIN)->repeats);
	assert_false(event_of(plan, EVENT_COMPACTION_BEGIN)->repeats);
	plan_free(plan);
}

static void test_begin_without_end_on_this_kernel(void **state)
{
	struct plan *plan = plan_for("__alloc_pages", "vmscan:mm_shrink_slab_start ");

	(void)state;
	assert_int_equal(event_of(plan, EVENT_SLAB_START)->rule, RULE_NEVER);
	plan_free(plan);
}

/* --- without function_graph --- */

static void test_fallback(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, false, NULL, NULL, &failure), 0);
	assert_false(plan->function_graph);
	assert_int_equal(plan->nr_functions, 0);
	assert_int_equal(plan->roles, 0);
	assert_int_equal(event_of(plan, EVENT_DIRECT_RECLAIM_BEGIN)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_MEMCG_RECLAIM_END)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_COMPACTION_BEGIN)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_SLAB_END)->rule, RULE_PAIR);
	assert_int_equal(event_of(plan, EVENT_SHRINK_INACTIVE)->rule, RULE_NEVER);
	assert_int_equal(event_of(plan, EVENT_THROTTLED)->rule, RULE_NEVER);
	/* the one line about function_graph says it all */
	for (int role = 0; role < ROLE_COUNT; role++)
		assert_false(plan_role_unavailable(plan, role));
	plan_free(plan);
}

static void test_function_graph_without_any_function(void **state)
{
	struct plan *plan = plan_for("schedule", EVENTS_6_1);

	(void)state;
	assert_false(plan->function_graph);
	assert_int_equal(event_of(plan, EVENT_COMPACTION_END)->rule, RULE_PAIR);
	plan_free(plan);
}

static void test_neither_functions_nor_pairs(void **state)
{
	struct offered offered = {
		.functions = "schedule",
		.events = "vmscan:mm_vmscan_throttled vmscan:mm_shrink_slab_end ",
	};
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_true(make(&plan, &offered, true, NULL, NULL, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_true(make(&plan, &offered, false, NULL, NULL, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_null(plan);
}

static void test_function_graph_without_events(void **state)
{
	struct plan *plan = plan_for("__alloc_pages", "");

	(void)state;
	assert_true(plan->function_graph);
	assert_int_equal(plan->nr_events, 0);
	plan_free(plan);
}

/* --- what is asked for besides --- */

static void check_usage(struct offered *offered, const char *function, const char *event,
			const char *named)
{
	struct failure failure;
	struct plan *plan;

	assert_true(make(&plan, offered, true, function, event, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, named));
	assert_null(strchr(failure.text, '\n'));
	assert_null(plan);
}

static void test_asked_functions(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	const char *functions = "schedule shrink_d* shrink_slab shrink_[mnop]age_list";
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, true, functions, NULL, &failure), 0);
	assert_int_equal(plan->nr_functions, 15 + 3);
	assert_true(has_function(plan, "schedule"));
	assert_true(has_function(plan, "shrink_dcache_sb"));
	assert_true(has_function(plan, "shrink_page_list"));
	assert_int_equal(plan->functions[15].role, ROLE_NONE);
	plan_free(plan);
}

static void test_asked_functions_alone_give_windows(void **state)
{
	struct offered offered = { .functions = "schedule", .events = "" };
	const char *functions = "schedule";
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, true, functions, NULL, &failure), 0);
	assert_true(plan->function_graph);
	plan_free(plan);
}

static void test_unknown_functions(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };

	(void)state;
	check_usage(&offered, "no_such_function", NULL, "no_such_function");
	check_usage(&offered, "no_such_*", NULL, "no_such_*");
	check_usage(&offered, "", NULL, "-F");
}

static void test_asked_functions_without_function_graph(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	const char *functions = "schedule";
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_true(make(&plan, &offered, false, functions, NULL, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
}

static void test_asked_events(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	const char *events = "sched:sched_switch vmscan:mm_shrink_slab_end sched:sched_switch";
	struct failure failure;
	const struct plan_event *event;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, true, NULL, events, &failure), 0);
	assert_int_equal(plan->nr_events, EVENT_COUNT + 1);
	event = event_of(plan, EVENT_USER);
	assert_string_equal(event->system, "sched");
	assert_string_equal(event->name, "sched_switch");
	assert_int_equal(event->rule, RULE_ANY_WINDOW);
	assert_int_equal(event->partner, -1);
	assert_int_equal(event_of(plan, EVENT_SLAB_END)->rule, RULE_PAIR);
	plan_free(plan);
}

static void test_unknown_events(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };

	(void)state;
	check_usage(&offered, NULL, "sched:no_such_event", "sched:no_such_event");
	check_usage(&offered, NULL, "nosystem:sched_switch", "nosystem:sched_switch");
	check_usage(&offered, NULL, "sched_switch", "SYSTEM:NAME");
	check_usage(&offered, NULL, ":sched_switch", "SYSTEM:NAME");
	check_usage(&offered, NULL, "sched:", "SYSTEM:NAME");
	check_usage(&offered, NULL, "", "SYSTEM:NAME");
	check_usage(&offered, NULL, "../events/sched:sched_switch", "SYSTEM:NAME");
}

static void test_list_that_cannot_be_read(void **state)
{
	struct offered offered = { .functions = "", .events = EVENTS_6_1, .error = -EIO };
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, true, NULL, NULL, &failure), -EIO);
	assert_int_equal(failure.status, EXIT_STATUS_RUN_TIME);
}

static void test_names_of_a_request(void **state)
{
	char glob[] = "vfs_*", name[] = "schedule", *patterns[] = { glob, name, NULL };
	struct plan_request request = { .functions = patterns };

	(void)state;
	assert_true(plan_names(&request, "vfs_read"));
	assert_true(plan_names(&request, "schedule"));
	assert_false(plan_names(&request, "schedule_timeout"));
	assert_false(plan_names(&request, "shrink_slab"));
}

/* --- what is left out --- */

static void test_without_page_allocation(void **state)
{
	struct offered offered = { .functions = functions_6_1, .events = EVENTS_6_1 };
	struct plan_offer offer = {
		.function_graph = true,
		.functions = each_function,
		.has_event = has_event,
		.context = &offered,
	};
	char name[] = "__alloc_pages", *patterns[] = { name, NULL };
	struct plan_request request = { .threshold = 134000, .no_page_allocation = true };
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_int_equal(plan->nr_functions, 14);
	assert_false(has_function(plan, "__alloc_pages"));
	assert_null(function_of(plan, ROLE_PAGE_ALLOCATION));
	assert_false(plan_role_unavailable(plan, ROLE_PAGE_ALLOCATION));
	assert_true(plan->left_out & ROLE_BIT(ROLE_PAGE_ALLOCATION));
	check_function(plan, ROLE_DIRECT_RECLAIM, "try_to_free_pages");
	plan_free(plan);
	/* who asks for it gets it */
	request.functions = patterns;
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	check_function(plan, ROLE_PAGE_ALLOCATION, "__alloc_pages");
	plan_free(plan);
}

/* --- limits --- */

static void test_function_limit(void **state)
{
	struct offered offered = { .functions = "__alloc_pages",
				   .events = "",
				   .many = PLAN_FUNCTIONS_MAX - 1 };
	const char *functions = "many_*";
	struct failure failure;
	struct plan *plan;

	(void)state;
	assert_int_equal(make(&plan, &offered, true, functions, NULL, &failure), 0);
	assert_int_equal(plan->nr_functions, PLAN_FUNCTIONS_MAX);
	plan_free(plan);
	offered.many++;
	check_usage(&offered, "many_*", NULL, "many_*");
}

static bool has_any_event(void *context, const char *system, const char *name)
{
	(void)context;
	(void)name;
	return strcmp(system, "none");
}

static void test_event_limit(void **state)
{
	enum { ASKED = PLAN_EVENTS_MAX - EVENT_COUNT };
	struct offered offered = { .functions = "__alloc_pages", .events = "" };
	struct plan_offer offer = {
		.function_graph = true,
		.functions = each_function,
		.has_event = has_any_event,
		.context = &offered,
	};
	static char names[ASKED + 1][32];
	char *events[ASKED + 2] = { NULL };
	struct plan_request request = { .threshold = 1000, .events = events };
	struct failure failure;
	struct plan *plan;

	(void)state;
	for (int i = 0; i <= ASKED; i++)
		snprintf(names[i], sizeof(names[i]), "sys:event_%d", i);
	for (int i = 0; i < ASKED; i++)
		events[i] = names[i];
	assert_int_equal(plan_make(&plan, &request, &offer, &failure), 0);
	assert_int_equal(plan->nr_events, PLAN_EVENTS_MAX);
	plan_free(plan);
	events[ASKED] = names[ASKED];
	assert_true(plan_make(&plan, &request, &offer, &failure) < 0);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_non_null(strstr(failure.text, names[ASKED]));
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	plan_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_5_10),
		cmocka_unit_test(test_6_1),
		cmocka_unit_test(test_6_12),
		cmocka_unit_test(test_7_3),
		cmocka_unit_test(test_both_inactive_list_functions),
		cmocka_unit_test(test_neither_inactive_list_function),
		cmocka_unit_test(test_throttled_without_its_owner),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_events_know_their_side_and_partner),
		cmocka_unit_test(test_begin_without_end_on_this_kernel),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_function_graph_without_any_function),
		cmocka_unit_test(test_neither_functions_nor_pairs),
		cmocka_unit_test(test_function_graph_without_events),
		cmocka_unit_test(test_asked_functions),
		cmocka_unit_test(test_asked_functions_alone_give_windows),
		cmocka_unit_test(test_unknown_functions),
		cmocka_unit_test(test_asked_functions_without_function_graph),
		cmocka_unit_test(test_asked_events),
		cmocka_unit_test(test_unknown_events),
		cmocka_unit_test(test_list_that_cannot_be_read),
		cmocka_unit_test(test_names_of_a_request),
		cmocka_unit_test(test_without_page_allocation),
		cmocka_unit_test(test_function_limit),
		cmocka_unit_test(test_event_limit),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
