/* SPDX-License-Identifier: MIT */
/* How a call starts on its way: channels with their links get plans, and the call's buffers. */
#ifndef RING_START_H
#define RING_START_H

#include "comm.h"

/* What is asked to choose a call's way. */
struct ring_question ring_call_question(const struct ring_comm *comm, const struct ring_call *call);

/*
 * Starts the way's plans on their channels, made if need be. returns 0; RING_ENOMEM; RING_ESYSTEM:
 * the call's device
 */
int ring_start_way(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call);

/* `bytes` of each rank go around the ring to all; its own lie in all[size][bytes] already. */
void ring_start_gathering(struct ring_comm *comm, void *all, size_t bytes,
			  const struct ring_record *record);

#endif
