/* SPDX-License-Identifier: MIT */
/* Names of collectives and algorithms, sentences about what cannot be shown, and the plans. */
#include "choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/record.h"

#define ELEMENTS_MOST (1 << 22) /* of all buffers of all ranks */
#define ENTRIES_MOST (1 << 18)  /* of all plans */

#define KINDS (RING_KIND_ALL_TO_ALLV + 1)

/* A send and its receive are shown as one call, which has the name of the first. */
const char *steps_kind_name(enum ring_kind kind)
{
	return kind == RING_KIND_SEND ? "sendrecv" : ring_kind_name(kind);
}

int steps_kind_find(const char *name)
{
	for (int kind = 0; kind < KINDS; kind++)
		if (kind != RING_KIND_RECV && strcmp(steps_kind_name(kind), name) == 0)
			return kind;
	return -1;
}

int steps_algorithm_find(const char *name)
{
	for (int i = 0; i < RING_ALGORITHMS; i++)
		if (strcmp(ring_algorithm_name((enum ring_algorithm)i), name) == 0)
			return i;
	return -1;
}

const char *steps_call_name(const struct steps_choice *choice)
{
	int kind = RING_KIND_REDUCE_SCATTERV;
	while (choice->uneven && ring_kind_even((enum ring_kind)kind) != choice->kind)
		kind++;
	return steps_kind_name(choice->uneven ? (enum ring_kind)kind : choice->kind);
}

/* ---- uneven parts ---------------------------------------------------------------------------- */

/* What goes from rank to rank. In an all-to-all it is the longer the farther they are apart. */
static uint64_t part_length(const struct steps_choice *choice, int from, int to)
{
	switch (choice->kind) {
	case RING_KIND_ALL_TO_ALL:
		return choice->count * (uint64_t)((to - from + choice->ranks) % choice->ranks);
	case RING_KIND_REDUCE_SCATTER:
		return choice->count * (uint64_t)to;
	case RING_KIND_SCATTER:
		return from == choice->root ? choice->count * (uint64_t)to : 0;
	case RING_KIND_GATHER:
		return to == choice->root ? choice->count * (uint64_t)from : 0;
	default:
		return choice->count * (uint64_t)from;
	}
}

/* What a rank knows of them. It stays as it is for as long as the choice does. */
static const struct ring_parts *parts_of(const struct steps_choice *choice, int rank)
{
	static uint64_t lists[STEPS_RANKS_MOST][RING_PARTS_LISTS][STEPS_RANKS_MOST];
	static struct ring_parts parts[STEPS_RANKS_MOST];
	uint64_t(*list)[STEPS_RANKS_MOST] = lists[rank], in = 0, out = 0;
	for (int other = 0; other < choice->ranks; other++) {
		list[0][other] = part_length(choice, rank, other);
		list[1][other] = in;
		list[2][other] = part_length(choice, other, rank);
		list[3][other] = out;
		in += ring_kind_has_parts_in(choice->kind) ? list[0][other] : 0;
		out += ring_kind_has_parts_out(choice->kind) ? list[2][other] : 0;
	}
	parts[rank] = (struct ring_parts){list[0], list[1], list[2], list[3]};
	return &parts[rank];
}

/* Elements of a buffer whose parts begin there. */
static uint64_t extent(const struct steps_choice *choice, const uint64_t *lengths,
		       const uint64_t *begins)
{
	uint64_t end = 0;
	for (int rank = 0; rank < choice->ranks; rank++)
		end = begins[rank] + lengths[rank] > end ? begins[rank] + lengths[rank] : end;
	return end;
}

/* ---- lengths --------------------------------------------------------------------------------- */

uint64_t steps_input_length(const struct steps_choice *choice, int rank)
{
	if (choice->uneven)
		return extent(choice, parts_of(choice, rank)->to, parts_of(choice, rank)->to_at);
	bool is_source = rank == choice->root || !ring_kind_is_from_root(choice->kind);
	if (choice->kind == RING_KIND_BARRIER || !is_source)
		return 0;
	return choice->count * (uint64_t)ring_direct_parts_in(choice->kind, choice->ranks);
}

uint64_t steps_output_length(const struct steps_choice *choice, int rank)
{
	if (choice->uneven)
		return extent(choice, parts_of(choice, rank)->from, parts_of(choice, rank)->from_at);
	bool is_sink = rank == choice->root || !ring_kind_is_to_root(choice->kind);
	if (choice->kind == RING_KIND_BARRIER || !is_sink)
		return 0;
	return choice->count * (uint64_t)ring_direct_parts_out(choice->kind, choice->ranks);
}

/* Elements of what goes from rank to rank: a block, a part or the vector. */
static uint64_t longest_message(const struct steps_choice *choice)
{
	bool all_at_once = ring_algorithm_has(choice->algorithm, RING_SENDS_ALL);
	uint64_t elements = choice->count;
	if (choice->uneven)
		elements *= (uint64_t)choice->ranks - 1;
	if (choice->kind == RING_KIND_ALL_REDUCE && !all_at_once && choice->ranks > 0)
		elements = ring_share_length(elements, (uint64_t)choice->ranks, 0);
	return elements ? elements : 1;
}

uint64_t steps_stage_length(const struct steps_choice *choice)
{
	uint64_t place = choice->chunk_bytes / steps_element_bytes(choice);
	if (!ring_algorithm_has(choice->algorithm, RING_NEEDS_STAGES))
		return 0;
	return ring_staged_bytes(place ? place : 1, choice->ranks);
}

int steps_position(const struct steps_choice *choice, int rank)
{
	int position = 0;
	while (choice->order[position] != rank)
		position++;
	return position;
}

void steps_choice_order(struct steps_choice *choice)
{
	for (int position = 0; position < STEPS_RANKS_MOST; position++)
		choice->order[position] = position;
}

/* Whether it adds in the order that is asked for. */
static bool adds_so(const struct steps_choice *choice, enum ring_algorithm algorithm)
{
	return !choice->in_order || !ring_kind_reduces(choice->kind) ||
	       ring_algorithm_adds_in_order(algorithm, choice->ranks);
}

void steps_choice_complete(struct steps_choice *choice)
{
	bool whole = ring_direct_has_shares(choice->kind);
	bool any = (int)choice->algorithm == STEPS_ANY_ALGORITHM;
	if (any)
		choice->algorithm = ring_algorithm_of(choice->kind);
	while (any && !adds_so(choice, choice->algorithm))
		choice->algorithm++;
	if (choice->count == 0 && choice->ranks > 0)
		choice->count = whole ? (uint64_t)choice->ranks : 1;
	if (choice->kind == RING_KIND_BARRIER)
		choice->count = 0;
	if (choice->chunk_bytes == 0)
		choice->chunk_bytes = longest_message(choice) * steps_element_bytes(choice);
}

/* ---- what cannot be shown -------------------------------------------------------------------- */

static bool can(const struct steps_choice *choice, enum ring_algorithm algorithm, uint64_t count)
{
	return (!choice->uneven || ring_algorithm_has(algorithm, RING_TAKES_PARTS)) &&
	       adds_so(choice, algorithm) &&
	       ring_algorithm_can(algorithm, choice->kind, choice->ranks,
				  count * steps_element_bytes(choice), false);
}

/* Lists the algorithms that can carry the call: "ring, oneshot or tree". */
static void list_algorithms(const struct steps_choice *choice, char *text, size_t room)
{
	size_t have = 0;
	int left = 0;
	for (int i = 0; i < RING_ALGORITHMS; i++)
		left += can(choice, i, choice->count);
	for (int i = 0; i < RING_ALGORITHMS && have < room; i++) {
		if (!can(choice, i, choice->count))
			continue;
		const char *between = have == 0 ? "" : left > 1 ? ", " : " or ";
		have += (size_t)snprintf(text + have, room - have, "%s%s", between,
					 ring_algorithm_name((enum ring_algorithm)i));
		left--;
	}
}

bool steps_choice_is_plan(const struct steps_choice *choice)
{
	return can(choice, choice->algorithm, choice->count);
}

static bool refuse_algorithm(const struct steps_choice *choice, char *sentence, size_t room)
{
	char others[128] = "";
	if (can(choice, choice->algorithm, choice->count))
		return false;
	list_algorithms(choice, others, sizeof(others));
	uint64_t most = RING_OPENING_BYTES; /* small calls fit behind an entry record */
	while (most > 0 && !can(choice, choice->algorithm, most))
		most--;
	if (most > 0)
		snprintf(sentence, room,
			 "%s carries %s of at most %" PRIu64
			 " elements on %d ranks, not of %" PRIu64 "; %s can",
			 ring_algorithm_name(choice->algorithm), steps_call_name(choice), most,
			 choice->ranks, choice->count, others);
	else
		snprintf(sentence, room, "%s cannot carry %s on %d ranks%s; %s can",
			 ring_algorithm_name(choice->algorithm), steps_call_name(choice),
			 choice->ranks, choice->in_order ? " in their order" : "", others);
	return true;
}

static bool is_too_large(const struct steps_choice *choice)
{
	uint64_t elements = 0, entries = 0, most = ELEMENTS_MOST / (uint64_t)choice->ranks;
	if (choice->count > most)
		return true;
	for (int rank = 0; rank < choice->ranks; rank++) {
		struct ring_plan plan = steps_plan(choice, rank, false);
		elements += steps_input_length(choice, rank) + steps_output_length(choice, rank);
		elements += plan.scratch_chunks * plan.chunk + steps_stage_length(choice);
		entries += plan.outgoing + plan.incoming;
	}
	return elements > ELEMENTS_MOST || entries > ENTRIES_MOST;
}

bool steps_choice_refuse(const struct steps_choice *choice, char *sentence, size_t room)
{
	if (choice->ranks < 1 || choice->ranks > STEPS_RANKS_MOST) {
		snprintf(sentence, room, "%d ranks cannot be shown: 1 to %d can", choice->ranks,
			 STEPS_RANKS_MOST);
		return true;
	}
	if (choice->root < 0 || choice->root >= choice->ranks) {
		snprintf(sentence, room, "rank %d cannot be root: the ranks are 0 to %d",
			 choice->root, choice->ranks - 1);
		return true;
	}
	if (refuse_algorithm(choice, sentence, room))
		return true;
	if (!is_too_large(choice))
		return false;
	snprintf(sentence, room,
		 "%" PRIu64 " elements in chunks of %" PRIu64
		 " bytes on %d ranks are too much to be shown; %s",
		 choice->count, choice->chunk_bytes, choice->ranks,
		 choice->recorded ? "record a smaller call, or choose another one with --call; "
				    "--list shows them"
				  : "fewer elements or larger chunks are not");
	return true;
}

/* ---- the plan -------------------------------------------------------------------------------- */

struct ring_plan steps_plan(const struct steps_choice *choice, int rank, bool receives)
{
	struct ring_plan_params params = {
		.kind = choice->kind,
		.algorithm = choice->algorithm,
		.size = choice->ranks,
		.position = steps_position(choice, rank),
		.order = choice->order,
		.root = choice->root,
		.count = choice->count,
		.element_bytes = (uint32_t)steps_element_bytes(choice),
		.chunk_bytes = choice->chunk_bytes,
		.chunks_per_round = choice->chunks_per_round,
		.channels = 1,
		.in_order = choice->in_order && ring_kind_reduces(choice->kind),
		.boards = choice->boards,
	};
	uint64_t elements = choice->chunk_bytes / steps_element_bytes(choice);
	params.place_bytes = (elements ? elements : 1) * steps_element_bytes(choice);
	if (choice->uneven)
		params.parts = parts_of(choice, rank);
	if (choice->kind == RING_KIND_SEND) {
		int next = (rank + 1) % choice->ranks;
		int previous = (rank + choice->ranks - 1) % choice->ranks;
		params.kind = receives ? RING_KIND_RECV : RING_KIND_SEND;
		params.root = receives ? previous : next;
	}
	return ring_plan_make(&params);
}
