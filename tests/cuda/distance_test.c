/* SPDX-License-Identifier: MIT */
/*
 * Ranks that reach one another's GPUs know alike how far the farthest are, and the cost model goes
 * by that: links between chips, PCIe, or one chip that all share.
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "tests/harness.h"

#include "driver.h"

struct row {
	const char *name, *links, *apart;
	int devices;
	enum ring_distance distance;
};

static const struct row rows[] = {
	{"one chip", "1", "", 1, RING_DISTANCE_NONE},
	{"links", "1", "", 3, RING_DISTANCE_LINK},
	{"links, and one chip of two ranks", "1", "", 2, RING_DISTANCE_LINK},
	{"PCIe", "0", "", 3, RING_DISTANCE_BUS},
	{"no way from one to another", "1", "0-2", 3, RING_DISTANCE_BUS},
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))
#define RANKS 3
#define COUNT 100000

static int join(struct harness_rank *self, const struct row *row, struct ring_comm **comm)
{
	struct ring_options options;
	struct CUctx_st *context;
	char device[32];
	const int number = self->rank % row->devices;
	CUDA_MUST(cuda.init(0));
	CUDA_MUST(cuda.primary_retain(&context, number));
	CUDA_MUST(cuda.context_set(context));
	snprintf(device, sizeof(device), "cuda:%d", number);
	harness_options(self, &options);
	options.device = device;
	return harness_join(self, &options, comm);
}

static int be_rank(struct harness_rank *self)
{
	const struct row *row = self->context;
	struct ring_comm *comm;
	void *memory;
	if (join(self, row, &comm))
		return 1;
	int err = ring_mem_alloc(comm, COUNT * sizeof(float), &memory);
	for (int i = 0; i < 2 && !err; i++)
		err = ring_all_reduce(comm, memory, memory, COUNT, RING_FLOAT32, RING_SUM, NULL);
	if (err)
		return harness_fail(self, "%s", ring_comm_error(comm));
	const enum ring_distance is = comm->run.ways.last.question->distance;
	int bad = is == row->distance ? 0 : harness_fail(self, "%d, not %d", is, row->distance);
	ring_mem_free(comm, memory);
	ring_comm_destroy(comm);
	return bad;
}

static int run_row(const struct row *row)
{
	struct harness team = {.world = &harness_worlds[1],
			       .size = RANKS,
			       .body = be_rank,
			       .context = (void *)(uintptr_t)row};
	snprintf(team.label, sizeof(team.label), "%s", row->name);
	setenv("RING_FAKE_CUDA_LINKS", row->links, 1);
	setenv("RING_FAKE_CUDA_APART", row->apart, 1);
	return harness_report(row->name, harness_run(&team));
}

int main(int argc, char **argv)
{
	int bad = 0;
	(void)argc;
	setenv("RING_FAKE_CUDA_DEVICES", "3", 1);
	cuda_use_fake(argv);
	if (!cuda_open())
		return 1;
	printf("1..%d\n", ROWS);
	for (int i = 0; i < ROWS; i++)
		bad |= run_row(&rows[i]);
	return bad;
}
