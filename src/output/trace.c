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
#define FRACTION       4  /* characters of ".123" */
#define NAMED_DEPTH    50 /* FTRACE_RETFUNC_DEPTH: deeper, the kernel leaves out the name */

/* TRACE_FLAG_* that the lines of windows and events do not show. */
#define FLAG_IRQS_OFF	     0x01
#define FLAG_RESCHED_LAZY    0x02 /* before 6.13 IRQS_NOSUPPORT, which no kernel of today sets */
#define FLAG_RESCHED	     0x04
#define FLAG_PREEMPT_RESCHED 0x20
#define FLAG_BH_OFF	     0x80

/* What the kernel stores in place of a trampoline's address (trace.h), from 6.10. */
#define TRAMPOLINE_MARKER 0x7fffffffu

/* "    7.091122 |   1)   name-1234    | ": time, CPU, and name and tid centred in their column. */
static void begin_line(const struct output *output, struct line *line, const struct record *record)
{
	const char *name = resolver_task_name(output->setup.resolver, record->tid, record->ts);
	int name_length = strnlen(name, PROC_NAME);
	int cpu_width = 1;
	int spaces;
	char tid[12];

	for (int cpu = cpu_list_highest(&output->setup.source->cpus); cpu >= 10; cpu /= 10)
		cpu_width++;
	spaces = PROC_WIDTH - name_length - 1 - snprintf(tid, sizeof(tid), "%d", record->tid);
	if (spaces < 0)
		spaces = 0;
	line_clear(line);
	line_add(line, "%5" PRIu64 ".%06" PRIu64 " |   %*d) %*s%.*s-%s%*s | ",
		 record->ts / NS_PER_SECOND, record->ts % NS_PER_SECOND / 1000, cpu_width,
		 record->cpu, spaces / 2, "", name_length, name, tid, spaces - spaces / 2, "");
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
static void add_duration(struct line *line, uint64_t duration)
{
	char text[32];
	int whole = snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, duration / 1000,
			     duration % 1000) -
		    FRACTION;
	int length = whole;

	if (whole < DURATION_WIDTH) {
		int digits = DURATION_WIDTH - whole;

		length += 1 + (digits < FRACTION - 1 ? digits : FRACTION - 1);
	}
	line_add(line, "%c %.*s us %*s|  ", duration_mark(duration), length, text,
		 length < DURATION_WIDTH + 1 ? DURATION_WIDTH + 1 - length : 0, "");
}

static void put_exit(const struct output *output, const struct record *record)
{
	const struct record_window *window = &record->window;
	char name[256];
	struct line line;

	begin_line(output, &line, record);
	add_duration(&line, window->rettime - window->calltime);
	line_add(&line, "%*s}", window->depth > 0 ? 2 * window->depth : 0, "");
	if (window->depth < NAMED_DEPTH) {
		resolver_symbol(output->setup.resolver, window->function, 's', name, sizeof(name));
		line_add(&line, " /* %s */", name);
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
	char text[LINE_MAX_BYTES];
	struct line line;

	resolver_event(output->setup.resolver, record, text, sizeof(text));
	begin_line(output, &line, record);
	line_add(&line, "              |  %*s/* %s */",
		 record->indent > 0 ? 2 * (record->indent + 1) : 0, "", text);
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
