// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/plan/catalog.h"
#include "unit_test.h"

UNIT_TEST(test_compiler_suffixes)
{
	assert_int_equal(catalog_role_of("shrink_inactive_list.isra.0"), ROLE_INACTIVE_LIST);
	assert_int_equal(catalog_role_of("shrink_lruvec.constprop.0"), ROLE_LRUVEC);
	assert_int_equal(catalog_role_of("throttle_direct_reclaim.part.0"), ROLE_DIRECT_THROTTLE);
	assert_int_equal(catalog_role_of("shrink_slab.part.0.isra.0"), ROLE_SLAB);
	assert_true(catalog_name_matches("shrink_node.isra.0", "shrink_node"));
	assert_false(catalog_name_matches("shrink_node_memcg", "shrink_node"));
	assert_false(catalog_name_matches("shrink_nod", "shrink_node"));
}

UNIT_TEST(test_names_that_only_look_alike)
{
	assert_int_equal(catalog_role_of("__alloc_pages_bulk"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__alloc_pages_slowpath.constprop.0"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__alloc_pages_direct_compact"), ROLE_NONE);
	assert_int_equal(catalog_role_of("shrink_slab_memcg"), ROLE_NONE);
	assert_int_equal(catalog_role_of("__node_reclaim"), ROLE_NONE);
	assert_int_equal(catalog_role_of("alloc_pages"), ROLE_NONE);
	assert_int_equal(catalog_role_of(""), ROLE_NONE);
}

/* Callers of psi_memstall_enter() in 5.10 to 7.3, some with the suffixes that compilers add. */
UNIT_TEST(test_reasons_of_waits)
{
	static const struct {
		const char *function;
		enum role role;
	} cases[] = {
		{ "__alloc_pages_slowpath.constprop.0", ROLE_DIRECT_RECLAIM },
		{ "__alloc_pages_direct_compact", ROLE_DIRECT_COMPACTION },
		{ "try_charge_memcg", ROLE_MEMCG_RECLAIM },
		{ "try_charge", ROLE_MEMCG_RECLAIM },
		{ "try_to_free_mem_cgroup_pages", ROLE_MEMCG_RECLAIM },
		{ "mem_cgroup_handle_over_high", ROLE_MEMORY_HIGH },
		{ "__mem_cgroup_handle_over_high", ROLE_MEMORY_HIGH },
		{ "reclaim_high.constprop.0", ROLE_MEMORY_HIGH },
		{ "folio_wait_bit_common", ROLE_REFAULT },
		{ "wait_on_page_bit_common", ROLE_REFAULT },
		{ "swap_readpage", ROLE_SWAP_IN },
		{ "swap_read_folio", ROLE_SWAP_IN },
		{ "read_pages", ROLE_REFAULT_READ },
		{ "filemap_read_folio", ROLE_REFAULT_READ },
		{ "node_reclaim", ROLE_NODE_RECLAIM },
		{ "__node_reclaim.isra.0", ROLE_NODE_RECLAIM },
		{ "balance_pgdat", ROLE_NODE },
		{ "kcompactd", ROLE_ZONE_COMPACTION },
		{ "folio_wait_bit", ROLE_WAIT },
		{ "try_charge_memc", ROLE_WAIT },
		{ "shrink_node", ROLE_WAIT },
		{ "", ROLE_WAIT },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (catalog_wait_role(cases[i].function) != cases[i].role)
			fail_msg("%s: %d", cases[i].function, catalog_wait_role(cases[i].function));
}

/* Each name leads to its role alone, and all rows are complete. */
UNIT_TEST(test_rows_are_complete)
{
	for (int role = 0; role < ROLE_COUNT; role++) {
		const struct catalog_role *row = &catalog_roles[role];

		assert_non_null(row->title);
		assert_non_null(row->key);
		if (!row->names[0])
			assert_in_range(role, ROLE_REFAULT, ROLE_SHRINKER);
		for (int i = 0; i < CATALOG_NAMES_MAX && row->names[i]; i++)
			assert_int_equal(catalog_role_of(row->names[i]), role);
		for (int i = 0; i < CATALOG_NAMES_MAX && row->waits_in[i]; i++)
			assert_int_equal(catalog_wait_role(row->waits_in[i]), role);
	}
	for (int group = 0; group < PHASE_GROUPS; group++) {
		assert_non_null(phase_group_names[group].title);
		assert_non_null(phase_group_names[group].key);
	}
	for (int which = 0; which < PHASE_STATES; which++) {
		assert_non_null(phase_state_names[which].title);
		assert_non_null(phase_state_names[which].key);
	}
	for (int part = 0; part < PHASE_PARTS; part++) {
		assert_non_null(phase_part_names[part].title);
		assert_non_null(phase_part_names[part].key);
	}
}

/* Begin and end name each other and have the same owners. */
UNIT_TEST(test_pairs_are_mutual)
{
	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];
		const struct catalog_event *partner;

		assert_non_null(event->system);
		assert_non_null(event->name);
		if (event->side == EVENT_SINGLE) {
			assert_int_equal(catalog_pair_role(id), ROLE_NONE);
			continue;
		}
		partner = &catalog_events[event->partner];
		assert_int_equal(partner->partner, id);
		assert_int_equal(partner->side,
				 event->side == EVENT_BEGIN ? EVENT_END : EVENT_BEGIN);
		assert_int_equal(partner->owners, event->owners);
		assert_string_equal(partner->system, event->system);
		assert_int_equal(catalog_pair_role(id), catalog_pair_role(event->partner));
		assert_int_not_equal(catalog_pair_role(id), ROLE_NONE);
	}
	assert_int_equal(catalog_pair_role(EVENT_COMPACTION_END), ROLE_ZONE_COMPACTION);
	assert_int_equal(catalog_pair_role(EVENT_SLAB_END), ROLE_SHRINKER);
	assert_int_equal(catalog_pair_role(EVENT_USER), ROLE_NONE);
}

UNIT_TEST_MAIN(NULL, NULL)
