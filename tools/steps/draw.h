/* SPDX-License-Identifier: MIT */
/* Draws one step as SVG: ranks, arrows and their labels. */
#ifndef STEPS_DRAW_H
#define STEPS_DRAW_H

#include <stdio.h>

#include "state.h"

/* Sizes for all pictures of a walk, in pixels. */
struct steps_layout {
	double box_width, box_height; /* of a rank */
	double name_width;            /* of its left column */
	double radius;                /* of the ring on which ranks lie */
	double width, height;         /* of a picture */
	int columns;                  /* of the state that are shown */
};

struct steps_layout steps_layout_of(const struct steps_walk *walk, const struct steps_cells *cells,
				    struct steps_state *state);

/* Writes the style that all pictures need once, in <svg> or anywhere before it. */
void steps_draw_style(FILE *out);

/* Draws a step; the state is that after the step. */
void steps_draw(const struct steps_walk *walk, const struct steps_cells *cells,
		const struct steps_state *state, const struct steps_layout *layout, int step,
		FILE *out);

#endif
