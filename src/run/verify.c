// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/output/file.h"
#include "allocfilt/output/findings.h"
#include "allocfilt/run/signals.h"
#include "allocfilt/tracing/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "run/replay.h"
#include "run/report.h"

/* Reads all CPUs, one after the other. Returns false if it was stopped. */
static bool read_to_verify(const struct run_context *run, struct capture *capture,
			   struct verify *verify)
{
	const struct cpu_list *cpus = &capture_source(capture)->cpus;
	struct capture_page page;

	for (int place = 0; place < cpus->count; place++) {
		const struct capture_counts *counts = capture_counts(capture, place);

		while (capture_read(capture, place, &page)) {
			verify_page(verify, place, page.data, page.length, page.offset,
				    page.next_ts);
			if (signals_stop_asked(run->signals))
				return false;
		}
		verify_expect(verify, place, counts->lost, counts->read);
	}
	return true;
}

/* A format in the configuration file is for other runs. */
static bool verify_as_json(const struct options *options)
{
	return options_on_command_line(options, "format") && !strcmp(options->format, "json");
}

static int print_findings(const struct run_context *run, const char *name,
			  const struct verify_findings *findings, struct failure *failure)
{
	const struct options *options = run->options;
	struct line verdict;
	int ret = verify_as_json(options) ? findings_json(run->output, name, findings) :
					    findings_text(run->output, name, findings);

	if (ret)
		return output_failed(ret, failure);
	line_clear(&verdict);
	if (verify_verdict(findings, &verdict))
		return 0;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EBADMSG, "%s: %s", name, verdict.text);
}

static int verify_capture(const struct run_context *run, struct capture *capture,
			  struct failure *failure)
{
	const struct data_source *source = capture_source(capture);
	struct verify_findings *findings;
	const struct capture_info *info;
	struct plan_offer offer;
	struct verify *verify;
	int ret = output_failed(output_file_begin(writer_fd(run->output), run->options->output),
				failure);

	if (ret)
		return ret;
	capture_offer(capture, &offer);
	verify = verify_new(source, &offer);
	if (!verify)
		return failure_no_memory(failure);
	ret = !read_to_verify(run, capture, verify);
	findings = verify_finish(verify);
	findings->stopped = ret;
	info = capture_info(capture);
	if (info->flaws)
		snprintf(findings->first_bad_file, sizeof(findings->first_bad_file), "%s",
			 info->first_flaw);
	findings->bad_files += info->flaws;
	ret = print_findings(run, source->dir, findings, failure);
	verify_free(verify);
	return ret;
}

int verify_run(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	struct capture *capture;
	int ret;

	if (options_on_command_line(options, "format") && !verify_as_json(options) &&
	    strcmp(options->format, "trace"))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--verify prints a text (-f trace) or -f json: not -f %s",
				   options->format);
	if (kernel_on_tracefs(options->verify))
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"--verify %s: the tracing directory of a running kernel, no capture",
			options->verify);
	ret = replay_open(run, "--verify", options->verify, &capture, failure);
	if (ret)
		return ret;
	ret = verify_capture(run, capture, failure);
	capture_close(capture);
	return ret;
}
