/* SPDX-License-Identifier: MIT */
/*
 * Has a device ring the rank's doorbell: a rank that sleeps while jobs are under way must be woken
 * when they are done, and only the device knows when that is.
 */
#ifndef RING_WAKER_H
#define RING_WAKER_H

#include "base/flag.h"
#include "kernels/device.h"
#include "transport/doorbell.h"

/* One queue's, or stream's, which is closed before the waker is freed. All zero at first. */
struct ring_waker {
	struct ring_flag asked; /* and not rung yet */
	const struct ring_bell *bell;
};

/*
 * Has the bell rung when the queue's jobs so far are done, or the device has failed; it may ring
 * before, for an earlier question. Ask between announcing and looking once more.
 * returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_waker_ask(struct ring_waker *waker, const struct ring_device *device,
		   struct ring_device_queue *queue, const struct ring_bell *bell);

/*
 * The same for a stream of the device's, when it has come to a place. The stream is closed before
 * the waker goes. returns 0; RING_ENOMEM
 */
int ring_waker_ask_stream(struct ring_waker *waker, const struct ring_device_streams *streams,
			  struct ring_device_stream *stream, uint32_t place,
			  const struct ring_bell *bell);

/* The same for a call that a device carries out, when it has ended. */
int ring_waker_ask_engine(struct ring_waker *waker, const struct ring_device_calls *calls,
			  struct ring_device_engine *engine, uint64_t call,
			  const struct ring_bell *bell);

#endif
