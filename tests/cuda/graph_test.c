/* SPDX-License-Identifier: MIT */
/*
 * Calls that GPUs carry out by themselves (RING_CUDA_ENGINE=kernel) in CUDA graphs: each is one node,
 * and whenever the graph is launched it is a call like others, between others. Those that cannot go
 * on end as others do, although no thread of the library is in them. wired_graph_test is made of the
 * same for ranks that share no memory: pumps move what kernels say. RING_TEST_LONG: 20 rounds of what
 * may race.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#ifndef WORLD
#define WORLD 1 /* of the harness */
#endif
#define RANKS 3
#define SHOT 1000   /* elements of a call in one shot */
#define LARGE 20000 /* of one around the ring ... */
#define CHUNK 4000  /* ... in messages of this many bytes */
#define COUNT (SHOT + LARGE)
#define BYTES (COUNT * sizeof(float))
#define REPLAYS 50      /* of a round */
#define ROUNDS 20       /* of these ... */
#define FEW_ROUNDS 3    /* ... and where each takes long */
#define TURNS 20        /* of two calls, in another order in some, if that were up to the driver */
#define TIMEOUT_MS 1500 /* much more than a rank comes behind another */
#define GRAPHS 2        /* at most, of a check */

struct check {
	const char *name;
	int (*run)(struct bench *bench);
	int size;     /* 0: RANKS */
	size_t begin; /* of what is captured */
	const char *link;
	int timeout_ms;
	uint64_t doomed;  /* ranks that die */
	bool races, slow; /* it takes nearly a second */
	bool threads;     /* of one process, each with a device */
};

static _Thread_local struct CUgraphExec_st *graphs[GRAPHS]; /* of this thread's rank */
static _Thread_local int graphs_made;
static int rounds;

static void copy(struct bench *bench, void *to, const void *from)
{
	bench_copy(bench, to, from, BYTES);
}

/* The first elements in one shot, all others around the ring. */
static int add(struct bench *bench, char *recv, size_t begin, struct ring_stream *stream)
{
	return ring_all_reduce(bench->comm, bench->send + begin * sizeof(float),
			       recv + begin * sizeof(float), begin ? LARGE : SHOT, RING_FLOAT32,
			       RING_SUM, stream);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Other threads of the process copy meanwhile, and wait. */
static void begin_capture(struct bench *bench)
{
	const int mode = bench->check->threads ? CUDA_CAPTURE_THREAD_LOCAL : CUDA_CAPTURE_GLOBAL;
	CUDA_MUST(cuda.capture_begin(bench->handles[0], mode));
}

/* returns the graph, of so many nodes; NULL: it has others */
static struct CUgraphExec_st *end_capture(struct bench *bench, size_t nodes)
{
	struct CUgraph_st *graph;
	struct CUgraphExec_st *exec;
	size_t has;
	CUDA_MUST(cuda.capture_end(bench->handles[0], &graph));
	CUDA_MUST(cuda.graph_nodes(graph, NULL, &has));
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	graphs[graphs_made++] = exec;
	if (has == nodes)
		return exec;
	harness_fail(bench->self, "the graph has %zu nodes", has);
	return NULL;
}

/* One with the sum that begins there. NULL: it has said why */
static struct CUgraphExec_st *capture(struct bench *bench, size_t begin)
{
	begin_capture(bench);
	int err = add(bench, bench->recv, begin, bench->streams[0]);
	struct CUgraphExec_st *exec = end_capture(bench, 1);
	if (!err && ring_stream_position(bench->streams[0]) == 0)
		return exec;
	bench_say(bench, "a call that is captured");
	return NULL;
}

static void launch(struct bench *bench, struct CUgraphExec_st *exec)
{
	CUDA_MUST(cuda.graph_launch(exec, bench->handles[0]));
}

/* ---- right results --------------------------------------------------------------------------- */

static void fill(struct bench *bench, int round)
{
	uint64_t random = 1000 * (uint64_t)bench->self->rank + (uint64_t)round;
	float *near = bench->near;
	for (size_t i = 0; i < COUNT; i++)
		near[i] = (float)(harness_random(&random) % 2000003) / 7;
	copy(bench, bench->send, bench->near);
	memset(bench->near, 0, BYTES);
	copy(bench, bench->recv, bench->near);
	copy(bench, bench->other, bench->near);
}

/* By kernels, of which none is in a graph; one is grouped. */
static int call_between(struct bench *bench)
{
	ring_group_start();
	int err = add(bench, bench->other, 0, bench->streams[0]);
	err = ring_group_end() ? ring_comm_status(bench->comm) : err;
	if (!err)
		err = add(bench, bench->other, SHOT, bench->streams[0]);
	return err ? bench_say(bench, "a call between") : 0;
}

static int compare(struct bench *bench, int round)
{
	copy(bench, bench->near, bench->recv);
	if (add(bench, bench->other, 0, NULL) || add(bench, bench->other, SHOT, NULL))
		return bench_say(bench, "by the host");
	copy(bench, bench->near_other, bench->other);
	return memcmp(bench->near, bench->near_other, BYTES) == 0
		       ? 0
		       : harness_fail(bench->self, "round %d: not the host's bits", round);
}

/* Between calls of all sorts. */
static int replay(struct bench *bench)
{
	struct CUgraphExec_st *small = capture(bench, 0), *large = capture(bench, SHOT);
	int bad = !small || !large;
	for (int round = 0; round < rounds && !bad; round++) {
		fill(bench, round);
		for (int i = 0; i < REPLAYS && !bad; i++) {
			launch(bench, i % 2 ? large : small);
			bad = i % 10 == 3 && call_between(bench);
		}
		bad = bad || compare(bench, round);
	}
	return bad;
}

/* Whoever moves messages has long rested when the graph is launched. */
static int replay_late(struct bench *bench)
{
	struct CUgraphExec_st *exec = capture(bench, SHOT);
	fill(bench, 0);
	for (int i = 0; i < 3 && exec; i++) {
		usleep(50000 * (useconds_t)(i + bench->self->rank));
		launch(bench, exec);
		CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	}
	if (!exec || add(bench, bench->recv, 0, bench->streams[0]))
		return bench_say(bench, "a call behind it");
	return compare(bench, 0);
}

/* The root leaves once its part is over: what it has to send goes on nevertheless. */
static int root_goes(struct bench *bench)
{
	const float *near = bench->near;
	fill(bench, 0);
	begin_capture(bench);
	int err = ring_broadcast(bench->comm, bench->send, bench->recv, LARGE, RING_FLOAT32, 0,
				 bench->streams[0]);
	struct CUgraphExec_st *exec = end_capture(bench, 1);
	if (err || !exec)
		return bench_say(bench, "a broadcast that is captured");
	launch(bench, exec);
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	if (bench->self->rank == 0)
		return 0;
	copy(bench, bench->near, bench->recv);
	uint64_t random = 0;
	for (int i = 0; i < LARGE; i++)
		if (near[i] != (float)(harness_random(&random) % 2000003) / 7)
			return harness_fail(bench->self, "element %d is not the root's", i);
	return 0;
}

static int give(struct bench *bench, const void *from, void *to, struct ring_stream *stream)
{
	return ring_all_reduce(bench->comm, from, to, LARGE, RING_FLOAT32, RING_SUM, stream);
}

/* Each takes what the one before gives, and makes more of it. */
static int take_turns(struct bench *bench, struct ring_stream *first, struct ring_stream *second)
{
	int err = give(bench, bench->send, bench->recv, first);
	return err ? err : give(bench, bench->recv, bench->send, second);
}

static int compare_turns(struct bench *bench)
{
	copy(bench, bench->near_other, bench->send);
	fill(bench, 0);
	for (int turn = 0; turn < TURNS; turn++)
		if (take_turns(bench, NULL, NULL))
			return bench_say(bench, "by the host");
	copy(bench, bench->near, bench->send);
	return memcmp(bench->near, bench->near_other, LARGE * sizeof(float)) == 0
		       ? 0
		       : harness_fail(bench->self, "not the host's bits");
}

/* Two streams of one capture: nobody says that the second call comes behind the first. */
static int fork_and_join(struct bench *bench)
{
	struct CUevent_st *event;
	CUDA_MUST(cuda.event_create(&event, RING_CUDA_EVENT_NO_TIMING));
	fill(bench, 0);
	begin_capture(bench);
	CUDA_MUST(cuda.event_record(event, bench->handles[0]));
	CUDA_MUST(cuda.stream_wait_event(bench->handles[1], event, 0));
	int err = take_turns(bench, bench->streams[0], bench->streams[1]);
	CUDA_MUST(cuda.event_record(event, bench->handles[1]));
	CUDA_MUST(cuda.stream_wait_event(bench->handles[0], event, 0));
	struct CUgraphExec_st *exec = end_capture(bench, 2);
	if (err)
		return bench_say(bench, "calls that are captured");
	for (int turn = 0; turn < TURNS && exec; turn++)
		launch(bench, exec);
	return exec ? compare_turns(bench) : 1;
}

/* Only calls that kernels carry out, and a capture that was refused one goes on. */
static int refuse(struct bench *bench)
{
	begin_capture(bench);
	int err = ring_all_to_all(bench->comm, bench->send, bench->recv, 10, RING_INT32,
				  bench->streams[0]);
	const char *sentence = ring_comm_error(bench->comm);
	if (err != RING_ENOTSUP || !strstr(sentence, "the host takes part"))
		return harness_fail(bench->self, "%s: %s", ring_strerror(err), sentence);
	err = add(bench, bench->recv, 0, bench->streams[0]);
	struct CUgraphExec_st *exec = end_capture(bench, 1);
	if (err || !exec)
		return bench_say(bench, "a call that is captured");
	fill(bench, 0);
	launch(bench, exec);
	if (add(bench, bench->recv, SHOT, bench->streams[0]))
		return bench_say(bench, "a call behind it");
	return compare(bench, 0);
}

/* A replay is none of the calls that are counted: the next one is not complete before it has begun. */
static int leave_numbers(struct bench *bench)
{
	struct CUgraphExec_st *exec = capture(bench, 0);
	uint32_t *gate = bench->near_other;
	if (!exec)
		return 1;
	launch(bench, exec);
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	*gate = 0;
	CUDA_MUST(cuda.stream_wait_value(bench->handles[0], gate, 1, RING_CUDA_WAIT_GEQ));
	int err = add(bench, bench->recv, 0, bench->streams[0]);
	const uint64_t position = ring_stream_position(bench->streams[0]);
	usleep(20000); /* whoever takes it for complete has said so by now */
	const int held = ring_stream_test(bench->streams[0], position);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	const int done = ring_stream_wait(bench->streams[0], position);
	if (err || held != RING_EAGAIN || done)
		return harness_fail(bench->self, "%s, %s while it was held, then %s",
				    ring_strerror(err), ring_strerror(held), ring_strerror(done));
	return 0;
}

/* ---- what cannot go on ----------------------------------------------------------------------- */

/* The communicator says so by and by, and no stream waits behind that. */
static int await_failure(struct bench *bench, int should, const char *word)
{
	const double began = harness_clock(), most = (bench->check->slow ? 2 : 1) * HARNESS_ROOM;
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	int err = ring_comm_status(bench->comm);
	for (; !err && harness_clock() - began < most; usleep(1000))
		err = ring_comm_status(bench->comm);
	const char *sentence = ring_comm_error(bench->comm);
	if (err != should || !strstr(sentence, word))
		return harness_fail(bench->self, "%s, not %s with \"%s\": %s", ring_strerror(err),
				    ring_strerror(should), word, sentence);
	if (harness_clock() - began > most)
		return harness_fail(bench->self, "it took %.1f s", harness_clock() - began);
	return add(bench, bench->recv, 0, bench->streams[0]) == should ? 0
								       : bench_say(bench, "a call");
}

/* All have launched it once, but not rank 1 once more. */
static int launch_but_one(struct bench *bench, size_t begin)
{
	struct CUgraphExec_st *exec = capture(bench, begin);
	if (!exec)
		return 1;
	launch(bench, exec);
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	harness_barrier(bench->self);
	if (bench->self->rank != 1)
		launch(bench, exec);
	return 0;
}

static int one_never_launches(struct bench *bench)
{
	if (launch_but_one(bench, bench->check->begin))
		return 1;
	if (bench->self->rank != 1)
		return await_failure(bench, RING_ETIMEDOUT, "in a call of a graph, for rank");
	while (!ring_comm_status(bench->comm))
		usleep(1000);
	return 0;
}

#if WORLD != 1
/* All ranks live, and no thread is in a call. */
static int wires_break(struct bench *bench)
{
	struct CUgraphExec_st *exec = capture(bench, SHOT);
	if (!exec)
		return 1;
	launch(bench, exec);
	CUDA_MUST(cuda.stream_synchronize(bench->handles[0]));
	harness_barrier(bench->self);
	if (bench->self->rank == 1)
		bench_break_connections();
	harness_barrier(bench->self);
	launch(bench, exec);
	return await_failure(bench, RING_EPEER, "closed while a call of a graph needs it");
}
#endif

static int one_dies(struct bench *bench)
{
	if (launch_but_one(bench, SHOT))
		return 1;
	if (bench->self->rank == 1)
		raise(SIGKILL);
	return await_failure(bench, RING_EPEER, "rank 1");
}

static int one_aborts(struct bench *bench)
{
	if (launch_but_one(bench, 0))
		return 1;
	if (bench->self->rank == 1)
		ring_comm_abort(bench->comm);
	return await_failure(bench, RING_EABORTED, "rank 1 aborted");
}

/* The others replay what this rank does otherwise. */
static int one_differs(struct bench *bench)
{
	if (launch_but_one(bench, 0))
		return 1;
	if (bench->self->rank == 1 &&
	    ring_all_reduce(bench->comm, bench->send, bench->recv, SHOT - 1, RING_FLOAT32, RING_SUM,
			    bench->streams[0]))
		return bench_say(bench, "a call");
	return await_failure(bench, RING_EMISMATCH, "but rank ");
}

/* A call may look like one of a graph in all else. */
static int one_calls(struct bench *bench)
{
	if (launch_but_one(bench, SHOT))
		return 1;
	if (bench->self->rank == 1 && add(bench, bench->recv, SHOT, bench->streams[0]))
		return bench_say(bench, "a call");
	return await_failure(bench, RING_EMISMATCH, "of a graph");
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int run(struct harness_rank *self)
{
	const struct check *check = self->context;
	struct ring_options options;
	struct bench bench = {.self = self, .check = check};
	harness_options(self, &options);
	options.chunk_bytes = CHUNK;
	options.link = check->link;
	if (check->timeout_ms)
		options.call_timeout_ms = check->timeout_ms;
	if (harness_join(self, &options, &bench.comm))
		return 1;
	if (!check->threads)
		bench_note_connections();
	int bad = bench_furnish(&bench, BYTES);
	harness_barrier(self);
	bad = bad || check->run(&bench);
	bench_leave(&bench);
	while (graphs_made)
		CUDA_MUST(cuda.graph_exec_destroy(graphs[--graphs_made]));
	return bad;
}

static const struct check checks[] = {
	{"replays between calls, 2 ranks", .run = replay, .size = 2},
	{"replays between calls, 3 ranks", .run = replay, .size = 3},
	{"replays between calls, 4 ranks", .run = replay, .size = 4},
	{"replays after a while", .run = replay_late},
	{"the root of a broadcast goes", .run = root_goes, .size = 2, .link = "200KB/s,1ms"},
	{"two streams of a capture", .run = fork_and_join},
	{"a replay and the call behind it", .run = leave_numbers},
	{"a call that the host carries out", .run = refuse},
	{"one rank never launches it", .run = one_never_launches, .timeout_ms = TIMEOUT_MS,
	 .races = true},
	{"one rank never launches it, around the ring", .run = one_never_launches, .begin = SHOT,
	 .timeout_ms = TIMEOUT_MS, .races = true},
#if WORLD != 1
	{"wires break", .run = wires_break, .races = true, .slow = true},
#endif
	{"one rank dies", .run = one_dies, .doomed = 2, .races = true},
	{"one rank aborts", .run = one_aborts, .races = true},
	{"one rank makes another call", .run = one_differs, .races = true},
	{"one rank makes the same call, but not by its graph", .run = one_calls, .races = true},
	{"replays between calls, 2 threads", .run = replay, .size = 2, .threads = true},
	{"replays between calls, 4 threads", .run = replay, .size = 4, .threads = true},
	{"one thread never launches it", .run = one_never_launches, .timeout_ms = TIMEOUT_MS,
	 .threads = true, .races = true},
	{"one thread aborts", .run = one_aborts, .threads = true, .races = true},
	{"one thread makes another call", .run = one_differs, .threads = true, .races = true},
	{"one thread makes the same call, but not by its graph", .run = one_calls, .threads = true,
	 .races = true},
};

#define CHECKS ((int)(sizeof(checks) / sizeof(*checks)))

/* far: kernels speak through memory of the GPU, not of the host */
static int try_check(const struct check *check, bool far)
{
	static const struct harness_world threads = {.name = "threads",
						     .threads = true,
						     .transport = WORLD == 1 ? "loopback" : "tcp"};
	struct harness team = {.world = check->threads ? &threads : &harness_worlds[WORLD],
			       .size = check->size ? check->size : RANKS,
			       .body = run,
			       .context = (void *)(uintptr_t)check,
			       .doomed = check->doomed};
	snprintf(team.label, sizeof(team.label), "%s%s", check->name, far ? "" : ", by the host");
	setenv("RING_FAKE_CUDA_MAPS", far ? "2" : "0", 1);
	setenv("RING_FAKE_CUDA_DEVICES", check->threads ? "4" : "2", 1);
	return harness_report(team.label, harness_run(&team));
}

int main(int argc, char **argv)
{
	const bool is_long = harness_is_long(argc, argv);
	const int times = is_long ? 20 : WORLD == 1 ? 2 : 1;
	int failed = 0, races = 0;
	rounds = harness_is_quick() ? 2 : WORLD == 1 || is_long ? ROUNDS : FEW_ROUNDS;
	setenv("RING_CUDA_ENGINE", "kernel", 1);
	setenv("RING_FAKE_CUDA_FREES_WAIT", "0", 1);
	setenv("RING_FAKE_CUDA_LEFT", "1", 1);
	for (int i = 0; i < CHECKS; i++)
		races += checks[i].races;
	printf("1..%d\n", CHECKS + (times - 1) * races);
	for (int time = 0; time < times; time++)
		for (int i = 0; i < CHECKS; i++)
			if (time == 0 || checks[i].races)
				failed |= try_check(&checks[i], WORLD != 1 || time % 2 == 0);
	return failed != 0;
}
