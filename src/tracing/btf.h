/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TRACING_BTF_H
#define ALLOCFILT_TRACING_BTF_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where the members of the kernel's structures lie: a reader of BTF as /sys/kernel/btf/vmlinux has
 * it (Documentation/bpf/btf.rst), in this machine's byte order. Nothing in the data is trusted.
 */

#define BTF_VMLINUX "/sys/kernel/btf/vmlinux"

struct btf;

/**
 * btf_open - read a file of BTF
 *
 * Takes as much memory as the names in it. Returns 0, -EINVAL for a file that is no BTF, -EFBIG for
 * one that cannot be, or -errno of the file. Release with btf_free().
 */
int btf_open(struct btf **btf, const char *path);

void btf_free(struct btf *btf);

/**
 * btf_member_offset - bytes from the start of a structure to a member
 *
 * Members of anonymous structures and unions in it are its own. Returns 0, -ENOENT without such a
 * structure or member, -EINVAL for data that is damaged, or a member that does not begin at a byte.
 */
int btf_member_offset(struct btf *btf, const char *structure, const char *member,
		      uint32_t *ret_offset);

#endif
