/* SPDX-License-Identifier: MIT */
/*
 * Plain TCP connections from every rank to the next: their speed is the limit for the library's.
 */
#ifndef PERF_SOCKETS_H
#define PERF_SOCKETS_H

#include "path.h"

/* As perf_path_open(), but *path is NULL only on ranks that could not connect. */
int perf_sockets_open(struct perf_team *team, int next, struct perf_path **path);

#endif
