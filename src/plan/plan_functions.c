// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "plan/plan_parts.h"

/* How well a function's name suits a role: the place in the role's list, an exact name before one
 * with a compiler suffix; both can exist where the compiler split a function. */
static int name_rank(const char *const *names, size_t count, const char *function)
{
	for (size_t i = 0; i < count && names[i]; i++) {
		if (!strcmp(function, names[i]))
			return 2 * i;
		if (catalog_name_matches(function, names[i]))
			return 2 * i + 1;
	}
	return INT_MAX;
}

struct role_choice {
	struct plan *plan;
	int best[ROLE_COUNT];
};

static int role_rank(const struct role_choice *choice, int role, const char *function)
{
	if (choice->plan->left_out & ROLE_BIT(role))
		return INT_MAX;
	return name_rank(catalog_roles[role].names, CATALOG_NAMES_MAX, function);
}

const struct plan_function *plan_functions_find(const struct plan *plan, const char *name)
{
	for (int i = 0; i < plan->nr_functions; i++)
		/* Each of the kernel's symbols comes by here. */
		if (plan->functions[i].name[0] == name[0] && !strcmp(plan->functions[i].name, name))
			return &plan->functions[i];
	return NULL;
}

static int add_function(struct plan *plan, const char *name, int role)
{
	struct plan_function *function;

	if (plan_functions_find(plan, name))
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
		int rank = role_rank(choice, role, name);

		if (rank < choice->best[role])
			choice->best[role] = rank;
	}
	return 0;
}

static int take_best(void *visitor, const char *name)
{
	struct role_choice *choice = visitor;
	int ret = 0;

	for (int role = 0; !ret && role < ROLE_COUNT; role++) {
		int rank = role_rank(choice, role, name);

		if (rank != INT_MAX && rank == choice->best[role])
			ret = add_function(choice->plan, name, role);
	}
	return ret;
}

int plan_functions_choose(struct plan *plan, const struct plan_offer *offer)
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
	return add_function(match->plan, name, catalog_role_of(name));
}

const char *plan_functions_said(const struct plan_request *request)
{
	return request->functions_said ? request->functions_said : "-F";
}

static int add_asked_function(struct plan *plan, const char *said, const char *pattern,
			      const struct plan_offer *offer, struct failure *failure)
{
	struct pattern_match match = { .plan = plan, .pattern = pattern };
	int ret = offer->functions(offer->context, take_match, &match);

	if (ret == -E2BIG)
		return failure_set(failure, EXIT_STATUS_USAGE, E2BIG,
				   "%s %s: more than %d functions in all, use a narrower pattern",
				   said, pattern, PLAN_FUNCTIONS_MAX);
	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s %s: list of functions: %s", said, pattern, strerror(-ret));
	if (!match.matches)
		return failure_set(
			failure, EXIT_STATUS_USAGE, ENOENT,
			"%s %s: no such function can be traced here (see available_filter_functions)",
			said, pattern);
	return 0;
}

int plan_functions_ask(struct plan *plan, const struct plan_request *request,
		       const struct plan_offer *offer, struct failure *failure)
{
	const char *said = plan_functions_said(request);

	for (int i = 0; request->functions && request->functions[i]; i++) {
		int ret = add_asked_function(plan, said, request->functions[i], offer, failure);

		if (ret)
			return ret;
	}
	return 0;
}
