// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "allocfilt/catalog.h"
#include "allocfilt/clock.h"
#include "allocfilt/output.h"
#include "allocfilt/stall_json.h"

void stall_json_time(struct json *json, const struct namer *namer, uint64_t ts)
{
	char text[CLOCK_TEXT_MAX];

	if (namer->time(namer->context, ts, text))
		json_string(json, "time", text);
	else
		json_null(json, "time");
}

static void put_group(struct json *json, const struct phases *phases, enum phase_group group)
{
	char key[32];

	json_open(json, phase_group_keys[group], '{');
	json_number(json, "total_ns", phases_group(phases, group));
	for (int part = 0; phases_is_reclaim(group) && part < PHASE_PARTS; part++) {
		snprintf(key, sizeof(key), "%s_ns", phase_part_keys[part]);
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

static void put_shrinkers(struct json *json, const struct stall *stall, const struct namer *namer)
{
	json_open(json, "shrinkers", '[');
	for (size_t i = 0; i < stall->nr_shrinkers; i++) {
		const struct stall_shrinker *shrinker = &stall->shrinkers[i];
		char name[2 * TOLD_NAME_MAX];

		told_shrinker(namer, shrinker->shrinker, shrinker->callback, name, sizeof(name));
		json_open(json, NULL, '{');
		json_string(json, "phase", phase_group_keys[shrinker->group]);
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

static void put_task(struct json *json, const struct told_stall *told)
{
	json_open(json, "task", '{');
	json_signed(json, "pid", told->stall->pid);
	json_string(json, "name", told->name);
	if (told->who->tgid)
		json_signed(json, "tgid", told->who->tgid);
	else
		json_null(json, "tgid");
	put_text_or_null(json, "process", told->who->process);
	put_text_or_null(json, "cgroup", told->who->cgroup);
	json_bool(json, "background", told->background);
	json_bool(json, "interrupt", told->interrupt);
	json_close(json, '}');
}

static void put_request(struct json *json, const struct told_stall *told)
{
	const struct stall *stall = told->stall;

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
	put_text_or_null(json, "memcg", told->memcg);
}

static void put_stack(struct json *json, const struct stall *stall, const struct namer *namer)
{
	const uint64_t *frames;
	size_t count = told_frames(namer, stall, &frames);

	json_open(json, "stack", '[');
	for (size_t i = 0; i < count; i++) {
		char name[TOLD_NAME_MAX];

		namer->symbol(namer->context, frames[i], 's', name, sizeof(name));
		json_string(json, NULL, name);
	}
	json_close(json, ']');
}

void stall_json_fields(struct json *json, const struct told_stall *told, const struct namer *namer)
{
	const struct stall *stall = told->stall;
	char source[256];

	stall_json_time(json, namer, stall->start);
	json_number(json, "ts_ns", stall->start);
	json_number(json, "duration_ns", stall->end - stall->start);
	put_task(json, told);
	json_signed(json, "cpu", stall->cpu);
	json_string(json, "function", told->function);
	json_string(json, "role", told_role(namer, stall->role));
	json_signed(json, "depth", stall->depth);
	put_request(json, told);
	stall_json_phases(json, "phases", &stall->phases);
	put_shrinkers(json, stall, namer);
	told_source(namer, &stall->phases, stall->shrinkers, stall->nr_shrinkers, source,
		    sizeof(source));
	json_string(json, "source", source);
	put_stack(json, stall, namer);
	json_number(json, "windows", stall->nr_windows);
	json_number(json, "events", stall->nr_events);
	json_bool(json, "incomplete", stall->incomplete);
}
