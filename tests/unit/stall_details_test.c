// SPDX-License-Identifier: GPL-2.0-or-later
#include "made_stall.h"

/*
 * What the events inside a stall say of it: order, gfp flags, counts, outcomes, nodes; see made_stall.h.
 * Events of fast runs and of no owner count as well: a stall has all that happened in its task.
 */

UNIT_TEST(test_details)
{
	CHECK(start, DETAILS,
	      { "of the first request, sums of all reclaims",
		"try 105 order=9 gfp=5, compact- 115 status=4, zone 110-116@2, try 116 order=8 gfp=7, "
		"compact 104-120@1, direct+ 125 order=3 gfp=6 memcg=42, direct- 135 rec=30, "
		"direct 124-136@1, direct- 155 rec=30, direct 150-160@1, alloc 100-200",
		"7:100-200 order 9 gfp 5 MASK_5 pages 60 outcome s4 (s4) memcg 42 tried 2 "
		"lines 1+0" },
	      { "events of windows that own them",
		"direct+ 110, list 120 scan=32, direct- 230, gen 115-220@2, direct 105-240@1, "
		"alloc 100-250",
		"7:100-250 order 0 gfp 0 GFP_0 pages 0 nodes 0 priority 0 scanned 32 reclaimed 0 "
		"dirty 0 writeback 0 lines 3+3" },
	      { "nothing", "direct- 90 rec=5, alloc 100-200, 8:try 210, alloc 200-300",
		"7:100-200 order -1 lines 1+0 | 7:200-300 order -1 lines 1+0" },
	      { "memcg reclaim and node reclaim",
		"memcg+ 110 order=1 gfp=3 memcg=8, memcg- 120 rec=7, node+ 130 order=2 gfp=4 nid=3, "
		"memcg 100-200",
		"7:100-200 order 1 gfp 3 GFP_3 pages 7 memcg 8 nodes 3 lines 1+2" },
	      { "the cgroup that was reclaimed first, if the event knows one",
		"memcg+ 110 memcg=8, memcg- 115, direct+ 120 memcg=9, direct+ 125, memcg 100-200",
		"7:100-200 order 0 gfp 0 GFP_0 pages 0 memcg 8 lines 1+2" },
	      { "other events have no cgroup",
		"user 110 memcg=8, slab+ 120 memcg=9 nid=-1 pri=-1, "
		"slab- 130 memcg=9, list 140 memcg=7 nid=-1 pri=-1 "
		"scan=0xffffffff dirty=0xffffffff wb=0xffffffff, "
		"memcg 100-200",
		"7:100-200 order -1 lines 1+3" },
	      { "-1 is a flag word too", "try 105 gfp=0xffffffff, compact 100-200",
		"7:100-200 order 0 gfp 4294967295 MASK_4294967295 tried 1 lines 1+1" });
}

UNIT_TEST(test_counts)
{
	CHECK(start, DETAILS,
	      { "sums, the lowest priority, all nodes",
		"list 115 nid=2 scan=32 rec=4 dirty=8 pri=5, lruvec 110-120@1, node+ 122 nid=3, "
		"list 125 scan=100 rec=50 wb=7 pri=9, throttled 127 nid=9, node 100-200",
		"7:100-200 order 0 gfp 0 GFP_0 nodes 0,2-3,9 priority 5 scanned 132 reclaimed 54 "
		"dirty 8 writeback 7 lines 1+1" },
	      { "fields that the event lacks",
		"list 115 nid=-1 scan=0xffffffff dirty=0xffffffff wb=0xffffffff pri=-1, "
		"node 100-200",
		"7:100-200 order -1 lines 1+0" },
	      { "zeros are values", "list 115, node 100-200",
		"7:100-200 order -1 nodes 0 priority 0 scanned 0 reclaimed 0 dirty 0 writeback 0 "
		"lines 1+0" },
	      { "of shrinkers", "slab+ 110 nid=1 pri=3, slab- 120 nid=9 pri=0, node 100-200",
		"7:100-200 order -1 nodes 1 priority 3 lines 1+2" });
}

/* Of one that lacks events nobody knows the sums; what was seen was seen. */
UNIT_TEST(test_details_of_an_incomplete_stall)
{
	start(DETAILS);
	play("try 110 order=9 gfp=5, list 115 nid=1 scan=32 pri=5, compact- 116 status=4, "
	     "direct- 117 rec=9, user 118 size=5000, node 100-200");
	assert_string_equal(notes.text, "7:100-200? order 9 gfp 5 MASK_5 outcome s4 () nodes 1 "
					"priority 5 lines 1+0");
	/* What the kernel lost is as good as its count of losses. */
	clear_notes();
	play("direct- 317 rec=9, lost 318, node 300-400");
	assert_string_equal(notes.text, "7:300-400? order -1 pages 9 lines 1+0");
}

/* As one stall prints them. */
static const char *nodes_of(int count, int (*node)(int index))
{
	start(NOTHING);
	for (int i = 0; i < count; i++)
		playf("list %d nid=%d", 110 + i, node(i));
	play("node 100-300");
	return run.last.nodes;
}

static int every_node(int index)
{
	return index;
}

static int every_second_node(int index)
{
	return 2 * index;
}

static int pairs_of_nodes(int index)
{
	return index / 2 * 3 + index % 2;
}

UNIT_TEST(test_nodes)
{
	assert_string_equal(nodes_of(63, every_node), "0-62");
	assert_string_equal(nodes_of(70, every_node), "0-62,63+");
	assert_string_equal(nodes_of(35, every_second_node),
			    "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,"
			    "48,50,52,54,56,58,60,62,63+");
	/* Nearly the longest text. */
	assert_string_equal(nodes_of(44, pairs_of_nodes),
			    "0-1,3-4,6-7,9-10,12-13,15-16,18-19,21-22,24-25,27-28,30-31,33-34,"
			    "36-37,39-40,42-43,45-46,48-49,51-52,54-55,57-58,60-61,63+");
}

UNIT_TEST(test_outcomes)
{
	static const struct {
		const char *statuses, *expected;
	} orders[] = {
		{ "4", "s4" },
		{ "3338", "s3 x3, s8" },
		{ "34383", "s3, s4, s3, s8, s3" },
		{ "3333333333333333333388", "s3 x20, s8 x2" },
		{ "123456788", "s1, s2, s3, s4, s5, s6, s7, s8 x2" },
		/* The last ones have names. */
		{ "1234567812345678", "8 others, s1, s2, s3, s4, s5, s6, s7, s8" },
		{ "11212345678", "3 others, s1, s2, s3, s4, s5, s6, s7, s8" },
	};

	for (size_t i = 0; i < COUNT(orders); i++) {
		const char *statuses = orders[i].statuses;

		start(NOTHING);
		for (size_t at = 0; statuses[at]; at++)
			playf("compact- %zu status=%c", 110 + at, statuses[at]);
		play("zone 100-300");
		assert_string_equal(run.last.outcomes, orders[i].expected);
	}
	CHECK(start, DETAILS,
	      { "each stall has its own",
		"compact- 110 status=3, zone 100-220@1, compact- 350 status=4, zone 300-420@1, flush",
		"7:100-220 order -1 outcome s3 (s3) lines 1+1 | "
		"7:300-420 order -1 outcome s4 (s4) lines 1+1" },
	      { "and the next one none",
		"compact- 110 status=3, zone 100-220, alloc 300-400, compact- 410, alloc 420-520",
		"7:100-220 order -1 outcome s3 (s3) lines 1+1 | 7:300-400 order -1 lines 1+0 | "
		"7:420-520 order -1 lines 1+0" });
}

UNIT_TEST_MAIN(NULL, end_run)
