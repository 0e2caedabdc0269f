/* SPDX-License-Identifier: MIT */
/* Jobs that threads of the device do later; see far.h. The arithmetic is the CPU device's. */
#include "far.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/datatype.h"
#include "base/status.h"
#include "far_memory.h"
#include "twin.h"
#include "tests/transport/dice.h"

const struct ring_device *const ring_devices[] = {&ring_device_cpu, &far_device, NULL};

struct job {
	bool reduces;
	struct ring_reduction reduction;
	uint64_t scalars[RING_REDUCE_SOURCES];
	void *dst;
	const void *src;
	size_t bytes;
	struct job *next;
};

struct ring_device_queue {
	struct ring_device_queue *cpu;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first, **end;
	uint64_t submitted, finished;
	bool failed, closing;
	void (*done)(void *context); /* whom to tell ... */
	void *context;
	uint64_t told_at; /* ... once so many are finished; NULL: nobody */
	uint64_t dice;
	unsigned always_us, most_us, seldom_us;
};

static atomic_uint late_always_us, late_most_us = 100, late_seldom_us = 2000, queues_opened;
static atomic_ulong jobs_done;
static atomic_int jobs_to_failure = INT_MAX;

void far_be_late(unsigned always_us, unsigned most_us, unsigned seldom_us)
{
	late_always_us = always_us;
	late_most_us = most_us;
	late_seldom_us = seldom_us;
}

void far_fail_after(int jobs)
{
	jobs_to_failure = jobs;
}

unsigned long far_jobs(void)
{
	return jobs_done;
}

void far_write(void *far, const void *host, size_t bytes)
{
	memcpy(far_reach(far, bytes), host, bytes);
}

void far_read(void *host, const void *far, size_t bytes)
{
	memcpy(host, far_reach(far, bytes), bytes);
}

/* ---- the device's thread --------------------------------------------------------------------- */

static bool do_job(struct ring_device_queue *queue, struct job *job)
{
	struct ring_reduction *reduction = &job->reduction;
	size_t bytes = reduction->count * ring_datatype_bytes(reduction->type);
	if (jobs_to_failure-- <= 0)
		return false;
	jobs_done++;
	if (!job->reduces)
		return ring_device_cpu.copy(queue->cpu,
					    job->bytes ? far_reach(job->dst, job->bytes) : NULL,
					    job->bytes ? far_reach(job->src, job->bytes) : NULL,
					    job->bytes, false) == 0;
	for (int i = 0; i < reduction->nsources; i++)
		reduction->sources[i] = far_reach(reduction->sources[i], bytes);
	for (int i = 0; i < reduction->nresults; i++)
		reduction->results[i] = far_reach(reduction->results[i], bytes);
	reduction->scalars = job->scalars;
	return ring_device_cpu.reduce(queue->cpu, reduction) == 0;
}

static void be_late(struct ring_device_queue *queue)
{
	uint64_t chance = dice_below(&queue->dice, 256), us = queue->always_us;
	if (chance == 0)
		us += queue->seldom_us;
	else if (chance < 64)
		us += dice_below(&queue->dice, queue->most_us + 1);
	if (us > 0)
		usleep((useconds_t)us);
}

/* With the lock held, but for the work itself. */
static void do_some(struct ring_device_queue *queue)
{
	uint64_t most = 1 + dice_below(&queue->dice, 5), done = 0;
	pthread_mutex_unlock(&queue->lock);
	be_late(queue);
	pthread_mutex_lock(&queue->lock);
	for (; queue->first && !queue->failed && done < most; done++) {
		struct job *job = queue->first;
		pthread_mutex_unlock(&queue->lock);
		bool right = do_job(queue, job);
		pthread_mutex_lock(&queue->lock);
		queue->first = job->next;
		if (!queue->first)
			queue->end = &queue->first;
		queue->failed = !right;
		free(job);
	}
	queue->finished += queue->failed ? 0 : done;
}

/* With the lock held, but for the call. */
static void tell_if_due(struct ring_device_queue *queue)
{
	void (*done)(void *context) = queue->done;
	if (!done || (!queue->failed && queue->finished < queue->told_at))
		return;
	void *context = queue->context;
	queue->done = NULL;
	pthread_mutex_unlock(&queue->lock);
	done(context);
	pthread_mutex_lock(&queue->lock);
}

static void *work(void *argument)
{
	struct ring_device_queue *queue = argument;
	pthread_mutex_lock(&queue->lock);
	for (;;) {
		tell_if_due(queue);
		if (queue->first && !queue->failed)
			do_some(queue);
		else if (queue->closing)
			break;
		else if (!queue->done || queue->finished < queue->told_at)
			pthread_cond_wait(&queue->changed, &queue->lock);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* ---- the contract of device.h ---------------------------------------------------------------- */

static int look(const void *memory, size_t bytes, struct ring_memory_sort *sort,
		struct ring_failure *failure)
{
	if (!far_owns(memory))
		return 0;
	if (!far_has(memory, bytes))
		return ring_fail(failure, RING_EINVAL, "is freed memory of the far device");
	sort->chip = 0;
	return 0;
}

static int open_chip(int *chip, const char **text, struct ring_failure *failure)
{
	*text = "far device";
	if (*chip > 0)
		return ring_fail(failure, RING_ENOTSUP, "there is one far device, but no %d", *chip);
	*chip = 0;
	return 0;
}

static int open_queue(int chip, struct ring_device_queue **opened)
{
	(void)chip;
	struct ring_device_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return RING_ENOMEM;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	queue->end = &queue->first;
	queue->always_us = late_always_us;
	queue->most_us = late_most_us;
	queue->seldom_us = late_seldom_us;
	queue->dice = 1 + queues_opened++;
	if (ring_device_cpu.queue_open(0, &queue->cpu) ||
	    pthread_create(&queue->thread, NULL, work, queue)) {
		free(queue);
		return RING_ENOMEM;
	}
	*opened = queue;
	return 0;
}

static void close_queue(struct ring_device_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closing = true;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	while (queue->first) {
		struct job *job = queue->first;
		queue->first = job->next;
		free(job);
	}
	ring_device_cpu.queue_close(queue->cpu);
	free(queue);
}

static int submit(struct ring_device_queue *queue, struct job *job)
{
	pthread_mutex_lock(&queue->lock);
	bool failed = queue->failed;
	if (!failed) {
		*queue->end = job;
		queue->end = &job->next;
		queue->submitted++;
		pthread_cond_signal(&queue->changed);
	}
	pthread_mutex_unlock(&queue->lock);
	if (failed)
		free(job);
	return failed ? RING_ESYSTEM : 0;
}

static int reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	struct job *job = calloc(1, sizeof(*job));
	if (!job)
		return RING_ENOMEM;
	job->reduces = true;
	job->reduction = *reduction;
	for (int i = 0; i < reduction->nscalars; i++)
		job->scalars[i] = reduction->scalars[i];
	return submit(queue, job);
}

static int copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes, bool past)
{
	(void)past;
	struct job *job = calloc(1, sizeof(*job));
	if (!job)
		return RING_ENOMEM;
	job->dst = dst;
	job->src = src;
	job->bytes = bytes;
	return submit(queue, job);
}

static int finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	pthread_mutex_lock(&queue->lock);
	*jobs = queue->finished;
	int err = queue->failed ? RING_ESYSTEM : 0;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

static int tell(struct ring_device_queue *queue, void (*done)(void *context), void *context)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->done)
		abort(); /* asked again before it was told */
	queue->done = done;
	queue->context = context;
	queue->told_at = queue->submitted;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

const struct ring_device far_device = {
	.name = "far",
	.number = 1,
	.apart = true,
	.has_chips = true,
	.owns = far_owns,
	.look = look,
	.open = open_chip,
	.alloc = far_alloc,
	.free = far_free,
	.host_alloc = far_host_alloc,
	.host_free = far_host_free,
	.pin = far_pin,
	.unpin = far_unpin,
	.queue_open = open_queue,
	.queue_close = close_queue,
	.reduce = reduce,
	.copy = copy,
	.finished = finished,
	.tell = tell,
};

/* ---- twins -------------------------------------------------------------------------------------- */

void *twin_make(size_t bytes)
{
	void *far;
	return far_alloc(0, bytes, &far) ? NULL : far;
}

void twin_end(void *far)
{
	far_free(far);
}

void twin_write(void *far, const void *host, size_t bytes)
{
	far_write(far, host, bytes);
}

void twin_read(void *host, const void *far, size_t bytes)
{
	far_read(host, far, bytes);
}
