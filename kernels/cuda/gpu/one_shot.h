/* SPDX-License-Identifier: MIT */
/*
 * A small call on a stream in one shot: every rank writes its input to all others, and each adds
 * what it has. No plan is walked and no slot given back, so it takes one way, to an inbox in memory
 * of the receiver's GPU, or else of the host:
 *
 *	line   data 0..3 | flag    8 bytes, written and read at once: who sees the flag has the data
 *	inbox  of one peer: two buffers in turn, each the entry record and then the data, in lines
 *
 * The flag counts calls, so nothing must be cleared. Two buffers are enough: a rank that has all
 * lines of a call knows that all others have begun it, and so have done with the one before. As
 * flags wrap, some calls write all lines of a buffer, before a very old one could be taken for new.
 *
 * Every element is added up in the order of plan/one_shot.h, and rounded once: the bits are those
 * of the host. No byte lands before all records are there, and agree.
 *
 * Source: the LL protocol of NCCL, src/device/prims_ll.h; its lines have twice the size.
 */
#ifndef RING_ONE_SHOT_KERNEL_H
#define RING_ONE_SHOT_KERNEL_H

#include "base/waits.h"
#include "reduce_kernel.h"
#include "engine_links.h"

#define RING_SHOT_RECORD (sizeof(struct ring_record) / sizeof(uint32_t)) /* lines */
#define RING_SHOT_WORD (RING_WORD / sizeof(uint32_t))                    /* lines of a word */
#define RING_SHOT_REFRESH (UINT32_C(1) << 30) /* two in so many calls write all lines */

/* What the threads of a block share. */
struct ring_shot_block {
	uint64_t number; /* of the call, among those in one shot */
	union {
		struct ring_record record;
		uint32_t lines[RING_SHOT_RECORD];
	} own;
};

/* What a thread knows of the call. */
struct ring_shot {
	const struct ring_engine_call *call;
	const struct ring_shot_block *block;
	int self; /* rank */
	uint32_t flag;
	uint64_t buffer;           /* where this call's begins in an inbox */
	uint64_t bytes;            /* of each part */
	uint64_t elements, longer; /* of a block; so many have one more */
	uint64_t begun;            /* to wait; 0: not yet */
	unsigned looks;
	bool late; /* it waits no more */
};

RING_BLOCK unsigned char *ring_shot_peer(const struct ring_shot *shot, bool outgoing, int rank)
{
	const struct ring_engine_shots *shots = shot->call->shots;
	const void *inbox = outgoing ? (const void *)&shots->to[rank]
				     : (const void *)&shots->from[rank];
	return (unsigned char *)(uintptr_t)ring_engine_read(inbox) + shot->buffer;
}

RING_BLOCK void ring_shot_put(const struct ring_shot *shot, unsigned char *line, uint32_t data)
{
	ring_block_post((uint64_t *)line, (uint64_t)shot->flag << 32 | data);
}

/* Waits for a line, unless the thread is late already. One deadline is for all its waits. */
RING_BLOCK uint32_t ring_shot_take(struct ring_shot *shot, const unsigned char *line)
{
	uint64_t word;
	while ((word = ring_block_look((const uint64_t *)line)) >> 32 != shot->flag && !shot->late) {
		RING_BLOCK_REST();
		if (++shot->looks % RING_ENGINE_LOOKS != 0)
			continue;
		const uint64_t now = RING_BLOCK_NS();
		if (shot->begun == 0)
			shot->begun = now;
		shot->late = ring_block_see(&shot->call->report->stop) != 0 ||
			     now - shot->begun > shot->call->timeout_ns;
	}
	return (uint32_t)word;
}

/* ---- words ----------------------------------------------------------------------------------- */

RING_BLOCK unsigned ring_shot_bytes_of(const struct ring_shot *shot, uint64_t word)
{
	const uint64_t rest = shot->bytes - word * RING_WORD;
	return rest < RING_WORD ? (unsigned)rest : RING_WORD;
}

/* A word of a part of the input, wherever it lies; none behind its end. */
RING_BLOCK union ring_word ring_shot_own(const struct ring_shot *shot, int part, uint64_t word)
{
	const unsigned char *from = shot->call->input + part * shot->bytes + word * RING_WORD;
	const unsigned bytes = word * RING_WORD < shot->bytes ? ring_shot_bytes_of(shot, word) : 0;
	if (bytes == RING_WORD && (uintptr_t)from % RING_WORD == 0)
		return ring_word_at(from);
	return ring_word_gather(from, bytes);
}

RING_BLOCK void ring_shot_store(const struct ring_shot *shot, int part, uint64_t word,
				const union ring_word *values)
{
	unsigned char *to = shot->call->output + part * shot->bytes + word * RING_WORD;
	const unsigned bytes = ring_shot_bytes_of(shot, word);
	if (bytes == RING_WORD && (uintptr_t)to % RING_WORD == 0)
		ring_word_put(to, values);
	else
		ring_word_scatter(to, values, bytes);
}

RING_BLOCK uint64_t ring_shot_line(uint64_t word)
{
	return (RING_SHOT_RECORD + word * RING_SHOT_WORD) * sizeof(uint64_t);
}

RING_BLOCK union ring_word ring_shot_received(struct ring_shot *shot, int rank, uint64_t word)
{
	const unsigned char *from = ring_shot_peer(shot, false, rank) + ring_shot_line(word);
	union ring_word values;
	RING_UNROLL
	for (unsigned i = 0; i < RING_SHOT_WORD; i++)
		values.uint32[i] = ring_shot_take(shot, from + i * sizeof(uint64_t));
	return values;
}

/* ---- sending --------------------------------------------------------------------------------- */

RING_BLOCK void ring_shot_send_record(const struct ring_shot *shot, uint64_t thread,
				      uint64_t threads)
{
	const uint64_t lines = shot->call->params.size * RING_SHOT_RECORD;
	for (uint64_t i = thread; i < lines; i += threads) {
		const int rank = (int)(i / RING_SHOT_RECORD), at = (int)(i % RING_SHOT_RECORD);
		if (rank != shot->self)
			ring_shot_put(shot, ring_shot_peer(shot, true, rank) + at * sizeof(uint64_t),
				      shot->block->own.lines[at]);
	}
}

RING_BLOCK void ring_shot_send(const struct ring_shot *shot, uint64_t thread, uint64_t threads)
{
	const struct ring_plan_params *params = &shot->call->params;
	const bool refreshes = shot->flag % RING_SHOT_REFRESH < 2;
	const uint64_t bytes = refreshes ? RING_SHOT_BYTES : shot->bytes;
	const bool parts = params->kind == RING_KIND_REDUCE_SCATTER;
	for (uint64_t word = thread; word * RING_WORD < bytes; word += threads)
		for (int away = 1; away < params->size; away++) {
			const int to = shot->call->order[(params->position + away) % params->size];
			unsigned char *line = ring_shot_peer(shot, true, to) + ring_shot_line(word);
			const union ring_word own = ring_shot_own(shot, parts ? to : 0, word);
			RING_UNROLL
			for (unsigned i = 0; i < RING_SHOT_WORD; i++)
				ring_shot_put(shot, line + i * sizeof(uint64_t), own.uint32[i]);
		}
}

/* ---- adding up ------------------------------------------------------------------------------- */

/* Bytes of the vector up to the end of the block that has a byte, and whose block that is. */
RING_BLOCK uint64_t ring_shot_block_end(const struct ring_shot *shot, uint64_t byte, int *owner)
{
	const struct ring_plan_params *params = &shot->call->params;
	const uint64_t element = byte / params->element_bytes;
	const uint64_t longer = shot->longer * (shot->elements + 1);
	*owner = shot->self;
	if (params->kind != RING_KIND_ALL_REDUCE)
		return shot->bytes;
	*owner = (int)(element < longer ? element / (shot->elements + 1)
					: shot->longer + (element - longer) / shot->elements);
	const uint64_t before = (uint64_t)*owner + 1;
	return (shot->elements * before + (before < shot->longer ? before : shot->longer)) *
	       params->element_bytes;
}

RING_BLOCK union ring_word ring_shot_summand(struct ring_shot *shot, int rank, uint64_t word)
{
	const bool parts = shot->call->params.kind == RING_KIND_REDUCE_SCATTER;
	return rank == shot->self ? ring_shot_own(shot, parts ? rank : 0, word)
				  : ring_shot_received(shot, rank, word);
}

/* From the rank behind the owner all the way around to it, or in order. */
RING_BLOCK union ring_word ring_shot_sum(struct ring_shot *shot, struct ring_word_kernel kernel,
					 int owner, uint64_t word)
{
	const struct ring_engine_call *call = shot->call;
	const int size = call->params.size;
	union ring_values values, right;
	int at = call->params.in_order ? size - 1 : 0;
	while (!call->params.in_order && call->order[at] != owner)
		at++;
	at = at + 1 < size ? at + 1 : 0;
	union ring_word summand = ring_shot_summand(shot, call->order[at], word);
	kernel.unpack(&values, &summand);
	RING_ROLL
	for (int k = 1; k < size; k++) {
		at = at + 1 < size ? at + 1 : 0;
		summand = ring_shot_summand(shot, call->order[at], word);
		kernel.unpack(&right, &summand);
		kernel.fold(&values, &right);
	}
	if (call->divisor.count > 0)
		kernel.divide(&values, call->divisor);
	kernel.pack(&summand, &values);
	return summand;
}

/* A word may have the end of one block and the beginning of the next. */
RING_BLOCK void ring_shot_reduce(struct ring_shot *shot, struct ring_word_kernel kernel,
				 uint64_t word)
{
	const uint64_t begin = word * RING_WORD, end = begin + ring_shot_bytes_of(shot, word);
	union ring_word result;
	for (uint64_t at = begin; at < end;) {
		int owner;
		uint64_t upto = ring_shot_block_end(shot, at, &owner);
		const union ring_word sum = ring_shot_sum(shot, kernel, owner, word);
		RING_UNROLL
		for (unsigned i = 0; i < RING_WORD; i++)
			if (begin + i >= at)
				result.bytes[i] = sum.bytes[i];
		at = upto;
	}
	if (!shot->late)
		ring_shot_store(shot, 0, word, &result);
}

RING_BLOCK void ring_shot_gather(struct ring_shot *shot, uint64_t word)
{
	for (int rank = 0; rank < shot->call->params.size; rank++) {
		const union ring_word values = ring_shot_summand(shot, rank, word);
		if (!shot->late)
			ring_shot_store(shot, rank, word, &values);
	}
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Whether the record of any rank is not the own one, as far as this thread looks. */
RING_BLOCK bool ring_shot_differs(struct ring_shot *shot, uint64_t thread, uint64_t threads)
{
	const uint64_t lines = shot->call->params.size * RING_SHOT_RECORD;
	bool differs = false;
	for (uint64_t i = thread; i < lines; i += threads) {
		const int rank = (int)(i / RING_SHOT_RECORD), at = (int)(i % RING_SHOT_RECORD);
		if (rank != shot->self)
			differs |= ring_shot_take(shot, ring_shot_peer(shot, false, rank) +
								at * sizeof(uint64_t)) !=
				   shot->block->own.lines[at];
	}
	return differs;
}

/* Lines of a peer that are there, from the first on. */
RING_BLOCK uint64_t ring_shot_count(const struct ring_shot *shot, int rank, uint64_t lines)
{
	const uint64_t *line = (const uint64_t *)ring_shot_peer(shot, false, rank);
	uint64_t count = 0;
	while (count < lines && ring_block_look(line + count) >> 32 == shot->flag)
		count++;
	return count;
}

/* What is wrong with the lines of a rank: nothing, another record, or some are not there. */
RING_BLOCK void ring_shot_ask(const struct ring_shot *shot, int rank,
			      struct ring_engine_error *error)
{
	const uint64_t lines = RING_SHOT_RECORD + (shot->bytes + 3) / sizeof(uint32_t);
	const uint64_t *line = (const uint64_t *)ring_shot_peer(shot, false, rank);
	const uint64_t have = ring_shot_count(shot, rank, lines);
	union ring_engine_record theirs;
	bool differs = false;
	RING_UNROLL
	for (unsigned i = 0; i < RING_SHOT_RECORD / 2; i++) {
		theirs.words[i] = (uint32_t)ring_block_look(line + 2 * i) |
				  ring_block_look(line + 2 * i + 1) << 32;
		differs |= theirs.words[i] != ((const uint64_t *)&shot->block->own)[i];
	}
	error->err = have < lines ? RING_ETIMEDOUT : 0;
	error->sequence = (int64_t)shot->block->number;
	error->peer = rank;
	error->step = have < RING_SHOT_RECORD ? -1 : 0;
	error->want = shot->block->number;
	error->have = shot->block->number - 1;
	error->record = theirs.record;
	if (have >= RING_SHOT_RECORD && differs)
		error->err = theirs.record.magic == RING_RECORD_MAGIC ? RING_EMISMATCH : RING_EPEER;
}

/* Whether a rank that is late is more so than another: not even its record is there. */
RING_BLOCK bool ring_shot_is_later(const struct ring_engine_error *error,
				   const struct ring_engine_error *other)
{
	return error->err == RING_ETIMEDOUT &&
	       (other->err == 0 || (error->step < 0 && other->step >= 0));
}

/*
 * Of the first rank along the ring that says something else. Only where none does, of the first
 * that is late: the lines of another may be on their way while one is known to differ. One that has
 * not called may keep others from writing all of theirs, so it comes before them.
 */
RING_BLOCK void ring_shot_explain(const struct ring_shot *shot, int channel)
{
	const struct ring_engine_call *call = shot->call;
	const bool stopped = ring_block_see(&call->report->stop) != 0;
	union ring_engine_trouble trouble = {{0}}, late = {{0}};
	for (int away = 1; away < call->params.size && !stopped; away++) {
		const int rank = call->order[(call->params.position + away) % call->params.size];
		ring_shot_ask(shot, rank, &trouble.error);
		if (ring_shot_is_later(&trouble.error, &late.error))
			late = trouble;
		else if (trouble.error.err != RING_ETIMEDOUT && trouble.error.err != 0)
			break;
	}
	if (trouble.error.err == 0 || trouble.error.err == RING_ETIMEDOUT)
		trouble = late;
	if (trouble.error.err)
		ring_engine_report(call, channel, &trouble);
}

RING_BLOCK_APART void ring_shot_begin(const struct ring_engine_call *call,
				      struct ring_shot_block *block, int channel)
{
	block->number = ring_engine_read(&call->shots->calls[channel]) + 1;
	block->own.record = call->record;
	block->own.record.sequence = block->number + call->uncounted;
}

RING_BLOCK struct ring_shot ring_shot_make(const struct ring_engine_call *call,
					   const struct ring_shot_block *block)
{
	const struct ring_plan_params *params = &call->params;
	struct ring_shot shot;
	shot.call = call;
	shot.block = block;
	shot.self = call->order[params->position];
	shot.flag = (uint32_t)(1 + (block->number - 1) % UINT32_MAX);
	shot.buffer = block->number % 2 * RING_SHOT_BUFFER;
	shot.bytes = params->count * params->element_bytes;
	shot.elements = params->count / params->size;
	shot.longer = params->count % params->size;
	shot.begun = shot.looks = 0;
	shot.late = false;
	return shot;
}

/*
 * The next call goes on from here, if this one is complete. What a thread knows is copied, so that
 * it lies in registers until then.
 */
RING_BLOCK_APART void ring_shot_end(const struct ring_shot shot, int channel, bool complete)
{
	if (complete)
		ring_engine_write(&shot.call->shots->calls[channel], shot.block->number);
	else
		ring_shot_explain(&shot, channel);
	ring_engine_leave(shot.call, channel, complete);
}

/* All threads of a block, of which each does a share of the words; the first sends the records. */
RING_BLOCK void ring_shot_run(const struct ring_engine_call *call, struct ring_shot_block *block,
			      int channel, struct ring_word_kernel kernel)
{
	const unsigned here = RING_BLOCK_THREAD(), many = RING_BLOCK_MANY();
	const uint64_t thread = (uint64_t)channel * many + here;
	const uint64_t threads = (uint64_t)call->params.channels * many;
	if (here == 0)
		ring_shot_begin(call, block, channel);
	RING_BLOCK_MEET();
	struct ring_shot shot = ring_shot_make(call, block);
	if (channel == 0)
		ring_shot_send_record(&shot, here, many);
	ring_shot_send(&shot, thread, threads);
	if (here == 0)
		shot.late = ring_engine_is_stopped(call, channel);
	bool wrong = ring_shot_differs(&shot, here, many);
	if (!RING_BLOCK_ANY(wrong || shot.late)) {
		for (uint64_t word = thread; word * RING_WORD < shot.bytes; word += threads) {
			if (ring_kind_reduces(call->params.kind))
				ring_shot_reduce(&shot, kernel, word);
			else
				ring_shot_gather(&shot, word);
		}
		wrong = false;
	}
	const bool complete = !RING_BLOCK_ANY(wrong || shot.late);
	if (here == 0)
		ring_shot_end(shot, channel, complete);
}

#endif
