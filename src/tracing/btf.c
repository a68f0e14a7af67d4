// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "tracing/btf.h"

#define DEPTH_MAX   32	       /* anonymous members in each other, or qualifiers */
#define SIZE_LIMIT  (64 << 20) /* no kernel has as much */
#define IS_STRUCT   (1u << 31) /* of a place: a search need not read other types */
#define MEMBERS_MAX 65536      /* looked at in one search: damaged data could ask for 2^32 */

/*
 * The kernel that runs may be older or newer than the headers: in 7.2 the header is longer, and
 * the fields of a type's info are wider by bits that were unused.
 */
#define HEADER_SIZE	(offsetof(struct btf_header, str_len) + sizeof(uint32_t))
#define INFO_KIND(info) (0x7f & (info) >> 24)
#define INFO_VLEN(info) (0xffffff & (info))

/* Its types, two thirds of the file, are not kept in memory, which may be short. */
struct btf {
	int fd;
	off_t types; /* where they start in the file */
	size_t types_size;
	char *strings;
	size_t strings_size;
	uint32_t *places; /* of each type in types, with IS_STRUCT; types count from 1 */
	size_t nr_places;
	/* The part of the types that was read last: a read of sysfs gives no more than a page. */
	size_t window_place;
	size_t window_size;
	unsigned char window[4096];
};

/* Reads all of @size, or returns -errno (-EINVAL: the file is too short). */
static int read_file(int fd, void *to, size_t size, off_t place)
{
	while (size) {
		ssize_t got = pread(fd, to, size, place);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EINVAL;
		to = (char *)to + got;
		size -= got;
		place += got;
	}
	return 0;
}

static bool read_at(struct btf *btf, size_t place, void *to, size_t size)
{
	if (place > btf->types_size || btf->types_size - place < size)
		return false;
	if (place < btf->window_place || place + size > btf->window_place + btf->window_size) {
		ssize_t got =
			pread(btf->fd, btf->window, sizeof(btf->window), btf->types + (off_t)place);

		btf->window_place = place;
		btf->window_size = got > 0 ? got : 0;
		if (btf->window_size < size)
			return false;
	}
	memcpy(to, btf->window + (place - btf->window_place), size);
	return true;
}

/* Returns the place after a type and its members; 0 for one that is cut or of an unknown kind. */
static size_t next_place(struct btf *btf, size_t place, unsigned int *ret_kind)
{
	/* What follows a type: so many bytes, or so many for each of its members. */
	static const struct {
		uint8_t fixed;
		uint8_t each;
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
	struct btf_type type;
	unsigned int kind;
	size_t size;

	if (!read_at(btf, place, &type, sizeof(type)))
		return 0;
	kind = INFO_KIND(type.info);
	*ret_kind = kind;
	if (kind == BTF_KIND_UNKN || kind >= ARRAY_SIZE(tails))
		return 0;
	size = sizeof(type) + tails[kind].fixed + (size_t)tails[kind].each * INFO_VLEN(type.info);
	return btf->types_size - place < size ? 0 : place + size;
}

/* Where the sections lie, and the strings and the places of all types. */
static int read_sections(struct btf *btf, size_t size)
{
	struct btf_header header;
	size_t next;
	unsigned int kind;
	int ret = size < HEADER_SIZE ? -EINVAL : read_file(btf->fd, &header, HEADER_SIZE, 0);

	if (ret)
		return ret;
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.hdr_len < HEADER_SIZE || header.hdr_len > size)
		return -EINVAL;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off)
		return -EINVAL;
	btf->types = (off_t)header.hdr_len + header.type_off;
	btf->types_size = header.type_len;
	btf->strings_size = header.str_len;
	btf->strings = malloc(btf->strings_size + 1);
	btf->places = calloc(header.type_len / sizeof(struct btf_type) + 1, sizeof(*btf->places));
	if (!btf->strings || !btf->places)
		return -ENOMEM;
	ret = read_file(btf->fd, btf->strings, btf->strings_size,
			(off_t)header.hdr_len + header.str_off);
	if (ret)
		return ret;
	/* After a type of a newer kernel's kind nothing can be found; what is before it can. */
	for (size_t place = 0; (next = next_place(btf, place, &kind)); place = next)
		btf->places[btf->nr_places++] =
			(uint32_t)place | (kind == BTF_KIND_STRUCT ? IS_STRUCT : 0);
	return btf->nr_places ? 0 : -EINVAL;
}

int btf_open(struct btf **ret_btf, const char *path)
{
	struct btf *btf = calloc(1, sizeof(*btf));
	struct stat st;
	int ret;

	if (!btf)
		return -ENOMEM;
	btf->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (btf->fd < 0 || fstat(btf->fd, &st))
		ret = -errno;
	else
		ret = st.st_size > SIZE_LIMIT ? -EFBIG : read_sections(btf, st.st_size);
	if (ret)
		btf_free(btf);
	else
		*ret_btf = btf;
	return ret;
}

void btf_free(struct btf *btf)
{
	if (!btf)
		return;
	if (btf->fd >= 0)
		close(btf->fd);
	free(btf->places);
	free(btf->strings);
	free(btf);
}

static bool name_is(const struct btf *btf, uint32_t name, const char *wanted)
{
	size_t size = strlen(wanted) + 1;

	return name < btf->strings_size && btf->strings_size - name >= size &&
	       !memcmp(btf->strings + name, wanted, size);
}

/* Reads a type without its typedefs and qualifiers. */
static bool read_type(struct btf *btf, uint32_t id, struct btf_type *type, size_t *ret_place)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (!id || id > btf->nr_places)
			return false;
		*ret_place = btf->places[id - 1] & ~IS_STRUCT;
		if (!read_at(btf, *ret_place, type, sizeof(*type)))
			return false;
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

struct member_search {
	struct btf *btf;
	const char *wanted;
	uint64_t found; /* bits from the start of the structure */
	unsigned int looked_at;
};

static int find_member(struct member_search *search, const struct btf_type *type, size_t place,
		       uint64_t start, int depth)
{
	place += sizeof(*type);
	for (uint32_t i = 0; i < INFO_VLEN(type->info); i++) {
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
		if (INFO_KIND(inner.info) != BTF_KIND_STRUCT &&
		    INFO_KIND(inner.info) != BTF_KIND_UNION)
			continue; /* a bit field that only fills */
		ret = find_member(search, &inner, inner_place, offset, depth + 1);
		if (ret != -ENOENT)
			return ret;
	}
	return -ENOENT;
}

int btf_member_offset(struct btf *btf, const char *structure, const char *member,
		      uint32_t *ret_offset)
{
	for (size_t i = 0; i < btf->nr_places; i++) {
		struct member_search search = { .btf = btf, .wanted = member };
		size_t place = btf->places[i] & ~IS_STRUCT;
		struct btf_type type;
		int ret;

		if (!(btf->places[i] & IS_STRUCT) || !read_at(btf, place, &type, sizeof(type)) ||
		    !name_is(btf, type.name_off, structure))
			continue;
		ret = find_member(&search, &type, place, 0, 0);
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
