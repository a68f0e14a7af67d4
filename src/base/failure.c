// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "allocfilt/base/failure.h"

int failure_set(struct failure *failure, enum exit_status status, int error, const char *format,
		...)
{
	va_list arguments;

	failure->status = status;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
	return error ? -error : -EINVAL;
}

enum exit_status failure_status_of_path(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
	case EIO:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return EXIT_STATUS_RUN_TIME;
	default:
		return EXIT_STATUS_USAGE;
	}
}
