/* SPDX-License-Identifier: MIT */
/*
 * Calls end beside whatever else a program does with its GPUs: a stream of its own that waits for
 * the host, the legacy stream too, a capture that forbids everything, a host function that does not
 * end. Only the first call with a device, which makes its links, may wait for any of that.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/device/twin.h"
#include "tests/harness.h"

#include "driver.h"

#define COUNT 3000
#define CALLS 5
#define BYTES (COUNT * sizeof(float))

/* What a rank has beside its communicator. */
struct beside {
	struct CUstream_st *stream;
	uint32_t *word; /* pinned */
	sem_t over;
};

struct situation {
	const char *name;
	void (*begin)(struct beside *beside);
	void (*end)(struct beside *beside);
};

/* ---- situations ------------------------------------------------------------------------------ */

static void hold(struct beside *beside)
{
	CUDA_MUST(cuda.stream_wait_value(beside->stream, beside->word, 1, RING_CUDA_WAIT_GEQ));
}

static void hold_legacy(struct beside *beside)
{
	CUDA_MUST(cuda.stream_wait_value(NULL, beside->word, 1, RING_CUDA_WAIT_GEQ));
}

static void let_go(struct beside *beside)
{
	__atomic_store_n(beside->word, 1, __ATOMIC_RELEASE);
	CUDA_MUST(cuda.context_synchronize());
}

static void capture(struct beside *beside)
{
	CUDA_MUST(cuda.capture_begin(beside->stream, CUDA_CAPTURE_GLOBAL));
}

static void end_capture(struct beside *beside)
{
	struct CUgraph_st *graph;
	CUDA_MUST(cuda.capture_end(beside->stream, &graph));
	CUDA_MUST(cuda.graph_destroy(graph));
}

static void wait_for_end(void *over)
{
	while (sem_wait(over))
		;
}

static void call_slowly(struct beside *beside)
{
	CUDA_MUST(cuda.stream_host_function(beside->stream, wait_for_end, &beside->over));
}

static void end_function(struct beside *beside)
{
	sem_post(&beside->over);
	CUDA_MUST(cuda.stream_synchronize(beside->stream));
}

static const struct situation situations[] = {
	{"a stream that waits for the host", hold, let_go},
	{"the legacy stream, which waits for the host", hold_legacy, let_go},
	{"a capture that forbids everything", capture, end_capture},
	{"a host function that does not end", call_slowly, end_function},
};

/* ---- ranks ----------------------------------------------------------------------------------- */

static int sum(struct harness_rank *self, struct ring_comm *comm, float *send, float *recv)
{
	int err = ring_all_reduce(comm, send, recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
	return err ? harness_fail(self, "%s", ring_comm_error(comm)) : 0;
}

static int sum_beside(struct harness_rank *self, struct ring_comm *comm, struct beside *beside)
{
	const struct situation *situation = self->context;
	static _Thread_local float host[COUNT];
	float *send = twin_make(BYTES), *recv = twin_make(BYTES);
	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(i + self->rank);
	twin_write(send, host, BYTES);
	int bad = sum(self, comm, send, recv);
	harness_barrier(self);
	situation->begin(beside);
	harness_barrier(self);
	for (int call = 0; call < CALLS && !bad; call++)
		bad = sum(self, comm, send, recv);
	harness_barrier(self);
	situation->end(beside);
	harness_barrier(self); /* ranks may share a device */
	twin_read(host, recv, BYTES);
	int others = self->size * (self->size - 1) / 2;
	for (int i = 0; i < COUNT && !bad; i++)
		if (host[i] != (float)(i * self->size + others))
			bad = harness_fail(self, "element %d is %g", i, host[i]);
	return bad;
}

static int run(struct harness_rank *self)
{
	struct ring_options options;
	struct ring_comm *comm;
	struct beside beside;
	harness_options(self, &options);
	options.call_timeout_ms = 2000 * HARNESS_ROOM;
	if (harness_join(self, &options, &comm))
		return 1;
	twin_end(twin_make(1)); /* the thread has its context */
	sem_init(&beside.over, 0, 0);
	CUDA_MUST(cuda.host_alloc((void **)&beside.word, sizeof(*beside.word), 0));
	*beside.word = 0;
	CUDA_MUST(cuda.stream_create(&beside.stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
	int bad = sum_beside(self, comm, &beside);
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	const int n = (int)(sizeof(situations) / sizeof(situations[0]));
	int bad = 0;
	printf("1..%d\n", n * HARNESS_WORLDS);
	for (int s = 0; s < n; s++)
		for (int w = 0; w < HARNESS_WORLDS; w++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = 3,
					       .body = run,
					       .context = (void *)&situations[s]};
			snprintf(team.label, sizeof(team.label), "%s, %s", situations[s].name,
				 team.world->name);
			bad |= harness_report(team.label, harness_run(&team));
		}
	return bad != 0;
}
