// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output/facts.h"
#include "allocfilt/output/form.h"
#include "allocfilt/stats/ranking.h"
#include "output/tree.h"

/* The form `tree`: a block for each stall, for people; then the summary. */

#define ROW_SHRINKERS 5	  /* rows for the shrinkers of a group; the others share one */
#define ROW_SHARE     100 /* a shrinker below 1/ROW_SHARE of the stall has no row of its own */
#define TITLE_COLUMNS 44  /* of a title with its branches */

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

/* The lines that are drawn before a title, per level. */
struct branches {
	const char *branch; /* to a row after which others of its level follow */
	const char *last;
	const char *through; /* past a row, to a later one of a higher level */
	const char *blank;
};

static const struct branches box_branches = { "├─ ", "└─ ", "│  ", "   " };
static const struct branches ascii_branches = { "|- ", "`- ", "|  ", "   " };

__attribute__((format(printf, 4, 5))) static struct tree_row *
tree_add_row(struct tree_rows *rows, int level, uint64_t ns, const char *format, ...)
{
	struct tree_row *row =
		&rows->row[rows->count < TREE_ROWS_MAX ? rows->count++ : TREE_ROWS_MAX - 1];
	va_list arguments;

	row->level = level;
	row->ns = ns;
	row->is_half = false;
	va_start(arguments, format);
	vsnprintf(row->title, sizeof(row->title), format, arguments);
	va_end(arguments);
	return row;
}

static void tree_add_shrinker(struct tree_rows *rows, const struct stall_slice *shrinker)
{
	bool shared = false; /* does another shrinker have the same callback? */
	char name[160];

	resolver_shrinker(rows->resolver, shrinker->shrinker, shrinker->callback, name,
			  sizeof(name));
	for (size_t i = 0; i < rows->stall->nr_shrinkers; i++)
		shared |= rows->stall->shrinkers[i].callback == shrinker->callback &&
			  rows->stall->shrinkers[i].shrinker != shrinker->shrinker;
	/*
	 * Shrinkers of one callback without a superblock's label differ in their address only; a
	 * module's name is no label.
	 */
	if (shared && !resolver_shrinker_label(rows->resolver, shrinker->shrinker))
		tree_add_row(rows, 2, shrinker->ns, "%.100s[0x%" PRIx64 "]", name,
			     shrinker->shrinker);
	else
		tree_add_row(rows, 2, shrinker->ns, "%.150s", name);
}

/*
 * Adds the largest shrinkers of a group. The first one always has a row, and so has the first one
 * with a superblock's label: people look for the file system that cost most.
 */
static void tree_add_shrinkers(struct tree_rows *rows, enum phase_group group)
{
	uint64_t whole = phases_total(rows->phases);
	bool any = false, any_labelled = false;
	uint64_t others = 0;
	size_t nr_others = 0;
	int shown = 0;

	for (size_t i = 0; i < rows->stall->nr_shrinkers; i++) {
		const struct stall_slice *shrinker = &rows->stall->shrinkers[i];
		bool first_labelled;

		if (shrinker->group != group || !shrinker->ns)
			continue;
		first_labelled = !any_labelled &&
				 resolver_shrinker_label(rows->resolver, shrinker->shrinker);
		if (!any || first_labelled ||
		    (shrinker->ns >= whole / ROW_SHARE && shown < ROW_SHRINKERS)) {
			tree_add_shrinker(rows, shrinker);
			shown++;
		} else {
			others += shrinker->ns;
			nr_others++;
		}
		any = true;
		any_labelled |= first_labelled;
	}
	if (nr_others)
		tree_add_row(rows, 2, others, "%zu other shrinker%s", nr_others,
			     nr_others == 1 ? "" : "s");
}

static void tree_add_sleeps(struct tree_rows *rows, int level, enum phase_group group,
			    enum phase_part part, enum phase_state state)
{
	uint64_t whole = phases_total(rows->phases);
	int shown = 0;

	for (size_t i = 0; i < rows->stall->nr_sleeps; i++) {
		const struct stall_slice *sleep = &rows->stall->sleeps[i];
		char name[STALL_FUNCTION_MAX];

		if (sleep->group != group || sleep->part != part || sleep->state != state ||
		    (shown && (sleep->ns < whole / ROW_SHARE || shown == ROW_SHRINKERS)))
			continue;
		resolver_symbol(rows->resolver, sleep->function, 's', name, sizeof(name));
		tree_add_row(rows, level, sleep->ns, "in %s", name);
		shown++;
	}
}

/*
 * The states of the task in a part, most time first. That it ran all the time is told only where
 * nothing else explains the part.
 */
static void tree_add_states(struct tree_rows *rows, int level, enum phase_group group,
			    enum phase_part part)
{
	const uint64_t *ns = rows->phases->ns[group][part];
	uint64_t whole = phases_part(rows->phases, group, part);
	int state = -1;

	if (!rows->stall || !rows->stall->off_cpu ||
	    (ns[STATE_RUNNING] == whole && part != PART_ITSELF && part != PART_SHRINKER_LOOKUP))
		return;
	while ((state = ranking_next(ns, sizeof(*ns), PHASE_STATES, state)) >= 0 && ns[state]) {
		tree_add_row(rows, level, ns[state], "%s", phase_state_names[state].title);
		tree_add_sleeps(rows, level + 1, group, part, state);
	}
}

static void tree_add_group(struct tree_rows *rows, enum phase_group group)
{
	uint64_t ns = phases_group(rows->phases, group), whole = phases_total(rows->phases);

	if (!ns)
		return;
	tree_add_row(rows, 0, ns, "%s", phase_group_names[group].title);
	if (!phases_is_reclaim(group)) {
		tree_add_states(rows, 1, group, PART_ITSELF);
		return;
	}
	for (int part = PHASE_PARTS - 1; part >= 0; part--) {
		ns = phases_part(rows->phases, group, part);
		if (!ns)
			continue;
		tree_add_row(rows, 1, ns, "%s", phase_part_names[part].title)->is_half =
			ns >= whole - ns;
		if (part != PART_SHRINKERS)
			tree_add_states(rows, 2, group, part);
		else if (rows->stall)
			tree_add_shrinkers(rows, group);
	}
}

/* Does another row of this level follow under the same parent? */
static bool continues(const struct tree_rows *rows, size_t row, int level)
{
	for (size_t i = row + 1; i < rows->count && rows->row[i].level >= level; i++)
		if (rows->row[i].level == level)
			return true;
	return false;
}

static void tree_put_row(struct writer *writer, const struct terminal *terminal,
			 const struct tree_rows *rows, size_t index, uint64_t whole)
{
	const struct branches *branches = terminal->box ? &box_branches : &ascii_branches;
	const struct tree_row *row = &rows->row[index];
	bool red = row->is_half && terminal->colour;
	struct line line;
	int columns;
	size_t title;

	line_clear(&line);
	for (int level = 0; level < row->level; level++)
		line_add(&line, "%s",
			 continues(rows, index, level) ? branches->through : branches->blank);
	line_add(&line, "%s%s",
		 continues(rows, index, row->level) ? branches->branch : branches->last,
		 red ? RED : "");
	title = line.used;
	line_add_escaped(&line, row->title, terminal->names);
	columns = 3 * (row->level + 1) + text_columns(line.text + title);
	line_add(&line, "%s%*s", red ? PLAIN : "",
		 columns < TITLE_COLUMNS ? TITLE_COLUMNS - columns : 0, "");
	line_add_ms(&line, 8, row->ns);
	line_add(&line, " ms %3u%%",
		 whole ? (unsigned int)((row->ns * 100 + whole / 2) / whole) : 0);
	line_put(&line, writer);
}

/* A stall that is nothing but outside reclaim needs no row: 100 % says no more than the head. */
static bool is_outside(const struct stall *stall)
{
	return !phases_off_cpu(&stall->phases) &&
	       phases_part(&stall->phases, PHASE_OUTSIDE, PART_ITSELF) ==
		       phases_total(&stall->phases);
}

void tree_rows(struct tree_rows *rows, struct resolver *resolver, const struct phases *phases,
	       const struct stall *stall)
{
	rows->resolver = resolver;
	rows->phases = phases;
	rows->stall = stall;
	rows->count = 0;
	if (stall && is_outside(stall))
		return;
	for (int group = 0; group < PHASE_GROUPS; group++)
		tree_add_group(rows, group);
}

void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall *stall)
{
	struct tree_rows rows;

	tree_rows(&rows, resolver, phases, stall);
	for (size_t i = 0; i < rows.count; i++)
		tree_put_row(writer, terminal, &rows, i, phases_total(phases));
}

/* Adds the facts of the head, or those of the line below. Returns whether there are any. */
static bool add_facts(struct line *line, const struct terminal *terminal,
		      const struct stall_fact facts[STALL_FACTS], bool below)
{
	bool any = false;

	for (size_t i = 0; i < STALL_FACTS; i++) {
		if (!facts[i].known || !facts[i].for_people || facts[i].below != below)
			continue;
		line_add(line, "%s%s", !below ? "  " : any ? ", " : "   ", facts[i].before);
		if (facts[i].text)
			line_add_escaped(line, facts[i].text, terminal->names);
		else
			line_add(line, "%" PRIu64, facts[i].number);
		line_add(line, "%s", facts[i].after);
		any = true;
	}
	return any;
}

static void tree_put_head(struct writer *writer, const struct terminal *terminal,
			  struct resolver *resolver, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const struct task_style plain = { terminal->names, false, "", "", " ", "" };
	const struct task_style coloured = { terminal->names, false, BOLD, PLAIN, " " DIM, PLAIN };
	struct stall_fact facts[STALL_FACTS];
	char time[TEXT_TIME_MAX], function[STALL_FUNCTION_MAX];
	struct line line;

	line_clear(&line);
	resolver_time(resolver, stall->start, time);
	line_add(&line, "%s ", time);
	stall_task(&line, named, named->task_info->cgroup, terminal->colour ? &coloured : &plain);
	line_add(&line, "  %s", terminal->colour ? BOLD : "");
	line_add_ms(&line, 0, stall->end - stall->start);
	line_add(&line, " ms%s  ", terminal->colour ? PLAIN : "");
	line_add_escaped(&line, stall_function(named, function), terminal->names);
	stall_facts(named, facts);
	add_facts(&line, terminal, facts, false);
	if (stall->depth > 0)
		line_add(&line, "  (part of something longer that was not recorded)");
	if (stall->incomplete)
		line_add(&line, "  (incomplete: %s)", stall_lack_names[stall->incomplete].title);
	line_put(&line, writer);
	line_clear(&line);
	if (add_facts(&line, terminal, facts, true))
		line_put(&line, writer);
}

static void tree_put_cause(struct writer *writer, const struct terminal *terminal,
			   struct resolver *resolver, const struct stall *stall)
{
	char text[STALL_CAUSE_MAX];
	struct line line;

	cause_text(resolver, stall, text);
	line_clear(&line);
	line_add(&line, "   cause: ");
	line_add_escaped(&line, text, terminal->names);
	line_put(&line, writer);
}

static void tree_put_had_cpu(struct writer *writer, const struct terminal *terminal,
			     const struct stall *stall)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "   had the CPU meanwhile: ");
	if (stall_had_cpu(&line, stall, terminal->names))
		line_put(&line, writer);
}

void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const uint64_t *frames;
	size_t count;

	tree_put_head(writer, terminal, resolver, named);
	if (!is_outside(stall))
		tree_put_cause(writer, terminal, resolver, stall);
	tree_put_had_cpu(writer, terminal, stall);
	tree_phases(writer, terminal, resolver, &stall->phases, stall);
	count = resolver_stack(resolver, stall->stack, &frames);
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];
		struct line line;

		resolver_symbol(resolver, frames[i], 's', name, sizeof(name));
		line_clear(&line);
		line_add(&line, "   => ");
		line_add_escaped(&line, name, terminal->names);
		line_put(&line, writer);
	}
}

/*
 * Colour needs a terminal whose TERM is set and not "dumb", and no NO_COLOR (no-color.org). Box
 * drawing also needs a UTF-8 locale. A file or a pipe gets neither, and names with any bytes.
 */
static int tree_make(struct output *output)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	const char *no_colour = getenv("NO_COLOR");
	const char *name = getenv("TERM");
	bool capable = name && *name && strcmp(name, "dumb");

	if (!terminal)
		return -ENOMEM;
	terminal->names = text_rule_of(writer_fd(output->setup.writer));
	if (output->is_terminal) {
		terminal->colour = capable && !(no_colour && *no_colour);
		terminal->box = capable && terminal->names == TEXT_PRINTABLE;
	}
	output->form = terminal;
	return 0;
}

static int tree_form_stall(struct output *output, const struct named_stall *named)
{
	struct writer *writer = output->setup.writer;

	tree_stall(writer, output->form, output->setup.resolver, named);
	if (is_outside(named->stall) && !named->stall->stack)
		return writer_status(writer);
	return writer_put(writer, "\n", 1);
}

const struct output_ops tree_form = {
	.make = tree_make,
	.stall = tree_form_stall,
};
