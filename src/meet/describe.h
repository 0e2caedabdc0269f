/* SPDX-License-Identifier: MIT */
/*
 * What ranks and the root tell one another, as bytes: one function per letter for both directions
 * (see wire.h), with every check that needs no other letter.
 */
#ifndef RING_DESCRIBE_H
#define RING_DESCRIBE_H

#include "door/mail.h"
#include "health/lanes.h"
#include "rendezvous.h"
#include "base/wire.h"
#include "choose/options.h"

/* Kinds of letters between a rank and the root. */
enum ring_meeting_letter {
	RING_LETTER_DESCRIBE = 1, /* rank: who I am and what I was asked for */
	RING_LETTER_PLACE,        /* root: your place; again with a later attempt */
	RING_LETTER_READY,        /* rank: how linking went */
	RING_LETTER_GO,           /* root: all are linked */
	RING_LETTER_FAIL,         /* both: struct ring_news, the meeting is over */
};

/* What a unique id holds. */
struct ring_identity {
	uint64_t job;
	unsigned char secret[RING_SECRET_BYTES];
	struct sockaddr_storage root;
	bool derived; /* all ranks have computed it: they may come before there is a root */
	bool follows; /* the ranks have it from their environment: it is one of a series */
};

struct ring_description {
	int size, create_timeout_ms;
	struct ring_peer peer;
	struct ring_config schedule; /* only what must be alike: ring_config_wire() */
};

struct ring_readiness {
	uint32_t attempt;
	uint32_t failed; /* bits of transports that could not be used; 0: all links stand */
	int peer;        /* ... towards that rank */
	char why[RING_NEWS_TEXT];
};

void ring_wire_identity(struct ring_wire *wire, struct ring_identity *identity);
void ring_wire_description(struct ring_wire *wire, struct ring_description *description);
void ring_wire_readiness(struct ring_wire *wire, struct ring_readiness *readiness);

/*
 * What stays of a peer after the meeting: all but its CPUs. Always RING_CARD_BYTES, so that cards
 * can be gathered.
 */
#define RING_CARD_BYTES 256
void ring_wire_card(struct ring_wire *wire, struct ring_peer *peer);

/* Reading: placement->size and order[size] are what the reader expects, and has room for. */
void ring_wire_placement(struct ring_wire *wire, struct ring_placement *placement);
size_t ring_placement_bytes(int size); /* room that is enough for any placement */

#endif
