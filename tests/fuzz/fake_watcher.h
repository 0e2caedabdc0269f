/* SPDX-License-Identifier: MIT */
/*
 * A watcher without a thread, for fuzzing what it calls: the target includes this in place of
 * watcher.c, and decides what is readable and which alarm rings.
 */
#ifndef FAKE_WATCHER_H
#define FAKE_WATCHER_H

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "door/watcher.h"

#define FAKE_WATCHES 64
#define FAKE_ALARMS 8

static struct {
	struct ring_watch *watches[FAKE_WATCHES];
	struct {
		void *owner;
		void (*expired)(void *owner);
	} alarms[FAKE_ALARMS];
	struct ring_port *port;
	int drops;
} fake;

void ring_watcher_lock(struct ring_watcher *watcher)
{
	(void)watcher;
}

bool ring_watcher_lock_until(struct ring_watcher *watcher, uint64_t deadline_ms)
{
	(void)watcher, (void)deadline_ms;
	return true;
}

void ring_watcher_unlock(struct ring_watcher *watcher)
{
	(void)watcher;
}

void ring_watcher_wait(struct ring_watcher *watcher, pthread_cond_t *changed, uint64_t deadline_ms)
{
	(void)watcher, (void)changed, (void)deadline_ms;
}

bool ring_watcher_is_mine(const struct ring_watcher *watcher)
{
	(void)watcher;
	return true;
}

int ring_watcher_add(struct ring_watcher *watcher, struct ring_watch *watch)
{
	(void)watcher;
	for (int i = 0; i < FAKE_WATCHES; i++) {
		if (fake.watches[i])
			continue;
		fake.watches[i] = watch;
		return 0;
	}
	return RING_ESYSTEM;
}

int ring_watcher_change(struct ring_watcher *watcher, struct ring_watch *watch, uint32_t events)
{
	(void)watcher;
	watch->events = events;
	return 0;
}

void ring_watcher_remove(struct ring_watcher *watcher, struct ring_watch *watch)
{
	(void)watcher;
	for (int i = 0; i < FAKE_WATCHES; i++)
		if (fake.watches[i] == watch)
			fake.watches[i] = NULL;
}

int ring_watcher_alarm(struct ring_watcher *watcher, void *owner, void (*expired)(void *owner),
		       int ms)
{
	(void)watcher;
	int place = -1;
	for (int i = FAKE_ALARMS - 1; i >= 0; i--)
		if (!fake.alarms[i].owner || fake.alarms[i].owner == owner)
			place = i;
	for (int i = 0; i < FAKE_ALARMS; i++)
		if (fake.alarms[i].owner == owner)
			place = i;
	fake.alarms[place].owner = ms < 0 ? NULL : owner;
	fake.alarms[place].expired = expired;
	return 0;
}

void ring_watcher_open_port(struct ring_watcher *watcher, struct ring_port *port)
{
	(void)watcher;
	fake.port = port;
}

void ring_watcher_close_port(struct ring_watcher *watcher, struct ring_port *port)
{
	(void)watcher;
	if (fake.port == port)
		fake.port = NULL;
}

struct ring_port *ring_watcher_find_port(struct ring_watcher *watcher, uint64_t job, int rank)
{
	(void)watcher;
	struct ring_port *port = fake.port;
	return port && port->job == job && port->rank == rank ? port : NULL;
}

uint64_t ring_watcher_process(const struct ring_watcher *watcher)
{
	(void)watcher;
	return 1;
}

/* identity.c's, of which targets need other functions. */
int ring_watcher_hold(struct ring_watcher **watcher, const struct ring_config *config,
		      const struct sockaddr_storage *towards, struct ring_failure *failure)
{
	(void)watcher, (void)config, (void)towards, (void)failure;
	return RING_ESYSTEM;
}

int ring_watcher_receive(struct ring_watcher *watcher, const struct ring_config *config,
			 const struct sockaddr_storage *towards, struct sockaddr_storage *address,
			 struct ring_failure *failure)
{
	(void)watcher, (void)config, (void)towards, (void)address, (void)failure;
	return RING_ESYSTEM;
}

const struct sockaddr_storage *ring_watcher_address(const struct ring_watcher *watcher)
{
	(void)watcher;
	return NULL;
}

void ring_watcher_drop(struct ring_watcher *watcher)
{
	(void)watcher;
	fake.drops++;
}

static inline void fake_ring_alarm(int i)
{
	void *owner = fake.alarms[i].owner;
	fake.alarms[i].owner = NULL;
	if (owner)
		fake.alarms[i].expired(owner);
}

/* Calls back for everything that is readable or writable, until nothing is. */
static inline void fake_dispatch(void)
{
	for (int i = 0; i < FAKE_WATCHES; i++) {
		struct ring_watch *watch = fake.watches[i];
		if (!watch)
			continue;
		struct pollfd now = {.fd = watch->fd};
		now.events = (short)((watch->events & EPOLLIN ? POLLIN : 0) |
				     (watch->events & EPOLLOUT ? POLLOUT : 0));
		if (poll(&now, 1, 0) == 1)
			watch->ready(watch, watch->events);
	}
}

#endif
