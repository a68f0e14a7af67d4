/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_ACCOUNT_H
#define ALLOCFILT_ACCOUNT_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/output/view.h"

/*
 * An account: who takes memory from the kernel, and what is wasted. The kernel counts by itself, in
 * histograms; stalls come from what is traced. Two tables are made of them: call sites and processes.
 */

/* A place in the kernel that allocates objects. */
struct account_site {
	uint64_t address;
	const char *name;  /* "alloc_pipe_info+0x5c", "ext4_alloc_inode+0x1f [ext4]" */
	const char *cache; /* of kmem_cache_alloc(), "" if unknown; NULL: kmalloc() */
	uint64_t count;
	uint64_t requested; /* bytes */
	uint64_t allocated; /* bytes */
};

/** account_wasted - bytes that were allocated but not asked for */
uint64_t account_wasted(const struct account_site *site);

/** account_number - what call sites are sorted by */
uint64_t account_number(const struct account_site *site, enum account_sort sort);

#define ACCOUNT_ORDERS 16 /* the last one counts higher ones, too; arm64 has up to 13 */

struct account_process {
	int pid;
	char name[TASK_COMM_MAX]; /* any bytes; TASK_UNNAMED if unknown */
	uint64_t count;		  /* allocations of pages */
	uint64_t pages;
	uint64_t orders[ACCOUNT_ORDERS]; /* allocations by order */
	uint64_t fallbacks;
	uint64_t refilled; /* blocks of pages, of any order */
	uint64_t drained;  /* the same */
	uint64_t stalls;
	uint64_t waited; /* ns */
};

/* Counts that no row has: the kernel's table of the histogram was full, or ours of processes. */
struct account_dropped {
	uint64_t sites;	    /* allocations of objects */
	uint64_t pages;	    /* allocations of pages, fallbacks, refills and drains */
	uint64_t tasks;	    /* forks and exits: tasks may lack their name or process */
	uint64_t processes; /* stalls of further processes */
};

struct account_tables {
	struct account_site *sites; /* in the order asked of account_tables() */
	size_t nr_sites;
	struct account_process *processes; /* most pages first */
	size_t nr_processes;
	struct account_site all_sites;	      /* the sum of all rows, without a name */
	struct account_process all_processes; /* without stalls of dropped ones */
	struct account_dropped dropped;
	uint64_t unreadable; /* rows of the kernel's text */
};

struct account;

/**
 * account_new
 * @pids: of -p, 0 ends; NULL: all that the kernel counts
 *
 * The arguments have to outlive it. Returns NULL if there is no memory.
 */
struct account *account_new(const struct plan *plan, const pid_t *pids, struct resolver *resolver);
void account_free(struct account *account);

/**
 * account_see_tasks - learn the processes of the tasks that run now
 *
 * @proc: /proc
 *
 * Their forks were not counted, and they may end before a histogram is read. To be called once, when
 * histograms count. Returns 0 or -ENOMEM.
 */
int account_see_tasks(struct account *account, const char *proc);

/** account_stall - count a stall; of kernel threads at work and of interrupts none is counted */
void account_stall(struct account *account, const struct named_stall *named);

/**
 * account_read - make the tables anew from the kernel's texts
 * @texts: of each histogram, which the account frees; NULL: the plan does not have it
 * @ts: ns, trace clock, for names
 *
 * Returns 0, or -ENOMEM, -EAGAIN if the kernel had no memory to print one, or -ESTALE if one has no
 * histogram of ours any longer; then the tables stay as they were.
 */
int account_read(struct account *account, char *texts[HISTOGRAM_COUNT], uint64_t ts);

/** account_begin_interval - begin the next interval with the counts of the last account_read() */
void account_begin_interval(struct account *account);

/**
 * account_tables - the tables of the last account_read(); valid until either is called again
 * @interval: since account_begin_interval(), else since the start
 *
 * Returns 0 or -ENOMEM.
 */
int account_tables(struct account *account, bool interval, enum account_sort sort,
		   struct account_tables *ret_tables);

/** account_form_names - the names for -f, terminated by NULL; the first is the default */
const char *const *account_form_names(void);

/**
 * account_print - write the tables in a form, and flush it
 * @form: one of account_form_names(): "text" for people, a blank line first; "json", a line; "folded",
 *	a line for each call site, with what option sort names
 * @view: of the run, or of the interval that the tables are of
 *
 * Returns 0 or -errno of the writer.
 */
int account_print(struct writer *writer, const char *form, const struct summary_view *view,
		  const struct account_tables *tables);

#endif
