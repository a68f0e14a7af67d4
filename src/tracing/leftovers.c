// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/base/text.h"
#include "tracing/kernel_look.h"
#include "tracing/session_parts.h"

int leftovers_put_back(struct undo *undo, struct settings *settings, struct failure *failure)
{
	const char *dir = tracefs_instance_get_trace_dir(settings->top);
	int ret = settings_restore(settings, failure);

	/* Without its mount each file seems to be gone with its event or CPU. */
	if (!ret && !kernel_on_tracefs(dir))
		ret = failure_set(failure, EXIT_STATUS_NOT_RESTORED, ENODEV,
				  "%s is not on tracefs any longer, so nothing was put back: "
				  "mount -t tracefs tracefs %s, then allocfilt --restore",
				  dir, dir);
	return ret ? ret : undo_remove(undo, failure);
}

/* Are sizes of buffers all that is left to restore? */
static bool only_sizes(const struct settings *settings)
{
	for (int i = 0; i < settings->count; i++)
		if (settings->setting[i].kind != SETTING_SIZE)
			return false;
	return settings->count;
}

int leftovers_finish(struct undo *undo, bool *found, const char *dir, struct settings *next,
		     struct failure *failure)
{
	char counted[TEXT_COUNTED_MAX];
	struct settings settings;
	int pid, ret = undo_load(undo, &settings, &pid, failure);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	*found = true;
	log_notice("putting back what process %d left behind: %s", pid,
		   text_counted(counted, (uint64_t)settings_left(&settings), "setting{s}"));
	settings.note = undo_note;
	settings.context = undo;
	ret = leftovers_put_back(undo, &settings, failure);
	settings_drop_done(&settings);
	if (ret == -ENOMEM && next && only_sizes(&settings) &&
	    !strcmp(tracefs_instance_get_trace_dir(settings.top), dir)) {
		log_notice("%s; tried again at the end of this run", failure->text);
		*next = settings;
		return 0;
	}
	settings_free(&settings);
	return ret;
}

static int remove_own_name(struct settings *settings, enum setting_kind kind, const char *path,
			   bool *found, struct failure *failure)
{
	char *now;
	bool present = !setting_read(settings->top, kind, path, &now);

	if (present) {
		present = !strcmp(now, SETTING_PRESENT);
		free(now);
	}
	if (!present)
		return 0;
	*found = true;
	log_notice("removing %s%s that a killed run left behind",
		   kind == SETTING_HISTOGRAM ? "our histogram in " : "", path);
	if (settings_add(settings, kind, path, SETTING_ABSENT, SETTING_PRESENT, false))
		return failure_no_memory(failure);
	return settings_restore(settings, failure);
}

int leftovers_remove_names(char *dir, bool *found, struct failure *failure)
{
	static const char *const probes[] = {
		PROBE_PATH,
		PROBES_PATH "memory_wait_begin",
		PROBES_PATH "memory_wait_end",
		PROBES_PATH "refault",
	};
	struct settings settings;
	int ret = settings_init(&settings, dir);

	if (ret)
		return ret == -ENOMEM ? failure_no_memory(failure) : 0;
	/*
	 * The instance is busy as long as it has a histogram, and the probe as long as it is
	 * enabled there.
	 */
	for (int i = 0; i < 2 * HISTOGRAM_COUNT && !ret; i++) {
		const struct catalog_histogram *histogram = &catalog_histograms[i / 2];
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%sevents/%s/%s/trigger",
			 i % 2 ? INSTANCE_PATH "/" : "", histogram->system, histogram->event);
		ret = remove_own_name(&settings, SETTING_HISTOGRAM, path, found, failure);
	}
	if (!ret)
		ret = remove_own_name(&settings, SETTING_INSTANCE, INSTANCE_PATH, found, failure);
	for (size_t i = 0; i < ARRAY_SIZE(probes) && !ret; i++)
		ret = remove_own_name(&settings, SETTING_PROBE, probes[i], found, failure);
	settings_free(&settings);
	return ret;
}

int session_restore(const char *run_dir, const char *dir, struct failure *failure)
{
	struct undo *undo;
	bool found = false;
	char *top;
	int ret;

	if (dir && !kernel_on_tracefs(dir))
		return failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"-s %s: not on tracefs; restore is for the running kernel: leave out -s",
			dir);
	top = dir ? strdup(dir) : kernel_find_dir();
	ret = undo_open(&undo, run_dir, top, failure);
	if (!ret) {
		ret = leftovers_finish(undo, &found, NULL, NULL, failure);
		if (!ret && top)
			ret = leftovers_remove_names(top, &found, failure);
		undo_close(undo);
	}
	if (!ret)
		log_notice(found ? "all is as it was found" : "nothing to put back");
	free(top);
	return ret;
}
