/* SPDX-License-Identifier: MIT */
/*
 * Streams: many calls in flight on several of them, waited for and tested by position, blocking
 * calls between, work done meanwhile, errors delivered at the wait.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/place.h"

#define STREAMS 3
#define CALLS 60 /* in flight at once */
#define COUNT 700
#define PATIENCE_S (20 * HARNESS_ROOM) /* of rank 0 with the others */

/* What ranks share. */
struct board {
	_Atomic int looked; /* how many have made the call that waits for rank 0, and looked at it */
	double computed;    /* when rank 0 was through */
};

/* Element 0 of the vector that `rank` contributes to call `call`. */
static int32_t contribution(int rank, int call)
{
	return (rank + 1) * 1000 + call;
}

static int32_t sum_of(int size, int call)
{
	return size * (size + 1) / 2 * 1000 + size * call;
}

static int check_sum(struct harness_rank *self, int32_t *vector, int call)
{
	place_get(vector, COUNT * sizeof(*vector));
	for (int i = 0; i < COUNT; i++)
		if (vector[i] != sum_of(self->size, call) + i * self->size)
			return harness_fail(self, "call %d: element %d is %d", call, i, vector[i]);
	return 0;
}

static void fill(struct harness_rank *self, int32_t *vector, int call)
{
	for (int i = 0; i < COUNT; i++)
		vector[i] = contribution(self->rank, call) + i;
	place_put(vector, COUNT * sizeof(*vector));
}

/* Calls on streams in turn, all in flight; a blocking one now and then must come after them. */
static int fill_the_queue(struct harness_rank *self, struct ring_comm *comm,
			  struct ring_stream *const streams[STREAMS], int32_t (*vectors)[COUNT])
{
	for (int call = 0; call < CALLS; call++) {
		struct ring_stream *stream = streams[call % STREAMS];
		fill(self, vectors[call], call);
		uint64_t before = ring_stream_position(stream);
		bool blocking = call % 20 == 19;
		int32_t *vector = place_of(vectors[call]);
		int err = ring_all_reduce(comm, vector, vector, COUNT, RING_INT32, RING_SUM,
					  blocking ? NULL : stream);
		if (err)
			return harness_fail(self, "call %d: %s", call, ring_comm_error(comm));
		if (ring_stream_position(stream) != before + !blocking)
			return harness_fail(self, "call %d: positions do not grow by one", call);
		/* One queue: when a blocking call is complete, all before it are. */
		for (int k = 0; blocking && k < STREAMS; k++)
			if (ring_stream_test(streams[k], ring_stream_position(streams[k])))
				return harness_fail(self, "a blocking call overtook a stream");
		for (int done = 0; blocking && done <= call; done++)
			if (check_sum(self, vectors[done], done))
				return 1;
	}
	return 0;
}

static int check_positions(struct harness_rank *self, struct ring_stream *stream)
{
	uint64_t last = ring_stream_position(stream);
	if (ring_stream_wait(stream, last / 2) || ring_stream_test(stream, last / 2) ||
	    ring_stream_wait(stream, 0) || ring_stream_test(stream, 0))
		return harness_fail(self, "waiting for the middle");
	if (ring_stream_wait(stream, last) || ring_stream_test(stream, 1) ||
	    ring_stream_test(stream, last))
		return harness_fail(self, "waiting for the end");
	if (ring_stream_wait(stream, last + 1) != RING_EINVAL ||
	    ring_stream_test(stream, last + 1) != RING_EINVAL)
		return harness_fail(self, "waiting for a call that was never made");
	return 0;
}

/* Calls ran one after the other, the blocking ones between; the oldest are forgotten. */
static int check_times(struct harness_rank *self, struct ring_comm *comm,
		       struct ring_stream *stream, uint64_t start_ns)
{
	uint64_t last = ring_stream_position(stream), before = start_ns, began, ended;
	for (uint64_t position = 1; position <= last; position++, before = ended) {
		if (ring_stream_times(stream, position, &began, &ended))
			return harness_fail(self, "no times of position %d", (int)position);
		if (began < before || ended < began)
			return harness_fail(self, "position %d began and ended at the wrong time",
					    (int)position);
	}
	if (ended > (uint64_t)(harness_clock() * 1e9) + 1000)
		return harness_fail(self, "the last call ended in the future");
	for (uint64_t extra = 0; extra < RING_STREAM_TIMES; extra++)
		if (ring_barrier(comm, stream))
			return harness_fail(self, "a barrier");
	if (ring_stream_wait(stream, last + RING_STREAM_TIMES) ||
	    ring_stream_times(stream, last + 1, &began, &ended))
		return harness_fail(self, "the oldest that is remembered");
	if (ring_stream_times(stream, last, &began, &ended) != RING_EINVAL ||
	    ring_stream_times(stream, 0, &began, &ended) != RING_EINVAL ||
	    ring_stream_times(stream, last + RING_STREAM_TIMES + 1, &began, &ended) != RING_EINVAL ||
	    ring_stream_times(stream, last + 1, NULL, &ended) != RING_EINVAL ||
	    ring_stream_times(NULL, last + 1, &began, &ended) != RING_EINVAL)
		return harness_fail(self, "times of a call that is forgotten, or never was");
	return 0;
}

static int many_in_flight(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *streams[STREAMS];
	int32_t(*vectors)[COUNT] = calloc(CALLS, sizeof(*vectors));
	int bad = !vectors;
	place_make(vectors, CALLS * sizeof(*vectors));
	uint64_t start_ns = (uint64_t)(harness_clock() * 1e9) - 1000; /* it is rounded */
	for (int k = 0; k < STREAMS; k++)
		if (ring_stream_create(comm, &streams[k]))
			return harness_fail(self, "creating stream %d", k);
	if (ring_stream_position(streams[0]) != 0 || ring_stream_wait(streams[0], 0))
		bad = harness_fail(self, "a new stream is at position 0");
	for (int round = 0; !bad && round < 3; round++)
		bad = fill_the_queue(self, comm, streams, vectors);
	for (int k = 0; !bad && k < STREAMS; k++)
		bad = check_positions(self, streams[k]);
	for (int call = 0; !bad && call < CALLS; call++)
		bad = check_sum(self, vectors[call], call);
	for (int k = 0; !bad && k < STREAMS; k++)
		bad = check_times(self, comm, streams[k], start_ns);
	for (int k = STREAMS - 1; k >= 0; k--) /* not in the order of creation */
		ring_stream_destroy(streams[k]);
	place_drop(vectors);
	free(vectors);
	return bad;
}

/* Rank 0 computes until all others have made their call, and looked. */
static void compute(struct harness_rank *self)
{
	struct board *board = self->shared;
	double until = harness_clock() + PATIENCE_S;
	while (atomic_load(&board->looked) < self->size - 1 && harness_clock() < until)
		usleep(1000);
	board->computed = harness_clock();
}

/* A call waits for rank 0, which computes first: test says so without blocking. */
static int compute_meanwhile(struct harness_rank *self, struct ring_comm *comm)
{
	struct board *board = self->shared;
	struct ring_stream *stream;
	static _Thread_local int32_t vector[COUNT];
	if (ring_stream_create(comm, &stream))
		return harness_fail(self, "creating a stream");
	place_make(vector, sizeof(vector));
	fill(self, vector, 7);
	harness_barrier(self);
	if (self->rank == 0)
		compute(self);
	double begin = harness_clock();
	int err = ring_all_reduce(comm, place_of(vector), place_of(vector), COUNT, RING_INT32,
				  RING_SUM, stream);
	int first = err ? err : ring_stream_test(stream, 1);
	atomic_fetch_add(&board->looked, self->rank != 0);
	uint64_t looks = 0, began, ended;
	while (!err && (err = ring_stream_test(stream, 1)) == RING_EAGAIN) {
		looks++;
		err = 0;
	}
	double waited = harness_clock() - begin;
	int known = ring_stream_times(stream, 1, &began, &ended);
	ring_stream_destroy(stream);
	if (err)
		return harness_fail(self, "a call beside work: %s", ring_comm_error(comm));
	if (self->rank != 0 && first != RING_EAGAIN)
		return harness_fail(self, "test said %d, done after %.3f s, %llu looks", first,
				    waited, (unsigned long long)looks);
	double came = (double)began / 1e9 - begin, went = (double)ended / 1e9 - begin;
	if (known || came < 0 || came > went || went > waited || went < board->computed - begin)
		return harness_fail(self,
				    "times say that it began after %.3f s and ended after %.3f s, "
				    "of %.3f s",
				    came, went, waited);
	int bad = check_sum(self, vector, 7);
	place_drop(vector);
	return bad;
}

/* Destroying streams and communicator completes what was queued. */
static int leave_in_flight(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	int32_t(*vectors)[COUNT] = calloc(CALLS, sizeof(*vectors));
	if (!vectors || ring_stream_create(comm, &stream))
		return harness_fail(self, "creating a stream");
	int bad = 0;
	place_make(vectors, CALLS * sizeof(*vectors));
	for (int call = 0; call < CALLS; call++) {
		fill(self, vectors[call], call);
		int32_t *vector = place_of(vectors[call]);
		if (ring_all_reduce(comm, vector, vector, COUNT, RING_INT32, RING_SUM, stream))
			bad = harness_fail(self, "call %d: %s", call, ring_comm_error(comm));
	}
	ring_stream_destroy(stream);
	for (int call = 0; !bad && call < CALLS; call++)
		bad = check_sum(self, vectors[call], call);
	place_drop(vectors);
	free(vectors);
	return bad;
}

/* Bad arguments are refused at once; a mismatch is the error of its position and all after it. */
static int deliver_errors(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream, *other;
	int32_t good[4] = {0}, vector[COUNT] = {0}, result[COUNT];
	if (ring_stream_create(comm, &stream) || ring_stream_create(comm, &other))
		return harness_fail(self, "creating a stream");
	int err = ring_all_reduce(comm, NULL, result, COUNT, RING_INT32, RING_SUM, stream);
	if (err != RING_EINVAL || ring_stream_position(stream) != 0)
		return harness_fail(self, "a NULL buffer gave %d at position %llu", err,
				    (unsigned long long)ring_stream_position(stream));

	size_t count = self->rank == 0 ? COUNT : COUNT - 1;
	int first = ring_all_reduce(comm, good, good, 4, RING_INT32, RING_SUM, stream);
	int bad = 0;
	if (first || ring_stream_wait(stream, 1))
		bad = harness_fail(self, "the good call failed: %s", ring_comm_error(comm));
	harness_barrier(self); /* a failure also ends what other ranks are still at */
	int second = ring_all_reduce(comm, vector, result, count, RING_INT32, RING_SUM, stream);
	int third = ring_barrier(comm, other);
	err = second ? second : ring_stream_wait(stream, 2);
	if (err != RING_EMISMATCH || (!second && ring_stream_test(stream, 2) != err))
		bad = harness_fail(self, "the mismatch gave %d: %s", err, ring_comm_error(comm));
	if (ring_stream_wait(stream, 1))
		bad = harness_fail(self, "the good call has the later one's error");
	err = third ? third : ring_stream_wait(other, 1);
	if (err != RING_EMISMATCH)
		bad = harness_fail(self, "the call behind the mismatch gave %d", err);
	if (ring_barrier(comm, stream) != RING_EMISMATCH)
		bad = harness_fail(self, "the failure does not stick");
	ring_stream_destroy(stream);
	ring_stream_destroy(other);
	ring_stream_destroy(NULL);
	return bad;
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = many_in_flight(self, comm) || compute_meanwhile(self, comm) ||
		  leave_in_flight(self, comm) || (self->size > 1 && deliver_errors(self, comm));
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	static const int sizes[] = {1, 2, 4};
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int s = 0; s < 3; s++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = sizes[s],
					       .body = be_rank,
					       .shared_bytes = sizeof(struct board)};
			if (harness_run(&team))
				return 1;
		}
	printf("%d calls in flight on %d streams of 1, 2 and 4 ranks: results, positions and "
	       "errors "
	       "right\n",
	       CALLS, STREAMS);
	return 0;
}
