/* SPDX-License-Identifier: MIT */
/* Where the buffers of a call lie: on which device, and in which region that peers may map. */
#ifndef RING_CALL_PLACE_H
#define RING_CALL_PLACE_H

#include "comm/comm.h"

/*
 * Finds a call's device, chip and regions. All buffers must be of one device, and a communicator
 * stays with its first. returns 0; RING_EINVAL, RING_ESYSTEM, with the sentence
 */
int ring_call_find_device(struct ring_comm *comm, struct ring_call *call);

#endif
