/* SPDX-License-Identifier: MIT */
/*
 * Makes a communicator and takes it apart. Making is a state machine that never blocks:
 *
 *	placing     the root has not yet told my place
 *	linking     connections become control lanes and links, in any order
 *	reporting   all my links stand; the root says go, or again with fewer transports
 *
 * ring_comm_create only drives it and sleeps in between.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "comm.h"
#include "fd.h"
#include "log.h"
#include "queue.h"
#include "topology.h"
#include "trace.h"

#define GOODBYE_MS 1000
#define IDLE_LOOK_MS 1000
#define RELINK_LOOK_MS 1

/* One end of a connection with a neighbour while it is being made. */
struct edge {
	enum ring_role role;
	int channel;
	bool outgoing;
	int fd;                 /* -1 until connected, or once the link owns it */
	struct ring_link *link; /* DATA only */
	bool ready;
};

enum stage { PLACING, LINKING, REPORTING, CREATED };

struct creation {
	struct ring_comm *comm;
	struct ring_failure *failure;
	enum stage stage;
	struct edge edges[2 + 2 * RING_CHANNELS_MAX];
	int edge_count;
};

static int transport_of(const struct ring_comm *comm, const struct edge *edge)
{
	return edge->outgoing ? comm->placement.next_transport : comm->placement.prev_transport;
}

static void drop_edges(struct creation *creation)
{
	for (int i = 0; i < creation->edge_count; i++) {
		struct edge *edge = &creation->edges[i];
		if (edge->link)
			edge->link->transport->close(edge->link);
		ring_fd_close(edge->fd);
	}
	creation->edge_count = 0;
}

static void add_edge(struct creation *creation, enum ring_role role, int channel, bool outgoing)
{
	creation->edges[creation->edge_count++] =
		(struct edge){.role = role, .channel = channel, .outgoing = outgoing, .fd = -1};
}

/* A place was given: what must be connected follows from it. */
static void begin_linking(struct creation *creation)
{
	struct ring_comm *comm = creation->comm;
	drop_edges(creation);
	comm->channel_count = comm->placement.tuning.channels;
	creation->stage = LINKING;
	if (comm->size == 1)
		return;
	add_edge(creation, RING_ROLE_CONTROL, 0, true);
	add_edge(creation, RING_ROLE_CONTROL, 0, false);
	for (int c = 0; c < comm->channel_count; c++) {
		add_edge(creation, RING_ROLE_DATA, c, true);
		add_edge(creation, RING_ROLE_DATA, c, false);
	}
}

static int open_link(struct ring_comm *comm, struct edge *edge)
{
	const struct ring_tuning *tuning = &comm->placement.tuning;
	const struct ring_peer *peer = edge->outgoing ? &comm->placement.next
						      : &comm->placement.prev;
	size_t slot_bytes = tuning->chunk_bytes;
	if (slot_bytes < sizeof(struct ring_record))
		slot_bytes = sizeof(struct ring_record);
	struct ring_link_params params = {
		.fd = edge->fd,
		.outgoing = edge->outgoing,
		.self = comm->rank,
		.peer = peer->rank,
		.depth = (unsigned)tuning->depth,
		.slot_bytes = slot_bytes,
		.bell = &comm->bell,
		.congestion = comm->config.congestion[0] ? comm->config.congestion : NULL,
		.peer_lost_ms = comm->config.peer_lost_ms,
	};
	int err = ring_transports[transport_of(comm, edge)]->open(&params, &edge->link);
	if (!err)
		edge->fd = -1;
	return err;
}

/* Moves one edge on. returns 0 when it is ready, RING_EAGAIN, or an error */
static int step_edge(struct creation *creation, struct edge *edge)
{
	struct ring_comm *comm = creation->comm;
	bool data = edge->role == RING_ROLE_DATA;
	if (!edge->link && edge->fd < 0) {
		enum ring_lane lane = RING_LANE_TCP;
		if (data)
			lane = ring_transports[transport_of(comm, edge)]->lane;
		int err = ring_join_connect(comm->join, edge->role, edge->channel, lane,
					    edge->outgoing, &edge->fd, creation->failure);
		if (err)
			return err;
		err = data ? open_link(comm, edge) : 0;
		if (err)
			return err;
	}
	int err = data ? edge->link->transport->finish(edge->link) : 0;
	edge->ready = err == 0;
	return err;
}

/* A link cannot be made the way both ends thought: all ranks do without that transport. */
static int report_unusable(struct creation *creation, const struct edge *edge, int err)
{
	struct ring_comm *comm = creation->comm;
	int transport = transport_of(comm, edge);
	char why[RING_FAILURE_TEXT];
	snprintf(why, sizeof(why), "rank %d could not use %s: %.400s", comm->rank,
		 ring_transports[transport]->name,
		 creation->failure->err ? creation->failure->text : ring_strerror(err));
	ring_log(RING_INFO, "%s", why);
	*creation->failure = (struct ring_failure){0};
	creation->stage = REPORTING;
	return ring_join_report(comm->join, 1u << transport, why, creation->failure);
}

/* Gives the finished links to their channels. */
static int hand_over(struct creation *creation)
{
	struct ring_comm *comm = creation->comm;
	const struct ring_tuning *tuning = &comm->placement.tuning;
	size_t scratch = comm->size > 2 ? 2 * tuning->chunks_per_round * tuning->chunk_bytes : 0;
	for (int c = 0; c < comm->channel_count; c++) {
		int err = ring_channel_open(&comm->channels[c], comm->rank, &ring_device_cpu,
					    scratch);
		if (err)
			return ring_fail(creation->failure, err,
					 "rank %d: no memory for channel %d", comm->rank, c);
		comm->channels[c].trace = comm->trace;
	}
	for (int i = 0; i < creation->edge_count; i++) {
		struct edge *edge = &creation->edges[i];
		if (edge->role != RING_ROLE_DATA)
			continue;
		ring_channel_add_link(&comm->channels[edge->channel], edge->link);
		edge->link = NULL;
	}
	return 0;
}

static int open_lanes(struct creation *creation)
{
	struct ring_comm *comm = creation->comm;
	if (comm->size == 1)
		return 0;
	struct ring_lanes_params params = {
		.self = comm->rank,
		.prev = &comm->placement.prev,
		.next = &comm->placement.next,
		.next_fd = creation->edges[0].fd,
		.prev_fd = creation->edges[1].fd,
		.peer_lost_ms = comm->config.peer_lost_ms,
		.failed = ring_comm_heard,
		.left = ring_comm_neighbour_left,
		.owner = comm,
	};
	int err = ring_lanes_open(&comm->lanes, comm->watcher, &params, creation->failure);
	if (!err)
		creation->edges[0].fd = creation->edges[1].fd = -1;
	return err;
}

static int step_placing(struct creation *creation)
{
	struct ring_comm *comm = creation->comm;
	int err = ring_join_placed(comm->join, &comm->placement, creation->failure);
	if (err)
		return err;
	begin_linking(creation);
	return 0;
}

static int step_linking(struct creation *creation)
{
	struct ring_comm *comm = creation->comm;
	int err = ring_join_verdict(comm->join, creation->failure);
	if (err == RING_ENOTSUP) {
		creation->stage = PLACING;
		return 0;
	}
	if (err != RING_EAGAIN)
		return err;
	bool ready = true;
	for (int i = 0; i < creation->edge_count; i++) {
		struct edge *edge = &creation->edges[i];
		err = edge->ready ? 0 : step_edge(creation, edge);
		if (err && err != RING_EAGAIN)
			return edge->role == RING_ROLE_DATA ? report_unusable(creation, edge, err)
							    : err;
		ready = ready && edge->ready;
	}
	if (!ready)
		return RING_EAGAIN;
	creation->stage = REPORTING;
	return ring_join_report(comm->join, 0, "", creation->failure);
}

static int step_reporting(struct creation *creation)
{
	int err = ring_join_verdict(creation->comm->join, creation->failure);
	if (err == RING_ENOTSUP) {
		creation->stage = PLACING;
		return 0;
	}
	if (err)
		return err;
	err = hand_over(creation);
	if (!err)
		err = open_lanes(creation);
	if (!err)
		creation->stage = CREATED;
	return err;
}

/* Goes on as far as possible. returns 0 once created, RING_EAGAIN, or the error */
static int step(struct creation *creation)
{
	int err = 0;
	while (!err && creation->stage != CREATED) {
		switch (creation->stage) {
		case PLACING:
			err = step_placing(creation);
			break;
		case LINKING:
			err = step_linking(creation);
			break;
		default:
			err = step_reporting(creation);
			break;
		}
	}
	return err;
}

/* Links that wait for the other end's words say what to sleep on, or are looked at again soon. */
static void sleep_until_moved(struct creation *creation)
{
	struct pollfd fds[2 + 2 * RING_CHANNELS_MAX];
	int count = 0, ms = IDLE_LOOK_MS;
	for (int i = 0; i < creation->edge_count; i++) {
		const struct edge *edge = &creation->edges[i];
		short events = 0;
		if (!edge->link || edge->ready)
			continue;
		int fd = edge->link->transport->wait_fd(edge->link, &events);
		if (fd >= 0)
			fds[count++] = (struct pollfd){.fd = fd, .events = events};
		else
			ms = RELINK_LOOK_MS;
	}
	ring_join_wait(creation->comm->join, fds, count, ms);
}

/* Everybody agreed: settle how to wait, keep the order, leave the meeting. */
static int settle(struct ring_comm *comm, struct ring_failure *failure)
{
	comm->order = malloc(comm->size * sizeof(*comm->order));
	if (!comm->order)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", comm->rank);
	memcpy(comm->order, comm->placement.order, comm->size * sizeof(*comm->order));
	ring_join_close(comm->join, NULL);
	comm->join = NULL;

	bool sockets = false;
	for (int r = 0; comm->size > 1 && r < comm->channels[0].route_count; r++) {
		short events;
		const struct ring_link *in = comm->channels[0].routes[r].in;
		sockets = sockets || (in && in->transport->wait_fd(in, &events) >= 0);
	}
	/* A look at a socket is a system call, forty times as dear as one at shared memory. */
	if (comm->config.spins < 0)
		comm->config.spins = comm->placement.crowded ? 0 : sockets ? 500 : 20000;
	if (comm->config.yields < 0)
		comm->config.yields = comm->placement.crowded ? 10 : 0;
	return 0;
}

/* The running kernel's identity, as text; all zero if /proc does not tell. */
static void read_boot_id(unsigned char boot_id[16])
{
	unsigned int byte;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	for (int i = 0; file && i < 16; i++) {
		if (fscanf(file, "-%2x", &byte) != 1 && fscanf(file, "%2x", &byte) != 1)
			break;
		boot_id[i] = (unsigned char)byte;
	}
	if (file)
		fclose(file);
}

static void describe(struct ring_comm *comm, struct ring_peer *self)
{
	struct stat netns;
	*self = (struct ring_peer){.rank = comm->rank, .pid = getpid(), .uid = getuid()};
	read_boot_id(self->boot_id);
	if (stat("/proc/self/ns/net", &netns) == 0)
		self->netns = netns.st_ino;
	if (comm->config.host[0])
		snprintf(self->host, sizeof(self->host), "%s", comm->config.host);
	else if (gethostname(self->host, sizeof(self->host) - 1))
		snprintf(self->host, sizeof(self->host), "unknown");
	ring_topology_describe(self);
}

static int create(struct ring_comm *comm, const struct ring_unique_id *id,
		  struct ring_failure *failure)
{
	struct ring_peer self;
	int err = ring_bell_create(&comm->bell);
	if (err)
		return ring_fail(failure, err, "rank %d: no doorbell: %m", comm->rank);
	if (comm->config.trace[0])
		err = ring_trace_open(&comm->trace, comm->config.trace, comm->rank, failure);
	if (err)
		return err;
	describe(comm, &self);
	err = ring_join_start(&comm->join, comm->size, &self, id, &comm->config, failure);
	if (err)
		return err;
	err = ring_watcher_hold(&comm->watcher, &comm->config, NULL, failure);
	if (err)
		return err;

	struct creation creation = {.comm = comm, .failure = failure};
	while ((err = step(&creation)) == RING_EAGAIN)
		sleep_until_moved(&creation);
	if (!err)
		err = settle(comm, failure);
	drop_edges(&creation);
	return err;
}

static int check_arguments(struct ring_comm **comm, int size, int rank,
			   const struct ring_unique_id *id, struct ring_failure *failure)
{
	if (!comm || !id)
		return ring_fail(failure, RING_EINVAL, "ring_comm_create: %s is NULL",
				 comm ? "id" : "comm");
	if (size < 1 || rank < 0 || rank >= size)
		return ring_fail(failure, RING_EINVAL,
				 "ring_comm_create: rank %d of %d ranks makes no sense", rank, size);
	return 0;
}

/*
 * Accepts every half-built state; `reason` is what the others learn if they are still meeting.
 * Lanes close first: nothing may call back into a communicator that is being freed.
 */
static void free_comm(struct ring_comm *comm, const struct ring_failure *reason)
{
	if (!comm)
		return;
	ring_lanes_close(comm->lanes, GOODBYE_MS);
	ring_join_close(comm->join, reason);
	for (int c = 0; c < comm->channel_count; c++)
		ring_channel_close(&comm->channels[c]);
	if (comm->watcher)
		ring_watcher_drop(comm->watcher);
	ring_bell_close(&comm->bell);
	ring_trace_close(comm->trace);
	free(comm->order);
	pthread_mutex_destroy(&comm->running);
	pthread_mutex_destroy(&comm->failing);
	free(comm);
}

int ring_comm_create(struct ring_comm **comm, int size, int rank, const struct ring_unique_id *id,
		     const struct ring_options *options)
{
	struct ring_failure failure = {0};
	struct ring_comm *made = NULL;
	int err = check_arguments(comm, size, rank, id, &failure);
	if (!err && !(made = calloc(1, sizeof(*made))))
		err = ring_fail(&failure, RING_ENOMEM, "rank %d: no memory", rank);
	if (!err) {
		made->size = size;
		made->rank = rank;
		made->fork_generation = ring_fork_generation();
		made->bell.memory_fd = made->bell.event_fd = -1;
		pthread_mutex_init(&made->running, NULL);
		pthread_mutex_init(&made->failing, NULL);
		err = ring_config_resolve(&made->config, options, &failure);
	}
	if (!err)
		err = create(made, id, &failure);
	if (err) {
		ring_fail(&failure, err, "rank %d: %s", rank, ring_strerror(err));
		ring_failure_remember(&failure);
		free_comm(made, &failure);
		return err;
	}
	*comm = made;
	return 0;
}

void ring_comm_destroy(struct ring_comm *comm)
{
	if (!comm || comm->fork_generation != ring_fork_generation())
		return;
	ring_queue_close(comm);
	free_comm(comm, NULL);
}
