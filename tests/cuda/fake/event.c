/* SPDX-License-Identifier: MIT */
/*
 * Events: each names the job of its last record. Waiting for one that was never recorded is
 * waiting for nothing; a wait sees only the record that came before it. One that has happened, or
 * was never recorded, says nothing of a context that broke since.
 */
#include "fake.h"

#include <stdlib.h>

struct CUevent_st {
	struct CUctx_st *context;
	struct CUevent_st *next;
	bool timed;
	struct fake_job *job;

	/* ... or the last record was captured: then it names places in a graph. */
	struct CUgraph_st *graph;
	struct fake_places at;
};

static void forget(struct CUevent_st *event)
{
	fake_job_drop(event->job);
	event->job = NULL;
	if (event->graph)
		fake_graph_drop(event->graph);
	event->graph = NULL;
	fake_places_end(&event->at);
}

void fake_events_end(struct CUctx_st *context)
{
	for (struct CUevent_st *event = context->events, *next; event; event = next) {
		next = event->next;
		forget(event);
		free(event);
	}
}

static struct CUevent_st **find(const struct CUevent_st *event)
{
	for (int device = 0; device < FAKE_DEVICES; device++)
		for (struct CUevent_st **e = &fake_contexts[device].events; *e; e = &(*e)->next)
			if (*e == event)
				return e;
	return NULL;
}

/* On success the lock is held. */
static int begin_any(const char *function, unsigned needs, struct CUevent_st *event)
{
	int err = fake_begin(function, needs);
	if (err)
		return err;
	return find(event) ? 0 : fake_end(RING_CUDA_INVALID_HANDLE);
}

static int begin(const char *function, unsigned needs, struct CUevent_st *event)
{
	int err = begin_any(function, needs, event);
	if (err)
		return err;
	return event->context->error ? fake_end(event->context->error) : 0;
}

int cuEventCreate(struct CUevent_st **event, unsigned flags)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	struct CUevent_st *it = calloc(1, sizeof(*it));
	if (!it)
		return fake_end(RING_CUDA_OUT_OF_MEMORY);
	it->context = fake_current();
	it->timed = !(flags & RING_CUDA_EVENT_NO_TIMING);
	it->next = it->context->events;
	it->context->events = it;
	*event = it;
	return fake_end(0);
}

int cuEventDestroy_v2(struct CUevent_st *event)
{
	int err = begin(__func__, FAKE_CONTEXT, event);
	if (err)
		return err;
	struct CUevent_st **place = find(event);
	*place = event->next;
	forget(event);
	free(event);
	return fake_end(0);
}

static int note_capture(struct CUevent_st *event, struct CUstream_st *stream)
{
	forget(event);
	event->graph = fake_graph_hold(stream->captured);
	return fake_places_add(&event->at, &stream->at);
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *handle)
{
	int err = begin(__func__, FAKE_CONTEXT, event);
	if (err)
		return err;
	struct CUstream_st *stream;
	err = fake_stream_find(handle, &stream);
	if (!err && stream->context != event->context)
		err = RING_CUDA_INVALID_HANDLE;
	if (err)
		return fake_end(err);
	if (stream->captured)
		return fake_end(note_capture(event, stream));
	err = fake_submit(__func__, stream, &(struct fake_work){.name = "event"}, NULL);
	if (!err) {
		forget(event);
		event->job = fake_job_hold(stream->last);
	}
	return fake_end(err);
}

int fake_event_make_wait(struct CUevent_st *event, struct CUstream_st *stream, const char *function)
{
	if (!find(event))
		return RING_CUDA_INVALID_HANDLE;
	if (event->graph)
		return fake_capture_join(stream, event->graph, &event->at);
	if (stream->captured && event->job)
		return fake_capture_refuse(stream->captured, CUDA_CAPTURE_ISOLATION);
	if (stream->captured)
		return 0;
	struct fake_work work = {.name = "wait for an event"};
	return event->job ? fake_submit(function, stream, &work, event->job) : 0;
}

int cuEventQuery(struct CUevent_st *event)
{
	int err = begin_any(__func__, FAKE_ASKS | FAKE_SAFE, event);
	if (err)
		return err;
	if (event->graph)
		return fake_end(fake_capture_refuse(event->graph, CUDA_CAPTURED_EVENT));
	if (fake_job_has_happened(event->job))
		return fake_end(0);
	return fake_end(event->context->error ? event->context->error : RING_CUDA_NOT_READY);
}

int cuEventSynchronize(struct CUevent_st *event)
{
	int err = begin_any(__func__, FAKE_CONTEXT | FAKE_SAFE, event);
	if (err)
		return err;
	if (event->graph)
		return fake_end(fake_capture_refuse(event->graph, CUDA_CAPTURED_EVENT));
	if (fake_job_has_happened(event->job))
		return fake_end(0);
	return fake_end(fake_job_await(event->job, event->context, __func__));
}

int cuEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to)
{
	int err = begin(__func__, FAKE_CONTEXT, from);
	if (err)
		return err;
	if (!find(to) || !from->timed || !to->timed || !from->job || !to->job)
		return fake_end(RING_CUDA_INVALID_HANDLE);
	if (!fake_job_is_done(from->job) || !fake_job_is_done(to->job))
		return fake_end(RING_CUDA_NOT_READY);
	*milliseconds = (float)((fake_job_done_at(to->job) - fake_job_done_at(from->job)) * 1e3);
	return fake_end(0);
}
