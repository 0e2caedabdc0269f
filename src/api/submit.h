/* SPDX-License-Identifier: MIT */
/*
 * From a request to a call: it is checked, unless it is the same as one before, and then noted in
 * the group, queued, or run.
 */
#ifndef RING_SUBMIT_H
#define RING_SUBMIT_H

#include "comm/comm.h"

/*
 * Makes a call, the library's own if `internal`. returns its result if this thread waited for it;
 * else 0, or why it was refused
 */
int ring_submit(struct ring_comm *comm, const struct ring_request *request, bool internal);

#endif
