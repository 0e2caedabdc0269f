/* SPDX-License-Identifier: MIT */
/*
 * A link over a reliable connected queue pair.
 *
 *	sender                                        receiver
 *	lasting memory,      RDMA write, immediate k  ->  slot k % depth
 *	own slot k % depth,                               one receive is used up
 *	or inline
 *	                     <-  send of 0 bytes, immediate `released`: a credit
 *
 * There are as many receives at either end as there can be messages, or credits, under way, so
 * none ever comes too early. `sent` is the completion of the write: the other end's device has the
 * message, whatever its process does, and nothing is under way when a call is over.
 *
 * The connection that the link grew from stays open: its end is the other process's. A receiver's
 * last word on it says how many messages it has, as its device may be gone before it acknowledged
 * them.
 */
#ifndef RING_VERBS_LINK_H
#define RING_VERBS_LINK_H

#include "transport.h"
#include "verbs_memory.h"
#include "verbs_pair.h"

#define RING_VERBS_MAGIC UINT32_C(0x52564202) /* changes with the layout of the offer */
#define RING_VERBS_INLINE 128 /* bytes that are sent without a slot, where possible */
#define RING_VERBS_TEXT 448

/* What each end tells the other. No padding: it is compared and sent as bytes. */
struct ring_verbs_offer {
	uint32_t magic;
	uint32_t depth;
	uint64_t slot_bytes;
	uint64_t address; /* receiver: of its slots ... */
	uint32_t rkey;    /* ... and by what they may be written */
	struct ring_verbs_end end;
};

enum ring_verbs_stage {
	RING_VERBS_CLOSED,  /* nothing is made */
	RING_VERBS_OFFERED, /* the other end's offer is awaited, ... */
	RING_VERBS_READY,   /* ... that it can receive, ... */
	RING_VERBS_PINGED,  /* ... the first credit, which shows that the way is there */
	RING_VERBS_OPEN,
};

struct ring_verbs_link {
	struct ring_link base;
	int fd;
	int peer_lost_ms;
	enum ring_verbs_stage stage;
	struct ring_verbs_offer own, other;
	size_t heard; /* bytes of `other` */

	struct ring_verbs_port *port;
	struct ibv_comp_channel *channel; /* its descriptor is readable behind ring_link_arm() */
	struct ibv_cq *cq;                /* what the user of the link waits for */
	struct ibv_cq *credit_cq;         /* receiver: credits that went, for which nobody waits */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *slots;
	size_t stride;
	uint32_t inline_bytes;
	int epoll; /* the channel and the connection */

	bool armed;   /* a completion makes the channel readable, or has done so, ... */
	bool stirred; /* ... and some have come since */
	bool checks;  /* the next idle look asks the connection, too */
	unsigned idle;
	bool ended; /* the connection has */
	bool lost;
	char text[RING_VERBS_TEXT]; /* why */

	uint64_t posted; /* sender: messages */
	uint64_t copied; /* ... bytes of them that went by way of a slot here */
	struct ring_verbs_recent recent;
	uint64_t freed; /* ... that the receiver has given back */
	bool greeted;   /* ... and heard the first credit */

	uint64_t told;      /* receiver: `released`, as the last credit says */
	unsigned under_way; /* ... and credits that may still be in the queue */
};

/* verbs_queue.c: queue pair, slots and queues of a link that has its port. returns 0, or an error
 * with link->text */
int ring_verbs_queue_make(struct ring_verbs_link *link);
int ring_verbs_queue_connect(struct ring_verbs_link *link); /* to `other` */
void ring_verbs_queue_free(struct ring_verbs_link *link);   /* half-made ones, too */

/* verbs_move.c */
int ring_verbs_send(struct ring_link *base, const void *source, size_t bytes);
int ring_verbs_poll(struct ring_link *base);
void ring_verbs_release(struct ring_link *base);
void ring_verbs_arm(struct ring_link *base);
bool ring_verbs_post_receives(struct ring_verbs_link *link, unsigned count);
bool ring_verbs_post_credit(struct ring_verbs_link *link);
/* Receiver: takes in what became of its credits. returns 0; RING_EPEER */
int ring_verbs_poll_credits(struct ring_verbs_link *link);
/* Whether anything is to come that the user of the link could wait for. */
static inline bool ring_verbs_waits(const struct ring_verbs_link *link)
{
	const struct ring_link *base = &link->base;
	if (!base->outgoing)
		return base->arrived - base->released < base->depth;
	return base->sent < link->posted || link->posted - link->freed == base->depth;
}
/* Receives at each end, and requests in its send queue. */
static inline unsigned ring_verbs_receives(const struct ring_link *base)
{
	return base->depth + 1;
}
static inline unsigned ring_verbs_requests(const struct ring_link *base)
{
	return 4 * base->depth;
}

/* verbs_words.c: the link cannot go on; says why, for the user and the log. returns RING_EPEER */
int ring_verbs_fail(struct ring_verbs_link *link, const struct ibv_wc *completion);
__attribute__((format(printf, 2, 3))) int ring_verbs_lose(struct ring_verbs_link *link,
							  const char *format, ...);

#endif
