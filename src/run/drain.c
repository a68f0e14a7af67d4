// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/drain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "allocfilt/tracing.h"
#include "run/pipeline.h"
#include "run/recorder.h"

#define NS_PER_MS     1000000u
#define BUSY_TICK     (110 * NS_PER_MS)
#define IDLE_TICK     (1000 * NS_PER_MS)
#define IDLE_AFTER    20		/* ticks without a page */
#define LONGEST_TICK  (100 * NS_PER_MS) /* then signals and timers are looked at */
#define ALARM_PERCENT 50		/* of a buffer, while the tick drains it */

struct drain {
	struct session *session;
	struct pipeline *pipeline;
	struct recorder *recorder;
	struct writer *writer;
	struct cpu_buffers *buffers;
	struct source_sink sink;
	struct loop *loop;
	int (*ready)(void *context, int fd, uint32_t events);
	bool idle;
	int empty_ticks;
};

int drain_new(struct drain **ret_drain, struct session *session, const struct data_source *source,
	      struct pipeline *pipeline, struct recorder *recorder, struct writer *writer,
	      struct failure *failure)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int ret;

	if (!drain)
		return failure_set(failure, EXIT_STATUS_RUN_TIME, ENOMEM, "out of memory");
	drain->session = session;
	drain->pipeline = pipeline;
	drain->recorder = recorder;
	drain->writer = writer;
	if (pipeline)
		pipeline_source_sink(pipeline, &drain->sink);
	ret = cpu_buffers_open(&drain->buffers, session_dir(session), source->layout.size, failure);
	if (ret)
		free(drain);
	else
		*ret_drain = drain;
	return ret;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	cpu_buffers_close(drain->buffers);
	free(drain);
}

const struct cpu_buffers *drain_buffers(const struct drain *drain)
{
	return drain->buffers;
}

/* Reads rounds until no CPU is left with data, and one more behind a round that read something: it
 * lets go what that one read. Returns pages read, or -errno of the output. */
static int filter_rounds(struct drain *drain)
{
	uint64_t start = loop_now();
	int pages = 0;
	int more = 1;

	for (int round = 0; more && (round < 2 || loop_now() - start < LONGEST_TICK); round++) {
		int read = cpu_buffers_round(drain->buffers, &drain->sink);

		if (read < 0)
			return read;
		pages += read;
		more = pipeline_end_round(drain->pipeline);
		if (more < 0)
			return more;
		more |= !round && read;
	}
	return pages;
}

/* Returns 0 when there was nothing, more when there was something, or -errno of the output. */
static int read_once(struct drain *drain)
{
	int64_t bytes;

	if (!drain->recorder)
		return filter_rounds(drain);
	bytes = recorder_drain(drain->recorder, drain->buffers);
	return bytes < 0 ? (int)bytes : bytes > 0;
}

/* A descriptor waits on the queue that buffer_percent named when it was added, so it is added anew
 * after each change. kernel/trace/ring_buffer.c: ring_buffer_poll_wait(). */
static void watch_buffers(struct drain *drain)
{
	for (int i = 0; i < cpu_buffers_count(drain->buffers); i++) {
		int fd = cpu_buffers_fd(drain->buffers, i);

		loop_forget(drain->loop, fd);
		loop_watch(drain->loop, fd, EPOLLIN, drain->ready);
	}
}

/* With -w whole pages are taken: at 0 the page that is being written makes its descriptor ready,
 * and stays. The alarm of a buffer that fills up is all that is of use there. */
static int percent_of(const struct drain *drain)
{
	return drain->idle && !drain->recorder ? 0 : ALARM_PERCENT;
}

static int set_idle(struct drain *drain, bool idle)
{
	drain->idle = idle;
	drain->empty_ticks = 0;
	session_set_buffer_percent(drain->session, percent_of(drain));
	watch_buffers(drain);
	return loop_set_tick(drain->loop, idle ? IDLE_TICK : BUSY_TICK);
}

static int be_idle(struct drain *drain, bool idle)
{
	return drain->idle == idle ? 0 : set_idle(drain, idle);
}

int drain_start(struct drain *drain, struct loop *loop,
		int (*ready)(void *context, int fd, uint32_t events))
{
	drain->loop = loop;
	drain->ready = ready;
	return set_idle(drain, false);
}

int drain_tick(struct drain *drain, uint64_t now)
{
	int pages = read_once(drain);
	int ret = pages < 0 ? pages : writer_flush(drain->writer);

	if (ret)
		return ret;
	if (drain->pipeline)
		pipeline_say_losses(drain->pipeline, now);
	drain->empty_ticks = pages ? 0 : drain->empty_ticks + 1;
	if (pages)
		return be_idle(drain, false);
	/* One more round has to find nothing before all that is held has gone. */
	return drain->empty_ticks >= IDLE_AFTER ? be_idle(drain, true) : 0;
}

int drain_ready(struct drain *drain, int fd, uint32_t events, uint64_t now)
{
	int ret = drain_tick(drain, now);

	/* An offline CPU's descriptor may be ready for ever with nothing to read. */
	if (!ret && (events & (EPOLLERR | EPOLLHUP)))
		loop_forget(drain->loop, fd);
	return ret;
}

void drain_reopen(struct drain *drain)
{
	if (cpu_buffers_reopen(drain->buffers))
		watch_buffers(drain);
}

/* Those that were overwritten stand in the pages. */
static void add_dropped(struct drain *drain)
{
	for (int i = 0; i < cpu_buffers_count(drain->buffers); i++)
		pipeline_dropped(drain->pipeline, cpu_buffers_cpu(drain->buffers, i),
				 cpu_buffers_dropped(drain->buffers, i));
}

int drain_rest(struct drain *drain)
{
	int pages;
	int ret;

	do {
		pages = filter_rounds(drain);
		if (pages < 0)
			return pages;
	} while (pages);
	add_dropped(drain);
	ret = pipeline_flush(drain->pipeline);
	return ret ? ret : writer_flush(drain->writer);
}
