/* SPDX-License-Identifier: MIT */
/*
 * What a rank sends is what ringccl.h says it sends, to the byte: payload counted at the links,
 * against the formula of every call, on every rank.
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/choice.h"

#define RANKS 8
#define LARGEST (2u << 20)
#define CALLS_MAX 4096
#define TURN_CALLS 3 /* alike */
#define TURNS (6 * TURN_CALLS)

struct board {
	unsigned calls;
	uint64_t sent[CALLS_MAX][RANKS];
};

static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 64, 1000, 4099, 30011};
#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

static int position_of(const struct ring_comm *comm)
{
	int position = 0;
	while (comm->team.order[position] != comm->team.rank)
		position++;
	return position;
}

/* The links' own counters add up to the communicator's. */
static int check_links(const struct harness_rank *self, const struct ring_stats *stats)
{
	uint64_t sent = 0, received = 0;
	for (int i = 0; i < stats->link_count; i++)
		*(stats->links[i].outgoing ? &sent : &received) += stats->links[i].payload_bytes;
	if (sent == stats->sent_bytes && received == stats->received_bytes)
		return 0;
	return harness_fail(self, "the links sent %llu of %llu bytes and received %llu of %llu",
			    (unsigned long long)sent, (unsigned long long)stats->sent_bytes,
			    (unsigned long long)received, (unsigned long long)stats->received_bytes);
}

/* An input goes up a tree once for each bit of its place, and the sum down to all others. */
static uint64_t tree_vectors(uint64_t size)
{
	uint64_t vectors = size - 1;
	for (uint64_t place = 0; place < size; place++)
		vectors += (uint64_t)__builtin_popcountll(place);
	return vectors;
}

/* What all ranks send together. */
static uint64_t total_bytes(const struct call *call, const struct call_way *way)
{
	uint64_t size = (uint64_t)way->size, others = size - 1,
		 part = call->count * element_bytes(call->type);
	uint64_t share = (call->count + size - 1 - (uint64_t)call->root) / size; /* root's */
	switch (call->kind) {
	case ALL_REDUCE:
		if (way->algorithm == BY_TREE)
			return tree_vectors(size) * part;
		return (way->algorithm == BY_ONE_SHOT ? size : 2) * others * part;
	case REDUCE_SCATTER:
	case ALL_GATHER:
	case ALL_TO_ALL:
		return others * part * size;
	case BARRIER:
		return 0;
	case REDUCE: /* directly each rank's block comes to that rank, and then to root */
		return others * part +
		       (way->algorithm == DIRECTLY ? part - share * element_bytes(call->type) : 0);
	default:
		return others * part;
	}
}

/* All ranks have made the call, of which this one sent so much. */
static int check_total(struct harness_rank *self, const struct call *call,
		       const struct call_way *way, uint64_t sent)
{
	struct board *board = self->shared;
	char text[CALL_TEXT];
	uint64_t all = 0, want = total_bytes(call, way);
	board->sent[board->calls][self->rank] = sent;
	harness_barrier(self);
	for (int r = 0; r < self->size; r++)
		all += board->sent[board->calls][r];
	harness_barrier(self);
	if (self->rank == 0)
		board->calls++;
	harness_barrier(self);
	if (all == want)
		return 0;
	return harness_fail(self, "%s: all sent %llu bytes, not %llu", call_text(call, text),
			    (unsigned long long)all, (unsigned long long)want);
}

/* The counters grew by `calls` calls and by the bytes that these send and receive. */
static int check_growth(struct harness_rank *self, const struct call *call,
			const struct ring_stats *before, const struct ring_stats *after,
			uint64_t calls, uint64_t sends, uint64_t receives)
{
	char text[CALL_TEXT];
	uint64_t sent = after->sent_bytes - before->sent_bytes;
	uint64_t received = after->received_bytes - before->received_bytes;
	if (sent != sends || received != receives)
		return harness_fail(self, "%s: sent %llu bytes, not %llu; received %llu, not %llu",
				    call_text(call, text), (unsigned long long)sent,
				    (unsigned long long)sends, (unsigned long long)received,
				    (unsigned long long)receives);
	if (after->calls != before->calls + calls)
		return harness_fail(self, "%s: counted as %llu calls", call_text(call, text),
				    (unsigned long long)(after->calls - before->calls));
	return check_links(self, after);
}

static int check_call(struct harness_rank *self, struct ring_comm *comm, const struct call *call,
		      void *send, void *recv)
{
	struct ring_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	char text[CALL_TEXT];
	if (ring_comm_stats(comm, &before) || call_make(comm, call, send, recv, NULL) ||
	    ring_comm_stats(comm, &after))
		return harness_fail(self, "%s: %s", call_text(call, text), ring_comm_error(comm));
	struct call_way way = choice_of(comm, call, false);
	int position = position_of(comm);
	uint64_t sends = call_sent_bytes(call, &way, position);
	uint64_t receives = call_received_bytes(call, &way, position);
	return check_growth(self, call, &before, &after, 1, sends, receives) ||
	       check_total(self, call, &way, sends);
}

/* Small calls in turn, more than are kept, and nobody asks in between what was sent. */
static int check_turns(struct harness_rank *self, struct ring_comm *comm, void *send, void *recv)
{
	struct ring_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	struct call call = {.kind = ALL_REDUCE, .type = RING_INT32, .op = RING_SUM};
	uint64_t sends = 0, receives = 0, calls = 0;
	int position = position_of(comm);
	int err = ring_comm_stats(comm, &before);
	for (; calls < TURNS && !err; calls++) {
		call.count = 1 + calls / TURN_CALLS;
		struct call_way way = choice_of(comm, &call, false);
		err = call_make(comm, &call, send, recv, NULL);
		sends += call_sent_bytes(&call, &way, position);
		receives += call_received_bytes(&call, &way, position);
	}
	if (err || ring_comm_stats(comm, &after))
		return harness_fail(self, "calls in turn: %s", ring_comm_error(comm));
	return check_growth(self, &call, &before, &after, calls, sends, receives);
}

/* Every rank sends to the one `distance` further and receives from the one as far behind. */
static int check_shift(struct harness_rank *self, struct ring_comm *comm, int distance,
		       size_t count, void *send, void *recv)
{
	struct ring_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	const int n = self->size, to = (self->rank + distance) % n;
	const struct call out = {.kind = SEND, .count = count, .type = RING_INT32, .root = to};
	const struct call in = {.kind = RECV,
				.count = count,
				.type = RING_INT32,
				.root = (self->rank + n - distance) % n};
	uint64_t bytes = to == self->rank ? 0 : count * sizeof(int32_t);
	if (ring_comm_stats(comm, &before) || ring_group_start() ||
	    call_make(comm, &out, send, NULL, NULL) || call_make(comm, &in, NULL, recv, NULL) ||
	    ring_group_end() || ring_comm_stats(comm, &after))
		return harness_fail(self, "shift by %d: %s", distance, ring_comm_error(comm));
	return check_growth(self, &out, &before, &after, 2, bytes, bytes);
}

static int check_kind(struct harness_rank *self, struct ring_comm *comm, enum call_kind kind,
		      void *send, void *recv)
{
	for (int c = 0; c < COUNTS; c++)
		for (int t = (c + (int)kind) % 6; t < ELEMENT_TYPES; t += 6) {
			struct call call = {.kind = kind,
					    .count = kind == BARRIER ? 0 : counts[c],
					    .type = (enum ring_datatype)t,
					    .op = RING_SUM,
					    .root = (c + t) % self->size};
			if (check_call(self, comm, &call, send, recv))
				return 1;
		}
	return 0;
}

static int check_all(struct harness_rank *self, struct ring_comm *comm, void *send, void *recv)
{
	for (int kind = 0; kind < CALL_COLLECTIVES; kind++)
		if (check_kind(self, comm, (enum call_kind)kind, send, recv))
			return 1;
	for (int distance = 0; distance < self->size; distance++)
		if (check_shift(self, comm, distance, counts[distance % COUNTS], send, recv))
			return 1;
	return check_turns(self, comm, send, recv);
}

/* How a team's communicator is made. */
struct way {
	size_t chunk_bytes;
	const char *algorithm;
};

static int be_rank(struct harness_rank *self)
{
	const struct way *way = self->context;
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.chunk_bytes = way->chunk_bytes;
	options.algorithm = way->algorithm;
	options.channels = 2;
	if (harness_join(self, &options, &comm))
		return 1;
	void *send = calloc(1, LARGEST), *recv = calloc(1, LARGEST);
	int bad = !send || !recv || check_all(self, comm, send, recv);
	free(send);
	free(recv);
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	static const size_t chunks[] = {0, 96, 4096};
	static const char *const algorithms[] = {"ring",   "oneshot", "stride", "twoshot", "bruck",
						 "staged", "direct",  "tree",   NULL};
	unsigned calls = 0, teams = 0;
	for (int size = 1; size <= RANKS; size++)
		for (int w = 0; w < HARNESS_WORLDS; w++, teams++) {
			struct way way = {chunks[teams % 3], algorithms[(size + w) % 9]};
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank,
					       .context = &way,
					       .shared_bytes = sizeof(struct board)};
			snprintf(team.label, sizeof(team.label), "chunk %zu, algorithm %s",
				 way.chunk_bytes, way.algorithm ? way.algorithm : "chosen");
			int bad = harness_start(&team) || harness_wait(&team);
			calls += bad ? 0 : ((struct board *)team.shared)->calls;
			harness_end(&team);
			if (bad)
				return 1;
		}
	printf("%u calls of %u teams, 1 to %d ranks: payload bytes equal the formulas exactly\n",
	       calls, teams, RANKS);
	return 0;
}
