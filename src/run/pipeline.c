// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/pipeline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/log.h"
#include "allocfilt/journal/journal.h"
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/run/loop.h"
#include "allocfilt/stall/stalls.h"
#include "allocfilt/tracing/probe.h"
#include "run/selection.h"

#define READ_LIMIT (100 * NS_PER_MS) /* then signals and timers come */
#define READ_TURN  256		     /* records between two looks at the time */

/*
 * The statistics of the present interval. It ends by the trace's own time: a capture gives the same text each
 * time, and an interval is no longer where records are read late. On a running kernel, which may be silent, a
 * mark comes at its end.
 */
struct interval {
	struct summary *summary;    /* NULL: there are no intervals */
	bool begun;		    /* a record has the very time at which it began */
	bool had_events_off;	    /* in it */
	unsigned int lines;	    /* that were printed, of one for each interval */
	struct summary_view before; /* when it began; its time is that of the trace clock */
};

struct pipeline {
	const struct options *options;
	const struct plan *plan;
	const struct data_source *source;
	struct resolver *resolver;
	uint64_t report; /* ns: shorter stalls are not shown */
	struct selection selection;
	int64_t own;		 /* our own thread is not shown; INT64_MAX: it is not known */
	bool off_cpu;		 /* there are events for stalls_sched() */
	bool sched_is_off;	 /* see pipeline_switch_events() */
	bool refaults_are_off;	 /* the same: no wait for I/O can be told from a refault */
	unsigned int events_off; /* the same, how many */
	bool had_events_off;
	bool had_waits;	      /* memory waits; their probes may be lost since */
	uint64_t switched_at; /* ns, CLOCK_REALTIME; 0: nothing, or its mark was read */
	struct decode *decode;
	struct merge *merge;
	struct stalls *stalls;
	struct summary *summary;
	struct units *units; /* NULL: neither metrics nor the journal ask for them */
	struct interval interval;
	struct output *output;
	struct losses *losses;
	struct not_shown not_shown;
	char others[200]; /* that --cgroup or --comm leaves out: " web.service, db.service," */
	struct longest *longest; /* NULL: all are shown */
	struct sched_counts sched;
	/* One of the two is read; the writer gets a copy of each page, unless it is NULL. */
	struct capture *capture;
	struct cpu_buffers *buffers;
	struct capture_writer *writer;
	struct record record; /* that is being passed on */
	uint64_t pages;	      /* that were read */
	bool warned_ragged_end;
	uint64_t next_look; /* ns: see time_passed() */
	uint64_t oldest;    /* ns: of the records passed on in order; 0: none */
	uint64_t newest;
	uint64_t cpu_before; /* ns: CPU time of our process when the run began */
	uint64_t records;    /* records of pages that were read from a running kernel */
	uint64_t *read;	     /* the same of each CPU's buffer, by us and, as we know, by others */
	uint64_t taken;	     /* by others */
	uint64_t waited;     /* see pipeline_waited() */
	uint64_t longest_wait;
	bool takes; /* at the last look */
	uint64_t unread_cpus;
	uint64_t damaged_pages;
	int first_damaged; /* CPU */
	uint64_t bad_formats;
	char first_bad_format[160];
};

/* ---- from stalls to output and summary ---- */

void pipeline_longest(struct pipeline *pipeline, struct longest *longest)
{
	pipeline->longest = longest;
}

static bool is_longest(struct longest *longest, uint64_t ns)
{
	unsigned int place = longest->count;
	uint64_t least = place ? longest->ns[place - 1] : 0;

	if (longest->known)
		return ns > least || (ns == least && longest->equal && longest->equal--);
	if (place < longest->most)
		longest->count++;
	else if (ns <= least)
		return false;
	else
		place--;
	for (; place && longest->ns[place - 1] < ns; place--)
		longest->ns[place] = longest->ns[place - 1];
	longest->ns[place] = ns;
	return false;
}

/* With both filters, with another one, and in an interrupt a name may match that is not shown. */
static void name_other(struct pipeline *pipeline, const struct named_stall *named)
{
	const struct options *options = pipeline->options;
	const char *path = options->cgroup ? named->task_info->cgroup : named->name;
	const char *slash = options->cgroup ? strrchr(path, '/') : NULL;
	size_t used = strlen(pipeline->others);
	char name[TASK_CGROUP_MAX + 4];

	if (!options->cgroup == !options->comm || options->min_order || options->cause || !*path ||
	    task_key_in_interrupt(named->stall->key))
		return;
	snprintf(name, sizeof(name), " %s,", slash && slash[1] ? slash + 1 : path);
	if (used + strlen(name) + strlen(" ...,") >= sizeof(pipeline->others))
		strcpy(name, " ...,");
	if (!strstr(pipeline->others, name))
		strcpy(pipeline->others + used, name);
}

/* From 7.2 on the event that begins reclaim tells whose limit it was. A sleep at memory.high has none. */
static void name_limit(struct named_stall *named, char limit[TASK_CGROUP_MAX])
{
	unsigned int groups = named->stall->phases.groups;
	bool reclaims = !named->on_purpose && groups & 1u << PHASE_MEMCG_RECLAIM;

	named->limit = "";
	if (reclaims && *named->memcg)
		named->limit = named->memcg;
	else if (reclaims || groups & 1u << PHASE_MEMORY_HIGH)
		named->limit = cgroups_limit(resolver_cgroups(named->resolver),
					     named->task_info->cgroup, named->stall->end, limit);
}

static void note_wait(struct pipeline *pipeline, uint64_t ns)
{
	pipeline->waited += ns;
	pipeline->longest_wait = MAX(pipeline->longest_wait, ns);
}

static int show_stall(void *context, const struct stall *stall)
{
	struct pipeline *pipeline = context;
	struct resolver *resolver = pipeline->resolver;
	struct stall_window window = { .entry = NULL };
	struct named_stall named;
	char asked_by[ASKED_BY_MAX], limit[TASK_CGROUP_MAX];

	if (!selection_has_time(&pipeline->selection, stall->start))
		return 0;
	while (stall_next_window(stall, &window))
		summary_window(pipeline->summary, &window);
	if (!plan_has_waits(pipeline->plan))
		note_wait(pipeline, stall->end - stall->start);
	/* Most stalls are short where short functions are timed for the inside of long ones. */
	if (stall->end - stall->start < pipeline->report) {
		pipeline->not_shown.shorter++;
		return 0;
	}
	named.stall = stall;
	named.task_info = resolver_task(resolver, stall->tid, stall->end);
	named.name = resolver_task_name(resolver, stall->tid, stall->end);
	named.memcg = cgroups_path(resolver_cgroups(resolver), stall->memcg_id);
	named.asked_by = resolver_asked_by(resolver, stall->stack, asked_by);
	named.resolver = resolver;
	named.function = NULL;
	selection_set_background(&pipeline->selection, &named);
	name_limit(&named, limit);
	if (!selection_has_stall(&pipeline->selection, &named)) {
		pipeline->not_shown.others++;
		name_other(pipeline, &named);
		return 0;
	}
	summary_stall(pipeline->summary, &named);
	if (pipeline->units && !named.background)
		units_stall(pipeline->units, &named);
	if (pipeline->interval.summary)
		summary_stall(pipeline->interval.summary, &named);
	if (pipeline->longest &&
	    (named.background || !is_longest(pipeline->longest, stall->end - stall->start)))
		return 0;
	return output_stall(pipeline->output, &named);
}

/*
 * Does a wait whose end was not recorded go on? The kernel averages PSI over CPUs, and may add up to two
 * seconds later: kernel/sched/psi.c. Nobody knows what a task of a capture did then.
 */
static bool goes_on(const struct pipeline *pipeline, const struct named_stall *named,
		    const struct memory_wait *wait)
{
	const struct data_source *source = pipeline->source;
	const struct memory_pressure *before = &source->pressure_before,
				     *after = &source->pressure_after;
	uint64_t psi = UINT64_MAX, ns = wait->end - wait->start;

	if (!cgroups_pressure(resolver_cgroups(pipeline->resolver), named->task_info->cgroup,
			      &psi) &&
	    before->known && after->known)
		psi = (after->some - before->some) * 1000;
	/* PSI does not count a wait for a kill. */
	if (wait->role != ROLE_OOM_KILLER && ns > 2 * NS_PER_SECOND &&
	    psi < (ns - 2 * NS_PER_SECOND) / (uint64_t)source->cpus.count)
		return false;
	return !source->proc || !kill(wait->tid, 0) || errno != ESRCH;
}

/* A long wait is a stall, or a part of one. */
static void count_wait(void *context, const struct memory_wait *wait)
{
	struct pipeline *pipeline = context;
	struct resolver *resolver = pipeline->resolver;
	const struct stall stall = {
		.key = wait->key,
		.order = -1,
		.gfp_names = "",
		.start = wait->start,
		.end = wait->end,
		.waited = true,
		.phases.groups = 1u << catalog_roles[wait->role].group,
	};
	char limit[TASK_CGROUP_MAX];
	struct named_stall named = {
		.stall = &stall,
		.task_info = resolver_task(resolver, wait->tid, wait->end),
		.name = wait->name ? wait->name :
				     resolver_task_name(resolver, wait->tid, wait->end),
		.memcg = "",
		.resolver = resolver,
	};
	uint64_t least = pipeline->report ? pipeline->report : pipeline->plan->threshold;
	bool is_long = wait->end - wait->start >= least;

	selection_set_background(&pipeline->selection, &named);
	if (!named.background && !wait->in_progress && wait->role != ROLE_IO)
		note_wait(pipeline, wait->end - wait->start);
	name_limit(&named, limit);
	/* It has no cause, as it has no order. Kills are told of all tasks. */
	if (!selection_has_time(&pipeline->selection, wait->start) ||
	    ((wait->role != ROLE_OOM_KILLER || wait->in_progress) &&
	     (pipeline->options->cause || !selection_has_stall(&pipeline->selection, &named))) ||
	    (wait->in_progress && !goes_on(pipeline, &named, wait)) ||
	    (wait->role == ROLE_IO && pipeline->refaults_are_off))
		return;
	pipeline->had_waits |= wait->role != ROLE_OOM_KILLER && wait->role != ROLE_IO;
	summary_wait(pipeline->summary, &named, wait, is_long);
	if (pipeline->units && !named.background && !wait->in_progress)
		units_wait(pipeline->units, &named, wait, is_long);
	if (pipeline->interval.summary)
		summary_wait(pipeline->interval.summary, &named, wait, is_long);
}

/* @record: with its fields. Older kernels tell the number alone: include/trace/events/oom.h. */
static void count_victim(struct pipeline *pipeline, const struct record *record)
{
	char name[TASK_COMM_MAX];
	bool has_name = resolver_event(pipeline->resolver, record, "comm", name, sizeof(name));

	count_wait(pipeline, &(struct memory_wait){ .key = { record->sched.tid, OWNER_TASK },
						    .tid = record->sched.tid,
						    .name = has_name ? name : NULL,
						    .start = record->ts,
						    .end = record->ts,
						    .role = ROLE_OOM_KILLER });
}

static void count_slab_pair(struct pipeline *pipeline, const struct record *end, uint64_t ns)
{
	struct shrinker_names *names = resolver_superblocks(pipeline->resolver);
	int superblock = shrinker_names_superblock(names, end);

	if (!selection_has_time(&pipeline->selection, end->ts - ns))
		return;
	summary_shrinker(pipeline->summary, end->fields.callback, superblock, ns);
	if (pipeline->interval.summary)
		summary_shrinker(pipeline->interval.summary, end->fields.callback, superblock, ns);
}

/* ---- totals ---- */

/*
 * Limits that a user can raise (limit-memory, open files), and tables whose overflow
 * makes the output incomplete.
 */
static void count_overflows(struct pipeline *pipeline, struct summary_view *view)
{
	const struct stacks *stacks = resolver_stacks(pipeline->resolver);
	struct shrinker_names *names = resolver_superblocks(pipeline->resolver);
	const struct overflow overflows[SUMMARY_OVERFLOWS] = {
		{ "cpus", "CPU{s were| was} not read: too few open files", pipeline->unread_cpus },
		{ "names", "time{s} a task or cgroup may have lost its name (limit-memory)",
		  resolver_missed(pipeline->resolver) },
		{ "stalls",
		  "stall{s} or run{s} of shrinkers {lack|lacks} records or names (limit-memory)",
		  stalls_limited(pipeline->stalls) },
		{ "stacks", "event{s lack| lacks} {their|its} kernel stack",
		  stacks ? stacks_missed(stacks) : 0 },
		{ "superblocks", "file system{s} made room for later ones in the summary",
		  shrinker_names_overflow(names) },
		{ "units",
		  "stall{s} or memory wait{s count| counts} for the unit \"other\" (metrics-cgroups)",
		  pipeline->units ? units_refused(pipeline->units) : 0 },
		{ "taken",
		  pipeline->capture ?
			  "lost record{s were| was} read in the recording, and {are|is} not in its data" :
			  "lost record{s were| was} taken by another reader of the buffer",
		  pipeline->taken },
		{ "summary", "time{s} the summary left out what took least time",
		  summary_overflow(view->summary) +
			  (pipeline->units ? units_overflow(pipeline->units) : 0) },
	};

	memcpy(view->overflows, overflows, sizeof(overflows));
	view->nr_overflows = SUMMARY_OVERFLOWS;
}

/* The view of the run so far, with the summary of the run or of an interval. */
static void view_summary(struct pipeline *pipeline, struct summary *summary,
			 struct summary_view *view)
{
	uint64_t began, ended;

	*view = (struct summary_view){
		.options = pipeline->options,
		.plan = pipeline->plan,
		.source = pipeline->source,
		.resolver = pipeline->resolver,
		.summary = summary,
		.units = pipeline->units,
		.shrinker_names = resolver_superblocks(pipeline->resolver),
		.losses = pipeline->losses,
		.cpus = pipeline->source->cpus,
		.form = pipeline->options->summary,
		.top = pipeline->options->top,
		.pids = selection_pids(&pipeline->selection),
		.report = pipeline->report ? pipeline->report : pipeline->plan->threshold,
		.not_shown = pipeline->not_shown,
		.since = pipeline->oldest,
		.ts = pipeline->newest,
		.pressure_before = pipeline->source->pressure_before,
		.pressure_after = pipeline->source->pressure_after,
		.has_waits = (plan_has_waits(pipeline->plan) || pipeline->had_waits) &&
			     !pipeline->options->min_order && !pipeline->options->cause,
		.has_sched = plan_off_cpu(pipeline->plan),
		.sched = pipeline->sched,
	};
	began = resolver_realtime(pipeline->resolver, view->since);
	if (pipeline->selection.from > began)
		view->since = MIN(view->ts, view->since + pipeline->selection.from - began);
	ended = resolver_realtime(pipeline->resolver, view->ts);
	if (pipeline->selection.to && pipeline->selection.to < ended)
		view->ts = MAX(view->since, view->ts - (ended - pipeline->selection.to));
	view->is_part = pipeline->selection.from || pipeline->selection.to;
	view->lost = losses_total(pipeline->losses, &view->lost_times);
	count_overflows(pipeline, view);
	if (pipeline->source->proc)
		view->cost = (struct own_cost){
			.cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pipeline->cpu_before,
			.records = pipeline->records,
			.events_off = pipeline->events_off,
			.had_events_off = pipeline->had_events_off,
		};
	view->has_journal = output_counts(pipeline->output, &view->journal);
}

void pipeline_view(struct pipeline *pipeline, struct summary_view *view)
{
	view_summary(pipeline, pipeline->summary, view);
}

/* ---- intervals ---- */

static void begin_interval(struct pipeline *pipeline, uint64_t ts)
{
	struct interval *interval = &pipeline->interval;

	interval->begun = false;
	summary_reset(interval->summary);
	view_summary(pipeline, interval->summary, &interval->before);
	interval->before.ts = ts;
	interval->had_events_off = pipeline->events_off;
}

/* Ends the interval at a time and begins the next one. */
static int show_interval(struct pipeline *pipeline, uint64_t ts)
{
	struct summary_view view;
	int ret;

	view_summary(pipeline, pipeline->interval.summary, &view);
	summary_view_since(&view, &pipeline->interval.before);
	view.form = SUMMARY_SHORT;
	view.is_interval = view.is_part = true;
	view.ts = ts;
	view.cost.had_events_off = pipeline->interval.had_events_off;
	if (options_on_command_line(pipeline->options, "summary") &&
	    pipeline->options->summary == SUMMARY_SHORT)
		ret = summary_text(pipeline->output->setup.writer, &view);
	else
		ret = summary_line(pipeline->output->setup.writer, &view,
				   &pipeline->interval.lines);
	begin_interval(pipeline, ts);
	return ret;
}

/* A record is of a later interval. One line stands for a time without records. */
static int end_intervals(struct pipeline *pipeline, uint64_t ts)
{
	const struct interval *interval = &pipeline->interval;
	uint64_t length = pipeline->options->interval;
	int ret = show_interval(pipeline, interval->before.ts + length);

	if (ret || ts - interval->before.ts < length)
		return ret;
	return show_interval(pipeline, ts - (ts - interval->before.ts) % length);
}

/* ---- from pages to records in order ---- */

/* A scheduler's event that nobody asked for with -e is not shown. */
static bool is_only_sched(const struct pipeline *pipeline, const struct record *record)
{
	return record->kind == RECORD_EVENT &&
	       pipeline->plan->events[record->event].rule == RULE_OFF_CPU;
}

static bool is_sched(const struct pipeline *pipeline, const struct record *record)
{
	int id = pipeline->plan->events[record->event].id;

	return id == EVENT_SCHED_SWITCH || id == EVENT_SCHED_WAKEUP;
}

/* Four times a second of trace time: intervals, and stalls of silent tasks. */
static int time_passed(struct pipeline *pipeline, uint64_t ts)
{
	struct interval *interval = &pipeline->interval;
	uint64_t length = pipeline->options->interval, wait = NS_PER_SECOND / 4;
	bool ends = interval->summary;
	int ret = stalls_time(pipeline->stalls, ts);

	if (!pipeline->oldest && interval->summary)
		begin_interval(pipeline, ts);
	/* A stall may end before the first mark, which is written as soon as tracing is on. */
	if (!pipeline->oldest && pipeline->source->proc && pipeline->source->started)
		resolver_mark_clock(pipeline->resolver, ts, pipeline->source->started);
	if (!pipeline->oldest && pipeline->source->date)
		resolver_mark_clock(pipeline->resolver, ts, ts + pipeline->source->date);
	if (!pipeline->oldest)
		pipeline->oldest = ts;
	if (!ret && ends && ts - interval->before.ts >= length)
		ret = end_intervals(pipeline, ts);
	interval->begun |= ts == interval->before.ts;
	if (ends && length - (ts - interval->before.ts) < wait)
		wait = length - (ts - interval->before.ts);
	pipeline->next_look = ts + wait;
	return ret;
}

static noinline void learn_record(struct pipeline *pipeline, enum event_id id,
				  struct record *record)
{
	decode_fields(pipeline->decode, record);
	resolver_learn(pipeline->resolver, id, record);
	if (id == EVENT_OOM_VICTIM)
		count_victim(pipeline, record);
}

static inline int event_record(struct pipeline *pipeline, struct record *record)
{
	enum event_id id = pipeline->plan->events[record->event].id;
	uint64_t ns = UINT64_MAX;
	int ret = 0;

	if (id == EVENT_FORK || id == EVENT_MEMCG_RECLAIM_BEGIN || id == EVENT_OOM_VICTIM)
		learn_record(pipeline, id, record);
	if (!pipeline->selection.any || selection_has_record(&pipeline->selection, record))
		ret = stalls_event(pipeline->stalls, record, &ns);
	if (pipeline->off_cpu)
		stalls_work(pipeline->stalls, record);
	if (ns != UINT64_MAX)
		count_slab_pair(pipeline, record, ns);
	return ret;
}

/* A record that is neither a window nor an event. */
static noinline int special_record(struct pipeline *pipeline, struct record *record)
{
	switch (record->kind) {
	case RECORD_LOST:
		pipeline->selection.lost = true;
		if (selection_has_time(&pipeline->selection, record->ts))
			losses_add(pipeline->losses, record->cpu, record->lost);
		stalls_lost(pipeline->stalls, record->cpu, record->ts, record->lost_until);
		return 0;
	case RECORD_SUPERBLOCK:
		shrinker_names_see(resolver_superblocks(pipeline->resolver), record);
		return 0;
	case RECORD_CLOCK:
		resolver_mark_clock(pipeline->resolver, record->ts, record->realtime);
		/* Stalls in progress may lack events up to the first mark that is surely later. */
		if (pipeline->switched_at)
			stalls_lost(pipeline->stalls, -1, pipeline->oldest, record->ts);
		if (record->realtime >= pipeline->switched_at)
			pipeline->switched_at = 0;
		return 0;
	case RECORD_STACK:
		return stalls_stack(pipeline->stalls, record);
	default:
		return 0;
	}
}

/* A switch or a wake-up is about another task as well as its own. */
static noinline int sched_record(struct pipeline *pipeline, struct record *record)
{
	const struct selection *selection = &pipeline->selection;
	int id = pipeline->plan->events[record->event].id, ret = 0;

	decode_fields(pipeline->decode, record);
	if (!pipeline->sched_is_off && selection_has_time(selection, record->ts)) {
		pipeline->sched.switches += id == EVENT_SCHED_SWITCH;
		pipeline->sched.wakeups += id == EVENT_SCHED_WAKEUP;
	}
	/* Where the kernel records some tasks alone, nobody knows who runs after these. */
	if (pipeline->source->command || pipeline->source->recorded ||
	    (selection->by_pid && pipeline->source->proc))
		record->sched.name = 0;
	if (!pipeline->sched_is_off)
		ret = stalls_sched(pipeline->stalls, record);
	if (ret || is_only_sched(pipeline, record) || record->tid == pipeline->own)
		return ret;
	return event_record(pipeline, record);
}

static int record_in_order(struct pipeline *pipeline, struct record *record)
{
	if (record->ts > pipeline->newest)
		pipeline->newest = record->ts;
	if (record->kind > RECORD_EVENT)
		return special_record(pipeline, record);
	if (pipeline->off_cpu && record->kind == RECORD_EVENT && is_sched(pipeline, record))
		return sched_record(pipeline, record);
	/* Our own task is not shown, but the OOM killer that it calls takes others. */
	if (record->tid == pipeline->own &&
	    (record->kind != RECORD_EVENT ||
	     pipeline->plan->events[record->event].id != EVENT_OOM_VICTIM))
		return 0;
	if (record->kind == RECORD_EVENT)
		return event_record(pipeline, record);
	/* A capture may have more than function-graph = no reads. */
	if (!pipeline->plan->function_graph ||
	    (pipeline->selection.any && !selection_has_record(&pipeline->selection, record)))
		return 0;
	return stalls_window(pipeline->stalls, record);
}

/*
 * Counts the records of a running kernel. A task may end before its records are passed on, so it is
 * looked up here. A mark in the first page of a CPU is the time of the stalls before it, too.
 */
static void see_records(struct pipeline *pipeline, const struct page_content *content)
{
	struct page_cursor cursor;
	struct record record;
	int tid = -1; /* of the record before */

	page_begin(&cursor, &pipeline->source->layout, content->data, content->size, content->ts);
	while (page_next(&cursor) > 0) {
		pipeline->records++;
		if (!decode_task(pipeline->decode, cursor.ts, cursor.data, cursor.size, &record))
			continue;
		if (record.kind == RECORD_CLOCK && !pipeline->newest)
			resolver_mark_clock(pipeline->resolver, record.ts, record.realtime);
		/* Most tasks that are switched have no stall. */
		if (!pipeline->buffers || record.kind > RECORD_EVENT || record.tid == tid ||
		    is_only_sched(pipeline, &record))
			continue;
		resolver_see(pipeline->resolver, &record);
		tid = record.tid;
	}
}

/* A copy of a live buffer may end in a cut page or in zeros, and so may the data after a power cut. */
static bool is_ragged_end(struct pipeline *pipeline, int cpu, enum page_state state, bool last)
{
	if (!last || (state != PAGE_CUT && state != PAGE_ZEROS))
		return false;
	if (!pipeline->warned_ragged_end)
		log_warning("%s: the data of CPU %d ends in %s, which is ignored",
			    pipeline->source->dir, cpu,
			    state == PAGE_CUT ? "a page that is cut" : "zeros");
	pipeline->warned_ragged_end = true;
	return true;
}

/* Returns 1, 0 if there is no page now, or -errno of the writer. */
static int read_raw_page(struct pipeline *pipeline, int place, struct capture_page *page)
{
	int ret;

	if (pipeline->capture)
		return capture_read(pipeline->capture, place, page);
	*page = (struct capture_page){ .next_ts = UINT64_MAX };
	page->length = cpu_buffers_read(pipeline->buffers, place, &page->data);
	if (!page->length || !pipeline->writer)
		return page->length > 0;
	ret = capture_add_page(pipeline->writer, pipeline->source->cpus.numbers[place], page->data,
			       page->length);
	return ret ? ret : 1;
}

/* The source of the merge. */
static int read_page(void *context, int place, uint64_t *newest, struct page_content *content)
{
	struct pipeline *pipeline = context;
	int cpu = pipeline->source->cpus.numbers[place];
	struct capture_page page;
	enum page_state state;
	int ret = read_raw_page(pipeline, place, &page);

	if (ret <= 0)
		return ret;
	pipeline->pages++;
	state = page_check(&pipeline->source->layout, page.data, page.length, content);
	if (state <= PAGE_EMPTY && page_in_order(content, page.next_ts, newest)) {
		if (pipeline->buffers || !pipeline->newest)
			see_records(pipeline, content);
		pipeline->read[place] += content->nr;
		return 1;
	}
	if (is_ragged_end(pipeline, cpu, state, page.last))
		return 0;
	if (!pipeline->damaged_pages++)
		pipeline->first_damaged = cpu;
	*content = (struct page_content){ .ts = page.next_ts, .lost = RECORD_LOST_UNKNOWN };
	return 1;
}

void pipeline_read_capture(struct pipeline *pipeline, struct capture *capture)
{
	pipeline->capture = capture;
}

void pipeline_read_buffers(struct pipeline *pipeline, struct cpu_buffers *buffers,
			   struct capture_writer *writer)
{
	merge_reset(pipeline->merge);
	memset(pipeline->read, 0, (size_t)pipeline->source->cpus.count * sizeof(*pipeline->read));
	pipeline->buffers = buffers;
	pipeline->writer = writer;
}

/*
 * Another reader of our buffers takes records for good, which no page tells, but the kernel counts. As they
 * are of all CPUs, each look is at 16 of them, or at all. What is read after a look is later than they. A
 * capture has the count of its recording, and is looked at after its end.
 */
static void look_for_taken(struct pipeline *pipeline, int step)
{
	const struct cpu_list *cpus = &pipeline->source->cpus;
	uint64_t before = pipeline->taken;

	for (int i = (int)(pipeline->pages % (unsigned int)step); i < cpus->count; i += step) {
		uint64_t count = pipeline->capture ?
					 capture_counts(pipeline->capture, i)->read :
					 cpu_buffers_records(pipeline->buffers, i, CPU_READ);

		if (count <= pipeline->read[i])
			continue;
		losses_add(pipeline->losses, cpus->numbers[i],
			   (int64_t)(count - pipeline->read[i]));
		losses_taken(pipeline->losses);
		pipeline->taken += count - pipeline->read[i];
		pipeline->read[i] = count;
	}
	if (pipeline->taken > before || pipeline->takes)
		stalls_lost(pipeline->stalls, -1, 0,
			    pipeline->taken > before ? UINT64_MAX : pipeline->newest);
	pipeline->takes = pipeline->taken > before;
}

int pipeline_read(struct pipeline *pipeline)
{
	struct raw_record raw;
	int ret = 0;

	for (int i = 0; i < READ_TURN; i++) {
		ret = merge_next(pipeline->merge, &raw);
		if (!ret && pipeline->capture && !pipeline->damaged_pages &&
		    !pipeline->warned_ragged_end)
			look_for_taken(pipeline, 1);
		if (ret <= 0)
			return ret;
		if (!decode_record(pipeline->decode, &raw, &pipeline->record))
			continue;
		ret = 0;
		/* A loss has the time of the record before it. */
		if (pipeline->record.ts >= pipeline->next_look &&
		    pipeline->record.kind != RECORD_LOST)
			ret = time_passed(pipeline, pipeline->record.ts);
		if (!ret)
			ret = record_in_order(pipeline, &pipeline->record);
		if (ret)
			return ret;
	}
	return 1;
}

int pipeline_read_all(struct pipeline *pipeline)
{
	uint64_t start = loop_now(), before = pipeline->pages;
	int more;

	look_for_taken(pipeline, 1 + pipeline->source->cpus.count / 17);
	do {
		more = pipeline_read(pipeline);
	} while (more > 0 && loop_now() - start < READ_LIMIT);
	if (!more)
		more = stalls_time(pipeline->stalls, 0);
	return more < 0 ? more : (int)(pipeline->pages - before) + more;
}

int pipeline_quiet(struct pipeline *pipeline, uint64_t ns)
{
	return pipeline->newest ? stalls_time(pipeline->stalls, pipeline->newest + ns) : 0;
}

int pipeline_flush(struct pipeline *pipeline)
{
	const struct interval *interval = &pipeline->interval;
	int ret;

	if (pipeline->buffers)
		look_for_taken(pipeline, 1);
	/* No mark tells when events were switched off. */
	if (pipeline->switched_at)
		stalls_lost(pipeline->stalls, -1, 0, UINT64_MAX);
	ret = stalls_flush(pipeline->stalls, pipeline->newest);
	if (ret || !interval->summary ||
	    (pipeline->newest <= interval->before.ts && !interval->begun))
		return ret;
	return show_interval(pipeline, pipeline->newest);
}

int pipeline_pause(struct pipeline *pipeline)
{
	look_for_taken(pipeline, 1);
	pipeline->events_off = 0;
	pipeline->sched_is_off = pipeline->refaults_are_off = false;
	pipeline->switched_at = 0;
	return stalls_pause(pipeline->stalls, pipeline->newest);
}

uint64_t pipeline_waited(struct pipeline *pipeline, uint64_t *ret_longest)
{
	uint64_t waited = pipeline->waited;

	*ret_longest = pipeline->longest_wait;
	pipeline->waited = pipeline->longest_wait = 0;
	return waited;
}

/* ---- set-up ---- */

static int add_formats(struct pipeline *pipeline, struct failure *failure)
{
	struct decode *decode = pipeline->decode;
	int ret;

	for (int i = 0; i < pipeline->plan->nr_events; i++) {
		const struct plan_event *event = &pipeline->plan->events[i];

		/* The session makes these probes later. */
		if (plan_is_probe(event) && pipeline->source->proc)
			continue;
		ret = decode_read_format(decode, i, event->id, event->system, event->name);
		if (ret == -ENOMEM)
			return failure_no_memory(failure);
		if (ret && !pipeline->bad_formats++)
			snprintf(pipeline->first_bad_format, sizeof(pipeline->first_bad_format),
				 "events/%s/%s/format", event->system, event->name);
	}
	decode_read_format(decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	pipeline_read_probes(pipeline);
	decode_read_format(decode, DECODE_STACK, EVENT_USER, "ftrace", "kernel_stack");
	ret = decode_read_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
				 "funcgraph_exit");
	if (ret && pipeline->plan->function_graph)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/events/ftrace/funcgraph_exit/format: %m",
				   pipeline->source->dir);
	return 0;
}

void pipeline_read_probes(struct pipeline *pipeline)
{
	const struct plan *plan = pipeline->plan;

	decode_read_format(pipeline->decode, DECODE_SUPERBLOCK, EVENT_USER, PROBE_SYSTEM,
			   PROBE_NAME);
	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!plan_is_probe(event))
			continue;
		decode_read_format(pipeline->decode, i, event->id, event->system, event->name);
		resolver_read_event(pipeline->resolver, i, event);
	}
}

static bool make_record_stages(struct pipeline *pipeline)
{
	const struct data_source *source = pipeline->source;
	const struct page_source pages = { read_page, pipeline, source->proc };

	pipeline->losses = losses_new(&source->cpus);
	pipeline->decode = decode_new(source);
	pipeline->merge = merge_new(&source->cpus, &source->layout, &pages);
	pipeline->read = calloc((size_t)source->cpus.count, sizeof(*pipeline->read));
	return pipeline->losses && pipeline->decode && pipeline->merge && pipeline->read;
}

static bool make_stall_stages(struct pipeline *pipeline, struct writer *writer,
			      const struct output_form *form)
{
	const struct output_form journal = { .ops = &journal_form };
	const struct options *options = pipeline->options;
	size_t memory = config_limit_memory(options, pipeline->source->bytes);
	size_t limit = options->limit_memory;
	const struct output_setup output = {
		.options = options,
		.plan = pipeline->plan,
		.source = pipeline->source,
		.pids = selection_pids(&pipeline->selection),
		.resolver = pipeline->resolver,
		.writer = writer,
		.form = form		 ? form :
			options->journal ? &journal :
					   NULL,
	};

	pipeline->output = output_new(&output);
	/* A replay's share may be refused: by ulimit -v, or where nothing is overcommitted. */
	for (; !pipeline->stalls && memory; memory = memory > limit ? limit : 0)
		pipeline->stalls =
			stalls_new(pipeline->plan, pipeline->source, memory, pipeline->decode,
				   pipeline->resolver, show_stall, count_wait, pipeline);
	pipeline->summary = summary_new();
	if (!pipeline->stalls || !pipeline->summary || !pipeline->output)
		return false;
	if (options->metrics || options->journal)
		pipeline->units = units_new(options->metrics_cgroups);
	if ((options->metrics || options->journal) && !pipeline->units)
		return false;
	if (!output_has_intervals(pipeline->output))
		return true;
	pipeline->interval.summary = summary_new();
	return pipeline->interval.summary;
}

int pipeline_new(struct pipeline **ret_pipeline, const struct options *options,
		 const struct plan *plan, const struct data_source *source, struct writer *writer,
		 const struct output_form *form, struct failure *failure)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int ret;

	if (!pipeline)
		return failure_no_memory(failure);
	pipeline->options = options;
	pipeline->plan = plan;
	pipeline->source = source;
	pipeline->report = config_report(options, !source->proc);
	pipeline->cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	pipeline->off_cpu = plan_off_cpu(plan);
	pipeline->own = source->own ? source->own : INT64_MAX;
	ret = selection_init(&pipeline->selection, options, plan, source, failure);
	if (!ret)
		ret = resolver_new(&pipeline->resolver, plan, source, options, failure);
	if (!ret) {
		pipeline->selection.resolver = pipeline->resolver;
		if (make_record_stages(pipeline) && make_stall_stages(pipeline, writer, form))
			ret = add_formats(pipeline, failure);
		else
			ret = failure_no_memory(failure);
	}
	if (ret)
		pipeline_free(pipeline);
	else
		*ret_pipeline = pipeline;
	return ret;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	output_free(pipeline->output);
	summary_free(pipeline->summary);
	units_free(pipeline->units);
	summary_free(pipeline->interval.summary);
	stalls_free(pipeline->stalls);
	merge_free(pipeline->merge);
	decode_free(pipeline->decode);
	losses_free(pipeline->losses);
	free(pipeline->read);
	selection_destroy(&pipeline->selection);
	resolver_free(pipeline->resolver);
	free(pipeline);
}

struct resolver *pipeline_resolver(struct pipeline *pipeline)
{
	return pipeline->resolver;
}

void pipeline_count_unread(struct pipeline *pipeline, unsigned int cpus)
{
	pipeline->unread_cpus = MAX(pipeline->unread_cpus, cpus);
}

void pipeline_lose_events(struct pipeline *pipeline)
{
	pipeline->switched_at = clock_ns(CLOCK_REALTIME);
}

void pipeline_switch_events(struct pipeline *pipeline, const bool *off)
{
	const struct plan *plan = pipeline->plan;

	pipeline->events_off = 0;
	pipeline->sched_is_off = pipeline->refaults_are_off = false;
	for (int i = 0; i < plan->nr_events; i++) {
		pipeline->events_off += off[i];
		pipeline->sched_is_off |= off[i] && plan->events[i].id == EVENT_SCHED_SWITCH;
		pipeline->refaults_are_off |= off[i] && plan->events[i].id == EVENT_REFAULT;
	}
	pipeline->had_events_off |= pipeline->events_off > 0;
	pipeline->interval.had_events_off |= pipeline->events_off > 0;
	if (pipeline->sched_is_off)
		stalls_sched_stop(pipeline->stalls);
	pipeline_lose_events(pipeline);
}

struct losses *pipeline_losses(struct pipeline *pipeline)
{
	return pipeline->losses;
}

struct output *pipeline_output(struct pipeline *pipeline)
{
	return pipeline->output;
}

/* ---- at the end ---- */

void pipeline_log_end(struct pipeline *pipeline)
{
	const struct options *options = pipeline->options;
	bool live = pipeline->source->proc;
	char counted[TEXT_COUNTED_MAX];
	struct summary_view view;

	pipeline_view(pipeline, &view);
	for (size_t i = 0; i < view.nr_overflows; i++)
		if (view.overflows[i].count && strcmp(view.overflows[i].key, "taken"))
			log_warning("a limit was reached: %s",
				    text_counted(counted, view.overflows[i].count,
						 view.overflows[i].text));
	if (view.journal.dropped)
		log_warning("the journal rejected %s, dropped",
			    text_counted(counted, view.journal.dropped, "entr{ies|y}"));
	if (*pipeline->others && !summary_stalls(view.summary, STALLS_WAITING)->latency.count &&
	    !summary_stalls(view.summary, STALLS_BACKGROUND)->latency.count)
		log_notice("no %s that waited matches '%.64s'; there are:%.*s",
			   options->cgroup ? "cgroup" : "task",
			   options->cgroup ? options->cgroup : options->comm,
			   (int)strlen(pipeline->others) - 1, pipeline->others);
	losses_report_all(pipeline->losses, live);
	/* A replay has it in its failure. */
	if (live)
		pipeline_log_flaws(pipeline);
	/* A run on a kernel has logged this at the start. */
	if (!live && shrinker_names_unavailable(view.shrinker_names))
		log_notice(
			"file systems are shown by address: the capture does not have their names");
}

uint64_t pipeline_flaws(const struct pipeline *pipeline, struct line *text)
{
	int type = 0;
	/* In a kernel's buffer others may switch on what they like. */
	bool live = pipeline->source->proc;
	uint64_t unknown = live ? 0 : decode_unknown(pipeline->decode, &type);
	uint64_t damaged = decode_damaged(pipeline->decode);

	line_clear(text);
	line_add_counted(text, "", pipeline->damaged_pages, "damaged page{s}");
	if (pipeline->damaged_pages)
		line_add(text,
			 " (the first of CPU %d, %zu bytes by header_page) skipped and counted as "
			 "lost",
			 pipeline->first_damaged, pipeline->source->layout.size);
	if (pipeline->bad_formats)
		line_add(text, "%s%s%s cannot be read", text->used ? ", " : "",
			 pipeline->first_bad_format,
			 pipeline->bad_formats > 1 ? " and other formats" : "");
	line_add_counted(text, text->used ? ", " : "", unknown,
			 "record{s} of a type without a format");
	if (unknown)
		line_add(text, " (the first: %d)", type);
	line_add_counted(text, text->used ? ", " : "", damaged,
			 "record{s} shorter than {their|its} format or with impossible times");
	return pipeline->damaged_pages + pipeline->bad_formats + unknown + damaged;
}

void pipeline_log_flaws(const struct pipeline *pipeline)
{
	struct line text;

	if (pipeline_flaws(pipeline, &text))
		log_warning("%s: %s; what could be read is shown", pipeline->source->dir,
			    text.text);
}
