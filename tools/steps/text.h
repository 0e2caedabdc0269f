/* SPDX-License-Identifier: MIT */
/* A plan as text: an overview of what is sent in each step, or each step in full. */
#ifndef STEPS_TEXT_H
#define STEPS_TEXT_H

#include <stdio.h>

#include "state.h"

/* A column for each rank, a row for each step. returns false for lack of memory */
bool steps_text_overview(const struct steps_walk *walk, const struct steps_cells *cells,
			 struct steps_state *state, FILE *out);

/*
 * For each step: what each rank sends, gets and adds, by which entries, and what it has after it.
 */
bool steps_text_full(const struct steps_walk *walk, const struct steps_cells *cells,
		     struct steps_state *state, FILE *out);

#endif
