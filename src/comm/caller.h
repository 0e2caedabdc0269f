/* SPDX-License-Identifier: MIT */
/* What belongs to the thread that makes a communicator's calls: one at a time may. */
#ifndef RING_CALLER_H
#define RING_CALLER_H

#include "team/call.h"
#include "op.h"

#define RING_CALLS_KEPT 4

/*
 * A call that was checked: programs repeat a few. (8 B on 2 ranks, between barriers, the last call
 * kept -> some calls kept: 0.13 -> 0.11 us.)
 */
struct ring_checked_call {
	bool keeps; /* the next call like it needs no check */
	struct ring_request request;
	struct ring_call call;
	uint64_t regions_epoch; /* as its memory was found */
};

struct ring_queue;

struct ring_caller {
	uint64_t sequence;        /* collectives made */
	struct ring_queue *queue; /* NULL: this thread also carries calls out */
	/* calls on this device's memory have all links that they may need */
	const struct ring_device *connected;
	struct ring_made_ops made_ops;
	uint64_t *parts; /* room for those of a call while it is made; NULL: none was uneven */
	struct ring_checked_call checked[RING_CALLS_KEPT];
	unsigned next_checked; /* of those, the next to be replaced */

	/*
	 * The one device beside the host whose memory calls work on, as the options say or the
	 * first such call, and which of its chips, likewise; NULL, RING_CHIP_ANY: any.
	 */
	const struct ring_device *device;
	int chip;
};

/* Whether calls may work on a device's chip; the first one that they do is the communicator's. */
static inline bool ring_caller_takes(struct ring_caller *caller, const struct ring_device *device,
				     int chip)
{
	if (caller->device &&
	    (caller->device != device || (caller->chip != RING_CHIP_ANY && caller->chip != chip)))
		return false;
	caller->device = device;
	caller->chip = chip;
	return true;
}

/* Gives a call its number, once nothing can refuse it. */
static inline void ring_caller_number(struct ring_caller *caller, struct ring_call *call)
{
	if (!ring_kind_is_message(call->kind))
		caller->sequence++;
	call->turn = caller->sequence;
	call->record.sequence = caller->sequence;
}

/* It was refused all the same, before anybody else knew of it. */
static inline void ring_caller_take_back(struct ring_caller *caller, const struct ring_call *call)
{
	if (!ring_kind_is_message(call->kind))
		caller->sequence--;
}

#endif
