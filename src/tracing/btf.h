/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_BTF_H
#define ALLOCFILT_TRACING_BTF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The places of members in the kernel's structures: a reader of BTF as /sys/kernel/btf/vmlinux has
 * it (Documentation/bpf/btf.rst), in this machine's byte order. No number in the data is trusted.
 */

#define BTF_VMLINUX "/sys/kernel/btf/vmlinux"

struct btf {
	const char *types, *strings; /* sections of the data */
	size_t types_size, strings_size;
};

/** btf_init - find the sections of @data, which has to outlive @btf; 0, or -EINVAL: it is no BTF */
int btf_init(struct btf *btf, const void *data, size_t size);

/**
 * btf_member_offset - bytes from the start of a structure to a member
 *
 * Members of anonymous structures and unions in it are its own. Returns 0, -ENOENT without such a
 * structure or member, -EINVAL for data that is damaged, or a member that does not begin at a byte.
 */
int btf_member_offset(const struct btf *btf, const char *structure, const char *member,
		      uint32_t *ret_offset);

#endif
