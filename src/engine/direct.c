/* SPDX-License-Identifier: MIT */
/* Reaching into peers' memory, entry by entry; see direct.h. */
#include "direct.h"

#include "channel_parts.h"
#include "base/datatype.h"
#include "base/status.h"

/* Ranks [first, end) except one; without -1: all of them. */
struct span {
	int first, end, without;
};

/* Whose memory a place is in. */
static struct span ranks_of(const struct ring_channel *channel, const struct ring_transfer *in,
			    enum ring_buffer buffer)
{
	if (buffer == RING_ALL_INPUTS || buffer == RING_ALL_OUTPUTS || buffer == RING_ALL_STAGES)
		return (struct span){0, channel->call.plan->params.size, -1};
	if (buffer == RING_OTHER_OUTPUTS)
		return (struct span){0, channel->call.plan->params.size, in->peer};
	bool peers = buffer == RING_PEER_INPUT || buffer == RING_PEER_OUTPUT ||
		     buffer == RING_PEER_STAGE;
	int rank = peers ? in->peer : channel->self;
	return (struct span){.first = rank, .end = rank + 1, .without = -1};
}

static struct span sources_of(const struct ring_channel *channel, const struct ring_transfer *in)
{
	return ranks_of(channel, in, in->source.buffer);
}

static struct span results_of(const struct ring_channel *channel, const struct ring_transfer *in)
{
	return ranks_of(channel, in, in->result.buffer);
}

static bool holds(struct span ranks, int rank)
{
	return rank >= ranks.first && rank < ranks.end && rank != ranks.without;
}

static bool is_on_stage(const struct ring_transfer *in)
{
	return in->source.buffer == RING_PEER_STAGE || in->source.buffer == RING_ALL_STAGES;
}

/* Others' summands are on their stages; this rank's is its input. */
static char *summand_of(const struct ring_channel *channel, const struct ring_transfer *in, int rank)
{
	if (rank == channel->self)
		return (char *)channel->call.operands.input + in->result.offset;
	return channel->call.reached->stages[rank] + in->source.offset;
}

/* NULL where it is not mapped. */
static char *input_of(const struct ring_channel *channel, const struct ring_transfer *in, int rank)
{
	if (is_on_stage(in))
		return summand_of(channel, in, rank);
	char *input = channel->call.reached->inputs[rank];
	return input ? input + in->source.offset : NULL;
}

static char *output_of(const struct ring_channel *channel, const struct ring_transfer *in, int rank)
{
	char *output = rank == channel->self ? channel->call.operands.output
					     : channel->call.reached->outputs[rank];
	return output ? output + in->result.offset : NULL;
}

static char *scratch_of(const struct ring_channel *channel, int rank)
{
	uint64_t chunk_bytes = channel->call.plan->chunk * channel->call.plan->params.element_bytes;
	return channel->scratch + (uint64_t)rank * chunk_bytes;
}

/* Where this rank has the result: in its output, or where it is copied to peers from. */
static char *result_here(const struct ring_channel *channel, const struct ring_transfer *in)
{
	int self = channel->self;
	if (holds(results_of(channel, in), self))
		return output_of(channel, in, self);
	if (in->action == RING_COPY && holds(sources_of(channel, in), self))
		return input_of(channel, in, self);
	return scratch_of(channel, self);
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* Stages stay mapped and are no buffers of the program: they have no gates. */
static bool is_touched(const struct ring_channel *channel, const struct ring_transfer *in, int rank)
{
	return rank != channel->self && !is_on_stage(in) &&
	       (holds(sources_of(channel, in), rank) || holds(results_of(channel, in), rank));
}

static struct ring_link *gate_of(const struct ring_channel *channel, int rank)
{
	const struct ring_route *gates = channel->call.reached->gates;
	return (gates ? gates : channel->routes)[rank].out;
}

/*
 * Leaves the gates of the entry's peers before `end`. returns one that had shut its gate meanwhile:
 * what was read there may be wrong; -1: none had
 */
static int leave(struct ring_channel *channel, const struct ring_transfer *in, int end)
{
	int shut = -1;
	for (int rank = 0; rank < end; rank++) {
		struct ring_link *out = gate_of(channel, rank);
		if (is_touched(channel, in, rank) && ring_link_leave(out))
			shut = rank;
	}
	return shut;
}

static int enter(struct ring_channel *channel, const struct ring_transfer *in)
{
	for (int rank = 0; rank < channel->call.plan->params.size; rank++) {
		struct ring_link *out = gate_of(channel, rank);
		int err = is_touched(channel, in, rank) ? ring_link_enter(out) : 0;
		if (err) {
			leave(channel, in, rank);
			return ring_channel_fail(channel, rank, err);
		}
	}
	return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * A job without sources and results yet; most of its room is never used, so it stays uninitialised.
 */
static void begin(const struct ring_channel *channel, const struct ring_transfer *in,
		  struct ring_reduction *job)
{
	job->nsources = job->nscalars = job->nresults = 0;
	job->count = ring_datatype_elements(channel->call.operands.type, in->bytes);
	job->type = channel->call.operands.type;
	job->op = channel->call.operands.op;
	job->function = channel->call.operands.function;
	job->divisor = 1;
	job->past = in->action == RING_COPY ? channel->call.known->past
					    : channel->call.plan->params.past;
}

/* Copies a peer's input to a place in scratch; a mere copy goes straight to the result. */
static int fetch(struct ring_channel *channel, const struct ring_transfer *in, int rank, int place,
		 char **here)
{
	struct ring_link *link = channel->routes[rank].in;
	uint64_t address = channel->call.reached->where[rank].input + in->source.offset;
	*here = in->action == RING_COPY ? result_here(channel, in) : scratch_of(channel, place);
	int err = ring_link_get(link, address, *here, in->bytes);
	return err ? ring_channel_fail(channel, rank, RING_EPEER) : 0;
}

static int add_source(struct ring_channel *channel, const struct ring_transfer *in, int rank,
		      int place, struct ring_reduction *job)
{
	char *input = input_of(channel, in, rank);
	int err = input ? 0 : fetch(channel, in, rank, place, &input);
	job->sources[job->nsources++] = input;
	return err;
}

/* Adds up the two sources that a job has so far. */
static int fold(struct ring_channel *channel, const struct ring_transfer *in,
		struct ring_reduction *job)
{
	struct ring_reduction part;
	begin(channel, in, &part);
	part.sources[part.nsources++] = job->sources[0];
	part.sources[part.nsources++] = job->sources[1];
	part.results[part.nresults++] = scratch_of(channel, 0);
	job->sources[0] = part.results[0];
	job->nsources = 1;
	return ring_channel_reduce(channel, &part);
}

/* Whether the device has done all its jobs, and so reads nothing in scratch. */
static bool is_idle(const struct ring_channel *channel)
{
	uint64_t pending;
	return ring_channel_pending(channel, &pending) == 0 && pending == 0;
}

#define RANKS_AT_ONCE 4 /* summands of this many ranks are fetched together, then added */

/*
 * Whether fetched summands are added as they come, so that two places are enough: where all at once
 * would crowd a core's second-level cache, and where the type is not added in a wider one, so that
 * the sum is the same. (8 ranks, 25 MiB: 34.5 -> 32.3 ms.)
 */
static bool adds_as_they_come(const struct ring_plan_params *params)
{
	return params->size > RANKS_AT_ONCE && params->element_bytes >= sizeof(float);
}

static int gather_summands(struct ring_channel *channel, const struct ring_transfer *in,
			   struct ring_reduction *job)
{
	const struct ring_plan *plan = channel->call.plan;
	bool folds = adds_as_they_come(&plan->params);
	int err = 0;
	for (int k = 0; k < plan->params.size && !err; k++) {
		int rank = ring_direct_summand(plan, in->behind, k), place = k;
		if (folds && job->nsources == 2 && !input_of(channel, in, rank)) {
			err = fold(channel, in, job);
			place = is_idle(channel) ? 1 : k;
		}
		if (!err)
			err = add_source(channel, in, rank, place, job);
	}
	return err;
}

/* This rank's place for the result comes first, if it is needed and not among them. */
static void gather_results(const struct ring_channel *channel, const struct ring_transfer *in,
			   struct ring_reduction *job)
{
	struct span results = results_of(channel, in);
	char *here = result_here(channel, in);
	bool needed = holds(results, channel->self);
	for (int rank = results.first; rank < results.end; rank++)
		needed = needed || (holds(results, rank) && !output_of(channel, in, rank));
	if (needed && (in->action != RING_COPY || here != job->sources[0]))
		job->results[job->nresults++] = here;
	for (int rank = results.first; rank < results.end; rank++)
		if (rank != channel->self && holds(results, rank) && output_of(channel, in, rank))
			job->results[job->nresults++] = output_of(channel, in, rank);
	if (in->source.buffer == RING_ALL_STAGES)
		job->results[job->nresults++] = channel->call.reached->stages[channel->self] +
						in->source.offset;
}

int ring_direct_start(struct ring_channel *channel, const struct ring_transfer *in)
{
	if (in->bytes == 0)
		return ring_channel_copy(channel, NULL, NULL, 0, false);
	int err = enter(channel, in);
	if (err)
		return err;
	struct ring_reduction job;
	begin(channel, in, &job);
	if (in->action == RING_COPY)
		err = add_source(channel, in, sources_of(channel, in).first, 0, &job);
	else
		err = gather_summands(channel, in, &job);
	if (err) {
		leave(channel, in, channel->call.plan->params.size);
		return err;
	}
	gather_results(channel, in, &job);
	if (job.nresults == 0)
		return ring_channel_copy(channel, NULL, NULL, 0, false);
	job.divisor = in->last ? channel->call.operands.divisor : 1;
	return ring_channel_reduce(channel, &job);
}

/*
 * Copies the result to the peers whose memory is not mapped. Each rank begins with the next one, as
 * in reading: ranks that write to the same memory at once wait for the kernel's locks.
 */
static int hand_out(struct ring_channel *channel, const struct ring_transfer *in)
{
	struct span results = results_of(channel, in);
	const char *here = result_here(channel, in);
	for (int distance = 1; distance < channel->call.plan->params.size; distance++) {
		int rank = ring_plan_at(channel->call.plan, distance);
		struct ring_link *link = channel->routes[rank].out;
		uint64_t address = channel->call.reached->where[rank].output + in->result.offset;
		if (!holds(results, rank) || output_of(channel, in, rank))
			continue;
		if (ring_link_put(link, address, here, in->bytes))
			return ring_channel_fail(channel, rank, RING_EPEER);
	}
	return 0;
}

void ring_direct_count(struct ring_channel *channel, int peer)
{
	const struct ring_plan *plan = channel->call.plan;
	struct ring_route *route = &channel->routes[peer];
	uint64_t sent = ring_direct_payload(plan, channel->self, peer);
	uint64_t received = ring_direct_payload(plan, peer, channel->self);
	route->sent_messages += sent > 0;
	route->sent_bytes += sent;
	route->received_messages += received > 0;
	route->received_bytes += received;
}

int ring_direct_finish(struct ring_channel *channel, const struct ring_transfer *in)
{
	int err = hand_out(channel, in);
	int shut = leave(channel, in, channel->call.plan->params.size);
	return err || shut < 0 ? err : ring_channel_fail(channel, shut, RING_EPEER);
}
