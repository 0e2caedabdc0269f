/* SPDX-License-Identifier: MIT */
/*
 * What a library must provide to be compared: how its ranks meet and how it makes calls. driver.c
 * measures it as ring_perf measures this library. Each program has one peer.
 */
#ifndef PERF_PEER_H
#define PERF_PEER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sum of floats, or copies of them, in place where the collective has that; root is rank 0. */
struct job {
	const char *collective; /* as ring_perf names it                                   */
	const char *algorithm;  /* as the peer names it; "" leaves the choice to the peer   */
	int rank, size;
	size_t count;  /* floats of the whole vector                              */
	size_t part;   /* of one rank's part                                      */
	float *data;   /* the vector; a reduce_scatter leaves a part at its start */
	float *result; /* all_to_all's                                            */
};

/* All of these are collective, and end the process on failure. */
void peer_join(int *rank, int *size);
void peer_barrier(void);
void peer_max(double *values, int count); /* over all ranks, to all */

/*
 * Memory for a vector. NULL, or no such function: the driver allocates it. Never freed; not
 * collective.
 */
void *peer_alloc(const char *algorithm, size_t bytes);

/* Prepares the call. returns false if the peer has no such call or algorithm */
bool peer_prepare(const struct job *job);
void peer_call(const struct job *job);

void peer_leave(void);

#ifdef __cplusplus
}
#endif

#endif
