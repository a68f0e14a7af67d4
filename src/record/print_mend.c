// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/print_format.h"

static const struct {
	const char *from;
	const char *to;
} mends[] = {
	/* __entry->ent of the kernel's source is what the fields call common_… */
	{ "REC->ent.pid", "REC->common_pid" },
	{ "REC->ent.flags", "REC->common_flags" },
	{ "REC->ent.preempt_count", "REC->common_preempt_count" },
	{ "REC->ent.type", "REC->common_type" },
	/* enum trace_flag_type */
	{ "TRACE_FLAG_IRQS_OFF", "0x01" },
	{ "TRACE_FLAG_NEED_RESCHED_LAZY", "0x02" },
	{ "TRACE_FLAG_NEED_RESCHED", "0x04" },
	{ "TRACE_FLAG_HARDIRQ", "0x08" },
	{ "TRACE_FLAG_SOFTIRQ", "0x10" },
	{ "TRACE_FLAG_PREEMPT_RESCHED", "0x20" },
	{ "TRACE_FLAG_NMI", "0x40" },
	{ "TRACE_FLAG_BH_OFF", "0x80" },
	/* enum vmscan_throttle_state */
	{ "VMSCAN_THROTTLE_WRITEBACK", "0" },
	{ "VMSCAN_THROTTLE_ISOLATED", "1" },
	{ "VMSCAN_THROTTLE_NOPROGRESS", "2" },
	{ "VMSCAN_THROTTLE_CONGESTED", "3" },
};

#define MENDS (sizeof(mends) / sizeof(*mends))

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Which of the mends stands at @at, as whole words? MENDS for none. */
static size_t find_mend(const char *start, const char *at, const char *end)
{
	size_t length;

	if (at > start && is_word(at[-1]))
		return MENDS;
	for (size_t i = 0; i < MENDS; i++) {
		length = strlen(mends[i].from);
		if ((size_t)(end - at) >= length && !memcmp(at, mends[i].from, length) &&
		    ((size_t)(end - at) == length || !is_word(at[length])))
			return i;
	}
	return MENDS;
}

/* Copies the arguments of a print format; @to has room for twice as much. Returns the end. */
static char *mend_arguments(char *to, const char *from, const char *end)
{
	const char *start = from;
	bool quoted = false;
	size_t mend;

	while (from < end) {
		mend = quoted ? MENDS : find_mend(start, from, end);
		if (mend < MENDS) {
			to = stpcpy(to, mends[mend].to);
			from += strlen(mends[mend].from);
			continue;
		}
		if (quoted && *from == '\\' && from + 1 < end)
			*to++ = *from++;
		else if (*from == '"')
			quoted = !quoted;
		*to++ = *from++;
	}
	return to;
}

/* Is there a line "field:TYPE NAME;" or "field:TYPE NAME[…];" in the text before the format? */
static bool is_field(const char *text, const char *end, const char *name, size_t length)
{
	const char *at = text;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		if (at > text && !is_word(at[-1]) && at + length < end &&
		    (at[length] == ';' || at[length] == '['))
			return true;
		at++;
	}
	return false;
}

/* Every REC->NAME outside of quotes has to be a field. */
static bool knows_its_fields(const char *text, const char *print, const char *end)
{
	static const char mark[] = "REC->";
	bool quoted = false;
	size_t length;

	for (const char *at = print; at < end; at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		if (quoted || (size_t)(end - at) < sizeof(mark) ||
		    memcmp(at, mark, sizeof(mark) - 1))
			continue;
		at += sizeof(mark) - 1;
		for (length = 0; at + length < end && is_word(at[length]); length++)
			;
		if (!length || !is_field(text, print, at, length))
			return false;
		at += length - 1;
	}
	return true;
}

char *print_format_mend(const char *text, size_t length, size_t *ret_length)
{
	static const char mark[] = "\nprint fmt:", nothing[] = "\nprint fmt: \"\"\n";
	const char *print = memmem(text, length, mark, sizeof(mark) - 1);
	size_t head = print ? (size_t)(print - text) : length;
	char *mended, *end;

	mended = malloc(2 * length + sizeof(nothing));
	if (!mended)
		return NULL;
	memcpy(mended, text, head);
	end = mend_arguments(mended + head, text + head, text + length);
	if (!knows_its_fields(mended, mended + head, end))
		end = stpcpy(mended + head, nothing);
	*end = '\0';
	*ret_length = (size_t)(end - mended);
	return mended;
}
