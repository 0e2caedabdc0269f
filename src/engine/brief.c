/* SPDX-License-Identifier: MIT */
/* Saying, hearing and adding at once; see brief.h. */
#include "brief.h"

#include <sched.h>

#include "base/datatype.h"
#include "base/waits.h"
#include "exchange.h"
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

/* For a call that only adds what one peer says to this rank's own input; else NULL. */
static const struct ring_pair_loops *loops_for(const struct ring_channel *channel)
{
	const struct ring_known_plan *known = channel->call.known;
	const struct ring_transfer *in = &known->incoming[0].transfer;
	const struct ring_operands *operands = &channel->call.operands;
	bool adds = known->plan.incoming == 1 && known->hears == 1 && in->action == RING_REDUCE &&
		    in->result.buffer == RING_OUTPUT && operands->divisor == 1;
	return adds && channel->device->pair_loops
		       ? channel->device->pair_loops(channel->queue, operands->type, operands->op)
		       : NULL;
}

void ring_brief_prepare(struct ring_brief *brief, struct ring_channel *channel)
{
	struct ring_known_plan *known = channel->call.known;
	ring_brief_count(brief);
	brief->ready = channel->call.on_boards && known->is_small && !channel->trace &&
		       channel->reserved; /* else routes may move */
	if (!brief->ready)
		return;
	brief->known = known;
	brief->record = channel->call.opening.record;
	brief->said_bytes = ring_channel_sheet_bytes(channel, channel->self) -
			    sizeof(struct ring_record);
	brief->light = channel->board.light;
	brief->tells = known->plan.outgoing;
	for (uint64_t i = 0; i < brief->tells; i++) {
		struct ring_brief_peer *peer = &brief->told[i];
		*peer = peer_of(channel, &known->outgoing[i].transfer);
		brief->light = brief->light && ring_doorbell_is_light(peer->route->bell->page);
	}
	brief->hears = known->hears;
	for (uint64_t j = 0; j < brief->hears; j++)
		brief->heard[j] = peer_of(channel, &known->incoming[j].transfer);
	brief->loops = loops_for(channel);
	if (brief->loops)
		brief->elements = ring_datatype_elements(channel->call.operands.type,
							 brief->heard[0].bytes);
}

void ring_brief_count(struct ring_brief *brief)
{
	for (uint64_t i = 0; brief->calls > 0 && i < brief->tells; i++) {
		const struct ring_brief_peer *peer = &brief->told[i];
		peer->route->sent_messages += brief->calls * peer->messages;
		peer->route->sent_bytes += brief->calls * peer->bytes;
	}
	for (uint64_t j = 0; brief->calls > 0 && j < brief->hears; j++) {
		const struct ring_brief_peer *peer = &brief->heard[j];
		peer->route->received_messages += brief->calls * peer->messages;
		peer->route->received_bytes += brief->calls * peer->bytes;
	}
	brief->calls = 0;
}

/*
 * The number goes to the board by itself: reading it back with the record so soon would wait for
 * the store. A word is copied here, as a call of memcpy() takes longer (0.083 -> 0.077 us).
 */
static void say(struct ring_brief *brief, struct ring_channel *channel, const void *input,
		uint64_t sequence)
{
	const uint64_t exchange = channel->board.exchanges;
	unsigned char *text = ring_board_begin(channel->board.own, exchange);
	ring_exchange_tell_cpu(channel);
	if (brief->said_bytes == sizeof(uint64_t))
		memcpy(text + sizeof(brief->record), input, sizeof(uint64_t));
	else if (brief->said_bytes > 0)
		memcpy(text + sizeof(brief->record), input, brief->said_bytes);
	memcpy(text, &brief->record, sizeof(brief->record));
	memcpy(text + offsetof(struct ring_record, sequence), &sequence, sizeof(sequence));
	ring_board_end(channel->board.own, exchange, sizeof(brief->record) + brief->said_bytes);
	brief->record.sequence = sequence;
	if (brief->light)
		ring_doorbell_published_lightly();
	else
		ring_doorbell_published();
	for (uint64_t i = 0; i < brief->tells; i++) {
		const struct ring_bell *bell = brief->told[i].route->bell;
		if (ring_doorbell_is_awaited(bell->page))
			ring_bell_wake(bell);
	}
}

/*
 * All were heard, so all are done with the next exchange's sheet: this CPU takes it back from their
 * caches, which takes as long as the rest of the call, or longer. (8 B on 2 ranks: 0.20 -> 0.14
 * us.)
 */
static void approach_next(const struct ring_brief *brief, const struct ring_channel *channel)
{
	ring_board_approach(channel->board.own, channel->board.exchanges + 1,
			    sizeof(brief->record) + brief->said_bytes);
}

/* What a peer says behind its record; NULL if it has not written exactly what it must. */
static inline const char *look(const struct ring_brief *brief, const struct ring_brief_peer *peer,
			       uint64_t exchange)
{
	const unsigned char *said = ring_board_says(peer->route->board, exchange, peer->sheet_bytes);
	return said && ring_record_equals(said, &brief->record) ? (const char *)said + peer->skip
								: NULL;
}

/*
 * Looks again a few times, and before each lets the CPU do something else, or others have it.
 * returns as look()
 */
static inline const char *look_again(const struct ring_brief *brief,
				     const struct ring_brief_peer *peer, uint64_t exchange,
				     int looks, bool yields)
{
	const char *said = look(brief, peer, exchange);
	for (int i = 0; !said && i < looks; i++) {
		if (yields)
			sched_yield();
		else
			ring_wait_relax();
		said = look(brief, peer, exchange);
	}
	return said;
}

/*
 * Looks at all boards, a few times each, as small.c does. returns whether all have said what they
 * must
 */
static bool hear(const struct ring_brief *brief, const struct ring_channel *channel,
		 const char *said[])
{
	const uint64_t exchange = channel->board.exchanges;
	if (channel->glances > 0)
		ring_wait_relax();
	for (uint64_t k = 0; k < brief->hears; k++) {
		said[k] = look_again(brief, &brief->heard[k], exchange, channel->glances, false);
		if (!said[k])
			return false;
	}
	return true;
}

/*
 * The same for ranks that share CPUs. Ranks on this CPU need it to say anything. Once all of them
 * have, yielding helps nobody: they wait for the same others. So the last rank of each CPU waits
 * for the last ones of the others and goes on, and n ranks of a CPU take n - 1 turns a call. (8 B,
 * 4 ranks on 2 CPUs: 2.5 -> 1.9 us.)
 */
static bool hear_sharing(const struct ring_brief *brief, const struct ring_channel *channel,
			 const char *said[])
{
	const uint64_t exchange = channel->board.exchanges;
	const uint32_t cpu = ring_board_cpu(channel->board.own);
	for (uint64_t k = 0; k < brief->hears; k++) {
		const struct ring_brief_peer *peer = &brief->heard[k];
		bool near = ring_board_cpu(peer->route->board) == cpu;
		said[k] = near ? look_again(brief, peer, exchange, channel->yields, true) : NULL;
		if (near && !said[k])
			return false;
	}
	for (uint64_t k = 0; k < brief->hears; k++) {
		if (!said[k])
			said[k] = look_again(brief, &brief->heard[k], exchange, RING_FAR_LOOKS,
					     false);
		if (!said[k])
			return false;
	}
	return true;
}

/* At once, and by no job. */
static void add(const struct ring_brief *brief, const struct ring_operands *operands,
		const char *said)
{
	const struct ring_transfer *in = &brief->known->incoming[0].transfer;
	const char *own = operands->input + in->source.offset;
	char *result = operands->output + in->result.offset;
	if (result == own)
		brief->loops->onto(result, said, brief->elements);
	else
		brief->loops->pair(result, own, said, brief->elements);
}

static int take(const struct ring_brief *brief, struct ring_channel *channel,
		const struct ring_operands *operands, const char *const said[])
{
	uint64_t pending;
	int err = ring_small_take(channel, brief->known, operands, said);
	do
		err = err ? err : ring_channel_pending(channel, &pending);
	while (!err && pending > 0);
	return err;
}

int ring_brief_run(struct ring_brief *brief, struct ring_channel *channel,
		   const struct ring_operands *operands, uint64_t sequence)
{
	const char *said[RING_KNOWN_OUTGOING];
	int err = 0;
	channel->board.exchanges++;
	say(brief, channel, operands->input, sequence);
	bool heard = channel->yields > 0 ? hear_sharing(brief, channel, said)
					 : hear(brief, channel, said);
	if (!heard)
		return 0;
	approach_next(brief, channel);
	if (brief->loops)
		add(brief, operands, said[0]);
	else
		err = take(brief, channel, operands, said);
	brief->calls++;
	return err ? err : 1;
}

void ring_brief_resume(struct ring_brief *brief, struct ring_channel *channel,
		       const struct ring_operands *operands)
{
	channel->board.exchanges--;
	ring_channel_start_known(channel, brief->known, operands, &brief->record);
	channel->call.written = 1;
}
