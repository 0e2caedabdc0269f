/* SPDX-License-Identifier: MIT */
/*
 * The one service thread of a process, asleep in epoll: it owns the listeners, greets whoever
 * connects, keeps proved connections until the rank they are for fetches them, and runs the
 * callbacks of control lanes and of the meetings that this process serves.
 *
 * Callbacks run in the watcher's thread with the watcher locked. The lock is recursive: everything
 * here may be called from a callback. A child made by fork() has no watcher until it holds one of
 * its own; what its parent's watcher looked after is the parent's and is left alone.
 */
#ifndef RING_WATCHER_H
#define RING_WATCHER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#include "greeting.h"
#include "choose/options.h"

struct ring_watcher;

/* A descriptor the watcher looks after. The owner embeds it. */
struct ring_watch {
	int fd;
	uint32_t events;                                          /* EPOLLIN, EPOLLOUT */
	void (*ready)(struct ring_watch *watch, uint32_t events); /* may remove and free itself */
};

/*
 * The process's watcher, started with the first holder and ended by the last. The first holder's
 * config chooses interface and port of its first listener; towards as for ring_interface_choose.
 * returns 0; RING_EINVAL, RING_ENOMEM, RING_ESYSTEM with the sentence
 */
int ring_watcher_hold(struct ring_watcher **watcher, const struct ring_config *config,
		      const struct sockaddr_storage *towards, struct ring_failure *failure);

/* When the last holder drops it, all its descriptors are closed and its thread has ended. */
void ring_watcher_drop(struct ring_watcher *watcher);

void ring_watcher_lock(struct ring_watcher *watcher);
bool ring_watcher_lock_until(struct ring_watcher *watcher,
			     uint64_t deadline_ms); /* false: it is not */
void ring_watcher_unlock(struct ring_watcher *watcher);

/*
 * Locked, not from a callback: unlocks while it waits until `changed`, at most until deadline_ms.
 */
void ring_watcher_wait(struct ring_watcher *watcher, pthread_cond_t *changed, uint64_t deadline_ms);

/* False in a forked child that finds its parent's. */
bool ring_watcher_is_mine(const struct ring_watcher *watcher);

/* Where this process listens first of all; constant while held. */
const struct sockaddr_storage *ring_watcher_address(const struct ring_watcher *watcher);
const char *ring_watcher_local_name(const struct ring_watcher *watcher);
/*
 * Where a communicator of these options is reached, whose root is `towards`: at a listener whose
 * interface and port fit, or at another that it opens, until the watcher ends.
 * returns 0; RING_EINVAL, RING_ENOMEM, RING_ESYSTEM with the sentence
 */
int ring_watcher_receive(struct ring_watcher *watcher, const struct ring_config *config,
			 const struct sockaddr_storage *towards, struct sockaddr_storage *address,
			 struct ring_failure *failure);

/* random number of this process */
uint64_t ring_watcher_process(const struct ring_watcher *watcher);

/*
 * Listens at `address` as well, until the watcher ends; asking again for the same is fine. An IPv6
 * address of all zeros is every address of this host, of IPv4 too.
 * returns 0; RING_ENOMEM; RING_ESYSTEM with a sentence, if it is taken or not this host's
 */
int ring_watcher_listen(struct ring_watcher *watcher, const struct sockaddr_storage *address,
			struct ring_failure *failure);

/* With the watcher locked, or from a callback. returns 0; RING_ESYSTEM, RING_ENOMEM */
int ring_watcher_add(struct ring_watcher *watcher, struct ring_watch *watch);
int ring_watcher_change(struct ring_watcher *watcher, struct ring_watch *watch, uint32_t events);
void ring_watcher_remove(struct ring_watcher *watcher, struct ring_watch *watch);

/*
 * Calls expired(owner) once, from the watcher's thread, `ms` from now; a later call for the same
 * owner replaces it; ms < 0 cancels. returns 0; RING_ENOMEM
 */
int ring_watcher_alarm(struct ring_watcher *watcher, void *owner, void (*expired)(void *owner),
		       int ms);

/*
 * While a port is open, connections that prove to be for (job, rank) are taken: handed to `arrived`
 * with the watcher locked if it is set, else kept for ring_watcher_fetch.
 */
struct ring_port {
	uint64_t job;
	int rank; /* RING_RANK_ROOT for the meeting itself */
	unsigned char secret[RING_SECRET_BYTES];
	void (*arrived)(struct ring_port *port, const struct ring_hello *hello, int fd);
	void (*starved)(struct ring_port *port,
			const char *why);      /* nobody can be accepted; or NULL */
	void (*ended)(struct ring_port *port); /* the watcher ends: closes the port; or NULL */
	int wake;         /* an eventfd written when a connection is kept, or -1 */
	uint32_t attempt; /* connections of earlier attempts are closed */
	struct ring_port *next;
};
void ring_watcher_open_port(struct ring_watcher *watcher, struct ring_port *port);
void ring_watcher_close_port(struct ring_watcher *watcher,
			     struct ring_port *port); /* closes what was not fetched */
void ring_watcher_renew_port(struct ring_watcher *watcher, struct ring_port *port, uint32_t attempt);

/* With the watcher locked: the open port for (job, rank), NULL if there is none. */
struct ring_port *ring_watcher_find_port(struct ring_watcher *watcher, uint64_t job, int rank);

/*
 * The kept connection that said exactly `hello`. returns 0; RING_EAGAIN if it has not come;
 * RING_ESYSTEM if it may have, but could not be accepted for want of descriptors
 */
int ring_watcher_fetch(struct ring_watcher *watcher, const struct ring_hello *hello, int *fd);

/* The words for that; constant. */
const char *ring_watcher_starved(const struct ring_watcher *watcher);

#endif
