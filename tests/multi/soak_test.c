/* SPDX-License-Identifier: MIT */
/*
 * Random calls on random numbers, compared bit for bit with a second computation in the documented
 * order of additions. The same calls are made again over other transports and with other chunks,
 * depths and channels: all these must agree in every bit, of which a hash is printed.
 *
 *	soak_test [--long] [--seed N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/comm.h"
#include "tests/harness.h"
#include "tests/multi/calls.h"

#define RANKS 8
#define SLACK 256 /* room before and behind a buffer's bytes: shifts and a guard */

/* One way to make the calls. Those of one group make the same ring, so they agree in all bits. */
struct way {
	struct harness_world world;
	size_t chunk_bytes;
	int depth, chunks_per_round, channels;
	int group;
};

static const struct way ways[] = {
	{{"shm", false, "shm", 0}, 0, 0, 0, 0, 0},
	{{"shm again", false, "shm", 0}, 0, 0, 0, 0, 0},
	{{"shm, deep", false, "shm", 0}, 8192, 8, 3, 4, 0},
	{{"loopback", true, "loopback", 0}, 4096, 1, 1, 2, 0},
	{{"tcp", false, "tcp", 0}, 16384, 2, 2, 3, 0},
	{{"mixed", false, NULL, 2}, 0, 0, 0, 0, 1},
	{{"mixed, shallow", false, NULL, 2}, 10000, 1, 4, 1, 1},
};
#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))
#define GROUPS 2

/* What to do; all ranks and all ways do the same. */
struct plan {
	uint64_t seed;
	unsigned calls;
	size_t most_bytes; /* of any buffer */
	const struct way *way;
};

/* One random call. */
struct deed {
	struct call call;
	bool in_place;
	bool special; /* some inputs are subnormal, infinite or not a number */
	size_t send_shift, recv_shift;
	uint64_t seed; /* of the inputs */
};

/* Shared by the ranks: everybody's input and output, and what they found. */
struct board {
	uint64_t hashes[RANKS]; /* of the results each rank looked at */
	uint64_t hash;          /* over all calls, by rank 0 */
	unsigned char memory[]; /* 2 * size areas of most_bytes + SLACK */
};

static unsigned char *area(const struct harness_rank *self, int rank, bool output)
{
	const struct plan *plan = self->context;
	struct board *board = self->shared;
	size_t room = plan->most_bytes + SLACK;
	return board->memory + (size_t)(2 * rank + output) * room + SLACK / 2;
}

/* As likely between 1 and 2 as between a million and two. */
static size_t random_count(uint64_t *state, size_t most)
{
	unsigned bits = 0;
	while (bits < 63 && most >> bits > 1)
		bits++;
	size_t low = (size_t)1 << harness_random(state) % (bits + 1);
	size_t count = low + harness_random(state) % low;
	return count < most ? count : most;
}

static struct deed random_deed(const struct plan *plan, unsigned number, int size)
{
	uint64_t state = plan->seed * 1000003 + number * 31 + (uint64_t)size;
	static const enum call_kind kinds[] = {ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER,
					       ALL_REDUCE, REDUCE_SCATTER, BROADCAST};
	struct deed deed = {.call = {.kind = kinds[harness_random(&state) % 6],
				     .type = call_types[harness_random(&state) % CALL_TYPES],
				     .op = call_ops[harness_random(&state) % CALL_OPS],
				     .root = (int)(harness_random(&state) % (unsigned)size)}};
	bool in_parts = deed.call.kind == REDUCE_SCATTER || deed.call.kind == ALL_GATHER;
	size_t most = plan->most_bytes / call_element_bytes(deed.call.type);
	deed.call.count = random_count(&state, in_parts ? most / (size_t)size : most);
	deed.in_place = harness_random(&state) % 2;
	deed.special = harness_random(&state) % 3 == 0;
	if (harness_random(&state) % 4 == 0) {
		deed.send_shift = harness_random(&state) % 64;
		deed.recv_shift = harness_random(&state) % 64;
	}
	deed.seed = harness_random(&state);
	return deed;
}

/* Random bits with an exponent near one, so that the order of additions matters. */
static uint64_t ordinary(enum ring_datatype type, uint64_t bits)
{
	uint64_t exponent = bits >> 56 & 15;
	switch (type) {
	case RING_FLOAT32:
		return (bits & 0x807fffff) | (120 + exponent) << 23;
	case RING_BFLOAT16:
		return (bits & 0x807f) | (120 + exponent) << 7;
	case RING_FLOAT64:
		return (bits & 0x800fffffffffffff) | (1016 + exponent) << 52;
	default:
		return bits;
	}
}

/* A subnormal or zero, or infinite or not a number; for int32 an extreme. */
static uint64_t special(enum ring_datatype type, uint64_t bits)
{
	bool top = bits >> 60 & 1, infinite = bits >> 61 & 1;
	switch (type) {
	case RING_FLOAT32:
		return top ? (bits & (infinite ? 0x80000000 : 0x807fffff)) | 0x7f800000
			   : bits & (infinite ? 0x80000000 : 0x807fffff);
	case RING_BFLOAT16:
		return top ? (bits & (infinite ? 0x8000 : 0x807f)) | 0x7f80
			   : bits & (infinite ? 0x8000 : 0x807f);
	case RING_FLOAT64:
		return top ? (bits & (infinite ? 1ull << 63 : 0x800fffffffffffff)) | 0x7ffull << 52
			   : bits & (infinite ? 1ull << 63 : 0x800fffffffffffff);
	default:
		return top ? INT32_MAX : (uint32_t)INT32_MIN;
	}
}

static void fill(const struct deed *deed, int rank, unsigned char *send, size_t bytes)
{
	uint64_t state = deed->seed + (uint64_t)rank * 0x51ed2701;
	size_t element = call_element_bytes(deed->call.type);
	for (size_t at = 0; at < bytes; at += element) {
		uint64_t bits = harness_random(&state);
		bool odd = deed->special && (bits >> 40 & 15) == 0;
		uint64_t value = odd ? special(deed->call.type, bits)
				     : ordinary(deed->call.type, bits);
		memcpy(send + at, &value, element); /* the low bytes */
	}
}

static int make_call(struct harness_rank *self, struct ring_comm *comm, const struct deed *deed)
{
	const struct call *call = &deed->call;
	size_t own = call_own_offset(call, self->rank);
	size_t send_bytes = call_send_bytes(call, self->size);
	unsigned char *send = area(self, self->rank, false) + deed->send_shift;
	unsigned char *base = area(self, self->rank, true) + deed->recv_shift;
	unsigned char *recv = base;
	fill(deed, self->rank, send, send_bytes);
	if (deed->in_place && call->kind == REDUCE_SCATTER) {
		memcpy(base, send, send_bytes);
		recv = base + own;
		send = base;
	} else if (deed->in_place) {
		memcpy(base + own, send, send_bytes);
		send = base + own;
	}
	char text[CALL_TEXT];
	int err = call_make(comm, call, send, recv, NULL);
	return err ? harness_fail(self, "%s: %s", call_text(call, text), ring_comm_error(comm)) : 0;
}

/* Element `index` of the whole vector as it must be on every rank that receives it. */
static void expect(const struct deed *deed, int size, const int *order, const void *const inputs[],
		   size_t index, void *want)
{
	const struct call *call = &deed->call;
	size_t element = call_element_bytes(call->type);
	const char *origin = inputs[call->root];
	size_t at = index;
	if (call_reduces(call)) {
		call_replay(call, size, order, index, inputs, want);
		return;
	}
	if (call->kind == ALL_GATHER) {
		origin = inputs[index / call->count];
		at = index % call->count;
	}
	memcpy(want, origin + at * element, element);
}

static uint64_t add_to_hash(uint64_t hash, const void *element, size_t bytes)
{
	uint64_t bits = 0;
	memcpy(&bits, element, bytes);
	hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static int differs(struct harness_rank *self, const struct deed *deed, int rank, size_t index,
		   const void *want, const void *got)
{
	char text[CALL_TEXT];
	uint64_t bits[2] = {0, 0};
	size_t element = call_element_bytes(deed->call.type);
	memcpy(&bits[0], want, element);
	memcpy(&bits[1], got, element);
	return harness_fail(self, "%s%s%s: element %zu of rank %d's result is %llx, not %llx",
			    call_text(&deed->call, text), deed->in_place ? ", in place" : "",
			    deed->special ? ", special values" : "", index, rank,
			    (unsigned long long)bits[1], (unsigned long long)bits[0]);
}

/* Looks at this rank's share of the elements, in every result that has them. */
static int compare(struct harness_rank *self, const struct deed *deed, const int *order)
{
	const struct call *call = &deed->call;
	struct board *board = self->shared;
	size_t element = call_element_bytes(call->type), n = (size_t)self->size;
	bool scattered = call->kind == REDUCE_SCATTER;
	size_t elements = call_recv_bytes(call, self->size) / element * (scattered ? n : 1);
	const void *inputs[RANKS];
	for (int r = 0; r < self->size; r++)
		inputs[r] = area(self, r, false) + deed->send_shift;

	uint64_t hash = 0;
	size_t begin = elements * (size_t)self->rank / n;
	size_t end = elements * ((size_t)self->rank + 1) / n;
	for (size_t i = begin; i < end; i++) {
		unsigned char want[sizeof(double)];
		expect(deed, self->size, order, inputs, i, want);
		hash = add_to_hash(hash, want, element);
		int owner = scattered ? (int)(i / call->count) : 0;
		for (int r = owner; r < (scattered ? owner + 1 : self->size); r++) {
			size_t at = scattered && !deed->in_place ? i % call->count : i;
			const unsigned char *got = area(self, r, true) + deed->recv_shift +
						   at * element;
			if (memcmp(want, got, element) != 0)
				return differs(self, deed, r, i, want, got);
		}
	}
	board->hashes[self->rank] = hash;
	return 0;
}

static int run_calls(struct harness_rank *self, struct ring_comm *comm)
{
	const struct plan *plan = self->context;
	struct board *board = self->shared;
	for (unsigned number = 0; number < plan->calls; number++) {
		struct deed deed = random_deed(plan, number, self->size);
		if (make_call(self, comm, &deed))
			return 1;
		harness_barrier(self); /* all outputs are there */
		if (compare(self, &deed, comm->order))
			return 1;
		harness_barrier(self); /* all have looked */
		for (int r = 0; self->rank == 0 && r < self->size; r++)
			board->hash = add_to_hash(board->hash, &board->hashes[r], sizeof(uint64_t));
	}
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	const struct way *way = ((const struct plan *)self->context)->way;
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.chunk_bytes = way->chunk_bytes;
	options.depth = way->depth;
	options.chunks_per_round = way->chunks_per_round;
	options.channels = way->channels;
	if (harness_join(self, &options, &comm))
		return 1;
	int bad = run_calls(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

/* returns 0 with the hash of all results */
static int run_team(int size, const struct plan *plan, uint64_t *hash)
{
	struct harness team = {
		.world = &plan->way->world,
		.size = size,
		.body = be_rank,
		.context = (void *)plan,
		.shared_bytes = sizeof(struct board) +
				(size_t)(2 * size) * (plan->most_bytes + SLACK),
		.seconds = 60 + (int)plan->calls * 5,
	};
	snprintf(team.label, sizeof(team.label), "--seed %llu", (unsigned long long)plan->seed);
	int bad = harness_start(&team) || harness_wait(&team);
	if (!bad)
		*hash = ((struct board *)team.shared)->hash;
	harness_end(&team);
	return bad;
}

static int run_size(int size, struct plan *plan, uint64_t *hash)
{
	uint64_t first[GROUPS] = {0};
	bool seen[GROUPS] = {false};
	for (int w = 0; w < WAYS; w++) {
		int group = ways[w].group;
		uint64_t got;
		plan->way = &ways[w];
		if (run_team(size, plan, &got))
			return 1;
		if (seen[group] && got != first[group]) {
			fprintf(stderr, "%d ranks, --seed %llu: %s gives other bits\n", size,
				(unsigned long long)plan->seed, ways[w].world.name);
			return 1;
		}
		seen[group] = true;
		first[group] = got;
		*hash = add_to_hash(*hash, &got, sizeof(got));
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool is_long = harness_is_long(argc, argv);
	struct plan plan = {
		.seed = harness_seed(argc, argv),
		.calls = is_long ? 36 : 6,
		.most_bytes = is_long ? 24u << 20 : 1u << 20,
	};
	double begin = harness_clock();
	uint64_t hash = 0;
	for (int size = 1; size <= RANKS; size++)
		if (run_size(size, &plan, &hash))
			return 1;
	printf("%u random calls, 1 to %d ranks, %d ways: every bit as documented; --seed %llu, "
	       "hash %016llx (%.1f s)\n",
	       plan.calls * RANKS * (unsigned)WAYS, RANKS, WAYS, (unsigned long long)plan.seed,
	       (unsigned long long)hash, harness_clock() - begin);
	return 0;
}
