/* SPDX-License-Identifier: MIT */
/*
 * What a program may do behind a call on a CUDA stream while the call is under way, where the
 * driver's calls that wait for the GPU have their context's lock meanwhile, as the real ones do.
 * The stream is held in front of the call, and let go only once the program has come to rest in
 * one of those calls.
 *
 *	call on a stream, then:    a library that needs the driver to end the call, and so the lock,
 *	one of the situations      hangs where the program has it
 *
 * A situation that says that it hangs fails here as soon as it no longer does. None does where the
 * device carries the call out by itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/harness.h"
#include "tests/holdings.h"

#include "driver.h"

#define RANKS 2
#define SMALL 5000  /* elements */
#define LARGE 40000 /* the same, of a call that goes around the ring */
#define BYTES (LARGE * sizeof(int32_t))
#define JOBS 2000 /* more than a queue takes */
#define THREADS 0 /* worlds' numbers */
#define SHM 1
#define TCP 2

/* What a rank has of CUDA, all of it made before its stream is held. */
struct bench {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct CUstream_st *handle, *beside;
	struct ring_stream *stream; /* ordered by `handle` */
	struct CUfunc_st *kernel;   /* that was never launched */
	char *send, *recv, *spare;  /* of the device, BYTES each */
	int32_t *near;              /* pinned, BYTES */
	uint32_t *gate;             /* pinned; the stream waits for a 1 */
	int count;                  /* of a call */
	int thread;                 /* the program's */
};

/* ---- situations ------------------------------------------------------------------------------ */

static void launch_in(struct bench *bench, struct CUstream_st *stream)
{
	uint32_t value = 7;
	void *arguments[] = {&bench->spare, &value};
	CUDA_MUST(cuda.launch(bench->kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void launch_beside(struct bench *bench)
{
	launch_in(bench, bench->beside);
}

static void launch_behind(struct bench *bench)
{
	launch_in(bench, bench->handle);
}

static void allocate(struct bench *bench)
{
	void *memory;
	(void)bench;
	CUDA_MUST(cuda.memory_alloc(&memory, 1000));
}

static void free_memory(struct bench *bench)
{
	CUDA_MUST(cuda.memory_free(bench->spare));
}

static void submit_many(struct bench *bench)
{
	for (int i = 0; i < JOBS; i++)
		CUDA_MUST(cuda.memory_set(bench->spare, 0, 4, bench->handle));
}

/* It is done while the other stream is held. */
static void copy_beside(struct bench *bench)
{
	CUDA_MUST(cuda.memory_copy(bench->near, bench->spare, BYTES, bench->beside));
	CUDA_MUST(cuda.stream_synchronize(bench->beside));
}

static void synchronize(struct bench *bench)
{
	(void)bench;
	CUDA_MUST(cuda.context_synchronize());
}

static const struct situation {
	const char *name;
	void (*act)(struct bench *bench);
	bool hangs;
	const char *loading, *blocking; /* CUDA_MODULE_LOADING, CUDA_LAUNCH_BLOCKING */
	int count;                      /* of the calls in it */
} situations[] = {
	{"the first launch of a kernel", launch_beside, true, "LAZY", "0", 0},
	{"the first launch of a kernel that is loaded", launch_beside, false, "EAGER", "0", 0},
	{"a launch that waits for its kernel", launch_behind, true, "EAGER", "1", 0},
	{"memory is allocated", allocate, true, "LAZY", "0", 0},
	{"memory is freed", free_memory, true, "LAZY", "0", 0},
	{"2,000 small jobs", submit_many, true, "LAZY", "0", 0},
	{"a copy on another stream", copy_beside, false, "LAZY", "0", 0},
	{"the context is synchronized", synchronize, false, "LAZY", "0", 0},
};

/* ---- a rank ---------------------------------------------------------------------------------- */

static void furnish(struct bench *bench)
{
	struct CUmod_st *module;
	bench->send = twin_make(BYTES);
	bench->recv = twin_make(BYTES);
	bench->spare = twin_make(BYTES);
	CUDA_MUST(cuda.host_alloc((void **)&bench->near, BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->gate, sizeof(*bench->gate), 0));
	CUDA_MUST(cuda.stream_create(&bench->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.stream_create(&bench->beside, RING_CUDA_STREAM_NON_BLOCKING, 0));
	CUDA_MUST(cuda.module_load(&module, "by name"));
	CUDA_MUST(cuda.module_function(&bench->kernel, module, "trap_store"));
	*bench->gate = 0;
	for (int i = 0; i < bench->count; i++)
		bench->near[i] = i;
	CUDA_MUST(cuda.memory_copy(bench->send, bench->near, BYTES, bench->handle));
	CUDA_MUST(cuda.stream_synchronize(bench->handle));
	bench->thread = gettid();
}

static int all_reduce(struct bench *bench)
{
	return ring_all_reduce(bench->comm, bench->send, bench->recv, (size_t)bench->count,
			       RING_INT32, RING_SUM, bench->stream);
}

static void *open_gate(void *argument)
{
	struct bench *bench = argument;
	holdings_await_sleep(bench->thread);
	__atomic_store_n(bench->gate, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* returns 0, or the first call's error */
static int call_and_act(struct bench *bench, const struct situation *situation)
{
	pthread_t opener;
	CUDA_MUST(cuda.stream_wait_value(bench->handle, bench->gate, 1, RING_CUDA_WAIT_GEQ));
	pthread_create(&opener, NULL, open_gate, bench);
	int err = all_reduce(bench);
	if (err)
		return err;
	situation->act(bench);
	CUDA_MUST(cuda.stream_synchronize(bench->handle));
	pthread_join(opener, NULL);
	return ring_stream_wait(bench->stream, ring_stream_position(bench->stream));
}

static bool is_right(struct bench *bench)
{
	CUDA_MUST(cuda.memory_copy(bench->near, bench->recv, BYTES, bench->handle));
	CUDA_MUST(cuda.stream_synchronize(bench->handle));
	for (int i = 0; i < bench->count; i++)
		if (bench->near[i] != RANKS * i)
			return false;
	return true;
}

static int run(struct harness_rank *self)
{
	const struct situation *situation = self->context;
	struct bench bench = {.self = self, .count = situation->count};
	bool *right = self->shared;
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	if (situation->hangs && !freopen("/dev/null", "w", stderr))
		return 1; /* the driver says at length who waits for whom */
	if (harness_join(self, NULL, &bench.comm))
		return 1;
	furnish(&bench);
	int err = ring_stream_from_cuda(bench.comm, bench.handle, &bench.stream);
	if (!err)
		err = all_reduce(&bench); /* makes what the first call makes */
	if (err)
		return harness_fail(self, "%s", ring_comm_error(bench.comm));
	CUDA_MUST(cuda.stream_synchronize(bench.handle));
	harness_barrier(self);
	usleep(20000); /* the library's threads sleep by now */
	err = call_and_act(&bench, situation);
	if (err)
		return harness_fail(self, "%s", ring_comm_error(bench.comm));
	right[self->rank] = is_right(&bench);
	ring_stream_destroy(bench.stream);
	ring_comm_destroy(bench.comm);
	return right[self->rank] ? 0 : harness_fail(self, "the sum is wrong");
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int try(const struct situation *situation, const struct harness_world *world,
	       const char *engine, int count)
{
	const bool hangs = situation->hangs && strcmp(engine, "host") == 0;
	struct situation this_one = *situation;
	this_one.hangs = hangs;
	this_one.count = count;
	struct harness team = {.world = world,
			       .size = RANKS,
			       .body = run,
			       .context = &this_one,
			       .shared_bytes = RANKS,
			       .doomed = hangs ? UINT64_MAX : 0};
	snprintf(team.label, sizeof(team.label), "%s, %s, %d elements, by the %s%s",
		 situation->name, world->name, count, engine, hangs ? ": hangs" : "");
	setenv("RING_CUDA_ENGINE", engine, 1);
	setenv("RING_FAKE_CUDA_PATIENCE_MS", hangs ? "400" : "60000", 1);
	setenv("CUDA_MODULE_LOADING", situation->loading, 1);
	setenv("CUDA_LAUNCH_BLOCKING", situation->blocking, 1);
	int failed = harness_start(&team) || harness_wait(&team);
	const bool *right = team.shared;
	bool passed = right && right[0] && right[1];
	if (hangs && passed)
		printf("# it does not hang any more: the list of situations should say so\n");
	harness_end(&team);
	return harness_report(team.label, failed || passed == hangs);
}

int main(void)
{
	const int n = (int)(sizeof(situations) / sizeof(*situations));
	int failed = 0;
	setenv("RING_FAKE_CUDA_LOCKS", "1", 1);
	printf("1..%d\n", n * (HARNESS_WORLDS + 5));
	for (int i = 0; i < n; i++) {
		for (int w = 0; w < HARNESS_WORLDS; w++)
			failed |= try(&situations[i], &harness_worlds[w], "host", SMALL);
		failed |= try(&situations[i], &harness_worlds[THREADS], "kernel", SMALL);
		failed |= try(&situations[i], &harness_worlds[THREADS], "kernel", LARGE);
		failed |= try(&situations[i], &harness_worlds[SHM], "kernel", SMALL);
		failed |= try(&situations[i], &harness_worlds[SHM], "kernel", LARGE);
		failed |= try(&situations[i], &harness_worlds[TCP], "kernel", LARGE);
	}
	return failed != 0;
}
