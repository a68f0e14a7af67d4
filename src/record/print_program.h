/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_PRINT_PROGRAM_H
#define ALLOCFILT_RECORD_PRINT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/print_format.h"

/* What print_compile.c makes of a print format, and print_format.c runs. */

/* An operator is its own characters: "+" is OPERATOR('+', 0), "<<" is OPERATOR('<', '<'). */
#define OPERATOR(first, second) ((first) << 8 | (second))

/* A number as C has it: wrapped to its size, and sign-extended where it has a sign. */
struct value {
	uint64_t bits;
	uint8_t size; /* 1, 2, 4, 8 */
	bool is_signed;
};

enum node_kind {
	/* numbers */
	NODE_NUMBER,  /* value */
	NODE_FIELD,   /* offset, value's size and sign */
	NODE_CAST,    /* left; value's size and sign */
	NODE_OP,      /* op, left (NULL: unary), right */
	NODE_ELEMENT, /* left (bytes), right is the index; value's size and sign */
	NODE_LENGTH,  /* left (bytes) */
	NODE_LAST_NUMBER = NODE_LENGTH,
	/* numbers or strings */
	NODE_CHOICE, /* condition, left, right */
	/* bytes, as strings up to a NUL; value's size and sign are those of an element */
	NODE_CHARS,   /* offset, length: an array; 0: to the end of the record */
	NODE_DYNAMIC, /* offset and length of a __data_loc, or __rel_loc with relative */
	/* strings */
	NODE_FLAGS,   /* left, names, text is the delimiter; value's size is that of the flags */
	NODE_SYMBOLS, /* left, names; value's size is that of left and names */
	NODE_TEXT,    /* text */
	NODE_HEX,     /* left (bytes), right is how many, text separates them */
	NODE_ARRAY,   /* left (bytes), right is how many elements of value's size */
	NODE_BITMASK, /* left (bytes) */
};

struct name {
	struct name *next;
	uint64_t value;
	const char *text;
};

struct node {
	enum node_kind kind;
	int depth; /* of the nodes below it */
	int op;	   /* OPERATOR() */
	struct value value;
	size_t offset;
	size_t length;
	bool relative;
	struct node *condition;
	struct node *left;
	struct node *right;
	struct name *names;
	const char *text;
};

/* Bit n: the n-th of the letters "-+ #0". */
#define FLAG_LEFT      0x01
#define FLAG_PLUS      0x02
#define FLAG_SPACE     0x04
#define FLAG_ALTERNATE 0x08
#define FLAG_ZERO      0x10

/* Plain text, then at most one conversion. */
struct piece {
	const char *text;
	size_t length;
	/*
	 * One of "duoxXcs" of printf(3), 0 at the end of the format. Of %p: 'x', 'f' and 'F' for %ps
	 * and %pS, or of bytes: '4', '6', 'I', 'M' for %pI4, %pI6c, %pISpc, %pM.
	 */
	char conversion;
	unsigned int flags;
	int width;
	int precision; /* -1: none */
	int size;      /* of the number in bytes */
	struct node *argument;
};

struct print_format {
	struct print_setup setup;
	struct chunk *chunks; /* all memory that the format is made of */
	struct piece *pieces;
	size_t nr_pieces;
};

/* The value of a node that needs no record. */
struct value print_program_number(const struct print_format *format, const struct node *node);

#endif
