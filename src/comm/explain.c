/* SPDX-License-Identifier: MIT */
/* Why a call could not go on, in a sentence; see explain.h. */
#include "explain.h"

#include <errno.h>
#include <stdio.h>

#include "base/fd.h"
#include "transport/outage.h"
#include "meet/describe.h"

const struct ring_channel *ring_explain_unfinished(const struct ring_channel *active)
{
	while (active && ring_channel_is_done(active))
		active = active->next;
	return active;
}

/* What this rank says it does on a channel: the record of a message is what its sender says. */
static struct ring_record own_record(const struct ring_channel *channel)
{
	struct ring_record record = channel->call.opening.record;
	if (record.kind == RING_KIND_SEND && channel->call.plan->params.kind == RING_KIND_RECV) {
		record.kind = RING_KIND_RECV;
		record.root = channel->call.plan->params.root;
	}
	return record;
}

/* As ring_record_format() says it, and which device it is on. */
static const char *format_record(const struct ring_comm *comm, const struct ring_record *record,
				 char *text)
{
	struct ring_record of_host = *record;
	if (record->memory == 0 || !comm->caller.device)
		return ring_record_format(record, text);
	of_host.memory = 0;
	ring_record_format(&of_host, text);
	size_t have = strlen(text);
	snprintf(text + have, RING_RECORD_TEXT - have, ", in memory of %s device %d",
		 comm->caller.device->name, comm->caller.chip);
	return text;
}

int ring_explain_departed(struct ring_comm *comm, const struct ring_channel *channel, int peer)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	struct ring_record record = own_record(channel);
	return ring_comm_fail(&comm->failure, RING_EPEER, peer,
			      "%s left the communicator while rank %d was in %s",
			      ring_team_rank_text(&comm->team, peer, who), comm->team.rank,
			      format_record(comm, &record, mine));
}

static int tell_mismatch(struct ring_comm *comm, const struct ring_channel *channel)
{
	char mine[RING_RECORD_TEXT], theirs[RING_RECORD_TEXT];
	struct ring_record record = own_record(channel);
	struct ring_news news = {.err = RING_EMISMATCH,
				 .culprit = channel->failed_peer,
				 .call = record.kind == RING_KIND_RECV ? 0 : record.sequence};
	snprintf(news.text, sizeof(news.text), "rank %d is in %s, but rank %d is in %s",
		 comm->team.rank, format_record(comm, &record, mine), channel->failed_peer,
		 ring_record_format(&channel->theirs, theirs));
	return ring_comm_fail_with(&comm->failure, &news, true);
}

/*
 * A rank that said goodbye, without which the channel cannot go on: the one at the other end of the
 * broken link, or a neighbour if the call needs all ranks, as other ranks' goodbyes are not heard.
 * -1: none did.
 */
static int find_departed(const struct ring_comm *comm, const struct ring_channel *channel)
{
	const struct ring_placement *placement = &comm->team.placement;
	const int suspects[] = {channel->failed_peer, placement->next.rank, placement->prev.rank};
	int count = ring_kind_is_message(channel->call.plan->params.kind) ? 1 : 3;
	for (int i = 0; i < count; i++)
		if (ring_comm_departed(&comm->failure, suspects[i], 0))
			return suspects[i];
	return -1;
}

/* Whether the link with the peer, either way, ended because nothing came through. */
static bool is_unreached(const struct ring_channel *channel, int peer)
{
	const struct ring_link *out = ring_channel_link(channel, peer, true);
	const struct ring_link *in = ring_channel_link(channel, peer, false);
	return (out && ring_outage_is_cause(out->cause)) || (in && ring_outage_is_cause(in->cause));
}

int ring_explain_unreached(struct ring_comm_failure *failure, int peer)
{
	struct ring_news news = {.err = RING_EPEER, .culprit = peer};
	ring_peer_unreached(&failure->team->peers[peer], failure->team->rank,
			    failure->team->config.peer_lost_ms, false, news.text);
	return ring_comm_fail_with(failure, &news, true);
}

/* Why the link with the peer, either way, says that it ended; NULL: it does not say. */
static const char *find_why(const struct ring_channel *channel, int peer)
{
	const struct ring_link *out = ring_channel_link(channel, peer, true);
	const struct ring_link *in = ring_channel_link(channel, peer, false);
	return out && out->why ? out->why : in ? in->why : NULL;
}

int ring_explain_device(struct ring_comm_failure *failure, const struct ring_device *device, int err)
{
	return ring_comm_fail(failure, err, failure->team->rank, "rank %d: the %s device failed: %s",
			      failure->team->rank, device->name, ring_strerror(err));
}

int ring_explain_broken(struct ring_comm *comm, const struct ring_channel *channel, int err)
{
	char who[RING_RANK_TEXT];
	int peer = channel->failed_peer;
	if (err == RING_EMISMATCH)
		return tell_mismatch(comm, channel);
	if (err != RING_EPEER)
		return ring_explain_device(&comm->failure, channel->device, err);
	if (is_unreached(channel, peer))
		return ring_explain_unreached(&comm->failure, peer);
	int lost = ring_explain_lost(&comm->failure);
	if (lost)
		return lost;
	ring_comm_await_failure(&comm->failure, comm->run.current->turn);
	int departed = find_departed(comm, channel);
	if (departed >= 0)
		return ring_explain_departed(comm, channel, departed);
	const char *why = find_why(channel, peer);
	if (why)
		return ring_comm_fail(&comm->failure, err, peer, "%s", why);
	return ring_comm_fail(&comm->failure, err, peer,
			      "the link between rank %d and %s closed, or carried what no plan "
			      "sends, and nobody heard of a death; did it leave the communicator?",
			      comm->team.rank, ring_team_rank_text(&comm->team, peer, who));
}

static int explain_unlinked(struct ring_comm *comm, int peer, int err, const char *why)
{
	char who[RING_RANK_TEXT];
	ring_comm_await_failure(&comm->failure, comm->run.current->turn);
	struct ring_channel *channel = comm->run.active;
	if (err == RING_EPEER && channel) {
		channel->failed_peer = peer;
		int departed = find_departed(comm, channel);
		if (departed >= 0)
			return ring_explain_departed(comm, channel, departed);
	}
	return ring_comm_fail(&comm->failure, err, peer, "rank %d could not be linked with %s: %s%s",
			      comm->team.rank, ring_team_rank_text(&comm->team, peer, who), why,
			      err == RING_EPEER ? "; did it leave the communicator?" : "");
}

int ring_explain_pairs(struct ring_comm *comm, const struct ring_pairs_trouble *trouble, int err)
{
	if (trouble->device)
		return ring_explain_device(&comm->failure, trouble->device, err);
	if (trouble->unreached)
		return ring_explain_unreached(&comm->failure, trouble->peer);
	return explain_unlinked(comm, trouble->peer, err, trouble->failure.text);
}

int ring_explain_unmapped(struct ring_comm_failure *failure, int peer, int err)
{
	char who[RING_RANK_TEXT], words[RING_FD_WORDS];
	const char *why = err == RING_ESYSTEM ? ring_fd_words(errno, words) : ring_strerror(err);
	return ring_comm_fail(failure, err, peer, "rank %d could not map the memory of %s: %s",
			      failure->team->rank, ring_team_rank_text(failure->team, peer, who),
			      why);
}

int ring_explain_lost(struct ring_comm_failure *failure)
{
	if (!ring_fd_is_lost(failure->links->bell.event_fd))
		return 0;
	return ring_comm_fail(
		failure, RING_ESYSTEM, failure->team->rank,
		"rank %d: this process has closed descriptors of the library; does it "
		"call closefrom()? That is for a child behind fork()",
		failure->team->rank);
}

int ring_explain_no_memory(struct ring_comm_failure *failure)
{
	return ring_comm_fail(failure, RING_ENOMEM, failure->team->rank, "rank %d: no memory",
			      failure->team->rank);
}

int ring_explain_time_out(struct ring_comm *comm)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	const struct ring_channel *channel = ring_explain_unfinished(comm->run.active);
	struct ring_record record = channel ? own_record(channel) : comm->run.current->record;
	int step, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	bool crowded = ring_pairs_are_at_work(&comm->run.pairs) && ring_fd_crowded_ms() > 0;
	return ring_comm_fail(
		&comm->failure, RING_ETIMEDOUT, peer, "rank %d waited %d ms in %s, for %s; %s",
		comm->team.rank, comm->team.config.call_timeout_ms,
		format_record(comm, &record, mine), ring_team_rank_text(&comm->team, peer, who),
		crowded ? "the processes of this user pass more descriptors than the system lets "
			  "them (ulimit -n)"
			: "is it stopped, or busy elsewhere?");
}

void ring_explain_call(struct ring_comm *comm, const struct ring_call *call)
{
	const struct ring_channel *channel = ring_explain_unfinished(comm->run.active);
	int step = -1, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	struct ring_record record = channel ? own_record(channel) : call->record;
	char mine[RING_RECORD_TEXT];
	ring_comm_add(&comm->failure, "; rank %d was in %s", comm->team.rank,
		      format_record(comm, &record, mine));
	if (peer >= 0 && step >= 0)
		ring_comm_add(&comm->failure, ", step %d", step);
	if (peer >= 0)
		ring_comm_add(&comm->failure, ", waiting for rank %d", peer);
}
