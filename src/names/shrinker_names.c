// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base/hash.h"
#include "allocfilt/names/shrinkers.h"
#include "names/line_reader.h"

#define SUPERBLOCK_CALLBACK "super_cache_scan"
#define SUPERBLOCK_NAME_MAX 36	/* s_id has 32 */
#define MOUNT_POINT_MAX	    128 /* with the NUL; a longer one is cut */
#define CALLBACKS_MAX	    256 /* callbacks with a cached result of is_superblocks() */
#define DEVICE_MINOR_BITS   20
#define MOUNT_LINES_MAX	    (4 << 20) /* of mountinfo, read for all superblocks; a second */

struct superblock {
	uint64_t shrinker;
	uint32_t major;
	uint32_t minor;
	bool named;
	bool shared; /* another superblock has or had the same name */
	char name[SUPERBLOCK_NAME_MAX];
	char mount[MOUNT_POINT_MAX];
};

/* The superblock whose shrinker has an address now. */
struct place {
	struct hash_link link; /* by the shrinker's address */
	struct superblock *superblock;
};

struct callback {
	uint64_t address;
	bool is_superblocks;
};

struct shrinker_names {
	struct resolver *resolver;
	int mounts; /* descriptor of mountinfo; -1: none */
	int mount_lines;
	struct superblock superblocks[SHRINKER_NAMES_MAX];
	int nr_superblocks;
	int nr_named;
	struct hash hash;
	struct place places[SHRINKER_NAMES_MAX];
	struct callback callbacks[CALLBACKS_MAX];
	int nr_callbacks;
	uint64_t overflow;
	char text[SHRINKER_LABEL_MAX]; /* of shrinker_names_of() */
};

struct shrinker_names *shrinker_names_new(int mounts, struct resolver *resolver)
{
	struct shrinker_names *names = calloc(1, sizeof(*names));

	if (!names) {
		if (mounts >= 0)
			close(mounts);
		return NULL;
	}
	names->resolver = resolver;
	names->mounts = mounts;
	if (!hash_init(&names->hash, &names->places[0].link, sizeof(names->places[0]),
		       SHRINKER_NAMES_MAX))
		return names;
	shrinker_names_free(names);
	errno = ENOMEM;
	return NULL;
}

void shrinker_names_free(struct shrinker_names *names)
{
	if (!names)
		return;
	if (names->mounts >= 0)
		close(names->mounts);
	hash_destroy(&names->hash);
	free(names);
}

/* The result is cached, as resolver_symbol() may have to read all of kallsyms. */
static bool is_superblocks(struct shrinker_names *names, uint64_t address)
{
	char text[64] = "";
	bool answer;

	for (int i = 0; i < names->nr_callbacks; i++)
		if (names->callbacks[i].address == address)
			return names->callbacks[i].is_superblocks;
	resolver_symbol(names->resolver, address, 's', text, sizeof(text));
	text[strcspn(text, ".")] = '\0'; /* a compiler's suffix, as ".isra.0" */
	answer = !strcmp(text, SUPERBLOCK_CALLBACK);
	if (names->nr_callbacks < CALLBACKS_MAX)
		names->callbacks[names->nr_callbacks++] = (struct callback){ address, answer };
	return answer;
}

static struct place *find_place(struct shrinker_names *names, uint64_t shrinker)
{
	struct hash_link *link = hash_peek(&names->hash, shrinker);

	return link ? container_of(link, struct place, link) : NULL;
}

/*
 * An address has one superblock at a time, so there are as many places for addresses as for
 * superblocks.
 */
static struct superblock *add_superblock(struct shrinker_names *names, struct place *place,
					 uint64_t shrinker)
{
	if (names->nr_superblocks == SHRINKER_NAMES_MAX) {
		names->overflow++;
		if (place)
			hash_remove(&names->hash, &place->link);
		return NULL;
	}
	if (!place)
		place = container_of(hash_insert(&names->hash, shrinker), struct place, link);
	place->superblock = &names->superblocks[names->nr_superblocks++];
	place->superblock->shrinker = shrinker;
	return place->superblock;
}

/* Names come from disks and file systems, and must not control the terminal. */
static void copy_printable(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	for (size_t i = 0; i < length; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	to[length] = '\0';
}

/*
 * Finds the first mount point of the whole file system, else of a part of it. Lines are
 * "36 35 98:0 /root /mount/point options … - type source options": proc(5).
 */
static void find_mount(struct shrinker_names *names, struct superblock *superblock)
{
	struct line_reader reader;
	bool is_whole = false;
	const char *line;

	line_reader_start(&reader, names->mounts);
	while (!is_whole && names->mount_lines < MOUNT_LINES_MAX &&
	       (line = line_reader_next(&reader))) {
		uint32_t major, minor;
		int root = 0, point = 0;

		names->mount_lines++;
		if (sscanf(line, "%*s %*s %" SCNu32 ":%" SCNu32 " %n%*s %n", &major, &minor, &root,
			   &point) != 2 ||
		    !point || major != superblock->major || minor != superblock->minor)
			continue;
		is_whole = line[root] == '/' && line[root + 1] == ' ';
		if (is_whole || !*superblock->mount)
			copy_printable(superblock->mount, sizeof(superblock->mount), line + point,
				       strcspn(line + point, " "));
	}
}

void shrinker_names_see(struct shrinker_names *names, const struct record *record)
{
	const struct record_superblock *seen = &record->superblock;
	struct place *place = find_place(names, seen->shrinker);
	struct superblock *superblock = place ? place->superblock : NULL;
	uint32_t major = seen->device >> DEVICE_MINOR_BITS;
	uint32_t minor = seen->device & ((1u << DEVICE_MINOR_BITS) - 1);
	char name[SUPERBLOCK_NAME_MAX];

	if (!seen->name_length || (seen->callback && !is_superblocks(names, seen->callback)))
		return;
	copy_printable(name, sizeof(name), (const char *)record->raw + seen->name,
		       seen->name_length);
	if (superblock && superblock->named) {
		if (superblock->major == major && superblock->minor == minor &&
		    !strcmp(superblock->name, name))
			return;
		superblock = NULL; /* the address was reused */
	}
	if (!superblock)
		superblock = add_superblock(names, place, seen->shrinker);
	if (!superblock)
		return;
	strcpy(superblock->name, name);
	superblock->major = major;
	superblock->minor = minor;
	superblock->named = true;
	names->nr_named++;
	find_mount(names, superblock);
	/* From now on, all labels of this name include the device. */
	for (int i = 0; i < names->nr_superblocks; i++) {
		struct superblock *other = &names->superblocks[i];

		if (other != superblock && other->named && !strcmp(other->name, name))
			other->shared = superblock->shared = true;
	}
}

int shrinker_names_superblock(struct shrinker_names *names, const struct record *record)
{
	const struct record_fields *fields = &record->fields;
	struct superblock *superblock;
	struct place *place;

	if (!is_superblocks(names, fields->callback))
		return -1;
	place = find_place(names, fields->shrinker);
	superblock = place ? place->superblock : add_superblock(names, NULL, fields->shrinker);
	return superblock ? (int)(superblock - names->superblocks) : -1;
}

static int print_name(const struct superblock *superblock, char *text, size_t size)
{
	if (!superblock->named)
		return snprintf(text, size, "0x%" PRIx64, superblock->shrinker);
	if (!superblock->shared)
		return snprintf(text, size, "%s", superblock->name);
	return snprintf(text, size, "%s %u:%u%s%s", superblock->name, superblock->major,
			superblock->minor, *superblock->mount ? " " : "", superblock->mount);
}

bool shrinker_names_parts(const struct shrinker_names *names, int superblock,
			  struct superblock_name *ret_parts)
{
	const struct superblock *from;

	if (superblock < 0 || superblock >= names->nr_superblocks)
		return false;
	from = &names->superblocks[superblock];
	if (!from->named)
		return false;
	*ret_parts = (struct superblock_name){
		.name = from->name,
		.major = from->major,
		.minor = from->minor,
		.mount = from->mount,
	};
	return true;
}

const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker)
{
	const struct place *place = find_place(names, shrinker);

	if (!place || !place->superblock->named)
		return NULL;
	print_name(place->superblock, names->text, sizeof(names->text));
	return names->text;
}

size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size)
{
	char name[SHRINKER_LABEL_MAX];
	int length;

	if (!size || superblock < 0 || superblock >= names->nr_superblocks)
		return 0;
	print_name(&names->superblocks[superblock], name, sizeof(name));
	length = snprintf(text, size, SUPERBLOCK_CALLBACK "[%s]", name);
	return (size_t)length < size ? (size_t)length : size - 1;
}

bool shrinker_names_unavailable(const struct shrinker_names *names)
{
	return names->nr_superblocks && !names->nr_named;
}

uint64_t shrinker_names_overflow(const struct shrinker_names *names)
{
	return names->overflow;
}
