/* SPDX-License-Identifier: MIT */
/*
 * Launchers that exchange values between their ranks: rank 0 makes the id and puts it there, the
 * others get it. Secret and address are rank 0's: users choose no port and no secret.
 */
#ifndef RING_LAUNCH_KVS_H
#define RING_LAUNCH_KVS_H

#include <stdint.h>

#include "launch.h"

/*
 * What such a launcher can do. One process calls these, one thread at a time; connect comes first,
 * and succeeds once. Each blocks until deadline_ms at most and returns 0, or a code with the
 * sentence.
 */
struct ring_kvs {
	int (*connect)(uint64_t deadline_ms, struct ring_failure *failure);
	int (*put)(const char *key, const char *value, uint64_t deadline_ms,
		   struct ring_failure *failure);
	/* All ranks call it; after it, they get what rank 0 has put before. */
	int (*fence)(uint64_t deadline_ms, struct ring_failure *failure);
	int (*get)(const char *key, char *value, size_t room, uint64_t deadline_ms,
		   struct ring_failure *failure);
	void (*leave)(void); /* as the process exits, if it has connected */
};

/*
 * Connects, unless this process has. returns 0; RING_EINVAL in a forked child; or what connect
 * returns
 */
int ring_kvs_connect(const struct ring_kvs *kvs, uint64_t deadline_ms, struct ring_failure *failure);

/*
 * Sets launch->id, alike on all ranks; launch->size and launch->rank are known. Rank 0 serves its
 * meeting. returns 0; RING_EINVAL in a forked child, as the connection is its parent's; RING_EPEER
 * if rank 0 could not serve; or what the launcher's functions return
 */
int ring_kvs_hand_out(const struct ring_kvs *kvs, const struct ring_config *config,
		      struct ring_launch *launch, struct ring_failure *failure);

#endif
