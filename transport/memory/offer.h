/* SPDX-License-Identifier: MIT */
/*
 * What the two ends of a link on one host tell each other over its Unix socket: one offer each way,
 * the receiver's first, with descriptors.
 *
 *	receiver                                  sender
 *	offer {sizes, token} + descriptors  ->
 *	                                    <-    the same offer + its descriptors
 */
#ifndef RING_OFFER_H
#define RING_OFFER_H

#include <stddef.h>
#include <stdint.h>

#define RING_OFFER_MAGIC UINT32_C(0x52470003) /* changes with the layout of what is shared */
#define RING_OFFER_FDS 3
#define RING_TOKEN_BYTES 16

/* No padding: it is compared and sent as bytes. */
struct ring_offer {
	uint32_t magic; /* set by ring_offer_send */
	uint32_t depth;
	uint64_t slot_bytes;
	unsigned char token[RING_TOKEN_BYTES]; /* random */
	uint64_t token_at;                     /* where it lies in the process that offers it */
};

/* An offer as it comes in, perhaps in pieces. All zero at first. */
struct ring_offer_inbox {
	struct ring_offer offer;
	size_t have;
	int fds[RING_OFFER_FDS]; /* the inbox owns them; -1: taken */
	int nfds;
};

/*
 * returns 0; RING_EAGAIN, also while too many descriptors are under way: no event tells; RING_EPEER
 */
int ring_offer_send(int socket, const struct ring_offer *offer, const int *fds, int nfds);

/*
 * Goes on receiving. returns 0 once the offer is whole, has the depth and slot_bytes of `wanted`,
 * and came with exactly nfds descriptors; RING_EAGAIN; RING_EPEER; RING_ESYSTEM and errno if this
 * process has no number left for one. The token is the caller's to look at.
 */
int ring_offer_receive(int socket, struct ring_offer_inbox *inbox, const struct ring_offer *wanted,
		       int nfds);

/* Closes the descriptors that nobody took. */
void ring_offer_discard(struct ring_offer_inbox *inbox);

#endif
