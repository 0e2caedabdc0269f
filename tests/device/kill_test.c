/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while devices are at work: each survivor has the named error within a second,
 * frees its buffers at once, and no job reaches them any more (the far device would end the process).
 */
#include "tests/device/far.h"
#include "tests/fault/kill.h"

static int act_call(struct scene_actor *actor)
{
	kill_begin(actor);
	int err = scene_all_reduce(actor, kill_round_of(actor)->count, 1000000);
	actor->report->wrong += actor->report->calls > 0 && far_jobs() == 0;
	return err;
}

/* Jobs take longer than the victim lives, so some are under way when the call fails. */
static int act_late(struct scene_actor *actor)
{
	far_be_late(150000, 0, 0);
	kill_begin(actor);
	return scene_all_reduce(actor, 1000, 1000000);
}

static const struct kill_situation situations[] = {
	{"call, shm", 4, "shm", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, tcp", 4, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, mixed", 6, NULL, 2, SCENE_ACTING, .1, 1, .act = act_call},
	{"call, shm, one shot", 3, "shm", 0, SCENE_ACTING, .1, 1, .algorithm = "oneshot",
	 .act = act_call},
	{"late jobs, shm", 3, "shm", 0, SCENE_ACTING, .1, 1, .act = act_late},
	{"late jobs, tcp", 3, "tcp", 0, SCENE_ACTING, .1, 1, .act = act_late},
};

int main(int argc, char **argv)
{
	return kill_main(argc, argv, situations, sizeof(situations) / sizeof(situations[0]), 2);
}
