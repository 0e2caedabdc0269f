/* SPDX-License-Identifier: MIT */
/*
 * The control lanes beside the ring links of one communicator: who died, who aborted, who left, who
 * waits. News goes both ways around the ring: each rank passes on what it had not heard. Only the
 * first counts. The watcher drives them, so they work while the rank computes.
 *
 * A lane that closes without goodbye is a death. The kernel ends one whose other end cannot be
 * reached (transport/outage.h), at no cost to an idle process; a stopped process keeps its lanes.
 */
#ifndef RING_LANES_H
#define RING_LANES_H

#include "transport/transport.h"
#include "plan/record.h"
#include "door/peer.h"
#include "door/watcher.h"
#include "base/wire.h"

#define RING_NEWS_TEXT RING_PEER_SENTENCE

/* The first thing that went wrong, as it travels. */
struct ring_news {
	int err;     /* RING_EPEER, RING_ETIMEDOUT, RING_EMISMATCH, RING_EABORTED ... */
	int culprit; /* rank, or RING_RANK_ROOT if it is nobody's fault */
	char text[RING_NEWS_TEXT];
	uint64_t call; /* the first call that it ends, those before it go on; 0: all */
};

void ring_wire_news(struct ring_wire *wire, struct ring_news *news);

/* "Who is not in my call?", as it travels around the ring until the asker has it again. */
#define RING_ROLL_TEXT 384

struct ring_roll_question {
	int asker;                   /* rank */
	uint64_t number;             /* the asker's */
	int hops;                    /* ranks that may still pass it on */
	uint64_t call;               /* whoever is not in this collective answers, ... */
	int wanted;                  /* ... or this rank, whatever it does; -1: no such rank */
	char answer[RING_ROLL_TEXT]; /* "" until a rank has answered */
};

struct ring_lanes_params {
	int self;
	const struct ring_peer *prev, *next; /* NULL if alone */
	int prev_fd, next_fd; /* proved CONTROL connections; owned once open succeeds */
	int peer_lost_ms;
	/*
	 * From the watcher's thread, failed() also from that of ring_lanes_report(); the watcher is
	 * locked. failed() is called once for the first news, left() once for each neighbour,
	 * waits() for each ring_lanes_tell() of a neighbour.
	 */
	void (*failed)(void *owner, const struct ring_news *news);
	void (*left)(void *owner, int rank); /* a neighbour said goodbye */
	void (*waits)(void *owner, int rank, const struct ring_record *record);
	void *owner;
	/*
	 * From the watcher's thread, likewise, with an owner of their own; may be NULL. asked() may
	 * write an answer into another rank's question, before it is passed on; returned() has the
	 * own question again.
	 */
	void (*asked)(void *roll, struct ring_roll_question *question);
	void (*returned)(void *roll, const struct ring_roll_question *question);
	void *roll;
};

struct ring_lanes;

int ring_lanes_open(struct ring_lanes **lanes, struct ring_watcher *watcher,
		    const struct ring_lanes_params *params, struct ring_failure *failure);

/*
 * Tells all others and calls failed() here, unless something was heard before: then the others know
 * that. What was reported is delivered even if the lanes are closed at once. Any thread.
 */
void ring_lanes_report(struct ring_lanes *lanes, const struct ring_news *news);

/* Tells both neighbours in which call this rank has waited long. Any thread. */
void ring_lanes_tell(struct ring_lanes *lanes, const struct ring_record *record);

/* Sends the question around the ring. Any thread. */
void ring_lanes_ask(struct ring_lanes *lanes, const struct ring_roll_question *question);

/*
 * At exit, whatever other threads do: says goodbye on lanes with nothing else to send, without
 * taking memory; no callback runs afterwards. Then waits until both neighbours heard it. Neither
 * after deadline_ms.
 */
void ring_lanes_part(struct ring_lanes *lanes, uint64_t deadline_ms);
void ring_lanes_await_parted(struct ring_lanes *lanes, uint64_t deadline_ms);

/*
 * Says goodbye and waits until both neighbours heard it, at most timeout_ms; then closes. No
 * callback runs afterwards. NULL is allowed.
 */
void ring_lanes_close(struct ring_lanes *lanes, int timeout_ms);

#endif
