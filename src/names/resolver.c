// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/names/resolver.h"
#include "allocfilt/names/shrinkers.h"
#include "names/symbols.h"

/*
 * Functions that wait for a bit, a work item or a file's wake-up on behalf of their caller, whose
 * name tells more. mm/filemap.c (folios from 5.16), kernel/workqueue.c, fs/select.c, block/blk-
 * core.c.
 */
static const char *const waits[] = {
	"wait_on_page_bit_common", "folio_wait_bit_common", "wait_on_page_bit",
	"folio_wait_bit",	   "__flush_work",	    "flush_work",
	"__wait_on_buffer",	   "submit_bio_wait",
};

#define ROLES_BITS 11 /* of the functions whose role is cached: 2048 */

/* The trace clock and wall-clock time drift apart: an hour of marks, without intervals. */
#define CLOCK_MARKS 64

struct clock_mark {
	uint64_t ts;	   /* ns, trace clock */
	uint64_t realtime; /* ns since the epoch */
};

/* The role of the last function with this hash. */
struct role_entry {
	uint64_t function;
	int32_t role;
	bool used;
};

struct resolver {
	const struct data_source *source;
	struct symbols *symbols;
	struct task_cache *tasks;
	struct cgroups *cgroups;
	struct shrinker_names *shrinkers;
	struct stacks *stacks; /* NULL without option stack */
	struct event_texts *texts;
	struct {
		uint64_t address;
		uint64_t size;
	} waits[ARRAY_SIZE(waits)];
	struct clock_mark marks[CLOCK_MARKS]; /* in the order of time */
	size_t nr_marks;
	bool local; /* resolver_time() */
	struct role_entry roles[1 << ROLES_BITS];
};

/* An event without a readable format has no records that are shown: decode says so. */
int resolver_read_event(struct resolver *resolver, int event, const struct plan_event *described)
{
	char path[NAME_MAX * 2 + 32], *text;
	size_t length;
	int ret;

	snprintf(path, sizeof(path), "events/%s/%s/format", described->system, described->name);
	ret = source_read(resolver->source, path, &text, &length);
	if (ret)
		return ret;
	ret = event_texts_add(resolver->texts, event, text, length);
	free(text);
	return ret;
}

static bool read_event_texts(struct resolver *resolver, const struct plan *plan)
{
	bool enough_memory = true;

	resolver->texts =
		event_texts_new(plan->nr_events, &resolver->source->layout, resolver->symbols);
	for (int i = 0; i < plan->nr_events && resolver->texts; i++)
		enough_memory &= resolver_read_event(resolver, i, &plan->events[i]) != -ENOMEM;
	return resolver->texts && enough_memory;
}

static bool make_tables(struct resolver *resolver, const struct plan *plan,
			const struct options *options)
{
	const struct data_source *source = resolver->source;
	int saved = source->proc ? -1 : source_open(source, "cgroups");
	int modules = source->proc ? file_open(source->proc, "modules", FILE_TEXT_MAX) : -1;

	resolver->symbols = symbols_new(source_open(source, "kallsyms"), modules);
	/* A task takes 360 bytes: all of them a sixth of what records may take. */
	resolver->tasks = task_cache_new(source, options->limit_memory / 2048);
	resolver->cgroups = cgroups_new(source->cgroups, saved, CGROUPS_MAX);
	file_close(saved);
	resolver->shrinkers = shrinker_names_new(source_open(source, "mountinfo"), resolver);
	if (options->stack)
		resolver->stacks = stacks_new();
	return resolver->symbols && resolver->tasks && resolver->cgroups && resolver->shrinkers &&
	       (!options->stack || resolver->stacks) && read_event_texts(resolver, plan);
}

int resolver_new(struct resolver **ret_resolver, const struct plan *plan,
		 const struct data_source *source, const struct options *options,
		 struct failure *failure)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int ret;

	if (!resolver)
		return failure_no_memory(failure);
	resolver->source = source;
	resolver->local = options->local;
	tzset(); /* else the first gmtime_r() allocates */
	if (!make_tables(resolver, plan, options)) {
		resolver_free(resolver);
		return failure_no_memory(failure);
	}
	/* Without names functions have no roles, and a live run would show nothing. */
	ret = symbols_readable(resolver->symbols);
	if (ret && source->proc) {
		resolver_free(resolver);
		return failure_set(
			failure, EXIT_STATUS_NO_TRACEFS, EPERM,
			"%s/kallsyms shows no addresses: it takes CAP_SYSLOG and sysctl kernel.kptr_restrict below 2",
			source->proc);
	}
	if (ret)
		log_warning(
			"%s/kallsyms: %s: functions have no names, so no event finds its owner",
			source->dir,
			ret == -ENODATA ? "no symbols in it" :
			ret == -EPERM	? "all addresses are 0, as it was read without CAP_SYSLOG" :
					  file_error(-ret));
	if (!source->proc)
		resolver_read_symbols(resolver);
	*ret_resolver = resolver;
	return 0;
}

void resolver_read_symbols(struct resolver *resolver)
{
	if (!symbols_read(resolver->symbols))
		log_warning("there is no memory for the names of all functions: some are shown as "
			    "addresses");
	memset(resolver->roles, 0, sizeof(resolver->roles));
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		uint64_t address = symbols_address(resolver->symbols, waits[i]);

		if (!address)
			continue;
		resolver->waits[i].address = address;
		resolver->waits[i].size = symbols_find(resolver->symbols, address)->size;
	}
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	event_texts_free(resolver->texts);
	stacks_free(resolver->stacks);
	shrinker_names_free(resolver->shrinkers);
	cgroups_free(resolver->cgroups);
	task_cache_free(resolver->tasks);
	symbols_free(resolver->symbols);
	free(resolver);
}

struct stacks *resolver_stacks(const struct resolver *resolver)
{
	return resolver->stacks;
}

struct cgroups *resolver_cgroups(struct resolver *resolver)
{
	return resolver->cgroups;
}

struct shrinker_names *resolver_superblocks(const struct resolver *resolver)
{
	return resolver->shrinkers;
}

/* ---- records, in the order of their arrival ---- */

/* The event that begins a long stall comes while its task lives: the OOM killer may end it there. */
void resolver_see(struct resolver *resolver, const struct record *record)
{
	task_cache_see(resolver->tasks, record->tid, record->ts);
}

void resolver_learn(struct resolver *resolver, enum event_id id, const struct record *record)
{
	struct task_cache *tasks = resolver->tasks;
	const struct task_info *task = task_cache_info(tasks, record->tid, record->ts);
	const char *memcg;

	if (id == EVENT_FORK) {
		task_cache_suppose(tasks, record->child, record->ts, "parent", task->cgroup);
	} else if (id == EVENT_OOM_VICTIM) {
		task_cache_see_victims(tasks, record->ts);
	} else if (record->fields.memcg_id && !*task->cgroup) {
		memcg = cgroups_path(resolver->cgroups, record->fields.memcg_id);
		/* A limit may be that of a cgroup above the task's. */
		if (!cgroups_is_inner(resolver->cgroups, memcg))
			task_cache_suppose(tasks, record->tid, record->ts, "reclaim", memcg);
	}
}

void resolver_mark_clock(struct resolver *resolver, uint64_t ts, uint64_t realtime)
{
	/* A mark that was seen ahead comes again, and so do later marks of other CPUs. */
	while (resolver->nr_marks && resolver->marks[resolver->nr_marks - 1].ts >= ts)
		resolver->nr_marks--;
	if (resolver->nr_marks == CLOCK_MARKS)
		memmove(resolver->marks, resolver->marks + 1,
			--resolver->nr_marks * sizeof(resolver->marks[0]));
	resolver->marks[resolver->nr_marks++] = (struct clock_mark){ ts, realtime };
}

/* ---- lookups ---- */

int resolver_role(struct resolver *resolver, uint64_t function)
{
	struct role_entry *entry =
		&resolver->roles[(function * 0x9e3779b97f4a7c15u) >> (64 - ROLES_BITS)];
	const struct symbol *symbol;

	if (entry->used && entry->function == function)
		return entry->role;
	symbol = symbols_find(resolver->symbols, function);
	/* It may be known later. */
	if (!symbol)
		return ROLE_NONE;
	*entry = (struct role_entry){
		.function = function,
		.role = catalog_role_of(symbol->name),
		.used = true,
	};
	return entry->role;
}

int resolver_wait_role(struct resolver *resolver, uint64_t caller)
{
	const struct symbol *symbol = caller ? symbols_find(resolver->symbols, caller - 1) : NULL;

	return symbol ? (int)catalog_wait_role(symbol->name) : ROLE_WAIT;
}

int resolver_symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	struct resolver *resolver = context;

	return symbols_text(resolver->symbols, address, style, text, size);
}

static bool is_wait(const struct resolver *resolver, uint64_t address)
{
	if (symbols_in_scheduler(resolver->symbols, address))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (address - resolver->waits[i].address < resolver->waits[i].size)
			return true;
	return false;
}

uint64_t resolver_sleeps_in(const struct resolver *resolver, const uint64_t *frames, size_t count)
{
	size_t i = 0;

	/* Functions of the tracepoint itself come first. */
	while (i < count && !symbols_in_scheduler(resolver->symbols, frames[i]))
		i++;
	while (i < count && is_wait(resolver, frames[i]))
		i++;
	return i < count ? frames[i] : 0;
}

uint64_t resolver_function(struct resolver *resolver, uint64_t address)
{
	const struct symbol *symbol = symbols_find(resolver->symbols, address);

	return symbol ? symbol->address : address;
}

uint64_t resolver_address(const struct resolver *resolver, const char *function)
{
	return symbols_address(resolver->symbols, function);
}

const char *resolver_task_name(struct resolver *resolver, int tid, uint64_t ts)
{
	return task_cache_name(resolver->tasks, tid, ts);
}

const struct task_info *resolver_task(struct resolver *resolver, int tid, uint64_t ts)
{
	return task_cache_info(resolver->tasks, tid, ts);
}

bool resolver_awaits_kill(const struct resolver *resolver, int tid)
{
	const char *proc = resolver->source->proc;
	char path[32], text[64];

	snprintf(path, sizeof(path), "%d/wchan", tid);
	file_read_start(proc ? file_open(proc, path, FILE_TEXT_MAX) : -1, text, sizeof(text));
	return !strcmp(text, "mem_cgroup_oom_synchronize");
}

size_t resolver_event(struct resolver *resolver, const struct record *record, const char *field,
		      char *text, size_t size)
{
	return event_text(resolver->texts, record, field, text, size);
}

const char *resolver_shrinker_label(struct resolver *resolver, uint64_t shrinker)
{
	return shrinker_names_of(resolver->shrinkers, shrinker);
}

void resolver_shrinker(struct resolver *resolver, uint64_t shrinker, uint64_t callback, char *text,
		       size_t size)
{
	const char *label = resolver_shrinker_label(resolver, shrinker);
	size_t used = (size_t)resolver_symbol(resolver, callback, 's', text, size);

	if (label)
		snprintf(text + used, size - used, "[%s]", label);
}

size_t resolver_stack(struct resolver *resolver, uint32_t number, const uint64_t **ret_frames)
{
	size_t count = resolver->stacks ? stacks_of(resolver->stacks, number, ret_frames) : 0;
	const struct symbol *symbol;

	/* Functions of a tracepoint lie between the traced one and the trigger that writes a stack. */
	for (; count && (symbol = symbols_find(resolver->symbols, **ret_frames)) &&
	       (!strncmp(symbol->name, "__traceiter_", 12) ||
		!strncmp(symbol->name, "trace_event_raw_event_", 22));
	     count--)
		++*ret_frames;
	return count;
}

/* "__x64_sys_write", "__se_compat_sys_write", "ksys_write", "sys_write": "write"; NULL: no call */
static const char *system_call(const char *function)
{
	const char *call = strstr(function, "sys_");
	size_t before = call ? call - function : 0;

	if (!call || (before && !(before == 1 && *function == 'k') &&
		      !(call[-1] == '_' && !strncmp(function, "__", 2)) &&
		      strncmp(function, "compat_sys_", strlen("compat_sys_"))))
		return NULL;
	return call + strlen("sys_");
}

const char *resolver_asked_by(struct resolver *resolver, uint32_t number, char text[ASKED_BY_MAX])
{
	const uint64_t *frames;
	size_t count = resolver_stack(resolver, number, &frames);
	bool faulted = false;

	while (count--) {
		const struct symbol *symbol = symbols_find(resolver->symbols, frames[count]);
		const char *call = symbol ? system_call(symbol->name) : NULL;

		if (call) {
			snprintf(text, ASKED_BY_MAX, "%.*s(2)", (int)strcspn(call, "."), call);
			return text;
		}
		faulted |= symbol && !strcmp(symbol->name, "handle_mm_fault");
	}
	return faulted ? strcpy(text, "page fault") : NULL;
}

uint64_t resolver_realtime(const struct resolver *resolver, uint64_t ts)
{
	const struct clock_mark *mark = resolver->marks + resolver->nr_marks;

	if (!resolver->nr_marks)
		return 0;
	/*
	 * The time follows from the mark before it, whenever it is asked: a stall has one time in
	 * all forms.
	 */
	while (--mark > resolver->marks && mark->ts > ts)
		;
	return mark->realtime + (ts - mark->ts);
}

bool resolver_time(const struct resolver *resolver, uint64_t ts, char text[TEXT_TIME_MAX])
{
	if (text_time(text, resolver_realtime(resolver, ts), resolver->local))
		return true;
	text = text_unsigned(text, ts / NS_PER_SECOND);
	*text++ = '.';
	text = text_decimal(text, ts % NS_PER_SECOND / NS_PER_US, 6, '0');
	*text = '\0';
	return false;
}

bool resolver_migrate_column(const struct resolver *resolver)
{
	const char *release = resolver->source->release;
	int major, minor;

	if (!release || sscanf(release, "%d.%d", &major, &minor) != 2)
		return true;
	return major > 5 || (major == 5 && minor >= 15);
}

uint64_t resolver_missed(const struct resolver *resolver)
{
	return task_cache_missed(resolver->tasks) + cgroups_missed(resolver->cgroups);
}
