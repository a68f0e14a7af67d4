// SPDX-License-Identifier: GPL-2.0-or-later

#include <string.h>

#include "record/print_program.h"

#define SYMBOL_TEXT_MAX 256

/* A record while it is printed. */
struct source {
	const struct print_format *format;
	const unsigned char *data;
	size_t size;
};

/* ---- numbers, as C calculates ---- */

static struct value calculate(const struct source *source, const struct node *node);

static struct value wrap(struct value value)
{
	int unused = 64 - value.size * 8;

	value.bits <<= unused;
	if (value.is_signed)
		value.bits = (uint64_t)((int64_t)value.bits >> unused);
	else
		value.bits >>= unused;
	return value;
}

static struct value promote(struct value value)
{
	if (value.size < 4) {
		value.size = 4;
		value.is_signed = true;
	}
	return value;
}

static struct value truth(bool is_true)
{
	return (struct value){ .bits = is_true, .size = 4, .is_signed = true };
}

/* A number of 1 to 8 bytes in the record, 0 where it lies outside. */
static uint64_t read_number(const struct source *source, size_t offset, size_t size)
{
	uint64_t value = 0;

	if (offset > source->size || size > source->size - offset)
		return 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 |
			source->data[offset +
				     (source->format->setup.big_endian ? i : size - 1 - i)];
	return value;
}

static struct value unary(int op, struct value a)
{
	if (op == OPERATOR('!', 0))
		return truth(!a.bits);
	a = promote(a);
	if (op == OPERATOR('~', 0))
		a.bits = ~a.bits;
	if (op == OPERATOR('-', 0))
		a.bits = 0 - a.bits;
	return wrap(a);
}

static struct value shift(int op, struct value a, struct value b)
{
	a = promote(a);
	if (b.bits >= a.size * 8u)
		a.bits = 0;
	else if (op == OPERATOR('<', '<'))
		a.bits <<= b.bits;
	else if (a.is_signed)
		a.bits = (uint64_t)((int64_t)a.bits >> b.bits);
	else
		a.bits >>= b.bits;
	return wrap(a);
}

/* A division by 0 returns 0. */
static uint64_t divide(int op, struct value a, struct value b)
{
	bool negative = a.is_signed && (int64_t)a.bits < 0;
	uint64_t left = negative ? 0 - a.bits : a.bits, right = b.bits, result;

	if (!right)
		return 0;
	if (op == OPERATOR('/', 0) && b.is_signed && (int64_t)b.bits < 0)
		negative = !negative;
	if (b.is_signed && (int64_t)b.bits < 0)
		right = 0 - b.bits;
	result = op == OPERATOR('/', 0) ? left / right : left % right;
	return negative ? 0 - result : result;
}

/* An operator of two numbers that the usual arithmetic conversions have given one type. */
static struct value binary(int op, struct value a, struct value b)
{
	bool less = a.is_signed ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;

	switch (op) {
	case OPERATOR('+', 0):
		a.bits += b.bits;
		break;
	case OPERATOR('-', 0):
		a.bits -= b.bits;
		break;
	case OPERATOR('*', 0):
		a.bits *= b.bits;
		break;
	case OPERATOR('/', 0):
	case OPERATOR('%', 0):
		a.bits = divide(op, a, b);
		break;
	case OPERATOR('&', 0):
		a.bits &= b.bits;
		break;
	case OPERATOR('|', 0):
		a.bits |= b.bits;
		break;
	case OPERATOR('^', 0):
		a.bits ^= b.bits;
		break;
	case OPERATOR('=', '='):
		return truth(a.bits == b.bits);
	case OPERATOR('!', '='):
		return truth(a.bits != b.bits);
	case OPERATOR('<', 0):
		return truth(less);
	case OPERATOR('>', 0):
		return truth(!less && a.bits != b.bits);
	case OPERATOR('<', '='):
		return truth(less || a.bits == b.bits);
	default:
		return truth(!less);
	}
	return wrap(a);
}

static struct value calculate_op(const struct source *source, const struct node *node)
{
	struct value a, b = calculate(source, node->right);
	const struct value *type;

	if (!node->left)
		return unary(node->op, b);
	a = calculate(source, node->left);
	switch (node->op) {
	case OPERATOR('&', '&'):
		return truth(a.bits && b.bits);
	case OPERATOR('|', '|'):
		return truth(a.bits || b.bits);
	case OPERATOR('<', '<'):
	case OPERATOR('>', '>'):
		return shift(node->op, a, b);
	default:
		a = promote(a);
		b = promote(b);
		type = a.size > b.size || (a.size == b.size && !a.is_signed) ? &a : &b;
		a = wrap((struct value){ a.bits, type->size, type->is_signed });
		b = wrap((struct value){ b.bits, a.size, a.is_signed });
		return binary(node->op, a, b);
	}
}

static const struct node *chosen(const struct source *source, const struct node *choice)
{
	return calculate(source, choice->condition).bits ? choice->left : choice->right;
}

static struct value calculate(const struct source *source, const struct node *node)
{
	struct value value = node->value;

	switch (node->kind) {
	case NODE_FIELD:
		value.bits = read_number(source, node->offset, value.size);
		return wrap(value);
	case NODE_CAST:
		value.bits = calculate(source, node->left).bits;
		return wrap(value);
	case NODE_OP:
		return calculate_op(source, node);
	case NODE_CHOICE:
		return calculate(source, chosen(source, node));
	default:
		return value;
	}
}

/* ---- text ---- */

/* As with snprintf(), the length is that of the whole text, even if it does not fit. */
struct out {
	char *text;
	size_t size; /* without the NUL */
	size_t length;
};

/* How many of @length bytes at @at fit. */
static size_t visible(const struct out *out, size_t at, size_t length)
{
	if (at >= out->size)
		return 0;
	return length < out->size - at ? length : out->size - at;
}

static void put_chars(struct out *out, const char *text, size_t length)
{
	if (visible(out, out->length, length))
		memcpy(out->text + out->length, text, visible(out, out->length, length));
	out->length += length;
}

static void put_string(struct out *out, const char *text)
{
	put_chars(out, text, strlen(text));
}

static void put_repeated(struct out *out, char c, int count)
{
	for (; count > 0; count--)
		put_chars(out, &c, 1);
}

/* The sign or the prefix; the kernel writes 0x before a zero too, unlike the C library. */
static const char *prefix_of(const struct piece *piece, struct value value)
{
	bool alternate = piece->flags & FLAG_ALTERNATE;

	switch (piece->conversion) {
	case CONVERT_SIGNED:
		if ((int64_t)value.bits < 0)
			return "-";
		if (piece->flags & FLAG_PLUS)
			return "+";
		return piece->flags & FLAG_SPACE ? " " : "";
	case CONVERT_OCTAL:
		return alternate && value.bits ? "0" : "";
	case CONVERT_HEX:
		return alternate ? "0x" : "";
	case CONVERT_UPPER_HEX:
		return alternate ? "0X" : "";
	default:
		return "";
	}
}

static void put_number(struct out *out, const struct piece *piece, uint64_t bits)
{
	bool is_signed = piece->conversion == CONVERT_SIGNED, left = piece->flags & FLAG_LEFT;
	struct value value = wrap((struct value){ bits, (uint8_t)piece->size, is_signed });
	bool is_hex = piece->conversion == CONVERT_HEX || piece->conversion == CONVERT_UPPER_HEX;
	unsigned int base = is_hex ? 16 : piece->conversion == CONVERT_OCTAL ? 8 : 10;
	const char *letters =
		piece->conversion == CONVERT_UPPER_HEX ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *prefix = prefix_of(piece, value);
	uint64_t rest = *prefix == '-' ? 0 - value.bits : value.bits;
	char digits[24], *end = digits + sizeof(digits), *first = end;
	int zeros, pad;

	do
		*--first = letters[rest % base];
	while (rest /= base);
	zeros = piece->precision > end - first ? piece->precision - (int)(end - first) : 0;
	pad = piece->width - (int)strlen(prefix) - zeros - (int)(end - first);
	if ((piece->flags & FLAG_ZERO) && !left && pad > 0) {
		zeros += pad;
		pad = 0;
	}
	put_repeated(out, ' ', left ? 0 : pad);
	put_string(out, prefix);
	put_repeated(out, '0', zeros);
	put_chars(out, first, (size_t)(end - first));
	put_repeated(out, ' ', left ? pad : 0);
}

static void put_hex(struct out *out, uint64_t value)
{
	static const struct piece piece = { .conversion = CONVERT_HEX,
					    .flags = FLAG_ALTERNATE,
					    .size = 8,
					    .precision = -1 };

	put_number(out, &piece, value);
}

/* The kernel converts flags and masks to longs, however wide the fields are. */
static uint64_t long_of(const struct source *source, uint64_t value)
{
	return source->format->setup.long_size == 4 ? (uint32_t)value : value;
}

/* As the kernel: names in the order listed, each clears its bits, the rest as a number. */
static void put_flags(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t flags = long_of(source, calculate(source, node->left).bits);
	const char *delimiter = "";

	for (size_t i = 0; i < node->nr_names && flags; i++) {
		uint64_t mask = long_of(source, node->names[i].value);

		if ((flags & mask) != mask)
			continue;
		flags &= ~mask;
		put_string(out, delimiter);
		put_string(out, node->names[i].text);
		delimiter = node->text;
	}
	if (!flags)
		return;
	put_string(out, delimiter);
	put_hex(out, flags);
}

static void put_symbols(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t value = long_of(source, calculate(source, node->left).bits);

	for (size_t i = 0; i < node->nr_names; i++) {
		if (value == long_of(source, node->names[i].value)) {
			put_string(out, node->names[i].text);
			return;
		}
	}
	put_hex(out, value);
}

/* Up to a NUL, never out of the record. */
static void put_record_chars(struct out *out, const struct source *source, size_t offset,
			     size_t length)
{
	const char *text;

	if (offset >= source->size)
		return;
	if (length > source->size - offset)
		length = source->size - offset;
	text = (const char *)source->data + offset;
	put_chars(out, text, strnlen(text, length));
}

/* __data_loc: the low half of the field is an offset, the high half a length. */
static void put_dynamic(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t location = read_number(source, node->offset, node->length);
	size_t offset = location & 0xffff;

	if (!location)
		return;
	if (node->relative)
		offset += node->offset + node->length;
	put_record_chars(out, source, offset, (location >> 16) & 0xffff);
}

static void put_text(struct out *out, const struct source *source, const struct node *node)
{
	switch (node->kind) {
	case NODE_CHOICE:
		put_text(out, source, chosen(source, node));
		break;
	case NODE_FLAGS:
		put_flags(out, source, node);
		break;
	case NODE_SYMBOLS:
		put_symbols(out, source, node);
		break;
	case NODE_CHARS:
		put_record_chars(out, source, node->offset, node->length);
		break;
	case NODE_DYNAMIC:
		put_dynamic(out, source, node);
		break;
	default:
		put_string(out, node->text);
	}
}

static void put_symbol(struct out *out, const struct print_setup *setup, uint64_t address,
		       char style)
{
	char text[SYMBOL_TEXT_MAX] = "";

	if (!setup->symbol) {
		put_hex(out, address);
		return;
	}
	setup->symbol(setup->context, address, style, text, sizeof(text));
	put_string(out, text);
}

/* Width and precision of the string that was printed from @start on. */
static void adjust(struct out *out, const struct piece *piece, size_t start)
{
	size_t length = out->length - start, pad, moved;

	if (piece->precision >= 0 && length > (size_t)piece->precision)
		length = (size_t)piece->precision;
	out->length = start + length;
	if (piece->width < 0 || length >= (size_t)piece->width)
		return;
	pad = (size_t)piece->width - length;
	if (piece->flags & FLAG_LEFT) {
		put_repeated(out, ' ', (int)pad);
		return;
	}
	moved = visible(out, start + pad, length);
	if (moved)
		memmove(out->text + start + pad, out->text + start, moved);
	out->length = start;
	put_repeated(out, ' ', (int)pad);
	out->length += length;
}

static void put_argument(struct out *out, const struct source *source, const struct piece *piece)
{
	size_t start = out->length;
	struct piece address;
	uint64_t bits;

	if (piece->conversion == CONVERT_STRING) {
		put_text(out, source, piece->argument);
		adjust(out, piece, start);
		return;
	}
	bits = calculate(source, piece->argument).bits;
	switch (piece->conversion) {
	case CONVERT_SYMBOL:
	case CONVERT_SYMBOL_OFFSET:
		put_symbol(out, &source->format->setup, bits,
			   piece->conversion == CONVERT_SYMBOL ? 's' : 'S');
		adjust(out, piece, start);
		break;
	case CONVERT_CHAR:
		put_chars(out, &(char){ (char)bits }, 1);
		adjust(out, piece, start);
		break;
	case CONVERT_POINTER:
		address = *piece;
		address.conversion = CONVERT_HEX;
		if (address.width < 0) {
			address.width = 2 * address.size;
			address.flags |= FLAG_ZERO;
		}
		put_number(out, &address, bits);
		break;
	default:
		put_number(out, piece, bits);
	}
}

size_t print_format_text(const struct print_format *format, const void *record, size_t record_size,
			 char *text, size_t size)
{
	const struct source source = { format, record, record_size };
	struct out out = { .text = text, .size = size ? size - 1 : 0 };

	if (!size)
		return 0;
	for (size_t i = 0; i < format->nr_pieces; i++) {
		put_chars(&out, format->pieces[i].text, format->pieces[i].length);
		if (format->pieces[i].argument)
			put_argument(&out, &source, &format->pieces[i]);
	}
	if (out.length > out.size)
		out.length = out.size;
	text[out.length] = '\0';
	return out.length;
}
