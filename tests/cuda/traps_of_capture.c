/* SPDX-License-Identifier: MIT */
/* What may not be done while a stream is captured, and what a graph is. */
#include "trap.h"

#include <pthread.h>

static struct CUgraph_st *graph;

static void begin(struct CUstream_st *stream, int mode)
{
	CUDA_MUST(cuda.capture_begin(stream, mode));
}

static int end(void)
{
	int err = cuda.capture_end(stage.first, &graph);
	if (!err)
		CUDA_MUST(cuda.graph_destroy(graph));
	return err;
}

/* What was refused loses the capture, too. */
static int end_behind(int err)
{
	int lost = end();
	return err && lost != RING_CUDA_CAPTURE_INVALIDATED ? TRAP_STALE : err;
}

static int alloc_while_captured(bool wrong)
{
	void *memory;
	begin(stage.first, CUDA_CAPTURE_GLOBAL);
	return end_behind(wrong ? cuda.memory_alloc(&memory, 100) : 0);
}

static int synchronize_while_captured(bool wrong)
{
	begin(stage.first, CUDA_CAPTURE_RELAXED);
	return end_behind(cuda.stream_synchronize(wrong ? stage.first : stage.second));
}

/* A library's thread that asks how far it is, and knows nothing of captures. */
static void *ask(void *unused)
{
	(void)unused;
	CUDA_MUST(cuda.context_set(stage.context));
	return (void *)(intptr_t)cuda.event_query(stage.event);
}

static int ask_in_another_thread(bool wrong)
{
	pthread_t thread;
	void *result;
	begin(stage.first, wrong ? CUDA_CAPTURE_GLOBAL : CUDA_CAPTURE_THREAD_LOCAL);
	pthread_create(&thread, NULL, ask, NULL);
	pthread_join(thread, &result);
	int lost = end();
	return lost ? lost : (int)(intptr_t)result;
}

/* Such a thread may say that it knows what it does. */
static int ask_relaxed(bool wrong)
{
	int mode = CUDA_CAPTURE_RELAXED;
	begin(stage.first, CUDA_CAPTURE_GLOBAL);
	if (!wrong)
		CUDA_MUST(cuda.capture_mode(&mode));
	int err = cuda.event_query(stage.event);
	end();
	return err;
}

static int use_the_legacy_stream(bool wrong)
{
	struct CUstream_st *stream;
	CUDA_MUST(cuda.stream_create(&stream, wrong ? 0 : RING_CUDA_STREAM_NON_BLOCKING, 0));
	begin(stream, CUDA_CAPTURE_RELAXED);
	int err = cuda.memory_set(stage.memory, 1, 1, NULL);
	cuda.capture_end(stream, &graph);
	return err;
}

static int capture_the_legacy_stream(bool wrong)
{
	struct CUstream_st *stream = wrong ? NULL : RING_CUDA_STREAM_PER_THREAD;
	int err = cuda.capture_begin(stream, CUDA_CAPTURE_RELAXED);
	return err ? err : cuda.capture_end(stream, &graph);
}

/* The second stream is drawn into the capture by an event, and must come back by another. */
static void fork_and_set(void)
{
	begin(stage.first, CUDA_CAPTURE_GLOBAL);
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 4, stage.first));
	CUDA_MUST(cuda.event_record(stage.event, stage.first));
	CUDA_MUST(cuda.stream_wait_event(stage.second, stage.event, 0));
	CUDA_MUST(cuda.memory_copy(stage.other, stage.memory, 4, stage.second));
}

static int forget_to_join(bool wrong)
{
	fork_and_set();
	if (!wrong) {
		CUDA_MUST(cuda.event_record(stage.event, stage.second));
		CUDA_MUST(cuda.stream_wait_event(stage.first, stage.event, 0));
	}
	return end();
}

/* A capture does nothing; each launch of its graph does all of it. */
static int launch_a_graph(bool wrong)
{
	struct CUgraphExec_st *exec;
	fork_and_set();
	CUDA_MUST(cuda.event_record(stage.event, stage.second));
	CUDA_MUST(cuda.stream_wait_event(stage.first, stage.event, 0));
	CUDA_MUST(cuda.capture_end(stage.first, &graph));
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	for (int launch = 0; launch < 3 && !wrong; launch++)
		CUDA_MUST(cuda.graph_launch(exec, stage.first));
	CUDA_MUST(trap_finish());
	CUDA_MUST(cuda.graph_exec_destroy(exec));
	return trap_look(stage.other) == 0x01010101 ? 0 : TRAP_STALE;
}

/* Two streams of a capture: what one copies the other sets before, if it is told so. */
static void fork_and_copy(bool ordered)
{
	CUDA_MUST(cuda.event_record(stage.event, stage.first));
	if (!ordered)
		CUDA_MUST(cuda.stream_wait_event(stage.second, stage.event, 0));
	CUDA_MUST(cuda.memory_set(stage.memory, 1, 4, stage.first));
	CUDA_MUST(cuda.event_record(stage.event, stage.first));
	if (ordered)
		CUDA_MUST(cuda.stream_wait_event(stage.second, stage.event, 0));
	CUDA_MUST(cuda.memory_copy(stage.other, stage.memory, 4, stage.second));
	CUDA_MUST(cuda.event_record(stage.event, stage.second));
	CUDA_MUST(cuda.stream_wait_event(stage.first, stage.event, 0));
}

/* A graph knows only what comes behind what, not in which order it was noted. */
static int expect_an_order(bool wrong)
{
	struct CUgraphExec_st *exec;
	int stale = 0;
	begin(stage.first, CUDA_CAPTURE_GLOBAL);
	fork_and_copy(!wrong);
	CUDA_MUST(cuda.capture_end(stage.first, &graph));
	CUDA_MUST(cuda.graph_instantiate(&exec, graph, 0));
	CUDA_MUST(cuda.graph_destroy(graph));
	for (int launch = 0; launch < 20; launch++) {
		CUDA_MUST(cuda.memory_set(stage.memory, 0, 4, stage.first));
		CUDA_MUST(cuda.graph_launch(exec, stage.first));
		CUDA_MUST(cuda.stream_synchronize(stage.first));
		stale |= trap_look(stage.other) != 0x01010101;
	}
	CUDA_MUST(cuda.graph_exec_destroy(exec));
	return stale ? TRAP_STALE : 0;
}

static int wait_for_a_record_outside(bool wrong)
{
	CUDA_MUST(cuda.event_record(stage.event, stage.second));
	if (!wrong)
		CUDA_MUST(cuda.stream_wait_event(stage.first, stage.event, 0));
	begin(stage.first, CUDA_CAPTURE_GLOBAL);
	return end_behind(wrong ? cuda.stream_wait_event(stage.first, stage.event, 0) : 0);
}

static int merge_captures(bool wrong)
{
	struct CUgraph_st *other;
	begin(stage.first, CUDA_CAPTURE_RELAXED);
	begin(stage.second, CUDA_CAPTURE_RELAXED);
	CUDA_MUST(cuda.event_record(stage.event, stage.second));
	int err = wrong ? cuda.stream_wait_event(stage.first, stage.event, 0) : 0;
	int lost = cuda.capture_end(stage.second, &other);
	if (!lost)
		CUDA_MUST(cuda.graph_destroy(other));
	return err && lost != RING_CUDA_CAPTURE_INVALIDATED ? TRAP_STALE : end_behind(err);
}

/* Whatever the thread's mode is. */
static int ask_a_captured_event(bool wrong)
{
	begin(stage.first, CUDA_CAPTURE_RELAXED);
	CUDA_MUST(cuda.event_record(stage.event, wrong ? stage.first : stage.second));
	int err = cuda.event_query(stage.event);
	return end_behind(err == RING_CUDA_NOT_READY ? 0 : err);
}

/* It is all of it, and so the captured stream, too. */
static int wait_for_the_context(bool wrong)
{
	begin(stage.first, CUDA_CAPTURE_RELAXED);
	return end_behind(wrong ? cuda.context_synchronize()
				: cuda.stream_synchronize(stage.second));
}

const struct trap traps_of_capture[] = {
	{.name = "memory is allocated while a stream is captured",
	 .run = alloc_while_captured,
	 .comes_to = RING_CUDA_CAPTURE_UNSUPPORTED},
	{.name = "a captured stream is waited for",
	 .run = synchronize_while_captured,
	 .comes_to = RING_CUDA_CAPTURE_UNSUPPORTED},
	{.name = "another thread's question loses a capture",
	 .run = ask_in_another_thread,
	 .comes_to = RING_CUDA_CAPTURE_INVALIDATED},
	{.name = "a question is asked while a stream is captured",
	 .run = ask_relaxed,
	 .comes_to = RING_CUDA_CAPTURE_UNSUPPORTED},
	{.name = "the legacy stream is used while another is captured",
	 .run = use_the_legacy_stream,
	 .comes_to = RING_CUDA_CAPTURE_IMPLICIT},
	{.name = "the legacy stream is captured",
	 .run = capture_the_legacy_stream,
	 .comes_to = RING_CUDA_CAPTURE_UNSUPPORTED},
	{.name = "a stream does not come back to its capture",
	 .run = forget_to_join,
	 .comes_to = CUDA_CAPTURE_UNJOINED},
	{.name = "a capture waits for what is outside",
	 .run = wait_for_a_record_outside,
	 .comes_to = CUDA_CAPTURE_ISOLATION},
	{.name = "a capture waits for another", .run = merge_captures, .comes_to = CUDA_CAPTURE_MERGE},
	{.name = "a captured event is asked",
	 .run = ask_a_captured_event,
	 .comes_to = CUDA_CAPTURED_EVENT},
	{.name = "all is waited for while a stream is captured",
	 .run = wait_for_the_context,
	 .comes_to = RING_CUDA_CAPTURE_UNSUPPORTED},
	{.name = "branches of a graph come in any order",
	 .run = expect_an_order,
	 .comes_to = TRAP_STALE,
	 .is_stricter = true},
	{.name = "what was captured has not been done", .run = launch_a_graph, .comes_to = TRAP_STALE},
	{.name = NULL},
};
