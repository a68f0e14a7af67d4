// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>

#include "allocfilt/base/base.h"
#include "allocfilt/base/failure.h"

int failure_set(struct failure *failure, enum exit_status status, int error, const char *format,
		...)
{
	va_list arguments;

	failure->status = status;
	errno = error ? error : EINVAL;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
	return error ? -error : -EINVAL;
}

int failure_no_memory(struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
}

enum exit_status failure_status_of_path(int error)
{
	static const int ours[] = { ENOSPC, EDQUOT, EIO, ENOMEM, EMFILE, ENFILE };

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (error == ours[i])
			return EXIT_STATUS_RUN_TIME;
	return EXIT_STATUS_USAGE;
}
