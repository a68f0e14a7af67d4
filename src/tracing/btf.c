// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base.h"
#include "tracing/btf.h"

#define DEPTH_MAX   32	  /* anonymous members in each other, or qualifiers */
#define MEMBERS_MAX 65536 /* looked at in one search: damaged data could ask for 2^32 */

struct btf {
	char *file; /* of btf_open() */
	const unsigned char *types;
	size_t types_size;
	const char *strings;
	size_t strings_size;
	uint32_t *places; /* of each type in types; types count from 1 */
	size_t nr_places;
};

static bool read_at(const struct btf *btf, size_t place, void *to, size_t size)
{
	if (place > btf->types_size || btf->types_size - place < size)
		return false;
	memcpy(to, btf->types + place, size);
	return true;
}

/* Returns the place after a type and its members; 0 for one that is cut or of an unknown kind. */
static size_t next_place(const struct btf *btf, size_t place)
{
	/* What follows a type: so many bytes, or so many for each of its members. */
	static const struct {
		uint8_t fixed;
		uint8_t each;
	} tails[NR_BTF_KINDS] = {
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
	struct btf_type type;
	unsigned int kind;
	size_t size;

	if (!read_at(btf, place, &type, sizeof(type)))
		return 0;
	kind = BTF_INFO_KIND(type.info);
	if (kind == BTF_KIND_UNKN || kind >= NR_BTF_KINDS)
		return 0;
	size = sizeof(type) + tails[kind].fixed +
	       (size_t)tails[kind].each * BTF_INFO_VLEN(type.info);
	return btf->types_size - place < size ? 0 : place + size;
}

int btf_new(struct btf **ret_btf, const void *data, size_t size)
{
	struct btf_header header;
	struct btf *btf;
	size_t next;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, data, sizeof(header));
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.hdr_len < sizeof(header) || header.hdr_len > size)
		return -EINVAL;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off)
		return -EINVAL;
	btf = calloc(1, sizeof(*btf));
	if (!btf)
		return -ENOMEM;
	btf->types = (const unsigned char *)data + header.hdr_len + header.type_off;
	btf->types_size = header.type_len;
	btf->strings = (const char *)data + header.hdr_len + header.str_off;
	btf->strings_size = header.str_len;
	btf->places = calloc(header.type_len / sizeof(struct btf_type) + 1, sizeof(*btf->places));
	if (!btf->places) {
		btf_free(btf);
		return -ENOMEM;
	}
	/* After a type of a newer kernel's kind nothing can be found; what is before it can. */
	for (size_t place = 0; (next = next_place(btf, place)); place = next)
		btf->places[btf->nr_places++] = (uint32_t)place;
	if (!btf->nr_places) {
		btf_free(btf);
		return -EINVAL;
	}
	*ret_btf = btf;
	return 0;
}

void btf_free(struct btf *btf)
{
	if (!btf)
		return;
	free(btf->places);
	free(btf->file);
	free(btf);
}

int btf_open(struct btf **btf, const char *path)
{
	char *data;
	size_t size;
	int ret = file_read(NULL, path, &data, &size);

	if (ret)
		return ret;
	ret = btf_new(btf, data, size);
	if (ret)
		free(data);
	else
		(*btf)->file = data;
	return ret;
}

static bool name_is(const struct btf *btf, uint32_t name, const char *wanted)
{
	size_t size = strlen(wanted) + 1;

	return name < btf->strings_size && btf->strings_size - name >= size &&
	       !memcmp(btf->strings + name, wanted, size);
}

/* Reads a type without its typedefs and qualifiers. */
static bool read_type(const struct btf *btf, uint32_t id, struct btf_type *type, size_t *ret_place)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (!id || id > btf->nr_places)
			return false;
		*ret_place = btf->places[id - 1];
		if (!read_at(btf, *ret_place, type, sizeof(*type)))
			return false;
		switch (BTF_INFO_KIND(type->info)) {
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

struct member_search {
	const struct btf *btf;
	const char *wanted;
	uint64_t found; /* bits from the start of the structure */
	unsigned int looked_at;
};

static int find_member(struct member_search *search, const struct btf_type *type, size_t place,
		       uint64_t start, int depth)
{
	place += sizeof(*type);
	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		struct btf_member member;
		struct btf_type inner;
		size_t inner_place;
		uint64_t offset;
		int ret;

		if (search->looked_at++ >= MEMBERS_MAX ||
		    !read_at(search->btf, place + i * sizeof(member), &member, sizeof(member)))
			return -EINVAL;
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
		if (depth >= DEPTH_MAX ||
		    !read_type(search->btf, member.type, &inner, &inner_place))
			return -EINVAL;
		if (BTF_INFO_KIND(inner.info) != BTF_KIND_STRUCT &&
		    BTF_INFO_KIND(inner.info) != BTF_KIND_UNION)
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
	for (size_t i = 0; i < btf->nr_places; i++) {
		struct member_search search = { .btf = btf, .wanted = member };
		struct btf_type type;
		int ret;

		if (!read_at(btf, btf->places[i], &type, sizeof(type)) ||
		    BTF_INFO_KIND(type.info) != BTF_KIND_STRUCT ||
		    !name_is(btf, type.name_off, structure))
			continue;
		ret = find_member(&search, &type, btf->places[i], 0, 0);
		if (ret == -ENOENT)
			continue;
		if (!ret && (search.found % 8 || search.found / 8 > type.size))
			ret = -EINVAL;
		if (!ret)
			*ret_offset = (uint32_t)(search.found / 8);
		return ret;
	}
	return -ENOENT;
}
