/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_MADE_STALL_H
#define ALLOCFILT_TEST_MADE_STALL_H

#include <inttypes.h>

#include "allocfilt/stall/stalls.h"
#include "made_cpus.h"
#include "notes.h"
#include "unit_test.h"

/*
 * Hand-made logs. A log is a text of items with ", " between them, in order of time:
 *
 *	"node 100-300@2"      a window of a role, of depth 2; without "@2" of depth 0
 *	"direct+ 110"	      an event, here a begin; "slab+ 120 shr=5", fields of events follow
 *	"pair 120-150 shr=5"  the begin and the end of a slab pair; "scan=9" objects to scan, or left of
 *			      these, "status=3" freed
 *	"off 100-200 state=2 woken=150 in=5"  the task leaves its CPU, is woken, and comes back
 *	"leave 100 state=2", "wake 150", "come 200"  the same in parts, with task 3 in its place
 *	"leave 100 next=8", "come 200 from=8", "wake 150 on=2"  with another one; for another CPU
 *	"taken 90, io 100-300" the task comes upon a page that reclaim took, and sleeps until it is read
 *	"wait+ 100 by=refault", "wait- 200"  a memory wait; "wait 100-200 by=refault"  the same
 *	"stack 120 in=5", "lost 150-180 cpu=1", "lostall 150", "stop 150", "time 150", "flush 200"
 *
 * A number and a colon before it are another task than 7, "h:", "s:" and "n:" the interrupts of a
 * CPU; "cpu=1" is at the end of any item. Stalls are noted as "7:100-300/2? direct.slab=50 outside=150":
 * its task, depth, "?" for incomplete and phases, which "~D" follows where the task did not run; or as
 * "7:100-300 8=20/9 none=5" with the tasks that had the CPU while it waited, and for how long they reclaimed.
 * Memory waits are noted as "w7:100-200=refault", with "?" if they were in progress.
 */

#define SECOND	  NS_PER_SECOND
#define THRESHOLD 100
#define FUNCTIONS 0xf01 /* addresses: of ROLE_NONE 0xf00 */
#define TASK	  7
#define CPUS	  4
#define UNNAMED	  98 /* a task whose switches have no name */

enum { /* the plan's events, in this order */
       RECLAIM_BEGIN,
       RECLAIM_END,
       MEMCG_BEGIN,
       MEMCG_END,
       COMPACTION_BEGIN,
       COMPACTION_END,
       SLAB_START,
       SLAB_END,
       NODE_BEGIN,
       TRY_TO_COMPACT,
       INACTIVE,
       THROTTLED,
       USER,
       NEVER,
       SWITCH,
       WAKEUP,
       WAIT_BEGIN,
       WAIT_END,
       REFAULT,
       NR_EVENTS,
};

#define OWNED(id_, side_, partner_, role)                                                          \
	{                                                                                          \
		.id = (id_), .side = (side_), .partner = (partner_), .rule = RULE_OWNER,           \
		.owners = ROLE_BIT(role)                                                           \
	}

static const struct plan_event planned[NR_EVENTS] = {
	OWNED(EVENT_DIRECT_RECLAIM_BEGIN, EVENT_BEGIN, RECLAIM_END, ROLE_DIRECT_RECLAIM),
	OWNED(EVENT_DIRECT_RECLAIM_END, EVENT_END, RECLAIM_BEGIN, ROLE_DIRECT_RECLAIM),
	OWNED(EVENT_MEMCG_RECLAIM_BEGIN, EVENT_BEGIN, MEMCG_END, ROLE_MEMCG_RECLAIM),
	OWNED(EVENT_MEMCG_RECLAIM_END, EVENT_END, MEMCG_BEGIN, ROLE_MEMCG_RECLAIM),
	OWNED(EVENT_COMPACTION_BEGIN, EVENT_BEGIN, COMPACTION_END, ROLE_ZONE_COMPACTION),
	OWNED(EVENT_COMPACTION_END, EVENT_END, COMPACTION_BEGIN, ROLE_ZONE_COMPACTION),
	{ .id = EVENT_SLAB_START, .side = EVENT_BEGIN, .partner = SLAB_END, .rule = RULE_PAIR },
	{ .id = EVENT_SLAB_END, .side = EVENT_END, .partner = SLAB_START, .rule = RULE_PAIR },
	OWNED(EVENT_NODE_RECLAIM_BEGIN, EVENT_BEGIN, -1, ROLE_NODE_RECLAIM),
	OWNED(EVENT_TRY_TO_COMPACT, EVENT_SINGLE, -1, ROLE_DIRECT_COMPACTION),
	{ .id = EVENT_SHRINK_INACTIVE,
	  .partner = -1,
	  .rule = RULE_OWNER,
	  .owners = ROLE_BIT(ROLE_GENERATIONS) | ROLE_BIT(ROLE_LRUVEC) },
	{ .id = EVENT_THROTTLED, .partner = -1, .rule = RULE_ANY_WINDOW },
	{ .id = EVENT_USER, .partner = -1, .rule = RULE_ANY_WINDOW },
	{ .id = EVENT_USER, .partner = -1, .rule = RULE_NEVER },
	{ .id = EVENT_SCHED_SWITCH, .partner = -1, .rule = RULE_OFF_CPU },
	{ .id = EVENT_SCHED_WAKEUP, .partner = -1, .rule = RULE_OFF_CPU },
	{ .id = EVENT_WAIT_BEGIN, .side = EVENT_BEGIN, .partner = WAIT_END, .rule = RULE_PAIR },
	{ .id = EVENT_WAIT_END, .side = EVENT_END, .partner = WAIT_BEGIN, .rule = RULE_PAIR },
	OWNED(EVENT_REFAULT, EVENT_SINGLE, -1, ROLE_IO),
};

static const char *const event_names[NR_EVENTS] = {
	"direct+", "direct-", "memcg+", "memcg-", "compact+",  "compact-", "slab+",
	"slab-",   "node+",   "try",	"list",	  "throttled", "user",	   "never",
	"-",	   "-",	      "wait+",	"wait-",  "taken",
};

static const char *const role_names[ROLE_COUNT] = {
	[ROLE_PAGE_ALLOCATION] = "alloc",
	[ROLE_DIRECT_RECLAIM] = "direct",
	[ROLE_MEMCG_RECLAIM] = "memcg",
	[ROLE_MEMORY_HIGH] = "high",
	[ROLE_SOFT_LIMIT] = "soft",
	[ROLE_NODE] = "node",
	[ROLE_NODE_RECLAIM] = "nodereclaim",
	[ROLE_DIRECT_THROTTLE] = "throttledirect",
	[ROLE_LRUVEC] = "lruvec",
	[ROLE_LRUVEC_GENERATIONS] = "lruvecgen",
	[ROLE_SLAB] = "slab",
	[ROLE_ACTIVE_LIST] = "active",
	[ROLE_INACTIVE_LIST] = "inactive",
	[ROLE_GENERATIONS] = "gen",
	[ROLE_RECLAIM_THROTTLE] = "throttle",
	[ROLE_ZONE_COMPACTION] = "zone",
	[ROLE_DIRECT_COMPACTION] = "compact",
	[ROLE_OOM_KILLER] = "oom",
	[ROLE_DRAIN] = "drain",
	[ROLE_SWAP_IN] = "swap",
	[ROLE_REFAULT] = "refault",
	[ROLE_REFAULT_READ] = "read",
	[ROLE_IO] = "io",
	[ROLE_REFAULT_NOT_IN_PSI] = "cold",
	[ROLE_WAIT] = "unknown",
};

enum shown { PHASES, LINES, DETAILS, RUNNERS, NOTHING };

static struct {
	struct plan plan;
	struct data_source source;
	struct stalls *stalls;
	enum shown shown;
	bool pairs; /* durations of slab pairs are noted */
	int fail;   /* what the callback returns */
	uint64_t count, incomplete, nr_pairs, events_shown;
	struct stall last; /* its pointers are valid no more */
	struct stall_slice slices[2];
} run;

/* ---- what the stage asks for: the linker takes these first ---- */

static struct stacks *stacks; /* NULL: none are kept */

struct stacks *resolver_stacks(const struct resolver *resolver)
{
	return stacks;
}

int resolver_role(struct resolver *resolver, uint64_t function)
{
	return (int)(function - FUNCTIONS);
}

int resolver_wait_role(struct resolver *resolver, uint64_t caller)
{
	return caller ? (int)(caller - FUNCTIONS) : ROLE_WAIT;
}

/* The task 99 does. */
bool resolver_awaits_kill(const struct resolver *resolver, int tid)
{
	return tid == 99;
}

size_t resolver_event(struct resolver *resolver, const struct record *record, const char *field,
		      char *text, size_t size)
{
	if (!strcmp(field, "status"))
		return snprintf(text, size, "s%d", record->fields.status);
	return snprintf(text, size, "%s_%u", strcmp(field, "gfp_mask") ? "GFP" : "MASK",
			record->fields.gfp);
}

/* A function has 16 addresses. */
uint64_t resolver_function(struct resolver *resolver, uint64_t address)
{
	return address & ~15ull;
}

uint64_t resolver_sleeps_in(const struct resolver *resolver, const uint64_t *frames, size_t count)
{
	return count ? frames[0] : 0;
}

/* The payload of an event is its fields, which may be followed by more. */
void decode_fields(struct decode *decode, struct record *record)
{
	assert_true(record->raw_size >= sizeof(record->fields));
	memcpy(&record->fields, record->raw, sizeof(record->fields));
}

/* ---- stalls ---- */

static inline void note_phases(const struct stall *stall)
{
	static const char *const groups[] = {
		"direct", "memcg", "node", "reclaim", "compaction", "high",
		"oom",	  "drain", "swap", "refault", "outside",
	};
	static const char *const parts[] = {
		"", ".shrinkers", ".slab", ".inactive", ".active", ".short", ".throttle", ".soft",
	};
	static const char *const states[] = { "", "~wait", "~D", "~S", "~off", "" };

	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			for (int state = 0; state < PHASE_STATES; state++)
				if (stall->phases.ns[group][part][state])
					note(" %s%s%s=%" PRIu64, groups[group], parts[part],
					     states[state], stall->phases.ns[group][part][state]);
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];

		note(" {%" PRIu64 "=%" PRIu64 "*%" PRIu64, shrinker->shrinker, shrinker->ns,
		     shrinker->count);
		if (shrinker->scanned || shrinker->freed)
			note(" %" PRIu64 "/%" PRIu64, shrinker->freed, shrinker->scanned);
		for (int state = STATE_RUNNING + 1; state < STATE_UNKNOWN; state++)
			if (shrinker->in[state])
				note(" %s=%" PRIu64, states[state], shrinker->in[state]);
		note("}");
	}
	for (size_t i = 0; i < stall->nr_sleeps; i++)
		note(" [%s%s@%" PRIu64 "=%" PRIu64 "%s]", groups[stall->sleeps[i].group],
		     states[stall->sleeps[i].state], stall->sleeps[i].function, stall->sleeps[i].ns,
		     stall->sleeps[i].shrinker ? " in a shrinker" : "");
}

/* " W100-300(110 120)", " P100-200()": windows, pairs and their events; "110#2" has a stack. */
static inline void note_lines(const struct stall *stall)
{
	struct stall_window window = { 0 };
	struct record event;
	uint64_t last;

	while (stall_next_window(stall, &window)) {
		assert_true(window.end - window.start >= THRESHOLD);
		assert_int_equal(window.exit.kind, window.is_pair ? RECORD_EVENT : RECORD_WINDOW);
		note(" %c%" PRIu64 "-%" PRIu64 "(", window.is_pair ? 'P' : 'W', window.start,
		     window.end);
		for (last = 0; stall_next_event(&window, &event); last = event.ts) {
			assert_true(event.ts >= last);
			assert_true(event.raw_size >= sizeof(struct record_fields));
			note("%s%" PRIu64, last ? " " : "", event.ts);
			if (event.stack.number)
				note("#%u", event.stack.number);
			run.events_shown++;
		}
		note(")");
	}
}

static inline void note_details(const struct stall *stall)
{
	static const char *const counts[] = { "scanned", "reclaimed", "dirty", "writeback",
					      "tried" };

	note(" order %d", stall->order);
	if (stall->has_gfp)
		note(" gfp %" PRIu64 " %s", stall->gfp, stall->gfp_names);
	if (stall->has_reclaimed)
		note(" pages %" PRIu64, stall->nr_reclaimed);
	if (*stall->compaction || *stall->outcomes)
		note(" outcome %s (%s)", stall->compaction, stall->outcomes);
	if (stall->memcg_id)
		note(" memcg %" PRIu64, stall->memcg_id);
	if (*stall->nodes)
		note(" nodes %s", stall->nodes);
	if (stall->has_priority)
		note(" priority %d", stall->priority);
	for (int which = 0; which < STALL_COUNTS; which++)
		if (stall->counts.known & 1u << which)
			note(" %s %" PRIu64, counts[which], stall->counts.count[which]);
	if (stall->stack)
		note(" stack %u", stall->stack);
	note(" lines %u+%u", stall->nr_windows, stall->nr_events);
}

/* A task has its number as its name, behind what a name of before may have left. */
static void name_of(int tid, char name[RECORD_COMM_SIZE])
{
	memset(name, 'x', RECORD_COMM_SIZE);
	snprintf(name, RECORD_COMM_SIZE, tid ? "%d" : "swapper/%d", tid);
}

static inline void note_runners(const struct stall *stall)
{
	for (size_t i = 0; i < stall->nr_runners; i++) {
		char name[RECORD_COMM_SIZE];

		name_of(stall->runners[i].tid, name);
		name[strcspn(name, "/")] = '\0';
		assert_string_equal(stall->runners[i].name, name);
		note(" %s=%" PRIu64, name, stall->runners[i].ns);
		if (stall->runners[i].reclaiming)
			note("/%" PRIu64, stall->runners[i].reclaiming);
	}
	if (stall->no_runner)
		note(" none=%" PRIu64, stall->no_runner);
}

/*
 * The phases have all of its time, its shrinkers no more than the phases say of them, and those that
 * had the CPU have, with what is not recorded, the time that it waited.
 */
static inline void check_sums(const struct stall *stall)
{
	uint64_t shrinkers[PHASE_GROUPS] = { 0 };
	uint64_t waited = stall->no_runner;

	assert_int_equal(phases_total(&stall->phases), stall->end - stall->start);
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		uint64_t in = 0;

		shrinkers[stall->shrinkers[i].group] += stall->shrinkers[i].ns;
		for (int state = 0; state < PHASE_STATES; state++)
			in += stall->shrinkers[i].in[state];
		assert_int_equal(in, stall->shrinkers[i].ns);
	}
	for (size_t i = 0; i < stall->nr_runners; i++)
		waited += stall->runners[i].ns;
	assert_int_equal(waited, phases_state(&stall->phases, STATE_WAITED));
	for (int group = 0; group < PHASE_GROUPS; group++)
		assert_true(shrinkers[group] <= phases_part(&stall->phases, group, PART_SHRINKERS));
}

static void got_wait(void *context, const struct memory_wait *wait)
{
	if (run.shown == NOTHING)
		return;
	note_separator(", ");
	note("w%d:%" PRIu64 "-%" PRIu64 "=%s%s", wait->key.id, wait->start, wait->end,
	     role_names[wait->role],
	     wait->in_progress ? "..." :
	     wait->is_part     ? "?" :
				 "");
}

static int got_stall(void *context, const struct stall *stall)
{
	static const char kinds[] = { '\0', 'i', 's', 'h', 'n' };

	check_sums(stall);
	run.count++;
	run.incomplete += stall->incomplete;
	run.last = *stall;
	for (size_t i = 0; i < COUNT(run.slices) && i < stall->nr_shrinkers; i++)
		run.slices[i] = stall->shrinkers[i];
	if (run.shown == NOTHING)
		return run.fail;
	note_separator(" | ");
	note("%d", stall->key.id);
	if (kinds[stall->key.kind])
		note("%c", kinds[stall->key.kind]);
	note(":%" PRIu64 "-%" PRIu64, stall->start, stall->end);
	/* All time is in a state that is known, or none is. */
	assert_int_equal(phases_state(&stall->phases, STATE_UNKNOWN),
			 stall->off_cpu ? 0 : phases_total(&stall->phases));
	if (stall->depth)
		note("/%d", stall->depth);
	if (stall->incomplete)
		note("?");
	if (run.shown == PHASES)
		note_phases(stall);
	else if (run.shown == LINES)
		note_lines(stall);
	else if (run.shown == RUNNERS)
		note_runners(stall);
	else
		note_details(stall);
	return run.fail;
}

/* ---- items ---- */

struct item {
	struct record record;
	struct record_fields fields;
	uint64_t to, woken, in;
	uint64_t state;
	int other, on; /* the task before or after a switch; the CPU of a task that is woken */
	long size;     /* bytes of payload */
};

static const struct {
	const char *name;
	size_t offset, size;
} item_fields[] = {
#define FIELD(name, member)                                                                        \
	{                                                                                          \
		name, offsetof(struct item, member), sizeof(((struct item *)NULL)->member)         \
	}
	FIELD("shr", fields.shrinker),
	FIELD("call", fields.callback),
	FIELD("rec", fields.nr_reclaimed),
	FIELD("memcg", fields.memcg_id),
	FIELD("gfp", fields.gfp),
	FIELD("scan", fields.nr_scanned),
	FIELD("dirty", fields.nr_dirty),
	FIELD("wb", fields.nr_writeback),
	FIELD("order", fields.order),
	FIELD("nid", fields.nid),
	FIELD("pri", fields.priority),
	FIELD("status", fields.status),
	FIELD("cpu", record.cpu),
	FIELD("flags", record.flags),
	FIELD("woken", woken),
	FIELD("in", in),
	FIELD("state", state),
	FIELD("next", other),
	FIELD("from", other),
	FIELD("on", on),
	FIELD("size", size),
#undef FIELD
};

static int put_sched(const struct item *item, int event, int tid, int other, uint64_t ts)
{
	struct record record = { .kind = RECORD_EVENT, .cpu = item->record.cpu };
	char raw[24 + RECORD_COMM_SIZE];
	uint64_t pair;

	name_of(other, raw + 24);
	record.raw = raw;
	record.raw_size = sizeof(raw);
	record.ts = ts;
	record.tid = tid;
	record.event = (uint16_t)event;
	record.sched.tid = other;
	record.sched.prev_state = item->state;
	if (event == WAKEUP)
		record.sched.target_cpu = item->on;
	else if (other != UNNAMED)
		record.sched.name = 24;
	assert_int_equal(stalls_sched(run.stalls, &record), 0);
	return stalls_event(run.stalls, &record, &pair);
}

static int put_stack(const struct item *item, uint64_t ts)
{
	struct record record = item->record;
	uint64_t frames[] = { item->in, 0x1234 };

	record.kind = RECORD_STACK;
	record.ts = ts;
	record.frames = (struct record_frames){ .at = frames, .count = COUNT(frames) };
	return stalls_stack(run.stalls, &record);
}

/* The task of CPU 3 runs meanwhile. */
static int put_off(const struct item *item)
{
	const struct record *record = &item->record;

	put_sched(item, SWITCH, record->tid, 3, record->ts);
	if (item->in)
		put_stack(item, record->ts);
	if (item->woken)
		put_sched(item, WAKEUP, 99, record->tid, item->woken);
	return put_sched(item, SWITCH, 3, record->tid, item->to);
}

static int put_window(struct item *item, int role, uint64_t depth)
{
	struct record *record = &item->record;

	record->kind = RECORD_WINDOW;
	record->window = (struct record_window){
		.function = (uint64_t)(FUNCTIONS + role),
		.calltime = record->ts,
		.rettime = item->to,
		.depth = (int32_t)depth,
	};
	/* "user 101, node 100-300 wrote=302": the exit record may be written later. */
	record->ts = item->woken ? item->woken : item->to;
	return stalls_window(run.stalls, record);
}

static int put_event(struct item *item, int event)
{
	static unsigned char payload[UINT16_MAX];
	struct record *record = &item->record;
	uint64_t pair;
	int ret;

	record->kind = RECORD_EVENT;
	record->event = (uint16_t)event;
	record->raw = payload;
	record->raw_size = (uint16_t)(item->size ? item->size : (long)sizeof(item->fields));
	memcpy(payload, &item->fields, sizeof(item->fields));
	ret = stalls_event(run.stalls, record, &pair);
	stalls_work(run.stalls, record);
	/* The page of a record is soon another one. */
	memset(payload, 0xee, record->raw_size);
	if (pair == UINT64_MAX)
		return ret;
	run.nr_pairs++;
	if (run.pairs) {
		note_separator(" ");
		note("%" PRIu64 "=%" PRIu64, record->ts, pair);
	}
	return ret;
}

/* A begin and its end, which of a memory wait has no caller. */
static int put_both(const struct item *item, int begin, int end)
{
	struct item first = *item, last = *item;
	int ret = put_event(&first, begin);

	last.record.ts = item->to;
	if (end == WAIT_END)
		last.fields.callback = 0;
	return ret ? ret : put_event(&last, end);
}

static int index_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	return -1;
}

static int put_item(struct item *item, const char *name, uint64_t depth)
{
	const struct record *record = &item->record;
	int role = index_of(role_names, ROLE_COUNT, name);
	int event = index_of(event_names, NR_EVENTS, name);

	if (item->to && (role >= 0 || !strcmp(name, "other")))
		return put_window(item, role, depth);
	if (event >= 0)
		return put_event(item, event);
	if (!strcmp(name, "pair"))
		return put_both(item, SLAB_START, SLAB_END);
	if (!strcmp(name, "wait"))
		return put_both(item, WAIT_BEGIN, WAIT_END);
	if (!strcmp(name, "off"))
		return put_off(item);
	if (!strcmp(name, "leave"))
		return put_sched(item, SWITCH, record->tid, item->other, record->ts);
	if (!strcmp(name, "come"))
		return put_sched(item, SWITCH, item->other, record->tid, record->ts);
	if (!strcmp(name, "wake"))
		return put_sched(item, WAKEUP, 99, record->tid, record->ts);
	if (!strcmp(name, "stack"))
		return put_stack(item, record->ts);
	if (!strcmp(name, "time"))
		return stalls_time(run.stalls, record->ts);
	if (!strcmp(name, "flush"))
		return stalls_flush(run.stalls, record->ts);
	if (!strcmp(name, "pause"))
		return stalls_pause(run.stalls, record->ts);
	if (!strcmp(name, "lost"))
		stalls_lost(run.stalls, record->cpu, record->ts, item->to ? item->to : record->ts);
	else if (!strcmp(name, "lostall"))
		stalls_lost(run.stalls, -1, record->ts, record->ts);
	else if (!strcmp(name, "stop"))
		stalls_sched_stop(run.stalls);
	else
		fail_msg("no such item: %s", name);
	return 0;
}

static const char *word_of(const char *text)
{
	static char word[32];

	assert_int_equal(sscanf(text, "%31[a-z]", word), 1);
	return word;
}

static void set_field(struct item *item, const char *name, size_t length, const char *value)
{
	int64_t number = strtoll(value, NULL, 0);

	for (size_t i = 0; i < COUNT(item_fields); i++)
		if (strlen(item_fields[i].name) == length &&
		    !strncmp(item_fields[i].name, name, length)) {
			memcpy((char *)item + item_fields[i].offset, &number, item_fields[i].size);
			return;
		}
	if (!strncmp(name, "by", length))
		item->fields.callback =
			FUNCTIONS + (uint64_t)index_of(role_names, ROLE_COUNT, word_of(value));
	else if (!strncmp(name, "wrote", length))
		item->woken = (uint64_t)number;
	else
		fail_msg("no such field: %s", name);
}

static const char *parse_owner(const char *text, struct record *record)
{
	static const uint8_t flags[] = { RECORD_FLAG_HARDIRQ, RECORD_FLAG_SOFTIRQ,
					 RECORD_FLAG_NMI };
	char *end;

	record->tid = TASK;
	if (text[0] && text[1] == ':' && strchr("hsn", text[0])) {
		record->flags = flags[strchr("hsn", text[0]) - "hsn"];
		return text + 2;
	}
	if (strtol(text, &end, 10) >= 0 && *end == ':') {
		record->tid = (int32_t)strtol(text, NULL, 10);
		return end + 1;
	}
	return text;
}

static int play_item(const char *text)
{
	struct item item = { .state = 0x100, .other = 3 };
	char name[32] = "";
	uint64_t depth = 0;
	char *at;

	text = parse_owner(text, &item.record);
	sscanf(text, "%31[^ ,]", name);
	text += strlen(name);
	item.record.ts = strtoull(text, &at, 10);
	if (*at == '-')
		item.to = strtoull(at + 1, &at, 10);
	if (*at == '@')
		depth = strtoull(at + 1, &at, 10);
	while (*at == ' ') {
		const char *field = ++at;
		size_t length = strcspn(field, "=");

		at += length + 1;
		set_field(&item, field, length, at);
		at += strcspn(at, " ,");
	}
	return put_item(&item, name, depth);
}

/* Returns what the last item returned. No window is held behind it. */
static int play(const char *log)
{
	int ret = 0;

	for (const char *at = log; *at; at += strspn(at, ", ")) {
		ret = play_item(at);
		at += strcspn(at, ",");
	}
	return ret ? ret : stalls_time(run.stalls, 0);
}

__attribute__((format(printf, 1, 2), unused)) static int playf(const char *format, ...)
{
	char log[512];
	va_list arguments;

	va_start(arguments, format);
	assert_true(vsnprintf(log, sizeof(log), format, arguments) < (int)sizeof(log));
	va_end(arguments);
	return play(log);
}

/* ---- runs ---- */

static void start_with(size_t memory, enum shown shown)
{
	stalls_free(run.stalls); /* of the test before */
	clear_notes();
	memset(&run, 0, sizeof(run));
	memcpy(run.plan.events, planned, sizeof(planned));
	run.plan.nr_events = NR_EVENTS;
	run.plan.function_graph = true;
	run.plan.threshold = THRESHOLD;
	run.source = (struct data_source){ .cpus = made_cpus(CPUS), .local_clock = true };
	run.shown = shown;
	run.stalls =
		stalls_new(&run.plan, &run.source, memory, NULL, NULL, got_stall, got_wait, NULL);
	assert_non_null(run.stalls);
}

/* A change of the source or the plan. */
static void start_again(void)
{
	stalls_free(run.stalls);
	run.stalls =
		stalls_new(&run.plan, &run.source, 4 << 20, NULL, NULL, got_stall, got_wait, NULL);
	assert_non_null(run.stalls);
}

static void start(enum shown shown)
{
	start_with(4 << 20, shown);
}

/* Without function_graph: of events only pairs decide. */
__attribute__((unused)) static void start_pairs_only(enum shown shown)
{
	start(shown);
	run.plan.function_graph = false;
	for (int event = RECLAIM_BEGIN; event <= COMPACTION_END; event++)
		run.plan.events[event].rule = RULE_PAIR;
	run.plan.events[INACTIVE].rule = RULE_NEVER;
	start_again();
}

/* The edges of windows are uncertain by 50 us. */
__attribute__((unused)) static void start_foreign_clock(enum shown shown)
{
	start(shown);
	run.source.local_clock = false;
	start_again();
}

static int end_run(void **state)
{
	stalls_free(run.stalls);
	run.stalls = NULL;
	return 0;
}

struct example {
	const char *title;
	const char *log;
	const char *expected;
};

__attribute__((unused)) static void check_examples(void (*begin)(enum shown shown),
						   enum shown shown, const struct example *examples,
						   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		begin(shown);
		assert_int_equal(play(examples[i].log), 0);
		if (strcmp(notes.text, examples[i].expected))
			fail_msg("%s: %s; expected %s", examples[i].title, notes.text,
				 examples[i].expected);
		assert_int_equal(stalls_limited(run.stalls), 0);
	}
}

#define CHECK(begin, shown, ...)                                                                   \
	do {                                                                                       \
		static const struct example examples_[] = { __VA_ARGS__ };                         \
		check_examples(begin, shown, examples_, COUNT(examples_));                         \
	} while (0)

#endif
