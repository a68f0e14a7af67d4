// SPDX-License-Identifier: GPL-2.0-or-later
#include "account/forms.h"

#include <inttypes.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/line.h"
#include "allocfilt/base/log.h"

const char *account_event(const struct account_site *site)
{
	return site->cache ? "kmem_cache_alloc" : "kmalloc";
}

/* A semicolon ends a frame. */
static void put_frame(struct line *line, const struct writer *writer, const char *name)
{
	char text[TEXT_ESCAPED_MAX * 64];

	text_escape(text, sizeof(text), name, text_rule_of(writer_fd(writer)));
	for (char *end = text; (end = strchr(end, ';'));)
		*end = ':';
	line_add(line, "%s", text);
}

static void put_folded_site(struct writer *writer, const struct account_site *site, uint64_t number)
{
	struct line line;

	line_clear(&line);
	line_add(&line, "%s;", account_event(site));
	if (site->cache && *site->cache) {
		put_frame(&line, writer, site->cache);
		line_add(&line, ";");
	}
	put_frame(&line, writer, site->name);
	line_add(&line, " %" PRIu64, number);
	line_put(&line, writer);
}

/* The stack of a call site: its event, its cache, the call site. */
static void account_folded(struct writer *writer, const struct summary_view *view,
			   const struct account_tables *tables)
{
	for (size_t i = 0; i < tables->nr_sites; i++) {
		const struct account_site *site = &tables->sites[i];
		uint64_t number = account_number(site, view->options->sort);

		if (number)
			put_folded_site(writer, site, number);
	}
	if (tables->dropped.sites)
		log_warning("incomplete: a table of the kernel was full, and no line has another "
			    "%" PRIu64 " allocations",
			    tables->dropped.sites);
}

/* The first is the default. */
static const struct {
	const char *name;
	void (*put)(struct writer *writer, const struct summary_view *view,
		    const struct account_tables *tables);
} account_forms[] = {
	{ "text", account_text },
	{ "json", account_json },
	{ "folded", account_folded },
};

const char *const *account_form_names(void)
{
	static const char *names[ARRAY_SIZE(account_forms) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(account_forms); i++)
		names[i] = account_forms[i].name;
	return names;
}

int account_print(struct writer *writer, const char *form, const struct summary_view *view,
		  const struct account_tables *tables)
{
	for (size_t i = 0; i < ARRAY_SIZE(account_forms); i++)
		if (!strcmp(account_forms[i].name, form))
			account_forms[i].put(writer, view, tables);
	return writer_flush(writer);
}
