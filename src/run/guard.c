// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void guard_begin(struct guard *guard, uint64_t now, uint64_t cpu)
{
	guard->rank = 0;
	guard->quiet = 0;
	guard->is_helpless = false;
	guard->since = now;
	guard->cpu = cpu;
	memset(guard->off, 0, sizeof(guard->off));
}

/* The next rank above @rank with events in the plan; @rank if there is none. */
static unsigned int next_rank(const struct plan *plan, unsigned int rank)
{
	unsigned int next = COST_RANKS + 1;

	for (int i = 0; i < plan->nr_events; i++) {
		unsigned int one = plan_cost_rank(plan, &plan->events[i]);

		if (one > rank && one < next)
			next = one;
	}
	return next <= COST_RANKS ? next : rank;
}

bool guard_update(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  uint64_t cpu)
{
	unsigned int before = guard->rank;
	uint64_t passed = now - guard->since;
	bool is_over;

	if (passed < GUARD_MINUTE)
		return false;
	guard->tenths = (unsigned int)((cpu - guard->cpu) * 1000 / passed);
	guard->since = now;
	guard->cpu = cpu;
	is_over = max && guard->tenths > max * 10;
	if (is_over)
		guard->rank = next_rank(plan, before);
	guard->is_helpless = is_over && guard->rank == before;
	if (max && guard->tenths * 2 > max * 10)
		guard->quiet = 0;
	else if (guard->rank && (++guard->quiet == GUARD_QUIET || !max))
		guard->rank = guard->quiet = 0;
	return true;
}

/* Also those that failed a minute ago. Returns whether one was switched; @names has them. */
static bool switch_events(struct guard *guard, const struct plan *plan, struct session *session,
			  struct line *names)
{
	bool any = false;

	line_clear(names);
	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];
		unsigned int rank = plan_cost_rank(plan, event);
		bool off = rank && rank <= guard->rank;
		int ret;

		if (off == guard->off[i])
			continue;
		ret = session_switch_event(session, event, !off);
		if (!ret) {
			guard->off[i] = off;
			any = true;
			line_add(names, "%s%s:%s", names->used ? ", " : "", event->system,
				 event->name);
		} else if (!guard->reported_failure) {
			guard->reported_failure = true;
			log_warning("%s:%s cannot be switched %s: %s", event->system, event->name,
				    off ? "off" : "on",
				    ret == -ESTALE ? "it is somebody else's, leaving it" :
						     strerror(-ret));
		}
	}
	return any;
}

void guard_second(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  struct session *session, struct pipeline *pipeline)
{
	unsigned int before = guard->rank;
	struct line names;

	if (!guard_update(guard, plan, max, now, loop_cpu_time()))
		return;
	if (switch_events(guard, plan, session, &names)) {
		pipeline_switch_events(pipeline, guard->off);
		session_mark_clock(session);
	}
	if (guard->rank > before && guard->rank > guard->reported) {
		guard->reported = guard->rank;
		log_warning("%u.%u %% of a CPU in the last minute is more than max-cpu = %" PRIu64
			    "%%: switched off, until %d minutes are quiet: %s",
			    guard->tenths / 10, guard->tenths % 10, max, GUARD_QUIET, names.text);
	} else if (guard->rank < before && !guard->reported_on) {
		guard->reported_on = true;
		log_notice("switched on again: %s", names.text);
	} else if (guard->is_helpless && !guard->reported_last) {
		guard->reported_last = true;
		log_warning("%u.%u %% of a CPU in the last minute is more than max-cpu = %" PRIu64
			    "%%, and no event is left to switch off: a higher threshold costs less",
			    guard->tenths / 10, guard->tenths % 10, max);
	}
}
