// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "plan/plan_parts.h"

static int fill_plan(struct plan *plan, const struct plan_request *request,
		     const struct plan_offer *offer, struct failure *failure)
{
	int ret = 0;

	if (offer->function_graph)
		ret = plan_functions_choose(plan, offer);
	if (!ret)
		ret = plan_events_add_catalog(plan, offer);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "reading what can be traced: %s", strerror(-ret));
	if (!offer->function_graph && request->functions && request->functions[0])
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "%s %s: this kernel has no function_graph tracer",
				   plan_functions_said(request), request->functions[0]);
	ret = plan_functions_ask(plan, request, offer, failure);
	if (ret)
		return ret;
	plan->function_graph = offer->function_graph && plan->nr_functions;
	plan_events_set_rules(plan);
	if (!plan->function_graph && !plan_events_have_pair(plan))
		return failure_set(
			failure, EXIT_STATUS_NO_FEATURE, ENOENT,
			"neither function_graph nor the vmscan and compaction events are there: this kernel lacks what it takes (CONFIG_FUNCTION_GRAPH_TRACER)");
	return plan_events_ask(plan, request, offer, failure);
}

int plan_make(struct plan **ret_plan, const struct plan_request *request,
	      const struct plan_offer *offer, struct failure *failure)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int ret;

	if (!plan)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	plan->threshold = request->threshold;
	if (request->no_page_allocation)
		plan->left_out = ROLE_BIT(ROLE_PAGE_ALLOCATION);
	ret = fill_plan(plan, request, offer, failure);
	if (ret) {
		plan_free(plan);
		return ret;
	}
	*ret_plan = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (int i = 0; i < plan->nr_functions; i++)
		free(plan->functions[i].name);
	for (int i = 0; i < plan->nr_events; i++) {
		free(plan->events[i].system);
		free(plan->events[i].name);
	}
	free(plan);
}

bool plan_names(const struct plan_request *request, const char *function)
{
	for (int i = 0; request->functions && request->functions[i]; i++)
		if (!fnmatch(request->functions[i], function, 0))
			return true;
	return false;
}

static bool is_stood_in_for(const struct plan *plan, enum role role)
{
	enum role other = catalog_roles[role].stands_in;

	return other != ROLE_NONE && (plan->roles & ROLE_BIT(other));
}

bool plan_role_unavailable(const struct plan *plan, enum role role)
{
	if (!plan->function_graph || ((plan->roles | plan->left_out) & ROLE_BIT(role)))
		return false;
	return !is_stood_in_for(plan, role);
}

bool plan_likely_symbol(const struct plan *plan, const char *name)
{
	if (strstr(name, "_scan") || strstr(name, "shrink") || strstr(name, "scan_"))
		return true;
	return plan_functions_find(plan, name) || catalog_role_of(name) != ROLE_NONE;
}

int plan_event_of(const struct plan *plan, enum event_id id)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].id == id)
			return i;
	return -1;
}
