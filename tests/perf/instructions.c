/* SPDX-License-Identifier: MIT */
/*
 * Makes calls on one rank that is all its peers: the other end of each of its links is its own, so it
 * receives what it sends, records and all, and reads what it writes on its board; so only calls are
 * made in which all ranks say alike. Nothing depends on anybody's speed, and instructions can be counted: tests/check-instructions does, see there.
 *
 *	instructions                           tells by what it was compiled
 *	instructions CALL RANKS BYTES TIMES    makes them, each rank with so many bytes for another
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tests/transport/pair.h"

#ifndef __OPTIMIZE__
#define COMPILER "no optimizer"
#elif defined(__clang__)
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif

#ifdef __x86_64__
#define CPU "x86_64"
#else
#define CPU "another CPU"
#endif

static const struct pair_kind loopback = {.name = "loopback", .transport = &ring_transport_loopback};

/* Links to and from a rank that is this one. Returns 0 or the error. */
static int link_with(struct ring_comm *comm, int peer, struct pair *pair)
{
	struct ring_channel *channel = &comm->links.channels[0];
	const struct ring_tuning *tuning = &comm->team.placement.tuning;
	int err = pair_init(pair) ? pair_open(pair, &loopback, (unsigned)tuning->depth,
					      tuning->chunk_bytes, 1)
				  : RING_ESYSTEM;
	for (int end = 0; !err && end < 2; end++) {
		pair->ends[end]->self = comm->team.rank;
		pair->ends[end]->peer = peer;
		err = ring_channel_add_link(channel, pair->ends[end]);
	}
	channel->routes[peer].board = channel->board.own;
	return err;
}

/* Makes a communicator of one rank believe in others. Returns 0 or the error. */
static int pretend(struct ring_comm *comm, int size)
{
	struct pair *pairs = calloc((size_t)size, sizeof(*pairs));
	int *order = realloc(comm->team.order, (size_t)size * sizeof(*order));
	if (!pairs || !order)
		return RING_ENOMEM;
	comm->team.size = size;
	comm->team.order = order;
	int err = ring_channel_reserve(&comm->links.channels[0], size);
	for (int rank = 0; !err && rank < size; rank++) {
		order[rank] = rank;
		err = rank == comm->team.rank ? 0 : link_with(comm, rank, &pairs[rank]);
	}
	return err;
}

static int make_call(struct ring_comm *comm, const char *call, const float *send, float *recv,
		     size_t count)
{
	if (strcmp(call, "all_reduce") == 0)
		return ring_all_reduce(comm, send, recv, count, RING_FLOAT32, RING_SUM, NULL);
	if (strcmp(call, "reduce_scatter") == 0)
		return ring_reduce_scatter(comm, send, recv, count, RING_FLOAT32, RING_SUM, NULL);
	if (strcmp(call, "all_gather") == 0)
		return ring_all_gather(comm, send, recv, count, RING_FLOAT32, NULL);
	if (strcmp(call, "all_to_all") == 0)
		return ring_all_to_all(comm, send, recv, count, RING_FLOAT32, NULL);
	return RING_EINVAL;
}

/* Nothing is closed in the end: a goodbye would be to ranks that are not there. */
int main(int argc, char **argv)
{
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (argc < 5)
		return printf("%s on %s\n", COMPILER, CPU) < 0;
	size_t ranks = strtoull(argv[2], NULL, 0),
	       count = strtoull(argv[3], NULL, 0) / sizeof(float);
	float *send = calloc(ranks * count, sizeof(float));
	float *recv = calloc(ranks * count, sizeof(float));
	if (!send || !recv || ring_unique_id_create(&id) ||
	    ring_comm_create(&comm, 1, 0, &id, NULL) || pretend(comm, (int)ranks))
		return 1;
	for (long times = strtol(argv[4], NULL, 0); times > 0; times--)
		if (make_call(comm, argv[1], send, recv, count)) {
			fprintf(stderr, "%s: %s\n", argv[1], ring_comm_error(comm));
			return 1;
		}
	return 0;
}
