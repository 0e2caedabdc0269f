/* SPDX-License-Identifier: MIT */
/* Looking at a communicator's connections now and then; see lookout.h. */
#include "lookout.h"

#include <stdlib.h>

#include "base/clock.h"
#include "transport/outage.h"
#include "base/waits.h"

/* One connection. */
struct ring_lookout_post {
	int fd;
	const struct ring_peer *peer;
	struct ring_outage outage;
};

static void report(const struct ring_lookout *lookout, const struct ring_peer *peer,
		   const struct ring_sight *sight)
{
	const struct ring_lookout_params *params = &lookout->params;
	struct ring_news news = {.err = RING_EPEER, .culprit = peer->rank};
	bool heard = sight->heard_ms < (uint32_t)params->peer_lost_ms / 2;
	ring_peer_unreached(peer, params->self, params->peer_lost_ms, heard, news.text);
	params->failed(params->owner, &news);
}

/* Whether something is under way, or was since the last look; *lost: for too long */
static bool look_at(struct ring_lookout_post *post, int lost_ms, struct ring_sight *sight,
		    bool *lost)
{
	uint64_t before = post->outage.acked;
	*lost = false;
	if (!ring_outage_look(post->fd, sight))
		return false;
	*lost = ring_outage_judge(&post->outage, sight, lost_ms, ring_clock_ms());
	return sight->under_way || sight->acked != before;
}

static void look(void *owner)
{
	struct ring_lookout *lookout = owner;
	bool busy = false, lost = false, late = false;
	ring_flag_lower(&lookout->looks);
	for (int i = 0; i < lookout->count && !lost; i++) {
		struct ring_lookout_post *post = &lookout->posts[i];
		struct ring_sight sight;
		busy = look_at(post, lookout->params.peer_lost_ms, &sight, &lost) || busy;
		late = late || post->outage.over_ms;
		if (lost)
			report(lookout, post->peer, &sight);
	}
	lookout->idle = busy ? 0 : lookout->idle + 1;
	lookout->over = lookout->over || lost;
	int next_ms = late ? RING_OUTAGE_HURRY_MS : RING_OUTAGE_LOOK_MS;
	if (!lookout->over && lookout->idle < RING_OUTAGE_IDLE_LOOKS &&
	    !ring_watcher_alarm(lookout->watcher, lookout, look, next_ms))
		ring_flag_raise(&lookout->looks);
}

void ring_lookout_open(struct ring_lookout *lookout, struct ring_watcher *watcher,
		       const struct ring_lookout_params *params)
{
	*lookout = (struct ring_lookout){.watcher = watcher, .params = *params};
}

int ring_lookout_add(struct ring_lookout *lookout, int fd, const struct ring_peer *peer)
{
	int err = 0;
	ring_watcher_lock(lookout->watcher);
	if (lookout->count == lookout->room) {
		int room = 2 * lookout->room + 4;
		struct ring_lookout_post *posts = realloc(lookout->posts,
							  (size_t)room * sizeof(*posts));
		err = posts ? 0 : RING_ENOMEM;
		lookout->posts = posts ? posts : lookout->posts;
		lookout->room = posts ? room : lookout->room;
	}
	if (!err)
		lookout->posts[lookout->count++] = (struct ring_lookout_post){.fd = fd,
									      .peer = peer};
	ring_watcher_unlock(lookout->watcher);
	return err;
}

/* The first look is at once: it is what the next ones compare with. */
void ring_lookout_begin(struct ring_lookout *lookout)
{
	ring_watcher_lock(lookout->watcher);
	lookout->idle = 0;
	if (!lookout->over && !ring_flag_is_raised(&lookout->looks) &&
	    !ring_watcher_alarm(lookout->watcher, lookout, look, 0))
		ring_flag_raise(&lookout->looks);
	ring_watcher_unlock(lookout->watcher);
}

void ring_lookout_close(struct ring_lookout *lookout)
{
	if (lookout->watcher && ring_watcher_is_mine(lookout->watcher))
		ring_watcher_alarm(lookout->watcher, lookout, NULL, -1);
	free(lookout->posts);
	*lookout = (struct ring_lookout){0};
}
