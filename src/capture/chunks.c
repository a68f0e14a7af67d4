// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "allocfilt/base/base.h"
#include "allocfilt/base/file.h"
#include "allocfilt/record/source.h"

#define COUNT_BYTES  4		 /* before the first chunk */
#define CHUNK_HEADER 8		 /* sizes: compressed, and of the data */
#define CHUNK_PAGES  10		 /* trace-cmd makes chunks of so many */
#define CHUNK_MIN    (5u << 20)	 /* of the largest pages, with memory pages of 4 KiB */
#define CHUNK_MAX    (80u << 20) /* the same with those of 64 KiB */
#define PAGE_PACKED  4		 /* bytes in the file that a page takes at least: its time stamp */

struct codec {
	const char *name;
	const char *package;
	bool (*expand)(void *to, size_t size, const void *from, size_t length); /* NULL: missing */
};

#ifdef HAVE_ZSTD
static bool expand_zstd(void *to, size_t size, const void *from, size_t length)
{
	return ZSTD_decompress(to, size, from, length) == size;
}
#else
#define expand_zstd NULL
#endif

#ifdef HAVE_ZLIB
static bool expand_zlib(void *to, size_t size, const void *from, size_t length)
{
	unsigned long expanded = size;

	return uncompress(to, &expanded, from, length) == Z_OK && expanded == size;
}
#else
#define expand_zlib NULL
#endif

static const struct codec codecs[] = {
	{ "zstd", "libzstd-dev", expand_zstd },
	{ "zlib", "zlib1g-dev", expand_zlib },
};

const struct codec *codec_find(const char *name, const char **ret_package)
{
	*ret_package = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(codecs); i++) {
		if (strcmp(codecs[i].name, name))
			continue;
		*ret_package = codecs[i].package;
		return codecs[i].expand ? &codecs[i] : NULL;
	}
	return NULL;
}

int codec_expand(const struct codec *codec, void *to, size_t size, const void *from, size_t length)
{
	return codec->expand(to, size, from, length) ? 0 : -EBADMSG;
}

struct chunks {
	const struct codec *codec;
	bool big_endian;
	int fd;
	size_t page;
	off_t start, end; /* of the chunks in the file */
	uint32_t count;
	off_t next;    /* the header of the next one */
	uint32_t left; /* from there on */
	unsigned char *packed;
	unsigned char *data; /* of the present chunk */
	size_t at, length;   /* of what was read of it, and of it */
	bool damaged;
};

static int read_at(const struct chunks *chunks, void *to, size_t size, off_t at)
{
	size_t length;
	int ret = file_read_at(chunks->fd, to, size, at, &length);

	return ret ? ret : length < size ? -EBADMSG : 0;
}

/* Reads the sizes of a chunk. Returns 0 or -errno. */
static int read_header(const struct chunks *chunks, off_t at, size_t *ret_packed, size_t *ret_size)
{
	size_t most = MIN(MAX(CHUNK_PAGES * chunks->page, CHUNK_MIN), CHUNK_MAX);
	unsigned char header[CHUNK_HEADER];
	int ret;

	if (chunks->end - at < CHUNK_HEADER)
		return -EBADMSG;
	ret = read_at(chunks, header, sizeof(header), at);
	if (ret)
		return ret;
	*ret_packed = event_number(header, 4, chunks->big_endian);
	*ret_size = event_number(header + 4, 4, chunks->big_endian);
	if (*ret_packed > (uint64_t)(chunks->end - at - CHUNK_HEADER) ||
	    *ret_packed > 2 * *ret_size || *ret_size > most || !*ret_size)
		return -EBADMSG;
	return 0;
}

int chunks_open(struct chunks **ret_chunks, const struct codec *codec, bool big_endian, int fd,
		off_t offset, off_t length, struct chunk_limits *limits, off_t *ret_size)
{
	struct chunks *chunks = calloc(1, sizeof(*chunks));
	unsigned char count[COUNT_BYTES];
	size_t packed, size, largest = 0;
	uint32_t wanted;
	int ret;

	if (!chunks)
		return -ENOMEM;
	chunks->codec = codec;
	chunks->big_endian = big_endian;
	chunks->fd = fd;
	chunks->page = limits->page;
	chunks->start = chunks->next = offset + COUNT_BYTES;
	chunks->end = chunks->start + length;
	*ret_size = 0;
	ret = read_at(chunks, count, sizeof(count), offset);
	wanted = ret ? 0 : (uint32_t)event_number(count, sizeof(count), big_endian);
	while (!ret && chunks->count < wanted) {
		ret = read_header(chunks, chunks->next, &packed, &size);
		if (ret)
			break;
		chunks->next += CHUNK_HEADER + (off_t)packed;
		/* A few bytes may expand to any number of zeros. */
		if ((*ret_size + (off_t)size) / (off_t)limits->page >
			    (chunks->next - chunks->start) / PAGE_PACKED ||
		    (size > largest && size - largest > limits->room)) {
			ret = -EBADMSG;
			break;
		}
		if (size > largest) {
			limits->room -= size - largest;
			largest = size;
		}
		*ret_size += (off_t)size;
		chunks->count++;
	}
	chunks_rewind(chunks);
	*ret_chunks = chunks;
	return ret;
}

void chunks_free(struct chunks *chunks)
{
	if (!chunks)
		return;
	free(chunks->packed);
	free(chunks->data);
	free(chunks);
}

void chunks_rewind(struct chunks *chunks)
{
	chunks->next = chunks->start;
	chunks->left = chunks->count;
	chunks->at = chunks->length = 0;
}

static int resize(unsigned char **buffer, size_t size)
{
	/* A size of 0 would free it. */
	unsigned char *resized = realloc(*buffer, size + 1);

	if (!resized)
		return -ENOMEM;
	*buffer = resized;
	return 0;
}

/* Decompresses the next chunk. Returns 1, 0 at the end, or -errno. */
static int next_chunk(struct chunks *chunks)
{
	size_t packed, size;
	int ret;

	if (!chunks->left)
		return 0;
	ret = read_header(chunks, chunks->next, &packed, &size);
	if (!ret)
		ret = resize(&chunks->packed, packed);
	if (!ret)
		ret = resize(&chunks->data, size);
	if (ret)
		return ret;
	ret = read_at(chunks, chunks->packed, packed, chunks->next + CHUNK_HEADER);
	if (ret)
		return ret;
	chunks->next += CHUNK_HEADER + (off_t)packed;
	chunks->left--;
	chunks->at = 0;
	chunks->length = size;
	/*
	 * Pages that cannot be expanded become bytes that begin no page: they count as damaged, and
	 * the pages after them keep their places.
	 */
	if (codec_expand(chunks->codec, chunks->data, size, chunks->packed, packed)) {
		memset(chunks->data, 0xff, size);
		chunks->damaged = true;
	}
	return 1;
}

ssize_t chunks_read(struct chunks *chunks, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t part = chunks->length - chunks->at;
		int ret = part ? 1 : next_chunk(chunks);

		/* The next call begins with the same chunk. */
		if (ret <= 0)
			return done || !ret ? (ssize_t)done : ret;
		part = MIN(chunks->length - chunks->at, size - done);
		memcpy((char *)to + done, chunks->data + chunks->at, part);
		chunks->at += part;
		done += part;
	}
	return (ssize_t)done;
}

bool chunks_damaged(const struct chunks *chunks)
{
	return chunks->damaged;
}
