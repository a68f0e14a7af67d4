// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/tracing.h"
#include "tracing/btf.h"

/* The first argument of a function, as a kprobe event names it. */
#if defined(__x86_64__)
#define FIRST_ARGUMENT "%di"
#elif defined(__i386__)
#define FIRST_ARGUMENT "%ax"
#elif defined(__aarch64__)
#define FIRST_ARGUMENT "%x0"
#elif defined(__arm__)
#define FIRST_ARGUMENT "%r0"
#elif defined(__s390x__)
#define FIRST_ARGUMENT "%r2"
#elif defined(__riscv)
#define FIRST_ARGUMENT "%a0"
#elif defined(__powerpc64__)
#define FIRST_ARGUMENT "%gpr3"
#else
#define FIRST_ARGUMENT "$arg1"
#endif

enum event_probes {
	EVENT_PROBES_NONE,
	EVENT_PROBES_PLAIN,  /* from 5.15 */
	EVENT_PROBES_FILTER, /* from 6.0: with a filter that is looked at before anything else */
};

static int read_offsets(struct probe *probe, const struct btf *btf)
{
	int ret = btf_member_offset(btf, "super_block", "s_id", &probe->s_id);

	if (!ret)
		ret = btf_member_offset(btf, "super_block", "s_dev", &probe->s_dev);
	if (ret)
		return ret;
	ret = btf_member_offset(btf, "shrinker", "private_data", &probe->private_data);
	probe->has_private_data = !ret;
	if (ret == -ENOENT)
		ret = btf_member_offset(btf, "super_block", "s_shrink", &probe->s_shrink);
	return ret;
}

static const char *what_is_wrong(int error)
{
	switch (error) {
	case ENOENT:
		return "not there: the kernel has no CONFIG_DEBUG_INFO_BTF";
	case EINVAL:
		return "no BTF in it";
	default:
		return strerror(error);
	}
}

static int find_offsets(struct probe *probe, struct failure *failure)
{
	struct btf *btf;
	int ret = btf_open(&btf, BTF_VMLINUX);

	if (ret)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, -ret, BTF_VMLINUX ": %s",
				   what_is_wrong(-ret));
	ret = read_offsets(probe, btf);
	btf_free(btf);
	if (ret)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, -ret,
				   BTF_VMLINUX
				   ": it does not tell where superblocks have their names");
	return 0;
}

/* The help of tracefs tells what may be written, so that nothing has to be tried. */
static enum event_probes event_probes_of(const struct kernel *kernel)
{
	enum event_probes probes = EVENT_PROBES_NONE;
	char *help;

	if (file_read(kernel->dir, "README", &help, NULL))
		return probes;
	if (strstr(help, "<attached-event> [<args>] [if <filter>]"))
		probes = EVENT_PROBES_FILTER;
	else if (strstr(help, "<attached-event> [<args>]"))
		probes = EVENT_PROBES_PLAIN;
	free(help);
	return probes;
}

static bool has_file(const struct kernel *kernel, const char *name)
{
	char path[PATH_MAX];

	return !file_path(path, kernel->dir, name) && !access(path, F_OK);
}

/* Where a member of the superblock lies, seen from the shrinker. */
static const char *member_at(const struct probe *probe, uint32_t member, const char *shrinker,
			     char *text, size_t size)
{
	if (probe->has_private_data)
		snprintf(text, size, "+%" PRIu32 "(+%" PRIu32 "(%s))", member, probe->private_data,
			 shrinker);
	else
		snprintf(text, size, "%+" PRId64 "(%s)", (int64_t)member - (int64_t)probe->s_shrink,
			 shrinker);
	return text;
}

#define MEMBER_AT(probe, member, shrinker) member_at(probe, member, shrinker, (char[64]){ 0 }, 64)

static void define_kprobe(struct probe *probe)
{
	snprintf(probe->definition, sizeof(probe->definition),
		 "p:" PROBE_EVENT " " PROBE_CALLBACK " shr=%s id=%s:string dev=%s:u32",
		 FIRST_ARGUMENT, MEMBER_AT(probe, probe->s_id, FIRST_ARGUMENT),
		 MEMBER_AT(probe, probe->s_dev, FIRST_ARGUMENT));
}

static void define_event_probe(struct probe *probe, uint64_t callback)
{
	char filter[64] = "";

	if (callback)
		snprintf(filter, sizeof(filter), "shrink == 0x%" PRIx64, callback);
	snprintf(probe->definition, sizeof(probe->definition),
		 "e:" PROBE_EVENT
		 " vmscan/mm_shrink_slab_start shr=$shr shrink=$shrink id=%s:string dev=%s:u32%s%s",
		 MEMBER_AT(probe, probe->s_id, "$shr"), MEMBER_AT(probe, probe->s_dev, "$shr"),
		 callback && probe->filtered ? " if " : "", probe->filtered ? filter : "");
	if (!probe->filtered)
		snprintf(probe->filter, sizeof(probe->filter), "%s", filter);
}

int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure)
{
	enum event_probes probes = event_probes_of(kernel);

	memset(probe, 0, sizeof(*probe));
	if (!has_file(kernel, "dynamic_events") || (!probes && !has_file(kernel, "kprobe_events")))
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "this kernel has neither event probes nor kprobe events");
	probe->on_event = probes != EVENT_PROBES_NONE;
	probe->filtered = probes == EVENT_PROBES_FILTER;
	return find_offsets(probe, failure);
}

void probe_define(struct probe *probe, uint64_t callback)
{
	if (probe->on_event)
		define_event_probe(probe, callback);
	else
		define_kprobe(probe);
}
