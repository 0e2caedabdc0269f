/* SPDX-License-Identifier: MIT */
/* A plan as JSON: what the text has, for programs. */
#ifndef STEPS_JSON_H
#define STEPS_JSON_H

#include <stdio.h>

#include "steps_state.h"

void steps_json(const struct steps_walk *walk, const struct steps_cells *cells,
		struct steps_state *state, FILE *out);

#endif
