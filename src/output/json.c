// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/names/shrinkers.h"
#include "allocfilt/output/facts.h"
#include "output/json.h"

/*
 * The form `json`: one object per line, first of the run, then of each stall, last the summary. A member
 * that is not known is left out, and in a stall one that says nothing: etc/allocfilt.schema.json has the
 * meaning of each.
 */

static void json_time(struct json *json, struct resolver *resolver, uint64_t ts)
{
	uint64_t realtime = resolver_realtime(resolver, ts);
	char text[TEXT_TIME_MAX];

	json_string(json, "time", text_time(text, realtime, false) ? text : NULL);
	json_number(json, "ts_ns", ts);
}

static void json_symbol(struct json *json, const char *key, struct resolver *resolver,
			uint64_t address)
{
	char name[STALL_FUNCTION_MAX];

	resolver_symbol(resolver, address, 's', name, sizeof(name));
	json_string(json, key, name);
}

static void json_some_ns(struct json *json, const char *key, uint64_t ns)
{
	char name[JSON_KEY_MAX];

	if (!ns)
		return;
	stpcpy(stpcpy(name, key), "_ns");
	json_number(json, name, ns);
}

static void json_phases(struct json *json, const struct phases *phases)
{
	json_open(json, "phases", '{');
	PHASES_FOREACH(group, phases) {
		uint64_t total = phases_group(phases, group);

		if (!total)
			continue;
		json_open(json, phase_group_names[group].key, '{');
		json_number(json, "total_ns", total);
		for (int part = 0; phases_is_reclaim(group) && part < PHASE_PARTS; part++)
			json_some_ns(json, phase_part_names[part].key,
				     phases_part(phases, group, part));
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void json_place(struct json *json, enum phase_group group, enum phase_part part)
{
	json_string(json, "phase", phase_group_names[group].key);
	if (phases_is_reclaim(group))
		json_string(json, "part", phase_part_names[part].key);
}

/* The task ran for the rest of a phase, part or shrinker. */
static void json_states(struct json *json, const uint64_t ns[PHASE_STATES])
{
	for (int state = STATE_RUNNING + 1; state < STATE_UNKNOWN; state++)
		json_some_ns(json, phase_state_names[state].key, ns[state]);
}

static void json_off_cpu(struct json *json, const struct stall *stall)
{
	json_open(json, "off_cpu", '[');
	PHASES_FOREACH(group, &stall->phases) {
		for (int part = 0; part < phases_parts(group); part++) {
			const uint64_t *ns = stall->phases.ns[group][part];

			if (phases_part(&stall->phases, group, part) == ns[STATE_RUNNING])
				continue;
			json_open(json, NULL, '{');
			json_place(json, group, part);
			json_states(json, ns);
			json_close(json, '}');
		}
	}
	json_close(json, ']');
}

static void json_sleeps(struct json *json, const struct stall *stall, struct resolver *resolver)
{
	json_open(json, "sleeps", '[');
	for (size_t i = 0; i < stall->nr_sleeps; i++) {
		const struct stall_slice *sleep = &stall->sleeps[i];

		json_open(json, NULL, '{');
		json_place(json, sleep->group, sleep->part);
		json_string(json, "state", phase_state_names[sleep->state].key);
		if (sleep->shrinker)
			json_address(json, "shrinker", sleep->shrinker);
		json_symbol(json, "function", resolver, sleep->function);
		json_number(json, "total_ns", sleep->ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_if(struct json *json, const char *key, bool is_so)
{
	if (is_so)
		json_bool(json, key, true);
}

/* An empty text is not known either. */
static void json_known(struct json *json, const char *key, const char *text)
{
	if (text && *text)
		json_string(json, key, text);
}

/* @tid: -1: there are several */
static void json_runner(struct json *json, const char *name, int tid, const char *cgroup, bool idle,
			uint64_t ns, uint64_t reclaiming)
{
	json_open(json, NULL, '{');
	json_string(json, "task", name);
	if (tid >= 0)
		json_signed(json, "tid", tid);
	json_known(json, "cgroup", cgroup);
	json_if(json, "idle", idle);
	json_number(json, "total_ns", ns);
	json_some_ns(json, "reclaiming", reclaiming);
	json_close(json, '}');
}

void json_had_cpu(struct json *json, struct resolver *resolver, uint64_t ts,
		  const struct stall_slice *runners, size_t count)
{
	json_open(json, "had_cpu", '[');
	for (size_t i = 0; i < count; i++)
		json_runner(json, runners[i].name, runners[i].tid,
			    resolver_task(resolver, runners[i].tid, ts)->cgroup, !runners[i].tid,
			    runners[i].ns, runners[i].reclaiming);
	json_close(json, ']');
}

static void json_task(struct json *json, const struct named_stall *named)
{
	const struct task_info *task = named->task_info;

	json_open(json, "task", '{');
	json_signed(json, "tid", named->stall->tid);
	json_string(json, "name", named->name);
	if (task->pid)
		json_signed(json, "pid", task->pid);
	json_known(json, "process", task->process);
	json_known(json, "cgroup", task->cgroup);
	json_if(json, "ended", task->ended);
	json_known(json, "cgroup_source", task->source);
	json_if(json, "background", named->background);
	json_if(json, "on_purpose", named->on_purpose);
	json_if(json, "interrupt", task_key_in_interrupt(named->stall->key));
	json_close(json, '}');
}

static void json_facts(struct json *json, const struct named_stall *named)
{
	struct stall_fact facts[STALL_FACTS];

	stall_facts(named, facts);
	for (int i = 0; i < STALL_FACTS; i++) {
		const struct stall_fact *fact = &facts[i];

		if (!fact->known)
			continue;
		if (fact->text)
			json_string(json, fact->key, fact->text);
		else if (fact->is_flags)
			json_address(json, fact->key, fact->number);
		else
			json_number(json, fact->key, fact->number);
	}
}

static void json_stall_shrinkers(struct json *json, const struct stall *stall,
				 struct resolver *resolver)
{
	json_open(json, "shrinkers", '[');
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];
		char name[2 * STALL_FUNCTION_MAX];

		resolver_shrinker(resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		json_open(json, NULL, '{');
		json_string(json, "phase", phase_group_names[shrinker->group].key);
		json_string(json, "name", name);
		json_address(json, "shrinker", shrinker->shrinker);
		json_address(json, "callback", shrinker->callback);
		json_number(json, "count", shrinker->count);
		json_number(json, "scanned", shrinker->scanned);
		json_number(json, "freed", shrinker->freed);
		json_number(json, "total_ns", shrinker->ns);
		json_states(json, shrinker->in);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_stack(struct json *json, const struct stall *stall, struct resolver *resolver)
{
	const uint64_t *frames;
	size_t nr_frames = resolver_stack(resolver, stall->stack, &frames);

	if (!nr_frames)
		return;
	json_open(json, "stack", '[');
	for (size_t i = 0; i < nr_frames; i++)
		json_symbol(json, NULL, resolver, frames[i]);
	json_close(json, ']');
}

static void json_cause(struct json *json, const struct stall *stall, struct resolver *resolver)
{
	char detail[STALL_CAUSE_MAX];
	struct stall_cause cause;

	stall_cause(stall, &cause);
	json_string(json, "cause", cause_name(cause.which)->key);
	cause_detail(resolver, &cause, detail);
	json_known(json, "cause_detail", detail);
	json_fraction(json, "cause_share", cause_share(&cause), 4);
}

void json_stall(struct json *json, const struct named_stall *named)
{
	struct resolver *resolver = named->resolver;
	const struct stall *stall = named->stall;
	char text[STALL_FUNCTION_MAX];

	json_time(json, resolver, stall->start);
	json_number(json, "duration_ns", stall->end - stall->start);
	json_task(json, named);
	json_signed(json, "cpu", stall->cpu);
	json_string(json, "function", stall_function(named, text));
	json_string(json, "role", catalog_role_title(stall->role));
	if (stall->depth)
		json_signed(json, "depth", stall->depth);
	json_facts(json, named);
	json_phases(json, &stall->phases);
	if (stall->nr_shrinkers)
		json_stall_shrinkers(json, stall, resolver);
	if (stall->off_cpu)
		json_off_cpu(json, stall);
	if (phases_state(&stall->phases, STATE_WAITED))
		json_had_cpu(json, resolver, stall->end, stall->runners, stall->nr_runners);
	json_some_ns(json, "had_cpu_not_recorded", stall->no_runner);
	if (stall->nr_sleeps)
		json_sleeps(json, stall, resolver);
	json_cause(json, stall, resolver);
	json_stack(json, stall, resolver);
	json_number(json, "windows", stall->nr_windows);
	json_number(json, "events", stall->nr_events);
	json_if(json, "incomplete", stall->incomplete);
	json_known(json, "incomplete_reason", stall_lack_names[stall->incomplete].key);
}

void json_stall_line(struct writer *writer, const struct named_stall *named)
{
	struct json json;

	json_begin_line(&json, writer, "stall");
	json_stall(&json, named);
	json_end(&json);
}

/* ---- the summary ---- */

static void json_latency(struct json *json, const struct latency *latency)
{
	json_number(json, "count", latency->count);
	json_number(json, "total_ns", latency->total);
	json_number(json, "p50_ns", latency_percentile(latency, 50));
	json_number(json, "p99_ns", latency_percentile(latency, 99));
	json_number(json, "max_ns", latency->max);
}

static void json_total(struct json *json, const struct shrinker_total *total)
{
	json_number(json, "count", total->count);
	json_number(json, "total_ns", total->ranked.total);
	json_number(json, "max_ns", total->max);
	if (total->ranked.error)
		json_number(json, "error_ns", total->ranked.error);
}

static void json_superblocks(struct json *json, const struct summary_view *view, uint64_t callback)
{
	const struct shrinker_total *total;

	json_open(json, "superblocks", '[');
	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_SUPERBLOCKS, i)); i++) {
		char label[SHRINKER_LABEL_MAX];

		if (total->callback != callback ||
		    !shrinker_names_label(view->shrinker_names, (int)total->ranked.id, label,
					  sizeof(label)))
			continue;
		json_open(json, NULL, '{');
		json_string(json, "name", label);
		json_total(json, total);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_shrinkers(struct json *json, const struct summary_view *view)
{
	const struct shrinker_total *total;

	json_open(json, "shrinkers", '[');
	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_SHRINKERS, i)); i++) {
		json_open(json, NULL, '{');
		json_symbol(json, "name", view->resolver, total->callback);
		json_address(json, "callback", total->callback);
		json_total(json, total);
		json_superblocks(json, view, total->callback);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_powers(struct json *json, const struct latency *latency)
{
	json_open(json, "histogram", '[');
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint64_t times = latency_power(latency, power);

		if (!times)
			continue;
		json_open(json, NULL, '{');
		json_number(json, "from_ns", power ? 1000ull << power : 0);
		json_number(json, "to_ns", 2000ull << power);
		json_number(json, "count", times);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_functions(struct json *json, const struct summary_view *view)
{
	const struct summary_total *total;

	json_open(json, "functions", '[');
	for (size_t i = 0; (total = summary_at(view->summary, SUMMARY_FUNCTIONS, i)); i++) {
		json_open(json, NULL, '{');
		if (total->function)
			json_symbol(json, "function", view->resolver, total->function);
		json_string(json, "role", catalog_role_title(total->role));
		json_latency(json, &total->latency);
		json_number(json, "error_ns", total->ranked.error);
		json_powers(json, &total->latency);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_wait_sum(struct json *json, const struct wait_sum *sum)
{
	json_number(json, "count", sum->count);
	json_number(json, "total_ns", sum->total);
	json_number(json, "long_count", sum->long_count);
	json_number(json, "long_ns", sum->long_total);
}

/* Without the probes of memory waits none is known. */
static void json_waits(struct json *json, const struct summary_view *view,
		       const struct waits *waits)
{
	struct wait_sum all = waits_all(waits);

	if (!view->has_waits)
		return;
	json_open(json, "memory_waits", '{');
	json_wait_sum(json, &all);
	if (waits->parts)
		json_number(json, "began_before", waits->parts);
	if (waits->in_progress) {
		json_number(json, "in_progress", waits->in_progress);
		json_number(json, "in_progress_ns", waits->in_progress_ns);
	}
	json_open(json, "reasons", '[');
	for (int role = waits_next(waits, -1); role >= 0; role = waits_next(waits, role)) {
		json_open(json, NULL, '{');
		json_string(json, "reason", catalog_role_key(role));
		json_wait_sum(json, &waits->of[role]);
		json_close(json, '}');
	}
	json_close(json, ']');
	if (waits->of[ROLE_IO].count) {
		json_open(json, "other_io", '{');
		json_wait_sum(json, &waits->of[ROLE_IO]);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void json_summary_had_cpu(struct json *json, const struct summary *summary)
{
	const struct runner_total *runner;

	json_open(json, "had_cpu", '[');
	for (size_t i = 0; (runner = summary_at(summary, SUMMARY_RUNNERS, i)); i++)
		json_runner(json, runner->ranked.name, -1, runner->cgroup,
			    runner->ranked.id == SUMMARY_IDLE, runner->ranked.total,
			    runner->reclaiming);
	json_close(json, ']');
	json_some_ns(json, "had_cpu_not_recorded", summary_had_cpu_unknown(summary));
}

static void json_causes(struct json *json, const struct cause_sum causes[CAUSES])
{
	json_open(json, "causes", '[');
	for (int cause = 0; cause < CAUSES; cause++) {
		if (!causes[cause].count)
			continue;
		json_open(json, NULL, '{');
		json_string(json, "cause", cause_name(cause)->key);
		json_number(json, "count", causes[cause].count);
		json_number(json, "total_ns", causes[cause].total);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_reclaimed(struct json *json, const struct summary_view *view,
			   const struct summary_total *cgroup)
{
	const struct ranked *from;
	size_t rank = 0;

	json_open(json, "reclaimed_from", '[');
	while ((from = summary_reclaimed(view->summary, cgroup, &rank))) {
		json_open(json, NULL, '{');
		json_string(json, "memcg", from->name);
		json_number(json, "pages", from->total);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_stalls(struct json *json, const char *key, const struct summary_view *view,
			enum stall_side side)
{
	const struct summary_stalls *stalls = summary_stalls(view->summary, side);

	json_open(json, key, '{');
	json_latency(json, &stalls->latency);
	json_phases(json, &stalls->phases);
	json_causes(json, stalls->causes);
	if (view->has_sched) {
		json_open(json, "states", '{');
		for (int state = 0; state < PHASE_STATES; state++)
			json_some_ns(json, phase_state_names[state].key,
				     phases_state(&stalls->phases, state));
		json_close(json, '}');
	}
	json_waits(json, view, &stalls->waits);
	if (side == STALLS_WAITING && phases_state(&stalls->phases, STATE_WAITED))
		json_summary_had_cpu(json, view->summary);
	json_close(json, '}');
}

static void json_kept_stall(struct json *json, const char *key, const struct named_stall *named)
{
	if (!named)
		return;
	json_open(json, key, '{');
	json_stall(json, named);
	json_close(json, '}');
}

static void json_waiters(struct json *json, const char *key, const struct summary_view *view,
			 enum summary_table kind)
{
	const struct summary_total *waiter;
	uint64_t pressure;

	json_open(json, key, '[');
	for (size_t i = 0; i < view->top && (waiter = summary_at(view->summary, kind, i)); i++) {
		json_open(json, NULL, '{');
		if (kind == SUMMARY_TASKS || kind == SUMMARY_KERNEL_THREADS)
			json_signed(json, "tid", (int)waiter->ranked.id);
		json_string(json, kind == SUMMARY_CGROUPS ? "cgroup" : "name", waiter->ranked.name);
		json_latency(json, &waiter->latency);
		json_number(json, "error_ns", waiter->ranked.error);
		if (kind < SUMMARY_KERNEL_THREADS)
			json_causes(json, waiter->causes);
		if (kind == SUMMARY_CGROUPS)
			json_reclaimed(json, view, waiter);
		if (kind < SUMMARY_KERNEL_THREADS)
			json_waits(json, view, &waiter->waits);
		if (view_pressure(view, kind, i, &pressure))
			json_number(json, "pressure_some_ns", pressure);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_task_totals(struct json *json, const char *key, const struct summary *summary,
			     enum summary_table which)
{
	const struct task_total *total;
	char limit[TASK_CGROUP_MAX];

	json_open(json, key, '[');
	for (size_t i = 0; (total = summary_at(summary, which, i)); i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", total->ranked.name);
		json_signed(json, "tid", total->last.tid);
		json_known(json, "cgroup", total->last.cgroup);
		if (which == SUMMARY_VICTIMS) {
			snprintf(limit, sizeof(limit), "%.*s", total->last.limit,
				 total->last.cgroup);
			json_known(json, "limit", limit);
			json_number(json, "count", total->ranked.total);
		} else {
			json_string(json, "reason", catalog_role_key(total->role));
			json_number(json, "ts_ns", total->since);
			json_number(json, "duration_ns", total->ranked.total);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_remedies(struct json *json, const struct summary *summary)
{
	const struct remedies *remedies = &summary_stalls(summary, STALLS_WAITING)->remedies;
	const struct summary_total *cgroup;
	const struct remedy *remedy;
	uint64_t ns;

	json_open(json, "remedies", '[');
	for (int i = 0; (remedy = remedies_at(remedies, i, &ns)); i++) {
		cgroup = summary_remedy_cgroup(summary, remedy);
		json_open(json, NULL, '{');
		json_string(json, "key", remedy->key);
		json_number(json, "total_ns", ns);
		if (cgroup) {
			json_string(json, "cgroup", cgroup->ranked.name);
			json_number(json, "cgroup_ns", remedies_ns(&cgroup->remedies, remedy));
		}
		json_string(json, "finding", remedy->finding);
		json_string(json, "look", remedy->look);
		json_string(json, "change", remedy->change);
		json_string(json, "source", remedy->source);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Puts losses: of records, of rows of full tables, of journal entries. */
static void json_flaws(struct json *json, const struct summary_view *view)
{
	json_number(json, "incomplete", summary_incomplete(view->summary, LACKS_NOTHING));
	json_open(json, "lost", '[');
	for (int i = 0; i < view->cpus.count; i++) {
		int cpu = view->cpus.numbers[i];
		uint64_t unknown;
		uint64_t records = losses_of(view->losses, cpu, &unknown);

		if (!records && !unknown)
			continue;
		json_open(json, NULL, '{');
		json_signed(json, "cpu", cpu);
		json_number(json, "records", records);
		json_number(json, "times_unknown", unknown);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "overflows", '{');
	for (size_t i = 0; i < view->nr_overflows; i++)
		json_number(json, view->overflows[i].key, view->overflows[i].count);
	json_close(json, '}');
	json_bool(json, "events_were_off", view->cost.had_events_off);
	if (!view->has_journal)
		return;
	json_open(json, "journal", '{');
	json_number(json, "entries", view->journal.entries);
	json_number(json, "held_back", view->journal.held_back);
	json_number(json, "dropped", view->journal.dropped);
	json_close(json, '}');
}

static void json_pressure_at(struct json *json, const char *key,
			     const struct memory_pressure *pressure)
{
	json_open(json, key, '{');
	json_fraction(json, "some_avg10", pressure->some_avg10, 2);
	json_fraction(json, "full_avg10", pressure->full_avg10, 2);
	json_number(json, "some_total_ns", pressure->some * 1000);
	json_number(json, "full_total_ns", pressure->full * 1000);
	if (pressure->oom_kills)
		json_number(json, "oom_kills", pressure->oom_kills);
	if (pressure->refaults)
		json_number(json, "refaults", pressure->refaults);
	json_close(json, '}');
}

static void json_pressure(struct json *json, const struct summary_view *view)
{
	if (!view->pressure_before.known || !view->pressure_after.known || view->is_part)
		return;
	json_open(json, "pressure", '{');
	json_pressure_at(json, "before", &view->pressure_before);
	json_pressure_at(json, "after", &view->pressure_after);
	json_close(json, '}');
}

void json_summary(struct writer *writer, const struct summary_view *view)
{
	struct summary *summary = view->summary;
	uint64_t bytes;
	const char *most = cgroups_most_memory(resolver_cgroups(view->resolver), &bytes);
	struct json json;

	json_begin_line(&json, writer, "summary");
	json_bool(&json, "final", !view->so_far);
	if (view->source) {
		json_known(&json, "host", view->source->host);
		json_known(&json, "release", view->source->release);
	}
	json_time(&json, view->resolver, view->ts);
	json_number(&json, "duration_ns", view->ts - view->since);
	json_number(&json, "threshold_ns", view->plan->threshold);
	json_number(&json, "report_ns", view->report);
	json_open(&json, "not_shown", '{');
	json_number(&json, "shorter", view->not_shown.shorter);
	json_number(&json, "others", view->not_shown.others);
	json_close(&json, '}');
	json_shrinkers(&json, view);
	json_functions(&json, view);
	json_stalls(&json, "stalls", view, STALLS_WAITING);
	json_stalls(&json, "background", view, STALLS_BACKGROUND);
	json_remedies(&json, summary);
	json_kept_stall(&json, "most_explained", summary_most_explained(summary));
	json_kept_stall(&json, "longest", summary_longest(summary));
	json_waiters(&json, "tasks", view, SUMMARY_TASKS);
	json_waiters(&json, "cgroups", view, SUMMARY_CGROUPS);
	json_waiters(&json, "kernel_threads", view, SUMMARY_KERNEL_THREADS);
	json_task_totals(&json, "oom_kills", summary, SUMMARY_VICTIMS);
	if (view->has_waits)
		json_task_totals(&json, "not_ended", summary, SUMMARY_NOT_ENDED);
	json_waiters(&json, "on_purpose", view, SUMMARY_PURPOSES);
	json_pressure(&json, view);
	if (most && !view->is_part) {
		json_string(&json, "most_memory", most);
		json_number(&json, "most_memory_bytes", bytes);
	}
	json_flaws(&json, view);
	if (view->has_sched) {
		json_open(&json, "off_cpu", '{');
		json_number(&json, "switches", view->sched.switches);
		json_number(&json, "wakeups", view->sched.wakeups);
		json_close(&json, '}');
	}
	json_end(&json);
}

/* ---- the run ---- */

static void json_options(struct json *json, const struct output_setup *setup)
{
	struct set_option setting;
	size_t place = 0;

	json_open(json, "options", '{');
	if (setup->pids) {
		json_open(json, "pid", '[');
		for (const pid_t *pid = setup->pids; *pid; pid++)
			json_signed(json, NULL, *pid);
		json_close(json, ']');
	}
	while (options_next_set(setup->options, &place, &setting)) {
		switch (setting.kind) {
		case KEY_QUANTITY:
			/* Options in effect are members of the run. */
			if (strcmp(setting.name, "threshold") && strcmp(setting.name, "report"))
				json_number(json, setting.name, *(const uint64_t *)setting.value);
			break;
		case KEY_NUMBER:
			json_signed(json, setting.name, *(const int *)setting.value);
			break;
		case KEY_SWITCH:
			json_bool(json, setting.name, *(const bool *)setting.value);
			break;
		case KEY_FORMAT:
		case KEY_TEXT:
			json_string(json, setting.name, *(const char *const *)setting.value);
			break;
		case KEY_CHOICE:
			json_string(json, setting.name, setting.value);
			break;
		case KEY_FUNCTIONS:
		case KEY_EVENTS:
			json_open(json, setting.name, '[');
			for (char *const *text = *(char **const *)setting.value; *text; text++)
				json_string(json, NULL, *text);
			json_close(json, ']');
			break;
		case KEY_PIDS:
		case KEY_PATH:
		case KEY_TASK:
			break;
		}
	}
	json_close(json, '}');
}

int json_run(struct output *output)
{
	const struct output_setup *setup = &output->setup;
	const struct data_source *source = setup->source;
	uint64_t report = config_report(setup->options, !source->proc);
	char time[TEXT_TIME_MAX];
	struct json json;

	json_begin_line(&json, setup->writer, "run");
	json_string(&json, "version", ALLOCFILT_VERSION);
	json_string(&json, "source", source->proc ? "live" : "capture");
	json_known(&json, "host", source->host);
	json_known(&json, "release", source->release);
	json_known(&json, "machine", source->machine);
	json_string(&json, "time", text_time(time, source->started, false) ? time : NULL);
	json_known(&json, "clock", source->clock);
	json_number(&json, "threshold_ns", setup->plan->threshold);
	json_number(&json, "report_ns", report ? report : setup->plan->threshold);
	/* The path of a capture tells nothing about the machine that was traced. */
	json_string(&json, "directory", source->proc ? source->dir : NULL);
	json_open(&json, "cpus", '[');
	for (int i = 0; i < source->cpus.count; i++)
		json_signed(&json, NULL, source->cpus.numbers[i]);
	json_close(&json, ']');
	json_options(&json, setup);
	json_end(&json);
	return writer_status(json.writer);
}

/* ---- the form ---- */

static int json_form_stall(struct output *output, const struct named_stall *named)
{
	json_stall_line(output->setup.writer, named);
	return writer_status(output->setup.writer);
}

static int json_form_summary(struct output *output, const struct summary_view *view)
{
	if (view->form != SUMMARY_NONE)
		json_summary(output->setup.writer, view);
	return writer_flush(output->setup.writer);
}

const struct output_ops json_form = {
	.begin = json_run,
	.stall = json_form_stall,
	.summary = json_form_summary,
	.has_so_far = true,
};
