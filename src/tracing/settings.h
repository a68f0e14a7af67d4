/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_SETTINGS_H
#define ALLOCFILT_TRACING_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <tracefs.h>

#include "allocfilt/base/failure.h"
#include "tracing/kinds.h"

/*
 * The table of what we changed in a tracing directory: for each setting the value found and the
 * value written. The set-up, the normal end, the error path and --restore all use it.
 *
 * A setting is read, noted (a callback writes the undo file), written and read back, which
 * tracefs_tracer_set(), tracefs_option_enable(), tracefs_instance_set_buffer_size() and their like
 * do not. It is restored only if the file still holds what we wrote, the newest setting first.
 */

struct setting {
	enum setting_kind kind;
	char *path;  /* below the tracing directory */
	char *found; /* as the kind reads it */
	char *wrote; /* as read back; until then the value to be written; after
			   * settings_change() all values that were written, separated by blanks */

	bool verified;	  /* written and read back; false: a kill may have come before the write */
	bool in_instance; /* removed with our instance: neither noted nor restored */
	bool restoring;	  /* about to be restored: the undo file no longer counts it as verified */
	bool done;	  /* restored, or nothing to restore */
};

/* Room for every event of a plan with its filter, and for what --force clears. */
#define SETTINGS_MAX 1024

struct settings {
	struct tracefs_instance *top; /* the top-level tracing directory */
	struct setting *setting;
	int count;
	/* called before each change, with the table as it has to be known by then; 0 or -errno */
	int (*note)(void *context, const struct settings *settings);
	void *context;
	const char *noted_in; /* its directory, for messages */
};

/**
 * settings_init - an empty table for a tracing directory
 * @dir: not changed; libtracefs uses it as its default from now on
 *
 * Returns 0 or -errno (-ENOENT: no such directory). Release with settings_free().
 */
int settings_init(struct settings *settings, char *dir);
void settings_free(struct settings *settings);

/** settings_add - append an unverified entry; all is copied; 0, -ENOMEM, -E2BIG */
int settings_add(struct settings *settings, enum setting_kind kind, const char *path,
		 const char *found, const char *wrote, bool in_instance);

/**
 * settings_set - change one setting: read, note, write, read back
 * @value: as the kind reads it (a list: one name a line)
 * @text: what to write for it where that differs (a list by index, a probe's definition), or NULL
 *
 * A file that holds @value already is left alone, but for SETTING_SIZE and SETTING_THREADS: it gets
 * the entry of settings_keep(). A write that fails for want of memory is tried again for 2 s, that of an instance
 * is not. Returns 0, or -errno with @failure (status 3 EPERM, EACCES, EROFS; 4 EBUSY, EEXIST; 5
 * ENOENT, EINVAL, ENODEV; else 1). The entry of a write that failed stays in the table.
 */
int settings_set(struct settings *settings, enum setting_kind kind, const char *path,
		 const char *value, const char *text, bool in_instance, struct failure *failure);

/**
 * settings_keep - an entry for a file that is as we want it, for settings_look() alone
 *
 * There is nothing to write, and nothing to restore. One that is looked at already is enough.
 * Returns 0, or -errno with @failure.
 */
int settings_keep(struct settings *settings, enum setting_kind kind, const char *path,
		  const char *found, struct failure *failure);

/** settings_has - did we change this file, and it is not restored yet? */
bool settings_has(struct settings *settings, const char *path);

/**
 * settings_change - change a setting again (buffer_percent, an event, the size of a buffer)
 * @text: as for settings_set()
 *
 * A value is noted when it is written for the first time; each of them counts as ours. Returns 0,
 * -ESTALE if somebody else changed the file (nothing is written then), or -errno.
 */
int settings_change(struct settings *settings, enum setting_kind kind, const char *path,
		    const char *value, const char *text, bool in_instance);

/**
 * settings_look - does a file still hold what we wrote, or what it held and we left?
 * @i: in the table
 * @what: if not, "trace_clock is global, ours was local"
 *
 * A setting whose file holds another one of our values by now counts as ours, and so does one that the
 * kernel itself moves.
 */
bool settings_look(struct settings *settings, int i, char *what, size_t size);

/** settings_restore_path - restore the newest setting of one file, before all others */
int settings_restore_path(struct settings *settings, const char *path, struct failure *failure);

/**
 * settings_restore - restore everything, newest first
 *
 * A value that somebody else changed is left alone, with a log_warning(). A busy tracer (somebody
 * reads trace_pipe), with its events disabled, and a lack of memory get 2 s together. Returns 0
 * with everything done, or -errno with @failure (status 6: file, value found, value wanted); what
 * is left to do is noted.
 */
int settings_restore(struct settings *settings, struct failure *failure);

/** settings_drop_done - take entries that are done out of the table */
void settings_drop_done(struct settings *settings);

/** settings_left - how many are still to be restored */
int settings_left(const struct settings *settings);

#endif
