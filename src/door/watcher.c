/* SPDX-License-Identifier: MIT */
/*
 * The watcher's thread, its epoll set, its alarms and its holders. What comes in through the
 * listeners is reception.c's.
 *
 * Locks: `holding` before a watcher's own. A drop from a callback would take them the wrong way
 * round, so the thread notes it and does it once it has unlocked.
 */
#include "watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/waits.h"
#include "reception.h"

#define STACK_BYTES (256 << 10)
#define EVENTS_AT_ONCE 64

/* The watch on a descriptor; serial tells it from an earlier one on the same number. */
struct seat {
	struct ring_watch *watch;
	uint32_t serial;
};

struct alarm {
	void *owner;
	void (*expired)(void *owner);
	uint64_t due_ms;
	struct alarm *next;
};

struct ring_watcher {
	pthread_mutex_t lock;
	pthread_t thread;
	unsigned generation; /* of fork() */
	uint64_t process;
	int holders; /* guarded by `holding` */
	int drops;   /* from callbacks, not yet done */
	bool ending;
	bool left; /* to its thread, which nobody joins: it frees all */
	int epoll_fd;
	struct ring_watch wake; /* an eventfd that ends epoll_wait */
	struct seat *seats;     /* seats[seat_count], by descriptor */
	size_t seat_count;
	uint32_t serial;
	struct alarm *alarms;
	struct ring_reception *reception;
};

static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;
static struct ring_watcher *current; /* this process's watcher, or NULL */

static void before_fork(void)
{
	pthread_mutex_lock(&holding);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&holding);
}

/* The thread did not come along, and its descriptors are closed: forget it. */
static void in_child(void)
{
	current = NULL;
	pthread_mutex_unlock(&holding);
}

/* Later than fd.c's, whose lock is taken under this one. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void ring_watcher_lock(struct ring_watcher *watcher)
{
	pthread_mutex_lock(&watcher->lock);
}

static struct timespec clock_time(uint64_t ms)
{
	return (struct timespec){
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};
}

bool ring_watcher_lock_until(struct ring_watcher *watcher, uint64_t deadline_ms)
{
	struct timespec until = clock_time(deadline_ms);
	return pthread_mutex_clocklock(&watcher->lock, CLOCK_MONOTONIC, &until) == 0;
}

void ring_watcher_unlock(struct ring_watcher *watcher)
{
	pthread_mutex_unlock(&watcher->lock);
}

void ring_watcher_wait(struct ring_watcher *watcher, pthread_cond_t *changed, uint64_t deadline_ms)
{
	struct timespec until = clock_time(deadline_ms);
	pthread_cond_clockwait(changed, &watcher->lock, CLOCK_MONOTONIC, &until);
}

bool ring_watcher_is_mine(const struct ring_watcher *watcher)
{
	return watcher->generation == ring_fork_generation();
}

static bool in_watcher_thread(const struct ring_watcher *watcher)
{
	return pthread_equal(pthread_self(), watcher->thread);
}

static void wake_up(struct ring_watcher *watcher)
{
	uint64_t one = 1;
	if (ring_fd_is_lost(watcher->wake.fd))
		return;
	ssize_t ignored = write(watcher->wake.fd, &one, sizeof(one)); /* full wakes as well */
	(void)ignored;
}

static void woken_up(struct ring_watch *watch, uint32_t events)
{
	uint64_t count;
	ssize_t ignored = read(watch->fd, &count, sizeof(count));
	(void)ignored;
	(void)events;
}

/* ---- descriptors ---- */

static int make_seat(struct ring_watcher *watcher, size_t fd)
{
	if (fd < watcher->seat_count)
		return 0;
	size_t count = fd * 2 + 64;
	struct seat *seats = realloc(watcher->seats, count * sizeof(*seats));
	if (!seats)
		return RING_ENOMEM;
	memset(seats + watcher->seat_count, 0, (count - watcher->seat_count) * sizeof(*seats));
	watcher->seats = seats;
	watcher->seat_count = count;
	return 0;
}

static int control(struct ring_watcher *watcher, int operation, const struct ring_watch *watch)
{
	uint64_t key = (uint64_t)watcher->seats[watch->fd].serial << 32 | (uint32_t)watch->fd;
	struct epoll_event event = {.events = watch->events, .data.u64 = key};
	return epoll_ctl(watcher->epoll_fd, operation, watch->fd, &event) ? RING_ESYSTEM : 0;
}

int ring_watcher_add(struct ring_watcher *watcher, struct ring_watch *watch)
{
	int err = make_seat(watcher, (size_t)watch->fd);
	if (err)
		return err;
	struct seat *seat = &watcher->seats[watch->fd];
	*seat = (struct seat){.watch = watch, .serial = ++watcher->serial};
	err = control(watcher, EPOLL_CTL_ADD, watch);
	if (err)
		seat->watch = NULL;
	return err;
}

int ring_watcher_change(struct ring_watcher *watcher, struct ring_watch *watch, uint32_t events)
{
	if (watch->events == events)
		return 0;
	watch->events = events;
	return control(watcher, EPOLL_CTL_MOD, watch);
}

void ring_watcher_remove(struct ring_watcher *watcher, struct ring_watch *watch)
{
	control(watcher, EPOLL_CTL_DEL, watch);
	watcher->seats[watch->fd].watch = NULL;
}

/* The watch may have been removed after epoll reported it: its seat is empty or another's then. */
static void dispatch(struct ring_watcher *watcher, const struct epoll_event *event)
{
	struct seat *seat = &watcher->seats[(uint32_t)event->data.u64];
	if (seat->watch && seat->serial == event->data.u64 >> 32)
		seat->watch->ready(seat->watch, event->events);
}

/* ---- alarms ---- */

static void cancel_alarm(struct ring_watcher *watcher, const void *owner)
{
	for (struct alarm **link = &watcher->alarms; *link; link = &(*link)->next) {
		struct alarm *alarm = *link;
		if (alarm->owner != owner)
			continue;
		*link = alarm->next;
		free(alarm);
		return;
	}
}

int ring_watcher_alarm(struct ring_watcher *watcher, void *owner, void (*expired)(void *owner),
		       int ms)
{
	int err = 0;
	ring_watcher_lock(watcher);
	cancel_alarm(watcher, owner);
	struct alarm *alarm = ms < 0 ? NULL : malloc(sizeof(*alarm));
	if (alarm) {
		*alarm = (struct alarm){.owner = owner,
					.expired = expired,
					.due_ms = ring_clock_deadline(ring_clock_ms(), ms),
					.next = watcher->alarms};
		watcher->alarms = alarm;
		if (!in_watcher_thread(watcher))
			wake_up(watcher);
	} else if (ms >= 0) {
		err = RING_ENOMEM;
	}
	ring_watcher_unlock(watcher);
	return err;
}

/* How long epoll may sleep: until the first alarm, -1 if there is none. */
static int time_to_alarm(const struct ring_watcher *watcher)
{
	uint64_t first = UINT64_MAX, now = ring_clock_ms();
	for (const struct alarm *alarm = watcher->alarms; alarm; alarm = alarm->next)
		if (alarm->due_ms < first)
			first = alarm->due_ms;
	if (first == UINT64_MAX)
		return -1;
	return first > now ? (int)(first - now) : 0;
}

/* One at a time, from the start again: a callback may change the list. */
static void ring_alarms(struct ring_watcher *watcher)
{
	uint64_t now = ring_clock_ms();
	struct alarm *alarm = watcher->alarms;
	while (alarm) {
		if (alarm->due_ms > now) {
			alarm = alarm->next;
			continue;
		}
		void *owner = alarm->owner;
		void (*expired)(void *) = alarm->expired;
		cancel_alarm(watcher, owner);
		expired(owner);
		alarm = watcher->alarms;
	}
}

/* ---- the thread, and who holds it ---- */

static void free_watcher(struct ring_watcher *watcher)
{
	while (watcher->alarms)
		cancel_alarm(watcher, watcher->alarms->owner);
	ring_reception_close(watcher->reception);
	ring_fd_close(watcher->wake.fd);
	ring_fd_close(watcher->epoll_fd);
	free(watcher->seats);
	pthread_mutex_destroy(&watcher->lock);
	free(watcher);
}

/*
 * The listeners close before `holding` is released: the next watcher may want their port. One that
 * is left may be gone once this returns true.
 */
static bool was_last(struct ring_watcher *watcher, bool leaves)
{
	pthread_mutex_lock(&holding);
	bool last = --watcher->holders == 0;
	if (last) {
		current = NULL;
		ring_watcher_lock(watcher);
		ring_reception_close(watcher->reception);
		watcher->reception = NULL;
		watcher->ending = true;
		watcher->left = leaves;
		ring_watcher_unlock(watcher);
	}
	pthread_mutex_unlock(&holding);
	return last;
}

/* One round with the lock held. Returns how many drops the callbacks made. */
static int work(struct ring_watcher *watcher, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++)
		dispatch(watcher, &events[i]);
	ring_alarms(watcher);
	int drops = watcher->drops;
	watcher->drops = 0;
	return drops;
}

static void *watch(void *argument)
{
	struct ring_watcher *watcher = argument;
	struct epoll_event events[EVENTS_AT_ONCE];
	ring_watcher_lock(watcher);
	while (!watcher->ending) {
		int timeout_ms = time_to_alarm(watcher);
		ring_watcher_unlock(watcher);
		int count = epoll_wait(watcher->epoll_fd, events, EVENTS_AT_ONCE, timeout_ms);
		if (count < 0 && errno != EINTR)
			usleep(RING_WATCHER_NAP_US);
		ring_watcher_lock(watcher);
		int drops = watcher->ending ? 0 : work(watcher, events, count);
		ring_watcher_unlock(watcher);
		while (drops-- > 0)
			was_last(watcher, true);
		ring_watcher_lock(watcher);
	}
	bool left = watcher->left;
	ring_watcher_unlock(watcher);
	if (left) {
		pthread_detach(pthread_self());
		free_watcher(watcher);
	}
	return NULL;
}

void ring_watcher_drop(struct ring_watcher *watcher)
{
	if (!ring_watcher_is_mine(watcher))
		return;
	if (in_watcher_thread(watcher)) {
		watcher->drops++;
		return;
	}
	/* Behind closefrom() it may sleep for good, on what nobody can ring any more. */
	bool lost = ring_fd_is_lost(watcher->wake.fd) || ring_fd_is_lost(watcher->epoll_fd);
	if (!was_last(watcher, lost))
		return;
	if (lost) {
		ring_log(RING_WARN,
			 "watcher: the program has closed its descriptors; its thread stays");
		return;
	}
	wake_up(watcher);
	pthread_join(watcher->thread, NULL);
	free_watcher(watcher);
}

static int start_thread(struct ring_watcher *watcher)
{
	ring_watcher_lock(watcher); /* the thread sees watcher->thread set */
	int cause = ring_thread_start(&watcher->thread, "ring-watcher", STACK_BYTES, watch, watcher);
	ring_watcher_unlock(watcher);
	return cause;
}

static struct ring_watcher *make_watcher(void)
{
	struct ring_watcher *watcher = calloc(1, sizeof(*watcher));
	if (!watcher)
		return NULL;
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&watcher->lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	watcher->generation = ring_fork_generation();
	watcher->epoll_fd = ring_fd_epoll();
	watcher->wake =
		(struct ring_watch){.fd = ring_fd_event(), .events = EPOLLIN, .ready = woken_up};
	ring_random(&watcher->process, sizeof(watcher->process));
	return watcher;
}

static int start(struct ring_watcher **started, const struct ring_config *config,
		 const struct sockaddr_storage *towards, struct ring_failure *failure)
{
	struct ring_watcher *watcher = make_watcher();
	if (!watcher)
		return ring_fail(failure, RING_ENOMEM, "no memory for the watcher");
	int err = 0;
	char words[RING_FD_WORDS];
	if (watcher->epoll_fd < 0 || watcher->wake.fd < 0 ||
	    ring_watcher_add(watcher, &watcher->wake))
		err = ring_fail(failure, RING_ESYSTEM, "cannot watch descriptors: %s",
				ring_fd_words(errno, words));
	if (!err)
		err = ring_reception_open(&watcher->reception, watcher, config, towards, failure);
	int cause = err ? 0 : start_thread(watcher);
	if (cause)
		err = ring_fail(failure, RING_ESYSTEM, "cannot start the watcher's thread: %s",
				strerror(cause));
	if (err) {
		free_watcher(watcher);
		return err;
	}
	*started = watcher;
	return 0;
}

int ring_watcher_hold(struct ring_watcher **watcher, const struct ring_config *config,
		      const struct sockaddr_storage *towards, struct ring_failure *failure)
{
	pthread_mutex_lock(&holding);
	int err = current ? 0 : start(&current, config, towards, failure);
	if (!err) {
		current->holders++;
		*watcher = current;
	}
	pthread_mutex_unlock(&holding);
	return err;
}

uint64_t ring_watcher_process(const struct ring_watcher *watcher)
{
	return watcher->process;
}

struct ring_reception *ring_watcher_reception(const struct ring_watcher *watcher)
{
	return watcher->reception;
}
