// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracing/btf.h"

#define MAGIC		      0xeb9f
#define VERSION		      1
#define FILE_MAX	      (256u << 20) /* bytes; that of Debian's 7.3 has 5 MiB */
#define READ_STEP	      (1u << 20)
#define DEPTH_MAX	      32    /* anonymous members within each other, or qualifiers */
#define MEMBERS_LOOKED_AT_MAX 65536 /* in one search: damaged data could ask for 2^32 */

enum kind {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
	KIND_COUNT,
};

struct header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t length;
	uint32_t type_offset; /* from the header's end, as the next ones */
	uint32_t type_length;
	uint32_t string_offset;
	uint32_t string_length;
};

struct type {
	uint32_t name;
	uint32_t info;
	uint32_t size_or_type;
};

struct member {
	uint32_t name;
	uint32_t type;
	uint32_t offset; /* bits; of a structure with bit fields the lower 24 bits of it */
};

/* What stands behind a type: so many bytes, or so many for each of its members. */
static const struct {
	uint8_t fixed;
	uint8_t each;
} tails[KIND_COUNT] = {
	[KIND_INT] = { .fixed = 4 },
	[KIND_ARRAY] = { .fixed = 12 },
	[KIND_STRUCT] = { .each = sizeof(struct member) },
	[KIND_UNION] = { .each = sizeof(struct member) },
	[KIND_ENUM] = { .each = 8 },
	[KIND_FUNC_PROTO] = { .each = 8 },
	[KIND_VAR] = { .fixed = 4 },
	[KIND_DATASEC] = { .each = 12 },
	[KIND_DECL_TAG] = { .fixed = 4 },
	[KIND_ENUM64] = { .each = 12 },
};

struct btf {
	void *read; /* of btf_open() */
	const unsigned char *types;
	size_t types_size;
	const char *strings;
	size_t strings_size;
	uint32_t *places; /* of each type in types; types count from 1 */
	size_t nr_places;
};

static enum kind kind_of(const struct type *type)
{
	return type->info >> 24 & 0x1f;
}

/* 16 bits; the 8 above them were always 0 so far and are what there is to grow. */
static uint32_t members_of(const struct type *type)
{
	return type->info & 0xffffff;
}

static bool has_bit_fields(const struct type *type)
{
	return type->info >> 31;
}

static bool read_at(const struct btf *btf, size_t place, void *to, size_t size)
{
	if (place > btf->types_size || btf->types_size - place < size)
		return false;
	memcpy(to, btf->types + place, size);
	return true;
}

/* The place behind a type and all that belongs to it; 0 for one that cannot be passed. */
static size_t place_behind(const struct btf *btf, size_t place)
{
	struct type type;
	size_t size;

	if (!read_at(btf, place, &type, sizeof(type)))
		return 0;
	if (!kind_of(&type) || kind_of(&type) >= KIND_COUNT)
		return 0;
	size = sizeof(type) + tails[kind_of(&type)].fixed +
	       (size_t)tails[kind_of(&type)].each * members_of(&type);
	return btf->types_size - place < size ? 0 : place + size;
}

/* What stands behind a type of a newer kind cannot be found any more; what is before it can. */
static int find_places(struct btf *btf)
{
	size_t room = btf->types_size / sizeof(struct type);
	size_t behind;

	btf->places = calloc(room + 1, sizeof(*btf->places));
	if (!btf->places)
		return -ENOMEM;
	for (size_t place = 0; (behind = place_behind(btf, place)); place = behind)
		btf->places[btf->nr_places++] = (uint32_t)place;
	return btf->nr_places ? 0 : -EINVAL;
}

static bool section_fits(size_t size, uint32_t offset, uint32_t length)
{
	return offset <= size && length <= size - offset;
}

static int find_sections(struct btf *btf, const unsigned char *data, size_t size)
{
	struct header header;

	if (size < sizeof(header) || size > FILE_MAX)
		return size > FILE_MAX ? -EFBIG : -EINVAL;
	memcpy(&header, data, sizeof(header));
	if (header.magic != MAGIC || header.version != VERSION || header.length < sizeof(header) ||
	    header.length > size)
		return -EINVAL;
	size -= header.length;
	if (!section_fits(size, header.type_offset, header.type_length) ||
	    !section_fits(size, header.string_offset, header.string_length))
		return -EINVAL;
	btf->types = data + header.length + header.type_offset;
	btf->types_size = header.type_length;
	btf->strings = (const char *)data + header.length + header.string_offset;
	btf->strings_size = header.string_length;
	return 0;
}

int btf_new(struct btf **ret_btf, const void *data, size_t size)
{
	struct btf *btf = calloc(1, sizeof(*btf));
	int ret;

	if (!btf)
		return -ENOMEM;
	ret = find_sections(btf, data, size);
	if (!ret)
		ret = find_places(btf);
	if (ret) {
		btf_free(btf);
		return ret;
	}
	*ret_btf = btf;
	return 0;
}

void btf_free(struct btf *btf)
{
	if (!btf)
		return;
	free(btf->places);
	free(btf->read);
	free(btf);
}

/* To the end of the file: stat() of a file of sysfs need not tell its size. */
static int read_rest(int fd, unsigned char **data, size_t *size)
{
	size_t room = 0;

	for (;;) {
		unsigned char *more;
		ssize_t got;

		if (*size == room) {
			room += READ_STEP + room / 2;
			more = room > FILE_MAX ? NULL : realloc(*data, room);
			if (!more)
				return room > FILE_MAX ? -EFBIG : -ENOMEM;
			*data = more;
		}
		got = read(fd, *data + *size, room - *size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		*size += (size_t)got;
	}
}

static int read_file(const char *path, unsigned char **ret_data, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	*ret_data = NULL;
	*ret_size = 0;
	if (fd < 0)
		return -errno;
	ret = read_rest(fd, ret_data, ret_size);
	close(fd);
	if (ret)
		free(*ret_data);
	return ret;
}

int btf_open(struct btf **btf, const char *path)
{
	unsigned char *data;
	size_t size;
	int ret = read_file(path, &data, &size);

	if (ret)
		return ret;
	ret = btf_new(btf, data, size);
	if (ret)
		free(data);
	else
		(*btf)->read = data;
	return ret;
}

/* ---- looking up ---- */

static bool name_is(const struct btf *btf, uint32_t name, const char *wanted)
{
	size_t size = strlen(wanted) + 1;

	return name < btf->strings_size && btf->strings_size - name >= size &&
	       !memcmp(btf->strings + name, wanted, size);
}

static bool is_qualifier(enum kind kind)
{
	return kind == KIND_TYPEDEF || kind == KIND_VOLATILE || kind == KIND_CONST ||
	       kind == KIND_RESTRICT || kind == KIND_TYPE_TAG;
}

/* Reads a type, past names and qualifiers of it. */
static bool read_type(const struct btf *btf, uint32_t id, struct type *type, size_t *ret_place)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (!id || id > btf->nr_places)
			return false;
		*ret_place = btf->places[id - 1];
		if (!read_at(btf, *ret_place, type, sizeof(*type)))
			return false;
		if (!is_qualifier(kind_of(type)))
			return true;
		id = type->size_or_type;
	}
	return false;
}

struct member_search {
	const struct btf *btf;
	const char *wanted;
	uint64_t found; /* bits from the start of the structure */
	unsigned int looked_at;
};

static int find_member(struct member_search *search, const struct type *type, size_t place,
		       uint64_t start, int depth);

static int find_in_anonymous(struct member_search *search, uint32_t id, uint64_t start, int depth)
{
	struct type type;
	size_t place;

	if (depth >= DEPTH_MAX || !read_type(search->btf, id, &type, &place))
		return -EINVAL;
	if (kind_of(&type) != KIND_STRUCT && kind_of(&type) != KIND_UNION)
		return -ENOENT; /* a bit field that only fills */
	return find_member(search, &type, place, start, depth + 1);
}

static int look_at_member(struct member_search *search, const struct type *type,
			  const struct member *member, uint64_t start, int depth)
{
	uint64_t offset =
		start + (has_bit_fields(type) ? member->offset & 0xffffff : member->offset);

	if (search->looked_at++ >= MEMBERS_LOOKED_AT_MAX)
		return -EINVAL;
	if (name_is(search->btf, member->name, search->wanted)) {
		search->found = offset;
		return 0;
	}
	if (!name_is(search->btf, member->name, ""))
		return -ENOENT;
	return find_in_anonymous(search, member->type, offset, depth);
}

static int find_member(struct member_search *search, const struct type *type, size_t place,
		       uint64_t start, int depth)
{
	struct member member;
	int ret = -ENOENT;

	place += sizeof(*type);
	for (uint32_t i = 0; ret == -ENOENT && i < members_of(type); i++) {
		if (!read_at(search->btf, place + i * sizeof(member), &member, sizeof(member)))
			return -EINVAL;
		ret = look_at_member(search, type, &member, start, depth);
	}
	return ret;
}

static int member_of_structure(const struct btf *btf, size_t place, const char *member,
			       uint32_t *ret_offset)
{
	struct member_search search = { .btf = btf, .wanted = member };
	struct type type;
	int ret;

	if (!read_at(btf, place, &type, sizeof(type)))
		return -EINVAL;
	ret = find_member(&search, &type, place, 0, 0);
	if (ret)
		return ret;
	if (search.found % 8 || search.found / 8 > type.size_or_type)
		return -EINVAL;
	*ret_offset = (uint32_t)(search.found / 8);
	return 0;
}

int btf_member_offset(const struct btf *btf, const char *structure, const char *member,
		      uint32_t *ret_offset)
{
	int ret = -ENOENT;

	for (size_t i = 0; ret == -ENOENT && i < btf->nr_places; i++) {
		struct type type;

		if (read_at(btf, btf->places[i], &type, sizeof(type)) &&
		    kind_of(&type) == KIND_STRUCT && name_is(btf, type.name, structure))
			ret = member_of_structure(btf, btf->places[i], member, ret_offset);
	}
	return ret;
}
