// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace.dat: its header, options and sections, compressed or not, and where its pages are. */
#include <fcntl.h>

#include "allocfilt/capture.h"
#include "allocfilt/record.h"
#include "fuzz.h"

static char path[] = "/dev/shm/allocfilt-fuzz-XXXXXX";

static void clean_up(void)
{
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int fd = mkstemp(path);

	log_set_level(LOG_LEVEL_ERROR);
	PROMISED(fd >= 0);
	close(fd);
	atexit(clean_up);
	return 0;
}

static size_t room(void *context, int cpu)
{
	return 4;
}

static int take_page(void *context, int cpu, const void *page, size_t length, bool last)
{
	const struct data_source *source = capture_source(context);
	struct page_content content;
	void *copy = exact_copy(page, length);

	PROMISED(length && length <= source->layout.size);
	PROMISED(cpu_list_place(&source->cpus, cpu) >= 0);
	page_check(&source->layout, copy, length, &content);
	free(copy);
	return 0;
}

static void left_with_data(void *context, int cpu)
{
}

static int ignore_event(void *context, const char *system, const char *name)
{
	PROMISED(*system && *name && !strchr(system, '/') && !strchr(name, '/'));
	return 0;
}

static void read_texts(const struct data_source *source)
{
	static const char *const names[] = { "kallsyms", "saved_cmdlines", "printk_formats",
					     "set_ftrace_filter", "nothing" };
	size_t length;
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!source_read(source, names[i], &text, &length))
			free(text);
	source_events(source, ignore_event, NULL);
}

static bool never(void *context)
{
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct source_sink sink = { NULL, room, take_page, left_with_data };
	struct capture *capture;
	struct failure failure;

	PROMISED(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (capture_open(&capture, path, &failure)) {
		PROMISED(*failure.text && failure.status <= EXIT_STATUS_USAGE);
		return 0;
	}
	sink.context = capture;
	read_texts(capture_source(capture));
	capture_find_traced(capture, never, NULL);
	for (int round = 0; round < 100 && capture_round(capture, &sink) > 0; round++)
		;
	capture_close(capture);
	return 0;
}
