// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's BTF: where members lie. */
#include "tracing/btf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const members[][2] = {
		{ "super_block", "s_id" },	{ "super_block", "s_dev" },
		{ "super_block", "s_shrink" },	{ "shrinker", "private_data" },
		{ "super_block", "no_member" },
	};
	struct btf btf;
	uint32_t offset;

	if (btf_init(&btf, data, size))
		return 0;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		btf_member_offset(&btf, members[i][0], members[i][1], &offset);
	return 0;
}
