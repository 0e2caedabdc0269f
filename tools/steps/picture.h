/* SPDX-License-Identifier: MIT */
/*
 * A plan as pictures: each step is a ring of ranks with what they have, and arrows for what goes
 * between them.
 */
#ifndef STEPS_PICTURE_H
#define STEPS_PICTURE_H

#include <stdio.h>

#include "state.h"

/* All steps in one SVG. */
void steps_picture_svg(const struct steps_walk *walk, const struct steps_cells *cells,
		       struct steps_state *state, FILE *out);

/*
 * The part of a page for a plan: words, a slider and a section for each step; the page has the
 * script.
 */
void steps_picture_part(const struct steps_walk *walk, const struct steps_cells *cells,
			struct steps_state *state, FILE *out);

/* A complete page of HTML: one step at a time, with a slider. */
void steps_picture_html(const struct steps_walk *walk, const struct steps_cells *cells,
			struct steps_state *state, FILE *out);

#endif
