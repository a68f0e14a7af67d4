// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocfilt/journal/notify.h"
#include "allocfilt/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATUS_SIZE 256

struct notify {
	int fd; /* -1: no service manager */
	struct sockaddr_un address;
	socklen_t address_length;
	uint64_t watchdog; /* ns between two WATCHDOG=1, 0: none */
	uint64_t next_watchdog;
	char state[64]; /* to be sent; "": none */
	char status[STATUS_SIZE];
	bool status_due;
};

/* The name is a path, or "@" and an abstract name: sd_notify(3). */
static bool set_address(struct notify *notify, const char *name)
{
	size_t length = strlen(name);

	if ((*name != '/' && *name != '@') || length < 2 ||
	    length >= sizeof(notify->address.sun_path))
		return false;
	notify->address.sun_family = AF_UNIX;
	memcpy(notify->address.sun_path, name, length);
	if (*name == '@')
		notify->address.sun_path[0] = '\0';
	notify->address_length = offsetof(struct sockaddr_un, sun_path) + length;
	return true;
}

static uint64_t variable_number(const char *text)
{
	char *end;
	unsigned long long number;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end || number > UINT64_MAX / NS_PER_US ? 0 : number;
}

struct notify *notify_new(void)
{
	struct notify *notify = calloc(1, sizeof(*notify));
	const char *name = getenv("NOTIFY_SOCKET");
	const char *pid = getenv("WATCHDOG_PID");

	if (!notify)
		return NULL;
	notify->fd = -1;
	if (name && set_address(notify, name))
		notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* sd_watchdog_enabled(3) recommends half of the time. */
	if (notify->fd >= 0 && (!pid || variable_number(pid) == (uint64_t)getpid()))
		notify->watchdog = variable_number(getenv("WATCHDOG_USEC")) * NS_PER_US / 2;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return notify;
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	file_close(notify->fd);
	free(notify);
}

bool notify_wanted(const struct notify *notify)
{
	return notify->fd >= 0;
}

/* Never blocks: if the manager's queue is full, the next tick tries again. */
static bool deliver(const struct notify *notify, const char *text)
{
	ssize_t sent = sendto(notify->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&notify->address, notify->address_length);

	return sent >= 0;
}

static void deliver_due(struct notify *notify)
{
	char text[STATUS_SIZE + sizeof("STATUS=")];

	if (notify->fd < 0)
		return;
	if (*notify->state && deliver(notify, notify->state))
		*notify->state = '\0';
	if (!notify->status_due)
		return;
	snprintf(text, sizeof(text), "STATUS=%s", notify->status);
	notify->status_due = !deliver(notify, text);
}

void notify_state(struct notify *notify, enum notify_state state, uint64_t now)
{
	if (state == NOTIFY_RELOADING)
		snprintf(notify->state, sizeof(notify->state),
			 "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now / NS_PER_US);
	else
		strcpy(notify->state, state == NOTIFY_READY ? "READY=1" : "STOPPING=1");
	deliver_due(notify);
}

void notify_status(struct notify *notify, const char *text)
{
	size_t length = strnlen(text, STATUS_SIZE - 1);

	if (!strncmp(notify->status, text, STATUS_SIZE - 1))
		return;
	for (size_t i = 0; i < length; i++)
		notify->status[i] = text[i] == '\n' ? ' ' : text[i];
	notify->status[length] = '\0';
	notify->status_due = true;
	deliver_due(notify);
}

void notify_tick(struct notify *notify, uint64_t now)
{
	deliver_due(notify);
	if (notify->fd < 0 || !notify->watchdog || now < notify->next_watchdog)
		return;
	if (deliver(notify, "WATCHDOG=1"))
		notify->next_watchdog = now + notify->watchdog;
}
