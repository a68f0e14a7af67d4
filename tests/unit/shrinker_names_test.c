// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/shrinkers.h"
#include "fake_resolver.h"
#include "test_directory.h"
#include "unit_test.h"

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
	assert_int_equal(style, 's');
	if (address == SUPERBLOCKS)
		return snprintf(text, size, "super_cache_scan");
	if (address == OTHER)
		return snprintf(text, size, "ext4_es_scan [ext4]");
	return snprintf(text, size, "0x%llx", (unsigned long long)address);
}

static struct resolver resolver = { .symbol = symbol };
static struct shrinker_names *names;

static int set_up(void **state)
{
	put_text("mountinfo", mountinfo);
	names = shrinker_names_new(file_open(test_directory, "mountinfo", FILE_TEXT_MAX),
				   &resolver);
	return !names;
}

static int tear_down(void **state)
{
	shrinker_names_free(names);
	return 0;
}

static void see_as(uint64_t shrinker, const char *name, uint32_t major, uint32_t minor,
		   uint64_t callback)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .raw = name };

	record.superblock.shrinker = shrinker;
	record.superblock.callback = callback;
	record.superblock.device = major << 20 | minor;
	record.superblock.name_length = (uint16_t)strlen(name);
	shrinker_names_see(names, &record);
}

static void see(uint64_t shrinker, const char *name, uint32_t major, uint32_t minor)
{
	see_as(shrinker, name, major, minor, SUPERBLOCKS);
}

static int superblock(uint64_t shrinker)
{
	struct record record = {
		.fields = { .shrinker = shrinker, .callback = SUPERBLOCKS },
	};

	return shrinker_names_superblock(names, &record);
}

static void expect(uint64_t shrinker, const char *label)
{
	char text[SHRINKER_LABEL_MAX];

	assert_int_equal(shrinker_names_label(names, superblock(shrinker), text, sizeof(text)),
			 strlen(label));
	assert_string_equal(text, label);
}

#define TEST(name) UNIT_TEST_WITH(name, set_up, tear_down)

/* The first pair of a superblock may end before the probe reports its name (5.10). */
TEST(test_named)
{
	int number;

	assert_false(shrinker_names_unavailable(names));
	expect(0x100, "super_cache_scan[0x100]");
	number = superblock(0x100);
	assert_true(shrinker_names_unavailable(names));
	see(0x100, "vda", 254, 0);
	assert_int_equal(superblock(0x100), number);
	expect(0x100, "super_cache_scan[vda]");
	see_as(0x200, "vdb", 254, 16, 0);
	expect(0x200, "super_cache_scan[vdb]");
	see(0x300, "\x1b[31m\x7f\n", 0, 1);
	expect(0x300, "super_cache_scan[?[31m??]");
	assert_false(shrinker_names_unavailable(names));
	shrinker_names_free(NULL);
}

/* NULL: it has none. */
static void expect_parts(int number, const char *name, int major, int minor, const char *mount)
{
	const struct superblock_name *parts = shrinker_names_parts(names, number);

	assert_int_equal(!!parts, !!name);
	if (!parts)
		return;
	assert_string_equal(parts->name, name);
	assert_int_equal(parts->major, major);
	assert_int_equal(parts->minor, minor);
	assert_string_equal(parts->mount, mount);
}

TEST(test_shared_name)
{
	see(0x100, "tmpfs", 0, 22);
	expect(0x100, "super_cache_scan[tmpfs]");
	see(0x200, "tmpfs", 0, 23);
	see(0x300, "tmpfs", 0, 24);
	see(0x400, "tmpfs", 0, 99);
	see(0x500, "vda", 254, 0);
	expect(0x100, "super_cache_scan[tmpfs 0:22 /tmp]");
	expect(0x200, "super_cache_scan[tmpfs 0:23 /with\\040space]");
	expect(0x300, "super_cache_scan[tmpfs 0:24 /part]");
	expect(0x400, "super_cache_scan[tmpfs 0:99]");
	expect(0x500, "super_cache_scan[vda]");
	assert_string_equal(shrinker_names_of(names, 0x100), "tmpfs 0:22 /tmp");
	assert_string_equal(shrinker_names_of(names, 0x500), "vda");
	assert_null(shrinker_names_of(names, 0x600));
}

TEST(test_address_comes_back)
{
	char text[SHRINKER_LABEL_MAX];
	int before, after;

	see(0x100, "vda", 254, 0);
	before = superblock(0x100);
	see(0x100, "vda", 254, 0);
	assert_int_equal(superblock(0x100), before);
	see(0x100, "sr0", 11, 0);
	after = superblock(0x100);
	assert_int_not_equal(after, before);
	shrinker_names_label(names, before, text, sizeof(text));
	assert_string_equal(text, "super_cache_scan[vda]");
	shrinker_names_label(names, after, text, sizeof(text));
	assert_string_equal(text, "super_cache_scan[sr0]");
	/* mounted again, at two addresses in turn: the same one */
	see(0x100, "vda", 254, 0);
	assert_int_equal(superblock(0x100), before);
	see(0x200, "vda", 254, 0);
	assert_int_equal(superblock(0x200), before);
	expect(0x200, "super_cache_scan[vda]");
	/* another tmpfs with the same device number */
	see(0x300, "tmpfs", 0, 23);
	before = superblock(0x300);
	put_text("mountinfo", "30 1 0:23 / /later rw - tmpfs tmpfs rw\n");
	see(0x400, "tmpfs", 0, 23);
	assert_int_not_equal(superblock(0x400), before);
	expect(0x400, "super_cache_scan[tmpfs 0:23 /later]");
}

/* Without a name it was counted at an address; then it turns out to be one that is known. */
TEST(test_named_late_and_known)
{
	int number, unnamed;

	see(0x100, "vda", 254, 0);
	number = superblock(0x100);
	unnamed = superblock(0x200);
	assert_int_not_equal(unnamed, number);
	see(0x200, "vda", 254, 0);
	assert_int_equal(superblock(0x200), number);
	expect(0x200, "super_cache_scan[vda]");
}

/* A probe without a filter also reports shrinkers of no superblock. */
TEST(test_not_a_superblock)
{
	see_as(0x100, "noise", 1, 2, OTHER);
	see_as(0x200, "", 1, 2, SUPERBLOCKS);
	superblock(0x200);
	assert_true(shrinker_names_unavailable(names));
	assert_int_equal(shrinker_names_superblock(
				 names, &(struct record){ .fields = { .shrinker = 0x100,
								      .callback = OTHER } }),
			 -1);
}

#define CHURN	  20000
#define ADDRESSES 3000 /* of shrinkers: they are used again */

/*
 * A year of file systems that come and go, beside one that stays: the newest has its name, the one
 * that stays its number, and no number is that of two.
 */
TEST(test_churn)
{
	static int numbers[CHURN];
	int stays, first;

	see(0x100, "vda", 254, 0);
	stays = first = superblock(0x100);
	for (int i = 0; i < CHURN; i++) {
		uint64_t address = 0x1000 + 64 * (uint64_t)(i % ADDRESSES);
		char name[16], label[64];

		snprintf(name, sizeof(name), "dm-%d", i);
		snprintf(label, sizeof(label), "super_cache_scan[%s]", name);
		see(address, name, 253, i);
		expect(address, label);
		assert_string_equal(shrinker_names_of(names, address), name);
		numbers[i] = superblock(address);
		assert_int_not_equal(numbers[i], stays);
		if (i % 1000 == 0)
			expect(0x100, "super_cache_scan[vda]");
	}
	assert_int_equal(superblock(0x100), first);
	assert_int_equal(shrinker_names_overflow(names), CHURN + 1 - SHRINKER_NAMES_MAX);
	for (int i = 0; i < CHURN; i++) {
		char label[64], text[SHRINKER_LABEL_MAX] = "";
		bool made_room = i < CHURN + 1 - SHRINKER_NAMES_MAX;

		snprintf(label, sizeof(label), "super_cache_scan[dm-%d]", i);
		shrinker_names_label(names, numbers[i], text, sizeof(text));
		assert_string_equal(text, made_room ? "" : label);
	}
}

/* The mounts are read for each of them, for a second of each day. */
TEST(test_mounts_of_every_day)
{
	struct record record = { .kind = RECORD_SUPERBLOCK, .raw = "tmpfs" };
	char *text = malloc(1 << 20), *end = text;

	for (int i = 0; i < 1 << 15; i++)
		end += sprintf(end, "1 1 9:9 / /m rw - a b c\n");
	sprintf(end, "1 1 0:7 / /last rw - tmpfs tmpfs rw\n");
	put_text("mountinfo", text);
	free(text);
	shrinker_names_free(names);
	names = shrinker_names_new(file_open(test_directory, "mountinfo", FILE_TEXT_MAX),
				   &resolver);
	record.superblock.name_length = 5;
	for (int i = 0; i < 200; i++) {
		record.superblock.shrinker = 0x100 + 64 * i;
		record.superblock.device = 1000 + i;
		shrinker_names_see(names, &record);
	}
	record.superblock.shrinker = 0x10;
	record.superblock.device = 7;
	for (int day = 0; day < 2; day++) {
		record.ts = day * 24ull * 3600 * 1000000000;
		shrinker_names_see(names, &record);
		expect_parts(superblock(0x10), "tmpfs", 0, 7, day ? "/last" : "");
		see(0x10, "other", 1, 1);
	}
}

TEST(test_cut)
{
	char text[8];
	int number;

	see(0x100, "vda", 254, 0);
	number = superblock(0x100);
	assert_int_equal(shrinker_names_label(names, number, text, sizeof(text)), 7);
	assert_string_equal(text, "super_c");
	assert_int_equal(shrinker_names_label(names, number, text, 0), 0);
	assert_int_equal(shrinker_names_label(names, number + 1, text, sizeof(text)), 0);
	assert_int_equal(shrinker_names_label(names, -1, text, sizeof(text)), 0);
}

/* The same before and after another one has the name, which changes the label. */
TEST(test_parts)
{
	int first, unnamed;

	see(0x100, "tmpfs", 0, 23);
	first = superblock(0x100);
	unnamed = superblock(0x200);
	for (int i = 0; i < 2; i++) {
		expect_parts(first, "tmpfs", 0, 23, "/with\\040space");
		see(0x300, "tmpfs", 0, 22);
	}
	see(0x400, "vda", 254, 17);
	expect_parts(superblock(0x400), "vda", 254, 17, "");
	expect_parts(unnamed, NULL, 0, 0, NULL);
	expect_parts(-1, NULL, 0, 0, NULL);
	expect_parts(0, NULL, 0, 0, NULL);
	expect_parts(first + SHRINKER_NAMES_MAX, NULL, 0, 0, NULL);
	shrinker_names_free(names);
	names = shrinker_names_new(-ENOENT, &resolver);
	see(0x100, "tmpfs", 0, 23);
	expect_parts(superblock(0x100), "tmpfs", 0, 23, "");
}

UNIT_TEST_MAIN(make_test_directory, remove_test_directory)
