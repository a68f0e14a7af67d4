/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_NAMES_PRINT_PROGRAM_H
#define ALLOCFILT_NAMES_PRINT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocfilt/record/format.h"
#include "names/event_text.h"

/*
 * The "print fmt" of an event is compiled once into steps, which run over its records without
 * allocating. Some steps push numbers on a stack, and others print them. libtraceevent prints
 * differently from the kernel in places (flags, %pS), and some formats crash it.
 */

#define STACK_MAX 32 /* numbers of an expression */

/* A number as C has it: wrapped to its size, and sign-extended where it has a sign. */
struct value {
	uint64_t bits;
	uint8_t size; /* 1, 2, 4, 8 */
	bool is_signed;
};

enum step_kind {
	STEP_TEXT, /* prints text; begins a conversion */
	/* push a number */
	STEP_NUMBER, /* value */
	STEP_FIELD,  /* at offset; size and sign are value's */
	/* replace one or two numbers */
	STEP_CAST, /* to value's size and sign */
	STEP_BINARY,
	/* of "? :" */
	STEP_UNLESS, /* pops; 0: go on length steps further */
	STEP_SKIP,   /* the same in any case */
	/* pop a number and print it */
	STEP_PUT_NUMBER,
	STEP_PUT_SYMBOL,
	STEP_PUT_FLAGS, /* length STEP_NAMEs follow; text is the delimiter, value has the size */
	STEP_PUT_NAME,	/* the same, of __print_symbolic() */
	STEP_NAME,	/* of value: text */
	/* print bytes of a record, or text */
	STEP_PUT_CHARS,	  /* length at offset up to a NUL; length 0: to the record's end */
	STEP_PUT_ARRAY,	  /* the same bytes as numbers of value's size */
	STEP_PUT_LITERAL, /* text */
};

/* The conversion of a number; of a symbol, the letter is 's' or 'S' for %ps and %pS. */
struct conversion {
	char letter; /* 'd', 'u', 'x' */
	bool zeros;  /* fill the width */
	uint8_t width;
};

struct step {
	uint8_t kind;	  /* enum step_kind */
	bool is_dynamic;  /* at offset is a __data_loc, which tells where the bytes are */
	bool is_relative; /* and it is a __rel_loc */
	struct conversion conversion;
	char op; /* its first character */
	uint32_t offset;
	uint32_t length;
	struct value value;
	const char *text;
	const char *field; /* STEP_TEXT: the first field in the conversion's argument, or NULL */
};

struct print_program {
	struct step *steps;
	size_t nr_steps;
	char *room; /* texts of the steps */
};

/* A record while it is printed. */
struct print_source {
	const unsigned char *data;
	size_t size;
	bool big_endian;
	struct symbols *symbols;
};

/**
 * print_compile - compile the print format of an event
 * @long_size: of the kernel that wrote the records: 4 or 8
 *
 * It knows what the formats of the catalog's events use. Another one becomes "name=value …" of all
 * fields. Nothing of @event is kept. Returns 0, or -ENOMEM; print_program_free() is due after both.
 */
int print_compile(struct print_program *program, const struct event_format *event, int long_size);

void print_program_free(struct print_program *program);

/**
 * print_run - print what the kernel prints for a record: "NAME: …"; nothing for a program without steps
 * @field: print only the conversion whose argument names this field first; NULL: print all
 * @text: @size bytes, 1 at least
 *
 * A field that lies outside the record reads as 0. Returns the length of @text, cut to size - 1 and
 * ended by NUL.
 */
size_t print_run(const struct print_program *program, const struct print_source *source,
		 const char *field, char *text, size_t size);

/* Arithmetic of C, for expressions that are constant when they are compiled. */
struct value value_wrap(struct value value);
struct value value_binary(char op, struct value a, struct value b);

#endif
