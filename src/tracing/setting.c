// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/tracing.h"
#include "tracing/setting.h"

/* A buffer is a whole number of sub-buffers, of 64 KiB at most: ring_buffer_subbuf_order_set(). */
#define SIZE_ROUNDING_KB 68

static char *trimmed(const char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return strndup(text, length);
}

/* "[local] global counter": what is chosen. */
static char *parse_word(const char *text)
{
	const char *start = strchr(text, '['), *end = start ? strchr(start, ']') : NULL;

	return end ? strndup(start + 1, end - start - 1) : trimmed(text);
}

/* "7 (expanded: 1408)": what the buffer gets by itself as soon as it is used. */
static char *parse_size(const char *text)
{
	const char *expanded = strstr(text, "expanded:");
	char *value;

	if (!expanded)
		return trimmed(text);
	value = trimmed(expanded + strlen("expanded:"));
	if (value)
		value[strspn(value, "0123456789")] = '\0';
	return value;
}

static char *parse_enable(const char *text)
{
	char *value = trimmed(text);

	if (value)
		value[strcspn(value, "*")] = '\0';
	return value;
}

static bool is_pids(enum step_kind kind)
{
	return kind == STEP_PIDS || kind == STEP_THREADS;
}

static bool is_list(enum step_kind kind)
{
	return kind == STEP_LIST || kind == STEP_EVENTS || is_pids(kind);
}

/* A probe ("name:traceoff:unlimited") is a thing of its own, which no filter takes away; what
 * waits for a module ("name:mod:ext4") is a part of the filter. */
static bool is_entry(enum step_kind kind, const char *line)
{
	const char *colon = strchr(line, ':');

	if (!*line || *line == '#')
		return false;
	if (is_pids(kind))
		return isdigit((unsigned char)*line);
	return kind == STEP_EVENTS || !colon || !strncmp(colon, ":mod:", 5);
}

/* Entries in the kernel's order, a newline behind each. */
static char *parse_list(enum step_kind kind, const char *text)
{
	char *copy = strdup(text), *value = calloc(1, strlen(text) + 2), *end = value, *save;

	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line && value;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!is_entry(kind, line))
			continue;
		if (kind == STEP_LIST)
			line[strcspn(line, " \t")] = '\0';
		end = stpcpy(stpcpy(end, line), "\n");
	}
	if (!copy) {
		free(value);
		value = NULL;
	}
	free(copy);
	return value;
}

/* "stacktrace:unlimited" on a line of its own, among others'. */
static char *parse_trigger(const char *text)
{
	static const char name[] = "stacktrace:";

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, strlen(name)))
			return strdup(SETTING_PRESENT);
	}
	return strdup(SETTING_ABSENT);
}

char *setting_parse(enum step_kind kind, const char *text)
{
	switch (kind) {
	case STEP_WORD:
		return parse_word(text);
	case STEP_SIZE:
		return parse_size(text);
	case STEP_LIST:
	case STEP_EVENTS:
	case STEP_PIDS:
	case STEP_THREADS:
		return parse_list(kind, text);
	case STEP_ENABLE:
		return parse_enable(text);
	case STEP_TRIGGER:
		return parse_trigger(text);
	default:
		return trimmed(text);
	}
}

char *setting_text(enum step_kind kind, const char *value)
{
	if (kind == STEP_FILTER && !strcmp(value, "none"))
		return strdup("0");
	if (kind == STEP_TRIGGER)
		return strdup(strcmp(value, SETTING_PRESENT) ? "!stacktrace" : "stacktrace");
	return strdup(value);
}

struct entries {
	char *text;
	char **entry;
	size_t count;
};

static int compare_entries(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static void drop_repeats(struct entries *entries)
{
	size_t kept = 0;

	for (size_t i = 0; i < entries->count; i++)
		if (!kept || strcmp(entries->entry[i], entries->entry[kept - 1]))
			entries->entry[kept++] = entries->entry[i];
	entries->count = kept;
}

static bool split_entries(struct entries *entries, const char *value)
{
	char *save;

	entries->count = 0;
	entries->text = strdup(value);
	entries->entry = calloc(strlen(value) / 2 + 1, sizeof(*entries->entry));
	if (!entries->text || !entries->entry)
		return false;
	for (char *line = strtok_r(entries->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		entries->entry[entries->count++] = line;
	if (entries->count)
		qsort(entries->entry, entries->count, sizeof(*entries->entry), compare_entries);
	drop_repeats(entries);
	return true;
}

static void release_entries(struct entries *entries)
{
	free(entries->text);
	free(entries->entry);
}

/* Order is the kernel's; a name that several functions have is shown as often. */
static bool same_list(const char *one, const char *other)
{
	struct entries a = { 0 }, b = { 0 };
	bool same;

	if (!strcmp(one, other))
		return true;
	same = split_entries(&a, one) && split_entries(&b, other) && a.count == b.count;
	for (size_t i = 0; same && i < a.count; i++)
		same = !strcmp(a.entry[i], b.entry[i]);
	release_entries(&a);
	release_entries(&b);
	return same;
}

bool setting_same(enum step_kind kind, const char *one, const char *other)
{
	switch (kind) {
	case STEP_NUMBER:
	case STEP_SIZE:
		return *one && *other && atoll(one) == atoll(other);
	case STEP_LIST:
	case STEP_EVENTS:
	case STEP_PIDS:
	case STEP_THREADS:
		return same_list(one, other);
	default:
		return !strcmp(one, other);
	}
}

static bool size_holds(const char *value, const char *now)
{
	long long more = atoll(now) - atoll(value);

	return more >= 0 && more < SIZE_ROUNDING_KB;
}

bool setting_accepted(enum step_kind kind, const char *value, const char *now)
{
	if (is_pids(kind))
		return true;
	if (kind == STEP_SIZE)
		return size_holds(value, now);
	return setting_same(kind, value, now);
}

static bool has_entry(const struct entries *entries, const char *name)
{
	return entries->count && bsearch(&name, entries->entry, entries->count,
					 sizeof(*entries->entry), compare_entries);
}

bool setting_part(enum step_kind kind, const char *one, const char *other, const char *now)
{
	struct entries a = { 0 }, b = { 0 }, c = { 0 };
	bool part;

	if (!is_list(kind))
		return false;
	part = split_entries(&a, one) && split_entries(&b, other) && split_entries(&c, now);
	for (size_t i = 0; part && i < c.count; i++)
		part = has_entry(&a, c.entry[i]) || has_entry(&b, c.entry[i]);
	release_entries(&a);
	release_entries(&b);
	release_entries(&c);
	return part;
}

bool setting_ours(enum step_kind kind, const char *wrote, const char *now)
{
	switch (kind) {
	case STEP_PIDS:
		return setting_part(kind, wrote, "", now);
	case STEP_THREADS:
		return true;
	case STEP_SIZE:
		return size_holds(wrote, now);
	case STEP_NUMBER:
		return kernel_has_word(wrote, now);
	default:
		return setting_same(kind, wrote, now);
	}
}

bool setting_always(enum step_kind kind)
{
	return kind == STEP_SIZE;
}
