/* SPDX-License-Identifier: MIT */
/*
 * Chooses the kind of connections, and passes a token around on them.
 */
#include "path.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "sockets.h"
#include "verbs.h"

#define HOP_LAPS 50
#define HOP_TRIALS 20
#define HOP_SECONDS 0.5 /* for all of them */

static void find_neighbours(const struct perf_team *team, int *prev, int *next)
{
	int position = 0;
	while (team->order[position] != team->rank)
		position++;
	*prev = team->order[(position + team->size - 1) % team->size];
	*next = team->order[(position + 1) % team->size];
}

int perf_path_open(struct perf_team *team, struct perf_buffer buffers[2], struct perf_path **opened)
{
	struct perf_path *path = NULL;
	int prev, next;
	find_neighbours(team, &prev, &next);
	int err = team->over_verbs ? perf_verbs_open(team, buffers, prev, next, &path)
				   : perf_sockets_open(team, next, &path);
	double missing = !path;
	if (!err)
		err = perf_team_max(team, &missing, 1);
	*opened = err || missing > 0 ? NULL : path;
	if (!*opened) {
		perf_path_close(path);
		return err;
	}
	path->is_first = team->rank == 0;
	path->is_last = next == 0;
	return 0;
}

void perf_path_close(struct perf_path *path)
{
	if (path)
		path->close(path);
}

/* Passes the token around several times. returns seconds; 0: it was lost */
static double run_laps(struct perf_path *path, bool sleeps)
{
	double start = perf_now();
	for (int lap = 0; lap < HOP_LAPS; lap++) {
		if (path->is_first && !path->pass_token(path))
			return 0;
		if (!path->await_token(path, sleeps))
			return 0;
		if (!path->is_first && !path->pass_token(path))
			return 0;
	}
	return perf_now() - start;
}

/* Tells all ranks whether one of them has lost the token, or has no more time. */
static int agree_to_stop(struct perf_team *team, double seconds, double begin, bool *lost,
			 bool *stop)
{
	double said[2] = {seconds == 0, perf_now() - begin > HOP_SECONDS};
	int err = perf_team_max(team, said, 2);
	*lost = said[0] > 0;
	*stop = err || said[0] > 0 || said[1] > 0;
	return err;
}

/* Where other programs have the CPUs, a lap takes milliseconds: two trials must do. */
int perf_path_hop_us(struct perf_path *path, struct perf_team *team, double *hop_us)
{
	double begin = perf_now(), best = 1e9;
	bool lost = false, stop = false;
	int err = 0;
	for (int trial = 0; trial < HOP_TRIALS && !stop; trial++) {
		bool sleeps = trial % 2 == 1;
		double seconds = run_laps(path, sleeps);
		best = seconds < best ? seconds : best;
		if (sleeps || seconds == 0)
			err = agree_to_stop(team, seconds, begin, &lost, &stop);
	}
	*hop_us = err || lost ? 0 : best * 1e6 / HOP_LAPS / team->size;
	return err;
}

uint32_t perf_path_ip(void)
{
	const char *wanted = getenv("RING_INTERFACE");
	struct ifaddrs *all = NULL;
	uint32_t ip = 0;
	if (getifaddrs(&all) < 0)
		return 0;
	for (struct ifaddrs *at = all; at && !ip; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    !(at->ifa_flags & IFF_UP) || (at->ifa_flags & IFF_LOOPBACK))
			continue;
		struct sockaddr_in in;
		memcpy(&in, at->ifa_addr, sizeof(in));
		if (!wanted || !if_nametoindex(wanted) || strcmp(wanted, at->ifa_name) == 0)
			ip = in.sin_addr.s_addr;
	}
	freeifaddrs(all);
	return ip;
}
