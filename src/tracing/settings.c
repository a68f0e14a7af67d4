// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/plan.h"
#include "tracing/kernel.h"
#include "tracing/settings.h"

#define WAIT_US	  2000000 /* for somebody else who is busy, or for memory */
#define PAUSE_US  50000
#define SHOWN_MAX 60 /* bytes of a value in a message */

/*
 * A buffer has two sub-buffers or more, each of at most 128 pages: kernel/trace/ring_buffer.c,
 * ring_buffer_resize(), and kernel/trace/trace.c, buffer_subbuf_size_write().
 */
#define SIZE_ROUNDING_PAGES 256
#define SIZE_MAX_KIB	    (LLONG_MAX / 1024)

/* ---- values: which part of a file's text counts, and how two of them compare ---- */

static bool is_pids(enum setting_kind kind)
{
	return kind == SETTING_PIDS || kind == SETTING_THREADS;
}

static bool is_list(enum setting_kind kind)
{
	return kind == SETTING_LIST || kind == SETTING_EVENTS || is_pids(kind);
}

/*
 * Entries in the kernel's order, each with a newline. A function trigger
 * ("name:traceoff:unlimited") is no part of a filter; what waits for a module ("name:mod:ext4") is.
 */
static char *parse_list(enum setting_kind kind, const char *text)
{
	char *copy = strdup(text), *value = calloc(1, strlen(text) + 2), *end = value, *save;

	if (!copy || !value) {
		free(copy);
		free(value);
		return NULL;
	}
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *colon = strchr(line, ':');

		if (*line == '#' || (is_pids(kind) && !isdigit((unsigned char)*line)))
			continue;
		if (kind == SETTING_LIST) {
			if (colon && strncmp(colon, ":mod:", 5))
				continue;
			line[strcspn(line, " \t")] = '\0';
		}
		end = stpcpy(stpcpy(end, line), "\n");
	}
	free(copy);
	return value;
}

static bool is_trigger(enum setting_kind kind)
{
	return kind == SETTING_TRIGGER || kind == SETTING_HISTOGRAM;
}

/* The line of our trigger in the text of an event's file; NULL: there is none. */
static const char *find_trigger(enum setting_kind kind, const char *text)
{
	const char *start = kind == SETTING_TRIGGER ? "stacktrace:" : "hist:name=" HISTOGRAM_PREFIX;

	while (strncmp(text, start, strlen(start))) {
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return text;
}

char *setting_parse(enum setting_kind kind, const char *text)
{
	const char *start = NULL, *ends = "";
	size_t length;

	if (is_list(kind))
		return parse_list(kind, text);
	if (is_trigger(kind))
		return strdup(find_trigger(kind, text) ? SETTING_PRESENT : SETTING_ABSENT);
	if (kind == SETTING_WORD && (start = strchr(text, '['))) {
		start++;
		ends = "]";
	} else if (kind == SETTING_SIZE && (start = strstr(text, "expanded:"))) {
		start += strlen("expanded:");
		ends = ")";
	} else if (kind == SETTING_ENABLE) {
		ends = "*";
	} else if (kind == SETTING_MASK) {
		start = text + strspn(text, "0,");
		if (start > text && !isxdigit((unsigned char)*start))
			start--;
	}
	if (!start)
		start = text;
	while (isspace((unsigned char)*start))
		start++;
	length = strcspn(start, ends);
	while (length && isspace((unsigned char)start[length - 1]))
		length--;
	return strndup(start, length);
}

struct entries {
	char *text;
	char **entry;
	size_t count;
};

static int compare_entries(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool sort_entries(struct entries *entries, const char *value)
{
	char *save;

	entries->text = strdup(value);
	entries->entry = calloc(strlen(value) / 2 + 1, sizeof(*entries->entry));
	if (!entries->text || !entries->entry)
		return false;
	for (char *line = strtok_r(entries->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		entries->entry[entries->count++] = line;
	qsort(entries->entry, entries->count, sizeof(*entries->entry), compare_entries);
	return true;
}

static bool has_entry(const struct entries *entries, const char *name)
{
	return bsearch(&name, entries->entry, entries->count, sizeof(*entries->entry),
		       compare_entries);
}

/* KiB at the start of a text. An undo file has any number; no buffer has a larger one than this. */
static long long parse_size(const char *text, char **ret_end)
{
	long long size = strtoll(text, ret_end, 10);

	if (size < 0)
		return 0;
	return size < SIZE_MAX_KIB ? size : SIZE_MAX_KIB;
}

/* Is @now no more than what the kernel makes of @size? */
static bool is_rounded(long long size, long long now)
{
	return (now - size) * 1024 < SIZE_ROUNDING_PAGES * sysconf(_SC_PAGESIZE);
}

/* Is @now what the kernel makes of one of these sizes? */
static bool is_one_of_sizes(const char *sizes, const char *now)
{
	long long size, now_size = parse_size(now, NULL);
	char *end;

	for (; size = parse_size(sizes, &end), end > sizes; sizes = end)
		if (now_size >= size && is_rounded(size, now_size))
			return true;
	return false;
}

bool setting_is_part(enum setting_kind kind, const char *one, const char *other, const char *now)
{
	struct entries lists[3] = { 0 };
	bool part;

	if (kind == SETTING_SIZE)
		return is_one_of_sizes(one, now);
	part = is_list(kind) && sort_entries(&lists[0], one) && sort_entries(&lists[1], other) &&
	       sort_entries(&lists[2], now);

	for (size_t i = 0; part && i < lists[2].count; i++)
		part = has_entry(&lists[0], lists[2].entry[i]) ||
		       has_entry(&lists[1], lists[2].entry[i]);
	for (int i = 0; i < 3; i++) {
		free(lists[i].text);
		free(lists[i].entry);
	}
	return part;
}

/* The order of a list is the kernel's; a name that several functions have is listed as often. */
static bool is_same(enum setting_kind kind, const char *one, const char *other)
{
	if (!strcmp(one, other))
		return true;
	if (is_list(kind))
		return setting_is_part(kind, one, "", other) &&
		       setting_is_part(kind, other, "", one);
	return (kind == SETTING_NUMBER || kind == SETTING_SIZE) && *one && *other &&
	       atoll(one) == atoll(other);
}

bool setting_accepted(enum setting_kind kind, const char *value, const char *now)
{
	if (kind == SETTING_SIZE)
		return is_one_of_sizes(value, now);
	return is_pids(kind) || is_same(kind, value, now);
}

bool setting_is_ours(enum setting_kind kind, const char *wrote, const char *now)
{
	if (kind == SETTING_NUMBER || kind == SETTING_SIZE || kind == SETTING_ENABLE ||
	    is_trigger(kind))
		return kernel_has_word(wrote, now);
	if (kind == SETTING_PIDS)
		return setting_is_part(kind, wrote, "", now);
	return setting_accepted(kind, wrote, now);
}

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

/* ---- files ---- */

static bool is_directory(enum setting_kind kind)
{
	return kind == SETTING_INSTANCE || kind == SETTING_PROBE;
}

/* The text of a file of @event ("system:name") beside @set_event; free() it. */
static char *read_of_event(const struct settings *settings, const char *set_event,
			   const char *event, const char *file)
{
	const char *slash = strrchr(set_event, '/');
	int dir = slash ? (int)(slash + 1 - set_event) : 0;
	int system = (int)strcspn(event, ":");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*sevents/%.*s/%s/%s", dir, set_event, system, event,
		 event + system + !!event[system], file);
	return tracefs_instance_file_read(settings->top, path, NULL);
}

/*
 * Is it enabled for histograms alone, that need neither the clock nor the buffer? Then it leaves no
 * record, and reads "0*".
 */
static bool is_only_counted(const struct settings *settings, const char *set_event,
			    const char *event)
{
	char *enable = read_of_event(settings, set_event, event, "enable");
	char *triggers = read_of_event(settings, set_event, event, "trigger"), *save;
	bool is = enable && triggers && !strncmp(enable, "0*", 2);

	for (char *line = is ? strtok_r(triggers, "\n", &save) : NULL; line && is;
	     line = strtok_r(NULL, "\n", &save))
		is = *line == '#' ||
		     (!strncmp(line, "hist:", 5) && !strstr(line, "common_timestamp") &&
		      !strstr(line, ".snapshot("));
	free(enable);
	free(triggers);
	return is;
}

/* set_event has these too, but written back to it they would leave records. */
static void drop_only_counted(const struct settings *settings, const char *path, char *value)
{
	char *end = value, *next;

	for (char *event = value; *event; event = next) {
		size_t length = strcspn(event, "\n");

		next = event + length + 1;
		event[length] = '\0';
		if (is_only_counted(settings, path, event))
			continue;
		memmove(end, event, length);
		end += length;
		*end++ = '\n';
	}
	*end = '\0';
}

int settings_read(const struct settings *settings, enum setting_kind kind, const char *path,
		  char **ret_value)
{
	char *text;

	if (is_directory(kind)) {
		*ret_value = strdup(tracefs_dir_exists(settings->top, path) ? SETTING_PRESENT :
									      SETTING_ABSENT);
		return *ret_value ? 0 : -ENOMEM;
	}
	errno = 0;
	text = tracefs_instance_file_read(settings->top, path, NULL);
	/* An empty file is NULL as well. */
	if (!text && errno)
		return -errno;
	*ret_value = setting_parse(kind, text ? text : "");
	free(text);
	if (!*ret_value)
		return -ENOMEM;
	if (kind == SETTING_EVENTS)
		drop_only_counted(settings, path, *ret_value);
	if (kind != SETTING_SIZE || strcmp(*ret_value, "0"))
		return 0;
	free(*ret_value);
	return -ENOENT;
}

/*
 * tracefs_instance_file_write() writes once, but set_ftrace_filter and set_event accept one name a
 * write; tracefs_function_filter() reads the list of all functions again.
 */
static int write_list(const struct settings *settings, const char *path, const char *text)
{
	int fd = tracefs_instance_file_open(settings->top, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = file_write_all(fd, text, strlen(text));
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

/* @append: the file has other users' lines, which O_TRUNC would clear. */
static int write_once(const struct settings *settings, const char *path, const char *text,
		      bool append)
{
	int wrote = append ? tracefs_instance_file_append(settings->top, path, text) :
			     tracefs_instance_file_write(settings->top, path, text);

	if (wrote < 0)
		return -errno;
	return wrote == (int)strlen(text) ? 0 : -EIO;
}

static int write_instance(const struct settings *settings, const char *path, bool present)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct tracefs_instance *instance;
	int ret = 0;

	errno = 0;
	if (present) {
		instance = tracefs_instance_create(name);
		if (!instance)
			return errno ? -errno : -ENOMEM;
		if (!tracefs_instance_is_new(instance))
			ret = -EEXIST;
	} else {
		instance =
			tracefs_instance_alloc(tracefs_instance_get_trace_dir(settings->top), name);
		if (instance && tracefs_instance_destroy(instance) && errno != ENOENT)
			ret = -errno;
	}
	tracefs_instance_free(instance);
	return ret;
}

/*
 * While a ring buffer grows, its writer is the OOM killer's first choice, whatever its score is:
 * set_current_oom_origin() in kernel/trace/ring_buffer.c. So a child is the writer, if there is
 * memory for one. @value: a size, or NULL for an instance, which comes with its buffer.
 */
static int write_in_child(const struct settings *settings, const char *path, const char *value)
{
	pid_t child = fork();
	int status, ret;

	if (child <= 0) {
		ret = value ? write_once(settings, path, value, false) :
			      write_instance(settings, path, true);
		if (!child)
			_exit(-ret);
		return ret;
	}
	while ((ret = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		;
	if (ret < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ENOMEM;
}

/* Only what takes memory needs the child. */
static int write_size(const struct settings *settings, const char *path, const char *value)
{
	char *text = tracefs_instance_file_read(settings->top, path, NULL);
	bool grows = !text || parse_size(text, NULL) < parse_size(value, NULL);

	free(text);
	return grows ? write_in_child(settings, path, value) :
		       write_once(settings, path, value, false);
}

/*
 * A histogram is removed by the line with which the file shows it, but for its state in brackets:
 * "hist:name=...:keys=... if ... [active]".
 */
static int remove_histogram(const struct settings *settings, const char *path)
{
	char *text = tracefs_instance_file_read(settings->top, path, NULL), *removal;
	const char *line = text ? find_trigger(SETTING_HISTOGRAM, text) : NULL, *end;
	int ret = 0;

	if (line) {
		end = line + strcspn(line, "\n");
		while (end > line && *end != '[')
			end--;
		ret = asprintf(&removal, "!%.*s", (int)(end - line), line) < 0 ? -ENOMEM : 0;
	}
	free(text);
	if (ret || !line)
		return ret;
	ret = write_once(settings, path, removal, true);
	free(removal);
	return ret;
}

/* @text: what to write where that is not the value itself, or NULL; see settings_set(). */
static int write_value(const struct settings *settings, enum setting_kind kind, const char *path,
		       const char *value, const char *text)
{
	static const char events[] = "events/";
	bool present = !strcmp(value, SETTING_PRESENT);
	char removal[PATH_MAX];

	if (kind == SETTING_INSTANCE)
		return present ? write_in_child(settings, path, NULL) :
				 write_instance(settings, path, false);
	if (kind == SETTING_PROBE) {
		/* tracefs_dynevent_create() writes no filter of an event probe. */
		if (present)
			return text ? write_once(settings, "dynamic_events", text, true) : -EINVAL;
		if (strncmp(path, events, strlen(events)))
			return -EINVAL;
		snprintf(removal, sizeof(removal), "-:%s\n", path + strlen(events));
		return write_once(settings, "dynamic_events", removal, true);
	}
	if (kind == SETTING_TRIGGER)
		return write_once(settings, path,
				  !present ? "!stacktrace" :
				  text	   ? text :
					     "stacktrace",
				  true);
	if (kind == SETTING_HISTOGRAM && !present)
		return remove_histogram(settings, path);
	if (kind == SETTING_HISTOGRAM)
		return text ? write_once(settings, path, text, true) : -EINVAL;
	if (kind == SETTING_SIZE)
		return write_size(settings, path, value);
	if (is_list(kind))
		return write_list(settings, path, text ? text : value);
	/* tracefs_event_enable() compiles a regex over all systems at each call. */
	return write_once(settings, path,
			  kind == SETTING_FILTER && !strcmp(value, "none") ? "0" : value, false);
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

static int failed(struct failure *failure, const char *verb, enum setting_kind kind,
		  const char *path, int error)
{
	enum exit_status status = EXIT_STATUS_RUN_TIME;

	if (error == EPERM || error == EACCES || error == EROFS)
		status = EXIT_STATUS_NO_TRACEFS;
	else if (error == EBUSY || error == EEXIST)
		status = EXIT_STATUS_IN_USE;
	else if (error == ENOENT || error == EINVAL || error == ENODEV)
		status = EXIT_STATUS_NO_FEATURE;
	return failure_set(failure, status, error, "cannot %s %s: %s%s", verb, path,
			   strerror(error), advice_of(kind, error));
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* A value in one line of a message. */
static const char *shown(const char *value, char *buffer)
{
	if (!*value)
		return "empty";
	snprintf(buffer, SHOWN_MAX + 4, "%.*s%s", SHOWN_MAX, value,
		 strlen(value) > SHOWN_MAX ? "..." : "");
	for (char *at = buffer; (at = strchr(at, '\n')); at++)
		*at = ' ';
	return buffer;
}

#define SHOWN(value) shown(value, (char[SHOWN_MAX + 4]){ 0 })

int settings_set(struct settings *settings, enum setting_kind kind, const char *path,
		 const char *value, const char *text, bool in_instance, struct failure *failure)
{
	int64_t start = now_us();
	struct setting *setting;
	char *found, *now;
	int ret = settings_read(settings, kind, path, &found);

	if (ret)
		return failed(failure, "read", kind, path, -ret);
	/*
	 * "7 (expanded: 1408)" and 1408 are the same size but not the same buffer. On 5.10 and 6.1
	 * a tracer that an instance refuses marks the top-level buffer as expanded while it has 7
	 * KiB, which then never grows by itself. So a size is always written. A list of threads is
	 * noted because it changes by itself.
	 */
	if (kind != SETTING_SIZE && kind != SETTING_THREADS && is_same(kind, found, value)) {
		free(found);
		return 0;
	}
	ret = settings_add(settings, kind, path, found, value, in_instance);
	free(found);
	if (ret)
		return failed(failure, "note", kind, path, -ret);
	setting = &settings->setting[settings->count - 1];
	ret = in_instance ? 0 : note(settings);
	if (ret) {
		setting->done = true;
		return failure_set(failure, EXIT_STATUS_RUN_TIME, -ret,
				   "the undo file cannot be written, so nothing is changed: %s",
				   strerror(-ret));
	}
	/* Memory comes back. Without an instance there is still the top level. */
	while ((ret = write_value(settings, kind, path, value, text)) == -ENOMEM &&
	       kind != SETTING_INSTANCE && now_us() < start + WAIT_US)
		usleep(PAUSE_US);
	/* An instance that somebody else made a moment earlier is not ours to remove. */
	setting->done = ret == -EEXIST;
	if (ret)
		return failed(failure, is_directory(kind) ? "make" : "write", kind, path, -ret);
	ret = settings_read(settings, kind, path, &now);
	if (ret)
		return failed(failure, "read back", kind, path, -ret);
	/* The kernel rounds, sorts and drops: what it made of our value counts as ours. */
	free(setting->wrote);
	setting->wrote = now;
	setting->verified = setting_accepted(kind, value, now);
	if (!setting->verified)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, EIO,
				   "%s did not accept what was written: it reads %s, not %s", path,
				   SHOWN(now), SHOWN(value));
	log_debug("%6lld us: %s = %s", (long long)(now_us() - start), path, SHOWN(now));
	return 0;
}

bool settings_has(struct settings *settings, const char *path)
{
	return find_setting(settings, path);
}

/* One more value that counts as ours, noted before the file has it. */
static int add_value(struct settings *settings, struct setting *setting, const char *value)
{
	char *wrote;

	if (kernel_has_word(setting->wrote, value))
		return 0;
	if (asprintf(&wrote, "%s %s", setting->wrote, value) < 0)
		return -ENOMEM;
	free(setting->wrote);
	setting->wrote = wrote;
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
	ret = settings_read(settings, kind, path, &now);
	if (ret)
		return ret;
	ours = setting_is_ours(kind, setting->wrote, now);
	has = is_same(kind, now, value);
	free(now);
	if (!ours || has)
		return ours ? 0 : -ESTALE;
	/* The kernel rounds a size: until it is read back, a rounded one is ours as well. */
	setting->verified = kind != SETTING_SIZE;
	ret = add_value(settings, setting, value);
	if (!ret)
		ret = write_value(settings, kind, path, value, text);
	if (ret || setting->verified)
		return ret;
	ret = settings_read(settings, kind, path, &now);
	if (ret)
		return ret;
	setting->verified = true;
	ret = add_value(settings, setting, now);
	free(now);
	return ret;
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
				   "%s is %s and cannot be put back to %s: %s%s", setting->path,
				   SHOWN(now), SHOWN(setting->found), strerror(-ret),
				   advice_of(setting->kind, -ret));
	ret = settings_read(settings, setting->kind, setting->path, &after);
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s was put back to %s but cannot be read: %s", setting->path,
				   SHOWN(setting->found), strerror(-ret));
	if (!setting_accepted(setting->kind, setting->found, after))
		ret = failure_set(failure, EXIT_STATUS_NOT_RESTORED, EIO,
				  "%s is %s and cannot be put back to %s", setting->path,
				  SHOWN(after), SHOWN(setting->found));
	free(after);
	return ret;
}

/* Where somebody else has changed a file, its older settings are left alone, too. */
static void leave_older(struct settings *settings, const struct setting *newer)
{
	for (struct setting *setting = settings->setting; setting < newer; setting++)
		if (!strcmp(setting->path, newer->path))
			setting->done = true;
}

static int restore_one(struct settings *settings, struct setting *setting, struct failure *failure)
{
	int64_t start = now_us();
	bool ours, same, verified = setting->verified;
	char *now;
	int ret = settings_read(settings, setting->kind, setting->path, &now);

	if (ret == -ENOENT) {
		/* Gone with its instance, its event's module or its CPU. */
		setting->done = true;
		return 0;
	}
	if (ret)
		return failure_set(failure, EXIT_STATUS_NOT_RESTORED, -ret,
				   "%s cannot be read, %s is wanted: %s", setting->path,
				   SHOWN(setting->found), strerror(-ret));
	ours = setting_is_ours(setting->kind, setting->wrote, now);
	/* A list whose tasks have all exited reads as none, but still has the kernel trace none. */
	same = is_same(setting->kind, now, setting->found);
	if (same && !(is_pids(setting->kind) && ours)) {
		/* A setting that is not verified may never have been written. */
		if (setting->verified && !ours)
			leave_older(settings, setting);
		setting->done = true;
	} else if (ours ||
		   (!setting->verified &&
		    (setting_accepted(setting->kind, setting->wrote, now) ||
		     setting_is_part(setting->kind, setting->wrote, setting->found, now)))) {
		/* From now on the value found may be our own, not somebody else's change. */
		setting->verified = false;
		ret = write_found(settings, setting, now, failure);
		/* Where this is refused, so was our own write. */
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
	log_debug("%6lld us: %s back%s", (long long)(now_us() - start), setting->path,
		  ret ? ": failed" : "");
	return ret;
}

/*
 * A reader of trace_pipe keeps the tracer busy: the events at least are disabled before waiting. A
 * buffer that grows again waits for memory. The first that waits sets @end, for all.
 */
static int restore_patiently(struct settings *settings, struct setting *setting, int64_t *end,
			     struct failure *failure)
{
	struct failure ignored;
	int ret = restore_one(settings, setting, failure);

	if (ret != -ENOMEM &&
	    (ret != -EBUSY || (setting->kind != SETTING_TRACER && !is_directory(setting->kind))))
		return ret;
	for (int i = settings->count - 1; i >= 0; i--)
		if (settings->setting[i].kind == SETTING_ENABLE && !settings->setting[i].done)
			restore_one(settings, &settings->setting[i], &ignored);
	if (!*end)
		*end = now_us() + WAIT_US;
	while ((ret == -EBUSY || ret == -ENOMEM) && now_us() < *end) {
		usleep(PAUSE_US);
		ret = restore_one(settings, setting, failure);
	}
	return ret;
}

/*
 * Nothing older than a tracer that cannot be reset is restored: without our filter it would trace
 * everything, without our threshold fill the buffer.
 */
static int restore_pass(struct settings *settings, int64_t *end, struct failure *failure)
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
	int64_t end = 0;
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
	/* Once more: the error may have been transient. */
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
	int64_t end = 0;

	if (!setting)
		return 0;
	setting->restoring = true;
	if (!setting->in_instance)
		note(settings);
	return restore_patiently(settings, setting, &end, failure);
}
