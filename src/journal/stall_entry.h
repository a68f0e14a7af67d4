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

/** journal_stall_task - "nginx[812]", "worker[815] of nginx[812]", "interrupt on CPU 3" */
void journal_stall_task(struct line *line, const struct named_stall *named);

/**
 * journal_stall_message - a sentence for a person: valid UTF-8, one line, no control characters
 *
 * One that is too long is cut and ends with " [cut]".
 */
void journal_stall_message(char message[JOURNAL_MESSAGE_MAX], const struct named_stall *named,
			   struct resolver *resolver);

/**
 * journal_stall_fields - append the ALLOCFILT_ fields of a stall
 *
 * An entry has room for them and for its message. Times are in us, rounded down. What is not
 * known has no field, nor have parts of a phase that took no time.
 */
void journal_stall_fields(struct journal_entry *entry, const struct named_stall *named,
			  struct resolver *resolver);

/* The process and unit of a stall, for as long as an entry about it may still be written. */
struct journal_object {
	int process;		    /* 0: not known, or of an interrupt */
	char unit[UNIT_NAME_BYTES]; /* "" for none */
};

void journal_object_of(struct journal_object *object, const struct named_stall *named);

/**
 * journal_object_field - append OBJECT_PID=, or OBJECT_SYSTEMD_UNIT= of a process that has exited
 * @proc: "/proc"; NULL: every process has exited
 *
 * From OBJECT_PID= journald finds the unit, and much else, and adds OBJECT_SYSTEMD_UNIT= itself
 * (systemd.journal-fields(7)): with both from us an entry would have two units. `journalctl -u`
 * accepts the field where _UID=0 sent it.
 */
void journal_object_field(struct journal_entry *entry, const struct journal_object *object,
			  const char *proc);

#endif
