// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/output/facts.h"
#include "allocfilt/output/form.h"
#include "allocfilt/stats/chains.h"
#include "output/heat_map.h"

/*
 * The form `html`: one page for people, to look at and to mail. It has no script and refers to
 * nothing outside; its policy makes a browser hold to that whatever a name may contain. Each graphic
 * has a table with the same figures, for a screen reader.
 *
 * The page is also well-formed XML. html_put() writes words and numbers of our own, html_text() all else.
 */

#define STEPS_MAX 2048 /* of the flame graph */
#define LEVELS	  5    /* shades of the heat map: q1 … q5 */
#define TICKS_MAX 8
#define CUT_SHARE 1000 /* a step below 1/CUT_SHARE of all is not drawn */
#define MINUTE	  (60 * NS_PER_SECOND)
#define HOUR	  (60 * MINUTE)
#define DAY	  (24 * HOUR)

#define MS	  "%" PRIu64 ".%03u"
#define MS_OF(ns) (ns) / 1000000, (unsigned int)((ns) / 1000 % 1000)

struct html {
	struct heat_map heat;
	struct chains *chains;
};

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;"
	"--bar:#cfe3f5;--warn:#fff1d6;--q1:#b9d4ec;--q2:#8bbbe0;--q3:#569ace;--q4:#2c75b3;"
	"--q5:#12447c;--f0:#e6e9ec;--f1:#fddcb9;--f2:#fbc68e;--f3:#f6b26b;--f4:#ef9d4a;"
	"--outside:#e6e9ec}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#15191e;--fg:#e4e8ec;--soft:#9da7b1;"
	"--line:#3a424b;--bar:#1e3f5e;--warn:#4a3510;--q1:#1b3550;--q2:#245680;--q3:#3a80b9;"
	"--q4:#70ade0;--q5:#bfddf8;--f0:#2c333b;--f1:#54351a;--f2:#67411d;--f3:#7a4b1f;--f4:#8a5420;"
	"--outside:#2c333b}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1rem 1.25rem 3rem;max-width:76rem;background:var(--bg);"
	"color:var(--fg);font:15px/1.45 system-ui,sans-serif}\n"
	"h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .3rem;"
	"border-bottom:1px solid var(--line);padding-bottom:.2rem}h3{font-size:1rem;margin:1rem 0 .2rem}\n"
	"details+.scroll{margin-top:.8rem}p{margin:.3rem 0}p,summary{overflow-wrap:anywhere}.soft,figcaption,caption{color:var(--soft)}small{font-size:.85em}\n"
	"nav a{color:inherit;margin-right:1rem}\n"
	".figures{display:flex;flex-wrap:wrap;gap:.3rem 2rem;margin:.8rem 0}.figures div{display:flex;"
	"flex-direction:column-reverse}.figures dt{color:var(--soft);font-size:.85em}.figures dd{"
	"margin:0;font-size:1.35rem;font-variant-numeric:tabular-nums}\n"
	".warn{background:var(--warn);padding:.35rem .7rem;border-radius:4px}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}caption{text-align:left;"
	"padding:.2rem 0}th,td{padding:.12rem .6rem;text-align:right;font-weight:400;"
	"white-space:nowrap;border-bottom:1px solid var(--line)}\n"
	"thead th{color:var(--soft);vertical-align:bottom}th:first-child{text-align:left;"
	"padding-left:0;white-space:normal;overflow-wrap:anywhere}.facts td{text-align:left;"
	"white-space:normal;overflow-wrap:anywhere}\n"
	".bar{min-width:7rem;background:linear-gradient(to right,var(--bar) var(--w),transparent 0)}\n"
	".scroll{overflow-x:auto;max-width:100%}.tables table{width:100%;margin-bottom:1rem}.tables th:first-child{"
	"min-width:9rem;width:45%}\n"
	"figure{margin:.5rem 0}figcaption{margin-bottom:.4rem}\n"
	".map{display:grid;grid-template-columns:auto 1fr;column-gap:.4rem}.y{text-align:right;"
	"font-size:.75rem;line-height:1.15rem}.y div{height:1.15rem}\n"
	".map svg{display:block;width:100%;border:1px solid var(--line);background:var(--bg)}\n"
	".x{grid-column:2;position:relative;height:1.3rem;font-size:.75rem;overflow:hidden}.x span{"
	"position:absolute;border-left:1px solid var(--soft);padding-left:3px;white-space:nowrap}\n"
	".q1{fill:var(--q1);background:var(--q1)}.q2{fill:var(--q2);background:var(--q2)}"
	".q3{fill:var(--q3);background:var(--q3)}.q4{fill:var(--q4);background:var(--q4)}"
	".q5{fill:var(--q5);background:var(--q5)}\n"
	".legend span{display:inline-block;margin-right:1rem;font-size:.85em}.legend i{"
	"display:inline-block;width:1.4rem;height:.8rem;margin-right:.35rem;vertical-align:-.05rem}\n"
	".flame ul{display:flex;list-style:none;margin:0;padding:0}.flame li{flex:none;min-width:0;"
	"overflow:hidden}"
	".flame span{display:block;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;"
	"font-size:.8rem;line-height:1.5rem;padding:0 .3rem;border:solid var(--bg);"
	"border-width:0 1px 1px 0;background:var(--f4)}\n"
	".flame .l0{background:var(--f0)}.flame .l1{background:var(--f1)}.flame .l2{"
	"background:var(--f2)}.flame .l3{background:var(--f3)}.flame .outside{background:var(--outside)}\n"
	".d1 th{padding-left:1.2rem!important}.d2 th{padding-left:2.4rem!important}.d3 th{"
	"padding-left:3.6rem!important}.d4 th{padding-left:4.8rem!important}\n"
	".vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\n"
	"summary{cursor:pointer;padding:.15rem 0}.ten>div{display:grid;gap:0 2rem;"
	"grid-template-columns:repeat(auto-fill,minmax(min(100%,32rem),1fr))}.ten details{"
	"padding:.3rem 0 .8rem}.ten table{margin:.3rem 0;width:100%}.ten tbody th{width:60%}ol.stack{columns:3 16rem;font-size:.85rem}\n"
	":focus-visible{outline:2px solid var(--q4);outline-offset:2px}\n"
	"@media(max-width:40rem){body{padding:.7rem}.x span:nth-child(even){display:none}"
	"th,td{padding:.12rem .35rem}.tables th:first-child{min-width:7rem}.bar{min-width:4rem}}\n"
	"@media print{nav{display:none}body{max-width:none;font-size:11px}details,tr,figure{"
	"break-inside:avoid}h2{break-after:avoid}*{print-color-adjust:exact}}\n"
	"@media(forced-colors:active){svg,.flame span,.legend i,.bar{forced-color-adjust:none}}\n";

/* ---- text ---- */

static void html_raw(struct writer *writer, const char *text)
{
	writer_put(writer, text, strlen(text));
}

/* Puts numbers and short words of our own: a text longer than the buffer is cut. */
__attribute__((format(printf, 2, 3))) static void html_put(struct writer *writer,
							   const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	html_raw(writer, text);
}

/* Any bytes. */
static void html_text(struct writer *writer, const char *text)
{
	char escaped[256];

	while (*text) {
		text += text_escape(escaped, sizeof(escaped), text, TEXT_HTML);
		html_raw(writer, escaped);
	}
}

/* A name is any bytes: it may change the direction of the text after it. */
static void html_name(struct writer *writer, const char *name)
{
	html_raw(writer, "<bdi>");
	html_text(writer, name);
	html_raw(writer, "</bdi>");
}

/* "2026-11-22T01:02:32.689Z", or seconds of the trace clock, "7.882 s"; returns @time */
static const char *html_time(char time[TEXT_TIME_MAX], const struct resolver *resolver, uint64_t ts)
{
	if (resolver_time(resolver, ts, time))
		strcpy(time + strlen("2026-11-22T01:02:32.689"), "Z");
	else
		strcpy(time + strlen(time) - strlen("123"), " s");
	return time;
}

static unsigned int percent(uint64_t ns, uint64_t whole)
{
	return whole ? (unsigned int)((ns * 100 + whole / 2) / whole) : 0;
}

/* A share of the whole, as the width of a bar or box: never more than all in sum. */
static void html_width(struct writer *writer, uint64_t ns, uint64_t whole)
{
	unsigned int width = whole ? (unsigned int)((double)ns / (double)whole * 100000) : 0;

	html_put(writer, "%u.%03u%%", width / 1000, width % 1000);
}

static void html_bar(struct writer *writer, uint64_t ns, uint64_t whole)
{
	html_raw(writer, "<td class=\"bar\" style=\"--w:");
	html_width(writer, ns, whole);
	html_put(writer, "\">%u %%</td>", percent(ns, whole));
}

/* ---- when ---- */

/* The longest time of a row of the heat map; above all edges there is none. */
static void html_edge(struct writer *writer, unsigned int row)
{
	if (row < LATENCY_EDGES)
		html_put(writer, MS, MS_OF(latency_edge(row)));
	else
		html_put(writer, "more than " MS, MS_OF(latency_edge(LATENCY_EDGES - 1)));
}

static unsigned int bits_of(uint64_t count)
{
	return 64 - __builtin_clzll(count);
}

/* The shade of a count: the same for all counts of as many bits, the darkest for the highest one. */
static unsigned int shade(unsigned int bits, unsigned int most_bits)
{
	return LEVELS - (most_bits - bits) * LEVELS / most_bits;
}

static void html_cells(struct writer *writer, const struct resolver *resolver,
		       const struct heat_map *map, unsigned int lowest, unsigned int highest,
		       unsigned int most_bits)
{
	for (uint64_t n = map->first; n <= map->last; n++) {
		const struct latency *column = &map->columns[n - map->first];

		for (unsigned int row = lowest; column->count && row <= highest; row++) {
			uint64_t count = latency_below(column, row);
			char time[TEXT_TIME_MAX];

			if (!count)
				continue;
			html_put(writer,
				 "<rect class=\"q%u\" x=\"%" PRIu64 "\" y=\"%u\" width=\"1\" "
				 "height=\"1\"><title>from %s, %s",
				 shade(bits_of(count), most_bits), n - map->first, highest - row,
				 html_time(time, resolver, n * map->width),
				 row < LATENCY_EDGES ? "up to " : "");
			html_edge(writer, row);
			html_put(writer, " ms: %" PRIu64 " stall%s</title></rect>\n", count,
				 count == 1 ? "" : "s");
		}
	}
}

/* Labels of the time axis at round times, in UTC if that is known. */
static void html_ticks(struct writer *writer, const struct resolver *resolver,
		       const struct heat_map *map)
{
	static const uint64_t steps[] = {
		1000000ull,    2000000ull,    5000000ull,     10000000ull,    20000000ull,
		50000000ull,   100000000ull,  200000000ull,   500000000ull,   1000000000ull,
		2000000000ull, 5000000000ull, 10000000000ull, 15000000000ull, 30000000000ull,
		MINUTE,	       2 * MINUTE,    5 * MINUTE,     10 * MINUTE,    15 * MINUTE,
		30 * MINUTE,   HOUR,	      2 * HOUR,	      3 * HOUR,	      6 * HOUR,
		12 * HOUR,     DAY,	      2 * DAY,	      5 * DAY,	      10 * DAY,
		30 * DAY,      100 * DAY,     365 * DAY,
	};
	uint64_t from = map->first * map->width;
	uint64_t span = (map->last - map->first + 1) * map->width;
	unsigned int hours, minutes, seconds, ns, decimals = 0;
	char text[TEXT_TIME_MAX];
	uint64_t of_day = from, step = span;

	for (size_t i = ARRAY_SIZE(steps); i-- && span / steps[i] <= TICKS_MAX;)
		step = steps[i];
	if (resolver_time(resolver, from, text) &&
	    sscanf(text, "%*10sT%2u:%2u:%2u.%9uZ", &hours, &minutes, &seconds, &ns) == 4)
		of_day = hours * HOUR + minutes * MINUTE + seconds * NS_PER_SECOND + ns;
	for (uint64_t unit = NS_PER_SECOND; unit > NS_PER_MS && step % unit; unit /= 10)
		decimals++;
	html_raw(writer, "<div class=\"x\" aria-hidden=\"true\">");
	for (uint64_t at = (step - of_day % step) % step; at < span; at += step) {
		if (at > span - span / 16)
			break;
		html_raw(writer, "<span style=\"left:");
		html_width(writer, at, span);
		html_raw(writer, "\">");
		if (!resolver_time(resolver, from + at, text))
			html_put(writer, "%.*f s", (int)decimals, (double)(from + at) / 1e9);
		else if (step >= 6 * HOUR)
			html_put(writer, "%.5s %.5s", text + 5, text + 11);
		else if (step >= MINUTE)
			html_put(writer, "%.5s", text + 11);
		else
			html_put(writer, "%.*s", (int)(decimals ? 9 + decimals : 8), text + 11);
		html_raw(writer, "</span>");
	}
	html_raw(writer, "</div>\n");
}

static void html_heat_table(struct writer *writer, const struct resolver *resolver,
			    const struct heat_map *map, unsigned int lowest, unsigned int highest)
{
	html_raw(writer, "<details><summary>The heat map as a table</summary>\n"
			 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
			 "aria-label=\"Stalls by time and duration\"><table id=\"heat\">"
			 "<caption>Stalls by when they began and how long they took, up to … ms"
			 "</caption><thead><tr><th scope=\"col\">from</th>");
	for (unsigned int row = lowest; row <= highest; row++) {
		html_raw(writer, "<th scope=\"col\">");
		html_edge(writer, row);
		html_raw(writer, "</th>");
	}
	html_raw(writer, "<th scope=\"col\">stalls</th><th scope=\"col\">waited ms</th></tr>"
			 "</thead><tbody>\n");
	for (uint64_t n = map->first; n <= map->last; n++) {
		const struct latency *column = &map->columns[n - map->first];
		char time[TEXT_TIME_MAX];

		if (!column->count)
			continue;
		html_put(writer, "<tr><th scope=\"row\">%s</th>",
			 html_time(time, resolver, n * map->width));
		for (unsigned int row = lowest; row <= highest; row++) {
			uint64_t count = latency_below(column, row);

			html_put(writer, count ? "<td>%" PRIu64 "</td>" : "<td></td>", count);
		}
		html_put(writer, "<td>%" PRIu64 "</td><td>" MS "</td></tr>\n", column->count,
			 MS_OF(column->total));
	}
	html_raw(writer, "</tbody></table></div></details>\n");
}

static void html_legend(struct writer *writer, uint64_t most)
{
	unsigned int most_bits = bits_of(most);

	html_raw(writer, "<p class=\"legend\">Stalls in a cell: ");
	for (unsigned int bits = 1; bits <= most_bits; bits++) {
		uint64_t from = 1ull << (bits - 1), to;
		unsigned int same = shade(bits, most_bits);

		while (bits < most_bits && shade(bits + 1, most_bits) == same)
			bits++;
		to = bits == most_bits ? most : (1ull << bits) - 1;
		html_put(writer, "<span><i class=\"q%u\"></i>%" PRIu64, same, from);
		if (to > from)
			html_put(writer, " to %" PRIu64, to);
		html_raw(writer, "</span>");
	}
	html_raw(writer, "</p>\n");
}

static void html_when(struct writer *writer, const struct summary_view *view, struct heat_map *map)
{
	unsigned int lowest, highest, rows;
	uint64_t most = 0;
	char text[TEXT_TIME_MAX];

	if (!heat_map_range(map, &lowest, &highest))
		return;
	/* Calm times before the first stall and after the last one are part of the picture. */
	heat_map_reach(map, view->since);
	heat_map_reach(map, view->ts);
	rows = highest - lowest + 1;
	for (size_t i = 0; i < HEAT_COLUMNS; i++)
		for (unsigned int row = lowest; row <= highest; row++) {
			uint64_t count = latency_below(&map->columns[i], row);

			if (count > most)
				most = count;
		}
	html_raw(writer,
		 "<section id=\"when\"><h2>When</h2>\n<figure><figcaption>Stalls by when they "
		 "began (");
	if (resolver_time(view->resolver, view->since, text))
		html_put(writer, "UTC, from %.10s on", text);
	else
		html_raw(writer, "seconds of the trace clock");
	html_put(writer,
		 ") and how long they took, in ms. A column is %" PRIu64
		 " ms, a row up to twice as long as "
		 "the one below.</figcaption>\n",
		 map->width / 1000000);
	html_raw(writer, "<div class=\"map\"><div class=\"y\" aria-hidden=\"true\">");
	for (unsigned int row = highest + 1; row-- > lowest;) {
		html_raw(writer, row < LATENCY_EDGES ? "<div>≤ " : "<div>");
		html_edge(writer, row);
		html_raw(writer, "</div>");
	}
	html_put(
		writer,
		"</div>\n<svg role=\"img\" aria-label=\"Heat map; the table below has its figures\" "
		"viewBox=\"0 0 %" PRIu64 " %u\" preserveAspectRatio=\"none\" "
		"shape-rendering=\"crispEdges\" style=\"height:%u.%02urem\">\n",
		map->last - map->first + 1, rows, rows * 115 / 100, rows * 115 % 100);
	html_cells(writer, view->resolver, map, lowest, highest, bits_of(most));
	html_raw(writer, "</svg>\n");
	html_ticks(writer, view->resolver, map);
	html_raw(writer, "</div></figure>\n");
	html_legend(writer, most);
	html_heat_table(writer, view->resolver, map, lowest, highest);
	html_raw(writer, "</section>\n");
}

/* ---- why ---- */

/* The boxes below a step. Boxes too narrow to be seen come last, and are left out. */
static void html_boxes(struct writer *writer, const struct chain_step *step, uint64_t whole,
		       unsigned int level)
{
	const struct chain_step *below = step->below;

	if (!below || below->ns < whole / CUT_SHARE)
		return;
	html_raw(writer, "<ul>");
	for (; below && below->ns >= whole / CUT_SHARE; below = below->next) {
		html_raw(writer, "<li style=\"width:");
		html_width(writer, below->ns, step->ns);
		if (level == 2 && !strcmp(below->name, phase_group_names[PHASE_OUTSIDE].title))
			html_raw(writer, "\"><span class=\"outside\" title=\"");
		else
			html_put(writer, "\"><span class=\"l%u\" title=\"", level);
		html_text(writer, below->name);
		html_put(writer, ": " MS " ms, %u %%\">", MS_OF(below->ns),
			 percent(below->ns, whole));
		html_text(writer, below->name);
		html_put(writer, " %u %%</span>", percent(below->ns, whole));
		html_boxes(writer, below, whole, level + 1);
		html_raw(writer, "</li>");
	}
	html_raw(writer, "</ul>\n");
}

/*
 * The rows of the steps below a step. Each row names its parent: a screen reader does not tell an
 * indent.
 */
static void html_steps(struct writer *writer, const struct chain_step *step, uint64_t whole,
		       unsigned int level)
{
	for (const struct chain_step *below = step->below; below; below = below->next) {
		html_put(writer, "<tr class=\"d%u\"><th scope=\"row\">", level);
		if (*step->name) {
			html_raw(writer, "<span class=\"vh\">");
			html_text(writer, step->name);
			html_raw(writer, ": </span>");
		}
		html_name(writer, below->name);
		html_put(writer, "</th><td>" MS "</td>", MS_OF(below->ns));
		html_bar(writer, below->ns, whole);
		html_raw(writer, "</tr>\n");
		html_steps(writer, below, whole, level + 1);
	}
}

/* The stalls of each cause, most time first. */
static void html_causes(struct writer *writer, const struct summary_stalls *stalls)
{
	const struct cause_sum *sum = stalls->causes;
	int cause = -1;

	html_raw(writer,
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		 "aria-label=\"Stalls by cause\"><table id=\"kinds\"><caption>Stalls by cause: "
		 "what took at least half of each</caption><thead><tr>"
		 "<th scope=\"col\">cause</th><th scope=\"col\">stalls</th>"
		 "<th scope=\"col\">ms in all</th><th scope=\"col\">of all</th></tr></thead>"
		 "<tbody>\n");
	while ((cause = ranking_next(&stalls->causes[0].total, sizeof(*sum), CAUSES, cause)) >= 0) {
		sum = &stalls->causes[cause];
		if (!sum->count)
			continue;
		html_put(writer, "<tr><th scope=\"row\">%s</th><td>%" PRIu64 "</td><td>" MS "</td>",
			 cause == CAUSE_MIXED ? "nothing is half of it" : cause_name(cause)->title,
			 sum->count, MS_OF(sum->total));
		html_bar(writer, sum->total, stalls->latency.total);
		html_raw(writer, "</tr>\n");
	}
	html_raw(writer, "</tbody></table></div>\n");
}

static void html_why(struct writer *writer, const struct summary_view *view, struct chains *chains)
{
	const struct chain_step *root = chains_sorted(chains);

	if (!root->ns)
		return;
	html_raw(
		writer,
		"<section id=\"why\" class=\"tables\"><h2>Why</h2>\n<figure><figcaption>Where the time of all "
		"stalls went: a box is as wide as its part of the time, and below it is what "
		"it consists of. Rest is what no slow run of a traced function explains."
		"</figcaption>\n<div class=\"flame\" aria-hidden=\"true\">"
		"<span class=\"l0\">all stalls</span>");
	html_boxes(writer, root, root->ns, 1);
	html_raw(writer, "</div></figure>\n<details><summary>The flame graph as a table</summary>\n"
			 "<table id=\"causes\"><caption>Where the time of all stalls went</caption>"
			 "<thead><tr><th scope=\"col\">cause</th><th scope=\"col\">ms</th>"
			 "<th scope=\"col\">of all</th></tr></thead><tbody>\n");
	html_steps(writer, root, root->ns, 0);
	html_raw(writer, "</tbody></table></details>\n");
	html_causes(writer, summary_stalls(view->summary, STALLS_WAITING));
	if (chains_dropped(chains))
		html_put(writer,
			 "<p>%" PRIu64 " times a cause had no room of its own here: its time is in "
			 "the step above.</p>\n",
			 chains_dropped(chains));
	html_raw(writer, "</section>\n");
}

/* ---- who ---- */

static void html_waiters(struct writer *writer, const struct summary_view *view,
			 enum summary_table kind, const char *id, const char *title,
			 const char *name)
{
	size_t count = summary_count(view->summary, kind);
	size_t shown = count < view->top ? count : view->top;
	enum stall_side side = kind == SUMMARY_KERNEL_THREADS ? STALLS_BACKGROUND : STALLS_WAITING;
	uint64_t whole = summary_stalls(view->summary, side)->latency.total, psi;
	bool has_psi = false;

	if (!count)
		return;
	for (size_t i = 0; i < shown; i++)
		has_psi |= view_pressure(view, kind, i, &psi);
	html_put(writer,
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
		 "<table id=\"%s\"><caption>%s",
		 title, id, title);
	if (shown < count)
		html_put(writer, " (%zu of %zu)", shown, count);
	html_put(
		writer,
		"</caption><thead><tr><th scope=\"col\">%s</th><th scope=\"col\">stalls</th>"
		"<th scope=\"col\">ms in all</th><th scope=\"col\">of all</th>"
		"<th scope=\"col\">p99 ms</th><th scope=\"col\">longest ms</th>%s</tr></thead><tbody>\n",
		name, has_psi ? "<th scope=\"col\">PSI ms</th>" : "");
	for (size_t i = 0; i < shown; i++) {
		const struct summary_total *waiter = summary_at(view->summary, kind, i);
		const struct latency *latency = &waiter->latency;

		html_raw(writer, "<tr><th scope=\"row\">");
		html_name(writer, waiter->ranked.name);
		if (kind != SUMMARY_CGROUPS)
			html_put(writer, "-%d", (int)waiter->ranked.id);
		if (waiter->ranked.error)
			html_put(writer, " <small>(up to " MS " ms more)</small>",
				 MS_OF(waiter->ranked.error));
		html_put(writer, "</th><td>%" PRIu64 "</td><td>" MS "</td>", latency->count,
			 MS_OF(latency->total));
		html_bar(writer, latency->total, whole);
		html_put(writer, "<td>" MS "</td><td>" MS "</td>",
			 MS_OF(latency_percentile(latency, 99)), MS_OF(latency->max));
		if (view_pressure(view, kind, i, &psi))
			html_put(writer, "<td>" MS "</td>", MS_OF(psi));
		else if (has_psi)
			html_raw(writer, "<td></td>");
		html_raw(writer, "</tr>\n");
	}
	html_raw(writer, "</tbody></table></div>\n");
}

static void html_who(struct writer *writer, const struct summary_view *view)
{
	if (!summary_stalls(view->summary, STALLS_WAITING)->latency.count &&
	    !summary_stalls(view->summary, STALLS_BACKGROUND)->latency.count)
		return;
	html_raw(writer, "<section id=\"who\" class=\"tables\"><h2>Who</h2>\n");
	html_waiters(writer, view, SUMMARY_CGROUPS, "cgroups", "Cgroups that waited most",
		     "cgroup");
	html_waiters(writer, view, SUMMARY_TASKS, "tasks", "Tasks that waited most", "task");
	html_waiters(writer, view, SUMMARY_KERNEL_THREADS, "threads",
		     "Kernel threads at work for all, for which no task waits", "thread");
	html_raw(writer, "</section>\n");
}

/* ---- the longest stalls ---- */

static void html_stall_task(struct writer *writer, const struct named_stall *named)
{
	static const struct task_style html = { TEXT_HTML, false, "<b>", "</b>", " in ", "" };
	struct line line;

	line_clear(&line);
	stall_task(&line, named, named->task_info->cgroup, &html);
	html_raw(writer, line.text);
}

static void html_facts_of(struct writer *writer, const struct named_stall *named)
{
	struct stall_fact facts[STALL_FACTS];
	char function[STALL_FUNCTION_MAX];

	html_raw(writer, "<p class=\"soft\">");
	html_text(writer, stall_function(named, function));
	stall_facts(named, facts);
	for (size_t i = 0; i < STALL_FACTS; i++) {
		if (!facts[i].known || !facts[i].for_people)
			continue;
		html_put(writer, ", %s", facts[i].before);
		if (facts[i].text)
			html_name(writer, facts[i].text);
		else
			html_put(writer, "%" PRIu64, facts[i].number);
		html_raw(writer, facts[i].after);
	}
	if (named->stall->depth > 0)
		html_raw(writer, ", part of something longer that was not recorded");
	if (named->stall->incomplete)
		html_put(writer, ", incomplete: %s",
			 stall_lack_names[named->stall->incomplete].title);
	html_raw(writer, "</p>\n");
}

static void html_stack(struct writer *writer, struct resolver *resolver, const struct stall *stall)
{
	const uint64_t *frames;
	size_t count = resolver_stack(resolver, stall->stack, &frames);

	if (!count)
		return;
	html_raw(writer, "<p>Kernel stack, the innermost function first:</p><ol class=\"stack\">");
	for (size_t i = 0; i < count; i++) {
		char name[STALL_FUNCTION_MAX];

		resolver_symbol(resolver, frames[i], 's', name, sizeof(name));
		html_raw(writer, "<li>");
		html_text(writer, name);
		html_raw(writer, "</li>");
	}
	html_raw(writer, "</ol>\n");
}

static void html_longest(struct writer *writer, const struct summary_view *view)
{
	const struct named_stall *named = summary_longest(view->summary, 0);

	if (!named)
		return;
	html_raw(writer,
		 "<section id=\"longest\" class=\"ten\"><h2>The longest stalls</h2>\n<div>");
	for (unsigned int i = 0; i < SUMMARY_LONGEST_MAX; i++) {
		char text[STALL_CAUSE_MAX], time[TEXT_TIME_MAX];

		named = summary_longest(view->summary, i);
		if (!named)
			break;
		html_put(writer, "<details open=\"open\"><summary><b>" MS " ms</b> %s ",
			 MS_OF(named->stall->end - named->stall->start),
			 html_time(time, view->resolver, named->stall->start));
		html_stall_task(writer, named);
		html_raw(writer, "</summary>\n");
		cause_text(view->resolver, named->stall, text);
		html_raw(writer, "<p>");
		html_text(writer, text);
		html_raw(writer, "</p>\n");
		html_facts_of(writer, named);
		html_stack(writer, view->resolver, named->stall);
		html_raw(writer, "</details>\n");
	}
	html_raw(writer, "</div></section>\n");
}

/* ---- the run ---- */

/* Returns whether something is lost. */
static bool html_loss(struct writer *writer, uint64_t count, const char *text)
{
	if (!count)
		return false;
	html_put(writer, "<p class=\"warn\">%" PRIu64 " ", count);
	html_text(writer, text);
	html_raw(writer, "</p>\n");
	return true;
}

static void html_losses(struct writer *writer, const struct summary_view *view)
{
	uint64_t records = view->lost, times = view->lost_times;
	uint64_t incomplete = summary_incomplete(view->summary, LACKS_NOTHING);
	bool any = html_loss(writer, records, records == 1 ? "event was lost" : "events were lost");

	any |= html_loss(writer, times,
			 times == 1 ? "time events were lost, and nobody knows how many" :
				      "times events were lost, and nobody knows how many");
	any |= html_loss(writer, incomplete,
			 incomplete == 1 ? "stall is incomplete" : "stalls are incomplete");
	for (size_t i = 0; i < view->nr_overflows; i++)
		any |= html_loss(writer, view->overflows[i].count, view->overflows[i].text);
	if (!any)
		html_raw(writer,
			 "<p class=\"soft\">Nothing was lost, no stall is incomplete.</p>\n");
}

static void html_figure(struct writer *writer, const char *title, uint64_t ns)
{
	html_put(writer, "<div><dt>%s ms</dt><dd>" MS "</dd></div>", title, MS_OF(ns));
}

static void html_figures(struct writer *writer, const struct summary_view *view)
{
	const struct latency *latency = &summary_stalls(view->summary, STALLS_WAITING)->latency;
	char text[TEXT_DURATION_MAX];

	html_put(writer,
		 "<dl class=\"figures\"><div><dt>stalls of %s or more</dt><dd>%" PRIu64
		 "</dd></div>",
		 text_duration(text, view->report), latency->count);
	if (latency->count) {
		html_figure(writer, "waited", latency->total);
		html_figure(writer, "half of them up to", latency_percentile(latency, 50));
		html_figure(writer, "99 % of them up to", latency_percentile(latency, 99));
		html_figure(writer, "longest", latency->max);
	}
	html_raw(writer, "</dl>\n");
}

static void html_fact(struct writer *writer, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	html_put(writer, "<tr><th scope=\"row\">%s</th><td>", name);
	html_text(writer, text);
	html_raw(writer, "</td></tr>\n");
}

static void html_count_fact(struct writer *writer, const char *name, uint64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	html_fact(writer, name, count ? text : NULL);
}

/* Which stalls were asked for. */
static void html_choice(struct writer *writer, const struct options *options, const pid_t *pids)
{
	struct set_option setting;
	size_t place = 0;

	if (pids) {
		html_raw(writer, "<tr><th scope=\"row\">only processes</th><td>");
		for (const pid_t *pid = pids; *pid; pid++)
			html_put(writer, "%s%d", pid == pids ? "" : ", ", *pid);
		html_raw(writer, "</td></tr>\n");
	}
	while (options_next_set(options, &place, &setting))
		if (setting.kind == KEY_TEXT)
			html_fact(writer, setting.name, *(const char *const *)setting.value);
		else if (!strcmp(setting.name, "min-order"))
			html_count_fact(writer, setting.name, *(const int *)setting.value);
}

static void html_run(struct output *output, const struct summary_view *view)
{
	struct writer *writer = output->setup.writer;
	const struct data_source *source = output->setup.source;
	char text[TEXT_DURATION_MAX], time[TEXT_TIME_MAX];

	html_raw(writer, "<section id=\"run\"><h2>The run</h2>\n<table class=\"facts\"><tbody>\n");
	html_fact(writer, "host", source->host);
	html_fact(writer, "kernel", source->release);
	html_fact(writer, "machine", source->machine);
	text_time(time, source->started, false);
	html_fact(writer, "started", time);
	if (view->since) {
		html_fact(writer, "first record", html_time(time, view->resolver, view->since));
		html_fact(writer, "last record", html_time(time, view->resolver, view->ts));
		html_fact(writer, "time between", text_duration(text, view->ts - view->since));
	}
	html_fact(writer, "trace clock", source->clock);
	html_fact(writer, "timed from", text_duration(text, view->plan->threshold));
	html_fact(writer, "shown from", text_duration(text, view->report));
	html_choice(writer, output->setup.options, view->pids);
	html_count_fact(writer, "shorter stalls, not shown", view->not_shown.shorter);
	html_count_fact(writer, "other stalls, not shown", view->not_shown.others);
	html_fact(writer, "allocfilt", ALLOCFILT_VERSION);
	html_raw(writer, "</tbody></table></section>\n");
}

static int html_summary(struct output *output, const struct summary_view *view)
{
	struct writer *writer = output->setup.writer;
	struct html *html = output->form;
	bool any = summary_stalls(view->summary, STALLS_WAITING)->latency.count;
	char since[TEXT_TIME_MAX], until[TEXT_TIME_MAX];

	html_raw(writer,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		 "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
		 "<title>allocfilt: slow memory allocations</title>\n<style>\n");
	html_raw(writer, style);
	html_raw(writer, "</style></head><body>\n<header><h1>Slow memory allocations</h1>\n"
			 "<p class=\"soft\">");
	if (output->setup.source->host && *output->setup.source->host) {
		html_name(writer, output->setup.source->host);
		html_raw(writer, ", ");
	}
	if (view->since)
		html_put(writer, "%s to %s", html_time(since, view->resolver, view->since),
			 html_time(until, view->resolver, view->ts));
	html_raw(writer, "</p>\n");
	html_figures(writer, view);
	html_losses(writer, view);
	if (any)
		html_raw(writer, "<nav aria-label=\"Sections\"><a href=\"#when\">When</a>"
				 "<a href=\"#why\">Why</a><a href=\"#who\">Who</a>"
				 "<a href=\"#longest\">The longest stalls</a>"
				 "<a href=\"#run\">The run</a></nav>\n");
	html_raw(writer, "</header>\n<main>\n");
	html_when(writer, view, &html->heat);
	html_why(writer, view, html->chains);
	html_who(writer, view);
	html_longest(writer, view);
	html_run(output, view);
	html_raw(writer, "</main></body></html>\n");
	return writer_flush(writer);
}

/* ---- the form ---- */

static void html_release(struct output *output)
{
	struct html *html = output->form;

	if (html)
		chains_free(html->chains);
	free(html);
}

static int html_make(struct output *output)
{
	struct html *html = calloc(1, sizeof(*html));

	output->form = html;
	if (html)
		html->chains = chains_new(STEPS_MAX);
	if (html && html->chains)
		return 0;
	html_release(output);
	return -ENOMEM;
}

static int html_stall(struct output *output, const struct named_stall *named)
{
	struct html *html = output->form;
	const struct stall *stall = named->stall;

	if (named->background)
		return 0;
	latency_add(heat_map_reach(&html->heat, stall->start), stall->end - stall->start);
	chains_stall(html->chains, output->setup.resolver, named, false);
	return 0;
}

const struct output_ops html_form = {
	.make = html_make,
	.release = html_release,
	.stall = html_stall,
	.summary = html_summary,
};
