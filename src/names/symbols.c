// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocfilt/names.h"

#define BUFFER_SIZE   (32u << 10) /* far longer than a line: KSYM_NAME_LEN is 512 */
#define CODE_PAGE     4096u
#define SYMBOLS_BATCH 32u /* addresses that are searched in one pass */

/*
 * The symbol that contains an address is the one that begins nearest below it, the first by name
 * where several do; it ends where the next one of its module begins. The lines of a module stand
 * together, in any order: each such block is searched by itself.
 */
struct search {
	uint64_t address;
	struct symbol block; /* the best of this block; no name: none */
	uint64_t next;	     /* the nearest above it in this block; 0: none */
	bool next_is_code;
	struct symbol best;
};

struct symbols {
	int fd;
	int readable; /* 0 or -errno */
	uint64_t overflow;
	size_t count;
	uint16_t order[SYMBOLS_MAX]; /* into table, by address */
	/* An entry without a name is an address that the file does not have. */
	struct symbol table[SYMBOLS_MAX];
	struct symbol spare; /* the answer when the table is full */
	struct search batch[SYMBOLS_BATCH];
	size_t nr_batch;
	char buffer[BUFFER_SIZE];
};

/* "ffffffff81000000 T name\t[module]": not ended by a NUL. */
struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name;
	size_t name_length;
	const char *module;
	size_t module_length;
};

/* Each line of the file; non-zero stops. */
typedef int (*line_visitor)(void *context, const struct kallsyms_line *line);

/* ---- reading ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *parse_address(const char *at, const char *end, uint64_t *address)
{
	const char *start = at;
	uint64_t value = 0;
	int digit;

	for (; at < end && (digit = hex_digit(*at)) >= 0; at++)
		value = value << 4 | (uint64_t)digit;
	*address = value;
	return at > start && at - start <= 16 ? at : NULL;
}

static bool parse_line(const char *at, const char *end, struct kallsyms_line *line)
{
	const char *name_end;

	at = parse_address(at, end, &line->address);
	if (!at || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	line->type = at[1];
	line->name = at + 3;
	name_end = memchr(line->name, '\t', (size_t)(end - line->name));
	line->name_length = (size_t)((name_end ? name_end : end) - line->name);
	line->module = end;
	line->module_length = 0;
	if (name_end && end - name_end > 2 && name_end[1] == '[' && end[-1] == ']') {
		line->module = name_end + 2;
		line->module_length = (size_t)(end - 1 - line->module);
	}
	return line->name_length > 0;
}

/* Hands on all whole lines in the buffer; returns the bytes that are used up. */
static size_t visit_lines(const char *buffer, size_t length, line_visitor visit, void *context,
			  int *ret)
{
	const char *at = buffer, *end = buffer + length, *newline;
	struct kallsyms_line line;

	while (!*ret && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (parse_line(at, newline, &line))
			*ret = visit(context, &line);
		at = newline + 1;
	}
	return (size_t)(at - buffer);
}

static int visit_file(struct symbols *symbols, line_visitor visit, void *context)
{
	size_t held = 0, used;
	ssize_t got;
	int ret = 0;

	if (lseek(symbols->fd, 0, SEEK_SET) < 0)
		return -errno;
	while (!ret) {
		got = read(symbols->fd, symbols->buffer + held, BUFFER_SIZE - held);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		held += (size_t)got;
		used = visit_lines(symbols->buffer, held, visit, context, &ret);
		/* A line that fills the buffer is no symbol: it goes. */
		if (!used && held == BUFFER_SIZE)
			used = held;
		held -= used;
		memmove(symbols->buffer, symbols->buffer + used, held);
	}
	return ret;
}

/* ---- symbols of lines ---- */

static void copy_name(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

static void take_line(struct symbol *symbol, const struct kallsyms_line *line)
{
	symbol->address = line->address;
	symbol->size = 0;
	copy_name(symbol->name, sizeof(symbol->name), line->name, line->name_length);
	copy_name(symbol->module, sizeof(symbol->module), line->module, line->module_length);
}

static bool same_module(const char *module, const struct kallsyms_line *line)
{
	return !strncmp(module, line->module, line->module_length) && !module[line->module_length];
}

/* ---- the table ---- */

/* How many entries lie at or below @address. */
static size_t entries_up_to(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (symbols->table[symbols->order[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A new entry at @address, or NULL when the table is full. */
static struct symbol *new_entry(struct symbols *symbols, uint64_t address)
{
	size_t at = entries_up_to(symbols, address);
	uint16_t index = (uint16_t)symbols->count;

	if (symbols->count >= SYMBOLS_MAX)
		return NULL;
	memmove(&symbols->order[at + 1], &symbols->order[at],
		(symbols->count - at) * sizeof(*symbols->order));
	symbols->order[at] = index;
	symbols->count++;
	symbols->table[index].address = address;
	return &symbols->table[index];
}

static bool contains(const struct symbol *symbol, uint64_t address)
{
	return address == symbol->address ||
	       (address > symbol->address && address - symbol->address < symbol->size);
}

static const struct symbol *find_entry(const struct symbols *symbols, uint64_t address)
{
	size_t at = entries_up_to(symbols, address);
	const struct symbol *entry;

	if (!at)
		return NULL;
	entry = &symbols->table[symbols->order[at - 1]];
	return contains(entry, address) ? entry : NULL;
}

/* ---- the first pass: the kernel's own symbols, which come in order of address ---- */

struct filling {
	struct symbols *symbols;
	int (*wanted)(void *context, const char *name);
	void *context;
	struct symbol alias; /* the first name at the address that was read last */
	size_t open;	     /* entries from here on have no end yet */
	bool any;	     /* was there an address that is not zero? */
};

static void close_entries(struct filling *filling, uint64_t address)
{
	struct symbols *symbols = filling->symbols;
	struct symbol *entry;

	for (; filling->open < symbols->count; filling->open++) {
		entry = &symbols->table[filling->open];
		if (entry->address >= address)
			break;
		entry->size = address - entry->address;
	}
}

static bool is_wanted(const struct filling *filling, const struct kallsyms_line *line)
{
	char name[SYMBOL_NAME_MAX];

	if (!filling->wanted || line->type == 'A')
		return false;
	copy_name(name, sizeof(name), line->name, line->name_length);
	return filling->wanted(filling->context, name);
}

/* Of several names at one address the kernel shows the first, whichever was asked for. */
static int fill_line(void *context, const struct kallsyms_line *line)
{
	struct filling *filling = context;
	struct symbol *entry;

	filling->any |= line->address != 0;
	if (line->module_length)
		return filling->any;
	close_entries(filling, line->address);
	if (line->address != filling->alias.address)
		take_line(&filling->alias, line);
	if (!is_wanted(filling, line) || find_entry(filling->symbols, line->address))
		return 0;
	entry = new_entry(filling->symbols, line->address);
	if (entry)
		*entry = filling->alias;
	return 0;
}

static int fill(struct symbols *symbols, int (*wanted)(void *context, const char *name),
		void *context)
{
	struct filling filling = { .symbols = symbols, .wanted = wanted, .context = context };
	int ret = visit_file(symbols, fill_line, &filling);

	if (ret < 0)
		return ret;
	return filling.any ? 0 : -EPERM;
}

struct symbols *symbols_new(const char *path, int (*wanted)(void *context, const char *name),
			    void *context)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->fd = open(path, O_RDONLY | O_CLOEXEC);
	symbols->readable = symbols->fd < 0 ? -errno : fill(symbols, wanted, context);
	if (symbols->readable)
		symbols->count = 0;
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

uint64_t symbols_overflow(const struct symbols *symbols)
{
	return symbols->overflow;
}

/* ---- looking up ---- */

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/*
 * The last function of a module ends where the module's code does, which kallsyms does not tell:
 * at a page's end, with data behind it.
 */
static uint64_t end_of(const struct search *search)
{
	uint64_t page_end = (search->address / CODE_PAGE + 1) * CODE_PAGE;

	if (search->block.module[0] && !search->next_is_code &&
	    (!search->next || page_end < search->next))
		return page_end;
	return search->next;
}

static void end_block(struct search *search)
{
	struct symbol *block = &search->block;
	uint64_t end = end_of(search);

	if (block->name[0] && (!search->best.name[0] || block->address > search->best.address)) {
		block->size = end > block->address ? end - block->address : 0;
		search->best = *block;
	}
	block->name[0] = '\0';
	search->next = 0;
	search->next_is_code = false;
}

static void note_next(struct search *search, const struct kallsyms_line *line)
{
	if (search->next && search->next <= line->address)
		return;
	search->next = line->address;
	search->next_is_code = is_code(line->type);
}

static void search_line(struct search *search, const struct kallsyms_line *line)
{
	struct symbol *block = &search->block;

	if (!same_module(block->module, line)) {
		end_block(search);
		copy_name(block->module, sizeof(block->module), line->module, line->module_length);
	}
	if (line->address > search->address)
		note_next(search, line);
	else if (line->type != 'A' && (!block->name[0] || line->address > block->address))
		take_line(block, line);
}

static int search_line_for_all(void *context, const struct kallsyms_line *line)
{
	struct symbols *symbols = context;

	for (size_t i = 0; i < symbols->nr_batch; i++)
		search_line(&symbols->batch[i], line);
	return 0;
}

static void add_search(struct symbols *symbols, uint64_t address)
{
	symbols->batch[symbols->nr_batch++] = (struct search){ .address = address };
}

/* One pass over the file for the whole batch: it is the kernel that makes each line, slowly. */
static void search_file(struct symbols *symbols)
{
	int ret = visit_file(symbols, search_line_for_all, symbols);

	for (size_t i = 0; i < symbols->nr_batch; i++) {
		struct search *search = &symbols->batch[i];

		end_block(search);
		if (ret || !search->best.name[0] || !contains(&search->best, search->address))
			search->best = (struct symbol){ .address = search->address };
	}
}

/* Several addresses of the batch may lie in one function. */
static void keep_batch(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->nr_batch; i++) {
		const struct search *search = &symbols->batch[i];
		struct symbol *entry = NULL;

		if (!find_entry(symbols, search->address))
			entry = new_entry(symbols, search->best.address);
		if (entry)
			*entry = search->best;
	}
	symbols->nr_batch = 0;
}

void symbols_look_up(struct symbols *symbols, const uint64_t *addresses, size_t count)
{
	if (symbols->readable)
		return;
	symbols->nr_batch = 0;
	for (size_t i = 0; i < count && symbols->nr_batch < SYMBOLS_BATCH; i++)
		if (!find_entry(symbols, addresses[i]))
			add_search(symbols, addresses[i]);
	if (!symbols->nr_batch || symbols->count >= SYMBOLS_MAX)
		return;
	search_file(symbols);
	keep_batch(symbols);
}

static const struct symbol *named(const struct symbol *symbol)
{
	return symbol->name[0] ? symbol : NULL;
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t address)
{
	const struct symbol *known = find_entry(symbols, address);
	struct symbol *entry;

	if (symbols->readable)
		return NULL;
	if (known)
		return named(known);
	symbols->nr_batch = 0;
	add_search(symbols, address);
	search_file(symbols);
	symbols->spare = symbols->batch[0].best;
	entry = new_entry(symbols, symbols->spare.address);
	if (!entry) {
		symbols->overflow++;
		return named(&symbols->spare);
	}
	*entry = symbols->spare;
	return named(entry);
}

uint64_t symbols_address(const struct symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->table[i].name, name))
			return symbols->table[i].address;
	return 0;
}

int symbols_text(struct symbols *symbols, uint64_t address, char style, char *text, size_t size)
{
	const struct symbol *symbol = symbols_find(symbols, address);
	const char *open = " [", *close = "]";
	int length;

	if (!symbol) {
		length = snprintf(text, size, "0x%llx", (unsigned long long)address);
	} else {
		if (!symbol->module[0])
			open = close = "";
		if (style == 'S')
			length = snprintf(text, size, "%s+0x%llx/0x%llx%s%s%s", symbol->name,
					  (unsigned long long)(address - symbol->address),
					  (unsigned long long)symbol->size, open, symbol->module,
					  close);
		else
			length = snprintf(text, size, "%s%s%s%s", symbol->name, open,
					  symbol->module, close);
	}
	return size && (size_t)length >= size ? (int)size - 1 : length;
}
