/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_EXPOSITION_H
#define ALLOCFILT_OUTPUT_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base.h"
#include "allocfilt/stall.h"

/*
 * Prometheus' text format 0.0.4 to a writer. The first error of the writer is kept, and nothing is
 * written after it: ask once, at the end.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/: the samples of a family stand
 * together, behind its HELP and TYPE, and no two of them have the same labels; or all is refused.
 */

struct exposition {
	struct writer *writer;
	const char *family;
	int failed; /* -errno of the writer */
};

void exposition_init(struct exposition *exposition, struct writer *writer);

/**
 * exposition_family - all samples are of this one from now on
 * @name: kept, not copied
 * @type: counter, gauge or histogram
 * @help: plain text, not escaped
 */
void exposition_family(struct exposition *exposition, const char *name, const char *type,
		       const char *help);

/**
 * exposition_label - add a label to those between the braces
 * @value: any bytes; empty: no label, which is the same. A line has room for the longest labels.
 */
void exposition_label(struct line *labels, const char *name, const char *value);

/** exposition_labels_key - of labels as they are written: equal ones have equal keys; never 0 */
uint64_t exposition_labels_key(const struct line *labels);

/* Samples; @labels: NULL for none. */
void exposition_number(struct exposition *exposition, const struct line *labels, uint64_t number);
void exposition_seconds(struct exposition *exposition, const struct line *labels, uint64_t ns);
void exposition_histogram(struct exposition *exposition, const struct line *labels,
			  const struct histogram *histogram);

#endif
