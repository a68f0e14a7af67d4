// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "allocfilt/base/line.h"
#include "allocfilt/base/log.h"
#include "allocfilt/output/form.h"
#include "allocfilt/stats/chains.h"

/*
 * The form `folded`: at the end a line for each chain of causes, its frames joined by semicolons, a
 * blank, and its nanoseconds, as flamegraph.pl and speedscope read it. Each nanosecond of each stall
 * is in one line.
 */

#define STEPS_MAX 16384

struct frame {
	const struct frame *above;
	const struct chain_step *step;
};

/* A semicolon would end the frame. */
static void folded_name(struct writer *writer, const char *name)
{
	char text[TEXT_ESCAPED_MAX * CHAIN_NAME_MAX];

	text_escape(text, sizeof(text), name, text_rule_of(writer_fd(writer)));
	for (char *rest = text, *part = strsep(&rest, ";"); part; part = strsep(&rest, ";")) {
		writer_put(writer, part, strlen(part));
		if (rest)
			writer_put(writer, "\\x3b", 4);
	}
}

static void folded_frames(struct writer *writer, const struct frame *frame)
{
	/* Time of the root belongs to tasks for which the table had no room. */
	if (!frame->above) {
		writer_put(writer, CHAIN_OTHERS, strlen(CHAIN_OTHERS));
		return;
	}
	if (frame->above->above) {
		folded_frames(writer, frame->above);
		writer_put(writer, ";", 1);
	}
	folded_name(writer, frame->step->name);
}

/* Puts the steps below a step, and the time that no step below has. */
static void folded_steps(struct writer *writer, const struct frame *above)
{
	uint64_t ns = above->step->ns;

	for (const struct chain_step *step = above->step->below; step; step = step->next) {
		folded_steps(writer, &(struct frame){ above, step });
		ns -= step->ns < ns ? step->ns : ns;
	}
	if (!ns)
		return;
	folded_frames(writer, above);
	line_write(writer, " %" PRIu64, ns);
}

static void folded_release(struct output *output)
{
	chains_free(output->form);
}

static int folded_make(struct output *output)
{
	output->form = chains_new(STEPS_MAX);
	return output->form ? 0 : -ENOMEM;
}

static int folded_stall(struct output *output, const struct named_stall *named)
{
	chains_stall(output->form, named, true);
	return 0;
}

static int folded_summary(struct output *output, const struct summary_view *view)
{
	struct writer *writer = output->setup.writer;
	uint64_t dropped = chains_dropped(output->form);
	char counted[TEXT_COUNTED_MAX];

	(void)view;
	folded_steps(writer, &(struct frame){ NULL, chains_sorted(output->form) });
	if (dropped)
		log_warning(
			"a limit was reached: %s",
			text_counted(
				counted, dropped,
				"task{s} or chain{s} of causes {have|has} no line of {their|its} own"));
	return writer_flush(writer);
}

const struct output_ops folded_form = {
	.make = folded_make,
	.release = folded_release,
	.stall = folded_stall,
	.summary = folded_summary,
};
