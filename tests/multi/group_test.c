/* SPDX-License-Identifier: MIT */
/*
 * Groups: several ranks created and driven by one thread, several communicators in one group, sends
 * and receives beside collectives, streams, nesting, oneself, and groups that are refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define RANKS 4
#define COUNT 5000

static int complain(const char *what, const struct ring_comm *comm)
{
	fprintf(stderr, "%s: %s\n", what, ring_comm_error(comm));
	return 1;
}

/* ---- one thread, all ranks ------------------------------------------------------------------- */

static int create_all(struct ring_comm *comms[RANKS])
{
	struct ring_unique_id id;
	if (ring_unique_id_create(&id) || ring_group_start())
		return complain("identity", NULL);
	for (int rank = 0; rank < RANKS; rank++) {
		comms[rank] = NULL;
		if (ring_comm_create(&comms[rank], RANKS, rank, &id, NULL) || comms[rank])
			return complain("creating in a group", NULL);
	}
	if (ring_group_end())
		return complain("the group's creations", NULL);
	for (int rank = 0; rank < RANKS; rank++)
		if (ring_comm_rank(comms[rank]) != rank || ring_comm_size(comms[rank]) != RANKS)
			return complain("a created rank", comms[rank]);
	return 0;
}

/* Collectives of all ranks, and sends around the ring, in one group of one thread. */
static int drive_all(struct ring_comm *comms[RANKS])
{
	static int32_t sums[RANKS][COUNT], parts[RANKS][RANKS], sent[RANKS], received[RANKS];
	for (int round = 0; round < 20; round++) {
		ring_group_start();
		for (int rank = 0; rank < RANKS; rank++) {
			for (int i = 0; i < COUNT; i++)
				sums[rank][i] = rank + i + round;
			sent[rank] = 100 * rank + round;
			ring_all_reduce(comms[rank], sums[rank], sums[rank], COUNT, RING_INT32,
					RING_SUM, NULL);
			ring_recv(comms[rank], &received[rank], 1, RING_INT32,
				  (rank + RANKS - 1) % RANKS, NULL);
			ring_all_gather(comms[rank], &sent[rank], parts[rank], 1, RING_INT32, NULL);
			ring_send(comms[rank], &sent[rank], 1, RING_INT32, (rank + 1) % RANKS, NULL);
		}
		if (ring_group_end())
			return complain("a group of one thread", comms[0]);
		for (int rank = 0; rank < RANKS; rank++) {
			if (received[rank] != sent[(rank + RANKS - 1) % RANKS])
				return complain("a message", comms[rank]);
			for (int i = 0; i < COUNT; i++)
				if (sums[rank][i] != RANKS * (i + round) + 6)
					return complain("a sum", comms[rank]);
			for (int i = 0; i < RANKS; i++)
				if (parts[rank][i] != sent[i])
					return complain("a part", comms[rank]);
		}
	}
	return 0;
}

static void destroy_all(struct ring_comm *comms[RANKS])
{
	for (int rank = 0; rank < RANKS; rank++)
		ring_comm_destroy(comms[rank]);
}

static int one_thread(void)
{
	struct ring_comm *comms[RANKS];
	int bad = create_all(comms) || drive_all(comms);
	if (!bad)
		destroy_all(comms);
	return bad;
}

/* The sum of the ranks in comm that are in each part. */
static int check_parts(struct ring_comm *const comms[RANKS], struct ring_comm *const parts[RANKS],
		       const int32_t sums[RANKS], const char *what)
{
	int32_t got[RANKS];
	ring_group_start();
	for (int rank = 0; rank < RANKS; rank++) {
		got[rank] = ring_comm_rank(comms[rank]);
		if (parts[rank])
			ring_all_reduce(parts[rank], &got[rank], &got[rank], 1, RING_INT32,
					RING_SUM, NULL);
	}
	if (ring_group_end())
		return complain(what, parts[0]);
	for (int rank = 0; rank < RANKS; rank++)
		if (parts[rank] && got[rank] != sums[rank])
			return complain(what, parts[rank]);
	return 0;
}

/* All ranks split twice in one group, behind a call and a message; rank 3 joins no half. */
static int split_all(struct ring_comm *comms[RANKS])
{
	static const int32_t of_halves[RANKS] = {2, 1, 2, 3}, of_all[RANKS] = {6, 6, 6, 6};
	struct ring_comm *halves[RANKS], *all[RANKS];
	int32_t sums[RANKS], received = -1, sent = 17;
	ring_group_start();
	for (int rank = 0; rank < RANKS; rank++) {
		int color = rank == 3 ? RING_COLOR_NONE : rank % 2;
		halves[rank] = all[rank] = comms[rank];
		sums[rank] = rank;
		if (ring_comm_split(comms[rank], color, -rank, &halves[rank]) ||
		    ring_all_reduce(comms[rank], &sums[rank], &sums[rank], 1, RING_INT32, RING_SUM,
				    NULL) ||
		    ring_comm_split(comms[rank], 7, rank == 2 ? -1 : 0, &all[rank]) ||
		    halves[rank] != comms[rank] || all[rank] != comms[rank])
			return complain("splitting in a group", comms[rank]);
	}
	ring_send(comms[0], &sent, 1, RING_INT32, 1, NULL);
	ring_recv(comms[1], &received, 1, RING_INT32, 0, NULL);
	if (ring_group_end() || received != sent || halves[3])
		return complain("a group with splits", comms[0]);
	if (ring_comm_rank(halves[0]) != 1 || ring_comm_rank(halves[2]) != 0 ||
	    ring_comm_size(halves[1]) != 1 || ring_comm_rank(all[2]) != 0 ||
	    ring_comm_rank(all[0]) != 1 || ring_comm_rank(all[3]) != 3)
		return complain("who is who after a split", comms[0]);
	int bad = check_parts(comms, halves, of_halves, "halves") ||
		  check_parts(comms, all, of_all, "all");
	destroy_all(halves);
	destroy_all(all);
	return bad;
}

/* A communicator that has failed keeps no other from its splits. */
static int split_beside_a_failure(struct ring_comm *comms[RANKS])
{
	static const int32_t of_all[RANKS] = {6, 6, 6, 6};
	struct ring_comm *broken[RANKS], *none[RANKS], *parts[RANKS];
	if (create_all(broken))
		return 1;
	ring_comm_abort(broken[2]);
	for (int rank = 0; rank < RANKS; rank++)
		while (!ring_comm_status(broken[rank]))
			usleep(1000);
	ring_group_start();
	for (int rank = 0; rank < RANKS; rank++) {
		none[rank] = parts[rank] = NULL;
		ring_comm_split(broken[rank], 0, 0, &none[rank]);
		ring_comm_split(comms[rank], 0, 0, &parts[rank]);
	}
	if (ring_group_end() != RING_EABORTED || none[0] || none[1] || none[2] || none[3])
		return complain("splits of what was aborted", broken[0]);
	int bad = check_parts(comms, parts, of_all, "splits beside a failure");
	destroy_all(parts);
	destroy_all(broken);
	return bad;
}

static int one_thread_splits(void)
{
	struct ring_comm *comms[RANKS];
	int bad = create_all(comms) || split_all(comms) || drive_all(comms) ||
		  split_beside_a_failure(comms) || split_all(comms);
	destroy_all(comms);
	return bad;
}

/* A rank that never comes: the others' creations end by the deadline, none is handed out. */
static int one_is_missing(void)
{
	struct ring_unique_id id;
	struct ring_comm *comms[RANKS] = {NULL};
	struct ring_options options;
	ring_options_init(&options);
	options.create_timeout_ms = 1000;
	ring_unique_id_create(&id);
	ring_group_start();
	for (int rank = 0; rank < RANKS - 1; rank++)
		ring_comm_create(&comms[rank], RANKS, rank, &id, &options);
	if (ring_group_end() != RING_ETIMEDOUT || !strstr(ring_comm_error(NULL), "rank 3"))
		return complain("a missing rank", NULL);
	return comms[0] || comms[1] || comms[2] ? complain("handed out", NULL) : 0;
}

/* One bad creation: none of the others is made. */
static int one_is_wrong(void)
{
	struct ring_unique_id id;
	struct ring_comm *comms[2] = {NULL};
	ring_unique_id_create(&id);
	ring_group_start();
	if (ring_comm_create(&comms[0], 2, 0, &id, NULL) ||
	    ring_comm_create(&comms[1], 2, 2, &id, NULL) != RING_EINVAL)
		return complain("creations in a group", NULL);
	return ring_group_end() != RING_EINVAL || comms[0] ? complain("a wrong rank", NULL) : 0;
}

/* ---- every rank its own ---------------------------------------------------------------------- */

/* Messages to oneself among others, empty ones too; the group nests. */
static int check_oneself(struct harness_rank *self, struct ring_comm *comm)
{
	int32_t sent[2][3] = {{self->rank, 1, 2}, {self->rank, 3, 4}}, got[2][3] = {{0}};
	ring_group_start();
	ring_recv(comm, got[0], 3, RING_INT32, self->rank, NULL);
	ring_group_start();
	ring_send(comm, sent[0], 3, RING_INT32, self->rank, NULL);
	ring_send(comm, NULL, 0, RING_INT8, self->rank, NULL);
	ring_recv(comm, NULL, 0, RING_INT8, self->rank, NULL);
	if (ring_group_end())
		return harness_fail(self, "the inner end");
	ring_send(comm, sent[1], 3, RING_INT32, self->rank, NULL);
	ring_recv(comm, got[1], 3, RING_INT32, self->rank, NULL);
	if (ring_group_end())
		return harness_fail(self, "to oneself: %s", ring_comm_error(comm));
	return memcmp(sent, got, sizeof(sent)) ? harness_fail(self, "what came from oneself") : 0;
}

/* Refused groups touch nothing, and the communicator goes on. */
static int check_refusals(struct harness_rank *self, struct ring_comm *comm)
{
	int32_t mine = self->rank, sum = -1, got = -1;
	if (ring_group_end() != RING_EINVAL)
		return harness_fail(self, "an end without a start");
	ring_group_start();
	ring_all_reduce(comm, &mine, &sum, 1, RING_INT32, RING_SUM, NULL);
	if (ring_send(comm, &mine, 1, RING_INT32, self->size, NULL) != RING_EINVAL ||
	    ring_group_end() != RING_EINVAL || sum != -1)
		return harness_fail(self, "a group with a wrong peer");
	ring_group_start();
	ring_all_reduce(comm, &mine, &sum, 1, RING_INT32, RING_SUM, NULL);
	ring_recv(comm, &got, 1, RING_INT32, self->rank, NULL);
	if (ring_group_end() != RING_EINVAL || sum != -1)
		return harness_fail(self, "a receive from oneself that nobody sends");
	if (ring_send(comm, &mine, 1, RING_INT32, self->rank, NULL) != RING_EINVAL)
		return harness_fail(self, "sending to oneself outside a group");
	ring_group_start();
	struct ring_comm *sub = comm;
	if (ring_comm_split(comm, -2, 0, &sub) != RING_EINVAL || ring_group_end() != RING_EINVAL ||
	    sub != comm)
		return harness_fail(self, "splitting by a wrong color in a group");
	ring_group_start();
	if (ring_group_end())
		return harness_fail(self, "an empty group");
	return 0;
}

/* Two communicators whose groups name them in different orders on different ranks. */
static int check_two(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_comm *sub, *comms[2];
	static _Thread_local int32_t vectors[2][COUNT];
	if (ring_comm_split(comm, self->rank % 2, -self->rank, &sub))
		return harness_fail(self, "split: %s", ring_comm_error(comm));
	comms[self->rank / 2 % 2] = comm;
	comms[1 - self->rank / 2 % 2] = sub;
	int bad = 0;
	for (int round = 0; !bad && round < 20; round++) {
		int32_t *of_comm = vectors[comms[1] == comm], *of_sub = vectors[comms[1] == sub];
		for (int i = 0; i < COUNT; i++)
			of_comm[i] = of_sub[i] = self->rank + i;
		ring_group_start();
		for (int c = 0; c < 2; c++)
			ring_all_reduce(comms[c], vectors[c], vectors[c], COUNT, RING_INT32,
					RING_MAX, NULL);
		if (ring_group_end())
			bad = harness_fail(self, "two communicators: %s", ring_comm_error(comm));
		int last = self->size - 1;
		int of_color = last % 2 == self->rank % 2 ? last : last - 1;
		for (int i = 0; !bad && i < COUNT; i++)
			if (of_comm[i] != last + i || of_sub[i] != of_color + i)
				bad = harness_fail(self, "round %d: element %d", round, i);
	}
	ring_comm_destroy(sub);
	return bad;
}

/* A stream gets the group's calls in one go; positions count them. */
static int check_streams(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *streams[2];
	int32_t mine = self->rank, from_prev = -1, sum = 0, blocking = 0;
	int next = (self->rank + 1) % self->size, prev = (self->rank + self->size - 1) % self->size;
	if (ring_stream_create(comm, &streams[0]) || ring_stream_create(comm, &streams[1]))
		return harness_fail(self, "creating streams");
	ring_group_start();
	ring_all_reduce(comm, &mine, &sum, 1, RING_INT32, RING_SUM, streams[1]);
	ring_recv(comm, &from_prev, 1, RING_INT32, prev, streams[0]);
	ring_send(comm, &mine, 1, RING_INT32, next, streams[0]);
	ring_all_reduce(comm, &mine, &blocking, 1, RING_INT32, RING_MAX, NULL);
	if (ring_group_end() || blocking != self->size - 1)
		return harness_fail(self, "a group on streams: %s", ring_comm_error(comm));
	int bad = ring_stream_position(streams[0]) != 2 || ring_stream_wait(streams[0], 2) ||
		  ring_stream_position(streams[1]) != 1 || ring_stream_wait(streams[1], 1);
	ring_stream_destroy(streams[0]);
	ring_stream_destroy(streams[1]);
	if (bad || from_prev != prev || sum != self->size * (self->size - 1) / 2)
		return harness_fail(self, "results of a group on streams");
	return 0;
}

/* The same call by itself and in a group, of one communicator or of two, in turn: once somebody else runs them. */
static int check_repeated(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_comm *other;
	int32_t mine, sum, of_other;
	if (ring_comm_split(comm, 0, self->rank, &other))
		return harness_fail(self, "a copy: %s", ring_comm_error(comm));
	int bad = 0;
	for (int round = 0; !bad && round < 20; round++) {
		mine = self->rank + round, sum = of_other = -1;
		if (round % 3 > 0)
			ring_group_start();
		ring_all_reduce(comm, &mine, &sum, 1, RING_INT32, RING_SUM, NULL);
		if (round % 3 == 2)
			ring_all_reduce(other, &mine, &of_other, 1, RING_INT32, RING_SUM, NULL);
		int err = round % 3 > 0 ? ring_group_end() : 0;
		int32_t right = self->size * (self->size - 1) / 2 + self->size * round;
		if (err || sum != right || of_other != (round % 3 == 2 ? right : -1))
			bad = harness_fail(self, "round %d: the sums are %d and %d: %s", round, sum,
					   of_other, ring_comm_error(comm));
	}
	ring_comm_destroy(other);
	return bad;
}

/* A group of messages alone: one blocks until the group ends, the other is on a stream. */
static int check_messages(struct harness_rank *self, struct ring_comm *comm)
{
	struct ring_stream *stream;
	int next = (self->rank + 1) % self->size, prev = (self->rank + self->size - 1) % self->size;
	int bad = ring_stream_create(comm, &stream);
	for (int round = 0; !bad && round < 20; round++) {
		int32_t mine = 100 * self->rank + round, got = -1;
		ring_group_start();
		ring_send(comm, &mine, 1, RING_INT32, next, stream);
		ring_recv(comm, &got, 1, RING_INT32, prev, NULL);
		if (ring_group_end() || got != 100 * prev + round)
			bad = harness_fail(self, "round %d: a message is %d: %s", round, got,
					   ring_comm_error(comm));
		ring_stream_wait(stream, ring_stream_position(stream));
	}
	ring_stream_destroy(stream);
	return bad;
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = check_oneself(self, comm) || check_refusals(self, comm) ||
		  check_two(self, comm) || check_streams(self, comm) || check_repeated(self, comm) ||
		  check_messages(self, comm) || check_oneself(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	printf("1..%d\n", 4 + HARNESS_WORLDS);
	int bad = harness_report("one thread drives all ranks", one_thread());
	bad |= harness_report("one thread splits all ranks", one_thread_splits());
	bad |= harness_report("a rank is missing", one_is_missing());
	bad |= harness_report("a rank is wrong", one_is_wrong());
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = RANKS, .body = be_rank};
		snprintf(team.label, sizeof(team.label), "groups over %s", team.world->name);
		bad |= harness_report(team.label, harness_run(&team));
	}
	return bad != 0;
}
