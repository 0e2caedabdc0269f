/* SPDX-License-Identifier: MIT */
/*
 * Runs one call: starts the channels, advances them until all are done, and decides how to wait when
 * nothing moves. What goes wrong meanwhile becomes the communicator's failure here.
 */
#include <sched.h>
#include <stdio.h>

#include "clock.h"
#include "comm.h"
#include "datatype.h"
#include "fpenv.h"
#include "trace.h"

#define LOOKS_PER_CLOCK 64  /* the clock is read once in so many empty looks */
#define NEWS_GRACE_MS 500   /* a broken link waits so long for the control lanes to say why */
#define LEFT_GRACE_MS 200   /* ... and a call so long for what a departed rank had still sent */
#define CHANNEL_BYTES 65536 /* a block is shared out to channels by no less than this */

/* How long this call has found nothing to do, and when it must end. */
struct patience {
	int looks;            /* empty looks in a row */
	uint64_t deadline_ms; /* 0: never */
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

static int channels_for(const struct ring_comm *comm, const struct ring_call *call,
			uint32_t element_bytes)
{
	uint64_t bytes = call->count * element_bytes;
	if (call->kind == RING_KIND_ALL_REDUCE)
		bytes /= comm->size;
	uint64_t worth = bytes / CHANNEL_BYTES + 1;
	return worth < (uint64_t)comm->channel_count ? (int)worth : comm->channel_count;
}

/* Returns how many channels the call uses. */
static int start_channels(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_plan_params params = {
		.kind = call->kind,
		.algorithm = RING_ALGORITHM_RING,
		.size = comm->size,
		.position = comm->placement.position,
		.order = comm->order,
		.root = call->root,
		.count = call->count,
		.element_bytes = (uint32_t)ring_datatype_bytes(call->operands.type),
		.chunk_bytes = comm->placement.tuning.chunk_bytes,
		.chunks_per_round = comm->placement.tuning.chunks_per_round,
	};
	params.channels = channels_for(comm, call, params.element_bytes);
	for (params.channel = 0; params.channel < params.channels; params.channel++) {
		struct ring_plan plan = ring_plan_make(&params);
		ring_channel_start(&comm->channels[params.channel], &plan, &call->operands,
				   &call->record);
	}
	return params.channels;
}

static bool all_done(const struct ring_comm *comm, int channels)
{
	for (int c = 0; c < channels; c++)
		if (!ring_channel_is_done(&comm->channels[c]))
			return false;
	return true;
}

/* 0, or the failure that ends the current call. */
static int ended(const struct ring_comm *comm)
{
	return ring_comm_failed_in(comm, comm->current);
}

/* Sleeps until there is news, at most `ms`; for a call that cannot go on. */
static void await_news(struct ring_comm *comm, int ms)
{
	uint64_t until = ring_clock_ms() + ms;
	for (uint64_t now = ring_clock_ms(); now < until && !ended(comm); now = ring_clock_ms()) {
		uint32_t ticket = ring_bell_announce(&comm->bell, false);
		if (!ended(comm))
			ring_bell_sleep(&comm->bell, ticket, NULL, 0, (int)(until - now));
		ring_bell_awake(&comm->bell);
	}
}

static int tell_departed(struct ring_comm *comm, int peer)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	return ring_comm_fail(comm, RING_EPEER, peer,
			      "%s left the communicator while rank %d was in %s",
			      ring_comm_rank_text(comm, peer, who), comm->rank,
			      ring_record_format(&comm->channels[0].record, mine));
}

static int tell_mismatch(struct ring_comm *comm, const struct ring_channel *channel)
{
	char mine[RING_RECORD_TEXT], theirs[RING_RECORD_TEXT];
	struct ring_news news = {.err = RING_EMISMATCH,
				 .culprit = channel->failed_peer,
				 .call = channel->record.sequence};
	snprintf(news.text, sizeof(news.text), "rank %d is in %s, but rank %d is in %s", comm->rank,
		 ring_record_format(&channel->record, mine), channel->failed_peer,
		 ring_record_format(&channel->theirs, theirs));
	return ring_comm_fail_with(comm, &news, true);
}

/*
 * A channel could not go on. A broken link only says that something happened to a neighbour, which
 * may itself be reacting to another rank's death: the control lanes know the first cause, so they
 * get a moment to tell it.
 */
static int explain(struct ring_comm *comm, const struct ring_channel *channel, int err)
{
	char who[RING_RANK_TEXT];
	int peer = channel->failed_peer;
	if (err == RING_EMISMATCH)
		return tell_mismatch(comm, channel);
	if (err != RING_EPEER)
		return ring_comm_fail(comm, err, comm->rank, "rank %d: the %s device failed: %s",
				      comm->rank, channel->device->name, ring_strerror(err));
	await_news(comm, NEWS_GRACE_MS);
	if (ring_comm_departed(comm, peer, 0))
		return tell_departed(comm, peer);
	return ring_comm_fail(
		comm, err, peer,
		"the link between rank %d and %s broke, or carried what no plan sends", comm->rank,
		ring_comm_rank_text(comm, peer, who));
}

/* Advances every channel once. returns the moves, or the failure */
static int advance(struct ring_comm *comm, int channels)
{
	int moves = 0;
	for (int c = 0; c < channels; c++) {
		int moved = ring_channel_advance(&comm->channels[c]);
		if (moved < 0)
			return explain(comm, &comm->channels[c], moved);
		moves += moved;
	}
	return moves;
}

/* The rank this call waits for on its first unfinished channel, and in which step. */
static int waits_for(const struct ring_comm *comm, int channels, int *step)
{
	for (int c = 0; c < channels; c++)
		if (!ring_channel_is_done(&comm->channels[c]))
			return ring_channel_waits_for(&comm->channels[c], step);
	return -1;
}

static int time_out(struct ring_comm *comm, int channels)
{
	char who[RING_RANK_TEXT], mine[RING_RECORD_TEXT];
	int step = -1, peer = waits_for(comm, channels, &step);
	return ring_comm_fail(
		comm, RING_ETIMEDOUT, peer,
		"rank %d waited %d ms in %s, for %s; is it stopped, or busy elsewhere?", comm->rank,
		comm->config.call_timeout_ms, ring_record_format(&comm->channels[0].record, mine),
		ring_comm_rank_text(comm, peer, who));
}

/* Fails the call if it waits for a neighbour that said goodbye some time ago. */
static int check_departed(struct ring_comm *comm, int channels)
{
	int step = -1, peer = waits_for(comm, channels, &step);
	return ring_comm_departed(comm, peer, LEFT_GRACE_MS) ? tell_departed(comm, peer) : 0;
}

/* Announces, looks once more, sleeps. returns moves of the last look, or the failure */
static int sleep_once(struct ring_comm *comm, int channels, int timeout_ms)
{
	struct pollfd fds[RING_CHANNELS_MAX * RING_ROUTES * 2];
	int nfds = 0;
	for (int c = 0; c < channels; c++)
		nfds += ring_channel_wait_fds(&comm->channels[c], fds + nfds);

	uint32_t ticket = ring_bell_announce(&comm->bell, nfds > 0);
	int moves = advance(comm, channels);
	if (moves == 0 && !all_done(comm, channels) && !ended(comm))
		ring_bell_sleep(&comm->bell, ticket, fds, nfds, timeout_ms);
	ring_bell_awake(&comm->bell);
	return moves;
}

/* Nothing moved: looks again at once, yields, or sleeps. returns moves, or the failure */
static int wait_a_little(struct ring_comm *comm, int channels, struct patience *patience)
{
	const struct ring_config *config = &comm->config;
	int looks = patience->looks++;
	bool sleeps = looks >= config->spins + config->yields;

	int err = ended(comm);
	if (err)
		return err;
	if (!sleeps && looks % LOOKS_PER_CLOCK != LOOKS_PER_CLOCK - 1) {
		if (looks < config->spins)
			relax();
		else
			sched_yield();
		return 0;
	}
	uint64_t now = ring_clock_ms();
	if (!patience->deadline_ms && config->call_timeout_ms > 0)
		patience->deadline_ms = now + config->call_timeout_ms; /* it never waited before */
	if (patience->deadline_ms && now >= patience->deadline_ms)
		return time_out(comm, channels);
	err = check_departed(comm, channels);
	if (err || !sleeps)
		return err;
	int timeout_ms = patience->deadline_ms ? (int)(patience->deadline_ms - now) : -1;
	if (ring_comm_departed(comm, -1, 0))
		timeout_ms = LEFT_GRACE_MS;
	return sleep_once(comm, channels, timeout_ms);
}

static int run(struct ring_comm *comm, int channels)
{
	struct patience patience = {0};
	for (;;) {
		int moves = advance(comm, channels);
		if (moves < 0)
			return moves;
		if (all_done(comm, channels))
			return 0;
		if (moves == 0)
			moves = wait_a_little(comm, channels, &patience);
		if (moves < 0)
			return moves;
		if (moves > 0)
			patience.looks = 0;
	}
}

static void note(struct ring_comm *comm, const struct ring_call *call,
		 enum ring_trace_counter counter)
{
	if (comm->trace)
		ring_trace_add(comm->trace,
			       &(struct ring_trace_record){.time_ns = ring_clock_ns(),
							   .call = call->record.sequence,
							   .index = call->count,
							   .channel = -1,
							   .peer = call->root,
							   .step = (int32_t)call->kind,
							   .counter = counter});
}

int ring_progress_run(struct ring_comm *comm, struct ring_call *call)
{
	comm->current = call->record.sequence;
	int err = ended(comm);
	if (err)
		return err;
	note(comm, call, RING_CALLED);
	struct ring_fpenv fpenv = ring_fpenv_enter();
	int channels = start_channels(comm, call);
	err = run(comm, channels);
	ring_fpenv_leave(fpenv);
	note(comm, call, RING_RETURNED);
	if (err) {
		int step = -1, peer = waits_for(comm, channels, &step);
		ring_comm_note_call(comm, call, peer, step);
		return err;
	}
	comm->calls++;
	return 0;
}
