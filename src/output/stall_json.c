// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "allocfilt/names.h"
#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "output/stall_json.h"

void stall_json_time(struct json *json, struct resolver *resolver, uint64_t ts)
{
	char text[CLOCK_TEXT_MAX];

	if (resolver_time(resolver, ts, text))
		json_string(json, "time", text);
	else
		json_null(json, "time");
}

static void put_group(struct json *json, const struct phases *phases, enum phase_group group)
{
	char key[32];

	json_open(json, phase_group_names[group].key, '{');
	json_number(json, "total_ns", phases_group(phases, group));
	for (int part = 0; phases_is_reclaim(group) && part < PHASE_PARTS; part++) {
		snprintf(key, sizeof(key), "%s_ns", phase_part_names[part].key);
		json_number(json, key, phases->ns[group][part]);
	}
	json_close(json, '}');
}

void stall_json_phases(struct json *json, const char *key, const struct phases *phases)
{
	json_open(json, key, '{');
	for (int group = 0; group < PHASE_GROUPS; group++)
		put_group(json, phases, group);
	json_close(json, '}');
}

static void put_shrinkers(struct json *json, const struct stall *stall, struct resolver *resolver)
{
	json_open(json, "shrinkers", '[');
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_shrinker *shrinker = &stall->shrinkers[i];
		char name[2 * STALL_FUNCTION_MAX];

		resolver_shrinker(resolver, shrinker->shrinker, shrinker->callback, name,
				  sizeof(name));
		json_open(json, NULL, '{');
		json_string(json, "phase", phase_group_names[shrinker->group].key);
		json_string(json, "name", name);
		json_address(json, "shrinker", shrinker->shrinker);
		json_address(json, "callback", shrinker->callback);
		json_number(json, "count", shrinker->count);
		json_number(json, "total_ns", shrinker->ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_text_or_null(struct json *json, const char *key, const char *text)
{
	json_string(json, key, *text ? text : NULL);
}

static void put_task(struct json *json, const struct named_stall *named)
{
	json_open(json, "task", '{');
	json_signed(json, "pid", named->stall->pid);
	json_string(json, "name", named->name);
	if (named->who->tgid)
		json_signed(json, "tgid", named->who->tgid);
	else
		json_null(json, "tgid");
	put_text_or_null(json, "process", named->who->process);
	put_text_or_null(json, "cgroup", named->who->cgroup);
	json_bool(json, "background", named->background);
	json_bool(json, "interrupt", named->interrupt);
	json_close(json, '}');
}

static void put_request(struct json *json, const struct named_stall *named)
{
	const struct stall *stall = named->stall;

	if (stall->order >= 0)
		json_signed(json, "order", stall->order);
	else
		json_null(json, "order");
	put_text_or_null(json, "gfp", stall->gfp_names);
	if (stall->has_gfp)
		json_address(json, "gfp_flags", stall->gfp);
	else
		json_null(json, "gfp_flags");
	if (stall->has_reclaimed)
		json_number(json, "nr_reclaimed", stall->nr_reclaimed);
	else
		json_null(json, "nr_reclaimed");
	put_text_or_null(json, "compaction", stall->compaction);
	if (stall->memcg_id)
		json_number(json, "memcg_id", stall->memcg_id);
	else
		json_null(json, "memcg_id");
	put_text_or_null(json, "memcg", named->memcg);
}

static void put_stack(struct json *json, const struct stall *stall, struct resolver *resolver)
{
	const uint64_t *frames;
	size_t count = stall_frames(resolver, stall, &frames);

	json_open(json, "stack", '[');
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(resolver, frames[i], 's', name, sizeof(name));
		json_string(json, NULL, name);
	}
	json_close(json, ']');
}

void stall_json_fields(struct json *json, const struct named_stall *named,
		       struct resolver *resolver)
{
	const struct stall *stall = named->stall;
	char source[256];

	stall_json_time(json, resolver, stall->start);
	json_number(json, "ts_ns", stall->start);
	json_number(json, "duration_ns", stall->end - stall->start);
	put_task(json, named);
	json_signed(json, "cpu", stall->cpu);
	json_string(json, "function", named->function);
	json_string(json, "role", catalog_role_title(stall->role));
	json_signed(json, "depth", stall->depth);
	put_request(json, named);
	stall_json_phases(json, "phases", &stall->phases);
	put_shrinkers(json, stall, resolver);
	stall_source(resolver, &stall->phases, stall->shrinkers, stall->nr_shrinkers, source,
		     sizeof(source));
	json_string(json, "source", source);
	put_stack(json, stall, resolver);
	json_number(json, "windows", stall->nr_windows);
	json_number(json, "events", stall->nr_events);
	json_bool(json, "incomplete", stall->incomplete);
}
