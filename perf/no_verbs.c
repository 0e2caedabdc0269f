/* SPDX-License-Identifier: MIT */
/* In place of verbs.c where there is no header of verbs. */
#include "verbs.h"

int perf_verbs_open(struct perf_team *team, struct perf_buffer buffers[2], int prev, int next,
		    struct perf_path **path)
{
	(void)team;
	(void)buffers;
	(void)prev;
	(void)next;
	*path = NULL;
	return 0;
}
