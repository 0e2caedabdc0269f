/* SPDX-License-Identifier: MIT */
/*
 * kill -9, in every situation a rank can be in. Each survivor has the named error within a second
 * of the death, and nothing is left behind: no descriptor, thread or mapping in a survivor, no
 * process, no name in /dev/shm.
 *
 *	TEST [--long | --rounds K] [--seed N] [--only NAME]
 *
 * Round k has the seed N + k; a failure tells it. NAME may be the beginning of several.
 */
#ifndef KILL_H
#define KILL_H

#include "scene.h"

/* Who dies, how and among whom; the same for all rounds. */
struct kill_situation {
	const char *name;
	int size;
	const char *transport;
	int hosts;           /* as struct scene: with several, neighbours talk TCP */
	enum scene_stage at; /* the kill comes when all have reached this ... */
	double within_s;     /* ... at a random moment of so long after it */
	int deaths;
	bool server_dies; /* a process of its own serves the meeting, and is the victim */
	bool has_child;   /* victims have forked */
	bool may_succeed; /* a survivor may be done without noticing */
	const char *link, *algorithm; /* as in options */
	int (*act)(struct scene_actor *actor);
	const char *variable, *value; /* of the ranks' environment; NULL */
};

/* One round, as ranks see it. */
struct kill_round {
	const struct kill_situation *situation;
	uint64_t victims; /* bits of ranks */
	size_t count;     /* elements of a call */
	uint64_t seed;
};

/* ---- for ranks ---- */

const struct kill_round *kill_round_of(const struct scene_actor *actor);
bool kill_is_victim(const struct scene_actor *actor);

/* What the situation is about begins. */
void kill_begin(struct scene_actor *actor);

/* ---- for tests ---- */

/* Plays all situations, `short_rounds` of each if nothing else was asked. returns main's result */
int kill_main(int argc, char **argv, const struct kill_situation *situations, int count,
	      int short_rounds);

#endif
