// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocfilt/record.h"
#include "allocfilt/tracing.h"

bool buffers_name(const struct capture *capture, char name[BUFFERS_NAME_MAX])
{
	const char *buffer = capture_source(capture)->buffer;

	if (buffer)
		text_escape(name, BUFFERS_NAME_MAX, *buffer ? buffer : BUFFERS_TOP, TEXT_PRINTABLE);
	return buffer;
}

/* Takes the name off FILE:BUFFER. @ret_buffer: a part of @path, or NULL: there is none */
static int split_path(char *path, const char *option, const char **ret_buffer,
		      struct failure *failure)
{
	struct stat status;
	char *colon;

	*ret_buffer = NULL;
	if (!stat(path, &status))
		return 0;
	colon = strrchr(path, ':');
	if (!colon)
		return failure_set(failure, EXIT_STATUS_USAGE, errno, "%s %s: %s", option, path,
				   strerror(errno));
	*colon++ = '\0';
	*ret_buffer = strcmp(colon, BUFFERS_TOP) ? colon : "";
	return 0;
}

/* @name: of the buffer, NULL: the first. Afterwards the name of the next one, NULL; free() it */
static int visit_buffer(const char *path, char **name, bool chosen,
			const struct buffers_visit *visit, struct failure *failure)
{
	struct capture *capture = NULL;
	const char *next = NULL;
	bool several;
	int ret = capture_open_buffer(&capture, path, *name, failure);

	several = !ret && !chosen && capture_source(capture)->buffer;
	if (!ret)
		ret = visit->buffer(visit->context, capture, several, failure);
	if (capture && !chosen && (!ret || ret == -EBADMSG))
		next = capture_next_buffer(capture);
	free(*name);
	*name = next ? strdup(next) : NULL;
	if (next && !*name)
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	capture_close(capture);
	return ret;
}

int buffers_visit(const char *path, const char *option, const struct buffers_visit *visit,
		  struct failure *failure)
{
	char *file = strdup(path), *name = NULL;
	const char *chosen = NULL;
	bool damaged = false;
	int ret = file ? split_path(file, option, &chosen, failure) :
			 failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");

	if (!ret && chosen && !(name = strdup(chosen)))
		ret = failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	if (!ret)
		cpu_buffers_allow_files(file, 1);
	while (!ret) {
		ret = visit_buffer(file, &name, chosen, visit, failure);
		if (!name)
			break;
		if (ret)
			log_error("%s", failure->text);
		damaged |= ret;
		ret = 0;
	}
	if (!ret && damaged) {
		*failure = (struct failure){ .status = EXIT_STATUS_RUN_TIME };
		ret = -EBADMSG;
	}
	free(name);
	free(file);
	return ret;
}
