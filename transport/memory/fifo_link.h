/* SPDX-License-Identifier: MIT */
/*
 * A link over a slot FIFO: what loopback and shm do alike once their two ends share the memory. The
 * sender copies into the slot, the receiver reads in place; the end that moved rings the other's
 * bell.
 */
#ifndef RING_FIFO_LINK_H
#define RING_FIFO_LINK_H

#include "fill.h"
#include "reach.h"
#include "transport/slot_fifo.h"
#include "transport/transport.h"

struct ring_fifo_link {
	struct ring_link base;
	struct ring_fifo_end end; /* end.fifo is NULL until the memory is there */
	struct ring_trial copies; /* to slots, the sender's */
	struct ring_bell bell;    /* the other end's */
	int fd;                   /* the connection, which ends with the other process */
	struct ring_reach reach;  /* regions that the sender has shared */
	unsigned idle;            /* looks that found nothing */
	bool gone; /* nothing more comes from the other end, its last messages apart */
};

/* Fills in what params say; fifo may be NULL for now. */
void ring_fifo_link_init(struct ring_fifo_link *link, const struct ring_transport *transport,
			 const struct ring_link_params *params, struct ring_fifo *fifo);

/* Members of struct ring_transport. */
int ring_fifo_link_send(struct ring_link *base, const void *source, size_t bytes);
int ring_fifo_link_poll(struct ring_link *base);
void ring_fifo_link_release(struct ring_link *base);
int ring_fifo_link_wait_fd(const struct ring_link *base, short *events);
const struct ring_bell *ring_fifo_link_bell(const struct ring_link *base);
size_t ring_fifo_link_slots(const struct ring_link *base, void **memory);
int ring_fifo_link_enter(struct ring_link *base);
int ring_fifo_link_leave(struct ring_link *base);
int ring_fifo_link_revoke(struct ring_link *base);

/* Whether the connection says that the other end, or its process, is gone. */
bool ring_fifo_link_has_ended(const struct ring_fifo_link *link);

/*
 * Tells the other end, if there is one, that this one is done, and lets go of its bell and regions.
 */
void ring_fifo_link_hang_up(struct ring_fifo_link *link);

#endif
