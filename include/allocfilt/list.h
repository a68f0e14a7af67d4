/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_LIST_H
#define ALLOCFILT_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Rings of things in fixed pools: a head, and in each thing a link that points to its neighbours.
 */

struct link {
	struct link *prev;
	struct link *next;
};

/* The thing of which @link is the member. */
#define list_entry(link, type, member) ((type *)((char *)(link) - offsetof(type, member)))

static inline void list_init(struct link *list)
{
	list->prev = list;
	list->next = list;
}

static inline bool list_empty(const struct link *list)
{
	return list->next == list;
}

static inline void list_append(struct link *list, struct link *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

static inline void list_remove(struct link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

#endif
