/* SPDX-License-Identifier: MIT */
/*
 * Random calls on random numbers, compared bit for bit with a second computation in the documented
 * order of additions, and their payload bytes with the documented formulas. A round makes several
 * calls: one after the other, on streams, where messages and collectives run at the same time, inside
 * a group, and sometimes on communicators split from the first one at the same time. The same rounds are played again over other transports and with
 * other chunks, depths and channels: all these must agree in every bit, of which a hash is printed.
 *
 *	soak_test [--long] [--rounds N] [--seed N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/deeds.h"
#include "tests/place.h"

#define RANKS DEED_RANKS
#define DEEDS 4   /* most of a round, of one communicator */
#define STREAMS 3 /* of a communicator */

/*
 * One way to make the calls. Those of one group make the same rings and use the same algorithms, so they
 * agree in all bits. Whether private memory of other processes can be reached is the system's choice.
 */
struct way {
	struct harness_world world;
	const char *algorithm; /* NULL: the library chooses */
	size_t chunk_bytes;
	int depth, chunks_per_round, channels;
	int group;
	bool shared; /* buffers are from ring_mem_alloc() */
};

static const struct way ways[] = {
	{{"shm", false, "shm", 0}, "ring", 0, 0, 0, 0, 0, false},
	{{"shm again", false, "shm", 0}, "ring", 0, 0, 0, 0, 0, false},
	{{"shm, deep", false, "shm", 0}, "ring", 8192, 8, 3, 4, 0, false},
	{{"loopback", true, "loopback", 0}, "ring", 4096, 1, 1, 2, 0, false},
	{{"tcp", false, "tcp", 0}, "ring", 16384, 2, 2, 3, 0, false},
	{{"tcp, shared", false, "tcp", 0}, "ring", 0, 0, 0, 0, 0, true},
	{{"mixed", false, NULL, 2}, "ring", 0, 0, 0, 0, 1, false},
	{{"mixed, shallow", false, NULL, 2}, "ring", 10000, 1, 4, 1, 1, false},
	{{"shm, one shot", false, "shm", 0}, "oneshot", 0, 0, 0, 0, 2, false},
	{{"tcp, one shot, shallow", false, "tcp", 0}, "oneshot", 3000, 1, 1, 1, 2, false},
	{{"shm, two shots", false, "shm", 0}, "twoshot", 0, 0, 0, 0, 3, false},
	{{"tcp, two shots, shallow", false, "tcp", 0}, "twoshot", 5000, 1, 1, 1, 3, false},
	{{"shm, strides", false, "shm", 0}, "stride", 0, 0, 0, 0, 10, false},
	{{"tcp, strides, shallow", false, "tcp", 0}, "stride", 5000, 1, 1, 1, 10, false},
	{{"shm, log steps", false, "shm", 0}, "bruck", 0, 0, 0, 0, 9, false},
	{{"tcp, log steps, shallow", false, "tcp", 0}, "bruck", 100, 1, 1, 1, 9, false},
	{{"shm, trees", false, "shm", 0}, "tree", 0, 0, 0, 0, 9, false},
	{{"tcp, trees, shallow", false, "tcp", 0}, "tree", 5000, 1, 1, 1, 9, false},
	{{"loopback, staged", true, "loopback", 0}, "staged", 0, 0, 0, 0, 3, false},
	{{"shm, staged, small pieces", false, "shm", 0}, "staged", 1000, 1, 1, 1, 3, false},
	{{"loopback, chosen", true, "loopback", 0}, NULL, 0, 0, 0, 0, 4, false},
	{{"shm, chosen", false, "shm", 0}, NULL, 0, 0, 0, 0, 7, false},
	{{"shm, chosen, shared", false, "shm", 0}, NULL, 0, 0, 0, 0, 8, true},
	{{"loopback, direct", true, "loopback", 0}, "direct", 0, 0, 0, 0, 5, false},
	{{"shm, direct, small pieces", false, "shm", 0}, "direct", 1000, 1, 1, 1, 6, false},
	{{"shm, direct, shared", false, "shm", 0}, "direct", 4096, 0, 0, 0, 5, true},
};
#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))
#define GROUPS 11

/* What to do; all ranks and all ways do the same. */
struct plan {
	uint64_t seed;
	unsigned rounds;
	size_t room; /* bytes of a rank's inputs, and of its outputs */
	const struct way *way;
};

/* Shared by the ranks: everybody's input and output, and what they found. */
struct board {
	uint64_t hashes[RANKS]; /* of the results each rank looked at in this round */
	uint64_t hash;          /* over all rounds, by rank 0 */
	unsigned deeds[RANKS];  /* made by communicators in which this rank is the first */
	unsigned char memory[]; /* 2 * size areas of plan.room */
};

/* A communicator's part of a round. */
struct program {
	struct party party;
	struct ring_stream *streams[STREAMS]; /* NULL: calls block */
	struct deed deeds[DEEDS];
	int deed_count;
	struct ring_stats before;
};

/* ---- the communicators of a round ------------------------------------------------------------ */

/*
 * members[rank] is a rank of the whole team. Calls work in `memory`, as much as a rank's areas, or, if it
 * is NULL, there.
 */
static void join_party(const struct harness_rank *self, struct ring_comm *comm, const int *members,
		       unsigned char *memory, struct party *party)
{
	const struct plan *plan = self->context;
	struct board *board = self->shared;
	*party = (struct party){.self = self,
				.comm = comm,
				.order = comm->team.order,
				.size = ring_comm_size(comm),
				.rank = ring_comm_rank(comm)};
	for (int r = 0; r < party->size; r++) {
		party->inputs[r] = board->memory + (size_t)(2 * members[r]) * plan->room;
		party->outputs[r] = party->inputs[r] + plan->room;
	}
	party->shared = memory != NULL;
	party->input = memory ? memory : party->inputs[party->rank];
	party->output = party->input + plan->room;
}

/* One half of the memory is the whole team's, the other one that of the parts. */
static void choose_deeds(struct program *program, uint64_t seed, bool is_part)
{
	const struct plan *plan = program->party.self->context;
	size_t begin = is_part ? plan->room / 2 : 0;
	program->deed_count = 1 + (int)(harness_random(&seed) % DEEDS);
	size_t room = plan->room / 2 / (size_t)program->deed_count;
	for (int d = 0; d < program->deed_count; d++)
		deed_choose(&program->party, harness_random(&seed), begin + (size_t)d * room, room,
			    &program->deeds[d]);
}

/* Who is where after a split. */
struct division {
	int colors[RANKS], keys[RANKS];
};

static struct division random_division(uint64_t *state, int size)
{
	struct division division;
	for (int r = 0; r < size; r++) {
		int color = (int)(harness_random(state) % 4) - 1;
		division.colors[r] = color < 0 ? RING_COLOR_NONE : color / 2 * 1000;
		division.keys[r] = (int)(harness_random(state) % 7) - 3;
	}
	return division;
}

/* Ranks of one color by key, then by rank. returns how many */
static int find_members(const struct division *division, int size, int color, int *members)
{
	int count = 0;
	for (int key = -3; key <= 3; key++)
		for (int r = 0; r < size; r++)
			if (division->colors[r] == color && division->keys[r] == key)
				members[count++] = r;
	return count;
}

/* returns 0 with part->party.comm NULL for a rank that is left out */
static int split(struct program *whole, uint64_t seed, struct program *part)
{
	const struct harness_rank *self = whole->party.self;
	struct division division = random_division(&seed, self->size);
	const int color = division.colors[self->rank];
	struct ring_comm *comm;
	int members[RANKS];
	if (ring_comm_split(whole->party.comm, color, division.keys[self->rank], &comm))
		return harness_fail(self, "split: %s", ring_comm_error(whole->party.comm));
	if (!comm != (color == RING_COLOR_NONE))
		return harness_fail(self, "split by color %d gave %p", color, (void *)comm);
	if (!comm)
		return 0;
	int size = find_members(&division, self->size, color, members);
	part->party = (struct party){.comm = comm};
	if (ring_comm_size(comm) != size || members[ring_comm_rank(comm)] != self->rank)
		return harness_fail(self, "split: rank %d of %d, of which %d were expected",
				    ring_comm_rank(comm), ring_comm_size(comm), size);
	unsigned char *memory = whole->party.shared ? whole->party.input : NULL;
	join_party(self, comm, members, memory, &part->party);
	choose_deeds(part, seed + (uint64_t)color, true);
	return 0;
}

/* ---- one round ------------------------------------------------------------------------------- */

static int begin(struct program *program, bool streamed)
{
	const struct party *party = &program->party;
	program->before.size = sizeof(program->before);
	for (int s = 0; streamed && s < STREAMS; s++)
		if (ring_stream_create(party->comm, &program->streams[s]))
			return harness_fail(party->self, "stream: %s", ring_comm_error(party->comm));
	for (int d = 0; d < program->deed_count; d++)
		deed_fill(party, &program->deeds[d]);
	return ring_comm_stats(party->comm, &program->before) ? 1 : 0;
}

static int await_streams(const struct program *program)
{
	const struct party *party = &program->party;
	for (int s = 0; s < STREAMS && program->streams[s]; s++)
		if (ring_stream_wait(program->streams[s], ring_stream_position(program->streams[s])))
			return harness_fail(party->self, "waiting: %s",
					    ring_comm_error(party->comm));
	return 0;
}

/* Makes the deeds of both in turns, so that they run at the same time as far as calls do not block. */
static int perform(const struct program *programs, int count, bool grouped)
{
	const struct party *party = &programs[0].party;
	if (grouped && ring_group_start())
		return harness_fail(party->self, "group: %s", ring_comm_error(party->comm));
	for (int d = 0; d < DEEDS; d++)
		for (int p = 0; p < count; p++) {
			const struct program *program = &programs[p];
			const struct deed_streams choice = {program->streams,
							    program->streams[0] ? STREAMS : 0};
			if (d < program->deed_count &&
			    deed_make(&program->party, &program->deeds[d], choice))
				return 1;
		}
	if (grouped && ring_group_end())
		return harness_fail(party->self, "group: %s", ring_comm_error(party->comm));
	for (int p = 0; p < count; p++)
		if (await_streams(&programs[p]))
			return 1;
	return 0;
}

/* Where calls worked in memory of their own, or on a device's, all shall see it. */
static void publish(const struct party *party)
{
	const struct plan *plan = party->self->context;
	if (!party->shared)
		place_get(party->output, plan->room);
	if (!party->shared)
		return;
	memcpy(party->inputs[party->rank], party->input, plan->room);
	memcpy(party->outputs[party->rank], party->output, plan->room);
}

/* The counters have grown by what the formulas say. */
static int check_bytes(const struct program *program)
{
	const struct party *party = &program->party;
	struct ring_stats after = {.size = sizeof(after)};
	struct tally want = {program->before.calls, program->before.sent_bytes,
			     program->before.received_bytes};
	for (int d = 0; d < program->deed_count; d++)
		deed_count(party, &program->deeds[d], &want);
	if (ring_comm_stats(party->comm, &after))
		return harness_fail(party->self, "no statistics");
	if (after.calls == want.calls && after.sent_bytes == want.sent_bytes &&
	    after.received_bytes == want.received_bytes)
		return 0;
	return harness_fail(party->self,
			    "rank %d of %d made %llu calls, sent %llu bytes and received %llu; "
			    "expected %llu, %llu, %llu",
			    party->rank, party->size, (unsigned long long)after.calls,
			    (unsigned long long)after.sent_bytes,
			    (unsigned long long)after.received_bytes,
			    (unsigned long long)want.calls, (unsigned long long)want.sent_bytes,
			    (unsigned long long)want.received_bytes);
}

static int check(const struct program *program, uint64_t *hash)
{
	struct board *board = program->party.self->shared;
	for (int d = 0; d < program->deed_count; d++)
		if (deed_check(&program->party, &program->deeds[d], hash))
			return 1;
	if (program->party.rank == 0)
		board->deeds[program->party.self->rank] += (unsigned)program->deed_count;
	return check_bytes(program);
}

static void end(struct program *program)
{
	for (int s = 0; s < STREAMS; s++) {
		ring_stream_destroy(program->streams[s]);
		program->streams[s] = NULL;
	}
}

/* programs[0] is the whole team's, programs[1] that of this rank's part, if there is one. */
static int play(struct harness_rank *self, struct program programs[2], uint64_t seed)
{
	struct board *board = self->shared;
	uint64_t way = harness_random(&seed), hash = 0;
	bool streamed = way % 3 == 0, grouped = way / 3 % 3 == 0, divided = way / 9 % 4 == 0;
	choose_deeds(&programs[0], harness_random(&seed), false);
	programs[1].party.comm = NULL;
	if (divided && split(&programs[0], harness_random(&seed), &programs[1]))
		return 1;
	int count = programs[1].party.comm ? 2 : 1;
	for (int p = 0; p < count; p++)
		if (begin(&programs[p], streamed))
			return 1;
	if (perform(programs, count, grouped))
		return 1;
	publish(&programs[0].party);
	harness_barrier(self); /* all outputs are there */
	for (int p = 0; p < count; p++) {
		if (check(&programs[p], &hash))
			return 1;
		end(&programs[p]);
	}
	ring_comm_destroy(programs[1].party.comm);
	board->hashes[self->rank] = hash;
	harness_barrier(self); /* all have looked */
	for (int r = 0; self->rank == 0 && r < self->size; r++)
		board->hash = hash_add(board->hash, &board->hashes[r], sizeof(board->hashes[r]));
	return 0;
}

/* ---- many rounds ----------------------------------------------------------------------------- */

static int play_all(struct harness_rank *self, struct ring_comm *comm)
{
	static const int everyone[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
	const struct plan *plan = self->context;
	struct program *programs = calloc(2, sizeof(*programs));
	void *memory = NULL;
	int bad = !programs;
	if (plan->way->shared && ring_mem_alloc(comm, 2 * plan->room, &memory))
		bad = harness_fail(self, "%s", ring_comm_error(comm));
	if (programs)
		join_party(self, comm, everyone, memory, &programs[0].party);
	if (!memory)
		place_make(programs[0].party.input, 2 * plan->room);
	for (unsigned round = 0; !bad && round < plan->rounds; round++)
		bad = play(self, programs, plan->seed * 1000003 + round * 31 + (uint64_t)self->size);
	if (!memory)
		place_drop(programs[0].party.input);
	free(programs);
	return bad;
}

static int be_rank(struct harness_rank *self)
{
	const struct way *way = ((const struct plan *)self->context)->way;
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.algorithm = way->algorithm;
	options.chunk_bytes = way->chunk_bytes;
	options.depth = way->depth;
	options.chunks_per_round = way->chunks_per_round;
	options.channels = way->channels;
	if (harness_join(self, &options, &comm))
		return 1;
	int bad = play_all(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

/* returns 0 with the hash of all results and how many calls they took */
static int run_team(int size, const struct plan *plan, uint64_t *hash, unsigned *calls)
{
	struct harness team = {
		.world = &plan->way->world,
		.size = size,
		.body = be_rank,
		.context = (void *)plan,
		.shared_bytes = sizeof(struct board) + (size_t)(2 * size) * plan->room,
		.seconds = 60 + (int)plan->rounds * 5,
	};
	snprintf(team.label, sizeof(team.label), "--seed %llu", (unsigned long long)plan->seed);
	int bad = harness_start(&team) || harness_wait(&team);
	const struct board *board = team.shared;
	if (!bad)
		*hash = board->hash;
	for (int r = 0; !bad && r < size; r++)
		*calls += board->deeds[r];
	harness_end(&team);
	return bad;
}

/* RING_TEST_WIRE wants the ways that go by it, and one of each group to compare them with. */
static bool is_wanted(int which)
{
	bool first = true, compared = false;
	if (harness_is_wanted(&ways[which].world))
		return true;
	for (int w = 0; w < WAYS; w++) {
		first = first && (w >= which || ways[w].group != ways[which].group);
		compared = compared ||
			   (harness_is_wanted(&ways[w].world) && ways[w].group == ways[which].group);
	}
	return first && compared;
}

/* For memory apart from the host there are not all algorithms, and none that is shared. */
static bool is_there(const struct way *way)
{
	int algorithm = way->algorithm ? ring_algorithm_find(way->algorithm) : RING_ALGORITHM_RING;
	return !place_is_far() ||
	       (!way->shared &&
		ring_algorithm_keeps_apart((enum ring_algorithm)algorithm, RING_KIND_ALL_REDUCE));
}

static int run_size(int size, struct plan *plan, uint64_t *hash, unsigned *calls)
{
	uint64_t first[GROUPS] = {0};
	bool seen[GROUPS] = {false};
	for (int w = 0; w < WAYS; w++) {
		int group = ways[w].group;
		uint64_t got;
		if (!is_wanted(w) || !is_there(&ways[w]))
			continue;
		plan->way = &ways[w];
		if (run_team(size, plan, &got, calls))
			return 1;
		if (seen[group] && got != first[group]) {
			fprintf(stderr, "%d ranks, --seed %llu: %s gives other bits\n", size,
				(unsigned long long)plan->seed, ways[w].world.name);
			return 1;
		}
		seen[group] = true;
		first[group] = got;
		*hash = hash_add(*hash, &got, sizeof(got));
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool is_long = harness_is_long(argc, argv);
	struct plan plan = {
		.seed = harness_seed(argc, argv),
		.rounds = is_long ? 60 : 3,
		.room = is_long ? 16u << 20 : 1u << 20,
	};
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--rounds") == 0)
			plan.rounds = (unsigned)strtoul(argv[i + 1], NULL, 0);
	double began = harness_clock();
	uint64_t hash = 0;
	unsigned calls = 0;
	for (int size = 1; size <= RANKS; size += place_is_far() && !is_long ? 3 : 1)
		if ((!getenv("RING_TEST_WIRE") || size == 2 || size == 4) &&
		    run_size(size, &plan, &hash, &calls))
			return 1;
	printf("%u random calls and exchanges, 1 to %d ranks, %d ways: every bit and byte as "
	       "documented; --seed %llu, hash %016llx (%.1f s)\n",
	       calls, RANKS, WAYS, (unsigned long long)plan.seed, (unsigned long long)hash,
	       harness_clock() - began);
	return 0;
}
