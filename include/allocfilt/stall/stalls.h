/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_STALLS_H
#define ALLOCFILT_STALL_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "allocfilt/base/base.h"
#include "allocfilt/record/decode.h"
#include "allocfilt/stall/stall.h"

/*
 * Records wait in the log of their task, raw, until its outermost window ends. If that window is
 * fast, the log is emptied. If it is slow, it is a stall: one walk over the log says which windows
 * and pairs are inside, which events they own and where the time went. Before, records wait in
 * their page, for the order of time alone (merge.h).
 *
 * A window of depth 0 is an outermost one. It waits for up to 50 us, as records of what was inside may come
 * after it: clocks of CPUs differ. The window around one of another depth may never arrive:
 * its record was lost, or another user of function_graph, also a return fprobe, adds to the depth. Then
 * it is a stall of its own, with its depth if records were lost since. It ends when a window of depth 0
 * ends that does not contain it; when its task was silent for WAIT_PATIENCE, in no memory wait and in no
 * pair; when the window itself is as old as that, and is in no wait that goes on, where windows of this
 * run had gaps in their depths; when it is as old as STALL_PATIENCE and records were lost since; and at
 * the end of the run. If a window around it ends after all, that is a stall without the time up to here,
 * and incomplete. In interrupts it ends when a window ends that does not contain it. A pair of events is
 * treated likewise; it is an outermost one where functions cannot be traced and no other pair of the
 * task is open.
 *
 * A memory wait is a pair, too, of which all are told, the fast ones and those in a fast window as well.
 * A slow one inside a slow window is a part of its stall; around windows that are stalls already it is
 * none of its own. If no window around it has ended after WAIT_PATIENCE, there is none: a function
 * returns soon after its last wait.
 *
 * The memory of all logs has one limit. Where it is reached, the task with the longest log drops the
 * oldest eighth of it, and stalls that began before the end of that are incomplete. At the limit of tasks
 * the one without a record for longest loses its log, one in whose log nothing slow waits before others.
 */

#define STALL_PATIENCE (600 * NS_PER_SECOND) /* of the trace clock */
#define WAIT_PATIENCE  NS_PER_SECOND /* as STALL_PATIENCE where memory waits are not traced */

struct stalls;

/* Receives stalls in the order in which they end, whose pointers are valid during the call. */
typedef int (*stall_ended)(void *context, const struct stall *stall); /* 0, or -errno to stop */

/* Receives each memory wait when it ends, and those that are in progress at the end of the run. */
typedef void (*wait_ended)(void *context, const struct memory_wait *wait);

/**
 * stalls_new - empty logs; all memory is allocated here, and comes as it is used
 * @memory: bytes of all logs: config_limit_memory()
 *
 * The plan, the source's CPU list, @decode and @resolver have to outlive it. Returns NULL if there is no
 * memory.
 */
struct stalls *stalls_new(const struct plan *plan, const struct data_source *source, size_t memory,
			  struct decode *decode, struct resolver *resolver, stall_ended ended,
			  wait_ended waited, void *context);
void stalls_free(struct stalls *stalls);

/**
 * stalls_window, stalls_event, stalls_stack - accept the next record in order of time
 * @record: its fields need not be read; of a pair of events they are read here
 * @ret_pair: ns from begin to end, where the record ends a slab pair; else UINT64_MAX
 *
 * Every slab pair is told, whatever its time, but where records of its CPUs were lost meanwhile. A stack is
 * that of the event, or of the switch, which its task wrote last. Return 0, or what the callback returned.
 */
int stalls_window(struct stalls *stalls, const struct record *record);
int stalls_event(struct stalls *stalls, struct record *record, uint64_t *ret_pair);
int stalls_stack(struct stalls *stalls, const struct record *record);

/**
 * stalls_lost - records of a CPU are missing; a negative @cpu: of all of them
 * @from, @until: ns: these are not earlier or later; until it is told, the end may be UINT64_MAX
 *
 * To be called before the records of other CPUs that are later than @from. A stall of that time is
 * incomplete, unless the scheduler's events show that its task was on another CPU.
 */
void stalls_lost(struct stalls *stalls, int cpu, uint64_t from, uint64_t until);

/**
 * stalls_sched - note what sched_switch or sched_wakeup tells, with its fields, before stalls_event()
 *
 * Returns as that.
 */
int stalls_sched(struct stalls *stalls, const struct record *record);

/** stalls_work - note an event of any task that may have another one's CPU, after stalls_event() */
void stalls_work(struct stalls *stalls, const struct record *record);

/** stalls_sched_stop - the scheduler's events are off until the next one: states are not known */
void stalls_sched_stop(struct stalls *stalls);

/**
 * stalls_time - no record is inside the last window; end the stalls of tasks that at @ts were silent for
 * WAIT_PATIENCE, 0: of none
 *
 * For some times a second. Returns 0, or what the callback returned.
 */
int stalls_time(struct stalls *stalls, uint64_t ts);

/** stalls_flush - at the end of the data, @ts, tell waits in progress, end all stalls; as stalls_time() */
int stalls_flush(struct stalls *stalls, uint64_t ts);

/**
 * stalls_pause - the same where tracing begins again: what comes is of another run
 *
 * A wait in progress is told as two, both as parts: up to @ts, and from the first record that comes.
 */
int stalls_pause(struct stalls *stalls, uint64_t ts);

/** stalls_limited - stalls that lack records or names because of a limit, or are left out for it */
uint64_t stalls_limited(const struct stalls *stalls);

#endif
