/* SPDX-License-Identifier: MIT */
/* Saying, hearing and taking in; see small.h. */
#include "small.h"

#include "exchange.h"
#include "job.h"
#include "receive.h"
#include "wait.h"

static void note_outgoing(struct ring_channel *channel, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; channel->trace && i < to; i++) {
		const struct ring_transfer *out = &channel->call.known->outgoing[i].transfer;
		ring_channel_note(channel, RING_POSTED, i, out);
		ring_channel_note(channel, RING_SENT, i, out);
	}
}

static void note_incoming(struct ring_channel *channel, enum ring_trace_counter counter,
			  uint64_t from, uint64_t to)
{
	for (uint64_t j = from; channel->trace && j < to; j++)
		ring_channel_note(channel, counter, j, &channel->call.known->incoming[j].transfer);
}

/*
 * Says this rank's input to all ranks it has links to. Looking at once at what a peer is about to
 * write would only take the cache line from it, so there is a pause first. (8 B on 2 ranks: 0.16 ->
 * 0.13 us.) returns the moves
 */
static int say(struct ring_channel *channel)
{
	const struct ring_known_plan *known = channel->call.known;
	uint64_t before = channel->call.posted, i = before;
	if (channel->call.written == 0)
		ring_exchange_write(channel, 0);
	while (i < known->plan.outgoing && ring_exchange_tell(channel, &known->outgoing[i].transfer))
		i++;
	note_outgoing(channel, before, i);
	channel->call.posted = channel->call.sent = i;
	if (known->hears > 0 && channel->glances > 0)
		ring_wait_relax();
	return (int)(i - before);
}

/* Hears one peer after the other. returns the moves, or an error */
static int hear(struct ring_channel *channel)
{
	const struct ring_known_plan *known = channel->call.known;
	const uint64_t exchange = ring_channel_exchange(channel, 0), before = channel->call.heard;
	int moved = 1;
	for (uint64_t k = before; moved > 0 && k < known->hears; k++) {
		const struct ring_transfer *in = &known->incoming[k].transfer;
		moved = ring_receive_written(channel, in, exchange, &channel->call.said[k]);
		channel->call.heard += moved > 0;
	}
	return moved < 0 ? moved : (int)(channel->call.heard - before);
}

static char *address(const struct ring_operands *operands, struct ring_place place)
{
	char *buffer = place.buffer == RING_INPUT ? (char *)operands->input : operands->output;
	return buffer ? buffer + place.offset : NULL;
}

/*
 * In the order of additions: what others say from `behind` on, the own input, and what the rest
 * say. returns how many
 */
static int gather(const struct ring_transfer *in, const char *own, const char *const said[],
		  const void *sources[])
{
	int count = 0;
	for (int k = in->behind; k < in->held.count; k++)
		sources[count++] = said[k] + in->held.skip;
	sources[count++] = own;
	for (int k = 0; k < in->behind; k++)
		sources[count++] = said[k] + in->held.skip;
	return count;
}

/* Adds what others say to the own input. Of two ranks, the other's is not held. */
static int add(struct ring_channel *channel, const struct ring_transfer *in,
	       const struct ring_operands *operands, bool scaled, const char *const said[])
{
	struct ring_reduction job; /* most of it is not used */
	const char *own = operands->input + in->source.offset;
	job.sources[0] = own;
	job.sources[1] = said[0];
	job.nsources = in->held.count == 0 ? 2 : gather(in, own, said, job.sources);
	job.results[0] = address(operands, in->result);
	job.nresults = 1;
	return ring_job_reduce(channel, in, operands, scaled, &job);
}

static int copy(struct ring_channel *channel, const struct ring_transfer *in,
		const struct ring_operands *operands, const char *const said[])
{
	char *result = address(operands, in->result);
	const char *source = in->peer != channel->self ? said[0]
			     : in->held.count > 0      ? said[in->held.first]
						       : address(operands, in->source);
	bool nothing = in->action == RING_SIGNAL || source == result;
	return ring_channel_copy(channel, result, source, nothing ? 0 : in->bytes, false);
}

int ring_small_take(struct ring_channel *channel, const struct ring_known_plan *known,
		    const struct ring_operands *operands, const char *const said[])
{
	int err = 0;
	for (uint64_t j = known->holds; !err && j < known->plan.incoming; j++) {
		const struct ring_transfer *in = &known->incoming[j].transfer;
		bool adds = in->action == RING_REDUCE && in->bytes > 0;
		err = adds ? add(channel, in, operands, known->plan.params.scaled, said)
			   : copy(channel, in, operands, said);
	}
	return err;
}

/* Holding takes no job. returns 0, or an error */
static int take(struct ring_channel *channel)
{
	const uint64_t incoming = channel->call.plan->incoming;
	int err = ring_small_take(channel, channel->call.known, &channel->call.operands,
				  channel->call.said);
	if (err)
		return err;
	note_incoming(channel, RING_STARTED, 0, incoming);
	channel->call.started = incoming;
	return 0;
}

/* There is no slot to give back. returns the moves, or an error */
static int count_taken(struct ring_channel *channel)
{
	uint64_t pending, before = channel->call.reduced;
	int err = ring_channel_pending(channel, &pending);
	if (err)
		return err;
	channel->call.reduced = channel->call.started - pending;
	note_incoming(channel, RING_REDUCED, before, channel->call.reduced);
	return (int)(channel->call.reduced - before);
}

int ring_small_advance(struct ring_channel *channel)
{
	const uint64_t peers = channel->call.plan->outgoing, hears = channel->call.known->hears;
	int moves = channel->call.posted < peers ? say(channel) : 0;
	int moved = channel->call.heard < hears ? hear(channel) : 0;
	if (moved < 0 || channel->call.heard < hears || channel->call.posted < peers)
		return moved < 0 ? moved : moves + moved;
	moves += moved;
	int err = channel->call.started == 0 ? take(channel) : 0;
	moved = err ? err : count_taken(channel);
	return moved < 0 ? moved : moves + moved;
}
