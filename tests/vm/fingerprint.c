// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print all settings of the tracing directory, for a comparison of before and after; linked
 * statically for the virtual machine.
 *
 *   fingerprint [-a] [DIR]
 *
 * Name and content of every readable file, and of the others why they are not, but for what the
 * kernel moves by itself (sizes of buffers, stats, saved_cmdlines, touched_functions, error_log,
 * the buffers' own contents) and what consumes or waits when it is read. Without -a also what does
 * not change in a boot (format, id, lists of what is available) and the single events of systems
 * that the tests never set: these are most of the files, and events/SYSTEM/enable tells of an event
 * that is on. With -a there are a length and a checksum for each content.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const moved_by_the_kernel[] = {
	"buffer_size_kb",
	"buffer_total_size_kb",
	"stats",
	"saved_cmdlines",
	"touched_functions",
	"error_log",
	"trace",
	"trace_pipe*",
	"snapshot*",
	"free_buffer",
	"trace_marker*",
	"inject",
	NULL,
};

static const char *const the_same_in_a_boot[] = {
	"format", "id",		"available_*", "printk_formats", "README", "saved_tgids",
	"hist",	  "hist_debug", NULL,
};

/* Directories of events/ that are looked into without -a: what allocfilt or a test may set. */
static const char *const systems[] = {
	"vmscan", "compaction", "sched",  "raw_syscalls", "kmem",
	"task",	  "*alloc*",	"other*", "?probes",	  NULL,
};

static bool all;
static char content[1 << 16];

static bool is_one_of(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return true;
	return false;
}

/* FNV-1a */
static uint64_t add_to_sum(uint64_t sum, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
	return sum;
}

static void print_content(const char *path, int fd)
{
	uint64_t sum = 0xcbf29ce484222325u;
	size_t length = 0;
	ssize_t got;

	if (!all)
		printf("==> %s <==\n", path);
	while ((got = read(fd, content, sizeof(content))) > 0) {
		length += got;
		if (all)
			sum = add_to_sum(sum, content, got);
		else
			fwrite(content, 1, got, stdout);
	}
	if (all)
		printf("%s: %zu bytes, %016llx\n", path, length, (unsigned long long)sum);
	else
		putchar('\n');
	if (got < 0)
		printf("%s: read: %s\n", path, strerror(errno));
}

static void print_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0) {
		printf("%s: %s\n", path, strerror(errno));
		return;
	}
	print_content(path, fd);
	close(fd);
}

static int is_looked_at(const struct dirent *entry)
{
	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return false;
	return !is_one_of(entry->d_name, moved_by_the_kernel) &&
	       (all || !is_one_of(entry->d_name, the_same_in_a_boot));
}

/* One of events/SYSTEM/EVENT, at the top level or in an instance? */
static bool is_single_event(const char *dir)
{
	const char *system = strstr(dir, "/events/");

	return system && !strchr(system + strlen("/events/"), '/') &&
	       !is_one_of(system + strlen("/events/"), systems);
}

static void print_directory(const char *dir);

static void print_entry(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (lstat(path, &status) < 0)
		printf("%s: %s\n", path, strerror(errno));
	else if (!S_ISDIR(status.st_mode))
		print_file(path);
	else if (all || !is_single_event(dir))
		print_directory(path);
}

static void print_directory(const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_looked_at, alphasort);

	printf("%s/\n", dir);
	if (count < 0) {
		printf("%s: %s\n", dir, strerror(errno));
		return;
	}
	for (int i = 0; i < count; i++) {
		print_entry(dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	const char *dir;

	all = argc > 1 && !strcmp(argv[1], "-a");
	dir = argc > 1 + all ? argv[1 + all] : "/sys/kernel/tracing";
	if (chdir(dir) < 0) {
		fprintf(stderr, "fingerprint: %s: %s\n", dir, strerror(errno));
		return 1;
	}
	print_directory(".");
	return 0;
}
