/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_STALL_OFF_CPU_H
#define ALLOCFILT_STALL_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/plan.h"

/*
 * The time that tasks were not on a CPU. sched_switch is written by the task that leaves, and names
 * its state and the task that comes; sched_wakeup is written by the waker. So a span off the CPU is
 * that from switch out to switch in: asleep up to the wake-up, from there on waiting for a CPU; all
 * of it waiting if the task left while it could run.
 *
 * A window is known when it ends, so each task's spans are kept until one takes them. Of a task with
 * many, neighbours are folded: the oldest first, as long as they are short against their age, so that
 * a window that began within them loses or gains little.
 */

#define OFF_CPU_TASKS_MAX 4096	/* the one without a switch for longest is evicted */
#define OFF_CPU_SPANS_MAX 16384 /* over all tasks */
#define OFF_CPU_OWN_MAX	  256	/* of one task */

struct off_cpu;

/** off_cpu_new - allocate all that is needed; NULL with errno ENOMEM */
struct off_cpu *off_cpu_new(void);
void off_cpu_free(struct off_cpu *off_cpu);

/**
 * off_cpu_leave - a task leaves its CPU
 * @prev_state: of sched_switch: the task's state as include/linux/sched.h reports it
 *
 * Task 0 is each CPU's idle task, and ignored, here and below. Times are ns of the trace clock, and
 * may go back a little from one CPU to another.
 */
void off_cpu_leave(struct off_cpu *off_cpu, int tid, uint64_t ts, uint64_t prev_state);

/** off_cpu_sleeps_in - the function in which the task that has just left its CPU sleeps */
void off_cpu_sleeps_in(struct off_cpu *off_cpu, int tid, uint64_t function);

/** off_cpu_wake - a task that sleeps can run again */
void off_cpu_wake(struct off_cpu *off_cpu, int tid, uint64_t ts);

/** off_cpu_come - a task gets a CPU */
void off_cpu_come(struct off_cpu *off_cpu, int tid, uint64_t ts);

/** off_cpu_stop - forget all: nothing is known until the next switch */
void off_cpu_stop(struct off_cpu *off_cpu);

/**
 * off_cpu_take - pass on and remove what is in [@start, @end]
 * @part: receives each state other than STATE_RAN with its ns, and of time asleep the function, 0
 *	if it is not known
 *
 * The task runs at both ends: a span across one of them is dropped, or cut in proportion if it is a
 * folded one. Returns false if spans of that time may be missing.
 */
bool off_cpu_take(struct off_cpu *off_cpu, int tid, uint64_t start, uint64_t end,
		  void (*part)(void *context, enum phase_state state, uint64_t function,
			       uint64_t ns),
		  void *context);

/** off_cpu_drop - remove what no window will have inside: all before @end, at which the task runs */
void off_cpu_drop(struct off_cpu *off_cpu, int tid, uint64_t end);

/** off_cpu_since - ns: the time of the first switch; UINT64_MAX: there was none */
uint64_t off_cpu_since(const struct off_cpu *off_cpu);

#endif
