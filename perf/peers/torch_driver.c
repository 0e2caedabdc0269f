/* SPDX-License-Identifier: MIT */
/*
 * A peer in Python: torch_driver.py loads this with driver.c, sets the calls, and runs
 * driver_main().
 */
#include "peer.h"

struct calls {
	void (*join)(int *rank, int *size);
	void (*barrier)(void);
	void (*max)(double *values, int count);
	bool (*prepare)(const struct job *job);
	void (*call)(void);
	void (*leave)(void);
};

struct calls peer_calls;

void peer_join(int *rank, int *size)
{
	peer_calls.join(rank, size);
}

void peer_barrier(void)
{
	peer_calls.barrier();
}

void peer_max(double *values, int count)
{
	peer_calls.max(values, count);
}

bool peer_prepare(const struct job *job)
{
	return job->algorithm[0] == '\0' && peer_calls.prepare(job);
}

void peer_call(const struct job *job)
{
	(void)job;
	peer_calls.call();
}

void peer_leave(void)
{
	peer_calls.leave();
}
