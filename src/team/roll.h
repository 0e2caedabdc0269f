/* SPDX-License-Identifier: MIT */
/*
 * A roll call, for people who wait: a rank that has waited long asks around the ring who keeps it.
 * The question passes from watcher to watcher, so ranks that compute also answer; stopped processes
 * do not. The first rank that is not in the asker's call answers, and the question goes on to
 * where it came from.
 */
#ifndef RING_ROLL_H
#define RING_ROLL_H

#include <pthread.h>

#include "base/flag.h"
#include "health/lanes.h"
#include "links.h"
#include "team.h"

struct ring_roll {
	const struct ring_team *team;
	struct ring_links *links;
	const struct ring_flag *busy; /* raised while this rank is in a call */

	pthread_mutex_t lock; /* for all below: the watcher's thread also comes here */
	bool waits;           /* this rank has waited long, in ... */
	struct ring_record record;
	int peer;          /* ... for this rank; -1: not known */
	uint64_t question; /* the number of the last that was asked here */
	bool answered;     /* it came back */
	char answer[RING_ROLL_TEXT];
};

void ring_roll_open(struct ring_roll *roll, const struct ring_team *team, struct ring_links *links,
		    const struct ring_flag *busy);
void ring_roll_close(struct ring_roll *roll);

/* This rank has waited long in the call of that record, for peer; record NULL: no more. */
void ring_roll_wait(struct ring_roll *roll, const struct ring_record *record, int peer);

/*
 * Asks who is not in the call of that record; of a message, what the peer does. The doorbell rings
 * once the question is back.
 */
void ring_roll_ask(struct ring_roll *roll, const struct ring_record *record, int peer);

/* Whether the question is back: then text has what was answered, "" if nobody did. */
bool ring_roll_answered(struct ring_roll *roll, char text[RING_ROLL_TEXT]);

/* Callbacks for the lanes; owner is the struct ring_roll. */
void ring_roll_asked(void *owner, struct ring_roll_question *question);
void ring_roll_returned(void *owner, const struct ring_roll_question *question);

#endif
