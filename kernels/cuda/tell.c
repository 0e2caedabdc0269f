/* SPDX-License-Identifier: MIT */
/*
 * Who is to be told is called by a thread that looks at events and words, as long as somebody
 * waits. Host functions of the driver's would be quicker, but none runs once a context has failed,
 * nor while one of the program's own does not end; and what lies behind it in the stream would wait
 * as well. Whether a device has failed that should write a word, the thread reads in its pulse.
 */
#include "queue.h"

#include <pthread.h>
#include <time.h>

#include "base/thread.h"
#include "base/waits.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, visited = PTHREAD_COND_INITIALIZER;
static struct ring_cuda_telling *waiting; /* for which somebody waits */
static bool is_looking;

static void take_out(struct ring_cuda_telling *telling)
{
	struct ring_cuda_telling **place = &waiting;
	while (*place != telling)
		place = &(*place)->next;
	*place = telling->next;
	if (telling->are_there)
		ring_cuda_pulse_leave(telling->chip->pulse);
}

/* Between the two the lock is open, and whose it is stays. */
static void visit(struct ring_cuda_telling *telling)
{
	telling->visitors++;
	pthread_mutex_unlock(&lock);
}

static void end_visit(struct ring_cuda_telling *telling)
{
	pthread_mutex_lock(&lock);
	telling->visitors--;
	pthread_cond_broadcast(&visited);
}

static void call(struct ring_cuda_telling *telling)
{
	void (*done)(void *context) = telling->done;
	telling->done = NULL;
	take_out(telling);
	visit(telling);
	done(telling->context);
	end_visit(telling);
}

/* ---- the thread that looks ------------------------------------------------------------------- */

static bool has_happened(const struct ring_cuda_telling *telling)
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(telling->chip, &visit);
	if (!result) {
		result = telling->chip->driver->event_query(telling->event);
		ring_cuda_leave(telling->chip, &visit);
	}
	return result != RING_CUDA_NOT_READY;
}

/* Whether it is there, or never will be as the device has failed. */
static bool is_over(const struct ring_cuda_telling *telling)
{
	if (!telling->are_there)
		return has_happened(telling);
	return telling->are_there(telling->words, telling->least) ||
	       ring_cuda_pulse_of(telling->chip->pulse);
}

/* The driver is not called under the lock, as its calls may take long. */
static bool look_at(struct ring_cuda_telling *telling)
{
	visit(telling);
	bool over = is_over(telling);
	end_visit(telling);
	if (over && telling->done)
		call(telling);
	return over;
}

static struct ring_cuda_telling *next_of(uint64_t round)
{
	struct ring_cuda_telling *telling = waiting;
	while (telling && telling->round == round)
		telling = telling->next;
	if (telling)
		telling->round = round;
	return telling;
}

/* Looking at a word costs nothing but waking up. */
static long longest_pause_ns(void)
{
	const struct ring_cuda_telling *telling = waiting;
	while (telling && !telling->are_there)
		telling = telling->next;
	return telling ? RING_TELL_WORD_NS : RING_TELL_LAST_NS;
}

/* returns whether somebody new asked */
static bool pause_for(long ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_clockwait(&asked, &lock, CLOCK_MONOTONIC, &until) == 0;
}

static void *look_around(void *unused)
{
	(void)unused;
	long pause_ns = RING_TELL_FIRST_NS;
	pthread_mutex_lock(&lock);
	for (uint64_t round = 1;; round++) {
		struct ring_cuda_telling *telling;
		bool moves = false;
		while ((telling = next_of(round)) != NULL)
			moves |= look_at(telling);
		if (waiting)
			moves |= pause_for(pause_ns);
		else
			moves = pthread_cond_wait(&asked, &lock) == 0;
		pause_ns = moves ? RING_TELL_FIRST_NS : 2 * pause_ns;
		if (pause_ns > longest_pause_ns())
			pause_ns = longest_pause_ns();
	}
	return NULL;
}

static bool start_looking(void)
{
	pthread_t thread;
	if (!is_looking && ring_thread_start(&thread, "ring-cuda", 0, look_around, NULL) == 0) {
		pthread_detach(thread);
		is_looking = true;
	}
	return is_looking;
}

/* ---- being told ------------------------------------------------------------------------------ */

int ring_cuda_tell(struct ring_cuda_telling *telling, struct CUevent_st *event,
		   void (*done)(void *context), void *context)
{
	pthread_mutex_lock(&lock);
	bool looking = start_looking();
	if (looking) {
		telling->done = done;
		telling->context = context;
		telling->event = event;
		telling->next = waiting;
		waiting = telling;
		if (telling->are_there)
			ring_cuda_pulse_watch(telling->chip->pulse);
		pthread_cond_signal(&asked);
	}
	pthread_mutex_unlock(&lock);
	return looking ? RING_CUDA_OK : RING_CUDA_OUT_OF_MEMORY;
}

void ring_cuda_tell_end(struct ring_cuda_telling *telling)
{
	pthread_mutex_lock(&lock);
	while (telling->done || telling->visitors)
		pthread_cond_wait(&visited, &lock);
	pthread_mutex_unlock(&lock);
}

void ring_cuda_tell_cancel(struct ring_cuda_telling *telling)
{
	pthread_mutex_lock(&lock);
	if (telling->done)
		take_out(telling);
	telling->done = NULL;
	while (telling->visitors)
		pthread_cond_wait(&visited, &lock);
	pthread_mutex_unlock(&lock);
}
