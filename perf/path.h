/* SPDX-License-Identifier: MIT */
/*
 * Plain connections from every rank to the next, with nothing of the library's links in between: TCP
 * sockets (sockets.h), or queue pairs of RDMA devices (verbs.h). What they reach, the links could.
 */
#ifndef PERF_PATH_H
#define PERF_PATH_H

#include "placed.h"
#include "team.h"

#define PERF_PATH_PATIENCE_S 10.0

/* First member of each kind of connections. */
struct perf_path {
	bool is_first, is_last; /* rank 0, which starts the token, and the one before it */

	/*
	 * Sends the first `to_send` bytes of the one buffer to the next rank while receiving
	 * `to_receive` from the previous one into the other. returns 0; RING_ETIMEDOUT; RING_EPEER
	 */
	int (*move)(struct perf_path *path, struct perf_buffer buffers[2], size_t to_send,
		    size_t to_receive);

	/* A few bytes. Awaiting spins, or sleeps, as who has the token may need the CPU. */
	bool (*pass_token)(struct perf_path *path);
	bool (*await_token)(struct perf_path *path, bool sleeps);

	void (*close)(struct perf_path *path);
};

/*
 * All connect, each with the ranks before and after it on the ring; collective. *path is NULL on every rank
 * if they could not. returns   0, or a RING_E... of the exchange with team->error
 */
int perf_path_open(struct perf_team *team, struct perf_buffer buffers[2], struct perf_path **path);
void perf_path_close(struct perf_path *path); /* NULL is allowed */

/* Microseconds of one hop of a token that travels around the ring; collective. 0: it was lost */
double perf_path_hop_us(struct perf_path *path, int size);

/* The first address of an interface that is up, not loopback, and named if RING_INTERFACE names one; 0: none */
uint32_t perf_path_ip(void);

#endif
