// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/plan.h"

/* How well a function's name suits a role: the place in the role's list, an exact name before one
 * with a compiler suffix; both can exist where the compiler split a function. */
static int name_rank(const struct catalog_role *role, const char *function)
{
	for (int i = 0; i < CATALOG_NAMES_MAX && role->names[i]; i++) {
		if (!strcmp(function, role->names[i]))
			return 2 * i;
		if (catalog_name_matches(function, role->names[i]))
			return 2 * i + 1;
	}
	return INT_MAX;
}

struct role_choice {
	struct plan *plan;
	int best[ROLE_COUNT];
};

static bool plan_has_function(const struct plan *plan, const char *name)
{
	for (int i = 0; i < plan->nr_functions; i++)
		if (!strcmp(plan->functions[i].name, name))
			return true;
	return false;
}

static int plan_add_function(struct plan *plan, const char *name, enum role role)
{
	struct plan_function *function;

	if (plan_has_function(plan, name))
		return 0;
	if (plan->nr_functions == PLAN_FUNCTIONS_MAX)
		return -E2BIG;
	function = &plan->functions[plan->nr_functions];
	function->name = strdup(name);
	if (!function->name)
		return -ENOMEM;
	function->role = role;
	plan->nr_functions++;
	if (role != ROLE_NONE)
		plan->roles |= ROLE_BIT(role);
	return 0;
}

static int find_best(void *visitor, const char *name)
{
	struct role_choice *choice = visitor;

	for (int role = 0; role < ROLE_COUNT; role++) {
		int rank = name_rank(&catalog_roles[role], name);

		if (rank < choice->best[role])
			choice->best[role] = rank;
	}
	return 0;
}

static int take_best(void *visitor, const char *name)
{
	struct role_choice *choice = visitor;

	for (int role = 0; role < ROLE_COUNT; role++) {
		int rank = name_rank(&catalog_roles[role], name);

		if (rank != INT_MAX && rank == choice->best[role])
			return plan_add_function(choice->plan, name, role);
	}
	return 0;
}

static int choose_roles(struct plan *plan, const struct plan_offer *offer)
{
	struct role_choice choice = { .plan = plan };
	int ret;

	for (int role = 0; role < ROLE_COUNT; role++)
		choice.best[role] = INT_MAX;
	ret = offer->functions(offer->context, find_best, &choice);
	if (ret)
		return ret;
	return offer->functions(offer->context, take_best, &choice);
}

struct pattern_match {
	struct plan *plan;
	const char *pattern;
	int matches;
};

static int take_match(void *visitor, const char *name)
{
	struct pattern_match *match = visitor;

	if (fnmatch(match->pattern, name, 0))
		return 0;
	match->matches++;
	return plan_add_function(match->plan, name, catalog_role_of(name));
}

static int add_asked_function(struct plan *plan, const char *pattern,
			      const struct plan_offer *offer, struct failure *failure)
{
	struct pattern_match match = { .plan = plan, .pattern = pattern };
	int ret = offer->functions(offer->context, take_match, &match);

	if (ret == -E2BIG)
		return failure_set(failure, EXIT_STATUS_USAGE, E2BIG,
				   "-F %s: more than %d functions in all, use a narrower pattern",
				   pattern, PLAN_FUNCTIONS_MAX);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "-F %s: list of functions: %s", pattern, strerror(-ret));
	if (!match.matches)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "-F %s: no such function can be traced here (see available_filter_functions)",
				   pattern);
	return 0;
}

static int add_asked_functions(struct plan *plan, char *const *patterns,
			       const struct plan_offer *offer, struct failure *failure)
{
	for (int i = 0; patterns && patterns[i]; i++) {
		int ret = add_asked_function(plan, patterns[i], offer, failure);

		if (ret)
			return ret;
	}
	return 0;
}

static int plan_add_event(struct plan *plan, const char *system, size_t system_length,
			  const char *name, enum event_id id)
{
	struct plan_event *event;

	if (plan->nr_events == PLAN_EVENTS_MAX)
		return -E2BIG;
	event = &plan->events[plan->nr_events];
	event->system = strndup(system, system_length);
	event->name = strdup(name);
	event->id = id;
	event->partner = -1;
	plan->nr_events++;
	return event->system && event->name ? 0 : -ENOMEM;
}

static int add_catalog_events(struct plan *plan, const struct plan_offer *offer)
{
	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];
		int ret;

		if (!offer->has_event(offer->context, event->system, event->name))
			continue;
		ret = plan_add_event(plan, event->system, strlen(event->system), event->name, id);
		if (ret)
			return ret;
	}
	return 0;
}

int plan_event_of(const struct plan *plan, enum event_id id)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].id == id)
			return i;
	return -1;
}

static uint32_t owners_here(const struct plan *plan, const struct catalog_event *event)
{
	uint32_t owners = event->owners;

	if (event->needs != ROLE_NONE && !(plan->roles & ROLE_BIT(event->needs)))
		owners |= event->owners_without;
	return owners & plan->roles;
}

static enum event_rule rule_here(const struct plan *plan, const struct plan_event *event,
				 const struct catalog_event *catalog)
{
	if (event->owners)
		return RULE_OWNER;
	if (catalog->side != EVENT_SINGLE)
		return event->partner >= 0 ? RULE_PAIR : RULE_NEVER;
	return catalog->any_window && plan->function_graph ? RULE_ANY_WINDOW : RULE_NEVER;
}

static void set_rules(struct plan *plan)
{
	for (int i = 0; i < plan->nr_events; i++) {
		struct plan_event *event = &plan->events[i];
		const struct catalog_event *catalog = &catalog_events[event->id];

		event->side = catalog->side;
		event->repeats = catalog->repeats;
		if (catalog->side != EVENT_SINGLE)
			event->partner = plan_event_of(plan, catalog->partner);
		event->owners = owners_here(plan, catalog);
		event->rule = rule_here(plan, event, catalog);
	}
}

static bool plan_has_event(const struct plan *plan, const char *system, size_t system_length,
			   const char *name)
{
	for (int i = 0; i < plan->nr_events; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!strncmp(event->system, system, system_length) &&
		    !event->system[system_length] && !strcmp(event->name, name))
			return true;
	}
	return false;
}

static bool offer_has_event(const struct plan_offer *offer, const char *system, size_t length,
			    const char *name)
{
	char *copy = strndup(system, length);
	bool has = copy && offer->has_event(offer->context, copy, name);

	free(copy);
	return has;
}

static int add_asked_event(struct plan *plan, const char *asked, const struct plan_offer *offer,
			   struct failure *failure)
{
	const char *colon = strchr(asked, ':');
	size_t length;
	int ret;

	if (!colon || colon == asked || !colon[1] || strchr(asked, '/'))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "-e %s: not of the form SYSTEM:NAME", asked);
	length = colon - asked;
	if (plan_has_event(plan, asked, length, colon + 1))
		return 0;
	if (!offer_has_event(offer, asked, length, colon + 1))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "-e %s: there is no such event here (see available_events)",
				   asked);
	ret = plan_add_event(plan, asked, length, colon + 1, EVENT_USER);
	if (ret)
		return failure_set(failure, EXIT_STATUS_USAGE, -ret,
				   "-e %s: more than %d events", asked, PLAN_EVENTS_MAX);
	plan->events[plan->nr_events - 1].rule = RULE_ANY_WINDOW;
	return 0;
}

static int add_asked_events(struct plan *plan, char *const *events,
			    const struct plan_offer *offer, struct failure *failure)
{
	for (int i = 0; events && events[i]; i++) {
		int ret = add_asked_event(plan, events[i], offer, failure);

		if (ret)
			return ret;
	}
	return 0;
}

static bool has_pair(const struct plan *plan)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].rule == RULE_PAIR)
			return true;
	return false;
}

static int fill_plan(struct plan *plan, const struct plan_request *request,
		     const struct plan_offer *offer, struct failure *failure)
{
	int ret = 0;

	plan->threshold = request->threshold;
	if (offer->function_graph)
		ret = choose_roles(plan, offer);
	if (!ret)
		ret = add_catalog_events(plan, offer);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "reading what can be traced: %s", strerror(-ret));
	if (!offer->function_graph && request->functions && request->functions[0])
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "-F %s: this kernel has no function_graph tracer",
				   request->functions[0]);
	ret = add_asked_functions(plan, request->functions, offer, failure);
	if (ret)
		return ret;
	plan->function_graph = offer->function_graph && plan->nr_functions;
	set_rules(plan);
	if (!plan->function_graph && !has_pair(plan))
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "neither function_graph nor the vmscan and compaction events are there: this kernel lacks what it takes (CONFIG_FUNCTION_GRAPH_TRACER)");
	return add_asked_events(plan, request->events, offer, failure);
}

int plan_make(struct plan **ret_plan, const struct plan_request *request,
	      const struct plan_offer *offer, struct failure *failure)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int ret;

	if (!plan)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
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

bool plan_role_missing(const struct plan *plan, enum role role)
{
	enum role other = catalog_roles[role].stands_in;

	if (!plan->function_graph || (plan->roles & ROLE_BIT(role)))
		return false;
	return other == ROLE_NONE || !(plan->roles & ROLE_BIT(other));
}

bool plan_likely_symbol(const struct plan *plan, const char *name)
{
	if (strstr(name, "_scan") || strstr(name, "shrink") || strstr(name, "scan_"))
		return true;
	return plan_has_function(plan, name) || catalog_role_of(name) != ROLE_NONE;
}
