/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_SESSION_PARTS_H
#define ALLOCFILT_TRACING_SESSION_PARTS_H

#include <limits.h>
#include <tracefs.h>

#include "allocfilt/tracing/session.h"
#include "tracing/settings.h"
#include "tracing/undo.h"

/* A session's insides, for the files that set it up. */

#define INSTANCE_PATH "instances/" SESSION_INSTANCE
#define PROBE_PATH    "events/" PROBE_EVENT
#define PROBES_PATH   "events/" PROBE_SYSTEM "/"

struct session {
	const struct session_request *request; /* during session_start() only */
	struct undo *undo;
	struct settings settings;
	struct tracefs_instance *own;	 /* our instance, or the top level */
	char *dir;			 /* of own */
	bool instance;			 /* own is our instance */
	bool graph;			 /* the tracer is function_graph */
	uint64_t threshold;		 /* ns, of the plan */
	bool on;			 /* tracing_on */
	bool has[SESSION_PROBES];	 /* these probes are defined */
	bool stack;			 /* events have triggers */
	char *triggers[HISTOGRAM_COUNT]; /* of an account; NULL: none */
	int looked_at;			 /* the first setting that session_taken() looks at next */
	int *cpus, nr_cpus;
	bool differ;		      /* in the size of their buffers */
	unsigned long long wanted_kb; /* KiB of each CPU's buffer */
	unsigned long long buffer_kb; /* KiB that the CPU with least has, not more than wanted */
	uint64_t grow_at;	      /* ns: when the full size is tried again; 0: never */
};

/** session_path - the path of a file of our buffers, below the tracing directory, in PATH_MAX bytes */
const char *session_path(const struct session *session, char *buffer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define OWN(session, ...) session_path(session, (char[PATH_MAX]){ 0 }, __VA_ARGS__)

/** session_set - settings_set() of a file of our buffers */
int session_set(struct session *session, enum setting_kind kind, const char *name,
		const char *value, struct failure *failure);

/** session_set_optional - the same, where the kernel has that file */
int session_set_optional(struct session *session, enum setting_kind kind, const char *name,
			 const char *value, struct failure *failure);

/** session_set_up - all settings in their order, but for the place, the probe and tracing_on */
int session_set_up(struct session *session, struct failure *failure);

/** session_set_events - the plan's events with their stacks, and our probe */
int session_set_events(struct session *session, struct failure *failure);

/** session_count_tasks - an account's histograms of forks and exits, as tasks are counted later */
int session_count_tasks(struct session *session, struct failure *failure);

/** session_count_memory - its other histograms, which count from here on, whatever tracing_on is */
int session_count_memory(struct session *session, struct failure *failure);

/* A killed run leaves an undo file, or something of our name without one. */

/** leftovers_put_back - restore all settings, and remove the undo file */
int leftovers_put_back(struct undo *undo, struct settings *settings, struct failure *failure);

/**
 * leftovers_finish - put back what an undo file says
 * @found: true if there is one
 * @dir, @next: of a run that is about to start, or NULL. A run needs no memory for the buffers that
 *	were found: their sizes become the first entries of its table, and are put back at its end.
 *	Until then the undo file has them.
 */
int leftovers_finish(struct undo *undo, bool *found, const char *dir, struct settings *next,
		     struct failure *failure);

/**
 * leftovers_remove_names - remove the instance, the probe and the histograms of our name
 *
 * We hold the lock, so no running allocfilt owns one.
 */
int leftovers_remove_names(char *dir, bool *found, struct failure *failure);

#endif
