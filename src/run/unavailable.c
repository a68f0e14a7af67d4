// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/unavailable.h"

#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"

void unavailable_report(const struct plan *plan)
{
	char text[512] = "";

	for (int role = 0; role < ROLE_COUNT; role++) {
		size_t used = strlen(text);

		if (plan_role_unavailable(plan, role))
			snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				 catalog_role_title(role));
	}
	if (*text)
		log_notice("not to be traced on this kernel, left out: %s", text);
	if (!plan->function_graph)
		log_warning(
			"this kernel has no function_graph: only reclaim, compaction and slab are timed, from their pairs of events");
}
