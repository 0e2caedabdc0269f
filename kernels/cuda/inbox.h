/* SPDX-License-Identifier: MIT */
/*
 * What lies where in the inboxes of a rank, in memory that the GPUs of all ranks of a host reach:
 * its GPU's, or the host's. The kernels of calls (one_shot.h, engine.h) are told. All is zero at
 * first.
 *
 *	lines, by rank      two buffers each, of what that rank sends in one shot
 *	FIFOs, by channel   from the rank behind: flags and slots of transport/slot_fifo.h; and the
 *	                    head of that to the rank before, so that each polls what is its own
 */
#ifndef RING_CUDA_INBOX_H
#define RING_CUDA_INBOX_H

#include "base/slot_place.h"
#include "kernels/cuda/gpu/engine_call.h"

#define RING_INBOX_DEPTH_LEAST 2 /* a sum waits in one slot until there is room in the next */
#define RING_INBOX_CHUNK_MOST ((size_t)128 << 10)

struct ring_cuda_inbox {
	int size;           /* ranks */
	unsigned depth;     /* of a FIFO */
	size_t chunk_bytes; /* of a message with data, at most */
};

/* A slot has room for a record, too. */
static inline size_t ring_cuda_inbox_slot(const struct ring_cuda_inbox *inbox)
{
	const size_t record = sizeof(struct ring_record);
	return inbox->chunk_bytes > record ? inbox->chunk_bytes : record;
}

static inline size_t ring_cuda_inbox_fifo(const struct ring_cuda_inbox *inbox)
{
	return RING_CACHE_LINE + RING_DEPTH_MAX * RING_CACHE_LINE +
	       inbox->depth * ring_slot_stride(ring_cuda_inbox_slot(inbox));
}

static inline size_t ring_cuda_inbox_lines(const struct ring_cuda_inbox *inbox)
{
	return (size_t)inbox->size * 2 * RING_SHOT_BUFFER;
}

static inline size_t ring_cuda_inbox_bytes(const struct ring_cuda_inbox *inbox)
{
	return ring_cuda_inbox_lines(inbox) + RING_ENGINE_BLOCKS * ring_cuda_inbox_fifo(inbox);
}

/* Where lines of a rank lie in the inboxes of another. */
static inline unsigned char *ring_cuda_inbox_from(char *inboxes, int rank)
{
	return (unsigned char *)inboxes + (size_t)rank * 2 * RING_SHOT_BUFFER;
}

static inline unsigned char *ring_cuda_inbox_channel(const struct ring_cuda_inbox *inbox,
						     char *inboxes, int channel)
{
	return (unsigned char *)inboxes + ring_cuda_inbox_lines(inbox) +
	       (size_t)channel * ring_cuda_inbox_fifo(inbox);
}

/* A channel's FIFO from one rank's inboxes to another's, for either end. */
static inline struct ring_engine_link ring_cuda_inbox_link(const struct ring_cuda_inbox *inbox,
							   char *from, char *to, int channel)
{
	unsigned char *head = ring_cuda_inbox_channel(inbox, from, channel);
	unsigned char *fifo = ring_cuda_inbox_channel(inbox, to, channel);
	return (struct ring_engine_link){.head = (uint64_t *)(void *)head,
					 .flags = fifo + RING_CACHE_LINE,
					 .slots = fifo + RING_CACHE_LINE +
						  RING_DEPTH_MAX * RING_CACHE_LINE,
					 .depth = inbox->depth,
					 .slot_bytes = ring_cuda_inbox_slot(inbox)};
}

_Static_assert(RING_SHOT_BUFFER % RING_CACHE_LINE == 0, "FIFOs begin on a line");

#endif
