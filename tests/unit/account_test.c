// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>

#include "allocfilt/account/account.h"
#include "fake_resolver.h"
#include "made_named.h"
#include "test_directory.h"
#include "unit_test.h"

static struct account *account;
static struct account_tables tables;
static struct plan plan;
static char *texts[HISTOGRAM_COUNT];

/* Of procfs: the process of a thread. */
static struct {
	int tid, pid;
} threads[8];

static const struct task_info *task_info(void *context, int tid, uint64_t ts)
{
	static struct task_info info;

	info = (struct task_info){ .tid = tid };
	for (size_t i = 0; i < COUNT(threads); i++)
		if (threads[i].tid == tid)
			info.pid = threads[i].pid;
	return &info;
}

static const char *task_name(void *context, int tid, uint64_t ts)
{
	static char name[16];

	snprintf(name, sizeof(name), "task%d", tid);
	return name;
}

static struct resolver resolver = { .task_info = task_info, .task = task_name };

static int set_up(void **state)
{
	plan = (struct plan){ .histograms = ~0u, .cache_names = true };
	memset(threads, 0, sizeof(threads));
	return 0;
}

static int tear_down(void **state)
{
	account_free(account);
	account = NULL;
	return 0;
}

static void begin(const pid_t *pids)
{
	plan.sites_by_task = pids;
	account = account_new(&plan, pids, &resolver);
	assert_non_null(account);
}

/* A histogram in the kernel's form. @rows: each ends with a newline */
static void put(enum histogram_id id, const char *rows, unsigned int dropped)
{
	free(texts[id]);
	assert_true(asprintf(&texts[id],
			     "# event histogram\n#\n# trigger info: hist:name=allocfilt_%s:keys=%s"
			     ":vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n%s\nTotals:\n"
			     "    Hits: %d\n    Entries: 1\n    Dropped: %u\n",
			     catalog_histograms[id].event, catalog_histograms[id].keys, rows,
			     *rows != '\0', dropped) > 0);
}

static int read_texts(void)
{
	int ret = account_read(account, texts, 0);

	memset(texts, 0, sizeof(texts));
	return ret;
}

static void show(bool interval, enum account_sort sort)
{
	assert_int_equal(account_tables(account, interval, sort, &tables), 0);
}

static const struct account_process *process(int pid)
{
	for (size_t i = 0; i < tables.nr_processes; i++)
		if (tables.processes[i].pid == pid)
			return &tables.processes[i];
	return NULL;
}

/* "100=3 201=4": the pages of these processes, and there are no others. */
static void pages_are(const char *expected)
{
	size_t count = 0;
	int pid, pages, length;

	for (; sscanf(expected, " %d=%d%n", &pid, &pages, &length) == 2; expected += length) {
		const struct account_process *found = process(pid);

		assert_non_null(found);
		assert_int_equal(found->pages, pages);
		count++;
	}
	assert_int_equal(tables.nr_processes, count);
}

static void read_and_show(void)
{
	assert_int_equal(read_texts(), 0);
	show(false, SORT_WASTED);
}

#define FORK(parent, pid, flags)                                                                   \
	"{ common_pid: " #parent ", pid: " #pid ", clone_flags: " #flags " } hitcount: 1\n"
#define PAGES(pid, order, count)                                                                   \
	"{ common_pid:        " #pid ", order:          " #order " } hitcount:  " #count "\n"
#define COUNT_OF(pid, count) "{ common_pid: " #pid " } hitcount: " #count "\n"
#define EXIT(pid, name)                                                                            \
	"{ common_pid: " #pid ", comm: " name "              } hitcount:          1\n"
#define SITE(pid, address, function, count, requested, allocated)                                  \
	"{ common_pid: " #pid ", call_site: [" #address "] " function "  } hitcount: " #count      \
	"  bytes_req: " #requested "  bytes_alloc: " #allocated "\n"
#define CACHE(address, function, name, count, requested, allocated)                                \
	"{ call_site: [" #address "] " function "   } hitcount: " #count                           \
	"  bytes_req: " #requested "  bytes_alloc: " #allocated "\n\tmax:  1  name: " name         \
	"     \n"
#define PLAIN_SITE(count, requested, allocated)                                                    \
	"{ call_site: [ffffffff81000010] f+0x1/0x2 } hitcount: " #count "  bytes_req: " #requested \
	"  bytes_alloc: " #allocated "\n"
/* CLONE_THREAD is 65536; 18874368 are the flags of a shell's fork. */
_Static_assert(CLONE_THREAD == 65536 && (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID) == 18874368,
	       "");

#define TEST(test) UNIT_TEST_WITH(test, set_up, tear_down)

/* 100 has a child, that has one, too; a thread, and the thread has a child. */
TEST(test_processes_of_tasks)
{
	begin(NULL);
	put(HISTOGRAM_FORKS,
	    FORK(1, 300, 18874368) FORK(202, 203, 18874368) FORK(100, 201, 18874368)
		    FORK(201, 202, 18874368) FORK(100, 101, 65536) FORK(101, 204, 18874368)
			    FORK(50, 100, 18874368) FORK(300, 301, 65536),
	    0);
	put(HISTOGRAM_PAGES,
	    PAGES(100, 0, 1) PAGES(101, 0, 2) PAGES(201, 0, 4) PAGES(202, 0, 8) PAGES(203, 0, 16)
		    PAGES(204, 0, 32),
	    0);
	put(HISTOGRAM_KMALLOC,
	    SITE(100, ffffffff81000010, "f+0x10/0x20", 1, 10, 16)
		    SITE(203, ffffffff81000010, "f+0x10/0x20", 2, 20, 32),
	    0);
	read_and_show();
	pages_are("100=3 201=4 202=8 203=16 204=32");
	assert_int_equal(tables.all_processes.pages, 63);
	assert_int_equal(tables.nr_sites, 1);
	assert_int_equal(tables.sites[0].count, 3);
	assert_int_equal(tables.sites[0].requested, 30);
	assert_int_equal(account_wasted(&tables.sites[0]), 18);
	assert_int_equal(tables.unreadable, 0);
}

/* Numbers that were used again make a circle. */
TEST(test_circle_of_tasks)
{
	begin(NULL);
	put(HISTOGRAM_FORKS,
	    FORK(7, 8, 65536) FORK(8, 9, 65536) FORK(9, 7, 65536) FORK(6, 6, 18874368)
		    FORK(100, 201, 18874368) FORK(201, 201, 65536),
	    0);
	put(HISTOGRAM_PAGES, PAGES(7, 0, 1) PAGES(6, 0, 1) PAGES(100, 0, 4), 0);
	read_and_show();
	assert_int_equal(tables.nr_processes, 3);
	assert_int_equal(process(6)->pages, 1);
	assert_int_equal(process(100)->pages, 4);
	tear_down(NULL);
	begin(NULL);
	put(HISTOGRAM_FORKS, FORK(7, 8, 65536) FORK(8, 7, 65536), 0);
	put(HISTOGRAM_PAGES, PAGES(7, 0, 1), 0);
	read_and_show();
	assert_int_equal(tables.all_processes.pages, 1);
}

/* -p 40: a thread that procfs knows, one that was born meanwhile, and not its child. */
TEST(test_processes_of_pid)
{
	static const pid_t pids[] = { 39, 40, 0 };

	threads[0].tid = 41;
	threads[0].pid = 40;
	begin(pids);
	put(HISTOGRAM_FORKS, FORK(41, 42, 65536) FORK(40, 43, 18874368), 0);
	put(HISTOGRAM_PAGES,
	    PAGES(40, 0, 1) PAGES(41, 0, 2) PAGES(42, 0, 4) PAGES(43, 0, 8) PAGES(44, 0, 16), 0);
	read_and_show();
	pages_are("40=7");
}

TEST(test_names)
{
	begin(NULL);
	put(HISTOGRAM_EXITS,
	    EXIT(5, "a } hitcount: 7") EXIT(6, "b, order: 3") EXIT(7, "0123456789abcde")
		    EXIT(8, "c\nd") EXIT(99, "x"),
	    0);
	put(HISTOGRAM_PAGES,
	    PAGES(5, 0, 1) PAGES(6, 0, 1) PAGES(7, 0, 1) PAGES(8, 0, 1) PAGES(9, 0, 1), 0);
	read_and_show();
	assert_int_equal(tables.nr_processes, 5);
	assert_string_equal(process(5)->name, "a } hitcount: 7");
	assert_string_equal(process(6)->name, "b, order: 3");
	assert_string_equal(process(7)->name, "0123456789abcde");
	assert_string_equal(process(8)->name, "task8");
	assert_string_equal(process(9)->name, "task9");
	assert_int_equal(tables.unreadable, 2);
}

TEST(test_orders)
{
	static const uint64_t orders[ACCOUNT_ORDERS] = { 3, [2] = 5, [9] = 1, [15] = 3 };
	const struct account_process *found;

	begin(NULL);
	put(HISTOGRAM_PAGES,
	    PAGES(5, 0, 3) PAGES(5, 2, 5) PAGES(5, 9, 1) PAGES(5, 15, 1) PAGES(5, 16, 2)
		    PAGES(5, 64, 1),
	    0);
	put(HISTOGRAM_FALLBACKS, COUNT_OF(5, 6), 0);
	put(HISTOGRAM_REFILLS, COUNT_OF(5, 70) COUNT_OF(6, 1), 0);
	put(HISTOGRAM_DRAINS, COUNT_OF(5, 800), 0);
	read_and_show();
	found = process(5);
	assert_int_equal(found->count, 12);
	assert_int_equal(found->pages, 3 + 5 * 4 + 512 + 32768 + 2 * 65536);
	assert_memory_equal(found->orders, orders, sizeof(orders));
	assert_int_equal(found->fallbacks, 6);
	assert_int_equal(found->refilled, 70);
	assert_int_equal(found->drained, 800);
	assert_int_equal(tables.unreadable, 1);
	assert_int_equal(tables.all_processes.refilled, 71);
	assert_int_equal(process(6)->refilled, 1);
	/* most pages first */
	assert_int_equal(tables.processes[0].pid, 5);
}

TEST(test_call_sites)
{
	begin(NULL);
	put(HISTOGRAM_CACHE,
	    CACHE(ffffffff81000020, "f+0x20/0x30", "dentry", 1, 100, 100)
		    CACHE(ffffffff81000010, "f+0x10/0x20", "inode, x: 1", 2, 200, 300)
			    CACHE(ffffffffc0000010, "g+0x1/0x2 [ext4]", "dentry", 50, 50, 50),
	    0);
	put(HISTOGRAM_KMALLOC,
	    "{ call_site: [ffffffff81000010] f+0x10/0x20 } hitcount: 3  bytes_req: 9  bytes_alloc: 24\n"
	    "{ call_site: [ffffffff81000030] h+0x10/0x20 } hitcount: 1  bytes_req: 9\n"
	    "{ call_site: none } hitcount: 1  bytes_req: 9 bytes_alloc: 9\n",
	    0);
	assert_int_equal(read_texts(), 0);
	show(false, SORT_WASTED);
	assert_int_equal(tables.nr_sites, 4);
	assert_int_equal(tables.unreadable, 2);
	assert_string_equal(tables.sites[0].cache, "inode, x: 1");
	assert_null(tables.sites[1].cache); /* 15 bytes */
	assert_string_equal(tables.sites[1].name, "f+0x10");
	assert_int_equal(tables.sites[1].address, 0xffffffff81000010);
	/* equal ones by address */
	assert_string_equal(tables.sites[2].name, "f+0x20");
	assert_string_equal(tables.sites[3].name, "g+0x1 [ext4]");
	show(false, SORT_ALLOCATED);
	assert_string_equal(tables.sites[0].cache, "inode, x: 1");
	assert_int_equal(tables.sites[1].allocated, 100);
	assert_int_equal(tables.sites[2].allocated, 50);
	assert_null(tables.sites[3].cache);
	show(false, SORT_COUNT);
	assert_int_equal(tables.sites[0].count, 50);
	assert_int_equal(tables.sites[1].count, 3);
	assert_int_equal(tables.sites[2].count, 2);
	assert_int_equal(tables.sites[3].count, 1);
	assert_int_equal(tables.all_sites.count, 56);
	assert_int_equal(tables.all_sites.requested, 359);
	assert_int_equal(tables.all_sites.allocated, 474);
}

/* It is named by the largest object so far, and stays the same row. */
TEST(test_cache_changes)
{
	begin(NULL);
	put(HISTOGRAM_CACHE, CACHE(ffffffff81000010, "f+0x10/0x20", "small", 3, 300, 300), 0);
	assert_int_equal(read_texts(), 0);
	account_begin_interval(account);
	put(HISTOGRAM_CACHE, CACHE(ffffffff81000010, "f+0x10/0x20", "large", 5, 900, 1000), 0);
	assert_int_equal(read_texts(), 0);
	show(true, SORT_WASTED);
	assert_int_equal(tables.nr_sites, 1);
	assert_string_equal(tables.sites[0].cache, "large");
	assert_int_equal(tables.sites[0].count, 2);
	assert_int_equal(tables.sites[0].requested, 600);
	assert_int_equal(tables.sites[0].allocated, 700);
}

/* Without memory the kernel prints the totals alone. */
TEST(test_rows_that_the_kernel_cannot_print)
{
	begin(NULL);
	put(HISTOGRAM_PAGES, PAGES(5, 0, 3), 0);
	read_and_show();
	texts[HISTOGRAM_PAGES] =
		strdup("# trigger info: hist:name=allocfilt_mm_page_alloc:keys=common_pid,order\n"
		       "#\n\n\nTotals:\n    Hits: 7\n    Entries: 0\n    Dropped: 0\n");
	assert_int_equal(read_texts(), -EAGAIN);
	show(false, SORT_WASTED);
	pages_are("5=3");
}

/* Of a number that was used again one process counts, whatever comes first. */
TEST(test_number_used_again)
{
	begin(NULL);
	for (int i = 0; i < 2; i++) {
		put(HISTOGRAM_FORKS,
		    i ? FORK(40, 41, 65536) FORK(50, 41, 18874368) :
			FORK(50, 41, 18874368) FORK(40, 41, 65536),
		    0);
		put(HISTOGRAM_PAGES, PAGES(41, 0, 4), 0);
		read_and_show();
		pages_are("41=4");
	}
}

/* Each made by the one before: the first search walks all of the way, and no other one does. */
TEST(test_chain_of_threads)
{
	enum { THREADS = 20000 };
	char *forks = NULL, *pages = NULL;
	size_t length;
	FILE *file = open_memstream(&forks, &length);

	begin(NULL);
	for (int i = 0; i < THREADS; i++)
		fprintf(file, "{ common_pid: %d, pid: %d, clone_flags: 65536 } hitcount: 1\n",
			100000 - i, 100000 - i - 1);
	fclose(file);
	file = open_memstream(&pages, &length);
	for (int i = 0; i < THREADS; i++)
		fprintf(file, "{ common_pid: %d, order: 0 } hitcount: 1\n", 100000 - i - 1);
	fclose(file);
	put(HISTOGRAM_FORKS, forks, 0);
	put(HISTOGRAM_PAGES, pages, 0);
	read_and_show();
	pages_are("100000=20000");
	free(forks);
	free(pages);
}

/* A thread that ran at the start has its process, whatever procfs says later. */
TEST(test_threads_that_ran)
{
	make_test_directory(state);
	make_test_folders("40/task/41/x");
	make_test_folders("self/task/7/x");
	begin(NULL);
	assert_int_equal(account_see_tasks(account, test_directory), 0);
	remove_test_directory(state);
	put(HISTOGRAM_PAGES, PAGES(41, 0, 3), 0);
	read_and_show();
	pages_are("40=3");
}

/* Before 6.1 one call site may have both events. */
TEST(test_events_of_a_node)
{
	plan.cache_names = false;
	begin(NULL);
	put(HISTOGRAM_KMALLOC, PLAIN_SITE(3, 9, 24), 0);
	put(HISTOGRAM_KMALLOC_NODE, PLAIN_SITE(1, 1, 8), 0);
	put(HISTOGRAM_CACHE, PLAIN_SITE(3, 10, 10), 0);
	put(HISTOGRAM_CACHE_NODE, PLAIN_SITE(4, 10, 10), 0);
	read_and_show();
	assert_int_equal(tables.nr_sites, 2);
	assert_null(tables.sites[0].cache);
	assert_int_equal(tables.sites[0].count, 4);
	assert_int_equal(tables.sites[0].allocated, 32);
	assert_string_equal(tables.sites[1].cache, "");
	assert_int_equal(tables.sites[1].count, 7);
}

TEST(test_dropped)
{
	static const enum histogram_id ids[] = {
		HISTOGRAM_FORKS, HISTOGRAM_EXITS,     HISTOGRAM_KMALLOC, HISTOGRAM_CACHE,
		HISTOGRAM_PAGES, HISTOGRAM_FALLBACKS, HISTOGRAM_REFILLS, HISTOGRAM_DRAINS,
	};

	begin(NULL);
	for (size_t i = 0; i < COUNT(ids); i++)
		put(ids[i], "", 1u << i);
	read_and_show();
	assert_int_equal(tables.dropped.tasks, 3);
	assert_int_equal(tables.dropped.sites, 12);
	assert_int_equal(tables.dropped.pages, 240);
	account_begin_interval(account);
	put(HISTOGRAM_PAGES, "", 20);
	assert_int_equal(read_texts(), 0);
	show(false, SORT_WASTED);
	assert_int_equal(tables.dropped.pages, 20);
	assert_int_equal(tables.dropped.sites, 0);
}

static void put_round(int round)
{
	char rows[512];

	snprintf(rows, sizeof(rows),
		 "{ common_pid: 5, order: 0 } hitcount: %d\n"
		 "{ common_pid: 6, order: 1 } hitcount: 7\n",
		 round * round);
	put(HISTOGRAM_PAGES, rows, round);
	snprintf(
		rows, sizeof(rows),
		"{ call_site: [ffffffff81000010] f+0x1/0x2 } hitcount: %d  bytes_req: %d  bytes_alloc: %d\n",
		10 * round, 100 * round, 160 * round);
	put(HISTOGRAM_KMALLOC, rows, 0);
	for (int i = 0; i < 3; i++) {
		snprintf(rows, sizeof(rows), "{ common_pid: %d } hitcount: %d\n", 7 + i, round);
		put(HISTOGRAM_FALLBACKS + i, rows, 0);
	}
}

/* Also where SIGUSR1 reads in the middle of an interval. */
TEST(test_intervals_sum_to_the_whole)
{
	uint64_t pages = 0, sites = 0, wasted = 0, dropped = 0;

	begin(NULL);
	account_begin_interval(account);
	for (int round = 1; round <= 7; round++) {
		put_round(round);
		assert_int_equal(read_texts(), 0);
		if (round % 3 == 1) { /* SIGUSR1 */
			show(false, SORT_COUNT);
			assert_int_equal(tables.all_processes.pages, round * round + 14);
			if (round < 7)
				continue;
		}
		show(true, SORT_COUNT);
		pages += tables.all_processes.pages;
		sites += tables.all_sites.count;
		wasted += account_wasted(&tables.all_sites);
		dropped += tables.dropped.pages;
		/* 6 took nothing but in the first */
		assert_int_equal(!!process(6), round == 2);
		assert_true(process(7) && process(8) && process(9));
		account_begin_interval(account);
		show(true, SORT_COUNT);
		assert_int_equal(tables.nr_sites + tables.nr_processes, 0);
	}
	show(false, SORT_COUNT);
	assert_int_equal(tables.all_processes.pages, 49 + 14);
	assert_int_equal(pages, 49 + 14);
	assert_int_equal(sites, 70);
	assert_int_equal(wasted, 420);
	assert_int_equal(dropped, 7);
}

/* What a thread took is counted elsewhere once procfs has lost it: no number goes below 0. */
static void lose_thread(const pid_t *pids)
{
	threads[0].tid = 41;
	begin(pids);
	account_begin_interval(account);
	for (int round = 0; round < 2; round++) {
		threads[0].pid = round ? 0 : 40;
		put(HISTOGRAM_PAGES, round ? PAGES(40, 0, 3) PAGES(41, 0, 100) : PAGES(41, 0, 100),
		    0);
		put(HISTOGRAM_KMALLOC,
		    SITE(40, ffffffff81000010, "f+0x10/0x20", 1, 10, 16)
			    SITE(41, ffffffff81000010, "f+0x10/0x20", 9, 90, 144),
		    0);
		assert_int_equal(read_texts(), 0);
		show(true, SORT_COUNT);
		account_begin_interval(account);
		assert_in_range(tables.all_processes.pages, 0, 103);
		assert_in_range(tables.all_processes.count, 0, 103);
		assert_in_range(tables.all_sites.count, 0, 10);
		assert_in_range(tables.all_sites.allocated, 0, 160);
	}
}

TEST(test_thread_that_is_lost)
{
	static const pid_t pids[] = { 40, 0 };

	lose_thread(NULL);
	tear_down(NULL);
	lose_thread(pids);
}

TEST(test_stale)
{
	begin(NULL);
	put(HISTOGRAM_PAGES, PAGES(5, 0, 3), 0);
	read_and_show();
	put(HISTOGRAM_PAGES, PAGES(5, 0, 9), 0);
	texts[HISTOGRAM_DRAINS] =
		strdup("# event histogram\n#\n# trigger info: hist:keys=x [active]\n"
		       "#\n\n{ common_pid: 5 } hitcount: 5\n");
	assert_int_equal(read_texts(), -ESTALE);
	show(false, SORT_WASTED);
	pages_are("5=3");
	/* no file's text, and that of another event */
	texts[HISTOGRAM_PAGES] = strdup("");
	assert_int_equal(read_texts(), -ESTALE);
	put(HISTOGRAM_PAGES, "", 0);
	texts[HISTOGRAM_FALLBACKS] = texts[HISTOGRAM_PAGES];
	texts[HISTOGRAM_PAGES] = NULL;
	assert_int_equal(read_texts(), -ESTALE);
	show(false, SORT_WASTED);
	pages_are("5=3");
}

static void stall(int tid, int pid, uint64_t ns, enum owner_kind kind, bool background)
{
	struct made_named made;

	make_named(&made,
		   &(struct stall){ .key.kind = kind, .tid = tid, .start = 1000, .end = 1000 + ns },
		   "t", "")
		->background = background;
	made.info.pid = pid;
	account_stall(account, &made.named);
}

TEST(test_stalls)
{
	begin(NULL);
	stall(41, 40, 5, OWNER_TASK, false);
	stall(40, 40, 7, OWNER_TASK, false);
	stall(50, 0, 100, OWNER_TASK, false);
	stall(40, 40, 10000, OWNER_SOFTIRQ, false);
	stall(40, 40, 10000, OWNER_HARDIRQ, false);
	stall(40, 40, 10000, OWNER_NMI, false);
	stall(60, 60, 10000, OWNER_TASK, true);
	put(HISTOGRAM_PAGES, PAGES(40, 0, 1), 0);
	read_and_show();
	assert_int_equal(tables.nr_processes, 2);
	assert_int_equal(process(40)->stalls, 2);
	assert_int_equal(process(40)->waited, 12);
	pages_are("40=1 50=0");
	assert_int_equal(process(50)->waited, 100);
	assert_int_equal(tables.all_processes.stalls, 3);
	assert_int_equal(tables.all_processes.waited, 112);
	account_begin_interval(account);
	stall(41, 40, 5, OWNER_TASK, false);
	put(HISTOGRAM_PAGES, PAGES(40, 0, 1), 0);
	assert_int_equal(read_texts(), 0);
	show(true, SORT_WASTED);
	assert_int_equal(tables.nr_processes, 1);
	assert_int_equal(process(40)->stalls, 1);
	assert_int_equal(process(40)->waited, 5);
}

/* A process that waited has room for good; the others are counted. */
TEST(test_full_table_of_waiters)
{
	begin(NULL);
	for (int pid = 1; pid <= 4096 + 3; pid++)
		stall(pid, pid, 1, OWNER_TASK, false);
	stall(1, 1, 1, OWNER_TASK, false);
	put(HISTOGRAM_PAGES, "", 0);
	read_and_show();
	assert_int_equal(tables.nr_processes, 4096);
	assert_int_equal(tables.all_processes.stalls, 4097);
	assert_int_equal(tables.dropped.processes, 3);
	assert_int_equal(process(1)->stalls, 2);
	assert_null(process(4097));
}

UNIT_TEST_MAIN(NULL, NULL)
