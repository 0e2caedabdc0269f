/* SPDX-License-Identifier: MIT */
/*
 * If a launcher started several processes, none of them may start its own job: each would compute
 * something else than was asked for, and exit with 0. Unless it was asked for: another number of
 * --ranks is meant, and variables that a launcher left are nobody's business then.
 */
#include "role.h"

#include <stddef.h>
#include <stdio.h>

#include "ringccl.h"

static enum role find_wanted(int ranks, int *rank)
{
	const char *launcher;
	int size;
	if (!ring_job_find(&launcher, rank, &size) && launcher && size == ranks)
		return ROLE_RANK;
	*rank = 0;
	return ROLE_STARTS;
}

enum role role_find(const char *program, int ranks, int *rank)
{
	const char *launcher;
	int size;
	*rank = 0;
	if (ranks > 0)
		return find_wanted(ranks, rank);
	if (!ring_job_find(&launcher, rank, &size))
		return launcher ? ROLE_RANK : ROLE_STARTS;
	fprintf(stderr, "%s: %s; or say --ranks N, and it starts that many here\n", program,
		ring_comm_error(NULL));
	return ROLE_REFUSED;
}
