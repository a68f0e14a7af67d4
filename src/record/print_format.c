// SPDX-License-Identifier: GPL-2.0-or-later

#include <string.h>

#include "record/print_program.h"

#define SYMBOL_TEXT_MAX 256

/* As with snprintf(), the length is that of the whole text, of which size bytes are there. */
struct out {
	char *text;
	size_t size; /* without the NUL */
	size_t length;
};

static void put_char(struct out *out, char c)
{
	if (out->length < out->size)
		out->text[out->length] = c;
	out->length++;
}

/* How much of @length bytes from @at on there is room for. */
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
	while (count-- > 0)
		put_char(out, c);
}

/* Digits from the right end of @digits; returns the first. */
static char *make_digits(char *end, uint64_t value, unsigned int base, bool upper)
{
	const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	do {
		*--end = letters[value % base];
		value /= base;
	} while (value);
	return end;
}

static unsigned int base_of(char conversion)
{
	switch (conversion) {
	case 'x':
	case 'X':
		return 16;
	case 'o':
		return 8;
	default:
		return 10;
	}
}

/* The sign or the prefix; the kernel writes 0x before a zero too, unlike the C library. */
static const char *prefix_of(const struct piece *piece, bool negative, bool is_zero)
{
	if (negative)
		return "-";
	if (piece->conversion == 'd' && (piece->flags & FLAG_PLUS))
		return "+";
	if (piece->conversion == 'd' && (piece->flags & FLAG_SPACE))
		return " ";
	if (!(piece->flags & FLAG_ALTERNATE))
		return "";
	if (piece->conversion == 'o')
		return is_zero ? "" : "0";
	if (piece->conversion == 'x')
		return "0x";
	return piece->conversion == 'X' ? "0X" : "";
}

static void put_number(struct out *out, const struct piece *piece, uint64_t bits)
{
	char digits[24], *end = digits + sizeof(digits), *first;
	struct value value = print_value_wrap((struct value){
		.bits = bits,
		.size = (uint8_t)piece->size,
		.is_signed = piece->conversion == 'd',
	});
	bool negative = value.is_signed && (int64_t)value.bits < 0;
	const char *prefix = prefix_of(piece, negative, !value.bits);
	int length, zeros, pad;

	first = make_digits(end, negative ? 0 - value.bits : value.bits, base_of(piece->conversion),
			    piece->conversion == 'X');
	length = (int)(end - first);
	zeros = piece->precision > length ? piece->precision - length : 0;
	pad = piece->width - (int)strlen(prefix) - zeros - length;
	if ((piece->flags & FLAG_ZERO) && !(piece->flags & FLAG_LEFT) && pad > 0) {
		zeros += pad;
		pad = 0;
	}
	put_repeated(out, ' ', piece->flags & FLAG_LEFT ? 0 : pad);
	put_string(out, prefix);
	put_repeated(out, '0', zeros);
	put_chars(out, first, (size_t)length);
	put_repeated(out, ' ', piece->flags & FLAG_LEFT ? pad : 0);
}

static void put_hex(struct out *out, uint64_t value)
{
	char digits[24], *end = digits + sizeof(digits), *first;

	first = make_digits(end, value, 16, false);
	put_string(out, "0x");
	put_chars(out, first, (size_t)(end - first));
}

/* The kernel takes flags and masks as longs, however wide the fields are. */
static uint64_t long_of(const struct source *source, uint64_t value)
{
	return source->format->setup.long_size == 4 ? (uint32_t)value : value;
}

/* The kernel's order: names as listed, each takes its bits away, the rest as a number. */
static void put_flags(struct out *out, const struct source *source, const struct node *node)
{
	uint64_t flags = long_of(source, print_value(source, node->left).bits), mask;
	const char *delimiter = "";

	for (size_t i = 0; i < node->nr_names && flags; i++) {
		mask = long_of(source, node->names[i].value);
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
	uint64_t value = long_of(source, print_value(source, node->left).bits);

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
	uint64_t location = print_value_read(source, node->offset, node->length);
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
	case NODE_OP:
		put_text(out, source,
			 print_value(source, node->condition).bits ? node->left : node->right);
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
	char text[SYMBOL_TEXT_MAX];

	if (!setup->symbol) {
		put_hex(out, address);
		return;
	}
	text[0] = '\0';
	setup->symbol(setup->context, address, style, text, sizeof(text));
	put_string(out, text);
}

static void pad_left(struct out *out, size_t start, size_t length, size_t pad)
{
	size_t moved = visible(out, start + pad, length);

	if (moved)
		memmove(out->text + start + pad, out->text + start, moved);
	out->length = start;
	put_repeated(out, ' ', (int)pad);
	out->length += length;
}

/* Width and precision of what was printed from @start on. */
static void adjust(struct out *out, const struct piece *piece, size_t start)
{
	size_t length = out->length - start;

	if (piece->precision >= 0 && length > (size_t)piece->precision) {
		length = (size_t)piece->precision;
		out->length = start + length;
	}
	if (piece->width < 0 || length >= (size_t)piece->width)
		return;
	if (piece->flags & FLAG_LEFT)
		put_repeated(out, ' ', piece->width - (int)length);
	else
		pad_left(out, start, length, (size_t)piece->width - length);
}

static void put_pointer(struct out *out, const struct piece *piece, uint64_t address)
{
	struct piece hex = *piece;

	hex.conversion = 'x';
	if (hex.width < 0) {
		hex.width = 2 * hex.size;
		hex.flags |= FLAG_ZERO;
	}
	put_number(out, &hex, address);
}

static void put_argument(struct out *out, const struct source *source, const struct piece *piece)
{
	size_t start = out->length;
	uint64_t bits;

	if (piece->conversion == 's' && !print_is_symbol(piece)) {
		put_text(out, source, piece->argument);
		adjust(out, piece, start);
		return;
	}
	bits = print_value(source, piece->argument).bits;
	if (print_is_symbol(piece)) {
		put_symbol(out, &source->format->setup, bits, piece->conversion);
		adjust(out, piece, start);
	} else if (piece->conversion == 'p') {
		put_pointer(out, piece, bits);
	} else if (piece->conversion == 'c') {
		put_char(out, (char)bits);
		adjust(out, piece, start);
	} else {
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
