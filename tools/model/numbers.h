/* SPDX-License-Identifier: MIT */
/*
 * Fits as text, for RING_TUNING, ring_model and people: what was measured beside what is predicted,
 * as comments, and the numbers.
 */
#ifndef MODEL_NUMBERS_H
#define MODEL_NUMBERS_H

#include <stdio.h>

#include "fit.h"

/* The calls, one a line, and how far off predictions are. */
void model_numbers_write_calls(FILE *out, const struct model_timed *timed, size_t count,
			       const struct model_fit *fit);

/* The numbers of a section; it says which of them the times do not tell. */
void model_numbers_write(FILE *out, int section, const struct model_fit *fit);

#endif
