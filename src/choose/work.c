/* SPDX-License-Identifier: MIT */
/* Counting; see work.h. */
#include "work.h"

/* What is being counted. */
struct counter {
	const struct ring_plan *plan; /* in one piece */
	enum ring_memory memory;
	uint64_t chunk; /* bytes of the largest message */
	int self;
	bool boards; /* ranks read one another's boards */
	uint64_t sent, received;
	uint64_t needed; /* incoming entries it waited for */
	uint64_t last;   /* incoming entries up to its last message */
	bool early;      /* its first message needs nothing, so it goes out beside the boards */
	uint64_t piece;  /* bytes of the largest message that it sent */
	struct ring_work work;
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t pieces(const struct counter *counter, uint64_t bytes)
{
	return bytes / counter->chunk + (bytes % counter->chunk > 0 || bytes == 0);
}

/* True if it passes a link as a message of its own. */
static bool is_message(const struct counter *counter, const struct ring_transfer *transfer)
{
	return ring_transfer_is_message(transfer, counter->self) &&
	       !(counter->boards && transfer->opens);
}

/* ---- buffers of others ----------------------------------------------------------------------- */

/* How many buffers of others, and of this rank, an entry reads and writes. */
struct owners {
	uint64_t others, own;
};

static struct owners owners_of(const struct counter *counter, enum ring_buffer buffer)
{
	uint64_t others = (uint64_t)counter->plan->params.size - 1;
	switch (buffer) {
	case RING_ALL_INPUTS:
	case RING_ALL_OUTPUTS:
	case RING_ALL_STAGES:
		return (struct owners){others, 1};
	case RING_OTHER_OUTPUTS:
		return (struct owners){others, 0};
	case RING_PEER_INPUT:
	case RING_PEER_OUTPUT:
	case RING_PEER_STAGE:
		return (struct owners){1, 0};
	case RING_SUMMANDS:
		return (struct owners){0, others + 1};
	default:
		return (struct owners){0, 1};
	}
}

/* Stages are mapped, whatever memory buffers are. */
static bool is_a_stage(enum ring_buffer buffer)
{
	return buffer == RING_ALL_STAGES || buffer == RING_PEER_STAGE;
}

/* The system copies others' private memory; summands are copied here first. */
static void count_direct(struct counter *counter, const struct ring_transfer *transfer)
{
	struct ring_work *work = &counter->work;
	struct owners from = owners_of(counter, transfer->source.buffer);
	struct owners to = owners_of(counter, transfer->result.buffer);
	bool adds = transfer->action == RING_REDUCE, is_stage = is_a_stage(transfer->source.buffer);
	uint64_t others = from.others + to.others, bytes = transfer->bytes;
	if (others == 0 && !adds)
		return;
	if (counter->memory == RING_MEMORY_REACHABLE && !is_stage) {
		work->reaches += others * pieces(counter, bytes);
		work->fetched += others * bytes;
		work->touched += adds ? (from.others + from.own + 1) * bytes : 0;
	} else {
		bool stays = is_stage && adds; /* also there */
		work->touched += (others + from.own + to.own + stays) * bytes;
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

static void count_outgoing(struct counter *counter, const struct ring_transfer *transfer)
{
	if (!is_message(counter, transfer))
		return;
	counter->early = counter->early || (counter->sent == 0 && transfer->needs == 0);
	counter->work.messages += pieces(counter, transfer->bytes);
	counter->sent += transfer->bytes;
	counter->piece = larger(counter->piece, smaller(transfer->bytes, counter->chunk));
	if (transfer->needs > counter->needed) {
		counter->needed = transfer->needs;
		counter->work.waits++;
	}
}

static uint64_t sources_of(const struct counter *counter, const struct ring_transfer *transfer)
{
	struct owners from = owners_of(counter, transfer->source.buffer);
	if (transfer->action == RING_HOLD)
		return 0;
	if (transfer->action != RING_REDUCE)
		return 1;
	if (transfer->held.count > 0)
		return (uint64_t)transfer->held.count + 1;
	return from.own + ring_transfer_is_message(transfer, counter->self) +
	       (uint64_t)transfer->pile.count;
}

static void count_incoming(struct counter *counter, const struct ring_transfer *transfer, uint64_t j)
{
	bool is_sent = is_message(counter, transfer), copies = transfer->action == RING_COPY;
	bool stays = copies && transfer->peer == counter->self && transfer->held.count == 0 &&
		     transfer->source.buffer == RING_INPUT && transfer->result.buffer == RING_OUTPUT;
	bool lands = copies && is_sent && !counter->plan->params.boards && transfer->held.count == 0;
	if (is_sent) {
		counter->work.messages += pieces(counter, transfer->bytes);
		counter->received += transfer->bytes;
		counter->last = j + 1;
	}
	if (ring_transfer_is_direct(transfer)) {
		count_direct(counter, transfer);
		return;
	}
	uint64_t sources = sources_of(counter, transfer);
	if (sources > 0 && !stays && !lands)
		counter->work.touched += (sources + 1) * transfer->bytes;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static struct ring_plan in_one_piece(const struct ring_plan_params *params)
{
	struct ring_plan_params whole = *params;
	uint64_t bytes = params->count * params->element_bytes * (uint64_t)params->size;
	if (bytes > whole.chunk_bytes)
		whole.chunk_bytes = bytes;
	whole.place_bytes = whole.chunk_bytes;
	whole.chunks_per_round = 1;
	return ring_plan_make(&whole);
}

/* Ranks that reach into memory say where it is, and at the end that they are done. */
static uint64_t exchanges_of(const struct ring_plan *plan)
{
	return plan->exchanges + ring_algorithm_has(plan->params.algorithm, RING_NEEDS_REACH);
}

static uint64_t first_chunk(const struct ring_plan_params *params)
{
	return smaller(params->count * params->element_bytes, params->chunk_bytes);
}

/* In chains and trees a rank begins once its first chunk has come. */
static void count_first_chunk(struct ring_work *work, uint64_t steps, uint64_t bytes, bool adds)
{
	if (work->hops == 0 || steps == 0)
		return;
	work->first = steps * bytes;
	work->passing = (steps - 1) * bytes;
	work->added = adds ? 3 * work->passing : 0;
}

/* Data go from root, or to it. */
static bool is_chain(enum ring_kind kind)
{
	return kind == RING_KIND_BROADCAST || kind == RING_KIND_REDUCE;
}

/* Rounds of a ring follow one another, and in each a step waits for the first chunk of the last. */
static void count_rounds(struct ring_work *work, const struct ring_plan *real)
{
	const struct ring_plan_params *params = &real->params;
	uint64_t parts = params->kind == RING_KIND_ALL_REDUCE ? (uint64_t)params->size : 1;
	uint64_t block = (params->count + parts - 1) / parts * params->element_bytes;
	if (!ring_algorithm_has(params->algorithm, RING_GOES_AROUND) || is_chain(params->kind) ||
	    block <= params->chunk_bytes)
		return;
	work->piece = params->chunk_bytes;
	work->steps = real->around.steps;
	work->round = params->chunk_bytes * (uint64_t)params->chunks_per_round;
	work->rounds = block / work->round;
	work->rest = block % work->round;
}

struct ring_work ring_work_of(const struct ring_plan_params *params, enum ring_memory memory)
{
	struct ring_plan real = ring_plan_make(params), whole = in_one_piece(params);
	struct ring_plan_cost cost = ring_plan_cost(&real);
	struct counter counter = {.plan = &whole,
				  .memory = memory,
				  .chunk = params->chunk_bytes,
				  .self = ring_plan_self(&whole),
				  .boards = params->boards && whole.exchanges > 0};
	struct ring_work *work = &counter.work;
	for (uint64_t i = 0; i < whole.outgoing; i++) {
		struct ring_transfer transfer = ring_plan_outgoing(&whole, i);
		count_outgoing(&counter, &transfer);
	}
	for (uint64_t j = 0; j < whole.incoming; j++) {
		struct ring_transfer transfer = ring_plan_incoming(&whole, j);
		count_incoming(&counter, &transfer, j);
	}
	uint64_t exchanges = counter.boards ? exchanges_of(&real) : 0;
	work->exchanges = exchanges - (exchanges > 0 && counter.early);
	if (!counter.boards)
		work->hops = cost.agreement;
	if (work->messages > 0)
		work->hops += cost.steps;
	work->waits += work->exchanges + (counter.last > counter.needed);
	work->sheets = exchanges * ((uint64_t)params->size - 1);
	if (is_chain(params->kind))
		count_first_chunk(work, cost.steps, first_chunk(params),
				  params->kind == RING_KIND_REDUCE);
	count_rounds(work, &real);
	work->wire = larger(counter.sent, counter.received);
	work->lead = smaller(counter.piece * (is_chain(params->kind) ? 1 : cost.steps), work->wire);
	if (params->boards)
		work->touched += 2 * counter.sent; /* into slots */
	else
		work->moved = counter.sent + counter.received;
	return *work;
}
