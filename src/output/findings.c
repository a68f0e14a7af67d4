// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output/findings.h"
#include "output/json.h"

/* What --verify found. The text has what there is, JSON has all members always. */

#define NAME_MAX_BYTES 64

/* As the kernel's text has it: seconds, cut to microseconds. */
#define SECONDS	    "%" PRIu64 ".%06" PRIu64
#define PARTS(time) (time) / NS_PER_SECOND, (time) % NS_PER_SECOND / 1000

#define PLACE		"  CPU %d page %" PRIu64 ", byte %" PRIu64
#define PARTS_OF(where) (where).cpu, (where).page, (where).offset

static const char *const owner_names[] = {
	[OWNER_TASK] = "task",	     [OWNER_IDLE] = "idle", [OWNER_SOFTIRQ] = "softirq",
	[OWNER_HARDIRQ] = "hardirq", [OWNER_NMI] = "nmi",
};

static size_t listed(uint64_t count)
{
	return count < VERIFY_LISTED ? count : VERIFY_LISTED;
}

/* "mm_compaction" of mm_compaction_begin */
static const char *pair_name(int kind, char name[NAME_MAX_BYTES])
{
	snprintf(name, NAME_MAX_BYTES, "%s", catalog_events[kind].name);
	*strrchr(name, '_') = '\0';
	return name;
}

static bool has_pairs(const struct verify_pairs *pairs)
{
	return pairs->begins || pairs->ends;
}

/* ---- text ---- */

static void put(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct writer *writer, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	writer_put(writer, text, strlen(text));
	writer_put(writer, "\n", 1);
}

static void put_unlisted(struct writer *writer, uint64_t count)
{
	if (count > VERIFY_LISTED)
		put(writer, "  and %" PRIu64 " more", count - VERIFY_LISTED);
}

static const char *owner_text(const struct task_key *key, int cpu, char text[NAME_MAX_BYTES])
{
	if (key->kind == OWNER_TASK)
		snprintf(text, NAME_MAX_BYTES, "task %d on CPU %d", key->id, cpu);
	else
		snprintf(text, NAME_MAX_BYTES, "%s of CPU %d", owner_names[key->kind], cpu);
	return text;
}

static void put_cpu(struct writer *writer, const struct verify_cpu *cpu)
{
	char number[TEXT_NUMBER_MAX + 1] = "all", lost[TEXT_NUMBER_MAX + 3];
	char first[TEXT_TIME_MAX] = "-", last[TEXT_TIME_MAX] = "-";

	if (cpu->cpu >= 0)
		snprintf(number, sizeof(number), "%d", cpu->cpu);
	if (cpu->records) {
		snprintf(first, sizeof(first), SECONDS, PARTS(cpu->first));
		snprintf(last, sizeof(last), SECONDS, PARTS(cpu->last));
	}
	snprintf(lost, sizeof(lost), "%" PRIu64 "%s", cpu->lost, cpu->lost_unknown ? "+?" : "");
	put(writer,
	    "%4s %7" PRIu64 " %9" PRIu64 " %11" PRIu64 " %14s %14s %5" PRIu64 " %7" PRIu64
	    " %7" PRIu64 " %7s",
	    number, cpu->pages, cpu->records, cpu->bytes, first, last, cpu->back, cpu->damaged,
	    cpu->unknown, lost);
}

static void put_cpus(struct writer *writer, const struct verify_findings *findings)
{
	int without = 0;

	put(writer, "%4s %7s %9s %11s %14s %14s %5s %7s %7s %7s", "CPU", "pages", "records",
	    "bytes", "first", "last", "order", "damaged", "unknown", "lost");
	for (int place = 0; place < findings->nr_cpus; place++) {
		if (findings->cpus[place].pages)
			put_cpu(writer, &findings->cpus[place]);
		else
			without++;
	}
	put_cpu(writer, &findings->all);
	if (without)
		put(writer, "without data: %d CPU%s", without, without == 1 ? "" : "s");
}

static void put_damages(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->all.damaged)
		put(writer, "\ndamaged pages");
	for (size_t i = 0; i < listed(findings->all.damaged); i++) {
		const struct verify_damage *damage = &findings->damages[i];
		char hole[NAME_MAX_BYTES] = "";

		if (damage->hole)
			snprintf(hole, sizeof(hole), ", the last of a hole of %" PRIu64 " bytes",
				 damage->hole);
		put(writer, PLACE ": %s%s", PARTS_OF(damage->place), damage->text, hole);
	}
	put_unlisted(writer, findings->all.damaged);
}

static void put_losses(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->nr_losses)
		put(writer, "\nlost records, before these pages");
	for (size_t i = 0; i < listed(findings->nr_losses); i++) {
		const struct verify_loss *loss = &findings->losses[i];
		char count[NAME_MAX_BYTES] = "an unknown number";

		if (loss->count != RECORD_LOST_UNKNOWN)
			snprintf(count, sizeof(count), "%" PRId64, loss->count);
		put(writer, PLACE ", at " SECONDS ": %s", PARTS_OF(loss->place), PARTS(loss->ts),
		    count);
	}
	put_unlisted(writer, findings->nr_losses);
}

static void put_missing(struct writer *writer, const struct verify_findings *findings)
{
	for (int place = 0; place < findings->nr_cpus; place++) {
		const struct verify_cpu *cpu = &findings->cpus[place];

		if (cpu->missing)
			put(writer,
			    "\nCPU %d: %" PRIu64 " of the %" PRIu64
			    " records that were read from the buffer are not here",
			    cpu->cpu, cpu->missing, cpu->records + cpu->missing);
	}
}

static void put_backs(struct writer *writer, const struct verify_findings *findings)
{
	char text[TEXT_DURATION_MAX];

	if (findings->all.back)
		put(writer, "\nrecords out of order");
	for (size_t i = 0; i < listed(findings->all.back); i++) {
		const struct verify_back *back = &findings->backs[i];

		put(writer, PLACE ": at " SECONDS ", %s before the one before it",
		    PARTS_OF(back->place), PARTS(back->ts), text_duration(text, back->by));
	}
	put_unlisted(writer, findings->all.back);
}

static void put_types(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->nr_types)
		put(writer, "\nrecords of a type without a format");
	for (size_t i = 0; i < findings->nr_types; i++) {
		const struct verify_type *type = &findings->types[i];

		if (type->type < 0)
			put(writer, "  CPU %d: %" PRIu64 ", as no format is known", type->cpu,
			    type->records);
		else
			put(writer, "  CPU %d type %d: %" PRIu64, type->cpu, type->type,
			    type->records);
	}
	if (findings->nr_types == VERIFY_TYPES_MAX)
		put(writer, "  more types than these are not told apart");
}

static void put_lone(struct writer *writer, const struct verify_lone *lone, const char *event,
		     const char *partner)
{
	char owner[NAME_MAX_BYTES];

	put(writer, "    the first: %s at " SECONDS ", %s, and no %s from " SECONDS " to " SECONDS,
	    event, PARTS(lone->ts), owner_text(&lone->key, lone->cpu, owner), partner,
	    PARTS(lone->from), PARTS(lone->to));
}

static void put_kind(struct writer *writer, const struct verify_pairs *pairs, int kind)
{
	const struct catalog_event *begin = &catalog_events[kind];
	const struct catalog_event *end = &catalog_events[begin->partner];
	char name[NAME_MAX_BYTES];

	put(writer, "  %-35s %7" PRIu64 " %11" PRIu64 " %9" PRIu64 " %11" PRIu64 "%s",
	    pair_name(kind, name), pairs->begins - pairs->lone_begins, pairs->lone_begins,
	    pairs->lone_ends, verify_one_sided(pairs) ? 0 : pairs->begin_faults + pairs->end_faults,
	    verify_one_sided(pairs) ? "  (only one of the two is there)" : "");
	if (pairs->begin_faults && !verify_one_sided(pairs))
		put_lone(writer, &pairs->first_begin, begin->name, "end");
	if (pairs->end_faults && !verify_one_sided(pairs))
		put_lone(writer, &pairs->first_end, end->name, "begin");
}

static void put_pairs(struct writer *writer, const struct verify_findings *findings)
{
	bool any = false;

	for (int kind = 0; kind < EVENT_COUNT; kind++) {
		if (!has_pairs(&findings->pairs[kind]))
			continue;
		if (!any)
			put(writer, "\n%-37s %7s %11s %9s %11s", "events", "pairs", "begin alone",
			    "end alone", "unexplained");
		any = true;
		put_kind(writer, &findings->pairs[kind], kind);
	}
	if (findings->pauses)
		put(writer, "%spauses without a record on any CPU, of %d ms or longer: %" PRIu64,
		    any ? "" : "\n", (int)(VERIFY_PAUSE / NS_PER_MS), findings->pauses);
}

static void put_overlaps(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->nr_overlaps)
		put(writer, "\nwindows that overlap");
	for (size_t i = 0; i < listed(findings->nr_overlaps); i++) {
		const struct verify_overlap *overlap = &findings->overlaps[i];
		char owner[NAME_MAX_BYTES];

		put(writer, "  %s: " SECONDS " to " SECONDS " and " SECONDS " to " SECONDS,
		    owner_text(&overlap->key, overlap->cpu, owner), PARTS(overlap->calltime),
		    PARTS(overlap->rettime), PARTS(overlap->other_calltime),
		    PARTS(overlap->other_rettime));
	}
	put_unlisted(writer, findings->nr_overlaps);
	put(writer, "\n%" PRIu64 " windows%s", findings->windows,
	    findings->windows && !findings->local_clock ?
		    ": not compared with each other, as the clock is not local" :
		    "");
}

static void put_tasks(struct writer *writer, const struct verify_findings *findings)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "%" PRIu64 " tasks, %" PRIu64 " of them without a name", findings->tasks,
		 findings->unnamed);
	for (size_t i = 0; i < listed(findings->unnamed); i++)
		line_add(&line, "%s %d", i ? "," : ":", findings->unnamed_tids[i]);
	if (findings->unnamed > VERIFY_LISTED)
		line_add_text(&line, ", ...");
	line_put(&line, writer);
	if (findings->dropped_tasks)
		put(writer,
		    "more than %d tasks at a time: %" PRIu64
		    " times one was forgotten, and may be counted again",
		    VERIFY_TASKS_MAX, findings->dropped_tasks);
}

static void put_rest(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->damaged_records)
		put(writer, "%" PRIu64 " records shorter than their format, or of impossible times",
		    findings->damaged_records);
	if (findings->bad_files)
		put(writer, "damaged files: %" PRIu64 ", the first: %s", findings->bad_files,
		    findings->first_bad_file);
}

void findings_text(struct writer *writer, const char *path, const struct verify_findings *findings)
{
	struct line line;

	put_cpus(writer, findings);
	put_damages(writer, findings);
	put_losses(writer, findings);
	put_missing(writer, findings);
	put_backs(writer, findings);
	put_types(writer, findings);
	put_pairs(writer, findings);
	put_overlaps(writer, findings);
	put_tasks(writer, findings);
	put_rest(writer, findings);
	line_clear(&line);
	line_add_escaped(&line, path, TEXT_PRINTABLE);
	line_add_text(&line, ": ");
	verify_verdict(findings, &line);
	line_put(&line, writer);
}

/* ---- JSON ---- */

static void json_time(struct json *json, const char *key, uint64_t ts, bool known)
{
	if (known)
		json_number(json, key, ts);
	else
		json_null(json, key);
}

static void json_cpu(struct json *json, const struct verify_cpu *cpu)
{
	json_open(json, NULL, '{');
	json_signed(json, "cpu", cpu->cpu);
	json_number(json, "pages", cpu->pages);
	json_number(json, "records", cpu->records);
	json_number(json, "bytes", cpu->bytes);
	json_time(json, "first_ns", cpu->first, cpu->records);
	json_time(json, "last_ns", cpu->last, cpu->records);
	json_number(json, "out_of_order", cpu->back);
	json_number(json, "damaged_pages", cpu->damaged);
	json_number(json, "unknown_records", cpu->unknown);
	json_number(json, "lost_records", cpu->lost);
	json_number(json, "lost_times_unknown", cpu->lost_unknown);
	json_number(json, "missing_records", cpu->missing);
	json_close(json, '}');
}

static void json_place(struct json *json, const struct verify_place *place)
{
	json_open(json, NULL, '{');
	json_signed(json, "cpu", place->cpu);
	json_number(json, "page", place->page);
	json_number(json, "byte", place->offset);
}

static void json_pages(struct json *json, const struct verify_findings *findings)
{
	json_open(json, "damaged_pages", '[');
	for (size_t i = 0; i < listed(findings->all.damaged); i++) {
		json_place(json, &findings->damages[i].place);
		json_string(json, "what", findings->damages[i].text);
		json_number(json, "hole_bytes", findings->damages[i].hole);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "losses", '[');
	for (size_t i = 0; i < listed(findings->nr_losses); i++) {
		const struct verify_loss *loss = &findings->losses[i];

		json_place(json, &loss->place);
		json_number(json, "ts_ns", loss->ts);
		json_time(json, "records", (uint64_t)loss->count,
			  loss->count != RECORD_LOST_UNKNOWN);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "out_of_order", '[');
	for (size_t i = 0; i < listed(findings->all.back); i++) {
		json_place(json, &findings->backs[i].place);
		json_number(json, "ts_ns", findings->backs[i].ts);
		json_number(json, "by_ns", findings->backs[i].by);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_types(struct json *json, const struct verify_findings *findings)
{
	json_open(json, "unknown_types", '[');
	for (size_t i = 0; i < findings->nr_types; i++) {
		json_open(json, NULL, '{');
		json_signed(json, "cpu", findings->types[i].cpu);
		if (findings->types[i].type < 0)
			json_null(json, "id");
		else
			json_signed(json, "id", findings->types[i].type);
		json_number(json, "records", findings->types[i].records);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_owner(struct json *json, const struct task_key *key, int cpu)
{
	json_string(json, "owner", owner_names[key->kind]);
	if (key->kind == OWNER_TASK)
		json_signed(json, "tid", key->id);
	else
		json_null(json, "tid");
	json_signed(json, "cpu", cpu);
}

static void json_lone(struct json *json, const char *key, const struct verify_lone *lone, bool any)
{
	if (!any) {
		json_null(json, key);
		return;
	}
	json_open(json, key, '{');
	json_owner(json, &lone->key, lone->cpu);
	json_number(json, "ts_ns", lone->ts);
	json_number(json, "from_ns", lone->from);
	json_number(json, "to_ns", lone->to);
	json_close(json, '}');
}

static void json_pairs(struct json *json, const struct verify_findings *findings)
{
	char name[NAME_MAX_BYTES];

	json_open(json, "pairs", '[');
	for (int kind = 0; kind < EVENT_COUNT; kind++) {
		const struct verify_pairs *pairs = &findings->pairs[kind];
		bool both = !verify_one_sided(pairs);

		if (!has_pairs(pairs))
			continue;
		json_open(json, NULL, '{');
		json_string(json, "event", pair_name(kind, name));
		json_bool(json, "both_recorded", both);
		json_number(json, "begins", pairs->begins);
		json_number(json, "ends", pairs->ends);
		json_number(json, "begins_alone", pairs->lone_begins);
		json_number(json, "ends_alone", pairs->lone_ends);
		json_number(json, "begins_unexplained", both ? pairs->begin_faults : 0);
		json_number(json, "ends_unexplained", both ? pairs->end_faults : 0);
		json_lone(json, "first_begin", &pairs->first_begin, both && pairs->begin_faults);
		json_lone(json, "first_end", &pairs->first_end, both && pairs->end_faults);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_number(json, "pauses", findings->pauses);
}

static void json_windows(struct json *json, const struct verify_findings *findings)
{
	json_open(json, "windows", '{');
	json_number(json, "count", findings->windows);
	json_bool(json, "compared", findings->local_clock);
	json_number(json, "overlaps", findings->nr_overlaps);
	json_open(json, "overlapping", '[');
	for (size_t i = 0; i < listed(findings->nr_overlaps); i++) {
		const struct verify_overlap *overlap = &findings->overlaps[i];

		json_open(json, NULL, '{');
		json_owner(json, &overlap->key, overlap->cpu);
		json_number(json, "calltime_ns", overlap->calltime);
		json_number(json, "rettime_ns", overlap->rettime);
		json_number(json, "other_calltime_ns", overlap->other_calltime);
		json_number(json, "other_rettime_ns", overlap->other_rettime);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void json_tasks(struct json *json, const struct verify_findings *findings)
{
	json_open(json, "tasks", '{');
	json_number(json, "count", findings->tasks);
	json_number(json, "unnamed", findings->unnamed);
	json_open(json, "unnamed_tids", '[');
	for (size_t i = 0; i < listed(findings->unnamed); i++)
		json_signed(json, NULL, findings->unnamed_tids[i]);
	json_close(json, ']');
	json_number(json, "forgotten", findings->dropped_tasks);
	json_close(json, '}');
}

void findings_json(struct writer *writer, const char *path, const struct verify_findings *findings)
{
	struct json json;
	struct line verdict;

	line_clear(&verdict);
	verify_verdict(findings, &verdict);
	json_begin_line(&json, writer, "verify");
	json_string(&json, "capture", path);
	json_bool(&json, "clean", verify_is_clean(findings));
	json_string(&json, "verdict", verdict.text);
	json_bool(&json, "read_to_the_end", !findings->stopped);
	json_open(&json, "cpus", '[');
	for (int place = 0; place < findings->nr_cpus; place++)
		json_cpu(&json, &findings->cpus[place]);
	json_close(&json, ']');
	json_pages(&json, findings);
	json_types(&json, findings);
	json_pairs(&json, findings);
	json_windows(&json, findings);
	json_tasks(&json, findings);
	json_number(&json, "damaged_records", findings->damaged_records);
	json_number(&json, "damaged_files", findings->bad_files);
	json_string(&json, "first_damaged_file",
		    *findings->first_bad_file ? findings->first_bad_file : NULL);
	json_end(&json);
}
