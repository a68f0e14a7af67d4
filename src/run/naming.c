// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocfilt/cgroups.h"
#include "allocfilt/clock.h"
#include "allocfilt/log.h"
#include "allocfilt/names.h"
#include "allocfilt/naming.h"
#include "allocfilt/symbols.h"
#include "allocfilt/who.h"

struct naming {
	struct naming_setup setup;
	struct symbols *symbols;
	struct names *names;
	struct who *who;
	struct cgroups *cgroups;
	struct shrinker_names *shrinkers;
	struct stacks *stacks;		/* NULL: not kept */
	struct decode *decode;
	struct clock_anchor clock;
	struct namer namer;
};

static int is_wanted_symbol(void *context, const char *name)
{
	const struct naming *naming = context;

	return plan_likely_symbol(naming->setup.plan, name);
}

int naming_role(void *context, uint64_t function)
{
	struct naming *naming = context;
	const struct symbol *symbol = symbols_find(naming->symbols, function);

	return symbol ? plan_role_of(naming->setup.plan, symbol->name) : ROLE_NONE;
}

int naming_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct naming *naming = context;

	return symbols_text(naming->symbols, address, style, text, size);
}

static const char *task_name(void *context, int pid, uint64_t ts)
{
	struct naming *naming = context;

	return names_of(naming->names, pid, ts);
}

static size_t event_text(void *context, const struct record *record, char *text, size_t size)
{
	struct naming *naming = context;

	return decode_text(naming->decode, record, text, size);
}

static const struct who_task *task_who(void *context, int pid, uint64_t ts)
{
	struct naming *naming = context;

	return who_of(naming->who, pid, ts);
}

static bool time_text(void *context, uint64_t ts, char *text)
{
	const struct naming *naming = context;

	return clock_text(&naming->clock, ts, text);
}

static const char *shrinker_of(void *context, uint64_t shrinker)
{
	struct naming *naming = context;

	return shrinker_names_of(naming->shrinkers, shrinker);
}

static size_t stack_frames(void *context, uint32_t number, const uint64_t **ret_frames)
{
	struct naming *naming = context;
	size_t count = naming->stacks ? stacks_of(naming->stacks, number, ret_frames) : 0;

	if (count)
		symbols_look_up(naming->symbols, *ret_frames, count);
	return count;
}

static const char *role_title(void *context, int role)
{
	const struct naming *naming = context;

	return plan_role_title(naming->setup.plan, role);
}

/* From 5.15 the kernel's text has a column for migration being off. */
static bool has_migrate_column(const char *release)
{
	int major, minor;

	if (!release || sscanf(release, "%d.%d", &major, &minor) != 2)
		return true;
	return major > 5 || (major == 5 && minor >= 15);
}

static void make_namer(struct naming *naming)
{
	naming->namer = (struct namer){
		.task = task_name,
		.symbol = naming_symbol,
		.event = event_text,
		.who = task_who,
		.time = time_text,
		.shrinker = shrinker_of,
		.stack = stack_frames,
		.role = role_title,
		.migrate_column = has_migrate_column(naming->setup.release),
		.context = naming,
	};
}

static bool make_tables(struct naming *naming)
{
	const struct naming_setup *setup = &naming->setup;
	const char *mounts = setup->proc ? "/proc/self/mounts" : NULL;
	const struct shrinker_names_setup shrinkers = {
		.mounts = setup->mounts, .symbol = naming_symbol, .context = naming,
	};
	char saved[PATH_MAX];
	char tasks[PATH_MAX];
	char cgroups[PATH_MAX];

	snprintf(saved, sizeof(saved), "%s/saved_cmdlines", setup->names_dir);
	snprintf(tasks, sizeof(tasks), "%s/tasks", setup->dir);
	snprintf(cgroups, sizeof(cgroups), "%s/cgroups", setup->dir);
	naming->symbols = symbols_new(setup->symbols, is_wanted_symbol, naming);
	naming->names = names_new(setup->proc, saved, setup->names);
	naming->who = who_new(setup->proc, setup->proc ? NULL : tasks);
	naming->cgroups = cgroups_new(mounts, setup->proc ? NULL : cgroups, setup->cgroups);
	naming->shrinkers = shrinker_names_new(&shrinkers);
	if (setup->stack)
		naming->stacks = stacks_new();
	return naming->symbols && naming->names && naming->who && naming->cgroups &&
	       naming->shrinkers && (!setup->stack || naming->stacks);
}

/* Live, a function without a name would have no role, and nothing would be shown with it. */
static int check_symbols(const struct naming *naming, struct failure *failure)
{
	int ret = symbols_readable(naming->symbols);

	if (!ret)
		return 0;
	if (naming->setup.proc)
		return failure_set(failure, EXIT_STATUS_NO_TRACEFS, EPERM,
				   "%s shows no addresses: it takes CAP_SYSLOG and sysctl kernel.kptr_restrict below 2",
				   naming->setup.symbols);
	log_warning("%s: %s: functions have no names, so no event finds its owner",
		    naming->setup.symbols, strerror(-ret));
	return 0;
}

int naming_new(struct naming **ret_naming, const struct naming_setup *setup,
	       struct failure *failure)
{
	struct naming *naming = calloc(1, sizeof(*naming));
	int ret;

	if (!naming)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	naming->setup = *setup;
	tzset();	/* or the first time of day would allocate what it does */
	make_namer(naming);
	if (make_tables(naming))
		ret = check_symbols(naming, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	if (ret) {
		naming_free(naming);
		return ret;
	}
	*ret_naming = naming;
	return 0;
}

void naming_free(struct naming *naming)
{
	if (!naming)
		return;
	stacks_free(naming->stacks);
	shrinker_names_free(naming->shrinkers);
	cgroups_free(naming->cgroups);
	who_free(naming->who);
	names_free(naming->names);
	symbols_free(naming->symbols);
	free(naming);
}

void naming_set_decode(struct naming *naming, struct decode *decode)
{
	naming->decode = decode;
}

const struct namer *naming_namer(const struct naming *naming)
{
	return &naming->namer;
}

/* A window is a slow run, so these are few, and it is they whose process and cgroup are shown. */
void naming_see(struct naming *naming, const struct record *record)
{
	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT)
		names_see(naming->names, record->pid, record->ts);
	if (record->kind == RECORD_WINDOW)
		who_see(naming->who, record->pid, record->ts);
}

void naming_mark(struct naming *naming, uint64_t ts, uint64_t realtime)
{
	clock_mark(&naming->clock, ts, realtime);
}

const char *naming_memcg(struct naming *naming, uint64_t memcg_id)
{
	return cgroups_path(naming->cgroups, memcg_id);
}

struct stacks *naming_stacks(const struct naming *naming)
{
	return naming->stacks;
}

void naming_superblock(struct naming *naming, const struct record *record)
{
	shrinker_names_see(naming->shrinkers, record);
}

struct shrinker_names *naming_shrinkers(const struct naming *naming)
{
	return naming->shrinkers;
}

/* What made room is read again where it is still there, so most of it was not missed. */
size_t naming_overflows(const struct naming *naming, struct overflow *overflows)
{
	overflows[0] = (struct overflow){ "names", "names of tasks made room for newer ones",
					  names_evicted(naming->names), true };
	overflows[1] = (struct overflow){ "names_missed",
					  "times the name of a task may have been forgotten",
					  names_missed(naming->names) };
	overflows[2] = (struct overflow){ "cgroups", "paths of cgroups made room for newer ones",
					  cgroups_evicted(naming->cgroups), true };
	overflows[3] = (struct overflow){ "cgroups_missed",
					  "times the path of a cgroup may have been forgotten",
					  cgroups_missed(naming->cgroups) };
	overflows[4] = (struct overflow){ "processes",
					  "processes of tasks made room for newer ones",
					  who_evicted(naming->who), true };
	overflows[5] = (struct overflow){ "processes_missed",
					  "times the process of a task may have been forgotten",
					  who_missed(naming->who) };
	return NAMING_OVERFLOWS;
}

uint64_t naming_address(const struct naming *naming, const char *function)
{
	return symbols_address(naming->symbols, function);
}
