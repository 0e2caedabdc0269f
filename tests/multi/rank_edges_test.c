/* SPDX-License-Identifier: MIT */
/*
 * With options.order "rank" one set of values has the same sums wherever it lies: it is laid round
 * every edge of blocks, chunks and vectors, before, across and behind it, and at 1000 places more
 * that a seed draws, one behind the other in one vector. By every algorithm that can, over every
 * transport, on 2 to 8 ranks, every element has the bits of x[0] + x[1] + ... + x[N-1], by ranks,
 * which were computed once without the library, and bytes are those of the formulas.
 *
 *	rank_edges_test [--long] [--seed N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/rank_set.h"
#include "tests/place.h"

#define PLACES 1000 /* that the seed draws */
#define MI ((size_t)1 << 20)
#define CHUNK_BYTES 4096
#define LARGE_TYPES 3 /* of the set's, the first, which large vectors have */

static const char *const algorithms[] = {NULL,     "oneshot", "twoshot", "bruck",
					 "staged", "direct",  "tree"};
#define ALGORITHMS (int)(sizeof(algorithms) / sizeof(algorithms[0]))

/* From an edge to where the set begins: it ends there, lies across, or begins there. */
static const long shifts[] = {
	-RANK_SET_VALUES, -RANK_SET_VALUES + 1, -RANK_SET_VALUES / 2, -1, 0, 1};
#define SHIFTS (int)(sizeof(shifts) / sizeof(shifts[0]))

struct plan {
	uint64_t seed;
	const char *algorithm; /* NULL: the library chooses */
	int calls;
	size_t largest; /* elements of the last vector; 0: as the others */
	int largest_type;
	unsigned *carried; /* [RING_ALGORITHMS + 1], calls, of which all tests know; last: elements */
};

struct trial {
	struct call call;
	bool in_place, streamed;
	int type, op; /* places in the set */
	long shift;
	uint64_t seed; /* of the places */
};

/* A rank, and what it works with. */
struct work {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct ring_stream *stream;
	unsigned char *send, *recv;
	unsigned char *values; /* of each element of the whole vector, which of the set it is */
	struct rank_set set;
};

/* ---- vectors --------------------------------------------------------------------------------- */

/* The set from `begin` on, as far as there are elements. */
static void lay(unsigned char *values, size_t count, long begin)
{
	for (long k = 0; k < RANK_SET_VALUES; k++)
		if (begin + k >= 0 && begin + k < (long)count)
			values[begin + k] = (unsigned char)k;
}

/* At both ends of [begin, end), and at each chunk's between. */
static void lay_at_edges(unsigned char *values, size_t count, size_t begin, size_t end,
			 size_t chunk, long shift)
{
	for (size_t at = begin; at < end; at += chunk)
		lay(values, count, (long)at + shift);
	lay(values, count, (long)end + shift);
}

/* Blocks of the vector's, or the parts, which are as long; the vector itself is cut into chunks, too. */
static void lay_all(unsigned char *values, size_t count, size_t size, size_t chunk,
		    const struct trial *trial)
{
	uint64_t dice = trial->seed, background = trial->seed | 1;
	for (size_t i = 0; i < count; i++) {
		background = background * UINT64_C(6364136223846793005) + 1;
		values[i] = (unsigned char)((background >> 33) % RANK_SET_VALUES);
	}
	for (int i = 0; i < PLACES; i++)
		lay(values, count,
		    (long)(harness_random(&dice) % (count + RANK_SET_VALUES)) - RANK_SET_VALUES);
	lay_at_edges(values, count, 0, count, chunk, trial->shift);
	for (size_t block = 0; block < size; block++) {
		size_t rest = count % size, each = count / size;
		size_t begin = block * each + (block < rest ? block : rest);
		lay_at_edges(values, count, begin, begin + each + (block < rest), chunk,
			     trial->shift);
	}
}

static void fill(struct work *work, const struct trial *trial, size_t count)
{
	const size_t bytes = element_bytes(trial->call.type);
	const unsigned char *inputs = work->set.inputs[work->self->rank][trial->type];
	lay_all(work->values, count, (size_t)work->self->size, CHUNK_BYTES / bytes, trial);
	for (size_t i = 0; i < count; i++)
		memcpy(work->send + i * bytes, inputs + work->values[i] * bytes, bytes);
	place_put(work->send, count * bytes);
}

/* The first element that is not the sum; count: there is none. */
static size_t find_other(const struct work *work, const struct trial *trial,
			 const unsigned char *recv, size_t begin, size_t count)
{
	const size_t bytes = element_bytes(trial->call.type);
	const unsigned char *sums = work->set.sums[trial->type][trial->op];
	size_t i = 0;
	while (i < count &&
	       memcmp(recv + i * bytes, sums + work->values[begin + i] * bytes, bytes) == 0)
		i++;
	return i;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int make(struct work *work, const struct trial *trial, const void *send, void *recv)
{
	struct ring_stream *stream = trial->streamed ? work->stream : NULL;
	int err = call_make(work->comm, &trial->call, send, recv, stream);
	return !err && stream ? ring_stream_wait(stream, ring_stream_position(stream)) : err;
}

static int wrong(const struct work *work, const struct trial *trial, const char *what, size_t where)
{
	char text[CALL_TEXT];
	return harness_fail(work->self, "%s, %s, %s, from edges %ld, places of seed %llu: %s (%zu)",
			    call_text(&trial->call, text),
			    trial->in_place ? "in place" : "out of place",
			    trial->streamed ? "on a stream" : "blocking", trial->shift,
			    (unsigned long long)trial->seed, what, where);
}

static int check_carried(const struct work *work, const struct trial *trial, size_t count,
			 const struct ring_stats *before)
{
	const struct plan *plan = work->self->context;
	struct ring_stats after = {.size = sizeof(after)};
	if (ring_comm_stats(work->comm, &after))
		return wrong(work, trial, "no statistics", 0);
	if (!rank_set_bytes_are(work->comm, &trial->call, work->self->rank, before, &after))
		return wrong(work, trial, "other bytes were sent or received",
			     after.sent_bytes - before->sent_bytes);
	int algorithm = ring_algorithm_find(after.last.algorithm);
	bool hops = strcmp(after.last.algorithm, "ring") == 0 ||
		    strcmp(after.last.algorithm, "stride") == 0;
	if (algorithm < 0 || (hops && work->self->size > 2))
		return wrong(work, trial, after.last.algorithm, 0);
	if (work->self->rank == 0) {
		plan->carried[algorithm]++;
		plan->carried[RING_ALGORITHMS] += (unsigned)(count / 1024);
	}
	return 0;
}

static int try(struct work *work, const struct trial *trial)
{
	const int rank = work->self->rank;
	const size_t bytes = element_bytes(trial->call.type), count = trial->call.count;
	const bool in_parts = trial->call.kind == REDUCE_SCATTER;
	const size_t all = in_parts ? count * (size_t)work->self->size : count;
	const size_t begin = in_parts ? count * (size_t)rank : 0;
	unsigned char *recv = trial->in_place ? work->send + begin * bytes : work->recv;
	struct ring_stats before = {.size = sizeof(before)};
	fill(work, trial, all);
	if (!trial->in_place) { /* results before this one may look alike */
		memset(recv, 0xee, count * bytes);
		place_put(recv, count * bytes);
	}
	if (ring_comm_stats(work->comm, &before) ||
	    make(work, trial, place_of(work->send), place_of(recv)))
		return wrong(work, trial, ring_comm_error(work->comm), 0);
	place_get(recv, count * bytes);
	if (check_carried(work, trial, all, &before))
		return 1;
	if (!call_writes_recv(&trial->call, rank))
		return 0;
	size_t other = find_other(work, trial, recv, begin, count);
	return other == count ? 0 : wrong(work, trial, "not the sum by ranks at element", other);
}

/* ---- teams ----------------------------------------------------------------------------------- */

/* Elements of a vector: a few, then blocks of some chunks, or less; about an edge of these. */
static size_t some_count(size_t size, int type, int number, uint64_t *dice)
{
	const size_t chunk = CHUNK_BYTES / element_bytes(rank_set_types[type]);
	const size_t edges[] = {5 * size, 2 * size * chunk, size * chunk, chunk, 3 * chunk + size};
	return edges[number % 5] + harness_random(dice) % 3 - 1;
}

/* All shifts first, each with other types and kinds in the next turn. */
static struct trial some_trial(const struct plan *plan, int size, int number, uint64_t *dice)
{
	static const enum call_kind kinds[] = {ALL_REDUCE, REDUCE_SCATTER, REDUCE};
	const int turn = number / SHIFTS;
	const bool last = plan->largest > 0 && number == plan->calls - 1;
	uint64_t pick = harness_random(dice);
	struct trial trial = {.in_place = pick & 1,
			      .streamed = pick >> 1 & 1,
			      .type = last ? plan->largest_type
					   : (number + turn + size) % RANK_SET_TYPES,
			      .op = (int)(pick >> 40) % RANK_SET_OPS,
			      .shift = shifts[number % SHIFTS],
			      .seed = harness_random(dice)};
	size_t count = some_count((size_t)size, trial.type, number + turn, dice);
	trial.call = (struct call){.kind = last ? ALL_REDUCE : kinds[(number / 2 + turn) % 3],
				   .count = last ? plan->largest - pick / 8 % 100 : count,
				   .type = rank_set_types[trial.type],
				   .op = rank_set_ops[trial.op],
				   .root = (int)(pick >> 20 & 0xffff) % size};
	if (trial.call.kind == REDUCE_SCATTER)
		trial.call.count = count / (size_t)size + 1;
	return trial;
}

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

static int be_rank(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	const size_t room = 64 + (plan->largest ? plan->largest * sizeof(float)
						: (size_t)4 * RANK_SET_RANKS * CHUNK_BYTES);
	struct work *work = calloc(1, sizeof(*work));
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = plan->algorithm;
	options.chunk_bytes = CHUNK_BYTES;
	options.order = "rank";
	if (!work || harness_join(self, &options, &work->comm)) {
		free(work);
		return 1;
	}
	work->self = self;
	work->send = aligned_alloc(64, room);
	work->recv = aligned_alloc(64, room);
	work->values = malloc(room);
	int bad = !work->send || !work->recv || !work->values ||
		  ring_stream_create(work->comm, &work->stream);
	if (!bad) {
		place_make(work->send, room);
		place_make(work->recv, room);
		rank_set_make(&work->set, plan->seed, self->size);
		bad = try_all(work);
		place_drop(work->send);
		place_drop(work->recv);
	}
	ring_stream_destroy(work->stream);
	ring_comm_destroy(work->comm);
	free(work->send);
	free(work->recv);
	free(work->values);
	free(work);
	return bad;
}

static int run_team(const struct harness_world *world, int size, const struct plan *plan)
{
	struct harness team = {.world = world,
			       .size = size,
			       .body = be_rank,
			       .context = (void *)(uintptr_t)plan,
			       .seconds = plan->largest ? 300 : 60};
	snprintf(team.label, sizeof(team.label), "--seed %llu, %d ranks, %s, %s",
		 (unsigned long long)plan->seed, size, world->name,
		 plan->algorithm ? plan->algorithm : "chosen");
	return harness_run(&team);
}

/* In short, each algorithm is tried over each transport, and on some sizes. */
static bool is_wanted(int size, int algorithm, int world, bool is_long)
{
	return is_long || (size + 2 * algorithm + 3 * world) % 7 == (harness_is_quick() ? 0 : 1) ||
	       (size == 3 && world == algorithm % HARNESS_WORLDS);
}

/* returns how many teams there were; -1: one was not content */
static int run_all(uint64_t seed, bool is_long, unsigned *carried)
{
	int teams = 0;
	for (int size = 2; size <= RANK_SET_RANKS; size++)
		for (int a = 0; a < ALGORITHMS; a++)
			for (int w = 0; w < HARNESS_WORLDS; w++) {
				struct plan plan = {.seed = seed + (uint64_t)teams,
						    .algorithm = algorithms[a],
						    .calls = is_long ? 3 * SHIFTS + 1 : SHIFTS,
						    .largest = is_long ? (1 + (size_t)teams % 3) * MI
								       : 0,
						    .largest_type = (size + a + w) % LARGE_TYPES,
						    .carried = carried};
				if (!is_wanted(size, a, w, is_long) ||
				    !rank_set_is_carried(algorithms[a]) ||
				    !harness_is_wanted(&harness_worlds[w]))
					continue;
				if (run_team(&harness_worlds[w], size, &plan))
					return -1;
				teams++;
			}
	return teams;
}

int main(int argc, char **argv)
{
	const size_t bytes = (RING_ALGORITHMS + 1) * sizeof(unsigned);
	const bool is_long = harness_is_long(argc, argv);
	uint64_t seed = harness_seed(argc, argv);
	double began = harness_clock();
	unsigned *carried = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	if (carried == MAP_FAILED)
		return 1;
	int teams = run_all(seed, is_long, carried);
	if (teams < 0)
		return 1;
	printf("%d teams:", teams);
	for (int a = 0; a < RING_ALGORITHMS; a++)
		if (carried[a])
			printf(" %s %u,", ring_algorithm_name((enum ring_algorithm)a), carried[a]);
	printf(" calls of %u Ki elements, each the sum by ranks wherever it lies; --seed %llu "
	       "(%.1f s)\n",
	       carried[RING_ALGORITHMS], (unsigned long long)seed, harness_clock() - began);
	return 0;
}
