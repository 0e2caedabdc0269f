/* SPDX-License-Identifier: MIT */
/*
 * Plain TCP connections from every rank to the next, to measure what the library's could reach.
 */
#ifndef PERF_SOCKETS_H
#define PERF_SOCKETS_H

#include "team.h"

struct perf_sockets;

/*
 * Connects all ranks; collective. *sockets is NULL on every rank if they could not all connect.
 * returns   0, or a RING_E... of the exchange with team->error
 */
int perf_sockets_open(struct perf_team *team, struct perf_sockets **sockets);
void perf_sockets_close(struct perf_sockets *sockets);

/* Sends `bytes` to the next rank while receiving as many from the previous. 0; RING_ETIMEDOUT */
int perf_sockets_exchange(struct perf_sockets *sockets, const void *send, void *recv, size_t bytes);

/* The same down a line: rank 0 receives nothing, and the one before it on the ring sends nothing. */
int perf_sockets_pass_on(struct perf_sockets *sockets, const void *send, void *recv, size_t bytes);

/* Microseconds of one hop of 8 bytes that travel around the ring; collective. */
double perf_sockets_hop_us(struct perf_sockets *sockets, int size);

#endif
