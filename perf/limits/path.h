/* SPDX-License-Identifier: MIT */
/*
 * Plain connections from every rank to the next, without the library's links: TCP sockets
 * (sockets.h), or queue pairs of RDMA devices (verbs.h). Their speed is the limit for the links.
 */
#ifndef PERF_PATH_H
#define PERF_PATH_H

#include "perf/placed.h"
#include "perf/team.h"

#define PERF_PATH_PATIENCE_S 10.0

/* The first member of each kind's struct. */
struct perf_path {
	bool is_first, is_last; /* rank 0, which starts the token; the rank before it */

	/*
	 * Sends the first `to_send` bytes of one buffer to the next rank while receiving
	 * `to_receive` bytes from the previous rank into the other. returns 0; RING_ETIMEDOUT;
	 * RING_EPEER
	 */
	int (*move)(struct perf_path *path, struct perf_buffer buffers[2], size_t to_send,
		    size_t to_receive);

	/*
	 * The token is a few bytes. Awaiting it spins; or sleeps, where its owner may need the CPU.
	 */
	bool (*pass_token)(struct perf_path *path);
	bool (*await_token)(struct perf_path *path, bool sleeps);

	void (*close)(struct perf_path *path);
};

/*
 * Connects each rank with those before and after it on the ring. Collective. If one cannot connect,
 * *path is
 * NULL on every rank. returns   0, or a RING_E... of the exchange with team->error
 */
int perf_path_open(struct perf_team *team, struct perf_buffer buffers[2], struct perf_path **path);
void perf_path_close(struct perf_path *path); /* NULL is allowed */

/*
 * Microseconds per hop of a token that travels around the ring; 0: it was lost. Collective.
 *
 * returns  0, or a RING_E... of the exchange with team->error
 */
int perf_path_hop_us(struct perf_path *path, struct perf_team *team, double *hop_us);

/*
 * The first address of an interface that is up and not loopback, or of the one that RING_INTERFACE
 * names; 0: none
 */
uint32_t perf_path_ip(void);

#endif
