// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/tracing/probe.h"
#include "test_directory.h"
#include "unit_test.h"

/* Offsets as on 7.3 (x86-64): the shrinker points to its superblock. */
static const struct probe pointed = {
	.has_private_data = true,
	.private_data = 88,
	.s_id = 968,
	.s_dev = 16,
};

/* As before 6.7: the shrinker lies in its superblock, behind s_dev and before s_id. */
static const struct probe contained = { .s_shrink = 640, .s_id = 960, .s_dev = 16 };

static void expect_definition(struct probe probe, bool on_event, const char *expected)
{
	probe.on_event = on_event;
	probe_define(&probe);
	assert_string_equal(probe.definition, expected);
}

/* The syntax is that of Documentation/trace/eprobetrace.rst. */
UNIT_TEST(test_event_probe)
{
	expect_definition(
		pointed, true,
		"e:allocfilt/shrinker vmscan/mm_shrink_slab_start shr=$shr shrink=$shrink "
		"id=+968(+88($shr)):string dev=+16(+88($shr)):u32");
	expect_definition(
		contained, true,
		"e:allocfilt/shrinker vmscan/mm_shrink_slab_start shr=$shr shrink=$shrink "
		"id=+320($shr):string dev=-624($shr):u32");
}

/*
 * Documentation/trace/kprobetrace.rst. At the entry of a function a register has the first argument, and
 * its return address is on top of the stack, or in a register.
 */
UNIT_TEST(test_kprobes)
{
	struct probe probe = contained;

	probe_define(&probe);
	assert_int_equal(
		strncmp(probe.definition, "p:allocfilt/shrinker super_cache_scan shr=", 42), 0);
	assert_string_equal(probe_definition(EVENT_REFAULT),
			    "p:allocfilt/refault workingset_refault");
	assert_string_equal(probe_definition(EVENT_WAIT_END),
			    "p:allocfilt/memory_wait_end psi_memstall_leave");
#if defined(__x86_64__)
	expect_definition(contained, false,
			  "p:allocfilt/shrinker super_cache_scan shr=%di "
			  "id=+320(%di):string dev=-624(%di):u32");
	assert_string_equal(probe_definition(EVENT_WAIT_BEGIN),
			    "p:allocfilt/memory_wait_begin psi_memstall_enter caller=$stack0:x64");
#elif defined(__aarch64__)
	assert_string_equal(probe_definition(EVENT_WAIT_BEGIN),
			    "p:allocfilt/memory_wait_begin psi_memstall_enter caller=%lr:x64");
#endif
}

/* What the kernel's own README says; kernel/trace/trace.c: readme_msg. */
UNIT_TEST_WITH(test_kernels, make_test_directory, remove_test_directory)
{
	static const struct {
		const char *files[2];
		const char *help;
		bool on_event;
	} kernels[] = {
		{ { "dynamic_events", "kprobe_events" }, "\t  -:[<group>/]<event>\n", false },
		{ { "dynamic_events" }, "e[:[<group>/]<event>] <attached-event> [<args>]\n", true },
		{ { "dynamic_events" },
		  "e[:[<group>/][<event>]] <attached-event> [<args>] [if <filter>]\n",
		  true },
	};
	struct kernel kernel = { .dir = test_directory };
	struct failure failure;
	struct probe probe;

	assert_int_equal(probe_find(&probe, &kernel, &failure), -ENOENT);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_non_null(strstr(failure.text, "neither event probes nor kprobe events"));
	for (size_t i = 0; i < COUNT(kernels); i++) {
		remove_test_directory(state);
		make_test_directory(state);
		for (int j = 0; j < 2 && kernels[i].files[j]; j++)
			put_text(kernels[i].files[j], "");
		put_text("README", kernels[i].help);
		/* Where this machine has no BTF that is said, and nothing of the files. */
		if (probe_find(&probe, &kernel, &failure))
			assert_non_null(strstr(failure.text, "/sys/kernel/btf/vmlinux"));
		assert_int_equal(probe.on_event, kernels[i].on_event);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
