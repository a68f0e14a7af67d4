// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output/form.h"
#include "output/json.h"

/*
 * The form `perfetto`: a JSON object in the trace-event format, for ui.perfetto.dev and
 * chrome://tracing. Each task has a track. The idle task and interrupts have one per CPU and kind,
 * under a process "CPUs" whose id, like those of its threads, is above every task's.
 *
 * The format has one name per id, and Perfetto shows the last one (its ProcessTracker). So a track
 * keeps the name that its task had first, whatever the task execs or whoever uses the id again; the
 * arguments of a stall have the name of then.
 *
 * The format has no groups of processes. Perfetto lists them by name, so each begins with its cgroup.
 */

#define PIDS_MAX    (1 << 22) /* PID_MAX_LIMIT of a 64-bit kernel */
#define CPU_PROCESS (PIDS_MAX + 1)
#define CPU_TRACKS  65536 /* 8192 CPUs with up to 8 kinds */
#define ALL_TASKS   (CPU_PROCESS + 1 + CPU_TRACKS)
#define IDS_MAX	    (ALL_TASKS + 1)
#define TEXT_MAX    1024

struct perfetto {
	bool started;			   /* the head and an event are written */
	uint8_t named[2][IDS_MAX / 8 + 1]; /* a bit per process, per thread: it has a name */
	uint64_t reclaimed;		   /* pages, in all stalls so far */
	uint64_t reclaimed_ts;		   /* of the latest value */
	struct stall_off_cpu off_cpu;	   /* in put_off_times() */
};

struct track {
	int process;
	int thread;
};

static int perfetto_make(struct output *output)
{
	output->form = calloc(1, sizeof(struct perfetto));
	return output->form ? 0 : -ENOMEM;
}

static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

static void begin_event(struct output *output, struct json *json, const char *phase,
			const char *name, struct track track)
{
	struct perfetto *perfetto = output->form;

	json_init(json, output->setup.writer);
	json_raw(json, perfetto->started ? ",\n" : head);
	perfetto->started = true;
	json_open(json, NULL, '{');
	json_string(json, "ph", phase);
	json_string(json, "name", name);
	json_signed(json, "pid", track.process);
	json_signed(json, "tid", track.thread);
}

static void end_event(struct json *json)
{
	json_close(json, '}');
	json_close(json, '}');
}

/* Names a process, or a thread, at its first event. */
static void name_once(struct output *output, bool thread, struct track track, const char *name)
{
	struct perfetto *perfetto = output->form;
	int id = thread ? track.thread : track.process;
	uint8_t *byte = &perfetto->named[thread][id / 8];
	struct json json;

	if (*byte & 1u << id % 8)
		return;
	*byte |= 1u << id % 8;
	begin_event(output, &json, "M", thread ? "thread_name" : "process_name", track);
	json_open(&json, "args", '{');
	json_string(&json, "name", name);
	end_event(&json);
}

/* Returns the track of a task or CPU. */
static struct track track_of(struct output *output, struct task_key key, uint64_t ts)
{
	static const char *const kinds[] = {
		[OWNER_IDLE] = "idle",
		[OWNER_SOFTIRQ] = "softirq",
		[OWNER_HARDIRQ] = "hardirq",
		[OWNER_NMI] = "nmi",
	};
	struct resolver *resolver = output->setup.resolver;
	const char *process = "CPUs", *thread;
	const struct task_info *task;
	struct track track;
	char text[TASK_CGROUP_MAX + TASK_COMM_MAX + 2];

	if (key.kind == OWNER_TASK) {
		track.thread = key.id & (PIDS_MAX - 1);
		task = resolver_task(resolver, track.thread, ts);
		thread = resolver_task_name(resolver, track.thread, ts);
		track.process = task->pid > 0 && task->pid < PIDS_MAX ? task->pid : track.thread;
		process = *task->process ? task->process : thread;
		if (*task->cgroup && strcmp(task->cgroup, "/")) {
			snprintf(text, sizeof(text), "%s %s", task->cgroup, process);
			process = text;
		}
	} else {
		track.process = CPU_PROCESS;
		track.thread = CPU_PROCESS + 1 + (key.id * 8 + key.kind) % CPU_TRACKS;
		snprintf(text, sizeof(text), "cpu %d %s", key.id, kinds[key.kind]);
		thread = text;
	}
	name_once(output, false, track, process);
	name_once(output, true, track, thread);
	return track;
}

/* Begins an event up to its arguments. @end: ns, of phase "X" alone, which has a duration. */
static void begin_timed(struct output *output, struct json *json, const char *phase,
			const char *name, struct track track, const char *category, uint64_t start,
			uint64_t end)
{
	begin_event(output, json, phase, name, track);
	json_string(json, "cat", category);
	if (*phase == 'i')
		json_string(json, "s", "t");
	json_fraction(json, "ts", start, 3);
	if (*phase == 'X')
		json_fraction(json, "dur", end - start, 3);
	json_open(json, "args", '{');
}

/* Is there "KEY=" at the start, or after a blank, of the text up to @at? "cpu" is a member already. */
static bool is_used(const char *text, const char *at, size_t length)
{
	if (length == strlen("cpu") && !memcmp(at, "cpu", length))
		return true;
	for (const char *used = text; used < at; used += strcspn(used, " ") + 1)
		if (!strncmp(used, at, length + 1))
			return true;
	return false;
}

/*
 * Puts "order=0 gfp_flags=GFP_KERNEL" as members, and any other text as one member "text". The text
 * follows an event's format, which is untrusted.
 */
static void put_fields(struct json *json, char *text)
{
	char *field;
	size_t length;

	for (const char *at = text; *at; at += length + (at[length] == ' ')) {
		size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_.-");

		length = strcspn(at, " ");
		if (length &&
		    (!key || key > JSON_KEY_MAX || at[key] != '=' || is_used(text, at, key))) {
			json_string(json, "text", text);
			return;
		}
	}
	while ((field = strsep(&text, " "))) {
		char *value = strchr(field, '=');

		if (!value)
			continue;
		*value = '\0';
		json_string(json, field, value + 1);
	}
}

/* Splits the text of an event, "name: fields"; returns the fields. */
static char *event_text(const struct output *output, const struct record *record,
			char text[TEXT_MAX])
{
	char *fields = text;

	resolver_event(output->setup.resolver, record, NULL, text, TEXT_MAX);
	strsep(&fields, ":");
	return fields ? fields + (*fields == ' ') : text + strlen(text);
}

static void put_instant(struct output *output, struct track track, const struct record *event)
{
	char text[TEXT_MAX];
	char *fields = event_text(output, event, text);
	struct json json;

	begin_timed(output, &json, "i", text, track, "event", event->ts, 0);
	json_signed(&json, "cpu", event->cpu);
	put_fields(&json, fields);
	end_event(&json);
}

/* Puts nothing for a record without raw data: it is not known. */
static void put_side(const struct output *output, struct json *json, const char *key,
		     const struct record *record)
{
	char text[TEXT_MAX];

	if (!record->raw_size)
		return;
	json_open(json, key, '{');
	put_fields(json, event_text(output, record, text));
	json_close(json, '}');
}

/* A function, or a pair of events; a function has no begin. */
static void put_window(struct output *output, struct track track, const struct stall_window *window)
{
	const struct plan_event *begin = &output->setup.plan->events[window->begin.event];
	struct resolver *resolver = output->setup.resolver;
	const char *category = "function";
	char name[2 * STALL_FUNCTION_MAX];
	struct json json;

	if (!window->is_pair) {
		resolver_symbol(resolver, window->exit.window.function, 's', name,
				STALL_FUNCTION_MAX);
	} else if (begin->id == EVENT_SLAB_START) {
		category = "slab";
		resolver_shrinker(resolver, window->shrinker, window->callback, name, sizeof(name));
	} else {
		category = "pair";
		snprintf(name, sizeof(name), "%s%s",
			 plan_is_wait(begin) ? "memory wait: " : begin->name,
			 plan_is_wait(begin) ? catalog_role_title(window->role) : "");
	}
	begin_timed(output, &json, "X", name, track, category, window->start, window->end);
	json_signed(&json, "cpu", window->exit.cpu);
	if (!window->is_pair) {
		json_signed(&json, "depth", window->exit.window.depth);
		if (catalog_role_title(window->role))
			json_string(&json, "role", catalog_role_title(window->role));
	} else {
		put_side(output, &json, "begin", &window->begin);
		put_side(output, &json, "end", &window->exit);
	}
	end_event(&json);
}

static void put_windows(struct output *output, struct track track, const struct stall *stall)
{
	struct stall_window window = { .entry = NULL };
	struct record event;

	while (stall_next_window(stall, &window)) {
		while (stall_next_event(&window, &event))
			put_instant(output, track, &event);
		put_window(output, track, &window);
	}
}

static void put_state(struct output *output, struct track track, enum phase_state state,
		      uint64_t start, uint64_t end, const struct stall_off_cpu *off_cpu)
{
	struct json json;

	if (start >= end)
		return;
	begin_timed(output, &json, "X", phase_state_names[state].title, track, "state", start, end);
	if (state == STATE_WAITED)
		json_had_cpu(&json, output->setup.resolver, off_cpu->came, off_cpu->runners,
			     off_cpu->nr_runners);
	end_event(&json);
}

static void put_off_times(struct output *output, struct track track, const struct stall *stall)
{
	struct perfetto *perfetto = output->form;
	struct stall_off_cpu *off_cpu = &perfetto->off_cpu;

	off_cpu->entry = NULL;
	while (stall_next_off_cpu(stall, off_cpu)) {
		put_state(output, track, off_cpu->state, off_cpu->left, off_cpu->woken, off_cpu);
		put_state(output, track, STATE_WAITED, off_cpu->woken, off_cpu->came, off_cpu);
	}
}

/* A stall that becomes known late counts from the latest value on: the sum never decreases. */
static void put_reclaimed(struct output *output, const struct stall *stall)
{
	const struct track track = { ALL_TASKS, ALL_TASKS };
	struct perfetto *perfetto = output->form;
	struct json json;

	perfetto->reclaimed += stall->nr_reclaimed;
	perfetto->reclaimed_ts = MAX(perfetto->reclaimed_ts, stall->end);
	name_once(output, false, track, "all tasks");
	name_once(output, true, track, "all tasks");
	begin_timed(output, &json, "C", "reclaimed", track, "counter", perfetto->reclaimed_ts, 0);
	json_number(&json, "pages", perfetto->reclaimed);
	end_event(&json);
}

/* The phases of a stall are known when it ends, so an instant event at its end carries them. */
static int perfetto_stall(struct output *output, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	struct track track = track_of(output, stall->key, stall->end);
	struct stall_cause cause;
	struct json json;
	char name[64];

	put_windows(output, track, stall);
	put_off_times(output, track, stall);
	stall_cause(stall, &cause);
	snprintf(name, sizeof(name), "stall: %s", cause_name(cause.which)->title);
	begin_timed(output, &json, "i", name, track, "stall", stall->end, 0);
	json_stall(&json, named);
	end_event(&json);
	if (stall->has_reclaimed)
		put_reclaimed(output, stall);
	return writer_status(json.writer);
}

static int perfetto_summary(struct output *output, const struct summary_view *view)
{
	struct perfetto *perfetto = output->form;
	struct json json;

	json_init(&json, output->setup.writer);
	if (!perfetto->started)
		json_raw(&json, head);
	json_raw(&json, "\n]");
	if (view->form != SUMMARY_NONE) {
		json_raw(&json, ",\"allocfilt\":\n");
		json_summary(json.writer, view);
	} else {
		json_raw(&json, "\n");
	}
	json_raw(&json, "}\n");
	return writer_flush(json.writer);
}

const struct output_ops perfetto_form = {
	.make = perfetto_make,
	.stall = perfetto_stall,
	.summary = perfetto_summary,
};
