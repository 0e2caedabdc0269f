/* SPDX-License-Identifier: MIT */
/*
 * The two halves of an all-reduce: sums grow, then complete sums are handed out. It is told from
 * what moves, not from the algorithm.
 */
#ifndef STEPS_PHASE_H
#define STEPS_PHASE_H

#include "walk.h"

/* Names the phase of each step. */
void steps_phases_mark(struct steps_walk *walk);

#endif
