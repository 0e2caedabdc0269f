/* SPDX-License-Identifier: MIT */
/* From nothing to a connection, and from there to a link; see edge.h. */
#include "edge.h"

#include <errno.h>

#include "transport/paced.h"
#include "peer.h"
#include "base/fd.h"
#include "base/waits.h"
#include "interface.h"
#include "plan/record.h"

bool ring_edge_is_unreached(const struct ring_edge *edge)
{
	return ring_outage_is_cause(edge->dial.cause);
}

static int tell_unreachable(const struct ring_edge *edge, const struct ring_edge_ends *ends,
			    enum ring_lane lane, int err, struct ring_failure *failure)
{
	char name[RING_PEER_NAME], address[RING_ADDRESS_TEXT] = "its local socket";
	char text[RING_PEER_SENTENCE];
	if (ring_edge_is_unreached(edge))
		return ring_fail(failure, RING_EPEER, "%s",
				 ring_peer_unreached(edge->peer, ends->self, ends->peer_lost_ms,
						     false, text));
	if (lane == RING_LANE_TCP)
		ring_address_format(&edge->peer->tcp, address);
	return ring_fail(failure, err, "rank %d -> %s at %s: %s", ends->self,
			 ring_peer_name(edge->peer, name), address, edge->dial.trouble);
}

static int connect_edge(struct ring_edge *edge, const struct ring_edge_ends *ends,
			struct ring_failure *failure)
{
	bool data = edge->role == RING_ROLE_DATA;
	struct ring_purpose purpose = {
		.role = edge->role,
		.channel = edge->channel,
		.lane = data ? ring_transports[edge->transport]->lane : RING_LANE_TCP,
		.outgoing = edge->outgoing,
	};
	if (!edge->outgoing)
		return ring_contact_fetch(ends->contact, edge->peer, &purpose, &edge->fd, failure);
	if (!edge->dialling)
		ring_contact_dial(ends->contact, edge->peer, &purpose, &edge->dial);
	edge->dial.lost_ms = ends->peer_lost_ms;
	edge->dialling = true;
	int err = ring_dial_step(&edge->dial, &edge->fd);
	if (err && err != RING_EAGAIN)
		return tell_unreachable(edge, ends, purpose.lane, err, failure);
	edge->dialling = err != 0;
	return err;
}

static int open_link(struct ring_edge *edge, const struct ring_edge_ends *ends)
{
	size_t opening_bytes = sizeof(struct ring_opening);
	struct ring_link_params params = {
		.fd = edge->fd,
		.outgoing = edge->outgoing,
		.self = ends->self,
		.peer = edge->peer->rank,
		.depth = (unsigned)edge->depth,
		.slot_bytes = edge->slot_bytes > opening_bytes ? edge->slot_bytes : opening_bytes,
		.bell = ends->bell,
		.congestion = ends->congestion,
		.peer_lost_ms = ends->peer_lost_ms,
	};
	const struct ring_transport *transport = ring_transports[edge->transport];
	return ends->pace ? ring_paced_open(transport, &params, ends->pace, &edge->link)
			  : transport->open(&params, &edge->link);
}

/* returns 0 once the connection has become what it is for */
static int make_link(struct ring_edge *edge, const struct ring_edge_ends *ends,
		     struct ring_failure *failure)
{
	char words[RING_FD_WORDS];
	int err = 0;
	errno = 0;
	if (edge->role == RING_ROLE_DATA && !edge->link)
		err = open_link(edge, ends);
	if (!err && edge->link)
		err = ring_link_finish(edge->link);
	if (err && edge->link && edge->link->why)
		ring_fail(failure, err, "%s", edge->link->why);
	if (err == RING_ESYSTEM)
		ring_fail(failure, err, "%s: %s", ring_transports[edge->transport]->name,
			  ring_fd_words(errno, words));
	edge->starved = err == RING_ESYSTEM && ring_fd_ran_out(errno);
	edge->ready = err == 0;
	return err;
}

int ring_edge_step(struct ring_edge *edge, const struct ring_edge_ends *ends,
		   struct ring_failure *failure)
{
	if (edge->ready)
		return 0;
	int err = edge->connected ? 0 : connect_edge(edge, ends, failure);
	edge->starved = err == RING_ESYSTEM; /* only a socket or an accept can fail so */
	if (err)
		return err;
	edge->connected = true;
	return make_link(edge, ends, failure);
}

void ring_edge_poll(const struct ring_edge *edge, struct pollfd *pollfd, int *ms)
{
	int patience_ms = *ms;
	*pollfd = (struct pollfd){.fd = -1};
	if (edge->ready)
		return;
	if (edge->dialling)
		patience_ms = ring_dial_poll(&edge->dial, pollfd);
	else if (edge->link)
		pollfd->fd = ring_link_wait_fd(edge->link, &pollfd->events);
	int crowded_ms = ring_fd_crowded_ms();
	if (edge->link && pollfd->fd < 0)
		patience_ms = crowded_ms > RING_FINISH_LOOK_MS ? crowded_ms : RING_FINISH_LOOK_MS;
	if (patience_ms < *ms)
		*ms = patience_ms;
}

int ring_edge_take_fd(struct ring_edge *edge)
{
	int fd = edge->fd;
	edge->connected = false;
	return fd;
}

struct ring_link *ring_edge_take_link(struct ring_edge *edge)
{
	struct ring_link *link = edge->link;
	edge->link = NULL;
	edge->connected = false;
	return link;
}

int ring_edge_socket(const struct ring_edge *edge)
{
	return ring_transports[edge->transport]->lane == RING_LANE_TCP ? edge->fd : -1;
}

void ring_edge_drop(struct ring_edge *edge)
{
	if (edge->dialling)
		ring_dial_stop(&edge->dial);
	if (edge->link)
		ring_link_close(edge->link);
	else if (edge->connected)
		ring_fd_close(edge->fd);
	edge->dialling = edge->connected = edge->ready = false;
	edge->link = NULL;
}
