// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output/form.h"
#include "allocfilt/stats/chains.h"
#include "output/json.h"

/*
 * The form `html`: the page of etc/report/. Its three pieces have between them the summary as text,
 * which is shown where scripts are off, and the data for the script: lines of the form `json` and two
 * more. No name ends them, as a '<' is escaped in both.
 */

#define STEPS_MAX    2048 /* of the flame graph */
#define HEAT_COLUMNS 128
#define HEAT_ROWS    (LATENCY_EDGES + 1)
#define HEAT_WIDTH   1000000ull /* ns: of a column at first */
#define LONGEST_MAX  200	/* stalls with all their members */
#define LONGEST_ROOM (16 << 10) /* bytes of the JSON of one */
#define SLICES_MAX   16		/* of each kind of one, those with most time */

static const char *const page[] = {
#include "output/report.inc"
};

struct html {
	struct chains *chains;
	struct writer *scratch;
	uint64_t from;	      /* ns: when the first stall ended; 0: none did */
	unsigned int doubled; /* columns from there on are HEAT_WIDTH << doubled ns wide */
	uint64_t heat[HEAT_COLUMNS * HEAT_ROWS]; /* stalls by their end, and by latency_edge() */
	struct {
		uint64_t ns;
		size_t length;
		char json[LONGEST_ROOM];
	} longest[LONGEST_MAX]; /* in no order */
};

static void html_release(struct output *output)
{
	struct html *html = output->form;

	if (!html)
		return;
	chains_free(html->chains);
	writer_free(html->scratch);
	free(html);
}

static int html_make(struct output *output)
{
	struct html *html = output->form = calloc(1, sizeof(*html));

	if (html && (html->chains = chains_new(STEPS_MAX)) && (html->scratch = writer_new(-1, -1)))
		return 0;
	html_release(output);
	return -ENOMEM;
}

/* A full map gets columns twice as wide. */
static void heat_stall(struct html *html, uint64_t end, uint64_t ns)
{
	uint64_t column;
	int row = 0;

	if (!html->from)
		html->from = end;
	while ((column = end > html->from ? (end - html->from) / (HEAT_WIDTH << html->doubled) :
					    0) >= HEAT_COLUMNS) {
		for (int i = 0; i < HEAT_COLUMNS * HEAT_ROWS; i++) {
			uint64_t count = html->heat[i];

			html->heat[i] = 0;
			html->heat[i / HEAT_ROWS / 2 * HEAT_ROWS + i % HEAT_ROWS] += count;
		}
		html->doubled++;
	}
	while (row < LATENCY_EDGES && ns > latency_edge(row))
		row++;
	html->heat[column * HEAT_ROWS + row]++;
}

static int html_stall(struct output *output, const struct named_stall *named)
{
	struct html *html = output->form;
	struct stall stall = *named->stall;
	struct named_stall shown = *named;
	uint64_t ns = stall.end - stall.start;
	size_t least = 0, length;
	struct json json;
	const char *text;

	if (named->background)
		return 0;
	chains_stall(html->chains, output->setup.resolver, named, false);
	heat_stall(html, stall.end, ns);
	for (size_t i = 1; i < LONGEST_MAX; i++)
		if (html->longest[i].ns < html->longest[least].ns)
			least = i;
	if (ns <= html->longest[least].ns)
		return 0;
	shown.stall = &stall;
	stall.nr_shrinkers = stall.nr_shrinkers < SLICES_MAX ? stall.nr_shrinkers : SLICES_MAX;
	stall.nr_sleeps = stall.nr_sleeps < SLICES_MAX ? stall.nr_sleeps : SLICES_MAX;
	stall.nr_runners = stall.nr_runners < SLICES_MAX ? stall.nr_runners : SLICES_MAX;
	writer_attach(html->scratch, -1);
	json_begin_line(&json, html->scratch, "stall");
	json_stall(&json, &shown, output->setup.resolver);
	json_end(&json);
	text = writer_queued(html->scratch, &length);
	if (length > LONGEST_ROOM)
		return 0;
	html->longest[least].ns = ns;
	html->longest[least].length = length;
	memcpy(html->longest[least].json, text, length);
	return 0;
}

static void put_steps(struct json *json, const struct chain_step *step)
{
	json_open(json, "below", '[');
	for (; step; step = step->next) {
		json_open(json, NULL, '{');
		json_string(json, "name", step->name);
		json_number(json, "total_ns", step->ns);
		put_steps(json, step->below);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static int html_summary(struct output *output, const struct summary_view *view)
{
	struct writer *writer = output->setup.writer;
	struct html *html = output->form;
	struct summary_view shown = *view;
	struct json json;
	const char *text;
	size_t length;

	shown.form = view->form == SUMMARY_NONE ? SUMMARY_SHORT : view->form;
	writer_attach(html->scratch, -1);
	summary_text(html->scratch, &shown); /* a text longer than the buffer is cut */
	text = writer_queued(html->scratch, &length);
	json_init(&json, writer);
	json_raw(&json, page[0]);
	for (size_t i = 0; i < length; i++)
		if (text[i] == '<' || text[i] == '&')
			json_raw(&json, text[i] == '<' ? "&lt;" : "&amp;");
		else
			writer_put(writer, text + i, 1);
	json_raw(&json, page[1]);
	json_run(output);
	json_summary(writer, &shown);
	json_begin_line(&json, writer, "heat");
	json_number(&json, "from_ns", html->from);
	json_number(&json, "width_ns", HEAT_WIDTH << html->doubled);
	json_open(&json, "counts", '[');
	for (int i = 0; i < HEAT_COLUMNS * HEAT_ROWS; i++)
		json_number(&json, NULL, html->heat[i]);
	json_close(&json, ']');
	json_end(&json);
	json_begin_line(&json, writer, "flame");
	put_steps(&json, chains_sorted(html->chains)->below);
	json_end(&json);
	for (size_t i = 0; i < LONGEST_MAX; i++)
		writer_put(writer, html->longest[i].json, html->longest[i].length);
	json_raw(&json, page[2]);
	return writer_flush(writer);
}

const struct output_ops html_form = {
	.make = html_make,
	.release = html_release,
	.stall = html_stall,
	.summary = html_summary,
};
