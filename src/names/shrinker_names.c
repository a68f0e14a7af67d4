// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/hash.h"
#include "allocfilt/names/shrinkers.h"
#include "names/line_reader.h"

#define SUPERBLOCK_CALLBACK "super_cache_scan"
#define DEVICE_MINOR_BITS   20
#define MOUNT_LINES_MAX	    (4 << 20) /* of mountinfo, read for all superblocks of a day; a second */

struct superblock {
	struct hash_link link; /* by its shrinker's address; by GONE where another one has that */
	uint64_t shrinker;     /* its first address */
	int number;
	struct superblock_name is;
	bool named;
	bool shared; /* another superblock has or had the same name */
};

/* No shrinker lies there. */
#define GONE(superblock) (~(uint64_t)(superblock)->number)

struct shrinker_names {
	struct resolver *resolver;
	int mounts; /* descriptor of mountinfo; -1: none */
	int mount_lines;
	uint64_t day; /* of mount_lines */
	bool any_named;
	struct hash hash;
	struct superblock superblocks[SHRINKER_NAMES_MAX];
	uint64_t callback;	       /* of superblocks; 0: it was not seen yet */
	char text[SHRINKER_LABEL_MAX]; /* of shrinker_names_of() */
};

struct shrinker_names *shrinker_names_new(int mounts, struct resolver *resolver)
{
	struct shrinker_names *names = calloc(1, sizeof(*names));

	if (!names) {
		file_close(mounts);
		return NULL;
	}
	names->resolver = resolver;
	names->mounts = mounts;
	if (!hash_init(&names->hash, &names->superblocks[0].link, sizeof(names->superblocks[0]),
		       SHRINKER_NAMES_MAX))
		return names;
	shrinker_names_free(names);
	return NULL;
}

void shrinker_names_free(struct shrinker_names *names)
{
	if (!names)
		return;
	file_close(names->mounts);
	hash_destroy(&names->hash);
	free(names);
}

/* One callback has this name: no other one is looked up after it, which may have to read all of kallsyms. */
static bool is_superblocks(struct shrinker_names *names, uint64_t address)
{
	char text[64] = "";

	if (!names->callback) {
		resolver_symbol(names->resolver, address, 's', text, sizeof(text));
		text[strcspn(text, ".")] = '\0'; /* a compiler's suffix, as ".isra.0" */
		if (!strcmp(text, SUPERBLOCK_CALLBACK))
			names->callback = address;
	}
	return address && address == names->callback;
}

static const struct superblock *superblock_of(const struct shrinker_names *names, int number)
{
	const struct superblock *superblock =
		&names->superblocks[(unsigned int)number % SHRINKER_NAMES_MAX];

	return number > 0 && superblock->number == number ? superblock : NULL;
}

static struct superblock *superblock_at(struct shrinker_names *names, uint64_t shrinker)
{
	struct hash_link *link = hash_find(&names->hash, shrinker);

	return link ? container_of(link, struct superblock, link) : NULL;
}

/* The number tells it from all that had its entry before. */
static struct superblock *add_superblock(struct shrinker_names *names, uint64_t shrinker)
{
	struct superblock *superblock =
		container_of(hash_insert(&names->hash, shrinker), struct superblock, link);
	int before = superblock->number ? superblock->number : superblock - names->superblocks;

	*superblock = (struct superblock){
		.link = superblock->link,
		.shrinker = shrinker,
		.number = (before + SHRINKER_NAMES_MAX) & INT_MAX,
	};
	return superblock;
}

/* The entry that was removed last is the one that is taken. */
static void move_superblock(struct shrinker_names *names, struct superblock *superblock,
			    uint64_t key)
{
	hash_remove(&names->hash, &superblock->link);
	hash_insert(&names->hash, key);
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
static void find_mount(struct shrinker_names *names, struct superblock_name *superblock)
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

static bool is_same(const struct superblock_name *a, const struct superblock_name *b)
{
	return a->major == b->major && a->minor == b->minor && !strcmp(a->name, b->name);
}

/* A file system that is mounted again in the same way is the same one, at whatever address. */
void shrinker_names_see(struct shrinker_names *names, const struct record *record)
{
	const struct record_superblock *seen = &record->superblock;
	struct superblock *superblock = superblock_at(names, seen->shrinker), *same = NULL;
	struct superblock now = {
		.is.major = seen->device >> DEVICE_MINOR_BITS,
		.is.minor = seen->device & ((1u << DEVICE_MINOR_BITS) - 1),
	};
	struct hash_link *link;

	if (!seen->name_length || (seen->callback && !is_superblocks(names, seen->callback)))
		return;
	copy_printable(now.is.name, sizeof(now.is.name), (const char *)record->raw + seen->name,
		       seen->name_length);
	if (superblock && is_same(&superblock->is, &now.is))
		return;
	if (record->ts / NS_PER_DAY != names->day) {
		names->day = record->ts / NS_PER_DAY;
		names->mount_lines = 0;
	}
	find_mount(names, &now.is);
	/* From now on, all labels of this name include the device. */
	TAILQ_FOREACH(link, &names->hash.used, use) {
		struct superblock *other = container_of(link, struct superblock, link);

		if (is_same(&other->is, &now.is) && !strcmp(other->is.mount, now.is.mount))
			same = other;
		else if (other->named && !strcmp(other->is.name, now.is.name))
			other->shared = now.shared = true;
	}
	if (superblock && (superblock->named || same)) {
		move_superblock(names, superblock, GONE(superblock));
		superblock = NULL;
	}
	if (same) {
		move_superblock(names, same, seen->shrinker);
		return;
	}
	if (!superblock)
		superblock = add_superblock(names, seen->shrinker);
	now.link = superblock->link;
	now.shrinker = superblock->shrinker;
	now.number = superblock->number;
	now.named = names->any_named = true;
	*superblock = now;
}

int shrinker_names_superblock(struct shrinker_names *names, const struct record *record)
{
	uint64_t shrinker = record->fields.shrinker;
	struct superblock *superblock;

	if (!is_superblocks(names, record->fields.callback))
		return -1;
	superblock = superblock_at(names, shrinker);
	return superblock ? superblock->number : add_superblock(names, shrinker)->number;
}

static int print_name(const struct superblock *superblock, char *text, size_t size)
{
	const struct superblock_name *is = &superblock->is;

	if (!superblock->named)
		return snprintf(text, size, "0x%" PRIx64, superblock->shrinker);
	if (!superblock->shared)
		return snprintf(text, size, "%s", is->name);
	return snprintf(text, size, "%s %u:%u%s%s", is->name, is->major, is->minor,
			*is->mount ? " " : "", is->mount);
}

const struct superblock_name *shrinker_names_parts(const struct shrinker_names *names,
						   int superblock)
{
	const struct superblock *from = superblock_of(names, superblock);

	return from && from->named ? &from->is : NULL;
}

const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker)
{
	const struct superblock *superblock = superblock_at(names, shrinker);

	if (!superblock || !superblock->named)
		return NULL;
	print_name(superblock, names->text, sizeof(names->text));
	return names->text;
}

size_t shrinker_names_label(struct shrinker_names *names, int superblock, char *text, size_t size)
{
	const struct superblock *from = superblock_of(names, superblock);
	char name[SHRINKER_LABEL_MAX];
	int length;

	if (!size || !from)
		return 0;
	print_name(from, name, sizeof(name));
	length = snprintf(text, size, SUPERBLOCK_CALLBACK "[%s]", name);
	return (size_t)length < size ? (size_t)length : size - 1;
}

bool shrinker_names_unavailable(const struct shrinker_names *names)
{
	return hash_oldest(&names->hash) && !names->any_named;
}

uint64_t shrinker_names_overflow(const struct shrinker_names *names)
{
	return names->hash.evicted;
}
