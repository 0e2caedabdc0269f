/* SPDX-License-Identifier: MIT */
/*
 * How one rank reaches any other of its communicator, and is reached: it fetches proved connections
 * at its door, a port of the watcher, and dials the others. The door is open from before the
 * meeting until the communicator is freed. Non-blocking; used by one thread at a time.
 */
#ifndef RING_CONTACT_H
#define RING_CONTACT_H

#include "transport/transport.h"
#include "dial.h"
#include "watcher.h"

struct ring_contact;

/* What a connection is for, and which end makes it. */
struct ring_purpose {
	enum ring_role role;
	int channel;
	enum ring_lane lane;
	bool outgoing; /* this rank dials; else the peer does */
};

/*
 * The caller holds the watcher until the contact is closed; `address` is where it receives
 * (ring_watcher_receive), and what it dials from. returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_contact_open(struct ring_contact **contact, struct ring_watcher *watcher,
		      const struct sockaddr_storage *address, uint64_t job,
		      const unsigned char *secret, int rank, struct ring_failure *failure);

/* Closes the door and what was not fetched. NULL is allowed; a forked child leaves both open. */
void ring_contact_close(struct ring_contact *contact);

/* The meeting's attempt, 0 at first: connections of earlier ones are closed. */
void ring_contact_renew(struct ring_contact *contact, uint32_t attempt);

/* Outgoing: prepares the dial; ring_dial_step does the rest. */
void ring_contact_dial(const struct ring_contact *contact, const struct ring_peer *peer,
		       const struct ring_purpose *purpose, struct ring_dial *dial);

/*
 * Incoming: the connection that `peer` made for this purpose. returns 0 and *fd, the caller's;
 * RING_EAGAIN if it has not come; RING_ESYSTEM if this process has no descriptor left to accept it
 * with; RING_EPEER if it came by the wrong lane
 */
int ring_contact_fetch(struct ring_contact *contact, const struct ring_peer *peer,
		       const struct ring_purpose *purpose, int *fd, struct ring_failure *failure);

/* Readable once a connection has come; call awake() before looking for it. */
int ring_contact_wake_fd(const struct ring_contact *contact);
void ring_contact_awake(struct ring_contact *contact);

#endif
