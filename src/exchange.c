/* SPDX-License-Identifier: MIT */
/* Writing on one's board; see exchange.h. */
#include "exchange.h"

#include <string.h>

void ring_exchange_write(struct ring_channel *channel, uint64_t exchange)
{
	uint64_t said = ring_plan_said(channel->plan, channel->self);
	if (said > 0)
		memcpy(channel->opening.payload, channel->operands.input, said);
	ring_board_write(channel->board, ring_channel_exchange(channel, exchange),
			 &channel->opening, ring_channel_sheet_bytes(channel, channel->self));
	ring_doorbell_published();
	channel->written = exchange + 1;
}
