// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/capture.h"
#include "allocfilt/config.h"
#include "allocfilt/output.h"
#include "allocfilt/run.h"
#include "allocfilt/tracing.h"
#include "run/buffers.h"
#include "run/report.h"

/* What pages are passed to. */
struct reading {
	struct capture *capture;
	struct verify *verify;
};

static int read_page_to_check(void *context, int place, struct page_content *content)
{
	const struct reading *reading = context;
	struct capture_page page;

	if (!capture_read(reading->capture, place, &page))
		return 0;
	verify_page(reading->verify, place, page.data, page.length, page.offset, content);
	return 1;
}

/* Returns 0, 1 if it was stopped, or -errno. */
static int read_all(const struct run_context *run, struct reading *reading)
{
	int more;

	do {
		more = verify_read(reading->verify);
	} while (more > 0 && !signals_stop_asked(run->signals));
	/* Also where it came with the last page, as other buffers may follow. */
	return more < 0 ? more : signals_stop_asked(run->signals);
}

static void add_bad_files(struct verify_findings *findings, const struct capture_info *info)
{
	if (info->flaws)
		snprintf(findings->first_bad_file, sizeof(findings->first_bad_file), "%s",
			 info->first_flaw);
	findings->bad_files += info->flaws;
}

static int print(const struct run_context *run, const char *name,
		 const struct verify_findings *findings, struct failure *failure)
{
	const struct options *options = run->options;
	struct line verdict;
	/* What the configuration file says is for other runs. */
	const char *format = options_on_command_line(options, "format") ? options->format : "trace";
	int ret = output_findings(run->output, format, name, findings);

	if (ret)
		return output_failed(ret, failure);
	if (verify_is_clean(findings))
		return 0;
	line_clear(&verdict);
	verify_verdict(findings, &verdict);
	return failure_set(failure, EXIT_STATUS_RUN_TIME, EBADMSG, "%s: %s", name, verdict.text);
}

/* What was not read to its end lacks what it was not read to. */
static void expect_counted(const struct reading *reading)
{
	const struct cpu_list *cpus = &capture_source(reading->capture)->cpus;

	for (int place = 0; place < cpus->count; place++) {
		const struct capture_counts *counts =
			capture_counts(reading->capture, cpus->numbers[place]);

		if (counts)
			verify_expect(reading->verify, cpus->numbers[place], counts->lost,
				      counts->read);
	}
}

/* @name: of what is read, in the findings */
static int verify(const struct run_context *run, const char *name, struct reading *reading,
		  struct failure *failure)
{
	struct verify_findings *findings;
	int ret = read_all(run, reading);

	if (!ret)
		expect_counted(reading);
	findings = verify_finish(reading->verify);
	if (ret < 0)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret, "%s: %s", name,
				   strerror(-ret));
	findings->stopped = ret;
	add_bad_files(findings, capture_info(reading->capture));
	return print(run, name, findings, failure);
}

struct verification {
	const struct run_context *run;
	bool begun; /* the output */
};

static int verify_buffer(void *context, struct capture *capture, bool several,
			 struct failure *failure)
{
	struct verification *this = context;
	const struct run_context *run = this->run;
	struct reading reading = { .capture = capture };
	const struct page_source pages = { read_page_to_check, &reading };
	char path[BUFFERS_PATH_MAX];
	struct plan_offer offer;
	int ret;

	(void)several;
	if (!this->begun) {
		ret = output_file_begin(writer_fd(run->output), run->options->output);
		if (ret)
			return output_failed(ret, failure);
	}
	this->begun = true;
	capture_offer(capture, &offer);
	reading.verify = verify_new(capture_source(capture), &offer, &pages);
	if (reading.verify)
		ret = verify(run, buffers_path(capture, path), &reading, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	verify_free(reading.verify);
	return ret;
}

int verify_run(const struct run_context *run, struct failure *failure)
{
	const struct options *options = run->options;
	struct verification verification = { .run = run };
	const struct buffers_visit visit = { verify_buffer, &verification };
	int ret;

	if (options_on_command_line(options, "format") &&
	    !output_form_has_findings(options->format))
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "--verify prints a text (-f trace) or -f json: not -f %s",
				   options->format);
	if (kernel_on_tracefs(options->verify))
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"--verify %s: the tracing directory of a running kernel, no capture",
			options->verify);
	ret = buffers_visit(run, options->verify, "--verify", &visit, failure);
	if (!ret && signals_stop_asked(run->signals))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, EINTR,
				  "%s: not clean: stopped before its end", options->verify);
	return ret;
}
