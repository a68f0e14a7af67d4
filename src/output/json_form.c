// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/json.h"
#include "allocfilt/output.h"
#include "allocfilt/stall_json.h"

/* The form `json`: an object a line for each stall, the summary's object last. */

static int stall(struct output *output, const struct told_stall *told)
{
	struct json json;

	json_init(&json, output->setup.writer);
	json_open(&json, NULL, '{');
	json_string(&json, "type", "stall");
	json_number(&json, "schema", OUTPUT_SCHEMA);
	stall_json_fields(&json, told, output->setup.namer);
	json_close(&json, '}');
	json_raw(&json, "\n");
	return json.failed;
}

static int summary(struct output *output, const struct summary_view *view)
{
	return summary_json(output->setup.writer, view, true);
}

const struct output_ops json_form = {
	.stall = stall,
	.summary = summary,
};
