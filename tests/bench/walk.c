// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What reading a capture costs without doing anything with it:
 *
 *   walk bytes CAPTURE      all bytes of all pages are added up
 *   walk records CAPTURE    libtraceevent's kbuffer steps over all records
 *
 * One CPU after the other, so nothing is put in order. Little-endian captures of longs of 8 bytes.
 * Prints the sum.
 */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kbuffer.h>

#define PAGE_SIZE  4096
#define READ_PAGES 32

static uint64_t add_bytes(const unsigned char *data, size_t size)
{
	uint64_t sum = 0, value;

	for (size_t at = 0; at < size; at += sizeof(value)) {
		memcpy(&value, data + at, sizeof(value));
		sum += value;
	}
	return sum;
}

static uint64_t count_records(struct kbuffer *kbuffer, unsigned char *pages, size_t size)
{
	unsigned long long ts;
	uint64_t records = 0;

	for (size_t at = 0; at < size; at += PAGE_SIZE) {
		kbuffer_load_subbuffer(kbuffer, pages + at);
		for (void *data = kbuffer_read_event(kbuffer, &ts); data;
		     data = kbuffer_next_event(kbuffer, &ts))
			records++;
	}
	return records;
}

int main(int argc, char **argv)
{
	struct kbuffer *kbuffer = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	static unsigned char pages[READ_PAGES * PAGE_SIZE];
	char pattern[4096];
	uint64_t sum = 0;
	glob_t found;

	if (argc != 3 || !kbuffer)
		return 2;
	snprintf(pattern, sizeof(pattern), "%s/per_cpu/cpu*/trace_pipe_raw", argv[2]);
	if (glob(pattern, 0, NULL, &found))
		return 1;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		ssize_t size;

		if (fd < 0)
			return 1;
		while ((size = read(fd, pages, sizeof(pages))) > 0)
			sum += strcmp(argv[1], "bytes") ?
				       count_records(kbuffer, pages, (size_t)size) :
				       add_bytes(pages, (size_t)size);
		close(fd);
	}
	printf("%" PRIu64 "\n", sum);
	return 0;
}
