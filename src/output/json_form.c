// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output.h"
#include "output/json.h"
#include "output/stall_json.h"

/* The form `json`: an object a line for each stall, the summary's object last. */

static int stall(struct output *output, const struct named_stall *named)
{
	struct json json;

	json_init(&json, output->setup.writer);
	json_open(&json, NULL, '{');
	json_string(&json, "type", "stall");
	json_number(&json, "schema", OUTPUT_SCHEMA);
	stall_json_fields(&json, named, output->setup.resolver);
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
