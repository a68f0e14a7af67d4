// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tracing.h"

#include "captured_stderr.h"
#include "written_text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "allocfilt/base/log.h"
#include "allocfilt/tracing/session.h"

/* More calls than any session makes; a loop over all of them has to end before. */
#define CALLS_MAX 5000
#define UNDO	  "../run/undo"

/*
 * Every call has its turn in `make check-all`, every third in check; in check-unit, and with the
 * sanitizers, which make it ten times as slow, fewer.
 */
static int stride = 1;

static char page_alloc[] = "__alloc_pages", reclaim[] = "try_to_free_pages", slab[] = "shrink_slab";
static char *functions[] = { page_alloc, reclaim, slab, NULL };
static unsigned int indexes[] = { 2, 3, 4 };
static struct kernel kernel;
static struct plan *plan;
static struct session_request request;
static struct session *session;
static struct failure failure;

static const struct probe probe = {
	.definition = "e:allocfilt/shrinker vmscan/mm_shrink_slab_start shr=$shr",
};

static void add_event(const char *system, const char *name, enum event_rule rule, enum event_id id,
		      enum event_side side)
{
	plan->events[plan->nr_events++] = (struct plan_event){ .system = strdup(system),
							       .name = strdup(name),
							       .rule = rule,
							       .id = id,
							       .side = side };
}

static int group_setup(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	stride = 9;
#else
	stride = test_stride();
#endif
	log_set_level(getenv("SESSION_TEST_VERBOSE") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	plan = calloc(1, sizeof(*plan));
	plan->threshold = 134000;
	plan->function_graph = true;
	for (int i = 0; i < 3; i++)
		plan->functions[plan->nr_functions++].name = strdup(functions[i]);
	add_event("vmscan", "mm_shrink_slab_start", RULE_PAIR, EVENT_SLAB_START, 0);
	add_event("vmscan", "mm_shrink_slab_end", RULE_PAIR, EVENT_SLAB_END, 0);
	add_event("vmscan", "mm_vmscan_direct_reclaim_begin", RULE_PAIR, 0, EVENT_BEGIN);
	plan->histograms = HISTOGRAM_BIT(HISTOGRAM_KMALLOC) | HISTOGRAM_BIT(HISTOGRAM_PAGES);
	add_event("sched", "sched_switch", RULE_OFF_CPU, EVENT_SCHED_SWITCH, 0);
	add_event("allocfilt", "memory_wait_begin", RULE_PAIR, EVENT_WAIT_BEGIN, EVENT_BEGIN);
	add_event("allocfilt", "memory_wait_end", RULE_PAIR, EVENT_WAIT_END, EVENT_END);
	return 0;
}

static int group_teardown(void **state)
{
	plan_free(plan);
	return 0;
}

static void make(bool instances)
{
	fake_make(instances);
	kernel = (struct kernel){ .dir = fake.dir,
				  .function_graph = true,
				  .function_enabled = true,
				  .functions = functions,
				  .indexes = indexes,
				  .nr_functions = 3 };
	request = (struct session_request){ .kernel = &kernel,
					    .plan = plan,
					    .buffer = 4 << 20,
					    .run_dir = fake.run_dir,
					    .probe = &probe,
					    .stack = true,
					    .exclude_own = true };
	fake_remember();
}

static int at_top(void **state)
{
	make(false);
	return 0;
}

static int in_instance(void **state)
{
	make(true);
	return 0;
}

#define AT_TOP(test)	  UNIT_TEST_WITH(test, at_top, fake_teardown)
#define IN_INSTANCE(test) UNIT_TEST_WITH(test, in_instance, fake_teardown)
#define ALONE(test)	  UNIT_TEST_WITH(test, NULL, fake_teardown)

/* A case for the top level, and the same for an instance. */
#define BOTH(test)                                                                                 \
	static void test(void **state);                                                            \
	IN_INSTANCE(test##_of_an_instance)                                                         \
	{                                                                                          \
		test(state);                                                                       \
	}                                                                                          \
	AT_TOP(test)

static void start(void)
{
	if (session_start(&session, &request, &failure))
		fail_msg("%s", failure.text);
}

/* With -p of this process. */
static void start_of_this_process(void)
{
	const pid_t pids[] = { getpid(), 0 };

	request.pids = pids;
	start();
	request.pids = NULL;
}

/* Returns the messages of the start; valid until the next call. */
static const char *start_and_hear(void)
{
	log_set_level(LOG_LEVEL_NOTICE);
	capture_stderr();
	start();
	log_set_level(LOG_LEVEL_ERROR);
	return captured();
}

/* Until a buffer that was made smaller is to be tried again. */
static void grow_after_a_minute(void)
{
	usleep(61000000);
	session_grow_buffer(session);
}

static void start_tracing(void)
{
	start();
	assert_int_equal(session_on(session, &failure), 0);
}

/* All settings were looked at after so many looks. */
static void nobody_changes(void)
{
	char what[256];

	for (int look = 0; look < 100; look++)
		if (session_taken(session, what, sizeof(what)))
			fail_msg("%s", what);
}

static void end(void)
{
	assert_int_equal(session_end(session, &failure), 0);
}

static void end_as_found(void)
{
	end();
	assert_as_found();
}

/* A whole run. Returns what the first call that failed returned. */
static int run(void)
{
	int ret = session_start(&session, &request, &failure), end_ret;

	if (ret)
		return ret;
	session_set_buffer_percent(session, 50);
	ret = session_on(session, &failure);
	session_filter_probe(session, 1);
	session_mark_clock(session);
	session_set_buffer_percent(session, 0);
	for (int i = 0; i < request.plan->nr_events; i++)
		session_switch_event(session, &request.plan->events[i], false);
	session_switch_event(session, &request.plan->events[0], true);
	fake.buffer_max_kb = 0;
	usleep(61000000);
	session_grow_buffer(session);
	session_off(session);
	end_ret = session_end(session, &failure);
	return ret ? ret : end_ret;
}

static int restore(void)
{
	return session_restore(fake.run_dir, fake.dir, &failure);
}

/* Also where the tracing directory is gone. */
static bool undo_exists(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/undo", fake.run_dir);
	return !access(path, F_OK);
}

/* Files of the top level, or of the instance, are meant by their names. */
static const char *prefix;

static const char *in_place(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s", prefix, name);
	return path;
}

/* The first line of a file. */
static void assert_value(const char *name, const char *value)
{
	char *text = fake_get(name);

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, value);
}

static void assert_value_in_place(const char *name, const char *value)
{
	assert_value(in_place(name), value);
}

/* Each event of the plan, with its stack and the probe. */
static void switches_events(bool on)
{
	static const char *const enables[] = {
		"events/vmscan/mm_shrink_slab_end/enable",
		"events/sched/sched_switch/enable",
		"events/allocfilt/shrinker/enable",
		"events/allocfilt/memory_wait_begin/enable",
		"events/allocfilt/memory_wait_end/enable",
	};

	for (int i = 0; i < request.plan->nr_events; i++)
		assert_int_equal(session_switch_event(session, &request.plan->events[i], on), 0);
	for (size_t i = 0; i < COUNT(enables); i++)
		assert_value_in_place(enables[i], on ? "1" : "0");
	assert_int_equal(!!strstr(fake_get(in_place("events/sched/sched_switch/trigger")),
				  "stacktrace:unlimited if prev_state & 3"),
			 on);
}

/*
 * After the one of somebody else; 8 GiB are enough for the largest ones, and 4096 are more than there are
 * call sites. Not of our own task.
 */
static void has_histograms(void)
{
	char expected[512];

	snprintf(expected, sizeof(expected),
		 FAKE_HISTOGRAM
		 "hist:name=allocfilt_mm_page_alloc:keys=common_pid,order:vals=hitcount"
		 ":sort=hitcount:size=65536 if pfn != 0xffffffffffffffff && "
		 "common_pid != %d [active]\n",
		 getpid());
	assert_string_equal(fake_get(in_place("events/kmem/mm_page_alloc/trigger")), expected);
	snprintf(expected, sizeof(expected),
		 "hist:name=allocfilt_kmalloc:keys=call_site.sym-offset:vals=hitcount,bytes_req,"
		 "bytes_alloc:sort=hitcount:size=4096 if common_pid != %d [active]\n",
		 getpid());
	assert_string_equal(fake_get(in_place("events/kmem/kmalloc/trigger")), expected);
}

static void reads_histograms(void)
{
	const char *name = in_place("events/kmem/mm_page_alloc/hist");
	char *text;

	assert_int_equal(session_read_histogram(session, HISTOGRAM_PAGES, &text), -ENOENT);
	fake_put(name, "# event histogram\n");
	assert_int_equal(session_read_histogram(session, HISTOGRAM_PAGES, &text), 0);
	assert_string_equal(text, "# event histogram\n");
	free(text);
	assert_int_equal(unlink(fake_path(name)), 0);
}

static void sets_what_it_needs(void)
{
	static const char *const values[][2] = {
		{ "current_tracer", "function_graph" },
		{ "buffer_size_kb", "4099" },
		{ "events/vmscan/mm_shrink_slab_end/enable", "1" },
		{ "events/allocfilt/shrinker/enable", "1" },
		{ "events/allocfilt/shrinker/filter", "none" },
		{ "events/allocfilt/memory_wait_begin/enable", "1" },
		{ "events/allocfilt/memory_wait_end/enable", "1" },
		/* nobody needs a stack of each memory wait */
		{ "events/allocfilt/memory_wait_begin/trigger", "(absent)" },
		{ "events/vmscan/mm_vmscan_direct_reclaim_begin/trigger", "stacktrace:unlimited" },
		{ "events/sched/sched_switch/enable", "1" },
		{ "events/sched/sched_switch/trigger", "stacktrace:unlimited if prev_state & 3" },
		{ "events/kmem/kmalloc/trigger", "" },
		{ "tracing_cpumask", "3" },
		{ "tracing_on", "0" },
	};

	start();
	assert_value("tracing_thresh", "134");
	for (size_t i = 0; i < COUNT(values); i++)
		assert_value_in_place(values[i][0], values[i][1]);
	assert_string_equal(fake_get(in_place("set_ftrace_filter")),
			    "__alloc_pages\ntry_to_free_pages\nshrink_slab\n");
	assert_true(session_has_probe(session, PROBE_SUPERBLOCKS));
	assert_true(session_has_probe(session, PROBE_WAITS));
	assert_int_equal(session_on(session, &failure), 0);
	has_histograms();
	reads_histograms();
	assert_value_in_place("tracing_on", "1");
	session_filter_probe(session, 0xffffffff81234560);
	assert_value_in_place("events/allocfilt/shrinker/filter", "shrink == 0xffffffff81234560");
	session_mark_clock(session);
	assert_int_equal(strncmp(fake_get(in_place("trace_marker")), "allocfilt: realtime ", 20),
			 0);
	assert_true(undo_exists());
	switches_events(false);
	switches_events(false); /* as after a failure */
	switches_events(true);
	switches_events(false);
	session_off(session);
	assert_value_in_place("tracing_on", "0");
	end();
	assert_false(undo_exists());
	assert_as_found();
}

/* The size is of what is available: a 32nd of it, 320 bytes an entry, of two histograms. */
AT_TOP(test_entries_of_histograms)
{
	static const struct {
		unsigned long long available_kib;
		const char *size, *sites;
	} cases[] = {
		{ 100, ":size=2048 ", ":size=2048 " },
		{ (160 << 10) - 1, ":size=4096 ", ":size=4096 " },
		{ 160 << 10, ":size=8192 ", ":size=4096 " },
		{ 256 << 10, ":size=8192 ", ":size=4096 " },
		{ 512 << 10, ":size=16384 ", ":size=4096 " },
		{ 64ull << 20, ":size=65536 ", ":size=4096 " },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		fake_put_available(cases[i].available_kib);
		start();
		assert_int_equal(session_on(session, &failure), 0);
		assert_non_null(
			strstr(fake_get("events/kmem/mm_page_alloc/trigger"), cases[i].size));
		assert_non_null(strstr(fake_get("events/kmem/kmalloc/trigger"), cases[i].sites));
		fake_put_available(8 << 20);
		end();
		assert_string_equal(fake_get("events/kmem/kmalloc/trigger"), "");
	}
}

/* Of -p: a key more, and the filter of our own task is not needed. */
AT_TOP(test_histograms_by_task)
{
	request.pids = (const pid_t[]){ getpid(), 0 };
	plan->sites_by_task = true;
	start();
	plan->sites_by_task = false;
	assert_int_equal(session_on(session, &failure), 0);
	assert_string_equal(
		fake_get("events/kmem/kmalloc/trigger"),
		"hist:name=allocfilt_kmalloc:keys=common_pid,call_site.sym-offset:"
		"vals=hitcount,bytes_req,bytes_alloc:sort=hitcount:size=65536 [active]\n");
	assert_null(strstr(fake_get("events/kmem/mm_page_alloc/trigger"), "common_pid !="));
	end_as_found();
}

AT_TOP(test_top_level)
{
	prefix = "";
	sets_what_it_needs();
	assert_value("buffer_size_kb", "1410");
}

IN_INSTANCE(test_instance)
{
	prefix = FAKE_INSTANCE "/";
	sets_what_it_needs();
	assert_value("buffer_size_kb", "7 (expanded: 1408)");
}

/* ---- -p: a thread that is born after the first listing, before the kernel follows the others ---- */

#define BIRTHS_MAX 64

static sem_t late_goes;
static pthread_t late_threads[BIRTHS_MAX];
static volatile pid_t late_tid;
static int listings;
static int births;	    /* how many of the first listings are followed by one */
static bool followed_first; /* event-fork was on before the first listing */

static void *late(void *context)
{
	late_tid = gettid();
	sem_post(context);
	sem_wait(&late_goes);
	return NULL;
}

/* Taken over: a listing of our own threads has ended its reading when this starts one. */
int closedir(DIR *dir)
{
	static int (*next)(DIR *);
	char path[64], target[64] = "";
	sem_t started;

	if (!next)
		next = (typeof(next))dlsym(RTLD_NEXT, "closedir");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd(dir));
	if (!request.pids || readlink(path, target, sizeof(target) - 1) < 0 ||
	    !strstr(target, "/task") || listings >= births)
		return next(dir);
	if (!listings)
		followed_first = fake_get("options/event-fork")[0] == '1';
	sem_init(&started, 0, 0);
	pthread_create(&late_threads[listings++], NULL, late, &started);
	sem_wait(&started);
	return next(dir);
}

static void expect_births(int count)
{
	listings = 0;
	births = count;
	sem_init(&late_goes, 0, 0);
}

static void end_late_threads(void)
{
	for (int i = 0; i < listings; i++)
		sem_post(&late_goes);
	for (int i = 0; i < listings; i++)
		pthread_join(late_threads[i], NULL);
	births = 0;
}

AT_TOP(test_late_thread)
{
	char own[16], born[16];

	expect_births(1);
	start_of_this_process();
	snprintf(own, sizeof(own), "%d\n", getpid());
	snprintf(born, sizeof(born), "%d\n", late_tid);
	assert_true(followed_first);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "set_ftrace_pid" : "set_event_pid";

		assert_non_null(strstr(fake_get(name), own));
		assert_non_null(strstr(fake_get(name), born));
	}
	end_as_found();
	end_late_threads();
}

AT_TOP(test_own_task)
{
	char own[16];

	snprintf(own, sizeof(own), "%d", getpid());
	start();
	assert_value("set_event_notrace_pid", own);
	assert_value("set_ftrace_notrace_pid", own);
	end_as_found();
	/* Else the lists are empty, whatever was there. */
	request.exclude_own = false;
	fake_put("set_event_notrace_pid", "99\n");
	fake_remember();
	start();
	assert_value("set_event_notrace_pid", "");
	assert_value("set_ftrace_notrace_pid", "");
	end_as_found();
}

/* The kernel's list reads as if there was none, but it is there, and nothing would be traced. */
AT_TOP(test_tasks_that_exited)
{
	start_of_this_process();
	fake_put("set_ftrace_pid", "(none left)\n");
	fake_put("set_event_notrace_pid", "(none left)\n");
	end();
	assert_null(strstr(fake_get("set_ftrace_pid"), "left"));
	assert_null(strstr(fake_get("set_event_notrace_pid"), "left"));
}

/* 17 listings for each of the two files: the run goes on, and says what it may lack. */
AT_TOP(test_threads_without_end)
{
	const pid_t pids[] = { getpid(), 0 };

	expect_births(BIRTHS_MAX);
	request.pids = pids;
	text_has(start_and_hear(), "some may be missing in set_event_pid");
	request.pids = NULL;
	assert_int_equal(listings, 34);
	end_as_found();
	end_late_threads();
}

/* Memory comes back: a write is tried again, also of late threads. The undo file has no name here. */
AT_TOP(test_threads_without_memory)
{
	const pid_t pids[] = { getpid(), 0 };
	int calls = CALLS_MAX, hits = 0;

	/* A stride may step over them all. */
	for (int from = 0; !hits && from < stride; from++) {
		for (int at = CALLS_MAX; at > 0; at = (at < calls ? at : calls - from) - stride) {
			int ret;

			expect_births(1);
			fake_fail(at, at, ENOMEM);
			fake.last[0] = '\0';
			request.pids = pids;
			ret = run();
			request.pids = NULL;
			if (at == CALLS_MAX)
				calls = fake.calls;
			fake.armed = false;
			if (ret && !strncmp(fake.last, "write ", 6) && fake.last[6])
				fail_msg("%s: %s", fake.last, failure.text);
			hits += !strncmp(fake.last, "write set_", 10) && strstr(fake.last, "_pid");
			restore();
			assert_as_found();
			end_late_threads();
		}
	}
	assert_true(hits > 0);
}

/* A process that has ended is no failure. */
AT_TOP(test_pid_that_is_gone)
{
	pid_t pids[] = { _Fork(), 0 };

	if (!pids[0])
		_exit(0);
	waitpid(pids[0], NULL, 0);
	request.pids = pids;
	start();
	request.pids = NULL;
	end_as_found();
}

/* 4096 and 2048 KiB are refused; 1024 are 258 pages of 4080 bytes. After a minute, all of it. */
AT_TOP(test_half_of_a_size_without_memory)
{
	fake.buffer_max_kb = 1500;
	text_has(start_and_hear(), "a buffer of 1024 KiB for each CPU, not 4096; ");
	assert_value("buffer_size_kb", "1027");
	fake.buffer_max_kb = 0;
	usleep(30000000);
	session_grow_buffer(session);
	assert_value("buffer_size_kb", "1027");
	usleep(31000000);
	session_grow_buffer(session);
	assert_value("buffer_size_kb", "4099");
	end_as_found();
}

/* Two CPUs get a quarter of what is available at most: 1792 KiB each. */
AT_TOP(test_half_of_a_size_that_takes_too_much)
{
	fake_put_available(14 << 10);
	start();
	assert_value("buffer_size_kb", "1027");
	usleep(61000000);
	fake_put_available(32 << 10);
	session_grow_buffer(session);
	assert_value("buffer_size_kb", "4099");
	end_as_found();
}

AT_TOP(test_full_size_is_tried_once_more)
{
	fake.buffer_max_kb = 1500;
	start();
	for (int i = 0; i < 2; i++) {
		grow_after_a_minute();
		assert_value("buffer_size_kb", "1027");
		fake.buffer_max_kb = 0;
	}
	end_as_found();
}

/* The OOM killer's first choice is who grows a buffer: a child, and the run goes on with less. */
AT_TOP(test_children_write_what_takes_memory)
{
	fake.can_fork = true;
	start();
	assert_int_equal(fake.children, 1);
	assert_value("buffer_size_kb", "4099");
	end_as_found();
}

IN_INSTANCE(test_children_are_killed)
{
	fake.can_fork = true;
	fake.kill_children = true;
	start();
	assert_false(fake_has(FAKE_INSTANCE));
	assert_value("buffer_size_kb", "7");
	assert_true(fake.children > 1);
	grow_after_a_minute();
	assert_value("buffer_size_kb", "7");
	fake.kill_children = false;
	end_as_found();
}

/* Two pages are the least that a buffer has. */
AT_TOP(test_no_memory_at_all)
{
	fake.buffer_max_kb = 1;
	start();
	assert_value("buffer_size_kb", "7");
	fake.buffer_max_kb = 0;
	end_as_found();
}

/* A buffer that is there costs nothing; "7 (expanded: 1408)" is no buffer of 1408 KiB until somebody writes it. */
AT_TOP(test_used_and_unused_buffers)
{
	request.buffer = 1408 << 10;
	start();
	assert_value("buffer_size_kb", "1410");
	end();
	request.buffer = 4 << 20;
	fake.buffer_max_kb = 1500;
	start();
	assert_value("buffer_size_kb", "1410");
	end();
	request.buffer = 100 << 10;
	start();
	assert_value("buffer_size_kb", "103");
	end();
	assert_value("buffer_size_kb", "1410");
}

/* CPUs of different sizes: each for itself. */
AT_TOP(test_short_memory_with_different_sizes)
{
	fake_put("buffer_size_kb", "X\n");
	fake_put("per_cpu/cpu0/buffer_size_kb", "103\n");
	fake.buffer_max_kb = 1500;
	start();
	assert_value("per_cpu/cpu0/buffer_size_kb", "1027");
	assert_value("per_cpu/cpu1/buffer_size_kb", "1410");
	fake.buffer_max_kb = 0;
	grow_after_a_minute();
	assert_value("per_cpu/cpu0/buffer_size_kb", "4099");
	assert_value("per_cpu/cpu1/buffer_size_kb", "4099");
	end();
	assert_value("per_cpu/cpu0/buffer_size_kb", "103");
	assert_value("per_cpu/cpu1/buffer_size_kb", "1410");
}

/* As long as nobody has written it, the size of a CPU without a buffer reads as that of others. */
AT_TOP(test_different_sizes_without_a_buffer)
{
	fake_put("buffer_size_kb", "X\n");
	fake_put("per_cpu/cpu0/buffer_size_kb", "103\n");
	fake_put("per_cpu/cpu2/buffer_size_kb", "1408\n");
	fake_put("per_cpu/cpu3/buffer_size_kb", "0\n");
	for (int i = 0; i < 2; i++) {
		start();
		assert_value("per_cpu/cpu0/buffer_size_kb", "4099");
		assert_value("per_cpu/cpu1/buffer_size_kb", "4099");
		end();
		assert_value("per_cpu/cpu0/buffer_size_kb", "103");
		assert_value("per_cpu/cpu2/buffer_size_kb", "0");
		assert_value("per_cpu/cpu3/buffer_size_kb", "0");
	}
}

/* The first buffers of an instance take 1408 KiB for each CPU, a quarter of 11264 KiB. */
IN_INSTANCE(test_no_instance_while_memory_is_short)
{
	fake_put("per_cpu/cpu2/buffer_size_kb", "1408\n"); /* possible, never online */
	fake_remember();
	fake_put_available(11264);
	start();
	assert_true(fake_has(FAKE_INSTANCE));
	end();
	fake_put_available(11263);
	start();
	assert_false(fake_has(FAKE_INSTANCE));
	assert_value("current_tracer", "function_graph");
	fake_put_available(8 << 20);
	end_as_found();
}

/* Without memory for what was found, that is said, and --restore does it later. */
AT_TOP(test_no_memory_at_the_end)
{
	fake.buffer_max_kb = 500;
	start();
	assert_int_equal(session_end(session, &failure), -ENOMEM);
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_non_null(
		strstr(failure.text, "buffer_size_kb is 258 and cannot be put back to 1408"));
	assert_non_null(
		strstr(failure.text, "; settings left: 1; allocfilt --restore puts them back"));
	assert_value("current_tracer", "nop");
	assert_true(undo_exists());
	fake.buffer_max_kb = 0;
	assert_int_equal(restore(), 0);
	assert_as_found();
}

static void start_and_be_killed(void)
{
	pid_t pid = _Fork();
	int status;

	if (!pid) {
		int ret = session_start(&session, &request, &failure);

		if (ret)
			fprintf(stderr, "%s\n", failure.text);
		_exit(ret ? 1 : 9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 9);
}

/* A killed run's buffer waits for memory, while other runs come and go, or are killed, too. */
AT_TOP(test_killed_while_memory_is_short)
{
	for (int i = 0; i < 3; i++) {
		fake_put("buffer_size_kb", "7 (expanded: 1408)\n");
		fake.buffer_max_kb = 500;
		start_and_be_killed();
		assert_value("buffer_size_kb", "258");
		start_and_be_killed();
		assert_value("buffer_size_kb", "258");
		assert_value("current_tracer", "function_graph");
		assert_int_equal(restore(), -ENOMEM);
		assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
		assert_value("current_tracer", "nop");
		/* The run gets larger than what it found, and smaller again. */
		start();
		fake.buffer_max_kb = 0;
		grow_after_a_minute();
		assert_value("buffer_size_kb", "4099");
		if (i == 0) {
			end();
		} else {
			fake.buffer_max_kb = 500;
			assert_int_equal(session_end(session, &failure), -ENOMEM);
			assert_true(undo_exists());
			if (i == 2)
				start_and_be_killed();
			fake.buffer_max_kb = 0;
			assert_int_equal(i == 1 ? run() : restore(), 0);
		}
		assert_as_found();
		assert_false(undo_exists());
	}
}

AT_TOP(test_what_others_change_stays)
{
	start_tracing();
	fake_put("trace_clock", "local [global] mono\n");
	fake_put("set_ftrace_filter", "vfs_read\n");
	fake_put("tracing_on", "0\n");
	fake_put("set_event_notrace_pid", "99\n");
	end();
	assert_value("trace_clock", "local [global] mono");
	assert_value("set_event_notrace_pid", "99");
	assert_value("set_ftrace_notrace_pid", "");
	assert_value("set_ftrace_filter", "vfs_read");
	assert_value("tracing_on", "0");
	assert_value("current_tracer", "nop");
	assert_value("tracing_thresh", "0");
	assert_false(undo_exists());
}

/* What is in the way is refused by its name, comes back with --force, and a buffer of our own is
 * beside what is of the top level only. */
ALONE(test_in_use)
{
	static const struct {
		const char *name, *text, *said;
		bool top_only;
	} cases[] = {
		{ "tracing_thresh", "50\n", "tracing_thresh" },
		{ "max_graph_depth", "1\n", "max_graph_depth" },
		{ "set_graph_function", "vfs_read\n", "set_graph_function" },
		{ "set_graph_notrace", "vfs_read\n", "set_graph_notrace" },
		{ "current_tracer", "irqsoff\n", "current_tracer" },
		{ "instances/other/current_tracer", "wakeup\n", "instances/other/current_tracer" },
		{ "current_tracer", "function\n", "current_tracer", true },
		{ "set_event", "sched:sched_switch\n", "set_event", true },
		{ "per_cpu/cpu1/stats", "entries: 7\noverrun: 0\n",
		  "7 entries, which would be lost (echo > trace clears it, or > per_cpu/cpu1/trace",
		  true },
		{ "snapshot", "# tracer: nop\n#\n# * Snapshot is allocated *\n", "snapshot", true },
	};

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		const typeof(cases[0]) *in_use = &cases[i / 2];

		make(i % 2);
		fake_put(in_use->name, in_use->text);
		fake_remember();
		if (in_use->top_only && i % 2) {
			assert_int_equal(run(), 0);
		} else {
			assert_int_equal(run(), -EBUSY);
			assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
			assert_non_null(strstr(failure.text, in_use->said));
		}
		assert_as_found();
		request.force = true;
		assert_int_equal(run(), 0);
		assert_as_found();
		fake_teardown(NULL);
	}
}

/* A histogram of others has its event in set_event, and leaves no record; another trigger may. */
AT_TOP(test_triggers_of_others)
{
	/* One needs the clock, one the buffer; one event is on. */
	static const char *const in_use[][2] = {
		{ "hist:keys=ptr:ts=common_timestamp [active]\n", "0*\n" },
		{ "hist:keys=ptr:m=bytes_req:onmax($m).snapshot() [active]\n", "0*\n" },
		{ "hist:keys=call_site [active]\nsnapshot:unlimited\n", "0*\n" },
		{ "hist:keys=call_site [active]\n", "1*\n" },
	};

	fake_put("set_event", "kmem:kmalloc\n");
	fake_put("events/kmem/kmalloc/enable", "0*\n");
	fake_put("events/kmem/kmalloc/trigger", "hist:keys=call_site [active]\n");
	fake_remember();
	assert_int_equal(run(), 0);
	assert_as_found();
	/* Theirs would not count other tasks meanwhile. */
	request.pids = (const pid_t[]){ getpid(), 0 };
	assert_int_equal(run(), -EBUSY);
	assert_non_null(strstr(failure.text, "have histograms"));
	request.pids = NULL;
	for (size_t i = 0; i < COUNT(in_use); i++) {
		fake_put("events/kmem/kmalloc/trigger", in_use[i][0]);
		fake_put("events/kmem/kmalloc/enable", in_use[i][1]);
		assert_int_equal(run(), -EBUSY);
		assert_non_null(strstr(failure.text, "set_event is kmem:kmalloc"));
	}
}

AT_TOP(test_unused_snapshot)
{
	fake_put("snapshot", "# tracer: nop\n#\n# * Snapshot is freed *\n");
	assert_int_equal(run(), 0);
}

AT_TOP(test_ftrace_disabled)
{
	kernel.function_enabled = false;
	assert_int_equal(run(), -ENODEV);
	assert_int_equal(failure.status, EXIT_STATUS_NO_FEATURE);
	assert_non_null(strstr(failure.text, "kernel.ftrace_enabled"));
}

AT_TOP(test_ftrace_disabled_without_functions)
{
	const char *said;

	kernel.function_enabled = false;
	plan->function_graph = false;
	said = start_and_hear();
	assert_false(session_has_probe(session, PROBE_WAITS));
	text_has(said, "memory waits are not told: kernel.ftrace_enabled is 0: sysctl ");
	end_as_found();
	plan->function_graph = true;
}

/* What a killed run left whose undo file is gone. */
IN_INSTANCE(test_left_names_go)
{
	assert_int_equal(restore(), 0);
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < COUNT(fake_probes); k++)
			fake_put_probe(fake.dir, fake_probes[k]);
		assert_int_equal(mkdir(strdupa(fake_path(FAKE_INSTANCE)), 0700), 0);
		/* busy until the instance goes */
		fake_put(FAKE_INSTANCE "/" FAKE_PROBE "/enable", "1\n");
		fake_put(FAKE_INSTANCE "/" FAKE_PROBES "/memory_wait_end/enable", "1\n");
		fake_put("events/task/task_newtask/trigger",
			 "hist:name=allocfilt_task_newtask:keys=common_pid,pid,clone_flags"
			 ":vals=hitcount:sort=hitcount:size=128 [active]\n");
		fake_put("events/kmem/mm_page_alloc/trigger", FAKE_HISTOGRAM
			 "hist:name=allocfilt_mm_page_alloc:keys=common_pid,order"
			 ":vals=hitcount:sort=hitcount:size=128 if order > 1 [active]\n");
		assert_int_equal(i ? run() : restore(), 0);
		assert_as_found();
	}
}

/* What was noted, for a probe that the kernel refuses, is put back already. */
AT_TOP(test_refused_start_leaves_no_undo_file)
{
	fake.refuse_probe = "shrinker";
	fake_put("current_tracer", "function\n");
	fake_remember();
	assert_int_equal(session_start(&session, &request, &failure), -EBUSY);
	assert_false(undo_exists());
	assert_as_found();
}

/* A kernel that refuses the definition: a run without names. */
BOTH(test_refused_probe)
{
	fake.refuse_probe = "shrinker";
	start();
	assert_false(session_has_probe(session, PROBE_SUPERBLOCKS));
	end_as_found();
}

/* Noted and made before the instance, in which they are busy; and gone after it. */
IN_INSTANCE(test_probes_of_waits)
{
	char expected[512];
	const char *noted, *instance;

	start();
	snprintf(expected, sizeof(expected), "p:others/probe do_unlinkat\n%s\n%s\n%s\n",
		 probe.definition, probe_definition(EVENT_WAIT_BEGIN),
		 probe_definition(EVENT_WAIT_END));
	assert_string_equal(fake_get("dynamic_events"), expected);
	assert_value("events/allocfilt/memory_wait_begin/enable", "0");
	assert_value(FAKE_INSTANCE "/events/allocfilt/memory_wait_begin/enable", "1");
	noted = fake_get(UNDO);
	instance = strstr(noted, FAKE_INSTANCE);
	assert_non_null(instance);
	assert_true(strstr(noted, FAKE_PROBES "/memory_wait_begin") < instance);
	assert_true(strstr(noted, FAKE_PROBES "/memory_wait_end") < instance);
	end_as_found();
}

/* Lockdown, or a kernel without psi_memstall_enter(): said once, and all else goes on. */
IN_INSTANCE(test_refused_waits)
{
	static const struct {
		const char *name;
		int error;
		const char *text;
	} cases[] = {
		{ "memory_wait", EPERM, "memory_wait_begin: Operation not permitted" },
		{ "memory_wait", EINVAL, "memory_wait_begin: Invalid argument" },
		{ "memory_wait_end", ENOENT, "memory_wait_end: No such file or directory" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *said;

		fake.refuse_probe = cases[i].name;
		fake.refuse_error = cases[i].error;
		said = start_and_hear();
		assert_false(session_has_probe(session, PROBE_WAITS));
		assert_true(session_has_probe(session, PROBE_SUPERBLOCKS));
		text_has(said, "memory waits are not told: cannot make events/allocfilt/");
		text_has(said, cases[i].text);
		assert_int_equal(count_in(said, "\n"), 1);
		assert_false(fake_has(FAKE_INSTANCE "/" FAKE_PROBES "/memory_wait_end/enable"));
		if (fake_has(FAKE_INSTANCE "/" FAKE_PROBES "/memory_wait_begin/enable"))
			assert_value(FAKE_INSTANCE "/" FAKE_PROBES "/memory_wait_begin/enable",
				     "0");
		assert_value(FAKE_INSTANCE "/" FAKE_PROBE "/enable", "1");
		assert_value(FAKE_INSTANCE "/events/vmscan/mm_shrink_slab_end/enable", "1");
		assert_int_equal(session_on(session, &failure), 0);
		end_as_found();
	}
}

/* The plan has none: no probe is made. */
AT_TOP(test_no_waits)
{
	plan_drop_event(plan, EVENT_WAIT_BEGIN);
	plan_drop_event(plan, EVENT_WAIT_END);
	start();
	assert_false(session_has_probe(session, PROBE_WAITS));
	assert_null(strstr(fake_get("dynamic_events"), "memory_wait"));
	end();
	for (int i = 0; i < plan->nr_events; i++)
		if (plan_is_wait(&plan->events[i]))
			plan->events[i].rule = RULE_PAIR;
	assert_as_found();
}

/* As `trace-cmd reset` does: a warning for each that is told no longer, and the run goes on. */
IN_INSTANCE(test_removed_probes)
{
	const char *said;
	char what[256];

	start_tracing();
	fake_remove_tree(fake_path(FAKE_PROBES));
	fake_remove_tree(fake_path(FAKE_INSTANCE "/" FAKE_PROBES));
	fake_put("dynamic_events", "p:others/probe do_unlinkat\n");
	log_set_level(LOG_LEVEL_NOTICE);
	capture_stderr();
	for (int look = 0; look < 100; look++)
		if (session_taken(session, what, sizeof(what)))
			print_error("%s\n", what);
	said = captured();
	log_set_level(LOG_LEVEL_ERROR);
	text_has(said, "memory waits are not told from now on: events/allocfilt/memory_wait_");
	text_has(said, "superblocks have no names from now on: events/allocfilt/shrinker");
	assert_int_equal(count_in(said, "\n"), 2);
	end_as_found();
}

/* As `echo 0 > .../enable` does. */
IN_INSTANCE(test_disabled_probe)
{
	const char *said;

	start_tracing();
	fake_put(FAKE_INSTANCE "/" FAKE_PROBES "/memory_wait_end/enable", "0\n");
	log_set_level(LOG_LEVEL_NOTICE);
	capture_stderr();
	nobody_changes();
	said = captured();
	log_set_level(LOG_LEVEL_ERROR);
	text_has(said, "memory waits are not told from now on: ");
	assert_int_equal(count_in(said, "\n"), 1);
	assert_true(session_lacks_event(session, EVENT_WAIT_BEGIN));
	end_as_found();
}

/* A mount point without its mount: nothing is to be read there, which does not mean restored. */
static void assert_not_on_tracefs(int ret, enum exit_status status)
{
	assert_int_not_equal(ret, 0);
	assert_int_equal(failure.status, status);
	assert_non_null(strstr(failure.text, fake.dir));
	assert_non_null(strstr(failure.text, "mount -t tracefs"));
	assert_true(undo_exists());
}

BOTH(test_unmounted)
{
	char away[PATH_MAX];

	start();
	snprintf(away, sizeof(away), "%s/away", fake.root);
	assert_int_equal(rename(fake.dir, away), 0);
	fake.unmounted = true;
	/* Unmounted during the run; the directory is there again, and empty; gone */
	assert_int_equal(syscall(SYS_mkdir, fake.dir, 0700), 0);
	assert_not_on_tracefs(session_end(session, &failure), EXIT_STATUS_NOT_RESTORED);
	for (int i = 0; i < 2; i++) {
		assert_not_on_tracefs(session_restore(fake.run_dir, NULL, &failure),
				      EXIT_STATUS_NO_TRACEFS);
		assert_not_on_tracefs(run(), EXIT_STATUS_NO_TRACEFS);
		syscall(SYS_rmdir, fake.dir);
	}
	fake.unmounted = false;
	assert_int_equal(rename(away, fake.dir), 0);
	assert_int_equal(restore(), 0);
	assert_as_found();
	assert_false(undo_exists());
}

/* -s: an instance of our name in a directory that is no tracefs is not ours. */
IN_INSTANCE(test_restore_elsewhere)
{
	fake.unmounted = true;
	assert_int_equal(mkdir(strdupa(fake_path(FAKE_INSTANCE)), 0700), 0);
	assert_int_equal(restore(), -EINVAL);
	assert_int_equal(failure.status, EXIT_STATUS_USAGE);
	assert_true(fake_has(FAKE_INSTANCE));
}

static int try_probe(void)
{
	return session_try_probe(&kernel, PROBE_NAME, probe.definition, fake.run_dir, &failure);
}

/* What --probe says of it is what a run will meet; nothing of the trial is left. */
AT_TOP(test_tried_probe)
{
	assert_int_equal(try_probe(), 0);
	assert_as_found();
	fake.refuse_probe = "shrinker";
	assert_int_equal(try_probe(), -EINVAL);
	assert_non_null(strstr(failure.text, "cannot make events/allocfilt/shrinker"));
	assert_as_found();
	fake.refuse_probe = NULL;
	/* That of a running allocfilt is not touched. */
	start();
	assert_int_equal(try_probe(), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_true(fake_has(FAKE_PROBE "/enable"));
	end();
	/* Nor is that of a killed one, whose probe was accepted. */
	fake_put_probe(fake.dir, "shrinker");
	assert_int_equal(try_probe(), 0);
	assert_true(fake_has(FAKE_PROBE "/enable"));
}

/* Killed in the middle: the next run or --restore removes it. */
AT_TOP(test_killed_trial)
{
	int status, killed = 1;

	for (int at = 1; killed; at++) {
		pid_t pid = _Fork();

		if (!pid) {
			fake.kill_at = at;
			fake.armed = true;
			_exit(try_probe());
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		killed = WEXITSTATUS(status) == 9;
		assert_int_equal(restore(), 0);
		assert_as_found();
	}
}

/* Enabled by somebody else as well: status 6, and restored later. */
IN_INSTANCE(test_busy_probe)
{
	start();
	fake_put("events/allocfilt/shrinker/enable", "1\n");
	assert_int_equal(session_end(session, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_true(undo_exists());
	fake_put("events/allocfilt/shrinker/enable", "0\n");
	assert_int_equal(restore(), 0);
	assert_as_found();
}

AT_TOP(test_taken_away)
{
	static const char *const changes[][3] = {
		{ "current_tracer", "nop\n", "function_graph\n" },
		{ "tracing_thresh", "1\n", "134\n" },
		{ "tracing_on", "0\n", "1\n" },
		{ "events/kmem/mm_page_alloc/trigger", FAKE_HISTOGRAM,
		  "hist:name=allocfilt_mm_page_alloc:keys=order:vals=hitcount:size=128 [active]\n" },
	};
	char what[128];

	start_tracing();
	for (size_t i = 0; i < COUNT(changes); i++) {
		assert_false(session_taken(session, what, sizeof(what)));
		fake_put(changes[i][0], changes[i][1]);
		assert_true(session_taken(session, what, sizeof(what)));
		assert_non_null(strstr(what, changes[i][0]));
		fake_put(changes[i][0], changes[i][2]);
	}
	end();
}

/*
 * Each setting is looked at in turn, whether we wrote it or found it as we want it: a change by
 * somebody else is told, and nothing is told where nobody changed anything.
 */
BOTH(test_changed_during_the_run)
{
	static const char *const changes[][2] = {
		{ "trace_clock", "local [global] counter\n" },
		{ "tracing_cpumask", "2\n" },
		{ "set_ftrace_filter", "#### all functions enabled ####\n" },
		{ "set_ftrace_filter", "vfs_read\n" },
		{ "set_event_pid", "4711\n" },
		{ "set_event_notrace_pid", "4711\n" },
		{ "events/vmscan/mm_shrink_slab_start/enable", "0\n" },
		{ "events/vmscan/mm_shrink_slab_start/filter", "nr == 1\n" },
		{ "events/vmscan/mm_vmscan_direct_reclaim_begin/trigger", "# none\n" },
		{ "options/overwrite", "0\n" },
		{ "max_graph_depth", "1\n" },
		{ "set_graph_function", "vfs_read\n" },
		{ "set_graph_notrace", "vfs_read\n" },
	};
	char what[256];

	start_tracing();
	session_set_buffer_percent(session, 0);
	nobody_changes();
	for (size_t i = 0; i < COUNT(changes); i++) {
		bool shared = strstr(changes[i][0], "graph");
		char path[PATH_MAX], *ours;
		bool instance = fake_has(FAKE_INSTANCE);
		int looks = 0;

		/* Nobody has a filter in an instance that is new. */
		if (instance && strstr(changes[i][0], "/filter"))
			continue;
		snprintf(path, sizeof(path), "%s%s", instance && !shared ? FAKE_INSTANCE "/" : "",
			 changes[i][0]);
		ours = strdup(fake_get(path));
		fake_put(path, changes[i][1]);
		while (!session_taken(session, what, sizeof(what)))
			if (++looks == 30)
				fail_msg("%s: nobody noticed", path);
		assert_ptr_equal(strstr(what, path), what);
		fake_put(path, ours);
		free(ours);
		nobody_changes();
	}
	end();
}

/* A module's functions go with it, and of tasks only what is alive says that a list is not ours. */
AT_TOP(test_changed_by_the_kernel)
{
	const pid_t pids[] = { getpid(), 0 };
	char what[256], own[16];

	snprintf(own, sizeof(own), "%d\n", getpid());
	request.pids = pids;
	start_tracing();
	fake_put("set_ftrace_filter", "try_to_free_pages\n");
	nobody_changes();
	fake_put("set_event_pid", "4711\n");
	for (int look = 0; !session_taken(session, what, sizeof(what)); look++)
		assert_in_range(look, 0, 30);
	assert_ptr_equal(strstr(what, "set_event_pid"), what);
	fake_put("set_event_pid", own);
	nobody_changes();
	end();
}

/* A new size of the sub-buffers empties them, and what is read no longer fits. */
IN_INSTANCE(test_other_sub_buffers)
{
	char what[128];

	start_tracing();
	assert_false(session_taken(session, what, sizeof(what)));
	fake_put(FAKE_INSTANCE "/buffer_subbuf_size_kb", "64\n");
	assert_true(session_taken(session, what, sizeof(what)));
	assert_string_equal(what, FAKE_INSTANCE "/buffer_subbuf_size_kb is 64, ours was 4");
	end_as_found();
}

AT_TOP(test_busy_tracer_at_start)
{
	fake.tracer_busy = true;
	assert_int_equal(run(), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_IN_USE);
	assert_non_null(strstr(failure.text, "trace_pipe"));
	assert_as_found();
}

/* Off, without events, and all else kept until the tracer can go. */
AT_TOP(test_busy_tracer_at_the_end)
{
	start_tracing();
	fake.tracer_busy = true;
	assert_int_equal(session_end(session, &failure), -EBUSY);
	assert_int_equal(failure.status, EXIT_STATUS_NOT_RESTORED);
	assert_non_null(strstr(failure.text, "current_tracer is function_graph"));
	assert_non_null(strstr(failure.text, "nop"));
	assert_value("tracing_on", "0");
	assert_value("events/vmscan/mm_shrink_slab_end/enable", "0");
	assert_value("set_ftrace_filter", "__alloc_pages");
	assert_value("tracing_thresh", "134");
	assert_true(undo_exists());
	fake.tracer_busy = false;
	assert_int_equal(restore(), 0);
	assert_as_found();
}

/* Names are not kept at switches if they need not be; what others time is in nobody's way. */
BOTH(test_events_alone)
{
	prefix = fake.instance_graph ? FAKE_INSTANCE "/" : "";
	plan->function_graph = false;
	request.no_saved_names = fake.instance_graph;
	if (fake.instance_graph) {
		fake_put("tracing_thresh", "50\n");
		fake_put("instances/other/current_tracer", "wakeup\n");
		fake_remember();
	}
	start();
	plan->function_graph = true;
	assert_value_in_place("current_tracer", "nop");
	assert_value("options/record-cmd", "1");
	if (fake.instance_graph) {
		assert_value("instances/allocfilt/trace_options", "norecord-cmd");
		assert_value("tracing_thresh", "50");
	}
	end_as_found();
}

/* Our instance needs no value of it once it is made. */
IN_INSTANCE(test_names_that_nobody_kept)
{
	fake_put("options/record-cmd", "0\n");
	fake_remember();
	request.no_saved_names = true;
	start_tracing();
	fake_put("options/record-cmd", "1\n");
	nobody_changes();
	fake_put("options/record-cmd", "0\n");
	end_as_found();
}

/* A module came in between, so that the indexes are other functions'. */
AT_TOP(test_filter_by_name)
{
	static unsigned int moved[] = { 1, 2, 3 };

	kernel.indexes = moved;
	start();
	assert_string_equal(fake_get("set_ftrace_filter"),
			    "__alloc_pages\ntry_to_free_pages\nshrink_slab\n");
	end_as_found();
}

/*
 * Each call made to fail, and all from it on (@length). What is not as it was found is reported
 * with status 6, and can be restored later. One call alone never leaves a change behind.
 */
static void every_call_fails(bool instances, int error, int length)
{
	bool more = true;
	int at;

	for (at = 1; more && at < CALLS_MAX; at += stride) {
		int ret;

		make(instances);
		request.no_saved_names = instances;
		fake_fail(at, at + length - 1, error);
		ret = run();
		fake.armed = false;
		more = fake.calls >= at;
		if (!fake_is_as_found() &&
		    (length == 1 || !ret || failure.status != EXIT_STATUS_NOT_RESTORED))
			fail_msg("call %d (%s): changed, status %d, %s", at, fake.last,
				 failure.status, failure.text);
		if (restore())
			fail_msg("call %d (%s): restore: %s", at, fake.last, failure.text);
		if (!fake_is_as_found())
			fail_msg("call %d (%s): not restored", at, fake.last);
		fake_teardown(NULL);
	}
	assert_in_range(at, 100, CALLS_MAX - 1);
}

ALONE(test_every_call_fails)
{
	every_call_fails(false, EIO, 1);
	every_call_fails(true, EIO, 1);
}

ALONE(test_no_space_from_every_call_on)
{
	every_call_fails(false, ENOSPC, CALLS_MAX);
	every_call_fails(true, EIO, CALLS_MAX);
}

/* A process that is killed before its n-th call, for every n; restored by the next run or by
 * --restore, in turns. */
static void every_kill(bool instances, bool force)
{
	bool killed = true;
	int at;

	for (at = 1; killed && at < CALLS_MAX; at += stride) {
		int status;
		pid_t pid;

		make(instances);
		request.force = force;
		request.no_saved_names = instances;
		/* Two settings of one file: its default, then ours. And sizes that are refused. */
		if (force) {
			fake_put("tracing_thresh", "50\n");
			fake.buffer_max_kb = 1500;
			fake_remember();
		}
		pid = _Fork();
		if (!pid) {
			fake.kill_at = at;
			fake.armed = true;
			run();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		killed = WEXITSTATUS(status) == 9;
		if (at % 2 ? run() : restore())
			fail_msg("killed at call %d: %s", at, failure.text);
		if (!fake_is_as_found())
			fail_msg("killed at call %d: not restored", at);
		assert_false(undo_exists());
		fake_teardown(NULL);
	}
	assert_in_range(at, 100, CALLS_MAX - 1);
}

ALONE(test_every_kill)
{
	every_kill(false, false);
	every_kill(true, false);
	every_kill(false, true);
}

UNIT_TEST_MAIN(group_setup, group_teardown)
