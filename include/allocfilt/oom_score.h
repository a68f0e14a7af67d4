/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OOM_SCORE_H
#define ALLOCFILT_OOM_SCORE_H

/**
 * oom_score_set - how ready the OOM killer is to take us
 * @score: -1000 … 1000, as oom_score_adj in proc(5); below the present one only with
 *	   CAP_SYS_RESOURCE
 *
 * Returns 0 or -errno.
 */
int oom_score_set(int score);

#endif
