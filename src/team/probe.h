/* SPDX-License-Identifier: MIT */
/*
 * Whether the jobs of each rank's chip reach memory of all other ranks' chips. What drivers say of
 * that is not enough: under some systems and virtual machines they grant it, and jobs find other
 * bytes there. So it is tried once, when ranks of one host first make a call on memory of devices
 * that all can open; if one rank cannot, none does, and calls go by memory of the host.
 *
 *	lending     each makes a cell for every rank, with a token in its own, and tells both
 *	writing     each reads that cell of all others, writes its token to its own cell there, and
 *	            tells whether that went well
 *	checking    each looks at its own cells, and tells whether all tokens are there
 *
 * Each is an exchange of partners.h.
 */
#ifndef RING_PROBE_H
#define RING_PROBE_H

#include "base/distance.h"
#include "engine/channel.h"
#include "plan/record.h"

struct ring_comm_memory;
struct ring_team;

enum ring_probe_phase {
	RING_PROBE_LENDING,
	RING_PROBE_WRITING,
	RING_PROBE_CHECKING,
	RING_PROBE_DONE
};

/* All zero at first. */
struct ring_probe {
	enum ring_probe_phase phase;
	bool reaches;                /* once it is done: all ranks reach all others' memory, ... */
	enum ring_distance distance; /* ... of which the farthest is so far */

	/* Whose jobs, and how they reach memory of other processes; stays as it is. */
	const struct ring_device *device;
	int chip;
	struct ring_opener opener;
	struct ring_opener by_descriptor; /* of stages: their owner may free them at any time */

	bool well; /* so far, here */
	struct ring_region *own;
	struct ring_device_queue *queue;
	uint64_t jobs;
	void *room;       /* of the host, for one word that jobs read or write */
	uint64_t *tokens; /* [size] */
};

/* What this rank tells in the next exchange. */
struct ring_whereabouts ring_probe_tell(struct ring_probe *probe, const struct ring_team *team,
					const struct ring_device *device, int chip,
					struct ring_comm_memory *memory,
					const struct ring_channel *mesh);

/* Takes in what all have told, and does what is next. */
void ring_probe_hear(struct ring_probe *probe, const struct ring_team *team,
		     const struct ring_channel *mesh, const struct ring_whereabouts *where);

/*
 * Where `bytes` bytes of another rank's memory are for the chip's jobs. returns as ring_link_open()
 */
int ring_probe_find(const struct ring_probe *probe, struct ring_link *in, uint32_t region,
		    uint64_t offset, size_t bytes, char **here);

void ring_probe_free(struct ring_probe *probe);

#endif
