/* SPDX-License-Identifier: MIT */
/*
 * Incoming entries as jobs of the device: additions of what came, or is held, to the own input, and
 * copies.
 */
#ifndef RING_JOB_H
#define RING_JOB_H

#include "channel.h"

/*
 * Gives entry `started`, with a payload that arrived (NULL: none did), to the device, and moves
 * `started`. returns 0; an error, with failed_peer if it is RING_EPEER
 */
int ring_job_start(struct ring_channel *channel, const struct ring_transfer *in,
		   const void *arrived);

/*
 * Moves `reduced` over what the device has finished, and gives slots back. returns the moves; an
 * error as ring_job_start()
 */
int ring_job_finish(struct ring_channel *channel);

/*
 * Gives an addition to the device: the caller has filled in sources and result. returns 0; an error
 * of the device
 */
int ring_job_reduce(struct ring_channel *channel, const struct ring_transfer *in,
		    const struct ring_operands *operands, bool scaled, struct ring_reduction *job);

#endif
