/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a rank while its communicator is in calls that go straight from rank to rank: sends and
 * receives, their groups, collectives over the mesh, the first use of links, splits. In every other
 * round the victim is rank 0, which is the root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kill.h"

#define LARGE_BYTES (64u << 20)
#define PART_BYTES (64u << 10) /* of one rank in a collective */

/* What the acts below share. */
struct stage {
	struct scene_actor *actor;
	struct ring_comm *comm, *second;
	int rank, size, victim;
	enum ring_op scaled;
	char *send, *recv; /* LARGE_BYTES each, no memory until written */
	bool waits;        /* the victim does nothing but die */
};

typedef int act_step(struct stage *stage); /* one turn of what is done over and over */

static int lowest_bit(uint64_t bits)
{
	return __builtin_ctzll(bits);
}

/* ---- one turn each ------------------------------------------------------------------------ */

static int step_recv(struct stage *stage)
{
	int err = 0;
	if (stage->rank != stage->victim)
		return ring_recv(stage->comm, stage->recv, 1000, RING_FLOAT32, stage->victim, NULL);
	for (int peer = 0; peer < stage->size && !err; peer++)
		if (peer != stage->rank)
			err = ring_send(stage->comm, stage->send, 1000, RING_FLOAT32, peer, NULL);
	return err;
}

/* The victim takes one small message of each, at most: then every slot fills. */
static int step_send(struct stage *stage)
{
	int err = 0;
	if (stage->rank != stage->victim) {
		err = ring_send(stage->comm, stage->send, 1, RING_INT8, stage->victim, NULL);
		return err ? err
			   : ring_send(stage->comm, stage->send, LARGE_BYTES, RING_INT8,
				       stage->victim, NULL);
	}
	for (int peer = 0; peer < stage->size && !err; peer++)
		if (peer != stage->rank)
			err = ring_recv(stage->comm, stage->recv, 1, RING_INT8, peer, NULL);
	pause();
	return err;
}

static int step_all_reduce(struct stage *stage)
{
	return ring_all_reduce(stage->comm, stage->send, stage->recv, PART_BYTES, RING_FLOAT32,
			       RING_SUM, NULL);
}

static int step_barrier(struct stage *stage)
{
	return ring_barrier(stage->comm, NULL);
}

static int step_all_to_all(struct stage *stage)
{
	return ring_all_to_all(stage->comm, stage->send, stage->recv, PART_BYTES, RING_INT8, NULL);
}

static int step_gather(struct stage *stage)
{
	return ring_gather(stage->comm, stage->send, stage->recv, PART_BYTES, RING_INT8, 0, NULL);
}

static int step_scatter(struct stage *stage)
{
	return ring_scatter(stage->comm, stage->send, stage->recv, PART_BYTES, RING_INT8, 0, NULL);
}

static int step_reduce(struct stage *stage)
{
	return ring_reduce(stage->comm, stage->send, stage->recv, PART_BYTES, RING_FLOAT32,
			   stage->scaled, 0, NULL);
}

static void exchange(struct ring_comm *comm, struct stage *stage, int peer)
{
	size_t place = (size_t)peer * PART_BYTES;
	ring_send(comm, stage->send + place, PART_BYTES, RING_INT8, peer, NULL);
	ring_recv(comm, stage->recv + place, PART_BYTES, RING_INT8, peer, NULL);
}

static int step_group(struct stage *stage)
{
	ring_group_start();
	for (int peer = 0; peer < stage->size; peer++)
		exchange(stage->comm, stage, peer);
	return ring_group_end();
}

/* With the rank at the other side of the ring: no control lane is between the two. */
static int step_opposite(struct stage *stage)
{
	ring_group_start();
	exchange(stage->comm, stage, (stage->rank + stage->size / 2) % stage->size);
	return ring_group_end();
}

/* Two communicators of the same ranks, each with a thread of its queue. */
static int step_two(struct stage *stage)
{
	float *data = (float *)(stage->recv + LARGE_BYTES / 2);
	ring_group_start();
	exchange(stage->comm, stage, (stage->rank + 1) % stage->size);
	exchange(stage->comm, stage, (stage->rank + stage->size - 1) % stage->size);
	ring_all_reduce(stage->second, data, data, PART_BYTES, RING_FLOAT32, RING_MAX, NULL);
	return ring_group_end();
}

static int step_split(struct stage *stage)
{
	struct ring_comm *sub = NULL;
	int err = ring_comm_split(stage->comm, stage->rank % 2, -stage->rank, &sub);
	if (!err)
		ring_comm_destroy(sub);
	return err;
}

/* ---- acts --------------------------------------------------------------------------------- */

static int open_stage(struct stage *stage, struct scene_actor *actor, bool two)
{
	const struct kill_round *round = kill_round_of(actor);
	const float scalar = 0.5f;
	*stage = (struct stage){.actor = actor,
				.comm = actor->comm,
				.rank = actor->rank,
				.size = actor->size,
				.victim = lowest_bit(round->victims),
				.send = calloc(1, LARGE_BYTES),
				.recv = calloc(1, LARGE_BYTES),
				.waits = round->seed % 2};
	int err = stage->send && stage->recv ? 0 : RING_ENOMEM;
	if (!err)
		err = ring_op_create_premul_sum(actor->comm, &scalar, RING_FLOAT32, &stage->scaled);
	if (!err && two)
		err = ring_comm_split(actor->comm, 0, actor->rank, &stage->second);
	return err;
}

static void close_stage(struct stage *stage)
{
	ring_comm_destroy(stage->second);
	free(stage->send);
	free(stage->recv);
}

/* Of two communicators one may fail first; the scene wants the other's sentence. */
static void await_failure(const struct ring_comm *comm)
{
	double until = harness_clock() + 1 * HARNESS_ROOM;
	while (!ring_comm_status(comm) && harness_clock() < until)
		usleep(100);
}

/*
 * Turn after turn until one fails; the next call must then fail alike. In half of the rounds the
 * victim makes no turn, so that its links, too, are first used by the others.
 */
static int act(struct scene_actor *actor, act_step *step, bool two, double head_start_s)
{
	struct stage stage;
	int err = open_stage(&stage, actor, two);
	if (!err)
		err = ring_barrier(actor->comm, NULL);
	kill_begin(actor);
	if (kill_is_victim(actor) && stage.waits && head_start_s == 0)
		pause();
	scene_sleep(head_start_s);
	while (!err) {
		err = step(&stage);
		actor->report->calls += !err;
	}
	if (two)
		await_failure(actor->comm);
	scene_note(actor, err);
	if (ring_barrier(actor->comm, NULL) != err)
		actor->report->wrong++;
	close_stage(&stage);
	return err;
}

static int act_recv(struct scene_actor *actor)
{
	return act(actor, step_recv, false, 0);
}

static int act_send(struct scene_actor *actor)
{
	return act(actor, step_send, false, 0);
}

static int act_all_reduce(struct scene_actor *actor)
{
	return act(actor, step_all_reduce, false, 0);
}

static int act_barrier(struct scene_actor *actor)
{
	return act(actor, step_barrier, false, 0);
}

static int act_all_to_all(struct scene_actor *actor)
{
	return act(actor, step_all_to_all, false, 0);
}

static int act_gather(struct scene_actor *actor)
{
	return act(actor, step_gather, false, 0);
}

static int act_scatter(struct scene_actor *actor)
{
	return act(actor, step_scatter, false, 0);
}

static int act_reduce(struct scene_actor *actor)
{
	return act(actor, step_reduce, false, 0);
}

static int act_group(struct scene_actor *actor)
{
	return act(actor, step_group, false, 0);
}

static int act_opposite(struct scene_actor *actor)
{
	return act(actor, step_opposite, false, 0);
}

static int act_two(struct scene_actor *actor)
{
	return act(actor, step_two, true, 0);
}

static int act_split(struct scene_actor *actor)
{
	return act(actor, step_split, false, 1e-3);
}

#define HEAD_START_S 1.5e-3

/* The links are being made when the victim dies. */
static int act_first_use(struct scene_actor *actor)
{
	return act(actor, step_all_to_all, false, HEAD_START_S);
}

/* ---- the situations ----------------------------------------------------------------------- */

static const struct kill_situation kinds[] = {
	{"recv", .within_s = .03, .act = act_recv},
	{"send, slots full", .within_s = .03, .act = act_send},
	{"opposite", .within_s = .03, .act = act_opposite},
	{"one shot", .within_s = .03, .act = act_all_reduce, .algorithm = "oneshot"},
	{"two shots", .within_s = .03, .act = act_all_reduce, .algorithm = "twoshot"},
	{"barrier, log steps", .within_s = .03, .act = act_barrier, .algorithm = "bruck"},
	{"by way of stages", .within_s = .03, .act = act_all_reduce, .algorithm = "staged"},
	{"directly", .within_s = .03, .act = act_all_reduce, .algorithm = "direct"},
	{"all_to_all, directly", .within_s = .03, .act = act_all_to_all, .algorithm = "direct"},
	{"all_to_all", .within_s = .03, .act = act_all_to_all},
	{"first use", .within_s = .0045, .act = act_first_use},
	{"gather", .within_s = .03, .act = act_gather},
	{"scatter", .within_s = .03, .act = act_scatter},
	{"reduce, scaled", .within_s = .03, .act = act_reduce},
	{"group", .within_s = .03, .act = act_group},
	{"two communicators", .within_s = .03, .act = act_two},
	{"split", .within_s = .05, .act = act_split},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct {
	const char *name, *transport;
	int size, hosts;
	bool is_long;
} worlds[] = {
	{"shm", "shm", 4, 0, false}, {"tcp", "tcp", 4, 0, false}, {"mixed", NULL, 4, 2, false},
	{"shm", "shm", 8, 0, true},  {"tcp", "tcp", 8, 0, true},  {"mixed", NULL, 8, 3, true},
};
#define WORLDS (sizeof(worlds) / sizeof(worlds[0]))

/* Every kind in every world. returns how many */
static int make_situations(struct kill_situation *situations, char names[][32], bool is_long)
{
	int count = 0;
	for (size_t k = 0; k < KINDS; k++)
		for (size_t w = 0; w < WORLDS; w++) {
			if (worlds[w].is_long && !is_long)
				continue;
			struct kill_situation *situation = &situations[count];
			snprintf(names[count], sizeof(names[count]), "%s, %s", kinds[k].name,
				 worlds[w].name);
			*situation = kinds[k];
			situation->name = names[count++];
			situation->size = worlds[w].size;
			situation->transport = worlds[w].transport;
			situation->hosts = worlds[w].hosts;
			situation->at = SCENE_ACTING;
			situation->deaths = 1;
		}
	return count;
}

int main(int argc, char **argv)
{
	static struct kill_situation situations[KINDS * WORLDS];
	static char names[KINDS * WORLDS][32];
	int count = make_situations(situations, names, harness_is_long(argc, argv));
	return kill_main(argc, argv, situations, count, 2);
}
