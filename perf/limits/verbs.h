/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs from every rank to the next: RDMA writes with immediate data, directly from one
 * buffer to the other. It is what a link over verbs is measured against.
 */
#ifndef PERF_VERBS_H
#define PERF_VERBS_H

#include "path.h"

/* As perf_path_open() says, with *path NULL on those ranks alone that could not connect. */
int perf_verbs_open(struct perf_team *team, struct perf_buffer buffers[2], int prev, int next,
		    struct perf_path **path);

#endif
