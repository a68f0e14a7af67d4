// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "allocfilt/base.h"
#include "allocfilt/journal.h"
#include "allocfilt/output.h"
#include "journal/entry.h"
#include "journal/rate_limit.h"
#include "journal/socket.h"
#include "journal/stall_entry.h"
#include "journal/unit_name.h"

/*
 * The form `journal`: an entry in the system journal for each stall of a task that waited. What
 * kswapd and kcompactd do by themselves has none, as nobody waited; the summary counts it.
 *
 * An entry makes journald allocate memory, which may stall, so a stall of journald has no entry:
 * it would make the next one. Summary, status and metrics count it. Our own stalls never come here.
 *
 * The bucket goes by the time of the ticks, and not by the trace clock: it is the journal that is
 * spared, so what counts is when entries are written. A backlog that is read late is a burst.
 */

#define MINUTE	   60000000000ull /* ns */
#define LAST_TRIES 10		  /* at the end, for what still waits */
#define LAST_WAIT  50		  /* ms before each */
#define IDENTIFIER "allocfilt"
#define FACILITY   (LOG_DAEMON >> 3) /* without the bits of the priority */

/* What was held back since it was last told, and the longest stall of that, whole. */
struct held {
	uint64_t count;
	uint64_t total;	  /* ns, of all */
	uint64_t since;	  /* ns, of the ticks */
	uint64_t longest; /* ns */
	char message[JOURNAL_MESSAGE_MAX];
	struct journal_object object;
	struct journal_entry fields;
};

const char *journal_socket_path = JOURNAL_SOCKET_PATH;

struct journal {
	const struct options *options;
	const char *proc; /* who is still there; NULL: nobody is */
	struct journal_socket *socket;
	struct token_bucket bucket;
	bool ticked;
	uint64_t now; /* ns: the latest tick */
	uint64_t next_status;
	uint64_t held_back; /* stalls, since the start */
	struct held held;
	struct journal_entry entry; /* in the making */
};

static int make(struct output *output)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int ret;

	if (!journal)
		return -ENOMEM;
	journal->options = output->setup.options;
	journal->proc = output->setup.source->proc;
	journal->socket = journal_socket_new(journal_socket_path);
	if (!journal->socket) {
		ret = -errno;
		free(journal);
		return ret;
	}
	token_bucket_init(&journal->bucket, journal->options->rate, journal->options->burst);
	output->form = journal;
	return 0;
}

static void release(struct output *output)
{
	struct journal *journal = output->form;

	journal_socket_free(journal->socket);
	free(journal);
}

static void counts(const struct output *output, struct journal_counts *ret_counts)
{
	const struct journal *journal = output->form;

	*ret_counts = (struct journal_counts){
		.entries = journal_socket_sent(journal->socket),
		.held_back = journal->held_back,
		.dropped = journal_socket_dropped(journal->socket),
	};
}

static void change(struct output *output, const struct options *options)
{
	struct journal *journal = output->form;
	const struct options *old = journal->options;

	journal->options = options;
	if (options->rate != old->rate || options->burst != old->burst) {
		token_bucket_init(&journal->bucket, options->rate, options->burst);
		token_bucket_time(&journal->bucket, journal->now);
	}
	if (options->status_interval != old->status_interval)
		journal->next_status = journal->now + options->status_interval;
}

/* What every entry has, but for the message of the summary. */
static struct journal_entry *begin(struct journal *journal, const char *id, int priority)
{
	struct journal_entry *entry = &journal->entry;

	journal_entry_clear(entry);
	journal_entry_text(entry, "MESSAGE_ID", id);
	journal_entry_number(entry, "PRIORITY", priority);
	journal_entry_number(entry, "SYSLOG_FACILITY", FACILITY);
	journal_entry_text(entry, "SYSLOG_IDENTIFIER", IDENTIFIER);
	return entry;
}

static void send_entry(struct journal *journal)
{
	journal_socket_put(journal->socket, journal->entry.bytes, journal->entry.used);
}

static int priority_of(const struct journal *journal, uint64_t ns)
{
	return journal_stall_priority(ns, journal->options->warning, journal->options->error);
}

/* ---- stalls ---- */

static void tell_stall(struct journal *journal, const struct named_stall *named,
		       struct resolver *resolver)
{
	int priority = priority_of(journal, named->stall->end - named->stall->start);
	struct journal_entry *entry = begin(journal, JOURNAL_ID_STALL, priority);
	char message[JOURNAL_MESSAGE_MAX];
	struct journal_object object;

	journal_stall_message(message, named, resolver);
	journal_entry_text(entry, "MESSAGE", message);
	journal_object_of(&object, named);
	journal_object_field(entry, &object, journal->proc);
	journal_stall_fields(entry, named, resolver);
	send_entry(journal);
}

static void keep_longest(struct held *held, const struct named_stall *named,
			 struct resolver *resolver, uint64_t ns)
{
	held->longest = ns;
	journal_stall_message(held->message, named, resolver);
	journal_object_of(&held->object, named);
	journal_entry_clear(&held->fields);
	journal_stall_fields(&held->fields, named, resolver);
}

static void hold_back(struct journal *journal, const struct named_stall *named,
		      struct resolver *resolver)
{
	uint64_t ns = named->stall->end - named->stall->start;
	struct held *held = &journal->held;

	if (!held->count)
		held->since = journal->now;
	if (!held->count || ns > held->longest)
		keep_longest(held, named, resolver, ns);
	held->count++;
	held->total += ns;
	journal->held_back++;
}

/* Any instance: that of a namespace has a service of its own, see systemd-journald.service(8). */
static bool is_of_journald(const struct named_stall *named)
{
	char unit[UNIT_NAME_BYTES];

	return unit_name_of_cgroup(named->who->cgroup, unit) &&
	       (!strcmp(unit, "systemd-journald.service") ||
		!strncmp(unit, "systemd-journald@", strlen("systemd-journald@")));
}

static int stall(struct output *output, const struct named_stall *named)
{
	struct journal *journal = output->form;

	if (named->background || is_of_journald(named))
		return 0;
	if (token_bucket_take(&journal->bucket))
		tell_stall(journal, named, output->setup.resolver);
	else
		hold_back(journal, named, output->setup.resolver);
	return 0;
}

/* ---- what was held back ---- */

static void tell_held_back(struct journal *journal)
{
	struct held *held = &journal->held;
	uint64_t seconds = (journal->now - held->since + 500000000) / 1000000000;
	char message[JOURNAL_MESSAGE_MAX + 128];
	char time[TEXT_DURATION_MAX];
	struct journal_entry *entry;

	if (!held->count)
		return;
	entry = begin(journal, JOURNAL_ID_HELD_BACK, priority_of(journal, held->longest));
	snprintf(message, sizeof(message),
		 "%" PRIu64 " more stall%s in the last %" PRIu64
		 " s, of %s in all, held back; the worst: %s",
		 held->count, held->count == 1 ? "" : "s", seconds ? seconds : 1,
		 text_duration(time, held->total), held->message);
	journal_entry_text(entry, "MESSAGE", message);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK", held->count);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK_USEC", held->total / 1000);
	journal_object_field(entry, &held->object, journal->proc);
	journal_entry_fields(entry, &held->fields);
	send_entry(journal);
	held->count = 0;
	held->total = 0;
}

/* ---- the run itself ---- */

static void put_run_fields(struct journal_entry *entry, const struct summary_view *view)
{
	uint64_t times;
	uint64_t lost = status_lost(view, &times);

	journal_entry_number(entry, "ALLOCFILT_STALLS",
			     summary_stalls(view->summary, STALLS_WAITING)->latency.count);
	journal_entry_number(entry, "ALLOCFILT_WORST_USEC",
			     summary_stalls(view->summary, STALLS_WAITING)->latency.max / 1000);
	journal_entry_number(entry, "ALLOCFILT_LOST", lost);
	journal_entry_number(entry, "ALLOCFILT_LOST_TIMES_UNKNOWN", times);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK", view->journal.held_back);
	journal_entry_number(entry, "ALLOCFILT_DROPPED", view->journal.dropped);
}

static size_t run_message(char *message, size_t size, const struct summary_view *view)
{
	size_t used = status_line(message, size, view);

	snprintf(message + used, size - used,
		 ", %" PRIu64 " stall%s held back from the journal, %" PRIu64 " entr%s dropped",
		 view->journal.held_back, view->journal.held_back == 1 ? "" : "s",
		 view->journal.dropped, view->journal.dropped == 1 ? "y" : "ies");
	return strlen(message);
}

static void tell_status(struct journal *journal, const struct summary_view *view)
{
	struct journal_entry *entry = begin(journal, JOURNAL_ID_STATUS, LOG_INFO);
	char message[JOURNAL_MESSAGE_MAX];

	run_message(message, sizeof(message), view);
	journal_entry_text(entry, "MESSAGE", message);
	put_run_fields(entry, view);
	send_entry(journal);
}

static void first_tick(struct journal *journal, uint64_t now)
{
	journal->ticked = true;
	journal->held.since = now;
	journal->next_status = now + journal->options->status_interval;
}

static void tick(struct output *output, uint64_t now, const struct summary_view *view)
{
	struct journal *journal = output->form;

	if (!journal->ticked)
		first_tick(journal, now);
	journal->now = now;
	token_bucket_time(&journal->bucket, now);
	if (journal->held.count && now - journal->held.since >= MINUTE)
		tell_held_back(journal);
	if (journal->options->status_interval && now >= journal->next_status) {
		journal->next_status = now + journal->options->status_interval;
		tell_status(journal, view);
	}
	journal_socket_flush(journal->socket);
}

/* ---- the summary ---- */

/* A value with newlines has its length before it, which is known once it is written. */
static int put_summary_message(struct writer *writer, int fd, const struct summary_view *view)
{
	static const char name[] = "MESSAGE\n";
	char length[JOURNAL_LENGTH_BYTES] = { 0 };
	char head[JOURNAL_MESSAGE_MAX];
	off_t from, to;
	int ret;

	writer_put(writer, name, strlen(name));
	ret = writer_flush(writer);
	from = lseek(fd, 0, SEEK_CUR);
	writer_put(writer, length, sizeof(length));
	writer_put(writer, head, run_message(head, sizeof(head), view));
	if (!ret)
		ret = summary_text(writer, view);
	to = lseek(fd, 0, SEEK_CUR);
	if (ret)
		return ret;
	/* The newline at the end of the text is the one behind the value. */
	journal_entry_length(length, to - from - sizeof(length) - 1);
	return pwrite(fd, length, sizeof(length), from) == sizeof(length) ? 0 : -EIO;
}

static int write_summary(struct journal *journal, int fd, const struct summary_view *view)
{
	struct journal_entry *entry = begin(journal, JOURNAL_ID_SUMMARY, LOG_INFO);
	struct writer *writer = writer_new(fd, -1);
	int ret;

	if (!writer)
		return -ENOMEM;
	put_run_fields(entry, view);
	writer_put(writer, entry->bytes, entry->used);
	ret = put_summary_message(writer, fd, view);
	writer_free(writer);
	return ret;
}

/* Nothing comes later, so a journald that is just being restarted is waited for, for a moment. */
static void send_summary(struct journal *journal, int fd)
{
	int ret = journal_socket_put_file(journal->socket, fd);

	for (int try = 0; ret && try < LAST_TRIES; try++) {
		poll(NULL, 0, LAST_WAIT);
		ret = journal_socket_put_file(journal->socket, fd);
	}
	if (ret)
		journal_socket_give_up(journal->socket, 1);
}

static int summary(struct output *output, const struct summary_view *view)
{
	struct journal *journal = output->form;
	int fd;
	int ret;

	tell_held_back(journal);
	fd = journal_memfd();
	if (fd < 0)
		return fd;
	ret = write_summary(journal, fd, view);
	if (!ret)
		send_summary(journal, fd);
	close(fd);
	return ret;
}

const struct output_ops journal_form = {
	.make = make,
	.release = release,
	.stall = stall,
	.tick = tick,
	.counts = counts,
	.change = change,
	.summary = summary,
};
