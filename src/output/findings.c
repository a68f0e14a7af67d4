// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "allocfilt/base/base.h"
#include "allocfilt/output/findings.h"
#include "allocfilt/output/json_writer.h"

/* Seconds cut to microseconds, as in the kernel's text. */
#define SECONDS	    "%" PRIu64 ".%06" PRIu64
#define PARTS(time) (time) / NS_PER_SECOND, (time) % NS_PER_SECOND / 1000

/* The kinds of findings: a heading in the text, a member of the JSON. */
static const struct {
	const char *title, *key;
} kinds[VERIFY_KINDS] = {
	[VERIFY_DAMAGE] = { "damaged pages", "damaged_pages" },
	[VERIFY_LOSS] = { "lost records, before these pages", "losses" },
};

/* ---- text ---- */

static void put_cpu_row(struct writer *writer, const struct verify_cpu *cpu)
{
	char number[16] = "all", first[32] = "-", last[32] = "-", lost[32];

	if (cpu->cpu >= 0)
		snprintf(number, sizeof(number), "%d", cpu->cpu);
	if (cpu->records) {
		snprintf(first, sizeof(first), SECONDS, PARTS(cpu->first));
		snprintf(last, sizeof(last), SECONDS, PARTS(cpu->last));
	}
	snprintf(lost, sizeof(lost), "%" PRIu64 "%s", cpu->lost, cpu->lost_unknown ? "+?" : "");
	line_write(writer,
		   "%4s %7" PRIu64 " %9" PRIu64 " %11" PRIu64 " %14s %14s %7" PRIu64 " %7" PRIu64
		   " %7s",
		   number, cpu->pages, cpu->records, cpu->bytes, first, last, cpu->damaged,
		   cpu->unknown, lost);
}

static void put_cpus(struct writer *writer, const struct verify_findings *findings)
{
	int without = 0;

	line_write(writer, "%4s %7s %9s %11s %14s %14s %7s %7s %7s", "CPU", "pages", "records",
		   "bytes", "first", "last", "damaged", "unknown", "lost");
	for (int place = 0; place < findings->nr_cpus; place++) {
		if (findings->cpus[place].pages)
			put_cpu_row(writer, &findings->cpus[place]);
		else
			without++;
	}
	put_cpu_row(writer, &findings->all);
	if (without)
		line_write(writer, "without data: %d CPU%s", without, without == 1 ? "" : "s");
}

static void put_finding(struct writer *writer, enum verify_kind kind,
			const struct verify_finding *finding)
{
	char text[PAGE_FAULT_MAX + 64], number[64] = "an unknown number";

	if (finding->number != RECORD_LOST_UNKNOWN)
		snprintf(number, sizeof(number), "%" PRId64, finding->number);
	if (kind == VERIFY_LOSS)
		snprintf(text, sizeof(text), ", at " SECONDS ": %s", PARTS(finding->ts), number);
	else
		snprintf(text, sizeof(text),
			 finding->number ? ": %s, the last of a hole of %s bytes" : ": %s",
			 finding->text, number);
	line_write(writer, "  CPU %d page %" PRIu64 ", byte %" PRIu64 "%s", finding->cpu,
		   finding->page, finding->byte, text);
}

static void put_list(struct writer *writer, enum verify_kind kind, const struct verify_list *list)
{
	if (list->count)
		line_write(writer, "\n%s", kinds[kind].title);
	for (size_t i = 0; i < MIN(list->count, VERIFY_LISTED); i++)
		put_finding(writer, kind, &list->listed[i]);
	if (list->count > VERIFY_LISTED)
		line_write(writer, "  and %" PRIu64 " more", list->count - VERIFY_LISTED);
}

static void put_missing(struct writer *writer, const struct verify_findings *findings)
{
	for (int place = 0; place < findings->nr_cpus; place++) {
		const struct verify_cpu *cpu = &findings->cpus[place];

		if (cpu->missing)
			line_write(writer,
				   "\nCPU %d: %" PRIu64 " of the %" PRIu64
				   " records that were read from the buffer are not here",
				   cpu->cpu, cpu->missing, cpu->records + cpu->missing);
	}
}

static void put_types(struct writer *writer, const struct verify_findings *findings)
{
	if (findings->nr_types)
		line_write(writer, "\nrecords of a type without a format");
	for (size_t i = 0; i < findings->nr_types; i++) {
		const struct verify_type *type = &findings->types[i];

		if (type->type < 0)
			line_write(writer, "  CPU %d: %" PRIu64 ", as no format is known",
				   type->cpu, type->records);
		else
			line_write(writer, "  CPU %d type %d: %" PRIu64, type->cpu, type->type,
				   type->records);
	}
	if (findings->nr_types == VERIFY_TYPES_MAX)
		line_write(writer, "  more types than these are not told apart");
}

int findings_text(struct writer *writer, const char *path, const struct verify_findings *findings)
{
	char counted[TEXT_COUNTED_MAX];
	struct line line;

	put_cpus(writer, findings);
	for (int kind = 0; kind < VERIFY_KINDS; kind++)
		put_list(writer, kind, &findings->lists[kind]);
	put_missing(writer, findings);
	put_types(writer, findings);
	if (findings->damaged_records)
		line_write(
			writer, "\n%s",
			text_counted(
				counted, findings->damaged_records,
				"record{s} shorter than {their|its} format, or of impossible times"));
	/* A file of the capture may have any name. */
	line_clear(&line);
	if (findings->bad_files) {
		line_add(&line, "\ndamaged files: %" PRIu64 ", the first: ", findings->bad_files);
		line_add_name(&line, writer, findings->first_bad_file);
		line_put(&line, writer);
	}
	line_clear(&line);
	line_add_text(&line, "\n");
	line_add_name(&line, writer, path);
	line_add_text(&line, ": ");
	verify_verdict(findings, &line);
	line_put(&line, writer);
	return writer_flush(writer);
}

/* ---- JSON ---- */

static void json_cpu(struct json *json, const struct verify_cpu *cpu)
{
	json_open(json, NULL, '{');
	json_signed(json, "cpu", cpu->cpu);
	json_number(json, "pages", cpu->pages);
	json_number(json, "records", cpu->records);
	json_number(json, "bytes", cpu->bytes);
	if (cpu->records) {
		json_number(json, "first_ns", cpu->first);
		json_number(json, "last_ns", cpu->last);
	}
	json_number(json, "damaged_pages", cpu->damaged);
	json_number(json, "unknown_records", cpu->unknown);
	json_number(json, "lost_records", cpu->lost);
	json_number(json, "lost_times_unknown", cpu->lost_unknown);
	json_number(json, "missing_records", cpu->missing);
	json_close(json, '}');
}

static void json_finding(struct json *json, enum verify_kind kind,
			 const struct verify_finding *finding)
{
	json_open(json, NULL, '{');
	json_signed(json, "cpu", finding->cpu);
	json_number(json, "page", finding->page);
	json_number(json, "byte", finding->byte);
	if (kind == VERIFY_DAMAGE) {
		json_string(json, "what", finding->text);
		json_number(json, "hole_bytes", (uint64_t)finding->number);
	} else {
		json_number(json, "ts_ns", finding->ts);
		if (finding->number != RECORD_LOST_UNKNOWN)
			json_number(json, "records", (uint64_t)finding->number);
	}
	json_close(json, '}');
}

static void json_types(struct json *json, const struct verify_findings *findings)
{
	json_open(json, "unknown_types", '[');
	for (size_t i = 0; i < findings->nr_types; i++) {
		json_open(json, NULL, '{');
		json_signed(json, "cpu", findings->types[i].cpu);
		if (findings->types[i].type >= 0)
			json_signed(json, "id", findings->types[i].type);
		json_number(json, "records", findings->types[i].records);
		json_close(json, '}');
	}
	json_close(json, ']');
}

int findings_json(struct writer *writer, const char *path, const struct verify_findings *findings)
{
	struct json json;
	struct line verdict;
	bool clean;

	line_clear(&verdict);
	clean = verify_verdict(findings, &verdict);
	json_begin_line(&json, writer, "verify");
	json_string(&json, "capture", path);
	json_bool(&json, "clean", clean);
	json_string(&json, "verdict", verdict.text);
	json_bool(&json, "read_to_the_end", !findings->stopped);
	json_open(&json, "cpus", '[');
	for (int place = 0; place < findings->nr_cpus; place++)
		json_cpu(&json, &findings->cpus[place]);
	json_close(&json, ']');
	for (int kind = 0; kind < VERIFY_KINDS; kind++) {
		json_open(&json, kinds[kind].key, '[');
		for (size_t i = 0; i < MIN(findings->lists[kind].count, VERIFY_LISTED); i++)
			json_finding(&json, kind, &findings->lists[kind].listed[i]);
		json_close(&json, ']');
	}
	json_types(&json, findings);
	json_number(&json, "damaged_records", findings->damaged_records);
	json_number(&json, "damaged_files", findings->bad_files);
	if (findings->bad_files)
		json_string(&json, "first_damaged_file", findings->first_bad_file);
	json_end(&json);
	return writer_flush(writer);
}
