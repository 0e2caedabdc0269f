/* SPDX-License-Identifier: MIT */
/* Asking a GPU now and then whether it works; see pulse.h. */
#include "pulse.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "base/thread.h"
#include "base/waits.h"
#include "chip.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watched = PTHREAD_COND_INITIALIZER; /* some pulse is */

int ring_cuda_pulse_open(struct ring_cuda_pulse *pulse, const struct ring_cuda_chip *chip)
{
	pulse->chip = chip;
	int result = chip->driver->event_create(&pulse->event, RING_CUDA_EVENT_NO_TIMING);
	return result ? result : chip->driver->event_record(pulse->event, chip->idle);
}

/*
 * An event that was never recorded may say nothing of the device, nor one that has happened of what
 * failed since: so it is recorded again each time.
 */
static int ask(const struct ring_cuda_pulse *pulse)
{
	const struct ring_cuda_driver *driver = pulse->chip->driver;
	int result = driver->event_query(pulse->event);
	if (!result)
		result = driver->event_record(pulse->event, pulse->chip->idle);
	const bool works = result == RING_CUDA_NOT_READY || result == RING_CUDA_OUT_OF_MEMORY;
	return works ? RING_CUDA_OK : result;
}

static void await_watcher(const struct ring_cuda_pulse *pulse)
{
	pthread_mutex_lock(&lock);
	while (!pulse->watched)
		pthread_cond_wait(&watched, &lock);
	pthread_mutex_unlock(&lock);
}

/* The chip's thread, which stays in its context. */
static void *feel(void *argument)
{
	struct ring_cuda_pulse *pulse = argument;
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(pulse->chip, &visit);
	for (; !result; result = ask(pulse)) {
		nanosleep(&(struct timespec){.tv_nsec = RING_PULSE_NS}, NULL);
		await_watcher(pulse);
	}
	__atomic_store_n(&pulse->result, result, __ATOMIC_RELAXED);
	return NULL;
}

bool ring_cuda_pulse_start(struct ring_cuda_pulse *pulse)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	if (!pulse->has_thread && ring_thread_start(&thread, "ring-pulse", 0, feel, pulse) == 0) {
		pthread_detach(thread);
		pulse->has_thread = true;
	}
	const bool has = pulse->has_thread;
	pthread_mutex_unlock(&lock);
	return has;
}

void ring_cuda_pulse_watch(struct ring_cuda_pulse *pulse)
{
	pthread_mutex_lock(&lock);
	pulse->watched++;
	pthread_cond_broadcast(&watched);
	pthread_mutex_unlock(&lock);
}

void ring_cuda_pulse_leave(struct ring_cuda_pulse *pulse)
{
	pthread_mutex_lock(&lock);
	pulse->watched--;
	pthread_mutex_unlock(&lock);
}
