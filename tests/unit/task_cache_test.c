// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/names/tasks.h"
#include "test_directory.h"
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#define SECOND 1000000000ull
#define SIZE   64

static struct task_cache *cache;
static int passes; /* over saved_cmdlines: each begins with a seek */

off_t lseek(int fd, off_t offset, int whence)
{
	passes++;
	return syscall(SYS_lseek, fd, offset, whence);
}

static const char *kernel_log = ""; /* that of the test */

/* As the kernel: the end of the log, in whole lines. */
int klogctl(int type, char *text, int length)
{
	const char *from = kernel_log;

	assert_int_equal(type, 3);
	while (strlen(from) > (size_t)length)
		from = strchr(from, '\n') + 1;
	memcpy(text, from, strlen(from));
	return strlen(from);
}
static bool no_saved_names;

/* @proc: NULL: a capture */
static struct task_cache *new_cache(const char *dir, const char *proc, size_t size)
{
	static struct data_source source;

	source = (struct data_source){ .dir = dir, .proc = proc, .no_saved_names = no_saved_names };
	return task_cache_new(&source, size);
}

static void open_live(void)
{
	task_cache_free(cache);
	cache = new_cache(test_directory, test_directory, SIZE);
	assert_non_null(cache);
}

static void open_capture(const char *saved, const char *tasks)
{
	put_text("saved_cmdlines", saved);
	put_text("tasks", tasks);
	task_cache_free(cache);
	cache = new_cache(test_directory, NULL, SIZE);
	assert_non_null(cache);
}

static int tear_down(void **state)
{
	task_cache_free(cache);
	cache = NULL;
	kernel_log = "";
	return remove_test_directory(state);
}

static void put_file(int tid, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", tid, name);
	put_text(path, text);
}

static void put_task(int tid, int tgid, const char *name, unsigned int flags, const char *cgroup)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s\n", name);
	put_file(tid, "comm", text);
	snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nTgid:\t%d\nNgid:\t0\n", name, tgid);
	put_file(tid, "status", text);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 %u 0 0\n", tid, name, flags);
	put_file(tid, "stat", text);
	put_file(tid, "cgroup", cgroup);
}

static void remove_task(int tid)
{
	shell("rm -r '%s/%d'", test_directory, tid);
}

static void expect_name(int tid, uint64_t ts, const char *expected)
{
	assert_string_equal(task_cache_name(cache, tid, ts), expected);
}

static int process_of(int tid, uint64_t ts)
{
	return task_cache_info(cache, tid, ts)->pid;
}

static const char *cgroup_of(int tid, uint64_t ts)
{
	return task_cache_info(cache, tid, ts)->cgroup;
}

static void expect_task(int tid, int pid, const char *process, const char *cgroup,
			bool kernel_thread)
{
	const struct task_info *task = task_cache_info(cache, tid, SECOND);

	assert_int_equal(task->pid, pid);
	assert_string_equal(task->process, process);
	assert_string_equal(task->cgroup, cgroup);
	assert_int_equal(task->kernel_thread, kernel_thread);
}

/* ---- names ---- */

#define TEST(name) UNIT_TEST_WITH(name, make_test_directory, tear_down)

/* A live name is that of the same thread; a capture has what its files have. */
TEST(test_names_of_capture)
{
	put_file(12, "comm", "from proc\n");
	open_capture("rubbish\n1 systemd\n12 a b  c \n123 kworker/0:1\n4711 \n"
		     "5 new\nline\n6 \n\n7 \x01\xff\t\n8 12345\n678\n9 x\n10\n"
		     "20 a name that is longer than any can be\n21 next\n11 end\n3",
		     "");
	expect_name(1, 5, "systemd");
	expect_name(12, 5, "a b  c ");
	expect_name(123, 5, "kworker/0:1");
	expect_name(4711, 5, "");
	expect_name(5, 1, "new\nline");
	expect_name(6, 1, "\n");
	expect_name(7, 1, "\x01\xff\t");
	expect_name(8, 1, "12345\n678");
	expect_name(9, 1, "x\n10");
	expect_name(20, 1, "a name that is ");
	expect_name(21, 1, "next");
	expect_name(11, 1, "end\n3");
	expect_name(2, 5, "<...>");
	expect_name(0, 5, "<idle>");
	expect_name(-1, 5, "<XXX>");
}

/* A comm has 15 bytes at most. A line that may be a part of one renames nobody. */
TEST(test_name_that_looks_like_another_task)
{
	static const char *const saved[] = {
		"250 victim-of-all\n77 a\n250 forged\n",
		"77 a\n250 forged\n99999 a-long-name-xx\n250 victim-of-all\n",
	};

	for (size_t i = 0; i < COUNT(saved); i++) {
		open_capture(saved[i], "");
		expect_name(250, 1, "victim-of-all");
		put_text("saved_cmdlines", saved[i]);
		open_live();
		task_cache_see(cache, 250, SECOND);
		expect_name(250, SECOND, "victim-of-all");
	}
	/* Two such lines: which one is true is not known; one alone is likely to be. */
	open_capture("77 a\n250 forged\n9 b\n250 true\n8 c\n251 true\n", "");
	expect_name(250, 1, "<...>");
	open_capture("77 a\n250 forged\n9 b\n250 true\n8 c\n250 third\n8 c\n251 true\n", "");
	expect_name(250, 1, "<...>");
	expect_name(251, 1, "true");
	/* 16 bytes with the newline between them */
	open_capture("77 abcdef\n250 forge\n250 true\n", "");
	expect_name(250, 1, "forge");
}

/* Where /proc has a task, or had it, only /proc renames it. */
TEST(test_forged_name_of_a_known_task)
{
	put_text("saved_cmdlines", "77 a\n250 forged\n78 b\n251 forged\n");
	open_live();
	put_task(250, 250, "alive", 0, "");
	put_task(251, 251, "exited", 0, "");
	task_cache_see(cache, 251, SECOND);
	remove_task(251);
	task_cache_see_saved(cache, SECOND);
	expect_name(250, SECOND, "alive");
	expect_name(251, SECOND, "exited");
	expect_name(251, 60 * SECOND, "exited");
}

TEST(test_no_files)
{
	cache = new_cache("/nonexistent", NULL, SIZE);
	expect_name(5, 1, "<...>");
	assert_int_equal(process_of(5, 1), 0);
	task_cache_free(cache);
	cache = new_cache("/nonexistent", "/nonexistent", SIZE);
	expect_name(5, 1, "<...>");
	assert_int_equal(process_of(5, 1), 0);
	task_cache_free(NULL);
}

TEST(test_name_of_exited_task)
{
	put_text("saved_cmdlines", "1 other\n60 saved\n");
	put_file(50, "comm", "short-lived\n");
	put_file(51, "comm", "two\nlines\n");
	open_live();
	task_cache_see(cache, 50, 10 * SECOND);
	task_cache_see(cache, 51, 10 * SECOND);
	remove_task(50);
	remove_task(51);
	expect_name(50, 10 * SECOND, "short-lived");
	expect_name(51, 10 * SECOND, "two\nlines");
	expect_name(50, 20 * SECOND, "short-lived");
	/* Not seen: looked for once a second. */
	expect_name(60, 21 * SECOND, "saved");
	/* Saved in another run, perhaps of another task. */
	no_saved_names = true;
	open_live();
	task_cache_see(cache, 60, 10 * SECOND);
	task_cache_see_saved(cache, 10 * SECOND);
	expect_name(60, 12 * SECOND, "<...>");
	no_saved_names = false;
}

/* One pass has the names of all that were seen by then, and nobody looks again for the rest. */
TEST(test_exited_tasks_together)
{
	put_text("saved_cmdlines", "5003 three\n5004 four\n");
	open_live();
	passes = 0;
	for (int tid = 5000; tid < 5000 + SIZE; tid++)
		task_cache_see(cache, tid, 10 * SECOND);
	assert_int_equal(passes, 0);
	expect_name(5003, 10 * SECOND, "three");
	expect_name(5000, 10 * SECOND, "<...>");
	expect_name(5004, 10 * SECOND, "four");
	assert_int_equal(passes, 1);
	/* The next round, in the same second. */
	put_text("saved_cmdlines", "6000 next\n");
	task_cache_see(cache, 6000, 10 * SECOND + 1);
	expect_name(6000, 10 * SECOND + 1, "next");
	expect_name(5003, 10 * SECOND + 1, "three");
	assert_int_equal(passes, 2);
}

/* Most are evicted before they are shown. */
TEST(test_very_many_exited_tasks)
{
	put_text("saved_cmdlines", "1 other\n");
	open_live();
	passes = 0;
	for (int tid = 1000; tid < 32000; tid++)
		task_cache_see(cache, tid, SECOND + tid);
	for (int tid = 1000; tid < 32000; tid++)
		expect_name(tid, SECOND + tid, "<...>");
	assert_in_range(passes, 1, 2);
	expect_name(1000, 3 * SECOND, "<...>");
	assert_in_range(passes, 2, 3);
}

TEST(test_exec_changes_name)
{
	put_file(70, "comm", "sh\n");
	open_live();
	task_cache_see(cache, 70, 10 * SECOND);
	put_file(70, "comm", "sleep\n");
	expect_name(70, 11 * SECOND, "sh");
	expect_name(70, 11 * SECOND + 1, "sleep");
	put_file(70, "comm", "third\n");
	expect_name(70, 12 * SECOND, "sleep");
	expect_name(70, 1, "sleep");
	/* A name that was not found is looked for again. */
	expect_name(71, 20 * SECOND, "<...>");
	put_file(71, "comm", "found\n");
	expect_name(71, 20 * SECOND, "<...>");
	expect_name(71, 22 * SECOND, "found");
}

TEST(test_names_of_workers)
{
	static const struct {
		const char *comm;
		const char *name;
	} cases[] = {
		{ "kworker/0:1-events\n", "kworker/0:1" },
		{ "kworker/u8:2+flush-254:0\n", "kworker/u8:2" },
		{ "kworker/1:0H\n", "kworker/1:0H" },
		{ "kworker/0:1H-kblockd\n", "kworker/0:1H" },
		{ "kworker/R-slub_flushwq\n", "kworker/R-slub_" },
		{ "kworker-not-one\n", "kworker-not-one" },
		{ "a-b+c:d-e\n", "a-b+c:d-e" },
		{ "sixteen-letters-\n", "sixteen-letters" },
		{ "no newline", "no newline" },
	};

	open_live();
	for (int i = 0; i < (int)COUNT(cases); i++) {
		put_file(200 + i, "comm", cases[i].comm);
		expect_name(200 + i, 1, cases[i].name);
	}
}

/* ---- processes and cgroups ---- */

TEST(test_process)
{
	open_live();
	put_task(10, 10, "server", 0x400040, "0::/system.slice/a.service\n");
	put_task(11, 10, "worker) S 1", 0x400040, "0::/system.slice/a.service\n");
	put_task(12, 12, "kswapd0", 0x20a840, "0::/\n");
	put_task(13, 13, "Tgid:\t10", 0, "");
	expect_task(11, 10, "server", "/system.slice/a.service", false);
	expect_task(12, 12, "kswapd0", "/", true);
	assert_int_equal(process_of(13, SECOND), 13);
	expect_task(99, 0, "", "", false);
	assert_int_equal(process_of(0, SECOND), 0);
	/* A thread ended while it was looked up. Its process has its cgroup. */
	put_task(51, 10, "thread", 0, "");
	put_task(52, 10, "thread", 0, "0::/b\n");
	shell("rm '%s/51/cgroup'", test_directory);
	expect_task(51, 10, "server", "/system.slice/a.service", false);
	expect_task(52, 10, "server", "/b", false);
}

/* @from: "" if it is the task's own */
static void expect_cgroup(int tid, uint64_t ts, const char *cgroup, const char *from, bool ended)
{
	const struct task_info *info = task_cache_info(cache, tid, ts);

	assert_string_equal(info->cgroup, cgroup);
	assert_string_equal(info->source ? info->source : "", from);
	assert_int_equal(info->ended, ended);
}

TEST(test_cgroup_lines)
{
	static const struct {
		const char *text;
		const char *cgroup;
	} cases[] = {
		{ "12:cpu,cpuacct:/c\n5:memory:/m\n0::/u\n", "/m" },
		{ "0::/u\n7:cpu,memory:/m\n", "/m" },
		{ "7:memory,cpu:/m:n\n", "/m:n" },
		{ "7:memorylike:/x\n0::/u\n", "/u" },
		{ "1:name=systemd:/s\n", "" },
		{ "1:name=memory:/s\n0::/u", "/u" },
		{ "memory\n:memory\n0::/u\n", "/u" },
		{ "", "" },
	};
	char longest[2 * TASK_CGROUP_MAX];

	open_live();
	for (int i = 0; i < (int)COUNT(cases); i++) {
		put_task(20 + i, 20 + i, "x", 0, cases[i].text);
		assert_string_equal(cgroup_of(20 + i, SECOND), cases[i].cgroup);
	}
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "0::/", 4);
	strcpy(longest + sizeof(longest) - 4, "end");
	put_task(40, 40, "x", 0, longest);
	assert_int_equal(strlen(cgroup_of(40, SECOND)), TASK_CGROUP_MAX - 1);
	/* A path that was cut does not look like a whole one. */
	longest[strlen(longest) - (TASK_CGROUP_MAX - 1)] = '/';
	put_task(42, 42, "x", 0, longest);
	assert_int_equal(strlen(cgroup_of(42, SECOND)), TASK_CGROUP_MAX - 2);
	assert_int_equal(*cgroup_of(42, SECOND), 'a');
	assert_non_null(strstr(cgroup_of(40, SECOND), "aend"));
}

TEST(test_age_of_info)
{
	open_live();
	put_task(30, 30, "one", 0, "0::/a\n");
	task_cache_see(cache, 30, SECOND);
	put_task(30, 30, "two", 0, "0::/b\n");
	task_cache_see(cache, 30, 5 * SECOND);
	assert_string_equal(cgroup_of(30, SECOND + 5), "/a");
	assert_string_equal(cgroup_of(30, 3 * SECOND), "/b");
	put_task(30, 30, "two", 0, "0::/c\n");
	task_cache_see(cache, 30, 14 * SECOND);
	remove_task(30);
	assert_string_equal(cgroup_of(30, 60 * SECOND), "/c");
	assert_string_equal(task_cache_info(cache, 30, 60 * SECOND)->process, "two");
}

/* What has the same name is not read again; exec and another task of the same id change it. */
TEST(test_see_saved)
{
	put_text("saved_cmdlines", "30 one\n31 gone\nrest\n");
	open_live();
	put_task(30, 30, "one", 0, "0::/a\n");
	task_cache_see_saved(cache, SECOND);
	expect_name(31, SECOND, "gone\nrest");
	put_task(30, 29, "one", 0, "0::/b\n");
	task_cache_see_saved(cache, 60 * SECOND);
	assert_string_equal(cgroup_of(30, SECOND), "/a");
	put_task(30, 29, "two", 0, "0::/b\n");
	put_text("saved_cmdlines", "30 two\n");
	task_cache_see_saved(cache, 61 * SECOND);
	expect_name(30, 61 * SECOND, "two");
	remove_task(30);
	put_text("saved_cmdlines", "30 <...>\n");
	task_cache_see_saved(cache, 62 * SECOND);
	expect_name(30, 62 * SECOND, "two");
	assert_string_equal(cgroup_of(30, 90 * SECOND), "/b");
	assert_int_equal(process_of(30, 90 * SECOND), 29);
}

/* A task has ended if /proc has it no more, or if a recording that has other tasks lacks it. */
TEST(test_ended)
{
	put_text("saved_cmdlines", "60 saved\n");
	put_file(70, "status/x", "");
	put_task(80, 80, "here", 0, "");
	open_live();
	task_cache_see(cache, 60, SECOND);
	expect_cgroup(60, SECOND, "", "", true);
	assert_int_equal(process_of(60, SECOND), 0);
	expect_name(60, SECOND, "saved");
	expect_cgroup(0, SECOND, "", "", false);
	/* it cannot be read, for another reason */
	expect_cgroup(70, SECOND, "", "", false);
	/* without a cgroup, but not ended */
	expect_cgroup(80, SECOND, "", "", false);
	put_file(80, "cgroup", "0::/b\n");
	assert_string_equal(cgroup_of(80, 9 * SECOND), "/b");
	remove_task(80);
	expect_cgroup(80, 19 * SECOND, "/b", "", false);
	/* another task of the same number */
	put_task(60, 60, "next", 0, "0::/a\n");
	expect_cgroup(60, 9 * SECOND, "/a", "", false);
	open_capture("5 five\n6 six\n", "5 4 - four /x\n");
	for (int tid = 0; tid < 8; tid++)
		assert_int_equal(task_cache_info(cache, tid, 0)->ended, tid != 5 && tid != 0);
	open_capture("5 five\n", "");
	assert_false(task_cache_info(cache, 5, 0)->ended);
	assert_false(task_cache_info(cache, 7, 0)->ended);
}

/* An exited task keeps its process, until its id is reused. */
TEST(test_reused_id)
{
	open_live();
	put_task(101, 5000, "thread", 0, "");
	assert_int_equal(process_of(101, SECOND), 5000);
	remove_task(101);
	assert_int_equal(process_of(101, 10 * SECOND), 5000);
	put_task(101, 101, "other", 0, "");
	assert_int_equal(process_of(101, 11 * SECOND), 5000);
	assert_int_equal(process_of(101, 11 * SECOND + 1), 101);
}

/* An exiting task has its path on cgroup2, and the root on version 1. */
TEST(test_exiting)
{
	static const struct {
		unsigned int flags;
		const char *text;
		const char *cgroup;
		bool ended;
	} cases[] = {
		{ 0x40800c, "0::/a\n", "/a", false },
		{ 0x40800c, "0::/\n", "/", false },
		{ 0x40800c, "0::/a.service (deleted)\n", "/a.service", false },
		{ 0x400000, "0::/a (deleted)\n", "/a (deleted)", false },
		{ 0x40800c, "0::/a b\n", "/a b", false },
		{ 0x40800c, "1:memory:/\n0::/\n", "", true },
		{ 0x400000, "1:memory:/\n0::/\n", "/", false },
	};

	open_live();
	for (int i = 0; i < (int)COUNT(cases); i++) {
		put_task(20 + i, 20 + i, "x", cases[i].flags, cases[i].text);
		expect_cgroup(20 + i, SECOND, cases[i].cgroup, "", cases[i].ended);
	}
	/* The cgroup that was known stays. */
	put_task(40, 40, "x", 0, "1:memory:/a\n0::/\n");
	assert_string_equal(cgroup_of(40, SECOND), "/a");
	put_task(40, 40, "x", 0x40800c, "1:memory:/\n0::/\n");
	expect_cgroup(40, 9 * SECOND, "/a", "", false);
}

#define OOM(time, memcg, name, pid)                                                                \
	"<6>[" time "] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"             \
	"mems_allowed=0,oom_memcg=/l," memcg ",task=" name ",pid=" pid ",uid=0\n"
#define VICTIM(time, path, name, pid) OOM(time, "task_memcg=" path, name, pid)

static void expect_limit(int tid, uint64_t ts, int bytes)
{
	assert_int_equal(task_cache_info(cache, tid, ts)->limit, bytes);
}

/* The OOM killer's victims are gone when their records are read, or will be. */
TEST(test_victims_of_log)
{
	kernel_log = VICTIM("    5.000000", "/old", "x", "60") "<4>[    5.000001] other\n";
	open_live();
	task_cache_see(cache, 60, SECOND);
	assert_string_equal(cgroup_of(60, SECOND), "");
	put_task(61, 61, "alive", 0, "0::/a\n");
	put_task(67, 67, "x", 0, "0::/before\n");
	task_cache_see(cache, 61, SECOND);
	task_cache_see(cache, 67, SECOND);
	remove_task(67);
	kernel_log = VICTIM(
		"    5.000000", "/old", "x",
		"60") "<4>[    5.000001] other\n<4>[    6.100000] oom-kill:\n" VICTIM("    6.200000",
										      "/l/a.service",
										      "some,pid=9,uid=",
										      "62")
		VICTIM("    6.200001", "/l/b c", ",task=1,task=2", "63")
		/* what a name or a path may have */
		VICTIM("    6.200002", "/x,task_memcg=/system.slice/b.service", "x", "64") VICTIM(
			"    6.200003", "/l", ",task_memcg=/a",
			"65") "<6>[    6.200004] oom-kill:constraint=NONE,task_memcg=/l,task=x\n"
			      "<6>[    6.200005] x: oom-kill:constraint=NONE,task_memcg=/l,task=x,pid=66,uid=0\n"
			      "<6>oom-kill:constraint=NONE,task_memcg=/l,task=x,pid=66,uid=0\n"
			      "<6>[    6.200006] oom-kill:constraint=NONE,task_memcg=/l,task=x,pid=-66,uid=0\n"
			      "<6>[    6.200007][  T123] oom-kill:constraint=NONE,global_oom,"
			      "task_memcg=/last,task=x,pid=67,uid=0\n";
	for (int tid = 62; tid <= 66; tid++)
		task_cache_see(cache, tid, 2 * SECOND);
	expect_task(62, 62, "", "/l/a.service", false);
	assert_false(task_cache_info(cache, 62, 2 * SECOND)->ended);
	expect_task(63, 63, "", "/l/b c", false);
	for (int tid = 64; tid <= 66; tid++) {
		expect_task(tid, 0, "", "", false);
		assert_true(task_cache_info(cache, tid, 2 * SECOND)->ended);
	}
	expect_task(61, 61, "alive", "/a", false);
	/* It is the last word. */
	expect_task(67, 67, "x", "/last", false);
	expect_task(60, 0, "", "", false);
	/* "/l" of "/l/a.service" and "/l/b c"; "global_oom" */
	expect_limit(62, 2 * SECOND, 2);
	expect_limit(63, 2 * SECOND, 2);
	expect_limit(67, 2 * SECOND, 1);
	expect_limit(61, 2 * SECOND, 0);
	/* Two seconds later the tasks are still gone. A line counts once. */
	assert_string_equal(cgroup_of(62, 9 * SECOND), "/l/a.service");
	/* Not seen before the log was read */
	kernel_log = VICTIM("    7.000000", "/v", "x", "70");
	task_cache_see(cache, 71, 10 * SECOND);
	expect_name(71, 10 * SECOND, "<...>");
	kernel_log = "";
	task_cache_see(cache, 70, 11 * SECOND);
	expect_task(70, 70, "", "/v", false);
	/* "/l" is not around "/v": a path in the log that cannot be. */
	expect_limit(70, 11 * SECOND, 0);
	/* Another task of the same number */
	put_task(70, 70, "next", 0, "0::/a\n");
	assert_string_equal(cgroup_of(70, 30 * SECOND), "/a");
	/* One that is known, and still exits when it is read again; then its number is another one's. */
	put_task(72, 72, "x", 0, "0::/l/x\n");
	task_cache_see(cache, 72, 40 * SECOND);
	kernel_log =
		VICTIM("    8.000000", "/l/x", "x", "72") VICTIM("    8.000001", "/lx", "x", "73");
	task_cache_see_victims(cache, 40 * SECOND);
	expect_limit(72, 40 * SECOND, 2);
	expect_limit(73, 40 * SECOND, 0);
	expect_limit(72, 50 * SECOND, 2);
	put_task(72, 72, "next", 0, "0::/a\n");
	expect_limit(72, 60 * SECOND, 0);
}

/* The log is read only when the kernel has counted another victim, which may be behind its first page. */
TEST(test_count_of_victims)
{
	static char text[6000];
	size_t used;

	memset(text, 'x', 5000);
	used = 5000 + sprintf(text + 5000, " 1\noom_kill 3\n");
	put_text("vmstat", text);
	open_live();
	kernel_log =
		VICTIM("    5.000000", "/a", "x", "60") VICTIM("    5.000001", "/b", "x", "61");
	task_cache_see(cache, 60, SECOND);
	assert_string_equal(cgroup_of(60, SECOND), "");
	text[used - 2] = '5';
	put_text("vmstat", text);
	task_cache_see(cache, 61, 2 * SECOND);
	assert_string_equal(cgroup_of(61, 2 * SECOND), "/b");
	assert_string_equal(cgroup_of(60, 2 * SECOND), "/a");
	shell("rm '%s/vmstat'", test_directory);
}

/* A cgroup that is supposed is said to be, and gives way to the task's own. */
TEST(test_supposed_cgroup)
{
	put_task(80, 80, "known", 0, "0::/own\n");
	open_live();
	task_cache_see(cache, 80, SECOND);
	task_cache_suppose(cache, 80, SECOND, "reclaim", "/a");
	expect_cgroup(80, SECOND, "/own", "", false);
	task_cache_see(cache, 81, SECOND);
	task_cache_suppose(cache, 81, SECOND, "reclaim", "");
	expect_cgroup(81, SECOND, "", "", true);
	task_cache_suppose(cache, 81, SECOND, "parent", "/p");
	task_cache_suppose(cache, 81, SECOND, "reclaim", "/a");
	expect_cgroup(81, 9 * SECOND, "/p", "parent", true);
	assert_int_equal(task_cache_info(cache, 81, 9 * SECOND)->tid, 81);
	assert_int_equal(process_of(81, 9 * SECOND), 0);
	task_cache_suppose(cache, 0, SECOND, "parent", "/p");
	task_cache_suppose(cache, -1, SECOND, "parent", "/p");
	/* It is told when the task begins. */
	put_task(82, 82, "child", 0, "0::/own\n");
	task_cache_suppose(cache, 82, SECOND, "parent", "/p");
	expect_cgroup(82, SECOND, "/own", "", false);
	/* The log knows better. */
	kernel_log = VICTIM("    1.000000", "/v", "x", "81");
	task_cache_see(cache, 83, 20 * SECOND);
	expect_name(83, 20 * SECOND, "<...>");
	expect_cgroup(81, 20 * SECOND, "/v", "", false);
	/* A capture's tasks, and one that it does not have */
	open_capture("5 five\n6 six\n", "5 5 - five /x\n");
	for (int tid = 5; tid <= 7; tid++)
		task_cache_suppose(cache, tid, SECOND, "reclaim", "/a");
	assert_string_equal(cgroup_of(5, 0), "/x");
	assert_string_equal(cgroup_of(6, 0), "/a");
	assert_string_equal(task_cache_info(cache, 7, 0)->source, "reclaim");
	expect_name(6, 1, "six");
}

/* ---- limits and files ---- */

TEST(test_full_table)
{
	put_task(1000, 1000, "used", 0, "");
	put_task(1001, 1001, "unused", 0, "");
	put_task(1002, 1002, "alive", 0, "");
	open_live();
	for (int tid = 1000; tid < 1000 + SIZE; tid++)
		task_cache_see(cache, tid, SECOND);
	remove_task(1000);
	remove_task(1001);
	expect_name(1000, SECOND, "used");
	task_cache_see(cache, 2000, SECOND);
	task_cache_see(cache, 2001, SECOND);
	expect_name(1000, SECOND, "used");
	assert_int_equal(task_cache_missed(cache), 0);
	/* Both were evicted, and one can be read again. */
	expect_name(1002, SECOND, "alive");
	assert_int_equal(task_cache_missed(cache), 0);
	expect_name(1001, SECOND, "<...>");
	assert_int_equal(task_cache_missed(cache), 1);
	assert_int_equal(process_of(1003, SECOND), 0);
	assert_int_equal(task_cache_missed(cache), 2);
}

/* A year of pids: the newest have their names and cgroups. */
TEST(test_churn)
{
	char path[PATH_MAX];

	put_text("kind/comm", "short-lived\n");
	put_text("kind/status", "Name:\tshort-lived\nTgid:\t1\n");
	put_text("kind/cgroup", "0::/a\n");
	open_live();
	/* Never seen, and not evicted. */
	expect_name(6000, SECOND, "<...>");
	assert_int_equal(task_cache_missed(cache), 0);
	for (int tid = 1; tid <= 5000; tid++) {
		snprintf(path, sizeof(path), "%s/%d", test_directory, tid);
		assert_int_equal(symlink("kind", path), 0);
		task_cache_see(cache, tid, SECOND + tid);
		assert_int_equal(unlink(path), 0);
		expect_name(tid, SECOND + tid, "short-lived");
		assert_string_equal(cgroup_of(tid, SECOND + tid), "/a");
		if (tid > SIZE)
			assert_string_equal(cgroup_of(tid - SIZE / 2 + 1, SECOND + tid), "/a");
	}
	assert_int_equal(task_cache_missed(cache), 0);
}

TEST(test_info_of_capture)
{
	open_capture("5 five\n8 eight\n", "5 4 - a\\040b\\012\\134\\377 /x\\040y\n6 6 k \\055 -\n"
					  "rubbish\n-3 4 - a b\n9 9\n\n");
	expect_task(5, 4, "a b\n\\\xff", "/x y", false);
	expect_name(5, 0, "five");
	expect_task(6, 6, "-", "", true);
	expect_name(6, 0, "<...>");
	assert_int_equal(process_of(8, 0), 0);
	assert_int_equal(process_of(9, 0), 0);
}

/* Everything in a capture's files is known, and is not evicted by what is not. */
TEST(test_large_capture)
{
	char *names = malloc(300000), *tasks = malloc(300000), *name = names, *task = tasks;

	for (int tid = 1; tid <= 10000; tid++) {
		name += sprintf(name, "%d task-%d\n", tid, tid);
		if (tid % 2)
			task += sprintf(task, "%d 1 - p /%d\n", tid, tid);
	}
	open_capture(names, tasks);
	free(names);
	free(tasks);
	for (int tid = 20000; tid < 40000; tid++)
		expect_name(tid, SECOND, "<...>");
	for (int tid = 1; tid <= 10000; tid++) {
		char expected[32];

		snprintf(expected, sizeof(expected), "task-%d", tid);
		expect_name(tid, SECOND, expected);
		snprintf(expected, sizeof(expected), "/%d", tid);
		assert_string_equal(cgroup_of(tid, SECOND), tid % 2 ? expected : "");
	}
	assert_int_equal(task_cache_missed(cache), 0);
}

/* A victim was moved after it was looked up: a pass for another task was made a moment before it is shown. */
TEST(test_victim_that_was_moved)
{
	open_live();
	put_task(90, 90, "sh", 0, "0::/\n");
	task_cache_see(cache, 90, SECOND);
	remove_task(90);
	task_cache_see(cache, 91, 3 * SECOND);
	expect_name(91, 3 * SECOND, "<...>");
	kernel_log = VICTIM("    3.000000", "/a", "dd", "90");
	assert_string_equal(cgroup_of(90, 3 * SECOND + 5), "/a");
	expect_name(90, 3 * SECOND + 5, "sh");
}

/* What is printed of a live run is read in the same way as a capture. */
TEST(test_print)
{
	FILE *names, *tasks;

	put_task(10, 9, "ten", 0, "0::/a b\n");
	put_task(9, 9, "p\\ q", 0, "0::/a b\n");
	put_task(2, 2, "kthreadd", 0x200000, "0::/\n");
	put_file(11, "comm", "only name\n");
	put_file(12, "comm", "a\n2 forged\\012\n");
	put_text("saved_cmdlines", "14 victim\n");
	open_live();
	kernel_log = VICTIM("    1.000000", "/v", "victim", "14")
		VICTIM("    1.000001", "/w", "nameless", "15");
	for (int tid = 2; tid <= 13; tid++)
		task_cache_see(cache, tid, SECOND);
	task_cache_see_saved(cache, SECOND);
	names = fopen(test_path("saved_cmdlines"), "w");
	tasks = fopen(test_path("tasks"), "w");
	task_cache_print(cache, names, tasks);
	fclose(names);
	fclose(tasks);
	task_cache_free(cache);
	cache = new_cache(test_directory, NULL, 1);
	expect_name(10, 0, "ten");
	expect_name(11, 0, "only name");
	expect_name(12, 0, "a\n2 forged\\012");
	expect_name(2, 0, "kthreadd");
	expect_name(13, 0, "<...>");
	expect_task(10, 9, "p\\ q", "/a b", false);
	expect_task(2, 2, "kthreadd", "/", true);
	expect_name(14, 0, "victim");
	expect_task(14, 14, "", "/v", false);
	expect_task(15, 15, "", "/w", false);
	assert_int_equal(process_of(11, 0), 0);
}

UNIT_TEST_MAIN(NULL, NULL)
