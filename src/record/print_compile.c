// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "record/event_format.h"
#include "record/print_program.h"

/* The kernel's own formats have about 40 conversions, and take some KiB. */
#define PIECES_MAX 128
#define MEMORY_MAX (1 << 20) /* bytes of what is made of a text */

/* Of a text and of what is made of it, so of all recursion; the kernel's own go to about 20. */
#define NESTING_MAX 128

/* Names that the kernel leaves in a print format instead of their values. */
static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
	/* enum trace_flag_type */
	{ "TRACE_FLAG_IRQS_OFF", 0x01 },
	{ "TRACE_FLAG_NEED_RESCHED_LAZY", 0x02 },
	{ "TRACE_FLAG_NEED_RESCHED", 0x04 },
	{ "TRACE_FLAG_HARDIRQ", 0x08 },
	{ "TRACE_FLAG_SOFTIRQ", 0x10 },
	{ "TRACE_FLAG_PREEMPT_RESCHED", 0x20 },
	{ "TRACE_FLAG_NMI", 0x40 },
	{ "TRACE_FLAG_BH_OFF", 0x80 },
	/* enum vmscan_throttle_state */
	{ "VMSCAN_THROTTLE_WRITEBACK", 0 },
	{ "VMSCAN_THROTTLE_ISOLATED", 1 },
	{ "VMSCAN_THROTTLE_NOPROGRESS", 2 },
	{ "VMSCAN_THROTTLE_CONGESTED", 3 },
	/* include/uapi/linux/ioprio.h */
	{ "IOPRIO_CLASS_NONE", 0 },
	{ "IOPRIO_CLASS_RT", 1 },
	{ "IOPRIO_CLASS_BE", 2 },
	{ "IOPRIO_CLASS_IDLE", 3 },
	/* of the %p of a struct page, where the kernel prints a hash */
	{ "vmemmap_base", 0 },
};

struct chunk {
	struct chunk *next;
	max_align_t data[];
};

/*
 * The first error stays, and only it counts: after it the text is at its end, and the functions go
 * on with a node that is thrown away, so that they need not check what they call.
 */
struct compiler {
	struct print_format *format;
	const struct event_format *event;
	const char *at;
	char *room;    /* for the texts of all literals */
	size_t memory; /* bytes allocated */
	struct node discarded;
	bool in_names;	/* of __print_flags() and __print_symbolic() */
	bool undefined; /* one of these has a value that is not known */
	int nesting;
	int error;
};

static struct node *unknown(struct compiler *compiler)
{
	if (!compiler->error)
		compiler->error = -ENOTSUP;
	compiler->at = "";
	return &compiler->discarded;
}

static void *allocate(struct compiler *compiler, size_t size)
{
	struct chunk *chunk;

	size += sizeof(*chunk);
	compiler->memory += size;
	if (compiler->memory > MEMORY_MAX) {
		unknown(compiler);
		return NULL;
	}
	chunk = calloc(1, size);
	if (!chunk) {
		compiler->error = -ENOMEM;
		compiler->at = "";
		return NULL;
	}
	chunk->next = compiler->format->chunks;
	compiler->format->chunks = chunk;
	return chunk->data;
}

static struct node *new_node(struct compiler *compiler, enum node_kind kind)
{
	struct node *node = allocate(compiler, sizeof(*node));

	if (!node)
		return &compiler->discarded;
	node->kind = kind;
	return node;
}

static bool is_bytes(const struct node *node)
{
	return node->kind == NODE_CHARS || node->kind == NODE_DYNAMIC;
}

static bool is_number(const struct node *node)
{
	if (node->kind == NODE_CHOICE)
		return is_number(node->left);
	return node->kind <= NODE_LAST_NUMBER;
}

/* A node with its parts: limits how deep they go, and calculates what is constant. */
static struct node *join(struct compiler *compiler, struct node *node)
{
	const struct node *parts[] = { node->condition, node->left, node->right };
	bool constant = node->kind == NODE_OP || node->kind == NODE_CAST;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i])
			continue;
		if (parts[i]->depth >= node->depth)
			node->depth = parts[i]->depth + 1;
		constant = constant && parts[i]->kind == NODE_NUMBER;
	}
	if (compiler->error || node->depth > NESTING_MAX)
		return unknown(compiler);
	if (constant) {
		node->value = print_program_number(compiler->format, node);
		node->kind = NODE_NUMBER;
		node->depth = 0;
	}
	return node;
}

/* ---- tokens ---- */

static void skip_space(struct compiler *compiler)
{
	while (isspace((unsigned char)*compiler->at))
		compiler->at++;
}

static bool accept(struct compiler *compiler, char c)
{
	skip_space(compiler);
	if (*compiler->at != c)
		return false;
	compiler->at++;
	return true;
}

static void expect(struct compiler *compiler, char c)
{
	if (!accept(compiler, c))
		unknown(compiler);
}

static size_t identifier_length(const char *at)
{
	size_t length = 0;

	while (isalnum((unsigned char)at[length]) || at[length] == '_')
		length++;
	return length;
}

/* Is a word one of a list with commas? */
static bool is_one_of(const char *word, size_t length, const char *list)
{
	size_t other = strcspn(list, ",");

	while (other != length || memcmp(word, list, length)) {
		list += other;
		if (!*list++)
			return false;
		other = strcspn(list, ",");
	}
	return true;
}

/* What one character of a literal stands for. Moves past it. */
static char parse_character(const char **at)
{
	static const char letters[] = "ntrabfve", characters[] = "\n\t\r\a\b\f\v\033";
	const char *letter;
	int value = 0;

	if (**at != '\\' || !(*at)[1])
		return *(*at)++;
	++*at;
	letter = strchr(letters, **at);
	if (letter) {
		++*at;
		return characters[letter - letters];
	}
	if (**at < '0' || **at > '7')
		return *(*at)++;
	for (int i = 0; i < 3 && **at >= '0' && **at <= '7'; i++)
		value = value * 8 + *(*at)++ - '0';
	return (char)value;
}

/* One literal, or several in a row. */
static const char *parse_string(struct compiler *compiler)
{
	const char *text = compiler->room;

	expect(compiler, '"');
	do {
		while (*compiler->at && *compiler->at != '"')
			*compiler->room++ = parse_character(&compiler->at);
		if (!*compiler->at) {
			unknown(compiler);
			return "";
		}
		compiler->at++;
	} while (accept(compiler, '"'));
	*compiler->room++ = '\0';
	return text;
}

/* An integer constant; its type follows from value and suffix as in C. */
static struct node *parse_constant(struct compiler *compiler)
{
	struct node *node = new_node(compiler, NODE_NUMBER);
	bool is_decimal = *compiler->at != '0';
	int longs = 0, unsigneds = 0;
	unsigned long long bits;
	struct value *value = &node->value;
	char *end;

	errno = 0;
	bits = strtoull(compiler->at, &end, 0);
	for (; isalnum((unsigned char)*end); end++) {
		longs += *end == 'l' || *end == 'L';
		unsigneds += *end == 'u' || *end == 'U';
		if (!strchr("lLuU", *end))
			return unknown(compiler);
	}
	if (errno || longs > 2 || unsigneds > 1)
		return unknown(compiler);
	compiler->at = end;
	*value = (struct value){ .bits = bits, .size = 4 };
	if (longs == 2 || bits > UINT32_MAX || (bits > INT32_MAX && is_decimal && !unsigneds))
		value->size = 8;
	else if (longs == 1)
		value->size = (uint8_t)compiler->format->setup.long_size;
	value->is_signed = !unsigneds && bits >> (value->size * 8 - 1) == 0;
	return node;
}

/* ---- types ---- */

/* Without "signed ", "__" and a trailing " int". */
static const struct {
	const char *names;
	int size; /* 0: a long of the kernel */
	bool is_signed;
} types[] = {
	{ "char,s8", 1, true },
	{ "unsigned char,u8,bool", 1, false },
	{ "short,s16", 2, true },
	{ "unsigned short,u16", 2, false },
	{ "int,s32,pid_t,kernel_rwf_t", 4, true },
	{ "unsigned,u32,gfp_t,dev_t", 4, false },
	{ "long,ssize_t", 0, true },
	{ "unsigned long,size_t,uintptr_t,ino_t", 0, false },
	{ "long long,s64,loff_t,ktime_t", 8, true },
	{ "unsigned long long,u64,sector_t", 8, false },
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
		if (!is_one_of(name, length, types[i].names))
			continue;
		type->size = (uint8_t)(types[i].size ? types[i].size : long_size);
		type->is_signed = types[i].is_signed;
		return true;
	}
	return false;
}

/*
 * "(TYPE)" or "(TYPE *)", if that comes next. Of a pointer, @type is what it points to, of size 0
 * where that is not known.
 */
static bool parse_type(struct compiler *compiler, struct value *type, bool *is_pointer)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789* ";
	const char *from;
	char name[64];
	size_t length;

	skip_space(compiler);
	if (*compiler->at != '(')
		return false;
	from = compiler->at + 1;
	from += strspn(from, " ");
	length = strspn(from, letters);
	if (from[length] != ')' || !length || length >= sizeof(name) ||
	    isdigit((unsigned char)*from))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)length, from);
	*is_pointer = strchr(name, '*');
	name[strcspn(name, "*")] = '\0';
	*type = (struct value){ 0 };
	if (!find_type(name, compiler->format->setup.long_size, type) && !*is_pointer)
		return false;
	compiler->at = from + length + 1;
	return true;
}

/* ---- expressions ---- */

static struct node *parse_expression(struct compiler *compiler);
static struct node *parse_unary(struct compiler *compiler);

static struct node *new_number(struct compiler *compiler, uint64_t bits, int size)
{
	struct node *node = new_node(compiler, NODE_NUMBER);

	node->value = (struct value){ .bits = bits, .size = (uint8_t)size, .is_signed = true };
	return node;
}

static struct node *parse_number(struct compiler *compiler)
{
	struct node *node = parse_expression(compiler);

	return is_number(node) ? node : unknown(compiler);
}

static struct node *parse_bytes(struct compiler *compiler)
{
	struct node *node = parse_expression(compiler);

	return is_bytes(node) ? node : unknown(compiler);
}

/* A number, or an array of what value says. */
static struct node *new_field(struct compiler *compiler, const struct event_field *field)
{
	struct node *node = new_node(compiler, NODE_FIELD);
	const char *type = field->type;

	node->offset = field->offset;
	node->length = field->size;
	node->relative = field->is_relative;
	if (field->is_dynamic || field->is_array) {
		node->kind = field->is_dynamic ? NODE_DYNAMIC : NODE_CHARS;
		type += field->is_dynamic ? strcspn(type, " ") : 0;
		find_type(type, compiler->format->setup.long_size, &node->value);
		return node;
	}
	node->value.size = (uint8_t)field->size;
	node->value.is_signed = field->is_signed;
	/* a structure */
	if (field->size > 8 || __builtin_popcount(field->size) != 1) {
		node->kind = NODE_CHARS;
		node->value.size = 0;
	}
	return node;
}

/* The name of a field, after "REC->", or in __get_str() and its like. */
static struct node *parse_field(struct compiler *compiler, bool is_dynamic)
{
	const struct event_field *field;
	const char *prefix = "";
	size_t length;
	char name[64];

	skip_space(compiler);
	/* 7.2 and later: __entry->ent of the source is what the fields call common_… */
	if (!strncmp(compiler->at, "ent.", 4)) {
		compiler->at += 4;
		prefix = "common_";
	}
	length = identifier_length(compiler->at);
	snprintf(name, sizeof(name), "%s%.*s", prefix, (int)length, compiler->at);
	compiler->at += length;
	field = event_format_field(compiler->event, name);
	if (!field || field->is_dynamic != is_dynamic)
		return unknown(compiler);
	return new_field(compiler, field);
}

static struct node *parse_entry(struct compiler *compiler)
{
	expect(compiler, '-');
	expect(compiler, '>');
	return parse_field(compiler, false);
}

/*
 * The rest of __print_flags() and __print_symbolic(): {VALUE, "NAME"}, …, perhaps {0, NULL}. A NAME
 * whose VALUE the kernel has left as the name of an enumerator is left out: the number is printed.
 */
static void parse_names(struct compiler *compiler, struct name **end)
{
	while (accept(compiler, ',') && accept(compiler, '{')) {
		struct name *name = allocate(compiler, sizeof(*name));
		const struct node *value, *text;

		compiler->in_names = true;
		compiler->undefined = false;
		value = parse_number(compiler);
		compiler->in_names = false;
		expect(compiler, ',');
		text = parse_expression(compiler);
		expect(compiler, '}');
		if (compiler->error || value->kind != NODE_NUMBER) {
			unknown(compiler);
			return;
		}
		name->value = value->value.bits;
		name->text = text->text;
		if (text->kind != NODE_TEXT) {
			if (text->kind != NODE_NUMBER || text->value.bits || accept(compiler, ','))
				unknown(compiler);
			return;
		}
		if (compiler->undefined)
			continue;
		*end = name;
		end = &name->next;
	}
}

/* include/trace/stages/stage3_trace_output.h */
static const struct {
	const char *names;
	enum node_kind kind;
	int size;	       /* of flags and masks; 0: a long of the kernel */
	const char *separator; /* of bytes in hex */
} functions[] = {
	{ "__print_flags", NODE_FLAGS, 0, NULL },
	{ "__print_flags_u64", NODE_FLAGS, 8, NULL },
	{ "__print_symbolic", NODE_SYMBOLS, 0, NULL },
	{ "__print_symbolic_u64", NODE_SYMBOLS, 8, NULL },
	{ "__print_hex", NODE_HEX, 0, " " },
	{ "__print_hex_str", NODE_HEX, 0, "" },
	{ "__print_array", NODE_ARRAY, 0, NULL },
	{ "__get_str,__get_dynamic_array,__get_sockaddr", NODE_DYNAMIC, 0, NULL },
	{ "__get_rel_str,__get_rel_dynamic_array,__get_rel_sockaddr", NODE_DYNAMIC, 0, NULL },
	{ "__get_dynamic_array_len,__get_rel_dynamic_array_len", NODE_LENGTH, 0, NULL },
	{ "__get_bitmask,__get_cpumask", NODE_BITMASK, 0, NULL },
	{ "__get_rel_bitmask,__get_rel_cpumask", NODE_BITMASK, 0, NULL },
};

static struct node *parse_call(struct compiler *compiler, size_t function)
{
	struct node *node = new_node(compiler, functions[function].kind), *size;

	expect(compiler, '(');
	node->value.size = (uint8_t)functions[function].size;
	if (!node->value.size)
		node->value.size = (uint8_t)compiler->format->setup.long_size;
	switch (node->kind) {
	case NODE_FLAGS:
	case NODE_SYMBOLS:
		node->left = parse_number(compiler);
		if (node->kind == NODE_FLAGS) {
			expect(compiler, ',');
			node->text = parse_string(compiler);
		}
		parse_names(compiler, &node->names);
		break;
	case NODE_HEX:
		node->left = parse_bytes(compiler);
		node->text = functions[function].separator;
		expect(compiler, ',');
		node->right = parse_number(compiler);
		break;
	case NODE_ARRAY:
		node->left = parse_bytes(compiler);
		expect(compiler, ',');
		node->right = parse_number(compiler);
		expect(compiler, ',');
		size = parse_number(compiler);
		if (size->kind != NODE_NUMBER || size->value.bits > 8 ||
		    __builtin_popcount((unsigned int)size->value.bits) != 1)
			return unknown(compiler);
		node->value.size = (uint8_t)size->value.bits;
		break;
	case NODE_DYNAMIC:
		node = parse_field(compiler, true);
		break;
	default:
		node->value = (struct value){ .size = 4, .is_signed = true };
		node->left = parse_field(compiler, true);
	}
	expect(compiler, ')');
	return join(compiler, node);
}

/* sizeof(TYPE) or sizeof(REC->NAME) */
static struct node *parse_sizeof(struct compiler *compiler)
{
	int long_size = compiler->format->setup.long_size;
	const struct node *node;
	struct value type;
	bool is_pointer;

	if (parse_type(compiler, &type, &is_pointer)) {
		type.bits = is_pointer ? (uint64_t)long_size : type.size;
	} else {
		node = parse_unary(compiler);
		if (node->kind != NODE_FIELD && node->kind != NODE_CHARS)
			return unknown(compiler);
		type.bits = node->length;
	}
	return new_number(compiler, type.bits, long_size);
}

static struct node *parse_name(struct compiler *compiler)
{
	const char *name = compiler->at;
	size_t length = identifier_length(name);

	compiler->at += length;
	if (is_one_of(name, length, "REC"))
		return parse_entry(compiler);
	if (is_one_of(name, length, "sizeof"))
		return parse_sizeof(compiler);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (is_one_of(name, length, functions[i].names))
			return parse_call(compiler, i);
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		if (is_one_of(name, length, constants[i].name))
			return new_number(compiler, constants[i].value, 4);
	if (!length || !compiler->in_names)
		return unknown(compiler);
	compiler->undefined = true;
	return new_number(compiler, 0, 4);
}

/* A number among bytes: an element of an array, or what a pointer points to. */
static struct node *new_element(struct compiler *compiler, struct node *bytes, struct node *index)
{
	struct node *node = new_node(compiler, NODE_ELEMENT);

	if (!is_bytes(bytes) || !bytes->value.size || !is_number(index))
		return unknown(compiler);
	node->value = bytes->value;
	node->left = bytes;
	node->right = index;
	return join(compiler, node);
}

static struct node *parse_primary(struct compiler *compiler)
{
	struct node *node;

	skip_space(compiler);
	if (!strncmp(compiler->at, "(REC)", 5)) {
		compiler->at += 5;
		node = parse_entry(compiler);
	} else if (accept(compiler, '(')) {
		node = parse_expression(compiler);
		expect(compiler, ')');
	} else if (*compiler->at == '"') {
		node = new_node(compiler, NODE_TEXT);
		node->text = parse_string(compiler);
	} else if (*compiler->at == '\'' && compiler->at[1]) {
		compiler->at++;
		node = new_number(compiler, (uint64_t)parse_character(&compiler->at), 4);
		expect(compiler, '\'');
	} else if (isdigit((unsigned char)*compiler->at)) {
		node = parse_constant(compiler);
	} else {
		node = parse_name(compiler);
	}
	while (accept(compiler, '[')) {
		node = new_element(compiler, node, parse_expression(compiler));
		expect(compiler, ']');
	}
	return node;
}

static struct node *parse_cast(struct compiler *compiler, struct value type, bool is_pointer)
{
	struct node *node = new_node(compiler, NODE_CAST), *operand = parse_unary(compiler);

	if (is_pointer && !is_number(operand)) {
		if (is_bytes(operand))
			operand->value = type;
		return operand;
	}
	if (!is_number(operand))
		return unknown(compiler);
	if (is_pointer)
		type = (struct value){ .size = (uint8_t)compiler->format->setup.long_size };
	node->value = type;
	node->left = operand;
	return join(compiler, node);
}

static struct node *parse_unary(struct compiler *compiler)
{
	struct node *node;
	struct value type;
	bool is_pointer;

	skip_space(compiler);
	if (++compiler->nesting > NESTING_MAX)
		return unknown(compiler);
	if (*compiler->at && strchr("!~-+", *compiler->at)) {
		node = new_node(compiler, NODE_OP);
		node->op = OPERATOR(*compiler->at++, 0);
		node->right = parse_unary(compiler);
		node = is_number(node->right) ? join(compiler, node) : unknown(compiler);
	} else if (accept(compiler, '&')) {
		node = parse_unary(compiler);
		if (node->kind == NODE_FIELD)
			node->kind = NODE_CHARS;
		if (!is_bytes(node))
			node = unknown(compiler);
	} else if (accept(compiler, '*')) {
		node = parse_unary(compiler);
		node = new_element(compiler, node, new_number(compiler, 0, 4));
	} else if (parse_type(compiler, &type, &is_pointer)) {
		node = parse_cast(compiler, type, is_pointer);
	} else {
		node = parse_primary(compiler);
	}
	compiler->nesting--;
	return node;
}

/* The longer ones first. */
static const struct {
	char text[3];
	int precedence;
} operators[] = {
	{ "||", 1 }, { "&&", 2 }, { "==", 6 }, { "!=", 6 }, { "<=", 7 }, { ">=", 7 },
	{ "<<", 8 }, { ">>", 8 }, { "|", 3 },  { "^", 4 },  { "&", 5 },	 { "<", 7 },
	{ ">", 7 },  { "+", 9 },  { "-", 9 },  { "*", 10 }, { "/", 10 }, { "%", 10 },
};

static struct node *parse_binary(struct compiler *compiler, int precedence)
{
	struct node *left = parse_unary(compiler), *node;

	for (;;) {
		size_t i = 0;

		skip_space(compiler);
		while (i < ARRAY_SIZE(operators) &&
		       strncmp(compiler->at, operators[i].text, strlen(operators[i].text)))
			i++;
		if (i == ARRAY_SIZE(operators) || operators[i].precedence < precedence)
			return left;
		compiler->at += strlen(operators[i].text);
		node = new_node(compiler, NODE_OP);
		node->op = OPERATOR(operators[i].text[0], operators[i].text[1]);
		node->left = left;
		node->right = parse_binary(compiler, operators[i].precedence + 1);
		if (!is_number(node->left) || !is_number(node->right))
			return unknown(compiler);
		left = join(compiler, node);
	}
}

static struct node *parse_expression(struct compiler *compiler)
{
	struct node *node, *condition;

	if (++compiler->nesting > NESTING_MAX)
		return unknown(compiler);
	node = parse_binary(compiler, 1);
	if (accept(compiler, '?')) {
		condition = node;
		node = new_node(compiler, NODE_CHOICE);
		node->condition = condition;
		node->left = parse_expression(compiler);
		expect(compiler, ':');
		node->right = parse_expression(compiler);
		if (is_number(condition) && is_number(node->left) == is_number(node->right))
			node = join(compiler, node);
		else
			node = unknown(compiler);
	}
	compiler->nesting--;
	return node;
}

/* ---- the format ---- */

static const char *parse_count(const char *at, int *count)
{
	if (!isdigit((unsigned char)*at))
		return at;
	for (*count = 0; isdigit((unsigned char)*at); at++)
		if (*count < 1000)
			*count = *count * 10 + *at - '0';
	return at;
}

/* From the '%' on. Returns what follows the conversion, NULL for one that is not known. */
static const char *parse_conversion(const char *at, int long_size, struct piece *piece)
{
	static const char flags[] = "-+ #0";
	static const struct {
		const char *letters;
		int size; /* 0: a long */
	} lengths[] = { { "hh", 1 }, { "h", 2 }, { "ll", 8 }, { "L", 8 },
			{ "l", 0 },  { "z", 0 }, { "t", 0 },  { "", 4 } };
	/* What follows %p: for an address, a symbol, bytes. */
	static const struct {
		const char *letters;
		char conversion;
	} pointers[] = { { ",x,K", 'x' }, { "s,f", 'f' }, { "S,F,B", 'F' }, { "M", 'M' },
			 { "I4", '4' },	  { "I6c", '6' }, { "ISpc", 'I' } };
	size_t i = 0, length;

	piece->precision = -1;
	while (*++at && strchr(flags, *at))
		piece->flags |= 1u << (strchr(flags, *at) - flags);
	at = parse_count(at, &piece->width);
	if (*at == '.') {
		piece->precision = 0;
		at = parse_count(at + 1, &piece->precision);
	}
	while (strncmp(at, lengths[i].letters, strlen(lengths[i].letters)))
		i++;
	at += strlen(lengths[i].letters);
	piece->size = lengths[i].size ? lengths[i].size : long_size;
	piece->conversion = *at == 'i' ? 'd' : *at;
	if (!*at || !strchr("diuoxXcsp", *at))
		return NULL;
	if (*at++ != 'p')
		return at;
	piece->size = long_size;
	/* All letters and digits behind a %p belong to it. */
	for (length = 0; isalnum((unsigned char)at[length]);)
		length++;
	for (i = 0; i < ARRAY_SIZE(pointers); i++) {
		if (!is_one_of(at, length, pointers[i].letters))
			continue;
		piece->conversion = pointers[i].conversion;
		if (piece->conversion == 'x' && !piece->width) {
			piece->width = 2 * long_size;
			piece->flags |= FLAG_ZERO;
		}
		return at + length;
	}
	return NULL;
}

/* The next argument of the format: a number, or what %s or an address is made of. */
static struct node *parse_argument(struct compiler *compiler, char conversion)
{
	struct node *node;

	expect(compiler, ',');
	if (strchr("46IM", conversion))
		return parse_bytes(compiler);
	node = parse_expression(compiler);
	return is_number(node) == (conversion == 's') ? unknown(compiler) : node;
}

static int compile_text(struct compiler *compiler)
{
	struct print_format *format = compiler->format;
	size_t most = 1;
	const char *at;

	compiler->room = allocate(compiler, strlen(compiler->at) + 1);
	at = compiler->error ? "" : parse_string(compiler);
	for (const char *c = at; *c; c++)
		most += *c == '%';
	if (most > PIECES_MAX)
		return -ENOTSUP;
	format->pieces = allocate(compiler, most * sizeof(*format->pieces));
	while (!compiler->error && *at) {
		struct piece *piece = &format->pieces[format->nr_pieces++];

		piece->text = at;
		piece->length = strcspn(at, "%");
		at += piece->length;
		if (at[0] == '%' && at[1] == '%') {
			piece->length++;
			at += 2;
		} else if (*at) {
			at = parse_conversion(at, format->setup.long_size, piece);
			if (!at)
				return -ENOTSUP;
			piece->argument = parse_argument(compiler, piece->conversion);
		}
	}
	skip_space(compiler);
	if (!compiler->error && *compiler->at)
		return -ENOTSUP;
	return compiler->error;
}

/* What prints a field of any event: characters as a string, an array in braces, or a number. */
static void compile_value(struct compiler *compiler, struct piece *piece,
			  const struct event_field *field)
{
	struct node *node = new_field(compiler, field), *array;
	bool is_text = strstr(field->type, "char") && !strstr(field->type, "unsigned char");

	piece->argument = node;
	piece->precision = -1;
	piece->size = 8;
	if (is_bytes(node)) {
		piece->conversion = 's';
	} else if (strchr(field->type, '*')) {
		piece->conversion = 'x';
		piece->flags = FLAG_ALTERNATE;
	} else {
		piece->conversion = field->is_signed ? 'd' : 'u';
	}
	if (!is_bytes(node) || is_text)
		return;
	array = new_node(compiler, NODE_ARRAY);
	array->left = node;
	array->right = new_number(compiler, UINT16_MAX, 4);
	array->value.size = node->value.size ? node->value.size : 1;
	piece->argument = array;
}

static void free_chunks(struct print_format *format)
{
	while (format->chunks) {
		struct chunk *chunk = format->chunks;

		format->chunks = chunk->next;
		free(chunk);
	}
}

/* "NAME=VALUE …", for a text that is not understood */
static int compile_fields(struct compiler *compiler)
{
	const struct event_format *event = compiler->event;
	struct print_format *format = compiler->format;

	free_chunks(format);
	compiler->error = 0;
	compiler->memory = 0;
	format->nr_pieces = 0;
	format->pieces = allocate(compiler, event->nr_fields * sizeof(*format->pieces));
	for (size_t i = 0; i < event->nr_fields; i++) {
		const char *name = event->fields[i].name;
		const char *space = format->nr_pieces ? " " : "";
		size_t size = strlen(name) + sizeof(" =");
		struct piece *piece;
		char *text;

		if (!strncmp(name, "common_", 7))
			continue;
		text = allocate(compiler, size);
		if (compiler->error)
			break;
		piece = &format->pieces[format->nr_pieces++];
		piece->text = text;
		piece->length = (size_t)snprintf(text, size, "%s%s=", space, name);
		compile_value(compiler, piece, &event->fields[i]);
	}
	return compiler->error;
}

int print_format_new(struct print_format **ret_format, const struct event_format *event,
		     const struct print_setup *setup)
{
	struct compiler compiler = { .event = event, .at = event->print };
	int ret;

	compiler.format = calloc(1, sizeof(*compiler.format));
	if (!compiler.format)
		return -ENOMEM;
	compiler.format->setup = *setup;
	ret = compile_text(&compiler);
	if (ret == -ENOTSUP)
		ret = compile_fields(&compiler);
	if (ret) {
		print_format_free(compiler.format);
		return ret;
	}
	*ret_format = compiler.format;
	return 0;
}

void print_format_free(struct print_format *format)
{
	if (!format)
		return;
	free_chunks(format);
	free(format);
}
