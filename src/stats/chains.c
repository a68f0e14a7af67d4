// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/stats/chains.h"

#define STALL_STEPS 640 /* of one stall, about: with its stack and its shrinkers */
#define TASKS_LEAST 64	/* that keep steps of their own, before chains are cut */

struct chains {
	size_t room; /* for steps */
	uint64_t dropped;
	struct hash hash;
	struct chain_step root;
	struct chain_step steps[];
};

struct chains *chains_new(size_t most)
{
	struct chains *chains = calloc(1, sizeof(*chains) + most * sizeof(chains->steps[0]));

	if (!chains)
		return NULL;
	chains->room = most - 1; /* but for the root */
	if (!hash_init(&chains->hash, &chains->steps[0].link, sizeof(chains->steps[0]),
		       chains->room))
		return chains;
	chains_free(chains);
	return NULL;
}

void chains_free(struct chains *chains)
{
	if (chains)
		hash_destroy(&chains->hash);
	free(chains);
}

/* Returns NULL where there is nothing to add, or no room: then there is nothing below it either. */
static struct chain_step *add_chain_step(struct chains *chains, struct chain_step *above,
					 const char *name, uint64_t ns)
{
	char text[CHAIN_NAME_MAX];
	struct hash_link *link;
	struct chain_step *step;
	uint64_t key;

	if (!above || !ns)
		return NULL;
	snprintf(text, sizeof(text), "%s", name);
	key = hash_text(text) ^ (uintptr_t)above;
	link = hash_peek(&chains->hash, key);
	if (!link && !chains->room) {
		chains->dropped++;
		return NULL;
	}
	step = container_of(link ? link : hash_insert(&chains->hash, key), struct chain_step, link);
	if (!link) {
		chains->room--;
		strcpy(step->name, text);
		step->ns = 0;
		step->below = NULL;
		step->next = above->below;
		above->below = step;
	}
	add_ns(&step->ns, ns);
	return step;
}

/* The room of each step that is moved is there for the one that takes its time. */
static void move_steps(struct chains *chains, struct chain_step *step, struct chain_step *above)
{
	while (step) {
		struct chain_step moved = *step;

		hash_remove(&chains->hash, &step->link);
		chains->room++;
		move_steps(chains, moved.below,
			   add_chain_step(chains, above, moved.name, moved.ns));
		step = moved.next;
	}
}

/* Counts the tasks with no more than the average as one, so that the others have room. */
static void fold_tasks(struct chains *chains)
{
	struct chain_step **at, *folded = NULL;
	uint64_t count = 0;

	for (struct chain_step *step = chains->root.below; step; step = step->next)
		count++;
	if (count < TASKS_LEAST)
		return;
	for (at = &chains->root.below; *at;) {
		struct chain_step *step = *at;

		if (step->ns > chains->root.ns / count) {
			at = &step->next;
			continue;
		}
		*at = step->next;
		step->next = folded;
		folded = step;
		chains->dropped += strcmp(step->name, CHAIN_OTHERS) != 0;
		strcpy(step->name, CHAIN_OTHERS);
	}
	move_steps(chains, folded, &chains->root);
}

/* A state of the task is a step below all others. */
static void add_chain_states(struct chains *chains, struct chain_step *above,
			     const uint64_t ns[PHASE_STATES])
{
	for (int state = 0; state < STATE_UNKNOWN; state++)
		add_chain_step(chains, above, phase_state_names[state].title, ns[state]);
}

static void add_chain_shrinkers(struct chains *chains, struct chain_step *slab,
				enum phase_group group, const struct named_stall *named)
{
	const struct stall *stall = named->stall;

	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &stall->shrinkers[i];
		char name[CHAIN_NAME_MAX];

		if (shrinker->group != group)
			continue;
		resolver_shrinker(named->resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		add_chain_states(chains, add_chain_step(chains, slab, name, shrinker->ns),
				 shrinker->in);
	}
}

/* The task and the callers of the function, the outermost first. */
static struct chain_step *add_callers(struct chains *chains, const struct named_stall *named,
				      uint64_t ns)
{
	bool is_task = !task_key_in_interrupt(named->stall->key);
	struct chain_step *step =
		add_chain_step(chains, &chains->root, is_task ? named->name : "(interrupt)", ns);
	char text[STALL_FUNCTION_MAX];
	const char *function = stall_function(named, text);
	const uint64_t *frames;
	size_t count = resolver_stack(named->resolver, named->stall->stack, &frames);

	while (count--) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(named->resolver, frames[count], 's', name, sizeof(name));
		if (!strcmp(name, function))
			break;
		step = add_chain_step(chains, step, name, ns);
	}
	return step;
}

void chains_stall(struct chains *chains, const struct named_stall *named, bool callers)
{
	const struct stall *stall = named->stall;
	const char *title = catalog_role_title(stall->role);
	const struct phases *phases = &stall->phases;
	uint64_t whole = phases_total(phases);
	struct chain_step *above = &chains->root;
	char function[STALL_FUNCTION_MAX];

	if (chains->room < STALL_STEPS)
		fold_tasks(chains);
	add_ns(&above->ns, whole);
	if (callers)
		above = add_callers(chains, named, whole);
	above = add_chain_step(chains, above,
			       title && !callers ? title : stall_function(named, function), whole);
	PHASES_FOREACH(group, phases) {
		struct chain_step *step = add_chain_step(
			chains, above, phase_group_names[group].title, phases_group(phases, group));

		for (int part = 0; part < phases_parts(group); part++) {
			struct chain_step *below = step;

			if (phases_is_reclaim(group))
				below = add_chain_step(chains, step, phase_part_names[part].title,
						       phases_part(phases, group, part));
			if (part == PART_SHRINKERS)
				add_chain_shrinkers(chains, below, group, named);
			else
				add_chain_states(chains, below, phases->ns[group][part]);
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
	sort_below(&chains->root);
	return &chains->root;
}

uint64_t chains_dropped(const struct chains *chains)
{
	return chains->dropped;
}
