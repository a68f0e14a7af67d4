// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/traceable.h"

#include <stddef.h>
#include <string.h>

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool has_only(const char *text, const char *characters)
{
	return *text && !text[strspn(text, characters)];
}

bool traceable_function(const char *text)
{
	return has_only(text, WORD ".$");
}

bool traceable_pattern(const char *text)
{
	return has_only(text, WORD ".$*?[]^-");
}

bool traceable_event(const char *text)
{
	size_t system = strspn(text, WORD "-");

	return system && text[system] == ':' && has_only(text + system + 1, WORD "-");
}
