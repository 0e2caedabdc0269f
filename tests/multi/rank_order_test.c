/* SPDX-License-Identifier: MIT */
/*
 * With options.order "rank" a sum of floats is x[0] + x[1] + ... + x[N-1], by ranks, wherever the
 * numbers lie and however long the vector is: every reducing call, by every algorithm that can,
 * blocking and on streams, in place and not. Vectors repeat one set of values from a random one on,
 * so that all of them come to lie at all edges of blocks, chunks and vectors; the sums of the set are
 * computed once, without the library. Bytes are those of the formulas.
 *
 *	rank_order_test [--long] [--seed N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/choice.h"
#include "tests/multi/rank_set.h"
#include "tests/multi/verdict.h"
#include "tests/place.h"

#define RANKS RANK_SET_RANKS
#define VALUES RANK_SET_VALUES
#define MI ((size_t)1 << 20)

static const char *const algorithms[] = {NULL,     "oneshot", "twoshot", "bruck",
					 "staged", "direct",  "tree"};
#define ALGORITHMS (int)(sizeof(algorithms) / sizeof(algorithms[0]))

struct plan {
	uint64_t seed;
	const char *algorithm; /* NULL: the library chooses */
	size_t chunk_bytes;
	int calls;
	size_t usual, largest; /* elements of a vector, and of the last one, at most */
};

struct trial {
	struct call call;
	bool uneven, in_place, streamed;
	int type, op; /* places in the set */
	size_t first; /* which value is the vector's first */
	size_t counts[RANKS];
};

/* A rank, and what it works with. */
struct work {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct ring_stream *stream;
	unsigned char *send, *recv; /* largest elements each */
	struct rank_set set;
};

/* ---- the set --------------------------------------------------------------------------------- */

/* Elements of the set, from number `first` on, over and over. */
static void lay(unsigned char *buffer, size_t count, const unsigned char *set, size_t first,
		size_t bytes)
{
	for (size_t i = 0, k = first % VALUES; i < count; i++, k = k + 1 < VALUES ? k + 1 : 0)
		memcpy(buffer + i * bytes, set + k * bytes, bytes);
}

/* The first element that is another one; count: there is none. */
static size_t find_other(const unsigned char *buffer, size_t count, const unsigned char *set,
			 size_t first, size_t bytes)
{
	size_t i = 0, k = first % VALUES;
	while (i < count && memcmp(buffer + i * bytes, set + k * bytes, bytes) == 0) {
		i++;
		k = k + 1 < VALUES ? k + 1 : 0;
	}
	return i;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* About nothing, the ranks, a chunk and a few, or anything; all alike on all ranks. */
static size_t some_count(const struct plan *plan, int size, int type, uint64_t *dice)
{
	size_t n = (size_t)size, chunk = plan->chunk_bytes / element_bytes(rank_set_types[type]);
	uint64_t pick = harness_random(dice);
	const size_t edges[] = {1, n, 2 * n, chunk, chunk * n, 3 * chunk * n};
	if (pick % 3 == 0)
		return edges[pick / 3 % 6] + pick / 64 % 3 - (pick / 3 % 6 > 0);
	return 1 + harness_random(dice) % (pick % 3 == 1 ? plan->usual : 100);
}

/* `count` is of the whole vector. */
static struct trial some_trial(const struct plan *plan, int size, int number, uint64_t *dice)
{
	static const enum call_kind kinds[] = {ALL_REDUCE, ALL_REDUCE, REDUCE_SCATTER,
					       REDUCE,     ALL_REDUCE, REDUCE_SCATTER};
	uint64_t pick = harness_random(dice);
	struct trial trial = {.uneven = number % 6 == 5,
			      .in_place = pick & 1,
			      .streamed = pick >> 1 & 1,
			      .type = (int)(pick >> 20 & 0xffff) % RANK_SET_TYPES,
			      .op = (int)(pick >> 40) % RANK_SET_OPS,
			      .first = pick >> 3 & 0xffff};
	bool last = number == plan->calls - 1;
	size_t count = last ? plan->largest - harness_random(dice) % 100
			    : some_count(plan, size, trial.type, dice);
	trial.call = (struct call){.kind = last ? ALL_REDUCE : kinds[number % 6],
				   .count = count,
				   .type = rank_set_types[trial.type],
				   .op = rank_set_ops[trial.op],
				   .root = (int)(harness_random(dice) % (unsigned)size)};
	trial.uneven = trial.uneven && !last;
	if (trial.call.kind == REDUCE_SCATTER)
		trial.call.count = count / (size_t)size + 1;
	for (int rank = 0; rank < size; rank++)
		trial.counts[rank] = trial.uneven ? harness_random(dice) % (2 * trial.call.count)
						  : trial.call.count;
	return trial;
}

/* Elements before a rank's part; of `size`, all. */
static size_t parts_before(const struct trial *trial, int rank)
{
	size_t sum = 0;
	for (int other = 0; other < rank; other++)
		sum += trial->counts[other];
	return sum;
}

static int make(struct work *work, const struct trial *trial, const void *send, void *recv)
{
	struct ring_stream *stream = trial->streamed ? work->stream : NULL;
	int err = trial->uneven ? ring_reduce_scatterv(work->comm, send, recv, trial->counts,
						       trial->call.type, trial->call.op, stream)
				: call_make(work->comm, &trial->call, send, recv, stream);
	return !err && stream ? ring_stream_wait(stream, ring_stream_position(stream)) : err;
}

static int wrong(const struct work *work, const struct trial *trial, const char *what, size_t where)
{
	char text[CALL_TEXT];
	return harness_fail(work->self, "%s%s, %s, %s, from value %zu: %s (%zu)",
			    call_text(&trial->call, text), trial->uneven ? ", uneven" : "",
			    trial->in_place ? "in place" : "out of place",
			    trial->streamed ? "on a stream" : "blocking", trial->first % VALUES,
			    what, where);
}

/* What the library says of the call. */
static int check_carried(const struct work *work, const struct trial *trial, uint64_t before)
{
	struct ring_stats after = {.size = sizeof(after)};
	const int size = work->self->size;
	int position = 0;
	if (ring_comm_stats(work->comm, &after))
		return wrong(work, trial, "no statistics", 0);
	if (size > 2 && (strcmp(after.last.algorithm, "ring") == 0 ||
			 strcmp(after.last.algorithm, "stride") == 0))
		return wrong(work, trial, after.last.algorithm, 0);
	while (work->comm->team.order[position] != work->self->rank)
		position++;
	struct call_way way = choice_of(work->comm, &trial->call, false);
	uint64_t sent = after.sent_bytes - before;
	uint64_t want = call_sent_bytes(&trial->call, &way, position);
	if (trial->uneven)
		want = (parts_before(trial, size) - trial->counts[work->self->rank]) *
		       element_bytes(trial->call.type);
	return sent == want ? 0 : wrong(work, trial, "other bytes were sent", sent);
}

static int try(struct work *work, const struct trial *trial)
{
	const int rank = work->self->rank, size = work->self->size;
	const size_t bytes = element_bytes(trial->call.type);
	const bool in_parts = trial->call.kind == REDUCE_SCATTER;
	const size_t all = in_parts ? parts_before(trial, size) : trial->call.count;
	const size_t begin = in_parts ? parts_before(trial, rank) : 0;
	const size_t count = in_parts ? trial->counts[rank] : all;
	unsigned char *recv = trial->in_place ? work->send + begin * bytes : work->recv;
	struct ring_stats before = {.size = sizeof(before)};
	lay(work->send, all, work->set.inputs[rank][trial->type], trial->first, bytes);
	place_put(work->send, all * bytes);
	if (!trial->in_place) { /* results before this one may look alike */
		memset(recv, 0xee, count * bytes);
		place_put(recv, count * bytes);
	}
	if (ring_comm_stats(work->comm, &before) ||
	    make(work, trial, place_of(work->send), place_of(recv)))
		return wrong(work, trial, ring_comm_error(work->comm), 0);
	place_get(recv, count * bytes);
	if (check_carried(work, trial, before.sent_bytes))
		return 1;
	if (!call_writes_recv(&trial->call, rank))
		return 0;
	size_t other = find_other(recv, count, work->set.sums[trial->type][trial->op],
				  trial->first + begin, bytes);
	return other == count ? 0 : wrong(work, trial, "not the sum by ranks at element", other);
}

/* ---- teams ----------------------------------------------------------------------------------- */

static int try_all(struct work *work)
{
	const struct plan *plan = work->self->context;
	uint64_t dice = plan->seed;
	for (int number = 0; number < plan->calls; number++) {
		struct trial trial = some_trial(plan, work->self->size, number, &dice);
		if (try(work, &trial))
			return 1;
	}
	return 0;
}

/* Scaled floats have no such sum; integers have the same in any order. Nothing is broken by that. */
static int try_scaled(struct work *work)
{
	const float half = .5f;
	const int32_t three = 3;
	float x = 1;
	int32_t i = 1;
	enum ring_op of_floats, of_integers;
	if (ring_op_create_premul_sum(work->comm, &half, RING_FLOAT32, &of_floats) ||
	    ring_op_create_premul_sum(work->comm, &three, RING_INT32, &of_integers))
		return harness_fail(work->self, "no operations");
	int err = ring_all_reduce(work->comm, &x, &x, 1, RING_FLOAT32, of_floats, NULL);
	if (expect_verdict(work->self, "scaled floats", err, RING_EINVAL, work->comm,
			   "multiply before the call") ||
	    expect_works(work->self, work->comm, "a refusal"))
		return 1;
	if (place_is_far())
		return 0;
	err = ring_all_reduce(work->comm, &i, &i, 1, RING_INT32, of_integers, NULL);
	return !err && i == 3 * work->self->size
		       ? 0
		       : harness_fail(work->self, "scaled integers: %d", (int)i);
}

#define SOME 3000 /* elements */

static void halve_sums(void *to, const void *from, size_t count, void *unused)
{
	int32_t *a = to;
	const int32_t *b = from;
	(void)unused;
	for (size_t i = 0; i < count; i++)
		a[i] = (a[i] + b[i]) / 2;
}

static int32_t some_integer(int rank, size_t index)
{
	return (int32_t)(((size_t)rank * 7919 + index * 104729) % 100003);
}

/* A function of the program's is called in the order of ranks, whatever its type. */
static int try_function(struct work *work)
{
	int32_t *send = (void *)work->send, *recv = (void *)work->recv;
	enum ring_op op;
	if (place_is_far())
		return 0;
	if (ring_op_create(work->comm, halve_sums, NULL, RING_INT32, &op))
		return harness_fail(work->self, "no operation");
	for (size_t i = 0; i < SOME; i++)
		send[i] = some_integer(work->self->rank, i);
	if (ring_all_reduce(work->comm, send, recv, SOME, RING_INT32, op, NULL))
		return harness_fail(work->self, "a function: %s", ring_comm_error(work->comm));
	for (size_t i = 0; i < SOME; i++) {
		int32_t want = some_integer(0, i);
		for (int rank = 1; rank < work->self->size; rank++)
			want = (want + some_integer(rank, i)) / 2;
		if (recv[i] != want)
			return harness_fail(work->self, "a function: element %zu", i);
	}
	return 0;
}

/* Of a communicator that was split off, ranks are its own: here backwards. */
static int try_split(struct work *work)
{
	const int size = work->self->size, rank = work->self->rank;
	unsigned char sums[VALUES * sizeof(float)];
	struct ring_comm *sub;
	for (size_t k = 0; k < VALUES; k++) {
		const void *sources[RANKS];
		for (int other = 0; other < size; other++)
			sources[size - 1 - other] = &work->set.inputs[other][0][k * sizeof(float)];
		element_reduce_all(RING_FLOAT32, RING_SUM, sources, size, 1,
				   &sums[k * sizeof(float)]);
	}
	if (ring_comm_split(work->comm, 0, -rank, &sub))
		return harness_fail(work->self, "a split: %s", ring_comm_error(work->comm));
	lay(work->send, SOME, work->set.inputs[rank][0], 0, sizeof(float));
	place_put(work->send, SOME * sizeof(float));
	int err = ring_all_reduce(sub, place_of(work->send), place_of(work->recv), SOME,
				  RING_FLOAT32, RING_SUM, NULL);
	if (err)
		err = harness_fail(work->self, "a split: %s", ring_comm_error(sub));
	ring_comm_destroy(sub);
	if (err)
		return err;
	place_get(work->recv, SOME * sizeof(float));
	size_t other = find_other(work->recv, SOME, sums, 0, sizeof(float));
	return other == SOME ? 0 : harness_fail(work->self, "a split: element %zu", other);
}

static int try_rest(struct work *work)
{
	const struct plan *plan = work->self->context;
	return try_scaled(work) || try_function(work) || (!plan->algorithm && try_split(work));
}

static int be_rank(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct work *work = calloc(1, sizeof(*work));
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = plan->algorithm;
	options.chunk_bytes = plan->chunk_bytes;
	options.order = "rank";
	if (!work || harness_join(self, &options, &work->comm)) {
		free(work);
		return 1;
	}
	size_t room = (2 * plan->largest + 64) * ELEMENT_BYTES_MAX;
	work->self = self;
	work->send = aligned_alloc(64, room / 64 * 64 + 64);
	work->recv = aligned_alloc(64, room / 64 * 64 + 64);
	int bad = !work->send || !work->recv || ring_stream_create(work->comm, &work->stream);
	if (!bad) {
		place_make(work->send, room);
		place_make(work->recv, room);
		rank_set_make(&work->set, plan->seed, self->size);
		bad = try_all(work) || try_rest(work);
		place_drop(work->send);
		place_drop(work->recv);
	}
	ring_stream_destroy(work->stream);
	ring_comm_destroy(work->comm);
	free(work->send);
	free(work->recv);
	free(work);
	return bad;
}

static int run_team(const struct harness_world *world, int size, const struct plan *plan)
{
	struct harness team = {.world = world,
			       .size = size,
			       .body = be_rank,
			       .context = (void *)plan,
			       .seconds = 60 + plan->calls};
	snprintf(team.label, sizeof(team.label), "--seed %llu, %d ranks, %s, %s",
		 (unsigned long long)plan->seed, size, world->name,
		 plan->algorithm ? plan->algorithm : "chosen");
	return harness_run(&team);
}

/* In short, worlds and algorithms share the sizes among them. */
static bool is_wanted(int size, int world, int algorithm, bool is_long)
{
	return is_long || (size + algorithm + world) % 2 == 0;
}

int main(int argc, char **argv)
{
	static const struct harness_world worlds[] = {{"shm", false, "shm", 0},
						      {"tcp", false, "tcp", 0}};
	bool is_long = harness_is_long(argc, argv);
	uint64_t seed = harness_seed(argc, argv);
	double began = harness_clock();
	int calls = 0;
	for (int size = 2; size <= RANKS; size++)
		for (int a = 0; a < ALGORITHMS; a++)
			for (int w = 0; w < 2; w++) {
				struct plan plan = {.seed = seed + (uint64_t)calls,
						    .algorithm = algorithms[a],
						    .chunk_bytes = 4096,
						    .calls = is_long ? 120 : 24,
						    .usual = is_long ? MI / 4 : 20000,
						    .largest = is_long ? 3 * MI : 30000};
				if (a == 0 && size % 3 == 0)
					plan.largest += MI;
				if (!is_wanted(size, w, a, is_long) ||
				    !rank_set_is_carried(plan.algorithm) ||
				    !harness_is_wanted(&worlds[w]))
					continue;
				if (run_team(&worlds[w], size, &plan))
					return 1;
				calls += plan.calls;
			}
	printf("%d calls, 2 to %d ranks: every element is the sum by ranks, and bytes are as "
	       "documented; --seed %llu (%.1f s)\n",
	       calls, RANKS, (unsigned long long)seed, harness_clock() - began);
	return 0;
}
