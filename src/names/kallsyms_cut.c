// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/names.h"

struct kallsyms_line {
	uint64_t address;
	char name[512];
	char *text;
	size_t room;
};

/* Returns false at the end of the file. A line that is none is passed over. */
static bool next_line(FILE *file, struct kallsyms_line *line)
{
	while (getline(&line->text, &line->room, file) > 0)
		if (sscanf(line->text, "%" SCNx64 " %*c %511s", &line->address, line->name) == 2)
			return true;
	return false;
}

int kallsyms_cut_by_name(const char *path, bool (*wanted)(void *context, const char *name),
			 void *context, FILE *stream)
{
	struct kallsyms_line line = { 0 };
	FILE *file = fopen(path, "re");
	uint64_t kept = 0;
	bool need_next = false;

	if (!file)
		return -errno;
	while (next_line(file, &line)) {
		bool is_wanted = wanted(context, line.name);

		if (is_wanted || (need_next && line.address != kept))
			fputs(line.text, stream);
		if (is_wanted || line.address != kept)
			need_next = is_wanted;
		kept = line.address;
	}
	free(line.text);
	fclose(file);
	return 0;
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct address_list {
	uint64_t *addresses;
	size_t count;
	size_t room;
};

static int append(struct address_list *list, uint64_t address)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 65536;
		uint64_t *more = realloc(list->addresses, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->addresses = more;
		list->room = room;
	}
	list->addresses[list->count++] = address;
	return 0;
}

/* All addresses at which a symbol begins, ascending: the kernel's own are, modules' are not. */
static int read_starts(FILE *file, struct address_list *starts)
{
	struct kallsyms_line line = { 0 };
	int ret = 0;

	while (!ret && next_line(file, &line))
		ret = append(starts, line.address);
	free(line.text);
	if (!ret)
		qsort(starts->addresses, starts->count, sizeof(*starts->addresses), by_address);
	return ret;
}

/* Index of the first start above an address. */
static size_t first_above(const struct address_list *starts, uint64_t address)
{
	size_t low = 0;
	size_t high = starts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (starts->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where the symbols that contain the addresses begin and where the next ones do. */
static int find_borders(const struct address_list *starts, const uint64_t *addresses, size_t count,
			struct address_list *borders)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < count; i++) {
		size_t above = first_above(starts, addresses[i]);

		if (above)
			ret = append(borders, starts->addresses[above - 1]);
		if (!ret && above < starts->count)
			ret = append(borders, starts->addresses[above]);
	}
	if (borders->count)
		qsort(borders->addresses, borders->count, sizeof(*borders->addresses), by_address);
	return ret;
}

static void copy_lines(FILE *file, const struct address_list *borders, FILE *stream)
{
	struct kallsyms_line line = { 0 };

	while (borders->count && next_line(file, &line))
		if (bsearch(&line.address, borders->addresses, borders->count,
			    sizeof(*borders->addresses), by_address))
			fputs(line.text, stream);
	free(line.text);
}

int kallsyms_cut_by_address(const char *path, const uint64_t *addresses, size_t count, FILE *stream)
{
	struct address_list starts = { 0 };
	struct address_list borders = { 0 };
	FILE *file = fopen(path, "re");
	int ret;

	if (!file)
		return -errno;
	ret = read_starts(file, &starts);
	if (!ret)
		ret = find_borders(&starts, addresses, count, &borders);
	rewind(file);
	if (!ret)
		copy_lines(file, &borders, stream);
	free(borders.addresses);
	free(starts.addresses);
	fclose(file);
	return ret;
}
