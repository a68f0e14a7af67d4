/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_LOAD_H
#define ALLOCFILT_RECORD_LOAD_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Numbers of a ring buffer, at any address and in either byte order. */

static inline uint16_t load_16(const void *at, bool big_endian)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return big_endian ? be16toh(value) : le16toh(value);
}

static inline uint32_t load_32(const void *at, bool big_endian)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return big_endian ? be32toh(value) : le32toh(value);
}

static inline uint64_t load_64(const void *at, bool big_endian)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return big_endian ? be64toh(value) : le64toh(value);
}

#endif
