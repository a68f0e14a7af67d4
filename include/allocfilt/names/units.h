/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_UNITS_H
#define ALLOCFILT_NAMES_UNITS_H

#include <stdbool.h>

/* Units of systemd, from the path of a cgroup. */

#define UNIT_NAME_BYTES 256 /* with the NUL; systemd.unit(5): at most 255 characters */

/**
 * unit_name_of_cgroup - the system unit that a cgroup belongs to, by systemd's own rule
 * @cgroup: path below the root of the hierarchy, any bytes
 *
 * The unit is the first directory below the slices, so all units of a user are in user@UID.service.
 * A "_" before a name avoids a clash with the kernel's files and is not part of the name. (systemd,
 * src/basic/cgroup-util.c: cg_path_get_unit(); names: unit_name_is_valid().)
 *
 * Returns false, with "" in @unit, if it belongs to none, and for a path that was cut.
 */
bool unit_name_of_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES]);

/**
 * unit_name_of_user_cgroup - the unit of a user's service manager that a cgroup belongs to
 *
 * It is the first directory below the slices inside user@UID.service (systemd: cg_path_get_user_unit()).
 * Returns as unit_name_of_cgroup().
 */
bool unit_name_of_user_cgroup(const char *cgroup, char unit[UNIT_NAME_BYTES]);

#endif
