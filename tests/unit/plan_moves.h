/* SPDX-License-Identifier: MIT */
/*
 * Carries out the plans of a world, move by move, in any order.
 *
 * Everything is as late as the contracts allow. A source is read when the message flies, which may
 * be long after it was posted; `sent` may lag behind arrival; a result is half written from start to
 * completion, also one in a peer's memory. Messages also carry which ranks' entry into the call they
 * prove; a direct plan begins only where all have proved theirs.
 */
#ifndef RING_TEST_PLAN_MOVES_H
#define RING_TEST_PLAN_MOVES_H

#include "tests/unit/plan_world.h"

enum move { MOVE_POST, MOVE_FLY, MOVE_RETIRE, MOVE_START, MOVE_FINISH, MOVES };

/* Where a place lies, which is rank's own or, of plans that reach into peers' memory, a peer's. */
static struct value *values_of(const struct world *world, const struct actor *actor, int rank,
			       struct ring_place place, uint64_t bytes)
{
	uint32_t element_bytes = world->setting->element_bytes;
	struct buffer buffer = {actor->scratch, actor->plan.scratch_chunks * actor->plan.chunk};
	if (place.buffer == RING_INPUT || place.buffer == RING_PEER_INPUT ||
	    place.buffer == RING_ALL_INPUTS)
		buffer = world->input[rank];
	else if (place.buffer == RING_STAGE || place.buffer == RING_PEER_STAGE ||
		 place.buffer == RING_ALL_STAGES)
		buffer = peer_of(world, actor, rank)->stage;
	else if (place.buffer != RING_SCRATCH && place.buffer != RING_SUMMANDS)
		buffer = world->output[rank];
	demand(world, place.offset % element_bytes == 0 && bytes % element_bytes == 0,
	       "elements are whole");
	demand(world, (place.offset + bytes) / element_bytes <= buffer.length,
	       "places lie within their buffers");
	return buffer.values + place.offset / element_bytes;
}

static struct value *values_at(const struct world *world, const struct actor *actor,
			       struct ring_place place, uint64_t bytes)
{
	demand(world, place.buffer <= RING_STAGE, "places are this rank's own");
	return values_of(world, actor, actor->rank, place, bytes);
}

static void queue_message(struct world *world, struct actor *actor, struct link *link)
{
	const struct setting *s = world->setting;
	const struct ring_transfer *out = &actor->out;
	demand(world, out->bytes <= actor->plan.chunk * s->element_bytes, "messages fit a slot");
	demand(world, !out->opens || out->bytes <= RING_OPENING_BYTES, "what opens fits an opening");
	demand(world, !out->opens || out->bytes == 0 || !s->apart, "data are apart from records");
	if (out->needs > actor->proved_by_needs)
		actor->proved_by_needs = out->needs;
	struct message *message = &link->messages[link->queued % s->depth];
	demand(world, out->opens || link->queued > 0, "the first message of a link has the record");
	message->bytes = out->bytes;
	message->opens = out->opens;
	message->proof = actor->proof[actor->proved_by_needs] | UINT64_C(1) << actor->rank;
	message->source = out->bytes ? values_at(world, actor, out->source, out->bytes) : NULL;
	for (uint64_t i = 0; i < out->bytes / s->element_bytes; i++)
		message->slot[i] = message->source[i];
	link->queued++;
	actor->payload += out->bytes;
}

static bool post(struct world *world, struct actor *actor)
{
	if (actor->posted == actor->plan.outgoing || actor->reduced < actor->out.needs)
		return false;
	demand(world, actor->out.action == RING_SEND || actor->out.action == RING_SIGNAL,
	       "messages and signals go out");
	if (ring_transfer_is_message(&actor->out, actor->rank)) {
		struct link *link = actor->to[actor->out.peer];
		demand(world, link && link->named_by_sender && link->named_by_receiver,
		       "both ends name the links they use");
		if (link->queued - link->released == (uint64_t)world->setting->depth)
			return false;
		queue_message(world, actor, link);
	}
	actor->posted++;
	load_entries(actor);
	return true;
}

/* The transport reads the source; until now it must not have changed. */
static void read_source(const struct world *world, const struct message *message)
{
	for (uint64_t i = 0; i < message->bytes / world->setting->element_bytes; i++) {
		demand(world, message->slot[i].length > 0, "only what is complete is sent");
		demand(world, same(message->slot[i], message->source[i]),
		       "a source keeps its value until it was sent");
	}
}

static void wake(struct world *world, const struct actor *actor)
{
	world->idle[actor - world->actors] = false;
}

static bool fly_over(struct world *world, struct link *link)
{
	const struct setting *s = world->setting;
	if (link->flown == link->queued)
		return false;
	read_source(world, &link->messages[link->flown % s->depth]);
	link->flown++;
	wake(world, link->to);
	return true;
}

/* Links take turns, so that none is always first. */
static bool fly(struct world *world, struct actor *actor)
{
	for (int i = 0; i < actor->link_count; i++) {
		struct link *link = &actor->links[actor->flies_next++ % actor->link_count];
		if (fly_over(world, link))
			return true;
	}
	return false;
}

static bool retire(struct world *world, struct actor *actor)
{
	(void)world;
	if (actor->sent == actor->posted)
		return false;
	struct ring_transfer out = ring_plan_outgoing(&actor->plan, actor->sent);
	if (ring_transfer_is_message(&out, actor->rank)) {
		struct link *link = actor->to[out.peer];
		if (link->retired == link->flown)
			return false;
		link->retired++;
	}
	actor->sent++;
	return true;
}

/* Notes whose entry is proved now; what writes to OUTPUT needs everybody's. */
static void prove(struct world *world, struct actor *actor, uint64_t proof)
{
	proof |= actor->proof[actor->started] | UINT64_C(1) << actor->rank;
	actor->proof[actor->started + 1] = proof;
	enum ring_buffer result = actor->in.result.buffer;
	if (actor->in.bytes > 0 && actor->in.action != RING_HOLD && result != RING_SCRATCH &&
	    result != RING_STAGE)
		demand(world, proof == everybody(world->setting),
		       "nothing lands before every rank's record could have come");
}

/* Where number k of the pile lies that is added in front of one's own. */
static struct ring_place pile_place(const struct actor *actor, const struct ring_transfer *in, int k)
{
	uint64_t chunk = actor->plan.chunk * actor->plan.params.element_bytes;
	return (struct ring_place){RING_SCRATCH, in->pile.offset + (uint64_t)k * chunk};
}

/* A link may put a copy where it belongs before its turn, once its sender and all signals of the plan were heard. */
static void check_landing(const struct world *world, const struct actor *actor)
{
	const struct ring_transfer *in = &actor->in;
	if (in->action != RING_COPY || in->opens || in->bytes == 0 ||
	    in->result.buffer == RING_SCRATCH)
		return;
	demand(world, actor->started >= actor->plan.agreed && actor->heard[in->peer],
	       "whose copies may land makes the same call");
}

/* ---- reaching into peers' memory ---- */

/* The ranks whose memory such a place is in, of summands in their order. Returns how many. */
static int find_ranks(const struct actor *actor, const struct ring_transfer *in,
		      enum ring_buffer buffer, int *ranks)
{
	int n = actor->plan.params.size;
	bool summands = buffer == RING_ALL_INPUTS || buffer == RING_ALL_STAGES;
	for (int k = 0; summands && k < n; k++)
		ranks[k] = ring_direct_summand(&actor->plan, in->behind, k);
	for (int rank = 0; buffer == RING_ALL_OUTPUTS && rank < n; rank++)
		ranks[rank] = rank;
	for (int rank = 0; buffer == RING_OTHER_OUTPUTS && rank < n - 1; rank++)
		ranks[rank] = rank < in->peer ? rank : rank + 1;
	if (buffer == RING_OTHER_OUTPUTS)
		return n - 1;
	if (summands || buffer == RING_ALL_OUTPUTS)
		return n;
	ranks[0] = buffer <= RING_STAGE ? actor->rank : in->peer;
	return 1;
}

/* Where number k of the sources lies: of what is on others' stages, one's own is in the input. */
static struct value *source_of(const struct world *world, const struct actor *actor,
			       const struct ring_transfer *in, int rank)
{
	struct ring_place place = in->source;
	if (place.buffer == RING_ALL_STAGES && rank == actor->rank)
		place = (struct ring_place){RING_INPUT, in->result.offset};
	return values_of(world, actor, rank, place, in->bytes);
}

/* Whose memory is touched is still in the call. */
static void check_touched(const struct world *world, const struct actor *actor, const int *ranks,
			  int count)
{
	for (int k = 0; k < count; k++) {
		const struct actor *peer = peer_of(world, actor, ranks[k]);
		demand(world, peer->reduced < peer->plan.incoming || peer->plan.params.size == 1,
		       "who is done has its memory for itself");
	}
}

/* From here on nobody may rely on the results, but where they replace what is read. */
static void spoil_all(struct world *world, struct actor *actor)
{
	const struct ring_transfer *in = &actor->in;
	int readers[RANKS_MAX], writers[RANKS_MAX];
	int sources = find_ranks(actor, in, in->source.buffer, readers);
	int results = find_ranks(actor, in, in->result.buffer, writers);
	uint64_t bytes = in->bytes / world->setting->element_bytes * sizeof(struct value);
	bool staged = world->setting->algorithm == RING_ALGORITHM_STAGED;
	if (!staged)
		check_touched(world, actor, readers, sources);
	check_touched(world, actor, writers, results);
	if (in->source.buffer == RING_ALL_STAGES)
		memset(values_of(world, actor, actor->rank, in->source, in->bytes), 0, bytes);
	for (int r = 0; r < results; r++) {
		struct value *result = values_of(world, actor, writers[r], in->result, in->bytes);
		bool replaces = false;
		for (int k = 0; k < sources; k++)
			replaces = replaces || result == source_of(world, actor, in, readers[k]);
		if (!replaces)
			memset(result, 0, bytes);
	}
}

static bool was_at_source(const struct world *world, const struct actor *actor,
			  const struct ring_transfer *in, const struct message *message)
{
	struct ring_place source = {RING_PEER_INPUT, in->source.offset};
	return in->bytes == 0 ||
	       message->source == values_of(world, actor, in->peer, source, in->bytes);
}

/* returns false if it has not flown yet */
static bool take_message(struct world *world, struct actor *actor, uint64_t *proof)
{
	const struct ring_transfer *in = &actor->in;
	struct link *link = actor->from[in->peer];
	demand(world, link, "the receiver names the links it uses");
	if (link->taken == link->flown)
		return false;
	const struct message *message = &link->messages[link->taken++ % world->setting->depth];
	demand(world, message->bytes == in->bytes && message->opens == in->opens,
	       "both ends know a message's size");
	actor->heard[in->peer] = actor->heard[in->peer] || in->opens;
	check_landing(world, actor);
	bool on_board = in->opens && actor->plan.exchanges > 0;
	demand(world, !on_board || was_at_source(world, actor, in, message),
	       "the receiver knows where what opens lies in its sender's input");
	*proof = message->proof;
	return true;
}

static bool start(struct world *world, struct actor *actor)
{
	const struct setting *s = world->setting;
	const struct ring_transfer *in = &actor->in;
	if (actor->started == actor->plan.incoming || actor->sent < in->needs)
		return false;
	uint64_t proof = 0;
	demand(world, in->action == RING_SIGNAL || actor->started >= actor->plan.signals,
	       "the plan tells how many signals come first");
	if (ring_transfer_is_message(in, actor->rank) && !take_message(world, actor, &proof))
		return false;
	prove(world, actor, proof);
	if (ring_transfer_is_direct(in)) {
		spoil_all(world, actor);
	} else if (in->bytes > 0 && in->action != RING_HOLD) {
		struct value *result = values_at(world, actor, in->result, in->bytes);
		bool aliased = in->action == RING_REDUCE ||
			       (in->peer == actor->rank && in->held.count == 0);
		aliased = aliased && result == values_at(world, actor, in->source, in->bytes);
		for (int k = 0; k < in->pile.count; k++)
			aliased = aliased ||
				  result == values_at(world, actor, pile_place(actor, in, k),
						      in->bytes);
		if (!aliased)
			memset(result, 0, in->bytes / s->element_bytes * sizeof(*result));
	}
	actor->started++;
	load_entries(actor);
	return true;
}

/* A rank's own input, scaled if the call is. */
static struct value own_summand(const struct world *world, const struct actor *actor,
				struct value own)
{
	demand(world, own.length == 1 && own.first == actor->plan.params.position && !own.scaled,
	       "inputs are added, each as its rank's own");
	own.scaled = world->setting->scaled;
	return own;
}

/* before + behind */
static struct value add(const struct world *world, struct value before, struct value behind)
{
	int n = world->setting->size;
	demand(world, before.element == behind.element, "equal elements are added");
	demand(world, (before.first + before.length) % n == behind.first,
	       "places are added in their order");
	before.length = (int8_t)(before.length + behind.length);
	before.scaled = (int8_t)(before.scaled + behind.scaled);
	return before;
}

/* The link whose message entry j takes or holds, NULL if there is none. */
static struct link *link_of(const struct actor *actor, uint64_t j)
{
	struct ring_transfer in = ring_plan_incoming(&actor->plan, j);
	return ring_transfer_is_message(&in, actor->rank) ? actor->from[in.peer] : NULL;
}

/* Element i of the message of entry j, which is its link's oldest. */
static struct value arrived_at(const struct world *world, const struct actor *actor, uint64_t j,
			       uint64_t i)
{
	const struct link *link = link_of(actor, j);
	const struct message *message = &link->messages[link->released % world->setting->depth];
	demand(world, i < message->bytes / world->setting->element_bytes, "messages have it");
	return message->slot[i];
}

/* Element i of a sum, where `own` is this rank's: what is held in front of it, and what behind. */
static struct value add_up(const struct world *world, const struct actor *actor,
			   const struct ring_transfer *in, struct value own, uint64_t i)
{
	own = own_summand(world, actor, own);
	if (in->action == RING_SCALE)
		return own;
	for (int k = in->pile.count; k-- > 0;)
		own = add(world, values_at(world, actor, pile_place(actor, in, k), in->bytes)[i],
			  own);
	if (in->peer != actor->rank)
		return add(world, arrived_at(world, actor, actor->reduced, i), own);
	struct value sum = own;
	i += in->held.skip / world->setting->element_bytes;
	for (int k = in->held.count; k-- > in->behind;) {
		struct value held = arrived_at(world, actor, in->held.first + (uint64_t)k, i);
		sum = add(world, held, sum);
	}
	for (int k = 0; k < in->behind; k++)
		sum = add(world, sum, arrived_at(world, actor, in->held.first + (uint64_t)k, i));
	return sum;
}

/* Element i of a sum of what scratch has of all ranks. */
static struct value add_summands(const struct world *world, const struct actor *actor,
				 const struct ring_transfer *in, uint64_t i)
{
	const struct ring_plan *plan = &actor->plan;
	struct value sum = {0};
	for (int k = 0; k < plan->params.size; k++) {
		struct ring_place place = in->source;
		uint64_t input = (uint64_t)ring_plan_summand(plan, in, k);
		place.offset += input * plan->share.length * plan->params.element_bytes;
		struct value next = values_at(world, actor, place, in->bytes)[i];
		sum = k == 0 ? next : add(world, sum, next);
	}
	return sum;
}

static void write_result(struct world *world, struct actor *actor, const struct ring_transfer *in)
{
	const struct setting *s = world->setting;
	bool sums = in->action == RING_REDUCE || in->action == RING_SCALE;
	bool local = in->peer == actor->rank && in->held.count == 0;
	uint64_t message = in->held.count > 0 ? in->held.first : actor->reduced;
	struct value *result = values_at(world, actor, in->result, in->bytes);
	const struct value *own = NULL;
	if (sums || local)
		own = values_at(world, actor, in->source, in->bytes);
	bool summands = in->source.buffer == RING_SUMMANDS;
	demand(world, !sums || summands || in->source.buffer == RING_INPUT,
	       "only one's own input is added, or what all have sent");
	demand(world, sums || in->held.count <= 1, "copies have one source");
	demand(world, in->action != RING_SCALE || (s->scaled && local),
	       "scaled calls scale what a rank has itself");
	for (uint64_t i = 0; i < in->bytes / s->element_bytes; i++) {
		if (sums && summands)
			result[i] = add_summands(world, actor, in, i);
		else if (sums)
			result[i] = add_up(world, actor, in, own[i], i);
		else
			result[i] = local ? own[i] : arrived_at(world, actor, message, i);
		demand(world,
		       !sums || in->result.buffer != RING_OUTPUT || result[i].length == s->size,
		       "no partial sum lands in the output");
	}
	bool complete = in->action == RING_REDUCE && in->result.buffer == RING_OUTPUT;
	demand(world, in->last == complete, "the last addition is marked");
}

/* Counts what went from one rank's memory to another's, whichever moved it. */
static void count_payload(struct actor *from, int to, uint64_t bytes)
{
	from->payload += from->rank == to ? 0 : bytes;
}

static void write_all(struct world *world, struct actor *actor, const struct ring_transfer *in)
{
	int readers[RANKS_MAX], writers[RANKS_MAX];
	int sources = find_ranks(actor, in, in->source.buffer, readers);
	int results = find_ranks(actor, in, in->result.buffer, writers);
	bool sums = in->action == RING_REDUCE;
	if (world->setting->algorithm != RING_ALGORITHM_STAGED)
		check_touched(world, actor, readers, sources);
	check_touched(world, actor, writers, results);
	demand(world, sums || sources == 1, "copies have one source");
	demand(world, in->last == sums, "the last addition is marked");
	for (uint64_t i = 0; i < in->bytes / world->setting->element_bytes; i++) {
		struct value value = {0};
		for (int k = 0; k < sources; k++) {
			struct value next = source_of(world, actor, in, readers[k])[i];
			if (sums)
				next = own_summand(world, peer_of(world, actor, readers[k]), next);
			value = k == 0 ? next : add(world, value, next);
		}
		for (int r = 0; r < results; r++)
			values_of(world, actor, writers[r], in->result, in->bytes)[i] = value;
		if (in->source.buffer == RING_ALL_STAGES)
			values_of(world, actor, actor->rank, in->source, in->bytes)[i] = value;
	}
	struct actor *from = sums ? actor : peer_of(world, actor, readers[0]);
	for (int k = 0; k < sources && sums; k++)
		count_payload(peer_of(world, actor, readers[k]), actor->rank, in->bytes);
	for (int r = 0; r < results; r++)
		count_payload(from, writers[r], in->bytes);
}

static void release(struct world *world, struct link *link)
{
	if (!link)
		return;
	link->released++;
	wake(world, link->from);
}

static bool finish(struct world *world, struct actor *actor)
{
	if (actor->reduced == actor->started)
		return false;
	struct ring_transfer in = ring_plan_incoming(&actor->plan, actor->reduced);
	if (ring_transfer_is_direct(&in))
		write_all(world, actor, &in);
	else if (in.bytes > 0 && in.action != RING_HOLD)
		write_result(world, actor, &in);
	if (in.action != RING_HOLD)
		release(world, link_of(actor, actor->reduced));
	for (int k = 0; in.held.releases && k < in.held.count; k++)
		release(world, link_of(actor, in.held.first + (uint64_t)k));
	actor->reduced++;
	return true;
}

static bool make_move(struct world *world, struct actor *actor, enum move move)
{
	static bool (*const moves[MOVES])(struct world *, struct actor *) = {
		[MOVE_POST] = post,   [MOVE_FLY] = fly,       [MOVE_RETIRE] = retire,
		[MOVE_START] = start, [MOVE_FINISH] = finish,
	};
	return moves[move](world, actor);
}

#endif
