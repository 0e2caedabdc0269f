/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel about this rank, and gathers the answers of all ranks.
 */
#include "facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "perf/limits/samples.h"

static struct perf_rank_facts own_facts(void)
{
	struct perf_rank_facts facts = {.pid = (int32_t)getpid()};
	machine_describe(&facts.machine);
	return facts;
}

int perf_facts_gather(struct perf_team *team, struct perf_facts *facts)
{
	struct utsname kernel;
	*facts = (struct perf_facts){.started_at = perf_now(), .other_cpus = NAN};
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

/* How many ranks before this one have a device of its host. */
static int place_on_host(const struct perf_team *team, const struct perf_options *options,
			 const struct perf_facts *facts)
{
	int before = 0, length;
	for (int rank = 0; rank < team->rank; rank++)
		before += perf_options_device(options, rank, &length) &&
			  strcmp(facts->ranks[rank].machine.host,
				 facts->ranks[team->rank].machine.host) == 0;
	return before;
}

int perf_facts_take_device(struct perf_team *team, const struct perf_options *options,
			   struct perf_facts *facts)
{
	facts->devices = calloc((size_t)team->size, sizeof(*facts->devices));
	if (!facts->devices)
		return perf_team_failed(team, RING_ENOMEM, "gathering facts");
	int length, place = place_on_host(team, options, facts) / options->ranks_per_gpu;
	struct perf_device_facts self = {0};
	const char *name = perf_options_device(options, team->rank, &length);
	if (name)
		self.err = perf_device_open(&team->device, name, (size_t)length, place);
	self.chip = team->device.chip;
	strcpy(self.text, team->device.text);
	if (self.err)
		snprintf(team->error, sizeof(team->error), "%.400s", self.text);
	int err = perf_team_gather(team, &self, sizeof(self), facts->devices);
	for (int rank = 0; rank < team->size && !err; rank++) {
		facts->devices[rank].text[PERF_DEVICE_TEXT - 1] = '\0';
		err = facts->devices[rank].err;
	}
	return err;
}

/* Names tell chips apart where numbers do not: launchers show each rank its own as number 0. */
int perf_facts_share(const struct perf_facts *facts, int size, int rank, int *before)
{
	int sharing = 0;
	*before = 0;
	for (int other = 0; other < size; other++) {
		bool same = strcmp(facts->devices[other].text, facts->devices[rank].text) == 0 &&
			    strcmp(facts->ranks[other].machine.host,
				   facts->ranks[rank].machine.host) == 0;
		sharing += same && *facts->devices[rank].text;
		*before += same && other < rank;
	}
	return sharing;
}

int perf_facts_watch(struct perf_team *team, struct perf_facts *facts,
		     const struct machine_use *since, bool threads)
{
	struct machine_use now = machine_use_now();
	double own = (now.own - since->own) / (threads ? team->size : 1);
	double *all = calloc((size_t)team->size, sizeof(*all));
	if (!all)
		return perf_team_failed(team, RING_ENOMEM, "comparing loads");
	int err = perf_team_gather(team, &own, sizeof(own), all);
	double others = now.all - since->all;
	for (int rank = 0; rank < team->size; rank++)
		if (strcmp(facts->ranks[rank].machine.host,
			   facts->ranks[team->rank].machine.host) == 0)
			others -= all[rank];
	free(all);
	others /= now.at - since->at;
	double most[2] = {isnan(others), isnan(others) ? 0 : fmax(others, 0)};
	if (!err)
		err = perf_team_max(team, most, 2);
	facts->other_cpus = !err && most[0] == 0 ? most[1] : NAN;
	return err;
}

void perf_facts_free(struct perf_facts *facts)
{
	free(facts->ranks);
	free(facts->devices);
	facts->ranks = NULL;
	facts->devices = NULL;
}
