// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "journal/unit_name.h"

/* systemd.unit(5) */
static const char *const types[] = {
	"service", "socket", "device", "mount", "automount", "swap",
	"target",  "path",   "timer",  "slice", "scope",
};

static const char letters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";

/* The kernel adds it to a removed cgroup (proc_cgroup_show() in kernel/cgroup/cgroup.c). */
static const char deleted[] = " (deleted)";

static bool is_type(const char *text)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(text, types[i]))
			return true;
	return false;
}

/* A template, name@.type, is not a unit that runs. */
static bool is_unit(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *at = strchr(name, '@');

	if (!dot || dot == name || at == name || !is_type(dot + 1))
		return false;
	return strspn(name, letters) == strlen(name) && (!at || at + 1 < dot);
}

static bool is_slice(const char *name)
{
	return is_unit(name) && !strchr(name, '@') && !strcmp(strrchr(name, '.'), ".slice");
}

/* Parses the next directory of a path, without its escape; false at the end or if it is too long. */
static bool next_directory(const char **path, char name[UNIT_NAME_BYTES])
{
	const char *from = *path + strspn(*path, "/");
	size_t length = strcspn(from, "/");

	*path = from + length;
	if (length > strlen(deleted) && !from[length] &&
	    !strcmp(from + length - strlen(deleted), deleted))
		length -= strlen(deleted);
	if (*from == '_') {
		from++;
		length--;
	}
	if (!length || length >= UNIT_NAME_BYTES)
		return false;
	memcpy(name, from, length);
	name[length] = '\0';
	return true;
}

bool unit_name_of_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES])
{
	bool found = *cgroup == '/';

	while (found) {
		found = next_directory(&cgroup, unit);
		if (found && !is_slice(unit))
			break;
	}
	found = found && is_unit(unit) && strcmp(strrchr(unit, '.'), ".slice");
	if (!found)
		unit[0] = '\0';
	return found;
}
