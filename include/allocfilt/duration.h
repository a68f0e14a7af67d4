/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_DURATION_H
#define ALLOCFILT_DURATION_H

#include <stdint.h>

/** duration_text - ns as a person says it: "134 us", "12.8 ms", "1.2 s", rounded; returns @text */
#define DURATION_TEXT_MAX 32
const char *duration_text(char text[DURATION_TEXT_MAX], uint64_t ns);

#endif
