/* SPDX-License-Identifier: MIT */
/*
 * Channels for calls whose buffers are apart from the host: one more set for each device, opened by
 * the first call that needs it. Their links, also those to the neighbours, are made on demand like
 * the mesh's, with one connection for both ways where possible. They have no boards: the host could
 * not write a device's data there.
 *
 * Barriers, and what ranks tell one another while they meet or split, stay on the host's channels,
 * until the communicator is mixed (comm/mixed.h): then all calls go by the set, which serves the
 * host's memory as well.
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

/* Tells the links of channel number `number`, for the device of that number, from others. */
int ring_far_link(int16_t memory, int number);

/*
 * Finds channel number `number` of the set for the device of that number, and has it serve memory
 * of this device's chip, that one's or the host. returns 0; RING_ENOMEM, RING_ESYSTEM
 */
int ring_far_channel(struct ring_far *far, int16_t memory, const struct ring_device *device,
		     int chip, int number, struct ring_channel **channel);

/* The number of a device that has a set; 0: none has. */
int16_t ring_far_memory(const struct ring_far *far);

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
