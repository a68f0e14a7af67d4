// SPDX-License-Identifier: GPL-2.0-or-later
#include "account/histogram.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "# trigger info: hist:name="

bool histogram_begin(struct histogram_text *histogram, char *text, const char *name)
{
	size_t length = strlen(name);
	char *line;

	*histogram = (struct histogram_text){ .next = text };
	while ((line = strsep(&histogram->next, "\n")))
		if (!strncmp(line, HEAD, strlen(HEAD)) &&
		    !strncmp(line + strlen(HEAD), name, length) &&
		    line[strlen(HEAD) + length] == ':')
			return true;
	return false;
}

/* A task's name may contain the text that ends the keys: its last occurrence ends them. */
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
 * A histogram has rows, a blank line and the totals; another one may follow. A task's name may contain
 * newlines, but is too short for a head.
 */
bool histogram_next(struct histogram_text *histogram, struct histogram_row *row)
{
	char *line;

	while ((line = strsep(&histogram->next, "\n"))) {
		if (!strcmp(line, "# event histogram")) {
			histogram->next = NULL;
		} else if (parse_row(line, row)) {
			row->saved = NULL;
			if (histogram->next && *histogram->next == '\t')
				row->saved = strsep(&histogram->next, "\n") + 1;
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

/* Returns the text behind "NAME:" and blanks; NULL: NAME is not there. */
static const char *find_value(const char *text, const char *name)
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
	const char *value = find_value(text, name);

	if (!value || !isdigit((unsigned char)*value))
		return false;
	*ret_number = strtoull(value, NULL, 10);
	return true;
}

bool histogram_tid(const struct histogram_row *row, const char *key, int *ret_tid)
{
	uint64_t number;

	if (!histogram_number(row->keys, key, &number))
		return false;
	*ret_tid = (int)number;
	return true;
}

const char *histogram_string(char *keys, const char *name)
{
	const char *value = find_value(keys, name);

	if (!value)
		return NULL;
	for (char *end = keys + strlen(keys); end > value && end[-1] == ' ';)
		*--end = '\0';
	return value;
}

const char *histogram_symbol(char *keys, const char *name, uint64_t *ret_address)
{
	const char *value = find_value(keys, name);
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
