/* SPDX-License-Identifier: MIT */
/*
 * Two communicators of a rank on one device: what the library does for one of them waits for no
 * call of the other's that is pending, where the driver's calls that wait for the GPU have their
 * context's lock meanwhile, as the real ones do. Threads whose kernels carry calls out have a
 * device each.
 *
 *	rank 0    calls on the first, whose stream waits    acts on the second       both calls
 *	rank 1                                              does as well, but for    end rightly
 *	                                                    that it calls later
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/twin.h"
#include "tests/harness.h"
#include "tests/holdings.h"

#include "driver.h"

#define RANKS 2
#define COUNT 5000
#define BYTES (COUNT * sizeof(int32_t))
#define THREADS 0 /* worlds' numbers */
#define SHM 1
#define A_WHILE_US 50000
#define LONG_US 600000 /* a waiting queue looks by itself before that */

/* What a rank has of one communicator. */
struct half {
	struct ring_comm *comm;
	struct CUstream_st *handle;
	struct ring_stream *stream; /* ordered by it */
	char *recv;                 /* of the device, BYTES */
};

struct bench {
	struct harness_rank *self;
	struct half first, second, third;
	char *send, *spare; /* of the device, BYTES each */
	void *lent;         /* the same, by ring_mem_alloc() of the second */
	int32_t *near;      /* pinned, BYTES */
	uint32_t *gate;     /* pinned */
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void furnish_half(struct half *half)
{
	half->recv = twin_make(BYTES);
	CUDA_MUST(cuda.stream_create(&half->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
}

static int make_half(struct bench *bench, struct half *half, struct ring_comm *comm)
{
	half->comm = comm;
	return ring_stream_from_cuda(comm, half->handle, &half->stream)
		       ? harness_fail(bench->self, "%s", ring_comm_error(comm))
		       : 0;
}

static int call(const struct bench *bench, const struct half *half)
{
	int err = ring_all_reduce(half->comm, bench->send, half->recv, COUNT, RING_INT32, RING_SUM,
				  half->stream);
	return err ? harness_fail(bench->self, "%s", ring_comm_error(half->comm)) : 0;
}

static int await(const struct bench *bench, const struct half *half)
{
	int err = ring_stream_wait(half->stream, ring_stream_position(half->stream));
	return err ? harness_fail(bench->self, "%s", ring_comm_error(half->comm)) : 0;
}

static int check(struct bench *bench, const struct half *half)
{
	int bad = await(bench, half);
	CUDA_MUST(cuda.memory_copy(bench->near, half->recv, BYTES, half->handle));
	CUDA_MUST(cuda.stream_synchronize(half->handle));
	for (int i = 0; i < COUNT && !bad; i++)
		if (bench->near[i] != RANKS * i)
			bad = harness_fail(bench->self, "element %d is %d", i, bench->near[i]);
	return bad;
}

static void unstream(struct half *half)
{
	ring_stream_destroy(half->stream);
	half->stream = NULL;
}

/* ---- situations ------------------------------------------------------------------------------ */

struct free_beside {
	void *memory;
	int thread;
};

static void *free_beside(void *argument)
{
	struct free_beside *beside = argument;
	__atomic_store_n(&beside->thread, gettid(), __ATOMIC_RELEASE);
	twin_end(beside->memory);
	return NULL;
}

/* Rank 0 has the lock, in a thread of its own, until the first call ends. */
static int tell(struct bench *bench)
{
	struct free_beside beside = {.memory = bench->spare};
	pthread_t thread;
	int bad = 0;
	if (bench->self->rank == 0) {
		bad = call(bench, &bench->second);
		pthread_create(&thread, NULL, free_beside, &beside);
		while (!__atomic_load_n(&beside.thread, __ATOMIC_ACQUIRE))
			usleep(1000);
		holdings_await_sleep(beside.thread);
		usleep(LONG_US);
		harness_barrier(bench->self);
	} else {
		harness_barrier(bench->self);
		bad = call(bench, &bench->second);
	}
	bad |= await(bench, &bench->second);
	harness_barrier(bench->self);
	if (bench->self->rank > 0)
		return bad | call(bench, &bench->first);
	pthread_join(thread, NULL);
	return bad;
}

/* What is left to be done once all ranks have acted. */
static int call_late(struct bench *bench, int bad)
{
	harness_barrier(bench->self);
	return bad || bench->self->rank == 0 ? bad : call(bench, &bench->first);
}

static int destroy(struct bench *bench)
{
	unstream(&bench->second);
	ring_comm_destroy(bench->second.comm);
	bench->second.comm = NULL;
	return call_late(bench, 0);
}

/* Its call is pending as well, and will never be made by others. */
static int abort_it(struct bench *bench)
{
	int bad = bench->self->rank == 0 ? call(bench, &bench->second) : 0;
	harness_barrier(bench->self);
	ring_comm_abort(bench->second.comm);
	return destroy(bench) | bad;
}

/* The same, but its call's stream has not even come there. */
static int abort_before(struct bench *bench)
{
	if (bench->self->rank == 0)
		CUDA_MUST(cuda.stream_wait_value(bench->second.handle, bench->gate, 1,
						 RING_CUDA_WAIT_GEQ));
	int bad = abort_it(bench);
	__atomic_store_n(bench->gate, 1, __ATOMIC_RELEASE);
	return bad;
}

/* No call works on it from then on, whether or not it is free yet. */
static int free_memory(struct bench *bench)
{
	struct ring_comm *comm = bench->second.comm;
	int err = ring_mem_free(comm, bench->lent);
	int bad = err ? harness_fail(bench->self, "%s", ring_comm_error(comm)) : 0;
	err = ring_all_reduce(comm, bench->lent, bench->lent, COUNT, RING_INT32, RING_SUM, NULL);
	if (!bad && (err != RING_EINVAL || !strstr(ring_comm_error(comm), "perhaps freed")))
		bad = harness_fail(bench->self, "%d, %s", err, ring_comm_error(comm));
	return call_late(bench, bad);
}

static void *call_in_a_while(void *argument)
{
	usleep(A_WHILE_US);
	return (void *)(intptr_t)call(argument, &((struct bench *)argument)->first);
}

/* A third one is connected, which allocates and pins memory. */
static int make(struct bench *bench)
{
	struct half *third = &bench->third;
	struct ring_comm *comm;
	pthread_t thread;
	void *late = NULL;
	int bad = ring_comm_split(bench->second.comm, 0, bench->self->rank, &comm)
			  ? harness_fail(bench->self, "%s", ring_comm_error(bench->second.comm))
			  : 0;
	if (bench->self->rank > 0)
		pthread_create(&thread, NULL, call_in_a_while, bench);
	if (!bad)
		bad = make_half(bench, third, comm) || call(bench, third) || check(bench, third);
	if (bench->self->rank > 0)
		pthread_join(thread, &late);
	unstream(third);
	ring_comm_destroy(comm);
	return bad || late;
}

static const struct situation {
	const char *name;
	int (*act)(struct bench *bench);
	bool host, kernel; /* who carries calls out */
	const char *locks;
} situations[] = {
	{"an end is told", tell, false, true, "1"},
	{"an end is told, and nothing can be asked", tell, false, true, "2"},
	{"one is destroyed", destroy, true, true, "1"},
	{"one is aborted", abort_it, true, true, "1"},
	{"one is aborted before its stream comes", abort_before, true, true, "1"},
	{"memory is freed", free_memory, true, true, "1"},
	{"one is made", make, true, true, "1"},
};

/* ---- a rank ---------------------------------------------------------------------------------- */

static void furnish(struct bench *bench)
{
	bench->send = twin_make(BYTES);
	bench->spare = twin_make(BYTES);
	furnish_half(&bench->first);
	furnish_half(&bench->second);
	furnish_half(&bench->third);
	CUDA_MUST(cuda.host_alloc((void **)&bench->near, BYTES, 0));
	CUDA_MUST(cuda.host_alloc((void **)&bench->gate, sizeof(*bench->gate), 0));
	*bench->gate = 0;
	for (int i = 0; i < COUNT; i++)
		bench->near[i] = i;
	twin_write(bench->send, bench->near, BYTES);
}

static int join(struct bench *bench)
{
	struct ring_options options;
	struct ring_comm *first, *second;
	harness_options(bench->self, &options);
	options.device = "cuda";
	if (harness_join(bench->self, &options, &first) || make_half(bench, &bench->first, first))
		return 1;
	if (ring_comm_split(first, 0, bench->self->rank, &second))
		return harness_fail(bench->self, "%s", ring_comm_error(first));
	if (ring_mem_alloc(second, BYTES, &bench->lent))
		return harness_fail(bench->self, "%s", ring_comm_error(second));
	return make_half(bench, &bench->second, second);
}

/* Makes what first calls make. */
static int warm_up(struct bench *bench)
{
	int bad = call(bench, &bench->first) || call(bench, &bench->second) ||
		  check(bench, &bench->first) || check(bench, &bench->second);
	harness_barrier(bench->self);
	return bad;
}

static int run(struct harness_rank *self)
{
	const struct situation *situation = self->context;
	struct bench bench = {.self = self};
	furnish(&bench);
	int bad = join(&bench) || warm_up(&bench);
	if (!bad && self->rank == 0)
		bad = call(&bench, &bench.first);
	if (!bad)
		bad = situation->act(&bench);
	if (!bad)
		bad = check(&bench, &bench.first);
	harness_barrier(self);
	unstream(&bench.first);
	if (bench.second.comm)
		unstream(&bench.second);
	ring_comm_destroy(bench.second.comm);
	ring_comm_destroy(bench.first.comm);
	return bad;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int try(const struct situation *situation, const struct harness_world *world,
	       const char *engine)
{
	struct harness team = {
		.world = world, .size = RANKS, .body = run, .context = (void *)situation};
	snprintf(team.label, sizeof(team.label), "%s, %s, by the %s", situation->name, world->name,
		 engine);
	const bool own = world->threads && strcmp(engine, "kernel") == 0;
	setenv("RING_FAKE_CUDA_DEVICES", own ? "2" : "1", 1);
	setenv("RING_CUDA_ENGINE", engine, 1);
	setenv("RING_FAKE_CUDA_LOCKS", situation->locks, 1);
	return harness_report(team.label, harness_run(&team));
}

int main(void)
{
	const int n = (int)(sizeof(situations) / sizeof(*situations));
	int failed = 0, tests = 0;
	setenv("RING_FAKE_CUDA_PATIENCE_MS", "40000", 1);
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	for (int i = 0; i < n; i++)
		tests += HARNESS_WORLDS * situations[i].host + 2 * situations[i].kernel;
	printf("1..%d\n", tests);
	for (int i = 0; i < n; i++) {
		for (int w = 0; w < HARNESS_WORLDS && situations[i].host; w++)
			failed |= try(&situations[i], &harness_worlds[w], "host");
		for (int w = THREADS; w <= SHM && situations[i].kernel; w++)
			failed |= try(&situations[i], &harness_worlds[w], "kernel");
	}
	return failed != 0;
}
