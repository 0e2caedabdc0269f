/* SPDX-License-Identifier: MIT */
/*
 * If a launcher started several processes, none of them may start its own job: each would compute
 * something else than was asked for, and exit with 0.
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
	if (err && ranks > 0) /* an unknown launcher, or stale variables */
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
