/* SPDX-License-Identifier: MIT */
/*
 * Calls with uneven parts over every transport, blocking, on a stream and in groups: every element,
 * what lies between parts, and the payload's bytes. Then what ranks disagree about, and what no call
 * can take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/choice.h"
#include "tests/multi/uneven.h"
#include "tests/multi/verdict.h"

#define RANKS_MOST 8
#define MOST 3000 /* elements of a part */
#define LONGEST (RANKS_MOST * (MOST + 8) * ELEMENT_BYTES_MAX)
#define CANARY 0xee

struct plan {
	const char *algorithm; /* NULL: the library chooses */
	size_t chunk_bytes;
	int depth, channels;
	int calls;
	uint64_t seed;
};

/* Everybody's send and recv, which all see. */
struct area {
	unsigned char send[LONGEST], recv[LONGEST];
};

/* ---- right calls ----------------------------------------------------------------------------- */

static struct uneven some_call(int size, uint64_t *state)
{
	static const size_t most[] = {0, 1, 2, 7, 100, MOST};
	static const enum ring_datatype types[] = {RING_FLOAT32, RING_UINT8, RING_INT64,
						   RING_BFLOAT16};
	struct uneven uneven = {.kind = (enum uneven_kind)(harness_random(state) % UNEVEN_KINDS),
				.type = types[harness_random(state) % 4],
				.op = harness_random(state) % 2 ? RING_SUM : RING_MAX,
				.size = size,
				.root = (int)(harness_random(state) % (unsigned)size),
				.most = most[harness_random(state) % 6],
				.placed = harness_random(state) % 2,
				.seed = harness_random(state) % 100000};
	if (uneven.kind == REDUCE_SCATTERV)
		uneven.placed = false;
	return uneven;
}

static void fill(struct area *area, const struct uneven *uneven, uint64_t state)
{
	size_t bytes = element_bytes(uneven->type);
	memset(area, CANARY, sizeof(*area));
	for (size_t i = 0; i < sizeof(area->send) / bytes; i++)
		element_put(uneven->type, area->send + i * bytes,
			    (double)(harness_random(&state) % 7));
}

/* Where the call works: in place, recv has the input as well, or recv is a part of it there. */
struct buffers {
	unsigned char *send, *recv;
};

static struct buffers place(const struct uneven *uneven, int rank, struct area *area, bool in_place)
{
	size_t bytes = element_bytes(uneven->type);
	struct buffers buffers = {area->send, area->recv};
	if (!in_place)
		return buffers;
	buffers.send = area->recv + uneven_recv_begin(uneven, rank, rank) * bytes;
	memcpy(buffers.send, area->send, uneven_send_length(uneven, rank) * bytes);
	buffers.recv = area->recv + uneven_send_begin(uneven, rank, rank) * bytes;
	return buffers;
}

static int wrong(const struct harness_rank *self, const struct uneven *uneven, bool in_place,
		 const char *what, size_t where)
{
	char text[CALL_TEXT];
	return harness_fail(self, "%s%s: %s at element %zu", uneven_text(uneven, text),
			    in_place ? ", in place" : "", what, where);
}

static int check(const struct harness_rank *self, const struct uneven *uneven,
		 const struct call_way *way, const unsigned char *recv, bool in_place)
{
	const struct area *areas = self->shared;
	const size_t bytes = element_bytes(uneven->type);
	const void *inputs[RANKS_MOST];
	unsigned char want[ELEMENT_BYTES_MAX], untouched[ELEMENT_BYTES_MAX];
	memset(untouched, CANARY, sizeof(untouched));
	for (int r = 0; r < self->size; r++)
		inputs[r] = areas[r].send;
	size_t end = uneven_recv_length(uneven, self->rank);
	for (size_t i = 0; i < end + !in_place; i++) {
		bool is_part = i < end && uneven_replay(uneven, way, self->rank, i, inputs, want);
		if (memcmp(recv + i * bytes, is_part ? want : untouched, bytes) != 0)
			return wrong(self, uneven, in_place,
				     is_part ? "wrong result" : "wrote between parts", i);
	}
	return 0;
}

static int count(const struct harness_rank *self, struct ring_comm *comm,
		 const struct uneven *uneven, const struct call_way *way,
		 const struct ring_stats *before)
{
	struct ring_stats after = {.size = sizeof(after)};
	int position = 0;
	char text[CALL_TEXT];
	while (way->order[position] != self->rank)
		position++;
	if (ring_comm_stats(comm, &after))
		return harness_fail(self, "no statistics");
	uint64_t sent = after.sent_bytes - before->sent_bytes;
	uint64_t received = after.received_bytes - before->received_bytes;
	if (sent == uneven_sent_bytes(uneven, way, position) &&
	    received == uneven_received_bytes(uneven, way, position))
		return 0;
	return harness_fail(self, "%s: sent %llu bytes and received %llu, expected %llu and %llu",
			    uneven_text(uneven, text), (unsigned long long)sent,
			    (unsigned long long)received,
			    (unsigned long long)uneven_sent_bytes(uneven, way, position),
			    (unsigned long long)uneven_received_bytes(uneven, way, position));
}

/* Blocking, on the stream, or in a group. */
static int make(struct ring_comm *comm, struct ring_stream *stream, const struct uneven *uneven,
		const struct buffers *buffers, unsigned how)
{
	int err = how == 2 ? ring_group_start() : 0;
	if (!err)
		err = uneven_make(comm, uneven, buffers->send, buffers->recv,
				  how == 1 ? stream : NULL);
	int end_err = how == 2 ? ring_group_end() : 0;
	if (!err && how == 1)
		err = ring_stream_wait(stream, ring_stream_position(stream));
	return err ? err : end_err;
}

static int try_call(const struct harness_rank *self, struct ring_comm *comm,
		    struct ring_stream *stream, uint64_t state)
{
	struct area *area = (struct area *)self->shared + self->rank;
	struct uneven uneven = some_call(self->size, &state);
	struct ring_stats before = {.size = sizeof(before)};
	const bool in_place = uneven.kind != ALL_TO_ALLV && harness_random(&state) % 2;
	const unsigned how = harness_random(&state) % (stream ? 3 : 1);
	fill(area, &uneven, state + (uint64_t)self->rank);
	const struct buffers buffers = place(&uneven, self->rank, area, in_place);
	if (ring_comm_stats(comm, &before))
		return harness_fail(self, "no statistics");
	if (make(comm, stream, &uneven, &buffers, how))
		return wrong(self, &uneven, in_place, ring_comm_error(comm), 0);
	harness_barrier((struct harness_rank *)self);
	const struct call_way way = choice_of_uneven(comm, &uneven);
	int bad = check(self, &uneven, &way, buffers.recv, in_place) ||
		  count(self, comm, &uneven, &way, &before);
	harness_barrier((struct harness_rank *)self);
	return bad;
}

static int make_calls(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct ring_options options;
	struct ring_comm *comm;
	struct ring_stream *stream = NULL;
	harness_options(self, &options);
	options.algorithm = plan->algorithm;
	options.chunk_bytes = plan->chunk_bytes;
	options.depth = plan->depth;
	options.channels = plan->channels;
	if (harness_join(self, &options, &comm))
		return 1;
	int bad = 0;
	for (int i = 0; !bad && i < plan->calls; i++) {
		if (i == plan->calls / 2 && ring_stream_create(comm, &stream))
			bad = harness_fail(self, "%s", ring_comm_error(comm));
		uint64_t state = plan->seed * 1009 + (uint64_t)i;
		bad = bad || try_call(self, comm, stream, state);
	}
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	return bad;
}

static int run_calls(uint64_t seed)
{
	static const struct plan plans[] = {
		{NULL, 0, 0, 0, 0, 0},    {"ring", 0, 0, 0, 0, 0},     {"oneshot", 0, 0, 0, 0, 0},
		{"ring", 64, 1, 3, 0, 0}, {"oneshot", 64, 1, 1, 0, 0}, {"direct", 512, 2, 2, 0, 0},
	};
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int size = 1; size <= RANKS_MOST; size += size < 5 ? 1 : 3) {
			struct plan plan = plans[(w + size) % 6];
			plan.calls = harness_is_quick() ? 20 : 60;
			plan.seed = seed + (uint64_t)(w * 100 + size);
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = make_calls,
					       .context = &plan,
					       .shared_bytes = RANKS_MOST * sizeof(struct area)};
			snprintf(team.label, sizeof(team.label), "%s, %d ranks, %s, --seed %llu",
				 team.world->name, size, plan.algorithm ? plan.algorithm : "chosen",
				 (unsigned long long)seed);
			if (harness_run(&team))
				return 1;
		}
	return 0;
}

/* ---- calls in a row --------------------------------------------------------------------------- */

#define N 3
#define ALL 6 /* elements of all ranks */

/* Rank r has elements 10 r and up. */
static bool is_gathered(const float *recv, const size_t counts[N])
{
	for (int r = 0; r < N; r++)
		for (size_t i = 0; i < counts[r]; i++)
			if (*recv++ != (float)(10 * r) + (float)i)
				return false;
	return true;
}

/* Of the same sum, and with the program's arrays overwritten behind each call. */
static int gather_in_turns(struct harness_rank *self, struct ring_comm *comm,
			   struct ring_stream *stream, bool grouped)
{
	static const size_t turns[][N] = {{1, 2, 3}, {3, 1, 2}, {0, 6, 0}, {2, 2, 2}};
	const float base = (float)(10 * self->rank);
	const float send[ALL] = {base, base + 1, base + 2, base + 3, base + 4, base + 5};
	float recv[4][ALL];
	size_t counts[N];
	int err = grouped ? ring_group_start() : 0;
	for (int i = 0; i < 4 && !err; i++) {
		memcpy(counts, turns[i], sizeof(counts));
		err = ring_all_gatherv(comm, send, recv[i], counts, NULL, RING_FLOAT32, stream);
		memset(counts, CANARY, sizeof(counts));
	}
	if (grouped && !err)
		err = ring_group_end();
	if (stream && !err)
		err = ring_stream_wait(stream, ring_stream_position(stream));
	for (int i = 0; i < 4 && !err; i++)
		if (!is_gathered(recv[i], turns[i]))
			return harness_fail(self, "call %d of a row%s%s: wrong result", i,
					    stream ? " on a stream" : "",
					    grouped ? " of a group" : "");
	return err ? harness_fail(self, "%s", ring_comm_error(comm)) : 0;
}

static int gather_in_a_row(struct harness_rank *self)
{
	struct ring_comm *comm;
	struct ring_stream *stream = NULL;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = gather_in_turns(self, comm, NULL, false) ||
		  gather_in_turns(self, comm, NULL, true);
	if (!bad && ring_stream_create(comm, &stream))
		bad = harness_fail(self, "%s", ring_comm_error(comm));
	bad = bad || gather_in_turns(self, comm, stream, false) ||
	      gather_in_turns(self, comm, stream, true);
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	return bad;
}

/* ---- ranks that disagree --------------------------------------------------------------------- */

#define FEW 4

/* Rank 1 says `odd` of itself, or of what rank 2 sends or gets, where others say FEW. */
struct clash {
	enum uneven_kind kind;
	const char *words[2];
};

static const struct clash clashes[] = {
	{REDUCE_SCATTERV, {"of 12 float", "of 17 float"}},
	{ALL_GATHERV, {"of 12 float", "of 17 float"}},
	{GATHERV, {"4 elements with rank 1", "9 elements with rank 0"}},
	{SCATTERV, {"4 elements with rank 1", "9 elements with rank 0"}},
	{ALL_TO_ALLV, {"4 elements with rank", "9 elements with rank"}},
};

static int make_clash(struct ring_comm *comm, enum uneven_kind kind, bool is_odd, const float *send,
		      float *recv)
{
	size_t even[N] = {FEW, FEW, FEW}, other[N] = {FEW, FEW, is_odd ? 9 : FEW};
	size_t one = is_odd ? 9 : FEW;
	switch (kind) {
	case REDUCE_SCATTERV:
		return ring_reduce_scatterv(comm, send, recv, other, RING_FLOAT32, RING_SUM, NULL);
	case ALL_GATHERV:
		return ring_all_gatherv(comm, send, recv, other, NULL, RING_FLOAT32, NULL);
	case GATHERV:
		return ring_gatherv(comm, send, one, recv, even, NULL, RING_FLOAT32, 0, NULL);
	case SCATTERV:
		return ring_scatterv(comm, send, even, NULL, recv, one, RING_FLOAT32, 0, NULL);
	default:
		return ring_all_to_allv(comm, send, other, NULL, recv, even, NULL, RING_FLOAT32,
					NULL);
	}
}

/* The same sums, but other parts. */
static int swap_parts(struct harness_rank *self, struct ring_comm *comm, const float *send,
		      float *recv)
{
	const size_t odd = self->rank == 1, counts[N] = {FEW + odd, FEW, FEW - odd};
	int err = ring_all_gatherv(comm, send, recv, counts, NULL, RING_FLOAT32, NULL);
	return expect_verdict(self, "other parts", err, RING_EMISMATCH, comm,
			      "12 float, in parts #");
}

static int clash(struct harness_rank *self)
{
	const struct clash *clash = self->context;
	struct ring_comm *comm;
	float send[64] = {0}, recv[64];
	unsigned char before[sizeof(recv)];
	memset(recv, CANARY, sizeof(recv));
	memcpy(before, recv, sizeof(recv));
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = expect_works(self, comm, "creation");
	harness_barrier(self); /* all have seen that */
	if (!clash)
		bad |= swap_parts(self, comm, send, recv);
	for (int i = 0; clash && i < 2; i++) {
		int err = make_clash(comm, clash->kind, self->rank == 1, send, recv);
		if (clash->kind == ALL_TO_ALLV && !err) /* this rank's parts were as expected */
			err = ring_barrier(comm, NULL);
		bad |= expect_verdict(self, clash->words[i], err, RING_EMISMATCH, comm,
				      clash->words[i]);
	}
	if ((!clash || clash->kind != ALL_TO_ALLV) && memcmp(before, recv, sizeof(recv)) != 0)
		bad = harness_fail(self, "recv was touched");
	ring_comm_destroy(comm);
	return bad;
}

static int run_clashes(void)
{
	const int count = sizeof(clashes) / sizeof(clashes[0]);
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int i = 0; i <= count; i++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = N,
					       .body = clash,
					       .context = i < count ? (void *)&clashes[i] : NULL};
			snprintf(team.label, sizeof(team.label), "%s, clash %d", team.world->name,
				 i);
			if (harness_run(&team))
				return 1;
		}
	return 0;
}

/* ---- what no call takes ---------------------------------------------------------------------- */

static int refused(struct harness_rank *self, struct ring_comm *comm, int err, const char *words)
{
	return expect_verdict(self, words, err, RING_EINVAL, comm, words);
}

static int bad_counts(struct harness_rank *self, struct ring_comm *comm)
{
	float a[64] = {0}, b[64];
	const size_t counts[N] = {1, 2, 3}, other[N] = {4, 4, 4}, huge[N] = {1, SIZE_MAX / 2, 1};
	const size_t far[N] = {0, SIZE_MAX - 1, 9};
	const enum ring_datatype type = RING_FLOAT32;
	const int rank = self->rank;
	int bad = refused(self, comm, ring_all_gatherv(comm, a, b, NULL, NULL, type, NULL),
			  "all_gatherv: recv_counts is NULL");
	bad |= refused(self, comm, ring_reduce_scatterv(comm, a, b, NULL, type, RING_SUM, NULL),
		       "reduce_scatterv: send_counts is NULL");
	bad |= refused(self, comm, ring_all_gatherv(comm, a, b, huge, NULL, type, NULL),
		       "recv_counts[1]: 9223372036854775807 elements behind 1 others");
	bad |= refused(self, comm, ring_all_gatherv(comm, a, b, counts, far, type, NULL),
		       "more than memory can hold");
	bad |= refused(self, comm, ring_all_gatherv(comm, NULL, b, counts, NULL, type, NULL),
		       "send is NULL");
	bad |= refused(self, comm, ring_all_gatherv(comm, b + 5, b, other, NULL, type, NULL),
		       "disjoint or exactly in place");
	bad |= refused(self, comm,
		       ring_scatterv(comm, a, counts, NULL, b, counts[rank], type, N, NULL),
		       "scatterv: root 3");
	bad |= refused(self, comm,
		       ring_gatherv(comm, a, SIZE_MAX / 3, b, counts, NULL, type, rank, NULL),
		       "more than memory");
	bad |= refused(self, comm, ring_gatherv(comm, a, 7, b, counts, NULL, type, rank, NULL),
		       "sends itself 7 elements");
	bad |= refused(self, comm,
		       ring_all_to_allv(comm, a, counts, NULL, b, other, NULL, type, NULL),
		       "but receives 4 from itself");
	bad |= refused(self, comm,
		       ring_all_to_allv(comm, a, counts, NULL, a + 5, counts, NULL, type, NULL),
		       "overlap; they must be disjoint");
	bad |= refused(self, comm, ring_reduce_scatterv(comm, a, b, counts, type, RING_BOR, NULL),
		       "bor works on the bits");
	bad |= refused(self, comm, ring_gatherv(comm, a, 1, NULL, other, NULL, type, rank, NULL),
		       "gatherv: ");
	return bad || expect_works(self, comm, "bad counts");
}

static int be_refused(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = bad_counts(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

int main(int argc, char **argv)
{
	const uint64_t seed = harness_seed(argc, argv);
	double began = harness_clock();
	struct harness alone = {.world = &harness_worlds[0], .size = N, .body = be_refused};
	struct harness row = {.world = &harness_worlds[1], .size = N, .body = gather_in_a_row};
	if (harness_run(&alone) || harness_run(&row) || run_clashes() || run_calls(seed))
		return 1;
	printf("uneven parts: results, gaps, bytes, differences, refusals; --seed %llu (%.1f s)\n",
	       (unsigned long long)seed, harness_clock() - began);
	return 0;
}
