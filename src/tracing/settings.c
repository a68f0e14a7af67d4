// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/base/log.h"
#include "tracing/kernel_look.h"
#include "tracing/settings.h"

#define WAIT	  (2 * NS_PER_SECOND) /* for another program, or for memory */
#define PAUSE_US  50000
#define SHOWN_MAX 60 /* bytes of a value in a message */

/* ---- the table ---- */

int settings_init(struct settings *settings, char *dir)
{
	int ret;

	memset(settings, 0, sizeof(*settings));
	errno = 0;
	settings->top = tracefs_instance_alloc(dir, NULL);
	if (!settings->top)
		return errno ? -errno : -ENOTDIR;
	settings->setting = calloc(SETTINGS_MAX, sizeof(*settings->setting));
	/* tracefs_instance_create() and tracefs_instances_walk() have no argument for it. */
	ret = settings->setting && !tracefs_set_tracing_dir(dir) ? 0 : -ENOMEM;
	if (ret)
		settings_free(settings);
	return ret;
}

static void setting_release(struct setting *setting)
{
	free(setting->path);
	free(setting->found);
	free(setting->wrote);
}

void settings_free(struct settings *settings)
{
	for (int i = 0; i < settings->count; i++)
		setting_release(&settings->setting[i]);
	free(settings->setting);
	tracefs_instance_free(settings->top);
	memset(settings, 0, sizeof(*settings));
}

int settings_add(struct settings *settings, enum setting_kind kind, const char *path,
		 const char *found, const char *wrote, bool in_instance)
{
	struct setting *added = &settings->setting[settings->count];

	if (settings->count == SETTINGS_MAX)
		return -E2BIG;
	*added = (struct setting){ .kind = kind,
				   .path = strdup(path),
				   .found = strdup(found),
				   .wrote = strdup(wrote),
				   .in_instance = in_instance };
	if (added->path && added->found && added->wrote) {
		settings->count++;
		return 0;
	}
	setting_release(added);
	return -ENOMEM;
}

void settings_drop_done(struct settings *settings)
{
	int kept = 0;

	for (int i = 0; i < settings->count; i++) {
		if (settings->setting[i].done)
			setting_release(&settings->setting[i]);
		else
			settings->setting[kept++] = settings->setting[i];
	}
	settings->count = kept;
}

int settings_left(const struct settings *settings)
{
	int left = 0;

	for (int i = 0; i < settings->count; i++)
		left += !settings->setting[i].done && !settings->setting[i].in_instance;
	return left;
}

static struct setting *find_setting(struct settings *settings, const char *path)
{
	for (int i = settings->count - 1; i >= 0; i--)
		if (!strcmp(settings->setting[i].path, path) && !settings->setting[i].done)
			return &settings->setting[i];
	return NULL;
}

static int note(const struct settings *settings)
{
	return settings->note ? settings->note(settings->context, settings) : 0;
}

/* @text: the text to write for @value where it is another one, or NULL. */
static int write_value(const struct settings *settings, enum setting_kind kind, const char *path,
		       const char *value, const char *text)
{
	if (!strcmp(value, SETTING_ABSENT))
		text = NULL;
	else if (!text)
		text = value;
	return setting_kinds[kind].write(settings->top, path, text);
}

/* ---- changing ---- */

static const char *advice_of(enum setting_kind kind, int error)
{
	if (error == EPERM)
		return " (kernel lockdown, or a container, forbids it even to root)";
	if (error == EROFS)
		return " (tracefs is mounted read-only here: a hardened service?)";
	if (error == EBUSY && kind == SETTING_TRACER)
		return " (somebody else reads trace_pipe)";
	return "";
}

static int setting_failed(struct failure *failure, const char *verb, enum setting_kind kind,
			  const char *path, int error)
{
	enum exit_status status = EXIT_STATUS_RUN_TIME;

	if (error == EPERM || error == EACCES || error == EROFS)
		status = EXIT_STATUS_NO_TRACEFS;
	else if (error == EBUSY || error == EEXIST)
		status = EXIT_STATUS_IN_USE;
	else if (error == ENOENT || error == EINVAL || error == ENODEV)
		status = EXIT_STATUS_NO_FEATURE;
	return failure_set(failure, status, error, "cannot %s %s: %m%s", verb, path,
			   advice_of(kind, error));
}

/* A value in one line of a message. */
static const char *shown(const char *value, char *buffer)
{
	if (!*value)
		return "empty";
	snprintf(buffer, SHOWN_MAX + 4, "%.*s%s", SHOWN_MAX, value,
		 strlen(value) > SHOWN_MAX ? "..." : "");
	for (char *at = buffer; (at = strchr(at, '\n')); at++)
		*at = at[1] ? ' ' : '\0';
	return buffer;
}

#define SHOWN(value) shown(value, (char[SHOWN_MAX + 4]){ 0 })

static bool is_watched(struct settings *settings, int i)
{
	const struct setting *setting = &settings->setting[i];

	/* The kernel moves sizes, and set_event has what we enable. */
	if (!setting->verified || setting->kind == SETTING_SIZE || setting->kind == SETTING_EVENTS)
		return false;
	/* Restored, or changed again later */
	if (setting->done && strcmp(setting->found, setting->wrote))
		return false;
	for (int later = i + 1; later < settings->count; later++)
		if (!strcmp(settings->setting[later].path, setting->path))
			return false;
	return true;
}

int settings_keep(struct settings *settings, enum setting_kind kind, const char *path,
		  const char *found, struct failure *failure)
{
	int ret;

	for (int i = 0; i < settings->count; i++)
		if (!strcmp(settings->setting[i].path, path) && is_watched(settings, i) &&
		    !strcmp(settings->setting[i].wrote, found))
			return 0;
	ret = settings_add(settings, kind, path, found, found, false);
	if (ret)
		return setting_failed(failure, "note", kind, path, -ret);
	settings->setting[settings->count - 1].verified = true;
	settings->setting[settings->count - 1].done = true;
	return 0;
}

int settings_set(struct settings *settings, enum setting_kind kind, const char *path,
		 const char *value, const char *text, bool in_instance, struct failure *failure)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	struct setting *setting;
	char *found, *now;
	int ret = setting_read(settings->top, kind, path, &found);

	if (ret)
		return setting_failed(failure, "read", kind, path, -ret);
	if (!setting_kinds[kind].always && setting_same(kind, found, value)) {
		ret = settings_keep(settings, kind, path, found, failure);
		free(found);
		return ret;
	}
	ret = settings_add(settings, kind, path, found, value, in_instance);
	free(found);
	if (ret)
		return setting_failed(failure, "note", kind, path, -ret);
	setting = &settings->setting[settings->count - 1];
	ret = in_instance ? 0 : note(settings);
	if (ret) {
		setting->done = true;
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "%s/undo cannot be written, so nothing is changed: %m",
				   settings->noted_in);
	}
	/*
	 * Memory may come back later. An instance is not waited for, as there is still the top
	 * level.
	 */
	while ((ret = write_value(settings, kind, path, value, text)) == -ENOMEM &&
	       kind != SETTING_INSTANCE && clock_ns(CLOCK_MONOTONIC) < start + WAIT)
		usleep(PAUSE_US);
	/* An instance that somebody else made a moment earlier is not ours to remove. */
	setting->done = ret == -EEXIST;
	if (ret)
		return setting_failed(failure, setting_kinds[kind].directory ? "make" : "write",
				      kind, path, -ret);
	ret = setting_read(settings->top, kind, path, &now);
	if (ret)
		return setting_failed(failure, "read back", kind, path, -ret);
	/* The kernel rounds, sorts and drops: the value that it made of ours counts as ours. */
	free(setting->wrote);
	setting->wrote = now;
	setting->verified = setting_accepted(kind, value, now);
	if (!setting->verified)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
				   "%s did not accept what was written: it reads %s, not %s", path,
				   SHOWN(now), SHOWN(value));
	log_debug("%6" PRIu64 " us: %s = %s", (clock_ns(CLOCK_MONOTONIC) - start) / NS_PER_US, path,
		  SHOWN(now));
	return 0;
}

bool settings_has(struct settings *settings, const char *path)
{
	return find_setting(settings, path);
}

/* One more value that counts as ours, noted before the file has it. */
static int note_value(struct settings *settings, struct setting *setting, const char *value)
{
	bool known = kernel_has_word(setting->wrote, value);
	char *wrote;

	if (known && setting->verified)
		return 0;
	if (!known) {
		if (asprintf(&wrote, "%s %s", setting->wrote, value) < 0)
			return -ENOMEM;
		free(setting->wrote);
		setting->wrote = wrote;
	}
	return setting->in_instance ? 0 : note(settings);
}

int settings_change(struct settings *settings, enum setting_kind kind, const char *path,
		    const char *value, const char *text, bool in_instance)
{
	struct setting *setting = find_setting(settings, path);
	struct failure failure;
	bool ours, has;
	char *now;
	int ret;

	if (!setting)
		return settings_set(settings, kind, path, value, text, in_instance, &failure);
	ret = setting_read(settings->top, kind, path, &now);
	if (ret)
		return ret;
	ours = setting_is_ours(kind, setting->wrote, now);
	has = setting_same(kind, now, value);
	free(now);
	if (!ours || has)
		return ours ? 0 : -ESTALE;
	/* The kernel rounds a size: until it is read back, a rounded one is ours as well. */
	setting->verified = kind != SETTING_SIZE;
	ret = note_value(settings, setting, value);
	if (!ret)
		ret = write_value(settings, kind, path, value, text);
	if (ret || setting->verified)
		return ret;
	ret = setting_read(settings->top, kind, path, &now);
	if (ret)
		return ret;
	setting->verified = true;
	ret = note_value(settings, setting, now);
	free(now);
	return ret;
}

/* ---- watching ---- */

static bool is_alive(const char *pid)
{
	char path[64], text[1024], *state;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file_read_start(file_open(NULL, path, FILE_TEXT_MAX), text, sizeof(text));
	state = strrchr(text, ')');
	return state && state[1] && !strchr("ZX", state[2]);
}

/* Tasks come and go in such a list, but it has one of those that we wrote as long as one is alive. */
static bool lacks_our_tasks(const char *wrote, const char *now)
{
	char *tasks = strdup(wrote), *save;
	bool lacks = false, has = false;

	for (char *pid = tasks ? strtok_r(tasks, "\n", &save) : NULL; pid && !has;
	     pid = strtok_r(NULL, "\n", &save)) {
		has = kernel_has_word(now, pid);
		lacks = lacks || is_alive(pid);
	}
	free(tasks);
	return lacks && !has;
}

bool settings_look(struct settings *settings, int i, char *what, size_t size)
{
	struct setting *setting = &settings->setting[i];
	bool ours;
	char *now;
	int ret;

	if (!is_watched(settings, i))
		return true;
	ret = setting_read(settings->top, setting->kind, setting->path, &now);
	if (ret == -ENOENT)
		snprintf(what, size, "%s is gone", setting->path);
	if (ret)
		return ret != -ENOENT;
	ours = setting_is_ours(setting->kind, setting->wrote, now);
	if (setting_kinds[setting->kind].any && *setting->wrote)
		ours = !lacks_our_tasks(setting->wrote, now);
	/* Functions go with their module. */
	if (setting->kind == SETTING_LIST && *now)
		ours = setting_is_part(setting->kind, setting->wrote, "", now);
	if (!ours)
		snprintf(what, size, "%s is %s, ours was %s", setting->path, SHOWN(now),
			 SHOWN(setting->wrote));
	free(now);
	return ours;
}

/* ---- restoring ---- */

/* Writes the value found and reads it back; @now is for the message. */
static int write_found(struct settings *settings, struct setting *setting, const char *now,
		       struct failure *failure)
{
	int ret = write_value(settings, setting->kind, setting->path, setting->found, NULL);
	char *after;

	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s is %s and cannot be put back to %s: %m%s", setting->path,
				   SHOWN(now), SHOWN(setting->found),
				   advice_of(setting->kind, -ret));
	ret = setting_read(settings->top, setting->kind, setting->path, &after);
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s was put back to %s but cannot be read: %m", setting->path,
				   SHOWN(setting->found));
	if (!setting_accepted(setting->kind, setting->found, after))
		ret = failure_set(failure, EXIT_STATUS_NOT_RESTORED, EIO,
				  "%s is %s and cannot be put back to %s", setting->path,
				  SHOWN(after), SHOWN(setting->found));
	free(after);
	return ret;
}

/* A file that somebody else has changed keeps its value: its older settings are done, too. */
static void leave_older(struct settings *settings, const struct setting *newer)
{
	for (struct setting *setting = settings->setting; setting < newer; setting++)
		if (!strcmp(setting->path, newer->path))
			setting->done = true;
}

static int restore_one(struct settings *settings, struct setting *setting, struct failure *failure)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	bool ours, same, verified = setting->verified;
	char *now;
	int ret = setting_read(settings->top, setting->kind, setting->path, &now);

	if (ret == -ENOENT) {
		/* The file is gone with its instance, its event's module or its CPU. */
		setting->done = true;
		return 0;
	}
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s cannot be read, %s is wanted: %m", setting->path,
				   SHOWN(setting->found));
	ours = setting_is_ours(setting->kind, setting->wrote, now);
	/* A list whose tasks have all exited reads as none, but the kernel then traces no task. */
	same = setting_same(setting->kind, now, setting->found);
	if (same && !(setting_kinds[setting->kind].any && ours)) {
		/* A setting that is not verified may never have been written. */
		if (setting->verified && !ours)
			leave_older(settings, setting);
		setting->done = true;
	} else if (ours ||
		   (!setting->verified &&
		    (setting_accepted(setting->kind, setting->wrote, now) ||
		     setting_is_part(setting->kind, setting->wrote, setting->found, now)))) {
		/* From now on the file may hold the value found because we wrote it. */
		setting->verified = false;
		ret = write_found(settings, setting, now, failure);
		/* A file system that refuses this write has refused ours. */
		if (ret == -EROFS && same && !verified)
			ret = 0;
		setting->done = !ret;
	} else {
		log_warning("%s is %s: neither what we wrote (%s) nor what was found (%s); "
			    "somebody else changed it, leaving it",
			    setting->path, SHOWN(now), SHOWN(setting->wrote),
			    SHOWN(setting->found));
		leave_older(settings, setting);
		setting->done = true;
	}
	free(now);
	log_debug("%6" PRIu64 " us: %s back%s", (clock_ns(CLOCK_MONOTONIC) - start) / NS_PER_US,
		  setting->path, ret ? ": failed" : "");
	return ret;
}

/*
 * A reader of trace_pipe keeps the tracer busy, and a buffer may lack the memory to grow back. Events are
 * disabled before the wait. The first setting that waits sets @end for all of them.
 */
static int restore_patiently(struct settings *settings, struct setting *setting, uint64_t *end,
			     struct failure *failure)
{
	struct failure ignored;
	int ret = restore_one(settings, setting, failure);

	if (ret != -ENOMEM && (ret != -EBUSY || (setting->kind != SETTING_TRACER &&
						 !setting_kinds[setting->kind].directory)))
		return ret;
	for (int i = settings->count - 1; i >= 0; i--)
		if (settings->setting[i].kind == SETTING_ENABLE && !settings->setting[i].done)
			restore_one(settings, &settings->setting[i], &ignored);
	if (!*end)
		*end = clock_ns(CLOCK_MONOTONIC) + WAIT;
	while ((ret == -EBUSY || ret == -ENOMEM) && clock_ns(CLOCK_MONOTONIC) < *end) {
		usleep(PAUSE_US);
		ret = restore_one(settings, setting, failure);
	}
	return ret;
}

/*
 * Nothing older than a tracer that cannot be reset is restored: without our filter it would trace
 * everything, without our threshold fill the buffer.
 */
static int restore_pass(struct settings *settings, uint64_t *end, struct failure *failure)
{
	struct failure another;
	int first = 0;

	for (int i = settings->count - 1; i >= 0; i--) {
		struct setting *setting = &settings->setting[i];
		int ret;

		if (setting->done || setting->in_instance)
			continue;
		ret = restore_patiently(settings, setting, end, first ? &another : failure);
		if (ret && !first)
			first = ret;
		if (ret && setting->kind == SETTING_TRACER)
			break;
	}
	return first;
}

int settings_restore(struct settings *settings, struct failure *failure)
{
	uint64_t end = 0;
	size_t length;
	int ret;

	for (int i = 0; i < settings->count; i++)
		settings->setting[i].restoring = true;
	/*
	 * If this fails, the older undo file still serves, but after a kill its reader may take our
	 * own restore for somebody else's change.
	 */
	if (settings_left(settings))
		note(settings);
	ret = restore_pass(settings, &end, failure);
	/* A second try, as the error may have been transient. */
	if (ret && ret != -EBUSY && ret != -ENOMEM)
		ret = restore_pass(settings, &end, failure);
	if (!ret)
		return 0;
	length = strlen(failure->text);
	snprintf(failure->text + length, sizeof(failure->text) - length,
		 "; settings left: %d; allocfilt --restore puts them back",
		 settings_left(settings));
	note(settings);
	return ret;
}

int settings_restore_path(struct settings *settings, const char *path, struct failure *failure)
{
	struct setting *setting = find_setting(settings, path);
	uint64_t end = 0;
	int ret = 0;

	if (setting) {
		setting->restoring = true;
		if (!setting->in_instance)
			note(settings);
		ret = restore_patiently(settings, setting, &end, failure);
	}
	/* Also where nothing had to be changed: from now on it may have any value. */
	for (int i = 0; i < settings->count; i++)
		if (!strcmp(settings->setting[i].path, path))
			settings->setting[i].verified = false;
	return ret;
}
