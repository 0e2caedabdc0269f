/* SPDX-License-Identifier: MIT */
/*
 * One end of a connection with another rank while it is being made: it is dialled or fetched, and
 * then becomes a control lane's connection or a link. Both ends must fill in an edge alike, except
 * `outgoing` and `peer`. Non-blocking; the owner polls.
 */
#ifndef RING_EDGE_H
#define RING_EDGE_H

#include "transport/pace.h"
#include "contact.h"

/* What tells the links between two ranks apart: rings are numbered from 0, others have names. */
enum {
	RING_CHANNEL_MESH = 64,  /* of collectives that do not take the ring */
	RING_CHANNEL_PAIR,       /* of sends and receives */
	RING_CHANNEL_VIGIL,      /* no link: a connection that is only kept */
	RING_CHANNEL_FAR = 128,  /* of calls on devices' memory, numbered from here */
	RING_CHANNEL_PUMP = 256, /* of a pump, likewise */
	/* Added to one of these: the transport that both ends chose first has failed. */
	RING_CHANNEL_AGAIN = 1 << 16,
};

/* What all edges of a rank have in common; outlives them and their links. */
struct ring_edge_ends {
	struct ring_contact *contact;
	int self;
	struct ring_bell *bell;
	const char *congestion; /* NULL leaves the choice to the transport */
	int peer_lost_ms;
	struct ring_pace *pace; /* NULL: links are as fast as they can be */
};

struct ring_edge {
	enum ring_role role; /* CONTROL: once ready, `fd` is it; DATA: `link` */
	int channel;
	bool outgoing;
	const struct ring_peer *peer; /* outlives the edge */
	int transport;                /* DATA: index of ring_transports */
	int depth;
	size_t slot_bytes; /* DATA: the largest payload; an entry record always has room */

	bool dialling; /* of the edge itself, zero at first */
	struct ring_dial dial;
	bool connected;
	int fd; /* valid while connected and no link has taken it */
	struct ring_link *link;
	bool ready;
	/* after RING_ESYSTEM: descriptors ran out, for any transport */
	bool starved;
};

/*
 * Moves the edge on. returns 0 once it is ready; RING_EAGAIN; RING_EPEER or another error if it
 * cannot be made, and must be dropped: the sentence says why, if not connected
 */
int ring_edge_step(struct ring_edge *edge, const struct ring_edge_ends *ends,
		   struct ring_failure *failure);

/* Whether it could not be made because the peer cannot be reached. */
bool ring_edge_is_unreached(const struct ring_edge *edge);

/*
 * What to wait for before the next step: a descriptor or fd -1; lowers *ms to the time of the next
 * look.
 */
void ring_edge_poll(const struct ring_edge *edge, struct pollfd *pollfd, int *ms);

/* Takes over what a ready edge has become; the edge is then as good as dropped. */
int ring_edge_take_fd(struct ring_edge *edge);
struct ring_link *ring_edge_take_link(struct ring_edge *edge);

/* The link's socket, if its other end may be on another host; valid while the link is. Else -1. */
int ring_edge_socket(const struct ring_edge *edge);

/* Closes what was made and not taken, at any point. */
void ring_edge_drop(struct ring_edge *edge);

#endif
