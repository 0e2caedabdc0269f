/* SPDX-License-Identifier: MIT */
/*
 * What each rank has after each step. If the call adds: for each element the longest sum that the
 * rank has had. If not: its output.
 */
#ifndef STEPS_STATE_H
#define STEPS_STATE_H

#include "label.h"

struct steps_state {
	size_t width;           /* elements per rank */
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

/* Goes back to the state before all events. */
void steps_state_reset(const struct steps_walk *walk, struct steps_state *state);

/* Applies step number `step` of walk->steps to the state before it. */
void steps_state_apply(const struct steps_walk *walk, int step, struct steps_state *state);

/* Whether all ranks' rows are equal. */
bool steps_state_is_equal(const struct steps_walk *walk, const struct steps_state *state);

/* "a"; of an output "[3]", its first element */
const char *steps_state_column_name(const struct steps_state *state, int column, char *text);

#endif
