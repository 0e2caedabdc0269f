/* SPDX-License-Identifier: MIT */
/* Why a call could not go on, in a sentence; see explain.h. */
#include "explain.h"

#include <errno.h>
#include <stdio.h>

#include "base/fd.h"
#include "mixed.h"
#include "transport/outage.h"

static const struct ring_channel *first_unfinished(const struct ring_channel *channel)
{
	while (channel && ring_channel_is_done(channel))
		channel = channel->next;
	return channel;
}

const struct ring_channel *ring_explain_unfinished(const struct ring_comm *comm)
{
	const struct ring_channel *channel = first_unfinished(comm->run.active);
	return channel ? channel : first_unfinished(comm->run.pairs.busy);
}

/* Which call's failure explains what happened: all end messages. */
static uint64_t turn_of(const struct ring_comm *comm, const struct ring_channel *channel)
{
	bool message = ring_kind_is_message(channel->call.plan->params.kind);
	return comm->run.current && !message ? comm->run.current->turn : UINT64_MAX;
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

/* What the program calls the call with this record; of messages the first such one of the batch. */
static const char *tag_of(const struct ring_call *call, const struct ring_record *record)
{
	const enum ring_kind kind = (enum ring_kind)record->kind;
	while (call && ring_kind_is_message(kind) &&
	       (call->kind != kind || call->root != record->root))
		call = call->together;
	return call && call->kind == kind ? call->tag : "";
}

/* That of a mixed communicator says the same on all ranks, wherever their memory lies. */
static struct ring_record without_memory(const struct ring_comm *comm,
					 const struct ring_record *record)
{
	struct ring_record told = *record;
	if (comm->run.mixed && !(record->memory & (RING_RECORD_KERNEL | RING_RECORD_GRAPH)))
		told.memory &= RING_RECORD_LINKS;
	return told;
}

static const char *describe(const struct ring_comm *comm, const struct ring_call *call,
			    const struct ring_record *record, char *text)
{
	const char *tag = tag_of(call, record);
	struct ring_record of_host = without_memory(comm, record);
	bool on_device = of_host.memory & RING_RECORD_DEVICE && comm->caller.device &&
			 !(of_host.memory & RING_RECORD_LINKS);
	of_host.memory = on_device ? 0 : of_host.memory;
	size_t have = strlen(ring_record_format(&of_host, text));
	if (on_device)
		snprintf(text + have, RING_RECORD_TEXT - have, ", in memory of %s device %d%s",
			 comm->caller.device->name, comm->caller.chip,
			 ring_record_by_kernel(record));
	have = strlen(text);
	if (*tag)
		snprintf(text + have, RING_RECORD_TEXT - have, ", \"%s\"", tag);
	return text;
}

const char *ring_explain_record(const struct ring_comm *comm, const struct ring_record *record,
				char *text)
{
	return describe(comm, comm->run.current, record, text);
}

int ring_explain_where(const struct ring_comm *comm, struct ring_record *record)
{
	const struct ring_channel *channel = ring_explain_unfinished(comm);
	int step;
	*record = channel ? own_record(channel) : comm->run.current->record;
	*record = without_memory(comm, record);
	return channel ? ring_channel_waits_for(channel, &step) : -1;
}

int ring_explain_departed(struct ring_comm *comm, const struct ring_channel *channel, int peer)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	struct ring_record record = channel ? own_record(channel) : comm->run.current->record;
	return ring_comm_fail(&comm->failure, RING_EPEER, peer,
			      "%s left the communicator while rank %d was in %s",
			      ring_team_rank_text(&comm->team, peer, who), comm->team.rank,
			      ring_explain_record(comm, &record, mine));
}

/* Two ranks that make the same call, but for what goes between them. */
static void add_parts(const struct ring_channel *channel, int self, char *mine, char *theirs)
{
	const struct ring_record expected = ring_channel_expects(channel, channel->failed_peer);
	struct ring_record same = channel->theirs;
	same.count = expected.count;
	if (!ring_kind_has_own_parts(expected.kind) || !ring_record_equals(&same, &expected))
		return;
	ring_record_add_parts(&expected, channel->failed_peer, mine);
	ring_record_add_parts(&channel->theirs, self, theirs);
}

static int tell_mismatch(struct ring_comm *comm, const struct ring_record *record, const char *mine,
			 int peer, const char *theirs)
{
	struct ring_news news = {.err = RING_EMISMATCH,
				 .culprit = peer,
				 .call = record->kind == RING_KIND_RECV ? 0 : record->sequence};
	snprintf(news.text, sizeof(news.text), "rank %d is in %.133s, but rank %d is in %.133s",
		 comm->team.rank, mine, peer, theirs);
	return ring_comm_fail_with(&comm->failure, &news, true);
}

static int explain_mismatch(struct ring_comm *comm, const struct ring_channel *channel)
{
	char mine[RING_RECORD_TEXT], theirs[RING_RECORD_TEXT];
	struct ring_record record = own_record(channel);
	if (ring_mixed_found(comm, &record, &channel->theirs) && comm->run.anew)
		return RING_EMISMATCH;
	const struct ring_record other = without_memory(comm, &channel->theirs);
	ring_explain_record(comm, &record, mine);
	ring_record_format(&other, theirs);
	add_parts(channel, comm->team.rank, mine, theirs);
	return tell_mismatch(comm, &record, mine, channel->failed_peer, theirs);
}

int ring_explain_other_call(struct ring_comm *comm, const struct ring_record *record, int peer,
			    const struct ring_record *other)
{
	char mine[RING_RECORD_TEXT], theirs[RING_RECORD_TEXT];
	const struct ring_record told = without_memory(comm, other);
	ring_explain_record(comm, record, mine);
	ring_record_format(&told, theirs);
	return tell_mismatch(comm, record, mine, peer, theirs);
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

/* The kernel gave up a link: nothing came through for as long as peer_lost_ms says. */
static int fail_unreached(struct ring_comm_failure *failure, int peer)
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
		return explain_mismatch(comm, channel);
	if (err != RING_EPEER)
		return ring_explain_device(&comm->failure, channel->device, err);
	if (is_unreached(channel, peer))
		return fail_unreached(&comm->failure, peer);
	int lost = ring_explain_lost(&comm->failure);
	if (lost)
		return lost;
	/* What is heard of stays the failure: what follows counts only if nothing was. */
	ring_comm_await_failure(&comm->failure, turn_of(comm, channel));
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

static int explain_unlinked(struct ring_comm *comm, struct ring_channel *channel, int peer, int err,
			    const char *why)
{
	char who[RING_RANK_TEXT];
	ring_comm_await_failure(&comm->failure, turn_of(comm, channel));
	if (err == RING_EPEER) {
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
	if (trouble->broken)
		return ring_explain_broken(comm, trouble->channel, err);
	if (trouble->device)
		return ring_explain_device(&comm->failure, trouble->device, err);
	if (trouble->unreached)
		return fail_unreached(&comm->failure, trouble->peer);
	return explain_unlinked(comm, trouble->channel, trouble->peer, err, trouble->failure.text);
}

int ring_explain_unmapped(struct ring_comm_failure *failure, int peer, int err)
{
	char who[RING_RANK_TEXT], words[RING_FD_WORDS];
	const char *why = err == RING_ESYSTEM ? ring_fd_words(errno, words) : ring_strerror(err);
	/* A device's memory goes with its process, whose death the lanes tell a moment later. */
	int known = ring_comm_await_failure(failure, UINT64_MAX);
	if (known)
		return known;
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

static int tell_time_out(struct ring_comm *comm, const struct ring_record *record, int peer)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	bool crowded = ring_pairs_are_at_work(&comm->run.pairs) && ring_fd_crowded_ms() > 0;
	return ring_comm_fail(
		&comm->failure, RING_ETIMEDOUT, peer, "rank %d waited %d ms in %s, for %s; %s",
		comm->team.rank, comm->team.config.call_timeout_ms,
		ring_explain_record(comm, record, mine), ring_team_rank_text(&comm->team, peer, who),
		crowded ? "the processes of this user pass more descriptors than the system lets "
			  "them (ulimit -n)"
			: "is it stopped, or busy elsewhere?");
}

int ring_explain_time_out(struct ring_comm *comm, const struct ring_channel *channel)
{
	struct ring_record record = channel ? own_record(channel) : comm->run.current->record;
	int step, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	return tell_time_out(comm, &record, peer);
}

int ring_explain_kernel(struct ring_comm *comm, const struct ring_call *call)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	struct ring_record theirs;
	int peer, err = ring_kernels_ended(&comm->kernels, call, &peer, &theirs);
	int before = err ? ring_comm_failed(&comm->failure) : 0;
	if (!err || before)
		return before;
	if (err == RING_EMISMATCH)
		return ring_explain_other_call(comm, &call->record, peer, &theirs);
	if (err == RING_ETIMEDOUT)
		return tell_time_out(comm, &call->record, peer);
	if (err != RING_EPEER)
		return ring_explain_device(&comm->failure, call->device, err);
	return ring_comm_fail(&comm->failure, err, peer,
			      "what %s wrote to rank %d in %s is not a call of any rank",
			      ring_team_rank_text(&comm->team, peer, who), comm->team.rank,
			      ring_explain_record(comm, &call->record, mine));
}

void ring_explain_call(struct ring_comm *comm, const struct ring_call *call)
{
	const struct ring_channel *channel = ring_explain_unfinished(comm);
	if (!channel && !call)
		return;
	int step = -1, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	struct ring_record record = channel ? own_record(channel) : call->record;
	char mine[RING_RECORD_TEXT];
	ring_comm_add(&comm->failure, "; rank %d was in %s", comm->team.rank,
		      describe(comm, call, &record, mine));
	if (peer >= 0 && step >= 0)
		ring_comm_add(&comm->failure, ", step %d", step);
	if (peer >= 0)
		ring_comm_add(&comm->failure, ", waiting for rank %d", peer);
}
