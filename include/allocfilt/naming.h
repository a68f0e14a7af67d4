/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMING_H
#define ALLOCFILT_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "decode.h"
#include "failure.h"
#include "output.h"
#include "plan.h"
#include "record.h"
#include "shrinker_names.h"
#include "stacks.h"
#include "told.h"

/* All names that a run needs: of functions, tasks, processes, cgroups, events, and of times. */

struct naming;

struct naming_setup {
	const struct plan *plan;
	const char *dir;	/* a capture: where its files tasks and cgroups are */
	const char *names_dir;	/* where saved_cmdlines is: at the top level only */
	const char *symbols;	/* path of a text of kallsyms */
	const char *proc;	/* "/proc" for a live run, NULL for a capture */
	const char *mounts;	/* path of a text of mountinfo; NULL: none */
	const char *release;	/* of the kernel that wrote the data, "" or NULL: not known */
	bool stack;		/* keep stacks */
	unsigned int names;	/* of tasks that are kept: names_new() */
	size_t cgroups;		/* paths that are kept: cgroups_new() */
};

/**
 * naming_new - read what can be read before the data
 *
 * Returns 0, or -errno with @failure (3 where kallsyms shows no addresses in a live run, else 1).
 */
int naming_new(struct naming **naming, const struct naming_setup *setup, struct failure *failure);
void naming_free(struct naming *naming);

/** naming_set_decode - who makes the text of an event; it lives as long as events are named */
void naming_set_decode(struct naming *naming, struct decode *decode);

/** naming_namer - for outputs and summary; valid as long as the naming */
const struct namer *naming_namer(const struct naming *naming);

/** naming_role, naming_symbol - for decode: the context is the naming */
int naming_role(void *naming, uint64_t function);
int naming_symbol(void *naming, uint64_t address, char style, char *text, size_t size);

/** naming_see - a record has been read: note its task, which may soon be gone */
void naming_see(struct naming *naming, const struct record *record);

/** naming_mark - a mark of wall-clock time in the data */
void naming_mark(struct naming *naming, uint64_t ts, uint64_t realtime);

/** naming_stacks - where decode puts the frames of stacks; NULL where they are not kept */
struct stacks *naming_stacks(const struct naming *naming);

/** naming_superblock - a record of our probe, in order: whose a shrinker is from now on */
void naming_superblock(struct naming *naming, const struct record *record);

/** naming_shrinkers - names of superblocks */
struct shrinker_names *naming_shrinkers(const struct naming *naming);

/** naming_address - of a function that naming_new() looked for (shrinkers' are); 0: none */
uint64_t naming_address(const struct naming *naming, const char *function);

/* The tables of names that may have been full. */
#define NAMING_OVERFLOWS 6

/** naming_overflows - fills an array of at least NAMING_OVERFLOWS; returns how many */
size_t naming_overflows(const struct naming *naming, struct overflow *overflows);

/** naming_memcg - path of a cgroup by the number that events carry, "" where not known */
const char *naming_memcg(struct naming *naming, uint64_t memcg_id);

#endif
