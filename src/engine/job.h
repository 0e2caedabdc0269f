/* SPDX-License-Identifier: MIT */
/*
 * Entries as jobs of the device: additions of what came, or is held, to the own input, and copies.
 */
#ifndef RING_JOB_H
#define RING_JOB_H

#include "channel.h"

/*
 * Gives a payload that arrived (NULL: none did), or a local copy, to the device: always exactly one
 * job. returns 0; an error of the device
 */
int ring_job_submit(struct ring_channel *channel, const struct ring_transfer *in,
		    const void *arrived);

/* The same for an addition: the caller has filled in sources and result. */
int ring_job_reduce(struct ring_channel *channel, const struct ring_transfer *in,
		    const struct ring_operands *operands, bool scaled, struct ring_reduction *job);

#endif
