/* SPDX-License-Identifier: MIT */
/*
 * Sources: Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication operations
 * in MPICH" (recursive doubling, halving and doubling, binomial trees); Sanders, Speck & Traeff
 * 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan". The ring is the
 * library's.
 */
#include "algorithms.h"

#include <math.h>
#include <stddef.h>

#define CHUNK 65536.0 /* unless the machine has one */

/* Seconds: of a call and a hop, and per byte of the wire and of reducing. */
struct costs {
	double call, hop, wire, reduce;
};

static struct costs costs_of(const struct model_machine *machine, int ranks)
{
	struct ring_model model = model_around(machine, ranks);
	return (struct costs){
		.call = model_seconds(model.call),
		.hop = model_seconds(model.hop),
		.wire = model_seconds_per_byte(model.wire),
		.reduce = MODEL_TOUCHED_TO_REDUCE * model_seconds_per_byte(model.touch),
	};
}

static double piece_of(const struct model_machine *machine, double bytes)
{
	return fmin(machine->chunk > 0 ? (double)machine->chunk : CHUNK, bytes);
}

static double ring_with(struct model_machine machine, uint64_t chunk, int ranks, double bytes)
{
	machine.algorithm = ring_algorithm_of(RING_KIND_ALL_REDUCE);
	machine.chunk = chunk;
	return model_call_of(&machine, RING_KIND_ALL_REDUCE, ranks, bytes).seconds;
}

static double ring_time(const struct model_machine *machine, int ranks, double bytes)
{
	return ring_with(*machine, MODEL_WHOLE_BLOCKS, ranks, bytes);
}

static double pipelined_time(const struct model_machine *machine, int ranks, double bytes)
{
	return ring_with(*machine, machine->chunk, ranks, bytes);
}

static double log2_up(int ranks)
{
	return ceil(log2(ranks));
}

static double doubling_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct costs costs = costs_of(machine, ranks);
	return costs.call + log2_up(ranks) * (costs.hop + bytes * costs.wire + bytes * costs.reduce);
}

/* Ranks beyond a power of two first send their vector to another, and get the result from it. */
static double rabenseifner_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct costs costs = costs_of(machine, ranks);
	double core = exp2(floor(log2(ranks))), share = (core - 1) / core * bytes;
	double time = costs.call + 2 * log2(core) * costs.hop + 2 * share * costs.wire +
		      share * costs.reduce;
	if (core < ranks)
		time += 2 * costs.hop + 2 * bytes * costs.wire + bytes * costs.reduce;
	return time;
}

static double binomial_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct costs costs = costs_of(machine, ranks);
	return costs.call +
	       log2_up(ranks) * (2 * (costs.hop + bytes * costs.wire) + bytes * costs.reduce);
}

static double two_trees_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct costs costs = costs_of(machine, ranks);
	return costs.call +
	       2 * log2_up(ranks) * (costs.hop + piece_of(machine, bytes) * costs.wire) +
	       2 * bytes * costs.wire + bytes * costs.reduce;
}

/* A ring in each host, then rings between hosts with each rank's share of the vector, and back. */
static double hierarchical_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_machine inside = *machine, outside = *machine;
	int on_host = machine->ranks_per_host < ranks ? machine->ranks_per_host : ranks;
	int hosts = (ranks + on_host - 1) / on_host;
	inside.ranks_per_host = outside.ranks_per_host = 0;
	outside.model.hop = machine->between.hop;
	outside.model.wire = machine->between.wire;
	outside.model.call = 0;
	double time = on_host > 1 ? ring_time(&inside, on_host, bytes) : costs_of(&inside, 1).call;
	return time + (hosts > 1 ? ring_time(&outside, hosts, bytes / on_host) : 0);
}

/* A switch or server adds: every rank sends its bytes there once, and gets the sum back. */
static double in_network_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct costs costs = costs_of(machine, ranks);
	return costs.call + 2 * costs.hop + (bytes + piece_of(machine, bytes)) * costs.wire;
}

const struct model_algorithm model_algorithms[] = {
	{"ring", "2(N-1)a + 2(N-1)/N S/B + (N-1)/N S/g", false, ring_time},
	{"ring, in chunks", "2(N-1) r max(2c/B, 2c/g, a + c/B + c/g), r rounds of 2 chunks", false,
	 pipelined_time},
	{"recursive doubling", "log2 N (a + S/B + S/g)", false, doubling_time},
	{"Rabenseifner", "2 log2 N a + 2(N-1)/N S/B + (N-1)/N S/g", false, rabenseifner_time},
	{"binomial tree", "2 log2 N (a + S/B) + log2 N S/g", false, binomial_time},
	{"two trees", "2 log2 N (a + c/B) + 2 S/B + S/g", false, two_trees_time},
	{"hierarchical", "ring in each host, ring of S/n between hosts", true, hierarchical_time},
	{"in network", "2a + (S + c)/B", false, in_network_time},
	{NULL, NULL, false, NULL},
};

static double advantage(const struct model_algorithm *other, const struct model_machine *machine,
			int ranks, double bytes)
{
	return model_algorithms[0].time(machine, ranks, bytes) - other->time(machine, ranks, bytes);
}

double model_crossover(const struct model_algorithm *other, const struct model_machine *machine,
		       int ranks)
{
	double low = 1, high = 0x1p40;
	bool small_wins = advantage(other, machine, ranks, low) > 0;
	if (small_wins == (advantage(other, machine, ranks, high) > 0))
		return 0;
	while (high / low > 1.001) {
		double middle = sqrt(low * high);
		if ((advantage(other, machine, ranks, middle) > 0) == small_wins)
			low = middle;
		else
			high = middle;
	}
	return high;
}
