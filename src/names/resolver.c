// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"

struct resolver {
	const struct plan *plan;
	const struct data_source *source;
	struct symbols *symbols;
	struct names *names;
	struct who *who;
	struct cgroups *cgroups;
	struct shrinker_names *shrinkers;
	struct stacks *stacks; /* NULL: not kept */
	struct decode *decode;
	struct clock_anchor clock;
};

static int is_wanted_symbol(void *context, const char *name)
{
	const struct resolver *resolver = context;

	return plan_likely_symbol(resolver->plan, name);
}

int resolver_role(void *context, uint64_t function)
{
	struct resolver *resolver = context;
	const struct symbol *symbol = symbols_find(resolver->symbols, function);

	return symbol ? catalog_role_of(symbol->name) : ROLE_NONE;
}

int resolver_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct resolver *resolver = context;

	return symbols_text(resolver->symbols, address, style, text, size);
}

const char *resolver_task_name(struct resolver *resolver, int pid, uint64_t ts)
{
	return names_of(resolver->names, pid, ts);
}

size_t resolver_event(struct resolver *resolver, const struct record *record, char *text,
		      size_t size)
{
	return decode_text(resolver->decode, record, text, size);
}

const struct task_info *resolver_task(struct resolver *resolver, int pid, uint64_t ts)
{
	return who_of(resolver->who, pid, ts);
}

bool resolver_time(const struct resolver *resolver, uint64_t ts, char *text)
{
	return clock_text(&resolver->clock, ts, text);
}

const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker)
{
	return shrinker_names_of(resolver->shrinkers, shrinker);
}

void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size)
{
	const char *label = resolver_shrinker_label(resolver, shrinker);
	size_t used;

	resolver_symbol(resolver, callback, 's', text, size);
	used = strlen(text);
	if (label)
		snprintf(text + used, size - used, "[%s]", label);
}

size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames)
{
	size_t count = resolver->stacks ? stacks_of(resolver->stacks, number, ret_frames) : 0;

	if (count)
		symbols_look_up(resolver->symbols, *ret_frames, count);
	return count;
}

/* From 5.15 the kernel's text has a column for migration being off. */
bool resolver_migrate_column(const struct resolver *resolver)
{
	const char *release = resolver->source->release;
	int major, minor;

	if (!release || sscanf(release, "%d.%d", &major, &minor) != 2)
		return true;
	return major > 5 || (major == 5 && minor >= 15);
}

static bool make_tables(struct resolver *resolver, const struct options *options)
{
	const struct data_source *source = resolver->source;
	const char *mounts = source->proc ? "/proc/self/mounts" : NULL;
	const struct shrinker_names_setup shrinkers = {
		.mounts = source->mounts,
		.symbol = resolver_symbol,
		.context = resolver,
	};
	char saved[PATH_MAX];
	char tasks[PATH_MAX];
	char cgroups[PATH_MAX];

	snprintf(saved, sizeof(saved), "%s/saved_cmdlines", source->names_dir);
	snprintf(tasks, sizeof(tasks), "%s/tasks", source->dir);
	snprintf(cgroups, sizeof(cgroups), "%s/cgroups", source->dir);
	resolver->symbols = symbols_new(source->symbols, is_wanted_symbol, resolver);
	resolver->names = names_new(source->proc, saved, options->limits.names);
	resolver->who = who_new(source->proc, source->proc ? NULL : tasks);
	resolver->cgroups =
		cgroups_new(mounts, source->proc ? NULL : cgroups, options->limits.cgroups);
	resolver->shrinkers = shrinker_names_new(&shrinkers);
	if (options->stack)
		resolver->stacks = stacks_new();
	return resolver->symbols && resolver->names && resolver->who && resolver->cgroups &&
	       resolver->shrinkers && (!options->stack || resolver->stacks);
}

/* Live, a function without a name would have no role, and nothing would be shown with it. */
static int check_symbols(const struct resolver *resolver, struct failure *failure)
{
	int ret = symbols_readable(resolver->symbols);

	if (!ret)
		return 0;
	if (resolver->source->proc)
		return failure_set(
			failure, EXIT_STATUS_NO_TRACEFS, EPERM,
			"%s shows no addresses: it takes CAP_SYSLOG and sysctl kernel.kptr_restrict below 2",
			resolver->source->symbols);
	log_warning("%s: %s: functions have no names, so no event finds its owner",
		    resolver->source->symbols, strerror(-ret));
	return 0;
}

int resolver_new(struct resolver **ret_resolver, const struct plan *plan,
		 const struct data_source *source, const struct options *options,
		 struct failure *failure)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int ret;

	if (!resolver)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	resolver->plan = plan;
	resolver->source = source;
	tzset(); /* or the first time of day would allocate what it does */
	if (make_tables(resolver, options))
		ret = check_symbols(resolver, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	if (ret) {
		resolver_free(resolver);
		return ret;
	}
	*ret_resolver = resolver;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	stacks_free(resolver->stacks);
	shrinker_names_free(resolver->shrinkers);
	cgroups_free(resolver->cgroups);
	who_free(resolver->who);
	names_free(resolver->names);
	symbols_free(resolver->symbols);
	free(resolver);
}

void resolver_set_decode(struct resolver *resolver, struct decode *decode)
{
	resolver->decode = decode;
}

/* A window is a slow run, so these are few, and it is they whose process and cgroup are shown. */
void resolver_see(struct resolver *resolver, const struct record *record)
{
	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT)
		names_see(resolver->names, record->pid, record->ts);
	if (record->kind == RECORD_WINDOW)
		who_see(resolver->who, record->pid, record->ts);
}

void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime)
{
	clock_mark(&resolver->clock, ts, realtime);
}

const char *resolver_memcg(struct resolver *resolver, uint64_t memcg_id)
{
	return cgroups_path(resolver->cgroups, memcg_id);
}

struct stacks *resolver_stacks(const struct resolver *resolver)
{
	return resolver->stacks;
}

void resolver_see_superblock(struct resolver *resolver, const struct record *record)
{
	shrinker_names_see(resolver->shrinkers, record);
}

struct shrinker_names *resolver_superblocks(const struct resolver *resolver)
{
	return resolver->shrinkers;
}

/* What made room is read again where it is still there, so most of it was not missed. */
size_t resolver_overflows(const struct resolver *resolver, struct overflow *overflows)
{
	overflows[0] = (struct overflow){ "names", "names of tasks made room for newer ones",
					  names_evicted(resolver->names), true };
	overflows[1] = (struct overflow){ "names_missed",
					  "times the name of a task may have been forgotten",
					  names_missed(resolver->names) };
	overflows[2] = (struct overflow){ "cgroups", "paths of cgroups made room for newer ones",
					  cgroups_evicted(resolver->cgroups), true };
	overflows[3] = (struct overflow){ "cgroups_missed",
					  "times the path of a cgroup may have been forgotten",
					  cgroups_missed(resolver->cgroups) };
	overflows[4] =
		(struct overflow){ "processes", "processes of tasks made room for newer ones",
				   who_evicted(resolver->who), true };
	overflows[5] = (struct overflow){ "processes_missed",
					  "times the process of a task may have been forgotten",
					  who_missed(resolver->who) };
	return RESOLVER_OVERFLOWS;
}

uint64_t resolver_address(const struct resolver *resolver, const char *function)
{
	return symbols_address(resolver->symbols, function);
}
