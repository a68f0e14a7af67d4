// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const struct quantity_unit time_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000 * 1000 },
	{ "s", 1000ull * 1000 * 1000 },
	{ "m", 60ull * 1000 * 1000 * 1000 },
	{ "h", 3600ull * 1000 * 1000 * 1000 },
};

const struct quantity_units quantity_short_time = { &time_units[0], 4, "us" };
const struct quantity_units quantity_long_time = { &time_units[2], 4, "s" };

static const struct quantity_unit size_units[] = {
	{ "K", 1ull << 10 }, { "k", 1ull << 10 }, { "KiB", 1ull << 10 },
	{ "M", 1ull << 20 }, { "m", 1ull << 20 }, { "MiB", 1ull << 20 },
	{ "G", 1ull << 30 }, { "g", 1ull << 30 }, { "GiB", 1ull << 30 },
};

const struct quantity_units quantity_size = { size_units, ARRAY_SIZE(size_units), "K" };

/* The digits at the start of a text, and what stands behind them. */
static enum quantity scan_digits(const char *text, uint64_t *ret_value, const char **ret_rest)
{
	uint64_t value = 0;

	if (!*text)
		return QUANTITY_EMPTY;
	if (*text == '-')
		return QUANTITY_NEGATIVE;
	if (!isdigit((unsigned char)*text))
		return QUANTITY_NO_NUMBER;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return QUANTITY_TOO_LARGE;
	if (*text == '.')
		return QUANTITY_NO_NUMBER;
	*ret_value = value;
	*ret_rest = text;
	return QUANTITY_GOOD;
}

static const struct quantity_unit *unit_find(const struct quantity_units *units, const char *name)
{
	for (size_t i = 0; i < units->count; i++)
		if (!strcmp(units->units[i].name, name))
			return &units->units[i];
	return NULL;
}

static enum quantity apply_unit(const struct quantity_units *units, const char *name,
				uint64_t *value)
{
	const struct quantity_unit *unit = unit_find(units, *name ? name : units->bare);

	if (!unit)
		return QUANTITY_UNIT;
	if (__builtin_mul_overflow(*value, unit->factor, value))
		return QUANTITY_TOO_LARGE;
	return QUANTITY_GOOD;
}

enum quantity quantity_scan(const char *text, const struct quantity_units *units,
			    uint64_t *ret_value)
{
	const char *rest;
	uint64_t value;
	enum quantity quantity = scan_digits(text, &value, &rest);

	if (quantity == QUANTITY_GOOD && units)
		quantity = apply_unit(units, rest, &value);
	else if (quantity == QUANTITY_GOOD && *rest)
		quantity = QUANTITY_NO_NUMBER;
	if (quantity == QUANTITY_GOOD)
		*ret_value = value;
	return quantity;
}

enum quantity quantity_scan_signed(const char *text, int64_t *ret_value)
{
	bool negative = *text == '-';
	uint64_t value;
	enum quantity quantity = quantity_scan(text + negative, NULL, &value);

	if (quantity == QUANTITY_GOOD && value > INT64_MAX)
		quantity = QUANTITY_TOO_LARGE;
	if (quantity == QUANTITY_TOO_LARGE && negative)
		return QUANTITY_TOO_SMALL;
	if (quantity == QUANTITY_NEGATIVE || (quantity == QUANTITY_EMPTY && negative))
		return QUANTITY_NO_NUMBER;
	if (quantity == QUANTITY_GOOD)
		*ret_value = negative ? -(int64_t)value : (int64_t)value;
	return quantity;
}

const char *quantity_reason(enum quantity quantity)
{
	static const char *const reasons[] = {
		[QUANTITY_GOOD] = "is good",
		[QUANTITY_EMPTY] = "is empty",
		[QUANTITY_NEGATIVE] = "is negative",
		[QUANTITY_NO_NUMBER] = "is not a whole number",
		[QUANTITY_UNIT] = "has an unknown unit",
		[QUANTITY_ZERO] = "is zero",
		[QUANTITY_TOO_SMALL] = "is too small",
		[QUANTITY_TOO_LARGE] = "is too large",
	};

	return reasons[quantity];
}

int quantity_error(enum quantity quantity)
{
	switch (quantity) {
	case QUANTITY_GOOD:
		return 0;
	case QUANTITY_NEGATIVE:
	case QUANTITY_ZERO:
	case QUANTITY_TOO_SMALL:
	case QUANTITY_TOO_LARGE:
		return -ERANGE;
	default:
		return -EINVAL;
	}
}
