// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/names/units.h"
#include "allocfilt/output/facts.h"
#include "allocfilt/stall/cause.h"
#include "journal/stall_entry.h"

/* ---- the message ---- */

void journal_stall_task(struct line *line, const struct named_stall *named)
{
	static const struct task_style style = { TEXT_PRINTABLE, true, "", "", "", "" };

	if (task_key_in_interrupt(named->stall->key))
		line_add(line, "interrupt on CPU %d", named->stall->cpu);
	else
		stall_task(line, named, "", &style);
}

/* Names contain any bytes, and a long line may be cut inside a character: text_escape() mends both. */
void journal_stall_message(char message[JOURNAL_MESSAGE_MAX], const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const char *role = catalog_role_title(stall->role);
	char time[TEXT_DURATION_MAX], text[STALL_CAUSE_MAX], function[STALL_FUNCTION_MAX];
	struct line line;
	size_t used;

	cause_text(named->resolver, stall, text);
	line_clear(&line);
	journal_stall_task(&line, named);
	line_add(&line, ": %s stalled %s: %s", role ? role : stall_function(named, function),
		 text_duration(time, stall->end - stall->start), text);
	if (stall->order >= 0)
		line_add(&line, "; order %d", stall->order);
	if (*stall->gfp_names)
		line_add(&line, "%s%s", stall->order >= 0 ? " " : "; ", stall->gfp_names);
	if (stall->incomplete)
		line_add(&line, "; incomplete: %s", stall_lack_names[stall->incomplete].title);
	used = text_escape(message, JOURNAL_MESSAGE_MAX - strlen(JOURNAL_CUT), line.text,
			   TEXT_PRINTABLE);
	if (line.text[used])
		strcat(message, JOURNAL_CUT);
}

/* ---- the fields ---- */

static void put_us(struct journal_entry *entry, const char *name, uint64_t ns)
{
	journal_entry_number(entry, name, ns / NS_PER_US);
}

/* "direct_reclaim", "shrinker_lookup": ALLOCFILT_DIRECT_RECLAIM_SHRINKER_LOOKUP_USEC; a state is named as a group is */
static void put_phase(struct journal_entry *entry, const char *group, const char *part, uint64_t ns)
{
	char name[64];

	snprintf(name, sizeof(name), "ALLOCFILT_%s%s%s_USEC", group, *part ? "_" : "", part);
	for (char *at = name; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	put_us(entry, name, ns);
}

static void put_phase_fields(struct journal_entry *entry, const struct phases *phases)
{
	for (int group = 0; group < PHASE_GROUPS; group++) {
		put_phase(entry, phase_group_names[group].key, "", phases_group(phases, group));
		for (int part = 0; phases_is_reclaim(group) && part < PHASE_PARTS; part++)
			if (phases_part(phases, group, part))
				put_phase(entry, phase_group_names[group].key,
					  phase_part_names[part].key,
					  phases_part(phases, group, part));
	}
}

static void put_known_field(struct journal_entry *entry, const char *name, const char *value)
{
	if (*value)
		journal_entry_text(entry, name, value);
}

static void put_fact_fields(struct journal_entry *entry, const struct named_stall *named)
{
	struct stall_fact facts[STALL_FACTS];

	stall_facts(named, facts);
	for (size_t i = 0; i < STALL_FACTS; i++) {
		if (!facts[i].known || !facts[i].journal_field)
			continue;
		if (facts[i].text)
			journal_entry_text(entry, facts[i].journal_field, facts[i].text);
		else
			journal_entry_number(entry, facts[i].journal_field, facts[i].number);
	}
}

static void put_shrinker(struct journal_entry *entry, const struct named_stall *named)
{
	const struct stall_slice *top = named->stall->shrinkers;
	char name[2 * STALL_FUNCTION_MAX];

	if (!named->stall->nr_shrinkers || !top->ns)
		return;
	resolver_shrinker(named->resolver, top->shrinker, top->callback, name, sizeof(name));
	journal_entry_text(entry, "ALLOCFILT_SHRINKER", name);
	put_us(entry, "ALLOCFILT_SHRINKER_USEC", top->ns);
}

static void put_off_cpu_fields(struct journal_entry *entry, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	char name[STALL_FUNCTION_MAX];
	struct line line;

	if (!stall->off_cpu)
		return;
	for (int state = 0; state < STATE_UNKNOWN; state++)
		put_phase(entry, phase_state_names[state].key, "",
			  phases_state(&stall->phases, state));
	line_clear(&line);
	if (stall_had_cpu(&line, stall, TEXT_PRINTABLE))
		journal_entry_text(entry, "ALLOCFILT_HAD_CPU", line.text);
	if (!stall->nr_sleeps)
		return;
	resolver_symbol(named->resolver, stall->sleeps[0].function, 's', name, sizeof(name));
	journal_entry_text(entry, "ALLOCFILT_SLEPT_IN", name);
}

/* Interrupts belong to no unit. */
static void put_unit_fields(struct journal_entry *entry, const struct named_stall *named)
{
	const char *cgroup = named->task_info->cgroup;
	char unit[UNIT_NAME_BYTES];

	if (task_key_in_interrupt(named->stall->key))
		return;
	if (unit_name_of_cgroup(cgroup, unit))
		journal_entry_text(entry, "OBJECT_SYSTEMD_UNIT", unit);
	if (unit_name_of_user_cgroup(cgroup, unit))
		journal_entry_text(entry, "OBJECT_SYSTEMD_USER_UNIT", unit);
}

/* One frame per line, the innermost first; only whole frames. */
static void put_stack_field(struct journal_entry *entry, const struct named_stall *named)
{
	const uint64_t *frames;
	size_t count = resolver_stack(named->resolver, named->stall->stack, &frames);
	char text[JOURNAL_STACK_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(named->resolver, frames[i], 's', name, sizeof(name));
		if (used + 1 + strlen(name) + strlen(JOURNAL_CUT) >= sizeof(text)) {
			strcpy(text + used, JOURNAL_CUT);
			break;
		}
		used += snprintf(text + used, sizeof(text) - used, "%s%s", i ? "\n" : "", name);
	}
	put_known_field(entry, "ALLOCFILT_STACK", text);
}

void journal_stall_fields(struct journal_entry *entry, const struct named_stall *named)
{
	struct resolver *resolver = named->resolver;
	const struct task_info *task = named->task_info;
	const struct stall *stall = named->stall;
	char time[TEXT_TIME_MAX], function[STALL_FUNCTION_MAX];
	char detail[STALL_CAUSE_MAX];
	struct stall_cause cause;

	if (resolver_time(resolver, stall->start, time))
		journal_entry_text(entry, "ALLOCFILT_TIME", time);
	put_us(entry, "ALLOCFILT_LATENCY_USEC", stall->end - stall->start);
	journal_entry_text(entry, "ALLOCFILT_FUNCTION", stall_function(named, function));
	if (catalog_role_title(stall->role))
		journal_entry_text(entry, "ALLOCFILT_ROLE", catalog_role_title(stall->role));
	journal_entry_text(entry, "ALLOCFILT_COMM", named->name);
	journal_entry_number(entry, "ALLOCFILT_TID", stall->tid);
	if (task->pid)
		journal_entry_number(entry, "ALLOCFILT_PID", task->pid);
	put_known_field(entry, "ALLOCFILT_PROCESS", task->process);
	put_known_field(entry, "ALLOCFILT_CGROUP", task->cgroup);
	if (task->ended)
		journal_entry_number(entry, "ALLOCFILT_ENDED", 1);
	if (task->source)
		journal_entry_text(entry, "ALLOCFILT_CGROUP_SOURCE", task->source);
	put_unit_fields(entry, named);
	if (task_key_in_interrupt(stall->key))
		journal_entry_number(entry, "ALLOCFILT_INTERRUPT", 1);
	journal_entry_number(entry, "ALLOCFILT_CPU", stall->cpu);
	put_fact_fields(entry, named);
	put_phase_fields(entry, &stall->phases);
	put_shrinker(entry, named);
	put_off_cpu_fields(entry, named);
	stall_cause(stall, &cause);
	cause_detail(resolver, &cause, detail);
	journal_entry_text(entry, "ALLOCFILT_CAUSE", cause_name(cause.which)->key);
	put_known_field(entry, "ALLOCFILT_CAUSE_DETAIL", detail);
	journal_entry_number(entry, "ALLOCFILT_CAUSE_PERCENT", cause_percent(&cause));
	journal_entry_number(entry, "ALLOCFILT_INCOMPLETE", stall->incomplete != LACKS_NOTHING);
	put_stack_field(entry, named);
}
