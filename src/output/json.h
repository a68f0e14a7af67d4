/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_H
#define ALLOCFILT_OUTPUT_JSON_H

#include "allocfilt/output.h"
#include "output/json_writer.h"

/* The objects of the form `json`, which the form `perfetto` contains too. */

/* The schema's number is incremented when a member changes or is removed. */
#define JSON_SCHEMA 3

/** json_begin_line - start an object of the form on a line of its own; @type: "stall" and the like */
static inline void json_begin_line(struct json *json, struct writer *writer, const char *type)
{
	json_init(json, writer);
	json_open(json, NULL, '{');
	json_string(json, "type", type);
	json_number(json, "schema", JSON_SCHEMA);
}

/** json_stall - all members of a stall's object */
void json_stall(struct json *json, const struct named_stall *named, struct resolver *resolver);

/** json_summary - the summary as an object on a line of its own; @final: the run is over */
void json_summary(struct writer *writer, const struct summary_view *view, bool final);

#endif
