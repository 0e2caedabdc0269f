/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while GPUs are at work: each survivor has the named error within a second, and
 * goes on with its own device, whose streams do not wait for calls that have failed. Jobs take so
 * long that all ranks have some under way.
 */
#include <stdlib.h>

#include "driver.h"
#include "tests/device/twin.h"
#include "tests/fault/kill.h"

#define PENDING 5

/* Elements of a call that kernels carry out. */
#define SMALL 4000
#define LARGE 40000 /* around the ring */

static size_t kernels_count; /* 0: the host carries them out */

static int act_call(struct scene_actor *actor)
{
	kill_begin(actor);
	return scene_all_reduce(actor, kill_round_of(actor)->count, 1000000);
}

/* Calls of a stream that the program holds, or does not. */
struct pending {
	struct scene_actor *actor;
	struct CUstream_st *handle;
	struct ring_stream *stream;
	uint32_t *gate; /* pinned */
	float *far;
	size_t count;
};

static int prepare(struct scene_actor *actor, struct pending *pending)
{
	size_t count = kernels_count ? kernels_count : kill_round_of(actor)->count;
	*pending = (struct pending){.actor = actor, .count = count};
	pending->far = twin_make(count * sizeof(float));
	CUDA_MUST(cuda.host_alloc((void **)&pending->gate, sizeof(*pending->gate), 0));
	CUDA_MUST(cuda.stream_create(&pending->handle, RING_CUDA_STREAM_NON_BLOCKING, 0));
	*pending->gate = 0;
	int err = ring_stream_from_cuda(actor->comm, pending->handle, &pending->stream);
	return err ? scene_note(actor, err) : 0;
}

static int give_calls(struct pending *pending)
{
	int err = 0;
	for (int call = 0; call < PENDING && !err; call++)
		err = ring_all_reduce(pending->actor->comm, pending->far, pending->far,
				      pending->count, RING_FLOAT32, RING_SUM, pending->stream);
	return err;
}

/* Whatever became of the calls, the stream does not stop there. */
static int clean_up(struct pending *pending, int err)
{
	scene_note(pending->actor, err);
	__atomic_store_n(pending->gate, 1, __ATOMIC_RELEASE);
	CUDA_MUST(cuda.stream_synchronize(pending->handle));
	ring_stream_destroy(pending->stream);
	CUDA_MUST(cuda.stream_destroy(pending->handle));
	CUDA_MUST(cuda.host_free(pending->gate));
	twin_end(pending->far);
	return err;
}

/* The death comes while calls are under way, and others behind them. */
static int act_stream(struct scene_actor *actor)
{
	struct pending pending;
	int err = prepare(actor, &pending);
	if (err)
		return err;
	kill_begin(actor);
	while (!err) {
		err = give_calls(&pending);
		if (!err)
			err = ring_stream_wait(pending.stream, ring_stream_position(pending.stream));
	}
	return clean_up(&pending, err);
}

/* It comes before the survivors' streams come to their calls. */
static int act_held(struct scene_actor *actor)
{
	struct pending pending;
	int err = prepare(actor, &pending);
	if (err)
		return err;
	CUDA_MUST(cuda.stream_wait_value(pending.handle, pending.gate, 1, RING_CUDA_WAIT_GEQ));
	err = give_calls(&pending);
	kill_begin(actor);
	if (!err)
		err = ring_stream_wait(pending.stream, PENDING);
	return clean_up(&pending, err);
}

/* The rank's process ends behind it. */
static void use_kernels(size_t count)
{
	setenv("RING_CUDA_ENGINE", "kernel", 1);
	kernels_count = count;
}

static int act_stream_by_kernels(struct scene_actor *actor)
{
	use_kernels(SMALL);
	return act_stream(actor);
}

static int act_held_by_kernels(struct scene_actor *actor)
{
	use_kernels(SMALL);
	return act_held(actor);
}

static int act_stream_around(struct scene_actor *actor)
{
	use_kernels(LARGE);
	return act_stream(actor);
}

static int act_held_around(struct scene_actor *actor)
{
	use_kernels(LARGE);
	return act_held(actor);
}

static const struct kill_situation situations[] = {
	{"call, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, mixed", 6, NULL, 2, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, shm, one shot", 3, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "oneshot",
	 .act = act_call},
	{"streams, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_stream},
	{"streams, mixed", 4, NULL, 2, SCENE_ACTING, .1, 1, .act = act_stream},
	{"held streams, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_held},
	{"held streams, tcp", 3, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_held},
	{"streams, kernels", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_stream_by_kernels},
	{"held streams, kernels", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_held_by_kernels},
	{"streams, around the ring", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_stream_around},
	{"held streams, around the ring", 3, "shm", 0, SCENE_ACTING, .1, 1, .act = act_held_around},
};

int main(int argc, char **argv)
{
	setenv("RING_FAKE_CUDA_DELAY_US", "20000", 1); /* ranks begin to use their devices later */
	return kill_main(argc, argv, situations, sizeof(situations) / sizeof(situations[0]), 2);
}
