/* SPDX-License-Identifier: MIT */
/*
 * Calls that a device carries out by itself: one job for each, which a stream of the program is
 * given as the call is made. It speaks with the other ranks' jobs by memory that all ranks map, and
 * is over when the call is; nobody else does anything for it:
 *
 *	the thread that makes calls    open, launch, follow
 *	the one that runs them         ended, tell, stop, is_inside: they read words of the host's
 *	either, but not at once        close
 *
 * Only open and close may block. For a row of devices.c that has streams.
 */
#ifndef RING_DEVICE_CALLS_H
#define RING_DEVICE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_device_engine; /* of one communicator, on one chip */
struct ring_device_stream;
struct ring_record; /* plan/record.h */

#define RING_PUMP_CHANNELS 8

/* A slot FIFO in memory of the host (transport/slot_fifo.h), of which the device has one end. */
struct ring_device_fifo {
	void *head, *flags, *slots;
	unsigned depth;
	size_t slot_bytes; /* of a message, at most */
};

/* Instead of inboxes: FIFOs whose other ends are a thread's here, which moves messages on. */
struct ring_device_wires {
	void *memory; /* they lie in; whole pages */
	size_t bytes;
	const struct ring_device_fifo *to_next, *from_before; /* [channels], around the ring */
};

/* The ranks. Each has inboxes, new memory that all of them reach, or wires. */
struct ring_device_team {
	int size, rank;
	const int *order;     /* [size], a rank by its position */
	bool in_order;        /* sums begin with position 0, as the plan's */
	unsigned depth;       /* of FIFOs in inboxes, and the largest message there, ... */
	size_t chunk_bytes;   /* ... as ranks have agreed; others are taken where these are none */
	char *const *inboxes; /* [size], where a rank's lie here */
	size_t inbox_bytes;   /* of each; whole pages */
	bool far;             /* they are memory of inboxes(), not of the host */
	const struct ring_device_wires *wires; /* NULL: there are inboxes */
};

/* How a device carries a call out, in words of the plan's. */
struct ring_device_way {
	int algorithm; /* enum ring_algorithm; -1: it does not */
	size_t chunk_bytes;
	int channels;
};

struct ring_device_call {
	const struct ring_record *record;
	const void *input;
	void *output;
	uint64_t timeout_ms; /* it ends after nothing has moved for so long; 0: never */
	uint64_t capture;    /* a graph's, whose number this is (device.h); 0: none */
};

struct ring_device_calls {
	int channels; /* of every call around the ring; at most RING_PUMP_CHANNELS */

	/* Of each rank, at least; the team has no inboxes yet. 0: it cannot have such calls */
	size_t (*inbox_bytes)(const struct ring_device_team *team);

	/* Memory of the chip for that, all zero; otherwise as alloc() of device.h. */
	int (*inboxes)(int chip, size_t bytes, void **memory);

	/* What FIFOs of wires must be like; it says nothing of where they lie. */
	struct ring_device_fifo (*fifo)(const struct ring_device_team *team);

	/* How such a call would be carried out: the same answer on all ranks. Cheap. */
	struct ring_device_way (*way)(const struct ring_device_engine *engine,
				      const struct ring_record *record);

	/* returns 0; RING_ENOTSUP: the device cannot; RING_ENOMEM; RING_ESYSTEM */
	int (*open)(int chip, const struct ring_device_team *team,
		    struct ring_device_engine **engine);

	/*
	 * Ends what was launched and has not ended. It may come to its end later, as its stream
	 * does, and needs the inboxes until then: see base/held.h. NULL is allowed.
	 */
	void (*close)(struct ring_device_engine *engine);

	/*
	 * Gives the call to the stream, behind the calls before it. *number: its own, from 1 on;
	 * 0: of a call for a graph, of which nobody knows when it is launched, and how often.
	 * returns 0; RING_ENOMEM, RING_ESYSTEM: it was not. Where it was, but the device cannot
	 * have later ones come behind it, its end is told to be that the device failed.
	 */
	int (*launch)(struct ring_device_engine *engine, struct ring_device_stream *stream,
		      const struct ring_device_call *call, uint64_t *number);

	/* What is launched next comes behind what the stream was given so far. returns as launch */
	int (*follow)(struct ring_device_engine *engine, struct ring_device_stream *stream);

	/* Payload bytes that such a call sends from here: its plan's, as no host counts them. */
	uint64_t (*payload)(const struct ring_device_engine *engine,
			    const struct ring_record *record);

	/*
	 * returns 0: the call is complete; RING_EAGAIN; RING_ESYSTEM: the device failed;
	 * RING_EMISMATCH, RING_ETIMEDOUT, RING_EPEER: it has ended early, because of *peer, which
	 * made the call *theirs if that is a mismatch; RING_EABORTED: it has, as it was stopped
	 */
	int (*ended)(const struct ring_device_engine *engine, uint64_t number, int *peer,
		     struct ring_record *theirs);

	/*
	 * Whether a call of a graph has ended early: 0; or what ended() would return. Any thread;
	 * cheap
	 */
	int (*trouble)(const struct ring_device_engine *engine, int *peer,
		       struct ring_record *theirs);

	/* As the device's tell(), when ended() has something else to say than RING_EAGAIN. */
	int (*tell)(struct ring_device_engine *engine, uint64_t number, void (*done)(void *context),
		    void *context);

	/* Ends all calls, also those that are launched later. */
	void (*stop)(struct ring_device_engine *engine);

	/* After stop(): whether the call may still write its output. */
	bool (*is_inside)(const struct ring_device_engine *engine, uint64_t number);
};

#endif
