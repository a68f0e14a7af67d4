// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stall/details.h"

#define WORDS_MAX      64
#define WORD_MAX       160
#define EVENT_TEXT_MAX 1024

struct word {
	uint64_t value;
	uint64_t used; /* of words.uses, when it was last looked for */
	char text[WORD_MAX];
};

struct words {
	struct word word[WORDS_MAX];
	size_t count;
	uint64_t uses;
	uint64_t missed;
};

struct detail_names {
	struct detail_names_setup setup;
	struct words gfp;
	struct words status;
};

struct detail_names *detail_names_new(const struct detail_names_setup *setup)
{
	struct detail_names *names = calloc(1, sizeof(*names));

	if (names)
		names->setup = *setup;
	return names;
}

void detail_names_free(struct detail_names *names)
{
	free(names);
}

static const char *word_of(struct words *words, uint64_t value)
{
	for (size_t i = 0; i < words->count; i++) {
		struct word *word = &words->word[i];

		if (word->value != value)
			continue;
		word->used = ++words->uses;
		return word->text;
	}
	return NULL;
}

/* Each value had its word when its event came. */
static const char *look_up(struct words *words, uint64_t value)
{
	const char *text = word_of(words, value);

	if (text)
		return text;
	words->missed++;
	return "";
}

const char *detail_names_gfp(struct detail_names *names, uint64_t gfp)
{
	return look_up(&names->gfp, gfp);
}

const char *detail_names_status(struct detail_names *names, int status)
{
	return look_up(&names->status, (uint64_t)status);
}

uint64_t detail_names_missed(const struct detail_names *names)
{
	return names->gfp.missed + names->status.missed;
}

/* A free one, or that which was not looked for for longest. */
static struct word *new_word(struct words *words, uint64_t value)
{
	struct word *word = &words->word[0];

	if (words->count < WORDS_MAX)
		word = &words->word[words->count++];
	else
		for (size_t i = 1; i < WORDS_MAX; i++)
			if (words->word[i].used < word->used)
				word = &words->word[i];
	*word = (struct word){ .value = value, .used = ++words->uses };
	return word;
}

/* "… gfp_flags=GFP_KERNEL …": the text behind @key up to a blank. */
static void cut(char word[WORD_MAX], const char *text, const char *key)
{
	const char *from = strstr(text, key);
	size_t length;

	if (!from)
		return;
	from += strlen(key);
	length = strcspn(from, " ");
	if (length >= WORD_MAX)
		length = WORD_MAX - 1;
	memcpy(word, from, length);
	word[length] = '\0';
}

static void note_word(struct detail_names *names, struct words *words, uint64_t value,
		      const struct record *record, const char *key)
{
	char text[EVENT_TEXT_MAX];

	if (word_of(words, value))
		return;
	names->setup.event(names->setup.context, record, text, sizeof(text));
	cut(new_word(words, value)->text, text, key);
}

static void note_request(struct details *details, struct detail_names *names,
			 const struct record *record, const char *key)
{
	note_word(names, &names->gfp, record->fields.gfp, record, key);
	if (details->asked_at && details->asked_at <= record->ts)
		return;
	details->asked_at = record->ts;
	details->order = record->fields.order;
	details->gfp = record->fields.gfp;
}

static void note_outcome(struct details *details, struct detail_names *names,
			 const struct record *record)
{
	note_word(names, &names->status, (uint64_t)record->fields.status, record, " status=");
	if (details->compacted_at > record->ts)
		return;
	details->compacted_at = record->ts;
	details->status = record->fields.status;
}

static void note_reclaimed(struct details *details, const struct record *record)
{
	details->has_reclaimed = true;
	details->nr_reclaimed += record->fields.nr_reclaimed;
}

static void note_stack(struct details *details, const struct record_stack *stack)
{
	if (!stack->number || details->stack_at)
		return;
	details->stack_at = stack->ts;
	details->stack = stack->number;
}

void details_event(struct details *details, struct detail_names *names, const struct record *record)
{
	details->nr_events++;
	if (record->fields.memcg_id)
		details->memcg_id = record->fields.memcg_id;
	note_stack(details, &record->stack);
	switch (names->setup.plan->events[record->event].id) {
	case EVENT_DIRECT_RECLAIM_BEGIN:
	case EVENT_MEMCG_RECLAIM_BEGIN:
	case EVENT_NODE_RECLAIM_BEGIN:
		note_request(details, names, record, "gfp_flags=");
		break;
	case EVENT_TRY_TO_COMPACT:
		note_request(details, names, record, "gfp_mask=");
		break;
	case EVENT_DIRECT_RECLAIM_END:
	case EVENT_MEMCG_RECLAIM_END:
	case EVENT_NODE_RECLAIM_END:
		note_reclaimed(details, record);
		break;
	case EVENT_COMPACTION_END:
		note_outcome(details, names, record);
		break;
	default:
		break;
	}
}

void details_merge(struct details *details, const struct details *part)
{
	details->nr_events += part->nr_events;
	if (part->asked_at && (!details->asked_at || part->asked_at < details->asked_at)) {
		details->asked_at = part->asked_at;
		details->order = part->order;
		details->gfp = part->gfp;
	}
	if (part->has_reclaimed)
		details->has_reclaimed = true;
	details->nr_reclaimed += part->nr_reclaimed;
	if (part->compacted_at > details->compacted_at) {
		details->compacted_at = part->compacted_at;
		details->status = part->status;
	}
	if (part->stack_at && (!details->stack_at || part->stack_at < details->stack_at)) {
		details->stack_at = part->stack_at;
		details->stack = part->stack;
	}
	if (part->memcg_id && !details->memcg_id)
		details->memcg_id = part->memcg_id;
}
