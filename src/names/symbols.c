// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/names.h"
#include "names/line_reader.h"
#include "names/symbols.h"

#define CODE_PAGE	4096u
#define SYMBOL_LINE_MAX 640  /* bytes: KSYM_NAME_LEN is 512 */
#define SEARCHES	128u /* addresses that are looked up in one pass */
#define RECENT		64u
#define PASS_PAUSE	NS_PER_SECOND /* ns: the kernel formats each line when it is read */
#define GAPS		64u
#define GAP_TRUSTED	(60 * NS_PER_SECOND) /* ns: then a module may have been loaded there */

/*
 * The symbol of an address is the nearest one at or below it, of several at one address the first in
 * the file. It ends where the next symbol of its module begins. The lines of a module are
 * contiguous, in any order: a block.
 */
struct candidate {
	uint64_t address;
	uint64_t size;
	char name[SYMBOL_NAME_MAX]; /* "": none */
	char module[SYMBOL_MODULE_MAX];
};

struct search {
	uint64_t address;
	struct candidate best;
	bool in_block; /* is the best one of the present block? then its size comes at the end */
	uint64_t next; /* nearest address above it in this block; 0: none */
	bool next_is_code;
	uint64_t above; /* nearest address above it in any block; 0: none */
};

/* Addresses that no symbol contains. */
struct gap {
	uint64_t start;
	uint64_t end;
};

/*
 * A line of a file that does not change. Anybody may have written it, so what is looked up from here
 * on is found in one step, however many lines are alike.
 */
struct place {
	uint64_t address;
	uint32_t offset; /* in the file */
	uint32_t block : 30;
	uint32_t is_absolute : 1;
	uint32_t is_code : 1;
	/* of the last place at an address: indices into places, from 1; 0: none */
	uint32_t best; /* what an address from here on is called by */
	uint32_t next; /* the nearest one above it in that one's block */
};

struct symbols {
	int fd;
	bool live;
	int readable;	      /* 0 or -errno */
	uint64_t sched_start; /* of the section .sched.text; 0: unknown */
	uint64_t sched_end;
	size_t count;
	struct symbol *order[SYMBOLS_MAX]; /* by address; they do not overlap */
	/* what was found last, by address: few functions are printed over and over */
	const struct symbol *recent[RECENT];
	struct symbol table[SYMBOLS_MAX]; /* a ring, in the order in which they came */
	size_t oldest;			  /* in table */
	char text[SYMBOLS_TEXT_MAX];	  /* a ring of their names, in the same order */
	size_t text_end;		  /* of the newest */
	/* live */
	uint64_t now;	    /* ns, trace clock */
	uint64_t next_pass; /* not before */
	struct search searches[SEARCHES];
	size_t nr_searches; /* that wait for the next pass */
	struct gap gaps[GAPS];
	size_t nr_gaps;
	uint64_t gaps_since;
	/* of a capture, by address */
	struct place *places;
	size_t nr_places;
	size_t places_room;
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

static bool is_code(const struct kallsyms_line *line)
{
	return strchr("tTwW", line->type);
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
	text_append(symbol->name, sizeof(symbol->name), 0, line->name);
	text_append(symbol->module, sizeof(symbol->module), 0, line->module);
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
	memset(symbols->recent, 0, sizeof(symbols->recent));
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

uint64_t kallsyms_address(int fd, const char *function)
{
	struct line_reader reader;
	struct kallsyms_line line;
	uint64_t address = 0;

	line_reader_start(&reader, fd);
	while (!address && next_line(&reader, &line))
		if (!strcmp(line.name, function))
			address = line.address;
	if (fd >= 0)
		close(fd);
	return address;
}

/* Returns 0, -ENODATA if there is no symbol, or -EPERM if all addresses are zeros. */
static int check_readable(int fd)
{
	struct line_reader reader;
	struct kallsyms_line line;
	int ret = -ENODATA;

	line_reader_start(&reader, fd);
	while (ret && next_line(&reader, &line))
		ret = line.address ? 0 : -EPERM;
	return ret;
}

struct symbols *symbols_new(int fd, bool live)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	symbols->live = live;
	symbols->fd = fd;
	symbols->readable = symbols->fd < 0 ? symbols->fd : check_readable(symbols->fd);
	return symbols;
}

static int compare_places(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void link_bests(struct place *places, size_t count)
{
	uint32_t best = 0;

	for (size_t i = 0; i < count; i++) {
		if (!places[i].is_absolute &&
		    (!best || places[best - 1].address != places[i].address))
			best = (uint32_t)i + 1;
		places[i].best = best;
	}
}

/* Returns false without memory. */
static bool link_places(struct place *places, size_t count, uint32_t blocks)
{
	/* of each block, above the present address */
	uint32_t *nearest = calloc(blocks, sizeof(*nearest));
	size_t start;

	if (!nearest)
		return false;
	link_bests(places, count);
	for (size_t end = count; end; end = start) {
		struct place *last = &places[end - 1];

		if (last->best)
			last->next = nearest[places[last->best - 1].block];
		for (start = end; start && places[start - 1].address == last->address; start--)
			nearest[places[start - 1].block] = (uint32_t)start;
	}
	free(nearest);
	return true;
}

/* Returns false without memory. Not later: nothing is allocated once records arrive. */
static bool add_place(struct symbols *symbols, const struct kallsyms_line *line, off_t offset,
		      uint32_t block)
{
	if (symbols->nr_places == symbols->places_room) {
		size_t room = symbols->places_room ? 2 * symbols->places_room : 4096;
		struct place *places = reallocarray(symbols->places, room, sizeof(*places));

		if (!places)
			return false;
		symbols->places = places;
		symbols->places_room = room;
	}
	symbols->places[symbols->nr_places++] = (struct place){
		.address = line->address,
		.offset = (uint32_t)offset,
		.block = block,
		.is_absolute = line->type == 'A',
		.is_code = is_code(line),
	};
	return true;
}

/*
 * The kernel's own symbols come first, in order of address. Of several names at one address the
 * kernel prints the first, even if another one was wanted.
 */
void symbols_read(struct symbols *symbols, bool (*wanted)(void *context, const char *name),
		  void *context)
{
	struct line_reader reader;
	struct kallsyms_line line;
	struct candidate alias = { 0 }; /* first symbol at the current address */
	size_t open = 0;		/* entries from here on have no size yet */
	char module[SYMBOL_MODULE_MAX] = "";
	uint32_t block = 0; /* the kernel's own */

	if (symbols->readable)
		return;
	line_reader_start(&reader, symbols->fd);
	while (next_line(&reader, &line)) {
		if (strcmp(module, line.module)) {
			text_append(module, sizeof(module), 0, line.module);
			block++;
		}
		if (symbols->live && block)
			break;
		/* Without memory for all, the rest has no names. */
		if (!symbols->live &&
		    !add_place(symbols, &line, line_reader_offset(&reader), block))
			break;
		if (block)
			continue;
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
		if (line.type != 'A' && line.address && wanted(context, line.name) &&
		    find_room(symbols, text_bytes(&alias)) && !find(symbols, line.address))
			add(symbols, &alias);
	}
	if (!symbols->nr_places)
		return;
	qsort(symbols->places, symbols->nr_places, sizeof(*symbols->places), compare_places);
	if (!link_places(symbols->places, symbols->nr_places, block + 1))
		symbols->nr_places = 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	if (symbols->fd >= 0)
		close(symbols->fd);
	free(symbols->places);
	free(symbols);
}

int symbols_readable(const struct symbols *symbols)
{
	return symbols->readable;
}

/* ---- looking up ---- */

static uint64_t size_of(const struct search *search)
{
	uint64_t page_end = (search->address / CODE_PAGE + 1) * CODE_PAGE;
	uint64_t end = search->next;

	/* kallsyms does not mark the end of a module's code: it is the end of a page, before data. */
	if (*search->best.module && !search->next_is_code && (!end || page_end < end))
		end = page_end;
	return end > search->best.address ? end - search->best.address : 0;
}

/* Returns false if the best one does not contain the address. */
static bool add_found(struct symbols *symbols, const struct search *search)
{
	const struct candidate *best = &search->best;

	if (!*best->name || !contains(best->address, best->size, search->address))
		return false;
	/* Several of the addresses may lie in one function. */
	if (!find(symbols, search->address))
		add(symbols, best);
	return true;
}

/* ---- in a running kernel: one pass for all that is unknown ---- */

static bool is_gap(struct symbols *symbols, uint64_t address)
{
	if (symbols->now > symbols->gaps_since + GAP_TRUSTED)
		symbols->nr_gaps = 0;
	for (size_t i = 0; i < symbols->nr_gaps; i++)
		if (address >= symbols->gaps[i].start && address <= symbols->gaps[i].end)
			return true;
	return false;
}

static void add_gap(struct symbols *symbols, const struct search *search)
{
	const struct candidate *best = &search->best;
	uint64_t start = 0;

	if (is_gap(symbols, search->address))
		return;
	if (!symbols->nr_gaps)
		symbols->gaps_since = symbols->now;
	if (*best->name)
		start = best->address + (best->size ? best->size : 1);
	if (symbols->nr_gaps == GAPS)
		memmove(symbols->gaps, symbols->gaps + 1,
			--symbols->nr_gaps * sizeof(symbols->gaps[0]));
	symbols->gaps[symbols->nr_gaps++] = (struct gap){ start, search->above - 1 };
}

static void improve(struct search *search, const struct candidate *line)
{
	if (!*line->name || line->address > search->address ||
	    (*search->best.name && line->address <= search->best.address))
		return;
	search->best = *line;
	search->in_block = true;
}

static void end_block(struct search *search)
{
	if (search->in_block)
		search->best.size = size_of(search);
	search->in_block = false;
	search->next = 0;
	search->next_is_code = false;
}

static void see_above(struct search *search, const struct kallsyms_line *line)
{
	if (line->address <= search->address)
		return;
	if (!search->next || line->address < search->next) {
		search->next = line->address;
		search->next_is_code = is_code(line);
	}
	if (!search->above || line->address < search->above)
		search->above = line->address;
}

static void search_file(struct symbols *symbols)
{
	struct search *end = symbols->searches + symbols->nr_searches, *search;
	struct line_reader reader;
	struct kallsyms_line line;
	/* The first line at the latest address: copied once, as most have a better one after them. */
	struct candidate last = { 0 };

	line_reader_start(&reader, symbols->fd);
	while (next_line(&reader, &line)) {
		bool other_block = strcmp(last.module, line.module);
		bool counts = line.type != 'A' &&
			      (other_block || !*last.name || line.address != last.address);

		for (search = symbols->searches; search < end; search++) {
			if (other_block || (counts && (line.address < last.address ||
						       line.address > search->address)))
				improve(search, &last);
			if (other_block)
				end_block(search);
			see_above(search, &line);
		}
		if (counts)
			set_candidate(&last, &line);
		else if (other_block)
			last = (struct candidate){ 0 };
		if (other_block)
			text_append(last.module, sizeof(last.module), 0, line.module);
	}
	for (search = symbols->searches; search < end; search++) {
		improve(search, &last);
		end_block(search);
		if (!add_found(symbols, search))
			add_gap(symbols, search);
	}
	symbols->nr_searches = 0;
}

static bool is_queued(const struct symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->nr_searches; i++)
		if (symbols->searches[i].address == address)
			return true;
	return false;
}

static void queue(struct symbols *symbols, uint64_t address)
{
	if (symbols->nr_searches < SEARCHES && !is_gap(symbols, address) &&
	    !is_queued(symbols, address))
		symbols->searches[symbols->nr_searches++] = (struct search){ .address = address };
}

/* ---- in a capture ---- */

static void search_places(struct symbols *symbols, struct search *search)
{
	const struct place *places = symbols->places, *found, *best;
	size_t above = 0, end = symbols->nr_places;
	char text[SYMBOL_LINE_MAX];
	struct kallsyms_line line;
	ssize_t length;

	while (above < end) {
		size_t middle = above + (end - above) / 2;

		if (places[middle].address <= search->address)
			above = middle + 1;
		else
			end = middle;
	}
	if (!above || !places[above - 1].best)
		return;
	found = &places[above - 1];
	best = &places[found->best - 1];
	if (found->next) {
		search->next = places[found->next - 1].address;
		search->next_is_code = places[found->next - 1].is_code;
	}
	length = pread(symbols->fd, text, sizeof(text) - 1, best->offset);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!parse_line(text, &line))
		return;
	set_candidate(&search->best, &line);
	search->best.size = size_of(search);
}

void symbols_set_time(struct symbols *symbols, uint64_t ts)
{
	if (ts > symbols->now)
		symbols->now = ts;
}

void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count)
{
	if (symbols->readable)
		return;
	for (size_t i = 0; i < count; i++) {
		struct search search = { .address = addresses[i] };

		if (find(symbols, addresses[i]))
			continue;
		if (symbols->live) {
			queue(symbols, addresses[i]);
			continue;
		}
		search_places(symbols, &search);
		add_found(symbols, &search);
	}
	if (!symbols->nr_searches || symbols->now < symbols->next_pass)
		return;
	symbols->next_pass = symbols->now + PASS_PAUSE;
	search_file(symbols);
}

static noinline const struct symbol *look_up(struct symbols *symbols, uint64_t address)
{
	symbols_look_up(symbols, &address, 1);
	return symbols->recent[address / 16 % RECENT] = find(symbols, address);
}

static inline const struct symbol *recent_or_found(struct symbols *symbols, uint64_t address)
{
	const struct symbol *recent = symbols->recent[address / 16 % RECENT];

	if (recent && contains(recent->address, recent->size, address))
		return recent;
	return look_up(symbols, address);
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t address)
{
	return recent_or_found(symbols, address);
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
	const struct symbol *symbol = recent_or_found(symbols, address);
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
