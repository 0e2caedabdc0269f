/* SPDX-License-Identifier: MIT */
/*
 * A call that failed has given the caller's memory back: no rank that is still at it writes there any
 * more. One rank aborts while all reach into one another's memory, and whoever gets the error fills its
 * results with something else and watches over that.
 *
 *	TEST [--long] [--seed N]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/harness.h"

#define RANKS 4
#define BYTES ((size_t)8 << 20)
#define CANARY 0xc7
#define WATCHED_NS 20000000 /* a hundred times what a piece takes */
#define ABORTED_WITHIN_NS 8000000

struct round {
	uint64_t seed;
	bool shared; /* memory is mapped; else copied */
};

static void pass(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

struct aborter {
	struct ring_comm *comm;
	uint64_t after_ns;
};

static void *abort_later(void *context)
{
	const struct aborter *aborter = context;
	pass(aborter->after_ns);
	ring_comm_abort(aborter->comm);
	return NULL;
}

static int check_canaries(struct harness_rank *self, const unsigned char *recv)
{
	for (size_t i = 0; i < BYTES; i++)
		if (recv[i] != CANARY)
			return harness_fail(self, "byte %zu changed after the call had failed", i);
	return 0;
}

/* Every sum is of numbers that are not canaries, so that every write shows. */
static int watch(struct harness_rank *self, struct ring_comm *comm, const float *send, float *recv)
{
	int err;
	do
		err = ring_all_reduce(comm, send, recv, BYTES / sizeof(float), RING_FLOAT32,
				      RING_SUM, NULL);
	while (!err);
	memset(recv, CANARY, BYTES);
	pass(WATCHED_NS);
	if (err != RING_EABORTED)
		return harness_fail(self, "%s: %s", ring_strerror(err), ring_comm_error(comm));
	return check_canaries(self, (const unsigned char *)recv);
}

static int allocate(struct ring_comm *comm, bool shared, void **memory)
{
	if (shared)
		return ring_mem_alloc(comm, 2 * BYTES, memory);
	*memory = calloc(2, BYTES);
	return *memory ? 0 : RING_ENOMEM;
}

static int be_rank(struct harness_rank *self)
{
	const struct round *round = self->context;
	struct ring_options options;
	struct ring_comm *comm;
	pthread_t thread;
	void *memory = NULL;
	harness_options(self, &options);
	options.algorithm = "direct";
	if (harness_join(self, &options, &comm))
		return 1;
	int bad = allocate(comm, round->shared, &memory);
	if (bad)
		bad = harness_fail(self, "no memory");
	harness_barrier(self);
	struct aborter aborter = {comm, round->seed % ABORTED_WITHIN_NS};
	bool aborts = !bad && (uint64_t)self->rank == round->seed % RANKS &&
		      pthread_create(&thread, NULL, abort_later, &aborter) == 0;
	if (!bad)
		bad = watch(self, comm, memory, (float *)((char *)memory + BYTES));
	if (aborts)
		pthread_join(thread, NULL);
	harness_barrier(self); /* whose memory is mapped elsewhere keeps it till then */
	if (!round->shared)
		free(memory);
	ring_comm_destroy(comm);
	return bad;
}

static int run(const struct harness_world *world, struct round *round)
{
	struct harness team = {
		.world = world, .size = RANKS, .body = be_rank, .context = round, .seconds = 20};
	snprintf(team.label, sizeof(team.label), "%s, %s memory, seed %llu", world->name,
		 round->shared ? "shared" : "private", (unsigned long long)round->seed);
	return harness_run(&team);
}

int main(int argc, char **argv)
{
	uint64_t state = harness_seed(argc, argv);
	int rounds = harness_is_long(argc, argv) ? 200 : 10;
	for (int i = 0; i < rounds; i++)
		for (int w = 0; w < 2; w++) { /* loopback, shm */
			struct round round = {harness_random(&state), i % 2};
			if (run(&harness_worlds[w], &round))
				return 1;
		}
	printf("%d calls aborted on %d ranks: nobody wrote behind the error\n", 2 * rounds, RANKS);
	return 0;
}
