// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/line.h"
#include "allocfilt/base/log.h"
#include "allocfilt/output/json_writer.h"
#include "run/pipeline.h"
#include "run/replay.h"
#include "run/report.h"

#define DIFF_TAIL (1 << 20) /* bytes: the summary is the last line, and shorter */
#define DIFF_ROWS 300	    /* two --top, and a row of each member */

/*
 * A capture is compared by what -f json tells of it, so two captures, two files, and one of each are
 * the same from there on. The text is our own: its members are where we write them.
 */

enum diff_section { DIFF_STALLS, DIFF_CAUSES, DIFF_STATES, DIFF_PHASES, DIFF_CGROUPS };

static const struct phase_name diff_sections[] = {
	{ "", "stalls" },	  { "by main cause", "causes" }, { "by state", "states" },
	{ "by phase", "phases" }, { "by cgroup", "cgroups" },
};

/* In the order in which the summary has them. */
static const struct phase_name diff_totals[] = {
	{ "recorded", "duration_ns" }, { "stalls of at least", "report_ns" },
	{ "stalls", "count" },	       { "waited together", "total_ns" },
	{ "median", "p50_ns" },	       { "99th percentile", "p99_ns" },
	{ "longest", "max_ns" },
};

struct diff_row {
	enum diff_section section;
	char key[256];
	const char *title;
	uint64_t value[2];
	bool known[2];
};

struct diff {
	bool has_states[2];
	size_t nr_rows;
	struct diff_row rows[DIFF_ROWS];
};

const char *const diff_forms[] = { "text", "json", NULL };

/* ---- reading ---- */

/* NULL: it is not there. In a name a quote has a backslash before it, so no name has a member's text. */
static const char *behind(const char *at, const char *text)
{
	at = at ? strstr(at, text) : NULL;
	return at ? at + strlen(text) : NULL;
}

/* @name: without a title the key is shown */
static void add_value(struct diff *diff, int side, enum diff_section section,
		      struct phase_name name, const char *number)
{
	struct diff_row *row = diff->rows, *end = row + diff->nr_rows;

	while (row < end && (row->section != section || strcmp(row->key, name.key)))
		row++;
	if (row == diff->rows + DIFF_ROWS)
		return;
	diff->nr_rows += row == end;
	row->section = section;
	strcpy(row->key, name.key);
	row->title = name.title;
	row->value[side] = strtoull(number, NULL, 10);
	row->known[side] = true;
}

/* @after: what is between the key and the number, or what holds it; returns NULL if it is not there */
static const char *add_named(struct diff *diff, int side, enum diff_section section,
			     struct phase_name name, const char *after, const char *at,
			     const char *end)
{
	char member[64];

	snprintf(member, sizeof(member), "\"%s%s", name.key, after);
	at = behind(at, member);
	if (section == DIFF_CAUSES)
		at = behind(at, "\"total_ns\":");
	if (at && (!end || at < end))
		add_value(diff, side, section, name, at);
	return at;
}

static void add_cgroups(struct diff *diff, int side, const char *at)
{
	char key[sizeof(diff->rows->key)];

	while ((at = behind(at, "{\"cgroup\":\""))) {
		const char *number = behind(at, "\"total_ns\":");
		size_t length = 0;

		for (; *at && *at != '"' && length < sizeof(key) - 1; at++) {
			at += *at == '\\' && at[1];
			key[length++] = *at;
		}
		key[length] = '\0';
		if (number)
			add_value(diff, side, DIFF_CGROUPS, (struct phase_name){ NULL, key },
				  number);
	}
}

/* Returns false for a text that is no summary of this version. */
static bool add_summary(struct diff *diff, int side, const char *text)
{
	const char *at = text, *stalls = behind(text, "\"stalls\":{"), *phases, *causes, *states;
	const char *end;

	for (size_t i = 0; at && i < ARRAY_SIZE(diff_totals); i++)
		at = add_named(diff, side, DIFF_STALLS, diff_totals[i],
			       "\":", strcmp(diff_totals[i].key, "count") ? at : stalls, NULL);
	phases = behind(at, "\"phases\":{");
	causes = behind(phases, "\"causes\":[");
	states = causes ? strchr(causes, ']') : NULL;
	end = states && !strncmp(states, "],\"states\"", 10) ? strchr(states, '}') : states;
	diff->has_states[side] = end != states;
	for (int i = 0; states && i < CAUSES; i++)
		add_named(diff, side, DIFF_CAUSES, *cause_name(i), "\"", causes, states);
	for (int i = 0; states && i < PHASE_STATES; i++)
		add_named(diff, side, DIFF_STATES, phase_state_names[i], "_ns\":", states, end);
	for (int i = 0; states && i < PHASE_GROUPS; i++)
		add_named(diff, side, DIFF_PHASES, phase_group_names[i],
			  "\":{\"total_ns\":", phases, causes);
	at = behind(states, "\"cgroups\":[");
	add_cgroups(diff, side, at);
	return at;
}

static int read_side(const struct run_context *run, struct diff *diff, int side,
		     struct failure *failure)
{
	char *path = run->options->diff[side], *text = calloc(1, DIFF_TAIL + 1), first = '\0';
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	struct longest none = { .count = 1, .ns = { UINT64_MAX }, .known = true };
	struct stat status = { 0 };
	size_t length;

	if (!text)
		ret = failure_no_memory(failure);
	if (!ret && (fd < 0 || read(fd, &first, 1) != 1 || first != '{')) {
		file_close(fd);
		fd = memfd_create("summary", MFD_CLOEXEC);
		ret = replay_json(run, path, fd, &none, failure);
	}
	if (!ret && !fstat(fd, &status)) {
		ret = file_read_at(fd, text, DIFF_TAIL, MAX(status.st_size - DIFF_TAIL, 0),
				   &length);
		if (ret ||
		    !add_summary(diff, side, behind(text, "\n{\"type\":\"summary\",\"schema\":4,")))
			ret = failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
					  "%s: neither a capture nor a whole output of -f json",
					  path);
	}
	file_close(fd);
	free(text);
	return ret;
}

/* ---- writing ---- */

static void put_row(struct writer *writer, const struct diff_row *row)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "%*s", row->section ? 2 : 0, "");
	line_add_name(&line, writer, row->title ? row->title : row->key);
	line_pad(&line, 40);
	for (int side = 0; side < 2; side++) {
		if (!row->known[side])
			line_add(&line, " %12s", "-");
		else if (strcmp(row->key, "count"))
			line_add_duration(&line, 13, row->value[side]);
		else
			line_add(&line, " %12" PRIu64, row->value[side]);
	}
	if (row->known[0] && row->known[1] && row->value[0])
		line_add(&line, " %+6.0f %%",
			 100.0 * (double)row->value[1] / (double)row->value[0] - 100);
	line_put(&line, writer);
}

static void put_json_row(struct json *json, const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_string(json, "key", row->key);
	for (int side = 0; side < 2; side++)
		if (row->known[side])
			json_number(json, side ? "b" : "a", row->value[side]);
	json_close(json, '}');
}

static void put_diff(const struct run_context *run, const struct diff *diff)
{
	bool as_json = !strcmp(run->options->format, "json");
	struct json json;

	if (as_json) {
		json_begin_line(&json, run->output, "diff");
		json_string(&json, "a", run->options->diff[0]);
		json_string(&json, "b", run->options->diff[1]);
	} else {
		line_write(run->output, "A: %s\nB: %s", run->options->diff[0],
			   run->options->diff[1]);
	}
	for (size_t section = 0; section < ARRAY_SIZE(diff_sections); section++) {
		if (as_json)
			json_open(&json, diff_sections[section].key, '[');
		else if (section != DIFF_STATES || diff->has_states[0] || diff->has_states[1])
			line_write(run->output, "\n%-40s %12s %12s   change",
				   diff_sections[section].title, "A", "B");
		for (const struct diff_row *row = diff->rows; row < diff->rows + diff->nr_rows;
		     row++)
			if (row->section == section && as_json)
				put_json_row(&json, row);
			else if (row->section == section)
				put_row(run->output, row);
		if (as_json)
			json_close(&json, ']');
	}
	if (as_json)
		json_end(&json);
}

int diff_run(const struct run_context *run, struct failure *failure)
{
	struct diff *diff = calloc(1, sizeof(*diff));
	int ret = diff ? 0 : failure_no_memory(failure);

	for (int side = 0; !ret && side < 2; side++)
		ret = read_side(run, diff, side, failure);
	if (!ret && diff->has_states[0] != diff->has_states[1])
		log_warning("%s was taken without --off-cpu: main causes are not comparable",
			    run->options->diff[diff->has_states[0]]);
	if (!ret) {
		put_diff(run, diff);
		ret = output_failed(writer_flush(run->output), failure);
	}
	free(diff);
	return ret;
}
