// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "plan/plan_parts.h"

static int add_event(struct plan *plan, const char *system, size_t system_length, const char *name,
		     enum event_id id)
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

int plan_events_add_catalog(struct plan *plan, const struct plan_offer *offer)
{
	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];
		int ret;

		if (!offer->has_event(offer->context, event->system, event->name))
			continue;
		ret = add_event(plan, event->system, strlen(event->system), event->name, id);
		if (ret)
			return ret;
	}
	return 0;
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

void plan_events_set_rules(struct plan *plan)
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

static struct plan_event *find_event(struct plan *plan, const char *system, size_t system_length,
				     const char *name)
{
	for (int i = 0; i < plan->nr_events; i++) {
		struct plan_event *event = &plan->events[i];

		if (!strncmp(event->system, system, system_length) &&
		    !event->system[system_length] && !strcmp(event->name, name))
			return event;
	}
	return NULL;
}

static bool offer_has_event(const struct plan_offer *offer, const char *system, size_t length,
			    const char *name)
{
	char *copy = strndup(system, length);
	bool has = copy && offer->has_event(offer->context, copy, name);

	free(copy);
	return has;
}

static int add_asked_event(struct plan *plan, const char *said, const char *asked,
			   const struct plan_offer *offer, struct failure *failure)
{
	const char *colon = strchr(asked, ':');
	struct plan_event *event;
	size_t length;
	int ret;

	if (!colon || colon == asked || !colon[1] || strchr(asked, '/'))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "%s %s: not of the form SYSTEM:NAME", said, asked);
	length = colon - asked;
	event = find_event(plan, asked, length, colon + 1);
	if (event)
		return 0;
	if (!offer_has_event(offer, asked, length, colon + 1))
		return failure_set(failure, EXIT_STATUS_USAGE, ENOENT,
				   "%s %s: there is no such event here (see available_events)",
				   said, asked);
	ret = add_event(plan, asked, length, colon + 1, EVENT_USER);
	if (ret)
		return failure_set(failure, EXIT_STATUS_USAGE, -ret, "%s %s: more than %d events",
				   said, asked, PLAN_EVENTS_MAX);
	plan->events[plan->nr_events - 1].rule = RULE_ANY_WINDOW;
	return 0;
}

int plan_events_ask(struct plan *plan, const struct plan_request *request,
		    const struct plan_offer *offer, struct failure *failure)
{
	const char *said = request->events_said ? request->events_said : "-e";

	for (int i = 0; request->events && request->events[i]; i++) {
		int ret = add_asked_event(plan, said, request->events[i], offer, failure);

		if (ret)
			return ret;
	}
	return 0;
}

bool plan_events_have_pair(const struct plan *plan)
{
	for (int i = 0; i < plan->nr_events; i++)
		if (plan->events[i].rule == RULE_PAIR)
			return true;
	return false;
}
