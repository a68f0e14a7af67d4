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
		ret = plan_functions_choose(plan, request, offer);
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
	ret = plan_events_define(plan, request, offer, failure);
	return ret ? ret : plan_events_ask(plan, request, offer, failure);
}

static int take_request(struct plan *plan, const struct plan_request *request)
{
	plan->threshold = request->threshold;
	if (request->no_page_allocation)
		plan->left_out = ROLE_BIT(ROLE_PAGE_ALLOCATION);
	if (request->nr_definitions > DEFINITIONS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < request->nr_definitions; i++) {
		plan->definitions[i].title = strdup(request->definitions[i].title);
		if (!plan->definitions[i].title)
			return -ENOMEM;
		plan->nr_definitions++;
	}
	return 0;
}

int plan_make(struct plan **ret_plan, const struct plan_request *request,
	      const struct plan_offer *offer, struct failure *failure)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int ret;

	if (!plan)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	ret = take_request(plan, request);
	if (ret)
		failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s", strerror(-ret));
	else
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
	for (int i = 0; i < plan->nr_definitions; i++)
		free(plan->definitions[i].title);
	string_list_free(plan->unavailable_events);
	free(plan);
}

bool plan_names(const struct plan_request *request, const char *function)
{
	for (int i = 0; request->functions && request->functions[i]; i++)
		if (!fnmatch(request->functions[i], function, 0))
			return true;
	for (size_t i = 0; i < request->nr_definitions; i++)
		for (char **name = request->definitions[i].functions; *name; name++)
			if (catalog_name_matches(function, *name))
				return true;
	return false;
}

int plan_roles_end(const struct plan *plan)
{
	return PLAN_ROLE(plan->nr_definitions);
}

int plan_role_of(const struct plan *plan, const char *function)
{
	const struct plan_function *planned = plan_functions_find(plan, function);

	return planned ? planned->role : (int)catalog_role_of(function);
}

const char *plan_role_title(const struct plan *plan, int role)
{
	if (role < 0 || role >= plan_roles_end(plan))
		return NULL;
	return role < ROLE_COUNT ? catalog_roles[role].title :
				   plan->definitions[role - ROLE_COUNT].title;
}

static bool is_stood_in_for(const struct plan *plan, enum role role)
{
	enum role other = catalog_roles[role].stands_in;

	return other != ROLE_NONE && (plan->roles & ROLE_BIT(other));
}

bool plan_role_unavailable(const struct plan *plan, int role)
{
	if (!plan->function_graph || ((plan->roles | plan->left_out) & ROLE_BIT(role)))
		return false;
	if (role >= ROLE_COUNT)
		return !plan->definitions[role - ROLE_COUNT].owners;
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
