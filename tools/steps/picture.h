/* SPDX-License-Identifier: MIT */
/*
 * A plan as pictures: each step is a ring of ranks with what they have, and arrows for what goes
 * between them.
 */
#ifndef STEPS_PICTURE_H
#define STEPS_PICTURE_H

#include <stdio.h>

#include "draw.h"

/* All steps in one SVG. */
void steps_picture_svg(const struct steps_walk *walk, const struct steps_cells *cells,
		       struct steps_state *state, FILE *out);

/* A complete page of HTML: one step at a time, with a slider. */
void steps_picture_html(const struct steps_walk *walk, const struct steps_cells *cells,
			struct steps_state *state, FILE *out);

/*
 * The parts of a page. A step is shown if anything happens in it, or if it is the first, which
 * shows the inputs.
 */
bool steps_picture_has(const struct steps_walk *walk, int step);

/* The head of arrows, which all pictures of a page need once. */
void steps_picture_head(FILE *out);

/* The picture of a step as steps_draw() draws it, and a table of what each rank does in it. */
void steps_picture_step(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_state *state, const struct steps_layout *layout,
			int step, FILE *out);
void steps_picture_rows(const struct steps_walk *walk, const struct steps_cells *cells, int step,
			FILE *out);

#endif
