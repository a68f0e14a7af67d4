/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_UNDO_H
#define ALLOCFILT_TRACING_UNDO_H

#include "allocfilt/base.h"
#include "tracing/steps.h"

/*
 * The undo file: what a run has changed and not yet put back, for the next one to finish when this
 * one is killed. And the lock: who has it, and lives, owns tracing.
 *
 *	RUN_DIR/lock	held with flock(2), never removed; the owner's pid
 *	RUN_DIR/undo	complete at each moment: written beside (undo.new), fsync, rename
 *
 * The two are apart because a lock on a file that gets replaced is soon nobody's.
 *
 * Format of undo, text, fields parted by tabs, with \\ \t \n escaped within:
 *	allocfilt-undo 1 BOOT_ID PID TRACING_DIR
 *	step KIND SURE PATH FOUND WROTE		one for each, oldest first
 *	end CHECKSUM				FNV-1a of all before this line
 */

struct undo;

/**
 * undo_open - take the lock; makes RUN_DIR (0700) where it is missing
 *
 * Returns 0, or -errno with @failure: 4 with the pid of a live owner, 3 without the right, 1 for a
 * directory or file that is not ours alone (symlink, other user, writable by others). Release with
 * undo_close().
 */
int undo_open(struct undo **undo, const char *run_dir, struct failure *failure);
void undo_close(struct undo *undo);

/**
 * undo_load - read what a killed run left
 * @steps: initialised here; steps_free() it after success
 * @pid: of the run that left it
 *
 * Returns 0; -ENOENT where there is nothing (no failure is set); or -errno with @failure (status
 * 1) for a file that is damaged, of another boot, a symlink or another user's.
 */
int undo_load(struct undo *undo, struct steps *steps, int *ret_pid, struct failure *failure);

/** undo_note - steps.note: write all that is not done; 0 or -errno */
int undo_note(void *undo, const struct steps *steps);

/** undo_remove - nothing is left to be put back; 0 or -errno */
int undo_remove(struct undo *undo);

#endif
