/* SPDX-License-Identifier: MIT */
/*
 * Calls that a program makes again and again, a few of them in turn, give what they gave at first: with
 * other contents of the same buffers, when the memory at their address has become another's, and when a rank comes so
 * late that the others sleep, who are woken.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness.h"

#define TURNS 4
#define COUNT 50000
#define LATE_CALLS 10
#define LATE_US 40000  /* longer than anybody looks before he sleeps */
#define UNWOKEN_S 0.25 /* whoever is not woken sleeps for so long */
#define SLOW_MOST 7    /* of these calls, as others may keep the CPUs */

/* More calls than are kept, which differ in one argument each. */
static const struct turn {
	size_t first, count;
	enum ring_op op;
	enum ring_datatype type;
} turns[] = {
	{0, COUNT, RING_SUM, RING_FLOAT32}, {0, COUNT, RING_SUM, RING_INT32},
	{0, COUNT, RING_MAX, RING_FLOAT32}, {0, 2, RING_SUM, RING_FLOAT32},
	{0, 2, RING_SUM, RING_INT32},       {0, 3, RING_SUM, RING_FLOAT32},
	{0, 2, RING_MAX, RING_FLOAT32},     {1, 2, RING_SUM, RING_FLOAT32},
	{0, 4, RING_SUM, RING_FLOAT32},     {0, 5, RING_SUM, RING_FLOAT32},
};
#define CALLS (int)(sizeof(turns) / sizeof(turns[0]))

union element {
	float real;
	int32_t whole;
};

static int value(int rank, size_t i, int round)
{
	return (int)(i % 13) + 7 * rank + round;
}

static int expected(const struct turn *turn, int size, size_t i, int round)
{
	int sum = 0;
	for (int rank = 0; rank < size; rank++)
		sum += value(rank, i, round);
	return turn->op == RING_SUM ? sum : value(size - 1, i, round);
}

static union element make(const struct turn *turn, int number)
{
	return turn->type == RING_INT32 ? (union element){.whole = number}
					: (union element){.real = (float)number};
}

/* In place, and behind a barrier every other time. */
static int call(struct harness_rank *self, struct ring_comm *comm, const struct turn *turn,
		union element *memory, int round)
{
	union element *data = memory + turn->first;
	for (size_t i = 0; i < turn->count; i++)
		data[i] = make(turn, value(self->rank, i, round));
	int err = round % 2 ? ring_barrier(comm, NULL) : 0;
	if (!err)
		err = ring_all_reduce(comm, data, data, turn->count, turn->type, turn->op, NULL);
	if (err)
		return harness_fail(self, "round %d: %s", round, ring_comm_error(comm));
	for (size_t i = 0; i < turn->count; i++) {
		union element want = make(turn, expected(turn, self->size, i, round));
		if (memcmp(&data[i], &want, sizeof(want)) != 0)
			return harness_fail(self, "round %d: element %zu of %zu is wrong", round, i,
					    turn->count);
	}
	return 0;
}

static int take_turns(struct harness_rank *self, struct ring_comm *comm, union element *memory)
{
	for (int round = 0; round < TURNS; round++)
		for (int i = 0; i < CALLS; i++) {
			const struct turn *turn = &turns[i];
			if (call(self, comm, turn, memory, round) ||
			    call(self, comm, &turns[(i + round) % 3], memory, round) ||
			    call(self, comm, turn, memory, round + 1))
				return 1;
		}
	return 0;
}

/*
 * Whoever keeps 2, 3 ... 12 calls and forgets the oldest: for one of them the call that was made last is the oldest, and is
 * forgotten while channels still have its plan. A user would have seen sums of another length.
 */
static int forget_the_last(struct harness_rank *self, struct ring_comm *comm, union element *memory)
{
	for (int kept = 2; kept <= 12; kept++) {
		size_t first = COUNT / 2 + (size_t)kept * 100;
		for (int i = 0; i <= kept + 1; i++) {
			size_t other = i == kept ? 0 : (size_t)i;
			struct turn turn = {0, first + other, RING_SUM, RING_FLOAT32};
			if (call(self, comm, &turn, memory, 2 * i))
				return 1;
		}
	}
	return 0;
}

/* The same sum again and again, each time of inputs that are multiplied by something else. */
static int scale_by_turns(struct harness_rank *self, struct ring_comm *comm, union element *memory)
{
	const struct turn *turn = &turns[3];
	for (int round = 0; round < TURNS; round++) {
		float factor = (float)round + 2;
		enum ring_op op;
		for (size_t i = 0; i < turn->count; i++)
			memory[i] = make(turn, value(self->rank, i, round));
		if (ring_op_create_premul_sum(comm, &factor, turn->type, &op) ||
		    ring_all_reduce(comm, memory, memory, turn->count, turn->type, op, NULL) ||
		    ring_op_destroy(comm, op))
			return harness_fail(self, "scaled by %g: %s", factor, ring_comm_error(comm));
		for (size_t i = 0; i < turn->count; i++)
			if (memory[i].real != factor * (float)expected(turn, self->size, i, round))
				return harness_fail(self, "scaled by %g: element %zu is wrong",
						    factor, i);
	}
	return 0;
}

/* Takes memory that lay there, if nobody else has by now. */
static void *map_at(void *address, size_t bytes)
{
	void *memory = mmap(address, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return memory == address ? memory : NULL;
}

static int come_late(struct harness_rank *self, struct ring_comm *comm, union element *memory)
{
	int slow = 0;
	for (int round = 0; round < LATE_CALLS; round++) {
		double begin = harness_clock();
		if (self->rank == self->size - 1)
			usleep(LATE_US);
		if (call(self, comm, &turns[3], memory, 2 * round))
			return 1;
		slow += harness_clock() - begin >= UNWOKEN_S;
		harness_barrier(self); /* else the next call would wake them */
	}
	return slow <= SLOW_MOST ? 0
				 : harness_fail(self, "%d of %d late calls took %.2f s or more",
						slow, LATE_CALLS, UNWOKEN_S);
}

static int be_rank(struct harness_rank *self)
{
	struct ring_comm *comm;
	void *memory;
	size_t bytes = (COUNT + 1) * sizeof(union element);
	if (harness_join(self, NULL, &comm))
		return 1;
	if (ring_mem_alloc(comm, bytes, &memory))
		return harness_fail(self, "no memory: %s", ring_comm_error(comm));
	int bad = take_turns(self, comm, memory) || forget_the_last(self, comm, memory) ||
		  scale_by_turns(self, comm, memory) || come_late(self, comm, memory);
	if (!bad && ring_mem_free(comm, memory))
		bad = harness_fail(self, "not freed: %s", ring_comm_error(comm));
	void *again = bad ? NULL : map_at(memory, bytes);
	if (again) {
		bad = take_turns(self, comm, again);
		munmap(again, bytes);
	}
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	double begin = harness_clock();
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int size = 2; size <= 4; size += 2) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank};
			snprintf(team.label, sizeof(team.label), "%d ranks over %s", size,
				 team.world->name);
			if (harness_run(&team))
				return 1;
		}
	printf("%d calls in turn, of 2 and 4 ranks, give what they must (%.1f s)\n", CALLS,
	       harness_clock() - begin);
	return 0;
}
