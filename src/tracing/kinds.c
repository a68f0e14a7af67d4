// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/text.h"
#include "allocfilt/plan/catalog.h"
#include "tracing/kernel_look.h"
#include "tracing/kinds.h"

/*
 * A buffer has two sub-buffers or more, each of at most 128 pages: kernel/trace/ring_buffer.c,
 * ring_buffer_resize(), and kernel/trace/trace.c, buffer_subbuf_size_write().
 */
#define SIZE_ROUNDING_PAGES 256
#define SIZE_MAX_KIB	    (LLONG_MAX / 1024)
#define OUR_HISTOGRAM	    "hist:name=" HISTOGRAM_PREFIX

/* ---- values: the part of a file's text that counts ---- */

/* The text up to one of the characters @ends, without the blanks around it. */
static char *trimmed_value(const char *start, const char *ends)
{
	char *copy = strndup(start, strcspn(start, ends));
	char *value = copy ? strdup(text_trim(copy)) : NULL;

	free(copy);
	return value;
}

/* Leading zeros depend on the kernel's configuration. */
static const char *without_zeros(const char *text)
{
	const char *start = text + strspn(text, "0,");

	return start > text && !isxdigit((unsigned char)*start) ? start - 1 : start;
}

static char *kept_lines(const char *text, bool (*keep)(char *line))
{
	char *copy = strdup(text), *value = calloc(1, strlen(text) + 2), *end = value, *save;

	if (!copy || !value) {
		free(copy);
		free(value);
		return NULL;
	}
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (*line != '#' && (!keep || keep(line)))
			end = stpcpy(stpcpy(end, line), "\n");
	free(copy);
	return value;
}

/*
 * A function trigger ("name:traceoff:unlimited") is no part of a filter; a name that waits for a
 * module ("name:mod:ext4") is.
 */
static bool keep_function(char *line)
{
	const char *colon = strchr(line, ':');

	line[strcspn(line, " \t")] = '\0';
	return !colon || !strncmp(colon, ":mod:", 5);
}

static bool keep_pid(char *line)
{
	return isdigit((unsigned char)*line);
}

/* The line that begins so in the text of an event's trigger file; NULL: there is none. */
static const char *trigger_line(const char *text, const char *start)
{
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
	const struct setting_ops *ops = &setting_kinds[kind];
	const char *start = ops->begin ? strstr(text, ops->begin) : NULL;

	if (ops->trigger)
		return strdup(trigger_line(text, ops->trigger) ? SETTING_PRESENT : SETTING_ABSENT);
	if (ops->lines)
		return kept_lines(text, ops->keep);
	if (start)
		return trimmed_value(start + strlen(ops->begin), ops->ends);
	return trimmed_value(kind == SETTING_MASK ? without_zeros(text) : text, "");
}

/* ---- values: comparisons ---- */

static bool same_numbers(const char *one, const char *other)
{
	return !strcmp(one, other) || (*one && *other && atoll(one) == atoll(other));
}

static long long next_size(const char **text)
{
	char *end;
	long long size = strtoll(*text, &end, 10);

	*text = end;
	if (size < 0)
		return 0;
	return size < SIZE_MAX_KIB ? size : SIZE_MAX_KIB;
}

static long long kib_of(const char *text)
{
	return next_size(&text);
}

static bool is_rounded_size(const char *sizes, const char *now)
{
	long long now_size = kib_of(now), most = SIZE_ROUNDING_PAGES * sysconf(_SC_PAGESIZE);
	const char *end = sizes;

	for (;; sizes = end) {
		long long size = next_size(&end);

		if (end == sizes)
			return false;
		if (now_size >= size && (now_size - size) * 1024 < most)
			return true;
	}
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

static bool is_part_of_lists(const char *one, const char *other, const char *now)
{
	struct entries lists[3] = { 0 };
	bool part = sort_entries(&lists[0], one) && sort_entries(&lists[1], other) &&
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

static bool same_lists(const char *one, const char *other)
{
	return !strcmp(one, other) ||
	       (is_part_of_lists(one, "", other) && is_part_of_lists(other, "", one));
}

/* ---- reading ---- */

/* The text of a file of @event ("system:name") beside @set_event; free() it. */
static char *read_of_event(struct tracefs_instance *top, const char *set_event, const char *event,
			   const char *file)
{
	int dir = (int)(basename(set_event) - set_event);
	int system = (int)strcspn(event, ":");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*sevents/%.*s/%s/%s", dir, set_event, system, event,
		 event + system + !!event[system], file);
	return tracefs_instance_file_read(top, path, NULL);
}

/*
 * Is the event enabled for histograms alone, which need neither the clock nor the buffer? Then it
 * leaves no record, and its enable reads "0*".
 */
static bool is_only_counted(struct tracefs_instance *top, const char *set_event, const char *event)
{
	char *enable = read_of_event(top, set_event, event, "enable");
	char *triggers = read_of_event(top, set_event, event, "trigger"), *save;
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

/* set_event lists events with histograms too, but written back to it they would leave records. */
static void drop_only_counted(struct tracefs_instance *top, const char *path, char *value)
{
	char *end = value, *next;

	for (char *event = value; *event; event = next) {
		size_t length = strcspn(event, "\n");

		next = event + length + 1;
		event[length] = '\0';
		if (is_only_counted(top, path, event))
			continue;
		memmove(end, event, length);
		end += length;
		*end++ = '\n';
	}
	*end = '\0';
}

static int read_setting(struct tracefs_instance *top, enum setting_kind kind, const char *path,
			char **ret_value)
{
	char *text;

	errno = 0;
	text = tracefs_instance_file_read(top, path, NULL);
	/* An empty file is NULL as well. */
	if (!text && errno)
		return -errno;
	*ret_value = setting_parse(kind, text ? text : "");
	free(text);
	return *ret_value ? 0 : -ENOMEM;
}

static int read_directory(struct tracefs_instance *top, const char *path, char **ret_value)
{
	*ret_value = strdup(tracefs_dir_exists(top, path) ? SETTING_PRESENT : SETTING_ABSENT);
	return *ret_value ? 0 : -ENOMEM;
}

static int read_events(struct tracefs_instance *top, const char *path, char **ret_value)
{
	int ret = read_setting(top, SETTING_EVENTS, path, ret_value);

	if (!ret)
		drop_only_counted(top, path, *ret_value);
	return ret;
}

static int read_buffer_size(struct tracefs_instance *top, const char *path, char **ret_value)
{
	int ret = read_setting(top, SETTING_SIZE, path, ret_value);

	if (ret || strcmp(*ret_value, "0"))
		return ret;
	free(*ret_value);
	return -ENOENT;
}

int setting_read(struct tracefs_instance *top, enum setting_kind kind, const char *path,
		 char **ret_value)
{
	const struct setting_ops *ops = &setting_kinds[kind];

	return ops->read ? ops->read(top, path, ret_value) :
			   read_setting(top, kind, path, ret_value);
}

/* ---- writing ---- */

/* @append: the file has other users' lines, which O_TRUNC would clear. */
static int write_once(struct tracefs_instance *top, const char *path, const char *text, bool append)
{
	int wrote = append ? tracefs_instance_file_append(top, path, text) :
			     tracefs_instance_file_write(top, path, text);

	if (wrote < 0)
		return -errno;
	return wrote == (int)strlen(text) ? 0 : -EIO;
}

/* tracefs_event_enable() compiles a regex over all systems at each call. */
static int write_plain(struct tracefs_instance *top, const char *path, const char *text)
{
	return write_once(top, path, text, false);
}

static int write_filter(struct tracefs_instance *top, const char *path, const char *text)
{
	return write_once(top, path, strcmp(text, "none") ? text : "0", false);
}

/*
 * tracefs_instance_file_write() writes once, but set_ftrace_filter and set_event accept one name a
 * write; tracefs_function_filter() reads the list of all functions again.
 */
static int write_list(struct tracefs_instance *top, const char *path, const char *text)
{
	int fd = tracefs_instance_file_open(top, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = file_write_all(fd, text, strlen(text));
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

static int make_instance(const char *path)
{
	struct tracefs_instance *instance;
	int ret;

	errno = 0;
	instance = tracefs_instance_create(basename(path));
	if (!instance)
		return errno ? -errno : -ENOMEM;
	ret = tracefs_instance_is_new(instance) ? 0 : -EEXIST;
	tracefs_instance_free(instance);
	return ret;
}

static int remove_instance(struct tracefs_instance *top, const char *path)
{
	struct tracefs_instance *instance;
	int ret = 0;

	errno = 0;
	instance = tracefs_instance_alloc(tracefs_instance_get_trace_dir(top), basename(path));
	if (instance && tracefs_instance_destroy(instance) && errno != ENOENT)
		ret = -errno;
	tracefs_instance_free(instance);
	return ret;
}

/*
 * While a ring buffer grows, its writer is the OOM killer's first choice, whatever its score is:
 * set_current_oom_origin() in kernel/trace/ring_buffer.c. So a child is the writer, if there is
 * memory for one. @size: NULL for an instance, which comes with its buffer.
 */
static int write_in_child(struct tracefs_instance *top, const char *path, const char *size)
{
	pid_t child = fork();
	int status, ret;

	if (child <= 0) {
		ret = size ? write_once(top, path, size, false) : make_instance(path);
		if (!child)
			_exit(-ret);
		return ret;
	}
	if (TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ENOMEM;
}

static int write_instance(struct tracefs_instance *top, const char *path, const char *text)
{
	return text ? write_in_child(top, path, NULL) : remove_instance(top, path);
}

/* A size that is not larger needs neither memory nor a child. */
static int write_size(struct tracefs_instance *top, const char *path, const char *text)
{
	char *now = tracefs_instance_file_read(top, path, NULL);
	bool grows = !now || kib_of(now) < kib_of(text);

	free(now);
	return grows ? write_in_child(top, path, text) : write_once(top, path, text, false);
}

/* tracefs_dynevent_create() writes no filter of an event probe. */
static int write_probe(struct tracefs_instance *top, const char *path, const char *text)
{
	static const char events[] = "events/";
	char removal[PATH_MAX];

	if (text)
		return write_once(top, "dynamic_events", text, true);
	if (strncmp(path, events, strlen(events)))
		return -EINVAL;
	snprintf(removal, sizeof(removal), "-:%s\n", path + strlen(events));
	return write_once(top, "dynamic_events", removal, true);
}

static int write_stacktrace(struct tracefs_instance *top, const char *path, const char *text)
{
	if (!text)
		text = "!stacktrace";
	else if (!strcmp(text, SETTING_PRESENT))
		text = "stacktrace";
	return write_once(top, path, text, true);
}

/*
 * A histogram is removed by the line with which the file shows it, but for its state in brackets:
 * "hist:name=...:keys=... if ... [active]".
 */
static int remove_histogram(struct tracefs_instance *top, const char *path)
{
	char *text = tracefs_instance_file_read(top, path, NULL), *removal;
	const char *line = text ? trigger_line(text, OUR_HISTOGRAM) : NULL, *end;
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
	ret = write_once(top, path, removal, true);
	free(removal);
	return ret;
}

static int write_histogram(struct tracefs_instance *top, const char *path, const char *text)
{
	return text ? write_once(top, path, text, true) : remove_histogram(top, path);
}

/* ---- the table ---- */

/* A task that has exited is gone from its list. */
static bool is_rest_of_list(const char *wrote, const char *now)
{
	return is_part_of_lists(wrote, "", now);
}

#define NUMBER_OPS    .same = same_numbers, .ours = kernel_has_word
#define DIRECTORY_OPS .directory = true, .read = read_directory
#define LIST_OPS      .lines = true, .same = same_lists, .part = is_part_of_lists, .write = write_list

/*
 * "7 (expanded: 1408)" and 1408 are the same size but not the same buffer. On 5.10 and 6.1 a tracer
 * that an instance refuses marks the top-level buffer as expanded while it has 7 KiB, which then never
 * grows by itself. So a size is always written. A list of threads is noted because it changes by itself.
 */
const struct setting_ops setting_kinds[SETTING_KINDS] = {
	[SETTING_WORD] = { .begin = "[", .ends = "]", .write = write_plain },
	[SETTING_NUMBER] = { NUMBER_OPS, .write = write_plain },
	[SETTING_SIZE] = { .begin = "expanded:",
			   .ends = ")",
			   .read = read_buffer_size,
			   NUMBER_OPS,
			   .always = true,
			   .accepted = is_rounded_size,
			   .write = write_size },
	[SETTING_LIST] = { .keep = keep_function, LIST_OPS },
	[SETTING_EVENTS] = { .read = read_events, LIST_OPS },
	[SETTING_PIDS] = { .keep = keep_pid, LIST_OPS, .any = true, .ours = is_rest_of_list },
	[SETTING_FILTER] = { .write = write_filter },
	[SETTING_ENABLE] = { .begin = "",
			     .ends = "*",
			     .ours = kernel_has_word,
			     .write = write_plain },
	[SETTING_TRACER] = { .write = write_plain },
	[SETTING_INSTANCE] = { DIRECTORY_OPS, .write = write_instance },
	[SETTING_PROBE] = { DIRECTORY_OPS, .write = write_probe },
	[SETTING_TRIGGER] = { .trigger = "stacktrace:",
			      .ours = kernel_has_word,
			      .write = write_stacktrace },
	[SETTING_THREADS] = { .keep = keep_pid, LIST_OPS, .any = true, .always = true },
	[SETTING_MASK] = { .write = write_plain },
	[SETTING_HISTOGRAM] = { .trigger = OUR_HISTOGRAM,
				.ours = kernel_has_word,
				.write = write_histogram },
};

bool setting_same(enum setting_kind kind, const char *one, const char *other)
{
	const struct setting_ops *ops = &setting_kinds[kind];

	return ops->same ? ops->same(one, other) : !strcmp(one, other);
}

bool setting_accepted(enum setting_kind kind, const char *value, const char *now)
{
	const struct setting_ops *ops = &setting_kinds[kind];

	if (ops->any)
		return true;
	return ops->accepted ? ops->accepted(value, now) : setting_same(kind, value, now);
}

bool setting_is_ours(enum setting_kind kind, const char *wrote, const char *now)
{
	const struct setting_ops *ops = &setting_kinds[kind];

	return ops->ours ? ops->ours(wrote, now) : setting_accepted(kind, wrote, now);
}

bool setting_is_part(enum setting_kind kind, const char *wrote, const char *found, const char *now)
{
	const struct setting_ops *ops = &setting_kinds[kind];

	return ops->part && ops->part(wrote, found, now);
}
