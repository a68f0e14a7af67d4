// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace.dat: its header, options and sections, compressed or not, and where its pages are. */
#include <fcntl.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/log.h"
#include "allocfilt/capture/read.h"
#include "fuzz.h"

#define PAGES_MAX 3200 /* of a CPU that are read */

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

static void read_pages(struct capture *capture)
{
	const struct data_source *source = capture_source(capture);
	struct capture_page page;
	struct page_content content;

	for (int place = 0; place < source->cpus.count; place++)
		for (int i = 0; i < PAGES_MAX && capture_read(capture, place, &page); i++) {
			void *copy = exact_copy(page.data, page.length);

			PROMISED(page.length && page.length <= source->layout.size);
			page_check(&source->layout, copy, page.length, &content);
			free(copy);
		}
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
	struct capture *capture;
	struct failure failure;

	PROMISED(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (capture_open(&capture, path, &failure)) {
		PROMISED(*failure.text && failure.status <= EXIT_STATUS_USAGE);
		return 0;
	}
	read_texts(capture_source(capture));
	capture_find_traced(capture, never, NULL);
	read_pages(capture);
	capture_close(capture);
	return 0;
}
