/* SPDX-License-Identifier: MIT */
/*
 * One rank makes another call than the others, or two differ about a message: every rank concerned
 * gets RING_EMISMATCH within a second, with a sentence that names both calls, and no buffer has been
 * touched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/multi/calls.h"
#include "tests/place.h"

#define ELEMENTS 50000
#define CANARY 0xc7

/* Odd ranks make `odd` where the others make `usual`; both words must be in the sentence. */
struct clash {
	const char *name;
	struct call usual, odd;
	const char *words[2];
};

static const struct clash clashes[] = {
	{"kind",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_GATHER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"all_reduce", "all_gather"}},
	{"kind of two that go all the way around",
	 {ALL_GATHER, 500, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 500, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"all_gather", "broadcast"}},
	{"kind of two chains",
	 {REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {" reduce", "broadcast"}},
	{"kind of two that go straight",
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SCATTER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {" gather", " scatter"}},
	{"kind of a star and all its links",
	 {ALL_TO_ALL, 500, RING_FLOAT32, RING_SUM, 0, NULL},
	 {GATHER, 500, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"all_to_all", " gather"}},
	{"all links instead of a star",
	 {SCATTER, 500, RING_FLOAT32, RING_SUM, 1, NULL},
	 {ALL_TO_ALL, 500, RING_FLOAT32, RING_SUM, 0, NULL},
	 {" scatter", "all_to_all"}},
	{"around instead of straight",
	 {ALL_TO_ALL, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"all_to_all", "all_reduce"}},
	{"straight instead of around",
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"reduce_scatter", " gather"}},
	{"a few for all instead of a star",
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {ALL_REDUCE, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {" gather", "all_reduce"}},
	{"a star instead of a few for all",
	 {ALL_TO_ALL, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SCATTER, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"all_to_all", " scatter"}},
	{"a few from a root instead of around",
	 {ALL_GATHER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SCATTER, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"all_gather", " scatter"}},
	{"barrier instead",
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BARRIER, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"reduce_scatter", "barrier"}},
	{"count",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5001, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"5000", "5001"}},
	{"count 0",
	 {ALL_REDUCE, 40000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"40000", "of 0 "}},
	{"count of an all-gather",
	 {ALL_GATHER, 7, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_GATHER, 9000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"of 7 ", "of 9000 "}},
	{"count of a gather",
	 {GATHER, 9000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {GATHER, 7, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"of 9000 ", "of 7 "}},
	{"count of a scatter",
	 {SCATTER, 7, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SCATTER, 9000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"of 7 ", "of 9000 "}},
	{"count of an all-to-all",
	 {ALL_TO_ALL, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_TO_ALL, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"5000", "of 0 "}},
	{"type of the same size",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5000, RING_INT32, RING_SUM, 0, NULL},
	 {"float", "int32"}},
	{"type and bytes",
	 {ALL_REDUCE, 5000, RING_FLOAT64, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5000, RING_BFLOAT16, RING_SUM, 0, NULL},
	 {"double", "bfloat16"}},
	{"type of a gather",
	 {GATHER, 5000, RING_UINT8, RING_SUM, 0, NULL},
	 {GATHER, 5000, RING_FLOAT8_E4M3, RING_SUM, 0, NULL},
	 {"uint8", "f8e4m3"}},
	{"operation",
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {REDUCE_SCATTER, 5000, RING_FLOAT32, RING_MAX, 0, NULL},
	 {"sum", "max"}},
	{"operation of a reduce",
	 {REDUCE, 5000, RING_FLOAT32, RING_AVG, 0, NULL},
	 {REDUCE, 5000, RING_FLOAT32, RING_PROD, 0, NULL},
	 {"avg", "prod"}},
	{"root",
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"root 0", "root 1"}},
	{"root of a reduce",
	 {REDUCE, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"root 1", "root 0"}},
	{"root of a gather",
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"root 0", "root 1"}},
	{"root of a scatter",
	 {SCATTER, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {SCATTER, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"root 1", "root 0"}},
	{"root of a few",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"root 0", "root 1"}},
	{"count of a few",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {BROADCAST, 6, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"of 5 ", "of 6 "}},
	{"operation of a few",
	 {ALL_REDUCE, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5, RING_FLOAT32, RING_MAX, 0, NULL},
	 {"sum", "max"}},
	{"kind of a few",
	 {ALL_REDUCE, 4, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_GATHER, 4, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"all_reduce", "all_gather"}},
	{"count of a few that are added",
	 {ALL_REDUCE, 4, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"of 4 ", "of 5 "}},
	{"many instead of a few",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"of 5 ", "of 5000 "}},
	{"a few instead of many",
	 {BROADCAST, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"of 5000 ", "of 5 "}},
	{"a sum instead of a few from root",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {ALL_REDUCE, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"broadcast", "all_reduce"}},
	{"a few from root instead of a sum",
	 {ALL_REDUCE, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"all_reduce", "broadcast"}},
	{"a barrier instead of a few from root",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 1, NULL},
	 {BARRIER, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"broadcast", "barrier"}},
	{"a few from root instead of a barrier",
	 {BARRIER, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"barrier", "broadcast"}},
	{"a gather instead of a few from root",
	 {BROADCAST, 5, RING_FLOAT32, RING_SUM, 0, NULL},
	 {GATHER, 5000, RING_FLOAT32, RING_SUM, 1, NULL},
	 {"broadcast", " gather"}},
};
#define CLASHES (int)(sizeof(clashes) / sizeof(clashes[0]))

/* The odd rank sends `odd` to the next one, which receives `usual`. */
static const struct clash messages[] = {
	{"count of a message",
	 {RECV, 5001, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SEND, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"5001", "5000"}},
	{"nothing instead of a message",
	 {RECV, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SEND, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"5000", "of 0 "}},
	{"a message instead of nothing",
	 {RECV, 0, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SEND, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"of 0 ", "5000"}},
	{"type of a message",
	 {RECV, 5000, RING_INT32, RING_SUM, 0, NULL},
	 {SEND, 5000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {"int32", "float"}},
	{"type of nothing",
	 {RECV, 0, RING_UINT8, RING_SUM, 0, NULL},
	 {SEND, 0, RING_FLOAT64, RING_SUM, 0, NULL},
	 {"uint8", "double"}},
	{"type of a long message",
	 {RECV, 50000, RING_FLOAT32, RING_SUM, 0, NULL},
	 {SEND, 50000, RING_FLOAT64, RING_SUM, 0, NULL},
	 {"float", "double"}},
};
#define MESSAGES (int)(sizeof(messages) / sizeof(messages[0]))

struct plan {
	const struct clash *clash;
	const char *algorithm; /* NULL: the library chooses */
	int odd;               /* the rank that makes the other call ... */
	bool several; /* ... and the one behind it, so that each has someone to agree with */
	int calls;    /* good ones before */
	bool known;   /* both calls were made before, by all alike */
	bool in_place;
	bool grouped; /* of messages: both ends in groups */
};

struct buffers {
	unsigned char send[ELEMENTS * 8], recv[ELEMENTS * 8];
};

/* Broadcasts that take a message from parent to child, or one on a board. */
static bool is_few(const struct call *call)
{
	return call->kind == BROADCAST && call->count * 4 <= 224;
}

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
	if (took > 2 * HARNESS_ROOM)
		return harness_fail(self, "%s: took %.2f s", clash->name, took);
	if (ring_comm_status(comm) != RING_EMISMATCH || ring_barrier(comm, NULL) != RING_EMISMATCH)
		return harness_fail(self, "%s: the failure does not stick", clash->name);
	return 0;
}

/* Calls that agree, so that both are known, and taken for what comes next. */
static int make_known(struct harness_rank *self, struct ring_comm *comm, struct buffers *buffers)
{
	const struct clash *clash = ((const struct plan *)self->context)->clash;
	int err = 0;
	for (int i = 0; i < 3 && !err; i++) {
		err = call_make(comm, &clash->usual, place_of(buffers->send),
				place_of(buffers->recv), NULL);
		if (!err)
			err = call_make(comm, &clash->odd, place_of(buffers->send),
					place_of(buffers->recv), NULL);
	}
	return err ? harness_fail(self, "known before: %s", ring_comm_error(comm)) : 0;
}

/* Calls that agree, to have the links in the middle of things. */
static int prelude(struct harness_rank *self, struct ring_comm *comm)
{
	const struct plan *plan = self->context;
	const struct clash *clash = plan->clash;
	const struct call *few = is_few(&clash->usual) ? &clash->usual : &clash->odd;
	double value[16] = {0}, sum[16];
	int err = 0;
	for (int i = 0; i < plan->calls && !err; i++) {
		err = ring_all_reduce(comm, value, sum, 16, RING_FLOAT64, RING_SUM, NULL);
		if (is_few(few) && !err)
			err = ring_broadcast(comm, value, sum, 2, RING_FLOAT64, few->root, NULL);
	}
	return err ? harness_fail(self, "prelude: %s", ring_comm_error(comm)) : 0;
}

static bool is_odd(const struct harness_rank *self)
{
	const struct plan *plan = self->context;
	return self->rank == plan->odd ||
	       (plan->several && self->rank == (plan->odd + 1) % self->size);
}

static int clash(struct harness_rank *self, struct ring_comm *comm, struct buffers *buffers)
{
	const struct plan *plan = self->context;
	const struct call *call = is_odd(self) ? &plan->clash->odd : &plan->clash->usual;
	unsigned char *send = buffers->send, *recv = buffers->recv;
	size_t send_at, recv_at;
	memset(buffers, CANARY, sizeof(*buffers));
	place_put(buffers, sizeof(*buffers));
	if (plan->in_place && call_place(call, self->rank, &send_at, &recv_at)) {
		send = buffers->recv + send_at;
		recv = buffers->recv + recv_at;
	}
	harness_barrier(self);
	double begin = harness_clock();
	int err = call_make(comm, call, place_of(send), place_of(recv), NULL);
	place_get(buffers, sizeof(*buffers));
	return check_verdict(self, comm, err, buffers, harness_clock() - begin);
}

/* A send may return before the message was taken; then the failure comes a little later. */
static int await_failure(const struct ring_comm *comm, int err, double begin)
{
	while (!err && harness_clock() < begin + 1 * HARNESS_ROOM) {
		usleep(1000);
		err = ring_comm_status(comm);
	}
	return err;
}

static int clash_message(struct harness_rank *self, struct ring_comm *comm, struct buffers *buffers)
{
	const struct plan *plan = self->context;
	const int sender = plan->odd, receiver = (sender + 1) % self->size;
	struct call call = self->rank == sender ? plan->clash->odd : plan->clash->usual;
	call.root = self->rank == sender ? receiver : sender;
	memset(buffers, CANARY, sizeof(*buffers));
	place_put(buffers, sizeof(*buffers));
	harness_barrier(self);
	if (self->rank != sender && self->rank != receiver) {
		harness_barrier(self);
		return 0;
	}
	double begin = harness_clock();
	int err = plan->grouped ? ring_group_start() : 0;
	if (!err)
		err = call_make(comm, &call, place_of(buffers->send), place_of(buffers->recv), NULL);
	if (!err && plan->grouped)
		err = ring_group_end();
	err = await_failure(comm, err, begin);
	place_get(buffers, sizeof(*buffers));
	int bad = check_verdict(self, comm, err, buffers, harness_clock() - begin);
	harness_barrier(self); /* the others stay, as they may pass the news on */
	return bad;
}

static bool is_about_message(const struct plan *plan)
{
	return plan->clash->odd.kind == SEND;
}

static int join(struct harness_rank *self, struct ring_comm **comm)
{
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = ((const struct plan *)self->context)->algorithm;
	return harness_join(self, &options, comm);
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (join(self, &comm))
		return 1;
	struct buffers *buffers = malloc(sizeof(*buffers));
	place_make(buffers, sizeof(*buffers));
	int bad = !buffers || prelude(self, comm);
	if (!bad && ((const struct plan *)self->context)->known)
		bad = make_known(self, comm, memset(buffers, 0, sizeof(*buffers)));
	if (!bad)
		bad = is_about_message(self->context) ? clash_message(self, comm, buffers)
						      : clash(self, comm, buffers);
	double begin = harness_clock();
	ring_comm_destroy(comm);
	if (!bad && harness_clock() - begin > 2 * HARNESS_ROOM)
		bad = harness_fail(self, "destroying took %.2f s", harness_clock() - begin);
	place_drop(buffers);
	free(buffers);
	return bad;
}

/* The odd rank makes one call more than the others, who leave: it must not wait for them. */
static int call_once_more(struct harness_rank *self)
{
	struct ring_comm *comm;
	double value = 1, sum;
	int bad = 0;
	if (join(self, &comm) || prelude(self, comm))
		return 1;
	if (self->rank == ((const struct plan *)self->context)->odd) {
		double begin = harness_clock();
		int err = ring_all_reduce(comm, &value, &sum, 1, RING_FLOAT64, RING_SUM, NULL);
		double took = harness_clock() - begin;
		if (err != RING_EPEER || took > 2 * HARNESS_ROOM ||
		    !strstr(ring_comm_error(comm), "left"))
			bad = harness_fail(self, "one call more gave %d after %.2f s: %s", err,
					   took, ring_comm_error(comm));
	}
	ring_comm_destroy(comm);
	return bad;
}

static unsigned made; /* teams */

/* Without a world there is none, but that teams have the same numbers, and so algorithms, in all forms. */
static int run(const struct harness_world *world, int size, const struct plan *plan,
	       harness_body *body)
{
	if (!world)
		return 0;
	made++;
	struct harness team = {
		.world = world, .size = size, .body = body, .context = (void *)plan, .seconds = 30};
	snprintf(team.label, sizeof(team.label), "%s, %s, rank %d%s odd after %d calls",
		 plan->clash->name, plan->algorithm ? plan->algorithm : "chosen", plan->odd,
		 plan->several ? " and the next are" : " is", plan->calls);
	return harness_run(&team);
}

static const char *const algorithms[] = {NULL,    "ring",   "oneshot", "stride", "twoshot",
					 "bruck", "staged", "direct",  "tree"};
#define ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

static int run_clash(const struct harness_world *world, int size, const struct clash *clash,
		     const char *algorithm, unsigned *teams)
{
	struct plan plan = {.clash = clash,
			    .algorithm = algorithm,
			    .odd = (int)*teams % size,
			    .several = size > 2 && *teams / 5 % 2,
			    .calls = (int)*teams % 3,
			    .in_place = *teams / 2 % 2,
			    .grouped = *teams % 2};
	++*teams;
	return run(world, size, &plan, be_rank);
}

/* The last rank waits for root, and the others for it: nobody has sent what tells. */
static int run_silent(const struct harness_world *world, int size, const struct clash *clash,
		      unsigned *teams)
{
	struct plan plan = {.clash = clash, .algorithm = "tree", .odd = size - 1, .calls = 1};
	++*teams;
	return run(world, size, &plan, be_rank);
}

/* What all answer and say at once. */
static bool is_said_at_once(const struct call *call)
{
	return (call->kind == ALL_REDUCE || call->kind == ALL_GATHER) && call->count <= 5;
}

static int run_known(const struct harness_world *world, int size, const struct clash *clash,
		     unsigned *teams)
{
	struct plan plan = {.clash = clash, .odd = (int)*teams % size, .known = true};
	++*teams;
	return run(world, size, &plan, be_rank);
}

/* In short over each transport by two or by four. */
static bool is_tried(int c, int world, int size)
{
	int stride = harness_is_long(0, NULL) ? 1 : harness_is_quick() ? 4 : 2;
	return (c + world + size / 2) % stride == 0;
}

static int run_size(int w, int size, unsigned *teams)
{
	for (int c = 0; c < CLASHES + MESSAGES; c++) {
		const struct clash *clash = c < CLASHES ? &clashes[c] : &messages[c - CLASHES];
		const char *algorithm = algorithms[(*teams + *teams / 31) % ALGORITHMS];
		const struct harness_world *world = &harness_worlds[w];
		bool few = is_few(&clash->usual) || is_few(&clash->odd);
		if (place_is_far() && (c + size + *teams) % 13) /* each takes long there */
			continue;
		if (!place_is_far() && !is_tried(c, w, size))
			world = NULL;
		if (run_clash(world, size, clash, algorithm, teams) ||
		    (few && run_clash(world, size, clash, "oneshot", teams)) ||
		    (few && run_silent(world, size, clash, teams)))
			return 1;
		if (is_said_at_once(&clash->usual) && is_said_at_once(&clash->odd) &&
		    run_known(world, size, clash, teams))
			return 1;
	}
	struct plan more = {.clash = &clashes[0],
			    .algorithm = algorithms[*teams % ALGORITHMS],
			    .odd = size - 1,
			    .calls = 2};
	return run(&harness_worlds[w], size, &more, call_once_more);
}

int main(void)
{
	unsigned teams = 0;
	double begin = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int size = 2; size <= 4; size += 2)
			if (run_size(w, size, &teams))
				return 1;
	printf("%u mismatches of 2 and 4 ranks%s: all told both calls, no buffer touched (%.1f "
	       "s)\n",
	       made, place_is_far() ? ", in far memory" : "", harness_clock() - begin);
	return 0;
}
