// SPDX-License-Identifier: GPL-2.0-or-later

#include "record/print_program.h"

struct value print_value_wrap(struct value value)
{
	int unused = 64 - value.size * 8;

	value.bits <<= unused;
	value.bits =
		value.is_signed ? (uint64_t)((int64_t)value.bits >> unused) : value.bits >> unused;
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

/* The usual arithmetic conversions. */
static void convert(struct value *a, struct value *b)
{
	struct value type;

	*a = promote(*a);
	*b = promote(*b);
	type = a->size > b->size || (a->size == b->size && !a->is_signed) ? *a : *b;
	a->size = b->size = type.size;
	a->is_signed = b->is_signed = type.is_signed;
	*a = print_value_wrap(*a);
	*b = print_value_wrap(*b);
}

uint64_t print_value_read(const struct source *source, size_t offset, size_t size)
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

static uint64_t divide(struct value a, struct value b, bool rest)
{
	int64_t left = (int64_t)a.bits, right = (int64_t)b.bits;

	if (!right)
		return 0;
	if (!a.is_signed)
		return rest ? a.bits % b.bits : a.bits / b.bits;
	if (right == -1)
		return rest ? 0 : 0 - a.bits;
	return (uint64_t)(rest ? left % right : left / right);
}

static bool less(struct value a, struct value b)
{
	return a.is_signed ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;
}

static struct value truth(bool is)
{
	return (struct value){ .bits = is, .size = 4, .is_signed = true };
}

static struct value compare(enum op op, struct value a, struct value b)
{
	switch (op) {
	case OP_EQ:
		return truth(a.bits == b.bits);
	case OP_NE:
		return truth(a.bits != b.bits);
	case OP_LT:
		return truth(less(a, b));
	case OP_GT:
		return truth(less(b, a));
	case OP_LE:
		return truth(!less(b, a));
	default:
		return truth(!less(a, b));
	}
}

static struct value shift(enum op op, struct value a, struct value b)
{
	a = promote(a);
	if (b.bits >= a.size * 8u)
		a.bits = 0;
	else if (op == OP_SHL)
		a.bits <<= b.bits;
	else if (a.is_signed)
		a.bits = (uint64_t)((int64_t)a.bits >> b.bits);
	else
		a.bits >>= b.bits;
	return print_value_wrap(a);
}

static struct value calculate(enum op op, struct value a, struct value b)
{
	switch (op) {
	case OP_ADD:
		a.bits += b.bits;
		break;
	case OP_SUB:
		a.bits -= b.bits;
		break;
	case OP_MUL:
		a.bits *= b.bits;
		break;
	case OP_DIV:
	case OP_MOD:
		a.bits = divide(a, b, op == OP_MOD);
		break;
	case OP_AND:
		a.bits &= b.bits;
		break;
	case OP_OR:
		a.bits |= b.bits;
		break;
	case OP_XOR:
		a.bits ^= b.bits;
		break;
	default:
		return compare(op, a, b);
	}
	return print_value_wrap(a);
}

static struct value unary(enum op op, struct value a)
{
	if (op == OP_NOT)
		return truth(!a.bits);
	a = promote(a);
	if (op == OP_INVERT)
		a.bits = ~a.bits;
	if (op == OP_MINUS)
		a.bits = 0 - a.bits;
	return print_value_wrap(a);
}

static struct value evaluate_op(const struct source *source, const struct node *node)
{
	struct value a, b;

	if (node->op == OP_CHOOSE)
		return print_value(source, print_value(source, node->condition).bits ? node->left :
										       node->right);
	b = print_value(source, node->right);
	if (!node->left)
		return unary(node->op, b);
	a = print_value(source, node->left);
	if (node->op == OP_LOGIC_AND)
		return truth(a.bits && b.bits);
	if (node->op == OP_LOGIC_OR)
		return truth(a.bits || b.bits);
	if (node->op == OP_SHL || node->op == OP_SHR)
		return shift(node->op, a, b);
	convert(&a, &b);
	return calculate(node->op, a, b);
}

struct value print_value(const struct source *source, const struct node *node)
{
	struct value value = node->value;

	switch (node->kind) {
	case NODE_FIELD:
		value.bits = print_value_read(source, node->offset, node->value.size);
		return print_value_wrap(value);
	case NODE_CAST:
		value.bits = print_value(source, node->left).bits;
		return print_value_wrap(value);
	case NODE_OP:
		return evaluate_op(source, node);
	default:
		return value;
	}
}
