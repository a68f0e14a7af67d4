// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "allocfilt/journal/journal.h"
#include "allocfilt/journal/notify.h"
#include "allocfilt/names/units.h"
#include "journal/socket.h"
#include "journal/stall_entry.h"

/*
 * The form `journal`: an entry in the system journal for each stall of a task that waited. Others have
 * none; the summary counts them.
 *
 * An entry makes journald allocate memory, so an entry for a stall of journald might cause the next
 * stall. It has none; summary, status and metrics count it. Our own task is not traced.
 *
 * The rate limit uses the time of the ticks, not the trace clock: it protects the journal, so the
 * time of writing counts. A backlog that is read late is a burst.
 */

#define IDENTIFIER "allocfilt"
#define FACILITY   (LOG_DAEMON >> 3) /* without the bits of the priority */

#define HELD_BACK_MESSAGE_MAX (JOURNAL_MESSAGE_MAX + 128) /* bytes with the NUL */

_Static_assert(HELD_BACK_MESSAGE_MAX + 256 + JOURNAL_FIELDS_MAX <= JOURNAL_ENTRY_MAX,
	       "the longest entry about a stall, with 256 bytes of other fields, is not cut");

/* Stalls held back since the last entry about them, with all fields of the longest one. */
struct held {
	uint64_t count;
	uint64_t total;	  /* ns, of all */
	uint64_t since;	  /* ns, of the ticks */
	uint64_t longest; /* ns */
	char message[JOURNAL_MESSAGE_MAX];
	struct journal_entry fields;
};

const char *journal_socket_path = JOURNAL_SOCKET_PATH;

struct journal {
	const struct options *options;
	struct journal_socket *socket;
	bool ticked;
	uint64_t now;  /* ns: the latest tick */
	uint64_t used; /* ns: the rate limit's token bucket, as a time; see use_rate() */
	uint64_t next_status;
	uint64_t period_since;	      /* ns, of the ticks: entries of units count from then on */
	struct journal_counts counts; /* since the start */
	struct held held;
	struct journal_entry entry; /* in preparation */
};

static int journal_make(struct output *output)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int ret;

	if (!journal)
		return -ENOMEM;
	journal->options = output->setup.options;
	journal->socket = journal_socket_new(journal_socket_path);
	if (!journal->socket) {
		ret = -errno;
		free(journal);
		return ret;
	}
	output->form = journal;
	output->counts = &journal->counts;
	return 0;
}

static void journal_release(struct output *output)
{
	struct journal *journal = output->form;

	journal_socket_free(journal->socket);
	free(journal);
}

static void send_entry(struct journal *journal, const struct journal_entry *entry)
{
	if (journal_socket_send(journal->socket, entry))
		journal->counts.entries++;
	else
		journal->counts.dropped++;
}

/* Starts an entry with the fields that every entry has. */
static struct journal_entry *begin_journal_entry(struct journal *journal, const char *id,
						 int priority)
{
	struct journal_entry *entry = &journal->entry;

	journal_entry_clear(entry);
	journal_entry_text(entry, "MESSAGE_ID", id);
	journal_entry_number(entry, "PRIORITY", priority);
	journal_entry_number(entry, "SYSLOG_FACILITY", FACILITY);
	journal_entry_text(entry, "SYSLOG_IDENTIFIER", IDENTIFIER);
	return entry;
}

static int priority_of(const struct journal *journal, uint64_t ns)
{
	if (ns >= journal->options->error)
		return LOG_ERR;
	return ns >= journal->options->warning ? LOG_WARNING : LOG_NOTICE;
}

/* ---- stalls ---- */

/*
 * A token bucket. An entry moves journal->used ahead by its part of a minute; it may be `burst` parts
 * ahead of now, and a time in the past means that the bucket is full.
 */
static bool use_rate(struct journal *journal)
{
	const struct options *options = journal->options;
	uint64_t part;

	if (!options->rate)
		return true;
	part = NS_PER_MINUTE / options->rate;
	journal->used = MAX(journal->used, journal->now);
	if (journal->used - journal->now > (options->burst - 1) * part)
		return false;
	journal->used += part;
	return true;
}

static void send_stall(struct journal *journal, const struct named_stall *named)
{
	int priority = priority_of(journal, named->stall->end - named->stall->start);
	struct journal_entry *entry = begin_journal_entry(journal, JOURNAL_ID_STALL, priority);
	char message[JOURNAL_MESSAGE_MAX];

	journal_stall_message(message, named);
	journal_entry_text(entry, "MESSAGE", message);
	journal_stall_fields(entry, named);
	send_entry(journal, entry);
}

static void hold_back(struct journal *journal, const struct named_stall *named)
{
	uint64_t ns = named->stall->end - named->stall->start;
	struct held *held = &journal->held;

	if (!held->count)
		held->since = journal->now;
	if (!held->count || ns > held->longest) {
		held->longest = ns;
		journal_stall_message(held->message, named);
		journal_entry_clear(&held->fields);
		journal_stall_fields(&held->fields, named);
	}
	held->count++;
	held->total += ns;
	journal->counts.held_back++;
}

/* A namespace has an instance of its own, systemd-journald@NAMESPACE.service. */
static bool is_of_journald(const struct named_stall *named)
{
	char unit[UNIT_NAME_BYTES];

	return unit_name_of_cgroup(named->task_info->cgroup, unit) &&
	       (!strcmp(unit, "systemd-journald.service") ||
		!strncmp(unit, "systemd-journald@", strlen("systemd-journald@")));
}

static int journal_stall(struct output *output, const struct named_stall *named)
{
	struct journal *journal = output->form;

	if (named->background || is_of_journald(named))
		return 0;
	if (use_rate(journal))
		send_stall(journal, named);
	else
		hold_back(journal, named);
	return 0;
}

static void send_held_back(struct journal *journal)
{
	struct held *held = &journal->held;
	uint64_t seconds = (journal->now - held->since + NS_PER_SECOND / 2) / NS_PER_SECOND;
	char message[HELD_BACK_MESSAGE_MAX];
	char time[TEXT_DURATION_MAX];
	struct journal_entry *entry;

	if (!held->count)
		return;
	entry = begin_journal_entry(journal, JOURNAL_ID_HELD_BACK,
				    priority_of(journal, held->longest));
	snprintf(message, sizeof(message),
		 "%" PRIu64 " more stall%s in the last %" PRIu64
		 " s, of %s in all, held back; the worst: %s",
		 held->count, held->count == 1 ? "" : "s", seconds ? seconds : 1,
		 text_duration(time, held->total), held->message);
	journal_entry_text(entry, "MESSAGE", message);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK", held->count);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK_USEC", held->total / 1000);
	journal_entry_fields(entry, &held->fields);
	send_entry(journal, entry);
	held->count = 0;
	held->total = 0;
}

/* ---- units ---- */

static unsigned int percent_of(const struct unit_total *unit, int cause)
{
	return (unsigned int)((double)unit->cause_totals[cause] * 100 / (double)unit->total + 0.5);
}

static void add_unit(struct line *line, const char *name)
{
	if (!strcmp(name, UNIT_NONE))
		line_add(line, "tasks of no known unit");
	else if (!strcmp(name, "/"))
		line_add(line, "tasks of the root cgroup");
	else
		line_add_escaped(line, name, TEXT_PRINTABLE);
}

/* The catalog has these fields in its text, so that each entry of a unit has all of them. */
static void put_remedy(struct journal_entry *entry, const struct remedy *remedy)
{
	journal_entry_text(entry, "ALLOCFILT_REMEDY", remedy->key);
	journal_entry_text(entry, "ALLOCFILT_FINDING", remedy->finding);
	journal_entry_text(entry, "ALLOCFILT_LOOK", remedy->look);
	journal_entry_text(entry, "ALLOCFILT_CHANGE", remedy->change);
	journal_entry_text(entry, "ALLOCFILT_SOURCE", remedy->source);
}

static void add_other_io(struct line *line, const struct unit_total *unit)
{
	uint64_t ns = unit->waits.of[ROLE_IO].total;
	char duration[TEXT_DURATION_MAX];

	if (ns && ns >= unit->ranked.total / 100)
		line_add(line,
			 "; and %s of other waits for I/O, first reads among them: not memory",
			 text_duration(duration, ns));
}

static void send_unit(struct journal *journal, const struct unit_total *unit, uint64_t period)
{
	struct journal_entry *entry = begin_journal_entry(journal, JOURNAL_ID_UNIT, LOG_INFO);
	int cause = ranking_next(unit->cause_totals, sizeof(unit->total), CAUSES, -1);
	int second = ranking_next(unit->cause_totals, sizeof(unit->total), CAUSES, cause);
	uint64_t seconds = (period + NS_PER_SECOND - 1) / NS_PER_SECOND;
	bool minutes = seconds >= 120;
	char total[TEXT_DURATION_MAX], max[TEXT_DURATION_MAX], counted[TEXT_COUNTED_MAX];
	struct wait_sum waits = waits_all(&unit->waits);
	uint64_t kills = unit->waits.of[ROLE_OOM_KILLER].count;
	uint64_t nr_short = waits.count - waits.long_count;
	int reason = nr_short ? waits_next(&unit->waits, -1) : -1;
	uint64_t explained;
	const struct remedy *remedy = remedies_at(&unit->remedies, 0, &explained);
	struct line line;

	line_clear(&line);
	add_unit(&line, unit->ranked.name);
	line_add(&line, " waited %s in %s of the last %" PRIu64 " %s",
		 text_duration(total, unit->total), text_counted(counted, unit->count, "stall{s}"),
		 minutes ? (seconds + 30) / 60 : seconds, minutes ? "min" : "s");
	if (unit->count)
		line_add(&line, ", worst %s", text_duration(max, unit->max));
	if (unit->cause_totals[cause]) {
		line_add(&line, "; cause: %s %u %%", cause_name(cause)->title,
			 percent_of(unit, cause));
		if (unit->cause_totals[second])
			line_add(&line, ", %s %u %%", cause_name(second)->title,
				 percent_of(unit, second));
		journal_entry_text(entry, "ALLOCFILT_CAUSE", cause_name(cause)->key);
		journal_entry_number(entry, "ALLOCFILT_CAUSE_PERCENT", percent_of(unit, cause));
	}
	if (reason >= 0) {
		line_add(&line, "; %s in %s, most of it %s", text_duration(total, waits.total),
			 text_counted(counted, waits.count, "memory wait{s}"),
			 catalog_role_title(reason));
		line_add(&line, "; %s of it in %" PRIu64 " shorter than a stall",
			 text_duration(total, waits.total - waits.long_total), nr_short);
		journal_entry_text(entry, "ALLOCFILT_WAIT_REASON", catalog_role_key(reason));
		journal_entry_number(entry, "ALLOCFILT_WAITS", waits.count);
		journal_entry_number(entry, "ALLOCFILT_WAITS_USEC", waits.total / 1000);
	}
	add_other_io(&line, unit);
	if (kills)
		line_add(&line, "; the OOM killer took %" PRIu64 " of its tasks", kills);
	if (remedy)
		line_add(&line, ". %s %s", remedy->finding, remedy->change);
	put_remedy(entry, remedy ? remedy : &remedy_none);
	journal_entry_text(entry, "MESSAGE", line.text);
	journal_entry_text(entry, "ALLOCFILT_UNIT", unit->ranked.name);
	/* Tasks outside of all units are counted by the path of their cgroup. */
	if (!strchr(unit->ranked.name, '/') && strcmp(unit->ranked.name, UNIT_NONE))
		journal_entry_text(entry, "OBJECT_SYSTEMD_UNIT", unit->ranked.name);
	journal_entry_number(entry, "ALLOCFILT_STALLS", unit->count);
	journal_entry_number(entry, "ALLOCFILT_TOTAL_USEC", unit->total / 1000);
	journal_entry_number(entry, "ALLOCFILT_WORST_USEC", unit->max / 1000);
	journal_entry_number(entry, "ALLOCFILT_OOM_KILLS", kills);
	journal_entry_number(entry, "ALLOCFILT_PERIOD_USEC", period / 1000);
	send_entry(journal, entry);
}

/* Writes entries about the units that waited most since the last ones. */
static void send_units(struct journal *journal, const struct summary_view *view)
{
	const struct unit_total *unit;
	uint64_t period = journal->now - journal->period_since;

	/* The run may have ended before the first tick. */
	period = MAX(period, NS_PER_SECOND);
	/* Short waits alone are worth an entry when they take as long as a stall; each OOM kill is. */
	for (size_t i = 0; (unit = units_period(view->units, i)); i++)
		if (unit->waits.of[ROLE_OOM_KILLER].count ||
		    (i < view->top && (unit->count || unit->ranked.total >= view->report)))
			send_unit(journal, unit, period);
	units_end_period(view->units);
	journal->period_since = journal->now;
}

/* ---- status and summary ---- */

size_t status_line(char *text, size_t size, const struct summary_view *view)
{
	uint64_t stalls = summary_stalls(view->summary, STALLS_WAITING)->latency.count;
	uint64_t lost = view->lost, times = view->lost_times;
	const struct named_stall *longest = summary_longest(view->summary);
	char time[TEXT_DURATION_MAX], counted[TEXT_COUNTED_MAX];
	struct line line;

	line_clear(&line);
	line_add(&line, "%s", text_counted(counted, stalls, "stall{s}"));
	if (longest) {
		line_add(&line, ", worst %s (",
			 text_duration(time, longest->stall->end - longest->stall->start));
		journal_stall_task(&line, longest);
		line_add(&line, ")");
	}
	line_add(&line, ", %s", text_counted(counted, lost, "record{s} lost"));
	line_add_counted(&line, " and ", times, "time{s} nobody knows how many");
	line_add_counted(&line, ", ", view->cost.events_off, "event{s} off (max-cpu)");
	text_escape(text, size, line.text, TEXT_PRINTABLE);
	return strlen(text);
}

static void put_run_fields(struct journal_entry *entry, const struct summary_view *view)
{
	const struct latency *latency = &summary_stalls(view->summary, STALLS_WAITING)->latency;

	journal_entry_number(entry, "ALLOCFILT_STALLS", latency->count);
	journal_entry_number(entry, "ALLOCFILT_WORST_USEC", latency->max / 1000);
	journal_entry_number(entry, "ALLOCFILT_LOST", view->lost);
	journal_entry_number(entry, "ALLOCFILT_LOST_TIMES_UNKNOWN", view->lost_times);
	journal_entry_number(entry, "ALLOCFILT_HELD_BACK", view->journal.held_back);
	journal_entry_number(entry, "ALLOCFILT_DROPPED", view->journal.dropped);
	journal_entry_number(entry, "ALLOCFILT_CPU_USEC", view->cost.cpu / 1000);
	journal_entry_number(entry, "ALLOCFILT_RECORDS", view->cost.records);
	journal_entry_number(entry, "ALLOCFILT_EVENTS_OFF", view->cost.events_off);
}

static size_t run_message(char *message, size_t size, const struct summary_view *view)
{
	size_t used = status_line(message, size, view);
	double seconds = (double)(view->ts - view->since) / NS_PER_SECOND;
	char cpu[TEXT_DURATION_MAX], stalls[TEXT_COUNTED_MAX], entries[TEXT_COUNTED_MAX];

	snprintf(message + used, size - used,
		 ", %s held back from the journal, %s dropped; own cost since the start: %s of CPU "
		 "time, %.1f records/s",
		 text_counted(stalls, view->journal.held_back, "stall{s}"),
		 text_counted(entries, view->journal.dropped, "entr{ies|y}"),
		 text_duration(cpu, view->cost.cpu),
		 seconds > 0 ? (double)view->cost.records / seconds : 0);
	return strlen(message);
}

static void send_status_entry(struct journal *journal, const struct summary_view *view)
{
	struct journal_entry *entry = begin_journal_entry(journal, JOURNAL_ID_STATUS, LOG_INFO);
	char message[JOURNAL_MESSAGE_MAX];

	run_message(message, sizeof(message), view);
	journal_entry_text(entry, "MESSAGE", message);
	put_run_fields(entry, view);
	send_entry(journal, entry);
}

static void journal_tick(struct output *output, uint64_t now, const struct summary_view *view)
{
	struct journal *journal = output->form;

	if (!journal->ticked) {
		journal->ticked = true;
		journal->used += now;
		journal->held.since = now;
		journal->period_since = now;
		journal->next_status = now + journal->options->status_interval;
	}
	journal->now = now;
	if (journal->held.count && now - journal->held.since >= NS_PER_MINUTE)
		send_held_back(journal);
	if (journal->options->status_interval && now >= journal->next_status) {
		journal->next_status = now + journal->options->status_interval;
		send_status_entry(journal, view);
		send_units(journal, view);
	}
}

static int journal_summary(struct output *output, const struct summary_view *view)
{
	struct journal *journal = output->form;
	struct writer *writer = writer_new(-1, -1);
	char message[JOURNAL_ENTRY_MAX + 1]; /* journal_entry_text() cuts it */
	struct journal_entry *entry;
	const char *text;
	size_t length, used;

	if (!writer)
		return -ENOMEM;
	send_held_back(journal);
	if (journal->options->status_interval)
		send_units(journal, view);
	used = run_message(message, sizeof(message), view);
	/*
	 * Its failure is ignored: a text longer than the writer's buffer is cut in the entry too.
	 */
	summary_text(writer, view);
	text = writer_queued(writer);
	length = strlen(text);
	if (length && text[length - 1] == '\n')
		length--;
	snprintf(message + used, sizeof(message) - used, "%.*s", (int)length, text);
	writer_free(writer);
	entry = begin_journal_entry(journal, JOURNAL_ID_SUMMARY, LOG_INFO);
	put_run_fields(entry, view);
	journal_entry_text(entry, "MESSAGE", message);
	send_entry(journal, entry);
	return 0;
}

const struct output_ops journal_form = {
	.make = journal_make,
	.release = journal_release,
	.stall = journal_stall,
	.tick = journal_tick,
	.summary = journal_summary,
};
