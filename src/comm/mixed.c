/* SPDX-License-Identifier: MIT */
/* Finding out that ranks differ in where memory lies; see mixed.h. */
#include "mixed.h"

#include "base/log.h"

struct ring_record ring_mixed_told(const struct ring_comm *comm, const struct ring_record *record)
{
	struct ring_record told = *record;
	if (comm->run.mixed)
		told.memory = comm->run.mixed | (record->memory & ~RING_RECORD_DEVICE) |
			      RING_RECORD_MIXED;
	return told;
}

/* The number of the device; 0: the calls differ in something else. */
static int16_t find_device(const struct ring_comm *comm, const struct ring_record *mine,
			   const struct ring_record *theirs)
{
	const int16_t own = mine->memory & RING_RECORD_DEVICE;
	const int16_t other = theirs->memory & RING_RECORD_DEVICE;
	if (own && other && own != other)
		return 0;
	if (theirs->memory & RING_RECORD_MIXED)
		return other;
	if (theirs->sequence < mine->sequence) /* left there when it was begun anew */
		return ring_far_memory(&comm->run.far);
	bool differ = ring_record_differs_in_memory(mine, theirs) && mine->kind != RING_KIND_BARRIER;
	return differ ? own | other : 0;
}

static bool is_on_host_channels(const struct ring_comm *comm)
{
	const struct ring_channel *channels = comm->links.channels, *active = comm->run.active;
	return active >= channels && active < channels + RING_CHANNELS_MAX;
}

bool ring_mixed_found(struct ring_comm *comm, const struct ring_record *mine,
		      const struct ring_record *theirs)
{
	int16_t device = comm->run.mixed || ring_kind_is_message((enum ring_kind)mine->kind)
				 ? 0
				 : find_device(comm, mine, theirs);
	if (!device)
		return false;
	ring_log(RING_INFO,
		 "rank %d: from call %llu on, calls are as on a device's memory: not all ranks "
		 "have theirs in the host's",
		 comm->team.rank, (unsigned long long)mine->sequence);
	comm->run.mixed = device;
	comm->run.anew = is_on_host_channels(comm);
	struct ring_record told = ring_mixed_told(comm, mine);
	if (comm->links.lanes)
		ring_lanes_tell(comm->links.lanes, &told);
	return true;
}
