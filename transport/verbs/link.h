/* SPDX-License-Identifier: MIT */
/*
 * A link over a reliable connected queue pair.
 *
 *	sender                                        receiver
 *	registered memory,   RDMA write, immediate k  ->  slot k % depth, or where message k lands
 *	own slot k % depth,                               one receive is used up
 *	or inline
 *	landings             <-  RDMA write, immediate: messages released and expected; a notice
 *
 * Large messages that the receiver expects in registered memory land there: its notice says where.
 * The first of a burst does not wait for one, and goes to its slot; see notice.c.
 *
 * There are as many receives at either end as there can be messages, or notices, under way, so
 * none ever comes too early. `sent` is the completion of the write: the other end's device has the
 * message, whatever its process does, and nothing is under way when a call is over.
 *
 * The connection that the link grew from stays open: its end is the other process's. A receiver's
 * last word on it says how many messages it has, as its device may be gone before it acknowledged
 * them.
 */
#ifndef RING_VERBS_LINK_H
#define RING_VERBS_LINK_H

#include "transport/transport.h"
#include "memory.h"
#include "pair.h"

#define RING_VERBS_MAGIC UINT32_C(0x52564204) /* changes with what ends say to each other */
/* Bytes that are sent without a slot, where possible: all landings at once, too. */
#define RING_VERBS_INLINE (RING_DEPTH_MAX * sizeof(struct ring_verbs_landing))
#define RING_VERBS_LANDS 32768 /* bytes: what is smaller is copied sooner than it is announced */
#define RING_VERBS_TEXT 448
#define RING_VERBS_PACKET 4096 /* bytes: no packet has more */

/* What each end tells the other. No padding: it is compared and sent as bytes. */
struct ring_verbs_offer {
	uint32_t magic;
	uint32_t depth;
	uint64_t slot_bytes;
	uint64_t address; /* of the receiver's slots, the sender's landings, ... */
	uint64_t trial;   /* ... of where it has room for a packet, ... */
	uint32_t rkey;    /* ... and by what they may be written */
	struct ring_verbs_end end;
};

/* Where a message may land. No padding: the receiver writes it to the sender's memory. */
struct ring_verbs_landing {
	uint64_t number; /* of the message; that of another one: it goes to its slot */
	uint64_t address;
	uint32_t rkey;
	uint32_t bytes; /* the size that it must have; 0: it goes to its slot */
};

enum ring_verbs_stage {
	RING_VERBS_CLOSED,  /* nothing is made */
	RING_VERBS_OFFERED, /* the other end's offer is awaited, ... */
	RING_VERBS_READY,   /* ... that it can receive, ... */
	RING_VERBS_TRIED,   /* ... what shows that the way is there (trial.c), ... */
	RING_VERBS_AGREED,  /* ... that the other end has seen that, too */
	RING_VERBS_OPEN,
};

struct ring_verbs_told {
	uint64_t released, expected; /* as in the links */
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
	struct ibv_cq *notice_cq;         /* receiver: notices that went, for which nobody waits */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *slots;
	unsigned char *trial; /* room for a packet, behind the slots */
	size_t stride;
	uint32_t inline_bytes;
	int epoll; /* the channel and the connection */

	unsigned tried;    /* completions of the trial */
	uint64_t trial_ms; /* when the full packet was posted */
	bool greeted;      /* the first notice, a small packet, came through */

	bool armed;   /* a completion makes the channel readable, or has done so, ... */
	bool stirred; /* ... and some have come since */
	bool checks;  /* the next idle look asks the connection, too */
	unsigned idle;
	bool ended; /* the connection has */
	bool lost;
	char text[RING_VERBS_TEXT]; /* why */

	uint64_t posted; /* sender: messages */
	uint64_t copied; /* ... bytes of them that went by way of a slot here */
	uint64_t landed; /* ... bytes of them that went past the slots there */
	uint64_t freed;  /* ... that the receiver has given back */
	bool held_back;  /* ... and its next message waits to be told where it lands */

	/* Message k at k % depth. A sender has them behind its slots, as the other end writes. */
	struct ring_verbs_landing *landings;
	struct ring_verbs_landing own_landings[RING_DEPTH_MAX]; /* a receiver's */
	/* A receiver's own, and what its sender was told. */
	uint64_t expected; /* messages of which it knows where they go */
	bool lands;        /* large ones have had landings of late */
	uint64_t large;    /* messages up to the last large one that was released, or posted */

	struct ring_verbs_told told; /* receiver: what the last notice said */
	bool news;                   /* ... and there is more to say of what is expected */
	unsigned since;              /* ... and large messages that had no landing since one had */
	unsigned under_way;          /* ... and notices that may still be in the queue */
};

/* queue.c: queue pair, slots and queues of a link that has its port. returns 0, or an error
 * with link->text */
int ring_verbs_queue_make(struct ring_verbs_link *link);
int ring_verbs_queue_connect(struct ring_verbs_link *link); /* to `other` */
void ring_verbs_queue_free(struct ring_verbs_link *link);   /* half-made ones, too */

/* trial.c. return 0; RING_EPEER; the step RING_EAGAIN: call it again */
int ring_verbs_trial_begin(struct ring_verbs_link *link);
int ring_verbs_trial_step(struct ring_verbs_link *link);
/* Of the largest packets between both ports. */
uint32_t ring_verbs_packet_bytes(const struct ring_verbs_link *link);
/* What the trial's packet from that end has. */
void ring_verbs_packet_fill(unsigned char *packet, uint32_t bytes,
			    const struct ring_verbs_end *from);

/* notice.c: what the receiver tells */
void ring_verbs_expect(struct ring_link *base, size_t bytes, void *landing);
void ring_verbs_withdraw(struct ring_link *base);
bool ring_verbs_post_notice(struct ring_verbs_link *link);
/* Receiver: posts a notice if one is due, behind a release or else. */
void ring_verbs_tell(struct ring_verbs_link *link, bool released);
/* Receiver: where the next message is that came to its landing, NULL: it had none */
const void *ring_verbs_landed(const struct ring_verbs_link *link, size_t bytes);
/* Sender: takes a notice in. returns 0; RING_EPEER */
int ring_verbs_take_notice(struct ring_verbs_link *link, const struct ibv_wc *completion);
/* Sender: the next message's landing. returns 0, with bytes 0 if it goes to its slot; RING_EAGAIN:
 * it should wait to be told; RING_EPEER */
int ring_verbs_find_landing(struct ring_verbs_link *link, size_t bytes,
			    struct ring_verbs_landing *landing);

/* move.c */
int ring_verbs_send(struct ring_link *base, const void *source, size_t bytes);
int ring_verbs_poll(struct ring_link *base);
void ring_verbs_release(struct ring_link *base);
void ring_verbs_arm(struct ring_link *base);
bool ring_verbs_post_receives(struct ring_verbs_link *link, unsigned count);
/* Receiver: takes in what became of its notices. returns 0; RING_EPEER */
int ring_verbs_poll_notices(struct ring_verbs_link *link);
/* Whether anything is to come that the user of the link could wait for. */
static inline bool ring_verbs_waits(const struct ring_verbs_link *link)
{
	const struct ring_link *base = &link->base;
	if (!base->outgoing)
		return base->arrived - base->released < base->depth;
	return base->sent < link->posted || link->posted - link->freed == base->depth ||
	       link->held_back;
}
/*
 * Receives at each end, and requests in its send queue. Between two messages of the sender at most
 * `depth` are released, and twice as many become expected.
 */
static inline unsigned ring_verbs_receives(const struct ring_link *base)
{
	return (base->outgoing ? 3 * base->depth : base->depth) + 1;
}
static inline unsigned ring_verbs_requests(const struct ring_link *base)
{
	return 4 * base->depth;
}

/* words.c: a link that is being made cannot be; why is for whoever makes it */
int ring_verbs_refuse(struct ring_verbs_link *link, const char *why);
/* ... the link cannot go on; says why, for the user and the log. All return RING_EPEER */
int ring_verbs_fail(struct ring_verbs_link *link, const struct ibv_wc *completion);
__attribute__((format(printf, 2, 3))) int ring_verbs_lose(struct ring_verbs_link *link,
							  const char *format, ...);

#endif
