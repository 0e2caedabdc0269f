/* SPDX-License-Identifier: MIT */
/*
 * Operations that are functions of the program: one that adds gives the bits of RING_SUM, however a
 * call is carried, wherever its buffers begin; others give what a loop gives. What is refused, and
 * what ranks disagree about, is said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/verdict.h"

#define MOST 20000
#define RANKS_MOST 5

struct plan {
	const char *algorithm; /* NULL: the library chooses */
	size_t chunk_bytes;
};

/* What a function is told of: how often it ran on how many elements, and whether all was in order. */
struct tally {
	uint64_t elements;
	bool misaligned;
};

static void note(struct tally *tally, const void *to, const void *from, size_t count, size_t bytes)
{
	tally->elements += count;
	tally->misaligned |= (uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0;
}

static void add(void *to, const void *from, size_t count, void *context)
{
	float *sum = to;
	const float *next = from;
	note(context, to, from, count, sizeof(float));
	for (size_t i = 0; i < count; i++)
		sum[i] += next[i];
}

/* Of two times as minutes of a day, the one that is nearer to noon; the earlier of two. */
static void nearer(void *to, const void *from, size_t count, void *context)
{
	int64_t *best = to;
	const int64_t *next = from;
	note(context, to, from, count, sizeof(int64_t));
	for (size_t i = 0; i < count; i++) {
		int64_t have = llabs(best[i] - 720), other = llabs(next[i] - 720);
		if (other < have || (other == have && next[i] < best[i]))
			best[i] = next[i];
	}
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct memory {
	unsigned char send[MOST * 8 + 64], sum[MOST * 8 + 64], made[MOST * 8 + 64];
};

enum { ALL_REDUCE, REDUCE_SCATTER, REDUCE, REDUCE_SCATTERV, WAYS };

static int reduce(struct ring_comm *comm, int way, const void *send, void *recv, size_t count,
		  enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	const size_t n = (size_t)ring_comm_size(comm);
	size_t counts[RANKS_MOST];
	for (size_t r = 0; r < n; r++)
		counts[r] = count / n / (r + 1);
	switch (way) {
	case ALL_REDUCE:
		return ring_all_reduce(comm, send, recv, count, type, op, stream);
	case REDUCE_SCATTER:
		return ring_reduce_scatter(comm, send, recv, count / n, type, op, stream);
	case REDUCE:
		return ring_reduce(comm, send, recv, count, type, op, (int)(count % n), stream);
	default:
		return ring_reduce_scatterv(comm, send, recv, counts, type, op, stream);
	}
}

/* The operation is forgotten as soon as the call is made. */
static int reduce_by_function(struct ring_comm *comm, int way, const void *send, void *recv,
			      size_t count, struct tally *tally, struct ring_stream *stream)
{
	enum ring_op op;
	int err = ring_op_create(comm, add, tally, RING_FLOAT32, &op);
	if (!err)
		err = reduce(comm, way, send, recv, count, RING_FLOAT32, op, stream);
	if (!err)
		err = ring_op_destroy(comm, op);
	if (!err && stream)
		err = ring_stream_wait(stream, ring_stream_position(stream));
	return err;
}

static int compare_sums(const struct harness_rank *self, struct ring_comm *comm,
			struct memory *memory, struct ring_stream *stream)
{
	static const size_t counts[] = {0, 1, 5, 50, 1021, MOST}, shifts[] = {0, 4, 1};
	uint64_t state = (uint64_t)self->rank;
	for (int i = 0; i < 6 * WAYS * 3 * 2; i++) {
		const size_t count = counts[i % 6], shift = shifts[i / 6 / WAYS % 3];
		const int way = i / 6 % WAYS;
		unsigned char *send = memory->send + shift;
		struct tally tally = {0};
		for (size_t k = 0; k < count; k++) {
			float x = (float)(int64_t)(harness_random(&state) >> 20) * 0x1p-40f;
			memcpy(send + k * sizeof(x), &x, sizeof(x));
		}
		memset(memory->sum, 0, sizeof(memory->sum));
		memset(memory->made, 0, sizeof(memory->made));
		/* small calls are repeated: then they go briefly */
		if (reduce(comm, way, send, memory->sum + shift, count, RING_FLOAT32, RING_SUM,
			   NULL) ||
		    reduce_by_function(comm, way, send, memory->made + shift, count, &tally,
				       i % 2 ? stream : NULL) ||
		    reduce_by_function(comm, way, send, memory->made + shift, count, &tally, NULL))
			return harness_fail(self, "sum %d: %s", i, ring_comm_error(comm));
		if (memcmp(memory->sum, memory->made, sizeof(memory->sum)) != 0)
			return harness_fail(self,
					    "way %d, %zu elements, shifted by %zu: other bits "
					    "than RING_SUM's",
					    way, count, shift);
		if (tally.misaligned)
			return harness_fail(self, "the function got elements that are not aligned");
		if (self->size == 1 && tally.elements > 0)
			return harness_fail(self, "one rank has nothing to add");
	}
	return 0;
}

/* ---- another function ------------------------------------------------------------------------ */

static int64_t minute(int rank, size_t i)
{
	return (int64_t)((i * 37 + (size_t)rank * 511) % 1440);
}

static int find_nearest(const struct harness_rank *self, struct ring_comm *comm,
			struct memory *memory)
{
	int64_t *data = (int64_t *)memory->send;
	struct tally tally = {0};
	enum ring_op op;
	for (size_t i = 0; i < 3000; i++)
		data[i] = minute(self->rank, i);
	if (ring_op_create(comm, nearer, &tally, RING_INT64, &op) ||
	    ring_all_reduce(comm, data, data, 3000, RING_INT64, op, NULL) ||
	    ring_op_destroy(comm, op))
		return harness_fail(self, "%s", ring_comm_error(comm));
	for (size_t i = 0; i < 3000; i++) {
		int64_t want = minute(0, i);
		for (int rank = 1; rank < self->size; rank++) {
			int64_t next = minute(rank, i);
			nearer(&want, &next, 1, &tally);
		}
		if (data[i] != want)
			return harness_fail(self, "minute %lld, not %lld", (long long)data[i],
					    (long long)want);
	}
	return 0;
}

static int be_right(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct ring_options options;
	struct ring_comm *comm;
	struct ring_stream *stream = NULL;
	struct memory *memory = aligned_alloc(64, (sizeof(*memory) + 63) / 64 * 64);
	harness_options(self, &options);
	options.algorithm = plan->algorithm;
	options.chunk_bytes = plan->chunk_bytes;
	if (!memory || harness_join(self, &options, &comm))
		return 1;
	int bad = compare_sums(self, comm, memory, NULL) || find_nearest(self, comm, memory);
	if (!bad && ring_stream_create(comm, &stream))
		bad = harness_fail(self, "%s", ring_comm_error(comm));
	bad = bad || compare_sums(self, comm, memory, stream);
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	free(memory);
	return bad;
}

static int run_right(void)
{
	static const struct plan plans[] = {{NULL, 0},        {"ring", 512},   {"oneshot", 0},
					    {"twoshot", 512}, {"stride", 256}, {"staged", 0},
					    {"direct", 0},    {"tree", 0},     {"bruck", 0}};
	const int count = sizeof(plans) / sizeof(plans[0]);
	for (int i = 0; i < HARNESS_WORLDS * count; i++) {
		int w = i % HARNESS_WORLDS;
		struct harness team = {.world = &harness_worlds[w],
				       .size = 1 + i % RANKS_MOST,
				       .body = be_right,
				       .context = (void *)&plans[i / HARNESS_WORLDS],
				       .seconds = 120};
		const char *algorithm = plans[i / HARNESS_WORLDS].algorithm;
		snprintf(team.label, sizeof(team.label), "%s, %s", team.world->name,
			 algorithm ? algorithm : "chosen");
		if (harness_run(&team))
			return 1;
	}
	return 0;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static int be_wrong(struct harness_rank *self)
{
	struct ring_comm *comm;
	struct tally tally = {0};
	float a[4] = {0}, b[4];
	enum ring_op op;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = expect_verdict(self, "no function",
				 ring_op_create(comm, NULL, NULL, RING_INT8, &op), RING_EINVAL,
				 comm, "ring_op_create: function is NULL");
	bad |= expect_verdict(self, "no op", ring_op_create(comm, add, NULL, RING_INT8, NULL),
			      RING_EINVAL, comm, "ring_op_create: op is NULL");
	bad |= expect_verdict(self, "no type",
			      ring_op_create(comm, add, NULL, (enum ring_datatype)99, &op),
			      RING_EINVAL, comm, "not a datatype");
	bad |= expect_verdict(self, "no comm", ring_op_create(NULL, add, NULL, RING_INT8, &op),
			      RING_EINVAL, NULL, "ring_op_create: comm is NULL");
	if (ring_op_create(comm, add, &tally, RING_FLOAT32, &op))
		return harness_fail(self, "%s", ring_comm_error(comm));
	bad |= expect_verdict(self, "another type",
			      ring_all_reduce(comm, a, b, 2, RING_INT32, op, NULL), RING_EINVAL,
			      comm, "was made for float, not for int32");
	bad |= expect_works(self, comm, "refusals");
	harness_barrier(self);
	int err = ring_all_reduce(comm, a, b, 4, RING_FLOAT32, self->rank == 1 ? op : RING_SUM,
				  NULL);
	bad |= expect_verdict(self, "a function and a sum", err, RING_EMISMATCH, comm,
			      "float, function of the program");
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	double began = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = 3, .body = be_wrong};
		if (harness_run(&team))
			return 1;
	}
	if (run_right())
		return 1;
	printf("functions as operations, by all algorithms: the bits of sums, and refusals (%.1f "
	       "s)\n",
	       harness_clock() - began);
	return 0;
}
