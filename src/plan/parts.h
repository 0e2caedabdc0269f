/* SPDX-License-Identifier: MIT */
/*
 * What plans are made of: entries and the places that they name, and how a vector is cut into
 * shares, blocks and chunks. Included by plan.h only.
 */
#ifndef RING_PLAN_PARTS_H
#define RING_PLAN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RING_PURE static inline __host__ __device__
#else
#define RING_PURE static inline
#endif

/* The call. */
enum ring_kind {
	RING_KIND_ALL_REDUCE,
	RING_KIND_REDUCE_SCATTER,
	RING_KIND_ALL_GATHER,
	RING_KIND_BROADCAST,
	RING_KIND_BARRIER,
	RING_KIND_REDUCE,
	RING_KIND_GATHER,
	RING_KIND_SCATTER,
	RING_KIND_ALL_TO_ALL,
	RING_KIND_SEND,
	RING_KIND_RECV,
	/* With uneven parts: calls and records. Their plans are the even kinds', with parts. */
	RING_KIND_REDUCE_SCATTERV,
	RING_KIND_ALL_GATHERV,
	RING_KIND_GATHERV,
	RING_KIND_SCATTERV,
	RING_KIND_ALL_TO_ALLV,
};

RING_PURE bool ring_kind_is_uneven(enum ring_kind kind)
{
	return kind >= RING_KIND_REDUCE_SCATTERV;
}

/* A rank knows no parts but those that it sends and receives itself; of the others all know all. */
RING_PURE bool ring_kind_has_own_parts(enum ring_kind kind)
{
	return kind >= RING_KIND_GATHERV;
}

RING_PURE enum ring_kind ring_kind_even(enum ring_kind kind)
{
	switch (kind) {
	case RING_KIND_REDUCE_SCATTERV:
		return RING_KIND_REDUCE_SCATTER;
	case RING_KIND_ALL_GATHERV:
		return RING_KIND_ALL_GATHER;
	case RING_KIND_GATHERV:
		return RING_KIND_GATHER;
	case RING_KIND_SCATTERV:
		return RING_KIND_SCATTER;
	case RING_KIND_ALL_TO_ALLV:
		return RING_KIND_ALL_TO_ALL;
	default:
		return kind;
	}
}

RING_PURE bool ring_kind_reduces(enum ring_kind kind)
{
	return kind == RING_KIND_ALL_REDUCE || kind == RING_KIND_REDUCE_SCATTER ||
	       kind == RING_KIND_REDUCE;
}

RING_PURE bool ring_kind_is_to_root(enum ring_kind kind)
{
	return kind == RING_KIND_GATHER || kind == RING_KIND_REDUCE;
}

RING_PURE bool ring_kind_is_from_root(enum ring_kind kind)
{
	return kind == RING_KIND_SCATTER || kind == RING_KIND_BROADCAST;
}

RING_PURE bool ring_kind_has_root(enum ring_kind kind)
{
	return ring_kind_is_to_root(kind) || ring_kind_is_from_root(kind);
}

/* From one rank to another; all others are collectives. */
RING_PURE bool ring_kind_is_message(enum ring_kind kind)
{
	return kind == RING_KIND_SEND || kind == RING_KIND_RECV;
}

/* Whether an input, or an output, has a part for each rank; else it is a vector. */
RING_PURE bool ring_kind_has_parts_in(enum ring_kind kind)
{
	return kind == RING_KIND_REDUCE_SCATTER || kind == RING_KIND_SCATTER ||
	       kind == RING_KIND_ALL_TO_ALL;
}

RING_PURE bool ring_kind_has_parts_out(enum ring_kind kind)
{
	return kind == RING_KIND_ALL_GATHER || kind == RING_KIND_GATHER ||
	       kind == RING_KIND_ALL_TO_ALL;
}

/* What the rest of the library asks about an algorithm: no other file names one. */
enum ring_trait {
	RING_GOES_AROUND = 1 << 0,  /* uses the ring's links alone; cut into rounds and channels */
	RING_SENDS_ALL = 1 << 1,    /* of an all-reduce, whole vectors go from rank to rank */
	RING_IN_RECORDS = 1 << 2,   /* data travel with entry records, but those from a root */
	RING_BY_PLACE = 1 << 3,     /* even without a root, ranks work unequally */
	RING_NEEDS_STAGES = 1 << 4, /* every rank of a host reads the others' stages */
	RING_NEEDS_REACH = 1 << 5,  /* every rank of a host reaches the others' buffers */
	RING_OF_MESSAGES = 1 << 6,  /* carries sends and receives: nobody chooses it */
	RING_TAKES_PARTS = 1 << 7,  /* parts may be uneven */
	RING_ADDS_ALL = 1 << 8,     /* all inputs at once, so in any order; rounds floats once */
};

/*
 * X(NAME, name, text, traits): name.h has ring_name_can(), _make(), _outgoing(), _incoming(),
 * _edge() and _cost(), which plan.h calls; words.h says what it does.
 */
#define RING_ALGORITHM_LIST(X)                                                                     \
	X(RING, ring, "ring", RING_GOES_AROUND | RING_TAKES_PARTS)                                 \
	X(ONE_SHOT, one_shot, "oneshot", RING_SENDS_ALL | RING_TAKES_PARTS | RING_ADDS_ALL)        \
	X(STRIDE, stride, "stride", 0)                                                             \
	X(TWO_SHOT, two_shot, "twoshot", RING_ADDS_ALL)                                            \
	X(BRUCK, bruck, "bruck", RING_SENDS_ALL | RING_IN_RECORDS | RING_ADDS_ALL)                 \
	X(STAGED, staged, "staged", RING_NEEDS_STAGES | RING_ADDS_ALL)                             \
	X(DIRECT, direct, "direct", RING_NEEDS_REACH | RING_ADDS_ALL)                              \
	X(TREE, tree, "tree", RING_SENDS_ALL | RING_IN_RECORDS | RING_BY_PLACE | RING_ADDS_ALL)    \
	X(PAIR, pair, "pair", RING_OF_MESSAGES)

enum ring_algorithm {
#define RING_ALGORITHM_ENUM(NAME, name, text, traits) RING_ALGORITHM_##NAME,
	RING_ALGORITHM_LIST(RING_ALGORITHM_ENUM)
#undef RING_ALGORITHM_ENUM
};
#define RING_ALGORITHMS (RING_ALGORITHM_PAIR + 1)

enum ring_buffer {
	RING_INPUT,
	RING_OUTPUT,
	RING_SCRATCH,
	/* of a REDUCE without messages: everybody's inputs, one behind the other in SCRATCH */
	RING_SUMMANDS,
	RING_STAGE, /* memory of this rank that all others read */
	/* Incoming entries without messages reach into these: */
	RING_PEER_INPUT, /* peer's */
	RING_PEER_OUTPUT,
	RING_ALL_INPUTS, /* everybody's, in the order in which they are added */
	RING_ALL_OUTPUTS,
	RING_OTHER_OUTPUTS, /* everybody's but peer's */
	RING_PEER_STAGE,
	RING_ALL_STAGES, /* everybody's; with the result in OUTPUT, this rank's INPUT instead of its
			    stage, and the result goes to the stage as well */
};

enum ring_action {
	RING_SEND,   /* outgoing: source goes to peer */
	RING_SIGNAL, /* both: the entry record alone */
	RING_COPY,   /* incoming: result = message; without one: result = source */
	RING_HOLD,   /* incoming: the message stays in its slot, for entries behind it */
	RING_REDUCE, /* incoming: result = source op messages, source scaled if `scaled`;
			without one: result = source op source ... */
	RING_SCALE,  /* incoming, from oneself: result = scalar * source */
};

#define RING_SUM_RANKS 64      /* ranks whose inputs are added at once, at most */
#define RING_OPENING_BYTES 224 /* of payload, at most, behind an entry record */

struct ring_place {
	enum ring_buffer buffer;
	uint64_t offset; /* bytes */
};

/* COPY, REDUCE: messages that stayed in their slots, which an entry takes beside its own source. */
struct ring_held {
	uint64_t first; /* index of the first HOLD; the others follow it */
	uint64_t skip;  /* bytes of each before those that are taken */
	int count;      /* 0: none */
	bool releases;  /* gives all slots back: no later entry takes from them */
};

/* REDUCE: chunks of SCRATCH, one behind the other, that are added in front of the source. */
struct ring_pile {
	uint64_t offset; /* bytes */
	int count;       /* 0: none */
};

/* One entry of either sequence. Compilers for GPUs want members named in this order. */
struct ring_transfer {
	enum ring_action action;
	int peer;                         /* rank, may be this one */
	struct ring_place source, result; /* what opens an exchange was at source in peer's INPUT */
	uint64_t bytes;                   /* of payload */
	uint64_t needs;                   /* entries of the other sequence */
	uint64_t exchange; /* opens: which of the plan's exchanges this is part of, from 0 */
	bool opens; /* the message begins with the entry record, which the receiver compares */
	bool last;  /* REDUCE: the last addition, where an average is divided */
	int behind; /* REDUCE of several inputs: how far along the ring the last one's rank lies */
	struct ring_held held;
	struct ring_pile pile;
	int step; /* for people: traces and error sentences */
};

#define RING_WORKERS_MOST 64 /* ranks, of which some share the work */

/*
 * Uneven parts, as one rank knows them, in elements: how many of its input go to each rank and how
 * many of its output come from each, and where these begin there. What does not flow in a call, as
 * between two ranks beside root, has none.
 */
struct ring_parts {
	const uint64_t *to, *to_at, *from, *from_at; /* [size], by rank */
};
#define RING_PARTS_LISTS 4

/* What a plan is made of; the same on all ranks, except position and channel. */
struct ring_plan_params {
	enum ring_kind kind;
	enum ring_algorithm algorithm;
	int size, position;
	const int *order; /* order[size]: position -> rank; outlives the plan */
	int root;       /* rank; BROADCAST, REDUCE, GATHER, SCATTER; the other one of SEND, RECV */
	uint64_t count; /* elements: of one part (REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER,
			   ALL_TO_ALL), of the vector (the others) */
	const struct ring_parts *parts; /* NULL: parts are even. It outlives the plan */
	uint32_t element_bytes;
	uint64_t chunk_bytes; /* largest message */
	int chunks_per_round;
	/* RING_OUTPUT is more than caches hold: copies there may bypass them */
	bool past;
	/* STAGED: the distance of places in a stage, the same in all calls; a chunk at least */
	uint64_t place_bytes;
	int channel, channels; /* this channel, of `channels` */
	bool scaled;           /* reductions: own input is multiplied by the call's scalar first */
	bool in_order;         /* sums begin with position 0, whosever block it is (ADDS_ALL) */
	bool boards;           /* what a rank says to all others takes no messages */
	bool apart; /* data are messages of their own: what writes records cannot reach them */
	/* BROADCAST by DIRECT: the ranks that share the work, bits by places behind root; 0: all */
	uint64_t workers;
};

struct ring_plan {
	struct ring_plan_params params;
	uint64_t signals;            /* entries that incoming begins with and that are SIGNAL */
	uint64_t outgoing, incoming; /* entries of the two sequences */
	/* incoming ones until all that this rank hears of have agreed; later messages are data */
	uint64_t agreed;
	bool mutual;             /* every link has one in the other direction */
	bool sends_on;           /* what was copied to OUTPUT may be sent from there */
	uint64_t exchanges;      /* how often every rank says the same to all others */
	int edges;               /* links that this rank needs, counted with duplicates */
	uint64_t chunk;          /* elements of a chunk */
	uint64_t chunks, rounds; /* chunks of a block in each round; rounds */
	uint64_t scratch_chunks; /* reduced chunks that may wait to be sent */
	int next, prev;          /* ranks */

	/* RING, STRIDE, TWO_SHOT, STAGED, DIRECT: the blocks of a vector */
	struct {
		uint64_t elements;
		uint64_t longer; /* this many blocks, the first ones, have one element more */
		/* this channel's share of a block, or of a part; and of a longer one */
		struct {
			uint64_t begin, length;
		} share[2];
	} block;

	/*
	 * ONE_SHOT, BRUCK, DIRECT, TREE, PAIR, chains of the RING: this channel's elements of the
	 * vector, or of each part
	 */
	struct {
		uint64_t begin, length;
	} share;

	/* ONE_SHOT, TWO_SHOT, STAGED, DIRECT: entries per chunk; one's own part is in `in` */
	struct {
		uint64_t out, in;
	} fan;

	/* RING */
	struct {
		int first, steps;  /* the steps that this kind walks: [first, first+steps) */
		uint64_t scalings; /* before them, steps that scale what is sent first: 0 or 1 */
	} around;

	/* STRIDE */
	struct {
		int positions; /* of one stride */
		int count;     /* strides from the first sum to the block's owner */
	} stride;

	int hop;      /* REDUCE, BROADCAST, TREE: place in the chain or tree, from 0 */
	int children; /* TREE */
	int behind;   /* DIRECT: the rank that sums add last, as a distance along the ring */
	/* ONE_SHOT, TREE, of a small call: bytes of input, which goes with the record; or 0 */
	uint64_t opening;
};

/* Steps and bytes of one rank on one channel. */
struct ring_plan_cost {
	uint64_t steps;      /* messages that must follow one another, entry records apart */
	uint64_t agreement;  /* entry records that must follow one another before them */
	uint64_t sent_bytes; /* payload, on links or straight from memory to memory */
};

/* Share `index` of `count` elements among `parts`; shares differ by at most one, longer first. */
RING_PURE uint64_t ring_share_begin(uint64_t count, uint64_t parts, uint64_t index)
{
	uint64_t rest = count % parts;
	return count / parts * index + (index < rest ? index : rest);
}

RING_PURE uint64_t ring_share_length(uint64_t count, uint64_t parts, uint64_t index)
{
	return count / parts + (index < count % parts);
}

/* Cuts the longest share of a channel into chunks; every rank comes to the same numbers. */
RING_PURE void ring_plan_cut(struct ring_plan *plan, uint64_t longest, uint64_t chunks_per_round)
{
	plan->chunk = plan->params.chunk_bytes / plan->params.element_bytes;
	if (plan->chunk == 0)
		plan->chunk = 1;
	uint64_t total = longest / plan->chunk + (longest % plan->chunk > 0);
	plan->chunks = chunks_per_round < total ? chunks_per_round : total;
	plan->rounds = total == 0 ? 0 : (total + plan->chunks - 1) / plan->chunks;
}

/* This channel's share of `length` elements from *begin on. */
RING_PURE uint64_t ring_plan_of_channel(const struct ring_plan *plan, uint64_t length,
					uint64_t *begin)
{
	const struct ring_plan_params *params = &plan->params;
	if (params->channels == 1)
		return length;
	*begin += ring_share_begin(length, params->channels, params->channel);
	return ring_share_length(length, params->channels, params->channel);
}

/*
 * Whether a rank knows no more of the parts than what it sends and receives itself; else all know
 * all of them.
 */
RING_PURE bool ring_plan_knows_own_parts(const struct ring_plan_params *params)
{
	return params->parts && params->kind != RING_KIND_ALL_GATHER &&
	       params->kind != RING_KIND_REDUCE_SCATTER;
}

/*
 * Elements between this rank and a peer, as the record on their link says if only they know: with a
 * root, of the one way that data take between them; else of this link's way.
 */
RING_PURE uint64_t ring_plan_on_edge(const struct ring_plan_params *params, int peer, bool outgoing)
{
	bool is_root = params->order[params->position] == params->root;
	if (ring_kind_has_root(params->kind))
		outgoing = is_root == ring_kind_is_from_root(params->kind);
	return outgoing ? params->parts->to[peer] : params->parts->from[peer];
}

/* The most elements that go to or come from one rank. */
RING_PURE uint64_t ring_parts_longest(const struct ring_parts *parts, int size)
{
	uint64_t longest = 0;
	for (int rank = 0; rank < size; rank++) {
		longest = longest < parts->to[rank] ? parts->to[rank] : longest;
		longest = longest < parts->from[rank] ? parts->from[rank] : longest;
	}
	return longest;
}

RING_PURE uint64_t ring_plan_longest_part(const struct ring_plan_params *params)
{
	return params->parts ? ring_parts_longest(params->parts, params->size) : params->count;
}

/*
 * The part of `rank` in the buffer that has a part for each: elements, and where it begins.
 * REDUCE_SCATTER, ALL_GATHER
 */
RING_PURE uint64_t ring_plan_whole_part(const struct ring_plan *plan, int rank, uint64_t *begin)
{
	const struct ring_parts *parts = plan->params.parts;
	bool of_input = ring_kind_has_parts_in(plan->params.kind);
	*begin = plan->params.count * (uint64_t)rank;
	if (!parts)
		return plan->params.count;
	*begin = of_input ? parts->to_at[rank] : parts->from_at[rank];
	return of_input ? parts->to[rank] : parts->from[rank];
}

/* Cuts this channel's share of a vector's blocks, or of the parts, into chunks. */
RING_PURE void ring_plan_cut_blocks(struct ring_plan *plan, uint64_t chunks_per_round)
{
	const struct ring_plan_params *params = &plan->params;
	bool is_vector = params->kind == RING_KIND_ALL_REDUCE;
	plan->block.elements = params->count / params->size;
	plan->block.longer = params->count % params->size;
	uint64_t length = is_vector ? plan->block.elements : ring_plan_longest_part(params);
	uint64_t longest = is_vector ? length + (plan->block.longer > 0) : length;
	for (int i = 0; i < 2; i++) {
		plan->block.share[i].begin = 0;
		plan->block.share[i].length = ring_plan_of_channel(plan, length + i,
								   &plan->block.share[i].begin);
	}
	longest = ring_share_length(longest, params->channels, 0);
	ring_plan_cut(plan, longest, chunks_per_round);
}

/* The elements [*begin, *begin + length) of `rank`'s block of a vector. */
RING_PURE uint64_t ring_plan_whole_block(const struct ring_plan *plan, int rank, uint64_t *begin)
{
	uint64_t before = rank;
	bool longer = before < plan->block.longer;
	*begin = plan->block.elements * before + (longer ? before : plan->block.longer);
	return plan->block.elements + longer;
}

/* This channel's elements [*begin, *begin + length) of `rank`'s block. Even ones need no cut. */
RING_PURE uint64_t ring_plan_block(const struct ring_plan *plan, int rank, uint64_t *begin)
{
	bool is_vector = plan->params.kind == RING_KIND_ALL_REDUCE;
	bool longer = is_vector && (uint64_t)rank < plan->block.longer;
	if (plan->params.parts) {
		uint64_t length = ring_plan_whole_part(plan, rank, begin);
		return ring_plan_of_channel(plan, length, begin);
	}
	*begin = plan->params.count * (uint64_t)rank;
	if (is_vector)
		ring_plan_whole_block(plan, rank, begin);
	*begin += plan->block.share[longer].begin;
	return plan->block.share[longer].length;
}

/* Bytes of chunk `index` of elements [begin, begin + length), and where they begin. */
RING_PURE uint64_t ring_plan_chunk_of(const struct ring_plan *plan, uint64_t begin, uint64_t length,
				      uint64_t index, uint64_t *offset)
{
	uint64_t skip = index * plan->chunk;
	if (skip > length)
		skip = length;
	uint64_t elements = length - skip < plan->chunk ? length - skip : plan->chunk;
	*offset = (begin + skip) * plan->params.element_bytes;
	return elements * plan->params.element_bytes;
}

/* Bytes of chunk `index` of `rank`'s block on this channel, and where they begin in the vector. */
RING_PURE uint64_t ring_plan_chunk(const struct ring_plan *plan, int rank, uint64_t index,
				   uint64_t *offset)
{
	uint64_t begin, length = ring_plan_block(plan, rank, &begin);
	return ring_plan_chunk_of(plan, begin, length, index, offset);
}

/*
 * Cuts this channel's share of the vector, or of each part, into as many rounds as chunks; of
 * uneven parts the longest one's.
 */
RING_PURE void ring_plan_cut_part(struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	uint64_t longest = ring_plan_longest_part(params);
	plan->share.begin = ring_share_begin(longest, params->channels, params->channel);
	plan->share.length = ring_share_length(longest, params->channels, params->channel);
	ring_plan_cut(plan, plan->share.length, 1);
}

/* Bytes of chunk `index` < rounds of that share of part `part`, and where they begin. */
RING_PURE uint64_t ring_plan_piece(const struct ring_plan *plan, int part, uint64_t index,
				   uint64_t *offset)
{
	uint64_t skip = index * plan->chunk, rest = plan->share.length - skip;
	*offset = (plan->params.count * part + plan->share.begin + skip) *
		  plan->params.element_bytes;
	return (rest < plan->chunk ? rest : plan->chunk) * plan->params.element_bytes;
}

/*
 * a modulo n for a of [-2n, 2n): cheaper than dividing, and every entry needs it. (Of a loop nvcc
 * makes a division.)
 */
RING_PURE int ring_plan_mod(int a, int n)
{
	if (a < 0)
		a += n;
	if (a < 0)
		a += n;
	return a < n ? a : a - n;
}

RING_PURE struct ring_transfer ring_plan_signal(int peer, uint64_t needs)
{
	return (struct ring_transfer){
		.action = RING_SIGNAL, .peer = peer, .needs = needs, .opens = true, .step = -1};
}

RING_PURE int ring_plan_self(const struct ring_plan *plan)
{
	return plan->params.order[plan->params.position];
}

/* The rank that lies `distance` of [-n, n] along the ring. */
RING_PURE int ring_plan_at(const struct ring_plan *plan, int distance)
{
	const struct ring_plan_params *params = &plan->params;
	return params->order[ring_plan_mod(params->position + distance, params->size)];
}

/* How far along the ring this rank lies behind root. */
RING_PURE int ring_plan_behind_root(const struct ring_plan *plan)
{
	int distance = 0;
	while (ring_plan_at(plan, -distance) != plan->params.root)
		distance++;
	return distance;
}

/* Link `index` of a rank that has links to and from all others: by distance, to and from. */
RING_PURE int ring_plan_edge_of_all(const struct ring_plan *plan, int index, bool *outgoing)
{
	int distance = index / 2 + 1;
	*outgoing = index % 2 == 0;
	return ring_plan_at(plan, *outgoing ? distance : -distance);
}

/* A plan with nothing but its neighbours yet. */
RING_PURE struct ring_plan ring_plan_begin(const struct ring_plan_params *params)
{
	struct ring_plan plan = {.params = *params};
	plan.next = ring_plan_at(&plan, 1);
	plan.prev = ring_plan_at(&plan, -1);
	return plan;
}

/* Entry `index` < n-1 of those that hold a chunk of every other rank, in the order of the ring. */
RING_PURE struct ring_transfer ring_plan_hold(const struct ring_plan *plan, int index,
					      uint64_t bytes)
{
	return (struct ring_transfer){.action = RING_HOLD,
				      .peer = ring_plan_at(plan, index + 1),
				      .bytes = bytes,
				      .step = index};
}

/*
 * How far along the ring the rank lies whose input comes last in sums for the block of the rank
 * that lies `behind`: that one, or the last position's.
 */
RING_PURE int ring_plan_last(const struct ring_plan *plan, int behind)
{
	const struct ring_plan_params *params = &plan->params;
	return params->in_order ? params->size - 1 - params->position : behind;
}

/*
 * Adds them up in the ring's order for the block of the rank that lies `behind`: from the rank
 * after the last one all the way around. Offsets are of the own summand in INPUT and of the sum in
 * OUTPUT.
 */
RING_PURE struct ring_transfer ring_plan_sum(const struct ring_plan *plan, uint64_t holds,
					     int behind, uint64_t own, uint64_t sum)
{
	return (struct ring_transfer){
		.action = RING_REDUCE,
		.peer = ring_plan_self(plan),
		.source = {RING_INPUT, own},
		.result = {RING_OUTPUT, sum},
		.last = true,
		.behind = ring_plan_last(plan, behind),
		.held = {.first = holds, .count = plan->params.size - 1, .releases = behind == 0},
		.step = plan->params.size - 1};
}

#endif
