/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_STALL_ENTRY_H
#define ALLOCFILT_JOURNAL_STALL_ENTRY_H

#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"
#include "journal/entry.h"
#include "journal/unit_name.h"

/* What an entry of the journal says of a stall. */

#define JOURNAL_MESSAGE_MAX 1024 /* bytes with the NUL */
#define JOURNAL_STACK_MAX   3072 /* bytes with the NUL; the outermost frames are left out */
#define JOURNAL_FIELDS_MAX  6500 /* bytes: of all that journal_stall_fields() adds */

/** journal_stall_priority - of syslog(3); @ns, @warning and @error in ns, the two inclusive */
int journal_stall_priority(uint64_t ns, uint64_t warning, uint64_t error);

/** journal_stall_who - "nginx[812]", "worker[815] of nginx[812]", "interrupt on CPU 3" */
void journal_stall_who(struct line *line, const struct named_stall *named);

/** journal_stall_message - a sentence for a person: valid UTF-8, one line, no control characters */
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

/* Whose a stall is, for as long as an entry of it may still be written. */
struct journal_object {
	int process;		    /* 0: not known, or of an interrupt */
	char unit[UNIT_NAME_BYTES]; /* "" for none */
};

void journal_object_of(struct journal_object *object, const struct named_stall *named);

/**
 * journal_object_field - append OBJECT_PID=, or OBJECT_SYSTEMD_UNIT= of a process that has gone
 * @proc: "/proc"; NULL: every process has gone
 *
 * Of a process that is there journald finds out the unit, and much else, by itself, and adds the
 * second field (systemd.journal-fields(7)); both from us would be two units in one entry.
 * `journalctl -u` believes the field where _UID=0 sent it.
 */
void journal_object_field(struct journal_entry *entry, const struct journal_object *object,
			  const char *proc);

#endif
