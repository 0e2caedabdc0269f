/* SPDX-License-Identifier: MIT */
/*
 * Channels for calls whose buffers are apart from the host: one more set for each device, opened by
 * the first call that needs it. Their links, also those to the neighbours, are made on demand like
 * the mesh's, with one connection for both ways where possible. They have no boards: the host could
 * not write a device's data there.
 *
 * Barriers, and what ranks tell one another while they meet or split, stay on the host's channels.
 */
#ifndef RING_FAR_H
#define RING_FAR_H

#include "engine/channel.h"

struct ring_far_set;
struct ring_pairs;
struct ring_team;

struct ring_far {
	const struct ring_team *team;
	struct ring_far_set *sets; /* one for each device; NULL at first */
	bool connected;            /* the program's streams may stop for calls from here on */
};

/* Tells the links of channel number `number` from others between the same ranks. */
int ring_far_link(const struct ring_device *device, int number);

/*
 * Finds the device's channel number `number`, and opens it on that chip if need be. returns 0;
 * RING_ENOMEM, RING_ESYSTEM
 */
int ring_far_channel(struct ring_far *far, const struct ring_device *device, int chip, int number,
		     struct ring_channel **channel);

/*
 * Wants all links that calls on the device's memory may need, and room for them: so that none of
 * them allocates or pins any more, which would wait for all that the device was given. The others
 * do so, too. returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_far_connect(struct ring_far *far, struct ring_pairs *pairs,
		     const struct ring_device *device, int chip);

/* Calls visit for every channel there is, with its number. */
void ring_far_each(const struct ring_far *far, void *context,
		   void (*visit)(void *context, const struct ring_channel *channel, int number));

void ring_far_close(struct ring_far *far);

#endif
