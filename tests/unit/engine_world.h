/* SPDX-License-Identifier: MIT */
/*
 * Ranks around a ring whose channels are the engine's, compiled for the host: each thread of a block
 * is a thread, and links are slot FIFOs in plain memory. One of the ranks may be a CPU instead, which
 * speaks the FIFOs by slot_fifo.h and walks plan.h. Elements are checked against the reference.
 */
#ifndef RING_TEST_ENGINE_WORLD_H
#define RING_TEST_ENGINE_WORLD_H

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datatype.h"
#include "tests/kernels/reference.h"
#include "tests/transport/dice.h"
#include "transport/slot_fifo.h"

/* The block that a thread is one of. */
struct block_of_threads {
	void *shared;
	pthread_barrier_t barrier;
	atomic_bool votes[2]; /* of this turn, and of the one before or behind it */
};

static _Thread_local struct block_of_threads *this_block;
static _Thread_local unsigned this_thread, this_many, this_turn;

static inline bool any_of_block(bool is)
{
	atomic_bool *votes = &this_block->votes[this_turn++ % 2];
	if (is)
		atomic_store(votes, true);
	pthread_barrier_wait(&this_block->barrier);
	const bool any = atomic_load(votes);
	pthread_barrier_wait(&this_block->barrier);
	if (this_thread == 0)
		atomic_store(votes, false);
	return any;
}

#define RING_BLOCK_THREAD() this_thread
#define RING_BLOCK_MANY() this_many
#define RING_BLOCK_MEET() pthread_barrier_wait(&this_block->barrier)
#define RING_BLOCK_ANY(is) any_of_block(is)
#define RING_BLOCK_FENCE() atomic_thread_fence(memory_order_seq_cst)
#define RING_BLOCK_REST() sched_yield()
#define RING_BLOCK_NS() ring_clock_ns()
#include "kernels/cuda/gpu/engine.h"
#include "kernels/cuda/gpu/one_shot.h"

#define RANKS 8
#define CHANNELS 3
#define THREADS 3
#define GUARD 64
#define GUARD_BYTE 0xa5

struct setting {
	enum ring_kind kind;
	enum ring_datatype type;
	enum ring_op op;
	int size, root, channels, chunks_per_round, threads;
	unsigned depth;
	uint64_t count;
	size_t chunk_bytes, slot_bytes;
	bool scaled, in_order, in_place, scratch, in_one_shot;
	int cpu;         /* the rank that is one; -1: none */
	size_t place;    /* of buffers, behind an aligned address */
	uint64_t before; /* messages that have passed on links */
	uint64_t seed;
	int order[RANKS];
};

struct world;

struct rank {
	struct world *world;
	int number, position;
	unsigned char *input, *output, *kept; /* kept: the input as it was */
	unsigned char *scratch;
	struct ring_fifo_end out[CHANNELS], in[CHANNELS]; /* of a CPU */
	struct ring_engine_channel channels[CHANNELS];
	struct ring_engine_report report;
	struct ring_engine_shots shots;
	struct ring_engine_call call;
};

struct world {
	struct setting setting;
	struct ring_fifo *fifos[RANKS][CHANNELS]; /* to a rank */
	unsigned char *inboxes[RANKS][RANKS];     /* in one shot: of a rank, from another */
	struct rank ranks[RANKS];
};

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t element_bytes(const struct setting *s)
{
	return ring_datatype_bytes(s->type);
}

static uint64_t input_length(const struct setting *s)
{
	return s->kind == RING_KIND_REDUCE_SCATTER ? s->count * s->size : s->count;
}

static uint64_t output_length(const struct setting *s)
{
	return s->kind == RING_KIND_ALL_GATHER ? s->count * s->size : s->count;
}

static uint64_t get(const unsigned char *memory, uint64_t index, uint64_t bytes)
{
	uint64_t bits = 0;
	memcpy(&bits, memory + index * bytes, bytes);
	return bits;
}

static unsigned char *room(uint64_t bytes, size_t place)
{
	unsigned char *memory = aligned_alloc(64, (bytes + place + GUARD + 127) / 64 * 64 + GUARD);
	assert_non_null(memory);
	memset(memory, GUARD_BYTE, (bytes + place + GUARD + 127) / 64 * 64 + GUARD);
	return memory + place;
}

/* The bits of a small number. */
static uint64_t number_of(enum ring_datatype type, int x)
{
	const bool is_float = type == RING_FLOAT16 || type >= RING_FLOAT32;
	return is_float ? reference_rounded(type, x) : (uint64_t)(int64_t)x;
}

/* Any bits, and often values that go wrong. */
static uint64_t some_bits(const struct setting *s, uint64_t *dice)
{
	const uint64_t *specials;
	size_t many = reference_specials(s->type, &specials);
	uint64_t bits = dice_roll(dice);
	if (bits % 8 == 0)
		bits = specials[dice_below(dice, many)];
	else if (bits % 8 < 5)
		bits = number_of(s->type, (int)dice_below(dice, 41) - 20);
	return bits;
}

/* In place, an all-gather's input is its part of the output, and a reduce-scatter's the other way around. */
static void make_buffers(struct rank *rank, uint64_t *dice)
{
	const struct setting *s = &rank->world->setting;
	const uint64_t bytes = element_bytes(s);
	const uint64_t in = input_length(s) * bytes, out = output_length(s) * bytes;
	rank->input = room(in > out ? in : out, s->place);
	rank->output = s->in_place ? rank->input : room(out, s->place);
	if (s->in_place && s->kind == RING_KIND_ALL_GATHER)
		rank->input += rank->number * in;
	if (s->in_place && s->kind == RING_KIND_REDUCE_SCATTER)
		rank->output += rank->number * out;
	for (uint64_t i = 0; i < input_length(s); i++) {
		uint64_t bits = some_bits(s, dice);
		memcpy(rank->input + i * bytes, &bits, bytes);
	}
	rank->kept = malloc(in + 1);
	assert_non_null(rank->kept);
	memcpy(rank->kept, rank->input, in);
}

static void free_buffers(struct rank *rank)
{
	const struct setting *s = &rank->world->setting;
	const uint64_t part = element_bytes(s) * s->count * rank->number;
	const bool gathers = s->in_place && s->kind == RING_KIND_ALL_GATHER;
	free(rank->input - s->place - (gathers ? part : 0));
	if (!s->in_place)
		free(rank->output - s->place);
	free(rank->kept);
	free(rank->scratch);
	rank->scratch = NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct ring_plan_params params_of(const struct rank *rank)
{
	const struct setting *s = &rank->world->setting;
	return (struct ring_plan_params){.kind = s->kind,
					 .algorithm = RING_ALGORITHM_RING,
					 .size = s->size,
					 .position = rank->position,
					 .order = s->order,
					 .root = s->root,
					 .count = s->count,
					 .element_bytes = (uint32_t)element_bytes(s),
					 .chunk_bytes = s->chunk_bytes,
					 .chunks_per_round = s->chunks_per_round,
					 .channels = s->channels,
					 .scaled = s->scaled,
					 .in_order = s->in_order};
}

static uint64_t scalar_of(const struct rank *rank)
{
	return number_of(rank->world->setting.type, 1 + rank->number);
}

static void make_call(struct rank *rank, uint64_t sequence)
{
	const struct setting *s = &rank->world->setting;
	struct ring_plan_params params = params_of(rank);
	struct ring_plan plan = ring_plan_make(&params);
	struct ring_divisor none = {0, 0, 0};
	rank->call = (struct ring_engine_call){
		.params = params,
		.record = ring_record_make(s->kind, sequence, s->count, s->type, s->op, s->root),
		.input = rank->input,
		.output = rank->output,
		.scratch_bytes = ring_plan_scratch_bytes(&plan),
		.scalar = scalar_of(rank),
		.divisor = s->op == RING_AVG && s->size > 1 ? ring_divisor(s->size) : none,
		.timeout_ns = UINT64_C(60000000000),
		.number = sequence,
		.channels = rank->channels,
		.shots = &rank->shots,
		.report = &rank->report,
	};
	memcpy(rank->call.order, s->order, sizeof(s->order));
	free(rank->scratch);
	rank->scratch = NULL;
	if (s->scratch || rank->number == s->cpu) {
		rank->scratch = aligned_alloc(64, (rank->call.scratch_bytes * s->channels + 64) /
							  64 * 64);
		assert_non_null(rank->scratch);
	}
	rank->call.scratch = rank->scratch;
}

static struct ring_engine_link link_to(struct ring_fifo *fifo, const struct setting *s)
{
	return (struct ring_engine_link){.flags = (unsigned char *)fifo->flags,
					 .slots = fifo->slots,
					 .head = (uint64_t *)&fifo->head,
					 .depth = s->depth,
					 .slot_bytes = s->slot_bytes,
					 .mine = s->before,
					 .theirs = s->before};
}

static struct ring_fifo *make_fifo(const struct setting *s)
{
	size_t bytes = ring_fifo_memory(s->depth, s->slot_bytes);
	struct ring_fifo *fifo = aligned_alloc(64, (bytes + 63) / 64 * 64);
	assert_non_null(fifo);
	memset(fifo, 0, bytes);
	fifo->depth = s->depth;
	fifo->slot_bytes = s->slot_bytes;
	atomic_store(&fifo->head, s->before);
	return fifo;
}

static void make_links(struct rank *rank)
{
	struct world *world = rank->world;
	const struct setting *s = &world->setting;
	int next = s->order[(rank->position + 1) % s->size];
	for (int c = 0; c < s->channels; c++) {
		struct ring_fifo_end end = {.depth = s->depth,
					    .slot_bytes = s->slot_bytes,
					    .mine = s->before,
					    .theirs = s->before};
		rank->out[c] = rank->in[c] = end;
		rank->out[c].fifo = world->fifos[next][c];
		rank->in[c].fifo = world->fifos[rank->number][c];
		rank->channels[c].out = link_to(world->fifos[next][c], s);
		rank->channels[c].in = link_to(world->fifos[rank->number][c], s);
	}
}

/* As many calls have been made in one shot as messages have passed. */
static void make_inboxes(struct world *world)
{
	const struct setting *s = &world->setting;
	for (int i = 0; s->in_one_shot && i < s->size * s->size; i++) {
		struct ring_engine_shots *to = &world->ranks[i / s->size].shots;
		unsigned char *inbox = calloc(2, RING_SHOT_BUFFER);
		assert_non_null(inbox);
		world->inboxes[i / s->size][i % s->size] = inbox;
		to->from[i % s->size] = inbox;
		world->ranks[i % s->size].shots.to[i / s->size] = inbox;
	}
	for (int rank = 0; rank < s->size; rank++)
		for (int c = 0; c < s->channels; c++)
			world->ranks[rank].shots.calls[c] = s->before;
}

static struct world *make_world(const struct setting *s)
{
	struct world *world = aligned_alloc(64, (sizeof(*world) + 63) / 64 * 64);
	assert_non_null(world);
	memset(world, 0, sizeof(*world));
	world->setting = *s;
	for (int rank = 0; rank < s->size; rank++)
		for (int c = 0; c < s->channels; c++)
			world->fifos[rank][c] = make_fifo(s);
	for (int position = 0; position < s->size; position++) {
		struct rank *rank = &world->ranks[s->order[position]];
		rank->world = world;
		rank->number = s->order[position];
		rank->position = position;
		make_links(rank);
	}
	make_inboxes(world);
	return world;
}

static void free_world(struct world *world)
{
	for (int rank = 0; rank < world->setting.size; rank++) {
		for (int c = 0; c < world->setting.channels; c++)
			free(world->fifos[rank][c]);
		for (int from = 0; from < world->setting.size; from++)
			free(world->inboxes[rank][from]);
	}
	free(world);
}

/* ---- a rank that is a CPU -------------------------------------------------------------------- */

struct walk {
	struct rank *rank;
	struct ring_plan plan;
	int channel;
	uint64_t sent, taken;
};

static unsigned char *address(const struct walk *walk, struct ring_place place)
{
	struct rank *rank = walk->rank;
	if (place.buffer == RING_INPUT)
		return rank->input + place.offset;
	if (place.buffer == RING_OUTPUT)
		return rank->output + place.offset;
	return rank->scratch + walk->channel * rank->call.scratch_bytes + place.offset;
}

static bool cpu_sends(struct walk *walk)
{
	struct ring_fifo_end *end = &walk->rank->out[walk->channel];
	if (walk->sent == walk->plan.outgoing)
		return false;
	struct ring_transfer out = ring_plan_outgoing(&walk->plan, walk->sent);
	size_t bytes = out.opens ? sizeof(struct ring_record) : out.bytes;
	if (walk->taken < out.needs)
		return false;
	if (bytes > 0) {
		if (!ring_fifo_has_room(end))
			assert_true(ring_fifo_see_head(end));
		if (!ring_fifo_has_room(end))
			return false;
		const void *from = out.opens ? (void *)&walk->rank->call.record
					     : address(walk, out.source);
		memcpy(ring_fifo_place(end, end->mine, bytes), from, bytes);
		ring_fifo_put(end, bytes);
	}
	walk->sent++;
	return true;
}

static void cpu_reduces(struct walk *walk, const struct ring_transfer *in,
			const unsigned char *arrived)
{
	const struct setting *s = &walk->rank->world->setting;
	const uint64_t bytes = element_bytes(s), scalar = scalar_of(walk->rank);
	const uint64_t divisor = in->last && s->op == RING_AVG ? s->size : 1;
	const bool reduces = in->action == RING_REDUCE || in->action == RING_SCALE;
	unsigned char *result = address(walk, in->result);
	if (!reduces) {
		memmove(result, arrived ? arrived : address(walk, in->source), in->bytes);
		return;
	}
	for (uint64_t i = 0; i < in->bytes / bytes; i++) {
		uint64_t sources[2] = {get(address(walk, in->source), i, bytes)};
		if (arrived)
			sources[1] = get(arrived, i, bytes);
		uint64_t bits = reference_reduced(s->type, s->op, sources, arrived ? 2 : 1, &scalar,
						  s->scaled, divisor);
		memcpy(result + i * bytes, &bits, bytes);
	}
}

static bool cpu_takes(struct walk *walk)
{
	struct ring_fifo_end *end = &walk->rank->in[walk->channel];
	const unsigned char *arrived = NULL;
	size_t bytes = 0;
	if (walk->taken == walk->plan.incoming)
		return false;
	struct ring_transfer in = ring_plan_incoming(&walk->plan, walk->taken);
	const bool is_message = ring_transfer_is_message(&in, walk->rank->number);
	if (walk->sent < in.needs)
		return false;
	if (is_message) {
		assert_true(ring_fifo_see_message(end, &bytes));
		if (bytes == 0)
			return false;
		arrived = ring_fifo_place(end, end->theirs - 1, bytes);
	}
	if (in.opens)
		assert_memory_equal(arrived, &walk->rank->call.record, sizeof(struct ring_record));
	else if (in.bytes > 0)
		cpu_reduces(walk, &in, arrived);
	if (is_message)
		ring_fifo_release(end);
	walk->taken++;
	return true;
}

static void run_cpu(struct rank *rank, int channel)
{
	struct ring_plan_params params = params_of(rank);
	params.channel = channel;
	struct walk walk = {.rank = rank, .plan = ring_plan_make(&params), .channel = channel};
	while (walk.sent < walk.plan.outgoing || walk.taken < walk.plan.incoming)
		if (!cpu_sends(&walk) && !cpu_takes(&walk))
			sched_yield();
}

/* ---- threads --------------------------------------------------------------------------------- */

#define SHARE(OP, op, TYPE, type, ...) [TYPE][OP] = ring_reduce_##type##_##op##_share,
static ring_engine_share *const shares[RING_DATATYPES][RING_OPS] = {RING_REDUCE_PAIRS(SHARE)};

#define KERNEL(OP, op, TYPE, type, ...)                                                            \
	[TYPE][OP] = {1,                                                                           \
		      ring_unpack_##type,                                                          \
		      ring_scale_##type,                                                           \
		      ring_fold_##type##_##op,                                                     \
		      ring_divide_##type,                                                          \
		      ring_pack_##type},
static const struct ring_word_kernel kernels[RING_DATATYPES][RING_OPS] = {RING_REDUCE_PAIRS(KERNEL)};

struct thread {
	pthread_t id;
	struct rank *rank;
	int channel;
	unsigned number, many;
	struct block_of_threads *block;
};

static void *run_thread(void *argument)
{
	struct thread *thread = argument;
	struct rank *rank = thread->rank;
	const struct setting *s = &rank->world->setting;
	this_block = thread->block;
	this_thread = thread->number;
	this_many = thread->many;
	const enum ring_op op = s->op == RING_AVG ? RING_SUM : s->op;
	if (rank->number == s->cpu)
		run_cpu(rank, thread->channel);
	else if (s->in_one_shot)
		ring_shot_run(&rank->call, this_block->shared, thread->channel,
			      kernels[s->type][op]);
	else
		ring_engine_run(&rank->call, this_block->shared, thread->channel,
				shares[s->type][op]);
	return NULL;
}

/* All ranks of the world but those of a mask make their calls. */
static void run_calls(struct world *world, unsigned absent)
{
	const struct setting *s = &world->setting;
	static struct thread threads[RANKS * CHANNELS * THREADS];
	static struct block_of_threads blocks[RANKS * CHANNELS];
	static union {
		struct ring_engine_block ring;
		struct ring_shot_block shot;
	} shared[RANKS * CHANNELS];
	int many = 0;
	for (int i = 0; i < s->size * s->channels; i++) {
		struct rank *rank = &world->ranks[i / s->channels];
		unsigned threads_of = rank->number == s->cpu ? 1 : (unsigned)s->threads;
		if (absent >> rank->number & 1)
			continue;
		blocks[i].shared = &shared[i];
		pthread_barrier_init(&blocks[i].barrier, NULL, threads_of);
		for (unsigned t = 0; t < threads_of; t++) {
			threads[many] = (struct thread){.rank = rank,
							.channel = i % s->channels,
							.number = t,
							.many = threads_of,
							.block = &blocks[i]};
			assert_int_equal(pthread_create(&threads[many].id, NULL, run_thread,
							&threads[many]),
					 0);
			many++;
		}
	}
	while (many > 0)
		pthread_join(threads[--many].id, NULL);
	for (int i = 0; i < s->size * s->channels; i++)
		if (!(absent >> i / s->channels & 1))
			pthread_barrier_destroy(&blocks[i].barrier);
}

/* ---- what came of it ------------------------------------------------------------------------- */

typedef uint64_t wanted_element(const struct world *world, const struct rank *rank, uint64_t i);

/* Its output, if it has one; and nothing else was written. */
static void check_buffers(const struct rank *rank, bool has_output, wanted_element *wanted,
			  const char *text)
{
	const struct setting *s = &rank->world->setting;
	const uint64_t bytes = element_bytes(s), length = output_length(s);
	for (uint64_t i = 0; has_output && i < length; i++) {
		uint64_t want = wanted(rank->world, rank, i) & (UINT64_MAX >> (64 - 8 * bytes));
		if (get(rank->output, i, bytes) != want)
			fail_msg("rank %d, element %" PRIu64 ": %" PRIx64 " instead of %" PRIx64
				 " (%s)",
				 rank->number, i, get(rank->output, i, bytes), want, text);
	}
	if (!s->in_place && memcmp(rank->input, rank->kept, input_length(s) * bytes) != 0)
		fail_msg("rank %d: the input has changed (%s)", rank->number, text);
	for (int i = 0; !s->in_place && i < GUARD; i++)
		if (rank->output[length * bytes + i] != GUARD_BYTE)
			fail_msg("rank %d: byte %d behind the output has changed (%s)",
				 rank->number, i, text);
}

/* Some calls in a row on the same links. */
static void check_calls(const struct setting *s, int calls,
			void (*check_rank)(const struct rank *rank))
{
	struct world *world = make_world(s);
	uint64_t dice = s->seed;
	for (int call = 1; call <= calls; call++) {
		for (int rank = 0; rank < s->size; rank++) {
			make_buffers(&world->ranks[rank], &dice);
			make_call(&world->ranks[rank], (uint64_t)call);
		}
		run_calls(world, 0);
		for (int rank = 0; rank < s->size; rank++)
			check_rank(&world->ranks[rank]);
		for (int rank = 0; rank < s->size; rank++)
			free_buffers(&world->ranks[rank]);
	}
	free_world(world);
}

#endif
