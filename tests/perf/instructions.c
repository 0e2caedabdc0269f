/* SPDX-License-Identifier: MIT */
/*
 * Makes all-reduces on one rank that is all its peers: the other end of each of its links is its own, so
 * it receives what it sends, records and all, and reads what it writes on its board. Nothing depends on anybody's speed, and instructions can be
 * counted: tests/check-instructions does, see there.
 *
 *	instructions                        tells by what it was compiled
 *	instructions RANKS BYTES CALLS      makes the calls
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm.h"
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
	struct ring_channel *channel = &comm->channels[0];
	const struct ring_tuning *tuning = &comm->placement.tuning;
	int err = pair_init(pair) ? pair_open(pair, &loopback, (unsigned)tuning->depth,
					      tuning->chunk_bytes, 1)
				  : RING_ESYSTEM;
	for (int end = 0; !err && end < 2; end++) {
		pair->ends[end]->self = comm->rank;
		pair->ends[end]->peer = peer;
		ring_channel_add_link(channel, pair->ends[end]);
	}
	channel->routes[peer].board = channel->board;
	return err;
}

/* Makes a communicator of one rank believe in others. Returns 0 or the error. */
static int pretend(struct ring_comm *comm, int size)
{
	struct pair *pairs = calloc((size_t)size, sizeof(*pairs));
	int *order = realloc(comm->order, (size_t)size * sizeof(*order));
	if (!pairs || !order)
		return RING_ENOMEM;
	comm->size = size;
	comm->order = order;
	int err = ring_channel_reserve(&comm->channels[0], size);
	for (int rank = 0; !err && rank < size; rank++) {
		order[rank] = rank;
		err = rank == comm->rank ? 0 : link_with(comm, rank, &pairs[rank]);
	}
	return err;
}

/* Nothing is closed in the end: a goodbye would be to ranks that are not there. */
int main(int argc, char **argv)
{
	struct ring_unique_id id;
	struct ring_comm *comm;
	if (argc < 4)
		return printf("%s on %s\n", COMPILER, CPU) < 0;
	size_t count = strtoull(argv[2], NULL, 0) / sizeof(float);
	float *send = calloc(count, sizeof(float)), *recv = calloc(count, sizeof(float));
	if (!send || !recv || ring_unique_id_create(&id) ||
	    ring_comm_create(&comm, 1, 0, &id, NULL) || pretend(comm, atoi(argv[1])))
		return 1;
	for (long call = strtol(argv[3], NULL, 0); call > 0; call--)
		if (ring_all_reduce(comm, send, recv, count, RING_FLOAT32, RING_SUM, NULL)) {
			fprintf(stderr, "%s\n", ring_comm_error(comm));
			return 1;
		}
	return 0;
}
