/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DATAGRAMS_H
#define DATAGRAMS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "unit_test.h"

/* Binds a new socket there, so the path has a new inode; reads of it do not wait. */
static inline int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_true(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

#endif
