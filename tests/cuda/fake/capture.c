/* SPDX-License-Identifier: MIT */
/*
 * Graphs: what the streams of a capture were given, and what of that comes behind what. When the
 * graph is launched it is done one after the other, in any order that respects that, and in another
 * one the next time.
 */
#include "fake.h"

#include <stdatomic.h>
#include <stdlib.h>

struct node {
	struct fake_work work;
	struct fake_places after;
};

struct CUgraph_st {
	unsigned holders;
	uint64_t id; /* of its capture */
	struct node *nodes;
	size_t nnodes, room;
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

/* ---- places in a graph ----------------------------------------------------------------------- */

static bool has_place(const struct fake_places *places, size_t node)
{
	size_t i = 0;
	while (i < places->count && places->nodes[i] != node)
		i++;
	return i < places->count;
}

int fake_places_add(struct fake_places *places, const struct fake_places *more)
{
	size_t room = places->count + more->count;
	size_t *nodes = room ? realloc(places->nodes, room * sizeof(*nodes)) : NULL;
	if (!nodes)
		return room ? RING_CUDA_OUT_OF_MEMORY : 0;
	places->nodes = nodes;
	for (size_t i = 0; i < more->count; i++)
		if (!has_place(places, more->nodes[i]))
			nodes[places->count++] = more->nodes[i];
	return 0;
}

void fake_places_end(struct fake_places *places)
{
	free(places->nodes);
	*places = (struct fake_places){0};
}

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
	for (size_t i = 0; i < graph->nnodes; i++) {
		struct node *node = &graph->nodes[i];
		fake_places_end(&node->after);
		if (node->work.end)
			node->work.end(&node->work);
	}
	free(graph->nodes);
	free(graph);
}

static bool may_run(const struct CUgraph_st *graph, size_t node, const bool *done)
{
	const struct fake_places *after = &graph->nodes[node].after;
	size_t i = 0;
	while (i < after->count && done[after->nodes[i]])
		i++;
	return i == after->count && !done[node];
}

/* Any of those that may be next. */
static size_t choose(const struct CUgraph_st *graph, const bool *done, uint64_t *random)
{
	size_t chosen = 0, many = 0;
	for (size_t node = 0; node < graph->nnodes; node++)
		if (may_run(graph, node, done) && fake_random(random) % ++many == 0)
			chosen = node;
	return chosen;
}

static int run_graph(struct CUctx_st *context, struct fake_work *work)
{
	static atomic_uint_fast64_t launches;
	uint64_t random = fake_settings.seed << 32 ^ atomic_fetch_add(&launches, 1);
	struct CUgraph_st *graph = work->graph;
	bool *done = calloc(graph->nnodes + 1, sizeof(*done));
	int err = done ? 0 : RING_CUDA_OUT_OF_MEMORY;
	for (size_t left = graph->nnodes; left > 0 && !err; left--) {
		size_t next = choose(graph, done, &random);
		struct fake_work *one = &graph->nodes[next].work;
		if (one->run && !fake_context_is_over(context))
			err = one->run(context, one);
		done[next] = true;
	}
	free(done);
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

int fake_capture_forbids_all(struct CUctx_st *context)
{
	int err = 0;
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		if (stream->captured)
			err = fake_capture_lose(stream->captured);
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

/* returns NULL without memory */
static struct node *add_node(struct CUgraph_st *graph)
{
	if (graph->nnodes == graph->room) {
		size_t room = 2 * graph->room + 16;
		void *more = realloc(graph->nodes, room * sizeof(*graph->nodes));
		if (!more)
			return NULL;
		graph->nodes = more;
		graph->room = room;
	}
	return &graph->nodes[graph->nnodes];
}

int fake_capture_note(struct CUstream_st *stream, const struct fake_work *work)
{
	struct CUgraph_st *graph = stream->captured;
	if (graph->lost)
		return RING_CUDA_CAPTURE_INVALIDATED;
	struct node *node = add_node(graph);
	struct fake_places here = {0};
	if (!node || fake_places_add(&here, &(struct fake_places){&graph->nnodes, 1}))
		return RING_CUDA_OUT_OF_MEMORY;
	*node = (struct node){.work = *work, .after = stream->at};
	stream->at = here;
	graph->nnodes++;
	graph->waits |= work->waits;
	return 0;
}

static void enter(struct CUstream_st *stream, struct CUgraph_st *graph)
{
	stream->captured = fake_graph_hold(graph);
}

void fake_capture_leave(struct CUstream_st *stream)
{
	if (stream->captured)
		fake_graph_drop(stream->captured);
	stream->captured = NULL;
	fake_places_end(&stream->at);
}

int fake_capture_refuse(struct CUgraph_st *graph, int result)
{
	if (graph && graph->open)
		fake_capture_lose(graph);
	return result;
}

int fake_capture_join(struct CUstream_st *stream, struct CUgraph_st *graph,
		      const struct fake_places *at)
{
	if (!graph->open)
		return fake_capture_refuse(stream->captured, CUDA_CAPTURE_ISOLATION);
	if (stream->captured && stream->captured != graph) {
		fake_capture_lose(stream->captured);
		return fake_capture_refuse(graph, CUDA_CAPTURE_MERGE);
	}
	if (stream == stream->context->legacy)
		return fake_capture_refuse(graph, RING_CUDA_CAPTURE_IMPLICIT);
	if (!stream->captured)
		enter(stream, graph);
	return fake_places_add(&stream->at, at);
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
	static uint64_t numbered;
	struct CUgraph_st *graph = err ? NULL : calloc(1, sizeof(*graph));
	if (!graph)
		return fake_end(err ? err : RING_CUDA_OUT_OF_MEMORY);
	*graph = (struct CUgraph_st){.holders = 1,
				     .id = ++numbered,
				     .open = true,
				     .origin = stream,
				     .thread = &thread_mode,
				     .mode = mode,
				     .next = captures};
	captures = graph;
	enter(stream, graph);
	return fake_end(0);
}

/* Whether all that was noted comes before the first stream's end, as far as there is memory to tell. */
static bool all_come_back(const struct CUgraph_st *graph)
{
	size_t missing = 0;
	bool *back = calloc(graph->nnodes + 1, sizeof(*back));
	for (size_t i = 0; back && i < graph->origin->at.count; i++)
		back[graph->origin->at.nodes[i]] = true;
	for (size_t node = graph->nnodes; back && node-- > 0;) { /* it comes behind earlier ones */
		const struct fake_places *after = &graph->nodes[node].after;
		for (size_t i = 0; i < after->count; i++)
			back[after->nodes[i]] |= back[node];
		missing += !back[node];
	}
	free(back);
	return back && missing == 0;
}

/* Its streams are as they were before. */
static void leave(const struct CUgraph_st *graph)
{
	for (int device = 0; device < FAKE_DEVICES; device++)
		for (struct CUstream_st *s = fake_contexts[device].streams; s; s = s->next)
			if (s->captured == graph)
				fake_capture_leave(s);
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
	bool joined = all_come_back(capture);
	leave(capture);
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

/* With the lock. */
static int look(struct CUstream_st *handle, int *status, uint64_t *id)
{
	struct CUstream_st *stream;
	int err = fake_stream_find(handle, &stream);
	if (!err && stream == stream->context->legacy && find_blocking(stream->context))
		err = RING_CUDA_CAPTURE_IMPLICIT; /* asking does no harm */
	if (err)
		return err;
	const struct CUgraph_st *capture = stream->captured;
	*status = !capture        ? RING_CUDA_CAPTURE_NONE
		  : capture->lost ? CUDA_CAPTURE_STATUS_INVALIDATED
				  : RING_CUDA_CAPTURE_ACTIVE;
	if (*status == RING_CUDA_CAPTURE_ACTIVE)
		*id = capture->id;
	return 0;
}

int cuStreamIsCapturing(struct CUstream_st *handle, int *status)
{
	uint64_t id;
	int err = fake_begin(__func__, FAKE_CONTEXT);
	return err ? err : fake_end(look(handle, status, &id));
}

/* Graph and dependencies nobody asks for yet. */
int cuStreamGetCaptureInfo_v2(struct CUstream_st *handle, int *status, uint64_t *id, void *graph,
			      void *dependencies, size_t *count)
{
	uint64_t found;
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	if (!status || graph || dependencies || count)
		return fake_end(RING_CUDA_INVALID_VALUE);
	return fake_end(look(handle, status, id ? id : &found));
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

/* Only how many there are, if not which. */
int cuGraphGetNodes(struct CUgraph_st *graph, void *nodes, size_t *count)
{
	int err = fake_begin(__func__, FAKE_DRIVER);
	if (err)
		return err;
	if (!graph || nodes || !count)
		return fake_end(RING_CUDA_INVALID_VALUE);
	*count = graph->nnodes;
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
