/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_JSON_H
#define ALLOCFILT_OUTPUT_JSON_H

#include "allocfilt/output/form.h"
#include "allocfilt/output/json_writer.h"

/* The objects of the form `json`, which the form `perfetto` contains too. */

/** json_run - the run as an object on a line of its own; 0 or -errno of the writer */
int json_run(struct output *output);

/** json_had_cpu - the array of that name; the tasks are in the cgroups that they had at @ts */
void json_had_cpu(struct json *json, struct resolver *resolver, uint64_t ts,
		  const struct stall_slice *runners, size_t count);

/** json_stall - all members of a stall's object */
void json_stall(struct json *json, const struct named_stall *named);

/** json_stall_line - a stall as an object on a line of its own */
void json_stall_line(struct writer *writer, const struct named_stall *named);

/** json_summary - the summary as an object on a line of its own */
void json_summary(struct writer *writer, const struct summary_view *view);

#endif
