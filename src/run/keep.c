// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocfilt/capture.h"
#include "allocfilt/capture_write.h"
#include "allocfilt/cgroups.h"
#include "allocfilt/event_directories.h"
#include "allocfilt/kallsyms_cut.h"
#include "allocfilt/keep.h"
#include "allocfilt/log.h"
#include "allocfilt/losses.h"
#include "allocfilt/names.h"
#include "allocfilt/referred.h"
#include "allocfilt/who.h"

#define KALLSYMS "/proc/kallsyms"

struct keep {
	struct keep_setup setup;
	struct capture_writer *writer;
	struct names *names;
	struct who *who;
	int *cpus;		/* numbers, of which losses has a list */
	struct losses *losses;	/* NULL before keep_describe() */
	bool described;
	char *mounts;		/* text of mountinfo at the start */
	time_t date;
	uint64_t now;		/* ns: of the last keep_names() */
};

static int file_failed(const struct keep *keep, int error, struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -error, "-w %s: %s", keep->setup.dir,
			   strerror(-error));
}

int keep_new(struct keep **ret_keep, const struct keep_setup *setup, struct failure *failure)
{
	struct keep *keep = calloc(1, sizeof(*keep));
	char saved[4096];
	int ret;

	if (!keep)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	keep->setup = *setup;
	keep->date = time(NULL);
	snprintf(saved, sizeof(saved), "%s/saved_cmdlines", setup->kernel->dir);
	keep->names = names_new("/proc", saved, setup->names);
	keep->who = who_new("/proc", NULL);
	if (keep->names && keep->who)
		ret = capture_create(&keep->writer, setup->dir, setup->layout->size, failure);
	else
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	if (ret) {
		keep_free(keep);
		return ret;
	}
	*ret_keep = keep;
	return 0;
}

void keep_free(struct keep *keep)
{
	if (!keep)
		return;
	if (keep->writer && !keep->described)
		capture_abandon(keep->writer);
	capture_writer_free(keep->writer);
	losses_free(keep->losses);
	free(keep->cpus);
	who_free(keep->who);
	names_free(keep->names);
	free(keep->mounts);
	free(keep);
}

/* What a kernel does not have is not kept. */
static int copy_if_there(struct keep *keep, const char *dir, const char *name)
{
	int ret = capture_copy(keep->writer, dir, name);

	return ret == -ENOSPC || ret == -EDQUOT || ret == -EIO ? ret : 0;
}

static int copy_event(void *context, const char *system, const char *name)
{
	struct keep *keep = context;
	char path[600];
	int ret;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	ret = copy_if_there(keep, keep->setup.kernel->dir, path);
	snprintf(path, sizeof(path), "events/%s/%s/id", system, name);
	return ret ? ret : copy_if_there(keep, keep->setup.kernel->dir, path);
}

static int copy_formats(struct keep *keep)
{
	static const char *const own[] = {
		"funcgraph_exit", "funcgraph_entry", "print", "kernel_stack",
	};
	const struct plan *plan = keep->setup.plan;
	int ret = copy_event(keep, PROBE_SYSTEM, PROBE_NAME);

	if (!ret && keep->setup.full)
		return event_directories(keep->setup.kernel->dir, copy_event, keep);
	for (size_t i = 0; !ret && i < sizeof(own) / sizeof(own[0]); i++)
		ret = copy_event(keep, "ftrace", own[i]);
	for (int i = 0; !ret && i < plan->nr_events; i++)
		ret = copy_event(keep, plan->events[i].system, plan->events[i].name);
	return ret;
}

/* Grows by what is printed to it. */
struct text {
	char *text;
	size_t length;
	FILE *stream;
};

static int text_open(struct text *text)
{
	text->stream = open_memstream(&text->text, &text->length);
	return text->stream ? 0 : -ENOMEM;
}

/* Writes the text to a file of the capture and frees it. */
static int text_put(struct text *text, struct keep *keep, const char *name)
{
	int ret = fclose(text->stream) ? -ENOMEM : 0;

	if (!ret)
		ret = capture_put(keep->writer, name, text->text, text->length);
	free(text->text);
	return ret;
}

static int put_functions(struct keep *keep)
{
	struct text text;
	int ret;

	if (keep->setup.full)
		return copy_if_there(keep, keep->setup.kernel->dir, "available_filter_functions");
	ret = text_open(&text);
	if (ret)
		return ret;
	for (char **name = keep->setup.kernel->functions; name && *name; name++)
		fprintf(text.stream, "%s\n", *name);
	return text_put(&text, keep, "available_filter_functions");
}

static uint64_t lost_by(const struct keep *keep, int cpu)
{
	uint64_t unknown;

	return losses_of(keep->losses, cpu, &unknown);
}

static void print_losses(FILE *stream, const struct keep *keep, const struct cpu_buffers *buffers)
{
	for (int i = 0; i < cpu_buffers_count(buffers); i++) {
		int cpu = cpu_buffers_cpu(buffers, i);

		fprintf(stream, "lost cpu%d %" PRIu64 "\n", cpu, lost_by(keep, cpu));
	}
}

/* Some kernels record the functions of tasks that set_ftrace_pid leaves out. */
static void print_tasks(FILE *stream, const struct keep_setup *setup)
{
	fprintf(stream, "own %d\n", setup->own);
	if (!setup->pids)
		return;
	fputs("pids", stream);
	for (const pid_t *pid = setup->pids; *pid; pid++)
		fprintf(stream, " %d", *pid);
	fputc('\n', stream);
}

static void print_probe(FILE *stream, const struct probe *probe)
{
	fprintf(stream, "probe %s\nbtf super_block.s_id %" PRIu32 "\nbtf super_block.s_dev %" PRIu32
		"\n", probe->definition, probe->s_id, probe->s_dev);
	if (probe->has_private_data)
		fprintf(stream, "btf shrinker.private_data %" PRIu32 "\n", probe->private_data);
	else
		fprintf(stream, "btf super_block.s_shrink %" PRIu32 "\n", probe->s_shrink);
}

static int put_description(struct keep *keep, const struct cpu_buffers *buffers)
{
	const struct page_layout *layout = keep->setup.layout;
	struct text text;
	char date[64];
	int ret = text_open(&text);

	if (ret)
		return ret;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&keep->date));
	fprintf(text.stream, "capture 1\nbyte_order %s\nlong_size %d\npage_size %zu\nrelease %s\n",
		layout->big_endian ? "big" : "little", layout->long_size, layout->size,
		keep->setup.kernel->release);
	fprintf(text.stream, "clock local\ntracer %s\nthreshold_us %" PRIu64 "\ndate %s\n",
		keep->setup.plan->function_graph ? "function_graph" : "nop",
		keep->setup.plan->threshold / 1000, date);
	print_tasks(text.stream, &keep->setup);
	if (*keep->setup.probe->definition)
		print_probe(text.stream, keep->setup.probe);
	print_losses(text.stream, keep, buffers);
	return text_put(&text, keep, "capture");
}

/*
 * What is mounted at the start, and what else at the end: a file system that was mounted in between
 * has its mount point, one that was unmounted keeps it.
 */
static int put_mounts(struct keep *keep)
{
	size_t length;
	char *now = kernel_read_file("/proc/self", "mountinfo", &length);
	struct text text;
	int ret;

	if (!now)
		return 0;
	ret = text_open(&text);
	if (!ret) {
		fputs(keep->mounts ? keep->mounts : "", text.stream);
		fputs(now, text.stream);
		ret = text_put(&text, keep, "mountinfo");
	}
	free(keep->mounts);
	keep->mounts = now;
	return ret;
}

static bool is_likely(void *context, const char *name)
{
	const struct keep *keep = context;

	return plan_likely_symbol(keep->setup.plan, name);
}

/* Before the data is there: what it is likely to refer to. */
static int put_likely_symbols(struct keep *keep)
{
	struct text text;
	int ret;

	if (keep->setup.full)
		return copy_if_there(keep, "/proc", "kallsyms");
	ret = text_open(&text);
	if (ret)
		return ret;
	kallsyms_cut_by_name(KALLSYMS, is_likely, keep, text.stream);
	return text_put(&text, keep, "kallsyms");
}

static int put_before_data(struct keep *keep, const char *dir, const struct cpu_buffers *buffers)
{
	static const char *const of_session[] = {
		"set_ftrace_filter", "trace_clock", "current_tracer",
	};
	const char *kernel_dir = keep->setup.kernel->dir;
	int ret = copy_if_there(keep, kernel_dir, "events/header_page");

	if (!ret)
		ret = copy_if_there(keep, kernel_dir, "events/header_event");
	if (!ret)
		ret = copy_if_there(keep, kernel_dir, "tracing_thresh");
	for (size_t i = 0; !ret && i < sizeof(of_session) / sizeof(of_session[0]); i++)
		ret = copy_if_there(keep, dir, of_session[i]);
	if (!ret)
		ret = copy_formats(keep);
	if (!ret)
		ret = put_functions(keep);
	if (!ret)
		ret = put_likely_symbols(keep);
	if (!ret)
		ret = put_mounts(keep);
	return ret ? ret : put_description(keep, buffers);
}

/* Returns 0 or -ENOMEM. */
static int make_losses(struct keep *keep, const struct cpu_buffers *buffers)
{
	struct cpu_list cpus = { .count = cpu_buffers_count(buffers) };

	keep->cpus = calloc(cpus.count, sizeof(*keep->cpus));
	if (!keep->cpus)
		return -ENOMEM;
	for (int i = 0; i < cpus.count; i++)
		keep->cpus[i] = cpu_buffers_cpu(buffers, i);
	cpus.numbers = keep->cpus;
	keep->losses = losses_new(&cpus);
	return keep->losses ? 0 : -ENOMEM;
}

int keep_describe(struct keep *keep, const char *dir, const struct cpu_buffers *buffers,
		  struct failure *failure)
{
	int ret;

	keep->described = true;
	if (make_losses(keep, buffers))
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	ret = put_before_data(keep, dir, buffers);
	for (int i = 0; !ret && i < cpu_buffers_count(buffers); i++)
		ret = capture_add_cpu(keep->writer, cpu_buffers_cpu(buffers, i));
	return ret ? file_failed(keep, ret, failure) : 0;
}

int64_t keep_drain(struct keep *keep, const struct cpu_buffers *buffers)
{
	int64_t bytes = 0;

	for (int i = 0; i < cpu_buffers_count(buffers); i++) {
		for (int turn = 0; turn < SOURCE_QUOTA; turn++) {
			int64_t taken = capture_take(keep->writer, cpu_buffers_cpu(buffers, i),
						     cpu_buffers_fd(buffers, i));

			if (taken < 0)
				return taken;
			if (!taken)
				break;
			bytes += taken;
		}
	}
	return bytes;
}

int keep_drain_rest(struct keep *keep, const struct cpu_buffers *buffers)
{
	int64_t bytes;

	do {
		bytes = keep_drain(keep, buffers);
	} while (bytes > 0);
	for (int i = 0; bytes >= 0 && i < cpu_buffers_count(buffers); i++) {
		do {
			bytes = capture_take_rest(keep->writer, cpu_buffers_cpu(buffers, i),
						  cpu_buffers_fd(buffers, i));
		} while (bytes > 0);
	}
	return bytes < 0 ? bytes : 0;
}

void keep_names(struct keep *keep, uint64_t now)
{
	size_t length;
	char *text = kernel_read_file(keep->setup.kernel->dir, "saved_cmdlines", &length);
	const char *line = text;

	keep->now = now;
	while (line && *line) {
		if (isdigit((unsigned char)*line)) {
			names_see(keep->names, atoi(line), now);
			who_see(keep->who, atoi(line), now);
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	free(text);
}

static void count_losses(struct keep *keep, const struct cpu_buffers *buffers)
{
	for (int i = 0; i < cpu_buffers_count(buffers); i++) {
		int cpu = cpu_buffers_cpu(buffers, i);
		uint64_t lost = cpu_buffers_lost(buffers, i), before = lost_by(keep, cpu);

		if (lost > before)
			losses_add(keep->losses, cpu, lost - before);
	}
}

void keep_say_losses(struct keep *keep, const struct cpu_buffers *buffers, uint64_t now)
{
	count_losses(keep, buffers);
	losses_say(keep->losses, now);
}

static int put_names(struct keep *keep, const struct referred *referred)
{
	struct text text;
	int ret = text_open(&text);

	if (ret)
		return ret;
	for (size_t i = 0; i < referred->nr_pids; i++) {
		const char *name = names_of(keep->names, referred->pids[i], keep->now);

		if (referred->pids[i] && strcmp(name, "<...>"))
			fprintf(text.stream, "%d %s\n", referred->pids[i], name);
	}
	return text_put(&text, keep, "saved_cmdlines");
}

static int put_tasks(struct keep *keep, const struct referred *referred)
{
	struct text text;
	int ret = text_open(&text);

	if (ret)
		return ret;
	for (size_t i = 0; i < referred->nr_pids; i++)
		who_print(text.stream, who_of(keep->who, referred->pids[i], keep->now));
	return text_put(&text, keep, "tasks");
}

/* The numbers that events of newer kernels carry. */
static int put_cgroups(struct keep *keep)
{
	struct text text;
	int ret = text_open(&text);

	if (ret)
		return ret;
	cgroups_print(text.stream, "/proc/self/mounts");
	return text_put(&text, keep, "cgroups");
}

static int put_referred_symbols(struct keep *keep, const struct referred *referred)
{
	struct text text;
	int ret;

	if (keep->setup.full)
		return 0;
	ret = text_open(&text);
	if (ret)
		return ret;
	ret = kallsyms_cut_by_address(KALLSYMS, referred->addresses, referred->nr_addresses,
				      text.stream);
	if (!ret)
		return text_put(&text, keep, "kallsyms");
	fclose(text.stream);
	free(text.text);
	return ret;
}

static int put_referred(struct keep *keep)
{
	struct referred referred = { 0 };
	struct capture *capture;
	struct failure failure;
	int ret = capture_open(&capture, capture_writer_dir(keep->writer), &failure);

	if (ret)
		return ret;
	ret = referred_read(&referred, capture, keep->setup.plan);
	if (!ret)
		ret = put_names(keep, &referred);
	if (!ret)
		ret = put_tasks(keep, &referred);
	if (!ret)
		ret = put_cgroups(keep);
	if (!ret)
		ret = put_referred_symbols(keep, &referred);
	referred_free(&referred);
	capture_close(capture);
	return ret;
}

static void say_kept(const struct keep *keep, const struct cpu_buffers *buffers)
{
	uint64_t lost = 0;

	for (int i = 0; i < cpu_buffers_count(buffers); i++)
		lost += lost_by(keep, cpu_buffers_cpu(buffers, i));
	log_notice("%s: %" PRIu64 " bytes of data kept, %" PRIu64 " records lost",
		   keep->setup.dir, capture_bytes(keep->writer), lost);
	if (lost)
		losses_say_all(keep->losses, true);
}

static int put_stats(struct keep *keep, const char *dir, const struct cpu_buffers *buffers)
{
	int ret = 0;

	for (int i = 0; !ret && i < cpu_buffers_count(buffers); i++) {
		char name[64];

		snprintf(name, sizeof(name), "per_cpu/cpu%d/stats", cpu_buffers_cpu(buffers, i));
		ret = copy_if_there(keep, dir, name);
	}
	return ret;
}

int keep_finish(struct keep *keep, const char *dir, const struct cpu_buffers *buffers,
		struct failure *failure)
{
	int ret;

	keep_names(keep, keep->now);
	count_losses(keep, buffers);
	say_kept(keep, buffers);
	ret = put_stats(keep, dir, buffers);
	if (!ret)
		ret = put_description(keep, buffers);
	if (!ret)
		ret = put_mounts(keep);
	if (!ret)
		ret = put_referred(keep);
	return ret ? file_failed(keep, ret, failure) : 0;
}
