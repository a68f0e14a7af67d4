// SPDX-License-Identifier: GPL-2.0-or-later

#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/text.h"
#include "allocfilt/record/source.h"
#include "names/print_program.h"
#include "names/symbols.h"

#define SYMBOL_TEXT_MAX 256

/* ---- numbers, as C calculates ---- */

struct value value_wrap(struct value value)
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

static struct value shift(char op, struct value a, struct value b)
{
	a = promote(a);
	if (b.bits >= a.size * 8u)
		a.bits = 0;
	else if (op == '<')
		a.bits <<= b.bits;
	else if (a.is_signed)
		a.bits = (uint64_t)((int64_t)a.bits >> b.bits);
	else
		a.bits >>= b.bits;
	return value_wrap(a);
}

struct value value_binary(char op, struct value a, struct value b)
{
	struct value result;

	if (op == '<' || op == '>')
		return shift(op, a, b);
	a = promote(a);
	b = promote(b);
	result = a.size > b.size || (a.size == b.size && !a.is_signed) ? a : b;
	if (op == '+')
		result.bits = a.bits + b.bits;
	else if (op == '-')
		result.bits = a.bits - b.bits;
	else if (op == '&')
		result.bits = a.bits & b.bits;
	else
		result.bits = a.bits | b.bits;
	return value_wrap(result);
}

/* ---- the record ---- */

/* A number of 1 to 8 bytes, 0 where it lies outside. */
static uint64_t read_number(const struct print_source *source, size_t offset, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		return 0;
	return event_number(source->data + offset, size, source->big_endian);
}

static struct value read_value(const struct print_source *source, const struct step *step)
{
	struct value value = step->value;

	value.bits = read_number(source, step->offset, value.size);
	return value_wrap(value);
}

/* Bytes of a record, none of them outside of it. */
struct bytes {
	size_t offset;
	size_t length;
};

static struct bytes bytes_of(const struct print_source *source, const struct step *step)
{
	struct bytes bytes = { step->offset, step->length ? step->length : source->size };
	uint64_t location;

	/* The low half of a __data_loc is an offset, the high half a length. */
	if (step->is_dynamic) {
		location = read_number(source, step->offset, 4);
		bytes.offset = location & 0xffff;
		bytes.length = location >> 16;
		if (step->is_relative && location)
			bytes.offset += step->offset + 4;
	}
	bytes.offset = MIN(bytes.offset, source->size);
	bytes.length = MIN(bytes.length, source->size - bytes.offset);
	return bytes;
}

/* ---- text ---- */

/* The length may be more than fits, as with snprintf(). */
struct out {
	char *text;
	size_t size; /* without the NUL */
	size_t length;
};

static inline void print_chars(struct out *out, const char *text, size_t length)
{
	size_t at = out->length, room = at < out->size ? out->size - at : 0;

	out->length += length;
	length = MIN(length, room);
	if (length)
		memcpy(out->text + at, text, length);
}

static void print_string(struct out *out, const char *text)
{
	print_chars(out, text, strlen(text));
}

static void print_hex(struct out *out, uint64_t number)
{
	char text[TEXT_NUMBER_MAX], *end = text_hex(text, number);

	print_chars(out, "0x", 2);
	print_chars(out, text, (size_t)(end - text));
}

static noinline void print_padded(struct out *out, const struct conversion *conversion,
				  uint64_t number)
{
	bool negative = conversion->letter == 'd' && (int64_t)number < 0;
	uint64_t rest = negative ? 0 - number : number;
	char digits[TEXT_NUMBER_MAX], *end;
	int pad;

	end = conversion->letter == 'x' ? text_hex(digits, rest) : text_unsigned(digits, rest);
	if (negative && conversion->zeros)
		print_chars(out, "-", 1);
	for (pad = conversion->width - (int)(end - digits) - negative; pad > 0; pad--)
		print_chars(out, conversion->zeros ? "0" : " ", 1);
	if (negative && !conversion->zeros)
		print_chars(out, "-", 1);
	print_chars(out, digits, (size_t)(end - digits));
}

static void print_number(struct out *out, const struct step *step, uint64_t bits)
{
	const struct conversion *conversion = &step->conversion;
	struct value value =
		value_wrap((struct value){ bits, step->value.size, conversion->letter == 'd' });
	char *at = out->text + out->length;

	/* Most are "%d", "%u", "%lu". */
	if (conversion->width || conversion->letter == 'x' ||
	    out->length + TEXT_NUMBER_MAX > out->size) {
		print_padded(out, conversion, value.bits);
		return;
	}
	at = value.is_signed ? text_signed(at, (int64_t)value.bits) : text_unsigned(at, value.bits);
	out->length = (size_t)(at - out->text);
}

/* The kernel converts flags and masks to longs, however wide the fields are. */
static uint64_t cut_to(uint8_t size, uint64_t value)
{
	return size == 4 ? (uint32_t)value : value;
}

/* As the kernel: names in the order listed, each clears its bits, the rest as a number. */
static void print_flags(struct out *out, const struct step *step, uint64_t flags)
{
	const char *delimiter = "";

	flags = cut_to(step->value.size, flags);
	for (uint32_t i = 1; i <= step->length && flags; i++) {
		uint64_t mask = cut_to(step->value.size, step[i].value.bits);

		if ((flags & mask) != mask)
			continue;
		flags &= ~mask;
		print_string(out, delimiter);
		print_string(out, step[i].text);
		delimiter = step->text;
	}
	if (!flags)
		return;
	print_string(out, delimiter);
	print_hex(out, flags);
}

static void print_symbolic(struct out *out, const struct step *step, uint64_t value)
{
	value = cut_to(step->value.size, value);
	for (uint32_t i = 1; i <= step->length; i++) {
		if (value == cut_to(step->value.size, step[i].value.bits)) {
			print_string(out, step[i].text);
			return;
		}
	}
	print_hex(out, value);
}

static void print_address(struct out *out, const struct print_source *source,
			  const struct step *step, uint64_t address)
{
	char text[SYMBOL_TEXT_MAX];
	int length =
		symbols_text(source->symbols, address, step->conversion.letter, text, sizeof(text));

	print_chars(out, text, (size_t)length);
}

/* Up to a NUL. */
static void print_bytes(struct out *out, const struct print_source *source, const struct step *step)
{
	struct bytes bytes = bytes_of(source, step);
	const char *text = (const char *)source->data + bytes.offset;

	print_chars(out, text, strnlen(text, bytes.length));
}

/* trace_print_array_seq() of the kernel */
static void print_array(struct out *out, const struct print_source *source, const struct step *step)
{
	struct bytes bytes = bytes_of(source, step);
	size_t size = step->value.size;

	print_string(out, "{");
	for (size_t i = 0; i < bytes.length / size && out->length < out->size; i++) {
		print_string(out, i ? "," : "");
		print_hex(out, read_number(source, bytes.offset + i * size, size));
	}
	print_string(out, "}");
}

/* ---- running ---- */

/* The compiler has checked that the stack suffices. */
static void run_steps(struct out *out, const struct print_source *source, const struct step *step,
		      const struct step *end)
{
	struct value stack[STACK_MAX], *top = stack;

	for (; step < end; step++) {
		switch ((enum step_kind)step->kind) {
		case STEP_TEXT:
			if (out->length >= out->size)
				return;
			print_chars(out, step->text, step->length);
			break;
		case STEP_NUMBER:
			*top++ = step->value;
			break;
		case STEP_FIELD:
			*top++ = read_value(source, step);
			break;
		case STEP_CAST:
			top[-1] = value_wrap((struct value){ top[-1].bits, step->value.size,
							     step->value.is_signed });
			break;
		case STEP_BINARY:
			top--;
			top[-1] = value_binary(step->op, top[-1], top[0]);
			break;
		case STEP_UNLESS:
			step += (--top)->bits ? 0 : step->length;
			break;
		case STEP_SKIP:
			step += step->length;
			break;
		case STEP_PUT_NUMBER:
			print_number(out, step, (--top)->bits);
			break;
		case STEP_PUT_SYMBOL:
			print_address(out, source, step, (--top)->bits);
			break;
		case STEP_PUT_FLAGS:
			print_flags(out, step, (--top)->bits);
			step += step->length;
			break;
		case STEP_PUT_NAME:
			print_symbolic(out, step, (--top)->bits);
			step += step->length;
			break;
		case STEP_NAME:
			break;
		case STEP_PUT_CHARS:
			print_bytes(out, source, step);
			break;
		case STEP_PUT_ARRAY:
			print_array(out, source, step);
			break;
		case STEP_PUT_LITERAL:
			print_chars(out, step->text, step->length);
			break;
		}
	}
}

/* The steps behind the first STEP_TEXT with this field, up to the next STEP_TEXT. */
static const struct step *find_conversion(const struct print_program *program, const char *field,
					  const struct step **end)
{
	const struct step *step = program->steps, *from;

	for (; step < *end; step++)
		if (step->kind == STEP_TEXT && step->field && !strcmp(step->field, field))
			break;
	if (step == *end)
		return step;
	for (from = ++step; step < *end && step->kind != STEP_TEXT;)
		step++;
	*end = step;
	return from;
}

size_t print_run(const struct print_program *program, const struct print_source *source,
		 const char *field, char *text, size_t size)
{
	const struct step *step = program->steps, *end = step + program->nr_steps;
	struct out out = { .text = text, .size = size - 1 };

	if (field)
		step = find_conversion(program, field, &end);
	run_steps(&out, source, step, end);
	out.length = MIN(out.length, out.size);
	text[out.length] = '\0';
	return out.length;
}
