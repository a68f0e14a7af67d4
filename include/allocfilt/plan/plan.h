/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PLAN_PLAN_H
#define ALLOCFILT_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "allocfilt/base/failure.h"
#include "allocfilt/plan/catalog.h"

/*
 * The functions and events that this run traces, and the rule by which each event is shown. The plan
 * is made from the catalog, the options, and the lists of a kernel or a capture, before any setting of
 * tracing is changed, and is constant afterwards.
 */

#define PLAN_FUNCTIONS_MAX 1024
#define PLAN_EVENTS_MAX	   256
#define PLAN_ALL_ROLES	   UINT64_MAX /* in left_out: function-graph = no */

enum event_rule {
	RULE_OWNER,	 /* shown with a window of one of the owners that contains it */
	RULE_ANY_WINDOW, /* shown with the innermost window that contains it */
	RULE_PAIR,	 /* shown when from begin to end it reaches the threshold */
	RULE_CHILDREN, /* not shown: a task of COMMAND forks or exits, or any is the OOM killer's */
	RULE_NEVER,    /* no function that could own it can be traced */
	RULE_OFF_CPU,  /* never shown: tells when tasks are off the CPU */
};

struct plan_event {
	char *system;
	char *name;
	enum event_id id;
	enum event_side side;
	int partner; /* index into events, -1 for none */
	enum event_rule rule;
	uint64_t owners; /* RULE_OWNER: ROLE_BIT()s */
	bool repeats;	 /* the owner may write it several times in one call */
};

struct plan_function {
	char *name; /* as available_filter_functions has it, suffix and all */
	enum role role;
};

struct plan {
	uint64_t threshold;  /* ns */
	bool function_graph; /* false: pairs only, for now or always; see plan_trace_functions() */
	struct plan_function functions[PLAN_FUNCTIONS_MAX];
	int nr_functions;
	struct plan_event events[PLAN_EVENTS_MAX];
	int nr_events;
	uint64_t roles;		 /* ROLE_BIT()s that have a function */
	uint64_t left_out;	 /* ROLE_BIT()s that the request leaves out, or PLAN_ALL_ROLES */
	unsigned int histograms; /* HISTOGRAM_BIT()s; 0: no account */
	bool sites_by_task;	 /* -p: histograms of call sites have the key common_pid, too */
	bool cache_names;	 /* the histogram of kmem_cache_alloc saves the name of the cache */
};

/* Functions and events that can be traced: the lists of a tracing directory or a capture. */
struct plan_offer {
	bool function_graph;
	char *const *functions; /* that can be traced, without modules; NULL ends; NULL: none */
	bool (*has_event)(void *context, const char *system, const char *name);
	void *context;
	/* For an account: histogram triggers, and does an event have a field? */
	bool histograms;
	bool (*has_field)(void *context, const char *system, const char *event, const char *field);
};

/* The user's requests beyond the catalog. */
struct plan_request {
	uint64_t threshold;	      /* ns */
	char *const *functions;	      /* -F: names or globs, NULL ends; may be NULL */
	char *const *events;	      /* -e: SYSTEM:NAME, NULL ends; may be NULL */
	const char *function_setting; /* its name in messages; NULL: "-F" */
	const char *event_setting;    /* NULL: "-e" */
	uint64_t leave_out; /* ROLE_BIT()s that the catalog would trace, or PLAN_ALL_ROLES */
	bool children;	    /* trace what COMMAND forks too */
	bool off_cpu;	    /* both scheduler events, where they exist */
	bool account;	    /* all histograms for which the kernel has events */
	bool sites_by_task; /* an account of some processes, without what they fork */
};

/**
 * plan_make - decide what to trace
 *
 * The first of a role's names that exists is traced; the others call it, or are called by it.
 * Returns 0, or -errno with @failure: status 2 for a function or event of the request that does
 * not exist, and for any function where all are left out, 5 where there is neither function_graph
 * with a function nor any event pair, or for an account no histogram triggers. Release with plan_free().
 */
int plan_make(struct plan **plan, const struct plan_request *request,
	      const struct plan_offer *offer, struct failure *failure);
void plan_free(struct plan *plan);

/**
 * plan_trace_functions - are functions traced now?
 *
 * Sets the rules of events anew. No record that was read before may wait for another one.
 */
void plan_trace_functions(struct plan *plan, bool on);

/** plan_names - does the request name this function, beyond the catalog? */
bool plan_names(const struct plan_request *request, const char *function);

/**
 * plan_role_unavailable - is a role without a function worth a message?
 *
 * A role is not if it is left out on purpose, if another role does its work, or without function_graph.
 */
bool plan_role_unavailable(const struct plan *plan, enum role role);

/**
 * plan_part - the part to which a window's own time belongs
 *
 * The catalog tells it. Compilers may inline shrink_inactive_list(): then the own time of a window
 * over one memcg's lists belongs to the inactive list.
 */
enum phase_part plan_part(const struct plan *plan, enum role role);

/** plan_off_cpu - does the plan have the scheduler events? */
bool plan_off_cpu(const struct plan *plan);

/**
 * plan_can_spare - do functions, or other events, tell as much of a stall's time without this event?
 *
 * With max-cpu such events are switched off to save CPU time.
 */
bool plan_can_spare(const struct plan *plan, const struct plan_event *event);

/** plan_is_wait - is it the begin or the end of a memory wait? */
static inline bool plan_is_wait(const struct plan_event *event)
{
	return event->id == EVENT_WAIT_BEGIN || event->id == EVENT_WAIT_END;
}

/** plan_is_probe - is it one of our own dynamic events, which the session makes? */
static inline bool plan_is_probe(const struct plan_event *event)
{
	return event->id >= EVENT_WAIT_BEGIN && event->id <= EVENT_REFAULT;
}

/** plan_has_waits - are memory waits recorded? */
bool plan_has_waits(const struct plan *plan);

/**
 * plan_has_refaults - is it recorded which pages that are read had been taken by reclaim?
 *
 * Then a window of ROLE_IO is a refault, or no stall: see stalls_window().
 */
bool plan_has_refaults(const struct plan *plan);

/** plan_drop_event - it has no probe, or none any more: no record is of it; false: that was known */
bool plan_drop_event(struct plan *plan, enum event_id id);

/** plan_event_of - index of a catalog event, -1 where this kernel lacks it */
int plan_event_of(const struct plan *plan, enum event_id id);

#endif
