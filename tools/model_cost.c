/* SPDX-License-Identifier: MIT */
/*
 * The closed forms. Sources: Thakur, Rabenseifner & Gropp 2005, "Optimization of collective
 * communication operations in MPICH" (recursive doubling, halving and doubling, binomial trees);
 * Sanders, Speck & Traeff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan"; Patarasuk & Yuan 2009 (the ring).
 */
#include "model_cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const struct model_collective model_collectives[] = {
	{"all_reduce", RING_KIND_ALL_REDUCE},
	{"reduce_scatter", RING_KIND_REDUCE_SCATTER},
	{"all_gather", RING_KIND_ALL_GATHER},
	{"broadcast", RING_KIND_BROADCAST},
	{"reduce", RING_KIND_REDUCE},
	{"gather", RING_KIND_GATHER},
	{"scatter", RING_KIND_SCATTER},
	{"all_to_all", RING_KIND_ALL_TO_ALL},
	{"barrier", RING_KIND_BARRIER},
	{"sendrecv", RING_KIND_SEND},
	{NULL, RING_KIND_BARRIER},
};

const struct model_collective *model_collective_find(const char *name)
{
	for (const struct model_collective *at = model_collectives; at->name; at++)
		if (strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

/* ---- what the library does ---------------------------------------------------------------- */

static bool is_chain(enum ring_kind kind)
{
	return kind == RING_KIND_BROADCAST || kind == RING_KIND_REDUCE;
}

/* The count of a call: bytes of the vector, or of each part. */
static uint64_t count_of(enum ring_kind kind, int ranks, double bytes)
{
	bool whole = kind == RING_KIND_ALL_REDUCE || is_chain(kind);
	return (uint64_t)(whole ? bytes : bytes / ranks);
}

static struct ring_plan_cost cost_at(enum ring_kind kind, int ranks, double bytes, int position,
				     const int *order)
{
	struct ring_plan_params params = {.kind = kind,
					  .algorithm = ring_algorithm_of(kind),
					  .size = ranks,
					  .position = position,
					  .order = order,
					  .count = count_of(kind, ranks, bytes),
					  .element_bytes = 1,
					  .chunk_bytes = 1 << 16,
					  .chunks_per_round = 1,
					  .channels = 1};
	struct ring_plan plan = ring_plan_make(&params);
	return ring_plan_cost(&plan);
}

/* Signals that follow one another before the first message or after the last. */
static double signal_hops(enum ring_kind kind, int ranks)
{
	switch (kind) {
	case RING_KIND_ALL_GATHER:
	case RING_KIND_BROADCAST:
	case RING_KIND_REDUCE:
		return ranks - 2;
	case RING_KIND_GATHER: /* root answers */
	case RING_KIND_SCATTER:
		return 1;
	default: /* signals travel with the first message */
		return 0;
	}
}

static double reduced_bytes(enum ring_kind kind, int ranks, double bytes)
{
	if (kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_REDUCE_SCATTER)
		return bytes * (ranks - 1) / ranks;
	return kind == RING_KIND_REDUCE ? bytes : 0;
}

/* Cuts the blocks of a ring into chunks, of which a few go around together. */
static void cut_blocks(struct model_work *work, enum ring_kind kind, int ranks, double bytes,
		       double chunk)
{
	double block = bytes / ranks, round = MODEL_CHUNKS_PER_ROUND * chunk;
	if (ring_algorithm_of(kind) != RING_ALGORITHM_RING || block <= chunk)
		return;
	work->piece = chunk;
	work->full_rounds = floor(block / round);
	work->rest = block - work->full_rounds * round;
	work->reduce_steps = kind == RING_KIND_ALL_GATHER ? 0 : ranks - 1;
	work->copy_steps = kind == RING_KIND_REDUCE_SCATTER ? 0 : ranks - 1;
}

struct model_work model_work_of(enum ring_kind kind, int ranks, double bytes, double chunk)
{
	if (ranks < 2)
		return (struct model_work){0};
	if (kind == RING_KIND_SEND)
		return (struct model_work){.hops = 1, .sent = bytes};

	int order[MODEL_RANKS_MAX];
	for (int i = 0; i < ranks; i++)
		order[i] = i;
	/* Root sends most of a scatter and a broadcast, the others of a gather and a reduction. */
	struct ring_plan_cost root = cost_at(kind, ranks, bytes, 0, order);
	struct ring_plan_cost other = cost_at(kind, ranks, bytes, 1, order);
	double sent = (double)(root.sent_bytes > other.sent_bytes ? root.sent_bytes
								  : other.sent_bytes);
	if (kind == RING_KIND_GATHER) /* root receives what all others send */
		sent *= ranks - 1;
	struct model_work work = {.hops = (double)root.steps + signal_hops(kind, ranks),
				  .sent = sent,
				  .reduced = reduced_bytes(kind, ranks, bytes)};
	if (is_chain(kind)) {
		work.piece = fmin(chunk, bytes);
		work.chain_hops = ranks - 1;
	} else {
		cut_blocks(&work, kind, ranks, bytes, chunk);
	}
	return work;
}

struct model_link model_ring_link(const struct model_machine *machine, int ranks)
{
	if (machine->ranks_per_host == 0 || ranks <= machine->ranks_per_host)
		return machine->link;
	/* The ring leaves each host once. */
	double hosts = ceil((double)ranks / machine->ranks_per_host);
	double outside = hosts / ranks;
	return (struct model_link){
		.latency = outside * machine->between.latency + (1 - outside) * machine->link.latency,
		.bandwidth = fmin(machine->link.bandwidth, machine->between.bandwidth),
	};
}

static double chain_time(const struct model_machine *machine, const struct model_link *link,
			 const struct model_work *work)
{
	double send = 1 / link->bandwidth, reduce = work->reduced > 0 ? 1 / machine->reduce_rate : 0;
	return machine->overhead + work->hops * link->latency +
	       work->chain_hops * work->piece * (send + reduce) +
	       (work->sent - work->piece) * fmax(send, reduce);
}

/* The time of a step of a round of `bytes`, in which pieces may also be reduced. */
static double round_step(const struct model_link *link, double bytes, double piece, double rate)
{
	double first = fmin(bytes, piece), way = link->latency + first / link->bandwidth;
	double busy = fmax(bytes / link->bandwidth, bytes / rate);
	return fmax(busy, way + first / rate);
}

static double ring_time_in_pieces(const struct model_machine *machine,
				  const struct model_link *link, const struct model_work *work)
{
	double round = MODEL_CHUNKS_PER_ROUND * work->piece, rate = machine->reduce_rate;
	double reduce = work->full_rounds * round_step(link, round, work->piece, rate) +
			(work->rest > 0 ? round_step(link, work->rest, work->piece, rate) : 0);
	double copy = work->full_rounds * round_step(link, round, work->piece, INFINITY) +
		      (work->rest > 0 ? round_step(link, work->rest, work->piece, INFINITY) : 0);
	double signals = work->hops - work->reduce_steps - work->copy_steps;

	/* Nothing follows the last round, so its whole latency counts. */
	double last = work->rest > 0 ? work->rest : round;
	double tail = last / link->bandwidth + link->latency -
		      round_step(link, last, work->piece, INFINITY);
	return machine->overhead + signals * link->latency + work->reduce_steps * reduce +
	       work->copy_steps * copy + tail;
}

double model_time(const struct model_machine *machine, int ranks, const struct model_work *work)
{
	struct model_link link = model_ring_link(machine, ranks);
	if (work->chain_hops > 0)
		return chain_time(machine, &link, work);
	if (work->piece > 0)
		return ring_time_in_pieces(machine, &link, work);
	return machine->overhead + work->hops * link.latency + work->sent / link.bandwidth +
	       work->reduced / machine->reduce_rate;
}

/* ---- other algorithms for all-reduce ------------------------------------------------------ */

static double ring_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_work work = model_work_of(RING_KIND_ALL_REDUCE, ranks, bytes, INFINITY);
	return model_time(machine, ranks, &work);
}

static double pipelined_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_work work = model_work_of(RING_KIND_ALL_REDUCE, ranks, bytes, machine->chunk);
	return model_time(machine, ranks, &work);
}

static double log2_up(int ranks)
{
	return ceil(log2(ranks));
}

static double doubling_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_link link = model_ring_link(machine, ranks);
	double step = link.latency + bytes / link.bandwidth + bytes / machine->reduce_rate;
	return machine->overhead + log2_up(ranks) * step;
}

/*
 * Ranks beyond a power of two first send their vector to another rank, and get the result from it.
 */
static double rabenseifner_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_link link = model_ring_link(machine, ranks);
	double core = exp2(floor(log2(ranks))), share = (core - 1) / core * bytes;
	double time = machine->overhead + 2 * log2(core) * link.latency +
		      2 * share / link.bandwidth + share / machine->reduce_rate;
	if (core < ranks)
		time += 2 * link.latency + 2 * bytes / link.bandwidth + bytes / machine->reduce_rate;
	return time;
}

static double binomial_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_link link = model_ring_link(machine, ranks);
	return machine->overhead + log2_up(ranks) * (2 * (link.latency + bytes / link.bandwidth) +
						     bytes / machine->reduce_rate);
}

static double two_trees_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_link link = model_ring_link(machine, ranks);
	double piece = fmin(machine->chunk, bytes);
	return machine->overhead + 2 * log2_up(ranks) * (link.latency + piece / link.bandwidth) +
	       2 * bytes / link.bandwidth + bytes / machine->reduce_rate;
}

/* A ring in each host, then rings between hosts with each rank's share of the vector, and back. */
static double hierarchical_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_machine inside = *machine, outside = *machine;
	int on_host = machine->ranks_per_host < ranks ? machine->ranks_per_host : ranks;
	int hosts = (ranks + on_host - 1) / on_host;
	inside.ranks_per_host = outside.ranks_per_host = 0;
	outside.link = machine->between;
	outside.overhead = 0;
	double time = on_host > 1 ? ring_time(&inside, on_host, bytes) : machine->overhead;
	return time + (hosts > 1 ? ring_time(&outside, hosts, bytes / on_host) : 0);
}

/* A switch or server adds: every rank sends its bytes there once, and gets the sum back. */
static double in_network_time(const struct model_machine *machine, int ranks, double bytes)
{
	struct model_link link = model_ring_link(machine, ranks);
	double piece = fmin(machine->chunk, bytes);
	return machine->overhead + 2 * link.latency + (bytes + piece) / link.bandwidth;
}

const struct model_algorithm model_algorithms[] = {
	{"ring", "2(N-1)a + 2(N-1)/N S/B + (N-1)/N S/g", false, ring_time},
	{"ring, in chunks", "2(N-1) r max(2c/B, a + c/B), r rounds of 2 chunks; reducing overlaps",
	 false, pipelined_time},
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
