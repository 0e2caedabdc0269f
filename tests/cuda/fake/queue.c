/* SPDX-License-Identifier: MIT */
/*
 * Jobs, and the hardware queues that do them: each is a thread that does what it was given strictly
 * in order, whatever streams it came from. A job that must wait for another queue's holds up all
 * behind it. A stream's jobs are in one queue, but for its copies.
 *
 * That a job is done is told late: when several are, when nothing is left to do, or when the next
 * one may have to wait for somebody who waits for this.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURST 8

struct fake_job {
	unsigned holders;
	struct CUctx_st *context;
	uint64_t stream; /* its number, for people */
	bool blocking;   /* the stream's           */
	struct fake_work work;

	/* It comes behind these, besides those before it in its queue. */
	const struct fake_queue *queue;
	struct fake_job *after[FAKE_QUEUES + 2];
	int nafter;

	bool done, lost; /* lost: its context broke before */
	double done_at;
	struct fake_job *next;
};

struct fake_queue {
	struct CUctx_st *context;
	pthread_t thread;
	pthread_cond_t given; /* a job, or the end */
	struct fake_job *first, **end;
	struct fake_job *doing;
	size_t jobs;   /* that are not told to be done */
	uint64_t over; /* jobs that have come to their end, told or not */

	struct fake_job *untold[BURST];
	int nuntold, burst;
	uint64_t random;

	struct fake_job *last;          /* that it was given           */
	struct fake_job *last_blocking; /* ... by a blocking stream    */
};

double fake_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct fake_job *fake_job_hold(struct fake_job *job)
{
	if (job)
		job->holders++;
	return job;
}

static void come_behind_nothing(struct fake_job *job)
{
	for (int i = 0; i < job->nafter; i++)
		fake_job_drop(job->after[i]);
	job->nafter = 0;
}

void fake_job_drop(struct fake_job *job)
{
	if (!job || --job->holders)
		return;
	come_behind_nothing(job);
	if (job->work.end)
		job->work.end(&job->work);
	free(job);
}

bool fake_job_is_done(const struct fake_job *job)
{
	return !job || job->done;
}

bool fake_job_has_happened(const struct fake_job *job)
{
	return !job || (job->done && !job->lost);
}

double fake_job_done_at(const struct fake_job *job)
{
	return job->done_at;
}

/* Grows with each job before it that ends, in its queue and in those that it waits for. */
static uint64_t jobs_over_before(const struct fake_job *job)
{
	uint64_t over = job->queue->over;
	for (int i = 0; i < job->nafter; i++)
		if (!job->after[i]->done)
			over += job->after[i]->queue->over;
	return over;
}

/* Much work is no hang: patience is with the one job that keeps this one. */
int fake_job_await(struct fake_job *job, struct CUctx_st *context, const char *function)
{
	unsigned waited_ms = 0;
	uint64_t seen = 0;
	fake_job_hold(job);
	while (!fake_job_is_done(job) && !context->error && !context->ending) {
		const uint64_t over = jobs_over_before(job);
		if (over != seen)
			waited_ms = 0;
		seen = over;
		fake_wait(function, "what was given before", &waited_ms);
	}
	fake_job_drop(job);
	return context->ending ? RING_CUDA_CONTEXT_DESTROYED : context->error;
}

/* ---- the thread of a queue ------------------------------------------------------------------- */

static bool is_over(const struct fake_queue *queue)
{
	return queue->context->error || queue->context->ending;
}

static void tell(struct fake_queue *queue)
{
	for (int i = 0; i < queue->nuntold; i++) {
		queue->untold[i]->done_at = fake_now();
		queue->untold[i]->done = true;
		queue->jobs--;
		fake_job_drop(queue->untold[i]);
	}
	queue->nuntold = 0;
	queue->burst = 1 + (int)(fake_random(&queue->random) % BURST);
	pthread_cond_broadcast(&fake_changed);
}

static void nap(struct fake_queue *queue)
{
	pthread_mutex_unlock(&fake_lock);
	fake_nap(&queue->random);
	pthread_mutex_lock(&fake_lock);
}

/* returns NULL at the end */
static struct fake_job *take(struct fake_queue *queue)
{
	while (!queue->first && !queue->context->ending) {
		if (!queue->nuntold) {
			pthread_cond_wait(&queue->given, &fake_lock);
			continue;
		}
		nap(queue);
		tell(queue);
	}
	struct fake_job *job = queue->first;
	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->doing = job;
	return job;
}

static void wait_for_others(struct fake_queue *queue, struct fake_job *job)
{
	if (job->nafter || job->work.waits)
		tell(queue);
	for (int i = 0; i < job->nafter; i++)
		while (!job->after[i]->done && !is_over(queue))
			pthread_cond_wait(&fake_changed, &fake_lock);
	come_behind_nothing(job);
}

static int run(struct fake_queue *queue, struct fake_job *job)
{
	if (++queue->context->jobs == fake_settings.break_at)
		return fake_settings.break_with;
	pthread_mutex_unlock(&fake_lock);
	fake_nap(&queue->random);
	int err = job->work.run ? job->work.run(job->context, &job->work) : 0;
	pthread_mutex_lock(&fake_lock);
	return err;
}

static void *serve(void *argument)
{
	struct fake_queue *queue = argument;
	pthread_mutex_lock(&fake_lock);
	for (struct fake_job *job; (job = take(queue));) {
		wait_for_others(queue, job);
		int err = is_over(queue) ? 0 : run(queue, job);
		if (err)
			fake_context_break(queue->context, err);
		job->lost = is_over(queue);
		queue->doing = NULL;
		queue->over++;
		queue->untold[queue->nuntold++] = job;
		if (queue->nuntold >= queue->burst || is_over(queue))
			tell(queue);
	}
	tell(queue);
	pthread_mutex_unlock(&fake_lock);
	return NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

struct fake_queue *fake_queue_start(struct CUctx_st *context, int index)
{
	struct fake_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->context = context;
	queue->end = &queue->first;
	queue->burst = 1;
	queue->random = fake_settings.seed << 16 ^ (uint64_t)(context->device * FAKE_QUEUES + index);
	pthread_cond_init(&queue->given, NULL);
	if (pthread_create(&queue->thread, NULL, serve, queue)) {
		pthread_cond_destroy(&queue->given);
		free(queue);
		return NULL;
	}
	return queue;
}

void fake_queue_end(struct fake_queue *queue)
{
	pthread_mutex_lock(&fake_lock);
	pthread_cond_signal(&queue->given);
	pthread_mutex_unlock(&fake_lock);
	pthread_join(queue->thread, NULL);
	pthread_mutex_lock(&fake_lock);
	fake_job_drop(queue->last);
	fake_job_drop(queue->last_blocking);
	pthread_mutex_unlock(&fake_lock);
	pthread_cond_destroy(&queue->given);
	free(queue);
}

struct fake_job *fake_queue_last(struct fake_queue *queue)
{
	return queue->last;
}

void fake_queue_describe(struct fake_queue *queue, char *text, size_t bytes)
{
	const struct fake_job *job = queue->doing;
	if (job)
		snprintf(text, bytes, "stream %ju %s \"%s\", %zu jobs behind it",
			 (uintmax_t)job->stream,
			 job->nafter ? "waits for another queue before" : "does", job->work.name,
			 queue->jobs - (size_t)queue->nuntold - 1);
	else
		snprintf(text, bytes, "idle");
}

/* ---- giving them jobs ------------------------------------------------------------------------ */

static void come_behind(struct fake_job *job, struct fake_job *before)
{
	if (!fake_job_is_done(before))
		job->after[job->nafter++] = fake_job_hold(before);
}

/* Its stream's jobs may have gone to another queue. */
static void come_behind_stream(struct fake_job *job, const struct CUstream_st *stream)
{
	if (stream->last && stream->last->queue != job->queue)
		come_behind(job, stream->last);
}

/* A blocking stream comes behind the legacy one, and that one behind all of those. */
static void come_behind_legacy(struct fake_job *job, const struct CUstream_st *stream)
{
	struct CUctx_st *context = stream->context;
	if (stream != context->legacy && stream->blocking)
		come_behind(job, context->legacy->last);
	for (int i = 0; i < FAKE_QUEUES && stream == context->legacy; i++)
		if (context->queues[i])
			come_behind(job, context->queues[i]->last_blocking);
}

static void replace(struct fake_job **place, struct fake_job *job)
{
	fake_job_drop(*place);
	*place = fake_job_hold(job);
}

static void append(struct fake_queue *queue, struct CUstream_st *stream, struct fake_job *job)
{
	*queue->end = fake_job_hold(job);
	queue->end = &job->next;
	queue->jobs++;
	replace(&queue->last, job);
	replace(&stream->last, job);
	if (job->blocking)
		replace(&queue->last_blocking, job);
	pthread_cond_signal(&queue->given);
}

static void wait_for_room(const char *function, struct fake_queue *queue)
{
	bool took = false;
	for (unsigned waited_ms = 0; queue->jobs >= FAKE_QUEUE_JOBS && !is_over(queue);) {
		took |= fake_context_lock(queue->context, function);
		fake_wait(function, "room in a hardware queue", &waited_ms);
	}
	fake_context_unlock(queue->context, took);
}

static int give(const char *function, struct CUstream_st *stream, const struct fake_work *work,
		struct fake_job *after)
{
	struct CUctx_st *context = stream->context;
	struct fake_queue *queue = fake_stream_queue(stream, work->engine);
	struct fake_job *job = queue ? calloc(1, sizeof(*job)) : NULL;
	if (!job)
		return RING_CUDA_OUT_OF_MEMORY;
	fake_job_hold(after);
	wait_for_room(function, queue);
	if (!context->error) {
		*job = (struct fake_job){.context = context,
					 .stream = stream->number,
					 .blocking = stream->blocking,
					 .work = *work,
					 .queue = queue};
		come_behind(job, after);
		come_behind_stream(job, stream);
		come_behind_legacy(job, stream);
		append(queue, stream, job);
	} else {
		free(job);
	}
	fake_job_drop(after);
	return context->error;
}

int fake_submit(const char *function, struct CUstream_st *stream, const struct fake_work *work,
		struct fake_job *after)
{
	int err = 0;
	if (stream == stream->context->legacy)
		err = fake_capture_forbids_legacy(stream->context);
	if (!err)
		err = stream->captured ? fake_capture_note(stream, work)
				       : give(function, stream, work, after);
	struct fake_work refused = *work;
	if (err && refused.end)
		refused.end(&refused);
	return err;
}
