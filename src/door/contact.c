/* SPDX-License-Identifier: MIT */
/* How one rank is reached and reaches others; see contact.h. */
#include "contact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct ring_contact {
	struct ring_watcher *watcher;
	struct sockaddr_storage address; /* its own */
	struct ring_port port;           /* port.wake: a connection has come */
};

int ring_contact_open(struct ring_contact **opened, struct ring_watcher *watcher,
		      const struct sockaddr_storage *address, uint64_t job,
		      const unsigned char *secret, int rank, struct ring_failure *failure)
{
	struct ring_contact *contact = calloc(1, sizeof(*contact));
	if (!contact)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", rank);
	contact->watcher = watcher;
	contact->address = *address;
	contact->port = (struct ring_port){.job = job, .rank = rank, .wake = ring_fd_event()};
	memcpy(contact->port.secret, secret, RING_SECRET_BYTES);
	if (contact->port.wake < 0) {
		char words[RING_FD_WORDS];
		ring_fail(failure, RING_ESYSTEM, "rank %d: cannot make an eventfd: %s", rank,
			  ring_fd_words(errno, words));
		free(contact);
		return RING_ESYSTEM;
	}
	ring_watcher_open_port(watcher, &contact->port);
	*opened = contact;
	return 0;
}

void ring_contact_close(struct ring_contact *contact)
{
	if (!contact)
		return;
	if (ring_watcher_is_mine(contact->watcher)) {
		ring_watcher_close_port(contact->watcher, &contact->port);
		ring_fd_close(contact->port.wake);
	}
	free(contact);
}

void ring_contact_renew(struct ring_contact *contact, uint32_t attempt)
{
	ring_watcher_renew_port(contact->watcher, &contact->port, attempt);
}

static struct ring_hello hello_for(const struct ring_contact *contact, const struct ring_peer *peer,
				   const struct ring_purpose *purpose)
{
	const struct ring_port *port = &contact->port;
	return (struct ring_hello){
		.job = port->job,
		.role = purpose->role,
		.from = purpose->outgoing ? port->rank : peer->rank,
		.to = purpose->outgoing ? peer->rank : port->rank,
		.channel = purpose->channel,
		.attempt = port->attempt,
	};
}

void ring_contact_dial(const struct ring_contact *contact, const struct ring_peer *peer,
		       const struct ring_purpose *purpose, struct ring_dial *dial)
{
	if (purpose->lane == RING_LANE_LOCAL)
		ring_dial_local(dial, peer->local);
	else
		ring_dial_tcp(dial, &peer->tcp, &contact->address);
	dial->hello = hello_for(contact, peer, purpose);
	memcpy(dial->secret, contact->port.secret, RING_SECRET_BYTES);
}

/* Where no network is up, all connections come through the local listener. */
static bool must_be_local(const struct ring_contact *contact, const struct ring_purpose *purpose)
{
	return purpose->lane == RING_LANE_LOCAL || contact->address.ss_family == AF_UNIX;
}

int ring_contact_fetch(struct ring_contact *contact, const struct ring_peer *peer,
		       const struct ring_purpose *purpose, int *fd, struct ring_failure *failure)
{
	struct ring_hello hello = hello_for(contact, peer, purpose);
	int arrived, domain = 0;
	socklen_t length = sizeof(domain);
	int err = ring_watcher_fetch(contact->watcher, &hello, &arrived);
	if (err == RING_ESYSTEM)
		ring_fail(failure, err, "rank %d cannot accept rank %d: %s", hello.to, hello.from,
			  ring_watcher_starved(contact->watcher));
	if (err)
		return err;
	getsockopt(arrived, SOL_SOCKET, SO_DOMAIN, &domain, &length);
	if ((domain == AF_UNIX) != must_be_local(contact, purpose)) {
		ring_fd_close(arrived);
		return ring_fail(failure, RING_EPEER,
				 "rank %d: rank %d came by another kind of connection", hello.to,
				 hello.from);
	}
	*fd = arrived;
	return 0;
}

int ring_contact_wake_fd(const struct ring_contact *contact)
{
	return contact->port.wake;
}

void ring_contact_awake(struct ring_contact *contact)
{
	uint64_t count;
	ssize_t ignored = read(contact->port.wake, &count, sizeof(count)); /* often there is none */
	(void)ignored;
}
