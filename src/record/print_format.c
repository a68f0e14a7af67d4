// SPDX-License-Identifier: GPL-2.0-or-later

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/record.h"
#include "record/event_format.h"
#include "record/print_program.h"

#define SYMBOL_TEXT_MAX 256

/* A record while it is printed. */
struct source {
	const struct print_format *format;
	const unsigned char *data;
	size_t size;
};

/* ---- numbers, as C calculates ---- */

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
	if (offset > source->size || size > source->size - offset)
		return 0;
	return event_number(source->data + offset, size, source->format->setup.big_endian);
}

/* Bytes of a record, none of them outside of it. */
struct bytes {
	size_t offset;
	size_t length;
};

static struct bytes bytes_of(const struct source *source, const struct node *node)
{
	struct bytes bytes = { node->offset, node->length ? node->length : source->size };
	uint64_t location;

	/* The low half of a __data_loc is an offset, the high half a length. */
	if (node->kind == NODE_DYNAMIC) {
		location = read_number(source, node->offset, node->length);
		bytes.offset = location & 0xffff;
		bytes.length = location >> 16 & 0xffff;
		if (node->relative && location)
			bytes.offset += node->offset + node->length;
	}
	if (bytes.offset > source->size)
		bytes.offset = source->size;
	if (bytes.length > source->size - bytes.offset)
		bytes.length = source->size - bytes.offset;
	return bytes;
}

static struct value calculate_other(const struct source *source, const struct node *node);

/* Most numbers are fields. */
static inline struct value calculate(const struct source *source, const struct node *node)
{
	struct value value = node->value;

	if (node->kind != NODE_FIELD)
		return calculate_other(source, node);
	value.bits = read_number(source, node->offset, value.size);
	return wrap(value);
}

static uint64_t read_element(const struct source *source, const struct node *node)
{
	struct bytes bytes = bytes_of(source, node->left);
	uint64_t index = calculate(source, node->right).bits;

	if (index >= bytes.length / node->value.size)
		return 0;
	return read_number(source, bytes.offset + index * node->value.size, node->value.size);
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
	bool a_negative = a.is_signed && (int64_t)a.bits < 0;
	bool b_negative = b.is_signed && (int64_t)b.bits < 0;
	uint64_t left = a_negative ? 0 - a.bits : a.bits, right = b_negative ? 0 - b.bits : b.bits;

	if (!right)
		return 0;
	if (op == OPERATOR('%', 0))
		return a_negative ? 0 - left % right : left % right;
	return a_negative != b_negative ? 0 - left / right : left / right;
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

static struct value calculate_other(const struct source *source, const struct node *node)
{
	struct value value = node->value;

	switch (node->kind) {
	case NODE_CAST:
		value.bits = calculate(source, node->left).bits;
		return wrap(value);
	case NODE_OP:
		return calculate_op(source, node);
	case NODE_ELEMENT:
		value.bits = read_element(source, node);
		return wrap(value);
	case NODE_LENGTH:
		value.bits = bytes_of(source, node->left).length;
		return value;
	case NODE_CHOICE:
		return calculate(source, chosen(source, node));
	default:
		return value;
	}
}

struct value print_program_number(const struct print_format *format, const struct node *node)
{
	const struct source nothing = { .format = format };

	return calculate(&nothing, node);
}

/* ---- text ---- */

/* As with snprintf(), the length may be more than fits; then no more is added in loops. */
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

static inline void put_chars(struct out *out, const char *text, size_t length)
{
	size_t at = out->length;

	out->length += length;
	if (out->length > out->size)
		length = visible(out, at, length);
	if (length)
		memcpy(out->text + at, text, length);
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

/* Most are "%d", "%u", "%lu". */
static bool is_plain(const struct piece *piece)
{
	return !piece->flags && !piece->width && piece->precision < 0 &&
	       (piece->conversion == 'd' || piece->conversion == 'u');
}

/* number() of lib/vsprintf.c: 0x before a zero too, and zeros also with a precision */
static noinline void put_formatted(struct out *out, const struct piece *piece, uint64_t number)
{
	bool is_signed = piece->conversion == 'd', upper = piece->conversion == 'X';
	bool alternate = piece->flags & FLAG_ALTERNATE, left = piece->flags & FLAG_LEFT;
	bool negative = is_signed && (int64_t)number < 0;
	uint64_t rest = negative ? 0 - number : number;
	char text[32], *digits = text, *end; /* a prefix, then the digits */
	int zeros = 0, pad;

	if (negative)
		*digits++ = '-';
	else if (is_signed && piece->flags & (FLAG_PLUS | FLAG_SPACE))
		*digits++ = piece->flags & FLAG_PLUS ? '+' : ' ';
	if (piece->conversion == 'o') {
		if (alternate && rest)
			*digits++ = '0';
		end = digits;
		for (int shift = 63; shift >= 0; shift -= 3)
			if (end > digits || rest >> shift || !shift)
				*end++ = (char)('0' + (rest >> shift & 7));
	} else if (upper || piece->conversion == 'x') {
		if (alternate)
			digits = mempcpy(digits, upper ? "0X" : "0x", 2);
		end = text_hex(digits, rest);
		for (char *at = digits; upper && at < end; at++)
			*at = (char)toupper((unsigned char)*at);
	} else {
		end = text_unsigned(digits, rest);
	}
	if (piece->precision > end - digits)
		zeros = piece->precision - (int)(end - digits);
	pad = piece->width - zeros - (int)(end - text);
	if ((piece->flags & FLAG_ZERO) && !left && pad > 0) {
		zeros += pad;
		pad = 0;
	}
	if (pad > 0 && !left)
		put_repeated(out, ' ', pad);
	if (zeros) {
		put_chars(out, text, (size_t)(digits - text));
		put_repeated(out, '0', zeros);
		put_chars(out, digits, (size_t)(end - digits));
	} else {
		put_chars(out, text, (size_t)(end - text));
	}
	if (pad > 0 && left)
		put_repeated(out, ' ', pad);
}

static void put_number(struct out *out, const struct piece *piece, uint64_t bits)
{
	bool is_signed = piece->conversion == 'd';
	struct value value = wrap((struct value){ bits, (uint8_t)piece->size, is_signed });
	char *at = out->text + out->length;

	if (!is_plain(piece) || out->length + TEXT_NUMBER_MAX > out->size) {
		put_formatted(out, piece, value.bits);
		return;
	}
	at = is_signed ? text_signed(at, (int64_t)value.bits) : text_unsigned(at, value.bits);
	out->length = (size_t)(at - out->text);
}

static void put_hex(struct out *out, uint64_t value)
{
	static const struct piece piece = { .conversion = 'x', .flags = FLAG_ALTERNATE, .size = 8 };

	put_number(out, &piece, value);
}

/* The kernel converts flags and masks to longs, however wide the fields are. */
static uint64_t cut_to(const struct node *node, uint64_t value)
{
	return node->value.size == 4 ? (uint32_t)value : value;
}

/* As the kernel: names in the order listed, each clears its bits, the rest as a number. */
static void put_flags(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t flags = cut_to(node, calculate(source, node->left).bits);
	const char *delimiter = "";

	for (const struct name *name = node->names; name && flags; name = name->next) {
		uint64_t mask = cut_to(node, name->value);

		if ((flags & mask) != mask)
			continue;
		flags &= ~mask;
		put_string(out, delimiter);
		put_string(out, name->text);
		delimiter = node->text;
	}
	if (!flags)
		return;
	put_string(out, delimiter);
	put_hex(out, flags);
}

static void put_symbols(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t value = cut_to(node, calculate(source, node->left).bits);

	for (const struct name *name = node->names; name; name = name->next) {
		if (value == cut_to(node, name->value)) {
			put_string(out, name->text);
			return;
		}
	}
	put_hex(out, value);
}

/* Up to a NUL. */
static void put_bytes(struct out *out, const struct source *source, const struct node *node)
{
	struct bytes bytes = bytes_of(source, node);
	const char *text = (const char *)source->data + bytes.offset;

	put_chars(out, text, strnlen(text, bytes.length));
}

/* trace_print_hex_seq() */
static void put_hex_bytes(struct out *out, const struct source *source, const struct node *node)
{
	static const char digits[] = "0123456789abcdef";
	struct bytes bytes = bytes_of(source, node->left);
	uint64_t count = calculate(source, node->right).bits;

	for (size_t i = 0; i < bytes.length && i < count && out->length < out->size; i++) {
		unsigned char byte = source->data[bytes.offset + i];

		put_string(out, i ? node->text : "");
		put_chars(out, &digits[byte >> 4], 1);
		put_chars(out, &digits[byte & 15], 1);
	}
}

/* trace_print_array_seq() */
static void put_array(struct out *out, const struct source *source, const struct node *node)
{
	struct bytes bytes = bytes_of(source, node->left);
	uint64_t count = calculate(source, node->right).bits;
	size_t size = node->value.size;

	put_string(out, "{");
	for (size_t i = 0; i < bytes.length / size && i < count && out->length < out->size; i++) {
		put_string(out, i ? "," : "");
		put_hex(out, read_number(source, bytes.offset + i * size, size));
	}
	put_string(out, "}");
}

/* bitmap_string() of lib/vsprintf.c: words of 32 bits, the highest first; an array of longs */
static void put_bitmask(struct out *out, const struct source *source, const struct node *node)
{
	static const struct piece piece = { .conversion = 'x',
					    .flags = FLAG_ZERO,
					    .width = 8,
					    .size = 4 };
	struct bytes bytes = bytes_of(source, node->left);
	size_t per_long = (size_t)source->format->setup.long_size / 4;

	for (size_t i = bytes.length / 4; i-- > 0 && out->length < out->size;) {
		size_t at = source->format->setup.big_endian ? i ^ (per_long - 1) : i;

		put_number(out, &piece, read_number(source, bytes.offset + at * 4, 4));
		put_string(out, i ? "," : "");
	}
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
	case NODE_DYNAMIC:
		put_bytes(out, source, node);
		break;
	case NODE_HEX:
		put_hex_bytes(out, source, node);
		break;
	case NODE_ARRAY:
		put_array(out, source, node);
		break;
	case NODE_BITMASK:
		put_bitmask(out, source, node);
		break;
	default:
		put_string(out, node->text);
	}
}

static void put_symbol(struct out *out, const struct print_setup *setup, uint64_t address,
		       char style)
{
	char text[SYMBOL_TEXT_MAX];
	int length = setup->symbol(setup->context, address, style, text, sizeof(text));

	put_chars(out, text, (size_t)length);
}

/*
 * ip_addr_string(), ip4_addr_string_sa(), ip6_addr_string_sa() and mac_address_string() of
 * lib/vsprintf.c, but for IPv6 addresses that end in an IPv4 address: there inet_ntop(3) decides.
 */
static void put_address(struct out *out, const struct source *source, const struct piece *piece)
{
	struct bytes bytes = bytes_of(source, piece->argument);
	const unsigned char *data = source->data + bytes.offset;
	uint64_t family = read_number(source, bytes.offset, 2);
	char address[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + sizeof("[]:65535")] = "(einval)";

	if (piece->conversion == 'M' && bytes.length >= 6) {
		snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", data[0], data[1],
			 data[2], data[3], data[4], data[5]);
	} else if (piece->conversion == '4' && bytes.length >= 4) {
		inet_ntop(AF_INET, data, text, sizeof(text));
	} else if (piece->conversion == '6' && bytes.length >= 16) {
		inet_ntop(AF_INET6, data, text, sizeof(text));
	} else if (piece->conversion == 'I' && family == AF_INET && bytes.length >= 8) {
		inet_ntop(AF_INET, data + 4, address, sizeof(address));
		snprintf(text, sizeof(text), "%s:%u", address, data[2] << 8 | data[3]);
	} else if (piece->conversion == 'I' && family == AF_INET6 && bytes.length >= 24) {
		inet_ntop(AF_INET6, data + 8, address, sizeof(address));
		snprintf(text, sizeof(text), "[%s]:%u", address, data[2] << 8 | data[3]);
	}
	put_string(out, text);
}

/* Width and precision of the string that was printed from @start on. */
static void adjust(struct out *out, const struct piece *piece, size_t start)
{
	size_t length = out->length - start, pad, moved;

	if (piece->precision >= 0 && length > (size_t)piece->precision)
		length = (size_t)piece->precision;
	out->length = start + length;
	if (length >= (size_t)piece->width)
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
	const struct node *argument = piece->argument;
	size_t start = out->length;

	switch (piece->conversion) {
	case 's':
		put_text(out, source, argument);
		break;
	case 'c':
		put_chars(out, &(char){ (char)calculate(source, argument).bits }, 1);
		break;
	case 'f':
	case 'F':
		put_symbol(out, &source->format->setup, calculate(source, argument).bits,
			   piece->conversion == 'f' ? 's' : 'S');
		break;
	case '4':
	case '6':
	case 'I':
	case 'M':
		put_address(out, source, piece);
		break;
	default:
		put_number(out, piece, calculate(source, argument).bits);
		return;
	}
	adjust(out, piece, start);
}

size_t print_format_text(const struct print_format *format, const void *record, size_t record_size,
			 char *text, size_t size)
{
	const struct source source = { format, record, record_size };
	struct out out = { .text = text, .size = size ? size - 1 : 0 };

	if (!size)
		return 0;
	for (size_t i = 0; i < format->nr_pieces && out.length < out.size; i++) {
		put_chars(&out, format->pieces[i].text, format->pieces[i].length);
		if (format->pieces[i].argument)
			put_argument(&out, &source, &format->pieces[i]);
	}
	if (out.length > out.size)
		out.length = out.size;
	text[out.length] = '\0';
	return out.length;
}
