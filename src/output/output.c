// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/output/facts.h"
#include "allocfilt/output/file.h"
#include "allocfilt/output/form.h"

#define RUNNERS_SHOWN 4 /* tasks that had the CPU; the others are one */

extern const struct output_ops trace_form, list_form, tree_form, json_form, perfetto_form,
	html_form, folded_form;

/* The summary alone; the form of --interval without -f, too. */
static const struct output_ops summary_form;

/* The forms of the command line; the first is the default, on a terminal list. */
static const struct {
	const char *name;
	const struct output_ops *ops;
} forms[] = {
	{ "trace", &trace_form },   { "list", &list_form },	    { "tree", &tree_form },
	{ "json", &json_form },	    { "perfetto", &perfetto_form }, { "html", &html_form },
	{ "folded", &folded_form }, { "summary", &summary_form },
};

const char *const *output_form_names(void)
{
	static const char *names[ARRAY_SIZE(forms) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		names[i] = forms[i].name;
	return names;
}

/* NULL: there is none */
static const struct output_ops *ops_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (!strcmp(forms[i].name, name))
			return forms[i].ops;
	return NULL;
}

bool output_form_is_text(const char *name)
{
	return !ops_of(name)->summary;
}

struct output *output_new(const struct output_setup *setup)
{
	const struct options *options = setup->options;
	struct output *output = calloc(1, sizeof(*output));
	int ret = 0;

	if (!output)
		return NULL;
	output->setup = *setup;
	output->is_terminal = isatty(writer_fd(setup->writer));
	if (setup->form) {
		output->ops = setup->form->ops;
		output->form = setup->form->state;
	} else if (options->interval && !options_on_command_line(options, "format")) {
		output->ops = &summary_form;
	} else if (output->is_terminal && !options_is_set(options, "format")) {
		output->ops = &list_form;
	} else if (options->format) {
		output->ops = ops_of(options->format);
	}
	if (!output->ops)
		ret = -EINVAL;
	else if (output->ops->make)
		ret = output->ops->make(output);
	if (!ret)
		return output;
	free(output);
	errno = -ret;
	return NULL;
}

void output_free(struct output *output)
{
	if (!output)
		return;
	if (output->ops->release)
		output->ops->release(output);
	else if (output->ops->make)
		free(output->form);
	free(output);
}

int output_begin(struct output *output)
{
	return output->ops->begin ? output->ops->begin(output) : 0;
}

int output_stall(struct output *output, const struct named_stall *named)
{
	return output->ops->stall ? output->ops->stall(output, named) : 0;
}

int output_summary(struct output *output, const struct summary_view *view)
{
	if (output->ops->summary)
		return output->ops->summary(output, view);
	return summary_text(output->setup.writer, view);
}

bool output_has_intervals(const struct output *output)
{
	return output->setup.options->interval && !output->ops->summary;
}

int output_so_far(const struct output *output, struct writer *writer,
		  const struct summary_view *view)
{
	struct summary_view so_far = *view;
	struct output other = *output;

	if (!output->ops->has_so_far)
		return summary_text(writer, view);
	so_far.so_far = true;
	other.setup.writer = writer;
	return other.ops->summary(&other, &so_far);
}

void output_tick(struct output *output, uint64_t now, const struct summary_view *view)
{
	if (output->ops->tick)
		output->ops->tick(output, now, view);
}

bool output_counts(const struct output *output, struct journal_counts *ret_counts)
{
	*ret_counts = output->counts ? *output->counts : (struct journal_counts){ .entries = 0 };
	return output->counts;
}

/* Each caller gets its own: a table of all would have to be copied. */
#define FACT(...)                                                                                  \
	*facts++ = (struct stall_fact)                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

void stall_facts(const struct named_stall *named, struct stall_fact facts[STALL_FACTS])
{
	const struct stall *stall = named->stall;
	const uint64_t *count = stall->counts.count;
	unsigned int known = stall->counts.known;

	FACT("asked_by", .for_people = true, .before = "in ", .after = "", .known = named->asked_by,
	     .text = named->asked_by);
	FACT("order", "ALLOCFILT_ORDER", true, true, .before = "order ", .after = "",
	     .known = stall->order >= 0, .number = stall->order);
	FACT("gfp", "ALLOCFILT_GFP", true, true, .before = "", .after = "",
	     .known = *stall->gfp_names, .text = stall->gfp_names);
	FACT("gfp_flags", .known = stall->has_gfp, .number = stall->gfp, .is_flags = true);
	FACT("nr_reclaimed", "ALLOCFILT_RECLAIMED_PAGES", true, true, .before = "",
	     .after = stall->nr_reclaimed == 1 ? " page reclaimed" : " pages reclaimed",
	     .known = stall->has_reclaimed, .number = stall->nr_reclaimed);
	FACT("compaction", "ALLOCFILT_COMPACTION_OUTCOME", .known = *stall->compaction,
	     .text = stall->compaction);
	FACT("memcg_id", .known = stall->memcg_id, .number = stall->memcg_id);
	FACT("memcg", "ALLOCFILT_MEMCG", true, true, .before = "from ", .after = "",
	     .known = *named->memcg, .text = named->memcg);
	FACT("limit", "ALLOCFILT_LIMIT", strcmp(named->limit, named->memcg), true,
	     .before = "at a limit of ", .after = "", .known = *named->limit, .text = named->limit);
	FACT("nodes", "ALLOCFILT_NODES", true, true, "node ", "", *stall->nodes,
	     .text = stall->nodes);
	FACT("inactive_scanned", "ALLOCFILT_INACTIVE_SCANNED", true, true, "",
	     count[COUNT_SCANNED] == 1 ? " page scanned" : " pages scanned",
	     known & 1u << COUNT_SCANNED, .number = count[COUNT_SCANNED]);
	FACT("inactive_reclaimed", "ALLOCFILT_INACTIVE_RECLAIMED", true, true, "", " reclaimed",
	     known & 1u << COUNT_RECLAIMED, .number = count[COUNT_RECLAIMED]);
	FACT("inactive_dirty", "ALLOCFILT_INACTIVE_DIRTY", count[COUNT_DIRTY], true, "", " dirty",
	     known & 1u << COUNT_DIRTY, .number = count[COUNT_DIRTY]);
	FACT("inactive_writeback", "ALLOCFILT_INACTIVE_WRITEBACK", count[COUNT_WRITEBACK], true, "",
	     " in writeback", known & 1u << COUNT_WRITEBACK, .number = count[COUNT_WRITEBACK]);
	FACT("reclaim_priority", "ALLOCFILT_RECLAIM_PRIORITY", true, true, "priority down to ", "",
	     stall->has_priority, .number = stall->priority);
	/* Outcomes say more than attempts, but a compaction may end before it reaches a zone. */
	FACT("compaction_attempts", "ALLOCFILT_COMPACTION_ATTEMPTS", !*stall->outcomes, true, "",
	     count[COUNT_COMPACTIONS] == 1 ? " compaction attempt" : " compaction attempts",
	     known & 1u << COUNT_COMPACTIONS, .number = count[COUNT_COMPACTIONS]);
	FACT("compaction_outcomes", "ALLOCFILT_COMPACTION_OUTCOMES", true, true, "compaction: ", "",
	     *stall->outcomes, .text = stall->outcomes);
}

static void add_task_id(struct line *line, int id, const struct task_style *style)
{
	line_add(line, style->brackets ? "[%d]" : "-%d", id);
}

void stall_task(struct line *line, const struct named_stall *named, const char *cgroup,
		const struct task_style *style)
{
	const struct task_info *task = named->task_info;

	line_add(line, "%s", style->bold);
	line_add_escaped(line, named->name, style->rule);
	add_task_id(line, named->stall->tid, style);
	line_add(line, "%s%s", style->plain,
		 task_key_in_interrupt(named->stall->key) ? " (interrupt)" : "");
	if (*task->process && task->pid != named->stall->tid) {
		line_add(line, " of ");
		line_add_escaped(line, task->process, style->rule);
		add_task_id(line, task->pid, style);
	}
	if (task->ended)
		line_add(line, " (cgroup %s%s: it had ended)", task->source ? "from " : "unknown",
			 task->source ? task->source : "");
	if (!*cgroup)
		return;
	line_add(line, "%s", style->cgroup);
	line_add_escaped(line, cgroup, style->rule);
	line_add(line, "%s", style->end);
}

static void add_runner_ms(struct line *line, uint64_t ns, const char *end)
{
	line_add(line, " ");
	line_add_ms(line, 0, ns);
	line_add(line, " ms%s", end);
}

bool stall_had_cpu(struct line *line, const struct stall *stall, enum text_rule rule)
{
	uint64_t waited = phases_state(&stall->phases, STATE_WAITED), left = waited;
	size_t shown = 0;

	for (; shown < stall->nr_runners && shown < RUNNERS_SHOWN &&
	       stall->runners[shown].ns >= waited / 100;
	     shown++) {
		const struct stall_slice *runner = &stall->runners[shown];

		left -= runner->ns;
		line_add_escaped(line, runner->tid ? runner->name : "nobody (waking up)", rule);
		if (runner->tid)
			line_add(line, "-%d", runner->tid);
		add_runner_ms(line, runner->ns, left ? ", " : "");
	}
	left -= stall->no_runner;
	if (left) {
		line_add(line, "%zu other%s", stall->nr_runners - shown,
			 stall->nr_runners - shown == 1 ? "" : "s");
		add_runner_ms(line, left, stall->no_runner ? ", " : "");
	}
	if (stall->no_runner) {
		line_add(line, "not recorded");
		add_runner_ms(line, stall->no_runner, "");
	}
	return waited;
}

/*
 * An existing file in a directory that others can change is refused, as the kernel does in sticky
 * directories with fs.protected_regular and fs.protected_fifos at 2 (Documentation/admin-
 * guide/sysctl/fs.rst); a link is refused, too. The check comes before open(2), which would wait
 * for a FIFO's reader.
 */
static int open_existing(int dir, const char *name, uid_t dir_owner, const char **why)
{
	int at = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -EACCES;
	char again[64];
	struct stat st;

	if (at < 0)
		return -errno;
	if (fstat(at, &st) < 0) {
		fd = -errno;
	} else if (S_ISLNK(st.st_mode)) {
		*why = "a symbolic link";
	} else if (st.st_uid != geteuid() && st.st_uid != dir_owner) {
		*why = "another user's file";
	} else if (S_ISREG(st.st_mode) && st.st_nlink > 1) {
		*why = "a file with another name (hard link)";
	} else {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		fd = open(again, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(at);
	return fd;
}

/* @why: set to the reason if the file is not opened */
static int open_file(const char *path, const char **why)
{
	const char *name;
	int dir = file_open_parent(path, &name), fd;
	struct stat st;
	bool shared;

	if (dir < 0)
		return dir;
	if (fstat(dir, &st) < 0) {
		fd = -errno;
		close(dir);
		return fd;
	}
	shared = (st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH);
	/* As a capture, each form may have kernel addresses. */
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | (shared ? O_EXCL : 0), 0600);
	if (fd < 0 && errno == EEXIST && shared)
		fd = open_existing(dir, name, st.st_uid, why);
	else if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

int output_file_open(int *ret_fd, const char *path, struct failure *failure)
{
	const char *why = NULL;

	*ret_fd = path ? open_file(path, &why) : STDOUT_FILENO;
	if (*ret_fd >= 0)
		return 0;
	if (why)
		return failure_set(failure, EXIT_STATUS_USAGE, -*ret_fd,
				   "-o %s: %s, in a directory that others can change: remove it or "
				   "name another file",
				   path, why);
	return failure_set(failure, failure_status_of_path(-*ret_fd), -*ret_fd, "-o %s: %m", path);
}

int output_file_begin(int fd, const char *path)
{
	struct stat status;

	if (!path || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

int output_file_close(int fd, const char *path, int ret, struct failure *failure)
{
	if (!path || !close(fd) || ret)
		return ret;
	return failure_set(failure, EXIT_STATUS_RUN_TIME, errno, "-o %s: %m", path);
}
