// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocfilt/base/file.h"
#include "allocfilt/base/hash.h"
#include "allocfilt/names/resolver.h"
#include "names/line_reader.h"

#define CODE_PAGE   4096u
#define RECENT	    64u
#define AREA_STEP   (256u << 10)	 /* bytes by which memory grows */
#define LOOK_PAUSE  NS_PER_SECOND	 /* between two looks at /proc/modules */
#define UNKNOWN_MAX (60 * NS_PER_SECOND) /* the longest time that an unknown address waits */

/* Memory that grows. It is not of the heap, where other blocks would lie in its way. */
struct area {
	char *base;
	size_t used;
	size_t size;
	size_t max;
};

struct entry {
	uint64_t address;
	uint32_t size; /* up to the next symbol of the same module; 0: unknown */
	uint32_t name; /* in the text, before the module's name; NOT_CODE: data, while reading */
};

#define NOT_CODE UINT32_MAX
#define PADDING	 (NOT_CODE - 1) /* in front of a function; among code, as it is in its section */

/*
 * The lines of a module are contiguous, in any order: a block. An address belongs to the nearest
 * symbol at or below it; of several at one address, to the first in the file. A symbol ends where
 * the next one of its block begins.
 */
struct symbols {
	int fd;
	int modules;	      /* negative: a capture's, which does not change */
	int readable;	      /* 0 or -errno */
	uint64_t sched_start; /* of the section .sched.text; 0: unknown */
	uint64_t sched_end;
	struct area entries; /* by address: the kernel's own, then those of modules */
	struct area text;
	size_t kernel;		      /* the kernel's own entries; 0 until all of them are read */
	size_t kernel_text;	      /* bytes of their names */
	struct symbol recent[RECENT]; /* what was found last, by address */
	uint64_t modules_hash;
	uint64_t next_look; /* ns, CLOCK_MONOTONIC: not before */
	uint64_t next_read; /* the same, for an unknown address */
	uint64_t read_pause;
};

/* ---- memory ---- */

static bool area_has_room(struct area *area, size_t bytes)
{
	size_t size = area->size + AREA_STEP;
	void *base;

	if (area->size - area->used >= bytes)
		return true;
	if (size > area->max)
		return false;
	base = area->base ?
		       mremap(area->base, area->size, size, MREMAP_MAYMOVE) :
		       mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return false;
	area->base = base;
	area->size = size;
	return true;
}

static struct entry *entries_of(const struct symbols *symbols)
{
	return (struct entry *)symbols->entries.base;
}

static size_t count_of(const struct symbols *symbols)
{
	return symbols->entries.used / sizeof(struct entry);
}

/* ---- the file ---- */

struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name;
	const char *module; /* empty for the kernel itself */
};

/* strtoull(3) takes a third of the time of a reading. Returns the end of the digits. */
static char *parse_address(char *text, uint64_t *ret_address)
{
	for (*ret_address = 0; isxdigit((unsigned char)*text); text++)
		*ret_address = *ret_address << 4 |
			       (*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
	return text;
}

/* "ffffffff81000000 T name", and after a tab the module in brackets. */
static bool parse_symbol_line(char *text, struct kallsyms_line *line)
{
	char *end = parse_address(text, &line->address), *module;

	if (end == text || end - text > 16 || end[0] != ' ' || !end[1] || end[2] != ' ' ||
	    !end[3] || end[3] == '\t')
		return false;
	line->type = end[1];
	line->name = end + 3;
	line->module = "";
	module = strchr(end + 3, '\t');
	if (!module)
		return true;
	*module++ = '\0';
	if (*module == '[') {
		line->module = module + 1;
		module[strcspn(module, "]")] = '\0';
	}
	return true;
}

static bool next_symbol_line(struct line_reader *reader, struct kallsyms_line *line)
{
	char *text;

	do {
		text = line_reader_next(reader);
	} while (text && !parse_symbol_line(text, line));
	return text;
}

uint64_t kallsyms_address(int fd, const char *function)
{
	struct line_reader reader;
	struct kallsyms_line line;
	uint64_t address = 0;

	line_reader_start(&reader, fd);
	while (!address && next_symbol_line(&reader, &line))
		if (!strcmp(line.name, function))
			address = line.address;
	file_close(fd);
	return address;
}

/* Returns 0, -ENODATA if there is no symbol, or -EPERM if all addresses are zeros. */
static int check_readable(int fd)
{
	struct line_reader reader;
	struct kallsyms_line line;
	int ret = -ENODATA;

	line_reader_start(&reader, fd);
	while (ret && next_symbol_line(&reader, &line))
		ret = line.address ? 0 : -EPERM;
	return ret;
}

struct symbols *symbols_new(int fd, int modules)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols) {
		file_close(fd);
		file_close(modules);
		return NULL;
	}
	symbols->fd = fd;
	symbols->modules = modules;
	symbols->entries.max = SYMBOLS_MAX * sizeof(struct entry);
	symbols->text.max = SYMBOLS_TEXT_MAX;
	symbols->readable = fd < 0 ? fd : check_readable(fd);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	file_close(symbols->fd);
	file_close(symbols->modules);
	munmap(symbols->entries.base, symbols->entries.size);
	munmap(symbols->text.base, symbols->text.size);
	free(symbols);
}

int symbols_readable(const struct symbols *symbols)
{
	return symbols->readable;
}

/* ---- reading ---- */

/* Returns the place of the text; the area has room for it. */
static uint32_t put_symbol_name(struct area *area, const char *text, size_t max)
{
	size_t start = area->used;

	area->used += text_append(area->base + start, max, 0, text) + 1;
	return (uint32_t)start;
}

/*
 * Returns false without room. Absolute symbols are no places in memory. From 6.2 on every function has a
 * symbol for the padding before it, where nothing runs (objtool --prefix): half of all symbols.
 */
static bool add_line(struct symbols *symbols, const struct kallsyms_line *line)
{
	struct entry *entry;

	if (line->type == 'A')
		return true;
	if (!area_has_room(&symbols->entries, sizeof(*entry)) ||
	    !area_has_room(&symbols->text, SYMBOL_NAME_MAX + SYMBOL_MODULE_MAX))
		return false;
	entry = &entries_of(symbols)[count_of(symbols)];
	*entry = (struct entry){ .address = line->address,
				 .name = strchr("tTwW", line->type) ? PADDING : NOT_CODE };
	symbols->entries.used += sizeof(*entry);
	if (entry->name == NOT_CODE || !strncmp(line->name, "__pfx_", 6))
		return true;
	entry->name = put_symbol_name(&symbols->text, line->name, SYMBOL_NAME_MAX);
	put_symbol_name(&symbols->text, line->module, SYMBOL_MODULE_MAX);
	return true;
}

/* Code symbols of one address stay in the order of the file. */
static bool is_before(const struct entry *one, const struct entry *other)
{
	return one->address != other->address ? one->address < other->address :
						one->name < other->name;
}

/* A Shell sort: qsort(3) allocates. Most files are sorted. */
static void sort_symbols(struct entry *entries, size_t count)
{
	size_t gap = count, sorted = 1;

	while (sorted < count && entries[sorted].address >= entries[sorted - 1].address)
		sorted++;
	if (sorted >= count)
		return;
	while (gap > 1) {
		gap = gap < 5 ? 1 : (gap * 5 - 1) / 11;
		for (size_t i = gap; i < count; i++) {
			struct entry entry = entries[i];
			size_t at = i;

			for (; at >= gap && is_before(&entry, &entries[at - gap]); at -= gap)
				entries[at] = entries[at - gap];
			entries[at] = entry;
		}
	}
}

/*
 * @next: the next symbol of the block; NULL: there is none. kallsyms does not mark the end of a module's
 * code: it is the end of a page.
 */
static void set_end(struct entry *entry, const struct entry *next, bool is_module)
{
	uint64_t page_end = (entry->address / CODE_PAGE + 1) * CODE_PAGE;
	uint64_t end = next ? next->address : entry->address;

	if (is_module && (!next || (next->name == NOT_CODE && page_end < end)))
		end = page_end;
	end -= entry->address;
	entry->size = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

/* Keeps the first code symbol of each address of the block that begins at @from. */
static void end_block(struct symbols *symbols, size_t from, bool is_module)
{
	struct entry *entries = entries_of(symbols);
	size_t count = count_of(symbols), kept = from, next;

	if (from == count)
		return;
	sort_symbols(entries + from, count - from);
	for (size_t i = from; i < count; i = next) {
		struct entry first = entries[i];

		for (next = i + 1; next < count && entries[next].address == first.address; next++)
			first.name = MIN(first.name, entries[next].name);
		if (first.name >= PADDING)
			continue;
		set_end(&first, next < count ? &entries[next] : NULL, is_module);
		entries[kept++] = first;
	}
	symbols->entries.used = kept * sizeof(*entries);
}

/* The blocks of modules in one order, and only the first of several symbols at one address. */
static void merge_modules(struct symbols *symbols)
{
	struct entry *entries = entries_of(symbols);
	size_t count = count_of(symbols), kept = symbols->kernel;

	if (kept == count)
		return;
	sort_symbols(entries + kept, count - kept);
	for (size_t i = kept; i < count; i++)
		if (kept == symbols->kernel || entries[kept - 1].address != entries[i].address)
			entries[kept++] = entries[i];
	symbols->entries.used = kept * sizeof(*entries);
}

/* The start of the section may be the address of a function; no symbol is at its end. */
static void see_section(struct symbols *symbols, const struct kallsyms_line *line)
{
	if (strncmp(line->name, "__sched_text_", 13))
		return;
	if (!strcmp(line->name + 13, "start"))
		symbols->sched_start = line->address;
	else if (!strcmp(line->name + 13, "end"))
		symbols->sched_end = line->address;
}

static void end_kernel(struct symbols *symbols)
{
	symbols->kernel = count_of(symbols);
	symbols->kernel_text = symbols->text.used;
}

/*
 * The kernel's own symbols come first. They do not change, and are kept when the file is read again. Returns
 * whether there was memory for all.
 */
static bool read_lines(struct symbols *symbols)
{
	char module[SYMBOL_MODULE_MAX] = "";
	size_t block = symbols->kernel;
	bool is_kernel = true, is_kept = block, has_room = true;
	struct line_reader reader;
	struct kallsyms_line line;

	line_reader_start(&reader, symbols->fd);
	while (has_room && next_symbol_line(&reader, &line)) {
		if (strncmp(module, line.module, sizeof(module) - 1)) {
			end_block(symbols, block, *module);
			if (is_kernel)
				end_kernel(symbols);
			is_kernel = false;
			block = count_of(symbols);
			text_append(module, sizeof(module), 0, line.module);
		}
		if (is_kernel && is_kept)
			continue;
		if (is_kernel)
			see_section(symbols, &line);
		has_room = add_line(symbols, &line);
	}
	end_block(symbols, block, *module);
	if (is_kernel && has_room)
		end_kernel(symbols);
	return has_room;
}

/* A line is "NAME SIZE USES USERS STATE ADDRESS": all but the third and fourth is hashed. */
uint64_t modules_hash(int fd)
{
	struct line_reader reader;
	uint64_t hash = 0;
	char *line;

	line_reader_start(&reader, fd);
	while ((line = line_reader_next(&reader))) {
		int uses = 0, state = 0;

		if (sscanf(line, "%*s %*s %n%*s %*s %n", &uses, &state) || !state)
			continue;
		line[uses] = '\0';
		hash = hash * 31 + hash_text(line) + hash_text(line + state);
	}
	return hash;
}

bool symbols_read(struct symbols *symbols)
{
	struct area *entries = &symbols->entries;
	bool has_room;
	size_t size;

	if (symbols->readable)
		return true;
	memset(symbols->recent, 0, sizeof(symbols->recent));
	symbols->entries.used = symbols->kernel * sizeof(struct entry);
	symbols->text.used = symbols->kernel_text;
	symbols->modules_hash = modules_hash(symbols->modules);
	has_room = read_lines(symbols);
	merge_modules(symbols);
	/* Data symbols took memory while the file was read, which goes back. */
	size = (entries->used / AREA_STEP + 1) * AREA_STEP;
	if (size < entries->size && mremap(entries->base, entries->size, size, 0) != MAP_FAILED)
		entries->size = size;
	return has_room;
}

/* ---- looking up ---- */

/* Reads the modules' symbols again if they are others, or for an unknown address. Did it? */
static bool read_again(struct symbols *symbols, bool is_unknown)
{
	uint64_t now;

	if (symbols->modules < 0)
		return false;
	now = clock_ns(CLOCK_MONOTONIC_COARSE);
	if (now < symbols->next_look)
		return false;
	symbols->next_look = now + LOOK_PAUSE;
	if (modules_hash(symbols->modules) == symbols->modules_hash &&
	    (!is_unknown || now < symbols->next_read))
		return false;
	symbols_read(symbols);
	return true;
}

static bool contains(uint64_t start, uint64_t size, uint64_t address)
{
	return address == start || (address > start && address - start < size);
}

/* The entry from @from up to @to that contains the address; NULL: none */
static const struct entry *find_entry(const struct symbols *symbols, size_t from, size_t to,
				      uint64_t address)
{
	const struct entry *entries = entries_of(symbols), *below;
	size_t first = from;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (entries[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == first)
		return NULL;
	below = &entries[from - 1];
	return contains(below->address, below->size, address) ? below : NULL;
}

static const struct entry *find_in_module(const struct symbols *symbols, uint64_t address)
{
	return find_entry(symbols, symbols->kernel, count_of(symbols), address);
}

/* An address that stays unknown is looked for less and less often. */
static const struct entry *find_in_changing_modules(struct symbols *symbols, uint64_t address)
{
	const struct entry *entry = find_in_module(symbols, address);
	bool was_unknown = !entry;

	if (!read_again(symbols, was_unknown))
		return entry;
	entry = find_in_module(symbols, address);
	if (!was_unknown)
		return entry;
	symbols->read_pause = entry ? 0 : 2 * symbols->read_pause + LOOK_PAUSE;
	symbols->read_pause = MIN(symbols->read_pause, UNKNOWN_MAX);
	symbols->next_read = clock_ns(CLOCK_MONOTONIC_COARSE) + symbols->read_pause;
	return entry;
}

static noinline const struct symbol *look_up(struct symbols *symbols, uint64_t address)
{
	struct symbol *recent = &symbols->recent[address / 16 % RECENT];
	const struct entry *entry = find_entry(symbols, 0, symbols->kernel, address);
	const char *name;

	if (!entry)
		entry = find_in_changing_modules(symbols, address);
	if (!entry)
		return NULL;
	name = symbols->text.base + entry->name;
	*recent = (struct symbol){
		.address = entry->address,
		.size = entry->size,
		.name = name,
		.module = name + strlen(name) + 1,
	};
	return recent;
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t address)
{
	const struct symbol *recent = &symbols->recent[address / 16 % RECENT];

	/* In a running kernel a module's symbol may be another one by now. */
	if (recent->name && contains(recent->address, recent->size, address) &&
	    (symbols->modules < 0 || !*recent->module))
		return recent;
	return look_up(symbols, address);
}

uint64_t symbols_address(const struct symbols *symbols, const char *name)
{
	const struct entry *entries = entries_of(symbols);

	for (size_t i = 0; i < count_of(symbols); i++)
		if (!strcmp(symbols->text.base + entries[i].name, name))
			return entries[i].address;
	return 0;
}

bool symbols_in_scheduler(const struct symbols *symbols, uint64_t address)
{
	return symbols->sched_start && address >= symbols->sched_start &&
	       address < symbols->sched_end;
}

static noinline int print_symbol(const struct symbol *symbol, uint64_t address, char style,
				 char *text, size_t size)
{
	char offset[48], *end = offset;
	size_t used = 0;

	if (!symbol) {
		end = text_hex(mempcpy(offset, "0x", 2), address);
	} else if (style == 'S') {
		end = text_hex(mempcpy(offset, "+0x", 3), address - symbol->address);
		end = text_hex(mempcpy(end, "/0x", 3), symbol->size);
	}
	*end = '\0';
	if (symbol)
		used = text_append(text, size, used, symbol->name);
	used = text_append(text, size, used, offset);
	if (symbol && *symbol->module) {
		used = text_append(text, size, used, " [");
		used = text_append(text, size, used, symbol->module);
		used = text_append(text, size, used, "]");
	}
	return (int)used;
}

int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	const struct symbol *symbol = symbols_find(symbols, address);
	size_t bytes;

	if (!symbol || style == 'S' || *symbol->module)
		return print_symbol(symbol, address, style, text, size);
	/* The name of the module follows that of the symbol. */
	bytes = (size_t)(symbol->module - symbol->name);
	if (bytes > size)
		return print_symbol(symbol, address, style, text, size);
	memcpy(text, symbol->name, bytes);
	return (int)bytes - 1;
}
