/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_TEST_FAKE_JOURNALD_H
#define ALLOCFILT_TEST_FAKE_JOURNALD_H

#include "datagrams.h"
#include "journal/socket.h"
#include "test_directory.h"
#include "unit_test.h"

/*
 * journald's end of the socket, and a strict parser of its native protocol, written from the
 * protocol's documentation.
 */

struct fake_field {
	char name[65];
	const char *value; /* into the entry's bytes; followed by a NUL */
	size_t length;
	bool with_length; /* the form that has the length before the value */
};

struct fake_entry {
	size_t length;
	size_t nr_fields;
	struct fake_field fields[256];
	char bytes[64u << 10];
};

static inline const char *fake_path(void)
{
	return test_path("socket");
}

static inline int fake_listen(void)
{
	return listen_at(fake_path());
}

static inline uint64_t fake_length(const char *bytes)
{
	uint64_t length = 0;

	for (int i = 7; i >= 0; i--)
		length = length << 8 | (unsigned char)bytes[i];
	return length;
}

/* Returns the place of the next field. */
static inline size_t fake_parse_field(struct fake_entry *entry, size_t at)
{
	struct fake_field *field = &entry->fields[entry->nr_fields++];
	size_t name = strcspn(entry->bytes + at, "=\n");
	size_t end;

	assert_true(entry->nr_fields < 256);
	assert_true(name > 0 && name < sizeof(field->name));
	assert_int_equal(strspn(entry->bytes + at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"), name);
	assert_true(entry->bytes[at] >= 'A' && entry->bytes[at] <= 'Z');
	memcpy(field->name, entry->bytes + at, name);
	field->name[name] = '\0';
	at += name + 1;
	field->with_length = entry->bytes[at - 1] == '\n';
	if (field->with_length) {
		assert_true(at + 8 < entry->length);
		field->length = fake_length(entry->bytes + at);
		at += 8;
	} else {
		const char *newline = memchr(entry->bytes + at, '\n', entry->length - at);

		assert_non_null(newline);
		field->length = newline - (entry->bytes + at);
	}
	end = at + field->length;
	assert_true(field->length < entry->length && end < entry->length);
	assert_int_equal(entry->bytes[end], '\n');
	entry->bytes[end] = '\0';
	field->value = entry->bytes + at;
	return end + 1;
}

static inline void fake_parse(struct fake_entry *entry)
{
	size_t at = 0;

	entry->nr_fields = 0;
	while (at < entry->length)
		at = fake_parse_field(entry, at);
	assert_int_equal(at, entry->length);
}

/* The entry that would be sent. */
static inline void fake_read(struct fake_entry *entry, const struct journal_entry *made)
{
	memcpy(entry->bytes, made->bytes, made->used);
	entry->length = made->used;
	entry->bytes[made->used] = '\0';
	fake_parse(entry);
}

/* Receives the next datagram; false if there is none. A descriptor in it is a failure. */
static inline bool fake_receive_bytes(int fd, struct fake_entry *entry)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec bytes = { .iov_base = entry->bytes, .iov_len = sizeof(entry->bytes) - 1 };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	entry->nr_fields = 0;
	if (length < 0)
		return false;
	assert_int_equal(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC), 0);
	assert_null(CMSG_FIRSTHDR(&message));
	entry->length = length;
	entry->bytes[length] = '\0';
	return true;
}

/* Receives the next datagram and parses it. */
static inline bool fake_receive(int fd, struct fake_entry *entry)
{
	if (!fake_receive_bytes(fd, entry))
		return false;
	fake_parse(entry);
	return true;
}

/* Returns NULL if there is none; a name that occurs twice is a failure. */
static inline const struct fake_field *fake_field(const struct fake_entry *entry, const char *name)
{
	const struct fake_field *found = NULL;

	for (size_t i = 0; i < entry->nr_fields; i++) {
		if (strcmp(entry->fields[i].name, name))
			continue;
		assert_null(found);
		found = &entry->fields[i];
	}
	return found;
}

static inline const char *fake_value(const struct fake_entry *entry, const char *name)
{
	const struct fake_field *field = fake_field(entry, name);

	return field ? field->value : "(no such field)";
}

static inline long long fake_number(const struct fake_entry *entry, const char *name)
{
	const struct fake_field *field = fake_field(entry, name);
	char *end;
	long long number;

	assert_non_null(field);
	number = strtoll(field->value, &end, 10);
	assert_true(field->length && end == field->value + field->length);
	return number;
}

/* Each is "NAME=value" of ALLOCFILT_NAME, or of OBJECT_…; "NAME": there is none. */
static inline void fake_check(const struct fake_entry *entry, const char *const *expected)
{
	for (; *expected; expected++) {
		const char *value = strchrnul(*expected, '=');
		const struct fake_field *field;
		char name[65];

		snprintf(name, sizeof(name), "%s%.*s",
			 strncmp(*expected, "OBJECT_", 7) ? "ALLOCFILT_" : "",
			 (int)(value - *expected), *expected);
		field = fake_field(entry, name);
		if (!field != !*value || (field && strcmp(field->value, value + 1)))
			fail_msg("'%s' is '%s'", *expected, field ? field->value : "");
	}
}

#define FIELDS(...) fake_check(&entry, (const char *const[]){ __VA_ARGS__, NULL })

#endif
