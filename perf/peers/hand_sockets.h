/* SPDX-License-Identifier: MIT */
/*
 * The calls of hand_driver.c over TCP: all ranks are connected over loopback, and do only what they
 * must.
 */
#ifndef PERF_HAND_SOCKETS_H
#define PERF_HAND_SOCKETS_H

#include <stdbool.h>

#include "peer.h"

#define HAND_SOCKETS_RANKS 8 /* the most ranks */

/* Call it before ranks are forked: connects each with each. returns false if it cannot */
bool hand_sockets_connect(int size);

/* Call it first in each forked rank: binds it to a CPU. */
void hand_sockets_begin(int rank, int size);

void hand_sockets_meet(void);
void hand_sockets_reduce(const struct job *job);
void hand_sockets_broadcast(const struct job *job);
void hand_sockets_exchange(const struct job *job);

#endif
