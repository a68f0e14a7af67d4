// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/stall.h"

uint64_t phases_group(const struct phases *phases, enum phase_group group)
{
	uint64_t ns = 0;

	for (int part = 0; part < PHASE_PARTS; part++)
		ns += phases->ns[group][part];
	return ns;
}

uint64_t phases_total(const struct phases *phases)
{
	uint64_t ns = 0;

	for (int group = 0; group < PHASE_GROUPS; group++)
		ns += phases_group(phases, group);
	return ns;
}

void phases_add(struct phases *phases, const struct phases *more)
{
	for (int group = 0; group < PHASE_GROUPS; group++)
		for (int part = 0; part < PHASE_PARTS; part++)
			phases->ns[group][part] += more->ns[group][part];
}

bool phases_is_reclaim(enum phase_group group)
{
	return group < PHASE_COMPACTION;
}

uint64_t phases_largest(const struct phases *phases, enum phase_group *ret_group,
			enum phase_part *ret_part)
{
	uint64_t largest = 0;

	*ret_group = PHASE_REST;
	*ret_part = PART_OWN;
	for (int group = 0; group < PHASE_GROUPS; group++) {
		for (int part = 0; part < PHASE_PARTS; part++) {
			if (phases->ns[group][part] <= largest)
				continue;
			largest = phases->ns[group][part];
			*ret_group = group;
			*ret_part = part;
		}
	}
	return largest;
}
