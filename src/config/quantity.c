// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ll
#define MS (1000 * US)
#define S  (1000 * MS)

/* With the largest factor, an hour in ns, a fraction of so many digits still fits. */
#define FRACTION_DIGITS 6

static const struct quantity_unit short_times[] = {
	{ "ns", 1 }, { "us", US }, { "ms", MS }, { "s", S }, { NULL },
};
static const struct quantity_unit long_times[] = {
	{ "ms", MS }, { "s", S }, { "m", 60 * S }, { "h", 3600 * S }, { NULL },
};
static const struct quantity_unit sizes[] = {
	{ "K", 1 << 10 },   { "M", 1 << 20 }, { "G", 1 << 30 },	  { "k", 1 << 10 },
	{ "m", 1 << 20 },   { "g", 1 << 30 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
	{ "GiB", 1 << 30 }, { NULL },
};

static const struct quantity_unit shares[] = { { "%", 1 }, { NULL } };

const struct quantity_units quantity_short_time = { short_times, "us" };
const struct quantity_units quantity_long_time = { long_times, "s" };
const struct quantity_units quantity_size = { sizes, "K" };
const struct quantity_units quantity_share = { shares, "%" };

const char *quantity_parse(const char *text, const struct quantity_units *units, int64_t *ret_value)
{
	const char *digits = text + (*text == '-'), *name;
	const struct quantity_unit *unit;
	long long value, fraction = 0, scale = 1;
	char *end;

	if (!*text)
		return "is empty";
	/* strtoll() would skip blanks and a second sign. */
	if (!isdigit((unsigned char)*digits))
		return "is not a whole number";
	errno = 0;
	value = strtoll(text, &end, 10);
	if (*end && !units)
		return "is not a whole number";
	if (errno)
		return value < 0 ? "is too small" : "is too large";
	if (*end == '.') {
		size_t length = strspn(end + 1, "0123456789");

		if (!length || length > FRACTION_DIGITS)
			return "is not a number, or has too many digits after its point";
		for (end++; length--; end++, scale *= 10)
			fraction = 10 * fraction + (*end - '0');
	}
	if (units) {
		name = *end ? end : units->bare;
		for (unit = units->units; unit->name && strcmp(unit->name, name); unit++)
			;
		if (!unit->name)
			return "has an unknown unit";
		fraction *= unit->factor;
		if (fraction % scale)
			return "is not a whole number";
		fraction /= *text == '-' ? -scale : scale;
		if (__builtin_mul_overflow(value, unit->factor, &value) ||
		    __builtin_add_overflow(value, fraction, &value))
			return *text == '-' ? "is too small" : "is too large";
	}
	*ret_value = value;
	return NULL;
}
