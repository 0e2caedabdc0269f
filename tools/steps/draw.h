/* SPDX-License-Identifier: MIT */
/* Draws one step as SVG: ranks, arrows and their labels. */
#ifndef STEPS_DRAW_H
#define STEPS_DRAW_H

#include <stdio.h>

#include "state.h"

/* Sizes for all pictures of a walk, in pixels. */
struct steps_layout {
	double box_width, box_height; /* of a rank */
	int across;                   /* cells side by side in a box; more than one in small ones */
	double name_width;            /* of its left column; 0: it has none, labels are short */
	double radius;                /* of the ring on which ranks lie */
	double width, height;         /* of a picture */
	int columns;                  /* of the state that are shown */
};

/* small: numbers without names, for many ranks or a narrow window */
struct steps_layout steps_layout_of(const struct steps_walk *walk, const struct steps_cells *cells,
				    struct steps_state *state, bool small);

/* Writes the style that all pictures need once, in <svg> or anywhere before it. */
void steps_draw_style(FILE *out);

/* Draws a step; the state is that after the step. Paths that other steps take are faint. */
void steps_draw(const struct steps_walk *walk, const struct steps_cells *cells,
		const struct steps_state *state, const struct steps_layout *layout, int step,
		FILE *out);

#endif
