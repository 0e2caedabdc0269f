/* SPDX-License-Identifier: MIT */
/*
 * A transport in memory, for tests, that behaves like verbs: send() copies nothing, the bytes land
 * some polls later, the receiver hears of it later still, and the sender's completion comes on its
 * own time. Whoever changes a source before `sent` or reads a slot before `arrived` is found out.
 */
#ifndef RING_TEST_LATE_H
#define RING_TEST_LATE_H

#include "transport/transport.h"

/*
 * Makes both ends of a link. Of params, depth and slot_bytes count, and the two bells if there are
 * any: [0] is the sender's, [1] the receiver's. The ends may be used by two threads.
 * returns 0; RING_ENOMEM
 */
int ring_late_pair(const struct ring_link_params params[2], uint64_t seed,
		   struct ring_link *ends[2]);

#endif
