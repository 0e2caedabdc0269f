/* SPDX-License-Identifier: MIT */
/*
 * Names and numbers of what ranks have. Elements that always move together are a cell: the first one is a, and a2 is
 * what rank 2 begins with there, a2+a3 a sum of two ranks, A the sum of all.
 */
#ifndef STEPS_LABEL_H
#define STEPS_LABEL_H

#include "steps_walk.h"

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

/* a, b .. z, aa; of a whole sum A, B .. */
const char *steps_cell_name(int cell, bool whole, char *text);

/* "a1+a2", or "A"; the terms of a sum where they are asked for; "." of nothing */
const char *steps_value_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     struct steps_value value, bool terms, char *text);

/*
 * The sum as a number: what rank r begins with in cell c is (c + 1) 10^r, and of more than 9 ranks (c + 1)(r + 1).
 * Up to 9 ranks and 9 cells, digits tell who is in a sum.
 */
uint64_t steps_value_number(const struct steps_walk *walk, const struct steps_cells *cells,
			    struct steps_value value);

/* The cells of an event's values: "a1 b1", or where they are more than four "a1 b1 .. f1"; with numbers "a1 = 10". */
const char *steps_event_name(const struct steps_walk *walk, const struct steps_cells *cells,
			     const struct steps_event *event, bool numbers, char *text);

#endif
