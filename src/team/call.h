/* SPDX-License-Identifier: MIT */
/* One call on a communicator: as the program makes it, and as it is carried out. */
#ifndef RING_CALL_H
#define RING_CALL_H

#include "base/region.h"
#include "engine/channel.h"
#include "plan/record.h"

/* Uneven parts as the program tells them: counts, and where parts begin; NULL: not given. */
struct ring_counts {
	const size_t *send, *send_at, *recv, *recv_at; /* [size] */
};

/* A call as the program makes it; of type, op and root only what the kind has means anything. */
struct ring_request {
	enum ring_kind kind;
	const void *send;
	void *recv;
	uint64_t count;
	struct ring_counts counts; /* of uneven kinds */
	int type, op, root;        /* SEND, RECV: root is the peer */
	struct ring_stream *stream;
};

/*
 * Where calls that run at the same time are in their queue; one alone is also a batch. But for
 * `lead` and `later`, as the first of them has it.
 */
struct ring_batch {
	struct ring_call *lead;  /* the first of them */
	struct ring_call *later; /* the next call of the same stream */
	struct ring_call *next;  /* of batches that are due, arrive, or have ended */
	int left;                /* messages that are not complete */
	bool taken;              /* by the thread that runs them */
	bool ready;              /* they may begin */
	uint64_t began_ns;
};

/* How a call goes on a stream of a device that the program owns; all zero: on none. */
struct ring_on_stream {
	bool stops;       /* the stream, until the call is done ... */
	uint32_t place;   /* ... where it is to come first */
	uint64_t capture; /* of the stream, which notes the call for a graph; 0: it does it */
	uint64_t kernel;  /* the device's own number of what carries it out; 0: the host does */
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
	struct ring_parts parts; /* uneven ones; else all NULL */
	int root;                /* SEND, RECV: the other rank */
	struct ring_record record;
	uint64_t turn; /* its number as a collective, or that of the last one before it */
	struct ring_stream *stream; /* NULL: the caller waits for it */
	uint64_t position;          /* in stream */
	struct ring_on_stream on;
	/* BARRIER: makes all links for memory of this device, on the chip; NULL: does not */
	const struct ring_device *connects;
	int result;
	bool done;                  /* under the queue's lock */
	struct ring_call *together; /* SEND, RECV: the next one that runs at the same time */
	struct ring_call *next;
	struct ring_batch batch;
	char tag[RING_TAG_BYTES]; /* what the program calls it; "": nothing */
};

/* A copy in malloc's memory, with its parts behind it: free() frees all. NULL without memory. */
struct ring_call *ring_call_copy(const struct ring_call *call, int size);

#endif
