// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/run/kernel_plan.h"
#include "allocfilt/run/run.h"
#include "allocfilt/tracing/session.h"

#define EVENT_WIDTH 40 /* columns of SYSTEM:NAME, without the colon */

/* Returns as session_try_probe(). */
static int print_waits(const struct kernel *kernel, struct failure *failure)
{
	int ret = 0;

	*failure = (struct failure){ 0 };
	for (int id = EVENT_WAIT_BEGIN; id <= EVENT_WAIT_END && !ret; id++)
		ret = session_try_probe(kernel, catalog_events[id].name, probe_definition(id),
					SESSION_RUN_DIR, failure);
	if (ret && failure->status != EXIT_STATUS_IN_USE)
		printf("memory waits    not told: %s\n", failure->text);
	else
		printf("memory waits    told by kprobe events on psi_memstall_enter and _leave%s%s\n",
		       ret ? "; not tried: " : "", failure->text);
	return ret;
}

/* Returns as session_try_probe(). */
static int print_probe(const struct kernel *kernel, struct failure *failure)
{
	struct probe probe;
	int ret = probe_find(&probe, kernel, failure);

	if (!ret)
		ret = session_try_probe(kernel, PROBE_NAME, probe.definition, SESSION_RUN_DIR,
					failure);
	if (ret && failure->status != EXIT_STATUS_IN_USE)
		printf("superblocks     no names: %s\n", failure->text);
	else
		printf("superblocks     named by %s%s%s\n",
		       probe.on_event ? "an event probe on mm_shrink_slab_start" :
					"a kprobe event on " PROBE_CALLBACK,
		       ret ? "; not tried: " : "", failure->text);
	return ret;
}

static int print_kernel(struct kernel *kernel, const struct plan *plan, struct failure *failure)
{
	struct plan_offer offer;
	int ret;

	kernel_offer(kernel, &offer);
	printf("kernel          %s\n", kernel->system.release);
	printf("tracefs         %s\n", kernel->dir);
	printf("function_graph  %s\n",
	       kernel->function_graph ? "yes" : "no: only pairs of events are timed");
	if (!kernel->function_enabled && plan->function_graph)
		puts("ftrace_enabled  0: nothing would be recorded, sysctl kernel.ftrace_enabled=1");
	printf("account         %s\n",
	       offer.histograms ? "yes" : "no: built without CONFIG_HIST_TRIGGERS");
	ret = print_probe(kernel, failure);
	if (failure->status != EXIT_STATUS_NOT_RESTORED)
		ret = print_waits(kernel, failure);
	puts("instance        checked when tracing starts; every kernel from 6.12 on allows it");
	return failure->status == EXIT_STATUS_NOT_RESTORED ? ret : 0;
}

/* Prints each role with its functions, then those of -F, which have no role. */
static void print_functions(const struct plan *plan)
{
	puts("functions");
	for (int role = 0; role < ROLE_COUNT; role++) {
		const char *separator = "";

		if (!catalog_roles[role].names[0])
			continue;
		printf("  %-30s ", catalog_role_title(role));
		for (int i = 0; i < plan->nr_functions; i++) {
			if (plan->functions[i].role != role)
				continue;
			printf("%s%s", separator, plan->functions[i].name);
			separator = ", ";
		}
		if (!*separator)
			fputs(!(plan->left_out & ROLE_BIT(role)) ? "-" :
			      plan->left_out == PLAN_ALL_ROLES	 ? "left out: function-graph = no" :
			      role == ROLE_MEMORY_HIGH ? "not traced: its memory waits tell it" :
							 "not traced without --page-allocation",
			      stdout);
		putchar('\n');
	}
	for (int i = 0; i < plan->nr_functions; i++)
		if (plan->functions[i].role == ROLE_NONE)
			printf("  %-30s %s\n", "asked for with -F", plan->functions[i].name);
}

static void print_event_name(const char *system, const char *name)
{
	printf("  %s:%-*s ", system, EVENT_WIDTH - (int)strlen(system), name);
}

/* Prints when an event is shown. */
static void print_rule(const struct plan_event *event)
{
	const char *before = "with a slow ";

	switch (event->rule) {
	case RULE_OWNER:
		for (int role = 0; role < ROLE_COUNT; role++) {
			if (!(event->owners & ROLE_BIT(role)))
				continue;
			printf("%s%s", before, catalog_role_title(role));
			before = " or ";
		}
		putchar('\n');
		return;
	case RULE_ANY_WINDOW:
		puts("with the innermost slow function");
		return;
	case RULE_PAIR:
		puts("when its begin and end are that far apart");
		return;
	case RULE_CHILDREN:
		puts("not shown: tells which tasks begin or end");
		return;
	case RULE_OFF_CPU:
		puts("not shown: tells when tasks are off the CPU");
		return;
	case RULE_NEVER:
		puts("not shown: nothing that could own it can be traced");
		return;
	}
}

static void print_events(const struct plan *plan)
{
	puts("events");
	for (int i = 0; i < plan->nr_events; i++) {
		print_event_name(plan->events[i].system, plan->events[i].name);
		print_rule(&plan->events[i]);
	}
	for (int id = 0; id < EVENT_COUNT; id++) {
		if (catalog_events[id].children || catalog_events[id].off_cpu ||
		    plan_event_of(plan, id) >= 0)
			continue;
		print_event_name(catalog_events[id].system, catalog_events[id].name);
		puts("-"); /* this kernel does not have it */
	}
}

int kernel_check_run(const struct options *options, struct failure *failure)
{
	struct kernel *kernel = NULL;
	struct plan *plan = NULL;
	int ret = options->source ? kernel_is_source(options->source, failure) : 1;

	if (!ret)
		ret = failure_set(
			failure, EXIT_STATUS_USAGE, EINVAL,
			"--probe: %s is a capture, and --probe looks at the running kernel: leave out -s",
			options->source);
	if (ret > 0)
		ret = kernel_plan(&kernel, &plan, options, failure);
	if (!ret) {
		ret = print_kernel(kernel, plan, failure);
		print_functions(plan);
		print_events(plan);
		plan_free(plan);
	}
	kernel_close(kernel);
	return ret;
}
