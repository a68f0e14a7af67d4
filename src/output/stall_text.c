// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"
#include "allocfilt/plan.h"
#include "output/stall_text.h"

#define ROWS_MAX      96
#define ROW_SHRINKERS 5	  /* of a group; the others go into one row */
#define ROW_SHARE     100 /* what is less than this part of the whole has no row of its own */
#define TITLE_COLUMNS 44  /* with what is drawn before it */
#define NAME_BYTES    512

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

struct row {
	int level;
	uint64_t ns;
	bool worst;
	char title[160];
};

struct rows {
	struct row row[ROWS_MAX];
	size_t count;
};

struct drawing {
	const char *branch;
	const char *last;
	const char *through;
	const char *blank;
};

static const struct drawing boxes = { "├─ ", "└─ ", "│  ", "   " };
static const struct drawing ascii = { "|- ", "`- ", "|  ", "   " };

const char *stall_text_ms(char text[STALL_TEXT_MS], uint64_t ns)
{
	snprintf(text, STALL_TEXT_MS, "%" PRIu64 ".%03u ms", ns / 1000000,
		 (unsigned int)(ns / 1000 % 1000));
	return text;
}

static struct row *add_row(struct rows *rows, int level, uint64_t ns)
{
	struct row *row = &rows->row[rows->count < ROWS_MAX ? rows->count++ : ROWS_MAX - 1];

	row->level = level;
	row->ns = ns;
	row->worst = false;
	row->title[0] = '\0';
	return row;
}

/* Without a label, shrinkers of one callback differ by their address only. */
static bool shares_callback(const struct stall_shrinker *shrinkers, size_t count, size_t which)
{
	for (size_t i = 0; i < count; i++)
		if (shrinkers[i].callback == shrinkers[which].callback &&
		    shrinkers[i].shrinker != shrinkers[which].shrinker)
			return true;
	return false;
}

static void name_shrinker(struct row *row, struct resolver *resolver,
			  const struct stall_shrinker *shrinkers, size_t count, size_t which)
{
	char name[sizeof(row->title)];

	resolver_shrinker(resolver, shrinkers[which].shrinker, shrinkers[which].callback, name,
			  sizeof(name));
	if (shares_callback(shrinkers, count, which) && !strchr(name, '['))
		snprintf(row->title, sizeof(row->title), "%.100s 0x%" PRIx64, name,
			 shrinkers[which].shrinker);
	else
		snprintf(row->title, sizeof(row->title), "%.150s", name);
}

static bool has_label(struct resolver *resolver, const struct stall_shrinker *shrinker)
{
	return resolver_shrinker_label(resolver, shrinker->shrinker);
}

/* The one that took most in a group, or @count; a label is that of a superblock. */
static size_t largest_in(struct resolver *resolver, enum phase_group group, bool labelled,
			 const struct stall_shrinker *shrinkers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (shrinkers[i].group == group && shrinkers[i].ns &&
		    (!labelled || has_label(resolver, &shrinkers[i])))
			return i;
	return count;
}

static void add_other_shrinkers(struct rows *rows, uint64_t ns, size_t count)
{
	if (count)
		snprintf(add_row(rows, 2, ns)->title, sizeof(rows->row[0].title),
			 "%zu other shrinker%s", count, count == 1 ? "" : "s");
}

/* However little it was: which file system cost most is what people come for. */
static void add_shrinkers(struct rows *rows, struct resolver *resolver, enum phase_group group,
			  uint64_t whole, const struct stall_shrinker *shrinkers, size_t count)
{
	size_t largest = largest_in(resolver, group, false, shrinkers, count);
	size_t superblock = largest_in(resolver, group, true, shrinkers, count);
	uint64_t others = 0;
	size_t nr_others = 0;
	int shown = 0;

	for (size_t i = largest; i < count; i++) {
		if (shrinkers[i].group != group || !shrinkers[i].ns)
			continue;
		if (i == largest || i == superblock ||
		    (shrinkers[i].ns >= whole / ROW_SHARE && shown < ROW_SHRINKERS)) {
			name_shrinker(add_row(rows, 2, shrinkers[i].ns), resolver, shrinkers, count,
				      i);
			shown++;
		} else {
			others += shrinkers[i].ns;
			nr_others++;
		}
	}
	add_other_shrinkers(rows, others, nr_others);
}

static void add_parts(struct rows *rows, struct resolver *resolver, const struct phases *phases,
		      enum phase_group group, const struct stall_shrinker *shrinkers, size_t count)
{
	enum phase_group worst_group;
	enum phase_part worst_part;

	phases_largest(phases, &worst_group, &worst_part);
	for (int part = PHASE_PARTS - 1; part >= 0; part--) {
		struct row *row;

		if (!phases->ns[group][part])
			continue;
		row = add_row(rows, 1, phases->ns[group][part]);
		row->worst = worst_group == group && (int)worst_part == part;
		snprintf(row->title, sizeof(row->title), "%s", phase_part_names[part].title);
		if (part == PART_SLAB)
			add_shrinkers(rows, resolver, group, phases_total(phases), shrinkers,
				      count);
	}
}

static void add_group(struct rows *rows, struct resolver *resolver, const struct phases *phases,
		      enum phase_group group, const struct stall_shrinker *shrinkers, size_t count)
{
	uint64_t ns = phases_group(phases, group);
	struct row *row;

	if (!ns)
		return;
	row = add_row(rows, 0, ns);
	snprintf(row->title, sizeof(row->title), "%s", phase_group_names[group].title);
	if (phases_is_reclaim(group))
		add_parts(rows, resolver, phases, group, shrinkers, count);
}

/* Does another row of this level follow, below the same row of the level above? */
static bool goes_on(const struct rows *rows, size_t row, int level)
{
	for (size_t i = row + 1; i < rows->count && rows->row[i].level >= level; i++)
		if (rows->row[i].level == level)
			return true;
	return false;
}

static void draw(struct line *line, const struct drawing *drawing, const struct rows *rows,
		 size_t row)
{
	for (int level = 0; level < rows->row[row].level; level++)
		line_add(line, "%s", goes_on(rows, row, level) ? drawing->through : drawing->blank);
	line_add(line, "%s",
		 goes_on(rows, row, rows->row[row].level) ? drawing->branch : drawing->last);
}

static int put_row(struct writer *writer, const struct terminal *terminal, const struct rows *rows,
		   size_t which, uint64_t whole)
{
	const struct row *row = &rows->row[which];
	int drawn = 3 * (row->level + 1);
	char text[NAME_BYTES];
	struct line line;
	int columns;

	line_clear(&line);
	draw(&line, terminal->box ? &boxes : &ascii, rows, which);
	text_escape(text, sizeof(text), row->title, terminal->names);
	columns = text_columns(text);
	line_add(&line, "%s%s%s", row->worst && terminal->colour ? RED : "", text,
		 row->worst && terminal->colour ? PLAIN : "");
	line_add(&line, "%*s",
		 drawn + columns < TITLE_COLUMNS ? TITLE_COLUMNS - drawn - columns : 0, "");
	line_add(&line, "%8" PRIu64 ".%03u ms %3u%%", row->ns / 1000000,
		 (unsigned int)(row->ns / 1000 % 1000),
		 whole ? (unsigned int)((row->ns * 100 + whole / 2) / whole) : 0);
	return line_put(&line, writer);
}

int stall_text_phases(struct writer *writer, const struct terminal *terminal,
		      struct resolver *resolver, const struct phases *phases,
		      const struct stall_shrinker *shrinkers, size_t nr_shrinkers)
{
	uint64_t whole = phases_total(phases);
	struct rows rows = { .count = 0 };
	int ret = 0;

	for (int group = 0; group < PHASE_GROUPS; group++)
		add_group(&rows, resolver, phases, group, shrinkers, nr_shrinkers);
	for (size_t i = 0; !ret && i < rows.count; i++)
		ret = put_row(writer, terminal, &rows, i, whole);
	return ret;
}

static void add_who(struct line *line, const struct terminal *terminal,
		    const struct named_stall *named)
{
	const struct task_info *who = named->who;

	line_add(line, "%s", terminal->colour ? BOLD : "");
	line_add_escaped(line, named->name, terminal->names);
	line_add(line, "-%d%s", named->stall->pid, terminal->colour ? PLAIN : "");
	if (named->interrupt)
		line_add(line, " (interrupt)");
	if (*who->process && who->tgid != named->stall->pid) {
		line_add(line, " of ");
		line_add_escaped(line, who->process, terminal->names);
		line_add(line, "-%d", who->tgid);
	}
	if (*who->cgroup) {
		line_add(line, " %s", terminal->colour ? DIM : "");
		line_add_escaped(line, who->cgroup, terminal->names);
		line_add(line, "%s", terminal->colour ? PLAIN : "");
	}
}

static void add_what(struct line *line, const struct terminal *terminal,
		     const struct named_stall *named)
{
	const struct stall *stall = named->stall;

	line_add(line, "  ");
	line_add_escaped(line, named->function, terminal->names);
	if (stall->order >= 0)
		line_add(line, "  order %d", stall->order);
	if (*stall->gfp_names)
		line_add(line, "  %s", stall->gfp_names);
	if (stall->has_reclaimed)
		line_add(line, "  %" PRIu64 " pages reclaimed", stall->nr_reclaimed);
	if (*stall->compaction)
		line_add(line, "  compaction %s", stall->compaction);
	if (*named->memcg) {
		line_add(line, "  from ");
		line_add_escaped(line, named->memcg, terminal->names);
	}
	if (stall->depth > 0)
		line_add(line, "  (part of something longer that was not recorded)");
	if (stall->incomplete)
		line_add(line, "  (incomplete: records were lost)");
}

static int put_head(struct writer *writer, const struct terminal *terminal,
		    struct resolver *resolver, const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	char when[CLOCK_TEXT_MAX];
	char ms[STALL_TEXT_MS];
	struct line line;

	line_clear(&line);
	if (resolver_time(resolver, stall->start, when))
		line_add(&line, "%s ", when);
	else
		line_add(&line, "%" PRIu64 ".%06u ", stall->start / 1000000000,
			 (unsigned int)(stall->start / 1000 % 1000000));
	add_who(&line, terminal, named);
	line_add(&line, "  %s%s%s", terminal->colour ? BOLD : "",
		 stall_text_ms(ms, stall->end - stall->start), terminal->colour ? PLAIN : "");
	add_what(&line, terminal, named);
	return line_put(&line, writer);
}

static int put_stack(struct writer *writer, struct resolver *resolver, const struct stall *stall)
{
	const uint64_t *frames;
	size_t count = stall_frames(resolver, stall, &frames);
	int ret = 0;

	for (size_t i = 0; !ret && i < count; i++) {
		char name[STALL_FUNCTION_MAX];
		struct line line;

		resolver_symbol(resolver, frames[i], 's', name, sizeof(name));
		line_clear(&line);
		line_add(&line, "   => %s", name);
		ret = line_put(&line, writer);
	}
	return ret;
}

int stall_text(struct writer *writer, const struct terminal *terminal, struct resolver *resolver,
	       const struct named_stall *named)
{
	const struct stall *stall = named->stall;
	int ret = put_head(writer, terminal, resolver, named);

	if (ret)
		return ret;
	ret = stall_text_phases(writer, terminal, resolver, &stall->phases, stall->shrinkers,
				stall->nr_shrinkers);
	return ret ? ret : put_stack(writer, resolver, stall);
}
