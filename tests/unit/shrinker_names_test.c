// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocfilt/names.h"

#define SUPERBLOCKS 0x1000 /* address of super_cache_scan */
#define OTHER	    0x2000

static const char mountinfo[] = "23 1 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
				"27 1 0:22 /part /bind rw shared:3 - tmpfs tmpfs rw\n"
				"28 1 0:22 / /tmp rw shared:4 master:1 - tmpfs tmpfs rw\n"
				"29 1 0:22 / /again rw - tmpfs tmpfs rw\n"
				"30 1 0:23 / /with\\040space rw - tmpfs tmpfs rw\n"
				"31 1 0:24 /only/part /part rw - tmpfs tmpfs rw\n"
				"no mount at all\n"
				"32 1 254:0 / /mnt/\x1b[2J rw - ext4 /dev/vda rw\n";

static int symbol(void *context, uint64_t address, char style, char *text, size_t size)
{
	(void)context;
	assert_int_equal(style, 's');
	if (address == SUPERBLOCKS)
		return snprintf(text, size, "super_cache_scan");
	if (address == OTHER)
		return snprintf(text, size, "ext4_es_scan [ext4]");
	return snprintf(text, size, "0x%llx", (unsigned long long)address);
}

static char mounts_path[] = "/tmp/allocfilt-mounts-XXXXXX";

static int make_mounts(void **state)
{
	int fd = mkstemp(mounts_path);

	(void)state;
	if (fd < 0 || write(fd, mountinfo, sizeof(mountinfo) - 1) != sizeof(mountinfo) - 1)
		return -1;
	return close(fd);
}

static int remove_mounts(void **state)
{
	(void)state;
	return unlink(mounts_path);
}

static struct shrinker_names *new_names(void)
{
	struct shrinker_names *names = shrinker_names_new(mounts_path, symbol, NULL);

	assert_non_null(names);
	return names;
}

static void see_as(struct shrinker_names *names, uint64_t shrinker, const char *name,
		   uint32_t major, uint32_t minor, uint64_t callback)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .raw = name };

	record.superblock.shrinker = shrinker;
	record.superblock.callback = callback;
	record.superblock.device = major << 20 | minor;
	record.superblock.name_length = (uint16_t)strlen(name);
	shrinker_names_see(names, &record);
}

static void see(struct shrinker_names *names, uint64_t shrinker, const char *name, uint32_t major,
		uint32_t minor)
{
	see_as(names, shrinker, name, major, minor, SUPERBLOCKS);
}

static int superblock(struct shrinker_names *names, uint64_t shrinker)
{
	struct record record = {
		.fields = { .shrinker = shrinker, .callback = SUPERBLOCKS },
	};

	return shrinker_names_superblock(names, &record);
}

static void expect(struct shrinker_names *names, uint64_t shrinker, const char *label)
{
	char text[SHRINKER_LABEL_MAX];

	assert_int_equal(shrinker_names_label(names, superblock(names, shrinker), text,
					      sizeof(text)),
			 strlen(label));
	assert_string_equal(text, label);
}

static void test_named(void **state)
{
	struct shrinker_names *names = new_names();

	(void)state;
	assert_false(shrinker_names_unavailable(names));
	see(names, 0x100, "vda", 254, 0);
	see_as(names, 0x200, "vdb", 254, 16, 0);
	expect(names, 0x100, "super_cache_scan[vda]");
	expect(names, 0x200, "super_cache_scan[vdb]");
	assert_false(shrinker_names_unavailable(names));
	shrinker_names_free(names);
	shrinker_names_free(NULL);
}

/* The first pair of a superblock may be over before the probe tells its name (5.10). */
static void test_named_late(void **state)
{
	struct shrinker_names *names = new_names();
	int number;

	(void)state;
	expect(names, 0x100, "super_cache_scan[0x100]");
	number = superblock(names, 0x100);
	assert_true(shrinker_names_unavailable(names));
	see(names, 0x100, "vda", 254, 0);
	assert_int_equal(superblock(names, 0x100), number);
	expect(names, 0x100, "super_cache_scan[vda]");
	shrinker_names_free(names);
}

static void test_shared_name(void **state)
{
	struct shrinker_names *names = new_names();

	(void)state;
	see(names, 0x100, "tmpfs", 0, 22);
	expect(names, 0x100, "super_cache_scan[tmpfs]");
	see(names, 0x200, "tmpfs", 0, 23);
	see(names, 0x300, "tmpfs", 0, 24);
	see(names, 0x400, "tmpfs", 0, 99);
	see(names, 0x500, "vda", 254, 0);
	expect(names, 0x100, "super_cache_scan[tmpfs 0:22 /tmp]");
	expect(names, 0x200, "super_cache_scan[tmpfs 0:23 /with\\040space]");
	expect(names, 0x300, "super_cache_scan[tmpfs 0:24 /part]");
	expect(names, 0x400, "super_cache_scan[tmpfs 0:99]");
	expect(names, 0x500, "super_cache_scan[vda]");
	assert_string_equal(shrinker_names_of(names, 0x100), "tmpfs 0:22 /tmp");
	assert_string_equal(shrinker_names_of(names, 0x500), "vda");
	assert_null(shrinker_names_of(names, 0x600));
	shrinker_names_free(names);
}

static void test_address_comes_back(void **state)
{
	struct shrinker_names *names = new_names();
	char text[SHRINKER_LABEL_MAX];
	int before, after;

	(void)state;
	see(names, 0x100, "vda", 254, 0);
	before = superblock(names, 0x100);
	see(names, 0x100, "vda", 254, 0);
	assert_int_equal(superblock(names, 0x100), before);
	see(names, 0x100, "sr0", 11, 0);
	after = superblock(names, 0x100);
	assert_int_not_equal(after, before);
	shrinker_names_label(names, before, text, sizeof(text));
	assert_string_equal(text, "super_cache_scan[vda]");
	shrinker_names_label(names, after, text, sizeof(text));
	assert_string_equal(text, "super_cache_scan[sr0]");
	see(names, 0x100, "vda", 254, 0);
	assert_int_not_equal(superblock(names, 0x100), before);
	expect(names, 0x100, "super_cache_scan[vda 254:0 /mnt/?[2J]");
	shrinker_names_free(names);
}

/* A probe without a filter tells of shrinkers that are no superblocks'. */
static void test_not_a_superblock(void **state)
{
	struct shrinker_names *names = new_names();

	(void)state;
	see_as(names, 0x100, "noise", 1, 2, OTHER);
	see_as(names, 0x200, "", 1, 2, SUPERBLOCKS);
	superblock(names, 0x200);
	assert_true(shrinker_names_unavailable(names));
	assert_int_equal(shrinker_names_superblock(
				 names, &(struct record){ .fields = { .shrinker = 0x100,
								      .callback = OTHER } }),
			 -1);
	shrinker_names_free(names);
}

static void test_control_characters(void **state)
{
	struct shrinker_names *names = new_names();

	(void)state;
	see(names, 0x100, "\x1b[31m\x7f\n", 0, 1);
	expect(names, 0x100, "super_cache_scan[?[31m??]");
	shrinker_names_free(names);
}

static void test_full(void **state)
{
	struct shrinker_names *names = new_names();

	(void)state;
	for (uint64_t i = 0; i < SHRINKER_NAMES_MAX; i++)
		assert_int_equal(superblock(names, 0x1000 + 64 * i), i);
	assert_int_equal(shrinker_names_overflow(names), 0);
	assert_int_equal(superblock(names, 0x10), -1);
	see(names, 0x20, "vda", 254, 0);
	assert_int_equal(shrinker_names_overflow(names), 2);
	for (uint64_t i = 0; i < SHRINKER_NAMES_MAX; i++)
		assert_int_equal(superblock(names, 0x1000 + 64 * i), i);
	/* An address that is reused is not the old one's any longer. */
	see(names, 0x1000, "vda", 254, 0);
	assert_int_equal(superblock(names, 0x1000), 0);
	see(names, 0x1000, "vdb", 254, 16);
	assert_int_equal(superblock(names, 0x1000), -1);
	shrinker_names_free(names);
}

static void test_cut(void **state)
{
	struct shrinker_names *names = new_names();
	char text[8];

	(void)state;
	see(names, 0x100, "vda", 254, 0);
	assert_int_equal(shrinker_names_label(names, 0, text, sizeof(text)), 7);
	assert_string_equal(text, "super_c");
	assert_int_equal(shrinker_names_label(names, 0, text, 0), 0);
	assert_int_equal(shrinker_names_label(names, 1, text, sizeof(text)), 0);
	assert_int_equal(shrinker_names_label(names, -1, text, sizeof(text)), 0);
	shrinker_names_free(names);
}

/* The same before and after another one has the name, which changes the label. */
static void test_parts(void **state)
{
	struct shrinker_names *names = new_names();
	struct shrinker_names *without = shrinker_names_new("/nowhere", symbol, NULL);
	struct superblock_name parts;
	int first, unnamed;

	(void)state;
	see(names, 0x100, "tmpfs", 0, 23);
	first = superblock(names, 0x100);
	unnamed = superblock(names, 0x200);
	for (int i = 0; i < 2; i++) {
		assert_true(shrinker_names_parts(names, first, &parts));
		assert_string_equal(parts.name, "tmpfs");
		assert_int_equal(parts.major, 0);
		assert_int_equal(parts.minor, 23);
		assert_string_equal(parts.mount, "/with\\040space");
		see(names, 0x300, "tmpfs", 0, 22);
	}
	see(names, 0x400, "vda", 254, 17);
	assert_true(shrinker_names_parts(names, superblock(names, 0x400), &parts));
	assert_int_equal(parts.major, 254);
	assert_int_equal(parts.minor, 17);
	assert_string_equal(parts.mount, "");
	assert_false(shrinker_names_parts(names, unnamed, &parts));
	assert_false(shrinker_names_parts(names, -1, &parts));
	assert_false(shrinker_names_parts(names, 4, &parts));
	assert_false(shrinker_names_parts(names, SHRINKER_NAMES_MAX, &parts));
	shrinker_names_free(names);
	see(without, 0x100, "tmpfs", 0, 23);
	assert_true(shrinker_names_parts(without, 0, &parts));
	assert_string_equal(parts.mount, "");
	shrinker_names_free(without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_named_late),
		cmocka_unit_test(test_shared_name),
		cmocka_unit_test(test_address_comes_back),
		cmocka_unit_test(test_not_a_superblock),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, make_mounts, remove_mounts);
}
