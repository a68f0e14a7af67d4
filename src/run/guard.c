// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "allocfilt/base/log.h"

void guard_begin(struct guard *guard, uint64_t now, uint64_t cpu)
{
	guard->is_off = guard->is_all = false;
	guard->quiet = 0;
	guard->since = now;
	guard->cpu = cpu;
	memset(guard->off, 0, sizeof(guard->off));
}

bool guard_update(struct guard *guard, uint64_t max, uint64_t now, uint64_t cpu)
{
	uint64_t passed = now - guard->since;

	if (passed < GUARD_MINUTE)
		return false;
	guard->tenths = (unsigned int)((cpu - guard->cpu) * 1000 / passed);
	guard->since = now;
	guard->cpu = cpu;
	guard->quiet = guard->tenths * 2 > max * 10 ? 0 : guard->quiet + 1;
	if (guard->tenths > max * 10) {
		guard->is_all |= guard->is_off;
		guard->is_off = true;
	} else if (guard->quiet >= GUARD_QUIET) {
		guard->is_off = guard->is_all = false;
	}
	return true;
}

static void report_unswitched(struct guard *guard, const struct plan_event *event, int error)
{
	if (guard->reported_failure)
		return;
	guard->reported_failure = true;
	log_warning("%s:%s cannot be switched %s: %s", event->system, event->name,
		    guard->is_off ? "off" : "on",
		    error == -ESTALE ? "it is somebody else's, leaving it" : strerror(-error));
}

/* Also switches events that could not be switched a minute ago. Returns how many it has switched. */
static unsigned int switch_events(struct guard *guard, const struct plan *plan,
				  struct session *session)
{
	unsigned int count = 0;

	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];
		bool off =
			guard->is_off && plan_can_spare(plan, event) &&
			(event->id == EVENT_REFAULT || guard->is_all || !plan_has_refaults(plan));
		int ret;

		if (off == guard->off[i])
			continue;
		ret = session_switch_event(session, event, !off);
		if (ret) {
			report_unswitched(guard, event, ret);
		} else {
			guard->off[i] = off;
			count++;
		}
	}
	return count;
}

void guard_second(struct guard *guard, const struct plan *plan, uint64_t max, uint64_t now,
		  struct session *session, struct pipeline *pipeline)
{
	char counted[TEXT_COUNTED_MAX];
	unsigned int count;

	if (!guard_update(guard, max, now, clock_ns(CLOCK_PROCESS_CPUTIME_ID)))
		return;
	count = switch_events(guard, plan, session);
	if (!count)
		return;
	pipeline_switch_events(pipeline, guard->off);
	session_mark_clock(session);
	if (guard->is_off && guard->reported_off <= guard->is_all) {
		guard->reported_off = 1 + guard->is_all;
		log_warning("%u.%u %% of a CPU in the last minute is more than max-cpu = %" PRIu64
			    "%%: %s switched off until %d minutes are quiet; a higher threshold "
			    "costs less",
			    guard->tenths / 10, guard->tenths % 10, max,
			    text_counted(counted, count, "event{s are| is}"), GUARD_QUIET);
	} else if (!guard->is_off && !guard->reported_on) {
		guard->reported_on = true;
		log_notice("events are switched on again");
	}
}
