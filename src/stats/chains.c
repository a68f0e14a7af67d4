// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/stats/chains.h"

struct chains {
	size_t most;
	size_t count;
	uint64_t dropped;
	struct chain_step steps[]; /* the root first */
};

struct chains *chains_new(size_t most)
{
	struct chains *chains = calloc(1, sizeof(*chains) + most * sizeof(chains->steps[0]));

	if (!chains)
		return NULL;
	chains->most = most;
	chains->count = 1;
	return chains;
}

void chains_free(struct chains *chains)
{
	free(chains);
}

static struct chain_step *add_chain_step(struct chains *chains, struct chain_step *above,
					 const char *name, uint64_t ns)
{
	struct chain_step *step;

	if (!above)
		return NULL;
	for (step = above->below; step; step = step->next)
		if (!strncmp(step->name, name, sizeof(step->name) - 1))
			break;
	if (!step) {
		if (chains->count == chains->most) {
			chains->dropped++;
			return NULL;
		}
		step = &chains->steps[chains->count++];
		snprintf(step->name, sizeof(step->name), "%s", name);
		step->next = above->below;
		above->below = step;
	}
	step->ns += ns;
	return step;
}

static void add_chain_shrinkers(struct chains *chains, struct chain_step *slab,
				enum phase_group group, struct resolver *resolver,
				const struct stall *stall)
{
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];
		char name[CHAIN_NAME_MAX];

		if (shrinker->group != group || !shrinker->ns)
			continue;
		resolver_shrinker(resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		add_chain_step(chains, slab, name, shrinker->ns);
	}
}

/* The task and the callers of the function, the outermost first. */
static struct chain_step *add_callers(struct chains *chains, struct resolver *resolver,
				      const struct named_stall *named, uint64_t ns)
{
	struct chain_step *step = add_chain_step(chains, &chains->steps[0], named->name, ns);
	char text[STALL_FUNCTION_MAX];
	const char *function = stall_function(named, text);
	const uint64_t *frames;
	size_t count = resolver_stack(resolver, named->stall->stack, &frames);

	while (count--) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(resolver, frames[count], 's', name, sizeof(name));
		if (!strcmp(name, function))
			break;
		step = add_chain_step(chains, step, name, ns);
	}
	return step;
}

void chains_stall(struct chains *chains, struct resolver *resolver, const struct named_stall *named,
		  bool callers)
{
	const struct stall *stall = named->stall;
	const char *title = catalog_role_title(stall->role);
	uint64_t whole = phases_total(&stall->phases);
	struct chain_step *above = &chains->steps[0];
	char function[STALL_FUNCTION_MAX];

	above->ns += whole;
	if (callers)
		above = add_callers(chains, resolver, named, whole);
	above = add_chain_step(chains, above,
			       title && !callers ? title : stall_function(named, function), whole);
	for (int group = 0; group < PHASE_GROUPS; group++) {
		uint64_t ns = phases_group(&stall->phases, group);
		struct chain_step *step;

		if (!ns)
			continue;
		step = add_chain_step(chains, above, phase_group_names[group].title, ns);
		for (int part = 0; part < PHASE_PARTS; part++) {
			struct chain_step *below = step;

			ns = phases_part(&stall->phases, group, part);
			if (!ns)
				continue;
			if (phases_is_reclaim(group))
				below = add_chain_step(chains, step, phase_part_names[part].title,
						       ns);
			if (part == PART_SHRINKERS) {
				add_chain_shrinkers(chains, below, group, resolver, stall);
				continue;
			}
			for (int state = STATE_RAN + 1; state < PHASE_STATES; state++) {
				ns = stall->phases.ns[group][part][state];
				if (ns)
					add_chain_step(chains, below,
						       phase_state_names[state].title, ns);
			}
		}
	}
}

/* Sorts all steps below @step: most time first, equal times by name. */
static void sort_below(struct chain_step *step)
{
	struct chain_step *unsorted = step->below, *next;

	step->below = NULL;
	for (; unsorted; unsorted = next) {
		struct chain_step **at = &step->below;

		next = unsorted->next;
		sort_below(unsorted);
		while (*at &&
		       ((*at)->ns > unsorted->ns ||
			((*at)->ns == unsorted->ns && strcmp((*at)->name, unsorted->name) < 0)))
			at = &(*at)->next;
		unsorted->next = *at;
		*at = unsorted;
	}
}

const struct chain_step *chains_sorted(struct chains *chains)
{
	sort_below(&chains->steps[0]);
	return &chains->steps[0];
}

uint64_t chains_dropped(const struct chains *chains)
{
	return chains->dropped;
}
