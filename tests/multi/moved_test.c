/* SPDX-License-Identifier: MIT */
/*
 * Ranks that move from one CPU to another between calls that are alike: a broadcast of private memory is shared by one rank of
 * each CPU, so the ranks agree anew who that is, and everything comes all the same, whoever is root.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

#define BYTES 1000001
#define CALLS 3                /* of each place, alike */
#define HANDED_OUT (512 << 10) /* pieces of what few hand out; what all do is in larger ones */
#define PLACES 4

/* Who is on the second of the CPUs that there are, in bits by rank. */
static const unsigned places[PLACES] = {0x0, 0xa, 0x7, 0xf};

/* The CPUs that the test may use; returns how many, two at most. */
static int find_cpus(int cpus[2])
{
	cpu_set_t set;
	int found = 0;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
			if (CPU_ISSET(cpu, &set))
				cpus[found++] = cpu;
	return found;
}

static int move_to(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static int broadcast(struct harness_rank *self, struct ring_comm *comm, unsigned char *vector,
		     int call, int root)
{
	memset(vector, self->rank == root ? call + 1 : 0, BYTES);
	if (ring_broadcast(comm, vector, vector, BYTES, RING_UINT8, root, NULL))
		return harness_fail(self, "call %d: %s", call, ring_comm_error(comm));
	for (size_t i = 0; i < BYTES; i++)
		if (vector[i] != call + 1)
			return harness_fail(self, "call %d, root %d: byte %zu is %d", call, root, i,
					    vector[i]);
	return 0;
}

/* How it was cut tells whether few handed it out. */
static int check_pieces(struct harness_rank *self, struct ring_comm *comm, bool few)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	if (ring_comm_stats(comm, &stats))
		return harness_fail(self, "no statistics");
	bool reaches = strcmp(stats.last.memory, "reachable") == 0;
	if (!reaches || few == (stats.last.chunk_bytes == HANDED_OUT))
		return 0;
	return harness_fail(self, "%s, but in pieces of %llu bytes",
			    few ? "handed out by few" : "shared by all",
			    (unsigned long long)stats.last.chunk_bytes);
}

static int be_rank(struct harness_rank *self)
{
	int cpus[2], found = find_cpus(cpus), bad;
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	options.algorithm = "direct";
	if (found == 0)
		return harness_fail(self, "no CPU is known");
	if (harness_join(self, &options, &comm))
		return 1;
	unsigned char *vector = malloc(BYTES);
	bad = vector ? 0 : harness_fail(self, "no memory");
	for (int call = 0; call < PLACES * CALLS * self->size && !bad; call++) {
		unsigned second = found > 1 ? places[call / CALLS % PLACES] : 0;
		bool few = self->size > 2 || (second & 1) == (second >> 1 & 1);
		bad = move_to(cpus[second >> self->rank & 1]) ||
		      broadcast(self, comm, vector, call, call / (CALLS * PLACES)) ||
		      check_pieces(self, comm, few);
	}
	free(vector);
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	for (int w = 0; w < 2; w++) /* what shares memory */
		for (int size = 2; size <= 4; size++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank};
			snprintf(team.label, sizeof(team.label), "%d ranks that move, over %s",
				 size, team.world->name);
			if (harness_run(&team))
				return 1;
		}
	printf("broadcasts of 2 to 4 ranks that moved, %d of each root: every byte came\n",
	       PLACES * CALLS);
	return 0;
}
