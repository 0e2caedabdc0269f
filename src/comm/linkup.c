/* SPDX-License-Identifier: MIT */
/*
 * The stages of linking up; see linkup.h. Each first hears the root, which knows first of a death.
 */
#include "linkup.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/waits.h"

static void add_edge(struct ring_linkup *linkup, enum ring_role role, int channel, bool outgoing)
{
	const struct ring_placement *placement = &linkup->comm->team.placement;
	linkup->edges[linkup->edge_count++] = (struct ring_edge){
		.role = role,
		.channel = channel,
		.outgoing = outgoing,
		.peer = outgoing ? &placement->next : &placement->prev,
		.transport = outgoing ? placement->next_transport : placement->prev_transport,
		.depth = placement->tuning.depth,
		.slot_bytes = placement->tuning.chunk_bytes,
	};
}

/* Between two ranks one connection carries both ways, if its transport can. */
static bool reverses(const struct ring_comm *comm)
{
	return comm->team.size == 2 && ring_transports[comm->team.placement.next_transport]->reverse;
}

/* The root knows that no transport reaches this rank, and this rank knows why. */
static int explain_lack(struct ring_linkup *linkup)
{
	const struct ring_comm *comm = linkup->comm;
	*linkup->failure = (struct ring_failure){0};
	return ring_fail(linkup->failure, RING_ENOTSUP,
			 "rank %d has no transport of RING_TRANSPORT=%s: %s", comm->team.rank,
			 comm->team.config.transport, comm->team.lacks);
}

/* The place is known: so are the connections to make. */
static int step_placing(struct ring_linkup *linkup)
{
	struct ring_comm *comm = linkup->comm;
	int err = ring_join_placed(comm->links.join, &comm->team.placement, linkup->failure);
	if (err == RING_ENOTSUP && comm->team.lacks[0])
		return explain_lack(linkup);
	if (err)
		return err;
	err = ring_tuning_load(&comm->team.placement.tuning, comm->team.table,
			       comm->team.placement.path, linkup->failure);
	if (err)
		return err;
	comm->team.placement.tuning.far_chunk_bytes = ring_tuning_far_chunk(&comm->team.config);
	ring_linkup_drop(linkup);
	ring_transports_shun(comm->team.placement.shunned, ring_clock_ms());
	ring_contact_renew(comm->links.ends.contact, comm->team.placement.attempt);
	comm->links.channel_count = comm->team.placement.tuning.channels;
	linkup->stage = RING_LINKING;
	if (comm->team.size == 1)
		return 0;
	add_edge(linkup, RING_ROLE_CONTROL, 0, true);
	add_edge(linkup, RING_ROLE_CONTROL, 0, false);
	bool dials = !reverses(comm) || comm->team.rank == 0;
	bool is_dialled = !reverses(comm) || comm->team.rank == 1;
	for (int c = 0; c < comm->links.channel_count; c++) {
		if (dials)
			add_edge(linkup, RING_ROLE_DATA, c, true);
		if (is_dialled)
			add_edge(linkup, RING_ROLE_DATA, c, false);
	}
	return 0;
}

/* A link cannot be made by its transport: all ranks do without that transport. */
static int report_unusable(struct ring_linkup *linkup)
{
	struct ring_comm *comm = linkup->comm;
	int transport = linkup->stuck->transport;
	char why[RING_FAILURE_TEXT];
	snprintf(why, sizeof(why), "rank %d could not use %s: %.400s", comm->team.rank,
		 ring_transports[transport]->name, linkup->trouble.text);
	ring_log(RING_INFO, "%s", why);
	linkup->stage = RING_REPORTING;
	return ring_join_report(comm->links.join, 1u << transport, linkup->stuck->peer->rank, why,
				linkup->failure);
}

/* If the neighbour that cannot be reached died, the root gets a moment to say so. */
static int give_up_edge(struct ring_linkup *linkup)
{
	if (linkup->stuck->starved) {
		*linkup->failure = linkup->trouble;
		return linkup->trouble.err;
	}
	if (!linkup->stuck->connected && ring_clock_ms() < linkup->stuck_ms + RING_EXPLAIN_MS)
		return RING_EAGAIN;
	if (linkup->stuck->role == RING_ROLE_DATA)
		return report_unusable(linkup);
	*linkup->failure = linkup->trouble;
	return linkup->trouble.err;
}

/* Moves all edges on. returns 0 when all are ready; RING_EAGAIN; an error: one is stuck */
static int step_edges(struct ring_linkup *linkup)
{
	int missing = 0;
	for (int i = 0; i < linkup->edge_count; i++) {
		struct ring_edge *edge = &linkup->edges[i];
		struct ring_failure trouble = {0};
		int err = ring_edge_step(edge, &linkup->comm->links.ends, &trouble);
		missing += err != 0;
		if (!err || err == RING_EAGAIN)
			continue;
		ring_fail(&trouble, err, "%s", ring_strerror(err));
		linkup->trouble = trouble;
		linkup->stuck = edge;
		linkup->stuck_ms = ring_clock_ms();
		return err;
	}
	return missing > 0 ? RING_EAGAIN : 0;
}

/*
 * returns 0: go; RING_ENOTSUP: to the first stage again; RING_EAGAIN if the root says nothing; an
 * error
 */
static int hear_verdict(struct ring_linkup *linkup)
{
	int err = ring_join_verdict(linkup->comm->links.join, linkup->failure);
	if (err == RING_ENOTSUP)
		linkup->stage = RING_PLACING;
	return err;
}

static int step_linking(struct ring_linkup *linkup)
{
	int err = hear_verdict(linkup);
	if (err == RING_ENOTSUP)
		return 0;
	if (!err)
		return ring_fail(linkup->failure, RING_EPEER,
				 "rank %d: the root said go before this rank was ready",
				 linkup->comm->team.rank);
	if (err != RING_EAGAIN)
		return err;
	if (!linkup->stuck)
		err = step_edges(linkup);
	if (linkup->stuck)
		return give_up_edge(linkup);
	if (err)
		return err;
	linkup->stage = RING_REPORTING;
	return ring_join_report(linkup->comm->links.join, 0, linkup->comm->team.rank, "",
				linkup->failure);
}

/* For any plan; on the first channel also for a direct plan's pieces. */
static size_t scratch_for(const struct ring_comm *comm, int channel)
{
	const struct ring_tuning *tuning = &comm->team.placement.tuning;
	size_t rounds = ring_tuning_scratch(tuning, tuning->chunk_bytes);
	size_t pieces = (size_t)comm->team.size * ring_tuning_direct_chunk(tuning, comm->team.size);
	if (comm->team.size == 1)
		return 0;
	bool direct = channel == 0 && comm->team.placement.path == RING_PATH_MEMORY &&
		      comm->team.size <= RING_SUM_RANKS;
	return direct && pieces > rounds ? pieces : rounds;
}

static int add_links(struct ring_comm *comm, struct ring_edge *edge)
{
	struct ring_channel *channel = &comm->links.channels[edge->channel];
	int fd = ring_edge_socket(edge);
	int err = fd < 0 ? 0 : ring_lookout_add(&comm->links.lookout, fd, edge->peer);
	if (err)
		return err;
	struct ring_link *link = ring_edge_take_link(edge);
	err = ring_channel_add_link(channel, link);
	return !err && reverses(comm)
		       ? ring_channel_add_reverse(channel, edge->peer->rank, edge->outgoing)
		       : err;
}

/* Gives the finished links to their channels. */
static int open_channels(struct ring_linkup *linkup)
{
	struct ring_comm *comm = linkup->comm;
	for (int c = 0; c < comm->links.channel_count; c++) {
		int err = ring_channel_open(&comm->links.channels[c], comm->team.rank,
					    &ring_device_cpu, 0, scratch_for(comm, c));
		if (err)
			return ring_fail(linkup->failure, err, "rank %d: no memory for channel %d",
					 comm->team.rank, c);
	}
	if (comm->team.placement.path == RING_PATH_MEMORY) {
		ring_bell_lighten(&comm->links.bell);
		ring_channel_use_board(&comm->links.channels[0], comm->links.bell.page);
	}
	for (int i = 0; i < linkup->edge_count; i++) {
		struct ring_edge *edge = &linkup->edges[i];
		int err = edge->role == RING_ROLE_DATA ? add_links(comm, edge) : 0;
		if (err)
			return ring_fail(linkup->failure, err, "rank %d: a link cannot be used: %s",
					 comm->team.rank, ring_strerror(err));
	}
	return 0;
}

static int open_lanes(struct ring_linkup *linkup)
{
	struct ring_comm *comm = linkup->comm;
	if (comm->team.size == 1)
		return 0;
	struct ring_lanes_params params = {
		.self = comm->team.rank,
		.prev = &comm->team.placement.prev,
		.next = &comm->team.placement.next,
		.next_fd = linkup->edges[0].fd,
		.prev_fd = linkup->edges[1].fd,
		.peer_lost_ms = comm->team.config.peer_lost_ms,
		.failed = ring_comm_heard,
		.left = ring_comm_neighbour_left,
		.waits = ring_comm_neighbour_waits,
		.owner = &comm->failure,
		.asked = ring_roll_asked,
		.returned = ring_roll_returned,
		.roll = &comm->roll,
	};
	int err = ring_lanes_open(&comm->links.lanes, comm->links.watcher, &params, linkup->failure);
	for (int i = 0; !err && i < 2; i++)
		ring_edge_take_fd(&linkup->edges[i]);
	return err;
}

static void open_lookout(struct ring_comm *comm)
{
	struct ring_lookout_params params = {
		.self = comm->team.rank,
		.peer_lost_ms = comm->team.config.peer_lost_ms,
		.failed = ring_comm_found_out,
		.owner = &comm->failure,
	};
	ring_lookout_open(&comm->links.lookout, comm->links.watcher, &params);
}

/* Go: everybody agreed. The order is the join's, so it is copied. */
static int step_reporting(struct ring_linkup *linkup)
{
	struct ring_comm *comm = linkup->comm;
	int err = hear_verdict(linkup);
	if (err)
		return err == RING_ENOTSUP ? 0 : err;
	memcpy(comm->team.order, comm->team.placement.order,
	       (size_t)comm->team.size * sizeof(*comm->team.order));
	comm->team.placement.order = comm->team.order;
	ring_join_close(comm->links.join, NULL);
	comm->links.join = NULL;
	linkup->stage = RING_LINKED;
	open_lookout(comm);
	err = open_channels(linkup);
	return err ? err : open_lanes(linkup);
}

int ring_linkup_step(struct ring_linkup *linkup)
{
	static int (*const steps[])(struct ring_linkup *) = {
		[RING_PLACING] = step_placing,
		[RING_LINKING] = step_linking,
		[RING_REPORTING] = step_reporting,
	};
	int err = 0;
	while (!err && linkup->stage != RING_LINKED)
		err = steps[linkup->stage](linkup);
	return err;
}

int ring_linkup_poll(const struct ring_linkup *linkup, struct pollfd *fds, int *ms)
{
	const struct ring_comm *comm = linkup->comm;
	int count = 0;
	ring_join_poll(comm->links.join, &fds[count++], ms);
	if (linkup->stage != RING_LINKING)
		return count;
	if (linkup->stuck) {
		*ms = *ms < RING_EXPLAIN_MS ? *ms : RING_EXPLAIN_MS;
		return count;
	}
	fds[count++] = (struct pollfd){
		.fd = ring_contact_wake_fd(comm->links.ends.contact),
		.events = POLLIN,
	};
	for (int i = 0; i < linkup->edge_count; i++)
		ring_edge_poll(&linkup->edges[i], &fds[count++], ms);
	return count;
}

void ring_linkup_drop(struct ring_linkup *linkup)
{
	for (int i = 0; i < linkup->edge_count; i++)
		ring_edge_drop(&linkup->edges[i]);
	linkup->edge_count = 0;
	linkup->stuck = NULL;
}
