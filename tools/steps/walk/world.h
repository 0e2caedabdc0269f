/* SPDX-License-Identifier: MIT */
/*
 * The plans of all ranks during the walk: how far each has come, its memory, and the links between
 * ranks. walk.c moves them, work.c adds and copies.
 */
#ifndef STEPS_WORLD_H
#define STEPS_WORLD_H

#include "walk.h"

/* A plan and how far it has come. */
struct steps_actor {
	struct ring_plan plan;
	int rank;
	uint64_t posted, finished; /* entries of the two sequences */
	uint64_t ready;            /* incoming entries that were finished before this step */
	struct steps_value *scratch, *stage;
	size_t *message; /* [plan.incoming]: 1 + the event that sent what an entry holds */
};

/* A link between two actors; messages are events in a linked list. */
struct steps_link {
	size_t first, last; /* 1 + the events of waiting messages; 0: none */
	uint64_t queued, released;
	uint64_t freed; /* messages that were released before this step */
};

struct steps_world {
	struct steps_walk *walk;
	struct steps_actor *actors; /* [actor_count]: by rank; sendrecv: senders, receivers */
	int actor_count;
	struct steps_link *links; /* [actor_count * actor_count], by sender and receiver */
	size_t *next;             /* [walk->event_room] */
	struct steps_value **input, **output; /* [ranks] */
	bool failed;                          /* out of memory */
};

/* The address of a place in a rank's memory. */
struct steps_value *steps_values_at(const struct steps_world *world, const struct steps_actor *actor,
				    int rank, struct ring_place place);

/*
 * Makes the values of an incoming event, and puts them in their place, here or also in peers'
 * memory.
 */
void steps_work_here(struct steps_world *world, struct steps_actor *actor,
		     const struct steps_event *event);
void steps_work_there(struct steps_world *world, struct steps_actor *actor,
		      const struct steps_event *event);

#endif
