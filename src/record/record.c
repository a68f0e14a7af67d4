// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <string.h>

#include "allocfilt/record/source.h"

uint64_t event_number(const void *at, size_t size, bool big_endian)
{
	uint64_t value = 0;
	uint32_t word;

	/* Nearly all fields have the one size or the other, and are loaded without a call. */
	switch (size) {
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return big_endian ? be32toh(word) : le32toh(word);
	case sizeof(value):
		memcpy(&value, at, sizeof(value));
		break;
	default:
		memcpy((char *)&value + (big_endian ? sizeof(value) - size : 0), at, size);
	}
	return big_endian ? be64toh(value) : le64toh(value);
}
