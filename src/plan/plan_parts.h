/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PLAN_PLAN_PARTS_H
#define ALLOCFILT_PLAN_PLAN_PARTS_H

#include "allocfilt/plan.h"

/*
 * The steps of plan_make(), which alone calls them, in this order. Each returns 0 or -errno; those
 * with @failure have filled it then.
 */

/** plan_functions_choose - for each role its functions */
int plan_functions_choose(struct plan *plan, const struct plan_offer *offer);

/** plan_events_add_catalog - those of the catalog that are there */
int plan_events_add_catalog(struct plan *plan, const struct plan_offer *offer);

/** plan_functions_ask - the functions of -F */
int plan_functions_ask(struct plan *plan, const struct plan_request *request,
		       const struct plan_offer *offer, struct failure *failure);

/** plan_functions_said - how a message names where they come from */
const char *plan_functions_said(const struct plan_request *request);

/** plan_events_set_rules - by which rule each event is shown, now that the functions are known */
void plan_events_set_rules(struct plan *plan);

/** plan_events_have_pair - is any event timed as a pair? */
bool plan_events_have_pair(const struct plan *plan);

/** plan_events_ask - the events of -e: shown with any window, whoever else owns them */
int plan_events_ask(struct plan *plan, const struct plan_request *request,
		    const struct plan_offer *offer, struct failure *failure);

/** plan_functions_find - by the exact name; NULL: not traced */
const struct plan_function *plan_functions_find(const struct plan *plan, const char *name);

#endif
