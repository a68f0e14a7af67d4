// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "record/print_program.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))

#define NESTING_MAX 64 /* of an expression; the kernel's own go to about 5 */

/* ---- the text before libtraceevent parses it ---- */

/* Names that the kernel leaves in a print format instead of their values. */
static const struct {
	const char *name;
	const char *value;
} constants[] = {
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

static size_t identifier_length(const char *at)
{
	size_t length = 0;

	while (isalnum((unsigned char)at[length]) || at[length] == '_')
		length++;
	return length;
}

/* Is a line "field:TYPE NAME;" or "field:TYPE NAME[…];" before the print format? */
static bool is_field(const char *text, size_t size, const char *name, size_t length)
{
	const char *end = text + size, *at = text;

	for (; length && (at = memmem(at, (size_t)(end - at), name, length)); at++)
		if (at > text && !isalnum((unsigned char)at[-1]) && at[-1] != '_' &&
		    at + length < end && (at[length] == ';' || at[length] == '['))
			return true;
	return false;
}

/*
 * Copy the identifier at @from, rewritten where it has to be. @to grows by less than twice as much.
 * Moves both past it. Returns false for REC->NAME without a field NAME.
 */
static bool mend_identifier(const char *text, size_t head, const char **from, char **to)
{
	size_t length = identifier_length(*from);

	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		if (strlen(constants[i].name) != length || memcmp(constants[i].name, *from, length))
			continue;
		*to = stpcpy(*to, constants[i].value);
		*from += length;
		return true;
	}
	if (!strncmp(*from, "REC->", 5)) {
		const char *name;

		*to = stpcpy(*to, "REC->");
		*from += 5;
		name = *to;
		/* 7.2 and later: __entry->ent of the source is what the fields call common_… */
		if (!strncmp(*from, "ent.", 4)) {
			*to = stpcpy(*to, "common_");
			*from += 4;
		}
		length = identifier_length(*from);
		*to = mempcpy(*to, *from, length);
		*from += length;
		return is_field(text, head, name, (size_t)(*to - name));
	}
	*to = mempcpy(*to, *from, length);
	*from += length;
	return true;
}

char *print_format_mend(const char *text)
{
	static const char mark[] = "\nprint fmt:", nothing[] = "\nprint fmt: \"\"\n";
	const char *from = strstr(text, mark);
	size_t head = from ? (size_t)(from - text) : strlen(text);
	char *mended = malloc(2 * strlen(text) + sizeof(nothing)), *to;
	bool quoted = false;

	if (!mended)
		return NULL;
	to = mempcpy(mended, text, head);
	for (from = text + head; *from;) {
		if (!quoted && identifier_length(from)) {
			if (mend_identifier(text, head, &from, &to))
				continue;
			to = stpcpy(mended + head, nothing);
			break;
		}
		if (quoted && *from == '\\' && from[1])
			*to++ = *from++;
		else if (*from == '"')
			quoted = !quoted;
		*to++ = *from++;
	}
	*to = '\0';
	return mended;
}

/* ---- expressions ---- */

struct chunk {
	struct chunk *next;
	max_align_t data[];
};

/*
 * The first error stays, and only it counts: after it the functions go on with a node that is
 * thrown away, so that they need not check what they call.
 */
struct compiler {
	struct print_format *format;
	struct tep_event *event;
	struct node discarded;
	int nesting;
	int error;
};

static void *allocate(struct compiler *compiler, size_t size)
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

static struct node *unknown(struct compiler *compiler)
{
	if (!compiler->error)
		compiler->error = -ENOTSUP;
	return &compiler->discarded;
}

static const char *copy_text(struct compiler *compiler, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	char *copy;

	if (!text) {
		unknown(compiler);
		return "";
	}
	copy = allocate(compiler, size);
	return copy ? memcpy(copy, text, size) : "";
}

static struct node *new_node(struct compiler *compiler, enum node_kind kind)
{
	struct node *node = allocate(compiler, sizeof(*node));

	if (!node)
		return &compiler->discarded;
	node->kind = kind;
	return node;
}

/* An integer constant; its type follows from value and suffix as in C. */
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
		if (tolower((unsigned char)*end) == 'l')
			longs++;
		else if (tolower((unsigned char)*end) == 'u')
			unsigneds++;
		else
			return false;
	}
	*value = (struct value){ .bits = bits, .size = 4 };
	if (longs == 2 || bits > UINT32_MAX || (bits > INT32_MAX && *text != '0' && !unsigneds))
		value->size = 8;
	else if (longs == 1)
		value->size = (uint8_t)long_size;
	value->is_signed = !unsigneds && bits >> (value->size * 8 - 1) == 0;
	return longs <= 2 && unsigneds <= 1;
}

static struct node *compile_constant(struct compiler *compiler, const char *text)
{
	struct node *node = new_node(compiler, NODE_NUMBER);

	if (!parse_constant(text, compiler->format->setup.long_size, &node->value))
		return unknown(compiler);
	return node;
}

/* A number, or where the conversion is %s an array of characters. */
static struct node *compile_field(struct compiler *compiler, const struct tep_print_arg_field *arg,
				  bool is_text)
{
	const struct tep_format_field *field =
		arg->field ? arg->field : tep_find_any_field(compiler->event, arg->name);
	struct node *node = new_node(compiler, is_text ? NODE_CHARS : NODE_FIELD);
	bool is_array;

	if (!field || field->offset < 0 || field->size <= 0 ||
	    (field->flags & TEP_FIELD_IS_DYNAMIC))
		return unknown(compiler);
	is_array = field->flags & TEP_FIELD_IS_ARRAY;
	node->offset = (size_t)field->offset;
	node->length = (size_t)field->size;
	if (is_text)
		return is_array && node->length == field->arraylen ? node : unknown(compiler);
	if (is_array || node->length > 8 || __builtin_popcount((unsigned int)node->length) != 1)
		return unknown(compiler);
	node->value.size = (uint8_t)node->length;
	node->value.is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	return node;
}

/* Without "signed ", "__" and a trailing " int". */
static const struct {
	const char *name;
	int size; /* 0: a long of the kernel */
	bool is_signed;
} types[] = {
	{ "char", 1, true },
	{ "unsigned char", 1, false },
	{ "bool", 1, false },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
	{ "int", 4, true },
	{ "unsigned", 4, false },
	{ "long", 0, true },
	{ "unsigned long", 0, false },
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
	name += strncmp(name, "signed ", 7) ? 0 : 7;
	name += strncmp(name, "__", 2) ? 0 : 2;
	length = strlen(name);
	while (length && name[length - 1] == ' ')
		length--;
	if (length && name[length - 1] == '*') {
		*type = (struct value){ .size = (uint8_t)long_size };
		return true;
	}
	if (length > 4 && !memcmp(name + length - 4, " int", 4))
		length -= 4;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strlen(types[i].name) != length || memcmp(types[i].name, name, length))
			continue;
		type->size = (uint8_t)(types[i].size ? types[i].size : long_size);
		type->is_signed = types[i].is_signed;
		return true;
	}
	return false;
}

static struct node *compile(struct compiler *compiler, const struct tep_print_arg *arg,
			    bool is_text);

static struct node *compile_op(struct compiler *compiler, const struct tep_print_arg_op *op)
{
	static const char *const binary[] = { "+", "-",	 "*",  "/", "%", "<<", ">>", "&",  "|",
					      "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||" };
	static const char *const unary[] = { "!", "~", "-", "+" };
	bool is_unary = !op->left || op->left->type == TEP_PRINT_NULL;
	const char *const *known = is_unary ? unary : binary;
	size_t count = is_unary ? ARRAY_SIZE(unary) : ARRAY_SIZE(binary);
	struct node *node = new_node(compiler, NODE_OP);

	while (count && strcmp(known[count - 1], op->op))
		count--;
	if (!count)
		return unknown(compiler);
	node->op = OPERATOR(op->op[0], op->op[1]);
	node->left = is_unary ? NULL : compile(compiler, op->left, false);
	node->right = compile(compiler, op->right, false);
	return node;
}

/* libtraceevent has a ? b : c as an operator "?" of a and an operator ":" of b and c. */
static struct node *compile_choice(struct compiler *compiler, const struct tep_print_arg_op *op,
				   bool is_text)
{
	const struct tep_print_arg *arms = op->right;
	struct node *node = new_node(compiler, NODE_CHOICE);

	if (!arms || arms->type != TEP_PRINT_OP || strcmp(arms->op.op, ":"))
		return unknown(compiler);
	node->condition = compile(compiler, op->left, false);
	node->left = compile(compiler, arms->op.left, is_text);
	node->right = compile(compiler, arms->op.right, is_text);
	return node;
}

/*
 * __print_flags() and __print_symbolic(). The values are constants as they stood, or expressions
 * that libtraceevent has calculated to decimal text.
 */
static struct node *compile_names(struct compiler *compiler, enum node_kind kind,
				  struct tep_print_arg *field, const char *delimiter,
				  const struct tep_print_flag_sym *symbols)
{
	struct node *node = new_node(compiler, kind);
	size_t count = 0;

	for (const struct tep_print_flag_sym *symbol = symbols; symbol; symbol = symbol->next)
		count++;
	node->text = copy_text(compiler, delimiter ? delimiter : "");
	node->left = compile(compiler, field, false);
	node->names = allocate(compiler, (count + 1) * sizeof(*node->names));
	if (!node->names)
		return node;
	for (; symbols; symbols = symbols->next) {
		struct name *name = &node->names[node->nr_names++];
		bool negative = symbols->value && *symbols->value == '-';
		struct value value;

		if (!parse_constant(symbols->value + negative, 8, &value))
			return unknown(compiler);
		name->value = negative ? 0 - value.bits : value.bits;
		name->text = copy_text(compiler, symbols->str);
	}
	return node;
}

static struct node *compile_dynamic(struct compiler *compiler,
				    const struct tep_print_arg_string *string)
{
	const struct tep_format_field *field =
		string->field ? string->field : tep_find_any_field(compiler->event, string->string);
	struct node *node = new_node(compiler, NODE_DYNAMIC);

	if (!field || field->offset < 0 || !(field->flags & TEP_FIELD_IS_DYNAMIC))
		return unknown(compiler);
	node->offset = (size_t)field->offset;
	node->length = (size_t)field->size;
	node->relative = field->flags & TEP_FIELD_IS_RELATIVE;
	return node;
}

static struct node *compile_text(struct compiler *compiler, const struct tep_print_arg *arg)
{
	struct node *node;

	switch (arg->type) {
	case TEP_PRINT_ATOM:
		node = new_node(compiler, NODE_TEXT);
		node->text = copy_text(compiler, arg->atom.atom);
		return node;
	case TEP_PRINT_FLAGS:
		return compile_names(compiler, NODE_FLAGS, arg->flags.field, arg->flags.delim,
				     arg->flags.flags);
	case TEP_PRINT_SYMBOL:
		return compile_names(compiler, NODE_SYMBOLS, arg->symbol.field, NULL,
				     arg->symbol.symbols);
	case TEP_PRINT_STRING:
		return compile_dynamic(compiler, &arg->string);
	case TEP_PRINT_FIELD:
		return compile_field(compiler, &arg->field, true);
	default:
		return unknown(compiler);
	}
}

static struct node *compile_number(struct compiler *compiler, const struct tep_print_arg *arg)
{
	struct node *node;

	switch (arg->type) {
	case TEP_PRINT_ATOM:
		return compile_constant(compiler, arg->atom.atom);
	case TEP_PRINT_FIELD:
		return compile_field(compiler, &arg->field, false);
	case TEP_PRINT_TYPE:
		node = new_node(compiler, NODE_CAST);
		if (!find_type(arg->typecast.type, compiler->format->setup.long_size, &node->value))
			return unknown(compiler);
		node->left = compile(compiler, arg->typecast.item, false);
		return node;
	case TEP_PRINT_OP:
		return compile_op(compiler, &arg->op);
	default:
		return unknown(compiler);
	}
}

static struct node *compile(struct compiler *compiler, const struct tep_print_arg *arg,
			    bool is_text)
{
	struct node *node;

	if (!arg || compiler->nesting >= NESTING_MAX || (arg->type == TEP_PRINT_OP && !arg->op.op))
		return unknown(compiler);
	compiler->nesting++;
	if (arg->type == TEP_PRINT_OP && !strcmp(arg->op.op, "?"))
		node = compile_choice(compiler, &arg->op, is_text);
	else if (is_text)
		node = compile_text(compiler, arg);
	else
		node = compile_number(compiler, arg);
	compiler->nesting--;
	return node;
}

/* ---- the format ---- */

/* The text up to the next conversion; "%%" is text. Returns its end, or NULL without memory. */
static const char *compile_plain(struct compiler *compiler, const char *at, struct piece *piece)
{
	char *text = allocate(compiler, strlen(at) + 1);
	const char *escape;

	piece->text = text;
	for (; text && *at && (*at != '%' || at[1] == '%'); at++) {
		if (*at == '%') {
			at++;
		} else if (*at == '\\' && at[1]) {
			static const char letters[] = "ntr", characters[] = "\n\t\r";

			escape = strchr(letters, *++at);
			text[piece->length++] = escape ? characters[escape - letters] : *at;
			continue;
		}
		text[piece->length++] = *at;
	}
	return text ? at : NULL;
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

/* From the '%' on. Returns what follows the conversion, NULL for one that is not known. */
static const char *parse_conversion(const char *at, int long_size, struct piece *piece)
{
	static const char flags[] = "-+ #0", letters[] = "diuoxXcsp";
	static const enum conversion conversions[] = {
		CONVERT_SIGNED,	   CONVERT_SIGNED, CONVERT_UNSIGNED, CONVERT_OCTAL,   CONVERT_HEX,
		CONVERT_UPPER_HEX, CONVERT_CHAR,   CONVERT_STRING,   CONVERT_POINTER,
	};

	piece->width = -1;
	piece->precision = -1;
	while (*++at && strchr(flags, *at))
		piece->flags |= 1u << (strchr(flags, *at) - flags);
	at = parse_count(at, &piece->width);
	if (*at == '.') {
		piece->precision = 0;
		at = parse_count(at + 1, &piece->precision);
	}
	at = parse_length(at, long_size, &piece->size);
	if (!*at || !strchr(letters, *at))
		return NULL;
	piece->conversion = conversions[strchr(letters, *at) - letters];
	if (*at++ != 'p')
		return at;
	/* %p, %px and %pK print an address; %ps, %pS, %pB and their older names a symbol. */
	piece->size = long_size;
	if (*at && strchr("sSfFB", *at)) {
		piece->conversion =
			*at == 's' || *at == 'f' ? CONVERT_SYMBOL : CONVERT_SYMBOL_OFFSET;
		return at + 1;
	}
	if (*at == 'x' || *at == 'K')
		return at + 1;
	return isalnum((unsigned char)*at) ? NULL : at;
}

static int compile_format(struct compiler *compiler)
{
	const struct tep_print_arg *arg = compiler->event->print_fmt.args;
	const char *at = compiler->event->print_fmt.format;
	struct print_format *format = compiler->format;
	size_t most = 1;

	if (!at || (compiler->event->flags & TEP_EVENT_FL_FAILED))
		return -ENOTSUP;
	for (const char *c = at; *c; c++)
		most += *c == '%';
	format->pieces = allocate(compiler, most * sizeof(*format->pieces));
	if (!format->pieces)
		return -ENOMEM;
	while (*at) {
		struct piece *piece = &format->pieces[format->nr_pieces++];

		at = compile_plain(compiler, at, piece);
		if (!at || !*at)
			break;
		at = parse_conversion(at, format->setup.long_size, piece);
		if (!at || !arg)
			return -ENOTSUP;
		piece->argument = compile(compiler, arg, piece->conversion == CONVERT_STRING);
		arg = arg->next;
	}
	return !compiler->error && arg ? -ENOTSUP : compiler->error;
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
	ret = compile_format(&compiler);
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
