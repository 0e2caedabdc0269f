/* SPDX-License-Identifier: MIT */
/*
 * One process of several that a launcher started must never become a job of its own: each of them would
 * compute something else than was asked for, and exit with 0.
 */
#include "role.h"

#include <stddef.h>
#include <stdio.h>

#include "ringccl.h"

enum role role_find(const char *program, int ranks, int *rank)
{
	const char *launcher;
	int size;
	*rank = 0;
	int err = ring_job_find(&launcher, rank, &size);
	if (err && ranks > 0) /* a launcher that the library does not know, or stale variables */
		return ROLE_STARTS;
	if (err) {
		fprintf(stderr, "%s: %s\n", program, ring_comm_error(NULL));
		return ROLE_REFUSED;
	}
	if (!launcher)
		return ROLE_STARTS;
	if (ranks == 0 || ranks == size)
		return ROLE_RANK;
	if (size == 1)
		return ROLE_STARTS;
	fprintf(stderr, "%s: is one of %d ranks that %s started already; leave out --ranks %d\n",
		program, size, launcher, ranks);
	return ROLE_REFUSED;
}
