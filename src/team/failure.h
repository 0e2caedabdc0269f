/* SPDX-License-Identifier: MIT */
/*
 * How a communicator ends: its first failure stays and spreads, and the neighbours say goodbye. Any
 * thread may call these functions. The sentence is made by who finds out:
 * explain.c of a call that cannot go on, the lanes of a death.
 */
#ifndef RING_COMM_FAILURE_H
#define RING_COMM_FAILURE_H

#include <pthread.h>
#include <stdarg.h>

#include "base/flag.h"
#include "links.h"
#include "plan/record.h"
#include "team.h"

/* Whoever depends on the communicator also hears of the first failure: its doorbell is rung, ... */
struct ring_listener {
	const struct ring_bell *bell;                 /* NULL: it has none, but ... */
	void (*hear)(struct ring_listener *listener); /* ... this is called. Any thread; short */
	struct ring_listener *next;
};

struct ring_comm_failure {
	const struct ring_team *team;
	struct ring_links *links; /* lanes that tell the others, and the doorbell */

	pthread_mutex_t lock;
	struct ring_flag failed; /* raised once `first` is complete */
	struct ring_failure first;
	uint64_t first_call;             /* the first call that it ends; 0: all */
	struct ring_failure refused;     /* the last call that was refused; under the lock */
	struct ring_listener *listeners; /* under the lock */

	/* prev, next said goodbye, and when */
	struct ring_flag left[2];
	uint64_t left_ms[2];

	/* prev, next: the call in which it says that it waits; under the lock */
	struct ring_record waits[2];
};

/* `links` may still be closed. */
void ring_comm_failure_open(struct ring_comm_failure *failure, const struct ring_team *team,
			    struct ring_links *links);
void ring_comm_failure_close(struct ring_comm_failure *failure);

/* The listener is the caller's, and stays until it is taken away. Look for a failure behind it. */
void ring_comm_failure_listen(struct ring_comm_failure *failure, struct ring_listener *listener);
void ring_comm_failure_leave(struct ring_comm_failure *failure,
			     const struct ring_listener *listener);

/*
 * Makes the news the communicator's failure, unless there is one already, and tells the other ranks
 * if `tell`. returns the communicator's failure
 */
int ring_comm_fail_with(struct ring_comm_failure *failure, const struct ring_news *news, bool tell);

/* The same for a failure that ends all calls, told to the others. */
__attribute__((format(printf, 4, 5))) int ring_comm_fail(struct ring_comm_failure *failure, int err,
							 int culprit, const char *format, ...);

/* 0, or the communicator's failure. */
static inline int ring_comm_failed(const struct ring_comm_failure *failure)
{
	return ring_flag_is_raised(&failure->failed) ? failure->first.err : 0;
}

/*
 * 0, or the failure if it ends call number `call`. A mismatch ends no earlier call: all ranks made
 * those alike, so they complete.
 */
static inline int ring_comm_failed_in(const struct ring_comm_failure *failure, uint64_t call)
{
	int err = ring_comm_failed(failure);
	return err && failure->first_call <= call ? err : 0;
}

/*
 * Sleeps until a failure that ends call number `call` is known, at most for the grace; for the one
 * thread that may sleep on the doorbell. returns the failure, or 0
 */
int ring_comm_await_failure(struct ring_comm_failure *failure, uint64_t call);

/*
 * Refuses `call`, with whose name the sentence begins: nothing happened, the communicator stays
 * usable. returns err
 */
__attribute__((format(printf, 4, 5))) int ring_comm_refuse(struct ring_comm_failure *failure,
							   int err, const char *call,
							   const char *format, ...);

__attribute__((format(printf, 4, 0))) int ring_comm_refuse_with(struct ring_comm_failure *failure,
								int err, const char *call,
								const char *format, va_list args);

/* Adds to the failure's sentence. */
__attribute__((format(printf, 2, 3))) void ring_comm_add(struct ring_comm_failure *failure,
							 const char *format, ...);

/* The failure's sentence, or that of the last call that was refused. */
void ring_comm_sentence(struct ring_comm_failure *failure, char text[RING_FAILURE_TEXT]);

/* Callbacks for the lookout and the lanes; owner is the struct ring_comm_failure. */
void ring_comm_found_out(void *owner, const struct ring_news *news);
void ring_comm_heard(void *owner, const struct ring_news *news);
void ring_comm_neighbour_left(void *owner, int rank);
void ring_comm_neighbour_waits(void *owner, int rank, const struct ring_record *record);

/*
 * The neighbour that says it waits in another call of that number, or that the communicator is
 * mixed if `mine` does not, and in which call; -1: none does.
 */
int ring_comm_find_other_call(struct ring_comm_failure *failure, const struct ring_record *mine,
			      struct ring_record *theirs);

/*
 * Whether a neighbour has told of that collective or a later one: all that it sends for it is there
 * already, or comes, even if it has left since.
 */
bool ring_comm_has_come_to(struct ring_comm_failure *failure, int peer, uint64_t sequence);

/* True if `peer` (-1: any neighbour) said goodbye at least grace_ms ago. */
bool ring_comm_departed(const struct ring_comm_failure *failure, int peer, int grace_ms);

#endif
