// SPDX-License-Identifier: GPL-2.0-or-later
#include "counted_malloc.h"
#include "made_stall.h"

/* Logs at the limit of their memory, and how long a stall may be: see made_stall.h. */

#define KIB		1024u
#define TASKS_OF_64_KIB 32 /* so many logs, and fewer chunks */

/* ---- tasks ---- */

/* The task without a record for longest loses its log. */
UNIT_TEST(test_full_table_of_tasks)
{
	start_with(64 * KIB, NOTHING);
	play("101:slab+ 101, 102:slab+ 102, 103:slab+ 103");
	for (int tid = 104; tid < 101 + TASKS_OF_64_KIB; tid++)
		playf("%d:alloc 200-%d", tid, 200 + tid);
	play("101:pair 1000-1010 shr=5");
	assert_int_equal(run.nr_pairs, 1);
	play("999:alloc 1000-1100");
	play("101:slab- 1130, 102:slab- 1140, 103:slab- 1150");
	assert_int_equal(run.nr_pairs, 2);
}

UNIT_TEST(test_window_around_an_evicted_task)
{
	start_with(64 * KIB, PHASES);
	for (int tid = 1; tid <= TASKS_OF_64_KIB; tid++)
		playf("%d:other %d-%d@1", tid, 1000 + tid, 1100 + tid);
	assert_true(run.count > 0);
	assert_memory_equal(notes.text, "1:1001-1101? outside=100 | 2:1002-1102? ", 40);
	assert_int_equal(stalls_limited(run.stalls), run.count);
	clear_notes();
	run.shown = NOTHING;
	play("1:alloc 900-9000");
	assert_true(run.last.incomplete);
	play("1:alloc 9000-9900");
	assert_false(run.last.incomplete);
	assert_int_equal(stalls_flush(run.stalls, 0), 0);
	assert_int_equal(run.count, TASKS_OF_64_KIB + 2);
}

/* Fast pairs of tasks that come and go push out none that is in a stall, and cost no stall. */
UNIT_TEST(test_a_stall_among_short_tasks)
{
	start(PHASES);
	play("8:wait+ 60 by=high, direct 100-200@1");
	for (int i = 0; i < 3000; i++)
		playf("%d:pair %d-%d", 1000 + i, 300 + i, 310 + i);
	play("8:wait- 9000, alloc 50-10000");
	assert_string_equal(notes.text, "w8:60-9000=high | 7:50-10000 direct=100 outside=9850");
	assert_int_equal(run.nr_pairs, 3000);
	assert_int_equal(stalls_limited(run.stalls), 0);
}

/* Each of many tasks has windows of three depths that wait, ten of each. */
UNIT_TEST(test_many_tasks)
{
	static const char *const roles[] = { "compact", "node", "gen" };
	enum { TASKS = 500 };
	uint64_t now = 1000;

	start(NOTHING);
	for (int depth = 1; depth <= 3; depth++)
		for (int i = 0; i < 10; i++, now += 10)
			for (int tid = 1; tid <= TASKS; tid++)
				playf("%d:%s %" PRIu64 "-%" PRIu64 "@%d", tid, roles[depth - 1],
				      now, now + 9, depth);
	run.shown = PHASES;
	for (int tid = 1; tid <= TASKS; tid++) {
		playf("%d:node 1199-1400@2, %d:direct 1099-1500@1, %d:alloc 1000-1600", tid, tid,
		      tid);
		/* 10 * 9, 401 less 10 * 9, and what is left of 600 */
		assert_non_null(strstr(notes.text, ":1000-1600 direct=311 direct.inactive=90 "
						   "compaction=90 outside=109"));
		clear_notes();
	}
	assert_int_equal(run.count, TASKS);
	assert_int_equal(stalls_limited(run.stalls), 0);
}

/* ---- chunks ---- */

/* Events of fast calls make room, and nobody needs to know. */
UNIT_TEST(test_drops_of_fast_calls)
{
	start_with(64 * KIB, LINES);
	for (int i = 0; i < 3000; i++)
		playf("list %d", 1000 + i);
	play("list 50000, lruvec 49900-50100");
	assert_string_equal(notes.text, "7:49900-50100 W49900-50100(50000)");
	assert_int_equal(stalls_limited(run.stalls), 0);
	/* Whoever lacks them says so. */
	run.shown = DETAILS;
	clear_notes();
	for (int i = 0; i < 3000; i++)
		playf("list %d scan=1", 60000 + i);
	play("direct- 70000 rec=4, lruvec 59000-71000");
	assert_non_null(strstr(notes.text, "7:59000-71000? order -1 nodes 0 priority 0 lines 1+"));
	assert_int_equal(stalls_limited(run.stalls), 1);
}

/* The task with most makes room, and the others keep what they have. */
UNIT_TEST(test_who_makes_room)
{
	start_with(64 * KIB, LINES);
	play("8:slab+ 900, 8:user 950, 9:user 960");
	for (int i = 0; i < 3000; i++)
		playf("user %d", 1000 + i);
	play("8:slab- 5000, 8:node 890-5010, 9:node 890-5020");
	assert_string_equal(notes.text, "8:890-5010 P900-5000() W890-5010(950) | "
					"9:890-5020 W890-5020(960)");
	assert_int_equal(stalls_limited(run.stalls), 0);
}

/* A fast pair takes 96 bytes: 2000 of them in 256 KiB cost no line. With payload they would. */
UNIT_TEST(test_room_for_fast_pairs)
{
	start_with(256 * KIB, LINES);
	play("user 950");
	for (int i = 0; i < 2000; i++)
		playf("pair %d-%d shr=1", 1000 + 2 * i, 1001 + 2 * i);
	play("alloc 900-6000");
	assert_string_equal(notes.text, "7:900-6000 W900-6000(950)");
	assert_int_equal(run.nr_pairs, 2000);
}

/* A begin that was dropped has no pair; each pair that was not is told, also if its end made room. */
UNIT_TEST(test_pairs_without_room)
{
	for (int offset = 0; offset < 40; offset++) {
		start_with(64 * KIB, LINES);
		play("slab+ 900 shr=9");
		for (int i = 0; i < offset; i++)
			play("user 950");
		for (int i = 0; i < 1000; i++)
			playf("slab+ %d, slab- %d", 1000 + 2 * i, 1001 + 2 * i);
		play("slab- 5000 shr=9");
		assert_int_equal(run.nr_pairs, 1000);
		assert_int_equal(stalls_limited(run.stalls), 1);
		play("node 949-5100");
		assert_int_equal(stalls_limited(run.stalls), 2);
	}
}

/* A slow pair that goes as a whole goes once: the slow windows after it are stalls. */
UNIT_TEST(test_drop_of_a_slow_pair)
{
	start_with(64 * KIB, LINES);
	play("slab+ 900 shr=9, pair 1000-1200");
	for (int i = 0; i < 1000; i++)
		playf("user %d", 2000 + i);
	play("node 5000-5200@1");
	assert_int_equal(stalls_flush(run.stalls, 0), 0);
	assert_string_equal(notes.text, "7:5000-5200 W5000-5200()");
	assert_int_equal(stalls_limited(run.stalls), 1);
}

/* Waits that are told take the chunks before them along. */
UNIT_TEST(test_room_of_past_waits)
{
	start_with(64 * KIB, LINES);
	for (int i = 1; i <= 100; i++) {
		clear_notes();
		playf("wait %d0000000-%d0000300 by=refault, user %d0000400 size=1500, "
		      "user %d0000500 size=1500, time %d9999999",
		      200 * i, 200 * i, 200 * i, 200 * i, 200 * i + 199);
	}
	assert_int_equal(run.count, 100);
	clear_notes();
	play("alloc 50-300000000000");
	assert_string_equal(
		notes.text,
		"7:200000000300-300000000000? W50-300000000000(200000000400 200000000500)");
}

/* A wait counts with its whole time although its begin was dropped; what it is shown with is not complete. */
UNIT_TEST(test_wait_without_room)
{
	start_with(64 * KIB, PHASES);
	play("wait+ 900 by=high, wait+ 910 by=read");
	for (int i = 0; i < 3000; i++)
		playf("user %d", 1000 + i);
	play("wait 5000-5001 by=read, wait- 5100, wait- 5200, wait 5300-5310 by=refault");
	assert_string_equal(notes.text, "w7:900-5200=high, w7:5300-5310=refault");
	clear_notes();
	play("alloc 890-6000");
	assert_string_equal(notes.text, "7:890-6000? high=4300 outside=810");
}

UNIT_TEST(test_off_cpu_without_room)
{
	start_with(64 * KIB, PHASES);
	play("3:leave 1, leave 100 state=2");
	/* All others have one chunk at most: it is the oldest. */
	for (int tid = 101; tid < 130; tid++)
		playf("%d:user %d", tid, 100 + tid);
	play("come 5000, user 5001, alloc 50-6000");
	assert_true(run.last.incomplete);
	/* The same for one that makes room for itself. */
	start_with(64 * KIB, PHASES);
	play("3:leave 1");
	for (int i = 0; i < 2000; i++)
		playf("off %d-%d", 100 + 10 * i, 105 + 10 * i);
	play("alloc 50-30000");
	assert_true(run.last.incomplete);
	clear_notes();
	play("off 30050-30060, alloc 30020-30200");
	assert_string_equal(notes.text, "7:30020-30200 outside=170 outside~wait=10");
}

/* More shrinkers than have a name: those with most time have, and none of the time is lost. */
UNIT_TEST(test_many_shrinkers)
{
	for (int more = 0; more <= 1; more++) {
		uint64_t now = 1000, sum = 0;

		start(NOTHING);
		for (int i = 0; i < 256 + more; i++, now += 1000) {
			playf("pair %" PRIu64 "-%" PRIu64 " shr=%d", now, now + 1 + i * 37 % 257,
			      1 + i * 37 % 257);
			sum += 1 + i * 37 % 257;
		}
		playf("node 900-%" PRIu64, now);
		assert_int_equal(run.last.nr_shrinkers, 256);
		assert_int_equal(stalls_limited(run.stalls), more);
		assert_int_equal(
			run.last.phases.ns[PHASE_OTHER_RECLAIM][PART_SHRINKERS][STATE_UNKNOWN],
			sum);
		assert_true(run.slices[0].ns > run.slices[1].ns);
	}
}

UNIT_TEST(test_callback_that_fails)
{
	int ret = 0;

	start_with(64 * KIB, NOTHING);
	run.fail = -EPIPE;
	for (int tid = 1; tid <= 100 && !ret; tid++)
		ret = playf("%d:node 100-200@1", tid);
	assert_int_equal(ret, -EPIPE);
	assert_int_equal(run.count, 1);
}

/* ---- long stalls ---- */

static void quick_pair(uint64_t from, uint64_t to, uint64_t shrinker)
{
	struct item item = { .record = { .tid = TASK }, .to = to, .fields.shrinker = shrinker };

	item.fields.nid = -1;
	item.fields.priority = -1;
	item.record.ts = from;
	assert_int_equal(put_both(&item, SLAB_START, SLAB_END), 0);
}

/* A round of kswapd: lists, ten shrinkers in a slow run, a sleep; 600 us. */
static void round_of_kswapd(uint64_t now)
{
	for (uint64_t i = 0; i < 10; i++)
		quick_pair(now + 2000 + i * 9000, now + 7000 + i * 9000, 1 + i % 5);
	playf("slab %" PRIu64 "-%" PRIu64 "@2", now + 1000, now + 101000);
	playf("off %" PRIu64 "-%" PRIu64 " state=2 woken=%" PRIu64 " in=0x20", now + 200000,
	      now + 300000, now + 290000);
	playf("compact- %" PRIu64 " status=%" PRIu64 ", list %" PRIu64 " scan=32 nid=1 pri=12",
	      now + 350000, now / 36000000 % 2, now + 450000);
	playf("gen %" PRIu64 "-%" PRIu64 "@2, node %" PRIu64 "-%" PRIu64 "@1", now + 400000,
	      now + 500000, now + 500, now + 600000);
}

/*
 * Six minutes of 100,000 fast pairs, 30,000 slow windows and as many switches are one exact stall, where
 * there is room. If it began before the first switch its states are not known.
 */
UNIT_TEST(test_minutes_of_kswapd)
{
	static const struct {
		enum shown shown;
		const char *first_switch, *expected;
	} cases[] = {
		{ PHASES, "3:leave 0",
		  "7:0-360000000000 reclaim=357000000000 reclaim~wait=100000000 "
		  "reclaim~D=900000000 reclaim.shrinkers=500000000 reclaim.slab=500000000 "
		  "reclaim.inactive=1000000000 {1=100000000*20000} {2=100000000*20000} "
		  "{3=100000000*20000} {4=100000000*20000} {5=100000000*20000} "
		  "[reclaim~D@32=900000000]" },
		{ PHASES, "3:leave 1",
		  "7:0-360000000000 reclaim=358000000000 reclaim.shrinkers=500000000 "
		  "reclaim.slab=500000000 reclaim.inactive=1000000000 {1=100000000*20000} "
		  "{2=100000000*20000} {3=100000000*20000} {4=100000000*20000} "
		  "{5=100000000*20000}" },
		{ RUNNERS, "3:leave 0", "7:0-360000000000 3=100000000" },
		{ RUNNERS, "3:leave 1", "7:0-360000000000" },
		{ DETAILS, "3:leave 0",
		  "7:0-360000000000 order -1 outcome s1 (9992 others, s0, s1, s0, s1, s0, "
		  "s1, s0, s1) nodes 1 priority 12 scanned 320000 reclaimed 0 dirty 0 "
		  "writeback 0 lines 30001+210000" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		start_with(64 << 20, cases[i].shown);
		play(cases[i].first_switch);
		play("wait+ 0 by=node");
		start_counting();
		for (uint64_t round = 0; round < 10000; round++)
			round_of_kswapd(round * 36000000);
		playf("node 0-%" PRIu64, 360 * SECOND);
		counting = false;
		assert_int_equal(allocations, 0);
		assert_string_equal(notes.text, cases[i].expected);
		assert_int_equal(stalls_limited(run.stalls), 0);
		/* kswapd waits for memory, by the kernel's count, while it works. */
		clear_notes();
		playf("wait- %" PRIu64, 360 * SECOND + 1);
		assert_string_equal(notes.text, "w7:0-360000000001=node");
	}
}

/* Without room it is one stall that lacks its oldest records, and says so; its wait is exact. */
UNIT_TEST(test_minutes_of_kswapd_without_room)
{
	struct stall_window window = { 0 };
	unsigned int shown = 0;

	start_with(1024 * KIB, NOTHING);
	play("3:leave 0, wait+ 0 by=node");
	start_counting();
	for (uint64_t round = 0; round < 10000; round++)
		round_of_kswapd(round * 36000000);
	playf("node 0-%" PRIu64, 360 * SECOND);
	counting = false;
	assert_int_equal(allocations, 0);
	assert_int_equal(run.count, 1);
	assert_int_equal(run.last.incomplete, LACKS_DROPPED);
	assert_int_equal(stalls_limited(run.stalls), 1);
	while (stall_next_window(&run.last, &window))
		shown++;
	assert_in_range(run.last.nr_windows, 300, 30000);
	assert_true(shown > run.last.nr_windows); /* runs of shrinkers */
	assert_int_equal(window.end, 360 * SECOND);
	run.shown = PHASES;
	playf("wait- %" PRIu64, 360 * SECOND + 1);
	assert_string_equal(notes.text, "w7:0-360000000001=node");
}

/* Windows that went, and that nothing came around, are counted. */
UNIT_TEST(test_drop_of_slow_windows)
{
	start_with(64 * KIB, NOTHING);
	for (int i = 0; i < 2000; i++)
		playf("node %d-%d@1", 1000 + 200 * i, 1100 + 200 * i);
	assert_int_equal(stalls_flush(run.stalls, 0), 0);
	assert_in_range(run.count, 100, 1999);
	assert_int_equal(run.incomplete, 0);
	assert_int_equal(run.count + stalls_limited(run.stalls), 2000);
	/* Windows inside a stall are a part of it. */
	for (int i = 0; i < 2000; i++)
		playf("node %d-%d@1", 601000 + 200 * i, 601100 + 200 * i);
	run.count = 0;
	play("alloc 600000-1100000");
	assert_int_equal(run.last.incomplete, LACKS_DROPPED);
	assert_int_equal(run.count, 1);
	play("node 1200000-1200200@1, alloc 1199990-1200210");
	assert_int_equal(run.last.incomplete, LACKS_NOTHING);
	start_with(64 * KIB, NOTHING);
	for (int i = 0; i < 2000; i++)
		playf("node %d-%d@1", 1000 + 200 * i, 1100 + 200 * i);
	play("alloc 900-500000");
	assert_int_equal(stalls_limited(run.stalls), 1);
}

/* ---- random logs, with and without a limit ---- */

#define ACTIONS 30000
#define TASKS	24
#define DEPTH	7
#define RESULTS 10000
#define A_WAIT	UINT64_MAX /* in place of a shrinker */

struct action {
	struct item item;
	const char *name;
	uint64_t depth;
};

struct result {
	int tid;
	uint64_t start, end;
	enum stall_lack incomplete;
	char *text; /* all that is known of it */
};

static struct {
	struct action actions[ACTIONS + TASKS];
	size_t nr_actions;
	struct result results[2][RESULTS]; /* without a limit, and with it */
	size_t nr_results[2];
	struct memory_wait waits[2][RESULTS];
	size_t nr_waits[2];
	int which;
	uint64_t seed;
} logs;

static uint64_t below(uint64_t limit)
{
	logs.seed = logs.seed * 6364136223846793005u + 1442695040888963407u;
	return (logs.seed >> 33) % limit;
}

static struct action *add_action(int tid, uint64_t ts, const char *name)
{
	struct action *action = &logs.actions[logs.nr_actions++];

	*action = (struct action){ .name = name, .item.state = 0x100 };
	action->item.record.tid = tid;
	action->item.record.ts = ts;
	return action;
}

/* A task that calls, returns, begins and ends pairs and waits, writes events, sleeps and comes back. */
struct actor {
	uint64_t from[DEPTH], shrinker[DEPTH]; /* of calls; a shrinker is a pair, or A_WAIT */
	uint64_t depth;
	bool asleep;
};

static void act(struct actor *actor, int tid, uint64_t now)
{
	static const char *const roles[] = { "direct", "memcg",	  "node", "slab",  "gen",
					     "active", "compact", "zone", "other", "throttle" };
	static const char *const events[] = { "direct+",  "direct-", "memcg+", "memcg-",   "try",
					      "compact-", "list",    "user",   "throttled" };
	/* The reason of "refault" depends on what was read before. */
	static const char *const reasons[] = { "direct", "memcg", "high", "swap", "read" };
	uint64_t what = below(10), *shrinker = &actor->shrinker[actor->depth];
	struct action *action;

	if (actor->asleep) {
		add_action(tid, now, "come");
		actor->asleep = false;
	} else if (what < 3 && actor->depth < DEPTH) {
		*shrinker = !below(4) ? A_WAIT : actor->depth && !below(3) ? 1 + below(5) : 0;
		if (*shrinker == A_WAIT)
			set_field(&add_action(tid, now, "wait+")->item, "by", 2,
				  reasons[below(COUNT(reasons))]);
		else if (*shrinker)
			add_action(tid, now, "slab+")->item.fields.shrinker = *shrinker;
		actor->from[actor->depth++] = now;
	} else if (what < 6 && actor->depth) {
		actor->depth--;
		shrinker--;
		if (*shrinker) {
			action = add_action(tid, now, *shrinker == A_WAIT ? "wait-" : "slab-");
			action->item.fields.shrinker = *shrinker == A_WAIT ? 0 : *shrinker;
			return;
		}
		action = add_action(tid, actor->from[actor->depth],
				    actor->depth ? roles[below(COUNT(roles))] : "alloc");
		action->item.to = now;
		/* A wait may be outside of all functions. */
		action->depth = actor->depth - (actor->depth && actor->shrinker[0] == A_WAIT);
	} else if (what == 6) {
		add_action(tid, now, "leave")->item.state = below(3);
		actor->asleep = true;
	} else {
		action = add_action(tid, now, events[below(COUNT(events))]);
		action->item.fields.order = (int32_t)below(3);
		action->item.fields.nr_reclaimed = below(30);
		action->item.fields.nid = (int32_t)below(4);
		action->item.fields.status = (int32_t)below(3);
		action->item.size = below(200) ? 0 : 1000;
	}
}

static void make_log(uint64_t seed)
{
	struct actor actors[TASKS] = { 0 };
	uint64_t now = 1000;

	logs.nr_actions = 0;
	logs.seed = seed;
	/* Often one task has most to do. */
	while (logs.nr_actions < ACTIONS) {
		size_t who = seed % 2 && below(10) ? 0 : below(TASKS);

		act(&actors[who], (int)who + 100, now += 1 + below(20));
	}
}

static int keep_result(void *context, const struct stall *stall)
{
	size_t *count = &logs.nr_results[logs.which];
	struct result *result = &logs.results[logs.which][(*count)++];

	assert_true(*count < RESULTS);
	*result =
		(struct result){ stall->key.id, stall->start, stall->end, stall->incomplete, NULL };
	check_sums(stall);
	clear_notes();
	note_phases(stall);
	note_details(stall);
	result->text = strdup(notes.text);
	clear_notes();
	note_lines(stall); /* checks them */
	return 0;
}

static void count_wait(void *context, const struct memory_wait *wait)
{
	size_t *count = &logs.nr_waits[logs.which];

	logs.waits[logs.which][(*count)++] = *wait;
	assert_true(*count < RESULTS);
}

static uint64_t play_log(int which, size_t memory)
{
	start_with(memory, NOTHING);
	stalls_free(run.stalls);
	run.stalls = stalls_new(&run.plan, &run.source, memory, NULL, NULL, keep_result, count_wait,
				NULL);
	for (size_t i = 0; i < logs.nr_results[which]; i++)
		free(logs.results[which][i].text);
	logs.which = which;
	logs.nr_results[which] = 0;
	logs.nr_waits[which] = 0;
	play("3:leave 1");
	for (size_t i = 0; i < logs.nr_actions; i++) {
		struct action action = logs.actions[i];

		assert_int_equal(put_item(&action.item, action.name, action.depth), 0);
	}
	assert_int_equal(stalls_flush(run.stalls, 1000 + 20 * ACTIONS), 0);
	return stalls_limited(run.stalls);
}

/* The stall of the other run that begins and ends with it; NULL: there is none */
static const struct result *same_result(const struct result *result, int which)
{
	for (size_t i = 0; i < logs.nr_results[which]; i++) {
		const struct result *at = &logs.results[which][i];

		if (at->tid == result->tid && at->start == result->start && at->end == result->end)
			return at;
	}
	return NULL;
}

/* A task that lost its whole log has forgotten, too, that it read swap. */
static bool has_wait(const struct memory_wait *wait, int which)
{
	for (size_t i = 0; i < logs.nr_waits[which]; i++) {
		const struct memory_wait *other = &logs.waits[which][i];

		if (wait->tid == other->tid && wait->start == other->start &&
		    wait->end == other->end && wait->is_part == other->is_part &&
		    (wait->role == other->role ||
		     (wait->role != ROLE_MEMORY_HIGH && other->role != ROLE_MEMORY_HIGH)))
			return true;
	}
	return false;
}

/* A task that lost its whole log while it waited takes a nested wait for an outermost one. */
static bool in_lost_wait(int tid, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < logs.nr_waits[0]; i++) {
		const struct memory_wait *wait = &logs.waits[0][i];

		if (wait->tid == tid && wait->start < start && wait->end >= end)
			return !has_wait(wait, 1);
	}
	return false;
}

/*
 * A stall that a limit has changed is incomplete, and says that this is why. Stalls that the limit
 * leaves out are counted. Memory waits are the same, whatever is dropped but a whole log.
 */
UNIT_TEST(test_random_logs)
{
	size_t checked = 0, incomplete = 0, missing = 0, waits = 0, lost_waits = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t without = 0;
		uint64_t limited;

		make_log(seed);
		assert_int_equal(play_log(0, 64u << 20), 0);
		limited = play_log(1, (64 + seed % 3 * 64) * KIB);
		for (size_t i = 0; i < logs.nr_results[1]; i++) {
			const struct result *with = &logs.results[1][i];
			const struct result *whole = same_result(with, 0);

			if (with->incomplete == LACKS_DROPPED) {
				incomplete++;
				continue;
			}
			checked++;
			if (in_lost_wait(with->tid, with->start, with->end))
				continue;
			if (!whole || strcmp(with->text, whole->text) ||
			    with->incomplete != whole->incomplete)
				fail_msg("seed %d: %d:%d-%d%s\n%s", (int)seed, with->tid,
					 (int)with->start, (int)with->end, with->text,
					 whole ? whole->text : "is none");
		}
		for (size_t i = 0; i < logs.nr_results[0]; i++) {
			assert_true(!logs.results[0][i].incomplete ||
				    logs.results[0][i].incomplete == LACKS_PART);
			without += !same_result(&logs.results[0][i], 1);
		}
		for (size_t i = 0; i < logs.nr_waits[1]; i++) {
			const struct memory_wait *wait = &logs.waits[1][i];

			if (!has_wait(wait, 0) && !in_lost_wait(wait->tid, wait->start, wait->end))
				fail_msg("seed %d: %d:%d-%d=%s is none", (int)seed, wait->tid,
					 (int)wait->start, (int)wait->end, role_names[wait->role]);
		}
		for (size_t i = 0; i < logs.nr_waits[0]; i++)
			lost_waits += !has_wait(&logs.waits[0][i], 1);
		waits += logs.nr_waits[0];
		assert_true(without <= limited);
		missing += without;
	}
	assert_true(checked > 1000);
	assert_true(incomplete > 100);
	assert_true(missing > 0);
	assert_true(waits > 20000);
	assert_true(lost_waits < waits / 10);
	for (int which = 0; which < 2; which++)
		for (size_t i = 0; i < logs.nr_results[which]; i++)
			free(logs.results[which][i].text);
}

UNIT_TEST_MAIN(NULL, end_run)
