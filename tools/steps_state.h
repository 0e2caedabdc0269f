/* SPDX-License-Identifier: MIT */
/*
 * What each rank has after each step: of a call that adds the longest sum of each element that the rank has had,
 * of one that does not, its output.
 */
#ifndef STEPS_STATE_H
#define STEPS_STATE_H

#include "steps_label.h"

struct steps_state {
	size_t width;           /* elements of a rank */
	struct steps_value *at; /* [ranks * width] */
	bool *changed;          /* [ranks * width]: since steps_state_begin() */
	size_t *column;         /* [columns]: the first element of each column */
	int columns;
	bool adds;
};

/* The state before all events. returns 0; RING_ENOMEM */
int steps_state_make(const struct steps_walk *walk, const struct steps_cells *cells,
		     struct steps_state *state);
void steps_state_free(struct steps_state *state);

/* Back to the state before all events. */
void steps_state_reset(const struct steps_walk *walk, struct steps_state *state);

/* The state behind step number `step` of walk->steps, where it was that before it. */
void steps_state_apply(const struct steps_walk *walk, int step, struct steps_state *state);

/* True if ranks' rows are the same. */
bool steps_state_is_equal(const struct steps_walk *walk, const struct steps_state *state);

/* "a", or of an output "[3]": the first element */
const char *steps_state_column_name(const struct steps_state *state, int column, char *text);

#endif
