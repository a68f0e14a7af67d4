// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A capture's files, and the names that come from them. An input is some of its files, each after a
 * line of a byte 0x1c and the name; the others are those of a fixture.
 */
#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/capture/read.h"
#include "allocfilt/names/shrinkers.h"
#include "allocfilt/record/decode.h"
#include "fuzz.h"

#define FIXTURE	    "fixtures/kept"
#define MARK	    0x1c
#define NUMBERS_MAX 40 /* of an input: they are looked up as tasks, cgroups, addresses, devices */

static const struct {
	const char *name;
	size_t size; /* bytes of the fixture's that are used; the rest is more of the same */
} files[] = {
	{ "capture", 4096 },
	{ "cgroups", 512 },
	{ "current_tracer", 512 },
	{ "events/compaction/mm_compaction_begin/format", 4096 },
	{ "events/ftrace/funcgraph_exit/format", 4096 },
	{ "events/header_page", 4096 },
	{ "events/vmscan/mm_shrink_slab_start/format", 4096 },
	{ "kallsyms", 2048 },
	{ "mountinfo", 512 },
	{ "per_cpu/cpu0/trace_pipe_raw", 4096 },
	{ "per_cpu/cpu1/trace_pipe_raw", 0 },
	{ "available_filter_functions", 512 },
	{ "saved_cmdlines", 512 },
	{ "set_ftrace_filter", 512 },
	{ "tasks", 512 },
	{ "trace_clock", 512 },
	{ "tracing_thresh", 512 },
};

static char root[] = "/dev/shm/allocfilt-fuzz-XXXXXX";
static bool is_changed[ARRAY_SIZE(files)];

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	PROMISED(!system(command));
}

static void put(const char *name, const void *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	PROMISED(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void put_own(size_t file)
{
	int fd;
	char path[128], text[4096];
	ssize_t size;

	snprintf(path, sizeof(path), FIXTURE "/%s", files[file].name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	PROMISED(fd >= 0);
	size = read(fd, text, files[file].size);
	close(fd);
	put(files[file].name, text, size > 0 ? (size_t)size : 0);
	is_changed[file] = false;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	log_set_level(LOG_LEVEL_ERROR);
	PROMISED(mkdtemp(root));
	atexit(clean_up);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put_own(i);
	return 0;
}

/* Takes a part of the input: the bytes up to the next mark. */
static void take_file(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	size_t length = newline ? (size_t)(newline - data) : size;

	for (size_t i = 0; newline && i < ARRAY_SIZE(files); i++) {
		if (strlen(files[i].name) != length || memcmp(files[i].name, data, length))
			continue;
		put(files[i].name, newline + 1, size - length - 1);
		is_changed[i] = true;
	}
}

static void take_files(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;

	while (data < end) {
		const uint8_t *next = memchr(data, MARK, (size_t)(end - data));

		take_file(data, (size_t)((next ? next : end) - data));
		data = next ? next + 1 : end;
	}
}

static void look_up(struct resolver *resolver, uint64_t number, uint64_t before)
{
	struct shrinker_names *names = resolver_superblocks(resolver);
	struct record record = {
		.kind = RECORD_SUPERBLOCK,
		.raw = "name",
		.raw_size = 5,
		.superblock = { .shrinker = number,
				.device = (uint32_t)(before << 20 | (number & 0xfffff)),
				.name_length = 4 },
	};
	char text[SHRINKER_LABEL_MAX], *exact = malloc(20);
	const struct task_info *task;
	int superblock;

	PROMISED(strlen(resolver_task_name(resolver, (int)number, 1)) < TASK_COMM_MAX);
	task = resolver_task(resolver, (int)number, 1);
	PROMISED(strnlen(task->cgroup, TASK_CGROUP_MAX) < TASK_CGROUP_MAX &&
		 strnlen(task->process, TASK_COMM_MAX) < TASK_COMM_MAX);
	cgroups_path(resolver_cgroups(resolver), number);
	PROMISED(resolver_symbol(resolver, number, 's', text, sizeof(text)) == (int)strlen(text));
	PROMISED(resolver_symbol(resolver, number + before % 4096, 'S', exact, 20) ==
		 (int)strlen(exact));
	free(exact);
	PROMISED(resolver_function(resolver, number) <= number);
	resolver_role(resolver, number);
	resolver_sleeps_in(resolver, (uint64_t[]){ before, number }, 2);
	shrinker_names_see(names, &record);
	record.fields = (struct record_fields){ .shrinker = number, .callback = before };
	superblock = shrinker_names_superblock(names, &record);
	shrinker_names_label(names, superblock, text, sizeof(text));
	resolver_shrinker(resolver, number, before, text, sizeof(text));
}

/* What is in a file is found by its numbers. */
static void look_up_all(struct resolver *resolver, const char *text)
{
	uint64_t before = 0, number;

	for (int i = 0; *text && i < NUMBERS_MAX; i++) {
		char *end;

		while (*text && !isxdigit((unsigned char)*text))
			text++;
		number = strtoull(text, &end, 10);
		look_up(resolver, number, before);
		before = number;
		if (isxdigit((unsigned char)*end))
			look_up(resolver, strtoull(text, &end, 16), before);
		text = end;
	}
}

static void use_record(struct resolver *resolver, struct decode *decode, struct record *record)
{
	char text[512];

	resolver_see(resolver, record);
	if (record->kind == RECORD_WINDOW || record->kind == RECORD_EVENT)
		decode_fields(decode, record);
	if (record->kind == RECORD_WINDOW)
		resolver_role(resolver, record->window.function);
	if (record->kind == RECORD_STACK)
		resolver_sleeps_in(resolver, record->frames.at, record->frames.count);
	resolver_event(resolver, record, NULL, text, sizeof(text));
	resolver_task_name(resolver, record->tid, record->ts);
}

struct reader {
	struct capture *capture;
	const struct page_layout *layout;
};

static int read_page(void *context, int place, uint64_t *newest, struct page_content *content)
{
	const struct reader *reader = context;
	struct capture_page page;

	if (!capture_read(reader->capture, place, &page))
		return 0;
	if (page_check(reader->layout, page.data, page.length, content) > PAGE_EMPTY ||
	    !page_in_order(content, page.next_ts, newest))
		*content = (struct page_content){ .lost = RECORD_LOST_UNKNOWN };
	return 1;
}

static void read_records(struct capture *capture, const struct plan *plan,
			 struct resolver *resolver)
{
	const struct data_source *source = capture_source(capture);
	struct reader reader = { capture, &source->layout };
	struct decode *decode = decode_new(source);
	struct merge *merge = merge_new(&source->cpus, &source->layout,
					&(struct page_source){ read_page, &reader });
	struct record record;
	struct raw_record raw;

	for (int i = 0; i < plan->nr_events; i++)
		decode_read_format(decode, i, plan->events[i].id, plan->events[i].system,
				   plan->events[i].name);
	decode_read_format(decode, DECODE_FUNCGRAPH_EXIT, EVENT_USER, "ftrace", "funcgraph_exit");
	decode_read_format(decode, DECODE_STACK, EVENT_USER, "ftrace", "kernel_stack");
	while (merge_next(merge, &raw) > 0)
		if (decode_record(decode, &raw, &record))
			use_record(resolver, decode, &record);
	merge_free(merge);
	decode_free(decode);
}

static void read_capture(const char *text)
{
	static const char *const formats[] = { "trace", NULL };
	struct plan_request request = { .threshold = 1000, .off_cpu = true };
	struct failure failure = { 0 };
	struct resolver *resolver;
	struct plan_offer offer;
	struct capture *capture;
	struct options options;
	struct plan *plan;
	char **arguments;
	int count;

	if (capture_open(&capture, root, &failure)) {
		PROMISED(failure.status == EXIT_STATUS_USAGE && failure.text[0]);
		return;
	}
	arguments = arguments_of("allocfilt --stack", &count);
	PROMISED(!options_parse(&options, count, arguments, formats, &failure));
	capture_offer(capture, &offer);
	if (!plan_make(&plan, &request, &offer, &failure)) {
		PROMISED(!resolver_new(&resolver, plan, capture_source(capture), &options,
				       &failure));
		read_records(capture, plan, resolver);
		look_up_all(resolver, text);
		resolver_free(resolver);
		plan_free(plan);
	}
	options_free(&options);
	free_arguments(arguments);
	capture_close(capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	take_files(data, size);
	read_capture(text);
	free(text);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (is_changed[i])
			put_own(i);
	return 0;
}
