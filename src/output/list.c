// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "allocfilt/base/line.h"
#include "allocfilt/names/units.h"
#include "allocfilt/output/form.h"

/* The form `list`: a line for each stall under a heading, as drsnoop has it; then the summary. */

#define UNIT_COLUMN   30
#define NAMES_COLUMNS 46 /* up to the end of a unit, at least */
#define OTHER_COLUMNS 34 /* of a terminal, behind the unit: a short cause has room */

struct list {
	char date[11];	/* of the heading that was printed last, "" without one */
	size_t columns; /* of the terminal; 0: it is none, and a line may be of any length */
	size_t names;	/* columns up to the end of the longest unit so far */
};

static int list_make(struct output *output)
{
	struct list *list = calloc(1, sizeof(*list));
	struct winsize size;

	if (!list)
		return -ENOMEM;
	if (!ioctl(writer_fd(output->setup.writer), TIOCGWINSZ, &size))
		list->columns = size.ws_col;
	list->names = NAMES_COLUMNS;
	output->form = list;
	return 0;
}

/* Times of day stand under their date, in UTC; those of the trace clock under "time". */
static void put_list_heading(struct list *list, struct writer *writer, const char *time)
{
	const char *date = strchr(time, 'T') ? time : "time";

	if (!strncmp(list->date, date, sizeof(list->date) - 1))
		return;
	snprintf(list->date, sizeof(list->date), "%.10s", date);
	line_write(writer, "%-12s %-16s %-*s %8s  cause", list->date, "task",
		   (int)list->names - UNIT_COLUMN, "unit", "duration");
}

/* A longer unit widens its column, and the heading comes again. On a terminal its end may have no room. */
static void fit_names(struct list *list, struct line *line)
{
	size_t most = MAX(list->columns, NAMES_COLUMNS + OTHER_COLUMNS) - OTHER_COLUMNS;

	if (list->columns && text_columns(line->text) > most) {
		while (text_columns(line->text) > most - strlen(".."))
			line->text[--line->used] = '\0';
		line_add_text(line, "..");
	}
	if (text_columns(line->text) > list->names) {
		list->names = text_columns(line->text);
		list->date[0] = '\0';
	}
}

/* The cause without its chain stands where the whole text has no room. */
static void add_list_cause(struct line *line, const struct list *list, struct output *output,
			   const struct stall *stall)
{
	char text[STALL_CAUSE_MAX];
	struct stall_cause cause;
	struct line whole;

	stall_cause(stall, &cause);
	cause_text(output->setup.resolver, stall, text);
	line_clear(&whole);
	line_add_name(&whole, output->setup.writer, text);
	if (cause.which == CAUSE_MIXED || !list->columns ||
	    text_columns(line->text) + whole.used <= list->columns)
		line_add_text(line, whole.text);
	else
		line_add(line, "%s %u %%", cause_name(cause.which)->title, cause_percent(&cause));
}

static int list_stall(struct output *output, const struct named_stall *named)
{
	struct writer *writer = output->setup.writer;
	const char *cgroup = named->task_info->cgroup;
	const struct stall *stall = named->stall;
	struct list *list = output->form;
	char time[TEXT_TIME_MAX], unit[UNIT_NAME_BYTES];
	bool known = resolver_time(output->setup.resolver, stall->start, time);
	struct line line;

	line_clear(&line);
	line_add(&line, "%-12.12s ", known ? time + sizeof(list->date) : time);
	line_add_name(&line, writer, named->name);
	line_add(&line, "-%d", stall->tid);
	line_pad(&line, UNIT_COLUMN - 1);
	line_add_text(&line, " ");
	if (named->background)
		line_add_text(&line, named->on_purpose ? "(on purpose)" : "(background)");
	else if (task_key_in_interrupt(stall->key))
		line_add_text(&line, "(interrupt)");
	else
		line_add_name(&line, writer,
			      unit_name_of_cgroup(cgroup, unit) ? unit :
			      *cgroup				? cgroup :
								  "-");
	fit_names(list, &line);
	put_list_heading(list, writer, time);
	line_pad(&line, list->names);
	line_add_duration(&line, 9, stall->end - stall->start);
	line_add_text(&line, "  ");
	add_list_cause(&line, list, output, stall);
	return line_put(&line, writer);
}

const struct output_ops list_form = {
	.make = list_make,
	.stall = list_stall,
};
