/* SPDX-License-Identifier: MIT */
/* The virtual transport: all times of a message are known when it is sent. */
#include "virtual.h"

#include <stdlib.h>
#include <string.h>

#include "ringccl.h"

struct pipe;

struct virtual_link {
	struct ring_link base;
	struct pipe *pipe;
};

/*
 * Both ends of a link and the messages between them; message k has place k % depth of each array.
 */
struct pipe {
	struct virtual_link sender, receiver;
	struct ring_virtual_wire *wire;
	uint64_t posted;
	uint64_t sent_ns[RING_DEPTH_MAX];
	uint64_t arrival_ns[RING_DEPTH_MAX];
	uint64_t room_ns[RING_DEPTH_MAX]; /* when the sender knows of each release       */
	bool refused;                     /* the sender waits for a release              */
	uint64_t awake_ns;                /* when it will be woken because of a release  */
	int open_ends;
	bool copies;
	unsigned char slots[]; /* [depth][slot_bytes] if it copies */
};

/* When the next message finds room, as far as the sender knows; RING_NEVER: not known yet. */
static uint64_t room_ns(const struct pipe *pipe)
{
	unsigned depth = pipe->sender.base.depth;
	if (pipe->posted < depth)
		return 0;
	uint64_t before = pipe->posted - depth;
	return before < pipe->receiver.base.released ? pipe->room_ns[before % depth] : RING_NEVER;
}

static void see_sent(struct pipe *pipe)
{
	struct ring_link *base = &pipe->sender.base;
	uint64_t now = pipe->wire->clock->now_ns;
	while (base->sent < pipe->posted && pipe->sent_ns[base->sent % base->depth] <= now)
		base->sent++;
}

static void see_arrived(struct pipe *pipe)
{
	struct ring_link *base = &pipe->receiver.base;
	uint64_t now = pipe->wire->clock->now_ns;
	while (base->arrived < pipe->posted && pipe->arrival_ns[base->arrived % base->depth] <= now)
		base->arrived++;
}

/* Puts message `posted` into the receiver's slot. */
static void carry(struct pipe *pipe, const void *source, size_t bytes)
{
	struct ring_link *in = &pipe->receiver.base;
	if (pipe->copies)
		source = memcpy(pipe->slots + pipe->posted % in->depth * in->slot_bytes, source,
				bytes);
	*ring_link_arrival(in, pipe->posted) = (struct ring_arrival){source, bytes};
}

/* Has the sender woken, once, when there is room. */
static void wait_for_room(struct pipe *pipe, uint64_t room)
{
	struct ring_virtual_clock *clock = pipe->wire->clock;
	pipe->refused = room == RING_NEVER;
	if (pipe->refused || pipe->awake_ns == room)
		return;
	pipe->awake_ns = room;
	clock->wake(clock, pipe->sender.base.self, room);
}

static int send_message(struct ring_link *base, const void *source, size_t bytes)
{
	struct pipe *pipe = ((struct virtual_link *)base)->pipe;
	struct ring_virtual_wire *wire = pipe->wire;
	struct ring_virtual_clock *clock = wire->clock;

	uint64_t room = room_ns(pipe);
	if (room > clock->now_ns) {
		wait_for_room(pipe, room);
		return RING_EAGAIN;
	}
	see_sent(pipe);
	carry(pipe, source, bytes);
	uint64_t begin = wire->free_ns > clock->now_ns ? wire->free_ns : clock->now_ns;
	wire->free_ns = begin + ring_pace_duration(bytes, wire->speed.bytes_per_second);
	uint64_t arrival = wire->free_ns + wire->speed.latency_ns;
	unsigned at = pipe->posted++ % base->depth;
	pipe->sent_ns[at] = wire->free_ns;
	pipe->arrival_ns[at] = arrival;
	clock->wake(clock, base->peer, arrival);
	return 0;
}

static int poll_link(struct ring_link *base)
{
	struct pipe *pipe = ((struct virtual_link *)base)->pipe;
	if (base->outgoing)
		see_sent(pipe);
	else
		see_arrived(pipe);
	return 0;
}

static void release(struct ring_link *base)
{
	struct pipe *pipe = ((struct virtual_link *)base)->pipe;
	uint64_t known = pipe->wire->clock->now_ns + pipe->wire->speed.latency_ns;
	pipe->room_ns[base->released++ % base->depth] = known;
	if (pipe->refused)
		wait_for_room(pipe, known);
}

static int wait_fd(const struct ring_link *base, short *events)
{
	(void)base;
	*events = 0;
	return -1;
}

static void close_link(struct ring_link *base)
{
	struct pipe *pipe = ((struct virtual_link *)base)->pipe;
	if (--pipe->open_ends == 0)
		free(pipe);
}

static const struct ring_transport virtual_transport = {
	.name = "virtual",
	.send = send_message,
	.poll = poll_link,
	.release = release,
	.wait_fd = wait_fd,
	.close = close_link,
};

int ring_virtual_connect(struct ring_virtual_wire *wire, const struct ring_link_params *params,
			 bool copies, struct ring_link *ends[2])
{
	size_t slots = copies ? params->depth * params->slot_bytes : 0;
	struct pipe *pipe = calloc(1, sizeof(*pipe) + slots);
	if (!pipe)
		return RING_ENOMEM;
	struct ring_link base = {.transport = &virtual_transport,
				 .outgoing = true,
				 .self = params->self,
				 .peer = params->peer,
				 .depth = params->depth,
				 .slot_bytes = params->slot_bytes};
	pipe->sender = (struct virtual_link){.base = base, .pipe = pipe};
	base.outgoing = false;
	base.self = params->peer;
	base.peer = params->self;
	pipe->receiver = (struct virtual_link){.base = base, .pipe = pipe};
	pipe->wire = wire;
	pipe->open_ends = 2;
	pipe->copies = copies;
	ends[0] = &pipe->sender.base;
	ends[1] = &pipe->receiver.base;
	return 0;
}

uint64_t ring_virtual_sent_ns(const struct ring_link *link)
{
	const struct pipe *pipe = ((const struct virtual_link *)link)->pipe;
	return link->sent < pipe->posted ? pipe->sent_ns[link->sent % link->depth] : RING_NEVER;
}
