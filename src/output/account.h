/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_ACCOUNT_H
#define ALLOCFILT_OUTPUT_ACCOUNT_H

#include "allocfilt/output.h"

/** account_text - the tables of an account for people, a blank line first; 0 or -errno of the writer */
int account_text(struct writer *writer, const struct summary_view *view);

#endif
