// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/log.h"
#include "allocfilt/run/kernel_plan.h"

int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure)
{
	char functions[CONFIG_SETTING_NAME_MAX], events[CONFIG_SETTING_NAME_MAX];
	struct plan_request request = {
		.threshold = options->threshold,
		.functions = options->functions,
		.events = options->events,
		.function_setting = config_setting_name(options, "function", functions),
		.event_setting = config_setting_name(options, "event", events),
		.leave_out = ROLE_BIT(ROLE_MEMORY_HIGH),
		.children = options->command,
		.off_cpu = options->off_cpu,
		.account = options->task == TASK_ACCOUNT,
		.sites_by_task = options->pids,
	};
	struct plan_offer offer;
	int ret;

	if (!options->page_allocation)
		request.leave_out |= ROLE_BIT(ROLE_PAGE_ALLOCATION);
	if (options->function_graph == FUNCTIONS_NO)
		request.leave_out = PLAN_ALL_ROLES;
	ret = kernel_open(kernel, options->source, &request, failure);
	if (ret)
		return ret;
	kernel_offer(*kernel, &offer);
	ret = plan_make(plan, &request, &offer, failure);
	if (ret || !options->off_cpu || plan_off_cpu(*plan))
		return ret;
	plan_free(*plan);
	*plan = NULL;
	return failure_set(
		failure, EXIT_STATUS_NO_FEATURE, ENOENT,
		"--off-cpu: this kernel has no sched:sched_switch and sched:sched_wakeup");
}

int kernel_plan_check(const struct options *options, struct failure *failure)
{
	struct kernel *kernel = NULL;
	struct plan *plan = NULL;
	int ret = kernel_plan(&kernel, &plan, options, failure);

	if (!kernel)
		return options->functions || options->events;
	plan_free(plan);
	kernel_close(kernel);
	return ret;
}

int kernel_check_processes(const struct options *options, struct failure *failure)
{
	char setting[CONFIG_SETTING_NAME_MAX], others[32] = "";
	size_t count = 0, missing = 0;
	pid_t first = 0;

	for (; options->pids && options->pids[count]; count++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d", options->pids[count]);
		if (access(path, F_OK) && !missing++)
			first = options->pids[count];
	}
	if (!missing)
		return 0;
	config_setting_name(options, "pid", setting);
	if (missing > 1)
		snprintf(others, sizeof(others), " and %zu more", missing - 1);
	if (missing == count && !options->journal)
		return failure_set(failure, EXIT_STATUS_USAGE, ESRCH, "%s %d%s: no such process",
				   setting, first, others);
	log_warning("%s %d%s: no such process", setting, first, others);
	return 0;
}

void kernel_log_unavailable(const struct plan *plan)
{
	char roles[512] = "";

	for (int role = 0; role < ROLE_COUNT; role++) {
		size_t used = strlen(roles);

		if (plan_role_unavailable(plan, role))
			snprintf(roles + used, sizeof(roles) - used, "%s%s", used ? ", " : "",
				 catalog_role_title(role));
	}
	if (*roles)
		log_notice("this kernel cannot trace, left out: %s", roles);
	if (plan_event_of(plan, EVENT_WAIT_BEGIN) < 0)
		log_notice("memory waits are not told: this kernel has no kprobe events "
			   "(CONFIG_KPROBE_EVENTS)");
	if (plan->left_out == PLAN_ALL_ROLES)
		log_notice(
			"function-graph = no: memory waits, reclaim, compaction and slab are timed, "
			"from their pairs of events");
	else if (!plan->nr_functions)
		log_warning(
			"this kernel has no function_graph: only reclaim, compaction and slab are timed, from their pairs of events");
}
