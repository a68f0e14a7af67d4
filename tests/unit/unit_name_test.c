// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/tasks.h"
#include "allocfilt/names/units.h"
#include "unit_test.h"

/* NULL: no unit. systemd's own cases are in its src/test/test-cgroup-util.c. */
static const struct {
	const char *cgroup;
	const char *unit;
} cases[] = {
	{ "/system.slice/nginx.service", "nginx.service" },
	{ "/system.slice/nginx.service/workers/a", "nginx.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service",
	  "user@1000.service" },
	{ "/user.slice/user-1000.slice/session-2.scope", "session-2.scope" },
	{ "/init.scope", "init.scope" },
	{ "/system.slice/dev-hugepages.mount", "dev-hugepages.mount" },
	{ "/system.slice/my\\x2dunit.service", "my\\x2dunit.service" },
	{ "/machine.slice/machine-a.scope/payload/system.slice/b.service", "machine-a.scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/cri-containerd-0af1.scope",
	  "cri-containerd-0af1.scope" },
	{ "/system.slice/_cpu.service", "cpu.service" },
	{ "/_memory.slice/x.service", "x.service" },
	{ "//system.slice//nginx.service", "nginx.service" },
	{ "/system.slice/nginx.service (deleted)", "nginx.service" },
	{ "/nginx.service", "nginx.service" },

	{ "/", NULL },
	{ "", NULL },
	{ "/system.slice", NULL },
	{ "/system.slice/", NULL },
	{ "/user.slice/user-1000.slice", NULL },
	{ "/docker/0af1", NULL },
	{ "/a/b.service", NULL },
	{ "/system.slice/getty@.service", NULL },
	{ "/system.slice/@tty1.service", NULL },
	{ "/system.slice/.service", NULL },
	{ "/system.slice/a b.service", NULL },
	{ "/system.slice/a\n.service", NULL },
	{ "/system.slice/\xff.service", NULL },
	{ "/system.slice/a.unknown", NULL },
	{ "/system.slice/_", NULL },
	{ "/.slice/a.service", NULL },
	{ "/a@b.slice/a.service", NULL },
	/* The beginning was cut, so the rest may be inside another unit. */
	{ "@1000.service/app.slice/foo.service", NULL },
	{ "slice/foo.service", NULL },
	{ "app.slice/foo.service", NULL },
};

UNIT_TEST(test_cases)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		char unit[UNIT_NAME_BYTES];
		bool found = unit_name_of_cgroup(cases[i].cgroup, unit);

		if (found != !!cases[i].unit)
			fail_msg("'%s': '%s'", cases[i].cgroup, unit);
		assert_string_equal(unit, cases[i].unit ? cases[i].unit : "");
	}
}

/* A session of a user has no unit of the user's manager. */
UNIT_TEST(test_user_units)
{
	static const char manager[] = "/user.slice/user-1000.slice/user@1000.service";
	char cgroup[TASK_CGROUP_MAX];
	char unit[UNIT_NAME_BYTES];

	snprintf(cgroup, sizeof(cgroup), "%s/app.slice/app-a.slice/foo@1.service/x", manager);
	assert_true(unit_name_of_user_cgroup(cgroup, unit));
	assert_string_equal(unit, "foo@1.service");
	assert_false(unit_name_of_user_cgroup(manager, unit));
	assert_string_equal(unit, "");
	assert_false(unit_name_of_user_cgroup("/user.slice/session-2.scope/a.service", unit));
	assert_false(unit_name_of_user_cgroup("/system.slice/a.service/b.service", unit));
	assert_string_equal(unit, "");
}

/* systemd.unit(5): at most 255 characters. */
UNIT_TEST(test_length)
{
	char cgroup[300] = "/";
	char unit[UNIT_NAME_BYTES];

	memset(cgroup + 1, 'a', 255 - 8);
	strcpy(cgroup + 1 + 255 - 8, ".service");
	assert_true(unit_name_of_cgroup(cgroup, unit));
	assert_int_equal(strlen(unit), 255);
	assert_string_equal(unit, cgroup + 1);
	memset(cgroup + 1, 'a', 256 - 8);
	strcpy(cgroup + 1 + 256 - 8, ".service");
	assert_false(unit_name_of_cgroup(cgroup, unit));
}

UNIT_TEST_MAIN(NULL, NULL)
