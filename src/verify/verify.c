// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "verify/tasks.h"

#define READ_TURN 256 /* records that verify_read() checks */

/* What is to be known of a CPU's pages so far. */
struct cpu_pages {
	uint64_t next; /* offset of the next page, where there is no hole */
	uint64_t ts;   /* of the last record */
	/* of the page whose loss was passed on first: see next_content() */
	struct page_content content;
};

struct verify {
	const struct data_source *source;
	struct page_source source_of_pages;
	struct verify_findings findings;
	struct cpu_pages *pages; /* by place */
	struct merge *merge;
	struct decode *decode;
	struct task_checks *tasks;
};

/* ---- set-up ---- */

static void count_bad_file(struct verify_findings *findings, const struct catalog_event *event)
{
	if (!findings->bad_files++)
		snprintf(findings->first_bad_file, sizeof(findings->first_bad_file),
			 "events/%s/%s/format: not that of this event", event->system, event->name);
}

/* Records get the catalog's numbers: there is no plan, as nothing is shown. */
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
			count_bad_file(&verify->findings, event);
	}
	decode_read_format(decode, DECODE_PRINT, EVENT_USER, "ftrace", "print");
	if (decode_read_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace",
			       "funcgraph_exit") &&
	    offer->function_graph)
		count_bad_file(&verify->findings,
			       &(struct catalog_event){ "ftrace", "funcgraph_exit" });
	return 0;
}

static int next_content(void *verify, int place, struct page_content *content);

static int make_stages(struct verify *verify, const struct plan_offer *offer)
{
	const struct data_source *source = verify->source;
	const struct page_source pages = { next_content, verify };

	verify->decode = decode_new(source, NULL, NULL);
	verify->merge = merge_new(&source->cpus, &source->layout, &pages);
	verify->pages = calloc(source->cpus.count, sizeof(*verify->pages));
	verify->findings.cpus = calloc(source->cpus.count, sizeof(*verify->findings.cpus));
	if (!verify->decode || !verify->merge || !verify->pages || !verify->findings.cpus)
		return -ENOMEM;
	task_checks_use(verify->tasks, verify->decode);
	return read_formats(verify, offer);
}

struct verify *verify_new(const struct data_source *source, const struct plan_offer *offer,
			  const struct page_source *pages)
{
	struct verify *verify = calloc(1, sizeof(*verify));

	if (!verify)
		return NULL;
	verify->source = source;
	verify->source_of_pages = *pages;
	verify->findings.all.cpu = -1;
	verify->findings.local_clock = source->local_clock;
	verify->tasks = task_checks_new(source, &verify->findings);
	if (!verify->tasks || make_stages(verify, offer)) {
		verify_free(verify);
		errno = ENOMEM;
		return NULL;
	}
	verify->findings.nr_cpus = source->cpus.count;
	for (int place = 0; place < source->cpus.count; place++)
		verify->findings.cpus[place].cpu = source->cpus.numbers[place];
	return verify;
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	merge_free(verify->merge);
	decode_free(verify->decode);
	task_checks_free(verify->tasks);
	free(verify->findings.cpus);
	free(verify->pages);
	free(verify);
}

/* ---- pages ---- */

static void add_damage(struct verify *verify, struct verify_cpu *cpu,
		       const struct verify_place *place, uint64_t hole, const void *page,
		       size_t length)
{
	struct verify_findings *findings = &verify->findings;
	struct verify_damage *damage;
	struct page_fault fault;

	cpu->damaged++;
	if (findings->all.damaged++ >= VERIFY_LISTED)
		return;
	page_explain(&verify->source->layout, page, length, &fault);
	damage = &findings->damages[findings->all.damaged - 1];
	*damage = (struct verify_damage){ .place = *place, .hole = hole };
	damage->place.offset += fault.offset;
	memcpy(damage->text, fault.text, sizeof(damage->text));
}

static void add_loss(struct verify_findings *findings, struct verify_cpu *cpu,
		     const struct verify_place *place, const struct page_content *content)
{
	bool known = content->lost != RECORD_LOST_UNKNOWN;

	cpu->lost += known ? (uint64_t)content->lost : 0;
	cpu->lost_unknown += !known;
	if (findings->nr_losses++ < VERIFY_LISTED)
		findings->losses[findings->nr_losses - 1] =
			(struct verify_loss){ *place, content->ts, content->lost };
}

static void check_times(struct verify *verify, struct verify_cpu *cpu, struct cpu_pages *pages,
			const struct verify_place *place, const struct page_content *content)
{
	struct verify_findings *findings = &verify->findings;
	struct page_cursor cursor;

	page_begin(&cursor, &verify->source->layout, content->data, content->size, content->ts);
	while (page_next(&cursor) > 0) {
		if (!cpu->records || cursor.ts < cpu->first)
			cpu->first = cursor.ts;
		if (cpu->records && cursor.ts < pages->ts) {
			cpu->back++;
			if (findings->all.back++ < VERIFY_LISTED)
				findings->backs[findings->all.back - 1] =
					(struct verify_back){ *place, cursor.ts,
							      pages->ts - cursor.ts };
		}
		if (cursor.ts > cpu->last)
			cpu->last = cursor.ts;
		pages->ts = cursor.ts;
		cpu->records++;
	}
}

void verify_page(struct verify *verify, int at, const void *page, size_t length, uint64_t offset,
		 struct page_content *content)
{
	struct verify_cpu *cpu = &verify->findings.cpus[at];
	struct cpu_pages *pages = &verify->pages[at];
	const struct verify_place place = { cpu->cpu, offset / verify->source->layout.size,
					    offset };
	uint64_t hole = offset > pages->next ? offset - pages->next : 0;
	enum page_state state;

	*content = (struct page_content){ .lost = RECORD_LOST_UNKNOWN };
	state = page_check(&verify->source->layout, page, length, content);
	cpu->pages++;
	cpu->bytes += length;
	pages->next = offset + length;
	if (state != PAGE_GOOD && state != PAGE_EMPTY) {
		add_damage(verify, cpu, &place, hole, page, length);
	} else {
		if (content->lost)
			add_loss(&verify->findings, cpu, &place, content);
		check_times(verify, cpu, pages, &place, content);
	}
}

/*
 * A loss alone has no time of its own, so it is passed on right behind the record before it: what is
 * lost was written between that one and the page.
 */
static int next_content(void *context, int place, struct page_content *content)
{
	struct verify *verify = context;
	struct page_content *waits = &verify->pages[place].content;
	int ret = 1;

	if (waits->size) {
		*content = *waits;
		waits->size = 0;
		return 1;
	}
	ret = verify->source_of_pages.read(verify->source_of_pages.context, place, content);
	if (ret <= 0 || !content->lost)
		return ret;
	*waits = *content;
	waits->lost = 0;
	*content = (struct page_content){ .lost = content->lost };
	return 1;
}

/* ---- records ---- */

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

static void check_record(struct verify *verify, const struct raw_record *raw)
{
	uint64_t unknown = decode_unknown(verify->decode, NULL);
	struct record record;
	int type;

	task_checks_see(verify->tasks, raw->cpu, raw->ts);
	if (decode_record(verify->decode, raw, &record))
		task_checks_record(verify->tasks, &record);
	type = decode_type(verify->decode, raw->data, raw->size);
	if (decode_unknown(verify->decode, NULL) > unknown || type < 0) {
		verify->findings.cpus[cpu_list_place(&verify->source->cpus, raw->cpu)].unknown++;
		count_type(&verify->findings, raw->cpu, type);
	}
}

int verify_read(struct verify *verify)
{
	struct raw_record raw;

	for (int i = 0; i < READ_TURN; i++) {
		int ret = merge_next(verify->merge, &raw);

		if (ret <= 0)
			return ret;
		if (raw.data)
			check_record(verify, &raw);
		else
			task_checks_lost(verify->tasks, raw.cpu);
	}
	return 1;
}

/* ---- findings ---- */

void verify_expect(struct verify *verify, int number, uint64_t lost, uint64_t read)
{
	int place = cpu_list_place(&verify->source->cpus, number);
	struct verify_cpu *cpu = &verify->findings.cpus[place];

	if (lost > cpu->lost)
		cpu->lost = lost;
	if (read > cpu->records)
		cpu->missing = read - cpu->records;
}

static void add_up(struct verify_findings *findings)
{
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
		all->lost += cpu->lost;
		all->lost_unknown += cpu->lost_unknown;
		all->unknown += cpu->unknown;
		all->missing += cpu->missing;
	}
}

struct verify_findings *verify_finish(struct verify *verify)
{
	task_checks_end(verify->tasks);
	add_up(&verify->findings);
	verify->findings.damaged_records = decode_damaged(verify->decode);
	return &verify->findings;
}

bool verify_one_sided(const struct verify_pairs *pairs)
{
	return !pairs->begins || !pairs->ends;
}

static uint64_t lone_faults(const struct verify_findings *findings)
{
	uint64_t count = 0;

	for (int kind = 0; kind < EVENT_COUNT; kind++)
		if (!verify_one_sided(&findings->pairs[kind]))
			count += findings->pairs[kind].begin_faults +
				 findings->pairs[kind].end_faults;
	return count;
}

struct fault {
	uint64_t count;
	const char *one, *many;
};

#define FAULTS 10

static void count_faults(const struct verify_findings *findings, struct fault faults[FAULTS])
{
	const struct verify_cpu *all = &findings->all;
	const struct fault counted[FAULTS] = {
		{ all->damaged, "damaged page", "damaged pages" },
		{ all->lost, "lost record", "lost records" },
		{ all->lost_unknown, "loss of an unknown number of records",
		  "losses of an unknown number of records" },
		{ all->missing, "missing record", "missing records" },
		{ all->back, "record out of order", "records out of order" },
		{ all->unknown, "record of a type without a format",
		  "records of a type without a format" },
		{ findings->damaged_records, "damaged record", "damaged records" },
		{ lone_faults(findings), "event without its partner",
		  "events without their partner" },
		{ findings->nr_overlaps, "impossible overlap of windows",
		  "impossible overlaps of windows" },
		{ findings->bad_files, "damaged file", "damaged files" },
	};

	memcpy(faults, counted, sizeof(counted));
}

bool verify_is_clean(const struct verify_findings *findings)
{
	struct fault faults[FAULTS];

	count_faults(findings, faults);
	for (int i = 0; i < FAULTS; i++)
		if (faults[i].count)
			return false;
	return !findings->stopped;
}

static void add_count(struct line *line, uint64_t count, const char *one, const char *many)
{
	line_add(line, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void add_faults(struct line *line, const struct verify_findings *findings)
{
	struct fault faults[FAULTS];
	const char *before = "";

	count_faults(findings, faults);
	for (int i = 0; i < FAULTS; i++) {
		if (!faults[i].count)
			continue;
		line_add_text(line, before);
		add_count(line, faults[i].count, faults[i].one, faults[i].many);
		before = ", ";
	}
	if (findings->stopped)
		line_add(line, "%sstopped before its end", before);
}

void verify_verdict(const struct verify_findings *findings, struct line *line)
{
	const struct verify_cpu *all = &findings->all;
	char text[TEXT_DURATION_MAX];

	if (!verify_is_clean(findings)) {
		line_add_text(line, "not clean: ");
		add_faults(line, findings);
		return;
	}
	line_add_text(line, "clean: ");
	add_count(line, (uint64_t)findings->nr_cpus, "CPU, ", "CPUs, ");
	add_count(line, all->pages, "page, ", "pages, ");
	add_count(line, all->records, "record, ", "records, ");
	line_add_text(line, text_duration(text, all->last - all->first));
}
