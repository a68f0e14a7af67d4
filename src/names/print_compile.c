// SPDX-License-Identifier: GPL-2.0-or-later

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/rows.h"
#include "allocfilt/base/text.h"
#include "names/print_program.h"

#define STEPS_MAX      4096 /* the kernel's own formats take about 100 */
#define FIELD_NAME_MAX 256

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define WORD  ALNUM "_"

#define NESTING_MAX 128 /* of a text, so of all recursion; the kernel's own go to about 20 */

/* Names that the kernel leaves in a print format instead of their values. */
static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
	/* enum trace_flag_type */
	{ "TRACE_FLAG_HARDIRQ", 0x08 },
	{ "TRACE_FLAG_SOFTIRQ", 0x10 },
	/* enum vmscan_throttle_state */
	{ "VMSCAN_THROTTLE_WRITEBACK", 0 },
	{ "VMSCAN_THROTTLE_ISOLATED", 1 },
	{ "VMSCAN_THROTTLE_NOPROGRESS", 2 },
	{ "VMSCAN_THROTTLE_CONGESTED", 3 },
};

/*
 * The first error stays. After it the text is at its end, and steps are thrown away, so that no
 * function has to check the ones it calls.
 */
struct compiler {
	struct print_program *program;
	struct tep_event *event;
	int long_size;
	bool is_fallback; /* "name=value" */
	const char *at;
	char *room;	   /* where the next text goes */
	const char *field; /* the first in the present argument */
	bool in_names;	   /* of __print_flags() and __print_symbolic() */
	bool undefined;	   /* one of these names has an unknown value */
	int on_stack;	   /* numbers, when the steps so far have run */
	int nesting;
	struct step discarded;
	int error;
};

/* The result that the steps of an expression leave. */
enum result {
	RESULT_TEXT,	 /* it is printed */
	RESULT_NUMBER,	 /* on the stack */
	RESULT_CONSTANT, /* a number too, whose STEP_NUMBER is the last step */
};

static enum result unknown(struct compiler *compiler)
{
	if (!compiler->error)
		compiler->error = -ENOTSUP;
	compiler->at = "";
	return RESULT_NUMBER;
}

static struct step *emit(struct compiler *compiler, enum step_kind kind)
{
	struct print_program *program = compiler->program;
	const struct step step = { .kind = (uint8_t)kind };

	if (program->nr_steps == STEPS_MAX)
		unknown(compiler);
	if (!compiler->error &&
	    rows_append(&program->steps, &program->nr_steps, &step, sizeof(step)) < 0)
		compiler->error = -ENOMEM;
	return compiler->error ? &compiler->discarded : &program->steps[program->nr_steps - 1];
}

/* A step that pushes a number. */
static struct step *emit_push(struct compiler *compiler, enum step_kind kind)
{
	if (++compiler->on_stack > STACK_MAX)
		unknown(compiler);
	return emit(compiler, kind);
}

/* A step that pops one. */
static struct step *emit_pop(struct compiler *compiler, enum step_kind kind, enum result result)
{
	if (result == RESULT_TEXT)
		unknown(compiler);
	compiler->on_stack--;
	return emit(compiler, kind);
}

static enum result push_constant(struct compiler *compiler, struct value value)
{
	emit_push(compiler, STEP_NUMBER)->value = value;
	return RESULT_CONSTANT;
}

/* Takes the last number back, which is a constant. */
static struct value pop_constant(struct compiler *compiler)
{
	struct print_program *program = compiler->program;

	compiler->on_stack--;
	return compiler->error ? (struct value){ 0 } : program->steps[--program->nr_steps].value;
}

/* ---- tokens ---- */

static void skip_space(struct compiler *compiler)
{
	while (isspace((unsigned char)*compiler->at))
		compiler->at++;
}

static bool accept(struct compiler *compiler, const char *token)
{
	skip_space(compiler);
	if (strncmp(compiler->at, token, strlen(token)))
		return false;
	compiler->at += strlen(token);
	return true;
}

static void expect(struct compiler *compiler, const char *token)
{
	if (!accept(compiler, token))
		unknown(compiler);
}

/* Is a word in a list with commas? */
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

/* Returns the character that a literal has here, and moves past it. */
static char parse_character(const char **at)
{
	static const char letters[] = "ntr", characters[] = "\n\t\r";
	const char *letter;

	if (**at != '\\' || !(*at)[1])
		return *(*at)++;
	++*at;
	letter = strchr(letters, *(*at)++);
	return letter ? characters[letter - letters] : (*at)[-1];
}

/* One literal, or several in a row. It takes less room than it has characters. */
static const char *parse_string(struct compiler *compiler)
{
	const char *text = compiler->room;

	expect(compiler, "\"");
	do {
		while (*compiler->at && *compiler->at != '"')
			*compiler->room++ = parse_character(&compiler->at);
		if (!*compiler->at) {
			unknown(compiler);
			return "";
		}
		compiler->at++;
	} while (accept(compiler, "\""));
	*compiler->room++ = '\0';
	return text;
}

/* An integer constant; its type follows from value and suffix as in C. */
static enum result parse_constant(struct compiler *compiler)
{
	bool is_decimal = *compiler->at != '0', is_unsigned;
	struct value value = { .size = 4 };
	char *end;

	errno = 0;
	value.bits = strtoull(compiler->at, &end, 0);
	is_unsigned = *end == 'u' || *end == 'U';
	end += is_unsigned;
	if (!strncasecmp(end, "ll", 2) || value.bits > UINT32_MAX ||
	    (value.bits > INT32_MAX && is_decimal && !is_unsigned))
		value.size = 8;
	else if (*end == 'l' || *end == 'L')
		value.size = (uint8_t)compiler->long_size;
	end += strspn(end, "lL");
	value.is_signed = !is_unsigned && value.bits >> (value.size * 8 - 1) == 0;
	compiler->at = end;
	if (errno || isalnum((unsigned char)*end))
		return unknown(compiler);
	return push_constant(compiler, value);
}

/* ---- types ---- */

static const struct {
	const char *names;
	int size; /* 0: a long of the kernel */
	bool is_signed;
} types[] = {
	{ "int", 4, true },	      { "unsigned int,unsigned,u32,gfp_t", 4, false },
	{ "long", 0, true },	      { "unsigned long", 0, false },
	{ "long long,s64", 8, true }, { "unsigned long long,u64", 8, false },
};

/* "(TYPE)" or "(TYPE *)", if that comes next */
static bool parse_type(struct compiler *compiler, struct value *type)
{
	const char *name;
	size_t length;

	skip_space(compiler);
	if (*compiler->at != '(')
		return false;
	name = compiler->at + 1;
	name += strspn(name, " ");
	length = strspn(name, WORD "* ");
	if (!length || name[length] != ')' || isdigit((unsigned char)*name))
		return false;
	compiler->at = name + length + 1;
	if (memchr(name, '*', length)) {
		*type = (struct value){ .size = (uint8_t)compiler->long_size };
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int size = types[i].size ? types[i].size : compiler->long_size;

		if (!is_one_of(name, length, types[i].names))
			continue;
		*type = (struct value){ .size = (uint8_t)size, .is_signed = types[i].is_signed };
		return true;
	}
	unknown(compiler);
	return true;
}

/* ---- expressions ---- */

static enum result parse_expression(struct compiler *compiler);
static enum result parse_unary(struct compiler *compiler);

static bool is_number_size(unsigned int size)
{
	return size && size <= 8 && !(size & (size - 1));
}

static bool is_number(const struct tep_format_field *field)
{
	return !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	       is_number_size((unsigned int)field->size);
}

/* A number, or bytes: those of a "name=value" whose type is not char are an array of numbers. */
static enum result emit_field(struct compiler *compiler, const struct tep_format_field *field)
{
	struct step *step;

	if (is_number(field)) {
		step = emit_push(compiler, STEP_FIELD);
		step->value.size = (uint8_t)field->size;
		step->value.is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	} else if (!compiler->is_fallback ||
		   (strstr(field->type, "char") && !strstr(field->type, "unsigned char"))) {
		step = emit(compiler, STEP_PUT_CHARS);
	} else {
		step = emit(compiler, STEP_PUT_ARRAY);
		step->value.size =
			is_number_size(field->elementsize) ? (uint8_t)field->elementsize : 1;
	}
	step->offset = (uint32_t)field->offset;
	step->length = (uint32_t)field->size;
	step->is_dynamic = field->flags & TEP_FIELD_IS_DYNAMIC;
	step->is_relative = field->flags & TEP_FIELD_IS_RELATIVE;
	return is_number(field) ? RESULT_NUMBER : RESULT_TEXT;
}

/* The name of a field, after "REC->", or in __get_str() */
static enum result parse_field(struct compiler *compiler, bool is_dynamic)
{
	/* 7.2 and later: __entry->ent of the source is what the fields call common_… */
	const char *prefix = accept(compiler, "ent.") ? "common_" : "";
	size_t length = strspn(compiler->at, WORD);
	const struct tep_format_field *field;
	char name[FIELD_NAME_MAX];

	snprintf(name, sizeof(name), "%s%.*s", prefix, (int)length, compiler->at);
	compiler->at += length;
	field = tep_find_any_field(compiler->event, name);
	if (!field || is_dynamic != !!(field->flags & TEP_FIELD_IS_DYNAMIC))
		return unknown(compiler);
	/* There is room: the name is shorter than "REC->" with it. */
	if (!compiler->field) {
		compiler->field = compiler->room;
		compiler->room = stpcpy(compiler->room, name) + 1;
	}
	return emit_field(compiler, field);
}

static struct value parse_constant_expression(struct compiler *compiler)
{
	if (parse_expression(compiler) != RESULT_CONSTANT) {
		unknown(compiler);
		return (struct value){ 0 };
	}
	return pop_constant(compiler);
}

/*
 * The rest of __print_flags() and __print_symbolic(): {VALUE, "NAME"}, …, perhaps {0, NULL}. A NAME
 * whose VALUE the kernel has left as the name of an enumerator is left out: the number is printed.
 */
static void parse_names(struct compiler *compiler)
{
	while (accept(compiler, ",")) {
		struct step name = { .kind = STEP_NAME };

		expect(compiler, "{");
		compiler->in_names = true;
		compiler->undefined = false;
		name.value = parse_constant_expression(compiler);
		compiler->in_names = false;
		expect(compiler, ",");
		skip_space(compiler);
		if (*compiler->at == '"')
			name.text = parse_string(compiler);
		else if (parse_constant_expression(compiler).bits)
			unknown(compiler);
		expect(compiler, "}");
		if (!name.text)
			return;
		if (!compiler->undefined)
			*emit(compiler, STEP_NAME) = name;
	}
}

/* Lets the step before @at go on where the steps now end. */
static void set_length(struct compiler *compiler, size_t at)
{
	struct print_program *program = compiler->program;

	if (!compiler->error)
		program->steps[at - 1].length = (uint32_t)(program->nr_steps - at);
}

/* include/trace/stages/stage3_trace_output.h */
static enum result parse_print_call(struct compiler *compiler, enum step_kind kind)
{
	const char *delimiter = "";
	enum result result;
	struct step *step;
	size_t at;

	expect(compiler, "(");
	result = parse_expression(compiler);
	if (kind == STEP_PUT_FLAGS) {
		expect(compiler, ",");
		delimiter = parse_string(compiler);
	}
	step = emit_pop(compiler, kind, result);
	step->text = delimiter;
	step->value.size = (uint8_t)compiler->long_size;
	at = compiler->program->nr_steps;
	parse_names(compiler);
	set_length(compiler, at);
	expect(compiler, ")");
	return RESULT_TEXT;
}

static enum result parse_name(struct compiler *compiler)
{
	const char *name = compiler->at;
	size_t length = strspn(name, WORD);
	enum result result;

	compiler->at += length;
	if (is_one_of(name, length, "REC")) {
		expect(compiler, "->");
		return parse_field(compiler, false);
	}
	if (is_one_of(name, length, "__get_str,__get_rel_str")) {
		expect(compiler, "(");
		result = parse_field(compiler, true);
		expect(compiler, ")");
		return result;
	}
	if (is_one_of(name, length, "__print_flags"))
		return parse_print_call(compiler, STEP_PUT_FLAGS);
	if (is_one_of(name, length, "__print_symbolic"))
		return parse_print_call(compiler, STEP_PUT_NAME);
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		if (is_one_of(name, length, constants[i].name))
			return push_constant(compiler,
					     (struct value){ constants[i].value, 4, true });
	if (!length || !compiler->in_names)
		return unknown(compiler);
	compiler->undefined = true;
	return push_constant(compiler, (struct value){ 0, 4, true });
}

static enum result parse_primary(struct compiler *compiler)
{
	enum result result;
	struct step *step;

	if (accept(compiler, "(")) {
		result = parse_expression(compiler);
		expect(compiler, ")");
		return result;
	}
	if (*compiler->at == '"') {
		step = emit(compiler, STEP_PUT_LITERAL);
		step->text = parse_string(compiler);
		step->length = (uint32_t)strlen(step->text);
		return RESULT_TEXT;
	}
	if (isdigit((unsigned char)*compiler->at))
		return parse_constant(compiler);
	return parse_name(compiler);
}

static enum result parse_cast(struct compiler *compiler, struct value type)
{
	enum result operand = parse_unary(compiler);

	if (operand == RESULT_CONSTANT) {
		type.bits = pop_constant(compiler).bits;
		return push_constant(compiler, value_wrap(type));
	}
	emit(compiler, STEP_CAST)->value = type;
	return operand == RESULT_TEXT ? unknown(compiler) : RESULT_NUMBER;
}

/* The operators "~" and "-" are understood before constants alone: -1 - NUMBER, and 0 - NUMBER. */
static enum result parse_unary(struct compiler *compiler)
{
	struct value type, from = { .size = 4, .is_signed = true };
	enum result result;

	skip_space(compiler);
	if (++compiler->nesting > NESTING_MAX)
		return unknown(compiler);
	if (*compiler->at == '~' || *compiler->at == '-') {
		from.bits = *compiler->at++ == '~' ? UINT64_MAX : 0;
		result = parse_unary(compiler);
		if (result != RESULT_CONSTANT)
			return unknown(compiler);
		push_constant(compiler, value_binary('-', from, pop_constant(compiler)));
	} else if (parse_type(compiler, &type)) {
		result = parse_cast(compiler, type);
	} else {
		result = parse_primary(compiler);
	}
	compiler->nesting--;
	return result;
}

static enum result apply_binary(struct compiler *compiler, char op, enum result left,
				enum result right)
{
	struct value a, b;

	if (left == RESULT_CONSTANT && right == RESULT_CONSTANT) {
		b = pop_constant(compiler);
		a = pop_constant(compiler);
		return push_constant(compiler, value_binary(op, a, b));
	}
	emit_pop(compiler, STEP_BINARY, right)->op = op;
	return left == RESULT_TEXT ? unknown(compiler) : RESULT_NUMBER;
}

/* Operators that bind as @precedence says, or closer: |, &, << and >>, + and -. */
static enum result parse_binary(struct compiler *compiler, size_t precedence)
{
	static const char *const operators[] = { "|", "&", "<<,>>", "+,-" };
	enum result left = parse_unary(compiler);

	for (;;) {
		size_t i = precedence, length;
		char op;

		skip_space(compiler);
		op = *compiler->at;
		length = op == '<' || op == '>' ? 2 : 1;
		while (i < ARRAY_SIZE(operators) && !is_one_of(compiler->at, length, operators[i]))
			i++;
		if (!op || i == ARRAY_SIZE(operators))
			return left;
		compiler->at += length;
		left = apply_binary(compiler, op, left, parse_binary(compiler, i + 1));
	}
}

/* The rest of "CONDITION ? LEFT : RIGHT" */
static enum result parse_choice(struct compiler *compiler, enum result condition)
{
	struct print_program *program = compiler->program;
	enum result left, right;
	size_t at;

	emit_pop(compiler, STEP_UNLESS, condition);
	at = program->nr_steps;
	left = parse_expression(compiler);
	expect(compiler, ":");
	if (left != RESULT_TEXT)
		compiler->on_stack--;
	emit(compiler, STEP_SKIP);
	set_length(compiler, at);
	at = program->nr_steps;
	right = parse_expression(compiler);
	set_length(compiler, at);
	if ((left == RESULT_TEXT) != (right == RESULT_TEXT))
		unknown(compiler);
	return right == RESULT_TEXT ? RESULT_TEXT : RESULT_NUMBER;
}

static enum result parse_expression(struct compiler *compiler)
{
	enum result result;

	if (++compiler->nesting > NESTING_MAX)
		return unknown(compiler);
	result = parse_binary(compiler, 0);
	if (accept(compiler, "?"))
		result = parse_choice(compiler, result);
	compiler->nesting--;
	return result;
}

/* ---- the format ---- */

/* Sets the step that prints the argument of a %p. Returns NULL for one that is not known. */
static const char *parse_pointer(const char *at, int long_size, struct step *put)
{
	/* All letters and digits behind a %p belong to it. */
	size_t length = strspn(at, ALNUM);

	put->kind = STEP_PUT_NUMBER;
	put->value.size = (uint8_t)long_size;
	put->conversion = (struct conversion){ 'x', true, (uint8_t)(2 * long_size) };
	if (is_one_of(at, length, ",x,K"))
		return at + length;
	put->kind = STEP_PUT_SYMBOL;
	put->conversion.letter = is_one_of(at, length, "s,f") ? 's' : 'S';
	return is_one_of(at, length, "s,f,S,F,B") ? at + length : NULL;
}

/* Behind the '%'. Returns what follows the conversion, NULL for one that is not known. */
static const char *parse_conversion(const char *at, int long_size, struct step *put)
{
	static const struct {
		const char *letters;
		int size; /* 0: a long */
	} lengths[] = { { "ll", 8 }, { "L", 8 }, { "l", 0 }, { "z", 0 }, { "", 4 } };
	size_t i = 0;

	put->kind = STEP_PUT_NUMBER;
	put->conversion.zeros = *at == '0';
	for (; isdigit((unsigned char)*at) && put->conversion.width < 10; at++)
		put->conversion.width = (uint8_t)(put->conversion.width * 10 + *at - '0');
	while (strncmp(at, lengths[i].letters, strlen(lengths[i].letters)))
		i++;
	at += strlen(lengths[i].letters);
	put->value.size = (uint8_t)(lengths[i].size ? lengths[i].size : long_size);
	put->conversion.letter = *at == 'i' ? 'd' : *at;
	return *at && strchr("diux", *at) ? at + 1 : NULL;
}

/* A conversion, from behind its '%', and its argument. Returns what follows it in the format. */
static const char *compile_conversion(struct compiler *compiler, const char *at)
{
	struct step put = { 0 };
	size_t first = compiler->program->nr_steps;
	bool is_string = *at == 's';

	if (is_string)
		at++;
	else if (*at == 'p')
		at = parse_pointer(at + 1, compiler->long_size, &put);
	else
		at = parse_conversion(at, compiler->long_size, &put);
	if (!at) {
		unknown(compiler);
		return "";
	}
	compiler->field = NULL;
	expect(compiler, ",");
	if (is_string != (parse_expression(compiler) == RESULT_TEXT))
		unknown(compiler);
	/* kernel/trace/trace_kprobe.c, print_kprobe_event(), whatever the format says. */
	if (compiler->field && !strcmp(compiler->field, "__probe_ip")) {
		put.kind = STEP_PUT_SYMBOL;
		put.conversion.letter = 'S';
	}
	if (!is_string)
		*emit_pop(compiler, put.kind, RESULT_NUMBER) = put;
	if (!compiler->error)
		compiler->program->steps[first - 1].field = compiler->field;
	return at;
}

static int compile_text(struct compiler *compiler)
{
	const char *at = parse_string(compiler);
	struct step *name = emit(compiler, STEP_TEXT);

	name->text = compiler->room;
	name->length = (uint32_t)sprintf(compiler->room, "%s: ", compiler->event->name);
	compiler->room += name->length;
	do {
		struct step *step = emit(compiler, STEP_TEXT);

		step->text = at;
		step->length = (uint32_t)strcspn(at, "%");
		at += step->length;
		if (!strncmp(at, "%%", 2)) {
			step->length++;
			at += 2;
		} else if (*at) {
			at = compile_conversion(compiler, at + 1);
		}
	} while (!compiler->error && *at);
	skip_space(compiler);
	if (*compiler->at)
		unknown(compiler);
	return compiler->error;
}

/* ---- "NAME=VALUE …", for a text that is not understood ---- */

static int compile_program(struct print_program *program, struct tep_event *event, const char *text,
			   int long_size, bool is_fallback)
{
	struct compiler compiler = {
		.program = program,
		.event = event,
		.long_size = long_size,
		.at = text,
		.is_fallback = is_fallback,
	};
	int ret;

	*program = (struct print_program){ .room = malloc(strlen(event->name) + strlen(": ") +
							  strlen(text) + 1) };
	if (!program->room)
		return -ENOMEM;
	compiler.room = program->room;
	ret = compile_text(&compiler);
	if (ret)
		print_program_free(program);
	return ret;
}

static const char *conversion_of(const struct tep_format_field *field)
{
	if (!is_number(field))
		return "%s";
	if (field->flags & TEP_FIELD_IS_POINTER)
		return "0x%llx";
	return field->flags & TEP_FIELD_IS_SIGNED ? "%lld" : "%llu";
}

/* Returns a print format of all fields, or NULL. */
static char *format_of_fields(const struct tep_event *event)
{
	const struct tep_format_field *field;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	putc('"', file);
	for (field = event->format.fields; field; field = field->next)
		fprintf(file, "%s%s=%s", field == event->format.fields ? "" : " ", field->name,
			conversion_of(field));
	putc('"', file);
	for (field = event->format.fields; field; field = field->next)
		fprintf(file, field->flags & TEP_FIELD_IS_DYNAMIC ? ", __get_str(%s)" : ", REC->%s",
			field->name);
	return text_close(file, &text);
}

int print_compile(struct print_program *program, const struct event_format *format, int long_size)
{
	int ret = compile_program(program, format->event, format->print, long_size, false);
	char *text;

	if (ret != -ENOTSUP)
		return ret;
	text = format_of_fields(format->event);
	ret = text ? compile_program(program, format->event, text, long_size, true) : -ENOMEM;
	free(text);
	/* No kernel has such fields: two of one name. */
	return ret == -ENOTSUP ? compile_program(program, format->event, "\"\"", long_size, false) :
				 ret;
}

void print_program_free(struct print_program *program)
{
	free(program->steps);
	free(program->room);
	*program = (struct print_program){ 0 };
}
