/* SPDX-License-Identifier: MIT */
/*
 * Small broadcasts: every rank gets every value, in whatever turns calls and roots come, however late a
 * rank is, and when root has left since. And large ones, of which root may change the vector at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define CALLS 3000
#define LATE_US 300
#define LEFT_US 50000
#define LARGE_CALLS 60
#define LARGE_LATE_US 3000

/* The same on all ranks; what is late is not. */
static int some(uint64_t *dice, int below)
{
	*dice = *dice * 6364136223846793005u + 1442695040888963407u;
	return (int)((*dice >> 33) % (uint64_t)below);
}

static int broadcast(struct harness_rank *self, struct ring_comm *comm, int call, int root)
{
	int value[4] = {call, root, call ^ root, self->rank};
	int count = 1 + call % 4, got[4] = {0};
	int err = ring_broadcast(comm, value, got, (size_t)count, RING_INT32, root, NULL);
	value[3] = root;
	for (int i = 0; i < count && !err; i++)
		if (got[i] != value[i])
			return harness_fail(self, "call %d, root %d: element %d is %d, not %d",
					    call, root, i, got[i], value[i]);
	return err ? harness_fail(self, "call %d: %s", call, ring_comm_error(comm)) : 0;
}

static int all_reduce(struct harness_rank *self, struct ring_comm *comm, int call, int count)
{
	int values[2000];
	for (int i = 0; i < count; i++)
		values[i] = call + self->rank;
	int err = ring_all_reduce(comm, values, values, (size_t)count, RING_INT32, RING_SUM, NULL);
	int sum = self->size * call + self->size * (self->size - 1) / 2;
	for (int i = 0; i < count && !err; i++)
		if (values[i] != sum)
			return harness_fail(self, "call %d: a sum is %d, not %d", call, values[i],
					    sum);
	return err ? harness_fail(self, "call %d: %s", call, ring_comm_error(comm)) : 0;
}

/* Long runs of one root, now and then another one or another call. */
static int be_rank(struct harness_rank *self)
{
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.algorithm = self->context;
	if (harness_join(self, &options, &comm))
		return 1;
	uint64_t dice = 1, own = (uint64_t)self->rank;
	int bad = 0, root = 0;
	for (int call = 0; call < CALLS && !bad; call++) {
		int what = some(&dice, 100);
		if (what < 2)
			root = some(&dice, self->size);
		if (some(&own, 200) == 0)
			usleep((useconds_t)some(&own, LATE_US));
		if (what < 95)
			bad = broadcast(self, comm, call, root);
		else
			bad = all_reduce(self, comm, call, what % 2 ? 2 : 2000);
	}
	if (!bad)
		bad = broadcast(self, comm, CALLS, 0);
	if (self->rank > 0)
		usleep(LEFT_US);
	if (!bad)
		bad = broadcast(self, comm, CALLS + 1, 0);
	ring_comm_destroy(comm);
	return bad;
}

/* Root writes over what it has sent as soon as it may, and others come late. */
static int broadcast_large(struct harness_rank *self, struct ring_comm *comm, int call,
			   unsigned char *vector, size_t bytes)
{
	int root = call / 7 % self->size;
	memset(vector, self->rank == root ? call : 255, bytes);
	int err = ring_broadcast(comm, vector, vector, bytes, RING_UINT8, root, NULL);
	if (err)
		return harness_fail(self, "call %d: %s", call, ring_comm_error(comm));
	for (size_t i = 0; i < bytes && self->rank != root; i++)
		if (vector[i] != call)
			return harness_fail(self, "call %d: byte %zu of %zu is %d", call, i, bytes,
					    vector[i]);
	return 0;
}

static int be_large(struct harness_rank *self)
{
	static const size_t sizes[] = {256 << 10, (256 << 10) - 1, 1 << 20, 5000001, 100000};
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	if (harness_join(self, &options, &comm))
		return 1;
	uint64_t own = (uint64_t)self->rank;
	unsigned char *memory = malloc(5000001 + 64);
	int bad = !memory;
	for (int call = 0; call < LARGE_CALLS && !bad; call++) {
		if (some(&own, 3) == 0)
			usleep((useconds_t)some(&own, LARGE_LATE_US));
		bad = broadcast_large(self, comm, call, memory + call % 64, sizes[call % 5]);
	}
	free(memory);
	ring_comm_destroy(comm);
	return bad;
}

static int run_large(void)
{
	int failed = 0;
	for (int w = 0; w < HARNESS_WORLDS && !failed; w++) {
		struct harness team = {.world = &harness_worlds[w], .size = 2, .body = be_large};
		snprintf(team.label, sizeof(team.label), "large");
		failed = harness_run(&team);
	}
	return failed;
}

int main(void)
{
	static const char *const algorithms[] = {NULL, "tree", "oneshot", "ring"};
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (int size = 2; size <= 5; size++) {
			const char *algorithm = algorithms[(w + size) % 4];
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank,
					       .context = (void *)(uintptr_t)algorithm};
			snprintf(team.label, sizeof(team.label), "%s",
				 algorithm ? algorithm : "chosen");
			if (harness_run(&team))
				return 1;
		}
	if (run_large())
		return 1;
	printf("%d calls in turns, of 2 to 5 ranks over %d transports: every value came\n", CALLS,
	       HARNESS_WORLDS);
	return 0;
}
