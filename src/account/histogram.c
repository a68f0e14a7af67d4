// SPDX-License-Identifier: GPL-2.0-or-later
#include "account/histogram.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "# trigger info: hist:name="

/* Cuts the line off and returns the next one; NULL: there is none. */
static char *next_line(char *line)
{
	char *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	return end + 1;
}

bool histogram_begin(struct histogram_text *histogram, char *text, const char *name)
{
	size_t length = strlen(name);

	*histogram = (struct histogram_text){ .next = NULL };
	for (char *line = text, *next; line; line = next) {
		next = next_line(line);
		if (strncmp(line, HEAD, strlen(HEAD)) ||
		    strncmp(line + strlen(HEAD), name, length) ||
		    line[strlen(HEAD) + length] != ':')
			continue;
		histogram->next = next;
		return true;
	}
	return false;
}

/* A name of a task may hold whatever ends the keys: the last one does. */
static bool parse_row(char *line, struct histogram_row *row)
{
	char *end = NULL;

	for (char *found = line; (found = strstr(found, " } hitcount:")); found++)
		end = found;
	if (strncmp(line, "{ ", 2) || !end || end < line + 2)
		return false;
	*end = '\0';
	row->keys = line + 2;
	row->values = end + strlen(" } ");
	return histogram_number(row->values, "hitcount", &row->count);
}

/*
 * Rows, a blank line, the totals, and what follows of another histogram. The name of a task may hold
 * newlines, but not all of a head.
 */
bool histogram_next(struct histogram_text *histogram, struct histogram_row *row)
{
	while (histogram->next) {
		char *line = histogram->next;

		histogram->next = next_line(line);
		if (!strcmp(line, "# event histogram")) {
			histogram->next = NULL;
		} else if (parse_row(line, row)) {
			row->saved = histogram->next && *histogram->next == '\t' ?
					     histogram->next + 1 :
					     NULL;
			if (row->saved)
				histogram->next = next_line(histogram->next);
			return true;
		} else if (*line == ' ') {
			histogram_number(line, "Hits", &histogram->hits);
			histogram_number(line, "Dropped", &histogram->dropped);
		} else if (*line && *line != '#' && strcmp(line, "Totals:")) {
			histogram->unreadable++;
		}
	}
	return false;
}

/* What follows "NAME:" and blanks; NULL: it is not there. */
static const char *find(const char *text, const char *name)
{
	size_t length = strlen(name);
	const char *found = text;

	while ((found = strstr(found, name))) {
		if (found[length] == ':' && (found == text || found[-1] == ' ')) {
			found += length + 1;
			return found + strspn(found, " ");
		}
		found++;
	}
	return NULL;
}

bool histogram_number(const char *text, const char *name, uint64_t *ret_number)
{
	const char *value = find(text, name);

	if (!value || !isdigit((unsigned char)*value))
		return false;
	*ret_number = strtoull(value, NULL, 10);
	return true;
}

const char *histogram_string(char *keys, const char *name)
{
	const char *value = find(keys, name);

	if (!value)
		return NULL;
	for (char *end = keys + strlen(keys); end > value && end[-1] == ' ';)
		*--end = '\0';
	return value;
}

const char *histogram_symbol(char *keys, const char *name, uint64_t *ret_address)
{
	const char *value = find(keys, name);
	char *symbol, *module, *size, *end;

	if (!value || *value != '[')
		return NULL;
	*ret_address = strtoull(value + 1, &symbol, 16);
	if (*symbol != ']')
		return NULL;
	symbol++;
	symbol += strspn(symbol, " ");
	symbol[strcspn(symbol, ",")] = '\0';
	size = strchr(symbol, '/');
	module = strchr(symbol, '[');
	if (size && module > size)
		memmove(stpcpy(size, " "), module, strlen(module) + 1);
	else if (size)
		*size = '\0';
	end = symbol + strlen(symbol);
	while (end > symbol && end[-1] == ' ')
		*--end = '\0';
	return *symbol ? symbol : NULL;
}
