/* SPDX-License-Identifier: MIT */
/*
 * The fake driver keeps the orders that it promises: random programs over several streams, devices
 * and threads, whose steps are ordered by events alone, end with what the same steps give one after
 * the other. Every second program is captured, and its graph launched twice.
 *
 *	order_test [--seed N] [--long]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "driver.h"

#define BUFFERS 6
#define BYTES 256
#define STREAMS 5
#define THREADS 3 /* each with a program of its own, at the same time */
#define STEPS 150
#define DEVICES 2
#define LAUNCHES 2

/* Every step is on one buffer, which a copy fills from another. */
enum kind { SET, COPY, INCREMENT, WRITE_WORD, STORE, KINDS };

struct step {
	enum kind kind;
	int buffer, source, stream;
	size_t from, bytes;
	uint32_t value;
};

struct program {
	int device;
	bool captured;
	uint64_t seed;

	struct CUstream_st *streams[STREAMS];
	struct CUfunc_st *store;
	struct CUevent_st *last[BUFFERS]; /* behind the last step that touched it */
	unsigned char *buffers[BUFFERS];  /* the last one is pinned memory of the host */
	struct step steps[STEPS];
	unsigned char model[BUFFERS][BYTES]; /* what they should hold */
};

#define PINNED (BUFFERS - 1)

/* ---- steps ------------------------------------------------------------------------------------- */

static void draw_step(struct step *step, uint64_t *random)
{
	step->kind = (enum kind)(harness_random(random) % KINDS);
	step->buffer = step->kind == INCREMENT ? PINNED : (int)(harness_random(random) % BUFFERS);
	step->source = (int)(harness_random(random) % BUFFERS);
	step->stream = (int)(harness_random(random) % STREAMS);
	step->from = harness_random(random) % (BYTES / 4) * 4;
	step->bytes = 1 + harness_random(random) % (BYTES - step->from);
	step->value = (uint32_t)harness_random(random);
}

static void increment(void *bytes)
{
	unsigned char *byte = bytes;
	for (int i = 0; i < BYTES; i++)
		byte[i]++;
}

static void apply_to_model(struct program *program, const struct step *step)
{
	unsigned char *bytes = program->model[step->buffer];
	if (step->kind == SET)
		memset(bytes + step->from, (unsigned char)step->value, step->bytes);
	else if (step->kind == COPY)
		memmove(bytes, program->model[step->source], BYTES);
	else if (step->kind == INCREMENT)
		increment(bytes);
	else
		memcpy(bytes + step->from, &step->value, sizeof(step->value));
}

static int submit(struct program *program, const struct step *step, struct CUstream_st *stream)
{
	unsigned char *buffer = program->buffers[step->buffer], *at = buffer + step->from;
	uint32_t value = step->value;
	switch (step->kind) {
	case SET:
		return cuda.memory_set(at, (unsigned char)value, step->bytes, stream);
	case COPY:
		return cuda.memory_copy(buffer, program->buffers[step->source], BYTES, stream);
	case INCREMENT:
		return cuda.stream_host_function(stream, increment, buffer);
	case WRITE_WORD:
		return cuda.stream_write_value(stream, (uint32_t *)at, value, 0);
	default:
		return cuda.launch(program->store, 1, 1, 1, 1, 1, 1, 0, stream,
				   (void *[]){&at, &value}, NULL);
	}
}

/* Whoever touches a buffer comes behind whoever did before. */
static void wait_for_last(struct program *program, int buffer, int stream)
{
	CUDA_MUST(cuda.stream_wait_event(program->streams[stream], program->last[buffer], 0));
}

static void be_last(struct program *program, int buffer, int stream)
{
	CUDA_MUST(cuda.event_record(program->last[buffer], program->streams[stream]));
}

static void submit_in_order(struct program *program, const struct step *step)
{
	wait_for_last(program, step->buffer, step->stream);
	wait_for_last(program, step->source, step->stream);
	CUDA_MUST(submit(program, step, program->streams[step->stream]));
	be_last(program, step->buffer, step->stream);
	be_last(program, step->source, step->stream);
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* The first stream, unless it is captured, and the legacy one wait for each other. */
static void begin(struct program *program)
{
	struct CUctx_st *context;
	struct CUmod_st *module;
	uint64_t random = program->seed;
	CUDA_MUST(cuda.primary_retain(&context, program->device));
	CUDA_MUST(cuda.context_set(context));
	CUDA_MUST(cuda.module_load(&module, "by name"));
	CUDA_MUST(cuda.module_function(&program->store, module, "trap_store"));
	for (int i = 0; i < STREAMS; i++)
		CUDA_MUST(cuda.stream_create(&program->streams[i], i > 0 || program->captured, 0));
	for (int i = 0; i < BUFFERS; i++) {
		void **buffer = (void **)&program->buffers[i];
		CUDA_MUST(cuda.event_create(&program->last[i], RING_CUDA_EVENT_NO_TIMING));
		CUDA_MUST(i == PINNED ? cuda.host_alloc(buffer, BYTES, 0)
				      : cuda.memory_alloc(buffer, BYTES));
		CUDA_MUST(cuda.memory_set(*buffer, 0, BYTES, program->streams[0]));
		be_last(program, i, 0);
	}
	for (int i = 0; i < STEPS; i++)
		draw_step(&program->steps[i], &random);
}

static void run(struct program *program)
{
	for (int i = 0; i < STEPS; i++)
		submit_in_order(program, &program->steps[i]);
}

/* All streams come out of the first one and go back into it. */
static struct CUgraph_st *capture(struct program *program)
{
	struct CUgraph_st *graph;
	CUDA_MUST(cuda.stream_synchronize(program->streams[0]));
	CUDA_MUST(cuda.capture_begin(program->streams[0], CUDA_CAPTURE_THREAD_LOCAL));
	for (int i = 0; i < BUFFERS; i++)
		be_last(program, i, 0);
	for (int i = 1; i < STREAMS; i++)
		wait_for_last(program, 0, i);
	run(program);
	for (int i = 1; i < STREAMS; i++) {
		be_last(program, 0, i);
		wait_for_last(program, 0, 0);
	}
	CUDA_MUST(cuda.capture_end(program->streams[0], &graph));
	return graph;
}

static void capture_and_launch(struct program *program)
{
	struct CUgraphExec_st *exec;
	struct CUgraph_st *graph = capture(program);
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	for (int i = 0; i < LAUNCHES; i++)
		CUDA_MUST(cuda.graph_launch(exec, program->streams[0]));
	CUDA_MUST(cuda.graph_exec_destroy(exec));
}

static int compare(struct program *program)
{
	unsigned char is[BYTES];
	int wrong = 0;
	for (int launch = 0; launch < (program->captured ? LAUNCHES : 1); launch++)
		for (int i = 0; i < STEPS; i++)
			apply_to_model(program, &program->steps[i]);
	for (int i = 0; i < STREAMS; i++)
		CUDA_MUST(cuda.stream_synchronize(program->streams[i]));
	for (int i = 0; i < BUFFERS; i++) {
		CUDA_MUST(cuda.memory_copy(is, program->buffers[i], BYTES, program->streams[1]));
		if (memcmp(is, program->model[i], BYTES)) {
			printf("# buffer %d of the %s program of device %d is wrong\n", i,
			       program->captured ? "captured" : "plain", program->device);
			wrong = 1;
		}
	}
	return wrong;
}

static void *perform(void *argument)
{
	struct program *program = argument;
	begin(program);
	if (program->captured)
		capture_and_launch(program);
	else
		run(program);
	int wrong = compare(program);
	CUDA_MUST(cuda.primary_release(program->device));
	return (void *)(intptr_t)wrong;
}

/* returns how many programs went wrong */
static int perform_at_once(uint64_t seed)
{
	static struct program programs[THREADS];
	pthread_t threads[THREADS];
	int wrong = 0;
	for (int i = 0; i < THREADS; i++) {
		programs[i] = (struct program){.device = i % DEVICES,
					       .captured = (seed + (uint64_t)i) % 2,
					       .seed = harness_random(&seed)};
		pthread_create(&threads[i], NULL, perform, &programs[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		void *is_wrong;
		pthread_join(threads[i], &is_wrong);
		wrong += is_wrong != NULL;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t seed = harness_seed(argc, argv);
	int rounds = harness_is_long(argc, argv) ? 1000 : harness_is_quick() ? 5 : 20, wrong = 0;
	char text[24];
	setenv("RING_FAKE_CUDA_DEVICES", "2", 1);
	snprintf(text, sizeof(text), "%u", (unsigned)(seed & 0xffff));
	setenv("RING_FAKE_CUDA_SEED", text, 1);
	setenv("RING_FAKE_CUDA_DELAY_US", "50", 1);
	cuda_use_fake(argv);
	if (!cuda_open())
		return 1;
	CUDA_MUST(cuda.init(0));
	for (int round = 0; round < rounds && !wrong; round++)
		wrong = perform_at_once(seed + (uint64_t)round);
	printf("%d programs wrong, --seed %ju\n", wrong, (uintmax_t)seed);
	return wrong != 0;
}
