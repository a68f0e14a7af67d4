// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "allocfilt/base/file.h"
#include "allocfilt/tracing/probe.h"
#include "tracing/btf.h"

/* The first argument of a function, and its return address, as a kprobe event at its entry names them. */
#if defined(__x86_64__)
#define FIRST_ARGUMENT "%di"
#define RETURN_ADDRESS "$stack0"
#elif defined(__i386__)
#define FIRST_ARGUMENT "%ax"
#define RETURN_ADDRESS "$stack0"
#elif defined(__aarch64__)
#define FIRST_ARGUMENT "%x0"
#define RETURN_ADDRESS "%lr"
#elif defined(__arm__)
#define FIRST_ARGUMENT "%r0"
#define RETURN_ADDRESS "%lr"
#elif defined(__s390x__)
#define FIRST_ARGUMENT "%r2"
#define RETURN_ADDRESS "%r14"
#elif defined(__riscv)
#define FIRST_ARGUMENT "%a0"
#define RETURN_ADDRESS "%ra"
#elif defined(__powerpc64__)
#define FIRST_ARGUMENT "%gpr3"
#define RETURN_ADDRESS "%link"
#else
#define FIRST_ARGUMENT "$arg1"
#define RETURN_ADDRESS "$stack0"
#endif

const char *probe_definition(enum event_id id)
{
	if (id == EVENT_REFAULT)
		return "p:" PROBE_SYSTEM "/refault workingset_refault";
	if (id == EVENT_WAIT_END)
		return "p:" PROBE_SYSTEM "/memory_wait_end psi_memstall_leave";
	return sizeof(long) == 8 ? "p:" PROBE_SYSTEM "/memory_wait_begin psi_memstall_enter "
				   "caller=" RETURN_ADDRESS ":x64" :
				   "p:" PROBE_SYSTEM "/memory_wait_begin psi_memstall_enter "
				   "caller=" RETURN_ADDRESS ":x32";
}

/* Fetches a member of the superblock, starting from its shrinker. */
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

/* Returns 0 or -errno (-ENOENT: the kernel's structures have no such members). */
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

static int read_btf(struct probe *probe, struct failure *failure)
{
	struct btf btf;
	char *data = NULL;
	size_t size;
	int ret = file_read(NULL, BTF_VMLINUX, &data, &size);

	if (!ret)
		ret = btf_init(&btf, data, size);
	if (ret)
		failure_set(failure, EXIT_STATUS_NO_FEATURE, -ret, BTF_VMLINUX ": %s",
			    ret == -ENOENT ? "the kernel has no CONFIG_DEBUG_INFO_BTF" :
			    ret == -EINVAL ? "no BTF in it" :
					     strerror(-ret));
	else if ((ret = read_offsets(probe, &btf)))
		failure_set(failure, EXIT_STATUS_NO_FEATURE, -ret,
			    BTF_VMLINUX ": superblocks have no names where they had them");
	free(data);
	return ret;
}

int probe_find(struct probe *probe, const struct kernel *kernel, struct failure *failure)
{
	struct tracefs_instance *top = tracefs_instance_alloc(kernel->dir, NULL);
	bool dynamic, kprobes;
	char *help;
	int ret;

	if (!top)
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, errno, "%s: %m", kernel->dir);
	dynamic = tracefs_file_exists(top, "dynamic_events");
	kprobes = tracefs_file_exists(top, "kprobe_events");
	help = tracefs_instance_file_read(top, "README", NULL);
	memset(probe, 0, sizeof(*probe));
	/* The README of tracefs lists what may be written: event probes from 5.15. */
	probe->on_event = help && strstr(help, "<attached-event> [<args>]");
	free(help);
	tracefs_instance_free(top);
	if (!dynamic || (!probe->on_event && !kprobes))
		return failure_set(failure, EXIT_STATUS_NO_FEATURE, ENOENT,
				   "this kernel has neither event probes nor kprobe events");
	ret = read_btf(probe, failure);
	if (ret)
		return ret;
	probe_define(probe);
	return 0;
}

void probe_define(struct probe *probe)
{
	const char *shrinker = probe->on_event ? "$shr" : FIRST_ARGUMENT;

	snprintf(probe->definition, sizeof(probe->definition),
		 "%s shr=%s%s id=%s:string dev=%s:u32",
		 probe->on_event ? "e:" PROBE_EVENT " vmscan/mm_shrink_slab_start" :
				   "p:" PROBE_EVENT " " PROBE_CALLBACK,
		 shrinker, probe->on_event ? " shrink=$shrink" : "",
		 MEMBER_AT(probe, probe->s_id, shrinker), MEMBER_AT(probe, probe->s_dev, shrinker));
}
