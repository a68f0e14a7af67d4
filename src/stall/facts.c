// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/facts.h"

#define WORDS_MAX	64
#define WORD_MAX	160
#define EVENT_TEXT_MAX	1024

struct word {
	uint64_t value;
	uint64_t used;		/* of words.uses, when it was last looked for */
	char text[WORD_MAX];
};

struct words {
	struct word word[WORDS_MAX];
	size_t count;
	uint64_t uses;
	uint64_t missed;
};

struct fact_names {
	struct fact_names_setup setup;
	struct words gfp;
	struct words status;
};

struct fact_names *fact_names_new(const struct fact_names_setup *setup)
{
	struct fact_names *names = calloc(1, sizeof(*names));

	if (names)
		names->setup = *setup;
	return names;
}

void fact_names_free(struct fact_names *names)
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

const char *fact_names_gfp(struct fact_names *names, uint64_t gfp)
{
	return look_up(&names->gfp, gfp);
}

const char *fact_names_status(struct fact_names *names, int status)
{
	return look_up(&names->status, (uint64_t)status);
}

uint64_t fact_names_missed(const struct fact_names *names)
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

static void note_word(struct fact_names *names, struct words *words, uint64_t value,
		      const struct record *record, const char *key)
{
	char text[EVENT_TEXT_MAX];

	if (word_of(words, value))
		return;
	names->setup.event(names->setup.context, record, text, sizeof(text));
	cut(new_word(words, value)->text, text, key);
}

static void note_request(struct facts *facts, struct fact_names *names,
			 const struct record *record, const char *key)
{
	note_word(names, &names->gfp, record->fields.gfp, record, key);
	if (facts->asked_at && facts->asked_at <= record->ts)
		return;
	facts->asked_at = record->ts;
	facts->order = record->fields.order;
	facts->gfp = record->fields.gfp;
}

static void note_outcome(struct facts *facts, struct fact_names *names,
			 const struct record *record)
{
	note_word(names, &names->status, (uint64_t)record->fields.status, record, " status=");
	if (facts->compacted_at > record->ts)
		return;
	facts->compacted_at = record->ts;
	facts->status = record->fields.status;
}

static void note_reclaimed(struct facts *facts, const struct record *record)
{
	facts->has_reclaimed = true;
	facts->nr_reclaimed += record->fields.nr_reclaimed;
}

static void note_stack(struct facts *facts, const struct record_stack *stack)
{
	if (!stack->number || facts->stack_at)
		return;
	facts->stack_at = stack->ts;
	facts->stack = stack->number;
}

void facts_event(struct facts *facts, struct fact_names *names, const struct record *record)
{
	facts->nr_events++;
	if (record->fields.memcg_id)
		facts->memcg_id = record->fields.memcg_id;
	note_stack(facts, &record->stack);
	switch (names->setup.plan->events[record->event].id) {
	case EVENT_DIRECT_RECLAIM_BEGIN:
	case EVENT_MEMCG_RECLAIM_BEGIN:
	case EVENT_NODE_RECLAIM_BEGIN:
		note_request(facts, names, record, "gfp_flags=");
		break;
	case EVENT_TRY_TO_COMPACT:
		note_request(facts, names, record, "gfp_mask=");
		break;
	case EVENT_DIRECT_RECLAIM_END:
	case EVENT_MEMCG_RECLAIM_END:
	case EVENT_NODE_RECLAIM_END:
		note_reclaimed(facts, record);
		break;
	case EVENT_COMPACTION_END:
		note_outcome(facts, names, record);
		break;
	default:
		break;
	}
}

void facts_merge(struct facts *facts, const struct facts *part)
{
	facts->nr_events += part->nr_events;
	if (part->asked_at && (!facts->asked_at || part->asked_at < facts->asked_at)) {
		facts->asked_at = part->asked_at;
		facts->order = part->order;
		facts->gfp = part->gfp;
	}
	if (part->has_reclaimed)
		facts->has_reclaimed = true;
	facts->nr_reclaimed += part->nr_reclaimed;
	if (part->compacted_at > facts->compacted_at) {
		facts->compacted_at = part->compacted_at;
		facts->status = part->status;
	}
	if (part->stack_at && (!facts->stack_at || part->stack_at < facts->stack_at)) {
		facts->stack_at = part->stack_at;
		facts->stack = part->stack;
	}
	if (part->memcg_id && !facts->memcg_id)
		facts->memcg_id = part->memcg_id;
}
