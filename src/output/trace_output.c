// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/trace_output.h"

#define NS_PER_SECOND  1000000000u
#define PROC_WIDTH     14 /* TRACE_GRAPH_PROCINFO_LENGTH */
#define PROC_NAME      7  /* how much of a task's name the kernel shows there */
#define DURATION_WIDTH 7  /* digits of a duration: no fraction where the whole has them all */
#define FRACTION       4  /* characters of ".123" */
#define NAMED_DEPTH    50 /* FTRACE_RETFUNC_DEPTH: deeper, the kernel leaves the name away */

struct trace_output {
	struct trace_output_setup setup;
	size_t used;
	char line[TRACE_LINE_MAX];
};

struct trace_output *trace_output_new(const struct trace_output_setup *setup)
{
	struct trace_output *output = calloc(1, sizeof(*output));

	if (output)
		output->setup = *setup;
	return output;
}

void trace_output_free(struct trace_output *output)
{
	free(output);
}

static size_t room(const struct trace_output *output)
{
	return sizeof(output->line) - output->used;
}

static void advance(struct trace_output *output, size_t length)
{
	output->used += length < room(output) ? length : room(output) - 1;
}

__attribute__((format(printf, 2, 3))) static void add(struct trace_output *output,
						      const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(output->line + output->used, room(output), format, arguments);
	va_end(arguments);
	if (length > 0)
		advance(output, length);
}

/* Name and pid centred in their column. */
static void add_proc(struct trace_output *output, const struct record *record)
{
	const char *name = output->setup.name(output->setup.context, record->pid, record->ts);
	int name_length = strnlen(name, PROC_NAME);
	char pid[12];
	int spaces;

	snprintf(pid, sizeof(pid), "%d", record->pid);
	spaces = PROC_WIDTH - name_length - 1 - (int)strlen(pid);
	if (spaces < 0)
		spaces = 0;
	add(output, "%*s%.*s-%s%*s", spaces / 2, "", name_length, name, pid, spaces - spaces / 2,
	    "");
}

static void add_prologue(struct trace_output *output, const struct record *record)
{
	output->used = 0;
	add(output, "%5" PRIu64 ".%06" PRIu64 " |   %*d) ", record->ts / NS_PER_SECOND,
	    record->ts % NS_PER_SECOND / 1000, output->setup.cpu_width, record->cpu);
	add_proc(output, record);
	add(output, " | ");
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

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (duration > marks[i].over)
			return marks[i].mark;
	return ' ';
}

/* Microseconds, with as much of the nanoseconds as fits into the column's width. */
static void add_duration(struct trace_output *output, uint64_t duration)
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
	add(output, "%c %.*s us %*s|  ", duration_mark(duration), length, text,
	    length < DURATION_WIDTH + 1 ? DURATION_WIDTH + 1 - length : 0, "");
}

static int end_line(struct trace_output *output)
{
	if (output->used > sizeof(output->line) - 1)
		output->used = sizeof(output->line) - 1;
	output->line[output->used++] = '\n';
	return output->setup.line(output->setup.context, output->line, output->used);
}

static int exit_line(struct trace_output *output, const struct record *record)
{
	const struct record_window *window = &record->window;
	char name[256];

	output->setup.symbol(output->setup.context, window->function, 's', name, sizeof(name));
	add_prologue(output, record);
	add_duration(output, window->rettime - window->calltime);
	add(output, "%*s", window->depth > 0 ? 2 * window->depth : 0, "");
	if (window->depth < NAMED_DEPTH)
		add(output, "} /* %s */", name);
	else
		add(output, "}");
	return end_line(output);
}

static int event_line(struct trace_output *output, const struct record *record)
{
	add_prologue(output, record);
	add(output, "              |  ");
	add(output, "%*s/* ", record->indent > 0 ? 2 * (record->indent + 1) : 0, "");
	advance(output, output->setup.event(output->setup.context, record,
					    output->line + output->used, room(output)));
	add(output, " */");
	return end_line(output);
}

/* TRACE_FLAG_* that the lines of windows and events do not show. */
#define FLAG_IRQS_OFF	     0x01
#define FLAG_RESCHED_LAZY    0x02 /* before 6.13: no support, which no kernel of today sets */
#define FLAG_RESCHED	     0x04
#define FLAG_PREEMPT_RESCHED 0x20
#define FLAG_BH_OFF	     0x80

/* What the kernel puts in the place of a trampoline's address (trace.h), from 6.10. */
#define TRAMPOLINE_MARKER 0x7fffffffu

static char irqs_mark(uint8_t flags)
{
	if (flags & FLAG_IRQS_OFF)
		return flags & FLAG_BH_OFF ? 'D' : 'd';
	return flags & FLAG_BH_OFF ? 'b' : '.';
}

static char resched_mark(uint8_t flags)
{
	/* by the bits of lazy, resched and preempt */
	static const char marks[] = ".lnbpLNB";
	int index = (flags & FLAG_RESCHED_LAZY ? 1 : 0) | (flags & FLAG_RESCHED ? 2 : 0) |
		    (flags & FLAG_PREEMPT_RESCHED ? 4 : 0);

	return marks[index];
}

static char interrupt_mark(uint8_t flags)
{
	if (flags & RECORD_FLAG_NMI)
		return flags & RECORD_FLAG_HARDIRQ ? 'Z' : 'z';
	if (flags & RECORD_FLAG_HARDIRQ)
		return flags & RECORD_FLAG_SOFTIRQ ? 'H' : 'h';
	return flags & RECORD_FLAG_SOFTIRQ ? 's' : '.';
}

static void add_count(struct trace_output *output, unsigned int count)
{
	if (count)
		add(output, "%x", count);
	else
		add(output, ".");
}

/* The generic columns: "            name-1234    [000] .....     7.091122: ". */
static void add_context(struct trace_output *output, const struct record *record)
{
	const struct record_stack *stack = &record->stack;

	output->used = 0;
	add(output, "%16s-%-7d [%03d] %c%c%c",
	    output->setup.name(output->setup.context, record->pid, stack->ts), record->pid,
	    record->cpu, irqs_mark(stack->flags), resched_mark(stack->flags),
	    interrupt_mark(stack->flags));
	add_count(output, stack->preempt_count & 0xf);
	if (output->setup.migrate_column)
		add_count(output, stack->preempt_count >> 4);
	add(output, " %5" PRIu64 ".%06" PRIu64 ": ", stack->ts / NS_PER_SECOND,
	    stack->ts % NS_PER_SECOND / 1000);
}

/* trace_seq_print_sym(): a name without its module, an unknown address with 8 digits at least. */
static void add_frame(struct trace_output *output, uint64_t address)
{
	char name[256];

	output->setup.symbol(output->setup.context, address, 's', name, sizeof(name));
	name[strcspn(name, " ")] = '\0';
	if (!address)
		add(output, "0");
	else if (address == TRAMPOLINE_MARKER)
		add(output, "[FTRACE TRAMPOLINE]");
	else if (!strncmp(name, "0x", 2))
		add(output, "0x%08" PRIx64, address);
	else
		add(output, "%s", name);
}

static int frame_line(struct trace_output *output, uint64_t address)
{
	output->used = 0;
	add(output, " => ");
	add_frame(output, address);
	return end_line(output);
}

/* The stack behind an event, if it has one. */
static int stack_lines(struct trace_output *output, const struct record *record)
{
	const uint64_t *frames;
	size_t count;
	int ret;

	if (!record->stack.number)
		return 0;
	count = output->setup.stack(output->setup.context, record->stack.number, &frames);
	add_context(output, record);
	add(output, "<stack trace>");
	ret = end_line(output);
	for (size_t i = 0; !ret && i < count; i++)
		ret = frame_line(output, frames[i]);
	return ret;
}

static int event_lines(struct trace_output *output, const struct record *const *events,
		       size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++) {
		int ret = event_line(output, events[i]);

		if (!ret)
			ret = stack_lines(output, events[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int trace_output_window(struct trace_output *output, const struct task_window *window)
{
	int ret = event_lines(output, window->events, window->nr_events);

	return ret ? ret : exit_line(output, window->exit);
}

int trace_output_pair(struct trace_output *output, const struct task_pair *pair)
{
	int ret = event_line(output, pair->begin);

	if (!ret)
		ret = stack_lines(output, pair->begin);
	if (!ret)
		ret = event_lines(output, pair->events, pair->nr_events);
	return ret ? ret : event_line(output, pair->end);
}
