/* SPDX-License-Identifier: MIT */
/*
 * What all calls have in common: how they begin and end in counters and traces, and what must be so
 * before a failed one may return. For the thread that runs a communicator's calls.
 */
#ifndef RING_ENDING_H
#define RING_ENDING_H

#include <stdbool.h>

struct ring_call;
struct ring_comm;

/* From now on this process is inside a call. */
void ring_call_begin(struct ring_comm *comm, const struct ring_call *call);

/*
 * The communicator has failed, and this call with it; NULL: messages that nobody waits for here.
 * All messages also end. After it nobody touches the buffers of those calls.
 */
void ring_call_fail(struct ring_comm *comm, const struct ring_call *call);

/*
 * Waits a while until no device has jobs under way for what runs. returns whether that is so
 */
bool ring_call_settle(const struct ring_comm *comm);

/*
 * The same, and no network card writes to the call's buffers any more, so that it may begin anew.
 */
bool ring_call_leave(const struct ring_comm *comm);

/* A call, or a batch, has ended. */
void ring_call_end(struct ring_comm *comm, const struct ring_call *call, int err);

#endif
