// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include "allocfilt/tracing/kernel.h"
#include "tracing/kernel_look.h"

static struct failure failure;

static int setup(void **state)
{
	fake_make(false);
	fake_put("available_filter_functions",
		 "vfs_read\nshrink_slab.constprop.0\n__alloc_pages\next4_sync_fs [ext4]\n"
		 "shrink_nothing\ntry_to_free_pages\n__alloc_pages");
	memset(&failure, 0, sizeof(failure));
	return 0;
}

static struct kernel *open_one(const struct plan_request *request)
{
	struct kernel *kernel;

	if (kernel_open(&kernel, fake.dir, request, &failure))
		fail_msg("%s", failure.text);
	return kernel;
}

#define TEST(test) UNIT_TEST_WITH(test, setup, fake_teardown)

TEST(test_catalog_functions_with_their_indexes)
{
	static const char *const names[] = { "shrink_slab.constprop.0", "__alloc_pages",
					     "try_to_free_pages", "__alloc_pages" };
	static const unsigned int indexes[] = { 2, 3, 6, 7 };
	struct kernel *kernel = open_one(NULL);

	assert_true(kernel->function_graph);
	assert_string_equal(kernel->dir, fake.dir);
	assert_int_equal(kernel->nr_functions, 4);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(kernel->functions[i], names[i]);
		assert_int_equal(kernel->indexes[i], indexes[i]);
	}
	kernel_close(kernel);
}

/* The undo file names the directory, and is read by processes that are elsewhere. */
TEST(test_directory_with_a_whole_path)
{
	struct kernel *kernel;
	char before[PATH_MAX];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(fake.root), 0);
	assert_int_equal(kernel_open(&kernel, strrchr(fake.dir, '/') + 1, NULL, &failure), 0);
	assert_string_equal(kernel->dir, fake.dir);
	kernel_close(kernel);
	assert_int_equal(chdir(before), 0);
}

TEST(test_patterns)
{
	static char vfs[] = "vfs_*", ext4[] = "ext4_sync_fs";
	char *patterns[] = { vfs, ext4, NULL };
	struct plan_request request = { .functions = patterns };
	struct kernel *kernel = open_one(&request);

	assert_int_equal(kernel->nr_functions, 6);
	assert_string_equal(kernel->functions[0], "vfs_read");
	assert_string_equal(kernel->functions[3], "ext4_sync_fs");
	assert_int_equal(kernel->indexes[3], 4);
	kernel_close(kernel);
}

TEST(test_offered_events)
{
	struct kernel *kernel = open_one(NULL);
	struct plan_offer offer;

	kernel_offer(kernel, &offer);
	assert_true(offer.has_event(offer.context, "vmscan", "mm_shrink_slab_end"));
	assert_false(offer.has_event(offer.context, "vmscan", "mm_shrink_slab"));
	assert_false(offer.has_event(offer.context, "vmscan", ""));
	assert_false(offer.has_event(offer.context, "..", "vmscan/mm_shrink_slab_end"));
	kernel_close(kernel);
}

TEST(test_no_tracing_directory)
{
	struct kernel *kernel;

	assert_int_equal(kernel_open(&kernel, fake.root, NULL, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_TRACEFS);
}

/* To the directory, as under lockdown, or to a single file, as in some containers. */
TEST(test_no_right)
{
	struct kernel *kernel;
	int call = 0;

	do {
		call++;
		assert_in_range(call, 1, 100);
		failure = (struct failure){ 0 };
		fake_fail(call, call, EPERM);
		if (!kernel_open(&kernel, fake.dir, NULL, &failure))
			kernel_close(kernel);
		fake.armed = false;
		if (call > 1 && strcmp(fake_base(fake.last), "available_filter_functions"))
			continue;
		assert_int_equal(failure.status, EXIT_STATUS_NO_TRACEFS);
		if (!geteuid())
			assert_non_null(strstr(failure.text, "lock"));
	} while (strncmp(fake.last, "open ", 5) ||
		 strcmp(fake_base(fake.last), "available_filter_functions"));
	assert_non_null(strstr(failure.text, "available_filter_functions"));
}

TEST(test_words)
{
	assert_true(kernel_has_word("a bc d\n", "d"));
	assert_true(kernel_has_word("a bc d", "bc"));
	assert_true(kernel_has_word("aa a", "a"));
	assert_false(kernel_has_word("abc", "b"));
	assert_false(kernel_has_word("abc", ""));
	assert_false(kernel_has_word("", "a"));
}

UNIT_TEST_MAIN(NULL, NULL)
