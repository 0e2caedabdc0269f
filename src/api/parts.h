/* SPDX-License-Identifier: MIT */
/*
 * Uneven parts: counts and displacements as programs give them become what goes to each rank and
 * what comes from each. Here they are checked, and the buffers with them.
 */
#ifndef RING_CALL_PARTS_H
#define RING_CALL_PARTS_H

#include "comm/comm.h"

/*
 * Finds the parts of a request of an uneven kind, in the caller's room for those of one call, and
 * says in the call's record what is known of them. returns 0; RING_EINVAL, RING_ENOMEM, with the
 * sentence
 */
int ring_call_find_parts(struct ring_comm *comm, const struct ring_request *request,
			 struct ring_call *call);

/* Elements from a buffer's begin to the end of its last part. */
uint64_t ring_parts_extent(const uint64_t *elements, const uint64_t *at, int size);

#endif
