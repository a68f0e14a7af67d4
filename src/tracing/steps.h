/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_STEPS_H
#define ALLOCFILT_TRACING_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "allocfilt/base.h"

/*
 * The table of what was changed in a tracing directory: for each setting what was found and what
 * we wrote. The set-up, the normal end, the error path and --restore all go through it.
 *
 * A step is read, noted (a callback, before the change), written, read back. It is put back only
 * where the file still holds what we wrote. Steps are put back newest first.
 */

/* How a file's text is read, compared and written. */
enum step_kind {
	STEP_WORD,     /* one value; where several are shown, the one in brackets (trace_clock) */
	STEP_NUMBER,   /* a decimal number; -1 as well */
	STEP_SIZE,     /* KiB, which the kernel rounds up to whole pages; "7 (expanded: 1408)" is
			 * 1408: trace.c, tracing_entries_read() */
	STEP_LIST,     /* names, one a line, in any order; cleared by opening with O_TRUNC; the
			 * kernel's '#' lines, modules ("name [module]") and function probes
			 * ("name:traceoff:unlimited") are not part of it */
	STEP_EVENTS,   /* set_event: as a list, but a line is system:name */
	STEP_PIDS,     /* a list of numbers, from which the kernel takes those of tasks that have
			 * exited: what is left of it is ours */
	STEP_FILTER,   /* an event's filter, "none" without one: written as it reads, or as 0 */
	STEP_ENABLE,   /* an event's enable: 0 or 1, and a * when somebody's trigger has it on */
	STEP_TRACER,   /* current_tracer: nothing older is put back before it */
	STEP_INSTANCE, /* a directory below instances: "absent" or "present" */
	STEP_PROBE, /* the directory of a dynamic event: "absent" or "present"; the text to make it
			 * goes to dynamic_events */
	STEP_TRIGGER, /* an event's trigger: is "stacktrace" among them, "absent" or "present" */
	STEP_THREADS, /* as STEP_PIDS, but by event-fork and function-fork the kernel adds what
			 * these fork: always taken for ours */
	STEP_KINDS,
};

struct step {
	enum step_kind kind;
	char *path;   /* below the tracing directory */
	char *found;  /* as the kind reads it */
	char *wrote;  /* as read back, or what was to be written where that is not known yet; of a
			 * setting that was moved all values, with a blank between */
	bool sure;    /* written and read back; false: a kill may have come before the write */
	bool within;  /* within our instance, goes with it: neither noted nor put back */
	bool undoing; /* about to be put back: what is noted is no longer sure */
	bool done;    /* put back, or nothing to put back */
};

/* Room for every event of a plan with its filter, and what --force clears. */
#define STEPS_MAX 1024

struct steps {
	char *dir; /* the top-level tracing directory */
	struct step *step;
	int count;
	bool restoring; /* all of them are about to be put back */
	/* called before each change, with the table as it then has to be known; 0 or -errno */
	int (*note)(void *context, const struct steps *steps);
	void *context;
};

/** steps_init - an empty table for a directory; 0 or -ENOMEM; release with steps_free() */
int steps_init(struct steps *steps, const char *dir);
void steps_free(struct steps *steps);

/** steps_add - append an entry, not sure (an undo file's); all is copied; 0, -ENOMEM, -E2BIG */
int steps_add(struct steps *steps, enum step_kind kind, const char *path, const char *found,
	      const char *wrote, bool within);

/**
 * steps_read - what a file holds, as its kind reads it; free() it
 *
 * Returns 0 or -errno (-ENOENT: this kernel has no such file).
 */
int steps_read(const struct steps *steps, enum step_kind kind, const char *path, char **ret_text);

/**
 * steps_set - one step: read, note, write, read back
 * @value: as the kind reads it (a list: one name a line)
 * @text: what to write for it where that differs (a list by index, a probe); or NULL
 * @within: within our instance
 *
 * A file that holds @value already is left alone and makes no step. Returns 0, or -errno with
 * @failure (status 3 EPERM, EACCES; 4 EBUSY; 5 ENOENT, EINVAL; else 1). A step whose write failed
 * stays in the table.
 */
int steps_set(struct steps *steps, enum step_kind kind, const char *path, const char *value,
	      const char *text, bool within, struct failure *failure);

/**
 * steps_move - another value for a setting that we change during the run (buffer_percent)
 *
 * A step that has not been made yet is made. Only a value that was never written before is noted;
 * each of them counts as ours. Returns 0, -ESTALE where somebody else changed it (nothing is
 * written then), or -errno.
 */
int steps_move(struct steps *steps, enum step_kind kind, const char *path, const char *value,
	       bool within);

/** steps_restore_path - put the newest step of one file back, before all others */
int steps_restore_path(struct steps *steps, const char *path, struct failure *failure);

/**
 * steps_restore - put everything back, newest first
 *
 * A value that somebody else changed is left alone and told with log_warning(). A tracer that is
 * busy (somebody reads trace_pipe): events off, then tries again for 2 s. Returns 0 with all steps
 * done, or -errno with @failure (status 6: file, value found, value wanted); what is left to do is
 * noted.
 */
int steps_restore(struct steps *steps, struct failure *failure);

/** steps_left - how many are not put back */
int steps_left(const struct steps *steps);

#endif
