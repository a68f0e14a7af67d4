/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_KINDS_H
#define ALLOCFILT_TRACING_KINDS_H

#include <stdbool.h>
#include <tracefs.h>

/*
 * Kinds of settings: the way in which a file's text is read, compared and written. A kind is a
 * number here and a row of the table in kinds.c.
 */
enum setting_kind {
	SETTING_WORD,	/* one value; where several are listed, the one in brackets (trace_clock) */
	SETTING_NUMBER, /* a decimal number; -1 as well */
	SETTING_SIZE,	/* KiB, which the kernel rounds up to whole pages; "7 (expanded: 1408)" is
			   * 1408: trace.c, tracing_entries_read() */
	SETTING_LIST,	/* names, one a line, in any order; cleared by O_TRUNC. The value has no '#'
			   * lines of the kernel, no modules ("name [module]") and no function triggers
			   * ("name:traceoff:unlimited") */
	SETTING_EVENTS, /* set_event: a list of system:name; an event that has nothing but histogram
			   * triggers is left out */
	SETTING_PIDS,	/* a list of numbers, from which the kernel removes tasks that exited: any
			   * part of it is ours */
	SETTING_FILTER, /* an event's filter, "none" without one: written as it reads, or as 0 */
	SETTING_ENABLE, /* an event's enable: 0 or 1, and a * while a trigger has it enabled */
	SETTING_TRACER, /* current_tracer: nothing older is restored before it */
	SETTING_INSTANCE, /* a directory below instances: "absent" or "present" */
	SETTING_PROBE,	  /* the directory of a dynamic event: "absent" or "present"; its definition
			   * is written to dynamic_events */
	SETTING_TRIGGER,  /* an event's trigger: "present" if it has a stacktrace, else "absent" */
	SETTING_THREADS,  /* as SETTING_PIDS, but event-fork and function-fork make the kernel add
			   * children of these tasks: any list is ours */
	SETTING_MASK,	  /* CPUs as hexadecimal words with commas, the highest first; leading zeros
			   * depend on the kernel's configuration and are left out */
	SETTING_HISTOGRAM, /* an event's trigger: "present" if it has a histogram with a name of
			    * ours (HISTOGRAM_PREFIX), else "absent" */
	SETTING_KINDS,
};

#define SETTING_ABSENT	"absent"
#define SETTING_PRESENT "present"

struct setting_ops {
	bool directory; /* the file's object is there or not: SETTING_PRESENT or SETTING_ABSENT */
	bool always;	/* noted and written even where the file reads as wanted already */
	/*
	 * a list of tasks: any value is accepted, as tasks exit and fork; and a list that reads as
	 * none may still be one
	 */
	bool any;
	/* the value follows @begin in the file's text, up to one of @ends; else it is all of it */
	const char *begin, *ends;
	const char *trigger;	  /* begins the line of a trigger that is there or not */
	bool lines;		  /* a list; its value has a newline after each entry */
	bool (*keep)(char *line); /* may shorten a line; false: it is no entry; NULL: all are */
	/* NULL: the file's text, parsed; see setting_read() */
	int (*read)(struct tracefs_instance *top, const char *path, char **ret_value);
	/* are two values the same? NULL: byte by byte */
	bool (*same)(const char *one, const char *other);
	/* is @now what the kernel makes of @value, or of one of several? NULL: if it is the same */
	bool (*accepted)(const char *value, const char *now);
	/* is @now one of the values that we wrote? NULL: if it is accepted */
	bool (*ours)(const char *wrote, const char *now);
	/* may a change from @found to @wrote that ended half-way leave @now? NULL: never */
	bool (*part)(const char *wrote, const char *found, const char *now);
	/* @text: the value, or what stands for it; NULL: SETTING_ABSENT. Returns 0 or -errno. */
	int (*write)(struct tracefs_instance *top, const char *path, const char *text);
};

extern const struct setting_ops setting_kinds[SETTING_KINDS];

/**
 * setting_read - the value of a file, as its kind reads it; free() it
 * @top: the top-level tracing directory, which @path is below
 *
 * Returns 0 or -errno. -ENOENT: this kernel has no such file; or a size of 0, as that of a CPU which
 * never came online reads once it was written: kernel/trace/trace.c, update_buffer_entries().
 */
int setting_read(struct tracefs_instance *top, enum setting_kind kind, const char *path,
		 char **ret_value);

/** setting_parse - the value in the text of a file; free() it; NULL: no memory */
char *setting_parse(enum setting_kind kind, const char *text);

/** setting_same, _accepted, _is_ours, _is_part - what the kind's operation says, or its default */
bool setting_same(enum setting_kind kind, const char *one, const char *other);
bool setting_accepted(enum setting_kind kind, const char *value, const char *now);
bool setting_is_ours(enum setting_kind kind, const char *wrote, const char *now);
bool setting_is_part(enum setting_kind kind, const char *wrote, const char *found, const char *now);

#endif
