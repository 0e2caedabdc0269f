/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while GPUs are at work: each survivor has the named error within a second, and
 * goes on with its own device. Jobs take so long that all ranks have some under way.
 */
#include <stdlib.h>

#include "tests/fault/kill.h"

static int act_call(struct scene_actor *actor)
{
	kill_begin(actor);
	return scene_all_reduce(actor, kill_round_of(actor)->count, 1000000);
}

static const struct kill_situation situations[] = {
	{"call, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, mixed", 6, NULL, 2, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, shm, one shot", 3, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "oneshot",
	 .act = act_call},
};

int main(int argc, char **argv)
{
	setenv("RING_FAKE_CUDA_DELAY_US", "20000", 1); /* ranks begin to use their devices later */
	return kill_main(argc, argv, situations, sizeof(situations) / sizeof(situations[0]), 2);
}
