/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_RESOLVER_H
#define FAKE_RESOLVER_H

#include <stdio.h>
#include <string.h>

#include "allocfilt/names/resolver.h"

/*
 * A resolver made of callbacks, for stages that only ask it. The program's own is in a library:
 * the linker takes this one, as it comes first. A callback that is NULL knows nothing.
 */
struct resolver {
	const char *(*task)(void *context, int tid, uint64_t ts);
	int (*symbol)(void *context, uint64_t address, char style, char *text, size_t size);
	size_t (*event)(void *context, const struct record *record, char *text, size_t size);
	uint64_t (*function)(void *context, uint64_t address);
	const struct task_info *(*task_info)(void *context, int tid, uint64_t ts);
	const char *(*shrinker)(void *context, uint64_t shrinker);
	size_t (*stack)(void *context, uint32_t number, const uint64_t **ret_frames);
	bool (*pressure)(void *context, const char *cgroup, uint64_t *ret_ns);
	const char *most_memory; /* it has 400 MiB */
	bool migrate_column;
	bool (*time)(void *context, uint64_t ts, char *text);
	uint64_t realtime; /* of ts 0; 0: not known */
	void *context;
};

const char *resolver_task_name(struct resolver *resolver, int tid, uint64_t ts)
{
	return resolver->task ? resolver->task(resolver->context, tid, ts) : "";
}

int resolver_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct resolver *resolver = context;

	if (!resolver->symbol)
		return snprintf(text, size, "0x%llx", (unsigned long long)address);
	return resolver->symbol(resolver->context, address, style, text, size);
}

/* Its cgroups are the resolver itself. */
struct cgroups *resolver_cgroups(struct resolver *resolver)
{
	return (struct cgroups *)resolver;
}

bool cgroups_pressure(const struct cgroups *cgroups, const char *cgroup, uint64_t *ret_ns)
{
	const struct resolver *resolver = (const struct resolver *)cgroups;

	return resolver->pressure && resolver->pressure(resolver->context, cgroup, ret_ns);
}

const char *cgroups_most_memory(const struct cgroups *cgroups, uint64_t *ret_bytes)
{
	const struct resolver *resolver = (const struct resolver *)cgroups;

	*ret_bytes = resolver->most_memory ? 400 << 20 : 0;
	return resolver->most_memory;
}

/* A field is the word after "FIELD=" in the text of the event. */
size_t resolver_event(struct resolver *resolver, const struct record *record, const char *field,
		      char *text, size_t size)
{
	char whole[512], key[64];
	const char *at;

	if (!field)
		return resolver->event(resolver->context, record, text, size);
	resolver->event(resolver->context, record, whole, sizeof(whole));
	snprintf(key, sizeof(key), " %s=", field);
	at = strstr(whole, key);
	at = at ? at + strlen(key) : "";
	snprintf(text, size, "%.*s", (int)strcspn(at, " "), at);
	return strlen(text);
}

uint64_t resolver_function(struct resolver *resolver, uint64_t address)
{
	return resolver->function(resolver->context, address);
}

const struct task_info *resolver_task(struct resolver *resolver, int tid, uint64_t ts)
{
	static const struct task_info unknown;

	return resolver->task_info ? resolver->task_info(resolver->context, tid, ts) : &unknown;
}

const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker)
{
	return resolver->shrinker ? resolver->shrinker(resolver->context, shrinker) : NULL;
}

void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size)
{
	const char *label = resolver_shrinker_label(resolver, shrinker);
	int used = resolver_symbol(resolver, callback, 's', text, size);

	if (label)
		snprintf(text + used, size - used, "[%s]", label);
}

size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames)
{
	return resolver->stack ? resolver->stack(resolver->context, number, ret_frames) : 0;
}

uint64_t resolver_realtime(const struct resolver *resolver, uint64_t ts)
{
	return resolver->realtime ? resolver->realtime + ts : 0;
}

bool resolver_time(const struct resolver *resolver, uint64_t ts, char text[TEXT_TIME_MAX])
{
	snprintf(text, TEXT_TIME_MAX, "%.6f", (double)ts / 1e9);
	return resolver->time && resolver->time(resolver->context, ts, text);
}

bool resolver_migrate_column(const struct resolver *resolver)
{
	return resolver->migrate_column;
}

#endif
