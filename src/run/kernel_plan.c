// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/run.h"

#include "allocfilt/config.h"

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
		.no_page_allocation = !options->page_allocation,
	};
	struct plan_offer offer;
	int ret = kernel_open(kernel, options->source, &request, failure);

	if (ret)
		return ret;
	kernel_offer(*kernel, &offer);
	return plan_make(plan, &request, &offer, failure);
}

int kernel_plan_check(const struct options *options, struct failure *failure)
{
	struct kernel *kernel = NULL;
	struct plan *plan = NULL;
	struct failure reason = { 0 };
	int ret = kernel_plan(&kernel, &plan, options, &reason);

	if (!kernel)
		return 0;
	if (ret)
		*failure = reason;
	plan_free(plan);
	kernel_close(kernel);
	return ret;
}
