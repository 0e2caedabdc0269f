/* SPDX-License-Identifier: MIT */
/* A call that has waited for tell_after_ms says so on stderr, once, and who keeps it. */
#ifndef RING_TELL_H
#define RING_TELL_H

#include <stdbool.h>
#include <stdint.h>

struct ring_comm;

/* How much of that is done in a call. All false at first. */
struct ring_telling {
	bool listed; /* the roll knows in which call this rank waits */
	bool asked;  /* the others were asked what they do */
	bool said;
};

/*
 * Of a call that has found nothing to do for waited_ms. Lowers *timeout_ms to when it wants to be
 * called again.
 */
void ring_tell(struct ring_comm *comm, struct ring_telling *telling, uint64_t waited_ms,
	       int *timeout_ms);

/* The call goes on, or ends. */
void ring_tell_end(struct ring_comm *comm, struct ring_telling *telling);

#endif
