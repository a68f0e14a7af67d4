/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_KEYS_H
#define ALLOCFILT_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/config.h"
#include "config/quantity.h"

/*
 * The settings that a configuration file may have, in one table: how a value is read, what is
 * allowed, what holds without it. Those that are options too have the option's long name.
 */

enum key_kind {
	KEY_TIME,      /* uint64_t, ns */
	KEY_SIZE,      /* uint64_t, bytes */
	KEY_NUMBER,    /* unsigned int */
	KEY_SIGNED,    /* int */
	KEY_SWITCH,    /* bool: yes, no */
	KEY_FORMAT,    /* enum options_format */
	KEY_PATH,      /* char * */
	KEY_PIDS,      /* pid_t *, 0 ends */
	KEY_FUNCTIONS, /* char **, NULL ends: patterns */
	KEY_EVENTS,    /* char **, NULL ends */
};

/* What a new value takes in a run that goes on. */
enum key_change {
	KEY_CHANGE_UNSET,   /* no key has this one: see tests/unit/keys_test.c */
	KEY_CHANGE_TRACING, /* tracing, or tables of the run, set up again */
	KEY_CHANGE_VALUE,   /* the value alone */
};

struct key {
	const char *name;
	const char *option; /* as messages on the command line name it ("-t"), NULL: none */
	enum key_kind kind;
	enum key_change change;
	size_t field; /* offset in struct options */
	size_t given; /* offset of the bool that says whether it is set; 0: none */
	const struct quantity_units *units; /* of a time or size; NULL: a bare number */
	int64_t lowest;			    /* of a number, in the field's unit */
	int64_t highest;
	bool or_zero;	       /* 0 is allowed below lowest */
	bool microseconds;     /* whole ones only */
	const char *otherwise; /* the default, as a value; NULL: none */
	const char *allowed;   /* for messages */
};

/** keys_all - the table */
const struct key *keys_all(size_t *ret_count);

/** keys_find - by name; NULL where there is none */
const struct key *keys_find(const char *name);

/** keys_bit - of a key in options.given */
uint64_t keys_bit(const struct key *key);

/** keys_names - all names, as a message has them; cut where @size is too small */
void keys_names(char *text, size_t size);

#endif
