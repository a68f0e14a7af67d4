// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall/stall.h"

const struct phase_name stall_lack_names[STALL_LACKS] = {
	[LACKS_FUNCTIONS] = { "functions were not traced yet (function-graph = auto)",
			      "functions" },
	[LACKS_PART] = { "a memory wait began before tracing, and took at least this long",
			 "in_progress" },
	[LACKS_SWITCH] = { "a switch of the task was not recorded", "switch" },
	[LACKS_DROPPED] = { "older records were dropped", "dropped" },
	[LACKS_LOST] = { "records were lost", "lost" },
};

const char *stall_function(const struct named_stall *named, char text[STALL_FUNCTION_MAX])
{
	const struct stall *stall = named->stall;
	const char *title = catalog_role_title(stall->role);

	if (named->function)
		return named->function;
	if (!stall->function)
		return title ? title : "";
	resolver_symbol(named->resolver, stall->function, 's', text, STALL_FUNCTION_MAX);
	return text;
}
