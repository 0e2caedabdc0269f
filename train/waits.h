/* SPDX-License-Identifier: MIT */
/*
 * Communication, told apart from waiting for a rank that comes late. No rank can tell them apart alone, as it is
 * blocked in both. So ranks note when they came to each call that needs all of them, and between steps, every
 * now and then, tell one another who came last:
 *
 *	rank 0   backward |-- waiting ----------|== exposed ==|
 *	rank 1   backward, and later            |== exposed ==|
 *	                                        the last rank has come
 */
#ifndef TRAIN_WAITS_H
#define TRAIN_WAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "step.h"
#include "team.h"

enum train_wait_kind {
	TRAIN_WAIT_GRADIENTS, /* behind backward, until they are averaged */
	TRAIN_WAIT_CALL,      /* one bucket's call, behind the GRADIENTS that it belongs to */
	TRAIN_WAIT_EXTRA,     /* a call that has nothing to do with gradients */
	TRAIN_WAIT_BARRIER,
};

/* Seconds on CLOCK_MONOTONIC. */
struct train_wait {
	enum train_wait_kind kind;
	double came, end;
	size_t step; /* whose: a place in pending */
};

struct train_waits {
	struct train_wait *waits;
	double *last; /* [room] when the last rank came */
	size_t count, room;
	struct train_steps pending; /* steps whose waits are not divided yet */
};

void train_waits_free(struct train_waits *waits);

/* Of the step that will be pending next. All ranks note alike. returns 0; -1 without memory, with a sentence on stderr */
int train_waits_add(struct train_waits *waits, enum train_wait_kind kind, double came, double end);

/* Whether the ranks should divide what is noted; all say the same. */
bool train_waits_are_many(const struct train_waits *waits);

/* Fills in what pending steps waited, and for what. Collective. returns 0; a RING_E code with its sentence on stderr */
int train_waits_divide(struct train_waits *waits, struct train_team *team);

/* The same for one step, of which everything is known: last[i] belongs to waits[i]. */
void train_waits_settle(struct train_step *step, const struct train_wait *waits, const double *last,
			size_t count);

#endif
