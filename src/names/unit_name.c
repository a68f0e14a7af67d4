// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/names/units.h"

/* systemd.unit(5) */
static const char *const types[] = {
	"service", "socket", "device", "mount", "automount", "swap",
	"target",  "path",   "timer",  "slice", "scope",
};

static const char letters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";

/* The kernel appends it for a removed cgroup: kernel/cgroup/cgroup.c, proc_cgroup_show(). */
static const char deleted[] = " (deleted)";

/* A template, name@.type, is not a unit that runs. */
static bool is_unit(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *at = strchr(name, '@');
	size_t type = 0;

	if (!dot || dot == name || at == name || (at && at + 1 >= dot))
		return false;
	while (type < ARRAY_SIZE(types) && strcmp(dot + 1, types[type]))
		type++;
	return type < ARRAY_SIZE(types) && strspn(name, letters) == strlen(name);
}

/* Reads the next directory of a path without its escape; false at the end or if it is too long. */
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

/* Reads past the slices and the unit after them; false, with "" in @unit, if there is none. */
static bool next_unit(const char **path, char unit[UNIT_NAME_BYTES])
{
	while (**path == '/' && next_directory(path, unit)) {
		bool running = is_unit(unit);
		bool slice = running && !strcmp(strrchr(unit, '.'), ".slice");

		if (running && !slice)
			return true;
		/* A slice has no instances: systemd.slice(5). */
		if (!slice || strchr(unit, '@'))
			break;
	}
	unit[0] = '\0';
	return false;
}

bool unit_name_of_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES])
{
	return next_unit(&cgroup, unit);
}

bool unit_name_of_user_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES])
{
	if (next_unit(&cgroup, unit) && !strncmp(unit, "user@", strlen("user@")))
		return next_unit(&cgroup, unit);
	unit[0] = '\0';
	return false;
}
