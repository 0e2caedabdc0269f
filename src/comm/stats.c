/* SPDX-License-Identifier: MIT */
/* What a communicator counts: calls, what its links carried, and the memory that it holds. */
#include "comm.h"

#include <stdio.h>
#include <string.h>

#include "transport/sealed.h"

static void add_link_stats(struct ring_stats *stats, const struct ring_link *link,
			   const struct ring_route *route, int number)
{
	if (!link)
		return;
	uint64_t messages = link->outgoing ? route->sent_messages : route->received_messages;
	uint64_t bytes = link->outgoing ? route->sent_bytes : route->received_bytes;
	*(link->outgoing ? &stats->sent_bytes : &stats->received_bytes) += bytes;
	*(link->outgoing ? &stats->sent_messages : &stats->received_messages) += messages;
	if (stats->link_count == RING_STATS_LINKS)
		return;
	struct ring_link_stats *out = &stats->links[stats->link_count++];
	*out = (struct ring_link_stats){.peer = link->peer,
					.channel = number,
					.outgoing = link->outgoing,
					.messages = messages,
					.payload_bytes = bytes};
	snprintf(out->transport, sizeof(out->transport), "%s", link->transport->name);
}

/* Adds the links of one ring, and those of the mesh that its channel has too. */
static void add_ring_stats(struct ring_stats *stats, const struct ring_comm *comm,
			   const struct ring_channel *channel, int number)
{
	int next = comm->team.placement.next.rank, prev = comm->team.placement.prev.rank;
	for (int r = 0; r < channel->route_count; r++) {
		const struct ring_route *route = &channel->routes[r];
		add_link_stats(stats, route->out, route, route->peer == next ? number : -1);
		add_link_stats(stats, route->in, route, route->peer == prev ? number : -1);
	}
}

struct far_stats {
	struct ring_stats *stats;
	const struct ring_comm *comm;
};

static void add_far_stats(void *context, const struct ring_channel *channel, int number)
{
	const struct far_stats *far = context;
	add_ring_stats(far->stats, far->comm, channel, number);
}

static void add_far_memory(void *context, const struct ring_channel *channel, int number)
{
	(void)number;
	*(uint64_t *)context += sizeof(*channel) + ring_channel_memory(channel);
}

static void add_pair_stats(void *context, const struct ring_channel *channel)
{
	for (int r = 0; r < channel->route_count; r++) {
		add_link_stats(context, channel->routes[r].out, &channel->routes[r], -1);
		add_link_stats(context, channel->routes[r].in, &channel->routes[r], -1);
	}
}

/* What this rank allocated for the communicator and still holds; small things are left out. */
static uint64_t count_memory(const struct ring_comm *comm)
{
	uint64_t bytes = sizeof(*comm) + ring_sealed_memory(1) /* doorbell */ +
			 ring_pairs_memory(&comm->run.pairs) + ring_trace_memory(comm->team.trace) +
			 ring_memory_allocated(&comm->memory) +
			 ring_partners_bytes(&comm->run.partners) +
			 ring_kernels_bytes(&comm->kernels);
	bytes += (uint64_t)comm->team.size * (sizeof(*comm->team.order) + sizeof(*comm->team.peers));
	bytes += (uint64_t)comm->run.fd_room * sizeof(*comm->run.fds);
	for (int c = 0; c < comm->links.channel_count; c++)
		bytes += ring_channel_memory(&comm->links.channels[c]);
	ring_far_each(&comm->run.far, &bytes, add_far_memory);
	return bytes;
}

/* What GPUs carry out by themselves is not predicted. */
static void tell_last(struct ring_stats *stats, const struct ring_comm *comm)
{
	const struct ring_ways *ways = &comm->run.ways;
	const struct ring_choice *choice = ways->last.choice;
	const struct ring_question *question = ways->last.question;
	struct ring_carried *last = &stats->last;
	last->chunk_bytes = choice->chunk_bytes;
	last->channels = choice->channels;
	strcpy(last->algorithm, ring_algorithm_name(choice->algorithm));
	strcpy(last->path, ring_path_name(question->path));
	strcpy(last->memory, ring_memory_name(question->memory));
	ring_choice_reason(choice, last->reason);
	if (choice != &ways->of_kernels.choice)
		strcpy(stats->numbers,
		       ring_section_name(ring_section_of(question, choice->algorithm)));
}

/* The thread that runs calls lets go of the lock between two looks. */
static void take_run(struct ring_comm *comm)
{
	ring_flag_raise(&comm->run.wanted);
	ring_bell_ring(&comm->links.bell);
	pthread_mutex_lock(&comm->run.lock);
	ring_flag_lower(&comm->run.wanted);
}

static void collect(struct ring_comm *comm, struct ring_stats *all)
{
	struct ring_run *run = &comm->run;
	take_run(comm);
	for (int i = 0; i < RING_WAYS_KEPT; i++)
		ring_brief_count(&run->ways.kept[i].brief);
	all->calls = run->calls;
	all->sent_bytes = run->kernel_bytes;
	all->memory_bytes = count_memory(comm);
	for (int c = 0; c < comm->links.channel_count; c++)
		add_ring_stats(all, comm, &comm->links.channels[c], c);
	ring_far_each(&run->far, &(struct far_stats){.stats = all, .comm = comm}, add_far_stats);
	ring_pairs_each(&run->pairs, all, add_pair_stats);
	if (run->calls > 0)
		tell_last(all, comm);
	pthread_mutex_unlock(&run->lock);
}

/* A program built with an older header has a shorter struct. */
int ring_comm_stats(const struct ring_comm *asked, struct ring_stats *stats)
{
	struct ring_comm *comm = (struct ring_comm *)asked; /* whose locks are taken */
	int err = ring_comm_check(comm, "ring_comm_stats");
	if (err)
		return err;
	if (!stats || stats->size < offsetof(struct ring_stats, last))
		return ring_comm_refuse(
			&comm->failure, RING_EINVAL, "ring_comm_stats", "%s",
			stats ? "stats->size is not set to sizeof(struct ring_stats)"
			      : "stats is NULL");
	struct ring_stats all = {.size = stats->size};
	collect(comm, &all);
	memcpy(stats, &all, stats->size < sizeof(all) ? stats->size : sizeof(all));
	return 0;
}
