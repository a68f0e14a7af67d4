/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_STALL_JSON_H
#define ALLOCFILT_OUTPUT_STALL_JSON_H

#include "allocfilt/stall.h"
#include "output/json.h"

/* The parts of a stall's object that other objects have as well. */

/** stall_json_fields - all fields of a stall, into an object that is open */
void stall_json_fields(struct json *json, const struct named_stall *named,
		       struct resolver *resolver);

/** stall_json_phases - where time went, with the same keys whatever there was */
void stall_json_phases(struct json *json, const char *key, const struct phases *phases);

/** stall_json_time - "time", RFC 3339 or null */
void stall_json_time(struct json *json, struct resolver *resolver, uint64_t ts);

#endif
