/* SPDX-License-Identifier: MIT */
/*
 * The order of ranks around the ring, and who is crowded: pure functions of what all ranks told.
 */
#ifndef RING_ORDER_H
#define RING_ORDER_H

#include <stdbool.h>

#include "choose/model.h"

struct ring_peer;

/*
 * order[position] = rank, n entries; position 0 is rank 0. Each host, and within it each NUMA node,
 * is entered and left once; within a node ranks follow their cores, then their numbers. Ranks share
 * a host if boot_id and host name agree.
 */
int ring_order_compute(const struct ring_peer *peers, int n, int *order); /* 0; RING_ENOMEM */

/*
 * How many ranks take turns on a CPU of rank's machine, in 1024ths: its ranks per usable CPU (the
 * union of their affinity masks), or its host's ranks per CPU of their control group's quota, if
 * that is more. Up to RING_TURNS_NONE each has a CPU.
 */
int ring_order_turns(const struct ring_peer *peers, int n, int rank);

bool ring_same_host(const struct ring_peer *a, const struct ring_peer *b);

/* True if both are known to run under the same kernel, whatever their hosts' names. */
bool ring_same_machine(const struct ring_peer *a, const struct ring_peer *b);

#endif
