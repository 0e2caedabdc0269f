/* SPDX-License-Identifier: MIT */
/* A plan as JSON, for programs; it has the same content as the text. */
#ifndef STEPS_JSON_H
#define STEPS_JSON_H

#include <stdio.h>

#include "state.h"

void steps_json(const struct steps_walk *walk, const struct steps_cells *cells,
		struct steps_state *state, FILE *out);

#endif
