/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_MISSING_H
#define ALLOCFILT_MISSING_H

#include "plan.h"

/** missing_say - what this kernel lacks of what would be traced, in a line for each kind */
void missing_say(const struct plan *plan);

#endif
