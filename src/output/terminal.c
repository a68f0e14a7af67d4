// SPDX-License-Identifier: GPL-2.0-or-later
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "output/terminal.h"

/* The program itself stays in the "C" locale: only what the reader can see is asked. */
static bool locale_has_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (!locale)
		return false;
	utf8 = !strcasecmp(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return utf8;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool is_dumb(void)
{
	return !is_set("TERM") || !strcmp(getenv("TERM"), "dumb");
}

void terminal_look(struct terminal *terminal, int fd)
{
	*terminal = (struct terminal){ 0 };
	if (fd < 0 || !isatty(fd))
		return;
	terminal->colour = !is_dumb() && !is_set("NO_COLOR");
	terminal->box = !is_dumb() && locale_has_utf8();
	terminal->names = locale_has_utf8() ? TEXT_PRINTABLE : TEXT_ASCII;
}
