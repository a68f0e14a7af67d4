/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_H
#define ALLOCFILT_JOURNAL_H

#include <stdint.h>

/* What is written to the system journal, by which rules, and how it went. */

/* MESSAGE_ID= of our entries, random and fixed for ever; explained in systemd/allocfilt.catalog. */
#define JOURNAL_ID_STALL	"a07bd6a1052e48fa86bcebbbb4bf96b0"
#define JOURNAL_ID_HELD_BACK	"fe3bd3503e624624a014405fa9cae19f"
#define JOURNAL_ID_STATUS	"89fdb4c253ef4d4cb9e2424f1749c5cb"
#define JOURNAL_ID_SUMMARY	"8319ab3bd5b242deab8a65e1edc464d2"

struct journal_setup {
	const char *path;	/* of journald's socket; NULL: JOURNAL_SOCKET_PATH */
	const char *proc;	/* "/proc": who is still there; NULL: nobody is; not copied */
	uint64_t warning;	/* ns: stalls from here on are warnings */
	uint64_t error;		/* ns: and errors from here on */
	unsigned int rate;	/* entries of stalls a minute; 0: no limit */
	unsigned int burst;	/* entries of stalls that may come at once */
	uint64_t status_interval;	/* ns between entries on the run itself; 0: none */
};

struct journal_counts {
	uint64_t entries;	/* that the journal has taken */
	uint64_t held_back;	/* stalls without an entry of their own */
	uint64_t dropped;	/* entries that the journal did not take and that could not wait */
};

#endif
