// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/resolver.h"
#include "allocfilt/record/stacks.h"
#include "test_directory.h"
#include "unit_test.h"

/* As they lie in 6.1, whose __schedule() is a local function. */
static const char kernel[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 t trace_event_raw_event_sched_switch\n"
			     "ffffffff81000200 T __traceiter_sched_switch\n"
			     "ffffffff81000300 t folio_wait_bit_common\n"
			     "ffffffff81000400 T folio_wait_writeback\n"
			     "ffffffff81000500 T reclaim_throttle\n"
			     "ffffffff81000600 T flush_work\n"
			     "ffffffff81000700 T drain_all_pages\n"
			     "ffffffff81000800 T do_sys_poll\n"
			     "ffffffff81001000 T io_schedule_timeout\n"
			     "ffffffff81001000 T __sched_text_start\n"
			     "ffffffff81001100 t __schedule\n"
			     "ffffffff81001200 T schedule\n"
			     "ffffffff81001300 T io_schedule\n"
			     "ffffffff81001400 T schedule_timeout\n"
			     "ffffffff81001500 t __wait_for_common\n"
			     "ffffffff81001600 T __sched_text_end\n"
			     "ffffffff81001700 T default_idle\n";

#define TRACING	       0xffffffff81000110, 0xffffffff81000210
#define SCHEDULE       0xffffffff81001110, 0xffffffff81001210
#define IO_SCHEDULE    0xffffffff81001310
#define TIMEOUT	       0xffffffff81001410
#define WAIT_FOR       0xffffffff81001510
#define WAIT_BIT       0xffffffff81000310
#define WAIT_WRITEBACK 0xffffffff81000410
#define THROTTLE       0xffffffff81000510
#define FLUSH_WORK     0xffffffff81000610
#define DRAIN	       0xffffffff81000710
#define POLL	       0xffffffff81000810

#define SECOND 1000000000ull /* ns */

static struct resolver *resolver;
static bool local; /* --local */
static struct data_source source;

static void open_resolver_of(const char *symbols, const char *proc)
{
	static struct options options;
	static struct plan plan;
	struct failure failure;

	options = (struct options){ .limit_memory = 256 << 10, .stack = true, .local = local };
	source = (struct data_source){ .dir = test_directory, .proc = proc };
	put_text("kallsyms", symbols);
	assert_int_equal(resolver_new(&resolver, &plan, &source, &options, &failure), 0);
}

static void open_resolver(const char *symbols)
{
	open_resolver_of(symbols, NULL);
}

static int tear_down(void **state)
{
	resolver_free(resolver);
	resolver = NULL;
	return remove_test_directory(state);
}

#define SLEEPS_IN(...)                                                                             \
	resolver_sleeps_in(resolver, (const uint64_t[]){ __VA_ARGS__ },                            \
			   COUNT(((const uint64_t[]){ __VA_ARGS__ })))

/* The stacks are those that the trigger wrote on 5.10, 6.1, 6.12 and 7.3. */
UNIT_TEST_WITH(test_sleeps_in, make_test_directory, tear_down)
{
	open_resolver(kernel);
	assert_int_equal(SLEEPS_IN(TRACING, SCHEDULE, TIMEOUT, THROTTLE, POLL), THROTTLE);
	assert_int_equal(SLEEPS_IN(TRACING, SCHEDULE, IO_SCHEDULE, WAIT_BIT, WAIT_WRITEBACK),
			 WAIT_WRITEBACK);
	assert_int_equal(SLEEPS_IN(TRACING, SCHEDULE, TIMEOUT, WAIT_FOR, FLUSH_WORK, DRAIN), DRAIN);
	assert_int_equal(SLEEPS_IN(SCHEDULE, POLL), POLL);
	/* Cut, or nothing of the scheduler. */
	assert_int_equal(SLEEPS_IN(TRACING, SCHEDULE), 0);
	assert_int_equal(SLEEPS_IN(POLL, DRAIN), 0);
	assert_int_equal(resolver_sleeps_in(resolver, NULL, 0), 0);
	assert_int_equal(resolver_function(resolver, THROTTLE), 0xffffffff81000500);
	assert_int_equal(resolver_function(resolver, 5), 5);
	resolver_free(resolver);
	/* Without the section's ends nothing is known, and nothing is made up. */
	open_resolver("ffffffff81000500 T reclaim_throttle\n"
		      "ffffffff81001100 t __schedule\n"
		      "ffffffff81001200 T schedule\n");
	assert_int_equal(SLEEPS_IN(SCHEDULE, THROTTLE), 0);
}

static void expect_time(uint64_t ts, const char *expected)
{
	char text[TEXT_TIME_MAX];

	assert_true(resolver_time(resolver, ts, text));
	assert_string_equal(text, expected);
}

/* The functions of stacks, the innermost first, each 256 bytes after the one before. */
static uint32_t stack_of(const char *const *names, size_t count)
{
	uint64_t frames[16];
	char symbols[1024];
	size_t used = 0;

	if (resolver)
		resolver_free(resolver);
	for (size_t i = 0; i < count; i++) {
		used += snprintf(symbols + used, sizeof(symbols) - used, "ffffffff81%06zx t %s\n",
				 i << 8, names[i]);
		frames[i] = 0xffffffff81000010 + (i << 8);
	}
	snprintf(symbols + used, sizeof(symbols) - used, "ffffffff81%06zx T _etext\n", count << 8);
	open_resolver(symbols);
	return stacks_add(resolver_stacks(resolver), frames, count);
}

#define STACK_OF(...)                                                                              \
	stack_of((const char *const[]){ __VA_ARGS__ },                                             \
		 COUNT(((const char *const[]){ __VA_ARGS__ })))

static void asked_by(const char *expected, uint32_t stack)
{
	char text[ASKED_BY_MAX];
	const char *found = resolver_asked_by(resolver, stack, text);

	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
}

/* Stacks as reports of kernel bugs have them, on x86, arm64, s390, powerpc and i386. */
UNIT_TEST_WITH(test_asked_by, make_test_directory, tear_down)
{
	asked_by("write(2)", STACK_OF("vfs_write", "ksys_write", "do_syscall_64"));
	asked_by("clone(2)", STACK_OF("kernel_clone", "__do_sys_clone", "__x64_sys_clone",
				      "x64_sys_call", "do_syscall_64"));
	asked_by("write(2)", STACK_OF("vfs_write", "ksys_write", "__arm64_sys_write",
				      "invoke_syscall.constprop.0", "el0_svc"));
	asked_by("socketcall(2)",
		 STACK_OF("___sys_sendmsg", "__sys_sendmsg", "__s390x_sys_socketcall",
			  "__do_syscall", "system_call"));
	asked_by("ioctl(2)", STACK_OF("__se_compat_sys_ioctl", "__ia32_compat_sys_ioctl",
				      "do_int80_syscall_32"));
	asked_by("madvise(2)",
		 STACK_OF("do_madvise.part.0", "sys_madvise", "system_call_exception"));
	asked_by("brk(2)", STACK_OF("__do_sys_brk.isra.0", "do_syscall_64"));
	asked_by("sysinfo(2)", STACK_OF("__x64_sys_sysinfo", "do_syscall_64"));
	asked_by("page fault", STACK_OF("do_wp_page", "__handle_mm_fault", "handle_mm_fault",
					"do_user_addr_fault", "exc_page_fault"));
	/* A call that touches a page asked for it. */
	asked_by("read(2)",
		 STACK_OF("handle_mm_fault", "exc_page_fault", "asm_exc_page_fault",
			  "copy_page_to_iter", "vfs_read", "ksys_read", "do_syscall_64"));
	/* Several calls share a function, and kernel threads make none. */
	asked_by(NULL, STACK_OF("do_sys_poll", "x64_sys_call", "do_syscall_64"));
	asked_by(NULL, STACK_OF("compact_zone", "kcompactd", "kthread", "ret_from_fork"));
	asked_by(NULL, 0);
}

/* The functions of a tracepoint are no callers. */
UNIT_TEST_WITH(test_stack, make_test_directory, tear_down)
{
	const uint64_t *frames;
	uint32_t stack = STACK_OF("trace_event_raw_event_mm_compaction_begin",
				  "__traceiter_mm_compaction_begin", "compact_zone", "kcompactd");

	assert_int_equal(resolver_stack(resolver, stack, &frames), 2);
	assert_int_equal(frames[0], 0xffffffff81000210);
	assert_int_equal(frames[1], 0xffffffff81000310);
	stack = STACK_OF("trace_event_raw_event_mm_compaction_begin");
	assert_int_equal(resolver_stack(resolver, stack, &frames), 0);
	assert_int_equal(resolver_stack(resolver, 0, &frames), 0);
}

/* With more functions than are cached the roles are still right. */
UNIT_TEST_WITH(test_roles, make_test_directory, tear_down)
{
	open_resolver(kernel);
	for (int i = 0; i < 2; i++) {
		for (uint64_t other = 0; other < 2000; other++)
			assert_int_equal(resolver_role(resolver, 0xffffffff81000800 + other),
					 ROLE_NONE);
		assert_int_equal(resolver_role(resolver, 0xffffffff81000500),
				 ROLE_RECLAIM_THROTTLE);
		assert_int_equal(resolver_role(resolver, 0xffffffff81000500),
				 ROLE_RECLAIM_THROTTLE);
		assert_int_equal(resolver_role(resolver, 0xffffffff81000700), ROLE_DRAIN);
		assert_int_equal(resolver_role(resolver, 0xffffffff81000800), ROLE_NONE);
	}
}

/* A call at the very end of a function returns to the first address of the next one. */
UNIT_TEST_WITH(test_reasons_of_waits, make_test_directory, tear_down)
{
	open_resolver(kernel);
	assert_int_equal(resolver_wait_role(resolver, WAIT_BIT), ROLE_REFAULT);
	assert_int_equal(resolver_wait_role(resolver, 0xffffffff81000400), ROLE_REFAULT);
	assert_int_equal(resolver_wait_role(resolver, 0xffffffff81000300), ROLE_WAIT);
	assert_int_equal(resolver_wait_role(resolver, DRAIN), ROLE_WAIT);
	assert_int_equal(resolver_wait_role(resolver, 0), ROLE_WAIT);
	assert_int_equal(resolver_wait_role(resolver, 5), ROLE_WAIT);
}

/* The OOM killer ends a task in its stall, of which only the first event has been read. */
UNIT_TEST_WITH(test_victim, make_test_directory, tear_down)
{
	const struct record record = { .kind = RECORD_EVENT, .tid = 70, .ts = 5 };

	put_text("70/comm", "victim\n");
	put_text("70/status", "Name:\tvictim\nTgid:\t70\n");
	put_text("70/stat", "70 (victim) S 1 1 1 0 -1 0 0 0\n");
	put_text("70/cgroup", "0::/system.slice/a.service\n");
	open_resolver_of(kernel, test_directory);
	resolver_see(resolver, &record);
	shell("rm -r '%s/70'", test_directory);
	assert_string_equal(resolver_task_name(resolver, 70, 9 * SECOND), "victim");
	assert_string_equal(resolver_task(resolver, 70, 9 * SECOND)->cgroup,
			    "/system.slice/a.service");
	assert_false(resolver_task(resolver, 70, 9 * SECOND)->ended);
}

/* Seconds and ns of a time; the clocks drift apart by 1 ms in each minute. */
UNIT_TEST_WITH(test_time, make_test_directory, tear_down)
{
	char text[TEXT_TIME_MAX];

	open_resolver(kernel);
	assert_false(resolver_time(resolver, 5, text));
	resolver_mark_clock(resolver, 1000, 1763733305000000000);
	expect_time(1500, "2025-11-21T13:55:05.000000500Z");
	/* Before the first mark, by that. */
	expect_time(400, "2025-11-21T13:55:04.999999400Z");
	for (uint64_t minute = 1; minute <= 70; minute++)
		resolver_mark_clock(resolver, 1000 + minute * 60000000000,
				    1763733305000000000 + minute * 60001000000);
	/* The mark of minute 50 was there when it was first asked for. */
	expect_time(1000 + 50 * 60000000000 + 7, "2025-11-21T14:45:05.050000007Z");
	expect_time(1000 + 51 * 60000000000 - 1, "2025-11-21T14:46:05.049999999Z");
	expect_time(1000 + 51 * 60000000000, "2025-11-21T14:46:05.051000000Z");
	/* One that comes late, or again, is the newest: later ones were seen ahead. */
	for (int times = 0; times < 2; times++)
		resolver_mark_clock(resolver, 1000 + 60 * 60000000000, 1763733305000000000);
	expect_time(1000 + 71 * 60000000000, "2025-11-21T14:06:05.000000000Z");
	expect_time(1000 + 52 * 60000000000, "2025-11-21T14:47:05.052000000Z");
	expect_time(1000 + 51 * 60000000000, "2025-11-21T14:46:05.051000000Z");
	expect_time(1000 + 8 * 60000000000, "2025-11-21T14:03:05.008000000Z");
	resolver_free(resolver);
	setenv("TZ", "Asia/Kolkata", 1);
	local = true;
	open_resolver(kernel);
	local = false;
	resolver_mark_clock(resolver, 1000, 1763733305000000000);
	expect_time(1500, "2025-11-21T19:25:05.000000500+05:30");
	unsetenv("TZ");
}

/* trace_print_lat_fmt() of kernel/trace/trace_output.c shows disabled migration from 5.15 on. */
UNIT_TEST_WITH(test_migrate_column, make_test_directory, tear_down)
{
	static const struct {
		const char *release;
		bool has;
	} cases[] = {
		{ "4.20.0", false }, { "5.10.0-38", false }, { "5.15.0", true },
		{ "6.1.0", true },   { "a kernel", true },   { NULL, true },
	};

	open_resolver(kernel);
	for (size_t i = 0; i < COUNT(cases); i++) {
		source.release = cases[i].release;
		assert_int_equal(resolver_migrate_column(resolver), cases[i].has);
	}
}

static void expect_cgroup(int tid, const char *cgroup, const char *from)
{
	const struct task_info *info = resolver_task(resolver, tid, 1);

	assert_string_equal(info->cgroup, cgroup);
	assert_string_equal(info->source ? info->source : "", from);
}

/* A fork tells the cgroup of the child, and reclaim at a limit that of who takes memory there. */
UNIT_TEST_WITH(test_learn, make_test_directory, tear_down)
{
	const struct record forks[] = { { .tid = 5, .child = 6 }, { .tid = 9, .child = 8 } };
	const struct record reclaims[] = {
		{ .tid = 7, .fields.memcg_id = 4711 },
		{ .tid = 5, .fields.memcg_id = 4711 }, /* its own is known */
		{ .tid = 8, .fields.memcg_id = 4712 }, /* nowhere */
		{ .tid = 8 },			       /* of an older kernel */
	};

	put_text("cgroups", "4711 /l/a.service\n");
	put_text("saved_cmdlines", "6 six\n7 seven\n8 eight\n");
	put_text("tasks", "5 5 - five /p\n");
	open_resolver(kernel);
	for (size_t i = 0; i < COUNT(forks); i++)
		resolver_learn(resolver, EVENT_FORK, &forks[i]);
	for (size_t i = 0; i < COUNT(reclaims); i++)
		resolver_learn(resolver, EVENT_MEMCG_RECLAIM_BEGIN, &reclaims[i]);
	expect_cgroup(5, "/p", "");
	expect_cgroup(6, "/p", "parent");
	expect_cgroup(7, "/l/a.service", "reclaim");
	expect_cgroup(8, "", "");
}

UNIT_TEST_MAIN(NULL, NULL)
