// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/live_loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "allocfilt/base/log.h"
#include "allocfilt/run/command.h"
#include "allocfilt/run/signals.h"
#include "run/live.h"
#include "run/manager.h"
#include "run/memory.h"
#include "run/report.h"

#define BUSY_TICK	 (110 * NS_PER_MS)
#define IDLE_TICK	 (5 * NS_PER_SECOND)
#define IDLE_AFTER	 20 /* ticks without data */
#define ALARM_PERCENT	 50 /* how full a buffer wakes us between two ticks */
#define METRICS_INTERVAL (15 * NS_PER_SECOND)
#define MARK_INTERVAL	 (60 * NS_PER_SECOND)
#define MEMORY_INTERVAL	 (10 * NS_PER_SECOND)

/* ---- reading the buffers ---- */

/*
 * While records arrive, a tick reads the buffers. On an idle machine the first record wakes us, or a
 * slower tick with -w, which reads full pages only.
 */

static int set_idle(struct live *live, bool idle)
{
	/*
	 * With -w only full pages are read, so at 0 percent a partly filled page would leave the
	 * descriptor ready. Wake up only when a buffer fills.
	 */
	bool all = !live->recorder || live->run->options->until;
	int percent = idle && all ? 0 : ALARM_PERCENT;
	/* An interval ends at most a second late. */
	uint64_t idle_tick = live->recorder || live->next_interval ? NS_PER_SECOND : IDLE_TICK;

	live->idle = idle;
	live->empty_ticks = 0;
	session_set_buffer_percent(live->session, percent);
	if (idle && live->next_interval && live->run->options->interval < idle_tick)
		idle_tick = live->run->options->interval;
	return loop_set_tick(live->loop, idle ? idle_tick : BUSY_TICK);
}

static int on_buffer(void *context, int fd, uint32_t events);

/*
 * A descriptor waits on the queue that buffer_percent selected when epoll added it, so it is added
 * again after each change. kernel/trace/ring_buffer.c: ring_buffer_poll_wait().
 */
static void watch_buffers(struct live *live)
{
	for (int i = 0; i < cpu_buffers_count(live->buffers); i++) {
		int fd = cpu_buffers_fd(live->buffers, i);

		loop_forget(live->loop, fd);
		loop_watch(live->loop, fd, EPOLLIN, on_buffer);
	}
}

/* The buffers hold what is recorded meanwhile. Returns 0, or -errno of a file. */
static int next_segment(struct live *live)
{
	const char *dir = session_dir(live->session);
	struct data_source *source = &live->source;
	const struct memory_pressure before = source->pressure_before;
	int ret;

	memory_pressure_read(live->pressure, &source->pressure_after);
	ret = recorder_end_segment(live->recorder, dir, live->buffers);
	if (ret)
		return ret;
	source->pressure_before = source->pressure_after;
	source->pressure_after.known = false;
	ret = recorder_begin_segment(live->recorder, dir, live->buffers);
	if (ret)
		source->pressure_before = before;
	else
		session_mark_clock(live->session);
	return ret;
}

/* Returns 0, 1 where the run is to end (--until), or -errno of the output. */
static int read_buffers(struct live *live, uint64_t now)
{
	int64_t got = live->recorder ? recorder_drain(live->recorder, live->buffers) :
				       pipeline_read_all(live->pipeline);
	bool idle = live->idle;
	int ret = got < 0 ? (int)got : writer_flush(live->run->output);

	if (!ret && live->recorder && recorder_has_seen_stall(live->recorder)) {
		if (live->run->command)
			command_signal(live->run->command, SIGTERM, false);
		return 1;
	}
	if (!ret && live->recorder && recorder_segment_is_full(live->recorder))
		ret = next_segment(live);
	if (ret)
		return ret;
	if (live->pipeline)
		losses_report(pipeline_losses(live->pipeline), now);
	live->empty_ticks = got ? 0 : live->empty_ticks + 1;
	if (got)
		idle = false;
	else if (live->empty_ticks >= IDLE_AFTER)
		idle = true;
	if (idle == live->idle)
		return 0;
	ret = set_idle(live, idle);
	watch_buffers(live);
	return ret;
}

static int on_buffer(void *context, int fd, uint32_t events)
{
	struct live *live = context;
	int ret = read_buffers(live, loop_now());

	/* An offline CPU's descriptor may stay ready with nothing to read. */
	if (!ret && (events & (EPOLLERR | EPOLLHUP)))
		loop_forget(live->loop, fd);
	return ret;
}

int live_loop_read_rest(struct live *live)
{
	struct losses *losses = pipeline_losses(live->pipeline);
	int pages, ret;

	do {
		pages = pipeline_read_all(live->pipeline);
		if (pages < 0)
			return pages;
	} while (pages);
	/* The pages report overwritten records, but not dropped ones. */
	for (int i = 0; i < cpu_buffers_count(live->buffers); i++) {
		uint64_t dropped = cpu_buffers_dropped(live->buffers, i);

		if (dropped)
			losses_add(losses, cpu_buffers_cpu(live->buffers, i), (int64_t)dropped);
	}
	ret = pipeline_flush(live->pipeline);
	if (!ret)
		ret = pipeline_end_interval(live->pipeline);
	return ret ? ret : writer_flush(live->run->output);
}

/* ---- once a second, on an idle machine at each tick ---- */

void live_loop_write_metrics(struct live *live, uint64_t now, bool last)
{
	struct failure failure;
	int ret;

	if (!live->metrics)
		return;
	live->next_metrics = now + METRICS_INTERVAL;
	ret = metrics_write(live->metrics, live->pipeline, live->run, live->session, last,
			    &failure);
	if (!metrics_file_changed(live->metrics))
		return;
	if (ret)
		log_warning("%s; trying again", failure.text);
	else
		log_notice("metrics are written again");
}

void live_tick(struct live *live, uint64_t now)
{
	struct summary_view view;

	if (!live->pipeline)
		return;
	pipeline_view(live->pipeline, &view);
	output_tick(pipeline_output(live->pipeline), now, &view);
	if (now >= live->next_metrics)
		live_loop_write_metrics(live, now, false);
}

/* Counts the CPUs whose buffers could not be opened: their records are lost. */
static void count_unread(struct live *live)
{
	if (live->pipeline)
		pipeline_count_unread(live->pipeline, cpu_buffers_starved(live->buffers));
}

/* On an idle machine it is read at once: the machine stays idle. */
static int mark_clock(struct live *live)
{
	int pages;

	session_mark_clock(live->session);
	if (!live->idle || live->recorder)
		return 0;
	pages = pipeline_read_all(live->pipeline);
	return pages < 0 ? pages : writer_flush(live->run->output);
}

static int each_second(struct live *live, uint64_t now)
{
	const struct options *options = live->run->options;
	char what[256];
	int ret = 0;

	live->next_second = now + NS_PER_SECOND;
	if (cpu_buffers_reopen(live->buffers))
		watch_buffers(live);
	count_unread(live);
	if (live->recorder)
		ret = recorder_second(live->recorder, live->buffers, now);
	/* The order of an allocation is known from events. */
	if (live->pipeline && options->max_cpu && !options->min_order)
		guard_second(&live->guard, live->plan, options->max_cpu, now, live->session,
			     live->pipeline);
	live_tick(live, now);
	if (live->run->manager)
		manager_second(live->run->manager, live->pipeline, now);
	if (!ret && now >= live->next_mark) {
		ret = mark_clock(live);
		live->next_mark = now + MARK_INTERVAL;
	}
	if (now >= live->next_memory) {
		live->locked = live->locked || memory_lock();
		session_grow_buffer(live->session);
		live->next_memory = now + MEMORY_INTERVAL;
	}
	if (ret || !session_taken(live->session, what, sizeof(what)))
		return ret;
	return failure_set(live->failure, EXIT_STATUS_IN_USE, EBUSY,
			   "tracing was taken away by somebody else: %s", what);
}

/* The mark is a record with the present time: an interval is that long without any other. */
static int end_interval(struct live *live, uint64_t now)
{
	int ret;

	session_mark_clock(live->session);
	ret = read_buffers(live, now);
	while (live->next_interval <= now)
		live->next_interval += live->run->options->interval;
	return ret ? ret : pipeline_end_interval(live->pipeline);
}

static int on_tick(void *context, uint64_t now)
{
	struct live *live = context;
	int ret;

	if (live->next_interval && now >= live->next_interval)
		ret = end_interval(live, now);
	else
		ret = read_buffers(live, now);
	return !ret && now >= live->next_second ? each_second(live, now) : ret;
}

/* ---- signals and descriptors ---- */

static int on_signal(void *context, int number)
{
	struct live *live = context;
	struct command *command = live->run->command;
	int ret;

	if (number == SIGUSR1) {
		if (!live->pipeline)
			return 0;
		session_mark_clock(live->session); /* the time until now counts */
		memory_pressure_read(live->pressure, &live->source.pressure_after);
		ret = read_buffers(live, loop_now());
		summary_print_so_far(live->run, live->pipeline);
		return ret;
	}
	if (live->run->manager)
		return manager_signal(live->run->manager, number, loop_now());
	if (command && number != SIGALRM) {
		command_signal(command, number, signals_from_terminal(live->run->signals, number));
		return 0;
	}
	/* The time of -d is over. */
	if (command)
		command_signal(command, SIGTERM, false);
	log_debug("%s: stopping", strsignal(number));
	return 1;
}

static int on_output(void *context, int fd, uint32_t events)
{
	(void)context;
	(void)fd;
	(void)events;
	return -EPIPE;
}

int live_loop_new(struct live *live)
{
	static const struct loop_callbacks callbacks = { on_tick, on_signal };
	const struct command *command = live->run->command;
	int ret;

	live->loop = loop_new(&callbacks, live, live->run->signals);
	if (!live->loop)
		return -errno;
	/* A recording has its data in its files. */
	if (!live->run->options->journal && !live->recorder)
		loop_watch(live->loop, writer_fd(live->run->output), 0, on_output);
	ret = command ? loop_watch(live->loop, command_fd(command), EPOLLIN, loop_end) : 0;
	if (!ret)
		ret = set_idle(live, false);
	watch_buffers(live);
	count_unread(live);
	return ret;
}

void live_loop_start_times(struct live *live)
{
	uint64_t now = loop_now();

	live->next_second = now + NS_PER_SECOND;
	live->next_mark = now + MARK_INTERVAL;
	live->next_memory = now + MEMORY_INTERVAL;
	guard_begin(&live->guard, now, loop_cpu_time());
	if (live->pipeline && output_has_intervals(pipeline_output(live->pipeline)))
		live->next_interval = now + live->run->options->interval;
}
