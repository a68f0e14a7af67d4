// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"
#include "tracing/setting.h"
#include "tracing/steps.h"

#define BUSY_WAIT_MS  2000
#define BUSY_PAUSE_MS 50
#define SHOWN_MAX     60 /* bytes of a value in a message */

#define DYNAMIC_EVENTS "dynamic_events"
#define EVENTS_DIR     "events/"

int steps_init(struct steps *steps, const char *dir)
{
	memset(steps, 0, sizeof(*steps));
	steps->dir = strdup(dir);
	steps->step = calloc(STEPS_MAX, sizeof(*steps->step));
	if (steps->dir && steps->step)
		return 0;
	steps_free(steps);
	return -ENOMEM;
}

static void step_release(struct step *step)
{
	free(step->path);
	free(step->found);
	free(step->wrote);
}

void steps_free(struct steps *steps)
{
	for (int i = 0; i < steps->count; i++)
		step_release(&steps->step[i]);
	free(steps->step);
	free(steps->dir);
	memset(steps, 0, sizeof(*steps));
}

int steps_add(struct steps *steps, enum step_kind kind, const char *path, const char *found,
	      const char *wrote, bool within)
{
	struct step *added = &steps->step[steps->count];

	if (steps->count == STEPS_MAX)
		return -E2BIG;
	memset(added, 0, sizeof(*added));
	added->kind = kind;
	added->path = strdup(path);
	added->found = strdup(found);
	added->wrote = strdup(wrote);
	added->within = within;
	if (added->path && added->found && added->wrote) {
		steps->count++;
		return 0;
	}
	step_release(added);
	return -ENOMEM;
}

int steps_left(const struct steps *steps)
{
	int left = 0;

	for (int i = 0; i < steps->count; i++)
		left += !steps->step[i].done && !steps->step[i].within;
	return left;
}

/* Is it a directory that is made and removed? */
static bool is_directory(enum step_kind kind)
{
	return kind == STEP_INSTANCE || kind == STEP_PROBE;
}

static int presence_read(const struct steps *steps, const char *path, char **ret_text)
{
	char name[PATH_MAX];
	struct stat st;
	int ret = file_path(name, steps->dir, path);

	if (ret)
		return ret;
	if (stat(name, &st) < 0 && errno != ENOENT)
		return -errno;
	*ret_text = strdup(stat(name, &st) < 0 ? SETTING_ABSENT : SETTING_PRESENT);
	return *ret_text ? 0 : -ENOMEM;
}

int steps_read(const struct steps *steps, enum step_kind kind, const char *path, char **ret_text)
{
	char *text;
	int ret;

	if (is_directory(kind))
		return presence_read(steps, path, ret_text);
	ret = file_read(steps->dir, path, &text, NULL);
	if (ret)
		return ret;
	*ret_text = setting_parse(kind, text);
	free(text);
	return *ret_text ? 0 : -ENOMEM;
}

/* The name of an instance is the last part of its path. */
static const char *instance_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int instance_create(const char *path)
{
	struct tracefs_instance *instance;
	bool created;

	errno = 0;
	instance = tracefs_instance_create(instance_name(path));
	if (!instance)
		return errno ? -errno : -ENOMEM;
	created = tracefs_instance_is_new(instance);
	tracefs_instance_free(instance);
	/* Somebody was faster, and it is not ours to take away. */
	return created ? 0 : -EEXIST;
}

/* tracefs_instance_destroy() wants the handle of a creator; the directory is all there is to it. */
static int instance_remove(const struct steps *steps, const char *path)
{
	char name[PATH_MAX];
	int ret = file_path(name, steps->dir, path);

	if (ret)
		return ret;
	return rmdir(name) < 0 && errno != ENOENT ? -errno : 0;
}

/* "events/SYSTEM/NAME": its name is the rest of the path. */
static int probe_remove(const struct steps *steps, const char *path)
{
	char text[PATH_MAX];

	if (strncmp(path, EVENTS_DIR, strlen(EVENTS_DIR)))
		return -EINVAL;
	snprintf(text, sizeof(text), "-:%s\n", path + strlen(EVENTS_DIR));
	return file_append(steps->dir, DYNAMIC_EVENTS, text);
}

/* Some files hold others' things too, which opening them with O_TRUNC would remove. */
static int write_text(const struct steps *steps, enum step_kind kind, const char *path,
		      const char *text)
{
	if (kind == STEP_PROBE)
		return file_append(steps->dir, DYNAMIC_EVENTS, text);
	if (kind == STEP_TRIGGER)
		return file_append(steps->dir, path, text);
	return file_write(steps->dir, path, text);
}

static int write_value(const struct steps *steps, enum step_kind kind, const char *path,
		       const char *value)
{
	char *text;
	int ret;

	if (kind == STEP_INSTANCE)
		return strcmp(value, SETTING_PRESENT) ? instance_remove(steps, path) :
							instance_create(path);
	if (kind == STEP_PROBE)
		return probe_remove(steps, path);
	text = setting_text(kind, value);
	if (!text)
		return -ENOMEM;
	ret = write_text(steps, kind, path, text);
	free(text);
	return ret;
}

static enum exit_status status_of(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
	case EROFS:
		return EXIT_STATUS_NO_TRACEFS;
	case EBUSY:
	case EEXIST:
		return EXIT_STATUS_IN_USE;
	case ENOENT:
	case EINVAL:
	case ENODEV:
		return EXIT_STATUS_NO_FEATURE;
	}
	return EXIT_STATUS_RUN_TIME;
}

static const char *advice_of(enum step_kind kind, int error)
{
	if (error == EPERM)
		return " (kernel lockdown, or a container, forbids it even to root)";
	if (error == EROFS)
		return " (tracefs is mounted read-only here: a hardened service?)";
	if (error == EBUSY && kind == STEP_TRACER)
		return " (somebody else reads trace_pipe)";
	if (error == ENOMEM && kind == STEP_SIZE)
		return " (a smaller buffer: -b)";
	return "";
}

static int failed(struct failure *failure, const char *verb, enum step_kind kind, const char *path,
		  int error)
{
	return failure_set(failure, status_of(error), error, "cannot %s %s: %s%s", verb, path,
			   strerror(error), advice_of(kind, error));
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static const char *shown(const char *value, char *buffer)
{
	size_t length = strnlen(value, SHOWN_MAX + 1);
	bool cut = length > SHOWN_MAX;

	if (!*value)
		return "empty";
	if (cut)
		length = SHOWN_MAX;
	memcpy(buffer, value, length);
	strcpy(buffer + length, cut ? "..." : "");
	for (char *at = buffer; (at = strchr(at, '\n')); at++)
		*at = ' ';
	return buffer;
}

#define SHOWN(value) shown(value, (char[SHOWN_MAX + 4]){ 0 })

static int note(struct steps *steps, struct failure *failure)
{
	int ret = steps->note ? steps->note(steps->context, steps) : 0;

	if (ret)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "the undo file cannot be written, so nothing is changed: %s",
				   strerror(-ret));
	return 0;
}

static int replace(char **text, char *by)
{
	free(*text);
	*text = by;
	return 0;
}

/* What the kernel made of it counts as ours: it rounds, sorts and drops. */
static int read_back(struct steps *steps, struct step *step, const char *value,
		     struct failure *failure)
{
	char *now;
	int ret = steps_read(steps, step->kind, step->path, &now);

	if (ret)
		return failed(failure, "read back", step->kind, step->path, -ret);
	if (!setting_accepted(step->kind, value, now)) {
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
				  "%s did not take what was written: it reads %s, not %s",
				  step->path, SHOWN(now), SHOWN(value));
		replace(&step->wrote, now);
		return ret;
	}
	step->sure = true;
	return replace(&step->wrote, now);
}

static int change(struct steps *steps, struct step *step, const char *value, const char *text,
		  struct failure *failure)
{
	int64_t start = now_us();
	int ret;

	if (!step->within) {
		ret = note(steps, failure);
		if (ret) {
			step->done = true;
			return ret;
		}
	}
	ret = text ? write_text(steps, step->kind, step->path, text) :
		     write_value(steps, step->kind, step->path, value);
	/* An instance that somebody else made a moment earlier is not ours to remove. */
	step->done = ret == -EEXIST;
	if (ret)
		return failed(failure, is_directory(step->kind) ? "make" : "write", step->kind,
			      step->path, -ret);
	ret = read_back(steps, step, value, failure);
	if (!ret)
		log_debug("%6lld us: %s = %s", (long long)(now_us() - start), step->path,
			  SHOWN(step->wrote));
	return ret;
}

int steps_set(struct steps *steps, enum step_kind kind, const char *path, const char *value,
	      const char *text, bool within, struct failure *failure)
{
	char *found;
	int ret = steps_read(steps, kind, path, &found);

	if (ret)
		return failed(failure, "read", kind, path, -ret);
	if (setting_same(kind, found, value) && !setting_always(kind)) {
		free(found);
		return 0;
	}
	ret = steps_add(steps, kind, path, found, value, within);
	free(found);
	if (ret)
		return failed(failure, "note", kind, path, -ret);
	return change(steps, &steps->step[steps->count - 1], value, text, failure);
}

static struct step *find_step(struct steps *steps, const char *path)
{
	for (int i = steps->count - 1; i >= 0; i--)
		if (!strcmp(steps->step[i].path, path) && !steps->step[i].done)
			return &steps->step[i];
	return NULL;
}

/* The step has to be known with the new value before the file gets it. */
static int add_own_value(struct steps *steps, struct step *step, const char *value)
{
	char *wrote;

	if (kernel_has_word(step->wrote, value))
		return 0;
	if (asprintf(&wrote, "%s %s", step->wrote, value) < 0)
		return -ENOMEM;
	replace(&step->wrote, wrote);
	return step->within || !steps->note ? 0 : steps->note(steps->context, steps);
}

int steps_move(struct steps *steps, enum step_kind kind, const char *path, const char *value,
	       bool within)
{
	struct step *step = find_step(steps, path);
	struct failure failure;
	char *now;
	bool ours;
	int ret;

	if (!step)
		return steps_set(steps, kind, path, value, NULL, within, &failure);
	ret = steps_read(steps, kind, path, &now);
	if (ret)
		return ret;
	ours = setting_ours(kind, step->wrote, now);
	free(now);
	if (!ours)
		return -ESTALE;
	ret = add_own_value(steps, step, value);
	return ret ? ret : write_value(steps, kind, path, value);
}

/* A file whose newer step was found changed by somebody else is theirs for the older ones too. */
static void leave_older(struct steps *steps, const struct step *newer)
{
	for (struct step *step = steps->step; step < newer; step++)
		if (!strcmp(step->path, newer->path))
			step->done = true;
}

static int write_found(struct steps *steps, struct step *step, const char *now,
		       struct failure *failure)
{
	int ret = write_value(steps, step->kind, step->path, step->found);
	char *after;

	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s is %s and cannot be put back to %s: %s%s", step->path,
				   SHOWN(now), SHOWN(step->found), strerror(-ret),
				   advice_of(step->kind, -ret));
	ret = steps_read(steps, step->kind, step->path, &after);
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s was put back to %s but cannot be read: %s", step->path,
				   SHOWN(step->found), strerror(-ret));
	if (!setting_accepted(step->kind, step->found, after))
		ret = failure_set(failure, EXIT_STATUS_NOT_RESTORED, EIO,
				  "%s is %s and cannot be put back to %s", step->path, SHOWN(after),
				  SHOWN(step->found));
	free(after);
	return ret;
}

/* A kill or an error in the middle of a list leaves a part of it. */
static bool is_ours(const struct step *step, const char *now)
{
	if (setting_ours(step->kind, step->wrote, now))
		return true;
	return !step->sure && setting_part(step->kind, step->wrote, step->found, now);
}

/*
 * Back to what was found where it is ours. A step that is not sure may never have been written:
 * then the value found says nothing about others.
 */
static int put_back(struct steps *steps, struct step *step, const char *now,
		    struct failure *failure)
{
	int ret;

	if (setting_same(step->kind, now, step->found)) {
		if (step->sure && !setting_ours(step->kind, step->wrote, now))
			leave_older(steps, step);
		step->done = true;
		return 0;
	}
	if (!is_ours(step, now)) {
		log_warning("%s is %s: neither what we wrote (%s) nor what was found (%s); "
			    "somebody else changed it, leaving it",
			    step->path, SHOWN(now), SHOWN(step->wrote), SHOWN(step->found));
		leave_older(steps, step);
		step->done = true;
		return 0;
	}
	/* Once tried, the value found is no sign of somebody else any more. */
	step->sure = false;
	ret = write_found(steps, step, now, failure);
	step->done = !ret;
	return ret;
}

static int restore_step(struct steps *steps, struct step *step, struct failure *failure)
{
	int64_t start = now_us();
	char *now;
	int ret = steps_read(steps, step->kind, step->path, &now);

	if (ret == -ENOENT) {
		/* Gone with its instance, its event's module or its processor. */
		step->done = true;
		return 0;
	}
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s cannot be read, %s is wanted: %s", step->path,
				   SHOWN(step->found), strerror(-ret));
	ret = put_back(steps, step, now, failure);
	free(now);
	log_debug("%6lld us: %s back%s", (long long)(now_us() - start), step->path,
		  ret ? ": failed" : "");
	return ret;
}

static void pause_ms(int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

/* With the tracer kept by a reader, events at least need not fill the buffer any further. */
static void events_off(struct steps *steps)
{
	struct failure ignored;

	for (int i = steps->count - 1; i >= 0; i--)
		if (steps->step[i].kind == STEP_ENABLE && !steps->step[i].done)
			restore_step(steps, &steps->step[i], &ignored);
}

static bool can_be_busy(const struct step *step)
{
	return step->kind == STEP_TRACER || is_directory(step->kind);
}

static int restore_busy(struct steps *steps, struct step *step, struct failure *failure)
{
	int64_t end = now_us() + BUSY_WAIT_MS * 1000LL;
	int ret;

	events_off(steps);
	do {
		pause_ms(BUSY_PAUSE_MS);
		ret = restore_step(steps, step, failure);
	} while (ret == -EBUSY && now_us() < end);
	return ret;
}

static int restore_one(struct steps *steps, struct step *step, struct failure *failure)
{
	int ret = restore_step(steps, step, failure);

	if (ret == -EBUSY && can_be_busy(step))
		ret = restore_busy(steps, step, failure);
	return ret;
}

/* Newest first; a tracer that stays keeps all that is older: without our filter it would trace
 * everything, without our threshold fill the buffer. */
static int restore_pass(struct steps *steps, struct failure *failure)
{
	struct failure another;
	int first = 0;

	for (int i = steps->count - 1; i >= 0; i--) {
		struct step *step = &steps->step[i];
		int ret;

		if (step->done || step->within)
			continue;
		ret = restore_one(steps, step, first ? &another : failure);
		if (ret && !first)
			first = ret;
		if (ret && step->kind == STEP_TRACER)
			break;
	}
	return first;
}

static void add_count(const struct steps *steps, struct failure *failure)
{
	int left = steps_left(steps) - 1;
	size_t length = strlen(failure->text);

	if (left > 0)
		snprintf(failure->text + length, sizeof(failure->text) - length,
			 "; %d older settings wait for it: allocfilt --restore", left);
}

int steps_restore(struct steps *steps, struct failure *failure)
{
	int ret;

	steps->restoring = true;
	/* A note that fails leaves the older one, which is as good but for who changed what. */
	if (steps->note && steps_left(steps))
		steps->note(steps->context, steps);
	ret = restore_pass(steps, failure);
	/* An error that passes by is no reason to leave a machine changed. */
	if (ret && ret != -EBUSY)
		ret = restore_pass(steps, failure);
	if (ret) {
		add_count(steps, failure);
		if (steps->note)
			steps->note(steps->context, steps);
	}
	return ret;
}

int steps_restore_path(struct steps *steps, const char *path, struct failure *failure)
{
	struct step *step = find_step(steps, path);

	if (!step)
		return 0;
	step->undoing = true;
	if (!step->within && steps->note)
		steps->note(steps->context, steps);
	return restore_one(steps, step, failure);
}
