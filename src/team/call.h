/* SPDX-License-Identifier: MIT */
/* One call on a communicator: as the program makes it, and as it is carried out. */
#ifndef RING_CALL_H
#define RING_CALL_H

#include "base/region.h"
#include "engine/channel.h"
#include "plan/record.h"

/* A call as the program makes it; type, op and root are -1 where the kind has none. */
struct ring_request {
	enum ring_kind kind;
	const void *send;
	void *recv;
	uint64_t count;
	int type, op, root; /* SEND, RECV: root is the peer */
	struct ring_stream *stream;
};

/* One call, from its arguments to its end. */
struct ring_call {
	enum ring_kind kind;
	struct ring_operands operands;
	const struct ring_device *device;                 /* of its buffers, ... */
	int chip;                                         /* ... and which chip's */
	bool scaled;                                      /* operands has a scalar */
	bool internal;                                    /* the library's own */
	struct ring_region *input_region, *output_region; /* that peers may map; NULL: private */
	uint64_t count;
	int root; /* SEND, RECV: the other rank */
	struct ring_record record;
	uint64_t turn; /* its number as a collective, or that of the last one before it */
	struct ring_stream *stream; /* NULL: the caller waits for it */
	uint64_t position;          /* in stream */
	bool stops;                 /* the program's stream on a device, until it is done ... */
	uint32_t place;             /* ... where it is to come first */
	/* BARRIER: makes all links for memory of this device, on the chip; NULL: does not */
	const struct ring_device *connects;
	int result;
	bool done;                  /* under the queue's lock */
	struct ring_call *together; /* SEND, RECV: the next one that runs at the same time */
	struct ring_call *next;
};

#endif
