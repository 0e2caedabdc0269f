/* SPDX-License-Identifier: MIT */
/*
 * One rank makes another call than the others: every rank gets RING_EMISMATCH within a second, with
 * a sentence that names both calls, and no rank's buffers have been touched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/multi/calls.h"

#define ELEMENTS 50000
#define CANARY 0xc7

/* The odd rank makes `odd` where the others make `usual`; both words must be in the sentence. */
struct clash {
	const char *name;
	struct call usual, odd;
	const char *words[2];
};

static const struct clash clashes[] = {
	{"kind",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0},
	 {ALL_GATHER, 5000, RING_FLOAT32, RING_SUM, 0},
	 {"all_reduce", "all_gather"}},
	{"kind of two that go all the way around",
	 {ALL_GATHER, 500, RING_FLOAT32, RING_SUM, 0},
	 {BROADCAST, 500, RING_FLOAT32, RING_SUM, 0},
	 {"all_gather", "broadcast"}},
	{"barrier instead",
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_SUM, 0},
	 {BARRIER, 0, RING_FLOAT32, RING_SUM, 0},
	 {"reduce_scatter", "barrier"}},
	{"count",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0},
	 {ALL_REDUCE, 5001, RING_FLOAT32, RING_SUM, 0},
	 {"5000", "5001"}},
	{"count 0",
	 {ALL_REDUCE, 40000, RING_FLOAT32, RING_SUM, 0},
	 {ALL_REDUCE, 0, RING_FLOAT32, RING_SUM, 0},
	 {"40000", "of 0 "}},
	{"count of a gather",
	 {ALL_GATHER, 7, RING_FLOAT32, RING_SUM, 0},
	 {ALL_GATHER, 9000, RING_FLOAT32, RING_SUM, 0},
	 {"of 7 ", "of 9000 "}},
	{"type of the same size",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0},
	 {ALL_REDUCE, 5000, RING_INT32, RING_SUM, 0},
	 {"float", "int32"}},
	{"type and bytes",
	 {ALL_REDUCE, 5000, RING_FLOAT64, RING_SUM, 0},
	 {ALL_REDUCE, 5000, RING_BFLOAT16, RING_SUM, 0},
	 {"double", "bfloat16"}},
	{"operation",
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_SUM, 0},
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_MAX, 0},
	 {"sum", "max"}},
	{"root",
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 0},
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 1},
	 {"root 0", "root 1"}},
};
#define CLASHES (int)(sizeof(clashes) / sizeof(clashes[0]))

struct plan {
	const struct clash *clash;
	int odd;   /* the rank that makes the other call */
	int calls; /* good ones before */
	bool in_place;
};

struct buffers {
	unsigned char send[ELEMENTS * 8], recv[ELEMENTS * 8];
};

static bool is_untouched(const unsigned char *memory, size_t bytes)
{
	return memory[0] == CANARY && memcmp(memory, memory + 1, bytes - 1) == 0;
}

static int check_verdict(struct harness_rank *self, struct ring_comm *comm, int err,
			 const struct buffers *buffers, double took)
{
	const struct clash *clash = ((const struct plan *)self->context)->clash;
	const char *sentence = ring_comm_error(comm);
	if (err != RING_EMISMATCH)
		return harness_fail(self, "%s: got %d (%s) %s", clash->name, err,
				    ring_strerror(err), sentence);
	if (!strstr(sentence, clash->words[0]) || !strstr(sentence, clash->words[1]))
		return harness_fail(self, "%s: the sentence does not name both calls: %s",
				    clash->name, sentence);
	if (!is_untouched(buffers->recv, sizeof(buffers->recv)) ||
	    !is_untouched(buffers->send, sizeof(buffers->send)))
		return harness_fail(self, "%s: a buffer was touched", clash->name);
	if (took > 1)
		return harness_fail(self, "%s: took %.2f s", clash->name, took);
	if (ring_comm_status(comm) != RING_EMISMATCH || ring_barrier(comm, NULL) != RING_EMISMATCH)
		return harness_fail(self, "%s: the failure does not stick", clash->name);
	return 0;
}

/* Calls that agree, to have the links in the middle of things. */
static int prelude(struct harness_rank *self, struct ring_comm *comm)
{
	const struct plan *plan = self->context;
	double value[16] = {0}, sum[16];
	for (int i = 0; i < plan->calls; i++)
		if (ring_all_reduce(comm, value, sum, 16, RING_FLOAT64, RING_SUM, NULL))
			return harness_fail(self, "prelude: %s", ring_comm_error(comm));
	return 0;
}

static int clash(struct harness_rank *self, struct ring_comm *comm, struct buffers *buffers)
{
	const struct plan *plan = self->context;
	bool is_odd = self->rank == plan->odd;
	memset(buffers, CANARY, sizeof(*buffers));
	harness_barrier(self);
	double begin = harness_clock();
	const struct call *call = is_odd ? &plan->clash->odd : &plan->clash->usual;
	unsigned char *send = buffers->send, *recv = buffers->recv;
	size_t own = call_own_offset(call, self->rank);
	if (plan->in_place && call->kind == REDUCE_SCATTER)
		recv = send + own;
	else if (plan->in_place)
		send = recv + own;
	int err = call_make(comm, call, send, recv, NULL);
	return check_verdict(self, comm, err, buffers, harness_clock() - begin);
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	struct buffers *buffers = malloc(sizeof(*buffers));
	int bad = !buffers || prelude(self, comm) || clash(self, comm, buffers);
	double begin = harness_clock();
	ring_comm_destroy(comm);
	if (!bad && harness_clock() - begin > 2)
		bad = harness_fail(self, "destroying took %.2f s", harness_clock() - begin);
	free(buffers);
	return bad;
}

/* The odd rank makes one call more than the others, who leave: it must not wait for them. */
static int call_once_more(struct harness_rank *self)
{
	struct ring_comm *comm;
	double value = 1, sum;
	int bad = 0;
	if (harness_join(self, NULL, &comm) || prelude(self, comm))
		return 1;
	if (self->rank == ((const struct plan *)self->context)->odd) {
		double begin = harness_clock();
		int err = ring_all_reduce(comm, &value, &sum, 1, RING_FLOAT64, RING_SUM, NULL);
		double took = harness_clock() - begin;
		if (err != RING_EPEER || took > 2 || !strstr(ring_comm_error(comm), "left"))
			bad = harness_fail(self, "one call more gave %d after %.2f s: %s", err,
					   took, ring_comm_error(comm));
	}
	ring_comm_destroy(comm);
	return bad;
}

static int run(const struct harness_world *world, int size, const struct plan *plan,
	       harness_body *body)
{
	struct harness team = {
		.world = world, .size = size, .body = body, .context = (void *)plan, .seconds = 30};
	snprintf(team.label, sizeof(team.label), "%s, rank %d is odd after %d calls",
		 plan->clash->name, plan->odd, plan->calls);
	return harness_run(&team);
}

int main(void)
{
	unsigned teams = 0;
	double begin = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		for (int size = 2; size <= 4; size += 2) {
			for (int c = 0; c < CLASHES; c++, teams++) {
				struct plan plan = {.clash = &clashes[c],
						    .odd = (int)teams % size,
						    .calls = (int)teams % 3,
						    .in_place = teams / 2 % 2};
				if (run(&harness_worlds[w], size, &plan, be_rank))
					return 1;
			}
			struct plan more = {.clash = &clashes[0], .odd = size - 1, .calls = 2};
			if (run(&harness_worlds[w], size, &more, call_once_more))
				return 1;
		}
	}
	printf("%u mismatches of 2 and 4 ranks: all ranks told both calls, no buffer touched "
	       "(%.1f s)\n",
	       teams, harness_clock() - begin);
	return 0;
}
