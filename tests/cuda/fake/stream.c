/* SPDX-License-Identifier: MIT */
/* Streams and their queues, and what makes one wait for a word in memory or write it. */
#include "fake.h"

#include <stdlib.h>
#include <time.h>

#define WAIT_FLAGS 3 /* >=, ==, and, nor */
#define LOOK_NS 20000

/* Made when it is first needed; NULL without memory. */
static struct fake_queue *find_queue(struct CUctx_st *context, int index)
{
	if (!context->queues[index])
		context->queues[index] = fake_queue_start(context, index);
	return context->queues[index];
}

/* One of those that streams of a priority share; NULL without memory. */
static struct fake_queue *deal_queue(struct CUctx_st *context, int priority)
{
	uint64_t number = context->streams_made[-priority] % (unsigned)fake_settings.queues;
	struct fake_queue *queue = find_queue(context, -priority * FAKE_CONNECTIONS + (int)number);
	context->streams_made[-priority] += queue != NULL;
	return queue;
}

/* Those of copies in one direction, to streams as they first copy. */
static struct fake_queue *deal_copy_queue(struct CUctx_st *context, int direction)
{
	uint64_t number = context->copiers[direction] % (unsigned)fake_settings.copy_queues;
	struct fake_queue *queue =
		find_queue(context, FAKE_COPY_QUEUES + direction * FAKE_CONNECTIONS + (int)number);
	context->copiers[direction] += queue != NULL;
	return queue;
}

struct fake_queue *fake_stream_queue(struct CUstream_st *stream, enum fake_engine engine)
{
	int direction = (int)engine - FAKE_TO_DEVICE;
	if (engine == FAKE_KERNELS)
		return stream->queue;
	if (!stream->copies[direction])
		stream->copies[direction] = deal_copy_queue(stream->context, direction);
	return stream->copies[direction];
}

struct CUstream_st *fake_stream_start(struct CUctx_st *context, bool blocking, int priority)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	struct fake_queue *queue = deal_queue(context, priority);
	if (!queue) {
		free(stream);
		return NULL;
	}
	*stream = (struct CUstream_st){.context = context,
				       .queue = queue,
				       .next = context->streams,
				       .number = context->streams_numbered++,
				       .priority = priority,
				       .blocking = blocking};
	context->streams = stream;
	return stream;
}

static void free_stream(struct CUstream_st *stream)
{
	fake_job_drop(stream->last);
	fake_capture_leave(stream);
	free(stream);
}

void fake_streams_end(struct CUctx_st *context)
{
	for (struct CUstream_st *stream = context->streams, *next; stream; stream = next) {
		next = stream->next;
		free_stream(stream);
	}
	context->streams = context->legacy = NULL;
}

/* ---- handles --------------------------------------------------------------------------------- */

/* The thread's own default stream, which is made when it is first used. */
static struct CUstream_st *find_per_thread(struct CUctx_st *context)
{
	static _Thread_local char me;
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		if (stream->owner == &me)
			return stream;
	struct CUstream_st *stream = fake_stream_start(context, true, 0);
	if (stream)
		stream->owner = &me;
	return stream;
}

static bool is_alive(const struct CUstream_st *handle)
{
	for (int device = 0; device < FAKE_DEVICES; device++)
		for (struct CUstream_st *s = fake_contexts[device].streams; s; s = s->next)
			if (s == handle)
				return true;
	return false;
}

int fake_stream_find(struct CUstream_st *handle, struct CUstream_st **stream)
{
	struct CUctx_st *context = fake_current();
	if (handle == NULL || handle == RING_CUDA_STREAM_LEGACY)
		*stream = context->legacy;
	else if (handle == RING_CUDA_STREAM_PER_THREAD)
		*stream = find_per_thread(context);
	else if (is_alive(handle))
		*stream = handle;
	else
		return RING_CUDA_INVALID_HANDLE;
	return *stream ? (*stream)->context->error : RING_CUDA_OUT_OF_MEMORY;
}

/* What most calls about a stream begin with. On success the lock is held. */
static int begin(const char *function, unsigned needs, struct CUstream_st *handle,
		 struct CUstream_st **stream)
{
	int err = fake_begin(function, needs);
	if (err)
		return err;
	err = fake_stream_find(handle, stream);
	return err ? fake_end(err) : 0;
}

/* ---- their life ------------------------------------------------------------------------------ */

int cuStreamCreateWithPriority(struct CUstream_st **stream, unsigned flags, int priority)
{
	int err = fake_begin(__func__, FAKE_CONTEXT);
	if (err)
		return err;
	if (flags > RING_CUDA_STREAM_NON_BLOCKING)
		return fake_end(RING_CUDA_INVALID_VALUE);
	priority = priority > 0 ? 0 : priority <= -FAKE_PRIORITIES ? 1 - FAKE_PRIORITIES : priority;
	*stream = fake_stream_start(fake_current(), flags == 0, priority);
	return fake_end(*stream ? 0 : RING_CUDA_OUT_OF_MEMORY);
}

/* What it was given is still done. */
int cuStreamDestroy_v2(struct CUstream_st *handle)
{
	struct CUstream_st *stream;
	int err = begin(__func__, FAKE_CONTEXT, handle, &stream);
	if (err)
		return err;
	if (stream != handle)
		return fake_end(RING_CUDA_INVALID_HANDLE);
	struct CUstream_st **place = &stream->context->streams;
	while (*place != stream)
		place = &(*place)->next;
	*place = stream->next;
	free_stream(stream);
	return fake_end(0);
}

int cuStreamQuery(struct CUstream_st *handle)
{
	struct CUstream_st *stream;
	int err = begin(__func__, FAKE_CONTEXT | FAKE_SAFE, handle, &stream);
	if (err)
		return err;
	if (stream->captured)
		return fake_end(fake_capture_lose(stream->captured));
	return fake_end(fake_job_is_done(stream->last) ? 0 : RING_CUDA_NOT_READY);
}

int cuStreamSynchronize(struct CUstream_st *handle)
{
	struct CUstream_st *stream;
	int err = begin(__func__, FAKE_CONTEXT | FAKE_SAFE, handle, &stream);
	if (err)
		return err;
	if (stream->captured)
		return fake_end(fake_capture_lose(stream->captured));
	return fake_end(fake_job_await(stream->last, stream->context, __func__));
}

int cuStreamGetPriority(struct CUstream_st *handle, int *priority)
{
	struct CUstream_st *stream;
	int err = begin(__func__, FAKE_CONTEXT, handle, &stream);
	if (err)
		return err;
	*priority = stream->priority;
	return fake_end(0);
}

int cuStreamGetCtx(struct CUstream_st *handle, struct CUctx_st **context)
{
	struct CUstream_st *stream;
	bool is_object = handle > RING_CUDA_STREAM_PER_THREAD;
	int err = begin(__func__, is_object ? FAKE_DRIVER : FAKE_CONTEXT, handle, &stream);
	if (err)
		return err;
	*context = stream->context;
	return fake_end(0);
}

int cuStreamWaitEvent(struct CUstream_st *handle, struct CUevent_st *event, unsigned flags)
{
	struct CUstream_st *stream;
	int err = flags ? RING_CUDA_INVALID_VALUE : begin(__func__, FAKE_CONTEXT, handle, &stream);
	if (err)
		return err;
	return fake_end(fake_event_make_wait(event, stream, __func__));
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_satisfied(const struct fake_work *work, uint32_t is)
{
	switch (work->word.flags) {
	case RING_CUDA_WAIT_GEQ:
		return (int32_t)(is - work->word.value) >= 0;
	case 1:
		return is == work->word.value;
	case 2:
		return (is & work->word.value) != 0;
	default:
		return ~(is | work->word.value) != 0;
	}
}

static int wait_for_word(struct CUctx_st *context, struct fake_work *work)
{
	const struct timespec pause = {0, LOOK_NS};
	for (;;) {
		const uint32_t *word = fake_memory_reach(context, work->word.word, sizeof(*word),
							 FAKE_READS);
		if (!word)
			return RING_CUDA_ILLEGAL_ADDRESS;
		if (is_satisfied(work, __atomic_load_n(word, __ATOMIC_ACQUIRE)))
			return 0;
		if (fake_context_is_over(context))
			return 0;
		nanosleep(&pause, NULL);
	}
}

static int write_word(struct CUctx_st *context, struct fake_work *work)
{
	uint32_t *word = fake_memory_reach(context, work->word.word, sizeof(*word), FAKE_WRITES);
	if (!word)
		return RING_CUDA_ILLEGAL_ADDRESS;
	__atomic_store_n(word, work->word.value, __ATOMIC_RELEASE);
	return 0;
}

static int submit_word(const char *function, struct CUstream_st *handle, struct fake_work *work)
{
	struct CUstream_st *stream;
	int err = begin(function, FAKE_CONTEXT, handle, &stream);
	if (err)
		return err;
	if (!fake_settings.words)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	const uint32_t *word = work->word.word;
	struct fake_range range;
	if ((uintptr_t)word % sizeof(*word) || !fake_memory_find(word, &range) ||
	    range.kind == FAKE_MANAGED_MEMORY || work->word.flags > WAIT_FLAGS)
		return fake_end(RING_CUDA_INVALID_VALUE);
	return fake_end(fake_submit(function, stream, work, NULL));
}

int cuStreamWaitValue32_v2(struct CUstream_st *stream, const uint32_t *word, uint32_t value,
			   unsigned flags)
{
	struct fake_work work = {.name = "wait for a word",
				 .run = wait_for_word,
				 .waits = true,
				 .word = {(uint32_t *)word, value, flags}};
	return submit_word(__func__, stream, &work);
}

int cuStreamWriteValue32_v2(struct CUstream_st *stream, uint32_t *word, uint32_t value,
			    unsigned flags)
{
	struct fake_work work = {.name = "write a word",
				 .run = write_word,
				 .word = {word, value, flags}};
	return submit_word(__func__, stream, &work);
}
