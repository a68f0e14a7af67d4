/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CONFIG_KEYS_H
#define ALLOCFILT_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/config/options.h"

/*
 * All settings in one table: those of the command line, of the configuration file, or of both. The
 * text of --help is made from it; tests check etc/allocfilt.conf and the manual page against it.
 */

/* Is a key allowed in the file? */
enum key_scope {
	KEY_OPTION, /* not in the file */
	KEY_FILE,
};

/* The first of these that the command line asks for decides which options may stand. */
enum key_mode {
	MODE_ACCOUNT,
	MODE_DIFF,
	MODE_TASK, /* --restore, --probe, --check-config */
	MODE_VERIFY,
	MODE_RECORD, /* -w */
	MODE_JOURNAL,
	MODE_READ, /* -r */
	MODE_SHOW,
	/* No modes of their own: an option without the first bit does nothing over a capture. */
	MODE_CAPTURE,
	MODE_LIVE, /* an option without this one, but with the first, is refused on a kernel */
};

struct key {
	const char *name;   /* in the file, and of the long option */
	const char *option; /* as messages name the option: "-t" or "--top"; NULL: none */
	enum key_kind kind;
	enum key_scope scope;
	unsigned int modes;	     /* a bit for each enum key_mode that the option goes with */
	size_t field;		     /* offset in struct options */
	const char *default_value;   /* NULL: none; of KEY_FORMAT the first of options.formats */
	const char *journal_default; /* with --journal; NULL: the same */
	const struct quantity_units *units; /* of KEY_QUANTITY */
	int64_t lowest, highest;	    /* of a number or a pid, in the field's unit */
	bool or_zero;			    /* 0 is allowed, too */
	bool microseconds;		    /* whole ones only */
	const char *const *choices;	    /* of KEY_CHOICE, NULL ends */
	enum options_task task;		    /* of KEY_TASK */
	bool account_reads;		    /* an account takes it from the file, too */
	const char *needs, *excludes;	    /* another key's option, or "COMMAND"; NULL: none */
	const char *because;  /* why they exclude each other, or else what to use instead */
	const char *allowed;  /* for messages */
	const char *argument; /* of an option with a value, for --help: "TIME" */
	const char *help;
	const char *heading; /* in --help, of this option and those that follow; NULL: none */
};

#define KEYS_MAX 64 /* options.on_command_line has a bit for each */

extern const struct key keys[]; /* in the order of --help */
extern const size_t nr_keys;

/** key_find - find a key by name, or NULL */
const struct key *key_find(const char *name);

/** key_bit - the bit of a key in options.on_command_line */
uint64_t key_bit(const struct key *key);

#endif
