/* SPDX-License-Identifier: MIT */
/* Ranks that a launcher started may have been given different options. */
#ifndef PERF_ALIKE_H
#define PERF_ALIKE_H

#include "perf/team.h"

/* Collective. returns 0; RING_EMISMATCH, already printed; another RING_E with team->error */
int perf_alike(struct perf_team *team, const struct perf_options *options);

#endif
