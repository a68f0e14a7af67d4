// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ECMA-48: CUP to the first line, EL and ED from the cursor to the end. */
#define HOME	 "\033[H"
#define END_LINE "\033[K\r\n"
#define END_PAGE "\033[J"

struct screen {
	struct writer *page;
	bool begun;
};

bool screen_is_capable(int fd)
{
	const char *name = getenv("TERM");

	return isatty(fd) && name && *name && strcmp(name, "dumb");
}

struct screen *screen_new(void)
{
	struct screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return NULL;
	screen->page = writer_new(-1, -1);
	if (screen->page)
		return screen;
	free(screen);
	return NULL;
}

void screen_free(struct screen *screen)
{
	if (!screen)
		return;
	writer_free(screen->page);
	free(screen);
}

struct writer *screen_begin(struct screen *screen)
{
	writer_attach(screen->page, -1);
	return screen->page;
}

/* Bytes of a line that fit into so many columns. */
static size_t fitting(const char *line, size_t length, unsigned int columns)
{
	size_t bytes = 0;

	while (bytes < length && columns) {
		bytes++;
		while (bytes < length && (line[bytes] & 0xc0) == 0x80)
			bytes++;
		columns--;
	}
	return bytes;
}

int screen_show(struct screen *screen, struct writer *writer)
{
	struct winsize size = { 0 };
	size_t length;
	const char *text = writer_queued(screen->page, &length), *end = text + length;

	/* The blank line that sets a summary off from what is above. */
	if (text < end && *text == '\n')
		text++;
	if (ioctl(writer_fd(writer), TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	/* What the terminal shows is scrolled away, not lost. */
	for (unsigned int row = 0; !screen->begun && row < size.ws_row; row++)
		writer_put(writer, "\n", 1);
	screen->begun = true;
	writer_put(writer, HOME, strlen(HOME));
	for (unsigned int row = 1; text < end && row < size.ws_row; row++) {
		const char *newline = memchr(text, '\n', end - text);
		size_t line = (newline ? newline : end) - text;
		/* In the last column EL would erase it, or the cursor be in the next row. */
		size_t part = fitting(text, line, size.ws_col > 1 ? size.ws_col - 1 : 1);

		writer_put(writer, text, part);
		writer_put(writer, END_LINE, strlen(END_LINE));
		text += part + (part == line);
	}
	writer_put(writer, END_PAGE, strlen(END_PAGE));
	return writer_flush(writer);
}
