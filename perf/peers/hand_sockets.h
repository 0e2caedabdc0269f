/* SPDX-License-Identifier: MIT */
/* Calls over TCP that do no more than they must: connections of all ranks over loopback, for hand_driver.c. */
#ifndef PERF_HAND_SOCKETS_H
#define PERF_HAND_SOCKETS_H

#include <stdbool.h>

#include "peer.h"

#define HAND_SOCKETS_RANKS 8 /* at most */

/* Before ranks are forked: connects each of them with each. returns false if it cannot */
bool hand_sockets_connect(int size);

/* In each forked rank, before all that follows: keeps it to a CPU. */
void hand_sockets_begin(int rank, int size);

void hand_sockets_meet(void);
void hand_sockets_reduce(const struct job *job);
void hand_sockets_broadcast(const struct job *job);
void hand_sockets_exchange(const struct job *job);

#endif
