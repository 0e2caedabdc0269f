/* SPDX-License-Identifier: MIT */
/* Working, telling and hearing in turn; see reaching.h. */
#include "reaching.h"

#include "exchange.h"
#include "job.h"
#include "receive.h"

/* Once an exchange's work is done, tells so to all ranks there are links to. returns the moves */
static int tell(struct ring_channel *channel)
{
	uint64_t i = channel->call.posted, before = i;
	for (; i < channel->call.plan->outgoing; i++) {
		const struct ring_transfer *out = ring_channel_outgoing(channel, i);
		if (channel->call.reduced < out->needs || !ring_exchange_say(channel, out))
			break;
		ring_channel_note(channel, RING_POSTED, i, out);
		ring_channel_note(channel, RING_SENT, i, out);
	}
	channel->call.posted = channel->call.sent = i;
	return (int)(i - before);
}

/* Hears one peer after the other. returns the moves, or an error */
static int hear(struct ring_channel *channel)
{
	const uint64_t before = channel->call.started;
	uint64_t j = before;
	int moved = 1;
	for (; j < channel->call.plan->incoming; j++) {
		const struct ring_transfer *in = ring_channel_incoming(channel, j);
		uint64_t exchange = ring_channel_exchange(channel, in->exchange);
		const char *said;
		moved = in->opens ? ring_receive_written(channel, in, exchange, &said) : 0;
		if (moved <= 0)
			break;
		ring_channel_note(channel, RING_STARTED, j, in);
		ring_channel_note(channel, RING_REDUCED, j, in);
	}
	channel->call.started = channel->call.reduced = j;
	return moved < 0 ? moved : (int)(j - before);
}

/* Gives the entries to the device, each when all before it are done. returns as hear */
static int work(struct ring_channel *channel)
{
	const uint64_t before = channel->call.started + channel->call.reduced;
	int moved = channel->call.reduced < channel->call.started ? ring_job_finish(channel) : 0;
	while (moved >= 0 && channel->call.reduced == channel->call.started &&
	       channel->call.started < channel->call.plan->incoming) {
		const struct ring_transfer *in = ring_channel_incoming(channel,
								       channel->call.started);
		if (in->opens)
			break;
		int err = ring_job_start(channel, in, NULL);
		moved = err ? err : ring_job_finish(channel);
	}
	return moved < 0 ? moved : (int)(channel->call.started + channel->call.reduced - before);
}

int ring_reaching_advance(struct ring_channel *channel)
{
	int moves = 0, moved;
	do {
		int worked = work(channel);
		if (worked < 0)
			return worked;
		moved = channel->call.posted < channel->call.plan->outgoing ? tell(channel) : 0;
		int heard = channel->call.reduced == channel->call.started ? hear(channel) : 0;
		if (heard < 0)
			return heard;
		moved += worked + heard;
		moves += moved;
	} while (moved > 0 && !ring_channel_is_done(channel));
	return moves;
}
