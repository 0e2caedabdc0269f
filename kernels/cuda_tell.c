/* SPDX-License-Identifier: MIT */
/*
 * Who is to be told is called by a host function in the queue's stream. None runs once a context
 * has failed, so a thread looks now and then whether that has happened, as long as somebody waits.
 */
#include "cuda_queue.h"

#include <pthread.h>
#include <time.h>

#define LOOK_NS (50 * 1000 * 1000) /* between two looks */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, visited = PTHREAD_COND_INITIALIZER;
static struct ring_device_queue *waiting; /* queues of which somebody waits */
static bool is_looking;

static void unlink_queue(struct ring_device_queue *queue)
{
	struct ring_device_queue **place = &waiting;
	while (*place != queue)
		place = &(*place)->telling.next;
	*place = queue->telling.next;
}

/* Between the two the lock is open, and the queue stays. */
static void visit(struct ring_device_queue *queue)
{
	queue->telling.visitors++;
	pthread_mutex_unlock(&lock);
}

static void end_visit(struct ring_device_queue *queue)
{
	pthread_mutex_lock(&lock);
	queue->telling.visitors--;
	pthread_cond_broadcast(&visited);
}

static void call(struct ring_device_queue *queue)
{
	void (*done)(void *context) = queue->telling.done;
	queue->telling.done = NULL;
	unlink_queue(queue);
	visit(queue);
	done(queue->telling.context);
	end_visit(queue);
}

/* Runs in a thread of the driver's, which may make no call of the driver's. */
static void tell(void *context)
{
	struct ring_device_queue *queue = context;
	pthread_mutex_lock(&lock);
	if (queue->telling.done)
		call(queue);
	pthread_mutex_unlock(&lock);
}

/* ---- the thread that looks ------------------------------------------------------------------- */

static bool has_failed(const struct ring_device_queue *queue)
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(queue->chip, &visit);
	if (!result) {
		result = queue->chip->driver->stream_query(queue->stream);
		ring_cuda_leave(queue->chip, &visit);
	}
	return result && result != RING_CUDA_NOT_READY;
}

/*
 * The driver is not called under the lock: it may make the call wait for a host function, and that
 * one waits for the lock.
 */
static void look_at(struct ring_device_queue *queue)
{
	visit(queue);
	bool failed = has_failed(queue);
	end_visit(queue);
	if (failed && queue->telling.done)
		call(queue);
}

static struct ring_device_queue *next_of(uint64_t round)
{
	struct ring_device_queue *queue = waiting;
	while (queue && queue->telling.round == round)
		queue = queue->telling.next;
	if (queue)
		queue->telling.round = round;
	return queue;
}

static void wait_a_moment(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&asked, &lock, &until);
}

static void *look_for_failures(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (uint64_t round = 1;; round++) {
		struct ring_device_queue *queue;
		while ((queue = next_of(round)) != NULL)
			look_at(queue);
		if (waiting)
			wait_a_moment();
		else
			pthread_cond_wait(&asked, &lock);
	}
	return NULL;
}

static bool start_looking(void)
{
	pthread_t thread;
	if (!is_looking && pthread_create(&thread, NULL, look_for_failures, NULL) == 0) {
		pthread_detach(thread);
		is_looking = true;
	}
	return is_looking;
}

/* ---- being told ------------------------------------------------------------------------------ */

int ring_cuda_tell(struct ring_device_queue *queue, void (*done)(void *context), void *context)
{
	struct ring_cuda_telling *telling = &queue->telling;
	pthread_mutex_lock(&lock);
	bool looking = start_looking();
	if (looking) {
		telling->done = done;
		telling->context = context;
		telling->next = waiting;
		waiting = queue;
		pthread_cond_signal(&asked);
	}
	pthread_mutex_unlock(&lock);
	if (!looking)
		return RING_CUDA_OUT_OF_MEMORY;

	int result = queue->chip->driver->stream_host_function(queue->stream, tell, queue);
	if (result) {
		pthread_mutex_lock(&lock);
		bool told = !telling->done; /* by the thread that looks: that is as good */
		if (!told) {
			telling->done = NULL;
			unlink_queue(queue);
		}
		pthread_mutex_unlock(&lock);
		result = told ? RING_CUDA_OK : result;
	}
	return result;
}

void ring_cuda_tell_end(struct ring_device_queue *queue)
{
	pthread_mutex_lock(&lock);
	while (queue->telling.done || queue->telling.visitors)
		pthread_cond_wait(&visited, &lock);
	pthread_mutex_unlock(&lock);
}
