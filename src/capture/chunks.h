/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_CAPTURE_CHUNKS_H
#define ALLOCFILT_CAPTURE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Compressed data of a trace.dat, version 7: trace-cmd.dat.v7(5). A section is compressed as a whole,
 * the data of a CPU in chunks of a few pages.
 */

struct codec;

/**
 * codec_find - by the name that the file has ("zstd", "zlib")
 * @ret_package: Debian's package that this program would have to be built with; NULL: none is known
 *
 * Returns NULL where it cannot be decompressed.
 */
const struct codec *codec_find(const char *name, const char **ret_package);

/** codec_expand - decompress all of @from; 0, or -EBADMSG where it is not exactly @size bytes */
int codec_expand(const struct codec *codec, void *to, size_t size, const void *from, size_t length);

struct chunks;

/* A few bytes may become gigabytes. */
struct chunk_limits {
	size_t page; /* bytes of a page */
	size_t room; /* bytes of memory that are left: each CPU has a chunk that is expanded */
};

/**
 * chunks_open - the chunks of a CPU
 * @fd: stays open, and has to until chunks_free()
 * @offset: in the file: a number of 4 bytes, how many chunks there are, and the chunks
 * @length: bytes of the chunks
 * @limits: of all CPUs; the largest chunk is taken off
 * @ret_size: bytes of data in all, as far as the chunks are in the file
 *
 * Returns 0, -ENOMEM, -EBADMSG for damaged ones, or the -errno of reading.
 */
int chunks_open(struct chunks **chunks, const struct codec *codec, bool big_endian, int fd,
		off_t offset, off_t length, struct chunk_limits *limits, off_t *ret_size);
void chunks_free(struct chunks *chunks);

/** chunks_rewind - read from the beginning again */
void chunks_rewind(struct chunks *chunks);

/**
 * chunks_read - the next bytes; returns how many, 0 at the end, or -errno
 *
 * A chunk that cannot be decompressed is as many bytes of 0xff: what is after it is where it was.
 */
ssize_t chunks_read(struct chunks *chunks, void *to, size_t size);

/** chunks_damaged - was there such a chunk so far? */
bool chunks_damaged(const struct chunks *chunks);

#endif
