// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall/phases.h"
#include "allocfilt/base/base.h"

uint64_t phases_state(const struct phases *phases, enum phase_state state)
{
	uint64_t ns = 0;

	PHASES_FOREACH(group, phases)
		for (int part = 0; part < phases_parts(group); part++)
			ns += phases->ns[group][part][state];
	return ns;
}

uint64_t phases_total(const struct phases *phases)
{
	uint64_t ns = 0;

	PHASES_FOREACH(group, phases)
		add_ns(&ns, phases_group(phases, group));
	return ns;
}

void phases_add(struct phases *phases, const struct phases *more)
{
	phases->groups |= more->groups;
	PHASES_FOREACH(group, more)
		for (int part = 0; part < phases_parts(group); part++)
			for (int state = 0; state < PHASE_STATES; state++)
				add_ns(&phases->ns[group][part][state],
				       more->ns[group][part][state]);
}
