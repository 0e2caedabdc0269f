/* SPDX-License-Identifier: MIT */
/*
 * Links from any rank to any other, beside the rings: made when first needed, for collectives (the
 * mesh) and for sends and receives.
 *
 * A pair is one direction between this rank and another: a link, and a channel that uses it for one
 * message after the other, in the order in which they were added. Pairs progress independently, so
 * sends and receives cannot block one another, nor collectives. Links of the mesh belong to channel
 * 0, which has a plan for all of them.
 */
#ifndef RING_PAIRS_H
#define RING_PAIRS_H

#include "engine/channel.h"
#include "base/status.h"

struct ring_call;
struct ring_links;
struct ring_pair;
struct ring_team;
struct ring_wanted_link;

struct ring_pairs {
	const struct ring_team *team;
	struct ring_links *links; /* the door that new links come through */

	struct ring_pair **ends;         /* [2 * size]: to rank r at 2r, from it at 2r + 1 */
	struct ring_channel *busy;       /* of those with messages to do */
	struct ring_call *ended;         /* batches that are complete, the last first */
	struct ring_wanted_link *wanted; /* links that are being made */
	struct ring_wanted_link *left;   /* that were, and will not be */
	bool fell_back;                  /* a link took another transport, which was told */
	bool connecting;                 /* the call is about those, and done when they are there */
};

/* Why pairs cannot go on. All zero at first. */
struct ring_pairs_trouble {
	struct ring_channel *channel;     /* whose message is over, or cannot begin */
	bool broken;                      /* as ring_channel_advance() found; or ... */
	const struct ring_device *device; /* ... this failed; or NULL: a link cannot be made, ... */
	int peer;                         /* ... with whom */
	bool unreached;                   /* as nothing comes through */
	struct ring_failure failure;
};

/*
 * Gives the call's channel the links that the plan needs; `number` (edge.h) tells them from others.
 * returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_pairs_want(struct ring_pairs *pairs, struct ring_channel *channel, int number,
		    const struct ring_plan *plan);

/*
 * Gives a channel a link to a rank, or from it. Nothing if the channel has it, or will have it.
 * returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_pairs_want_link(struct ring_pairs *pairs, struct ring_channel *channel, int number,
			 int peer, bool outgoing);

/*
 * No more wants what links the channel lacks. What is made of them stays until the end: a peer that
 * still makes such a link would take its end for this rank's.
 */
void ring_pairs_leave(struct ring_pairs *pairs, const struct ring_channel *channel);

/*
 * Makes all pairs fit for memory of the device, whose links they want. returns 0; RING_ENOMEM,
 * RING_ESYSTEM
 */
int ring_pairs_connect(struct ring_pairs *pairs, const struct ring_device *device, int chip);

/*
 * Adds a send or receive, which is in a batch, to its pair. It begins when those before it are
 * complete and its batch is ready. returns 0; RING_ENOMEM
 */
int ring_pairs_add(struct ring_pairs *pairs, struct ring_call *call);

static inline bool ring_pairs_are_at_work(const struct ring_pairs *pairs)
{
	return pairs->busy || pairs->wanted;
}

/*
 * Goes on with links that are being made, and with messages. Never blocks. returns how many moves
 * that were, or an error and why
 */
int ring_pairs_step(struct ring_pairs *pairs, struct ring_pairs_trouble *trouble);

/* Takes a batch that is complete, or was given up with `result`. NULL: there is none */
struct ring_call *ring_pairs_take_ended(struct ring_pairs *pairs);

/*
 * The channel of a message that goes on for longer than timeout_ms, counted from the first time
 * that somebody asked; NULL: none does. Lowers *rest_ms (-1: none) to when the next one will.
 */
const struct ring_channel *ring_pairs_find_late(const struct ring_pairs *pairs, uint64_t now_ms,
						int timeout_ms, int *rest_ms);

/* From now on a rank that dials wakes the sleeper; call it before the last look. */
void ring_pairs_announce(const struct ring_pairs *pairs);

/*
 * What a sleeper must watch while links are being made, as the last step left them; lowers
 * *timeout_ms (-1: none).
 */
int ring_pairs_max_fds(const struct ring_pairs *pairs);
int ring_pairs_wait_fds(const struct ring_pairs *pairs, struct pollfd *fds, int *timeout_ms);

/* Forgets all messages. Batches that were ready have ended, with that result. */
void ring_pairs_give_up(struct ring_pairs *pairs, int result);

/* Bytes that the pairs and their links hold; links of the mesh are channel 0's. */
size_t ring_pairs_memory(const struct ring_pairs *pairs);

/* Calls visit for every pair's channel there is. */
void ring_pairs_each(const struct ring_pairs *pairs, void *context,
		     void (*visit)(void *context, const struct ring_channel *channel));

void ring_pairs_close(struct ring_pairs *pairs);

#endif
