// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/base.h"
#include "output/exposition.h"

#define NUMBER_MAX    32
#define NS_PER_SECOND 1000000000u

void exposition_init(struct exposition *exposition, struct writer *writer)
{
	*exposition = (struct exposition){ .writer = writer };
}

static void put(struct exposition *exposition, const char *text)
{
	if (!exposition->failed)
		exposition->failed = writer_put(exposition->writer, text, strlen(text));
}

static void put_comment(struct exposition *exposition, const char *what, const char *text)
{
	put(exposition, "# ");
	put(exposition, what);
	put(exposition, " ");
	put(exposition, exposition->family);
	put(exposition, " ");
	put(exposition, text);
	put(exposition, "\n");
}

void exposition_family(struct exposition *exposition, const char *name, const char *type,
		       const char *help)
{
	exposition->family = name;
	put_comment(exposition, "HELP", help);
	put_comment(exposition, "TYPE", type);
}

void exposition_label(struct line *labels, const char *name, const char *value)
{
	if (!*value)
		return;
	line_add(labels, "%s%s=\"", labels->used ? "," : "", name);
	line_add_escaped(labels, value, TEXT_LABEL);
	line_add(labels, "\"");
}

/* FNV-1a of 64 bits. Where two different texts had one key, their series would be added up. */
uint64_t exposition_labels_key(const struct line *labels)
{
	uint64_t key = 0xcbf29ce484222325;

	for (size_t i = 0; i < labels->used; i++)
		key = (key ^ (unsigned char)labels->text[i]) * 0x100000001b3;
	return key ? key : 1;
}

/* @le: a bucket's edge; NULL: no bucket */
static void put_labels(struct exposition *exposition, const struct line *labels, const char *le)
{
	bool any = labels && labels->used;

	if (!any && !le)
		return;
	put(exposition, "{");
	if (any)
		put(exposition, labels->text);
	if (le) {
		put(exposition, any ? ",le=\"" : "le=\"");
		put(exposition, le);
		put(exposition, "\"");
	}
	put(exposition, "}");
}

static void put_sample(struct exposition *exposition, const char *suffix, const struct line *labels,
		       const char *le, const char *value)
{
	put(exposition, exposition->family);
	put(exposition, suffix);
	put_labels(exposition, labels, le);
	put(exposition, " ");
	put(exposition, value);
	put(exposition, "\n");
}

static void number_text(char text[NUMBER_MAX], uint64_t number)
{
	snprintf(text, NUMBER_MAX, "%" PRIu64, number);
}

/* Without the zeros at the end. */
static void seconds_text(char text[NUMBER_MAX], uint64_t ns)
{
	size_t length = snprintf(text, NUMBER_MAX, "%" PRIu64 ".%09u", ns / NS_PER_SECOND,
				 (unsigned int)(ns % NS_PER_SECOND));

	while (text[length - 1] == '0')
		length--;
	if (text[length - 1] == '.')
		length--;
	text[length] = '\0';
}

static void put_count(struct exposition *exposition, const char *suffix, const struct line *labels,
		      const char *le, uint64_t count)
{
	char text[NUMBER_MAX];

	number_text(text, count);
	put_sample(exposition, suffix, labels, le, text);
}

void exposition_number(struct exposition *exposition, const struct line *labels, uint64_t number)
{
	put_count(exposition, "", labels, NULL, number);
}

void exposition_seconds(struct exposition *exposition, const struct line *labels, uint64_t ns)
{
	char text[NUMBER_MAX];

	seconds_text(text, ns);
	put_sample(exposition, "", labels, NULL, text);
}

void exposition_histogram(struct exposition *exposition, const struct line *labels,
			  const struct histogram *histogram)
{
	uint64_t count = 0;
	char text[NUMBER_MAX];

	for (unsigned int edge = 0; edge < HISTOGRAM_EDGES; edge++) {
		count += histogram->counts[edge];
		seconds_text(text, histogram_edge(edge));
		put_count(exposition, "_bucket", labels, text, count);
	}
	put_count(exposition, "_bucket", labels, "+Inf", histogram->count);
	seconds_text(text, histogram->total);
	put_sample(exposition, "_sum", labels, NULL, text);
	put_count(exposition, "_count", labels, NULL, histogram->count);
}
