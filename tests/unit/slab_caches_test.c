// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names.h"
#include "test_directory.h"
#include "unit_test.h"

static void put_cache(const char *name, const char *object_size, const char *slab_size)
{
	char path[128];

	snprintf(path, sizeof(path), "slab/%s/object_size", name);
	put_text(path, object_size);
	snprintf(path, sizeof(path), "slab/%s/slab_size", name);
	put_text(path, slab_size);
}

static void put_link(const char *name, const char *target)
{
	char path[128];

	snprintf(path, sizeof(path), "slab/%s", name);
	assert_int_equal(symlink(target, test_path(path)), 0);
}

static void check(uint64_t object_size, uint64_t size, const char *expected)
{
	struct slab_caches *caches = slab_caches_new(test_path("slab"));
	const char *name;

	assert_non_null(caches);
	name = slab_caches_name(caches, object_size, size);
	if (expected && name)
		assert_string_equal(name, expected);
	assert_int_equal(!name, !expected);
	slab_caches_free(caches);
}

static void test_names(void **state)
{
	check(192, 192, NULL); /* no directory: no caches */
	put_cache("dentry", "192\n", "192\n");
	put_cache("ext4_inode_cache", "1184\n", "1192\n");
	check(192, 192, "dentry");
	check(1184, 1192, "ext4_inode_cache");
	check(1184, 1184, NULL);
	check(192, 200, NULL);
	check(0, 0, NULL);
	/* two of one size */
	put_cache("other", "192\n", "192\n");
	check(192, 192, NULL);
	check(1184, 1192, "ext4_inode_cache");
}

/* The directory has a number, the name is a link. One that was merged from several has no name of its own. */
static void test_merged(void **state)
{
	put_cache(":0000048", "40\n", "48\n");
	check(40, 48, NULL);
	put_link("mnt_cache", ":0000048");
	check(40, 48, "mnt_cache");
	put_link("kioctx", ":0000048");
	check(40, 48, NULL);
	put_link("zswap", ":0000048");
	check(40, 48, NULL);
	put_cache(":a-0000056", "56\n", "56\n");
	put_link("ext4_groupinfo", ":a-0000056");
	put_link("lost", ":0000064");
	check(56, 56, "ext4_groupinfo");
	check(40, 48, NULL);
}

/* What cannot be read is no cache, and does no harm to the others. */
static void test_odd(void **state)
{
	char name[80];

	put_cache("good", "24\n", "32\n");
	put_cache("empty", "", "");
	put_cache("words", "many\n", "32\n");
	put_text("slab/half/object_size", "64\n");
	put_text("slab/file", "64\n");
	memset(name, 'x', sizeof(name) - 1);
	name[64] = '\0';
	put_cache(name, "25\n", "32\n");
	name[63] = '\0';
	put_cache(name, "26\n", "32\n");
	put_link("far",
		 "../../../../../../../../../../../../../../../../../../../../../../../../nowhere");
	check(24, 32, "good");
	check(0, 32, NULL);
	check(64, 0, NULL);
	check(25, 32, NULL);
	check(26, 32, name);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, make_test_directory, remove_test_directory)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_names), TEST(test_merged), TEST(test_odd) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
