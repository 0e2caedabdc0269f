/* SPDX-License-Identifier: MIT */
/*
 * The plans of all ranks while they are walked: how far each has come, its memory, and the links between them.
 * steps_walk.c lets them move, steps_work.c adds and copies.
 */
#ifndef STEPS_WORLD_H
#define STEPS_WORLD_H

#include "steps_walk.h"

/* A plan and how far it has come. */
struct steps_actor {
	struct ring_plan plan;
	int rank;
	uint64_t posted, finished; /* entries of the two sequences */
	uint64_t ready;            /* ... of incoming that were finished before this step */
	struct steps_value *scratch, *stage;
	size_t *message; /* [plan.incoming]: 1 + event that sent the message of an entry that holds it */
};

/* A link between two actors; messages are events, each of which knows the next one. */
struct steps_link {
	size_t first, last; /* 1 + event of the messages that wait; 0: none */
	uint64_t queued, released;
	uint64_t freed; /* ... that were released before this step */
};

struct steps_world {
	struct steps_walk *walk;
	struct steps_actor *actors; /* [actor_count]: by rank; of sendrecv all senders, then all receivers */
	int actor_count;
	struct steps_link *links; /* [actor_count * actor_count], by sender and receiver */
	size_t *next;             /* [walk->event_room] */
	struct steps_value **input, **output; /* [ranks] */
	bool failed;                          /* for lack of memory */
};

/* Where a place lies, which is rank's own or a peer's. */
struct steps_value *steps_values_at(const struct steps_world *world, const struct steps_actor *actor,
				    int rank, struct ring_place place);

/* Makes the values of an incoming event, and puts them where they belong; here or in peers' memory too. */
void steps_work_here(struct steps_world *world, struct steps_actor *actor,
		     const struct steps_event *event);
void steps_work_there(struct steps_world *world, struct steps_actor *actor,
		      const struct steps_event *event);

#endif
