/* SPDX-License-Identifier: MIT */
/*
 * Graphs: what the streams of a capture were given is noted in the order in which they were given
 * it, which respects all dependencies, and done in that order when the graph is launched.
 */
#include "fake.h"

#include <stdlib.h>

struct CUgraph_st {
	unsigned holders;
	struct fake_work *works;
	size_t nworks, room;
	bool waits; /* one of them does */

	/* while it is captured */
	bool open, lost;
	struct CUstream_st *origin;
	const void *thread;
	int mode;
	struct CUgraph_st *next;
};

struct CUgraphExec_st {
	struct CUgraph_st *graph;
};

static struct CUgraph_st *captures;
static _Thread_local int thread_mode = CUDA_CAPTURE_GLOBAL; /* its address is the thread's name */

/* ---- graphs ---------------------------------------------------------------------------------- */

struct CUgraph_st *fake_graph_hold(struct CUgraph_st *graph)
{
	graph->holders++;
	return graph;
}

void fake_graph_drop(struct CUgraph_st *graph)
{
	if (--graph->holders)
		return;
	for (size_t i = 0; i < graph->nworks; i++)
		if (graph->works[i].end)
			graph->works[i].end(&graph->works[i]);
	free(graph->works);
	free(graph);
}

static int run_graph(struct CUctx_st *context, struct fake_work *work)
{
	int err = 0;
	for (size_t i = 0; i < work->graph->nworks && !err; i++) {
		struct fake_work *one = &work->graph->works[i];
		if (one->run && !fake_context_is_over(context))
			err = one->run(context, one);
	}
	return err;
}

static void drop_graph(struct fake_work *work)
{
	fake_graph_drop(work->graph);
}

/* ---- what a capture forbids ------------------------------------------------------------------ */

int fake_capture_lose(struct CUgraph_st *graph)
{
	graph->lost = true;
	return RING_CUDA_CAPTURE_UNSUPPORTED;
}

static bool forbids(const struct CUgraph_st *capture)
{
	bool mine = capture->thread == &thread_mode;
	if (thread_mode == CUDA_CAPTURE_RELAXED || capture->mode == CUDA_CAPTURE_RELAXED)
		return false;
	return mine || (thread_mode == CUDA_CAPTURE_GLOBAL && capture->mode == CUDA_CAPTURE_GLOBAL);
}

int fake_capture_forbids(void)
{
	int err = 0;
	for (struct CUgraph_st *capture = captures; capture; capture = capture->next)
		if (forbids(capture))
			err = fake_capture_lose(capture);
	return err;
}

/* A blocking stream that is captured, as the legacy one would wait for it; NULL: there is none. */
static struct CUstream_st *find_blocking(struct CUctx_st *context)
{
	struct CUstream_st *stream = context->streams;
	while (stream && !(stream->captured && stream->blocking))
		stream = stream->next;
	return stream;
}

int fake_capture_forbids_legacy(struct CUctx_st *context)
{
	struct CUstream_st *stream = find_blocking(context);
	if (stream)
		fake_capture_lose(stream->captured);
	return stream ? RING_CUDA_CAPTURE_IMPLICIT : 0;
}

/* ---- what it notes --------------------------------------------------------------------------- */

int fake_capture_note(struct CUstream_st *stream, const struct fake_work *work)
{
	struct CUgraph_st *graph = stream->captured;
	if (graph->lost)
		return RING_CUDA_CAPTURE_INVALIDATED;
	if (graph->nworks == graph->room) {
		size_t room = 2 * graph->room + 16;
		void *more = realloc(graph->works, room * sizeof(*graph->works));
		if (!more)
			return RING_CUDA_OUT_OF_MEMORY;
		graph->works = more;
		graph->room = room;
	}
	graph->works[graph->nworks++] = *work;
	graph->waits |= work->waits;
	stream->captured_upto = graph->nworks;
	stream->joined = stream == graph->origin;
	return 0;
}

static void enter(struct CUstream_st *stream, struct CUgraph_st *graph)
{
	stream->captured = fake_graph_hold(graph);
	stream->captured_upto = 0;
	stream->joined = true; /* there is nothing yet to be waited for */
}

int fake_capture_join(struct CUstream_st *stream, struct CUgraph_st *graph,
		      struct CUstream_st *from, size_t upto)
{
	if (!graph->open || (stream->captured && stream->captured != graph))
		return CUDA_CAPTURE_ISOLATION;
	if (stream == stream->context->legacy)
		return RING_CUDA_CAPTURE_IMPLICIT;
	if (!stream->captured)
		enter(stream, graph);
	for (struct CUstream_st *s = stream->context->streams; s; s = s->next)
		if (s == from && s->captured == graph && upto >= s->captured_upto)
			s->joined = true;
	return 0;
}

/* ---- from begin to end ----------------------------------------------------------------------- */

int cuStreamBeginCapture_v2(struct CUstream_st *handle, int mode)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = fake_stream_find(handle, &stream);
	if (!err && (stream == stream->context->legacy))
		err = RING_CUDA_CAPTURE_UNSUPPORTED;
	if (!err && (stream->captured || mode < 0 || mode > CUDA_CAPTURE_RELAXED))
		err = RING_CUDA_INVALID_VALUE;
	struct CUgraph_st *graph = err ? NULL : calloc(1, sizeof(*graph));
	if (!graph)
		return fake_end(err ? err : RING_CUDA_OUT_OF_MEMORY);
	*graph = (struct CUgraph_st){.holders = 1,
				     .open = true,
				     .origin = stream,
				     .thread = &thread_mode,
				     .mode = mode,
				     .next = captures};
	captures = graph;
	enter(stream, graph);
	return fake_end(0);
}

/* Its streams are as they were before. returns whether all came back to the first */
static bool leave(struct CUgraph_st *graph)
{
	bool joined = true;
	for (int device = 0; device < FAKE_DEVICES; device++)
		for (struct CUstream_st *s = fake_contexts[device].streams; s; s = s->next)
			if (s->captured == graph) {
				joined &= s->joined;
				s->captured = NULL;
				fake_graph_drop(graph);
			}
	return joined;
}

static void close_capture(struct CUgraph_st *graph)
{
	struct CUgraph_st **place = &captures;
	while (*place != graph)
		place = &(*place)->next;
	*place = graph->next;
	graph->open = false;
}

int cuStreamEndCapture(struct CUstream_st *handle, struct CUgraph_st **graph)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = fake_stream_find(handle, &stream);
	struct CUgraph_st *capture = err ? NULL : stream->captured;
	if (!capture)
		return fake_end(err ? err : CUDA_ILLEGAL_STATE);
	if (capture->origin != stream)
		return fake_end(CUDA_CAPTURE_UNMATCHED);
	if (capture->thread != &thread_mode && capture->mode != CUDA_CAPTURE_RELAXED)
		return fake_end(CUDA_CAPTURE_WRONG_THREAD);
	bool joined = leave(capture);
	close_capture(capture);
	if (capture->lost || !joined)
		err = capture->lost ? RING_CUDA_CAPTURE_INVALIDATED : CUDA_CAPTURE_UNJOINED;
	if (err)
		fake_graph_drop(capture);
	*graph = err ? NULL : capture;
	return fake_end(err);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	int is = thread_mode;
	thread_mode = *mode;
	*mode = is;
	return fake_end(0);
}

int cuStreamIsCapturing(struct CUstream_st *handle, int *status)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = fake_stream_find(handle, &stream);
	if (!err && stream == stream->context->legacy && find_blocking(stream->context))
		err = RING_CUDA_CAPTURE_IMPLICIT; /* asking does no harm */
	if (err)
		return fake_end(err);
	const struct CUgraph_st *capture = stream->captured;
	*status = !capture        ? RING_CUDA_CAPTURE_NONE
		  : capture->lost ? CUDA_CAPTURE_STATUS_INVALIDATED
				  : CUDA_CAPTURE_ACTIVE;
	return fake_end(0);
}

/* ---- launching ------------------------------------------------------------------------------- */

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				unsigned long long flags)
{
	(void)flags;
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	struct CUgraphExec_st *it = graph ? calloc(1, sizeof(*it)) : NULL;
	if (!it)
		return fake_end(graph ? RING_CUDA_OUT_OF_MEMORY : RING_CUDA_INVALID_VALUE);
	it->graph = fake_graph_hold(graph);
	*exec = it;
	return fake_end(0);
}

int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *handle)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = exec ? fake_stream_find(handle, &stream) : RING_CUDA_INVALID_VALUE;
	if (err)
		return fake_end(err);
	struct fake_work work = {.name = "graph",
				 .run = run_graph,
				 .end = drop_graph,
				 .waits = exec->graph->waits,
				 .graph = fake_graph_hold(exec->graph)};
	return fake_end(fake_submit(__func__, stream, &work, NULL));
}

int cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (exec)
		fake_graph_drop(exec->graph);
	free(exec);
	return fake_end(exec ? 0 : RING_CUDA_INVALID_VALUE);
}

int cuGraphDestroy(struct CUgraph_st *graph)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (graph)
		fake_graph_drop(graph);
	return fake_end(graph ? 0 : RING_CUDA_INVALID_VALUE);
}
