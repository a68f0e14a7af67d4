/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_DEFINITION_H
#define ALLOCFILT_DEFINITION_H

#include <stdbool.h>

/*
 * A function of the user's own, with the events that belong to it: what the catalog is for the
 * functions that everybody traces. Written as
 *
 *	TITLE: KERNEL_NAME [KERNEL_NAME...] [; events SYSTEM:EVENT [SYSTEM:EVENT...]]
 */

#define DEFINITIONS_MAX		16
#define DEFINITION_TITLE_MAX	31	/* bytes */
#define DEFINITION_FUNCTIONS_MAX 8
#define DEFINITION_EVENTS_MAX	16

#define DEFINITION_ALLOWED \
	"allowed: TITLE: KERNEL_NAME KERNEL_NAME...; events SYSTEM:EVENT SYSTEM:EVENT..."

struct definition {
	char *title;		/* letters, digits, blanks, _ - . / ( ) */
	char **functions;	/* kernel names, the first that exists counts; NULL ends */
	char **events;		/* SYSTEM:NAME; NULL ends; NULL: none */
};

/**
 * definition_parse - read one
 * @definition: filled; release with definition_free() after success
 * @ret_reason: what is wrong, as in "it has no title" without the "it"; static
 *
 * Returns 0, -EINVAL, -E2BIG, or -ENOMEM without a reason.
 */
int definition_parse(struct definition *definition, const char *text, const char **ret_reason);
void definition_free(struct definition *definition);

bool definition_same(const struct definition *a, const struct definition *b);

#endif
