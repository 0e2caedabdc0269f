/* SPDX-License-Identifier: MIT */
/*
 * Simulates one call of thousands of ranks in one thread: the real channels and plans over a
 * virtual transport, a virtual device and a virtual clock. Its times follow from the given speeds;
 * its bytes and order are the library's.
 *
 *	struct ring_simulation_params params = {.kind = RING_KIND_ALL_REDUCE, .size = 1024, ...};
 *	struct ring_simulation simulation;
 *	int err = ring_simulate(&params, &simulation);
 *	... simulation.end_ns ...
 *	ring_simulation_free(&simulation);
 *
 * A rank's device does one job after the other, and the wire from one rank to another carries one
 * message after the other, for all channels together: so channels fill gaps, but add no speed.
 * Wires to different ranks share nothing. Everything else takes no time.
 */
#ifndef RING_SIMULATE_H
#define RING_SIMULATE_H

#include "plan/plan.h"
#include "ringccl.h"
#include "virtual.h"

/* The time of a job of the device: its overhead, and its bytes at a rate. */
struct ring_simulated_device {
	uint64_t overhead_ns;
	double reduce_bytes_per_second; /* of the result; 0: bytes take no time */
	double copy_bytes_per_second;
};

struct ring_simulation_params {
	/* The call. */
	enum ring_kind kind; /* any but SEND and RECV */
	/* one that has plans for the kind, and links: not STAGED nor DIRECT; TREE only with data */
	enum ring_algorithm algorithm;
	int size;
	const int *order; /* [size], position -> rank; NULL: 0, 1, 2 ... */
	int root;
	uint64_t count; /* this and in_order as in struct ring_plan_params */
	bool in_order;
	enum ring_datatype type;
	enum ring_op op;
	size_t chunk_bytes;
	int chunks_per_round, channels, depth;

	/* The machines. */
	struct ring_pace_speed link;                          /* between any two ranks ... */
	void (*link_between)(void *context, int from, int to, /* ... unless this says otherwise */
			     struct ring_pace_speed *speed);
	void *context;
	struct ring_simulated_device device;
	const uint64_t *enter_ns; /* [size], when ranks make the call; NULL: all at 0 */

	/* The data, [size] buffers of the call; both NULL: only sizes move. */
	const void *const *inputs;
	void *const *outputs;
};

struct ring_simulation {
	uint64_t end_ns;      /* when the last rank had its result and had sent everything */
	uint64_t *finish_ns;  /* [size], the same per rank                                 */
	uint64_t *sent_bytes; /* [size], payload that each rank sent                       */
	uint64_t steps;       /* messages that must follow one another                     */
	uint64_t wakes;       /* how often a rank looked at its channels                   */
};

/*
 * returns 0; RING_EINVAL; RING_ENOMEM; RING_ENOTSUP: no kernel for type and op; RING_ETIMEDOUT: a
 * deadlock
 */
int ring_simulate(const struct ring_simulation_params *params, struct ring_simulation *simulation);

void ring_simulation_free(struct ring_simulation *simulation);

#endif
