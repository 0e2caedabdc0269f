/* SPDX-License-Identifier: MIT */
/* What a communicator tells about itself, and how its first failure stays and spreads. */
#include "comm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/sealed.h"
#include "base/clock.h"
#include "meet/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/trace.h"

int ring_comm_check(const struct ring_comm *comm, const char *call)
{
	if (!comm)
		return ring_refuse(RING_EINVAL, "%s: comm is NULL", call);
	if (!ring_comm_is_mine(comm))
		return ring_refuse(
			RING_EINVAL,
			"%s: this communicator belongs to the parent process; a child of "
			"fork() must create its own",
			call);
	return 0;
}

int ring_comm_size(const struct ring_comm *comm)
{
	return comm ? comm->size : ring_comm_check(comm, "ring_comm_size");
}

int ring_comm_rank(const struct ring_comm *comm)
{
	return comm ? comm->rank : ring_comm_check(comm, "ring_comm_rank");
}

int ring_comm_status(const struct ring_comm *comm)
{
	int err = ring_comm_check(comm, "ring_comm_status");
	return err ? err : ring_comm_failed(comm);
}

/*
 * The sentence may still grow while a call ends, so readers get a copy. A child of fork() may find
 * the lock taken for good; what it was refused is in its thread.
 */
const char *ring_comm_error(const struct ring_comm *comm)
{
	static _Thread_local char copy[RING_FAILURE_TEXT];
	if (!comm || !ring_comm_is_mine(comm))
		return ring_failure_remembered();
	pthread_mutex_t *failing = (pthread_mutex_t *)&comm->failing;
	pthread_mutex_lock(failing);
	const struct ring_failure *failure = comm->failure.err ? &comm->failure : &comm->refused;
	memcpy(copy, failure->text, sizeof(copy));
	pthread_mutex_unlock(failing);
	return copy;
}

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
	int next = comm->placement.next.rank, prev = comm->placement.prev.rank;
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
			 ring_pairs_memory(comm) + ring_trace_memory(comm->trace) +
			 ring_memory_allocated(&comm->memory) + ring_partners_bytes(comm);
	bytes += (uint64_t)comm->size * (sizeof(*comm->order) + sizeof(*comm->peers));
	bytes += (uint64_t)comm->fd_room * sizeof(*comm->fds);
	for (int c = 0; c < comm->channel_count; c++)
		bytes += ring_channel_memory(&comm->channels[c]);
	ring_far_each(comm, &bytes, add_far_memory);
	return bytes;
}

static void tell_last(struct ring_carried *last, const struct ring_comm *comm)
{
	const struct ring_choice *choice = &comm->way->choice;
	const struct ring_question *question = &comm->way->question;
	last->chunk_bytes = choice->chunk_bytes;
	last->channels = choice->channels;
	strcpy(last->algorithm, ring_algorithm_name(choice->algorithm));
	strcpy(last->path, ring_path_name(question->path));
	strcpy(last->memory, ring_memory_name(question->memory));
	ring_choice_reason(choice, last->reason);
}

/* A program built with an older header has a shorter struct. */
int ring_comm_stats(const struct ring_comm *comm, struct ring_stats *stats)
{
	int err = ring_comm_check(comm, "ring_comm_stats");
	if (err)
		return err;
	if (!stats || stats->size < offsetof(struct ring_stats, last))
		return ring_comm_refuse(
			(struct ring_comm *)comm, RING_EINVAL, "ring_comm_stats: %s",
			stats ? "stats->size is not set to sizeof(struct ring_stats)"
			      : "stats is NULL");
	size_t size = stats->size < sizeof(*stats) ? stats->size : sizeof(*stats);
	pthread_mutex_t *running = (pthread_mutex_t *)&comm->running;
	pthread_mutex_lock(running);
	for (int i = 0; i < RING_WAYS_KEPT; i++)
		ring_brief_count((struct ring_brief *)&comm->ways[i].brief);
	struct ring_stats all = {.size = stats->size, .calls = comm->calls};
	all.memory_bytes = count_memory(comm);
	for (int c = 0; c < comm->channel_count; c++)
		add_ring_stats(&all, comm, &comm->channels[c], c);
	ring_far_each(comm, &(struct far_stats){&all, comm}, add_far_stats);
	ring_pairs_each(comm, &all, add_pair_stats);
	if (comm->calls > 0)
		tell_last(&all.last, comm);
	pthread_mutex_unlock(running);
	memcpy(stats, &all, size);
	return 0;
}

int ring_comm_fail_with(struct ring_comm *comm, const struct ring_news *news, bool tell)
{
	pthread_mutex_lock(&comm->failing);
	bool first = comm->failure.err == 0;
	if (first) {
		ring_fail(&comm->failure, news->err, "%s", news->text);
		comm->failed_call = news->call;
		ring_flag_raise(&comm->failed);
	}
	int sticks = comm->failure.err;
	pthread_mutex_unlock(&comm->failing);

	if (first)
		ring_log(RING_WARN, "rank %d: %s", comm->rank, news->text);
	if (first && tell && comm->lanes)
		ring_lanes_report(comm->lanes, news);
	if (first)
		ring_bell_ring(&comm->bell);
	return sticks;
}

int ring_comm_refuse(struct ring_comm *comm, int err, const char *format, ...)
{
	char text[RING_FAILURE_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pthread_mutex_lock(&comm->failing);
	comm->refused = (struct ring_failure){0};
	ring_fail(&comm->refused, err, "%s", text);
	pthread_mutex_unlock(&comm->failing);
	return err;
}

int ring_comm_fail(struct ring_comm *comm, int err, int culprit, const char *format, ...)
{
	struct ring_news news = {.err = err, .culprit = culprit};
	va_list args;
	va_start(args, format);
	vsnprintf(news.text, sizeof(news.text), format, args);
	va_end(args);
	return ring_comm_fail_with(comm, &news, true);
}

int ring_comm_await_failure(struct ring_comm *comm, uint64_t call)
{
	uint64_t now = ring_clock_ms(), until = now + RING_NEWS_GRACE_MS;
	for (; now < until && !ring_comm_failed_in(comm, call); now = ring_clock_ms()) {
		uint32_t ticket = ring_bell_announce(&comm->bell, false);
		if (!ring_comm_failed_in(comm, call))
			ring_bell_sleep(&comm->bell, ticket, NULL, 0, (int)(until - now));
		ring_bell_awake(&comm->bell);
	}
	return ring_comm_failed_in(comm, call);
}

void ring_comm_found_out(void *owner, const struct ring_news *news)
{
	ring_comm_fail_with(owner, news, true);
}

void ring_comm_heard(void *owner, const struct ring_news *news)
{
	ring_comm_fail_with(owner, news, false);
}

void ring_comm_neighbour_left(void *owner, int rank)
{
	struct ring_comm *comm = owner;
	const struct ring_peer *neighbours[] = {&comm->placement.prev, &comm->placement.next};
	for (int i = 0; i < 2; i++) {
		if (neighbours[i]->rank != rank || ring_flag_is_raised(&comm->left[i]))
			continue;
		comm->left_ms[i] = ring_clock_ms();
		ring_flag_raise(&comm->left[i]);
	}
	ring_bell_ring(&comm->bell);
}

void ring_comm_neighbour_waits(void *owner, int rank, const struct ring_record *record)
{
	struct ring_comm *comm = owner;
	const struct ring_peer *neighbours[] = {&comm->placement.prev, &comm->placement.next};
	pthread_mutex_lock(&comm->failing);
	for (int i = 0; i < 2; i++)
		if (neighbours[i]->rank == rank)
			comm->waits[i] = *record;
	pthread_mutex_unlock(&comm->failing);
	ring_bell_ring(&comm->bell);
}

int ring_comm_find_other_call(struct ring_comm *comm, const struct ring_record *mine,
			      struct ring_record *theirs)
{
	const struct ring_peer *neighbours[] = {&comm->placement.prev, &comm->placement.next};
	int found = -1;
	pthread_mutex_lock(&comm->failing);
	for (int i = 0; i < 2 && found < 0; i++) {
		*theirs = comm->waits[i];
		if (theirs->sequence == mine->sequence && !ring_record_equals(theirs, mine))
			found = neighbours[i]->rank;
	}
	pthread_mutex_unlock(&comm->failing);
	return found;
}

bool ring_comm_departed(const struct ring_comm *comm, int peer, int grace_ms)
{
	const struct ring_peer *neighbours[] = {&comm->placement.prev, &comm->placement.next};
	for (int i = 0; i < 2; i++)
		if (ring_flag_is_raised(&comm->left[i]) &&
		    (peer == -1 || peer == neighbours[i]->rank) &&
		    ring_clock_ms() - comm->left_ms[i] >= (uint64_t)grace_ms)
			return true;
	return false;
}

void ring_comm_add(struct ring_comm *comm, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&comm->failing);
	size_t length = strlen(comm->failure.text);
	vsnprintf(comm->failure.text + length, sizeof(comm->failure.text) - length, format, args);
	pthread_mutex_unlock(&comm->failing);
	va_end(args);
}

const char *ring_comm_format_record(const struct ring_comm *comm, const struct ring_record *record,
				    char *text)
{
	struct ring_record of_host = *record;
	if (record->memory == 0 || !comm->device)
		return ring_record_format(record, text);
	of_host.memory = 0;
	ring_record_format(&of_host, text);
	size_t have = strlen(text);
	snprintf(text + have, RING_RECORD_TEXT - have, ", in memory of %s device %d",
		 comm->device->name, comm->chip);
	return text;
}

void ring_comm_note_call(struct ring_comm *comm, const struct ring_record *record, int peer,
			 int step)
{
	char mine[RING_RECORD_TEXT];
	ring_comm_add(comm, "; rank %d was in %s", comm->rank,
		      ring_comm_format_record(comm, record, mine));
	if (peer >= 0 && step >= 0)
		ring_comm_add(comm, ", step %d", step);
	if (peer >= 0)
		ring_comm_add(comm, ", waiting for rank %d", peer);
}

const char *ring_comm_rank_text(const struct ring_comm *comm, int rank, char *text)
{
	if (rank >= 0 && comm->peers && comm->peers[rank].pid)
		return ring_peer_name(&comm->peers[rank], text);
	snprintf(text, RING_RANK_TEXT, rank >= 0 ? "rank %d" : "nobody known", rank);
	return text;
}

int ring_comm_abort(struct ring_comm *comm)
{
	int err = ring_comm_check(comm, "ring_comm_abort");
	if (err)
		return err;
	ring_comm_fail(comm, RING_EABORTED, comm->rank, "rank %d aborted the communicator",
		       comm->rank);
	return 0;
}
