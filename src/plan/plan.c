// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/plan/plan.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int add_function(struct plan *plan, const char *name, enum role role)
{
	struct plan_function *function = &plan->functions[plan->nr_functions];

	for (int i = 0; i < plan->nr_functions; i++)
		if (!strcmp(plan->functions[i].name, name))
			return 0;
	if (plan->nr_functions == PLAN_FUNCTIONS_MAX)
		return -E2BIG;
	function->name = strdup(name);
	if (!function->name)
		return -ENOMEM;
	function->role = role;
	plan->nr_functions++;
	if (role != ROLE_NONE)
		plan->roles |= ROLE_BIT(role);
	return 0;
}

/* The place of a name among the names of its role; the function of the lowest is traced. */
static int name_rank(enum role role, const char *name)
{
	const char *const *names = catalog_roles[role].names;
	int i = 0;

	while (!catalog_name_matches(name, names[i]))
		i++;
	/* The compiler may split a function: both the exact name and NAME.part.0 can exist. */
	return 2 * i + (strcmp(name, names[i]) ? 1 : 0);
}

/* Adds for each role the function whose name is first in the catalog, with all its parts. */
static int add_role_functions(struct plan *plan, const struct plan_offer *offer)
{
	int best[ROLE_COUNT]; /* name_rank() */
	char *const *name;
	int ret = 0;

	for (int role = 0; role < ROLE_COUNT; role++)
		best[role] = INT_MAX;
	for (name = offer->functions; name && *name; name++) {
		enum role role = catalog_role_of(*name);

		if (role != ROLE_NONE && name_rank(role, *name) < best[role])
			best[role] = name_rank(role, *name);
	}
	for (name = offer->functions; name && *name && !ret; name++) {
		enum role role = catalog_role_of(*name);

		if (role != ROLE_NONE && !(plan->left_out & ROLE_BIT(role)) &&
		    name_rank(role, *name) == best[role])
			ret = add_function(plan, *name, role);
	}
	return ret;
}

static int add_requested_function(struct plan *plan, const char *setting, const char *pattern,
				  const struct plan_offer *offer, struct failure *failure)
{
	int ret = 0, matches = 0;

	if (plan->left_out == PLAN_ALL_ROLES)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s %s: function-graph = no traces no function", setting,
				   pattern);
	if (!offer->function_graph)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "%s %s: this kernel has no function_graph tracer", setting,
				   pattern);
	for (char *const *name = offer->functions; name && *name && !ret; name++) {
		if (fnmatch(pattern, *name, 0))
			continue;
		matches++;
		ret = add_function(plan, *name, catalog_role_of(*name));
	}
	if (ret == -E2BIG)
		return failure_set(failure, EXIT_STATUS_USAGE, E2BIG,
				   "%s %s: more than %d functions in all, use a narrower pattern",
				   setting, pattern, PLAN_FUNCTIONS_MAX);
	if (ret)
		return failure_no_memory(failure);
	if (!matches)
		return failure_set(
			failure, EXIT_STATUS_USAGE, ENOENT,
			"%s %s: no such function can be traced here (see available_filter_functions)",
			setting, pattern);
	return 0;
}

static int add_event(struct plan *plan, const char *system, const char *name, enum event_id id)
{
	struct plan_event *event = &plan->events[plan->nr_events];

	if (plan->nr_events == PLAN_EVENTS_MAX)
		return -E2BIG;
	event->system = strdup(system);
	event->name = strdup(name);
	event->id = id;
	event->partner = -1;
	event->rule = RULE_ANY_WINDOW;
	plan->nr_events++;
	return event->system && event->name ? 0 : -ENOMEM;
}

/* The functions and the catalog's events of the plan are complete by now. */
static void set_rule(struct plan *plan, struct plan_event *event)
{
	const struct catalog_event *catalog = &catalog_events[event->id];

	event->side = catalog->side;
	event->repeats = catalog->repeats;
	event->owners = catalog->owners;
	if (catalog->needs != ROLE_NONE && !(plan->roles & ROLE_BIT(catalog->needs)))
		event->owners |= catalog->owners_without;
	event->owners &= plan->function_graph ? plan->roles : 0;
	if (catalog->side != EVENT_SINGLE)
		event->partner = plan_event_of(plan, catalog->partner);
	if (catalog->children)
		event->rule = RULE_CHILDREN;
	else if (catalog->off_cpu)
		event->rule = RULE_OFF_CPU;
	else if (event->owners)
		event->rule = RULE_OWNER;
	else if (catalog->side != EVENT_SINGLE)
		event->rule = event->partner >= 0 ? RULE_PAIR : RULE_NEVER;
	else
		event->rule =
			catalog->any_window && plan->function_graph ? RULE_ANY_WINDOW : RULE_NEVER;
}

static struct plan_event *find_event(struct plan *plan, const char *system, const char *name)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (!strcmp(plan->events[i].system, system) && !strcmp(plan->events[i].name, name))
			return &plan->events[i];
	return NULL;
}

/* One scheduler event without the other tells nothing. */
static bool offers_off_cpu(const struct plan_offer *offer)
{
	for (int id = 0; id < EVENT_COUNT; id++)
		if (catalog_events[id].off_cpu &&
		    !offer->has_event(offer->context, catalog_events[id].system,
				      catalog_events[id].name))
			return false;
	return true;
}

static int add_requested_event(struct plan *plan, const char *setting, const char *event,
			       const struct plan_offer *offer, struct failure *failure)
{
	char *system = strdup(event), *name = system;
	struct plan_event *known = NULL;
	int ret = -ENOMEM;

	if (system) {
		strsep(&name, ":");
		known = name ? find_event(plan, system, name) : NULL;
		/* -e shows even an event that the run traces for itself. */
		if (known && (known->rule == RULE_CHILDREN || known->rule == RULE_OFF_CPU))
			known->rule = RULE_ANY_WINDOW;
		if (!name)
			ret = -ENOENT;
		else if (known)
			ret = 0;
		else if (!offer->has_event(offer->context, system, name))
			ret = -ENOENT;
		else
			ret = add_event(plan, system, name, EVENT_USER);
		free(system);
	}
	if (ret == -ENOENT)
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "%s %s: there is no such event (see available_events)", setting,
				   event);
	if (ret == -E2BIG)
		return failure_set(failure, EXIT_STATUS_USAGE, E2BIG, "%s %s: more than %d events",
				   setting, event, PLAN_EVENTS_MAX);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s %s: %m", setting,
				   event);
	return 0;
}

/* kmem:mm_page_alloc_zone_locked has percpu_refill from 5.19 on. */
static int add_histograms(struct plan *plan, const struct plan_request *request,
			  const struct plan_offer *offer, struct failure *failure)
{
	const unsigned int needed = HISTOGRAM_BIT(HISTOGRAM_KMALLOC) |
				    HISTOGRAM_BIT(HISTOGRAM_PAGES) |
				    HISTOGRAM_BIT(HISTOGRAM_FORKS) | HISTOGRAM_BIT(HISTOGRAM_EXITS);

	if (!offer->histograms)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "this kernel has no histogram triggers: it was built without "
				   "CONFIG_HIST_TRIGGERS");
	for (int id = 0; id < HISTOGRAM_COUNT; id++) {
		const struct catalog_histogram *known = &catalog_histograms[id];

		if (offer->has_event(offer->context, known->system, known->event) &&
		    (id != HISTOGRAM_REFILLS || offer->has_field(offer->context, known->system,
								 known->event, "percpu_refill")))
			plan->histograms |= HISTOGRAM_BIT(id);
		else if (needed & HISTOGRAM_BIT(id))
			return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
					   "this kernel has no event %s:%s", known->system,
					   known->event);
	}
	plan->sites_by_task = request->sites_by_task;
	plan->cache_names = offer->has_field(offer->context, "kmem", "kmem_cache_alloc", "name");
	return 0;
}

static int fill_plan(struct plan *plan, const struct plan_request *request,
		     const struct plan_offer *offer, struct failure *failure)
{
	const char *function = request->function_setting ? request->function_setting : "-F";
	const char *event = request->event_setting ? request->event_setting : "-e";
	int ret = offer->function_graph ? add_role_functions(plan, offer) : 0;
	bool off_cpu = request->off_cpu && offers_off_cpu(offer), has_pair = false;

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "list of functions: %m");
	for (int i = 0; !ret && request->functions && request->functions[i]; i++)
		ret = add_requested_function(plan, function, request->functions[i], offer, failure);
	if (ret)
		return ret;
	plan->function_graph = plan->nr_functions;
	for (int id = 0; !ret && id < EVENT_COUNT; id++) {
		const struct catalog_event *known = &catalog_events[id];

		if ((known->children && !request->children && id != EVENT_OOM_VICTIM) ||
		    (known->off_cpu && !off_cpu))
			continue;
		if (offer->has_event(offer->context, known->system, known->name))
			ret = add_event(plan, known->system, known->name, id);
	}
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%m");
	for (int i = 0; i < plan->nr_events; i++) {
		set_rule(plan, &plan->events[i]);
		has_pair |= plan->events[i].rule == RULE_PAIR;
	}
	if (!plan->function_graph && !has_pair)
		return failure_set(
			failure, EXIT_STATUS_NO_FEATURE, ENOENT,
			"this kernel has %s the vmscan and compaction events",
			plan->left_out == PLAN_ALL_ROLES ?
				"none of" :
				"neither function_graph (CONFIG_FUNCTION_GRAPH_TRACER) nor");
	for (int i = 0; !ret && request->events && request->events[i]; i++)
		ret = add_requested_event(plan, event, request->events[i], offer, failure);
	return ret || !request->account ? ret : add_histograms(plan, request, offer, failure);
}

int plan_make(struct plan **ret_plan, const struct plan_request *request,
	      const struct plan_offer *offer, struct failure *failure)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int ret;

	if (!plan)
		return failure_no_memory(failure);
	plan->threshold = request->threshold;
	plan->left_out = request->leave_out;
	ret = fill_plan(plan, request, offer, failure);
	if (ret)
		plan_free(plan);
	else
		*ret_plan = plan;
	return ret;
}

void plan_trace_functions(struct plan *plan, bool on)
{
	plan->function_graph = on && plan->nr_functions;
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].id != EVENT_USER &&
		    !(catalog_events[plan->events[i].id].children ||
		      catalog_events[plan->events[i].id].off_cpu))
			set_rule(plan, &plan->events[i]);
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

bool plan_role_unavailable(const struct plan *plan, enum role role)
{
	enum role substitute = catalog_roles[role].substitute;

	if (!catalog_roles[role].names[0] || !plan->nr_functions ||
	    ((plan->roles | plan->left_out) & ROLE_BIT(role)))
		return false;
	return substitute == ROLE_NONE || !(plan->roles & ROLE_BIT(substitute));
}

enum phase_part plan_part(const struct plan *plan, enum role role)
{
	if (role == ROLE_LRUVEC && !(plan->roles & ROLE_BIT(ROLE_INACTIVE_LIST)))
		return PART_INACTIVE_LIST;
	return catalog_roles[role].part;
}

bool plan_off_cpu(const struct plan *plan)
{
	return plan_event_of(plan, EVENT_SCHED_SWITCH) >= 0;
}

bool plan_has_waits(const struct plan *plan)
{
	int event = plan_event_of(plan, EVENT_WAIT_BEGIN);

	return event >= 0 && plan->events[event].rule == RULE_PAIR;
}

bool plan_has_refaults(const struct plan *plan)
{
	int event = plan_event_of(plan, EVENT_REFAULT);

	return event >= 0 && plan->events[event].rule == RULE_OWNER;
}

bool plan_drop_event(struct plan *plan, enum event_id id)
{
	int event = plan_event_of(plan, id);

	if (event < 0 || plan->events[event].rule == RULE_NEVER)
		return false;
	plan->events[event].rule = RULE_NEVER;
	return true;
}

int plan_event_of(const struct plan *plan, enum event_id id)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].id == id)
			return i;
	return -1;
}

bool plan_can_spare(const struct plan *plan, const struct plan_event *event)
{
	if (event->id == EVENT_USER)
		return true;
	if (event->rule == RULE_NEVER || catalog_events[event->id].children)
		return false;
	/*
	 * No function tells the time of a pair, except shrink_slab() that of slab pairs, which are
	 * inside of memory waits, too.
	 */
	return event->rule != RULE_PAIR ||
	       (catalog_pair_role(event->id) == ROLE_SHRINKER &&
		(plan->roles & ROLE_BIT(ROLE_SLAB) || plan_event_of(plan, EVENT_WAIT_BEGIN) >= 0));
}
