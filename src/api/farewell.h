/* SPDX-License-Identifier: MIT */
/*
 * Goodbye at exit. A program may end as soon as its last call has returned, without destroying its
 * communicators: that is no death, and must not fail the same call on ranks where it is not over
 * yet. When the process ends by exit(), or by returning from main(), the library says goodbye for
 * each of them.
 */
#ifndef RING_FAREWELL_H
#define RING_FAREWELL_H

struct ring_comm;

/*
 * The communicator has been made, or is about to be taken apart; one that was never added is
 * allowed.
 */
void ring_farewell_add(struct ring_comm *comm);
void ring_farewell_remove(struct ring_comm *comm);

#endif
