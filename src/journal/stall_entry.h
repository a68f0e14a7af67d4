/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_STALL_ENTRY_H
#define ALLOCFILT_JOURNAL_STALL_ENTRY_H

#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"
#include "journal/socket.h"
#include "journal/unit_name.h"

/* The message and the fields of an entry about a stall. */

#define JOURNAL_MESSAGE_MAX 1024 /* bytes with the NUL */
#define JOURNAL_STACK_MAX   3072 /* bytes with the NUL; the outermost frames are left out */
#define JOURNAL_FIELDS_MAX  6500 /* bytes: of all that journal_stall_fields() adds */

/** journal_stall_task - append "nginx[812]", "worker[815] of nginx[812]", "interrupt on CPU 3" */
void journal_stall_task(struct line *line, const struct named_stall *named);

/**
 * journal_stall_message - print the message: one line of valid UTF-8 without control characters
 *
 * A message that is too long is cut and ends with JOURNAL_CUT.
 */
void journal_stall_message(char message[JOURNAL_MESSAGE_MAX], const struct named_stall *named,
			   struct resolver *resolver);

/**
 * journal_stall_fields - append the ALLOCFILT_ fields of a stall
 *
 * An entry has room for them and for its message. Times are in us, rounded down. Unknown details and
 * parts of a phase without time have no field.
 */
void journal_stall_fields(struct journal_entry *entry, const struct named_stall *named,
			  struct resolver *resolver);

/* The process and unit of a stall, kept until its entry is written. */
struct journal_object {
	int pid;		    /* process; 0: unknown, or an interrupt */
	char unit[UNIT_NAME_BYTES]; /* "" for none */
};

/** journal_object_of - the process and unit of a stall; none for an interrupt */
void journal_object_of(struct journal_object *object, const struct named_stall *named);

/**
 * journal_object_field - append OBJECT_PID=, or OBJECT_SYSTEMD_UNIT= of a process that has exited
 * @proc: "/proc"; NULL: every process has exited
 *
 * With OBJECT_PID= journald adds OBJECT_SYSTEMD_UNIT= and other fields itself
 * (systemd.journal-fields(7)), so sending both would make two units. `journalctl -u` accepts the
 * field from _UID=0.
 */
void journal_object_field(struct journal_entry *entry, const struct journal_object *object,
			  const char *proc);

#endif
