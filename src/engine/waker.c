/* SPDX-License-Identifier: MIT */
/* Ringing when jobs are done; see waker.h. */
#include "waker.h"

/*
 * Any thread. A sleeper that saw the flag still raised has announced itself before, so ringing
 * wakes it.
 */
static void wake(void *context)
{
	struct ring_waker *waker = context;
	const struct ring_bell *bell = waker->bell;
	ring_flag_lower(&waker->asked);
	ring_bell_ring(bell);
}

int ring_waker_ask(struct ring_waker *waker, const struct ring_device *device,
		   struct ring_device_queue *queue, const struct ring_bell *bell)
{
	if (!device->tell || ring_flag_is_raised(&waker->asked))
		return 0;
	waker->bell = bell;
	ring_flag_raise(&waker->asked);
	int err = device->tell(queue, wake, waker);
	if (err)
		ring_flag_lower(&waker->asked);
	return err;
}
