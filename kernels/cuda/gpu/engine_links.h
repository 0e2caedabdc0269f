/* SPDX-License-Identifier: MIT */
/*
 * A channel's two links as a kernel has them: the FIFO of slot_fifo.h, spoken by one thread of a
 * block, and what ends a call if the other end is not as it should be. What is moved when is
 * engine.h's, which alone includes this.
 */
#ifndef RING_ENGINE_LINKS_H
#define RING_ENGINE_LINKS_H

#include "base/slot_place.h"
#include "block.h"
#include "engine_call.h"
#include "plan/ring_cursor.h"

/* What the threads of a block share. Thread 0 writes all of it, between their meetings. */
struct ring_engine_block {
	struct ring_plan plan;
	int order[RING_ENGINE_RANKS];
	struct ring_engine_channel channel;
	struct ring_cursor out, in;
	struct ring_transfer sending, receiving; /* where they stand */
	bool hears_nothing;                      /* no message to receive has arrived */

	/* the move */
	struct ring_kernel_job job; /* without results: none */
	bool copies;                /* bytes: their bits stay as they are */
	uint64_t put;               /* bytes of the message that it makes; 0: none */
	bool releases;              /* it is done with one that arrived */
	bool over, finished;
};

/* A record as it travels. */
union ring_engine_record {
	struct ring_record record;
	uint64_t words[sizeof(struct ring_record) / sizeof(uint64_t)];
};

RING_BLOCK uint64_t ring_engine_read(const void *word)
{
	return *(const uint64_t *)RING_KERNEL_REACH(word, sizeof(uint64_t));
}

RING_BLOCK void ring_engine_write(void *word, uint64_t value)
{
	*(uint64_t *)RING_KERNEL_REACH(word, sizeof(uint64_t)) = value;
}

RING_BLOCK void ring_engine_write_record(void *to, const union ring_engine_record *record)
{
	RING_UNROLL
	for (unsigned i = 0; i < sizeof(*record) / sizeof(uint64_t); i++)
		ring_engine_write((uint64_t *)to + i, record->words[i]);
}

/* Why a call ends, as it is written. */
union ring_engine_trouble {
	struct ring_engine_error error;
	uint64_t words[sizeof(struct ring_engine_error) / sizeof(uint64_t)];
};

/* Ends the call on all channels. The host sees the error once it sees its first word. */
RING_BLOCK_APART void ring_engine_report(const struct ring_engine_call *call, int channel,
					 const union ring_engine_trouble *trouble)
{
	uint64_t *words = (uint64_t *)&call->report->errors[channel];
	for (unsigned i = 1; i < sizeof(*trouble) / sizeof(uint64_t); i++)
		ring_engine_write(words + i, trouble->words[i]);
	ring_block_tell(words, trouble->words[0]);
	ring_block_tell(&call->report->stop, 1);
}

/* At the entry where this channel stands. theirs: a record, or NULL. */
RING_BLOCK_APART void ring_engine_fail(const struct ring_engine_call *call,
				       struct ring_engine_block *block, int err, bool outgoing,
				       const union ring_engine_record *theirs)
{
	const struct ring_engine_link *out = &block->channel.out, *in = &block->channel.in;
	const struct ring_transfer *entry = outgoing ? &block->sending : &block->receiving;
	union ring_engine_trouble trouble = {{0}};
	trouble.error.err = err;
	trouble.error.sequence = (int64_t)block->channel.sequence;
	trouble.error.peer = entry->peer;
	trouble.error.step = entry->step;
	trouble.error.outgoing = outgoing;
	trouble.error.want = outgoing ? out->mine + 1 - out->depth : in->theirs + 1;
	trouble.error.have = outgoing ? out->theirs : in->theirs;
	if (theirs)
		trouble.error.record = theirs->record;
	ring_engine_report(call, block->plan.params.channel, &trouble);
	block->over = true;
}

/* The call has ended on a channel. A graph's may be older than others that have. */
RING_BLOCK void ring_engine_leave(const struct ring_engine_call *call, int channel, bool complete)
{
	uint64_t *number = &call->channels[channel].number;
	if (call->number <= ring_engine_read(number))
		return;
	ring_engine_write(number, call->number);
	if (complete)
		ring_block_tell(&call->report->numbers[channel], call->number);
	ring_block_tell(&call->report->ended[channel], call->number);
}

/*
 * Whether the call ends before it writes its output: either this sees that it was stopped, or the
 * host, which stops it and then looks, sees that it has begun.
 */
RING_BLOCK bool ring_engine_is_stopped(const struct ring_engine_call *call, int channel)
{
	ring_block_tell(&call->report->begun[channel], call->number);
	RING_BLOCK_FENCE(); /* pairs with: ring_cuda_engine_stop */
	return ring_block_see(&call->report->stop) != 0;
}

/* ---- links ----------------------------------------------------------------------------------- */

RING_BLOCK unsigned char *ring_engine_flag(const struct ring_engine_link *link, uint64_t message)
{
	return link->flags + message % RING_DEPTH_MAX * RING_CACHE_LINE;
}

/* Where a message of so many bytes lies. */
RING_BLOCK unsigned char *ring_engine_place(const struct ring_engine_link *link, uint64_t message,
					    uint64_t bytes)
{
	if (bytes <= RING_FIFO_SMALL)
		return ring_engine_flag(link, message) + sizeof(uint64_t);
	return link->slots + ring_slot_offset(link->depth, link->slot_bytes, message, bytes);
}

/* Whether a message can be put. A head that went back or too far is a broken peer's. */
RING_BLOCK bool ring_engine_has_room(const struct ring_engine_call *call,
				     struct ring_engine_block *block)
{
	struct ring_engine_link *out = &block->channel.out;
	if (out->mine - out->theirs < out->depth)
		return true;
	const uint64_t head = ring_block_see(out->head), count = head & ~RING_FIFO_CLOSED;
	if (count - out->theirs > out->mine - out->theirs) {
		ring_engine_fail(call, block, RING_EPEER, true, NULL);
		return false;
	}
	out->theirs = count;
	if (out->mine - count < out->depth)
		return true;
	if (head & RING_FIFO_CLOSED)
		ring_engine_fail(call, block, RING_EPEER, true, NULL);
	return false;
}

/* Bytes of the next message; 0: it is not there yet. A flag that cannot be is a broken peer's. */
RING_BLOCK uint64_t ring_engine_arrived(const struct ring_engine_call *call,
					struct ring_engine_block *block)
{
	const struct ring_engine_link *in = &block->channel.in;
	const uint64_t word = ring_block_see((const uint64_t *)ring_engine_flag(in, in->theirs));
	const uint32_t number = (uint32_t)(word >> 32);
	const uint64_t bytes = (uint32_t)word;
	const bool is_next = number == ring_slot_number(in->theirs);
	const bool is_last = word == 0 || number == ring_slot_number(in->theirs - RING_DEPTH_MAX);
	if (is_next ? bytes == 0 || bytes > in->slot_bytes : !is_last)
		ring_engine_fail(call, block, RING_EPEER, false, NULL);
	block->hears_nothing = !is_next;
	return is_next && !block->over ? bytes : 0;
}

RING_BLOCK union ring_engine_record ring_engine_own_record(const struct ring_engine_call *call,
							   const struct ring_engine_block *block)
{
	union ring_engine_record own;
	own.record = call->record;
	own.record.sequence = block->channel.sequence + call->uncounted;
	return own;
}

/* Whether the next message is what its entry says; if ranks disagree its size may differ, too. */
RING_BLOCK bool ring_engine_agrees(const struct ring_engine_call *call,
				   struct ring_engine_block *block, uint64_t bytes)
{
	const struct ring_engine_link *in = &block->channel.in;
	const unsigned char *place = ring_engine_place(in, in->theirs, bytes);
	const union ring_engine_record own = ring_engine_own_record(call, block);
	union ring_engine_record theirs;
	bool differs = false;
	if (!block->receiving.opens && bytes == block->receiving.bytes)
		return true;
	RING_UNROLL
	for (unsigned i = 0; i < sizeof(own) / sizeof(uint64_t); i++) {
		theirs.words[i] = bytes < sizeof(own)
					  ? 0
					  : ring_engine_read(place + i * sizeof(uint64_t));
		differs |= theirs.words[i] != own.words[i];
	}
	if (!differs && bytes == sizeof(own))
		return true;
	const bool says = block->receiving.opens && theirs.record.magic == RING_RECORD_MAGIC;
	ring_engine_fail(call, block, says ? RING_EMISMATCH : RING_EPEER, false,
			 says ? &theirs : NULL);
	return false;
}

#endif
