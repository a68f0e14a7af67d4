// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The undo file, and how the values in it compare. Nothing is restored: the tracing directory is an
 * empty one that seems to be on tracefs.
 */
#undef _FILE_OFFSET_BITS /* statfs and statfs64 are two names here */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "fuzz.h"
#include "tracing/undo.h"

#define MAGIC "allocfilt-undo"

static char root[] = "/dev/shm/allocfilt-fuzz-XXXXXX";
static char tracing_dir[64];
static char first_line[256];

int statfs64(const char *path, struct statfs64 *found)
{
	memset(found, 0, sizeof(*found));
	found->f_type = strcmp(path, tracing_dir) ? TMPFS_MAGIC : TRACEFS_MAGIC;
	return 0;
}

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	PROMISED(!system(command));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *boot_id = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[64];

	PROMISED(boot_id && fscanf(boot_id, "%63s", boot) == 1 && mkdtemp(root));
	fclose(boot_id);
	atexit(clean_up);
	snprintf(tracing_dir, sizeof(tracing_dir), "%s/tracing", root);
	PROMISED(!mkdir(tracing_dir, 0700));
	snprintf(first_line, sizeof(first_line), MAGIC " 3 %s 7 %s\n", boot, tracing_dir);
	return 0;
}

/* An input is either all of the file, or what comes between its first and its last line. */
static void put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool whole = size >= strlen(MAGIC) && !memcmp(data, MAGIC, strlen(MAGIC));

	PROMISED(fd >= 0);
	if (!whole)
		PROMISED(write(fd, first_line, strlen(first_line)) > 0);
	PROMISED(write(fd, data, size) == (ssize_t)size);
	if (!whole)
		PROMISED(write(fd, "end\n", 4) == 4);
	close(fd);
}

static void compare(const struct setting *setting)
{
	char *value = setting_parse(setting->kind, setting->found);

	PROMISED(value);
	setting_accepted(setting->kind, value, setting->wrote);
	setting_is_ours(setting->kind, setting->wrote, value);
	setting_is_part(setting->kind, setting->found, setting->wrote, value);
	free(value);
}

static void assert_same(const struct settings *one, const struct settings *other)
{
	PROMISED(one->count == other->count);
	for (int i = 0; i < one->count; i++) {
		const struct setting *a = &one->setting[i], *b = &other->setting[i];

		PROMISED(a->kind == b->kind && a->verified == b->verified);
		PROMISED(!strcmp(a->path, b->path) && !strcmp(a->found, b->found) &&
			 !strcmp(a->wrote, b->wrote));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char run_dir[64], path[80];
	struct settings settings, again;
	struct failure failure;
	struct undo *undo;
	int pid;

	snprintf(run_dir, sizeof(run_dir), "%s/run", root);
	snprintf(path, sizeof(path), "%s/undo", run_dir);
	PROMISED(!undo_open(&undo, run_dir, root, &failure));
	put(path, data, size);
	if (!undo_load(undo, &settings, &pid, &failure)) {
		for (int i = 0; i < settings.count; i++)
			compare(&settings.setting[i]);
		/* What is noted again reads the same. */
		PROMISED(!undo_note(undo, &settings));
		PROMISED(!undo_load(undo, &again, &pid, &failure));
		assert_same(&settings, &again);
		settings_free(&again);
		settings_free(&settings);
	}
	undo_close(undo);
	return 0;
}
