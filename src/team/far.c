/* SPDX-License-Identifier: MIT */
/* Channels by device; see far.h. */
#include "far.h"

#include <stdlib.h>

#include "links.h"
#include "pairs.h"
#include "team.h"

struct ring_far_set {
	int16_t memory;                                  /* the device's number */
	struct ring_channel channels[RING_CHANNELS_MAX]; /* those that have a device are open */
	struct ring_far_set *next;
};

int ring_far_link(int16_t memory, int number)
{
	return RING_CHANNEL_FAR + memory * RING_CHANNELS_MAX + number;
}

int16_t ring_far_memory(const struct ring_far *far)
{
	return far->sets ? far->sets->memory : 0;
}

/* NULL without memory. */
static struct ring_far_set *find(struct ring_far *far, int16_t memory)
{
	struct ring_far_set **link = &far->sets;
	while (*link && (*link)->memory != memory)
		link = &(*link)->next;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (*link)
			(*link)->memory = memory;
	}
	return *link;
}

int ring_far_channel(struct ring_far *far, int16_t memory, const struct ring_device *device,
		     int chip, int number, struct ring_channel **found)
{
	const struct ring_team *team = far->team;
	struct ring_far_set *set = find(far, memory);
	if (!set)
		return RING_ENOMEM;
	struct ring_channel *channel = &set->channels[number];
	*found = channel;
	const struct ring_tuning *tuning = &team->placement.tuning;
	size_t scratch = team->size > 1 ? ring_tuning_scratch(tuning, tuning->far_chunk_bytes) : 0;
	if (channel->device)
		return ring_channel_serve(channel, device, chip, scratch);
	int err = ring_channel_open(channel, team->rank, device, chip, scratch);
	channel->trace = team->trace;
	if (err)
		ring_channel_close(channel);
	return err;
}

/* The mesh's links, and so the first ring's; or a further ring's. */
static int connect_channel(struct ring_pairs *pairs, struct ring_channel *channel, int link,
			   bool rings)
{
	const struct ring_team *team = pairs->team;
	int err = rings ? 0 : ring_channel_reserve(channel, team->size);
	const struct ring_placement *placement = &team->placement;
	for (int peer = 0; peer < team->size && !err; peer++) {
		bool next = peer == placement->next.rank, prev = peer == placement->prev.rank;
		if (peer == team->rank)
			continue;
		if (!rings || next)
			err = ring_pairs_want_link(pairs, channel, link, peer, true);
		if (!err && (!rings || prev))
			err = ring_pairs_want_link(pairs, channel, link, peer, false);
	}
	return err;
}

int ring_far_connect(struct ring_far *far, struct ring_pairs *pairs,
		     const struct ring_device *device, int chip)
{
	far->connected = true;
	int err = ring_pairs_connect(pairs, device, chip);
	for (int number = 0; number < far->team->placement.tuning.channels && !err; number++) {
		struct ring_channel *channel;
		err = ring_far_channel(far, device->number, device, chip, number, &channel);
		if (!err)
			err = connect_channel(pairs, channel, ring_far_link(device->number, number),
					      number > 0);
	}
	return err;
}

void ring_far_each(const struct ring_far *far, void *context,
		   void (*visit)(void *context, const struct ring_channel *channel, int number))
{
	for (const struct ring_far_set *set = far->sets; set; set = set->next)
		for (int number = 0; number < RING_CHANNELS_MAX; number++)
			if (set->channels[number].device)
				visit(context, &set->channels[number], number);
}

void ring_far_close(struct ring_far *far)
{
	while (far->sets) {
		struct ring_far_set *set = far->sets;
		far->sets = set->next;
		for (int number = 0; number < RING_CHANNELS_MAX; number++)
			ring_channel_close(&set->channels[number]);
		free(set);
	}
}
