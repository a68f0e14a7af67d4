// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/kernel_plan.h"

int kernel_plan(struct kernel **kernel, struct plan **plan, const struct options *options,
		struct failure *failure)
{
	struct plan_request request = {
		.threshold = options->threshold,
		.functions = options->functions,
		.events = options->events,
		.definitions = options->definitions,
		.nr_definitions = options->nr_definitions,
		.no_page_allocation = !options->page_allocation,
	};
	struct plan_offer offer;
	int ret = kernel_open(kernel, options->source, &request, failure);

	if (ret)
		return ret;
	kernel_offer(*kernel, &offer);
	return plan_make(plan, &request, &offer, failure);
}
