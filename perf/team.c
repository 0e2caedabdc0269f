/* SPDX-License-Identifier: MIT */
/*
 * Joining, and the few exchanges between ranks.
 */
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int perf_team_failed(struct perf_team *team, int err, const char *doing)
{
	if (err && team->error[0] == '\0') {
		const char *why = ring_comm_error(team->comm);
		if (!*why && team->trace.aside)
			why = ring_comm_error(team->trace.aside);
		snprintf(team->error, sizeof(team->error), "%s: %s", doing,
			 *why ? why : ring_strerror(err));
	}
	return err;
}

/* A trace holds calls that are measured, and no others. */
struct ring_comm *perf_team_apart(struct perf_team *team)
{
	return team->trace.aside ? team->trace.aside : team->comm;
}

int perf_team_barrier(struct perf_team *team)
{
	return perf_team_failed(team, ring_barrier(perf_team_apart(team), NULL), "barrier");
}

int perf_team_max(struct perf_team *team, double *values, size_t count)
{
	int err = ring_all_reduce(perf_team_apart(team), values, values, count, RING_FLOAT64,
				  RING_MAX, NULL);
	return perf_team_failed(team, err, "exchange of times");
}

int perf_team_gather(struct perf_team *team, const void *mine, size_t bytes, void *all)
{
	int err = ring_all_gather(perf_team_apart(team), mine, all, bytes / sizeof(int32_t),
				  RING_INT32, NULL);
	return perf_team_failed(team, err, "exchange of facts");
}

int perf_team_stats(struct perf_team *team, struct ring_stats *stats)
{
	stats->size = sizeof(*stats);
	return perf_team_failed(team, ring_comm_stats(team->comm, stats), "statistics");
}

/* What a rank tells about its outgoing link of the ring. */
struct edge {
	int32_t next; /* the rank after this one; -1 if there is no link */
	char transport[16];
};

static struct edge own_edge(const struct ring_stats *stats)
{
	struct edge edge = {.next = -1};
	for (int i = 0; i < stats->link_count && edge.next < 0; i++) {
		if (!stats->links[i].outgoing || stats->links[i].channel < 0)
			continue;
		edge.next = stats->links[i].peer;
		memcpy(edge.transport, stats->links[i].transport, sizeof(edge.transport));
	}
	return edge;
}

/* Adds a name to a list like "shm,tcp" unless it is in it; no name is part of another. */
static void add_name(char *list, size_t bytes, const char *name)
{
	size_t used = strlen(list);
	if (!strstr(list, name))
		snprintf(list + used, bytes - used, "%s%s", used > 0 ? "," : "", name);
}

/* Follows the links around from rank 0, at position 0; if they are no ring, positions are ranks. */
static void derive_order(struct perf_team *team, const struct edge *edges)
{
	int position = 0, rank = 0;
	do {
		team->order[position++] = rank;
		rank = edges[rank].next;
	} while (position < team->size && rank > 0 && rank < team->size);
	if (position == team->size && (rank == 0 || team->size == 1))
		return;
	for (int i = 0; i < team->size; i++)
		team->order[i] = i;
}

static int learn_links(struct perf_team *team)
{
	struct ring_stats stats;
	int err = perf_team_stats(team, &stats);
	if (err)
		return err;
	struct edge edge = own_edge(&stats);
	struct edge *edges = calloc((size_t)team->size, sizeof(*edges));
	team->order = calloc((size_t)team->size, sizeof(*team->order));
	err = edges && team->order ? perf_team_gather(team, &edge, sizeof(edge), edges)
				   : perf_team_failed(team, RING_ENOMEM, "joining");
	if (!err) {
		derive_order(team, edges);
		for (int i = 0; i < team->size; i++)
			add_name(team->transports, sizeof(team->transports), edges[i].transport);
		team->over_verbs = strstr(team->transports, "verbs") &&
				   !strstr(team->transports, "tcp");
		team->over_network = team->over_verbs || strstr(team->transports, "tcp");
		if (team->transports[0] == '\0')
			strcpy(team->transports, "-");
	}
	free(edges);
	return err;
}

static struct ring_options choose_options(const struct perf_options *options)
{
	struct ring_options ring;
	ring_options_init(&ring);
	if (options->transport)
		ring.transport = options->transport;
	if (options->timeout_s > 0) {
		ring.create_timeout_ms = (int)(options->timeout_s * 1000);
		ring.call_timeout_ms = ring.create_timeout_ms;
	}
	if (options->threads && !ring.interface) /* threads need no other one */
		ring.interface = "lo";
	return ring;
}

bool perf_team_is_forced(const struct perf_options *options)
{
	struct ring_options ring = choose_options(options);
	return ring.algorithm && ring.algorithm[0];
}

bool perf_team_adds_by_rank(const struct perf_options *options)
{
	struct ring_options ring = choose_options(options);
	return ring.order && ring.order[0];
}

static int make_cuda_stream(struct perf_team *team)
{
	int err = perf_cuda_stream_open(&team->cuda, team->device.chip, team->error,
					sizeof(team->error));
	return err ? err : ring_stream_from_cuda(team->comm, team->cuda.handle, &team->stream);
}

int perf_team_make_stream(struct perf_team *team, const struct perf_options *options)
{
	bool cuda = perf_device_is_cuda(&team->device) && !perf_options_mix_devices(options);
	int err = cuda ? make_cuda_stream(team) : ring_stream_create(team->comm, &team->stream);
	return perf_team_failed(team, err, "making a stream");
}

int perf_team_join(struct perf_team *team, const struct perf_options *options, int size, int rank,
		   const struct ring_unique_id *id)
{
	struct ring_options ring = choose_options(options);
	*team = (struct perf_team){.rank = rank};
	const char *trace = perf_trace_begin(&team->trace, options);
	if (trace)
		ring.trace = trace;
	int err = id ? ring_comm_create(&team->comm, size, rank, id, &ring)
		     : ring_comm_create_from_env(&team->comm, &ring);
	if (err)
		return perf_team_failed(team, err, "joining");
	team->rank = ring_comm_rank(team->comm);
	team->size = ring_comm_size(team->comm);
	if (trace)
		err = perf_team_failed(team, perf_trace_join(&team->trace, team->comm),
				       "preparing a trace");
	if (!err)
		err = learn_links(team);
	if (err)
		perf_team_leave(team);
	return err;
}

static int branch(struct perf_team *team, const struct ring_options *ring, struct perf_team *branch)
{
	struct ring_unique_id id = {{0}}; /* no valid id: if rank 0 fails, all fail */
	*branch = (struct perf_team){.rank = team->rank, .size = team->size};
	if (team->rank == 0)
		ring_unique_id_create(&id);
	int err = ring_broadcast(perf_team_apart(team), &id, &id, sizeof(id), RING_UINT8, 0, NULL);
	if (!err)
		err = ring_comm_create(&branch->comm, team->size, team->rank, &id, ring);
	return perf_team_failed(branch, err, "joining once more");
}

int perf_team_branch(struct perf_team *team, const struct perf_options *options,
		     const char *algorithm, struct perf_team *made)
{
	struct ring_options ring = choose_options(options);
	ring.algorithm = algorithm;
	ring.order = NULL;
	ring.trace = NULL;
	int err = branch(team, &ring, made);
	if (algorithm) /* its calls are on memory as the team's, and on such a stream */
		made->device = team->device;
	return err || !options->stream ? err : perf_team_make_stream(made, options);
}

int perf_team_lend(struct perf_team *team, const struct perf_options *options, int chip,
		   struct perf_team *lender)
{
	struct ring_options ring = choose_options(options);
	char device[64];
	int length;
	const char *name = perf_options_device(options, team->rank, &length);
	if (name)
		snprintf(device, sizeof(device), "%.*s:%d", length, name, chip);
	ring.device = name ? device : "cpu";
	ring.trace = NULL;
	return branch(team, &ring, lender);
}

void perf_team_leave(struct perf_team *team)
{
	ring_stream_destroy(team->stream);
	ring_comm_destroy(team->comm);
	perf_cuda_stream_close(&team->cuda);
	free(team->order);
	team->stream = NULL;
	team->comm = NULL;
	team->order = NULL;
}
