/* SPDX-License-Identifier: MIT */
/*
 * Calls that a device carries out by itself (device_calls.h), if RING_CUDA_ENGINE says so on all
 * ranks: those on the program's streams, between ranks of which those of one process have a chip
 * each. Which calls those are, and how they go, all ranks tell alike from their records; a rank
 * that makes one otherwise, as on memory of the host or without such a stream, is in another call,
 * which its record says.
 *
 *	the first stream    all ranks make inboxes, tell where, and open their device's engine: in
 *	                    memory of the device if all reach that (probe.h), or if one cannot after
 *	                    all, once more in the host's; or, where not all share memory, link pumps
 *	                    (pump.h) and open it then
 *	a call on it        the stream is given the call; the queue's thread waits for its end
 *	... while captured  a graph has it; whoever launches that, nobody here waits for its end
 */
#ifndef RING_KERNELS_H
#define RING_KERNELS_H

#include "engine/waker.h"
#include "base/flag.h"
#include "base/status.h"
#include "failure.h"
#include "pump.h"
#include "stage.h"

struct ring_call;
struct ring_record;

/* All zero at first. */
struct ring_kernels {
	const struct ring_device *device;  /* whose engine it is */
	struct ring_device_engine *engine; /* NULL: there is none, or not on all ranks */
	struct ring_stage inboxes;
	struct ring_pump *pump; /* instead of those; NULL: it has none */
	bool linked;            /* all ranks have pumps */
	struct ring_waker waker;
	struct ring_flag captured;     /* graphs have calls, perhaps */
	struct ring_listener listener; /* ends these, from then on */
};

/* Whether RING_CUDA_ENGINE is a word that it may be. returns 0; RING_EINVAL with the sentence */
int ring_kernels_check(struct ring_failure *failure);

/*
 * Whether ranks could have such calls on the device, whatever the option says: all say the same. If
 * they cannot although it says so, a warning says why.
 */
bool ring_kernels_can(const struct ring_team *team, const struct ring_device *device);

/* What this rank, whose device's chip that is, tells all others: 0, if its option says nothing. */
unsigned char ring_kernels_wish(int chip);

/* Not all ranks share memory, so pumps move messages between neighbours. */
bool ring_kernels_need_pumps(const struct ring_team *team);

/*
 * Whether all ranks, by rank, have wishes that go together. If this one's option says so, but they
 * do not, a warning says why.
 */
bool ring_kernels_all_want(const struct ring_team *team, const unsigned char *wishes);

/*
 * Makes this rank's inboxes, or its pump, as all want them. opener: inboxes of chips, which reach
 * one another by it; NULL: of the host. returns what to tell all others
 */
struct ring_whereabouts ring_kernels_make(struct ring_kernels *kernels, const struct ring_team *team,
					  const struct ring_device *device,
					  const struct ring_channel *mesh,
					  const struct ring_opener *opener);

/*
 * All have told what they made: wants the links of pumps, if all have one. returns as
 * ring_pairs_want_link()
 */
int ring_kernels_want_links(struct ring_kernels *kernels, struct ring_pairs *pairs,
			    const struct ring_whereabouts *where);

/*
 * All have told where their inboxes are, or the pumps' links are there: opens the engine, if each
 * has some. *own: what to tell all others next. returns 0; an error of ring_stage_find(), and whose
 * inboxes they were
 */
int ring_kernels_open(struct ring_kernels *kernels, const struct ring_team *team, int chip,
		      const struct ring_channel *mesh, const struct ring_bell *bell,
		      const struct ring_whereabouts *where, struct ring_whereabouts *own, int *peer);

/*
 * All have told whether they opened it: if one has not, none does, and a line of the log says so.
 * returns 0; RING_EAGAIN: chips do not reach all inboxes, so they are to be the host's
 */
int ring_kernels_agree(struct ring_kernels *kernels, const struct ring_team *team,
		       const struct ring_whereabouts *where);

/* What graphs' calls, which have ended, had to send is sent behind this, or will not be. */
void ring_kernels_finish(const struct ring_kernels *kernels);

/* Ends what was launched and has not ended. failure: the communicator's */
void ring_kernels_close(struct ring_kernels *kernels, struct ring_comm_failure *failure);

/* Bytes that this rank's inboxes take, or its pump. */
static inline size_t ring_kernels_bytes(const struct ring_kernels *kernels)
{
	return ring_stage_bytes(&kernels->inboxes) + ring_pump_bytes(kernels->pump);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether a call on one of the program's streams is the device's to carry out. */
bool ring_kernels_take(const struct ring_kernels *kernels, const struct ring_team *team,
		       const struct ring_call *call);

/* How a call that it takes is carried out. */
struct ring_device_way ring_kernels_way(const struct ring_kernels *kernels,
					const struct ring_record *record);

/*
 * Before the first call that a graph has: they end with the communicator's first failure, as no
 * thread is in them that would see to it.
 */
void ring_kernels_be_captured(struct ring_kernels *kernels, struct ring_comm_failure *failure);

/* Fails the communicator if a call of a graph has ended early. Any thread; cheap. */
void ring_kernels_look(const struct ring_kernels *kernels, struct ring_comm_failure *failure);

/* Gives it to the stream. returns 0; RING_ENOMEM, RING_ESYSTEM: the stream does not have it */
int ring_kernels_launch(struct ring_kernels *kernels, const struct ring_team *team,
			struct ring_device_stream *stream, struct ring_call *call);

/* The stream stops for another call: those that are launched later come behind that. */
int ring_kernels_follow(struct ring_kernels *kernels, struct ring_device_stream *stream);

/* As ended() of device_calls.h, once all is sent as well. */
int ring_kernels_ended(const struct ring_kernels *kernels, const struct ring_call *call, int *peer,
		       struct ring_record *theirs);

/* As ring_pump_broken(). */
const struct ring_channel *ring_kernels_broken(const struct ring_kernels *kernels);

/* Payload bytes that it sends from this rank. */
uint64_t ring_kernels_payload(const struct ring_kernels *kernels, const struct ring_call *call);

/* Has the bell rung when it has ended. returns 0; RING_ENOMEM */
int ring_kernels_ask(struct ring_kernels *kernels, const struct ring_call *call,
		     const struct ring_bell *bell);

/* The communicator has failed: all calls end, and this one is to let go of its buffers. */
void ring_kernels_stop(const struct ring_kernels *kernels);

/* Whether it may still write there. */
bool ring_kernels_are_inside(const struct ring_kernels *kernels, const struct ring_call *call);

#endif
