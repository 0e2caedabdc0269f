/* SPDX-License-Identifier: MIT */
/*
 * Tells communication from waiting for a late rank. A rank cannot do that alone, as it is blocked
 * in both. So ranks note when they came to each call that needs all of them. Between steps, now and
 * then, they tell one another when the last rank came:
 *
 *	rank 0   backward |-- waiting ----------|== exposed ==|
 *	rank 1   backward, and later            |== exposed ==|
 *	                                        the last rank has come
 */
#ifndef TRAIN_WAITS_H
#define TRAIN_WAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "measured.h"
#include "team.h"

enum train_wait_kind {
	TRAIN_WAIT_GRADIENTS, /* after backward, until gradients are averaged */
	TRAIN_WAIT_CALL,      /* one bucket's call; noted after its GRADIENTS */
	TRAIN_WAIT_EXTRA,     /* a call that is not for gradients */
	TRAIN_WAIT_BARRIER,
};

/* Seconds on CLOCK_MONOTONIC. */
struct train_wait {
	enum train_wait_kind kind;
	double came, end;
	size_t step; /* index in pending */
};

struct train_waits {
	struct train_wait *waits;
	double *last; /* [room] when the last rank came to each */
	size_t count, room;
	struct train_steps pending; /* steps whose waits are not divided yet */
};

void train_waits_free(struct train_waits *waits);

/*
 * Notes a wait of the step that becomes pending next; all ranks note the same ones. returns 0; -1
 * without memory
 */
int train_waits_add(struct train_waits *waits, enum train_wait_kind kind, double came, double end);

/* Whether the ranks should divide what is noted; all get the same answer. */
bool train_waits_are_many(const struct train_waits *waits);

/*
 * Divides the waits of pending steps. Collective. returns 0; a RING_E code with its sentence on
 * stderr
 */
int train_waits_divide(struct train_waits *waits, struct train_team *team);

/* The same for one step, of which all is known: last[i] is when the last rank came to waits[i]. */
void train_waits_settle(struct train_step *step, const struct train_wait *waits, const double *last,
			size_t count);

#endif
