/* SPDX-License-Identifier: MIT */
/* The options that must be alike on all ranks: how ranks tell them, and how they are compared. */
#ifndef RING_AGREEMENT_H
#define RING_AGREEMENT_H

#include "options.h"
#include "base/wire.h"

/* Reading sets only what must be alike. */
void ring_config_wire(struct ring_wire *wire, struct ring_config *config);

/* returns 0; RING_EMISMATCH naming the first option that differs, the rank and both values */
int ring_config_compare(const struct ring_config *config, int rank,
			const struct ring_config *of_rank_0, struct ring_failure *failure);

#endif
