/* SPDX-License-Identifier: MIT */
/*
 * Counts whose bytes do not fit into 31 or 32 bits: two ranks over shared memory. The long form
 * moves more than 2^32 bytes in a call; the short form only shows that the test works.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/harness.h"

struct plan {
	size_t reduced;  /* elements of the all-reduce, in place, int32 */
	size_t gathered; /* elements of a part of the all-gather, in place, int32 */
	size_t doubles;  /* elements of the broadcast, in place, float64 */
	size_t bytes;    /* elements of a message, uint8 */
};

static const struct plan short_plan = {3 << 20, 2 << 20, 1 << 20, 5 << 20};
static const struct plan long_plan = {600000001, 300000007, 290000003, 2200000001};

static void *get_memory(struct harness_rank *self, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED)
		return memory;
	harness_fail(self, "no address space for %zu bytes", bytes);
	return NULL;
}

static int wrong(struct harness_rank *self, const char *what, size_t index)
{
	return harness_fail(self, "%s: wrong at element %zu", what, index);
}

static int reduce(struct harness_rank *self, struct ring_comm *comm, size_t count)
{
	int32_t *vector = get_memory(self, count * sizeof(*vector));
	if (!vector)
		return 1;
	for (size_t i = 0; i < count; i++)
		vector[i] = (int32_t)(i * 2654435761u) + self->rank;
	if (ring_all_reduce(comm, vector, vector, count, RING_INT32, RING_SUM, NULL))
		return harness_fail(self, "all_reduce: %s", ring_comm_error(comm));
	for (size_t i = 0; i < count; i++)
		if (vector[i] != (int32_t)((uint32_t)(i * 2654435761u) * 2 + 1))
			return wrong(self, "all_reduce", i);
	munmap(vector, count * sizeof(*vector));
	return 0;
}

static int gather(struct harness_rank *self, struct ring_comm *comm, size_t part)
{
	size_t bytes = part * (size_t)self->size * sizeof(int32_t);
	int32_t *vector = get_memory(self, bytes);
	if (!vector)
		return 1;
	int32_t *own = vector + part * (size_t)self->rank;
	for (size_t i = 0; i < part; i++)
		own[i] = (int32_t)(i * 2654435761u) + self->rank;
	if (ring_all_gather(comm, own, vector, part, RING_INT32, NULL))
		return harness_fail(self, "all_gather: %s", ring_comm_error(comm));
	for (int rank = 0; rank < self->size; rank++)
		for (size_t i = 0; i < part; i++)
			if (vector[part * (size_t)rank + i] != (int32_t)(i * 2654435761u) + rank)
				return wrong(self, "all_gather", part * (size_t)rank + i);
	munmap(vector, bytes);
	return 0;
}

static int broadcast(struct harness_rank *self, struct ring_comm *comm, size_t count)
{
	double *vector = get_memory(self, count * sizeof(*vector));
	if (!vector)
		return 1;
	for (size_t i = 0; self->rank == 1 && i < count; i++)
		vector[i] = (double)i + 0.5;
	if (ring_broadcast(comm, vector, vector, count, RING_FLOAT64, 1, NULL))
		return harness_fail(self, "broadcast: %s", ring_comm_error(comm));
	for (size_t i = 0; i < count; i++)
		if (vector[i] != (double)i + 0.5)
			return wrong(self, "broadcast", i);
	munmap(vector, count * sizeof(*vector));
	return 0;
}

/* From rank 0 to rank 1. */
static int message(struct harness_rank *self, struct ring_comm *comm, size_t bytes)
{
	unsigned char *vector = get_memory(self, bytes);
	if (!vector)
		return 1;
	for (size_t i = 0; self->rank == 0 && i < bytes; i++)
		vector[i] = (unsigned char)(i * 2654435761u >> 20);
	if (self->rank == 0 ? ring_send(comm, vector, bytes, RING_UINT8, 1, NULL)
			    : ring_recv(comm, vector, bytes, RING_UINT8, 0, NULL))
		return harness_fail(self, "send and receive: %s", ring_comm_error(comm));
	for (size_t i = 0; i < bytes; i++)
		if (vector[i] != (unsigned char)(i * 2654435761u >> 20))
			return wrong(self, "send and receive", i);
	munmap(vector, bytes);
	return 0;
}

static int be_rank(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = reduce(self, comm, plan->reduced) || gather(self, comm, plan->gathered) ||
		  broadcast(self, comm, plan->doubles) || message(self, comm, plan->bytes);
	ring_comm_destroy(comm);
	return bad;
}

static double available_gib(void)
{
	unsigned long kib = 0;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return (double)kib / (1 << 20);
}

int main(int argc, char **argv)
{
	bool is_long = harness_is_long(argc, argv);
	const struct plan *plan = is_long ? &long_plan : &short_plan;
	struct harness team = {.world = &harness_worlds[1],
			       .size = 2,
			       .body = be_rank,
			       .context = (void *)plan,
			       .seconds = 600};
	if (is_long && available_gib() < 7) {
		printf("needs 7 GiB of memory, and %.1f are available\n", available_gib());
		return 77;
	}
	double begin = harness_clock();
	if (harness_run(&team))
		return 1;
	printf("all_reduce of %zu int32, all_gather of 2 x %zu int32, broadcast of %zu double, "
	       "message of %zu uint8: right (%.1f s)\n",
	       plan->reduced, plan->gathered, plan->doubles, plan->bytes, harness_clock() - begin);
	return 0;
}
