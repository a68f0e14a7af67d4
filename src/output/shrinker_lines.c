// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/shrinker_lines.h"

#define MS "%" PRIu64 ".%06" PRIu64 " ms"

static int put_line(struct writer *writer, const char *indent, const char *name,
		    const struct shrinker_total *total)
{
	char line[SHRINKER_LABEL_MAX + 128];
	int length =
		snprintf(line, sizeof(line), "%s%s : total time = " MS ", max latency = " MS "\n",
			 indent, name, total->total / 1000000, total->total % 1000000,
			 total->max / 1000000, total->max % 1000000);

	return writer_put(writer, line, length);
}

static void take_away(struct shrinker_total *rest, const struct shrinker_total *part)
{
	rest->total -= part->total;
	rest->count -= part->count;
}

/* Those that are not shown one by one; a pair that found no place in the table is among them. */
static int put_others(struct writer *writer, const struct superblock_total *others, size_t count,
		      struct shrinker_total rest)
{
	char name[64];

	if (!rest.count)
		return 0;
	if (count)
		rest.max = 0;
	for (size_t i = 0; i < count; i++)
		if (others[i].total.max > rest.max)
			rest.max = others[i].total.max;
	snprintf(name, sizeof(name), "super_cache_scan[%zu others]", count);
	return put_line(writer, "  ", name, &rest);
}

static int put_superblocks(const struct shrinker_lines_setup *setup, struct writer *writer,
			   const struct shrinker_total *sum)
{
	const struct superblock_total *totals;
	size_t count = shrinkers_superblocks(setup->shrinkers, sum->callback, &totals);
	size_t shown =
		count < SHRINKER_LINES_SUPERBLOCKS_MAX ? count : SHRINKER_LINES_SUPERBLOCKS_MAX;
	struct shrinker_total rest = *sum;
	int ret = 0;

	for (size_t i = 0; !ret && i < shown; i++) {
		char label[SHRINKER_LABEL_MAX];

		shrinker_names_label(setup->names, totals[i].superblock, label, sizeof(label));
		take_away(&rest, &totals[i].total);
		ret = put_line(writer, "  ", label, &totals[i].total);
	}
	if (ret || !count)
		return ret;
	return put_others(writer, totals + shown, count - shown, rest);
}

static int put_shrinker(const struct shrinker_lines_setup *setup, struct writer *writer,
			const struct shrinker_total *total)
{
	char name[SHRINKER_LABEL_MAX] = "";
	int ret;

	setup->symbol(setup->context, total->callback, 's', name, sizeof(name));
	name[strcspn(name, " ")] = '\0';
	ret = put_line(writer, "", name, total);
	return ret || !setup->names ? ret : put_superblocks(setup, writer, total);
}

int shrinker_lines_put(const struct shrinker_lines_setup *setup, struct writer *writer)
{
	const struct shrinker_total *totals;
	size_t count = shrinkers_sorted(setup->shrinkers, &totals);
	int ret = 0;

	if (!count)
		return writer_put(writer, "no shrinker ran\n", 16);
	for (size_t i = 0; !ret && i < count; i++)
		ret = put_shrinker(setup, writer, &totals[i]);
	return ret;
}
