/* SPDX-License-Identifier: MIT */
/*
 * The two kinds of TCP link, which share the stream
 *
 *	| header | message 0 | header | message 1 | ...
 *
 * tcp.c sets links up and takes them down, send.c and receive.c move the bytes.
 */
#ifndef RING_TCP_LINK_H
#define RING_TCP_LINK_H

#include "transport/transport.h"

#define RING_TCP_QUEUE 8 /* messages that send() keeps for the next poll() */
#define RING_TCP_INBOX 8192

struct ring_tcp_link {
	struct ring_link base;
	struct ring_tcp_link *back; /* the link the other way over this connection, or NULL */
	int fd;
	bool local; /* the other end is on this host, as far as addresses tell */
	bool quiet; /* the socket had no more when it was last asked */
	bool lost;  /* nothing moves on this connection any more */
};

/*
 * What stands before a message on the stream, little endian. A multiple of 16 bytes: the kernel
 * writes a message to a page of its own after the header, and copies slowly if the target lies 1 to
 * 15 bytes behind the source, modulo 4096 (base/copy.h). (1 MiB on 2 ranks, 8 -> 16 bytes: 0.44 ->
 * 0.23 ms.)
 */
struct ring_tcp_header {
	uint64_t bytes;
	uint64_t number;
};
_Static_assert(sizeof(struct ring_tcp_header) % 16 == 0, "messages behind it are copied slowly");

/* A message that send() took. */
struct ring_tcp_message {
	struct ring_tcp_header header;
	const void *source;
	size_t bytes;
};

struct ring_tcp_sender {
	struct ring_tcp_link link;
	uint64_t posted; /* messages taken; base.sent of them are the kernel's, whole */
	size_t gone;     /* bytes of message base.sent that are too, header included */
	struct ring_tcp_message queue[RING_TCP_QUEUE]; /* message k at k % RING_TCP_QUEUE */
};

struct ring_tcp_receiver {
	struct ring_tcp_link link;
	unsigned char *slots;
	size_t used[RING_DEPTH_MAX]; /* how much of each slot was ever written, in pages */

	uint64_t announced;              /* messages that expect() told of */
	void *landing[RING_DEPTH_MAX];   /* where message k < announced may land, or NULL */
	size_t expected[RING_DEPTH_MAX]; /* the size it must have for that */

	/* where message base.arrived goes; NULL while its header is missing */
	unsigned char *place;
	size_t bytes, have; /* its size, and how much of it is there */

	unsigned char inbox[RING_TCP_INBOX]; /* what came after it, from in_first to in_end */
	size_t in_first, in_end;
};

int ring_tcp_send(struct ring_link *base, const void *source, size_t bytes);

/* Offers the kernel, once, what send() kept. returns 0; RING_EPEER */
int ring_tcp_flush(struct ring_tcp_sender *sender);

/* Takes what has come. returns 0; RING_EPEER */
int ring_tcp_receive(struct ring_tcp_receiver *receiver);

void ring_tcp_expect(struct ring_link *base, size_t bytes, void *landing);

/* Gives the connection up and logs why; cause as in struct ring_link. */
void ring_tcp_lose(struct ring_tcp_link *link, int cause, const char *why);

/*
 * Whether it is worth asking the socket. False if the socket had nothing at the last look and
 * still has nothing. A look that finds nothing costs less through poll(2): recv and send take the
 * socket's lock, which the kernel needs to deliver what we wait for (round trips, 18 -> 6.7 us).
 */
bool ring_tcp_is_ready(struct ring_tcp_link *link, short events);

/* True if another message may arrive: its slot is free. */
static inline bool ring_tcp_has_slot(const struct ring_link *base)
{
	return base->arrived - base->released < base->depth;
}

#endif
