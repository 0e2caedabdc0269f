/* SPDX-License-Identifier: MIT */
/* They end where they cannot go on, with the sentence that says why, on all ranks. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/later.h"
#include "launched.h"

/* ---- calls that cannot go on ------------------------------------------------------------------ */

static int expect(struct bench *bench, int is, int should, const char *word)
{
	const char *sentence = ring_comm_error(bench->comm);
	if (is == should && strstr(sentence, word))
		return 0;
	return harness_fail(bench->self, "%s, not %s with \"%s\": %s", ring_strerror(is),
			    ring_strerror(should), word, sentence);
}

/* Whoever comes late knows already when it makes the call. What calls leave is no stream that waits. */
static int released(struct bench *bench, int made, int err, const char *word)
{
	int bad = expect(bench, made ? made : await(bench, 0), err, word);
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	return bad;
}

static int make(struct bench *bench, struct ring_stream *stream)
{
	return add(bench, bench->send, bench->recv, bench->check->count, stream);
}

static int mismatch(struct bench *bench, size_t count)
{
	char words[40];
	if (make(bench, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "a call");
	harness_barrier(bench->self); /* a rank may be done before the one behind it is */
	int err = add(bench, bench->send, bench->recv,
		      bench->self->rank == 1 ? count : bench->check->count, bench->streams[0]);
	snprintf(words, sizeof(words), "all_reduce of %zu ", count);
	int bad = released(bench, err, RING_EMISMATCH, words);
	return bad || ring_stream_wait(bench->streams[0], 1);
}

static int other_count(struct bench *bench)
{
	return mismatch(bench, bench->check->count - 1);
}

/* So its kernel is another one. */
static int small_count(struct bench *bench)
{
	return mismatch(bench, 100);
}

/* The same call, but for who carries it out. */
static int one_blocks(struct bench *bench)
{
	if (bench->self->rank == 1)
		return expect(bench, make(bench, NULL), RING_EMISMATCH, "by a kernel");
	return released(bench, make(bench, bench->streams[0]), RING_EMISMATCH, "by a kernel");
}

static int host_memory(struct bench *bench)
{
	static int32_t mine[LARGE];
	if (bench->self->rank == 2)
		return expect(bench, add(bench, mine, mine, bench->check->count, NULL),
			      RING_EMISMATCH, "by a kernel");
	return released(bench, make(bench, bench->streams[0]), RING_EMISMATCH, "by a kernel");
}

/* Around the ring a rank waits for the one before it, which waits as well. */
static const char *late_rank(const struct bench *bench)
{
	const bool rings = bench->check->count == LARGE || IS_WIRED;
	return rings ? ", for rank " : ", for rank 1";
}

static int be_late(struct bench *bench)
{
	const double began = harness_clock();
	while (!ring_comm_status(bench->comm) && harness_clock() - began < 60)
		usleep(1000);
	return expect(bench, ring_comm_status(bench->comm), RING_ETIMEDOUT, late_rank(bench));
}

static int wait_in_vain(struct bench *bench, double began)
{
	int err = make(bench, bench->streams[0]);
	int bad = released(bench, err, RING_ETIMEDOUT, late_rank(bench));
	if (harness_clock() - began < TIMEOUT_MS / 1000.)
		bad = harness_fail(bench->self, "too early");
	if (harness_clock() - began > TIMEOUT_MS / 1000. + 1 * HARNESS_ROOM)
		bad = harness_fail(bench->self, "it took %.1f s", harness_clock() - began);
	return bad;
}

static int one_is_late(struct bench *bench)
{
	double began = harness_clock();
	harness_barrier(bench->self); /* the first rank's time counts, and all began before that */
	return bench->self->rank == 1 ? be_late(bench) : wait_in_vain(bench, began);
}

/* SIGSTOP, until the first of the others has given up. */
static int one_stops(struct bench *bench)
{
	pid_t *stopped = bench->self->shared;
	double began = harness_clock();
	if (bench->self->rank == 1)
		*stopped = getpid();
	harness_barrier(bench->self);
	if (bench->self->rank == 1) {
		raise(SIGSTOP);
		return be_late(bench);
	}
	int bad = wait_in_vain(bench, began);
	if (bench->self->rank == 0)
		kill(*stopped, SIGCONT);
	return bad;
}

static int one_aborts(struct bench *bench)
{
	if (bench->self->rank == 1) {
		usleep(50000);
		return ring_comm_abort(bench->comm);
	}
	for (int call = 0; call < 3; call++)
		if (make(bench, bench->streams[call % 2]))
			return 0; /* it knows already */
	CUDA_MUST(cuda.stream_synchronize(bench->handles[1]));
	return released(bench, 0, RING_EABORTED, "rank 1 aborted");
}

/* The communicator goes, and its streams. */
static void forget(struct bench *bench)
{
	bench_leave(bench);
	*bench = (struct bench){.self = bench->self,
				.check = bench->check,
				.handles = {bench->handles[0], bench->handles[1]}};
}

/*
 * What its kernel will look at when the stream comes there has to be there, and says that it ends.
 * In one shot it sends its input before it sees that, which the communicator has allocated.
 */
static int goes_first(struct bench *bench)
{
	uint32_t *gate = bench->near;
	void *send;
	*gate = 0;
	if (ring_mem_alloc(bench->comm, bench->check->count * sizeof(int32_t), &send))
		return bench_say(bench, "memory");
	CUDA_MUST(cuda.stream_wait_value(bench->handles[0], gate, 1, RING_CUDA_WAIT_GEQ));
	if (add(bench, send, bench->recv, bench->check->count, bench->streams[0]))
		return bench_say(bench, "a call");
	harness_barrier(bench->self); /* all make it before they hear of the end */
	ring_comm_abort(bench->comm);
	forget(bench);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	int err = cuda.stream_synchronize(bench->handles[0]);
	ring_cuda_catch_up(); /* as whoever frees something next */
	return err ? harness_fail(bench->self, "the stream comes to %d", err) : 0;
}

/* All have gone before the first stream comes; one stream comes after the other. */
static int go_first_in_turn(struct bench *bench)
{
	struct harness_rank *self = bench->self;
	uint32_t *gate = bench->near;
	int err = 0;
	*gate = 0;
	CUDA_MUST(cuda.stream_wait_value(bench->handles[0], gate, 1, RING_CUDA_WAIT_GEQ));
	if (make(bench, bench->streams[0]))
		return bench_say(bench, "a call");
	harness_barrier(self);
	ring_comm_abort(bench->comm);
	for (int rank = 0; rank < self->size; rank++) {
		if (rank == self->rank)
			forget(bench);
		harness_barrier(self);
	}
	for (int rank = 0; rank < self->size; rank++) {
		if (rank == self->rank) {
			__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
			err = cuda.stream_synchronize(bench->handles[0]);
			ring_cuda_catch_up();
		}
		harness_barrier(self);
	}
	return err ? harness_fail(self, "the stream comes to %d", err) : 0;
}

/* What its kernel had is free, as far as it can be, when others' kernels write there once more. */
static int one_has_left(struct bench *bench)
{
	if (make(bench, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "a call");
	harness_barrier(bench->self);
	if (bench->self->rank == 1) {
		forget(bench);
		ring_cuda_catch_up();
	}
	harness_barrier(bench->self);
	if (bench->self->rank == 1)
		return 0;
	return released(bench, make(bench, bench->streams[0]), RING_EPEER, "rank 1");
}

static int one_leaves(struct bench *bench)
{
	if (bench->self->rank == 1) {
		usleep(50000);
		return 0;
	}
	return released(bench, make(bench, bench->streams[0]), RING_EPEER, "rank 1");
}

static int one_dies(struct bench *bench)
{
	for (int call = 0; call < 20; call++)
		if (make(bench, bench->streams[0]))
			return bench_say(bench, "a call");
	if (await(bench, 0))
		return bench_say(bench, "a call");
	harness_barrier(bench->self); /* a rank may be done before the one behind it is */
	if (bench->self->rank == 1)
		raise(SIGKILL);
	double began = harness_clock();
	int err = 0;
	for (int call = 0; call < 3 && !err; call++)
		err = make(bench, bench->streams[0]);
	int bad = released(bench, err, RING_EPEER, "rank 1");
	if (harness_clock() - began > 1 * HARNESS_ROOM)
		bad = harness_fail(bench->self, "it took %.1f s", harness_clock() - began);
	return bad;
}

/* With two ranks, of which others hear of one. */
static int one_process_dies(struct bench *bench)
{
	if (make(bench, bench->streams[0]) || await(bench, 0))
		return bench_say(bench, "a call");
	harness_barrier(bench->self);
	if (bench->self->rank == 3)
		raise(SIGKILL);
	int err = make(bench, bench->streams[0]);
	return bench->self->rank < 2 ? released(bench, err, RING_EPEER, "rank ") : 0;
}

/* ---- calls of the driver that fail ------------------------------------------------------------ */

/* Its kernel runs when the driver says so. Nobody knows what comes behind it, so it is the last. */
static int fails_behind_launch(struct bench *bench)
{
	double began = harness_clock();
	for (int call = 0; call < 5; call++)
		if (make(bench, bench->streams[call % 2]))
			break; /* it knows already */
	while (!ring_comm_status(bench->comm) && harness_clock() - began < 1 * HARNESS_ROOM)
		usleep(1000);
	int bad = expect(bench, ring_comm_status(bench->comm), RING_ESYSTEM,
			 "the cuda device failed");
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	CUDA_MUST(cuda.stream_synchronize(bench->handles[1]));
	return bad;
}

/* The host's call is refused, but its stream had stopped for it. */
static int fails_behind_stop(struct bench *bench)
{
	int err = ring_gather(bench->comm, bench->send, bench->recv, 100, RING_INT32, 0,
			      bench->streams[0]);
	int bad = expect(bench, err, RING_ESYSTEM, "the stream cannot wait for it");
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	return bad;
}

#if IS_WIRED
/* All ranks live, and only a pump can tell. RDMA goes on until somebody looks at the connection. */
static int wires_break(struct bench *bench)
{
	const double began = harness_clock();
	int err = 0;
	if (bench->self->rank == 1)
		bench_break_connections();
	while (!err && harness_clock() - began < 4 * HARNESS_ROOM) {
		err = make(bench, bench->streams[0]);
		err = err ? err : await(bench, 0);
	}
	return released(bench, err, RING_EPEER, "the link between rank ");
}
#endif

/* ---- all of them ------------------------------------------------------------------------------ */

/* Events before, of the eight jobs of a rank that tries whether it reaches others' memory, as well. */
#if IS_WIRED
#define BEHIND_TRIALS "2"
#else
#define BEHIND_TRIALS "10"
#endif

#define OF_ANY_SIZE(name, ...)                                                                     \
	{name, .count = 100, .races = true, __VA_ARGS__},                                          \
	{                                                                                          \
		name ", around the ring", .count = LARGE, .races = true, __VA_ARGS__               \
	}

const struct check launched_ends[] = {
	{"one rank's call is a small one", .run = small_count, .count = LARGE, .races = true},
	OF_ANY_SIZE("one rank gives another count", .run = other_count),
	OF_ANY_SIZE("one rank makes a call that blocks", .run = one_blocks),
	OF_ANY_SIZE("one rank gives memory of the host", .run = host_memory),
	OF_ANY_SIZE("one rank is late", .run = one_is_late, .timeout_ms = TIMEOUT_MS),
	OF_ANY_SIZE("one rank is stopped", .run = one_stops, .timeout_ms = TIMEOUT_MS),
	OF_ANY_SIZE("one rank aborts", .run = one_aborts),
	OF_ANY_SIZE("a communicator goes before its call's stream comes", .run = goes_first),
	OF_ANY_SIZE("communicators go before their calls' streams come, in turn",
		    .run = go_first_in_turn),
	OF_ANY_SIZE("one rank leaves", .run = one_leaves),
	OF_ANY_SIZE("one rank has left", .run = one_has_left),
	OF_ANY_SIZE("one rank dies", .run = one_dies, .doomed = 2),
	OF_ANY_SIZE("a launched call cannot be noted", .run = fails_behind_launch,
		    .fault = "cuLaunchKernel+cuEventRecord:3=999"),
	{"a stream that stops cannot be noted", .run = fails_behind_stop,
	 .fault = "cuCtxPushCurrent_v2+cuEventRecord:" BEHIND_TRIALS "=999"},
#if IS_WIRED
	OF_ANY_SIZE("wires break", .run = wires_break),
#endif
	OF_ANY_SIZE("one thread gives another count", .run = other_count, .threads = true),
	{"one thread's call is a small one", .run = small_count, .count = LARGE, .threads = true},
	OF_ANY_SIZE("one thread makes a call that blocks", .run = one_blocks, .threads = true),
	OF_ANY_SIZE("one thread is late", .run = one_is_late, .timeout_ms = TIMEOUT_MS,
		    .threads = true),
	OF_ANY_SIZE("one thread aborts", .run = one_aborts, .threads = true),
	OF_ANY_SIZE("one thread leaves", .run = one_leaves, .threads = true),
	OF_ANY_SIZE("one thread has left", .run = one_has_left, .threads = true),
	OF_ANY_SIZE("a thread's communicator goes before its call's stream comes",
		    .run = goes_first, .threads = true),
	OF_ANY_SIZE("threads' communicators go before their calls' streams come, in turn",
		    .run = go_first_in_turn, .threads = true),
	OF_ANY_SIZE("one of 2 threads of 2 processes has left", .run = one_has_left, .size = 4,
		    .threads = true, .together = 2),
	OF_ANY_SIZE("a process of 2 threads dies", .run = one_process_dies, .size = 4, .doomed = 2,
		    .threads = true, .together = 2),
	{0},
};
