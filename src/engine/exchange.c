/* SPDX-License-Identifier: MIT */
/* Writing on one's board; see exchange.h. */
#include "exchange.h"

void ring_exchange_write(struct ring_channel *channel, uint64_t exchange)
{
	const struct ring_record *record = &channel->call.opening.record;
	bool says_input = ring_plan_said(channel->call.plan, channel->self) > 0;
	size_t bytes = ring_channel_sheet_bytes(channel, channel->self);
	const void *text = channel->call.opening.payload;
	if (says_input)
		text = channel->call.operands.input;
	ring_board_write(channel->board.own, ring_channel_exchange(channel, exchange), record,
			 sizeof(*record), text, bytes - sizeof(*record));
	ring_exchange_tell_cpu(channel);
	ring_doorbell_published();
	channel->call.written = exchange + 1;
}
