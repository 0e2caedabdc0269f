/* SPDX-License-Identifier: MIT */
/*
 * Names and numbers of the ranks' elements. Elements that always move together are a cell. The
 * first cell is a; a2 is rank 2's input there, a2+a3 the sum of two ranks, A the sum of all.
 */
#ifndef STEPS_LABEL_H
#define STEPS_LABEL_H

#include "tools/steps/walk/walk.h"

#define STEPS_LABEL 256

struct steps_cells {
	size_t length; /* elements of an input */
	int count;
	int *of;       /* [length]: the cell of an element */
	size_t *begin; /* [count]: the first element of a cell */
};

/* returns 0; RING_ENOMEM */
int steps_cells_make(const struct steps_walk *walk, struct steps_cells *cells);
void steps_cells_free(struct steps_cells *cells);

/* a, b .. z, aa; A, B .. if it is a complete sum */
const char *steps_cell_name(int cell, bool whole, char *text);

/* "a1+a2", or "A"; with `terms`, the terms also of a complete sum; "." if there is no value */
const char *steps_value_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     struct steps_value value, bool terms, char *text);

/*
 * The value as a number: rank r's input in cell c is (c + 1) 10^r, or with more than 9 ranks (c +
 * 1)(r + 1). With up to 9 ranks and 9 cells, the digits show which ranks are in a sum.
 */
uint64_t steps_value_number(const struct steps_walk *walk, const struct steps_cells *cells,
			    struct steps_value value);

/*
 * The cells of an event's values: "a1 b1"; if they are more than four, "a1 b1 .. f1"; with numbers
 * "a1 = 10".
 */
const char *steps_event_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     const struct steps_event *event, bool numbers, char *text);

#endif
