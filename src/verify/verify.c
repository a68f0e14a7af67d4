// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/verify/verify.h"
#include "allocfilt/base/base.h"
#include "allocfilt/record/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct verify {
	const struct data_source *source;
	struct verify_findings findings;
	struct decode *decode;
};

/* ---- set-up ---- */

static void count_bad_format(struct verify_findings *findings, const char *system, const char *name)
{
	if (!findings->bad_files++)
		snprintf(findings->first_bad_file, sizeof(findings->first_bad_file),
			 "events/%s/%s/format: not that of this event", system, name);
}

/* Without a plan, records get the catalog's numbers. */
static int read_formats(struct verify *verify, const struct plan_offer *offer)
{
	struct decode *decode = verify->decode;

	for (int id = 0; id < EVENT_COUNT; id++) {
		const struct catalog_event *event = &catalog_events[id];
		int ret;

		if (!offer->has_event(offer->context, event->system, event->name))
			continue;
		ret = decode_read_format(decode, id, id, event->system, event->name);
		if (ret == -ENOMEM)
			return ret;
		if (ret)
			count_bad_format(&verify->findings, event->system, event->name);
	}
	decode_read_format(decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	if (decode_read_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
			       "funcgraph_exit") &&
	    offer->function_graph)
		count_bad_format(&verify->findings, "ftrace", "funcgraph_exit");
	return 0;
}

struct verify *verify_new(const struct data_source *source, const struct plan_offer *offer)
{
	struct verify *verify = calloc(1, sizeof(*verify));
	struct verify_findings *findings;

	if (!verify)
		return NULL;
	findings = &verify->findings;
	verify->source = source;
	verify->decode = decode_new(source);
	findings->cpus = calloc(source->cpus.count, sizeof(*findings->cpus));
	if (!verify->decode || !findings->cpus || read_formats(verify, offer)) {
		verify_free(verify);
		return NULL;
	}
	findings->all.cpu = -1;
	findings->nr_cpus = source->cpus.count;
	for (int place = 0; place < source->cpus.count; place++)
		findings->cpus[place].cpu = source->cpus.numbers[place];
	return verify;
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	decode_free(verify->decode);
	free(verify->findings.cpus);
	free(verify);
}

/* ---- pages and records ---- */

/* Returns the finding, with the place of @page, or NULL where no more are listed. */
static struct verify_finding *add_finding(struct verify *verify, enum verify_kind kind,
					  const struct verify_finding *page, uint64_t ts,
					  int64_t number)
{
	struct verify_list *list = &verify->findings.lists[kind];
	struct verify_finding *finding;

	if (list->count++ >= VERIFY_LISTED)
		return NULL;
	finding = &list->listed[list->count - 1];
	*finding = *page;
	finding->ts = ts;
	finding->number = number;
	return finding;
}

static void add_damage(struct verify *verify, const struct verify_finding *at, uint64_t hole,
		       const void *page, size_t length)
{
	struct verify_finding *finding = add_finding(verify, VERIFY_DAMAGE, at, 0, (int64_t)hole);
	struct page_fault fault;

	if (!finding)
		return;
	page_explain(&verify->source->layout, page, length, &fault);
	finding->byte += fault.offset;
	memcpy(finding->text, fault.text, sizeof(finding->text));
}

static void count_type(struct verify_findings *findings, int cpu, int type)
{
	struct verify_type *entry = findings->types, *end = entry + findings->nr_types;

	while (entry < end && (entry->cpu != cpu || entry->type != type))
		entry++;
	if (entry == end && findings->nr_types == VERIFY_TYPES_MAX)
		return;
	if (entry == end)
		findings->types[findings->nr_types++] = (struct verify_type){ type, cpu, 0 };
	entry->records++;
}

static void check_type(struct verify *verify, struct verify_cpu *cpu, const struct raw_record *raw)
{
	uint64_t unknown = decode_unknown(verify->decode, NULL);
	int type = decode_type(verify->decode, raw->data, raw->size);
	struct record record;

	decode_record(verify->decode, raw, &record);
	if (decode_unknown(verify->decode, NULL) == unknown && type >= 0)
		return;
	cpu->unknown++;
	count_type(&verify->findings, cpu->cpu, type);
}

static void check_records(struct verify *verify, struct verify_cpu *cpu,
			  const struct page_content *content)
{
	struct page_cursor cursor;

	page_begin(&cursor, &verify->source->layout, content->data, content->size, content->ts);
	while (page_next(&cursor) > 0) {
		const struct raw_record raw = { cursor.ts, cursor.data, cursor.size, 0, cpu->cpu };

		if (!cpu->records++)
			cpu->first = cursor.ts;
		cpu->last = cursor.ts;
		check_type(verify, cpu, &raw);
	}
}

void verify_page(struct verify *verify, int place, const void *page, size_t length, uint64_t offset,
		 uint64_t next)
{
	const struct page_layout *layout = &verify->source->layout;
	struct verify_cpu *cpu = &verify->findings.cpus[place];
	const struct verify_finding at = {
		.cpu = cpu->cpu,
		.page = offset / layout->size,
		.byte = offset,
	};
	uint64_t hole = offset > cpu->end ? offset - cpu->end : 0;
	struct page_content content;
	enum page_state state = page_check(layout, page, length, &content);

	cpu->pages++;
	cpu->bytes += length;
	cpu->end = offset + length;
	if (state > PAGE_EMPTY || !page_in_order(&content, next, &cpu->newest)) {
		cpu->damaged++;
		add_damage(verify, &at, hole, page, length);
		return;
	}
	if (content.lost)
		add_finding(verify, VERIFY_LOSS, &at, content.ts, content.lost);
	if (content.lost == RECORD_LOST_UNKNOWN)
		cpu->lost_unknown++;
	else
		cpu->lost += (uint64_t)content.lost;
	check_records(verify, cpu, &content);
}

/* ---- findings ---- */

void verify_expect(struct verify *verify, int place, uint64_t lost, uint64_t read)
{
	struct verify_cpu *cpu = &verify->findings.cpus[place];

	if (lost > cpu->lost)
		cpu->lost_unknown = 0;
	cpu->lost = MAX(cpu->lost, lost);
	if (read > cpu->records)
		cpu->missing = read - cpu->records;
}

struct verify_findings *verify_finish(struct verify *verify)
{
	struct verify_findings *findings = &verify->findings;
	struct verify_cpu *all = &findings->all;

	for (int place = 0; place < findings->nr_cpus; place++) {
		const struct verify_cpu *cpu = &findings->cpus[place];

		if (cpu->records && (!all->records || cpu->first < all->first))
			all->first = cpu->first;
		if (cpu->records && cpu->last > all->last)
			all->last = cpu->last;
		all->pages += cpu->pages;
		all->records += cpu->records;
		all->bytes += cpu->bytes;
		all->damaged += cpu->damaged;
		all->lost += cpu->lost;
		all->lost_unknown += cpu->lost_unknown;
		all->unknown += cpu->unknown;
		all->missing += cpu->missing;
	}
	findings->damaged_records = decode_damaged(verify->decode);
	return findings;
}

static void add_faults(struct line *line, const struct verify_findings *findings)
{
	const struct verify_cpu *all = &findings->all;
	const struct {
		uint64_t count;
		const char *words;
	} faults[] = {
		{ all->damaged, "damaged page{s}" },
		{ all->lost, "lost record{s}" },
		{ all->lost_unknown, "loss{es} of an unknown number of records" },
		{ all->missing, "missing record{s}" },
		{ all->unknown, "record{s} of a type without a format" },
		{ findings->damaged_records, "damaged record{s}" },
		{ findings->bad_files, "damaged file{s}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		line_add_counted(line, line->used ? ", " : "", faults[i].count, faults[i].words);
	if (findings->stopped)
		line_add(line, "%sstopped before its end", line->used ? ", " : "");
}

bool verify_verdict(const struct verify_findings *findings, struct line *line)
{
	const struct verify_cpu *all = &findings->all;
	char cpus[TEXT_COUNTED_MAX], pages[TEXT_COUNTED_MAX], text[TEXT_DURATION_MAX];
	struct line faults;

	line_clear(&faults);
	add_faults(&faults, findings);
	if (*faults.text) {
		line_add(line, "not clean: %s", faults.text);
		return false;
	}
	line_add_text(line, "clean: ");
	line_add(line, "%s, %s, ", text_counted(cpus, (uint64_t)findings->nr_cpus, "CPU{s}"),
		 text_counted(pages, all->pages, "page{s}"));
	line_add(line, "%s, %s", text_counted(pages, all->records, "record{s}"),
		 text_duration(text, all->last - all->first));
	return true;
}
