/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "before.h"

bool perf_before_check(const char *path)
{
	if (path)
		fputs("ring_perf: --compare needs a build with jansson\n", stderr);
	return !path;
}

void perf_before_report(const struct perf_run *run)
{
	(void)run;
}
