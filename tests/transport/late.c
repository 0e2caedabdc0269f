/* SPDX-License-Identifier: MIT */
/* The late transport: one wire that both ends hold, under a lock; chance moves what is on it. */
#include "tests/transport/late.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tests/transport/dice.h"

#define POSTED_MAX 8

/* sent, arrived <= landed <= posted, and landed <= released + depth */
struct wire {
	pthread_mutex_t lock;
	unsigned depth;
	size_t slot_bytes;
	uint64_t posted, landed, released;
	struct {
		const void *source;
		size_t bytes;
	} messages[POSTED_MAX];
	size_t bytes[RING_DEPTH_MAX];
	unsigned char *slots;
	uint64_t dice;
	bool closed[2];
	const struct ring_bell *bells[2];
};

struct late_link {
	struct ring_link base;
	struct wire *wire;
};

static uint64_t some_of(struct wire *wire, uint64_t ready)
{
	return ready && dice_below(&wire->dice, 2) ? 1 + dice_below(&wire->dice, ready) : 0;
}

static void land(struct wire *wire)
{
	uint64_t room = wire->depth - (wire->landed - wire->released);
	uint64_t waiting = wire->posted - wire->landed;
	uint64_t count = some_of(wire, waiting < room ? waiting : room);
	for (; count > 0; count--, wire->landed++) {
		unsigned at = wire->landed % wire->depth;
		wire->bytes[at] = wire->messages[wire->landed % POSTED_MAX].bytes;
		memcpy(wire->slots + at * wire->slot_bytes,
		       wire->messages[wire->landed % POSTED_MAX].source, wire->bytes[at]);
	}
}

static void ring(const struct wire *wire, int end)
{
	if (wire->bells[end])
		ring_bell_ring(wire->bells[end]);
}

static int send_message(struct ring_link *base, const void *source, size_t bytes)
{
	struct wire *wire = ((struct late_link *)base)->wire;
	int err = 0;
	pthread_mutex_lock(&wire->lock);
	if (wire->closed[1]) {
		err = RING_EPEER;
	} else if (wire->posted - base->sent == POSTED_MAX) {
		err = RING_EAGAIN;
	} else {
		wire->messages[wire->posted % POSTED_MAX].source = source;
		wire->messages[wire->posted % POSTED_MAX].bytes = bytes;
		wire->posted++;
		ring(wire, 1);
	}
	pthread_mutex_unlock(&wire->lock);
	return err;
}

static int poll_sender(struct ring_link *base, struct wire *wire)
{
	base->sent += some_of(wire, wire->landed - base->sent);
	if (base->sent < wire->landed)
		ring(wire, 0); /* nobody may sleep over what is held back */
	return base->sent < wire->posted && base->sent == wire->landed && wire->closed[1]
		       ? RING_EPEER
		       : 0;
}

static int poll_receiver(struct ring_link *base, struct wire *wire)
{
	uint64_t arrived = base->arrived + some_of(wire, wire->landed - base->arrived);
	for (; base->arrived < arrived; base->arrived++) {
		unsigned at = base->arrived % base->depth;
		*ring_link_arrival(base, base->arrived) =
			(struct ring_arrival){wire->slots + at * wire->slot_bytes, wire->bytes[at]};
	}
	if (base->arrived < wire->landed || (wire->landed < wire->posted && !wire->closed[0]))
		ring(wire, 1);
	return base->released == wire->landed && wire->closed[0] ? RING_EPEER : 0;
}

static int poll_link(struct ring_link *base)
{
	struct wire *wire = ((struct late_link *)base)->wire;
	pthread_mutex_lock(&wire->lock);
	if (!wire->closed[0] && !wire->closed[1]) {
		uint64_t before = wire->landed;
		land(wire);
		if (wire->landed > before)
			ring(wire, base->outgoing ? 1 : 0);
	}
	int err = base->outgoing ? poll_sender(base, wire) : poll_receiver(base, wire);
	pthread_mutex_unlock(&wire->lock);
	return err;
}

static void release(struct ring_link *base)
{
	struct wire *wire = ((struct late_link *)base)->wire;
	pthread_mutex_lock(&wire->lock);
	base->released++;
	wire->released++;
	ring(wire, 0);
	pthread_mutex_unlock(&wire->lock);
}

static int finish(struct ring_link *base)
{
	(void)base;
	return 0;
}

static int wait_fd(const struct ring_link *base, short *events)
{
	(void)base;
	*events = 0;
	return -1;
}

static void close_link(struct ring_link *base)
{
	if (!base)
		return;
	struct wire *wire = ((struct late_link *)base)->wire;
	pthread_mutex_lock(&wire->lock);
	int end = base->outgoing ? 0 : 1;
	wire->closed[end] = true;
	ring(wire, !end);
	wire->bells[end] = NULL;
	bool last = wire->closed[!end];
	pthread_mutex_unlock(&wire->lock);
	if (last) {
		pthread_mutex_destroy(&wire->lock);
		free(wire->slots);
		free(wire);
	}
	free(base);
}

static const struct ring_transport late = {
	.name = "late",
	.finish = finish,
	.send = send_message,
	.poll = poll_link,
	.release = release,
	.wait_fd = wait_fd,
	.close = close_link,
};

static void fill_end(struct late_link *link, const struct ring_link_params *params,
		     struct wire *wire, bool outgoing)
{
	link->base = (struct ring_link){.transport = &late,
					.outgoing = outgoing,
					.self = params->self,
					.peer = params->peer,
					.depth = params->depth,
					.slot_bytes = params->slot_bytes};
	link->wire = wire;
	wire->bells[outgoing ? 0 : 1] = params->bell;
}

int ring_late_pair(const struct ring_link_params params[2], uint64_t seed, struct ring_link *ends[2])
{
	struct wire *wire = calloc(1, sizeof(*wire));
	struct late_link *sender = calloc(1, sizeof(*sender));
	struct late_link *receiver = calloc(1, sizeof(*receiver));
	unsigned char *slots = malloc(params[0].depth * params[0].slot_bytes);
	if (!wire || !sender || !receiver || !slots) {
		free(wire);
		free(sender);
		free(receiver);
		free(slots);
		return RING_ENOMEM;
	}
	pthread_mutex_init(&wire->lock, NULL);
	wire->depth = params[0].depth;
	wire->slot_bytes = params[0].slot_bytes;
	wire->slots = slots;
	wire->dice = seed;
	fill_end(sender, &params[0], wire, true);
	fill_end(receiver, &params[1], wire, false);
	ends[0] = &sender->base;
	ends[1] = &receiver->base;
	return 0;
}
