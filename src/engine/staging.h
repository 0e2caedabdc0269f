/* SPDX-License-Identifier: MIT */
/*
 * Sends memory that is apart from the host: a link around the sending end of any other. The device
 * first copies each message to room of this link, which the device's jobs write and the host reads.
 *
 *	send()     a copy is submitted; records, which the host has, are put there at once
 *	poll()     what was copied goes to the inner link, in order
 *	sent       when the inner link says so: the source was free before that, but somebody has to
 *	           hand the message on
 *
 * The receiving end needs none: jobs read its slots, once they are pinned. If they cannot be, what
 * arrives is copied to room of the channel's.
 */
#ifndef RING_STAGING_H
#define RING_STAGING_H

#include "transport/transport.h"
#include "waker.h"

/*
 * Room for messages, which jobs and the host reach. rooms may be NULL. returns 0; RING_ENOMEM,
 * RING_ESYSTEM
 */
int ring_rooms_make(const struct ring_device *device, size_t bytes, void **rooms);
void ring_rooms_free(const struct ring_device *device, void *rooms);

/* The copies of all links of a channel. */
struct ring_staging {
	const struct ring_device *device;
	struct ring_device_queue *queue;
	uint64_t copies; /* submitted so far */
	bool far;        /* what is sent next lies on the device: the sender's to say */
	struct ring_waker waker;
};

/* returns 0; RING_ENOMEM, RING_ESYSTEM; close it even then */
int ring_staging_open(struct ring_staging *staging, const struct ring_device *device, int chip);

/* Waits for copies under way. Before the links are closed. */
void ring_staging_close(struct ring_staging *staging);

/* returns 0: all copies are done; RING_EAGAIN; the device's error */
int ring_staging_settled(const struct ring_staging *staging);

/*
 * Wraps the sending end of a finished link on which nothing is under way; closing the new link
 * closes both. returns 0; RING_ENOMEM, RING_ESYSTEM: it stays as it is
 */
int ring_staging_wrap(struct ring_staging *staging, struct ring_link *inner,
		      struct ring_link **staged);

#endif
