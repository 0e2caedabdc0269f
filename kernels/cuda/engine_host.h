/* SPDX-License-Identifier: MIT */
/*
 * The host's side of the engines in kernels (one_shot.h, engine.h), one for each communicator and
 * chip: what their calls need is made here, and taken away. What is done with a call is calls.c's.
 */
#ifndef RING_ENGINE_HOST_H
#define RING_ENGINE_HOST_H

#include "kernels/cuda/gpu/engine_call.h"
#include "inbox.h"
#include "later.h"
#include "queue.h"

/* What a GPU has of a communicator. */
struct ring_engine_far {
	struct ring_engine_channel channels[RING_ENGINE_BLOCKS];
	struct ring_engine_shots shots;
};

/* What both reach, in one piece of pinned memory. */
struct ring_engine_near {
	struct ring_engine_report report;
	struct ring_engine_far first; /* what the GPU's is at first */
};

struct ring_device_engine {
	struct ring_cuda_waiter waiter;
	struct ring_cuda_later closing;
	const struct ring_cuda_chip *chip;
	int size, rank, position;
	int order[RING_ENGINE_RANKS];
	bool in_order;
	bool wired; /* not to inboxes of the others */
	struct ring_cuda_inbox inbox;
	char *pinned[RING_ENGINE_RANKS]; /* inboxes of the host; NULL: not yet */
	size_t inbox_bytes;
	struct ring_engine_far *far;
	struct ring_engine_near *near;
	struct CUevent_st *last;          /* behind the call before, whatever stream that was on */
	struct CUevent_st *last_captured; /* the same, of those for graphs ... */
	uint64_t capture;                 /* ... in this capture */
	uint64_t launched;                /* as the kernels count calls */
	uint64_t shots, rings;            /* of these, as they count each kind */
	uint64_t asked;                   /* the same, and one that is about to be */
	uint64_t lost; /* the call behind which none can be launched; 0: none yet */
	struct ring_cuda_telling telling;
};

/* inbox_bytes, inboxes, fifo, open, close and stop of struct ring_device_calls */
size_t ring_cuda_engine_inbox_bytes(const struct ring_device_team *team);
int ring_cuda_engine_inboxes(int number, size_t bytes, void **memory);
struct ring_device_fifo ring_cuda_engine_fifo(const struct ring_device_team *team);
int ring_cuda_engine_open(int number, const struct ring_device_team *team,
			  struct ring_device_engine **opened);
void ring_cuda_engine_close(struct ring_device_engine *engine);

/* Either a kernel that begins sees it, or is_inside() sees that it has begun. */
void ring_cuda_engine_stop(struct ring_device_engine *engine);

/* Whether all blocks have come to a number: of `ended`, say, in a struct ring_engine_report. */
bool ring_cuda_engine_all_have(const void *numbers, uint64_t number);

#endif
