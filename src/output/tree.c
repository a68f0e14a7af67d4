// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "allocfilt/output.h"
#include "output/tree.h"

/* The form `tree`: a block for each stall, for people; then the summary. */

#define ROWS_MAX      96
#define ROW_SHRINKERS 5	  /* of a group; the others share one row */
#define ROW_SHARE     100 /* a shrinker below 1/ROW_SHARE of the stall has no row of its own */
#define TITLE_COLUMNS 44  /* including the lines drawn before it */

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

struct row {
	int level;
	uint64_t ns;
	bool largest; /* of all parts */
	char title[160];
};

/* The tree of a stall's phases in the making. */
struct rows {
	struct resolver *resolver;
	const struct phases *phases;
	const struct stall_shrinker *shrinkers; /* most time first */
	size_t nr_shrinkers;
	size_t count;
	struct row row[ROWS_MAX];
};

struct drawing {
	const char *branch;
	const char *last;
	const char *through;
	const char *blank;
};

static const struct drawing boxes = { "├─ ", "└─ ", "│  ", "   " };
static const struct drawing ascii = { "|- ", "`- ", "|  ", "   " };

void tree_add_ms(struct line *line, int width, uint64_t ns)
{
	line_add(line, "%*" PRIu64 ".%03u", width, ns / 1000000, (unsigned int)(ns / 1000 % 1000));
}

__attribute__((format(printf, 4, 5))) static struct row *
add_row(struct rows *rows, int level, uint64_t ns, const char *format, ...)
{
	struct row *row = &rows->row[rows->count < ROWS_MAX ? rows->count++ : ROWS_MAX - 1];
	va_list arguments;

	row->level = level;
	row->ns = ns;
	row->largest = false;
	va_start(arguments, format);
	vsnprintf(row->title, sizeof(row->title), format, arguments);
	va_end(arguments);
	return row;
}

/* Without a label, shrinkers of one callback differ by their address only. */
static bool shares_callback(const struct rows *rows, const struct stall_shrinker *shrinker)
{
	for (size_t i = 0; i < rows->nr_shrinkers; i++)
		if (rows->shrinkers[i].callback == shrinker->callback &&
		    rows->shrinkers[i].shrinker != shrinker->shrinker)
			return true;
	return false;
}

static void add_shrinker(struct rows *rows, const struct stall_shrinker *shrinker)
{
	char name[160];

	resolver_shrinker(rows->resolver, shrinker->shrinker, shrinker->callback, name,
			  sizeof(name));
	if (shares_callback(rows, shrinker) && !strchr(name, '['))
		add_row(rows, 2, shrinker->ns, "%.100s 0x%" PRIx64, name, shrinker->shrinker);
	else
		add_row(rows, 2, shrinker->ns, "%.150s", name);
}

/*
 * The largest shrinkers of a group. The first has a row however little it took, and so has the
 * first with a superblock's label: which file system cost most is what people look for.
 */
static void add_shrinkers(struct rows *rows, enum phase_group group)
{
	uint64_t whole = phases_total(rows->phases);
	bool any = false, any_labelled = false;
	uint64_t others = 0;
	size_t nr_others = 0;
	int shown = 0;

	for (size_t i = 0; i < rows->nr_shrinkers; i++) {
		const struct stall_shrinker *shrinker = &rows->shrinkers[i];
		bool first_labelled;

		if (shrinker->group != group || !shrinker->ns)
			continue;
		first_labelled = !any_labelled &&
				 resolver_shrinker_label(rows->resolver, shrinker->shrinker);
		if (!any || first_labelled ||
		    (shrinker->ns >= whole / ROW_SHARE && shown < ROW_SHRINKERS)) {
			add_shrinker(rows, shrinker);
			shown++;
		} else {
			others += shrinker->ns;
			nr_others++;
		}
		any = true;
		any_labelled |= first_labelled;
	}
	if (nr_others)
		add_row(rows, 2, others, "%zu other shrinker%s", nr_others,
			nr_others == 1 ? "" : "s");
}

static void add_group(struct rows *rows, enum phase_group group)
{
	enum phase_group largest_group;
	enum phase_part largest_part;
	uint64_t ns = phases_group(rows->phases, group);

	if (!ns)
		return;
	add_row(rows, 0, ns, "%s", phase_group_names[group].title);
	if (!phases_is_reclaim(group))
		return;
	phases_largest(rows->phases, &largest_group, &largest_part);
	for (int part = PHASE_PARTS - 1; part >= 0; part--) {
		ns = rows->phases->ns[group][part];
		if (!ns)
			continue;
		add_row(rows, 1, ns, "%s", phase_part_names[part].title)->largest =
			largest_group == group && (int)largest_part == part;
		if (part == PART_SLAB)
			add_shrinkers(rows, group);
	}
}

/* Does another row of this level follow, below the same row of the level above? */
static bool continues(const struct rows *rows, size_t row, int level)
{
	for (size_t i = row + 1; i < rows->count && rows->row[i].level >= level; i++)
		if (rows->row[i].level == level)
			return true;
	return false;
}

static void put_row(struct writer *writer, const struct terminal *terminal, const struct rows *rows,
		    size_t which, uint64_t whole)
{
	const struct drawing *drawing = terminal->box ? &boxes : &ascii;
	const struct row *row = &rows->row[which];
	bool red = row->largest && terminal->colour;
	struct line line;
	int columns;
	size_t title;

	line_clear(&line);
	for (int level = 0; level < row->level; level++)
		line_add(&line, "%s",
			 continues(rows, which, level) ? drawing->through : drawing->blank);
	line_add(&line, "%s%s",
		 continues(rows, which, row->level) ? drawing->branch : drawing->last,
		 red ? RED : "");
	title = line.used;
	line_add_escaped(&line, row->title, terminal->names);
	columns = 3 * (row->level + 1) + text_columns(line.text + title);
	line_add(&line, "%s%*s", red ? PLAIN : "",
		 columns < TITLE_COLUMNS ? TITLE_COLUMNS - columns : 0, "");
	tree_add_ms(&line, 8, row->ns);
	line_add(&line, " ms %3u%%",
		 whole ? (unsigned int)((row->ns * 100 + whole / 2) / whole) : 0);
	line_put(&line, writer);
}

void tree_phases(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		 const struct phases *phases, const struct stall_shrinker *shrinkers,
		 size_t nr_shrinkers)
{
	struct rows rows;

	rows.resolver = resolver;
	rows.phases = phases;
	rows.shrinkers = shrinkers;
	rows.nr_shrinkers = nr_shrinkers;
	rows.count = 0;
	for (int group = 0; group < PHASE_GROUPS; group++)
		add_group(&rows, group);
	for (size_t i = 0; i < rows.count; i++)
		put_row(writer, terminal, &rows, i, phases_total(phases));
}

/* "worker-12 of server-10 /cgroup": thread, process */
static void add_task(struct line *line, const struct terminal *terminal,
		     const struct named_stall *named)
{
	const struct task_info *task = named->task_info;

	line_add(line, "%s", terminal->colour ? BOLD : "");
	line_add_escaped(line, named->name, terminal->names);
	line_add(line, "-%d%s", named->stall->tid, terminal->colour ? PLAIN : "");
	if (named->interrupt)
		line_add(line, " (interrupt)");
	if (*task->process && task->pid != named->stall->tid) {
		line_add(line, " of ");
		line_add_escaped(line, task->process, terminal->names);
		line_add(line, "-%d", task->pid);
	}
	if (*task->cgroup) {
		line_add(line, " %s", terminal->colour ? DIM : "");
		line_add_escaped(line, task->cgroup, terminal->names);
		line_add(line, "%s", terminal->colour ? PLAIN : "");
	}
}

static void put_head(struct writer *writer, const struct terminal *terminal,
		     struct resolver *resolver, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	struct stall_fact facts[STALL_FACTS];
	char time[CLOCK_TEXT_MAX];
	struct line line;

	line_clear(&line);
	if (resolver_time(resolver, stall->start, time))
		line_add(&line, "%s ", time);
	else
		line_add(&line, "%" PRIu64 ".%06u ", stall->start / 1000000000,
			 (unsigned int)(stall->start / 1000 % 1000000));
	add_task(&line, terminal, named);
	line_add(&line, "  %s", terminal->colour ? BOLD : "");
	tree_add_ms(&line, 0, stall->end - stall->start);
	line_add(&line, " ms%s  ", terminal->colour ? PLAIN : "");
	line_add_escaped(&line, named->function, terminal->names);
	stall_facts(named, facts);
	for (size_t i = 0; i < STALL_FACTS; i++) {
		if (!facts[i].known || !facts[i].for_people)
			continue;
		line_add(&line, "  %s", facts[i].before);
		if (facts[i].text)
			line_add_escaped(&line, facts[i].text, terminal->names);
		else
			line_add(&line, "%" PRIu64, facts[i].number);
		line_add(&line, "%s", facts[i].after);
	}
	if (stall->depth > 0)
		line_add(&line, "  (part of something longer that was not recorded)");
	if (stall->incomplete)
		line_add(&line, "  (incomplete: records were lost)");
	line_put(&line, writer);
}

void tree_stall(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
		const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	const uint64_t *frames;
	size_t count;

	put_head(writer, terminal, resolver, named);
	tree_phases(writer, terminal, resolver, &stall->phases, stall->shrinkers,
		    stall->nr_shrinkers);
	count = resolver_stack(resolver, stall->stack, &frames);
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];
		struct line line;

		resolver_symbol(resolver, frames[i], 's', name, sizeof(name));
		line_clear(&line);
		line_add(&line, "   => %s", name);
		line_put(&line, writer);
	}
}

/* The program itself stays in the "C" locale; this asks only what the reader can see. */
static bool locale_has_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (!locale)
		return false;
	utf8 = !strcasecmp(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return utf8;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/*
 * Colour on a terminal whose TERM is set and not "dumb", unless NO_COLOR is set (no-color.org);
 * boxes on such a terminal where the locale has UTF-8. A file or pipe gets neither, and names as
 * they are.
 */
static int tree_make(struct output *output)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	bool smart = is_set("TERM") && strcmp(getenv("TERM"), "dumb");

	if (!terminal)
		return -ENOMEM;
	if (isatty(writer_fd(output->setup.writer))) {
		terminal->colour = smart && !is_set("NO_COLOR");
		terminal->box = smart && locale_has_utf8();
		terminal->names = locale_has_utf8() ? TEXT_PRINTABLE : TEXT_ASCII;
	}
	output->form = terminal;
	return 0;
}

static void tree_release(struct output *output)
{
	free(output->form);
}

static int tree_form_stall(struct output *output, const struct named_stall *named)
{
	struct writer *writer = output->setup.writer;

	tree_stall(writer, output->form, output->setup.resolver, named);
	return writer_put(writer, "\n", 1);
}

static int tree_summary(struct output *output, const struct summary_view *view)
{
	return summary_text(output->setup.writer, view);
}

const struct output_ops tree_form = {
	.make = tree_make,
	.release = tree_release,
	.stall = tree_form_stall,
	.summary = tree_summary,
};
