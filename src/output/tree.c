// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/names/units.h"
#include "allocfilt/output/facts.h"
#include "allocfilt/output/form.h"
#include "allocfilt/stall/cause.h"
#include "output/tree.h"

/* The form `tree`: a block for each stall, for people; then the summary. */

#define ROW_SLICES    5	  /* rows for the shrinkers of a group, or the functions of a sleep */
#define ROW_SHARE     100 /* less than 1/ROW_SHARE of the whole is no row of its own */
#define TITLE_COLUMNS 57  /* of a title with its branches, and the whole ms */
#define HEAD_COLUMNS  80
#define TITLE_MAX     (2 * STALL_FUNCTION_MAX + 88) /* with an address and counts */

/* The places in a text of resolver_time(). */
#define TIME_OF_DAY 11
#define TIME_ZONE   29

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

/* The form's own state. */
struct tree_output {
	struct terminal terminal;
	char date[sizeof("2026-11-21")]; /* of the last stall */
};

/* ---- rows ---- */

struct tree_row {
	int level; /* 0: a phase, 1: its part, 2: a shrinker; states are one level below the last */
	uint64_t ns;
	const char *title;		 /* NULL: the name of the slice is */
	const struct stall_slice *slice; /* a shrinker, or a function that slept */
	bool done;
};

#define TREE_ROWS_MAX 1024 /* the most that a stall has: states of all parts, and slices */

/* Each row is followed by those below it. */
struct tree {
	struct writer *writer;
	const struct terminal *terminal;
	struct resolver *resolver;
	const struct stall *stall;
	struct stall_cause cause;
	size_t count;
	struct tree_row row[TREE_ROWS_MAX];
};

static void tree_add_row(struct tree *tree, int level, uint64_t ns, const char *title,
			 const struct stall_slice *slice)
{
	if (ns && tree->count < TREE_ROWS_MAX)
		tree->row[tree->count++] = (struct tree_row){ .level = level,
							      .ns = ns,
							      .title = title,
							      .slice = slice };
}

/*
 * The states of the task in a part, or in one shrinker of it, and where it slept. That it ran all the time
 * is told only where nothing else explains the part.
 */
static void tree_add_states(struct tree *tree, int level, int group, int part,
			    const struct stall_slice *shrinker)
{
	const struct stall *stall = tree->stall;
	const uint64_t *ns = shrinker ? shrinker->in : stall->phases.ns[group][part];
	uint64_t whole = shrinker ? shrinker->ns : phases_part(&stall->phases, group, part);

	if (!stall->off_cpu ||
	    (ns[STATE_RUNNING] == whole && part != PART_ITSELF && part != PART_SHRINKER_LOOKUP))
		return;
	for (int state = 0; state < STATE_UNKNOWN; state++) {
		tree_add_row(tree, level, ns[state], phase_state_names[state].title, NULL);
		for (size_t i = 0; ns[state] && i < stall->nr_sleeps; i++) {
			const struct stall_slice *sleep = &stall->sleeps[i];

			if ((int)sleep->group == group && (int)sleep->part == part &&
			    (int)sleep->state == state &&
			    (!shrinker || sleep->shrinker == shrinker->shrinker))
				tree_add_row(tree, level + 1, sleep->ns, NULL, sleep);
		}
	}
}

static void tree_add_phases(struct tree *tree)
{
	const struct stall *stall = tree->stall;
	const struct phases *phases = &stall->phases;

	PHASES_FOREACH(group, phases) {
		int level = phases_is_reclaim(group);

		tree_add_row(tree, 0, phases_group(phases, group), phase_group_names[group].title,
			     NULL);
		for (int part = 0; part < phases_parts(group); part++) {
			if (level)
				tree_add_row(tree, level, phases_part(phases, group, part),
					     phase_part_names[part].title, NULL);
			if (part != PART_SHRINKERS)
				tree_add_states(tree, level + 1, group, part, NULL);
			for (size_t i = 0; part == PART_SHRINKERS && i < stall->nr_shrinkers; i++) {
				const struct stall_slice *shrinker = &stall->shrinkers[i];

				if ((int)shrinker->group != group || !shrinker->ns)
					continue;
				tree_add_row(tree, 2, shrinker->ns, NULL, shrinker);
				tree_add_states(tree, 3, group, part, shrinker);
			}
		}
	}
}

/* A part is known by its title and its time, a state by its title: it is the sum of several rows. */
static bool tree_is_cause(const struct tree *tree, const struct tree_row *row)
{
	const struct stall_cause *cause = &tree->cause;
	const struct cause_step *last;

	if (cause->which == CAUSE_MIXED)
		return false;
	if (cause->which >= PHASE_GROUPS)
		return row->title == cause_name(cause->which)->title;
	last = &cause->steps[cause->nr_steps - 1];
	return row->title == last->title && row->slice == last->shrinker && row->ns == last->ns;
}

static void tree_title(const struct tree *tree, const struct tree_row *row, char text[TITLE_MAX])
{
	const struct stall_slice *slice = row->slice;
	bool shared = false; /* does another shrinker have the same callback? */
	size_t used;

	if (!slice) {
		snprintf(text, TITLE_MAX, "%s", row->title);
		return;
	}
	if (slice->function) {
		used = snprintf(text, TITLE_MAX, "in ");
		resolver_symbol(tree->resolver, slice->function, 's', text + used,
				STALL_FUNCTION_MAX);
		return;
	}
	resolver_shrinker(tree->resolver, slice->shrinker, slice->callback, text,
			  2 * STALL_FUNCTION_MAX);
	for (size_t i = 0; i < tree->stall->nr_shrinkers; i++)
		shared |= tree->stall->shrinkers[i].callback == slice->callback &&
			  tree->stall->shrinkers[i].shrinker != slice->shrinker;
	/*
	 * Shrinkers of one callback without a superblock's label differ in their address only; a
	 * module's name is no label.
	 */
	used = strlen(text);
	if (shared && !resolver_shrinker_label(tree->resolver, slice->shrinker))
		snprintf(text + used, TITLE_MAX - used, "[0x%" PRIx64 "]", slice->shrinker);
	shrinker_add_freed(slice, text, TITLE_MAX);
}

static void tree_put_row(const struct tree *tree, const char *before, const char *title,
			 uint64_t ns, bool is_cause)
{
	bool red = is_cause && tree->terminal->colour;
	unsigned int percent =
		(unsigned int)((ns * 100 + tree->cause.whole / 2) / tree->cause.whole);
	struct line line;
	int columns;

	line_clear(&line);
	line_add(&line, "%s%s", before, red ? RED : "");
	line_add_escaped(&line, title, tree->terminal->names);
	columns = text_columns(line.text) - (red ? strlen(RED) : 0);
	line_add(&line, "%s ", red ? PLAIN : "");
	line_add_ms(&line, columns < TITLE_COLUMNS ? TITLE_COLUMNS - columns : 0, ns);
	line_add(&line, percent ? " ms %3u %%" : " ms  <1 %%", percent);
	line_put(&line, tree->writer);
}

/* The row with most time of those of the same level that are not done; NULL: there is none. */
static struct tree_row *tree_next(struct tree *tree, size_t from, size_t end)
{
	struct tree_row *next = NULL;

	for (size_t i = from; i < end; i++) {
		struct tree_row *row = &tree->row[i];

		if (row->level == tree->row[from].level && !row->done &&
		    (!next || row->ns > next->ns))
			next = row;
	}
	return next;
}

/*
 * Writes the rows from @from on, most time first, each with those below it. Small ones, and slices
 * after the fifth, share the last row.
 */
static void tree_put_rows(struct tree *tree, size_t from, size_t end, const char *before)
{
	const struct branches *branches = tree->terminal->box ? &box_branches : &ascii_branches;
	struct tree_row *row = tree_next(tree, from, end), *next;
	size_t shown = 0, nr_folded = 0;
	uint64_t folded = 0;
	char lines[64], title[TITLE_MAX];

	for (; row; row = next) {
		size_t below = row - tree->row + 1, after = below;
		bool fold = row->ns < tree->cause.whole / ROW_SHARE ||
			    (row->slice && shown == ROW_SLICES);

		row->done = true;
		next = tree_next(tree, from, end);
		nr_folded += fold;
		folded += fold ? row->ns : 0;
		if (fold && next)
			continue;
		tree_title(tree, row, title);
		if (nr_folded > 1 || (fold && row->slice))
			snprintf(title, sizeof(title), "%zu %s%s", nr_folded,
				 !row->slice	      ? "smaller part" :
				 row->slice->function ? "other function" :
							"other shrinker",
				 nr_folded == 1 ? "" : "s");
		snprintf(lines, sizeof(lines), "%s%s", before,
			 next ? branches->branch : branches->last);
		tree_put_row(tree, lines, title, fold ? folded : row->ns,
			     !fold && tree_is_cause(tree, row));
		shown++;
		while (after < end && tree->row[after].level > row->level)
			after++;
		snprintf(lines, sizeof(lines), "%s%s", before,
			 next ? branches->through : branches->blank);
		if (!fold)
			tree_put_rows(tree, below, after, lines);
	}
}

/* Time outside reclaim alone, in which the task was never off the CPU, needs no row: the cause has told it. */
static void tree_put_phases(struct writer *writer, const struct terminal *terminal,
			    struct resolver *resolver, const struct stall *stall)
{
	const uint64_t *outside = stall->phases.ns[PHASE_OUTSIDE][PART_ITSELF];
	struct tree tree;

	stall_cause(stall, &tree.cause);
	if (outside[STATE_RUNNING] + outside[STATE_UNKNOWN] == tree.cause.whole)
		return;
	tree.writer = writer;
	tree.terminal = terminal;
	tree.resolver = resolver;
	tree.stall = stall;
	tree.count = 0;
	tree_add_phases(&tree);
	tree_put_rows(&tree, 0, tree.count, "");
}

/* ---- the head ---- */

/*
 * Writes a line that goes on in the next one, after a comma, a semicolon or a bar, where it has more
 * than HEAD_COLUMNS. The colours are its only control characters, and take no column.
 */
static void tree_put_wrapped(struct writer *writer, const struct line *line, int indent)
{
	const char *from = line->text, *end = NULL;
	int columns = 0, blanks = 0;

	for (const char *at = from; *at; at++) {
		if (*at == '\033') {
			at = strchr(at, 'm');
			continue;
		}
		if (at > from && (at[-1] == '|' || (*at == ' ' && strchr(",;", at[-1]))))
			end = at;
		columns += (*at & 0xc0) != 0x80;
		if (columns <= HEAD_COLUMNS || !end)
			continue;
		line_write(writer, "%*s%.*s", blanks, "", (int)(end - from), from);
		from = end + (*end == ' ');
		at = from - 1;
		end = NULL;
		columns = blanks = indent;
	}
	line_write(writer, "%*s%s", blanks, "", from);
}

/* The name of the system unit that a cgroup is in; its path if that is none. */
static const char *cgroup_name(const char *path, char unit[UNIT_NAME_BYTES])
{
	return unit_name_of_cgroup(path, unit) ? unit : path;
}

/* Adds the facts of the head, or those of the line below. */
static void add_facts(struct line *line, const struct terminal *terminal,
		      const struct stall_fact facts[STALL_FACTS], bool below)
{
	char unit[UNIT_NAME_BYTES];

	for (size_t i = 0; i < STALL_FACTS; i++) {
		if (!facts[i].known || !facts[i].for_people || facts[i].below != below)
			continue;
		line_add(line, ", %s", facts[i].before);
		if (facts[i].text)
			line_add_escaped(line, cgroup_name(facts[i].text, unit), terminal->names);
		else
			line_add(line, "%" PRIu64, facts[i].number);
		line_add(line, "%s", facts[i].after);
	}
}

static void tree_put_head(struct writer *writer, const struct terminal *terminal,
			  struct resolver *resolver, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const struct task_style plain = { terminal->names, false, "", "", " in ", "" };
	const struct task_style coloured = {
		terminal->names, false, BOLD, PLAIN, " in " DIM, PLAIN
	};
	struct stall_fact facts[STALL_FACTS];
	char time[TEXT_TIME_MAX], function[STALL_FUNCTION_MAX], unit[UNIT_NAME_BYTES];
	char cause[STALL_CAUSE_MAX];
	struct line line;

	stall_facts(named, facts);
	line_clear(&line);
	if (resolver_time(resolver, stall->start, time))
		line_add(&line, "%.12s%s ", time + TIME_OF_DAY, time + TIME_ZONE);
	else
		line_add(&line, "%s ", time);
	stall_task(&line, named,
		   named->background && !named->on_purpose ?
			   "" :
			   cgroup_name(named->task_info->cgroup, unit),
		   terminal->colour ? &coloured : &plain);
	line_add(&line, "%s, %s",
		 named->on_purpose ? " (on purpose)" :
		 named->background ? " (background)" :
				     "",
		 terminal->colour ? BOLD : "");
	line_add_ms(&line, 0, stall->end - stall->start);
	line_add(&line, " ms%s", terminal->colour ? PLAIN : "");
	add_facts(&line, terminal, facts, false);
	tree_put_wrapped(writer, &line, 3);

	cause_text(resolver, stall, cause);
	line_clear(&line);
	line_add(&line, "   cause: ");
	line_add_escaped(&line, cause, terminal->names);
	tree_put_wrapped(writer, &line, 10);

	line_clear(&line);
	line_add(&line, "   had the CPU meanwhile: ");
	if (phases_state(&stall->phases, STATE_WAITED) >= (stall->end - stall->start) / ROW_SHARE &&
	    stall_had_cpu(&line, stall, terminal->names))
		tree_put_wrapped(writer, &line, 6);

	line_clear(&line);
	line_add(&line, "   ");
	line_add_escaped(&line, stall_function(named, function), terminal->names);
	add_facts(&line, terminal, facts, true);
	if (stall->depth > 0)
		line_add(&line, ", part of something longer that was not recorded");
	if (stall->incomplete)
		line_add(&line, ", incomplete: %s", stall_lack_names[stall->incomplete].title);
	tree_put_wrapped(writer, &line, 3);
}

void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const uint64_t *frames;
	size_t count;

	tree_put_head(writer, terminal, resolver, named);
	tree_put_phases(writer, terminal, resolver, stall);
	count = resolver_stack(resolver, stall->stack, &frames);
	if (count)
		line_write(writer, "   stack, the innermost function first:");
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
	struct tree_output *form = calloc(1, sizeof(*form));
	const char *no_colour = getenv("NO_COLOR");
	const char *name = getenv("TERM");
	bool capable = name && *name && strcmp(name, "dumb");

	if (!form)
		return -ENOMEM;
	form->terminal.names = text_rule_of(writer_fd(output->setup.writer));
	if (output->is_terminal) {
		form->terminal.colour = capable && !(no_colour && *no_colour);
		form->terminal.box = capable && form->terminal.names == TEXT_PRINTABLE;
	}
	output->form = form;
	return 0;
}

/* The date has a line of its own, where it is another one than before. */
static int tree_form_stall(struct output *output, const struct named_stall *named)
{
	struct writer *writer = output->setup.writer;
	struct tree_output *form = output->form;
	char time[TEXT_TIME_MAX];

	if (resolver_time(output->setup.resolver, named->stall->start, time)) {
		time[TIME_OF_DAY - 1] = '\0';
		if (strcmp(form->date, time))
			line_write(writer, "%s", time);
		strcpy(form->date, time);
	}
	tree_stall(writer, &form->terminal, output->setup.resolver, named);
	return writer_put(writer, "\n", 1);
}

const struct output_ops tree_form = {
	.make = tree_make,
	.stall = tree_form_stall,
};
