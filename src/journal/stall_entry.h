/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_STALL_ENTRY_H
#define ALLOCFILT_JOURNAL_STALL_ENTRY_H

#include "allocfilt/base/line.h"
#include "allocfilt/stall/stall.h"
#include "journal/socket.h"

/* The message and the fields of an entry about a stall. */

#define JOURNAL_MESSAGE_MAX 1024 /* bytes with the NUL */
#define JOURNAL_STACK_MAX   3072 /* bytes with the NUL; JOURNAL_CUT stands for the outermost frames */
#define JOURNAL_FIELDS_MAX  10000 /* bytes of all fields that journal_stall_fields() adds */

/** journal_stall_task - append "nginx[812]", "worker[815] of nginx[812]", "interrupt on CPU 3" */
void journal_stall_task(struct line *line, const struct named_stall *named);

/**
 * journal_stall_message - print the message: one line of valid UTF-8 without control characters
 *
 * A message that is too long is cut and ends with JOURNAL_CUT.
 */
void journal_stall_message(char message[JOURNAL_MESSAGE_MAX], const struct named_stall *named);

/**
 * journal_stall_fields - append the ALLOCFILT_ fields of a stall, and its units
 *
 * An entry has room for them and for its message. Times are in us, rounded down. Unknown details and
 * parts of a phase without time have no field.
 *
 * The units are those of the task's cgroup, in OBJECT_SYSTEMD_UNIT= and OBJECT_SYSTEMD_USER_UNIT=:
 * `journalctl -u` and `--user-unit` accept both from _UID=0 (systemd: add_matches_for_unit()). Not
 * OBJECT_PID=, from which journald would fill them (systemd.journal-fields(7)): it looks up the process
 * when it reads the entry, and by then the process may be gone or its pid reused.
 */
void journal_stall_fields(struct journal_entry *entry, const struct named_stall *named);

#endif
