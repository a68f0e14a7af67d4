/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_H
#define ALLOCFILT_STALL_H

#include "allocfilt/stall/cause.h"
#include "allocfilt/stall/phases.h"
#include "allocfilt/stall/stall.h"
#include "allocfilt/stall/stalls.h"
#include "allocfilt/stall/task_key.h"

#endif
