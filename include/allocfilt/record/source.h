/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_RECORD_SOURCE_H
#define ALLOCFILT_RECORD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocfilt/base/memory.h"
#include "allocfilt/base/trace_dir.h"
#include "allocfilt/record/page.h"

/* A file of a capture that is in memory. */
struct source_file {
	char *path; /* as in a capture */
	char *text; /* any bytes, and a NUL */
	size_t length;
};

/*
 * Describes the data of a running kernel or a capture. It, and what it points to, must outlive the
 * stages that use it.
 */
struct data_source {
	const char *dir; /* the tracing directory at its top level, the capture, or its trace.dat */
	const struct source_file *files; /* of a trace.dat, sorted by path; NULL: they are in dir */
	size_t nr_files;
	const char *proc;    /* "/proc" of the running kernel, NULL for a capture */
	bool no_saved_names; /* saved_cmdlines has older names alone, for now: those of /proc count */
	/* The machine that was traced; "" or NULL: not known. */
	const char *host;    /* name, any bytes */
	const char *release; /* uname -r */
	const char *machine; /* uname -m */
	const char *clock;   /* trace clock */
	uint64_t date;	  /* ns, of a trace.dat: from its trace clock to the epoch; 0: not known */
	uint64_t started; /* ns since the epoch: start of tracing; 0: not known */
	struct page_layout layout;
	struct cpu_list cpus;
	uint64_t bytes; /* of the pages of a capture; 0: a running kernel */
	bool local_clock; /* false: another clock, so a window's edges follow from the time of its record */
	const char *cgroups;   /* see cgroups_new() */
	pid_t own;	       /* the process that traced, which is not shown; 0: not known */
	pid_t command;	       /* COMMAND: only it and its children are shown; 0: none */
	const pid_t *recorded; /* processes that the kernel was to record; 0 ends; NULL: all */
	struct memory_pressure pressure_before; /* of the run */
	struct memory_pressure pressure_after;	/* its end, or now */
};

/** event_number - an unsigned number of 1 to 8 bytes, in either byte order */
uint64_t event_number(const void *at, size_t size, bool big_endian);

/**
 * source_open - open a file of names or formats
 * @path: as in a capture: "kallsyms", "mountinfo", "saved_cmdlines", "events/SYSTEM/NAME/format" …
 *
 * Returns a descriptor, or -errno as file_open().
 */
int source_open(const struct data_source *source, const char *path);

/** source_read - read such a file as a whole, as file_read() does */
int source_read(const struct data_source *source, const char *path, char **ret_text,
		size_t *ret_length);

/** source_has - is there such a file? Of a trace.dat only */
bool source_has(const struct data_source *source, const char *path);

/** source_events - call @visit for each event that has a format; as event_directories() */
int source_events(const struct data_source *source,
		  int (*visit)(void *context, const char *system, const char *name), void *context);

#endif
