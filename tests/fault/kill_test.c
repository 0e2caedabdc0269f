/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while its communicator is created, idle, in calls around the ring, or destroyed.
 * kill_direct_test has the calls that take other ways.
 */
#include <stdlib.h>
#include <unistd.h>

#include "kill.h"

/* ---- what ranks do ------------------------------------------------------------------------ */

static int act_call(struct scene_actor *actor)
{
	kill_begin(actor);
	return scene_all_reduce(actor, kill_round_of(actor)->count, 1000000);
}

/* Nobody calls anything; the next call must fail as the status said. */
static int act_idle(struct scene_actor *actor)
{
	int err = 0;
	kill_begin(actor);
	while (!err) {
		usleep(500);
		err = ring_comm_status(actor->comm);
	}
	scene_note(actor, err);
	if (ring_barrier(actor->comm, NULL) != err)
		actor->report->wrong++;
	return err;
}

static int act_late(struct scene_actor *actor)
{
	kill_begin(actor);
	if (kill_is_victim(actor))
		pause();
	return scene_all_reduce(actor, kill_round_of(actor)->count, 1);
}

/* The calls are the library's thread's; this one computes and only looks at the status. */
static int act_stream(struct scene_actor *actor)
{
	size_t count = kill_round_of(actor)->count;
	float *data = calloc(count, sizeof(*data));
	struct ring_stream *stream = NULL;
	int err = data ? ring_stream_create(actor->comm, &stream) : RING_ENOMEM;
	double until = harness_clock() + 2 * HARNESS_ROOM;
	kill_begin(actor);
	if (kill_is_victim(actor) && kill_round_of(actor)->seed % 2)
		pause(); /* half of the victims let the others wait, half die in the middle */
	while (!err && harness_clock() < until) {
		if (ring_stream_test(stream, ring_stream_position(stream)) == 0)
			ring_all_reduce(actor->comm, data, data, count, RING_FLOAT32, RING_MAX,
					stream);
		for (volatile int i = 0; i < 20000; i++)
			;
		err = ring_comm_status(actor->comm);
	}
	scene_note(actor, err);
	if (stream && err) { /* the next call fails so, when it is made or when it is awaited */
		int next = ring_barrier(actor->comm, stream);
		if (!next)
			next = ring_stream_wait(stream, ring_stream_position(stream));
		actor->report->wrong += next != err;
	}
	ring_stream_destroy(stream);
	free(data);
	return err;
}

/* All leave at slightly different times. */
static int act_destroy(struct scene_actor *actor)
{
	uint64_t state = kill_round_of(actor)->seed + (uint64_t)actor->rank;
	int err = ring_barrier(actor->comm, NULL);
	kill_begin(actor);
	scene_sleep(scene_random(&state, 0.01));
	return err;
}

/* Whoever was created in spite of the death must notice it now. */
static int act_after_creation(struct scene_actor *actor)
{
	return scene_all_reduce(actor, 1000, 1000000);
}
/* ---- the situations ----------------------------------------------------------------------- */

static const struct kill_situation situations[] = {
	{"create", 4, NULL, 0, SCENE_MEETING, .06, 1, .act = act_after_creation},
	{"create, 8 ranks", 8, NULL, 0, SCENE_MEETING, .12, 1, .act = act_after_creation},
	{"create, mixed", 8, NULL, 2, SCENE_MEETING, .12, 1, .act = act_after_creation},
	{"create, server", 4, NULL, 0, SCENE_MEETING, .06, 1, .server_dies = true,
	 .may_succeed = true, .act = NULL},
	{"idle", 4, NULL, 0, SCENE_ACTING, .05, 1, .act = act_idle},
	{"idle, mixed", 8, NULL, 2, SCENE_ACTING, .05, 1, .act = act_idle},
	{"idle, child lives", 4, NULL, 0, SCENE_ACTING, .05, 1, .has_child = true, .act = act_idle},
	{"call, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, shm, 8 ranks", 8, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, mixed", 8, NULL, 3, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, two at once", 8, NULL, 2, SCENE_ACTING, .1, 2, .act = act_call},
	{"call, shm, child lives", 4, "shm", 0, SCENE_ACTING, .1, 1, .has_child = true,
	 .act = act_call},
	{"call, tcp, child lives", 4, "tcp", 0, SCENE_ACTING, .1, 1, .has_child = true,
	 .act = act_call},
	{"call, paced shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .link = "100MB/s,20us",
	 .act = act_call},
	{"call, paced tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .link = "100MB/s,20us",
	 .act = act_call},
	{"asleep, shm", 4, "shm", 0, SCENE_ACTING, .2, 1, .act = act_late},
	{"asleep, mixed", 8, NULL, 2, SCENE_ACTING, .2, 1, .act = act_late},
	{"computing", 4, NULL, 2, SCENE_ACTING, .2, 1, .act = act_stream},
	{"destroy", 4, NULL, 0, SCENE_ACTING, .01, 1, .may_succeed = true, .act = act_destroy},
	{"destroy, mixed", 8, NULL, 2, SCENE_ACTING, .01, 1, .may_succeed = true, .act = act_destroy},
};
int main(int argc, char **argv)
{
	return kill_main(argc, argv, situations, sizeof(situations) / sizeof(situations[0]), 2);
}
