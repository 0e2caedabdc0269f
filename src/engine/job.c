/* SPDX-License-Identifier: MIT */
/* Finding the operands of a job, and giving slots back; see job.h. */
#include "job.h"

#include "channel_parts.h"
#include "direct.h"
#include "base/datatype.h"

/* The message that HOLD number `index` keeps: that peer has said nothing since. */
static inline const void *held_payload(const struct ring_channel *channel,
				       const struct ring_transfer *in, int index)
{
	struct ring_transfer room;
	const struct ring_transfer *hold =
		ring_known_plan_peek(channel->call.known, in->held.first + (uint64_t)index, &room);
	return ring_channel_route(channel, hold->peer)->said + in->held.skip;
}

/* The same where all summands were collected in scratch. */
static int gather_summands(const struct ring_channel *channel, const struct ring_transfer *in,
			   const void *sources[])
{
	const struct ring_plan *plan = channel->call.plan;
	const uint64_t bytes = plan->share.length * plan->params.element_bytes;
	for (int k = 0; k < plan->params.size; k++)
		sources[k] = ring_channel_address(channel, in->source) +
			     (uint64_t)ring_plan_summand(plan, in, k) * bytes;
	return plan->params.size;
}

/* The same where the summands before the own lie in a pile, except the first. */
static int gather_pile(const struct ring_channel *channel, const struct ring_transfer *in,
		       const void *arrived, const void *sources[])
{
	const struct ring_plan *plan = channel->call.plan;
	int count = 0;
	if (arrived)
		sources[count++] = arrived;
	for (int k = 0; k < in->pile.count; k++)
		sources[count++] = channel->scratch + in->pile.offset +
				   (uint64_t)k * plan->chunk * plan->params.element_bytes;
	sources[count++] = ring_channel_address(channel, in->source);
	return count;
}

/* What a REDUCE adds, in order: the own source, and what arrived or is held. Returns how many. */
static int gather_sources(const struct ring_channel *channel, const struct ring_transfer *in,
			  const void *arrived, const void *sources[])
{
	int count = 0;
	if (in->source.buffer == RING_SUMMANDS)
		return gather_summands(channel, in, sources);
	if (in->pile.count > 0)
		return gather_pile(channel, in, arrived, sources);
	for (int k = in->behind; k < in->held.count; k++)
		sources[count++] = held_payload(channel, in, k);
	sources[count++] = ring_channel_address(channel, in->source);
	for (int k = 0; k < in->behind; k++)
		sources[count++] = held_payload(channel, in, k);
	if (arrived)
		sources[count++] = arrived;
	return count;
}

int ring_job_reduce(struct ring_channel *channel, const struct ring_transfer *in,
		    const struct ring_operands *operands, bool scaled, struct ring_reduction *job)
{
	job->scalars = &operands->scalar;
	job->nscalars = scaled;
	job->count = ring_datatype_elements(operands->type, in->bytes);
	job->type = operands->type;
	job->op = operands->op;
	job->function = operands->function;
	job->divisor = in->last ? operands->divisor : 1;
	job->past = channel->call.plan->params.past;
	return ring_channel_reduce(channel, job);
}

/* Always exactly one job. */
static int submit(struct ring_channel *channel, const struct ring_transfer *in, const void *arrived)
{
	if ((in->action == RING_REDUCE || in->action == RING_SCALE) && in->bytes > 0) {
		struct ring_reduction job; /* most of it is not used */
		job.nsources = gather_sources(channel, in, arrived, job.sources);
		job.results[0] = ring_channel_address(channel, in->result);
		job.nresults = 1;
		return ring_job_reduce(channel, in, &channel->call.operands,
				       channel->call.plan->params.scaled, &job);
	}
	char *result = ring_channel_address(channel, in->result);
	const void *source = arrived;
	if (in->peer == channel->self)
		source = in->held.count > 0 ? held_payload(channel, in, 0)
					    : ring_channel_address(channel, in->source);
	bool nothing = in->action == RING_SIGNAL || in->action == RING_HOLD || source == result;
	bool past = channel->call.known->past && in->result.buffer == RING_OUTPUT;
	return ring_channel_copy(channel, result, source, nothing ? 0 : in->bytes, past);
}

int ring_job_start(struct ring_channel *channel, const struct ring_transfer *in, const void *arrived)
{
	int err = ring_transfer_is_direct(in) ? ring_direct_start(channel, in)
					      : submit(channel, in, arrived);
	if (err)
		return err;
	ring_channel_note(channel, RING_STARTED, channel->call.started, in);
	channel->call.started++;
	return 0;
}

/* Gives back the slots of messages that are not needed any more. */
static void release(const struct ring_channel *channel, const struct ring_transfer *in)
{
	struct ring_link *link = NULL;
	if (in->action != RING_HOLD && ring_transfer_is_message(in, channel->self) &&
	    !ring_channel_is_on_board(channel, in))
		link = ring_channel_route(channel, in->peer)->in;
	if (link)
		ring_link_release(link);
	for (int k = 0; in->held.releases && k < in->held.count; k++) {
		struct ring_transfer room;
		const struct ring_transfer *hold = ring_known_plan_peek(
			channel->call.known, in->held.first + (uint64_t)k, &room);
		link = ring_channel_route(channel, hold->peer)->in;
		if (hold->bytes > 0 && !ring_channel_is_on_board(channel, hold))
			ring_link_release(link);
	}
}

int ring_job_finish(struct ring_channel *channel)
{
	uint64_t pending;
	int moves = 0;
	int err = ring_channel_pending(channel, &pending);
	if (err)
		return err;
	for (; channel->call.reduced + pending < channel->call.started;
	     channel->call.reduced++, moves++) {
		const struct ring_transfer *in = ring_channel_incoming(channel,
								       channel->call.reduced);
		err = ring_transfer_is_direct(in) ? ring_direct_finish(channel, in) : 0;
		if (err)
			return err;
		release(channel, in);
		ring_channel_note(channel, RING_REDUCED, channel->call.reduced, in);
	}
	return moves;
}
