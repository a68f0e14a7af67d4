// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output/form.h"
#include "allocfilt/stats/chains.h"
#include "output/json.h"

/*
 * The form `html`: the page of etc/report/. Its three pieces have between them the summary as text,
 * which is shown where scripts are off, and the data for the script: lines of the form `json` and one
 * more. No name ends them, as a '<' is escaped in both.
 */

#define STEPS_MAX    2048 /* of the flame graph */
#define HEAT_COLUMNS 128
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
	uint64_t from;			   /* ns: when the first stall ended; 0: none did */
	unsigned int doubled;		   /* how often a full map got columns twice as wide */
	struct latency heat[HEAT_COLUMNS]; /* stalls by their end */
	struct {
		uint64_t ns;
		char json[LONGEST_ROOM];
	} longest[LONGEST_MAX]; /* in no order */
};

static void html_release(struct output *output)
{
	struct html *html = output->form;

	if (html) {
		chains_free(html->chains);
		writer_free(html->scratch);
	}
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

static int html_stall(struct output *output, const struct named_stall *named)
{
	struct html *html = output->form;
	struct stall stall = *named->stall;
	struct named_stall shown = *named;
	uint64_t ns = stall.end - stall.start, after;
	size_t least = 0;
	const char *text;

	if (named->background)
		return 0;
	chains_stall(html->chains, named, false);
	if (!html->from)
		html->from = stall.end;
	after = stall.end > html->from ? stall.end - html->from : 0;
	for (; after / (HEAT_WIDTH << html->doubled) >= HEAT_COLUMNS; html->doubled++)
		for (size_t i = 1; i < HEAT_COLUMNS; i++) {
			latency_merge(&html->heat[i / 2], &html->heat[i]);
			html->heat[i] = (struct latency){ .count = 0 };
		}
	latency_add(&html->heat[after / (HEAT_WIDTH << html->doubled)], ns);
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
	json_stall_line(html->scratch, &shown);
	text = writer_queued(html->scratch);
	if (strlen(text) < LONGEST_ROOM) {
		html->longest[least].ns = ns;
		strcpy(html->longest[least].json, text);
	}
	return 0;
}

static void put_steps(struct json *json, const char *key, const struct chain_step *step)
{
	json_open(json, key, '[');
	for (; step; step = step->next) {
		json_open(json, NULL, '{');
		json_string(json, "name", step->name);
		json_number(json, "total_ns", step->ns);
		put_steps(json, "below", step->below);
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

	shown.form = view->form == SUMMARY_NONE ? SUMMARY_SHORT : view->form;
	writer_attach(html->scratch, -1);
	summary_text(html->scratch, &shown); /* a text longer than the buffer is cut */
	json_init(&json, writer);
	json_raw(&json, page[0]);
	json_escaped(&json, writer_queued(html->scratch), TEXT_HTML);
	json_raw(&json, page[1]);
	json_run(output);
	json_summary(writer, &shown);
	json_begin_line(&json, writer, "graphics");
	json_number(&json, "from_ns", html->from);
	json_number(&json, "width_ns", HEAT_WIDTH << html->doubled);
	json_open(&json, "heat", '[');
	for (size_t i = 0; i < HEAT_COLUMNS; i++)
		for (unsigned int edge = 0; edge <= LATENCY_EDGES; edge++)
			json_number(&json, NULL, latency_below(&html->heat[i], edge));
	json_close(&json, ']');
	put_steps(&json, "flame", chains_sorted(html->chains)->below);
	json_end(&json);
	for (size_t i = 0; i < LONGEST_MAX; i++)
		json_raw(&json, html->longest[i].json);
	json_raw(&json, page[2]);
	return writer_flush(writer);
}

const struct output_ops html_form = {
	.make = html_make,
	.release = html_release,
	.stall = html_stall,
	.summary = html_summary,
};
