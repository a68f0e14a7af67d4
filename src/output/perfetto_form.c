// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output.h"
#include "allocfilt/plan.h"
#include "output/json.h"
#include "output/stall_json.h"

/*
 * The form `perfetto`: a JSON object in the trace-event format, for ui.perfetto.dev and
 * chrome://tracing. A track per task; what is no task's (idle, interrupts) has a track per CPU and
 * kind, in a process of its own with ids that no task has.
 */

#define PIDS_MAX    (1 << 22) /* PID_MAX_LIMIT of a 64-bit kernel */
#define CPU_PROCESS (PIDS_MAX + 1)
#define CPU_TRACKS  65536 /* 8192 CPUs with up to 8 kinds */
#define IDS_MAX	    (CPU_PROCESS + 1 + CPU_TRACKS)
#define TEXT_MAX    1024

struct perfetto {
	bool any;			   /* an event stands there already */
	uint8_t named[2][IDS_MAX / 8 + 1]; /* bits: processes, threads that have their name */
};

struct track {
	int process;
	int thread;
};

static int make(struct output *output)
{
	output->form = calloc(1, sizeof(struct perfetto));
	return output->form ? 0 : -ENOMEM;
}

static void release(struct output *output)
{
	free(output->form);
}

static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

static void begin_event(struct output *output, struct json *json, const char *phase,
			const char *name, struct track track)
{
	struct perfetto *perfetto = output->form;

	json_init(json, output->setup.writer);
	json_raw(json, perfetto->any ? ",\n" : head);
	perfetto->any = true;
	json_open(json, NULL, '{');
	json_string(json, "ph", phase);
	json_string(json, "name", name);
	json_signed(json, "pid", track.process);
	json_signed(json, "tid", track.thread);
}

static bool is_named(struct perfetto *perfetto, int which, int id)
{
	uint8_t *byte = &perfetto->named[which][id / 8];
	uint8_t bit = 1u << (id % 8);
	bool named = *byte & bit;

	*byte |= bit;
	return named;
}

static int put_name(struct output *output, int which, struct track track, const char *name)
{
	struct json json;

	if (is_named(output->form, which, which ? track.thread : track.process))
		return 0;
	begin_event(output, &json, "M", which ? "thread_name" : "process_name", track);
	json_open(&json, "args", '{');
	json_string(&json, "name", name);
	json_close(&json, '}');
	json_close(&json, '}');
	return json.failed;
}

static int name_track(struct output *output, struct track track, const char *process,
		      const char *thread)
{
	int ret = put_name(output, 0, track, process);

	return ret ? ret : put_name(output, 1, track, thread);
}

static int cpu_track(struct output *output, struct task_key key, struct track *track)
{
	static const char *const kinds[] = {
		[OWNER_IDLE] = "idle",
		[OWNER_SOFTIRQ] = "softirq",
		[OWNER_HARDIRQ] = "hardirq",
		[OWNER_NMI] = "nmi",
	};
	char name[48];

	track->process = CPU_PROCESS;
	track->thread = CPU_PROCESS + 1 + (key.id * 8 + key.kind) % CPU_TRACKS;
	snprintf(name, sizeof(name), "cpu %d %s", key.id, kinds[key.kind]);
	return name_track(output, *track, "CPUs", name);
}

static int track_of(struct output *output, struct task_key key, uint64_t ts, struct track *track)
{
	struct resolver *resolver = output->setup.resolver;
	const struct task_info *who;
	int pid = key.id & (PIDS_MAX - 1);
	const char *name;

	if (key.kind != OWNER_TASK)
		return cpu_track(output, key, track);
	who = resolver_task(resolver, pid, ts);
	name = resolver_task_name(resolver, pid, ts);
	track->thread = pid;
	track->process = who->tgid > 0 && who->tgid < PIDS_MAX ? who->tgid : pid;
	return name_track(output, *track, *who->process ? who->process : name, name);
}

static bool is_fields(const char *text)
{
	char copy[TEXT_MAX];
	char *rest = copy;
	char *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " ")))
		if (*word && (!strchr(word, '=') || *word == '='))
			return false;
	return true;
}

/* "order=0 gfp_flags=GFP_KERNEL" as fields, any other text as it is. */
static void put_fields(struct json *json, char *text)
{
	char *word;

	if (!is_fields(text)) {
		json_string(json, "text", text);
		return;
	}
	while ((word = strsep(&text, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value = '\0';
		word[strcspn(word, "\"\\")] = '\0';
		json_string(json, word, value + 1);
	}
}

/* Splits "name: fields"; returns the fields. */
static char *event_text(const struct output *output, const struct record *record,
			char text[TEXT_MAX])
{
	struct resolver *resolver = output->setup.resolver;
	char *colon;

	resolver_event(resolver, record, text, TEXT_MAX);
	colon = strchr(text, ':');
	if (!colon)
		return text + strlen(text);
	*colon = '\0';
	return colon[1] == ' ' ? colon + 2 : colon + 1;
}

static int put_instant(struct output *output, struct track track, const struct record *record)
{
	char text[TEXT_MAX];
	char *fields = event_text(output, record, text);
	struct json json;

	begin_event(output, &json, "i", text, track);
	json_string(&json, "cat", "event");
	json_string(&json, "s", "t");
	json_microseconds(&json, "ts", record->ts);
	json_open(&json, "args", '{');
	json_signed(&json, "cpu", record->cpu);
	put_fields(&json, fields);
	json_close(&json, '}');
	json_close(&json, '}');
	return json.failed;
}

static int put_instants(struct output *output, struct track track,
			const struct record *const *events, size_t nr_events)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < nr_events; i++)
		ret = put_instant(output, track, events[i]);
	return ret;
}

static int put_slice(struct output *output, struct track track, const struct record *exit)
{
	const struct record_window *times = &exit->window;
	struct resolver *resolver = output->setup.resolver;
	char name[STALL_FUNCTION_MAX];
	struct json json;

	resolver_symbol(resolver, times->function, 's', name, sizeof(name));
	begin_event(output, &json, "X", name, track);
	json_string(&json, "cat", "function");
	json_microseconds(&json, "ts", times->calltime);
	json_microseconds(&json, "dur", times->rettime - times->calltime);
	json_open(&json, "args", '{');
	json_signed(&json, "cpu", exit->cpu);
	json_signed(&json, "depth", times->depth);
	if (catalog_role_title(times->role))
		json_string(&json, "role", catalog_role_title(times->role));
	json_close(&json, '}');
	json_close(&json, '}');
	return json.failed;
}

static int window(struct output *output, const struct task_window *task_window)
{
	struct track track;
	int ret = track_of(output, task_window->key, task_window->exit->ts, &track);

	if (!ret)
		ret = put_instants(output, track, task_window->events, task_window->nr_events);
	return ret ? ret : put_slice(output, track, task_window->exit);
}

static void put_side(const struct output *output, struct json *json, const char *key,
		     const struct record *record)
{
	char text[TEXT_MAX];
	char *fields = event_text(output, record, text);

	json_open(json, key, '{');
	put_fields(json, fields);
	json_close(json, '}');
}

static int put_pair(struct output *output, struct track track, const struct task_pair *pair)
{
	const struct record_fields *fields = &pair->begin->fields;
	const struct plan_event *event = &output->setup.plan->events[pair->begin->event];
	char name[2 * STALL_FUNCTION_MAX];
	struct json json;

	if (event->id == EVENT_SLAB_START)
		resolver_shrinker(output->setup.resolver, fields->shrinker, fields->callback, name,
				  sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", event->name);
	begin_event(output, &json, "X", name, track);
	json_string(&json, "cat", event->id == EVENT_SLAB_START ? "slab" : "pair");
	json_microseconds(&json, "ts", pair->begin->ts);
	json_microseconds(&json, "dur", pair->duration);
	json_open(&json, "args", '{');
	json_signed(&json, "cpu", pair->end->cpu);
	put_side(output, &json, "begin", pair->begin);
	put_side(output, &json, "end", pair->end);
	json_close(&json, '}');
	json_close(&json, '}');
	return json.failed;
}

static int pair(struct output *output, const struct task_pair *task_pair)
{
	struct track track;
	int ret = track_of(output, task_pair->key, task_pair->end->ts, &track);

	if (!ret)
		ret = put_instants(output, track, task_pair->events, task_pair->nr_events);
	return ret ? ret : put_pair(output, track, task_pair);
}

/* Where its time went stands at the end of the outermost slice, as that is when it is known. */
static int stall(struct output *output, const struct named_stall *named)
{
	struct track track;
	struct json json;
	int ret = track_of(output, named->stall->key, named->stall->end, &track);

	if (ret)
		return ret;
	begin_event(output, &json, "i", "stall", track);
	json_string(&json, "cat", "stall");
	json_string(&json, "s", "t");
	json_microseconds(&json, "ts", named->stall->end);
	json_open(&json, "args", '{');
	stall_json_fields(&json, named, output->setup.resolver);
	json_close(&json, '}');
	json_close(&json, '}');
	return json.failed;
}

static int summary(struct output *output, const struct summary_view *view)
{
	static const char before[] = "\n],\"allocfilt\":\n";
	const struct perfetto *perfetto = output->form;
	struct writer *writer = output->setup.writer;
	int ret = perfetto->any ? 0 : writer_put(writer, head, sizeof(head) - 1);

	if (!ret)
		ret = writer_put(writer, before, sizeof(before) - 1);
	if (!ret)
		ret = summary_json(writer, view, true);
	if (!ret)
		ret = writer_put(writer, "}\n", 2);
	return ret ? ret : writer_flush(writer);
}

const struct output_ops perfetto_form = {
	.make = make,
	.release = release,
	.window = window,
	.pair = pair,
	.stall = stall,
	.summary = summary,
};
