// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "record/print_program.h"

#define NESTING_MAX 64 /* of an expression; the kernel's own go to about 5 */

struct compiler {
	struct print_format *format;
	struct tep_event *event;
	int nesting;
	int error;
};

static void *keep(struct compiler *compiler, size_t size)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk) {
		compiler->error = -ENOMEM;
		return NULL;
	}
	chunk->next = compiler->format->chunks;
	compiler->format->chunks = chunk;
	return chunk->data;
}

static void *unknown(struct compiler *compiler)
{
	if (!compiler->error)
		compiler->error = -ENOTSUP;
	return NULL;
}

static char *keep_text(struct compiler *compiler, const char *text)
{
	size_t size;
	char *copy;

	if (!text)
		return unknown(compiler);
	size = strlen(text) + 1;
	copy = keep(compiler, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

static struct node *new_node(struct compiler *compiler, enum node_kind kind)
{
	struct node *node = keep(compiler, sizeof(*node));

	if (node)
		node->kind = kind;
	return node;
}

static struct node *compile_number(struct compiler *compiler, const struct tep_print_arg *arg);
static struct node *compile_text(struct compiler *compiler, const struct tep_print_arg *arg);

/* The type of an integer constant by its value and suffix, as C has it. */
static struct value constant_type(uint64_t bits, bool decimal, int longs, bool is_unsigned,
				  int long_size)
{
	struct value value = { .bits = bits, .size = 4 };
	bool wide = bits > UINT32_MAX || (bits > INT32_MAX && decimal && !is_unsigned);

	if (longs == 2 || wide)
		value.size = 8;
	else if (longs == 1)
		value.size = (uint8_t)long_size;
	value.is_signed = !is_unsigned && bits >> (value.size * 8 - 1) == 0;
	return value;
}

static bool parse_constant(const char *text, int long_size, struct value *value)
{
	int longs = 0, unsigneds = 0;
	unsigned long long bits;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	bits = strtoull(text, &end, 0);
	if (errno)
		return false;
	for (; *end; end++) {
		if (*end == 'l' || *end == 'L')
			longs++;
		else if (*end == 'u' || *end == 'U')
			unsigneds++;
		else
			return false;
	}
	*value = constant_type(bits, *text != '0', longs, unsigneds, long_size);
	return longs <= 2 && unsigneds <= 1;
}

static struct node *compile_constant(struct compiler *compiler, const char *text)
{
	struct value value;
	struct node *node;

	if (!parse_constant(text, compiler->format->setup.long_size, &value))
		return unknown(compiler);
	node = new_node(compiler, NODE_NUMBER);
	if (node)
		node->value = value;
	return node;
}

static struct tep_format_field *field_of(struct compiler *compiler,
					 const struct tep_print_arg_field *arg)
{
	return arg->field ? arg->field : tep_find_any_field(compiler->event, arg->name);
}

static struct node *compile_number_field(struct compiler *compiler,
					 const struct tep_format_field *field)
{
	struct node *node;

	if (!field || field->offset < 0 ||
	    (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)))
		return unknown(compiler);
	if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
		return unknown(compiler);
	node = new_node(compiler, NODE_FIELD);
	if (!node)
		return NULL;
	node->offset = (size_t)field->offset;
	node->value.size = (uint8_t)field->size;
	node->value.is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	return node;
}

static const struct {
	const char *name;
	int size; /* 0: a long of the kernel */
	bool is_signed;
} types[] = {
	{ "char", 1, true },
	{ "signed char", 1, true },
	{ "unsigned char", 1, false },
	{ "bool", 1, false },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
	{ "int", 4, true },
	{ "signed int", 4, true },
	{ "unsigned", 4, false },
	{ "unsigned int", 4, false },
	{ "long", 0, true },
	{ "long int", 0, true },
	{ "unsigned long", 0, false },
	{ "unsigned long int", 0, false },
	{ "long long", 8, true },
	{ "unsigned long long", 8, false },
	{ "s8", 1, true },
	{ "u8", 1, false },
	{ "s16", 2, true },
	{ "u16", 2, false },
	{ "s32", 4, true },
	{ "u32", 4, false },
	{ "s64", 8, true },
	{ "u64", 8, false },
	{ "__s8", 1, true },
	{ "__u8", 1, false },
	{ "__s16", 2, true },
	{ "__u16", 2, false },
	{ "__s32", 4, true },
	{ "__u32", 4, false },
	{ "__s64", 8, true },
	{ "__u64", 8, false },
	{ "size_t", 0, false },
	{ "ssize_t", 0, true },
	{ "uintptr_t", 0, false },
	{ "gfp_t", 4, false },
	{ "pid_t", 4, true },
	{ "dev_t", 4, false },
	{ "ino_t", 0, false },
	{ "loff_t", 8, true },
	{ "sector_t", 8, false },
	{ "ktime_t", 8, true },
};

static bool find_type(const char *name, int long_size, struct value *type)
{
	size_t length;

	name += strspn(name, " ");
	length = strlen(name);
	while (length && name[length - 1] == ' ')
		length--;
	if (length && name[length - 1] == '*') {
		*type = (struct value){ .size = (uint8_t)long_size };
		return true;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strlen(types[i].name) != length || memcmp(types[i].name, name, length))
			continue;
		type->size = (uint8_t)(types[i].size ? types[i].size : long_size);
		type->is_signed = types[i].is_signed;
		return true;
	}
	return false;
}

static struct node *compile_cast(struct compiler *compiler,
				 const struct tep_print_arg_typecast *cast)
{
	struct node *node = new_node(compiler, NODE_CAST);

	if (!node)
		return NULL;
	if (!find_type(cast->type, compiler->format->setup.long_size, &node->value))
		return unknown(compiler);
	node->left = compile_number(compiler, cast->item);
	return node->left ? node : NULL;
}

static const struct {
	const char *text;
	enum op op;
} binary_ops[] = {
	{ "+", OP_ADD }, { "-", OP_SUB }, { "*", OP_MUL }, { "/", OP_DIV }, { "%", OP_MOD },
	{ "<<", OP_SHL }, { ">>", OP_SHR }, { "&", OP_AND }, { "|", OP_OR }, { "^", OP_XOR },
	{ "==", OP_EQ }, { "!=", OP_NE }, { "<", OP_LT }, { ">", OP_GT }, { "<=", OP_LE },
	{ ">=", OP_GE }, { "&&", OP_LOGIC_AND }, { "||", OP_LOGIC_OR },
}, unary_ops[] = {
	{ "!", OP_NOT }, { "~", OP_INVERT }, { "-", OP_MINUS }, { "+", OP_PLUS },
};

static bool find_op(const char *text, bool unary, enum op *op)
{
	size_t count = unary ? sizeof(unary_ops) / sizeof(*unary_ops) :
			       sizeof(binary_ops) / sizeof(*binary_ops);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, unary ? unary_ops[i].text : binary_ops[i].text))
			continue;
		*op = unary ? unary_ops[i].op : binary_ops[i].op;
		return true;
	}
	return false;
}

static struct node *compile_op(struct compiler *compiler, const struct tep_print_arg_op *op)
{
	bool unary = !op->left || op->left->type == TEP_PRINT_NULL;
	struct node *node = new_node(compiler, NODE_OP);

	if (!node)
		return NULL;
	if (!op->op || !op->right || !find_op(op->op, unary, &node->op))
		return unknown(compiler);
	node->right = compile_number(compiler, op->right);
	if (!unary)
		node->left = compile_number(compiler, op->left);
	return node->right && (unary || node->left) ? node : NULL;
}

typedef struct node *(*compile_function)(struct compiler *compiler,
					 const struct tep_print_arg *arg);

/* libtraceevent has a ? b : c as an operator "?" of a and an operator ":" of b and c. */
static struct node *compile_choice(struct compiler *compiler, const struct tep_print_arg_op *op,
				   compile_function compile_arm)
{
	const struct tep_print_arg *arms = op->right;
	struct node *node = new_node(compiler, NODE_OP);

	if (!node)
		return NULL;
	if (!arms || arms->type != TEP_PRINT_OP || strcmp(arms->op.op, ":"))
		return unknown(compiler);
	node->op = OP_CHOOSE;
	node->condition = compile_number(compiler, op->left);
	node->left = compile_arm(compiler, arms->op.left);
	node->right = compile_arm(compiler, arms->op.right);
	return node->condition && node->left && node->right ? node : NULL;
}

static bool is_choice(const struct tep_print_arg *arg)
{
	return arg->type == TEP_PRINT_OP && arg->op.op && !strcmp(arg->op.op, "?");
}

static struct node *compile_number_kind(struct compiler *compiler, const struct tep_print_arg *arg)
{
	if (is_choice(arg))
		return compile_choice(compiler, &arg->op, compile_number);
	switch (arg->type) {
	case TEP_PRINT_ATOM:
		return compile_constant(compiler, arg->atom.atom);
	case TEP_PRINT_FIELD:
		return compile_number_field(compiler, field_of(compiler, &arg->field));
	case TEP_PRINT_TYPE:
		return compile_cast(compiler, &arg->typecast);
	case TEP_PRINT_OP:
		return compile_op(compiler, &arg->op);
	default:
		return unknown(compiler);
	}
}

static struct node *nested(struct compiler *compiler, const struct tep_print_arg *arg,
			   compile_function compile)
{
	struct node *node;

	if (!arg || compiler->nesting >= NESTING_MAX)
		return unknown(compiler);
	compiler->nesting++;
	node = compile(compiler, arg);
	compiler->nesting--;
	return node;
}

static struct node *compile_number(struct compiler *compiler, const struct tep_print_arg *arg)
{
	return nested(compiler, arg, compile_number_kind);
}

/* libtraceevent has worked out expressions to decimal text; plain constants stand as they were. */
static bool parse_name_value(const char *text, uint64_t *value)
{
	bool negative = text && *text == '-';
	struct value constant;

	if (!parse_constant(text + negative, 8, &constant))
		return false;
	*value = negative ? 0 - constant.bits : constant.bits;
	return true;
}

static struct name *compile_names(struct compiler *compiler, const struct tep_print_flag_sym *from,
				  size_t *ret_count)
{
	const struct tep_print_flag_sym *sym;
	struct name *names;
	size_t count = 0;

	for (sym = from; sym; sym = sym->next)
		count++;
	names = keep(compiler, (count + 1) * sizeof(*names));
	if (!names)
		return NULL;
	*ret_count = count;
	for (struct name *name = names; from; from = from->next, name++) {
		name->text = keep_text(compiler, from->str);
		if (!name->text)
			return NULL;
		if (!parse_name_value(from->value, &name->value))
			return unknown(compiler);
	}
	return names;
}

static struct node *compile_named(struct compiler *compiler, enum node_kind kind,
				  const struct tep_print_arg *field, const char *delimiter,
				  const struct tep_print_flag_sym *names)
{
	struct node *node = new_node(compiler, kind);

	if (!node)
		return NULL;
	node->text = keep_text(compiler, delimiter ? delimiter : "");
	node->left = compile_number(compiler, field);
	node->names = compile_names(compiler, names, &node->nr_names);
	return node->text && node->left && node->names ? node : NULL;
}

static struct node *compile_literal(struct compiler *compiler, const char *text)
{
	struct node *node = new_node(compiler, NODE_TEXT);

	if (!node)
		return NULL;
	node->text = keep_text(compiler, text);
	return node->text ? node : NULL;
}

static struct node *compile_dynamic(struct compiler *compiler,
				    const struct tep_print_arg_string *string)
{
	const struct tep_format_field *field = string->field;
	struct node *node;

	if (!field)
		field = tep_find_any_field(compiler->event, string->string);
	if (!field || field->offset < 0 || !(field->flags & TEP_FIELD_IS_DYNAMIC))
		return unknown(compiler);
	node = new_node(compiler, NODE_DYNAMIC);
	if (!node)
		return NULL;
	node->offset = (size_t)field->offset;
	node->length = (size_t)field->size;
	node->relative = field->flags & TEP_FIELD_IS_RELATIVE;
	return node;
}

static struct node *compile_chars(struct compiler *compiler, const struct tep_format_field *field)
{
	struct node *node;

	if (!field || field->offset < 0 || field->size <= 0 ||
	    !(field->flags & TEP_FIELD_IS_ARRAY) || (field->flags & TEP_FIELD_IS_DYNAMIC) ||
	    (unsigned int)field->size != field->arraylen)
		return unknown(compiler);
	node = new_node(compiler, NODE_CHARS);
	if (!node)
		return NULL;
	node->offset = (size_t)field->offset;
	node->length = (size_t)field->size;
	return node;
}

static struct node *compile_text_kind(struct compiler *compiler, const struct tep_print_arg *arg)
{
	if (is_choice(arg))
		return compile_choice(compiler, &arg->op, compile_text);
	switch (arg->type) {
	case TEP_PRINT_ATOM:
		return compile_literal(compiler, arg->atom.atom);
	case TEP_PRINT_FLAGS:
		return compile_named(compiler, NODE_FLAGS, arg->flags.field, arg->flags.delim,
				     arg->flags.flags);
	case TEP_PRINT_SYMBOL:
		return compile_named(compiler, NODE_SYMBOLS, arg->symbol.field, NULL,
				     arg->symbol.symbols);
	case TEP_PRINT_STRING:
		return compile_dynamic(compiler, &arg->string);
	case TEP_PRINT_FIELD:
		return compile_chars(compiler, field_of(compiler, &arg->field));
	default:
		return unknown(compiler);
	}
}

static struct node *compile_text(struct compiler *compiler, const struct tep_print_arg *arg)
{
	return nested(compiler, arg, compile_text_kind);
}

static char unescape(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	default:
		return c;
	}
}

/* Text up to the next conversion; "%%" is text. Returns behind it. */
static const char *compile_plain(struct compiler *compiler, const char *at, struct piece *piece)
{
	char *text = keep(compiler, strlen(at) + 1);
	size_t length = 0;

	if (!text)
		return NULL;
	while (*at && (*at != '%' || at[1] == '%')) {
		if (*at == '\\' && at[1])
			text[length++] = unescape(*++at);
		else if (*at == '%')
			text[length++] = *++at;
		else
			text[length++] = *at;
		at++;
	}
	piece->text = text;
	piece->length = length;
	return at;
}

static const char *parse_flags(const char *at, unsigned int *flags)
{
	static const char letters[] = "-+ #0";
	const char *letter;

	while (*at && (letter = strchr(letters, *at))) {
		*flags |= 1u << (letter - letters);
		at++;
	}
	return at;
}

static const char *parse_count(const char *at, int *count)
{
	if (!isdigit((unsigned char)*at))
		return at;
	for (*count = 0; isdigit((unsigned char)*at); at++)
		if (*count < 1000)
			*count = *count * 10 + *at - '0';
	return at;
}

static const char *parse_length(const char *at, int long_size, int *size)
{
	*size = 4;
	if (*at == 'h') {
		*size = at[1] == 'h' ? 1 : 2;
		return at + (at[1] == 'h' ? 2 : 1);
	}
	if (*at == 'L' || *at == 'q' || (*at == 'l' && at[1] == 'l')) {
		*size = 8;
		return at + (*at == 'l' ? 2 : 1);
	}
	if (*at && strchr("lzZt", *at)) {
		*size = long_size;
		return at + 1;
	}
	return at;
}

/* %p, %px and %pK print an address; %ps, %pS, %pB and their older names a symbol. */
static const char *parse_pointer(const char *at, struct piece *piece)
{
	if (*at && strchr("sSfFB", *at)) {
		piece->conversion = *at == 's' || *at == 'f' ? 's' : 'S';
		piece->size = 0;
		return at + 1;
	}
	if (*at == 'x' || *at == 'K')
		return at + 1;
	return isalnum((unsigned char)*at) ? NULL : at;
}

/* Behind the '%'. Returns behind the conversion, NULL for one that is not known. */
static const char *parse_conversion(const char *at, int long_size, struct piece *piece)
{
	piece->width = -1;
	piece->precision = -1;
	at = parse_flags(at, &piece->flags);
	at = parse_count(at, &piece->width);
	if (*at == '.') {
		piece->precision = 0;
		at = parse_count(at + 1, &piece->precision);
	}
	at = parse_length(at, long_size, &piece->size);
	piece->conversion = *at == 'i' ? 'd' : *at;
	if (!*at || !strchr("diuxXocsp", *at))
		return NULL;
	if (*at != 'p')
		return at + 1;
	piece->size = long_size;
	return parse_pointer(at + 1, piece);
}

static const char *compile_piece(struct compiler *compiler, const char *at, struct piece *piece,
				 const struct tep_print_arg **arg)
{
	at = compile_plain(compiler, at, piece);
	if (!at || !*at)
		return at;
	at = parse_conversion(at + 1, compiler->format->setup.long_size, piece);
	if (!at || !*arg)
		return unknown(compiler);
	piece->argument = piece->conversion == 's' && !print_is_symbol(piece) ?
				  compile_text(compiler, *arg) :
				  compile_number(compiler, *arg);
	*arg = (*arg)->next;
	return piece->argument ? at : NULL;
}

static size_t count_pieces(const char *format)
{
	size_t count = 1;

	for (; *format; format++)
		count += *format == '%';
	return count;
}

static int compile(struct compiler *compiler)
{
	const struct tep_print_arg *arg = compiler->event->print_fmt.args;
	const char *at = compiler->event->print_fmt.format;
	struct print_format *format = compiler->format;

	if (!at || (compiler->event->flags & TEP_EVENT_FL_FAILED))
		return -ENOTSUP;
	format->pieces = keep(compiler, count_pieces(at) * sizeof(*format->pieces));
	if (!format->pieces)
		return compiler->error;
	while (*at) {
		at = compile_piece(compiler, at, &format->pieces[format->nr_pieces++], &arg);
		if (!at)
			return compiler->error;
	}
	return arg ? -ENOTSUP : 0;
}

int print_format_new(struct print_format **ret_format, struct tep_event *event,
		     const struct print_setup *setup)
{
	struct compiler compiler = { .event = event };
	int ret;

	compiler.format = calloc(1, sizeof(*compiler.format));
	if (!compiler.format)
		return -ENOMEM;
	compiler.format->setup = *setup;
	ret = compile(&compiler);
	if (ret) {
		print_format_free(compiler.format);
		return ret;
	}
	*ret_format = compiler.format;
	return 0;
}

void print_format_free(struct print_format *format)
{
	struct chunk *next;

	if (!format)
		return;
	for (struct chunk *chunk = format->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(format);
}
