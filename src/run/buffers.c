// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/buffers.h"

#include <errno.h>
#include <stdio.h>
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

const char *buffers_path(const struct capture *capture, char path[BUFFERS_PATH_MAX])
{
	char buffer[BUFFERS_NAME_MAX];
	bool several = buffers_name(capture, buffer);

	snprintf(path, BUFFERS_PATH_MAX, "%s%s%s", capture_source(capture)->dir, several ? ":" : "",
		 several ? buffer : "");
	return path;
}

/* Takes the name off FILE:BUFFER. @ret_buffer: a part of @path, or NULL: there is none */
static int split_path(char *path, const char *option, const char **ret_buffer,
		      struct failure *failure)
{
	struct stat status;
	int error;

	*ret_buffer = NULL;
	if (!stat(path, &status))
		return 0;
	error = errno;
	/* Both names may have one. */
	for (char *colon = strchr(path, ':'); colon; colon = strchr(colon + 1, ':')) {
		*colon = '\0';
		if (!stat(path, &status) && S_ISREG(status.st_mode)) {
			*ret_buffer = strcmp(colon + 1, BUFFERS_TOP) ? colon + 1 : "";
			return 0;
		}
		*colon = ':';
	}
	return failure_set(failure, EXIT_STATUS_USAGE, error, "%s %s: %s", option, path,
			   strerror(error));
}

/* To write there would destroy what is read. */
static int check_output(const struct run_context *run, const char *path, const char *option,
			struct failure *failure)
{
	struct stat in, out;

	if (stat(path, &in) || fstat(writer_fd(run->output), &out) || !S_ISREG(in.st_mode) ||
	    in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return failure_set(failure, EXIT_STATUS_USAGE, EINVAL, "%s %s: the output is the same file",
			   option, path);
}

/* @several: else the one that is open is the only one */
static int visit_all(const struct run_context *run, struct capture *capture, bool several,
		     const struct buffers_visit *visit, struct failure *failure)
{
	bool visited = false, damaged = false;
	int more = 0, ret;

	do {
		ret = visit->buffer(visit->context, capture, several, failure);
		damaged |= ret == -EBADMSG;
		visited |= ret != -ENODATA;
		more = several && (!ret || ret == -EBADMSG || ret == -ENODATA) &&
				       !signals_stop_asked(run->signals) ?
			       capture_next_buffer(capture, failure) :
			       0;
		if (ret == -EBADMSG && more > 0)
			log_error("%s", failure->text);
	} while (more > 0);
	if (more < 0)
		return more;
	if (ret == -ENODATA && visited)
		ret = 0;
	if (ret >= 0 && damaged) {
		*failure = (struct failure){ .status = EXIT_STATUS_RUN_TIME };
		ret = -EBADMSG;
	}
	return ret > 0 ? 0 : ret;
}

int buffers_visit(const struct run_context *run, const char *path, const char *option,
		  const struct buffers_visit *visit, struct failure *failure)
{
	char *file = strdup(path);
	const char *chosen = NULL;
	struct capture *capture = NULL;
	int ret = file ? split_path(file, option, &chosen, failure) :
			 failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");

	if (!ret)
		ret = check_output(run, file, option, failure);
	if (!ret) {
		cpu_buffers_allow_files(file, 1);
		ret = capture_open_buffer(&capture, file, chosen, failure);
	}
	if (!ret)
		ret = visit_all(run, capture, !chosen && capture_source(capture)->buffer, visit,
				failure);
	capture_close(capture);
	free(file);
	return ret;
}
