/* SPDX-License-Identifier: MIT */
/*
 * Plain TCP connections from every rank to the next, to measure what the library's could reach.
 */
#ifndef PERF_SOCKETS_H
#define PERF_SOCKETS_H

#include "path.h"

/* As perf_path_open() says, with *path NULL on those ranks alone that could not connect. */
int perf_sockets_open(struct perf_team *team, int next, struct perf_path **path);

#endif
