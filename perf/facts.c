/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel about this rank and collects the answers of all.
 */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "samples.h"

static struct perf_rank_facts own_facts(void)
{
	struct perf_rank_facts facts = {.pid = (int32_t)getpid()};
	machine_describe(&facts.machine);
	return facts;
}

int perf_facts_gather(struct perf_team *team, struct perf_facts *facts)
{
	struct utsname kernel;
	*facts = (struct perf_facts){.started_at = perf_now()};
	if (uname(&kernel) == 0)
		snprintf(facts->kernel, sizeof(facts->kernel), "%.30s %.60s %.30s", kernel.sysname,
			 kernel.release, kernel.machine);
	time_t now = time(NULL);
	struct tm local;
	localtime_r(&now, &local);
	strftime(facts->started, sizeof(facts->started), "%Y-%m-%dT%H:%M:%S%z", &local);

	facts->ranks = calloc((size_t)team->size, sizeof(*facts->ranks));
	if (!facts->ranks)
		return perf_team_failed(team, RING_ENOMEM, "gathering facts");
	struct perf_rank_facts self = own_facts();
	int err = perf_team_gather(team, &self, sizeof(self), facts->ranks);
	for (int rank = 0; rank < team->size && !err; rank++)
		machine_clean(&facts->ranks[rank].machine);
	return err;
}

void perf_facts_free(struct perf_facts *facts)
{
	free(facts->ranks);
	facts->ranks = NULL;
}
