/* SPDX-License-Identifier: MIT */
/*
 * What a call on a stream is for the kernel that carries it out (engine.h), and what the kernel
 * says of its end. Included by both sides.
 *
 *	memory of the device    channels    what outlives a call, so that a graph's replays count on
 *	inboxes, inbox.h        FIFOs and lines: in memory of the receiver's GPU, or of the host
 *	memory of the host      FIFOs that a pump moves on; the report, of one communicator
 *	parameters              the call: it is the same in each replay
 */
#ifndef RING_ENGINE_CALL_H
#define RING_ENGINE_CALL_H

#include "kernels/arithmetic.h"
#include "plan/record.h"

#define RING_ENGINE_RANKS 64    /* of a communicator, at most */
#define RING_ENGINE_CHANNELS 32 /* the same; each is a block */
#define RING_ENGINE_BLOCKS 4    /* of every call that is launched: each counts all calls */
#define RING_ENGINE_THREADS 512 /* of a block, around the ring */

/* One end of a link: where its slot FIFO lies, and how far this end has come. */
struct ring_engine_link {
	unsigned char *flags; /* [RING_DEPTH_MAX], a line each: the flag, and a small message */
	unsigned char *slots;
	uint64_t *head;
	uint64_t depth, slot_bytes;
	uint64_t mine;   /* messages that this end has put, or released */
	uint64_t theirs; /* the other end's, as far as was seen */
};

/* A channel: its links around the ring, which a rank alone does not have. */
struct __attribute__((aligned(16))) ring_engine_channel {
	struct ring_engine_link out, in;
	uint64_t sequence; /* of the last call */
	uint64_t number;   /* the largest of those that have ended */
};

#define RING_SHOT_THREADS 256 /* of a block, in one shot */

/* Inboxes of one_shot.h, by rank; nobody's own. */
#define RING_SHOT_BYTES ((size_t)64 << 10) /* of a part, at most */
#define RING_SHOT_BUFFER (2 * (sizeof(struct ring_record) + RING_SHOT_BYTES))

struct ring_engine_shots {
	unsigned char *to[RING_ENGINE_RANKS];         /* [2][RING_SHOT_BUFFER], at the peer */
	const unsigned char *from[RING_ENGINE_RANKS]; /* the same, here */
	uint64_t calls[RING_ENGINE_CHANNELS];         /* in one shot, so far */
};

/* Why a channel has ended a call early: the plan's entry where it stood, and what was missing. */
struct ring_engine_error {
	int64_t err;      /* RING_EMISMATCH, RING_ETIMEDOUT, RING_EPEER; 0: none. Written last */
	int64_t sequence; /* of the call */
	int64_t peer, step;
	int64_t outgoing;    /* it waited for the peer to give a slot back, else for a message */
	uint64_t want, have; /* messages of that link: there had to be so many, and were */
	struct ring_record record; /* EMISMATCH: the peer's */
};

/* Of a communicator, in memory of the host. */
struct ring_engine_report {
	uint64_t stop; /* by anybody: not 0 ends all calls */
	/* the largest number of a call that may write its output, is complete, has ended */
	uint64_t begun[RING_ENGINE_CHANNELS];
	uint64_t numbers[RING_ENGINE_CHANNELS];
	uint64_t ended[RING_ENGINE_CHANNELS];
	struct ring_engine_error errors[RING_ENGINE_CHANNELS];
};

struct ring_engine_call {
	struct ring_plan_params params; /* order and channel apart */
	int order[RING_ENGINE_RANKS];
	struct ring_record record; /* the sequence apart: each channel counts calls, ... */
	uint64_t uncounted;        /* ... and these come on top, of other kinds */
	const unsigned char *input;
	unsigned char *output;
	unsigned char *scratch; /* [channels], so many bytes each; NULL: there is none */
	uint64_t scratch_bytes;
	uint64_t scalar;             /* of a plan that is scaled: one element, its first bytes */
	struct ring_divisor divisor; /* of 0: none */
	uint64_t timeout_ns;         /* a channel waits no longer while nothing moves */
	uint64_t number;             /* of the call, as the host counts those that it launches */
	struct ring_engine_channel *channels;
	struct ring_engine_shots *shots;
	struct ring_engine_report *report;
};

#endif
