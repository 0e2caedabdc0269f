/* SPDX-License-Identifier: MIT */
/* Who waits on a GPU, and what is done when nobody does; see later.h. */
#include "later.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "base/waits.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static bool is_taken; /* the gate */
static struct ring_cuda_waiter *waiters;
static struct ring_cuda_later *first, **last = &first;

/* ---- waiters --------------------------------------------------------------------------------- */

void ring_cuda_waiter_add(struct ring_cuda_waiter *waiter)
{
	pthread_mutex_lock(&lock);
	waiter->next = waiters;
	waiters = waiter;
	pthread_mutex_unlock(&lock);
}

void ring_cuda_waiter_remove(struct ring_cuda_waiter *waiter)
{
	pthread_mutex_lock(&lock);
	struct ring_cuda_waiter **place = &waiters;
	while (*place && *place != waiter)
		place = &(*place)->next;
	if (*place)
		*place = waiter->next;
	pthread_mutex_unlock(&lock);
}

/* Whether what waits for that chip, or for any, may keep it from going on. */
static bool is_in_way(const struct ring_cuda_waiter *waiter, const struct ring_cuda_chip *chip)
{
	return (!chip || !waiter->chip || waiter->chip == chip) && waiter->waits(waiter);
}

/* With the lock. chip: as ring_cuda_gate_await() */
static bool somebody_waits(const struct ring_cuda_chip *chip)
{
	const struct ring_cuda_waiter *waiter = waiters;
	while (waiter && !is_in_way(waiter, chip))
		waiter = waiter->next;
	return waiter;
}

/* With the lock. */
static bool somebody_uses(void)
{
	const struct ring_cuda_waiter *waiter = waiters;
	while (waiter && !(waiter->uses && waiter->uses(waiter)))
		waiter = waiter->next;
	return waiter;
}

/* ---- what is done later ---------------------------------------------------------------------- */

static void append(struct ring_cuda_later *later)
{
	later->next = NULL;
	*last = later;
	last = &later->next;
}

/* With the lock. */
static bool may_end(const struct ring_cuda_later *later)
{
	return later->may_end ? later->may_end(later) : !somebody_uses();
}

/* The next that may be done; NULL: none. */
static struct ring_cuda_later *take(void)
{
	pthread_mutex_lock(&lock);
	struct ring_cuda_later **place = &first;
	while (*place && !may_end(*place))
		place = &(*place)->next;
	struct ring_cuda_later *later = somebody_waits(NULL) ? NULL : *place;
	if (later) {
		*place = later->next;
		if (last == &later->next)
			last = place;
	}
	pthread_mutex_unlock(&lock);
	return later;
}

/* With the gate. */
static void catch_up(bool passed)
{
	struct ring_cuda_later *later;
	while (passed && (later = take()))
		later->end(later);
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* With the lock. */
static bool take_gate(void)
{
	const bool passed = !is_taken;
	is_taken = true;
	return passed;
}

bool ring_cuda_gate_pass(void)
{
	struct timespec until;
	int late = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += RING_GATE_PASS_S;
	pthread_mutex_lock(&lock);
	while (is_taken && !late)
		late = pthread_cond_clockwait(&given, &lock, CLOCK_MONOTONIC, &until);
	const bool passed = take_gate();
	pthread_mutex_unlock(&lock);
	return passed;
}

bool ring_cuda_gate_await(const struct ring_cuda_chip *chip)
{
	const uint64_t until_ms = ring_clock_ms() + RING_GATE_AWAIT_MS;
	do {
		const bool passed = ring_cuda_gate_pass();
		pthread_mutex_lock(&lock);
		const bool waits = somebody_waits(chip);
		pthread_mutex_unlock(&lock);
		if (!waits) {
			catch_up(passed);
			return passed;
		}
		ring_cuda_gate_give(passed);
		nanosleep(&(struct timespec){.tv_nsec = RING_GATE_LOOK_NS}, NULL);
	} while (ring_clock_ms() < until_ms);
	return false;
}

void ring_cuda_gate_give(bool passed)
{
	if (!passed)
		return;
	pthread_mutex_lock(&lock);
	is_taken = false;
	pthread_cond_signal(&given);
	pthread_mutex_unlock(&lock);
}

void ring_cuda_catch_up(void)
{
	pthread_mutex_lock(&lock);
	const bool passed = first && take_gate();
	pthread_mutex_unlock(&lock);
	catch_up(passed);
	ring_cuda_gate_give(passed);
}

void ring_cuda_later(struct ring_cuda_later *later)
{
	pthread_mutex_lock(&lock);
	append(later);
	pthread_mutex_unlock(&lock);
	ring_cuda_catch_up();
}
