/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_PRINT_PROGRAM_H
#define ALLOCFILT_PRINT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/print_format.h"

/* What a print format is compiled to: between print_compile, print_value and print_format. */

enum op {
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_SHL,
	OP_SHR,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_GT,
	OP_LE,
	OP_GE,
	OP_LOGIC_AND,
	OP_LOGIC_OR,
	OP_NOT,
	OP_INVERT,
	OP_MINUS,
	OP_PLUS,
	OP_CHOOSE,
};

/* A number as C has it: promoted, wrapped to its size, and sign-extended where it has a sign. */
struct value {
	uint64_t bits;
	uint8_t size; /* 1, 2, 4, 8 */
	bool is_signed;
};

enum node_kind {
	NODE_NUMBER,  /* value */
	NODE_FIELD,   /* offset, value's size and sign */
	NODE_CAST,    /* left; value's size and sign */
	NODE_OP,      /* op, left, right; OP_CHOOSE: condition, left, right */
	NODE_FLAGS,   /* left, names, text is the delimiter */
	NODE_SYMBOLS, /* left, names */
	NODE_TEXT,    /* text */
	NODE_CHARS,   /* offset, length: a char array */
	NODE_DYNAMIC, /* offset, length of the field that tells where; relative */
};

struct name {
	uint64_t value;
	const char *text;
};

struct node {
	enum node_kind kind;
	enum op op;
	struct value value;
	size_t offset;
	size_t length;
	bool relative;
	struct node *condition;
	struct node *left;
	struct node *right;
	struct name *names;
	size_t nr_names;
	const char *text;
};

#define FLAG_LEFT      0x01 /* - */
#define FLAG_PLUS      0x02 /* + */
#define FLAG_SPACE     0x04
#define FLAG_ALTERNATE 0x08 /* # */
#define FLAG_ZERO      0x10

/* Plain text, then at most one conversion. */
struct piece {
	const char *text;
	size_t length;
	char conversion; /* d u x X o c s p, S and B for %pS and the like; 0: none */
	unsigned int flags;
	int width;     /* -1: none */
	int precision; /* -1: none */
	int size;      /* of the number in bytes */
	struct node *argument;
};

/* All that a format is made of is freed with it. */
struct chunk {
	struct chunk *next;
	max_align_t data[];
};

struct print_format {
	struct print_setup setup;
	struct chunk *chunks;
	struct piece *pieces;
	size_t nr_pieces;
};

/* A record while it is printed. */
struct source {
	const struct print_format *format;
	const unsigned char *data;
	size_t size;
};

/** print_value_wrap - cut a value to its size, extend its sign */
struct value print_value_wrap(struct value value);

/** print_value_read - a number of 1 to 8 bytes in the record, 0 where it lies outside */
uint64_t print_value_read(const struct source *source, size_t offset, size_t size);

/** print_value - what an expression is for a record, as C calculates */
struct value print_value(const struct source *source, const struct node *node);

/** print_is_symbol - is a piece a %ps or a %pS? */
static inline bool print_is_symbol(const struct piece *piece)
{
	return piece->conversion == 'S' || (piece->conversion == 's' && !piece->size);
}

#endif
