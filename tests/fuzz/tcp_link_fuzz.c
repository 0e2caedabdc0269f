/* SPDX-License-Identifier: MIT */
/*
 * A TCP receiver that is sent anything, in pieces of any size, with slots released and landings
 * announced at any time. It may refuse, it may not show what cannot be.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/transport.h"

#define SLOT_BYTES 300

/* The input is a list of actions, each a byte and what it takes. */
static void act(struct ring_link *link, int peer, const uint8_t *data, size_t size)
{
	static unsigned char landings[RING_DEPTH_MAX][SLOT_BYTES];
	uint64_t announced = 0;
	int err = 0;
	while (size > 0 && !err) {
		size_t count = *data & 63;
		unsigned action = *data >> 6;
		data++, size--;
		if (action <= 1) {
			count = count < size ? count : size;
			ssize_t written = write(peer, data, count);
			(void)written;
			data += count, size -= count;
		} else if (action == 2 && link->released < link->arrived) {
			ring_link_release(link);
		} else if (action == 3 && announced < link->released + link->depth) {
			size_t bytes = 1 + count * 5 % SLOT_BYTES;
			ring_link_expect(link, bytes, landings[announced++ % link->depth]);
		}
		err = ring_link_poll(link);
		assert(link->arrived - link->released <= link->depth);
		for (uint64_t k = link->released; k < link->arrived; k++)
			assert(ring_link_arrival(link, k)->bytes - 1 < SLOT_BYTES);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fds[2];
	struct ring_link *link;
	if (size == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return 0;
	struct ring_link_params params = {.fd = fds[0],
					  .peer = 1,
					  .depth = 1 + data[0] % RING_DEPTH_MAX,
					  .slot_bytes = SLOT_BYTES};
	if (ring_transport_tcp.open(&params, &link))
		abort();
	act(link, fds[1], data + 1, size - 1);
	ring_link_close(link);
	close(fds[1]);
	return 0;
}
