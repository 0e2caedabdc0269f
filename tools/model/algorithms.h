/* SPDX-License-Identifier: MIT */
/*
 * Well-known algorithms for all-reduce, of which the library has only the first: closed forms over
 * four numbers of its cost model, a call, a hop, the wire, and what reducing touches.
 */
#ifndef MODEL_ALGORITHMS_H
#define MODEL_ALGORITHMS_H

#include "call.h"

struct model_algorithm {
	const char *name, *formula;
	bool needs_hosts;
	double (*time)(const struct model_machine *machine, int ranks, double bytes);
};

extern const struct model_algorithm model_algorithms[]; /* the first is the ring; ends with NULL */

/* The size at which `other` and the ring take the same time, between 1 byte and 1 TiB; 0: none. */
double model_crossover(const struct model_algorithm *other, const struct model_machine *machine,
		       int ranks);

#endif
