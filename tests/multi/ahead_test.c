/* SPDX-License-Identifier: MIT */
/*
 * Broadcasts that nobody answers: root may be many calls ahead of the others, who get every value all the same, in
 * whatever turns calls and roots come, however late a rank is, and when root has left since.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness.h"

#define CALLS 3000
#define LATE_US 300
#define LEFT_US 50000

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
	printf("%d calls in turns, of 2 to 5 ranks over %d transports: every value came\n", CALLS,
	       HARNESS_WORLDS);
	return 0;
}
