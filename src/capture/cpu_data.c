// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/cpu_data.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocfilt/base/file.h"
#include "capture/chunks.h"

_Static_assert(sizeof(off_t) == sizeof(int64_t), "build with -D_FILE_OFFSET_BITS=64");

int cpu_data_open_file(struct cpu_data *data, const char *dir, int cpu)
{
	struct stat status;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	fd = file_open(dir, name, INT64_MAX);
	*data = (struct cpu_data){ .fd = fd < 0 ? -1 : fd };
	if (fd < 0)
		return fd;
	if (!fstat(fd, &status))
		data->size = status.st_size;
	return 0;
}

int cpu_data_open_part(struct cpu_data *data, const struct trace_dat *dat,
		       const struct dat_buffer *buffer, const struct dat_cpu *place,
		       struct chunk_limits *limits)
{
	*data = (struct cpu_data){
		.fd = dat->fd,
		.shared = true,
		.start = place->offset,
		.size = place->size,
	};
	return buffer->compressed && place->size ?
		       chunks_open(&data->chunks, dat->codec, dat->big_endian, dat->fd,
				   place->offset, place->size, limits, &data->size) :
		       0;
}

void cpu_data_close(struct cpu_data *data)
{
	chunks_free(data->chunks);
	if (data->fd >= 0 && !data->shared)
		close(data->fd);
}

void cpu_data_rewind(struct cpu_data *data)
{
	data->offset = 0;
	if (data->chunks)
		chunks_rewind(data->chunks);
}

/* The offset of the next page to read; in a hole, that of its last page. */
static off_t skip_hole(const struct cpu_data *data, off_t page)
{
	off_t offset = data->offset, next = lseek(data->fd, data->start + offset, SEEK_DATA);

	/* The hole ends the data, and its last page may be cut. */
	if (data->size > offset &&
	    ((next < 0 && errno == ENXIO) || next >= data->start + data->size))
		return offset + (data->size - offset - 1) / page * page;
	next -= data->start;
	return next - offset > page ? offset + ((next - offset) / page - 1) * page : offset;
}

/* Pages of data that follow each other, up to a hole. */
static size_t pages_before_hole(const struct cpu_data *data, size_t page, size_t most)
{
	off_t hole = lseek(data->fd, data->start + data->offset, SEEK_HOLE) - data->start;
	size_t pages = most;

	if (hole >= data->offset && (size_t)(hole - data->offset) / page < pages)
		pages = (size_t)(hole - data->offset) / page;
	return pages ? pages : 1;
}

static ssize_t read_pages_of_file(const struct cpu_data *data, char *pages, size_t size,
				  size_t page)
{
	size_t length;
	int ret = file_read_at(data->fd, pages, size, data->start + data->offset, &length);

	/* Pages before the error can be read. */
	if (ret)
		return length >= page ? (ssize_t)(length / page * page) : ret;
	return (ssize_t)length;
}

ssize_t cpu_data_read(struct cpu_data *data, void *pages, size_t page, size_t most)
{
	ssize_t length;
	size_t size;

	if (!data->chunks) {
		data->offset = skip_hole(data, (off_t)page);
		most = pages_before_hole(data, page, most);
	}
	if (data->offset >= data->size)
		return 0;
	size = most * page;
	if ((off_t)size > data->size - data->offset)
		size = (size_t)(data->size - data->offset);
	length = data->chunks ? chunks_read(data->chunks, pages, size) :
				read_pages_of_file(data, pages, size, page);
	if (length > 0)
		data->offset += length;
	return length;
}

bool cpu_data_ends_in_zeros(struct cpu_data *data, off_t offset)
{
	static const char zeros[4096];
	char bytes[sizeof(zeros)];
	ssize_t got = 0;

	if (data->shared || offset < data->data)
		return false;
	do {
		offset = lseek(data->fd, offset + got, SEEK_DATA);
		got = offset < 0 ? 0 : pread(data->fd, bytes, sizeof(bytes), offset);
	} while (got > 0 && !memcmp(bytes, zeros, (size_t)got));
	data->data = got > 0 ? offset : data->size;
	return got <= 0;
}
