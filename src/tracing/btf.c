// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>

#include "allocfilt/base/base.h"

#define DEPTH_MAX 32  /* anonymous members in each other */
#define WALKS_MAX 512 /* over all types, in one search: damaged data could ask for 2^32 */

/*
 * The kernel that runs may be older or newer than the headers: in 7.2 the header is longer, and
 * the fields of a type's info are wider by bits that were unused.
 */
#define HEADER_SIZE	(offsetof(struct btf_header, str_len) + sizeof(uint32_t))
#define INFO_KIND(info) (0x7f & (info) >> 24)
#define INFO_VLEN(info) (0xffffff & (info))

int btf_init(struct btf *btf, const void *data, size_t size)
{
	struct btf_header header;

	if (size < HEADER_SIZE)
		return -EINVAL;
	memcpy(&header, data, HEADER_SIZE);
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.hdr_len < HEADER_SIZE || header.hdr_len > size)
		return -EINVAL;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off)
		return -EINVAL;
	btf->types = (const char *)data + header.hdr_len + header.type_off;
	btf->types_size = header.type_len;
	btf->strings = (const char *)data + header.hdr_len + header.str_off;
	btf->strings_size = header.str_len;
	return 0;
}

/*
 * Reads the type at *@place, which moves behind its members. False: it is cut or of an unknown
 * kind.
 */
static bool next_type(const struct btf *btf, size_t *place, struct btf_type *type)
{
	/* The bytes that follow a type, or each of its members. */
	static const struct {
		uint8_t fixed, each;
	} tails[] = {
		[BTF_KIND_INT] = { .fixed = sizeof(uint32_t) },
		[BTF_KIND_ARRAY] = { .fixed = sizeof(struct btf_array) },
		[BTF_KIND_STRUCT] = { .each = sizeof(struct btf_member) },
		[BTF_KIND_UNION] = { .each = sizeof(struct btf_member) },
		[BTF_KIND_ENUM] = { .each = sizeof(struct btf_enum) },
		[BTF_KIND_FUNC_PROTO] = { .each = sizeof(struct btf_param) },
		[BTF_KIND_VAR] = { .fixed = sizeof(struct btf_var) },
		[BTF_KIND_DATASEC] = { .each = sizeof(struct btf_var_secinfo) },
		[BTF_KIND_DECL_TAG] = { .fixed = sizeof(struct btf_decl_tag) },
		[BTF_KIND_ENUM64] = { .each = sizeof(struct btf_enum64) },
	};
	size_t left = btf->types_size - *place, size;
	unsigned int kind;

	if (left < sizeof(*type))
		return false;
	memcpy(type, btf->types + *place, sizeof(*type));
	kind = INFO_KIND(type->info);
	if (kind == BTF_KIND_UNKN || kind >= ARRAY_SIZE(tails))
		return false;
	size = sizeof(*type) + tails[kind].fixed + (size_t)tails[kind].each * INFO_VLEN(type->info);
	if (left < size)
		return false;
	*place += size;
	return true;
}

static bool name_is(const struct btf *btf, uint32_t name, const char *wanted)
{
	size_t size = strlen(wanted) + 1;

	return name < btf->strings_size && btf->strings_size - name >= size &&
	       !memcmp(btf->strings + name, wanted, size);
}

struct member_search {
	const struct btf *btf;
	const char *wanted;
	unsigned int walks;
	uint64_t found; /* bits from the start of the structure */
};

/* Reads a type without its typedefs and qualifiers. @ret_place: of its members */
static bool read_type(struct member_search *search, uint32_t id, struct btf_type *type,
		      size_t *ret_place)
{
	while (id && search->walks++ < WALKS_MAX) {
		size_t place = 0;

		for (; id; id--) {
			*ret_place = place + sizeof(*type);
			if (!next_type(search->btf, &place, type))
				return false;
		}
		switch (INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = type->type;
			break;
		default:
			return true;
		}
	}
	return false;
}

/* @type: its @place of members was checked by next_type(); @start: bits */
static int find_member(struct member_search *search, const struct btf_type *type, size_t place,
		       uint64_t start, int depth)
{
	for (uint32_t i = 0; i < INFO_VLEN(type->info); i++, place += sizeof(struct btf_member)) {
		struct btf_member member;
		struct btf_type inner;
		size_t inner_place;
		uint64_t offset;
		int ret;

		memcpy(&member, search->btf->types + place, sizeof(member));
		offset =
			start + (BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(member.offset) :
							      member.offset);
		if (name_is(search->btf, member.name_off, search->wanted)) {
			search->found = offset;
			return 0;
		}
		if (!name_is(search->btf, member.name_off, ""))
			continue;
		/* The members of an anonymous structure or union are its parent's. */
		if (depth >= DEPTH_MAX || !read_type(search, member.type, &inner, &inner_place))
			return -EINVAL;
		if (INFO_KIND(inner.info) != BTF_KIND_STRUCT &&
		    INFO_KIND(inner.info) != BTF_KIND_UNION)
			continue; /* a bit field that only fills */
		ret = find_member(search, &inner, inner_place, offset, depth + 1);
		if (ret != -ENOENT)
			return ret;
	}
	return -ENOENT;
}

int btf_member_offset(const struct btf *btf, const char *structure, const char *member,
		      uint32_t *ret_offset)
{
	struct member_search search = { .btf = btf, .wanted = member };
	struct btf_type type;
	size_t place = 0, start = 0;
	int ret = -ENOENT;

	/* A newer kernel's kind of type ends the walk: the types before it can be found. */
	for (; ret == -ENOENT && next_type(btf, &place, &type); start = place)
		if (INFO_KIND(type.info) == BTF_KIND_STRUCT &&
		    name_is(btf, type.name_off, structure))
			ret = find_member(&search, &type, start + sizeof(type), 0, 0);
	if (!ret && (search.found % 8 || search.found / 8 > type.size))
		ret = -EINVAL;
	if (!ret)
		*ret_offset = (uint32_t)(search.found / 8);
	return ret;
}
