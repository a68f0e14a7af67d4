// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/btf.h>

#include "tracing/btf.h"
#include "unit_test.h"

#define BIT_FIELDS (1u << 31)

/* BTF made by hand: types and strings are put one after the other. */
static struct {
	uint32_t types[256];
	size_t nr_words;
	char strings[512];
	size_t strings_size;
	unsigned char blob[4096];
	size_t size;
} made;

static uint32_t string(const char *text)
{
	uint32_t offset = (uint32_t)made.strings_size;

	if (!*text)
		return 0;
	strcpy(made.strings + offset, text);
	made.strings_size += strlen(text) + 1;
	return offset;
}

static void word(uint32_t value)
{
	made.types[made.nr_words++] = value;
}

static void type(const char *name, uint32_t kind, uint32_t members, uint32_t size_or_type)
{
	word(string(name));
	word((kind & BIT_FIELDS) | (kind & 0x7f) << 24 | members);
	word(size_or_type);
}

static void member(const char *name, uint32_t of_type, uint32_t bits)
{
	word(string(name));
	word(of_type);
	word(bits);
}

static void start(void)
{
	memset(&made, 0, sizeof(made));
	made.strings_size = 1;
	type("int", BTF_KIND_INT, 0, 4); /* 1 */
	word(32);
}

static void finish(void)
{
	uint32_t types = (uint32_t)(made.nr_words * 4);
	uint32_t header[6] = { 0x1eb9f, 24, 0, types, types, (uint32_t)made.strings_size };

	memcpy(made.blob, header, sizeof(header));
	memcpy(made.blob + 24, made.types, types);
	memcpy(made.blob + 24 + types, made.strings, made.strings_size);
	made.size = 24 + types + made.strings_size;
}

/* struct outer { int first; union { struct { int deep; const named_t { int under; }; }; }; int :3;
 * int bit:5; int last; }, after a pointer of its name. */
static void make_outer(void)
{
	start();
	type("", BTF_KIND_STRUCT, 2, 8); /* 2 */
	member("deep", 1, 0);
	member("", 5, 32);
	type("", BTF_KIND_UNION, 1, 8); /* 3 */
	member("", 2, 0);
	type("named_t", BTF_KIND_TYPEDEF, 0, 6); /* 4 */
	type("", BTF_KIND_CONST, 0, 4);		 /* 5 */
	type("", BTF_KIND_STRUCT, 1, 4);	 /* 6 */
	member("under", 1, 0);
	type("outer", BTF_KIND_PTR, 0, 1);		    /* 7: of that name, but no structure */
	type("outer", BTF_KIND_STRUCT | BIT_FIELDS, 5, 20); /* 8 */
	member("first", 1, 0);
	member("", 3, 32);
	member("", 1, 96 | 3u << 24);
	member("bit", 1, 99 | 5u << 24);
	member("last", 1, 128);
	finish();
}

static int offset_of(const char *structure, const char *name, uint32_t *offset)
{
	/* Nothing is behind it: valgrind and the sanitizers see a read past its end. */
	unsigned char *data = malloc(made.size);
	struct btf btf;
	int ret;

	memcpy(data, made.blob, made.size);
	ret = btf_init(&btf, data, made.size);
	if (!ret)
		ret = btf_member_offset(&btf, structure, name, offset);
	free(data);
	return ret;
}

UNIT_TEST(test_offsets)
{
	static const struct {
		const char *structure, *member;
		int ret;
		uint32_t offset;
	} cases[] = {
		{ "outer", "first", 0, 0 },
		{ "outer", "last", 0, 16 },
		/* members of anonymous ones */
		{ "outer", "deep", 0, 4 },
		{ "outer", "under", 0, 8 },
		{ "outer", "none", -ENOENT, 7 },
		{ "oute", "first", -ENOENT, 7 },
		{ "outer", "firs", -ENOENT, 7 },
		{ "outer", "bit", -EINVAL, 7 },
	};

	make_outer();
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t offset = 7;

		assert_int_equal(offset_of(cases[i].structure, cases[i].member, &offset),
				 cases[i].ret);
		assert_int_equal(offset, cases[i].offset);
	}
}

/* Each cut is refused, and so is what only looks like BTF. */
UNIT_TEST(test_cut)
{
	uint32_t offset, types;
	size_t whole;

	make_outer();
	whole = made.size;
	for (made.size = 0; made.size < whole; made.size++)
		assert_int_not_equal(offset_of("outer", "last", &offset), 0);
	memcpy(&types, made.blob + 12, 4);
	for (uint32_t size = 0; size < types; size++) {
		memcpy(made.blob + 12, &size, 4);
		assert_int_not_equal(offset_of("outer", "last", &offset), 0);
	}
	memcpy(made.blob + 12, &types, 4);
	for (uint32_t size = 0; size < 8; size++) {
		memcpy(made.blob + 20, &size, 4);
		assert_int_not_equal(offset_of("outer", "last", &offset), 0);
	}
	make_outer();
	made.blob[0] ^= 1;
	assert_int_equal(offset_of("outer", "last", &offset), -EINVAL);
	make_outer();
	made.blob[2] = 2;
	assert_int_equal(offset_of("outer", "last", &offset), -EINVAL);
	made.size = 0;
	assert_int_equal(offset_of("outer", "last", &offset), -EINVAL);
}

/* An anonymous structure that contains itself, and qualifiers in a ring. */
UNIT_TEST(test_endless)
{
	uint32_t offset;

	start();
	type("ring", BTF_KIND_STRUCT, 2, 8); /* 2 */
	member("", 2, 0);
	member("", 2, 32);
	finish();
	assert_int_equal(offset_of("ring", "none", &offset), -EINVAL);
	start();
	type("ring", BTF_KIND_STRUCT, 1, 8); /* 2 */
	member("", 3, 0);
	type("", BTF_KIND_CONST, 0, 4); /* 3 */
	type("", BTF_KIND_CONST, 0, 3); /* 4 */
	finish();
	assert_int_equal(offset_of("ring", "none", &offset), -EINVAL);
}

/* What stands before a type of a kind that is not known yet can be found all the same. */
UNIT_TEST(test_new_kind)
{
	/* Where kinds had 5 bits, the second would be a pointer, and what follows would be found. */
	static const uint32_t kinds[] = { 31, 32 + BTF_KIND_PTR };
	uint32_t offset;

	for (size_t i = 0; i < COUNT(kinds); i++) {
		make_outer();
		type("new", kinds[i], 0, 0);
		type("after", BTF_KIND_STRUCT, 1, 4);
		member("one", 1, 0);
		finish();
		assert_int_equal(offset_of("outer", "last", &offset), 0);
		assert_int_equal(offset_of("after", "one", &offset), -ENOENT);
	}
}

static uint32_t noise(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

UNIT_TEST(test_noise)
{
	uint32_t seed = 1;
	uint32_t offset;

	for (int round = 0; round < 50000; round++) {
		make_outer();
		for (uint32_t i = noise(&seed) % 8 + 1; i; i--)
			made.blob[noise(&seed) % made.size] = (unsigned char)noise(&seed);
		offset_of("outer", "none", &offset);
	}
	for (int round = 0; round < 5000; round++) {
		for (size_t i = 24; i < sizeof(made.blob); i++)
			made.blob[i] = (unsigned char)noise(&seed);
		made.size = 24 + noise(&seed) % (sizeof(made.blob) - 24);
		offset_of("outer", "", &offset);
	}
}

UNIT_TEST_MAIN(NULL, NULL)
