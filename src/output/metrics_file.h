/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_METRICS_FILE_H
#define ALLOCFILT_OUTPUT_METRICS_FILE_H

#include <stdbool.h>

#include "allocfilt/base.h"

/*
 * A file that is written anew every time, for the textfile collector of node_exporter, which may
 * read it at any moment: it has the old text or the new one, whole. One process writes it.
 */

struct metrics_file;

/** metrics_file_new - opens nothing; all that it takes is allocated here; NULL: errno ENOMEM */
struct metrics_file *metrics_file_new(const char *path);
void metrics_file_free(struct metrics_file *file);

/**
 * metrics_file_write - the file anew, mode 0644 whatever the umask
 * @fill: gives the text to a writer, which need not be flushed; 0 or -errno
 *
 * The text goes to .NAME.allocfilt beside it, which is gone when this returns; one that a killed
 * run left there is replaced. Nothing is allocated. Returns 0, or -errno with @failure (status 1),
 * which names the file and the way out; then the file has what it had before.
 */
int metrics_file_write(struct metrics_file *file, int (*fill)(void *context, struct writer *writer),
		       void *context, struct failure *failure);

/**
 * metrics_file_changed - did the last write fail in another way than the one before, or work again?
 *
 * For saying a failure once, and its end; before the first write all was well.
 */
bool metrics_file_changed(const struct metrics_file *file);

/** metrics_file_is_collected - has a path the name that node_exporter looks for: NAME.prom? */
bool metrics_file_is_collected(const char *path);

#endif
