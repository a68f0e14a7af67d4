// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/unavailable.h"

#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"

static void say_roles(const struct plan *plan)
{
	char text[512] = "";

	for (int role = 0; role < plan_roles_end(plan); role++) {
		size_t used = strlen(text);

		if (plan_role_unavailable(plan, role))
			snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				 plan_role_title(plan, role));
	}
	if (*text)
		log_notice("not to be traced on this kernel, left out: %s", text);
	if (!plan->function_graph)
		log_warning(
			"this kernel has no function_graph: only reclaim, compaction and slab are timed, from their pairs of events");
}

static void say_events(const struct plan *plan)
{
	char text[512] = "";

	for (int i = 0; plan->unavailable_events && plan->unavailable_events[i]; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
			 plan->unavailable_events[i]);
	}
	if (*text)
		log_notice("no such events on this kernel, left out: %s", text);
}

void unavailable_report(const struct plan *plan)
{
	say_roles(plan);
	say_events(plan);
}
