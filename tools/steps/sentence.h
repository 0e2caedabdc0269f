/* SPDX-License-Identifier: MIT */
/* What happens in a step, for all ranks together, in a sentence. */
#ifndef STEPS_SENTENCE_H
#define STEPS_SENTENCE_H

#include "label.h"

/*
 * "Every rank sends one piece to the next rank, which adds its own: rank 0 sends d0 to rank 1."
 */
void steps_say_all(const struct steps_walk *walk, const struct steps_cells *cells, int step,
		   char *text, size_t room);

#endif
