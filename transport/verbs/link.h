/* SPDX-License-Identifier: MIT */
/*
 * A link over a reliable connected queue pair.
 *
 *	sender                                        receiver
 *	registered memory,   RDMA write, immediate k  ->  slot k % depth, or message k's landing
 *	own slot k % depth,                               uses up one receive
 *	or inline
 *	landings             <-  RDMA write, immediate: messages released and expected (a notice)
 *
 * Large messages that the receiver expects in registered memory land there: its notice says where.
 * The first of a burst does not wait for a notice, and goes to its slot; see notice.c.
 *
 * Each end has posted as many receives as messages or notices can be under way, so none comes too
 * early. A message counts as sent when the write completes: the other end's device has it, whatever
 * its process does. So nothing is under way when a call is over.
 *
 * The connection that the link grew from stays open: it ends when the other process does. The
 * receiver's last word on it says how many messages it has, as its device may be gone before it
 * acknowledged them.
 */
#ifndef RING_VERBS_LINK_H
#define RING_VERBS_LINK_H

#include "transport/transport.h"
#include "memory.h"
#include "pair.h"

#define RING_VERBS_MAGIC UINT32_C(0x52564204) /* changes with what the ends tell each other */
/* Bytes that are sent within a request, where the device can: enough for all landings at once. */
#define RING_VERBS_INLINE (RING_DEPTH_MAX * sizeof(struct ring_verbs_landing))
#define RING_VERBS_LANDS 32768 /* bytes; smaller messages are faster copied than announced */
#define RING_VERBS_TEXT 448
#define RING_VERBS_PACKET 4096 /* bytes; no packet has more */

/* What each end tells the other. No padding: it is compared and sent as bytes. */
struct ring_verbs_offer {
	uint32_t magic;
	uint32_t depth;
	uint64_t slot_bytes;
	uint64_t address; /* of the receiver's slots, or the sender's landings */
	uint64_t trial;   /* address of its room for a packet */
	uint32_t rkey;    /* to write to both */
	struct ring_verbs_end end;
};

/* Where a message may land. No padding: the receiver writes it to the sender's memory. */
struct ring_verbs_landing {
	uint64_t number; /* of the message; if it is another's, this one goes to its slot */
	uint64_t address;
	uint32_t rkey;
	uint32_t bytes; /* the size that the message must have; 0: it goes to its slot */
};

enum ring_verbs_stage {
	RING_VERBS_CLOSED,  /* nothing is made */
	RING_VERBS_OFFERED, /* waits for the other end's offer */
	RING_VERBS_READY,   /* waits until the other end can receive */
	RING_VERBS_TRIED,   /* waits for the trial's packets (trial.c) */
	RING_VERBS_AGREED,  /* waits until the other end has got them */
	RING_VERBS_OPEN,
};

/* What a link has of the device (queue.c). */
struct ring_verbs_queue {
	struct ibv_comp_channel *channel; /* its descriptor is readable after ring_link_arm() */
	struct ibv_cq *cq;                /* completions that the user of the link waits for */
	struct ibv_cq *notice_cq;         /* a receiver's: of its notices, which nobody waits for */
	struct ibv_qp *qp;
	uint32_t inline_bytes; /* that a request has room for */
	int epoll;             /* the channel and the connection */
};

/* Registered memory: slots, a sender's landings, room for the trial's packet. */
struct ring_verbs_slots {
	struct ibv_mr *mr;
	unsigned char *start;
	size_t stride; /* from one slot to the next */
};

/* How far the trial is (trial.c). */
struct ring_verbs_trial {
	unsigned char *packet; /* room for one, after the slots */
	unsigned taken;        /* completions */
	uint64_t posted_ms;    /* when the full packet was posted */
	bool greeted;          /* the first notice, a small packet, came through */
};

/* What sleeping takes (move.c). */
struct ring_verbs_events {
	bool armed;    /* a completion makes the channel readable, or has done that */
	bool stirred;  /* completions have come since it was armed */
	bool checks;   /* the next look that finds nothing asks the connection */
	unsigned idle; /* looks that found nothing */
	bool ended;    /* the connection has ended */
};

/* What both ends have. */
struct ring_verbs_link {
	struct ring_link base;
	int fd; /* the connection */
	int peer_lost_ms;
	enum ring_verbs_stage stage;
	struct ring_verbs_offer own, other;
	size_t heard; /* bytes of what is being read from the connection */
	struct ring_verbs_port *port;
	struct ring_verbs_queue queue;
	struct ring_verbs_slots slots;
	struct ring_verbs_trial trial;
	struct ring_verbs_events events;
	bool lost;                  /* nothing moves any more */
	char text[RING_VERBS_TEXT]; /* why */
};

struct ring_verbs_sender {
	struct ring_verbs_link link;
	uint64_t posted; /* messages */
	uint64_t copied; /* bytes that went from a slot here */
	uint64_t landed; /* bytes that went past the slots there */
	uint64_t freed;  /* messages whose slots the receiver has given back */

	struct ring_verbs_landing *landings; /* message k at k % depth, as the receiver writes */
	uint64_t expected;                   /* messages whose landings the receiver has told */
	uint64_t large;                      /* messages up to the last large one that was posted */
	bool lands;     /* large messages have landed of late, says the receiver */
	bool held_back; /* the next message waits to be told where it lands */
};

/* What a notice says. */
struct ring_verbs_told {
	uint64_t released, expected; /* messages, as in the receiver */
};

struct ring_verbs_receiver {
	struct ring_verbs_link link;
	struct ring_verbs_landing landings[RING_DEPTH_MAX]; /* of message k at k % depth */
	uint64_t expected; /* messages of which it knows where they go */
	uint64_t large;    /* messages up to the last large one that was released */
	bool lands;        /* large messages have had landings of late */
	unsigned landless; /* large messages in a row that had none */

	struct ring_verbs_told told; /* by the last notice */
	bool news;                   /* there is more to say of what is expected */
	unsigned under_way;          /* notices that may still be in the queue */
};

static inline struct ring_verbs_sender *ring_verbs_sender(struct ring_link *base)
{
	return (struct ring_verbs_sender *)base;
}
static inline struct ring_verbs_receiver *ring_verbs_receiver(struct ring_link *base)
{
	return (struct ring_verbs_receiver *)base;
}

/*
 * queue.c: queue pair, slots and queues of a link that has its port. returns 0, or an error with
 * link->text
 */
int ring_verbs_queue_make(struct ring_verbs_link *link);
/* Of its registered memory: whole pages, from link->slots.start on. */
size_t ring_verbs_slots_bytes(const struct ring_verbs_link *link);
int ring_verbs_queue_connect(struct ring_verbs_link *link); /* with `other` */
void ring_verbs_queue_free(struct ring_verbs_link *link);   /* also a half-made one */

/* trial.c. return 0; RING_EPEER; RING_EAGAIN: the step is to be called again */
int ring_verbs_trial_begin(struct ring_verbs_link *link);
int ring_verbs_trial_step(struct ring_verbs_link *link);
/* The size of the largest packets between both ports. */
uint32_t ring_verbs_packet_bytes(const struct ring_verbs_link *link);
/* Fills in what that end writes in the trial. */
void ring_verbs_packet_fill(unsigned char *packet, uint32_t bytes,
			    const struct ring_verbs_end *from);

/* notice.c: what the receiver tells */
void ring_verbs_expect(struct ring_link *base, size_t bytes, void *landing);
void ring_verbs_withdraw(struct ring_link *base);
/* False if there is no room for it in the queue. */
bool ring_verbs_post_notice(struct ring_verbs_receiver *receiver);
/* Posts a notice if one is due, after a release or at another time. */
void ring_verbs_tell(struct ring_verbs_receiver *receiver, bool released);
/* Where the next message is, which came to its landing; NULL: it had none. */
const void *ring_verbs_landed(const struct ring_verbs_receiver *receiver, size_t bytes);
/* Takes a notice in. returns 0; RING_EPEER */
int ring_verbs_take_notice(struct ring_verbs_sender *sender, const struct ibv_wc *completion);
/*
 * Finds the next message's landing. returns 0, with bytes 0 if it goes to its slot; RING_EAGAIN if
 * it should wait to be told; RING_EPEER
 */
int ring_verbs_find_landing(struct ring_verbs_sender *sender, size_t bytes,
			    struct ring_verbs_landing *landing);

/* move.c */
int ring_verbs_send(struct ring_link *base, const void *source, size_t bytes);
int ring_verbs_poll(struct ring_link *base);
void ring_verbs_release(struct ring_link *base);
void ring_verbs_arm(struct ring_link *base);
bool ring_verbs_post_receives(struct ring_verbs_link *link, unsigned count);
/* Takes in what became of notices. returns 0; RING_EPEER */
int ring_verbs_poll_notices(struct ring_verbs_receiver *receiver);
/* Whether anything is to come that the user of the link could wait for. */
bool ring_verbs_waits(const struct ring_link *base);
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

/* words.c: a link cannot be made; why is for the caller of finish(). returns RING_EPEER */
int ring_verbs_refuse(struct ring_verbs_link *link, const char *why);
/* words.c: a link cannot go on; says why, for the user and the log. return RING_EPEER */
int ring_verbs_fail(struct ring_verbs_link *link, const struct ibv_wc *completion);
__attribute__((format(printf, 2, 3))) int ring_verbs_lose(struct ring_verbs_link *link,
							  const char *format, ...);

#endif
