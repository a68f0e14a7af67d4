// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/names.h"
#include "names/mounts.h"

#define SUPERBLOCK_CALLBACK "super_cache_scan"
#define SUPERBLOCK_NAME_MAX 36	/* s_id has 32 */
#define CALLBACKS_MAX	    256 /* functions of which it is known what they are */
#define DEVICE_MINOR_BITS   20
#define RECENT_MAX	    256 /* places of addresses looked up; a power of two */

struct superblock {
	uint64_t shrinker;
	uint64_t callback;
	uint32_t device;
	bool named;
	bool shared; /* another one has or had the same name */
	bool gone;   /* its address has another superblock by now */
	char name[SUPERBLOCK_NAME_MAX];
	char mount[MOUNT_POINT_MAX];
};

struct callback {
	uint64_t address;
	bool is_superblocks;
};

struct shrinker_names {
	struct shrinker_names_setup setup;
	struct mounts *mounts;
	struct superblock superblocks[SHRINKER_NAMES_MAX];
	int nr_superblocks;
	int recent[RECENT_MAX]; /* by address: where it was found */
	int nr_named;
	struct callback callbacks[CALLBACKS_MAX];
	int nr_callbacks;
	uint64_t overflow;
	char text[SHRINKER_LABEL_MAX]; /* of shrinker_names_of() */
};

struct shrinker_names *shrinker_names_new(const struct shrinker_names_setup *setup)
{
	struct shrinker_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->setup = *setup;
	names->mounts = mounts_new(setup->mounts);
	if (names->mounts)
		return names;
	free(names);
	errno = ENOMEM;
	return NULL;
}

void shrinker_names_free(struct shrinker_names *names)
{
	if (!names)
		return;
	mounts_free(names->mounts);
	free(names);
}

static size_t callback_text(struct shrinker_names *names, uint64_t callback, char *text,
			    size_t size)
{
	int length = names->setup.symbol(names->setup.context, callback, 's', text, size);

	/* "name [module]" */
	text[strcspn(text, " ")] = '\0';
	return length > 0 ? strlen(text) : 0;
}

static bool ask_callback(struct shrinker_names *names, uint64_t address)
{
	char text[64] = "";
	size_t length = strlen(SUPERBLOCK_CALLBACK);

	callback_text(names, address, text, sizeof(text));
	return !strncmp(text, SUPERBLOCK_CALLBACK, length) &&
	       (!text[length] || text[length] == '.');
}

static bool is_superblocks(struct shrinker_names *names, uint64_t address)
{
	bool answer;

	for (int i = 0; i < names->nr_callbacks; i++)
		if (names->callbacks[i].address == address)
			return names->callbacks[i].is_superblocks;
	answer = ask_callback(names, address);
	if (names->nr_callbacks < CALLBACKS_MAX)
		names->callbacks[names->nr_callbacks++] = (struct callback){ address, answer };
	return answer;
}

static bool is_at(const struct shrinker_names *names, int place, uint64_t shrinker)
{
	return place < names->nr_superblocks && !names->superblocks[place].gone &&
	       names->superblocks[place].shrinker == shrinker;
}

static struct superblock *find(struct shrinker_names *names, uint64_t shrinker)
{
	int *recent = &names->recent[(shrinker >> 6) % RECENT_MAX];

	if (!is_at(names, *recent, shrinker))
		for (*recent = names->nr_superblocks - 1; *recent > 0; (*recent)--)
			if (is_at(names, *recent, shrinker))
				break;
	if (*recent < 0)
		*recent = 0;
	return is_at(names, *recent, shrinker) ? &names->superblocks[*recent] : NULL;
}

static struct superblock *add(struct shrinker_names *names, uint64_t shrinker)
{
	struct superblock *superblock;

	if (names->nr_superblocks == SHRINKER_NAMES_MAX) {
		names->overflow++;
		return NULL;
	}
	superblock = &names->superblocks[names->nr_superblocks++];
	superblock->shrinker = shrinker;
	return superblock;
}

/* What comes from a disk's label or a file system must not move a terminal's cursor. */
static void copy_printable(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	for (size_t i = 0; i < length; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	to[length] = '\0';
}

/* Names that are shared are told apart from then on, whichever came first. */
static void mark_shared(struct shrinker_names *names, struct superblock *named)
{
	for (int i = 0; i < names->nr_superblocks; i++) {
		struct superblock *other = &names->superblocks[i];

		if (other != named && other->named && !strcmp(other->name, named->name)) {
			other->shared = true;
			named->shared = true;
		}
	}
}

static void give_name(struct shrinker_names *names, struct superblock *superblock, const char *name,
		      uint32_t device)
{
	char mount[MOUNT_POINT_MAX];

	snprintf(superblock->name, sizeof(superblock->name), "%s", name);
	superblock->device = device;
	superblock->named = true;
	names->nr_named++;
	mounts_find(names->mounts, device >> DEVICE_MINOR_BITS,
		    device & ((1u << DEVICE_MINOR_BITS) - 1), mount, sizeof(mount));
	copy_printable(superblock->mount, sizeof(superblock->mount), mount, strlen(mount));
	mark_shared(names, superblock);
}

void shrinker_names_see(struct shrinker_names *names, const struct record *record)
{
	const struct record_superblock *seen = &record->superblock;
	struct superblock *superblock = find(names, seen->shrinker);
	char name[SUPERBLOCK_NAME_MAX];

	if (!seen->name_length || (seen->callback && !is_superblocks(names, seen->callback)))
		return;
	copy_printable(name, sizeof(name), (const char *)record->raw + seen->name,
		       seen->name_length);
	if (superblock && superblock->named) {
		if (superblock->device == seen->device && !strcmp(superblock->name, name))
			return;
		superblock->gone = true;
		superblock = NULL;
	}
	if (!superblock)
		superblock = add(names, seen->shrinker);
	if (superblock)
		give_name(names, superblock, name, seen->device);
}

int shrinker_names_superblock(struct shrinker_names *names, const struct record *record)
{
	const struct record_fields *fields = &record->fields;
	struct superblock *superblock;

	if (!is_superblocks(names, fields->callback))
		return -1;
	superblock = find(names, fields->shrinker);
	if (!superblock)
		superblock = add(names, fields->shrinker);
	if (!superblock)
		return -1;
	superblock->callback = fields->callback;
	return (int)(superblock - names->superblocks);
}

static int print_name(const struct superblock *superblock, char *text, size_t size)
{
	if (!superblock->named)
		return snprintf(text, size, "0x%" PRIx64, superblock->shrinker);
	if (!superblock->shared)
		return snprintf(text, size, "%s", superblock->name);
	return snprintf(text, size, "%s %u:%u%s%s", superblock->name,
			superblock->device >> DEVICE_MINOR_BITS,
			superblock->device & ((1u << DEVICE_MINOR_BITS) - 1),
			*superblock->mount ? " " : "", superblock->mount);
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
		.major = from->device >> DEVICE_MINOR_BITS,
		.minor = from->device & ((1u << DEVICE_MINOR_BITS) - 1),
		.mount = from->mount,
	};
	return true;
}

const char *shrinker_names_of(struct shrinker_names *names, uint64_t shrinker)
{
	const struct superblock *superblock = find(names, shrinker);

	if (!superblock || !superblock->named)
		return NULL;
	print_name(superblock, names->text, sizeof(names->text));
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

size_t shrinker_names_text(struct shrinker_names *names, const struct record *record, char *text,
			   size_t size)
{
	int superblock = shrinker_names_superblock(names, record);

	if (superblock < 0)
		return size ? callback_text(names, record->fields.callback, text, size) : 0;
	return shrinker_names_label(names, superblock, text, size);
}

bool shrinker_names_missing(const struct shrinker_names *names)
{
	return names->nr_superblocks && !names->nr_named;
}

uint64_t shrinker_names_overflow(const struct shrinker_names *names)
{
	return names->overflow;
}
