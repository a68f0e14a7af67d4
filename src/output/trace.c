// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "allocfilt/base/line.h"
#include "allocfilt/output/form.h"

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

/* The kernel stores this in place of a trampoline's address (trace.h), from 6.10 on. */
#define TRAMPOLINE_MARKER 0x7fffffffu

/*
 * A line is built in the writer's queue: an indent and a text of any length, and parts with a
 * bound. A longer line is cut off at its end. A file has the kernel's own bytes; a terminal would
 * act on those of a name.
 */
#define LINE_ROOM (3 * LINE_MAX_BYTES)

static void end_line(const struct output *output, char *start, char *end)
{
	struct line line;

	if (end - start >= LINE_MAX_BYTES)
		end = start + LINE_MAX_BYTES - 1;
	if (output->is_terminal) {
		*end = '\0';
		line_clear(&line);
		line_add_name(&line, output->setup.writer, start);
		end = mempcpy(start, line.text, line.used);
	}
	*end++ = '\n';
	writer_advance(output->setup.writer, end);
}

static char *add_spaces(char *to, int count)
{
	count = MIN(count, LINE_MAX_BYTES);
	return count > 0 ? (char *)memset(to, ' ', (size_t)count) + count : to;
}

/* " |   1)   name-1234    | ": name and tid centred. */
static char *add_columns(const struct output *output, char *to, const struct record *record)
{
	const char *name = resolver_task_name(output->setup.resolver, record->tid, record->ts);
	size_t name_length = strnlen(name, PROC_NAME), tid_length;
	char tid[TEXT_NUMBER_MAX];
	int cpu_width = 1, spaces;

	for (int i = cpu_list_highest(&output->setup.source->cpus); i >= 10; i /= 10)
		cpu_width++;
	to = mempcpy(to, " |   ", 5);
	to = text_decimal(to, (uint64_t)record->cpu, cpu_width, ' ');
	to = mempcpy(to, ") ", 2);
	tid_length = (size_t)(text_signed(tid, record->tid) - tid);
	spaces = PROC_WIDTH - (int)(name_length + 1 + tid_length);
	to = add_spaces(to, spaces / 2);
	to = mempcpy(to, name, name_length);
	*to++ = '-';
	to = mempcpy(to, tid, tid_length);
	to = add_spaces(to, spaces - spaces / 2);
	return mempcpy(to, " | ", 3);
}

static char duration_mark(uint64_t duration)
{
	static const struct {
		uint64_t over; /* ns */
		char mark;
	} marks[] = {
		{ 10000, '+' },	   { 100000, '!' },    { 1000000, '#' },
		{ 10000000, '*' }, { 100000000, '@' }, { 1000000000, '$' },
	};
	char mark = ' ';

	for (size_t i = 0; i < ARRAY_SIZE(marks) && duration > marks[i].over; i++)
		mark = marks[i].mark;
	return mark;
}

/* Microseconds, with as much of the nanoseconds as fits into the column's width. */
static char *add_duration(char *to, uint64_t duration)
{
	const char *number = to + 2;
	int room;

	*to++ = duration_mark(duration);
	*to++ = ' ';
	to = text_unsigned(to, duration / NS_PER_US);
	room = DURATION_WIDTH - (int)(to - number);
	if (room > 0) {
		*to++ = '.';
		text_decimal(to, duration % NS_PER_US, FRACTION, '0');
		to += room < FRACTION ? room : FRACTION;
	}
	to = mempcpy(to, " us ", 4);
	to = add_spaces(to, DURATION_WIDTH + 1 - (int)(to - 4 - number));
	return mempcpy(to, "|  ", 3);
}

static char *add_exit(const struct output *output, char *to, const struct record_window *window)
{
	to = add_duration(to, window->rettime - window->calltime);
	to = add_spaces(to, 2 * window->depth);
	if (window->depth >= NAMED_DEPTH)
		return mempcpy(to, "}", 1);
	to = mempcpy(to, "} /* ", 5);
	to += resolver_symbol(output->setup.resolver, window->function, 's', to, LINE_MAX_BYTES);
	return mempcpy(to, " */", 3);
}

static noinline char *add_event_text(const struct output *output, char *to,
				     const struct record *record)
{
	to = mempcpy(to, "              |  ", 17);
	to = add_spaces(to, record->indent > 0 ? 2 * (record->indent + 1) : 0);
	to = mempcpy(to, "/* ", 3);
	to += resolver_event(output->setup.resolver, record, NULL, to, LINE_MAX_BYTES);
	return mempcpy(to, " */", 3);
}

/* "    7.091122 |   1)   name-1234    | ". */
static char *begin_line(const struct output *output, char *to, const struct record *record)
{
	to = text_decimal(to, record->ts / NS_PER_SECOND, 5, ' ');
	*to++ = '.';
	to = text_decimal(to, record->ts % NS_PER_SECOND / NS_PER_US, 6, '0');
	return add_columns(output, to, record);
}

static void put_record(const struct output *output, const struct record *record)
{
	char *start = writer_room(output->setup.writer, LINE_ROOM), *at;

	if (!start)
		return;
	at = begin_line(output, start, record);
	if (record->kind == RECORD_WINDOW)
		at = add_exit(output, at, &record->window);
	else
		at = add_event_text(output, at, record);
	end_line(output, start, at);
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
	/* Rounded, as by ns2usecs(), while function_graph's own lines have it cut. */
	uint64_t us = stack->ts / NS_PER_US + (stack->ts % NS_PER_US >= NS_PER_US / 2);

	if (flags & FLAG_BH_OFF)
		irqs = flags & FLAG_IRQS_OFF ? 'D' : 'b';
	line_clear(line);
	line_add(line, "%16s-%-7d [%03d] %c%c%c",
		 resolver_task_name(output->setup.resolver, record->tid, stack->ts), record->tid,
		 record->cpu, irqs, resched[resched_bits], interrupts[interrupt_bits]);
	for (int i = 0; i < nr_counts; i++)
		line_add(line, counts[i] ? "%x" : ".", counts[i]);
	line_add(line, " %5" PRIu64 ".%06" PRIu64 ": ", us / 1000000, us % 1000000);
}

static void put_stack_line(const struct output *output, const struct line *line)
{
	char *start = writer_room(output->setup.writer, LINE_ROOM);

	if (start)
		end_line(output, start, mempcpy(start, line->text, line->used));
}

/* Writes the stack after an event, if it has one. */
static void put_event_stack(const struct output *output, const struct record *record)
{
	const uint64_t *frames;
	size_t count;
	struct line line;

	if (!record->stack.number)
		return;
	count = resolver_stack(output->setup.resolver, record->stack.number, &frames);
	add_context(output, &line, record);
	line_add(&line, "<stack trace>");
	put_stack_line(output, &line);
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
		put_stack_line(output, &line);
	}
}

static void put_event(const struct output *output, const struct record *event)
{
	put_record(output, event);
	put_event_stack(output, event);
}

/* A window's events, then the function's line; of a pair its begin before these, and its end. */
static int trace_stall(struct output *output, const struct named_stall *named)
{
	struct stall_window window = { .entry = NULL };
	struct record event;

	while (stall_next_window(named->stall, &window)) {
		if (window.begin.raw_size)
			put_event(output, &window.begin);
		while (stall_next_event(&window, &event))
			put_event(output, &event);
		if (!window.is_pair || window.exit.raw_size)
			put_record(output, &window.exit);
	}
	return writer_status(output->setup.writer);
}

const struct output_ops trace_form = {
	.stall = trace_stall,
};
