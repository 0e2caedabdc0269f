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

/* returns whether nobody is asked already */
static bool begin(struct ring_waker *waker, const struct ring_bell *bell)
{
	if (ring_flag_is_raised(&waker->asked))
		return false;
	waker->bell = bell;
	ring_flag_raise(&waker->asked);
	return true;
}

static int asked(struct ring_waker *waker, int err)
{
	if (err)
		ring_flag_lower(&waker->asked);
	return err;
}

int ring_waker_ask(struct ring_waker *waker, const struct ring_device *device,
		   struct ring_device_queue *queue, const struct ring_bell *bell)
{
	if (!device->tell || !begin(waker, bell))
		return 0;
	return asked(waker, device->tell(queue, wake, waker));
}

int ring_waker_ask_stream(struct ring_waker *waker, const struct ring_device_streams *streams,
			  struct ring_device_stream *stream, uint32_t place,
			  const struct ring_bell *bell)
{
	return begin(waker, bell) ? asked(waker, streams->tell(stream, place, wake, waker)) : 0;
}

int ring_waker_ask_engine(struct ring_waker *waker, const struct ring_device_calls *calls,
			  struct ring_device_engine *engine, uint64_t call,
			  const struct ring_bell *bell)
{
	return begin(waker, bell) ? asked(waker, calls->tell(engine, call, wake, waker)) : 0;
}
