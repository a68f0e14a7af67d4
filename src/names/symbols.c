// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "names/line_reader.h"
#include "names/symbols.h"

#define CODE_PAGE  4096u
#define SEARCH_MAX 32u /* addresses that are looked up in one pass */

/*
 * The symbol of an address is the nearest one at or below it, of several at one address the first in
 * the file. It ends where the next symbol of its module begins. The lines of a module are
 * contiguous, in any order, so each such block is searched by itself.
 */
struct candidate {
	uint64_t address;
	uint64_t size;
	char name[SYMBOL_NAME_MAX]; /* "": none */
	char module[SYMBOL_MODULE_MAX];
};

struct search {
	uint64_t address;
	struct candidate block; /* best of this block */
	uint64_t next;		/* nearest address above it in this block; 0: none */
	bool next_is_code;
	struct candidate best;
};

struct symbols {
	int fd;
	int readable;	      /* 0 or -errno */
	uint64_t sched_start; /* of the section .sched.text; 0: unknown */
	uint64_t sched_end;
	size_t count;
	struct symbol *order[SYMBOLS_MAX]; /* by address; they do not overlap */
	struct symbol table[SYMBOLS_MAX];  /* a ring, in the order in which they came */
	size_t oldest;			   /* in table */
	char text[SYMBOLS_TEXT_MAX];	   /* a ring of their names, in the same order */
	size_t text_end;		   /* of the newest */
	struct search searches[SEARCH_MAX];
};

/* ---- the file ---- */

struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name;
	const char *module; /* empty for the kernel itself */
};

/* "ffffffff81000000 T name", and after a tab the module in brackets. */
static bool parse_line(char *text, struct kallsyms_line *line)
{
	char *end, *module;

	line->address = strtoull(text, &end, 16);
	if (!isxdigit((unsigned char)*text) || end - text > 16 || end[0] != ' ' || !end[1] ||
	    end[2] != ' ' || !end[3] || end[3] == '\t')
		return false;
	line->type = end[1];
	line->name = end + 3;
	line->module = "";
	module = strchr(line->name, '\t');
	if (!module)
		return true;
	*module++ = '\0';
	if (*module == '[') {
		line->module = module + 1;
		module[strcspn(module, "]")] = '\0';
	}
	return true;
}

static bool next_line(struct line_reader *reader, struct kallsyms_line *line)
{
	char *text;

	do {
		text = line_reader_next(reader);
	} while (text && !parse_line(text, line));
	return text;
}

static void set_candidate(struct candidate *symbol, const struct kallsyms_line *line)
{
	symbol->address = line->address;
	symbol->size = 0;
	snprintf(symbol->name, sizeof(symbol->name), "%s", line->name);
	snprintf(symbol->module, sizeof(symbol->module), "%s", line->module);
}

/* ---- the table ---- */

static bool contains(uint64_t start, uint64_t size, uint64_t address)
{
	return address == start || (address > start && address - start < size);
}

static int compare_address(const void *key, const void *element)
{
	uint64_t address = *(const uint64_t *)key;
	const struct symbol *symbol = *(struct symbol *const *)element;

	if (contains(symbol->address, symbol->size, address))
		return 0;
	return address < symbol->address ? -1 : 1;
}

static const struct symbol *find(const struct symbols *symbols, uint64_t address)
{
	struct symbol *const *found = bsearch(&address, symbols->order, symbols->count,
					      sizeof(*symbols->order), compare_address);

	return found ? *found : NULL;
}

/* Room for the text of one more symbol; NULL: the table is full. */
static char *find_room(struct symbols *symbols, size_t bytes)
{
	size_t first, end = symbols->text_end;

	if (!symbols->count)
		return symbols->text;
	if (symbols->count == SYMBOLS_MAX)
		return NULL;
	first = symbols->table[symbols->oldest].name - symbols->text;
	if (end > first && SYMBOLS_TEXT_MAX - end >= bytes)
		return symbols->text + end;
	if (end > first)
		end = 0;
	return first - end >= bytes ? symbols->text + end : NULL;
}

static void drop_oldest(struct symbols *symbols)
{
	size_t at = 0;

	while (symbols->order[at] != &symbols->table[symbols->oldest])
		at++;
	symbols->count--;
	memmove(&symbols->order[at], &symbols->order[at + 1],
		(symbols->count - at) * sizeof(*symbols->order));
	symbols->oldest = (symbols->oldest + 1) % SYMBOLS_MAX;
}

static size_t text_bytes(const struct candidate *symbol)
{
	return strlen(symbol->name) + 1 + strlen(symbol->module) + 1;
}

static void add(struct symbols *symbols, const struct candidate *new)
{
	struct symbol *symbol;
	size_t at;
	char *text;

	while (!(text = find_room(symbols, text_bytes(new))))
		drop_oldest(symbols);
	symbol = &symbols->table[(symbols->oldest + symbols->count) % SYMBOLS_MAX];
	symbol->address = new->address;
	symbol->size = new->size;
	symbol->name = text;
	text = stpcpy(text, new->name) + 1;
	symbol->module = text;
	symbols->text_end = stpcpy(text, new->module) + 1 - symbols->text;
	for (at = symbols->count; at && symbols->order[at - 1]->address > new->address; at--)
		symbols->order[at] = symbols->order[at - 1];
	symbols->order[at] = symbol;
	symbols->count++;
}

/*
 * The kernel's own symbols come first, in order of address. Of several names at one address the
 * kernel prints the first, even if another one was wanted. Returns 0, -ENODATA if there is no symbol,
 * or -EPERM if all addresses are zeros.
 */
static int fill(struct symbols *symbols, bool (*wanted)(void *context, const char *name),
		void *context)
{
	struct line_reader reader;
	struct kallsyms_line line;
	struct candidate alias = { 0 }; /* first symbol at the current address */
	size_t open = 0;		/* entries from here on have no size yet */
	bool any = false;		/* any address other than zero? */
	int ret = -ENODATA;

	line_reader_start(&reader, symbols->fd);
	while (next_line(&reader, &line) && !(any && *line.module)) {
		any |= line.address != 0;
		ret = any ? 0 : -EPERM;
		for (; open < symbols->count; open++) {
			struct symbol *symbol = &symbols->table[open];

			if (symbol->address >= line.address)
				break;
			symbol->size = line.address - symbol->address;
		}
		if (line.address != alias.address)
			set_candidate(&alias, &line);
		if (!strcmp(line.name, "__sched_text_start"))
			symbols->sched_start = line.address;
		else if (!strcmp(line.name, "__sched_text_end"))
			symbols->sched_end = line.address;
		if (wanted && line.type != 'A' && line.address && wanted(context, line.name) &&
		    find_room(symbols, text_bytes(&alias)) && !find(symbols, line.address))
			add(symbols, &alias);
	}
	return ret;
}

struct symbols *symbols_new(const char *path, bool (*wanted)(void *context, const char *name),
			    void *context)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->fd = file_open(NULL, path, FILE_TEXT_MAX);
	symbols->readable = symbols->fd < 0 ? symbols->fd : fill(symbols, wanted, context);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	if (symbols->fd >= 0)
		close(symbols->fd);
	free(symbols);
}

int symbols_readable(const struct symbols *symbols)
{
	return symbols->readable;
}

/* ---- looking up ---- */

static void end_block(struct search *search)
{
	struct candidate *block = &search->block;
	uint64_t page_end = (search->address / CODE_PAGE + 1) * CODE_PAGE;
	uint64_t end = search->next;

	/* kallsyms does not mark the end of a module's code: it is the end of a page, before data. */
	if (*block->module && !search->next_is_code && (!end || page_end < end))
		end = page_end;
	if (*block->name && (!*search->best.name || block->address > search->best.address)) {
		block->size = end > block->address ? end - block->address : 0;
		search->best = *block;
	}
	*block->name = '\0';
	search->next = 0;
	search->next_is_code = false;
}

static void search_line(struct search *search, const struct kallsyms_line *line)
{
	struct candidate *block = &search->block;

	if (strcmp(block->module, line->module)) {
		end_block(search);
		snprintf(block->module, sizeof(block->module), "%s", line->module);
	}
	if (line->address <= search->address) {
		if (line->type != 'A' && (!*block->name || line->address > block->address))
			set_candidate(block, line);
	} else if (!search->next || line->address < search->next) {
		search->next = line->address;
		search->next_is_code = strchr("tTwW", line->type);
	}
}

/* One pass for all: the kernel formats each line when it is read, which is slow. */
void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count)
{
	struct line_reader reader;
	struct kallsyms_line line;
	size_t nr_searches = 0;

	for (size_t i = 0; i < count && nr_searches < SEARCH_MAX; i++)
		if (!find(symbols, addresses[i]))
			symbols->searches[nr_searches++] =
				(struct search){ .address = addresses[i] };
	if (symbols->readable || !nr_searches)
		return;
	line_reader_start(&reader, symbols->fd);
	while (next_line(&reader, &line))
		for (size_t i = 0; i < nr_searches; i++)
			search_line(&symbols->searches[i], &line);
	for (size_t i = 0; i < nr_searches; i++) {
		struct search *search = &symbols->searches[i];

		end_block(search);
		if (!*search->best.name ||
		    !contains(search->best.address, search->best.size, search->address))
			search->best = (struct candidate){ .address = search->address };
		/* Several of the addresses may lie in one function. */
		if (!find(symbols, search->address))
			add(symbols, &search->best);
	}
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t address)
{
	const struct symbol *symbol;

	symbols_look_up(symbols, &address, 1);
	symbol = find(symbols, address);
	return symbol && *symbol->name ? symbol : NULL;
}

uint64_t symbols_address(const struct symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->order[i]->name, name))
			return symbols->order[i]->address;
	return 0;
}

bool symbols_in_scheduler(const struct symbols *symbols, uint64_t address)
{
	return symbols->sched_start && address >= symbols->sched_start &&
	       address < symbols->sched_end;
}

int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	const struct symbol *symbol = symbols_find(symbols, address);
	char offset[48], *end;
	size_t used;

	if (!symbol) {
		used = text_append(text, size, 0, "0x");
		*text_hex(offset, address) = '\0';
		return (int)text_append(text, size, used, offset);
	}
	used = text_append(text, size, 0, symbol->name);
	if (style == 'S') {
		end = text_hex(mempcpy(offset, "+0x", 3), address - symbol->address);
		*text_hex(mempcpy(end, "/0x", 3), symbol->size) = '\0';
		used = text_append(text, size, used, offset);
	}
	if (*symbol->module) {
		used = text_append(text, size, used, " [");
		used = text_append(text, size, used, symbol->module);
		used = text_append(text, size, used, "]");
	}
	return (int)used;
}
