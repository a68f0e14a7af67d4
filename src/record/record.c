// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocfilt/record.h"

int record_store(struct stored_record *stored, const struct record *record)
{
	unsigned char *raw = stored->raw;

	if (record->raw_size > sizeof(stored->raw)) {
		raw = malloc(record->raw_size);
		if (!raw)
			return -ENOMEM;
	}
	if (record->raw_size)
		memcpy(raw, record->raw, record->raw_size);
	stored->record = *record;
	stored->record.raw = raw;
	return 0;
}

void record_store_release(struct stored_record *stored)
{
	if (stored->record.raw_size > sizeof(stored->raw))
		free((void *)(uintptr_t)stored->record.raw);
	stored->record.raw_size = 0;
	stored->record.raw = NULL;
}
