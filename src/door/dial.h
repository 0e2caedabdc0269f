/* SPDX-License-Identifier: MIT */
/*
 * A connection to a listener while it is being made: connects, greets, and tries again with growing
 * pauses while that may help. Non-blocking; the owner embeds it and polls.
 */
#ifndef RING_DIAL_H
#define RING_DIAL_H

#include <poll.h>
#include <sys/socket.h>

#include "transport/outage.h"
#include "greeting.h"

struct ring_dial {
	struct sockaddr_storage to;   /* an internet address, or an abstract Unix name */
	struct sockaddr_storage from; /* source address; family 0 leaves it to the kernel */
	struct ring_hello hello;
	unsigned char secret[RING_SECRET_BYTES];
	bool patient; /* goes on while nobody listens */
	bool early;   /* goes on while the listener does not know hello's job yet */
	int lost_ms;  /* gives up if nothing answers for so long; 0: leaves that to the kernel */

	int fd; /* -1 between attempts */
	bool connected;
	struct ring_greeting greeting;
	short events;
	uint64_t retry_ms;         /* when to try again */
	uint64_t silent_ms;        /* nothing has answered since; 0: something has */
	uint64_t begun_ms;         /* this attempt */
	struct ring_outage outage; /* once it is connected */
	int pause_ms, refusals;
	int cause;         /* errno of the last attempt; 0 if it was not greeted */
	char trouble[160]; /* the same in words, "" before */
};

/* from: this process's listener, whose interface connections to other hosts leave by; or NULL */
void ring_dial_tcp(struct ring_dial *dial, const struct sockaddr_storage *to,
		   const struct sockaddr_storage *from);
void ring_dial_local(struct ring_dial *dial, const char *name);

/*
 * returns 0 and the proved connection, the caller's; RING_EAGAIN; RING_EPEER once trying again is
 * pointless, RING_ESYSTEM if this process has no descriptor left: dial->trouble says why
 */
int ring_dial_step(struct ring_dial *dial, int *fd);

/*
 * What to wait for before the next step: a descriptor (or fd -1), at most the milliseconds
 * returned.
 */
int ring_dial_poll(const struct ring_dial *dial, struct pollfd *pollfd);

void ring_dial_stop(struct ring_dial *dial);

/* True if the other end of a Unix connection is our user's: anybody can take or find its name. */
bool ring_local_is_own_user(int fd);

#endif
