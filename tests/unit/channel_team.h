/* SPDX-License-Identifier: MIT */
/*
 * Channels of up to six ranks in one thread, over links and a device that are as lazy as they may
 * be, making some calls one after the other; and a replay of the documented order of additions, of
 * any shape that a seed gives. RING_TEST_SEED gives other ones, RING_TEST_LONG more.
 */
#ifndef RING_TEST_CHANNEL_TEAM_H
#define RING_TEST_CHANNEL_TEAM_H

#include <stdio.h>

#include "engine/channel.h"
#include "engine/reached.h"
#include "engine/receive.h"
#include "tests/unit/lazy.h"

#define RANKS 12
#define CHANNELS 2
#define CALLS 4
#define CHUNK_MOST 16
#define KINDS ((int)RING_KIND_ALL_TO_ALL + 1)
#define SLOT_BYTES sizeof(struct ring_opening)

/* What all ranks are asked for in one call. */
struct request {
	enum ring_kind kind;
	enum ring_algorithm algorithm; /* where it can do the kind */
	uint64_t count, sequence;
	int root;
	bool in_place, scaled;
	enum ring_op op;
};

struct member {
	struct ring_channel channels[CHANNELS];
	struct ring_doorbell_page pages[CHANNELS];
	float *input, *output; /* of the current call; one of them is `memory` if in place */
	float *memory, *result;
	struct ring_operands operands; /* of the current call, as are these: */
	struct ring_record record;
	bool tells; /* it tells and hears where buffers lie */
	struct ring_whereabouts where[RANKS];
	char *inputs[RANKS], *outputs[RANKS], *stages[RANKS];
	struct ring_reached reached; /* those four */
	float stage[2 * RANKS * CHUNK_MOST];
	int calls; /* completed */
	int err;
};

struct team {
	uint64_t seed;
	int size, channels, chunks_per_round;
	unsigned depth;
	uint64_t chunk, scratch_chunks; /* scratch_chunks 0: as planned */
	int order[RANKS];
	struct member members[RANKS];                   /* by rank */
	struct lazy_wire *wires[CHANNELS][RANKS];       /* by the sender's position, to the next */
	struct lazy_wire *mesh[CHANNELS][RANKS][RANKS]; /* by the sender's rank and the receiver's */
	int calls;
	struct request requests[CALLS];
	struct request odd;        /* what `odd_one` is asked for instead */
	int odd_one;               /* -1: nobody */
	bool garbles;              /* ... or it sends no record at all */
	bool boards;               /* ranks have them */
	struct ring_device device; /* lazy_device, but that its memory may be apart; then no boards */
	float *inputs[CALLS][RANKS];
	float scalars[CALLS][RANKS]; /* 1 where the call is not scaled */
};

static bool is_long(void)
{
	const char *text = getenv("RING_TEST_LONG");
	return text && *text;
}

static uint64_t first_seed(void)
{
	const char *text = getenv("RING_TEST_SEED");
	return text ? strtoull(text, NULL, 0) : 1;
}

static void demand(const struct team *team, bool holds, const char *promise)
{
	if (!holds)
		fail_msg("broken: %s (n %d, channels %d, depth %u, seed 0x%llx)", promise,
			 team->size, team->channels, team->depth, (unsigned long long)team->seed);
}

/* ---- requests and their results ----------------------------------------------------------- */

static bool is_scaled(const struct request *request)
{
	return request->scaled && ring_kind_reduces(request->kind);
}

static enum ring_algorithm algorithm_of(const struct team *team, const struct request *request)
{
	enum ring_algorithm wanted = request->algorithm;
	if (wanted == RING_ALGORITHM_STAGED && team->channels > 1)
		wanted = RING_ALGORITHM_TWO_SHOT; /* there is one stage */
	if (team->device.apart && !ring_algorithm_keeps_apart(wanted, request->kind))
		wanted = ring_algorithm_of(request->kind);
	return ring_algorithm_for(wanted, request->kind, team->size, request->count * sizeof(float),
				  is_scaled(request));
}

static uint64_t input_length(const struct team *team, const struct request *request, int rank)
{
	enum ring_kind kind = request->kind;
	if ((kind == RING_KIND_BROADCAST || kind == RING_KIND_SCATTER) && rank != request->root)
		return 0;
	bool parts = kind == RING_KIND_REDUCE_SCATTER || kind == RING_KIND_SCATTER ||
		     kind == RING_KIND_ALL_TO_ALL;
	return parts ? request->count * team->size : request->count;
}

static uint64_t output_length(const struct team *team, const struct request *request, int rank)
{
	enum ring_kind kind = request->kind;
	if ((kind == RING_KIND_REDUCE || kind == RING_KIND_GATHER) && rank != request->root)
		return 0;
	bool parts = kind == RING_KIND_ALL_GATHER || kind == RING_KIND_GATHER ||
		     kind == RING_KIND_ALL_TO_ALL;
	return parts ? request->count * team->size : request->count;
}

/* Numbers of very different size, so that every other order of additions shows. */
static float some_float(void)
{
	float small = (float)dice_below(&lazy_dice, 1 << 20) / (1 << 20);
	return (small + 0.5f) * (float)(1u << dice_below(&lazy_dice, 24)) *
	       (dice_below(&lazy_dice, 2) ? 1 : -1);
}

static struct request some_request(const struct team *team, uint64_t sequence)
{
	uint64_t most = team->chunk * team->chunks_per_round * team->channels * 3;
	struct request request = {.kind = (enum ring_kind)dice_below(&lazy_dice, KINDS),
				  .algorithm = (enum ring_algorithm)dice_below(&lazy_dice,
									       RING_ALGORITHMS),
				  .count = dice_below(&lazy_dice, most),
				  .sequence = sequence,
				  .root = (int)dice_below(&lazy_dice, team->size),
				  .in_place = dice_below(&lazy_dice, 2),
				  .scaled = dice_below(&lazy_dice, 2),
				  .op = dice_below(&lazy_dice, 2) ? RING_SUM : RING_AVG};
	if (request.kind == RING_KIND_BARRIER)
		request.count = 0;
	if (request.kind == RING_KIND_ALL_REDUCE)
		request.count *= dice_below(&lazy_dice, team->size) + 1;
	return request;
}

static int position_of(const struct team *team, int rank)
{
	int position = 0;
	while (team->order[position] != rank)
		position++;
	return position;
}

static float summand(const struct team *team, int call, int position, uint64_t i)
{
	int rank = team->order[position % team->size];
	return team->inputs[call][rank][i] * team->scalars[call][rank];
}

/* Element i, added from the position after its owner's around the ring to the owner. */
static float replay(const struct team *team, int call, int owner, uint64_t i)
{
	int n = team->size, position = position_of(team, owner);
	float sum = summand(team, call, position + 1, i);
	for (int k = 2; k <= n; k++)
		sum = sum + summand(team, call, position + k, i);
	return team->requests[call].op == RING_AVG && n > 1 ? sum / (float)n : sum;
}

static float wanted(const struct team *team, int call, int rank, uint64_t i)
{
	const struct request *request = &team->requests[call];
	int owner = 0;
	switch (request->kind) {
	case RING_KIND_ALL_REDUCE:
		while (owner + 1 < team->size &&
		       ring_share_begin(request->count, team->size, owner + 1) <= i)
			owner++;
		return replay(team, call, owner, i);
	case RING_KIND_REDUCE_SCATTER:
		return replay(team, call, rank, request->count * rank + i);
	case RING_KIND_REDUCE:
		return replay(team, call, request->root, i);
	case RING_KIND_ALL_GATHER:
	case RING_KIND_GATHER:
		return team->inputs[call][i / request->count][i % request->count];
	case RING_KIND_SCATTER:
		return team->inputs[call][request->root][request->count * rank + i];
	case RING_KIND_ALL_TO_ALL:
		return team->inputs[call][i / request->count]
				   [request->count * rank + i % request->count];
	default:
		return team->inputs[call][request->root][i];
	}
}

static void check_result(const struct team *team, int call, int rank)
{
	const struct member *member = &team->members[rank];
	uint64_t length = output_length(team, &team->requests[call], rank);
	for (uint64_t i = 0; i < length; i++) {
		float want = wanted(team, call, rank, i);
		demand(team, memcmp(&member->output[i], &want, sizeof(want)) == 0,
		       "results are the documented sums, bit for bit");
	}
}

/* ---- a team ------------------------------------------------------------------------------- */

/* Links with the neighbours are there from the start, the others come when a rank is at rest. */
static void connect_channel(struct team *team, int channel)
{
	for (int from = 0; from < team->size; from++)
		for (int to = 0; to < team->size; to++)
			if (from != to) {
				team->mesh[channel][from][to] = lazy_wire_make(from, to, team->depth,
									       SLOT_BYTES);
				team->mesh[channel][from][to]->bell.page =
					&team->members[from].pages[channel];
			}
	for (int position = 0; position < team->size && team->size > 1; position++) {
		int from = team->order[position];
		int to = team->order[(position + 1) % team->size];
		struct lazy_wire *wire = team->mesh[channel][from][to];
		team->wires[channel][position] = wire;
		ring_channel_add_link(&team->members[from].channels[channel], &wire->sender.base);
		ring_channel_add_link(&team->members[to].channels[channel], &wire->receiver.base);
	}
	for (int rank = 0; rank < team->size; rank++)
		assert_int_equal(ring_channel_reserve(&team->members[rank].channels[channel],
						      team->size),
				 0);
}

/* Gives a rank its ends of the links with another. Returns whether it had not had them. */
static bool add_links(struct team *team, int rank, int peer)
{
	bool added = false;
	for (int c = 0; c < team->channels && peer != rank; c++) {
		struct ring_channel *channel = &team->members[rank].channels[c];
		struct lazy_wire *out = team->mesh[c][rank][peer], *in = team->mesh[c][peer][rank];
		if (!ring_channel_link(channel, peer, true)) {
			ring_channel_add_link(channel, &out->sender.base);
			added = true;
		}
		if (!ring_channel_link(channel, peer, false)) {
			ring_channel_add_link(channel, &in->receiver.base);
			added = true;
		}
	}
	return added;
}

/* Returns whether there was one that it had not had yet. */
static bool add_some_link(struct team *team, int rank)
{
	int first = (int)dice_below(&lazy_dice, team->size);
	for (int k = 0; k < team->size; k++)
		if (add_links(team, rank, (first + k) % team->size))
			return true;
	return false;
}

/* All ranks map all stages. */
static void make_reached(struct team *team, int rank)
{
	struct member *member = &team->members[rank];
	for (int peer = 0; peer < team->size; peer++)
		member->stages[peer] = (char *)team->members[peer].stage;
	member->reached = (struct ring_reached){.where = member->where,
						.inputs = member->inputs,
						.outputs = member->outputs,
						.stages = member->stages};
	for (int c = 0; c < team->channels; c++)
		member->channels[c].call.reached = &member->reached;
}

/* Any shape, from the seed; size 0 is any too. */
static void open_channels(struct team *team)
{
	size_t chunks = 2 * team->chunks_per_round;
	size_t scratch = (chunks < RANKS ? RANKS : chunks) * team->chunk * sizeof(float) +
			 RING_BRUCK_SCRATCH_BYTES;
	for (int rank = 0; rank < team->size; rank++)
		for (int c = 0; c < team->channels; c++)
			assert_int_equal(ring_channel_open(&team->members[rank].channels[c], rank,
							   &team->device, 0, scratch),
					 0);
}

static struct team *make_team(uint64_t seed, int size)
{
	struct team *team = calloc(1, sizeof(*team));
	assert_non_null(team);
	lazy_dice = team->seed = seed;
	lazy_fails_in = 0;
	team->size = size ? size : 1 + (int)dice_below(&lazy_dice, RANKS);
	team->channels = 1 + (int)dice_below(&lazy_dice, CHANNELS);
	team->chunks_per_round = 1 + (int)dice_below(&lazy_dice, 4);
	team->depth = 1 + (unsigned)dice_below(&lazy_dice, RING_DEPTH_MAX);
	team->chunk = 1 + dice_below(&lazy_dice, CHUNK_MOST);
	team->boards = dice_below(&lazy_dice, 2);
	team->device = lazy_device;
	team->device.apart = !team->boards && dice_below(&lazy_dice, 3) == 0;
	team->odd_one = -1;
	for (int i = 0; i < team->size; i++) {
		int j = (int)dice_below(&lazy_dice, i + 1);
		team->order[i] = team->order[j];
		team->order[j] = i;
	}
	open_channels(team);
	for (int c = 0; c < team->channels; c++)
		connect_channel(team, c);
	for (int rank = 0; rank < team->size; rank++)
		make_reached(team, rank);
	for (int rank = 0; rank < team->size && team->boards; rank++)
		for (int c = 0; c < team->channels; c++)
			ring_channel_use_board(&team->members[rank].channels[c],
					       &team->members[rank].pages[c]);
	team->calls = CALLS;
	for (int call = 0; call < CALLS; call++)
		team->requests[call] = some_request(team, call + 1);
	return team;
}

static void close_channels(struct team *team, int rank)
{
	for (int peer = 0; peer < team->size; peer++)
		add_links(team, rank, peer); /* the channel closes them */
	for (int c = 0; c < team->channels; c++)
		ring_channel_close(&team->members[rank].channels[c]);
}

/* Closing finishes jobs, which may reach into other ranks' memory. */
static void free_team(struct team *team)
{
	for (int rank = 0; rank < team->size; rank++)
		close_channels(team, rank);
	for (int rank = 0; rank < team->size; rank++) {
		free(team->members[rank].memory);
		free(team->members[rank].result);
		for (int call = 0; call < CALLS; call++)
			free(team->inputs[call][rank]);
	}
	free(team);
}

/* Fresh memory for a call: the input, and an output of garbage. */
static void prepare_buffers(struct team *team, const struct request *request, int call, int rank)
{
	struct member *member = &team->members[rank];
	uint64_t in = input_length(team, request, rank), out = output_length(team, request, rank);
	uint64_t most = (in > out ? in : out) + 1;
	free(member->memory);
	free(member->result);
	member->memory = malloc(most * sizeof(float));
	member->result = malloc(most * sizeof(float));
	assert_true(member->memory && member->result);
	memset(member->memory, 0x5a, most * sizeof(float));
	memset(member->result, 0x5a, most * sizeof(float));

	bool in_place = request->in_place && request->kind != RING_KIND_ALL_TO_ALL;
	bool is_root = rank == request->root;
	member->input = member->memory;
	member->output = in_place ? member->memory : member->result;
	if (in_place && (request->kind == RING_KIND_REDUCE_SCATTER ||
			 (request->kind == RING_KIND_SCATTER && is_root)))
		member->output = member->memory + request->count * rank;
	if (in_place && (request->kind == RING_KIND_ALL_GATHER ||
			 (request->kind == RING_KIND_GATHER && is_root)))
		member->input = member->memory + request->count * rank;

	team->inputs[call][rank] = malloc((in + 1) * sizeof(float));
	assert_non_null(team->inputs[call][rank]);
	for (uint64_t i = 0; i < in; i++)
		member->input[i] = team->inputs[call][rank][i] = some_float();
	if (in == 0)
		member->input = NULL;
}

static struct ring_plan plan_for(const struct team *team, const struct request *request, int rank,
				 int channel)
{
	struct ring_plan_params params = {.kind = request->kind,
					  .algorithm = algorithm_of(team, request),
					  .size = team->size,
					  .position = position_of(team, rank),
					  .order = team->order,
					  .root = request->root,
					  .count = request->count,
					  .element_bytes = sizeof(float),
					  .chunk_bytes = team->chunk * sizeof(float),
					  .chunks_per_round = team->chunks_per_round,
					  .place_bytes = CHUNK_MOST * sizeof(float),
					  .channel = channel,
					  .channels = team->channels,
					  .scaled = is_scaled(request),
					  .boards = team->boards,
					  .apart = team->device.apart};
	struct ring_plan plan = ring_plan_make(&params);
	if (team->scratch_chunks)
		plan.scratch_chunks = team->scratch_chunks;
	return plan;
}

static const struct request *request_of(const struct team *team, int rank)
{
	return rank == team->odd_one ? &team->odd : &team->requests[team->members[rank].calls];
}

/* All ranks tell where their buffers lie. */
static void start_telling(struct team *team, int rank)
{
	const struct request barrier = {.kind = RING_KIND_BARRIER,
					.algorithm = RING_ALGORITHM_ONE_SHOT};
	struct member *member = &team->members[rank];
	member->tells = true;
	member->where[rank] = (struct ring_whereabouts){
		.input = (uintptr_t)member->input,
		.output = (uintptr_t)member->output,
	};
	for (int c = 0; c < team->channels; c++) {
		struct ring_plan plan = plan_for(team, &barrier, rank, c);
		struct ring_channel *channel = &member->channels[c];
		ring_known_plan_set(channel->own, &plan);
		ring_channel_tell(channel, channel->own, &member->record, &member->reached);
	}
}

/* A peer's memory is mapped, or only to be copied, as chance will. */
static void find_reached(struct team *team, int rank)
{
	struct member *member = &team->members[rank];
	for (int peer = 0; peer < team->size; peer++) {
		const struct ring_whereabouts *where = &member->where[peer];
		bool here = peer == rank || dice_below(&lazy_dice, 2);
		member->inputs[peer] = here ? (char *)(uintptr_t)where->input : NULL;
		here = peer == rank || dice_below(&lazy_dice, 2);
		member->outputs[peer] = here ? (char *)(uintptr_t)where->output : NULL;
	}
}

static void start_plans(struct team *team, int rank)
{
	struct member *member = &team->members[rank];
	for (int c = 0; c < team->channels; c++) {
		struct ring_plan plan = plan_for(team, request_of(team, rank), rank, c);
		ring_channel_start(&member->channels[c], &plan, &member->operands, &member->record);
	}
}

static void start_call(struct team *team, int rank)
{
	struct member *member = &team->members[rank];
	const struct request *request = request_of(team, rank);
	prepare_buffers(team, request, member->calls, rank);
	float *scalar = &team->scalars[member->calls][rank];
	*scalar = request->scaled ? some_float() : 1;
	member->operands = (struct ring_operands){.input = (const char *)member->input,
						  .output = (char *)member->output,
						  .type = RING_FLOAT32,
						  .op = request->op,
						  .divisor = request->op == RING_AVG ? team->size
										     : 1};
	memcpy(&member->operands.scalar, scalar, sizeof(*scalar));
	member->record = ring_record_make(request->kind, request->sequence, request->count,
					  RING_FLOAT32, request->op, request->root);
	if (rank == team->odd_one && team->garbles)
		member->record.magic ^= 1;
	if (algorithm_of(team, request) == RING_ALGORITHM_DIRECT)
		start_telling(team, rank);
	else
		start_plans(team, rank);
}

/* True if the sender would be let in now, has been turned away before, and has not tried again. */
static bool is_missed(const struct lazy_wire *wire)
{
	return wire->refused && wire->posted - wire->seen_released < wire->sender.base.depth;
}

/* True if a link of this rank has room that its channel was refused and has not asked for again. */
static bool misses_room(const struct team *team, int rank, int channel)
{
	for (int peer = 0; peer < team->size; peer++)
		if (peer != rank && is_missed(team->mesh[channel][rank][peer]))
			return true;
	return false;
}

/* Lets one rank do something. Returns whether it did. */
static bool advance_member(struct team *team, int rank)
{
	struct member *member = &team->members[rank];
	int moves = 0, done = 0;
	if (member->err || member->calls == team->calls)
		return false;
	for (int c = 0; c < team->channels && moves >= 0; c++) {
		int moved = ring_channel_advance(&member->channels[c]);
		if (moved == 0)
			demand(team, !misses_room(team, rank, c),
			       "who goes to sleep has used all room there is");
		moves = moved < 0 ? moved : moves + moved;
		done += ring_channel_is_done(&member->channels[c]);
	}
	if (moves < 0)
		member->err = moves;
	if (done < team->channels || moves < 0)
		return moves != 0 || add_some_link(team, rank);
	if (member->tells) {
		member->tells = false;
		find_reached(team, rank);
		start_plans(team, rank);
		return true;
	}
	if (team->odd_one < 0)
		check_result(team, member->calls, rank);
	if (++member->calls < team->calls)
		start_call(team, rank);
	return true;
}

static bool all_done(const struct team *team)
{
	for (int rank = 0; rank < team->size; rank++)
		if (team->members[rank].calls < team->calls)
			return false;
	return true;
}

/* Until everybody is done or failed, or nothing has moved for long. Returns whether all are done. */
static bool run(struct team *team)
{
	for (int rank = 0; rank < team->size; rank++)
		start_call(team, rank);
	int lazy_rank = (int)dice_below(&lazy_dice, 2 * team->size);
	for (int quiet = 0; quiet < 200 * team->size; quiet++) {
		int rank = (int)dice_below(&lazy_dice, team->size);
		if (rank == lazy_rank && dice_below(&lazy_dice, 8))
			continue;
		if (advance_member(team, rank))
			quiet = 0;
	}
	return all_done(team);
}

#endif
