// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocfilt/output.h"

/*
 * The form `trace`: each record as the line that the kernel prints for it in `trace`, with
 * function_graph, funcgraph-abstime and funcgraph-proc on; then the summary for people.
 * kernel/trace/trace_functions_graph.c: print_graph_prologue(), print_graph_return(),
 * print_graph_comment(). A stack does not belong to function_graph and has the generic columns:
 * trace_output.c: trace_print_context(), trace_stack_print().
 */

#define PROC_WIDTH     14 /* TRACE_GRAPH_PROCINFO_LENGTH */
#define PROC_NAME      7  /* bytes of a task's name in that column */
#define DURATION_WIDTH 7  /* digits of a duration: no fraction where the whole has them all */
#define FRACTION       3  /* digits of the nanoseconds */
#define NAMED_DEPTH    50 /* FTRACE_RETFUNC_DEPTH: deeper, the kernel leaves out the name */

/* TRACE_FLAG_* that the lines of windows and events do not show. */
#define FLAG_IRQS_OFF	     0x01
#define FLAG_RESCHED_LAZY    0x02 /* before 6.13 IRQS_NOSUPPORT, which no kernel of today sets */
#define FLAG_RESCHED	     0x04
#define FLAG_PREEMPT_RESCHED 0x20
#define FLAG_BH_OFF	     0x80

/* What the kernel stores in place of a trampoline's address (trace.h), from 6.10. */
#define TRAMPOLINE_MARKER 0x7fffffffu

static char *add_spaces(char *to, int count)
{
	return count > 0 ? (char *)memset(to, ' ', (size_t)count) + count : to;
}

/* The column of a task, as it was last written. */
struct column {
	int tid;
	char name[TASK_COMM_MAX]; /* that it was made of: a task may change its name */
	size_t length;
	char text[32]; /* name and tid, centred, and the end of the column */
};

static void make_column(struct column *column, int tid, const char *name)
{
	int name_length = (int)strnlen(name, PROC_NAME), spaces;
	char digits[TEXT_NUMBER_MAX], *at = column->text;
	int digits_length = (int)(text_signed(digits, tid) - digits);

	column->tid = tid;
	text_append(column->name, sizeof(column->name), 0, name);
	spaces = PROC_WIDTH - name_length - 1 - digits_length;
	at = add_spaces(at, spaces / 2);
	at = mempcpy(at, name, (size_t)name_length);
	*at++ = '-';
	at = mempcpy(at, digits, (size_t)digits_length);
	at = add_spaces(at, spaces - spaces / 2);
	at = mempcpy(at, " | ", 3);
	column->length = (size_t)(at - column->text);
}

static const struct column *column_of(const struct output *output, const struct record *record)
{
	static struct column columns[256];
	const char *name = resolver_task_name(output->setup.resolver, record->tid, record->ts);
	struct column *column = &columns[(unsigned int)record->tid % ARRAY_SIZE(columns)];

	if (column->tid != record->tid || strcmp(column->name, name))
		make_column(column, record->tid, name);
	return column;
}

/*
 * "    7.091122 |   1)   name-1234    | ": time, CPU, and name and tid centred in their column.
 * Returns the end: as far as a record's own text all has a bound, and is written without looking at
 * how much fits.
 */
static char *begin_line(const struct output *output, struct line *line, const struct record *record)
{
	const struct column *column = column_of(output, record);
	char *at = line->text;
	int cpu_width = 1;

	for (int cpu = cpu_list_highest(&output->setup.source->cpus); cpu >= 10; cpu /= 10)
		cpu_width++;
	at = text_decimal(at, record->ts / NS_PER_SECOND, 5, ' ');
	*at++ = '.';
	at = text_decimal(at, record->ts % NS_PER_SECOND / 1000, 6, '0');
	at = mempcpy(at, " |   ", 5);
	at = text_decimal(at, (uint64_t)record->cpu, cpu_width, ' ');
	at = mempcpy(at, ") ", 2);
	memcpy(at, column->text, sizeof(column->text));
	return at + column->length;
}

/* What follows may not fit. */
static void set_end(struct line *line, char *end)
{
	line->used = (size_t)(end - line->text);
	*end = '\0';
}

static char duration_mark(uint64_t duration)
{
	static const struct {
		uint64_t over; /* ns */
		char mark;
	} marks[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' },
		{ 1000000, '#' },    { 100000, '!' },	 { 10000, '+' },
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (duration > marks[i].over)
			return marks[i].mark;
	return ' ';
}

/* Microseconds, with as much of the nanoseconds as fits into the column's width. */
static char *add_duration(char *to, uint64_t duration)
{
	const char *number = to + 2;
	int room, spaces;

	*to++ = duration_mark(duration);
	*to++ = ' ';
	to = text_decimal(to, duration / 1000, 0, ' ');
	room = DURATION_WIDTH - (int)(to - number);
	if (room > 0) {
		*to++ = '.';
		text_decimal(to, duration % 1000, FRACTION, '0');
		to += room < FRACTION ? room : FRACTION;
	}
	spaces = DURATION_WIDTH + 1 - (int)(to - number);
	to = mempcpy(to, " us ", 4);
	to = add_spaces(to, spaces);
	return mempcpy(to, "|  ", 3);
}

static void put_exit(const struct output *output, const struct record *record)
{
	const struct record_window *window = &record->window;
	struct line line;
	char *end = begin_line(output, &line, record);

	set_end(&line, add_duration(end, window->rettime - window->calltime));
	line_add_spaces(&line, 2 * window->depth);
	if (window->depth < NAMED_DEPTH) {
		line_add_text(&line, "} /* ");
		line.used += (size_t)resolver_symbol(output->setup.resolver, window->function, 's',
						     line.text + line.used, line_room(&line));
		line_add_text(&line, " */");
	} else {
		line_add_text(&line, "}");
	}
	line_put(&line, output->setup.writer);
}

/* The generic columns: "            name-1234    [000] .....     7.091122: ". */
static void add_context(const struct output *output, struct line *line, const struct record *record)
{
	static const char resched[] = ".lnbpLNB";    /* by the bits of lazy, resched and preempt */
	static const char interrupts[] = ".shHzzZZ"; /* by those of softirq, hardirq and NMI */
	const struct record_stack *stack = &record->stack;
	uint8_t flags = stack->flags;
	int resched_bits = (flags & FLAG_RESCHED_LAZY ? 1 : 0) | (flags & FLAG_RESCHED ? 2 : 0) |
			   (flags & FLAG_PREEMPT_RESCHED ? 4 : 0);
	int interrupt_bits = (flags & RECORD_FLAG_SOFTIRQ ? 1 : 0) |
			     (flags & RECORD_FLAG_HARDIRQ ? 2 : 0) |
			     (flags & RECORD_FLAG_NMI ? 4 : 0);
	unsigned int counts[] = { stack->preempt_count & 0xf, stack->preempt_count >> 4 };
	int nr_counts = resolver_migrate_column(output->setup.resolver) ? 2 : 1;
	char irqs = flags & FLAG_IRQS_OFF ? 'd' : '.';

	if (flags & FLAG_BH_OFF)
		irqs = flags & FLAG_IRQS_OFF ? 'D' : 'b';
	line_clear(line);
	line_add(line, "%16s-%-7d [%03d] %c%c%c",
		 resolver_task_name(output->setup.resolver, record->tid, stack->ts), record->tid,
		 record->cpu, irqs, resched[resched_bits], interrupts[interrupt_bits]);
	for (int i = 0; i < nr_counts; i++)
		line_add(line, counts[i] ? "%x" : ".", counts[i]);
	line_add(line, " %5" PRIu64 ".%06" PRIu64 ": ", stack->ts / NS_PER_SECOND,
		 stack->ts % NS_PER_SECOND / 1000);
}

/* Writes the stack after an event, if it has one. */
static void put_stack(const struct output *output, const struct record *record)
{
	const uint64_t *frames;
	size_t count;
	struct line line;

	if (!record->stack.number)
		return;
	count = resolver_stack(output->setup.resolver, record->stack.number, &frames);
	add_context(output, &line, record);
	line_add(&line, "<stack trace>");
	line_put(&line, output->setup.writer);
	for (size_t i = 0; i < count; i++) {
		char name[256];

		/* trace_seq_print_sym(): no module, an unknown address with 8 digits at least */
		resolver_symbol(output->setup.resolver, frames[i], 's', name, sizeof(name));
		name[strcspn(name, " ")] = '\0';
		line_clear(&line);
		if (!frames[i])
			line_add(&line, " => 0");
		else if (frames[i] == TRAMPOLINE_MARKER)
			line_add(&line, " => [FTRACE TRAMPOLINE]");
		else if (!strncmp(name, "0x", 2))
			line_add(&line, " => 0x%08" PRIx64, frames[i]);
		else
			line_add(&line, " => %s", name);
		line_put(&line, output->setup.writer);
	}
}

static void put_event(const struct output *output, const struct record *record)
{
	struct line line;
	char *end = begin_line(output, &line, record);

	set_end(&line, mempcpy(end, "              |  ", 17));
	line_add_spaces(&line, record->indent > 0 ? 2 * (record->indent + 1) : 0);
	line_add_text(&line, "/* ");
	line.used += resolver_event(output->setup.resolver, record, line.text + line.used,
				    line_room(&line));
	line_add_text(&line, " */");
	line_put(&line, output->setup.writer);
}

static void put_events(const struct output *output, const struct record *const *events,
		       size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++) {
		put_event(output, events[i]);
		put_stack(output, events[i]);
	}
}

/* A window's events, then the function's line. */
static int trace_window(struct output *output, const struct task_window *window)
{
	put_events(output, window->events, window->nr_events);
	put_exit(output, window->exit);
	return writer_status(output->setup.writer);
}

/* The begin, the events that the pair claimed, the end. */
static int trace_pair(struct output *output, const struct task_pair *pair)
{
	put_events(output, &pair->begin, 1);
	put_events(output, pair->events, pair->nr_events);
	put_event(output, pair->end);
	return writer_status(output->setup.writer);
}

const struct output_ops trace_form = {
	.window = trace_window,
	.pair = trace_pair,
};
