/* SPDX-License-Identifier: MIT */
/*
 * The set-up of shm and loopback links against a peer that says anything and passes any
 * descriptors. A shm link that was talked into being usable must survive what the memory says, too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ringccl.h"
#include "base/fd.h"
#include "transport/memory/offer.h"
#include "transport/sealed.h"
#include "transport/slot_fifo.h"
#include "transport/transport.h"

#define DEPTH 2
#define SLOT_BYTES 100

static struct ring_bell bell, peer_bell;
static int memories[2]; /* of the right size, and not */

static void prepare(void)
{
	size_t bytes = ring_fifo_memory(DEPTH, SLOT_BYTES);
	void *memory;
	if (ring_bell_create(&bell) || ring_bell_create(&peer_bell) ||
	    ring_sealed_create("fuzz", bytes, &memories[0], &memory))
		abort();
	struct ring_fifo *fifo = memory;
	fifo->depth = DEPTH;
	fifo->slot_bytes = SLOT_BYTES;
	if (ring_sealed_create("fuzz", bytes / 2, &memories[1], &memory))
		abort();
}

/* The peer's part: up to three descriptors, two bits each, and an offer with bits turned. */
static void say(int peer, const uint8_t *data, size_t size)
{
	const int choices[] = {peer_bell.memory_fd, peer_bell.event_fd, memories[0], memories[1]};
	int fds[RING_OFFER_FDS];
	unsigned char words[sizeof(struct ring_offer)];
	struct ring_offer right = {.magic = RING_OFFER_MAGIC,
				   .depth = DEPTH,
				   .slot_bytes = SLOT_BYTES};
	memcpy(words, &right, sizeof(words));
	for (size_t i = 0; i + 2 < size && i < sizeof(words); i++)
		words[i] ^= data[i + 2];
	for (int i = 0; i < RING_OFFER_FDS; i++)
		fds[i] = choices[data[1] >> 2 * i & 3];
	ring_fd_send_with(peer, words, sizeof(words), fds, data[1] >> 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fds[2];
	struct ring_link *link;
	if (!bell.page)
		prepare();
	if (size < 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return 0;
	const struct ring_transport *transport = data[0] & 1 ? &ring_transport_loopback
							     : &ring_transport_shm;
	struct ring_link_params params = {.fd = fds[0],
					  .outgoing = data[0] & 2,
					  .peer = 1,
					  .depth = DEPTH,
					  .slot_bytes = SLOT_BYTES,
					  .bell = &bell};
	if (transport->open(&params, &link))
		abort();
	say(fds[1], data, size);
	if (transport->finish(link) == 0) {
		unsigned char source[SLOT_BYTES] = {0};
		for (int i = 0; i < 2 * DEPTH && params.outgoing; i++)
			transport->send(link, source, sizeof(source));
		transport->poll(link);
	}
	transport->close(link);
	close(fds[1]);
	return 0;
}
