/* SPDX-License-Identifier: MIT */
/*
 * A communicator's settings once they are resolved: defaults, RING_* variables, the program's
 * fields.
 */
#ifndef RING_OPTIONS_H
#define RING_OPTIONS_H

#include "ringccl.h"
#include "base/status.h"

/* As struct ring_options, checked, with strings of its own ("" where that has NULL). */
struct ring_config {
	char transport[64], interface[128], host[64], congestion[16], trace[256], link[48];
	char algorithm[16], tuning[256], device[16], order[8];
	uint64_t tuning_hash; /* of that file's rows, once it has been read; 0: none */
	char port_range[16];
	int port_first, port_last; /* its ends; 0, 0: any */
	int create_timeout_ms, call_timeout_ms, peer_lost_ms, tell_after_ms;
	size_t chunk_bytes; /* 0 chooses, as for the next three */
	int depth, chunks_per_round, channels;
	int spins, yields; /* -1 chooses */
};

/* options NULL: defaults and environment. returns 0; RING_EINVAL with the sentence */
int ring_config_resolve(struct ring_config *config, const struct ring_options *options,
			struct ring_failure *failure);

/*
 * The options that resolve to this config again, except the trace, which is one communicator's.
 * They point into config.
 */
void ring_config_options(const struct ring_config *config, struct ring_options *options);

#endif
