/* SPDX-License-Identifier: MIT */
/* Channels by device; see far.h. */
#include "far.h"

#include <stdlib.h>

#include "comm.h"

struct ring_far {
	const struct ring_device *device;
	struct ring_channel channels[RING_CHANNELS_MAX]; /* those that have a device are open */
	struct ring_far *next;
};

int ring_far_link(const struct ring_device *device, int number)
{
	return RING_CHANNEL_FAR + device->number * RING_CHANNELS_MAX + number;
}

/* NULL without memory. */
static struct ring_far *find(struct ring_comm *comm, const struct ring_device *device)
{
	struct ring_far **link = &comm->run.far;
	while (*link && (*link)->device != device)
		link = &(*link)->next;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (*link)
			(*link)->device = device;
	}
	return *link;
}

int ring_far_channel(struct ring_comm *comm, const struct ring_device *device, int chip, int number,
		     struct ring_channel **found)
{
	struct ring_far *far = find(comm, device);
	if (!far)
		return RING_ENOMEM;
	struct ring_channel *channel = &far->channels[number];
	*found = channel;
	if (channel->device)
		return 0;
	size_t scratch = comm->team.size > 1 ? ring_tuning_scratch(&comm->team.placement.tuning) : 0;
	int err = ring_channel_open(channel, comm->team.rank, far->device, chip, scratch);
	channel->trace = comm->team.trace;
	if (err)
		ring_channel_close(channel);
	return err;
}

/* The mesh's links, and so the first ring's; or a further ring's. */
static int connect_channel(struct ring_comm *comm, struct ring_channel *channel, int link,
			   bool rings)
{
	int err = rings ? 0 : ring_channel_reserve(channel, comm->team.size);
	const struct ring_placement *placement = &comm->team.placement;
	for (int peer = 0; peer < comm->team.size && !err; peer++) {
		bool next = peer == placement->next.rank, prev = peer == placement->prev.rank;
		if (peer == comm->team.rank)
			continue;
		if (!rings || next)
			err = ring_pairs_want_link(comm, channel, link, peer, true);
		if (!err && (!rings || prev))
			err = ring_pairs_want_link(comm, channel, link, peer, false);
	}
	return err;
}

int ring_far_connect(struct ring_comm *comm, const struct ring_device *device, int chip)
{
	int err = ring_pairs_connect(comm, device, chip);
	for (int number = 0; number < comm->team.placement.tuning.channels && !err; number++) {
		struct ring_channel *channel;
		err = ring_far_channel(comm, device, chip, number, &channel);
		if (!err)
			err = connect_channel(comm, channel, ring_far_link(device, number),
					      number > 0);
	}
	return err;
}

void ring_far_each(const struct ring_comm *comm, void *context,
		   void (*visit)(void *context, const struct ring_channel *channel, int number))
{
	for (const struct ring_far *far = comm->run.far; far; far = far->next)
		for (int number = 0; number < RING_CHANNELS_MAX; number++)
			if (far->channels[number].device)
				visit(context, &far->channels[number], number);
}

void ring_far_close(struct ring_comm *comm)
{
	while (comm->run.far) {
		struct ring_far *far = comm->run.far;
		comm->run.far = far->next;
		for (int number = 0; number < RING_CHANNELS_MAX; number++)
			ring_channel_close(&far->channels[number]);
		free(far);
	}
}
