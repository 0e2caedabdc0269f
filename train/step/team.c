/* SPDX-License-Identifier: MIT */
/*
 * Joins, and exchanges everything but gradients. It uses the library itself for that, so ring_train
 * works under any launcher and over any transport.
 */
#include "team.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

int train_team_failed(const struct train_team *team, int err, const char *doing)
{
	if (!err)
		return 0;
	/* The communicator that failed has the sentence; if joining failed, the thread has it. */
	const char *why = team->aside ? ring_comm_error(team->aside) : "";
	if (!*why)
		why = ring_comm_error(team->comm);
	fprintf(stderr, "ring_train: rank %d: %s: %s\n", team->rank, doing,
		*why ? why : ring_strerror(err));
	return err;
}

int train_team_barrier(struct train_team *team)
{
	return train_team_failed(team, ring_barrier(team->aside, NULL), "barrier");
}

static int reduce(struct train_team *team, double *values, size_t count, enum ring_op op)
{
	int err = ring_all_reduce(team->aside, values, values, count, RING_FLOAT64, op, NULL);
	return train_team_failed(team, err, "exchange of sums");
}

int train_team_sum(struct train_team *team, double *values, size_t count)
{
	return reduce(team, values, count, RING_SUM);
}

int train_team_max(struct train_team *team, double *values, size_t count)
{
	return reduce(team, values, count, RING_MAX);
}

int train_team_average(struct train_team *team, float *values, size_t count)
{
	int err = ring_all_reduce(team->aside, values, values, count, RING_FLOAT32, RING_AVG, NULL);
	return train_team_failed(team, err, "extra all-reduce");
}

int train_team_broadcast(struct train_team *team, void *data, size_t bytes)
{
	int err = ring_broadcast(team->aside, data, data, bytes, RING_UINT8, 0, NULL);
	return train_team_failed(team, err, "broadcast of the state");
}

int train_team_gather(struct train_team *team, const void *records, size_t count,
		      size_t record_bytes, void **all, size_t **counts)
{
	const size_t size = (size_t)team->size, own = count * record_bytes;
	size_t *bytes = calloc(size, sizeof(*bytes)), total = 0;
	*all = NULL;
	*counts = NULL;
	int err = bytes ? ring_all_gather(team->aside, &own, bytes, sizeof(own), RING_UINT8, NULL)
			: RING_ENOMEM;
	if (!err && team->rank == 0) {
		*counts = calloc(size, sizeof(**counts));
		for (size_t rank = 0; *counts && rank < size; rank++) {
			(*counts)[rank] = bytes[rank] / record_bytes;
			total += bytes[rank];
		}
		*all = malloc(total + 1);
		err = *counts && *all ? 0 : RING_ENOMEM;
	}
	if (!err)
		err = ring_gatherv(team->aside, records, own, *all, bytes, NULL, RING_UINT8, 0,
				   NULL);
	free(bytes);
	if (!err)
		return 0;
	free(*all);
	free(*counts);
	*all = NULL;
	*counts = NULL;
	return train_team_failed(team, err, "gathering of records");
}

static void list_transports(struct train_team *team)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	if (ring_comm_stats(team->comm, &stats) != 0)
		return;
	for (int i = 0; i < stats.link_count; i++) {
		size_t used = strlen(team->transports);
		if (!strstr(team->transports, stats.links[i].transport))
			snprintf(team->transports + used, sizeof(team->transports) - used, "%s%s",
				 used > 0 ? "," : "", stats.links[i].transport);
	}
	if (team->transports[0] == '\0')
		strcpy(team->transports, "-");
}

/* What a rank tells about its host. */
struct place {
	char boot[40]; /* ranks with the same boot id have one host and one clock */
	double now;
	cpu_set_t usable; /* the CPUs it may run on */
	struct machine machine;
};

static void describe_place(struct place *place)
{
	*place = (struct place){.now = 0};
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file && !fgets(place->boot, sizeof(place->boot), file))
		place->boot[0] = '\0';
	if (file)
		fclose(file);
	machine_describe(&place->machine);
	if (sched_getaffinity(0, sizeof(place->usable), &place->usable) != 0)
		CPU_SET(0, &place->usable); /* then machine_describe() also counts one */
}

/* The lowest rank on the same host. */
static int find_host(const struct place *places, int rank)
{
	int first = 0;
	while (memcmp(places[first].boot, places[rank].boot, sizeof(places[rank].boot)) != 0)
		first++;
	return first;
}

/* A host counts once, with the CPUs that its ranks together may use: each may have its own. */
static void count_hosts(struct train_team *team, const struct place *places)
{
	for (int host = 0; host < team->size; host++) {
		cpu_set_t usable;
		CPU_ZERO(&usable);
		for (int rank = host; rank < team->size; rank++)
			if (find_host(places, rank) == host)
				CPU_OR(&usable, &usable, &places[rank].usable);
		team->cpus += CPU_COUNT(&usable);
		team->hosts += find_host(places, host) == host;
	}
}

/* Ranks read their clocks right after a barrier, so within the time of a message. */
static int compare_places(struct train_team *team)
{
	struct place mine, *all = calloc((size_t)team->size, sizeof(*all));
	if (!all)
		return train_team_failed(team, RING_ENOMEM, "joining");
	describe_place(&mine);
	int err = ring_barrier(team->aside, NULL);
	mine.now = train_now();
	if (!err)
		err = ring_all_gather(team->aside, &mine, all, sizeof(mine), RING_UINT8, NULL);
	if (!err) {
		count_hosts(team, all);
		team->host = find_host(all, team->rank);
		for (int rank = 0; rank < team->rank; rank++)
			team->local += find_host(all, rank) == team->host;
		team->machine = all[0].machine;
		machine_clean(&team->machine);
		team->behind = team->host == 0 ? 0 : all[0].now - mine.now;
	}
	free(all);
	return train_team_failed(team, err, "comparing clocks");
}

int train_team_others(struct train_team *team, const struct machine_use *since, double *others)
{
	struct machine_use use = machine_use_now();
	double *own = calloc((size_t)team->size, sizeof(*own)); /* of all ranks of a host */
	if (!own)
		return train_team_failed(team, RING_ENOMEM, "comparing loads");
	own[team->host] = use.own - since->own;
	int err = train_team_sum(team, own, (size_t)team->size);
	double most = (use.all - since->all - own[team->host]) / (use.at - since->at);
	double known[2] = {isnan(most) ? 1 : 0, isnan(most) ? 0 : fmax(most, 0)};
	free(own);
	if (!err)
		err = train_team_max(team, known, 2);
	*others = !err && known[0] == 0 ? known[1] : NAN;
	return err;
}

int train_team_join(struct train_team *team, const struct train_options *options, int rank)
{
	struct ring_options ring;
	ring_options_init(&ring);
	if (options->transport)
		ring.transport = options->transport;
	if (options->timeout_s > 0) {
		ring.create_timeout_ms = (int)(options->timeout_s * 1000);
		ring.call_timeout_ms = ring.create_timeout_ms;
	}
	*team = (struct train_team){.rank = rank};
	int err = ring_comm_create_from_env(&team->comm, &ring);
	if (err)
		return train_team_failed(team, err, "joining");
	team->rank = ring_comm_rank(team->comm);
	team->size = ring_comm_size(team->comm);
	list_transports(team);
	err = train_team_failed(team, ring_comm_split(team->comm, 0, team->rank, &team->aside),
				"joining");
	if (!err)
		err = compare_places(team);
	if (err)
		train_team_leave(team);
	return err;
}

void train_team_leave(struct train_team *team)
{
	ring_comm_destroy(team->aside);
	ring_comm_destroy(team->comm);
	team->aside = team->comm = NULL;
}
