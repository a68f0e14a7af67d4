/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_UNDO_H
#define ALLOCFILT_TRACING_UNDO_H

#include "tracing/settings.h"

/*
 * The undo file: what a run has changed and not yet restored, for the next run to finish if this
 * one is killed, in RUN_DIR/undo, which is complete at each moment: file_replace(). And the lock, an
 * flock(2) on the tracing directory itself: who holds it owns tracing, the run or a child of it that
 * writes. Another mount namespace has another /run, but the same directory there.
 *
 * The undo file is text, with each field as text_print_field() writes it:
 *	allocfilt-undo 3 BOOT_ID PID TRACING_DIR
 *	setting KIND VERIFIED PATH FOUND WROTE		one line each, oldest first
 *	end
 */

struct undo;

/**
 * undo_open - take the lock; makes RUN_DIR (0700) if there is none
 * @dir: the tracing directory; NULL: tracefs is not mounted, so there is nothing to lock
 *
 * Waits for a lock that is taken: 2 s, in which the guardian of a killed run ends, and up to 10 s
 * for such a run's child.
 * Returns 0, or -errno with @failure: 4 with the pid of a live owner, 3 without permission, 1 for a
 * directory or file that others can change (symlink, other user, writable by others). Release with
 * undo_close().
 */
int undo_open(struct undo **undo, const char *run_dir, const char *dir, struct failure *failure);
void undo_close(struct undo *undo);

/**
 * undo_load - read what a killed run left
 * @settings: initialised here; settings_free() it after success
 * @pid: of the run that left it
 *
 * Returns 0; -ENOENT if there is no undo file (no failure is set); or -errno with @failure: status
 * 1 for a file that is damaged, of another boot or version, a symlink or another user's; 3 where
 * its directory is not on tracefs (unmounted, or another mount namespace). The file stays.
 */
int undo_load(struct undo *undo, struct settings *settings, int *ret_pid, struct failure *failure);

/** undo_note - settings.note: write all that is not done; 0 or -errno */
int undo_note(void *undo, const struct settings *settings);

/** undo_remove - nothing is left to restore; 0, or -errno with @failure */
int undo_remove(struct undo *undo, struct failure *failure);

#endif
