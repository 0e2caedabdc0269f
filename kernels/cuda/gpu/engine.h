/* SPDX-License-Identifier: MIT */
/*
 * A call on a stream, carried out by one kernel that is launched there: each block is a channel. It
 * walks the plan of the ring and speaks the slot FIFO of the links to its neighbours with nobody's
 * help: the other end may be a GPU or a CPU, in any process. A FIFO lies in memory of the
 * receiver's GPU, its head in that of the sender's, or both in memory of the host.
 *
 *	            thread 0 finds the next move   | all make it          | thread 0 tells
 *	from prev   a message has arrived,         | results = own op     | prev: its slot is free
 *	            and next has room for its sum  | message, in one pass | next: here is a message
 *
 * What is received, reduced and sent on is read and written once. A message that opens a call has
 * the entry record, as everywhere; counters lie in memory of the device, so that a graph's replays
 * are calls like others. A wait ends with what it waits for, with the report's `stop`, or after the
 * call's timeout; whoever ends a call early says why in the report, and stops everybody.
 *
 * Compiled for GPUs, and for the host: see block.h. Without scratch memory a sum that is to be sent
 * on waits until there is room; the rule of plan/ring.h then holds with a scratch of 0.
 */
#ifndef RING_ENGINE_H
#define RING_ENGINE_H

#include "base/waits.h"
#include "reduce_kernel.h"
#include "engine_links.h"

/* ---- the plan -------------------------------------------------------------------------------- */

RING_BLOCK void ring_engine_find_entries(struct ring_engine_block *block)
{
	if (block->out.index < block->plan.outgoing)
		block->sending = ring_cursor_entry(&block->plan, &block->out);
	if (block->in.index < block->plan.incoming)
		block->receiving = ring_cursor_entry(&block->plan, &block->in);
}

RING_BLOCK unsigned char *ring_engine_address(const struct ring_engine_call *call,
					      const struct ring_engine_block *block,
					      struct ring_place place)
{
	if (place.buffer == RING_INPUT)
		return (unsigned char *)(uintptr_t)call->input + place.offset;
	if (place.buffer == RING_OUTPUT)
		return call->output + place.offset;
	return call->scratch + block->plan.params.channel * call->scratch_bytes + place.offset;
}

/* The next message has so many bytes; it is put once the job is done. */
RING_BLOCK unsigned char *ring_engine_put_later(struct ring_engine_block *block, uint64_t bytes)
{
	block->put = bytes;
	ring_cursor_next(&block->plan, &block->out);
	return ring_engine_place(&block->channel.out, block->channel.out.mine, bytes);
}

/* A copy, of which a sum becomes one with more than that. */
RING_BLOCK void ring_engine_begin_job(struct ring_engine_block *block, const unsigned char *source,
				      uint64_t bytes)
{
	block->copies = true;
	block->job.sources[0] = source;
	block->job.nsources = 1;
	block->job.bytes = bytes;
}

RING_BLOCK void ring_engine_add_result(struct ring_engine_block *block, unsigned char *result)
{
	if (!block->copies || result != block->job.sources[0])
		block->job.results[block->job.nresults++] = result;
}

/* Sends the next entry if it may go. Returns whether something was done. */
RING_BLOCK bool ring_engine_send(const struct ring_engine_call *call,
				 struct ring_engine_block *block)
{
	const struct ring_transfer out = block->sending;
	if (block->out.index == block->plan.outgoing || block->in.index < out.needs)
		return false;
	if (out.bytes == 0 && !out.opens) {
		ring_cursor_next(&block->plan, &block->out);
		return true;
	}
	if (!ring_engine_has_room(call, block))
		return false;
	if (out.opens) {
		const union ring_engine_record own = ring_engine_own_record(call, block);
		ring_engine_write_record(ring_engine_put_later(block, sizeof(own)), &own);
	} else {
		ring_engine_begin_job(block, ring_engine_address(call, block, out.source),
				      out.bytes);
		ring_engine_add_result(block, ring_engine_put_later(block, out.bytes));
	}
	return true;
}

/* Whether what the incoming entry makes is what is sent next. */
RING_BLOCK bool ring_engine_is_sent_on(const struct ring_engine_block *block)
{
	const struct ring_transfer *out = &block->sending, *in = &block->receiving;
	return block->out.index < block->plan.outgoing && out->needs == block->in.index + 1 &&
	       out->bytes == in->bytes && in->bytes > 0 &&
	       out->source.buffer == in->result.buffer && out->source.offset == in->result.offset;
}

/* Thread 0 has found what the next entry takes: `arrived`, or NULL, of which some is sent on. */
RING_BLOCK void ring_engine_take(const struct ring_engine_call *call,
				 struct ring_engine_block *block, const unsigned char *arrived,
				 bool sent_on)
{
	const struct ring_transfer *in = &block->receiving;
	struct ring_kernel_job *job = &block->job;
	const bool reduces = in->action == RING_REDUCE || in->action == RING_SCALE;
	const bool own = reduces || !arrived;
	ring_engine_begin_job(block, own ? ring_engine_address(call, block, in->source) : arrived,
			      in->bytes);
	if (reduces) {
		block->copies = false;
		job->nscalars = block->plan.params.scaled;
		job->scalars[0] = call->scalar;
		if (arrived)
			job->sources[job->nsources++] = arrived;
		if (in->last)
			job->divisor = call->divisor;
	}
	if (!sent_on || in->result.buffer != RING_SCRATCH)
		ring_engine_add_result(block, ring_engine_address(call, block, in->result));
	if (sent_on)
		ring_engine_add_result(block, ring_engine_put_later(block, in->bytes));
}

/* Takes the next entry if it may be, and sends on what it makes if there is room. As above. */
RING_BLOCK bool ring_engine_receive(const struct ring_engine_call *call,
				    struct ring_engine_block *block)
{
	const struct ring_transfer *in = &block->receiving;
	if (block->in.index == block->plan.incoming || block->out.index < in->needs)
		return false;
	const bool is_message = ring_transfer_is_message(in,
							 block->order[block->plan.params.position]);
	const uint64_t bytes = is_message ? ring_engine_arrived(call, block) : 0;
	if (block->over || (is_message && (bytes == 0 || !ring_engine_agrees(call, block, bytes))))
		return false;
	bool sent_on = ring_engine_is_sent_on(block);
	const bool must_be = !call->scratch && in->bytes > 0 &&
			     (sent_on || in->result.buffer == RING_SCRATCH);
	sent_on = sent_on && ring_engine_has_room(call, block);
	if (block->over || (must_be && !sent_on))
		return false;
	if (in->bytes > 0 && in->action != RING_SIGNAL) {
		const struct ring_engine_link *link = &block->channel.in;
		ring_engine_take(call, block,
				 is_message ? ring_engine_place(link, link->theirs, bytes) : NULL,
				 sent_on);
	}
	block->channel.in.theirs += is_message;
	block->releases = is_message;
	ring_cursor_next(&block->plan, &block->in);
	return true;
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Finds the next move, unless the wait for it ends the call. */
RING_BLOCK void ring_engine_find(const struct ring_engine_call *call,
				 struct ring_engine_block *block)
{
	uint64_t begun = 0;
	block->job.nresults = block->job.nscalars = 0;
	block->job.divisor.count = 0;
	block->put = 0;
	block->releases = false;
	ring_engine_find_entries(block);
	for (unsigned looks = 0;;) {
		block->hears_nothing = false;
		if (block->over || ring_engine_send(call, block) || block->over ||
		    ring_engine_receive(call, block))
			return;
		RING_BLOCK_REST();
		if (++looks % RING_ENGINE_LOOKS != 0)
			continue;
		block->over |= ring_block_see(&call->report->stop) != 0;
		const uint64_t now = RING_BLOCK_NS();
		if (begun == 0)
			begun = now;
		if (!block->over && now - begun > call->timeout_ns)
			ring_engine_fail(call, block, RING_ETIMEDOUT, !block->hears_nothing, NULL);
	}
}

/* The job is done. */
RING_BLOCK void ring_engine_tell(struct ring_engine_block *block)
{
	struct ring_engine_link *out = &block->channel.out, *in = &block->channel.in;
	if (block->put > 0) {
		const uint64_t number = ring_slot_number(out->mine);
		ring_block_tell((uint64_t *)ring_engine_flag(out, out->mine++),
				number << 32 | block->put);
	}
	if (block->releases)
		ring_block_tell(in->head, ++in->mine);
}

/* Up to the next move that takes all threads. */
RING_BLOCK_APART void ring_engine_go_on(const struct ring_engine_call *call,
					struct ring_engine_block *block)
{
	do {
		ring_engine_tell(block);
		block->finished = block->out.index == block->plan.outgoing &&
				  block->in.index == block->plan.incoming;
		block->over |= block->finished;
		if (!block->over)
			ring_engine_find(call, block);
	} while (!block->over && block->job.nresults == 0);
	if (!block->over)
		ring_kernel_job_cut(&block->job,
				    block->copies ? 1 : block->plan.params.element_bytes);
}

RING_BLOCK_APART void ring_engine_begin(const struct ring_engine_call *call,
					struct ring_engine_block *block, int channel)
{
	struct ring_plan_params params = call->params;
	const unsigned char *from = (const unsigned char *)(call->channels + channel);
	union ring_word *to = (union ring_word *)&block->channel;
	for (int i = 0; i < params.size; i++)
		block->order[i] = call->order[i];
	params.order = block->order;
	params.parts = NULL; /* even ones only, which no entry has to cut */
	params.channel = channel;
	block->plan = ring_ring_make(&params);
	for (unsigned i = 0; i < sizeof(block->channel) / RING_WORD; i++)
		to[i] = ring_word_at(from + i * RING_WORD);
	block->channel.sequence++;
	block->out = ring_cursor_first(&block->plan, true);
	block->in = ring_cursor_first(&block->plan, false);
	block->put = 0;
	block->releases = block->finished = false;
	block->over = ring_engine_is_stopped(call, channel);
}

/* The next call goes on from here. */
RING_BLOCK_APART void ring_engine_end(const struct ring_engine_call *call,
				      const struct ring_engine_block *block)
{
	const int index = block->plan.params.channel;
	struct ring_engine_channel *channel = call->channels + index;
	ring_engine_write(&channel->out.mine, block->channel.out.mine);
	ring_engine_write(&channel->out.theirs, block->channel.out.theirs);
	ring_engine_write(&channel->in.mine, block->channel.in.mine);
	ring_engine_write(&channel->in.theirs, block->channel.in.theirs);
	ring_engine_write(&channel->sequence, block->channel.sequence);
	ring_engine_leave(call, index, block->finished);
}

RING_BLOCK_APART void ring_engine_copy(const struct ring_kernel_job *job, uint64_t thread,
				       uint64_t threads)
{
	ring_reduce_uint8_sum_share(job, thread, threads);
}

typedef void ring_engine_share(const struct ring_kernel_job *job, uint64_t thread, uint64_t threads);

/* All threads of the block of a channel; share() does the arithmetic of the call's type. */
RING_BLOCK void ring_engine_run(const struct ring_engine_call *call, struct ring_engine_block *block,
				int channel, ring_engine_share *share)
{
	if (RING_BLOCK_THREAD() == 0)
		ring_engine_begin(call, block, channel);
	for (;;) {
		if (RING_BLOCK_THREAD() == 0)
			ring_engine_go_on(call, block);
		RING_BLOCK_MEET();
		if (block->over)
			break;
		if (block->copies)
			ring_engine_copy(&block->job, RING_BLOCK_THREAD(), RING_BLOCK_MANY());
		else
			share(&block->job, RING_BLOCK_THREAD(), RING_BLOCK_MANY());
		RING_BLOCK_MEET();
	}
	if (RING_BLOCK_THREAD() == 0)
		ring_engine_end(call, block);
}

#endif
