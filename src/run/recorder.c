// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "allocfilt/names/cgroups.h"
#include "run/dat_file.h"
#include "run/pipeline.h"
#include "run/recorder.h"

/* As often as ext4 writes its journal: a sync each second would slow down what we record. */
#define SYNC_INTERVAL  (5 * NS_PER_SECOND)
#define NAMES_INTERVAL (60 * NS_PER_SECOND)

#define DRAIN_TURN 32 /* pages of a CPU, before it is the next one's turn */

struct recorder {
	const struct options *options;
	const struct kernel *kernel;
	const struct plan *plan;
	const struct data_source *source;
	const struct probe *probe;
	const char *dir; /* session_dir(), from recorder_describe() on, as are these */
	struct cpu_buffers *buffers;
	char *parts; /* the capture from which -w FILE.dat is made; NULL: a directory */
	struct capture_writer *writer;
	struct task_cache *tasks;
	struct cgroups *cgroups;
	struct losses *losses;
	struct capture_counts *before; /* records of the segments before, by place of the CPU */
	/* --until: a pipeline that filters the same records and shows nothing; NULL without it */
	struct pipeline *pipeline;
	struct writer *nowhere;
	unsigned int first_segment; /* of those that were kept */
	uint64_t bytes_before;	    /* of data, when this segment began */
	uint64_t modules;	    /* modules_hash() when this segment began */
	char *mounts;		    /* mountinfo at the start */
	time_t date;		    /* when the recording, or this segment, began */
	uint64_t seen_at;	    /* ns: when tasks were seen last */
	uint64_t next_sync, next_names;
};

static int file_failed(const struct recorder *recorder, int error, struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, -error, "-w %s: %m",
			   recorder->options->write);
}

/* ---- --until ---- */

static int watch(struct recorder *recorder, struct failure *failure)
{
	static const struct output_ops nothing;
	const struct output_form form = { .ops = &nothing };

	recorder->nowhere = writer_new(-1, -1);
	if (!recorder->nowhere)
		return failure_no_memory(failure);
	return pipeline_new(&recorder->pipeline, recorder->options, recorder->plan,
			    recorder->source, recorder->nowhere, &form, failure);
}

bool recorder_has_seen_stall(struct recorder *recorder)
{
	char duration[TEXT_DURATION_MAX], realtime[TEXT_TIME_MAX];
	const struct named_stall *named;
	struct summary_view view;
	struct line line;

	if (!recorder->pipeline)
		return false;
	pipeline_view(recorder->pipeline, &view);
	named = summary_longest(view.summary);
	if (!named)
		return false;
	line_clear(&line);
	line_add_escaped(&line, named->name, TEXT_PRINTABLE);
	text_duration(duration, named->stall->end - named->stall->start);
	text_time(realtime, resolver_realtime(view.resolver, named->stall->start), false);
	log_notice("--until: %s-%d stalled for %s at %" PRIu64 ".%06" PRIu64 "%s%s; it ends here",
		   line.text, named->stall->tid, duration, named->stall->start / NS_PER_SECOND,
		   named->stall->start % NS_PER_SECOND / 1000, *realtime ? ", " : "", realtime);
	return true;
}

/* ---- set-up ---- */

static int create(struct recorder *recorder, struct failure *failure)
{
	const struct options *options = recorder->options;
	int ret;

	if (!dat_file_wanted(options->write))
		return capture_create(&recorder->writer, options->write, failure);
	if (options->max_size)
		return failure_set(failure, EXIT_STATUS_USAGE, EINVAL,
				   "-w %s: --max-size writes directories, name one",
				   options->write);
	ret = dat_file_check(options->write, failure);
	if (ret)
		return ret;
	if (asprintf(&recorder->parts, "%s.parts", options->write) < 0)
		return failure_no_memory(failure);
	return capture_create(&recorder->writer, recorder->parts, failure);
}

int recorder_new(struct recorder **ret_recorder, const struct options *options,
		 const struct kernel *kernel, const struct plan *plan,
		 const struct data_source *source, const struct probe *probe,
		 struct failure *failure)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int ret;

	if (!recorder)
		return failure_no_memory(failure);
	recorder->options = options;
	recorder->kernel = kernel;
	recorder->plan = plan;
	recorder->source = source;
	recorder->probe = probe;
	recorder->first_segment = 1;
	recorder->date = time(NULL);
	/* A name is needed for some time after its task has exited. */
	recorder->tasks = task_cache_new(source, options->limit_memory / 512);
	recorder->cgroups = cgroups_new(source->cgroups, -1, CGROUPS_MAX);
	recorder->losses = losses_new(&source->cpus);
	recorder->before = calloc(source->cpus.count, sizeof(*recorder->before));
	if (recorder->tasks && recorder->cgroups && recorder->losses && recorder->before)
		ret = options->until ? watch(recorder, failure) : 0;
	else
		ret = failure_no_memory(failure);
	if (!ret)
		ret = create(recorder, failure);
	if (ret)
		recorder_free(recorder);
	else
		*ret_recorder = recorder;
	return ret;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	capture_writer_free(recorder->writer);
	pipeline_free(recorder->pipeline);
	writer_free(recorder->nowhere);
	losses_free(recorder->losses);
	cgroups_free(recorder->cgroups);
	task_cache_free(recorder->tasks);
	free(recorder->mounts);
	free(recorder->before);
	free(recorder->parts);
	free(recorder);
}

/* Only a failure to write counts: an older kernel lacks some of these files. */
static int copy_if_present(struct recorder *recorder, const char *dir, const char *name)
{
	int ret = capture_copy(recorder->writer, dir, name);

	return ret == -ENOSPC || ret == -EDQUOT || ret == -EIO ? ret : 0;
}

static int copy_event(void *context, const char *system, const char *name)
{
	struct recorder *recorder = context;
	char path[600];
	int ret;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	ret = copy_if_present(recorder, recorder->kernel->dir, path);
	snprintf(path, sizeof(path), "events/%s/%s/id", system, name);
	return ret ? ret : copy_if_present(recorder, recorder->kernel->dir, path);
}

static int copy_formats(struct recorder *recorder)
{
	static const char *const of_ftrace[] = {
		"funcgraph_exit",
		"funcgraph_entry",
		"print",
		"kernel_stack",
	};
	const struct plan *plan = recorder->plan;
	int ret = copy_event(recorder, PROBE_SYSTEM, PROBE_NAME);

	for (size_t i = 0; !ret && i < ARRAY_SIZE(of_ftrace); i++)
		ret = copy_event(recorder, "ftrace", of_ftrace[i]);
	for (int i = 0; !ret && i < plan->nr_events; i++)
		ret = copy_event(recorder, plan->events[i].system, plan->events[i].name);
	return ret;
}

/* A text file of the capture, built in memory. */
struct text_file {
	char *text;
	size_t length;
	FILE *stream;
};

/* Returns the stream, or NULL without memory: then text_write() fails. */
static FILE *text_open(struct text_file *file)
{
	file->text = NULL;
	file->stream = open_memstream(&file->text, &file->length);
	return file->stream;
}

/* Writes the text to a file of the capture and frees it. */
static int text_write(struct text_file *file, struct recorder *recorder, const char *name)
{
	char *text = text_close(file->stream, &file->text);
	int ret = text ? capture_put(recorder->writer, name, text, file->length) : -ENOMEM;

	free(text);
	return ret;
}

static uint64_t lost_by(const struct recorder *recorder, int cpu)
{
	uint64_t unknown;

	return losses_of(recorder->losses, cpu, &unknown);
}

/* Returns the kernel's counts of each CPU since the start, to be freed with free(). */
static struct capture_counts *counts_of(const struct recorder *recorder)
{
	const struct cpu_buffers *buffers = recorder->buffers;
	struct capture_counts *counts = calloc(cpu_buffers_count(buffers), sizeof(*counts));

	for (int i = 0; counts && i < cpu_buffers_count(buffers); i++) {
		counts[i].lost = lost_by(recorder, cpu_buffers_cpu(buffers, i));
		counts[i].read = cpu_buffers_records(buffers, i, CPU_READ);
	}
	return counts;
}

static int write_functions(struct recorder *recorder)
{
	struct text_file file;
	FILE *stream = text_open(&file);

	for (int i = 0; stream && i < recorder->kernel->nr_functions; i++)
		fprintf(stream, "%s\n", recorder->kernel->functions[i]);
	return text_write(&file, recorder, "available_filter_functions");
}

/* For who reads the capture by hand. */
static void probe_lines(char *text, size_t size, const struct probe *probe, const struct plan *plan)
{
	int used = 0;

	*text = '\0';
	if (*probe->definition)
		used = snprintf(text, size,
				"probe %s\nbtf super_block.s_id %" PRIu32
				"\nbtf super_block.s_dev %" PRIu32 "\nbtf %s %" PRIu32 "\n",
				probe->definition, probe->s_id, probe->s_dev,
				probe->has_private_data ? "shrinker.private_data" :
							  "super_block.s_shrink",
				probe->has_private_data ? probe->private_data : probe->s_shrink);
	for (int i = 0; i < plan->nr_events; i++)
		if (plan_is_probe(&plan->events[i]) && plan->events[i].rule != RULE_NEVER)
			used += snprintf(text + used, size - (size_t)used, "probe %s\n",
					 probe_definition(plan->events[i].id));
}

/* The counts of the present segment. */
static int write_description(struct recorder *recorder)
{
	char probe[sizeof(recorder->probe->definition) + 384];
	struct capture_description description = {
		.source = recorder->source,
		.plan = recorder->plan,
		.pids = recorder->options->pids,
		.date = recorder->date,
		.probe = probe,
	};
	struct capture_counts *counts = counts_of(recorder);
	int ret;

	if (!counts)
		return -ENOMEM;
	for (int i = 0; i < cpu_buffers_count(recorder->buffers); i++) {
		const struct capture_counts *before = &recorder->before[i];

		counts[i].lost -= before->lost;
		/* less: somebody reset the buffers */
		counts[i].read -= before->read < counts[i].read ? before->read : counts[i].read;
	}
	probe_lines(probe, sizeof(probe), recorder->probe, recorder->plan);
	description.counts = counts;
	ret = capture_describe(recorder->writer, &description);
	free(counts);
	return ret;
}

/*
 * Writes the mounts at the start, and at the end those of both: a file system that was mounted or
 * unmounted during the run has its mount point.
 */
static int write_mounts(struct recorder *recorder)
{
	char *now;
	struct text_file text;
	int ret;

	if (file_read("/proc/self", "mountinfo", &now, NULL))
		return 0;
	if (text_open(&text))
		fprintf(text.stream, "%s%s", recorder->mounts ? recorder->mounts : "", now);
	ret = text_write(&text, recorder, "mountinfo");
	free(recorder->mounts);
	recorder->mounts = now;
	return ret;
}

void recorder_begin_pressure(struct recorder *recorder)
{
	cgroups_walk(recorder->cgroups, CGROUPS_BEGIN, NULL);
}

/* Events of newer kernels refer to a cgroup by its inode number. */
static int write_cgroups(struct recorder *recorder, enum cgroups_walk which)
{
	struct text_file file;

	if (text_open(&file))
		cgroups_walk(recorder->cgroups, which, file.stream);
	return text_write(&file, recorder, "cgroups");
}

static int write_tasks(struct recorder *recorder)
{
	struct text_file names, tasks = { .text = NULL };
	int ret, other;

	if (text_open(&names) && text_open(&tasks))
		task_cache_print(recorder->tasks, names.stream, tasks.stream);
	ret = text_write(&names, recorder, "saved_cmdlines");
	other = text_write(&tasks, recorder, "tasks");
	return ret ? ret : other;
}

static int write_before_data(struct recorder *recorder)
{
	const struct {
		const char *dir, *name;
	} files[] = {
		{ recorder->kernel->dir, "events/header_event" },
		{ recorder->kernel->dir, "tracing_thresh" },
		{ recorder->dir, "events/header_page" },
		{ recorder->dir, "set_ftrace_filter" },
		{ recorder->dir, "trace_clock" },
		{ recorder->dir, "current_tracer" },
		{ "/proc", "kallsyms" },
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < ARRAY_SIZE(files); i++)
		ret = copy_if_present(recorder, files[i].dir, files[i].name);
	if (!ret)
		ret = copy_formats(recorder);
	if (!ret)
		ret = write_functions(recorder);
	if (!ret)
		ret = write_mounts(recorder);
	if (!ret)
		ret = write_cgroups(recorder, CGROUPS_NAMES);
	/* The tasks that earlier segments have seen; the first segment has none. */
	if (!ret)
		ret = write_tasks(recorder);
	return ret ? ret : write_description(recorder);
}

static int describe(struct recorder *recorder)
{
	int ret = write_before_data(recorder);

	for (int i = 0; !ret && i < cpu_buffers_count(recorder->buffers); i++)
		ret = capture_add_cpu(recorder->writer, cpu_buffers_cpu(recorder->buffers, i));
	return ret;
}

static uint64_t read_modules(void)
{
	int fd = file_open("/proc", "modules", FILE_TEXT_MAX);
	uint64_t hash = modules_hash(fd);

	file_close(fd);
	return hash;
}

int recorder_begin_segment(struct recorder *recorder)
{
	unsigned int last = capture_segment(recorder->writer), keep = recorder->options->keep;
	struct capture_counts *now = counts_of(recorder), *before = recorder->before;
	uint64_t modules = read_modules();
	time_t date = recorder->date;
	int ret;

	if (!now)
		return -ENOMEM;
	/* First, for the room that it makes. */
	if (keep && last >= keep) {
		capture_remove_segment(recorder->writer, last + 1 - keep);
		recorder->first_segment = last + 2 - keep;
	}
	ret = capture_begin_segment(recorder->writer, modules == recorder->modules);
	if (!ret) {
		recorder->before = now;
		recorder->date = time(NULL);
		ret = capture_settle_segment(recorder->writer, describe(recorder));
	}
	if (ret) {
		recorder->before = before;
		recorder->date = date;
	}
	recorder->modules = ret ? recorder->modules : modules;
	recorder->bytes_before = ret ? recorder->bytes_before : capture_bytes(recorder->writer);
	free(ret ? now : before);
	capture_sync_all(recorder->writer);
	return ret;
}

int recorder_describe(struct recorder *recorder, const char *dir, struct cpu_buffers *buffers,
		      struct failure *failure)
{
	int ret;

	recorder->dir = dir;
	recorder->buffers = buffers;
	ret = capture_set_layout(recorder->writer, &recorder->source->layout, recorder->pipeline);
	if (!ret && recorder->pipeline) {
		pipeline_read_buffers(recorder->pipeline, buffers, recorder->writer);
		resolver_read_symbols(pipeline_resolver(recorder->pipeline));
	}
	if (!ret && recorder->options->max_size) {
		ret = recorder_begin_segment(recorder);
	} else if (!ret) {
		ret = describe(recorder);
		capture_sync_all(recorder->writer);
	}
	if (!ret)
		ret = capture_synced(recorder->writer, true);
	return ret ? file_failed(recorder, ret, failure) : 0;
}

bool recorder_segment_is_full(const struct recorder *recorder)
{
	uint64_t max_size = recorder->options->max_size;

	return max_size && capture_bytes(recorder->writer) - recorder->bytes_before >= max_size;
}

static int64_t drain(struct recorder *recorder)
{
	const struct cpu_buffers *buffers = recorder->buffers;
	int64_t bytes = 0;

	for (int i = 0; i < cpu_buffers_count(buffers); i++) {
		for (int turn = 0; turn < DRAIN_TURN; turn++) {
			int64_t moved = capture_drain(recorder->writer, cpu_buffers_cpu(buffers, i),
						      cpu_buffers_fd(buffers, i));

			if (moved < 0)
				return moved;
			if (!moved)
				break;
			bytes += moved;
		}
	}
	return bytes;
}

int64_t recorder_drain(struct recorder *recorder)
{
	int pages;

	if (!recorder->pipeline)
		return drain(recorder);
	pages = pipeline_read_all(recorder->pipeline);
	return pages < 0 ? pages : pages * (int64_t)recorder->source->layout.size;
}

int recorder_drain_rest(struct recorder *recorder, uint64_t rest)
{
	const struct cpu_buffers *buffers = recorder->buffers;
	uint64_t page = recorder->source->layout.size, pages = 0;
	int64_t bytes = capture_flush(recorder->writer);

	if (bytes)
		return (int)bytes;
	do {
		bytes = drain(recorder);
		pages += bytes > 0 ? (uint64_t)bytes / page : 0;
	} while (bytes > 0 && pages < rest);
	for (int i = 0; bytes >= 0 && i < cpu_buffers_count(buffers); i++) {
		do {
			bytes = capture_drain_rest(recorder->writer, cpu_buffers_cpu(buffers, i),
						   cpu_buffers_fd(buffers, i));
		} while (bytes > 0 && pages++ < rest);
	}
	return bytes < 0 ? bytes : 0;
}

/* ---- tasks ---- */

/*
 * saved_cmdlines has a limited size and may lack a running thread. A thread without a record must
 * not evict one that has some.
 */
static void see_tasks(struct recorder *recorder)
{
	glob_t threads;

	task_cache_see_saved(recorder->tasks, recorder->seen_at);
	if (!glob("/proc/[0-9]*/task/[0-9]*", GLOB_NOSORT, NULL, &threads))
		for (size_t i = 0; i < threads.gl_pathc && !task_cache_is_full(recorder->tasks);
		     i++)
			task_cache_see(recorder->tasks, atoi(strrchr(threads.gl_pathv[i], '/') + 1),
				       recorder->seen_at);
	globfree(&threads);
}

/* ---- losses ---- */

static void count_losses(struct recorder *recorder)
{
	const struct cpu_buffers *buffers = recorder->buffers;

	for (int i = 0; i < cpu_buffers_count(buffers); i++) {
		int cpu = cpu_buffers_cpu(buffers, i);
		uint64_t lost = cpu_buffers_records(buffers, i, CPU_LOST);
		uint64_t before = lost_by(recorder, cpu);

		if (lost > before)
			losses_add(recorder->losses, cpu, lost - before);
	}
}

/* ---- once a second ---- */

int recorder_second(struct recorder *recorder, uint64_t now)
{
	int ret = 0;

	recorder->seen_at = now;
	task_cache_see_saved(recorder->tasks, now);
	count_losses(recorder);
	losses_report(recorder->losses, now);
	if (now >= recorder->next_names) {
		recorder->next_names = now + NAMES_INTERVAL;
		recorder->next_sync = now + SYNC_INTERVAL;
		ret = write_tasks(recorder);
		capture_sync_all(recorder->writer);
	}
	if (now >= recorder->next_sync) {
		recorder->next_sync = now + SYNC_INTERVAL;
		capture_sync_data(recorder->writer);
	}
	return ret ? ret : capture_synced(recorder->writer, false);
}

/* ---- the end ---- */

static int write_stats(struct recorder *recorder)
{
	int ret = 0;

	for (int i = 0; !ret && i < cpu_buffers_count(recorder->buffers); i++) {
		char name[64];

		snprintf(name, sizeof(name), "per_cpu/cpu%d/stats",
			 cpu_buffers_cpu(recorder->buffers, i));
		ret = copy_if_present(recorder, recorder->dir, name);
	}
	return ret;
}

static int first_error(int before, int now)
{
	return before ? before : now;
}

/* On a full disk go on: a later file may be small enough. */
static int write_end(struct recorder *recorder)
{
	int ret;

	count_losses(recorder);
	ret = capture_flush(recorder->writer);
	ret = first_error(ret, write_stats(recorder));
	ret = first_error(ret, write_description(recorder));
	ret = first_error(ret, write_mounts(recorder));
	ret = first_error(ret, write_tasks(recorder));
	ret = first_error(ret, write_cgroups(recorder, CGROUPS_NOW));
	capture_sync_all(recorder->writer);
	return ret;
}

/*
 * Segments divide the records of all CPUs at one time: a page that was read so far belongs to this
 * segment, and records that the kernel adds to it come as a page of their own. With --until such
 * pages are read all the time.
 */
int recorder_end_segment(struct recorder *recorder)
{
	const struct cpu_buffers *buffers = recorder->buffers;
	int64_t bytes;
	int ret;

	see_tasks(recorder);
	bytes = recorder_drain(recorder);
	for (int i = 0; bytes >= 0 && !recorder->pipeline && i < cpu_buffers_count(buffers); i++)
		bytes = capture_drain_rest(recorder->writer, cpu_buffers_cpu(buffers, i),
					   cpu_buffers_fd(buffers, i));
	ret = write_end(recorder);
	return bytes < 0 ? (int)bytes : ret;
}

int recorder_finish(struct recorder *recorder, struct failure *failure)
{
	unsigned int last = capture_segment(recorder->writer);
	char segments[64] = "", counted[TEXT_COUNTED_MAX];
	uint64_t lost, unknown;
	int ret;

	see_tasks(recorder);
	ret = write_end(recorder);
	if (recorder->pipeline)
		pipeline_log_flaws(recorder->pipeline);
	lost = losses_total(recorder->losses, &unknown);
	if (last)
		snprintf(segments, sizeof(segments), "; segments %06u to %06u",
			 recorder->first_segment, last);
	/* The run does not see the records that another reader takes: a report counts them. */
	log_notice("%s: %" PRIu64 " bytes of data recorded%s%s%s", recorder->options->write,
		   capture_bytes(recorder->writer), lost ? ", " : "",
		   lost ? text_counted(counted, lost, "record{s} lost") : "", segments);
	if (lost)
		losses_report_all(recorder->losses, true);
	return ret ? file_failed(recorder, ret, failure) : 0;
}

int recorder_close(struct recorder *recorder, int error, struct signals *signals,
		   struct failure *failure)
{
	struct failure end = { 0 };
	int ret;

	if (!recorder->buffers)
		return error;
	ret = capture_synced(recorder->writer, true);
	if (ret)
		file_failed(recorder, ret, &end);
	/* A recording is whole even if tracing was taken away, or not restored. */
	else if (recorder->parts && error && failure->status == EXIT_STATUS_RUN_TIME)
		log_notice("-w %s: not made; what was recorded is in %s", recorder->options->write,
			   recorder->parts);
	else if (recorder->parts)
		ret = dat_file_make(recorder->options->write, recorder->writer,
				    &recorder->source->cpus, signals, &end);
	if (error && ret)
		log_error("%s", end.text);
	else if (ret)
		*failure = end;
	return error ? error : ret;
}
