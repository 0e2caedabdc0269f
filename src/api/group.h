/* SPDX-License-Identifier: MIT */
/*
 * Groups: calls of one thread that are noted first and run together. Sends and receives of one
 * communicator become one batch, beside its collectives.
 */
#ifndef RING_GROUP_H
#define RING_GROUP_H

#include "comm/comm.h"
#include "create.h"
#include "split.h"

/* True while the calling thread has a group open. */
bool ring_group_is_open(void);

/* Notes a copy of the call. returns 0; RING_ENOMEM, which the group's end reports again */
int ring_group_add(struct ring_comm *comm, const struct ring_call *call);

/* Notes a creation that has begun. returns 0; RING_ENOMEM: it is still the caller's */
int ring_group_add_creation(struct ring_creation *creation);

/* Notes a split, which the group has from here on. */
void ring_group_add_split(struct ring_split *split);

/* A call was refused, so the group will be too. returns err */
int ring_group_refuse(int err);

/* 0, or the error that the calling thread's open group will end with: nothing need be added. */
int ring_group_refused(void);

#endif
