/* SPDX-License-Identifier: MIT */
/*
 * The creation of a communicator as an object that never blocks, so that one thread can create
 * several ranks at once.
 */
#ifndef RING_CREATE_H
#define RING_CREATE_H

#include "base/status.h"

struct ring_comm;
struct ring_creation;

/*
 * Begins what ring_comm_create() does, with its arguments; all are copied. *comm is set once the
 * creation has run and succeeded. returns 0; an error at once, with the sentence
 */
int ring_creation_begin(struct ring_creation **creation, struct ring_comm **comm, int size,
			int rank, const struct ring_unique_id *id,
			const struct ring_options *options, struct ring_failure *failure);

/* Ends the creation as soon as `parent` fails, which is not destroyed meanwhile. */
void ring_creation_depend(struct ring_creation *creation, struct ring_comm *parent);

/*
 * Drives all of them to their ends, asleep in between, and frees them. returns 0, or the error of
 * the first in creations[count] that failed, whose sentence the thread remembers
 */
int ring_creations_run(struct ring_creation **creations, int count);

/* Frees one that was not run; ranks that it has met already learn that it left. */
void ring_creation_drop(struct ring_creation *creation);

#endif
