/* SPDX-License-Identifier: MIT */
/* Saying, hearing and adding at once; see brief.h. */
#include "brief.h"

#include "exchange.h"
#include "job.h"
#include "small.h"
#include "wait.h"

static struct ring_brief_peer peer_of(const struct ring_channel *channel,
				      const struct ring_transfer *transfer)
{
	return (struct ring_brief_peer){
		.route = ring_channel_route(channel, transfer->peer),
		.messages = transfer->bytes > 0,
		.bytes = transfer->bytes,
		.sheet_bytes = (uint32_t)ring_channel_sheet_bytes(channel, transfer->peer),
		.skip = (uint32_t)(sizeof(struct ring_record) + transfer->source.offset),
	};
}

void ring_brief_prepare(struct ring_brief *brief, struct ring_channel *channel)
{
	struct ring_known_plan *known = channel->known;
	brief->ready = channel->is_small && !channel->has_bulletin && !channel->trace &&
		       channel->reserved; /* else routes may move */
	if (!brief->ready)
		return;
	brief->known = known;
	brief->record = channel->opening.record;
	brief->said_bytes = ring_channel_sheet_bytes(channel, channel->self) -
			    sizeof(struct ring_record);
	brief->light = channel->light;
	for (uint64_t i = 0; i < known->plan.outgoing; i++) {
		struct ring_brief_peer *peer = &brief->told[i];
		*peer = peer_of(channel, &known->outgoing[i].transfer);
		brief->light = brief->light && ring_doorbell_is_light(peer->route->bell->page);
	}
	for (uint64_t j = 0; j < known->hears; j++)
		brief->heard[j] = peer_of(channel, &known->incoming[j].transfer);
}

/*
 * The number goes to the board by itself: read back with the rest of the record so soon, it would have to wait until it is
 * in the cache.
 */
static void say(struct ring_brief *brief, struct ring_channel *channel, const void *input,
		uint64_t sequence)
{
	const uint64_t told = brief->known->plan.outgoing;
	const uint64_t exchange = ring_board_exchange(channel->exchanges);
	unsigned char *text = ring_board_begin(channel->board, exchange);
	memcpy(text, &brief->record, sizeof(brief->record));
	memcpy(text + offsetof(struct ring_record, sequence), &sequence, sizeof(sequence));
	if (brief->said_bytes > 0)
		memcpy(text + sizeof(brief->record), input, brief->said_bytes);
	ring_board_end(channel->board, exchange, sizeof(brief->record) + brief->said_bytes);
	brief->record.sequence = sequence;
	if (brief->light)
		ring_doorbell_published_lightly();
	else
		ring_doorbell_published();
	for (uint64_t i = 0; i < told; i++) {
		const struct ring_bell *bell = brief->told[i].route->bell;
		if (ring_doorbell_is_awaited(bell->page))
			ring_bell_wake(bell);
	}
}

/* What a peer says behind its record; NULL if it has not written just what it must. */
static const char *look(const struct ring_brief *brief, const struct ring_brief_peer *peer,
			uint64_t exchange)
{
	const unsigned char *said = ring_board_says(peer->route->board, exchange, peer->sheet_bytes);
	return said && ring_record_equals(said, &brief->record) ? (const char *)said + peer->skip
								: NULL;
}

/* Looks and glances at all boards, as small.c does. returns whether all have said what they must */
static bool hear(const struct ring_brief *brief, const struct ring_channel *channel,
		 const char *said[])
{
	const uint64_t exchange = ring_board_exchange(channel->exchanges);
	if (channel->glances > 0)
		ring_wait_relax();
	for (uint64_t k = 0; k < brief->known->hears; k++) {
		said[k] = look(brief, &brief->heard[k], exchange);
		for (int i = 0; !said[k] && i < channel->glances; i++) {
			ring_wait_relax();
			said[k] = look(brief, &brief->heard[k], exchange);
		}
		if (!said[k])
			return false;
	}
	return true;
}

static void count(const struct ring_brief *brief)
{
	const struct ring_known_plan *known = brief->known;
	for (uint64_t i = 0; i < known->plan.outgoing; i++) {
		const struct ring_brief_peer *peer = &brief->told[i];
		peer->route->sent_messages += peer->messages;
		peer->route->sent_bytes += peer->bytes;
	}
	for (uint64_t j = 0; j < known->hears; j++) {
		const struct ring_brief_peer *peer = &brief->heard[j];
		peer->route->received_messages += peer->messages;
		peer->route->received_bytes += peer->bytes;
	}
}

/* The jobs are no entry's of the channel's last call. */
static int finish(struct ring_channel *channel, uint64_t jobs)
{
	uint64_t done;
	int err;
	channel->jobs_before += jobs;
	do
		err = channel->device->finished(channel->queue, &done);
	while (!err && done < channel->jobs_before + channel->reduced);
	return err;
}

int ring_brief_run(struct ring_brief *brief, struct ring_channel *channel,
		   const struct ring_operands *operands, uint64_t sequence)
{
	const char *said[RING_KNOWN_OUTGOING];
	channel->exchanges++;
	say(brief, channel, operands->input, sequence);
	if (!hear(brief, channel, said))
		return 0;
	int err = ring_small_take(channel, brief->known, operands, said);
	if (!err)
		err = finish(channel, brief->known->plan.incoming - brief->known->holds);
	count(brief);
	return err ? err : 1;
}

void ring_brief_resume(struct ring_brief *brief, struct ring_channel *channel,
		       const struct ring_operands *operands)
{
	channel->exchanges--;
	ring_channel_start_known(channel, brief->known, operands, &brief->record);
	channel->written = 1;
}
