/* SPDX-License-Identifier: MIT */
/*
 * One process of a job, wherever its launcher starts it: the ranks make random calls, and rank 0
 * prints a hash of all that they received. Whatever the ranks are and whatever joins them, the same
 * seed gives the same hash, as long as one algorithm carries all calls.
 *
 *	random [--calls N] [--seed N] [--threads N]
 *
 * With --threads the job's processes make the id of a second communicator known over the first one,
 * and N threads of each are its ranks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/deeds.h"

#define ROOM ((size_t)128 << 10) /* bytes of a rank's inputs, and of its outputs */
#define THREADS_MAX 16

struct plan {
	uint64_t seed;
	unsigned calls;
	int threads;
};

/* A rank that is a thread. */
struct worker {
	const struct plan *plan;
	struct ring_unique_id id;
	int size, rank;
	int bad;
};

static int complain(const char *what, const struct ring_comm *comm)
{
	printf("%s: %s\n", what, ring_comm_error(comm));
	return 1;
}

static uint64_t add_results(const struct party *party, const struct deed *deed, uint64_t hash)
{
	const struct call *call = &deed->call;
	size_t send = 0, recv = 0;
	for (int m = 0; m < deed->message_count; m++) {
		const struct message *message = &deed->messages[m];
		if (message->to == party->rank)
			hash = hash_add(hash, party->output + message->at,
					message->count * element_bytes(message->type));
	}
	if (deed->message_count || !call_writes_recv(call, party->rank))
		return hash;
	if (deed->in_place)
		call_place(call, party->rank, &send, &recv);
	return hash_add(hash, party->output + deed->recv_at + recv,
			call_recv_bytes(call, party->size));
}

/* All ranks' hashes become one. */
static int say_hash(const struct party *party, const struct plan *plan, uint64_t own)
{
	uint64_t all[DEED_RANKS], hash = 0;
	if (ring_all_gather(party->comm, &own, all, 1, RING_UINT64, NULL))
		return complain("the hashes", party->comm);
	hash = hash_add(hash, all, sizeof(*all) * (size_t)party->size);
	if (party->rank == 0)
		printf("%u random calls of %d ranks, seed %llu: hash %016llx\n", plan->calls,
		       party->size, (unsigned long long)plan->seed, (unsigned long long)hash);
	return 0;
}

static int play(struct ring_comm *comm, const struct plan *plan)
{
	static const struct harness_world world = {"random", false, NULL, 0};
	struct harness team = {.world = &world, .size = ring_comm_size(comm)};
	struct harness_rank self = {.team = &team, .rank = ring_comm_rank(comm), .size = team.size};
	struct party party = {.self = &self, .comm = comm, .size = self.size, .rank = self.rank};
	struct deed *deed = malloc(sizeof(*deed));
	uint64_t seed = plan->seed, hash = 0;
	unsigned char *memory = calloc(2, ROOM);
	int bad = !memory || !deed || party.size > DEED_RANKS;
	party.input = memory;
	party.output = memory + ROOM;
	for (unsigned call = 0; !bad && call < plan->calls; call++) {
		deed_choose(&party, harness_random(&seed), 0, ROOM, deed);
		deed_fill(&party, deed);
		bad = deed_make(&party, deed, (struct deed_streams){NULL, 0});
		hash = add_results(&party, deed, hash);
	}
	free(memory);
	free(deed);
	return bad || say_hash(&party, plan, hash);
}

static void *be_worker(void *context)
{
	struct worker *worker = context;
	struct ring_comm *comm;
	if (ring_comm_create(&comm, worker->size, worker->rank, &worker->id, NULL)) {
		worker->bad = complain("creation as a thread", NULL);
		return NULL;
	}
	worker->bad = play(comm, worker->plan);
	ring_comm_destroy(comm);
	return NULL;
}

static int play_in_threads(struct ring_comm *comm, const struct plan *plan)
{
	const int first = ring_comm_rank(comm) * plan->threads;
	struct worker workers[THREADS_MAX];
	struct ring_unique_id id = {0};
	pthread_t threads[THREADS_MAX];
	int bad = 0, started = 0;
	if (first == 0 && ring_unique_id_create(&id))
		return complain("ring_unique_id_create", NULL);
	if (ring_broadcast(comm, &id, &id, sizeof(id), RING_INT8, 0, NULL))
		return complain("the id", comm);
	for (; !bad && started < plan->threads; started++) {
		workers[started] = (struct worker){.plan = plan,
						   .id = id,
						   .size = ring_comm_size(comm) * plan->threads,
						   .rank = first + started};
		bad = pthread_create(&threads[started], NULL, be_worker, &workers[started]) != 0;
	}
	for (int t = 0; t < started - (bad != 0); t++) {
		pthread_join(threads[t], NULL);
		bad |= workers[t].bad;
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct plan plan = {.seed = harness_seed(argc, argv), .calls = 20};
	struct ring_comm *comm;
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--calls") == 0)
			plan.calls = (unsigned)strtoul(argv[i + 1], NULL, 0);
		if (strcmp(argv[i], "--threads") == 0)
			plan.threads = atoi(argv[i + 1]);
	}
	if (plan.threads < 0 || plan.threads > THREADS_MAX)
		return 2;
	if (ring_comm_create_from_env(&comm, NULL))
		return complain("creation", NULL);
	int bad = plan.threads > 0 ? play_in_threads(comm, &plan) : play(comm, &plan);
	ring_comm_destroy(comm);
	return bad;
}
