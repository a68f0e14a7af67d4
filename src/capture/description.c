// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "allocfilt/base/text.h"
#include "allocfilt/capture/write.h"

/*
 * The file `capture`: facts that no file of the kernel has. parse_description() in reader.c reads
 * it.
 */

/* The kernel's text, on one line. */
static void print_pressure(FILE *stream, const char *key, const struct memory_pressure *pressure)
{
	if (pressure->known)
		fprintf(stream,
			"%s some avg10=%u.%02u total=%" PRIu64 " full avg10=%u.%02u total=%" PRIu64
			" oom_kill %" PRIu64 " workingset_refault %" PRIu64 "\n",
			key, pressure->some_avg10 / 100, pressure->some_avg10 % 100, pressure->some,
			pressure->full_avg10 / 100, pressure->full_avg10 % 100, pressure->full,
			pressure->oom_kills, pressure->refaults);
}

static void print_machine(FILE *stream, const struct data_source *source)
{
	const struct page_layout *layout = &source->layout;

	fprintf(stream, "capture 1\nbyte_order %s\nlong_size %d\npage_size %zu\nrelease %s\n",
		layout->big_endian ? "big" : "little", layout->long_size, layout->size,
		source->release);
	fputs("host ", stream);
	text_print_field(stream, source->host, '\n');
	fprintf(stream, "machine %s\nclock %s\n", source->machine, source->clock);
}

static void print_run(FILE *stream, const struct capture_description *description)
{
	const struct data_source *source = description->source;
	char date[64];

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&description->date));
	fprintf(stream, "tracer %s\nthreshold_us %" PRIu64 "\ndate %s\nown %d\n",
		description->plan->function_graph ? "function_graph" : "nop",
		description->plan->threshold / 1000, date, source->own);
	if (source->command)
		fprintf(stream, "command %d\n", source->command);
	/* Some kernels record functions of tasks that set_ftrace_pid excludes: a replay drops them. */
	if (description->pids) {
		fputs("pids", stream);
		for (const pid_t *pid = description->pids; *pid; pid++)
			fprintf(stream, " %d", *pid);
		fputc('\n', stream);
	}
	print_pressure(stream, "pressure_before", &source->pressure_before);
	print_pressure(stream, "pressure_after", &source->pressure_after);
	fputs(description->probe, stream);
	for (int i = 0; i < source->cpus.count; i++)
		fprintf(stream, "lost cpu%d %" PRIu64 "\nread cpu%d %" PRIu64 "\n",
			source->cpus.numbers[i], description->counts[i].lost,
			source->cpus.numbers[i], description->counts[i].read);
}

int capture_describe(struct capture_writer *writer, const struct capture_description *description)
{
	size_t length;
	char *text;
	FILE *stream = open_memstream(&text, &length);
	int ret;

	if (!stream)
		return -ENOMEM;
	print_machine(stream, description->source);
	print_run(stream, description);
	ret = fclose(stream) ? -ENOMEM : capture_put(writer, "capture", text, length);
	free(text);
	return ret;
}
