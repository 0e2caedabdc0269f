/* SPDX-License-Identifier: MIT */
/* Offers: sending one, and checking one before anything it says is believed. */
#include "offer.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/status.h"

int ring_offer_send(int socket, const struct ring_offer *offer, const int *fds, int nfds)
{
	struct ring_offer out = *offer;
	out.magic = RING_OFFER_MAGIC;
	ssize_t sent = ring_fd_send_with(socket, &out, sizeof(out), fds, nfds);
	if (sent == (ssize_t)sizeof(out))
		return 0;
	if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS))
		return RING_EAGAIN;
	/* The first bytes after the greeting always fit, so a part of them is also an error. */
	ring_log(RING_WARN, "offer: send: %s", sent < 0 ? strerror(errno) : "cut short");
	return RING_EPEER;
}

static int check(const struct ring_offer_inbox *inbox, const struct ring_offer *wanted, int nfds)
{
	const struct ring_offer *offer = &inbox->offer;
	const char *wrong = NULL;
	if (offer->magic != RING_OFFER_MAGIC)
		wrong = "it is none";
	else if (offer->depth != wanted->depth || offer->slot_bytes != wanted->slot_bytes)
		wrong = "its depth or slot size is another";
	else if (inbox->nfds != nfds)
		wrong = "its descriptors are not as many as they should be";
	if (!wrong)
		return 0;
	ring_log(RING_WARN, "offer: refused, %s", wrong);
	return RING_EPEER;
}

int ring_offer_receive(int socket, struct ring_offer_inbox *inbox, const struct ring_offer *wanted,
		       int nfds)
{
	while (inbox->have < sizeof(inbox->offer)) {
		int came = 0;
		ssize_t got = ring_fd_recv_with(socket, (char *)&inbox->offer + inbox->have,
						sizeof(inbox->offer) - inbox->have,
						inbox->fds + inbox->nfds,
						RING_OFFER_FDS - inbox->nfds, &came);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return RING_EAGAIN;
		if (got <= 0) {
			ring_log(RING_WARN, "offer: receive: %s",
				 got < 0 ? strerror(errno) : "the other end closed");
			return got < 0 && ring_fd_ran_out(errno) ? RING_ESYSTEM : RING_EPEER;
		}
		inbox->have += (size_t)got;
		inbox->nfds += came;
	}
	return check(inbox, wanted, nfds);
}

void ring_offer_discard(struct ring_offer_inbox *inbox)
{
	while (inbox->nfds > 0)
		ring_fd_close(inbox->fds[--inbox->nfds]);
}
