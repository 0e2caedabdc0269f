/* SPDX-License-Identifier: MIT */
/*
 * A link and a device in memory that use all the freedom their contracts give: they do things late,
 * in bursts, and as chance will, and fail the test if the other side takes a liberty. One thread.
 *
 * The link reads a source some polls after send(), lands it in the announced place if there is one,
 * having scribbled over that first, and forgets to look for room until it is polled. What was sent before
 * something was written on a board has arrived by then. On demand it
 * breaks at the k-th operation, or behind the receiver's last one, or delivers one message with a wrong size.
 */
#ifndef RING_TEST_LAZY_H
#define RING_TEST_LAZY_H

#include <stdlib.h>
#include <string.h>

#include "kernels/device.h"
#include "tests/transport/dice.h"
#include "transport/doorbell_words.h"
#include "transport/transport.h"

/* The one source of chance. */
static uint64_t lazy_dice;

static uint64_t some_of(uint64_t ready)
{
	return ready && dice_below(&lazy_dice, 2) ? 1 + dice_below(&lazy_dice, ready) : 0;
}

/* ---- link --------------------------------------------------------------------------------- */

struct lazy_wire;

struct lazy_end {
	struct ring_link base;
	struct lazy_wire *wire;
	uint64_t operations, break_at; /* send() or poll(), from 1; 0: never */
};

struct lazy_message {
	const void *source;
	size_t bytes;
	unsigned char *sent_as; /* what source held at send() */
	unsigned char *slot;
	size_t expected_bytes;
	void *landing;
};

/* released <= arrived <= flown <= posted <= seen_released + depth */
struct lazy_wire {
	struct lazy_end sender, receiver;
	uint64_t posted, flown, expected;
	uint64_t seen_released; /* by the sender */
	bool refused;           /* the last send() */
	struct lazy_message messages[RING_DEPTH_MAX];
	uint64_t wrong_at; /* this message, from 1, arrives with wrong_bytes; 0: none */
	size_t wrong_bytes;
	uint64_t landed;       /* messages that went to their landing place */
	bool inside;           /* the sender, in the receiver's memory */
	struct ring_bell bell; /* the sender's, with its board; nobody sleeps */
	uint64_t written;      /* all numbers on it, as of the receiver's last poll */
	int open_ends;
	const int *leaver; /* no longer 0: the receiver has taken all that it needs, and gone; or NULL */
};

static struct lazy_message *lazy_message(struct lazy_wire *wire, uint64_t k)
{
	return &wire->messages[k % wire->sender.base.depth];
}

static bool lands(const struct lazy_wire *wire, const struct lazy_message *message, uint64_t k)
{
	return k < wire->expected && message->landing && message->bytes == message->expected_bytes;
}

/* A message that is both sent and announced may be half in its place at any time. */
static void scribble(struct lazy_wire *wire, uint64_t k)
{
	struct lazy_message *message = lazy_message(wire, k);
	if (k < wire->posted && k >= wire->flown && lands(wire, message, k))
		memset(message->landing, 0xa5, message->bytes);
}

static void fly(struct lazy_wire *wire)
{
	struct ring_link *in = &wire->receiver.base;
	for (uint64_t count = some_of(wire->posted - wire->flown); count > 0; count--) {
		uint64_t k = wire->flown++;
		struct lazy_message *message = lazy_message(wire, k);
		assert_memory_equal(message->source, message->sent_as, message->bytes);
		void *place = lands(wire, message, k) ? message->landing : message->slot;
		wire->landed += place == message->landing;
		memcpy(place, message->source, message->bytes);
		*ring_link_arrival(in, k) = (struct ring_arrival){place, wire->wrong_at == k + 1
										 ? wire->wrong_bytes
										 : message->bytes};
	}
}

static bool breaks(struct ring_link *base)
{
	struct lazy_end *end = (struct lazy_end *)base;
	end->operations++;
	return end->break_at > 0 && end->operations >= end->break_at;
}

static int lazy_send(struct ring_link *base, const void *source, size_t bytes)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	assert_true(base->outgoing);
	assert_in_range(bytes, 1, base->slot_bytes);
	if (breaks(base))
		return RING_EPEER;
	wire->refused = wire->posted - wire->seen_released == base->depth;
	if (wire->refused)
		return RING_EAGAIN;
	struct lazy_message *message = lazy_message(wire, wire->posted);
	message->source = source;
	message->bytes = bytes;
	memcpy(message->sent_as, source, bytes);
	scribble(wire, wire->posted++);
	return 0;
}

/* Whether the sender has written on its board since. */
static bool has_written(struct lazy_wire *wire)
{
	uint64_t before = wire->written;
	wire->written = 0;
	for (int i = 0; i < 2; i++)
		wire->written += atomic_load(&wire->bell.page->board.sheets[i].word) >> 32;
	return wire->written > before;
}

static int lazy_poll(struct ring_link *base)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	if (breaks(base))
		return RING_EPEER;
	fly(wire);
	if (base->outgoing && wire->leaver && *wire->leaver) {
		base->sent = wire->posted;
		return RING_EPEER;
	}
	if (base->outgoing) {
		base->sent += some_of(wire->flown - base->sent);
		wire->seen_released += some_of(wire->receiver.base.released - wire->seen_released);
	} else {
		uint64_t under_way = wire->flown - base->arrived;
		base->arrived += has_written(wire) ? under_way : some_of(under_way);
	}
	return 0;
}

static void lazy_release(struct ring_link *base)
{
	assert_true(!base->outgoing && base->released < base->arrived);
	base->released++;
}

static void lazy_expect(struct ring_link *base, size_t bytes, void *landing)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	assert_true(!base->outgoing && wire->expected < base->released + base->depth);
	assert_in_range(bytes, 1, base->slot_bytes);
	struct lazy_message *message = lazy_message(wire, wire->expected);
	message->expected_bytes = bytes;
	message->landing = landing;
	scribble(wire, wire->expected++);
}

/* All ranks are in one process, so addresses are the same everywhere. */
static int lazy_get(struct ring_link *base, uint64_t address, void *local, size_t bytes)
{
	if (breaks(base))
		return RING_EPEER;
	memcpy(local, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static int lazy_put(struct ring_link *base, uint64_t address, const void *local, size_t bytes)
{
	assert_true(((struct lazy_end *)base)->wire->inside);
	if (breaks(base))
		return RING_EPEER;
	memcpy((void *)(uintptr_t)address, local, bytes);
	return 0;
}

static int lazy_enter(struct ring_link *base)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	assert_true(base->outgoing && !wire->inside);
	if (breaks(base))
		return RING_EPEER;
	wire->inside = true;
	return 0;
}

static int lazy_leave(struct ring_link *base)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	assert_true(base->outgoing && wire->inside);
	wire->inside = false;
	return 0;
}

static int lazy_wait_fd(const struct ring_link *base, short *events)
{
	*events = base->outgoing ? POLLOUT : POLLIN;
	return base->peer;
}

static void lazy_close(struct ring_link *base)
{
	struct lazy_wire *wire = ((struct lazy_end *)base)->wire;
	if (--wire->open_ends > 0)
		return;
	for (unsigned i = 0; i < wire->sender.base.depth; i++) {
		free(wire->messages[i].sent_as);
		free(wire->messages[i].slot);
	}
	free(wire);
}

static const struct ring_bell *lazy_bell(const struct ring_link *link)
{
	return &((const struct lazy_end *)link)->wire->bell;
}

static const struct ring_reach_ops lazy_reach = {
	.get = lazy_get,
	.put = lazy_put,
	.enter = lazy_enter,
	.leave = lazy_leave,
};

static const struct ring_transport lazy_transport = {
	.name = "lazy",
	.send = lazy_send,
	.poll = lazy_poll,
	.release = lazy_release,
	.expect = lazy_expect,
	.wait_fd = lazy_wait_fd,
	.bell = lazy_bell,
	.reach = &lazy_reach,
	.close = lazy_close,
};

/* The same, where messages always lie in their slots. */
static const struct ring_transport lazy_transport_of_slots = {
	.name = "lazy",
	.send = lazy_send,
	.poll = lazy_poll,
	.release = lazy_release,
	.wait_fd = lazy_wait_fd,
	.bell = lazy_bell,
	.reach = &lazy_reach,
	.close = lazy_close,
};

/* A link from one rank to another; each end is closed by itself. */
static struct lazy_wire *lazy_wire_make(int from, int to, unsigned depth, size_t slot_bytes)
{
	struct lazy_wire *wire = calloc(1, sizeof(*wire));
	assert_non_null(wire);
	struct ring_link base = {.transport = dice_below(&lazy_dice, 3) ? &lazy_transport
									: &lazy_transport_of_slots,
				 .outgoing = true,
				 .self = from,
				 .peer = to,
				 .depth = depth,
				 .slot_bytes = slot_bytes};
	wire->sender = (struct lazy_end){.base = base, .wire = wire};
	base.outgoing = false;
	base.self = to;
	base.peer = from;
	wire->receiver = (struct lazy_end){.base = base, .wire = wire};
	wire->open_ends = 2;
	for (unsigned i = 0; i < depth; i++) {
		wire->messages[i].sent_as = malloc(slot_bytes);
		wire->messages[i].slot = malloc(slot_bytes);
	}
	return wire;
}

/* ---- device: float32, sums and averages --------------------------------------------------- */

struct lazy_job {
	bool reduces;
	struct ring_reduction reduction;
	void *dst;
	const void *src;
	size_t bytes;
	struct lazy_job *next;
};

struct ring_device_queue {
	struct lazy_job *first, **end;
	uint64_t pending, done;
};

static int lazy_fails_in; /* the device breaks at this submission or look, from 1; 0: never */

static bool device_breaks(void)
{
	return lazy_fails_in > 0 && --lazy_fails_in == 0;
}

static bool lazy_owns(const void *memory)
{
	(void)memory;
	return true;
}

static int lazy_alloc(int chip, size_t bytes, void **memory)
{
	(void)chip;
	*memory = malloc(bytes);
	return *memory ? 0 : RING_ENOMEM;
}

static int lazy_queue_open(int chip, struct ring_device_queue **queue)
{
	(void)chip;
	*queue = calloc(1, sizeof(**queue));
	if (!*queue)
		return RING_ENOMEM;
	(*queue)->end = &(*queue)->first;
	return 0;
}

static float lazy_summand(const struct ring_reduction *reduction, int source, size_t i)
{
	float summand = ((const float *)reduction->sources[source])[i], scalar = 1;
	if (source < reduction->nscalars)
		memcpy(&scalar, &reduction->scalars[source], sizeof(scalar));
	return summand * scalar;
}

static void run_job(const struct lazy_job *job)
{
	const struct ring_reduction *reduction = &job->reduction;
	if (!job->reduces && job->bytes > 0)
		memcpy(job->dst, job->src, job->bytes);
	for (size_t i = 0; job->reduces && i < reduction->count; i++) {
		float sum = lazy_summand(reduction, 0, i);
		for (int k = 1; k < reduction->nsources; k++)
			sum += lazy_summand(reduction, k, i);
		if (reduction->divisor > 1)
			sum /= (float)reduction->divisor;
		for (int k = 0; k < reduction->nresults; k++)
			((float *)reduction->results[k])[i] = sum;
	}
}

static void run_jobs(struct ring_device_queue *queue, uint64_t count)
{
	for (; count > 0; count--, queue->pending--, queue->done++) {
		struct lazy_job *job = queue->first;
		queue->first = job->next;
		if (!queue->first)
			queue->end = &queue->first;
		run_job(job);
		free(job);
	}
}

static void lazy_queue_close(struct ring_device_queue *queue)
{
	run_jobs(queue, queue->pending);
	free(queue);
}

static int submit(struct ring_device_queue *queue, const struct lazy_job *job)
{
	if (device_breaks())
		return RING_ESYSTEM;
	struct lazy_job *copy = malloc(sizeof(*copy));
	assert_non_null(copy);
	*copy = *job;
	*queue->end = copy;
	queue->end = &copy->next;
	queue->pending++;
	return 0;
}

static int lazy_reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	assert_int_equal(reduction->type, RING_FLOAT32);
	return submit(queue, &(struct lazy_job){.reduces = true, .reduction = *reduction});
}

static int lazy_copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes,
		     bool past)
{
	(void)past;
	assert_true(bytes == 0 || dst != src);
	return submit(queue, &(struct lazy_job){.dst = dst, .src = src, .bytes = bytes});
}

static int lazy_finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	if (device_breaks())
		return RING_ESYSTEM;
	run_jobs(queue, some_of(queue->pending));
	*jobs = queue->done;
	return 0;
}

static const struct ring_device lazy_device = {
	.name = "lazy",
	.owns = lazy_owns,
	.alloc = lazy_alloc,
	.free = free,
	.queue_open = lazy_queue_open,
	.queue_close = lazy_queue_close,
	.reduce = lazy_reduce,
	.copy = lazy_copy,
	.finished = lazy_finished,
};

#endif
