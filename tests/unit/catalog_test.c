// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "allocfilt/plan.h"

static void test_every_name_of_the_design(void **state)
{
	static const struct {
		const char *name;
		enum role role;
	} names[] = {
		{ "__alloc_frozen_pages_noprof", ROLE_PAGE_ALLOCATION },
		{ "__alloc_pages_noprof", ROLE_PAGE_ALLOCATION },
		{ "__alloc_pages", ROLE_PAGE_ALLOCATION },
		{ "__alloc_pages_nodemask", ROLE_PAGE_ALLOCATION },
		{ "try_to_free_pages", ROLE_DIRECT_RECLAIM },
		{ "try_to_free_mem_cgroup_pages", ROLE_MEMCG_RECLAIM },
		{ "__mem_cgroup_handle_over_high", ROLE_MEMORY_HIGH },
		{ "mem_cgroup_handle_over_high", ROLE_MEMORY_HIGH },
		{ "memcg1_soft_limit_reclaim", ROLE_SOFT_LIMIT },
		{ "mem_cgroup_soft_limit_reclaim", ROLE_SOFT_LIMIT },
		{ "shrink_node", ROLE_NODE },
		{ "node_reclaim", ROLE_NODE_RECLAIM },
		{ "throttle_direct_reclaim", ROLE_DIRECT_THROTTLE },
		{ "shrink_lruvec", ROLE_LRUVEC },
		{ "shrink_node_memcg", ROLE_LRUVEC },
		{ "shrink_slab", ROLE_SLAB },
		{ "shrink_active_list", ROLE_ACTIVE_LIST },
		{ "shrink_inactive_list", ROLE_INACTIVE_LIST },
		{ "evict_folios", ROLE_GENERATIONS },
		{ "reclaim_throttle", ROLE_RECLAIM_THROTTLE },
		{ "compact_zone", ROLE_ZONE_COMPACTION },
		{ "compact_zone_order", ROLE_ZONE_COMPACTION },
		{ "try_to_compact_pages", ROLE_DIRECT_COMPACTION },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(catalog_role_of(names[i].name), names[i].role);
}

static void test_compiler_suffixes(void **state)
{
	(void)state;
	assert_int_equal(catalog_role_of("shrink_inactive_list.isra.0"), ROLE_INACTIVE_LIST);
	assert_int_equal(catalog_role_of("shrink_lruvec.constprop.0"), ROLE_LRUVEC);
	assert_int_equal(catalog_role_of("throttle_direct_reclaim.part.0"), ROLE_DIRECT_THROTTLE);
	assert_int_equal(catalog_role_of("shrink_slab.part.0.isra.0"), ROLE_SLAB);
	assert_true(catalog_name_matches("shrink_node.isra.0", "shrink_node"));
	assert_false(catalog_name_matches("shrink_node_memcg", "shrink_node"));
	assert_false(catalog_name_matches("shrink_nod", "shrink_node"));
}

static void test_names_that_only_look_alike(void **state)
{
	(void)state;
	assert_int_equal(catalog_role_of("__alloc_pages_bulk"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__alloc_pages_slowpath.constprop.0"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__alloc_pages_direct_compact"), ROLE_NONE);
	assert_int_equal(catalog_role_of("shrink_slab_memcg"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__node_reclaim"), ROLE_NONE);
	assert_int_equal(catalog_role_of("alloc_pages"), ROLE_NONE);
	assert_int_equal(catalog_role_of(""), ROLE_NONE);
}

static void test_every_role_has_title_and_name(void **state)
{
	(void)state;
	for (int role = 0; role < ROLE_COUNT; role++) {
		assert_non_null(catalog_roles[role].title);
		assert_non_null(catalog_roles[role].names[0]);
		assert_int_equal(catalog_role_of(catalog_roles[role].names[0]), role);
	}
}

/* Begin and end name each other and have the same owners. */
static void test_pairs_are_mutual(void **state)
{
	(void)state;
	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];
		const struct catalog_event *partner;

		assert_non_null(event->system);
		assert_non_null(event->name);
		if (event->side == EVENT_SINGLE)
			continue;
		partner = &catalog_events[event->partner];
		assert_int_equal(partner->partner, id);
		assert_int_equal(partner->side,
				 event->side == EVENT_BEGIN ? EVENT_END : EVENT_BEGIN);
		assert_int_equal(partner->owners, event->owners);
		assert_string_equal(partner->system, event->system);
	}
}

static void test_owners_of_the_design(void **state)
{
	static const struct {
		const char *name;
		uint32_t owners;
	} events[] = {
		{ "mm_vmscan_direct_reclaim_begin", ROLE_BIT(ROLE_DIRECT_RECLAIM) },
		{ "mm_vmscan_memcg_reclaim_end", ROLE_BIT(ROLE_MEMCG_RECLAIM) },
		{ "mm_vmscan_memcg_softlimit_reclaim_begin", ROLE_BIT(ROLE_SOFT_LIMIT) },
		{ "mm_vmscan_node_reclaim_end", ROLE_BIT(ROLE_NODE_RECLAIM) },
		{ "mm_compaction_begin", ROLE_BIT(ROLE_ZONE_COMPACTION) },
		{ "mm_compaction_try_to_compact_pages", ROLE_BIT(ROLE_DIRECT_COMPACTION) },
		{ "mm_vmscan_throttled", ROLE_BIT(ROLE_RECLAIM_THROTTLE) },
		{ "mm_vmscan_lru_shrink_inactive",
		  ROLE_BIT(ROLE_INACTIVE_LIST) | ROLE_BIT(ROLE_GENERATIONS) },
		{ "mm_shrink_slab_start", 0 },
		{ "mm_shrink_slab_end", 0 },
	};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		for (int id = 0; id < EVENT_COUNT; id++)
			if (!strcmp(catalog_events[id].name, events[i].name)) {
				assert_int_equal(catalog_events[id].owners, events[i].owners);
				found++;
			}
	assert_int_equal(found, sizeof(events) / sizeof(events[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_of_the_design),
		cmocka_unit_test(test_compiler_suffixes),
		cmocka_unit_test(test_names_that_only_look_alike),
		cmocka_unit_test(test_every_role_has_title_and_name),
		cmocka_unit_test(test_pairs_are_mutual),
		cmocka_unit_test(test_owners_of_the_design),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
