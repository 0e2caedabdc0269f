/* SPDX-License-Identifier: MIT */
/*
 * A rank's stage: memory that all ranks of a host map for as long as the communicator lives, so
 * that what lies there needs no telling and no gates. Ranks make their stages, tell one another
 * their regions, and find the others'. If one rank has none, none is used. What lies where is said
 * by plan/staged.h, for which stages are made as part of proving (partners.h), and by a device for
 * its inboxes (kernels.h).
 *
 * A stage may be memory of a device, which other processes open by a descriptor: by nothing else,
 * as then it is there until the last of them has closed it, whoever has freed it or died. Ranks of
 * its own process reach it where it lies, and hold it for as long.
 */
#ifndef RING_STAGE_H
#define RING_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_channel;
struct ring_device;
struct ring_opener;
struct ring_region;
struct ring_team;
struct ring_whereabouts;

/* All zero at first. */
struct ring_stage {
	struct ring_region *own;   /* NULL: this rank has none */
	char **all;                /* where they lie here, by rank; NULL: not all ranks have one */
	struct ring_region **held; /* those of this process, by rank; NULL: another one's */
	bool pinned;               /* each rank's device pins its mapping of the host's memory */
	unsigned size;             /* how many */
	size_t bytes;              /* of each */
	const struct ring_opener *opener; /* of memory of a device; NULL: it is the host's */
};

/*
 * Makes this rank's, of at least this many bytes. A rank that cannot have one goes without.
 * pinned: devices are to pin it, so each rank has mappings of its own
 */
void ring_stage_make(struct ring_stage *stage, size_t bytes, bool pinned);

/* The same for inboxes of a device, in memory of the opener's chip. */
void ring_stage_make_far(struct ring_stage *stage, size_t bytes, const struct ring_device *device,
			 const struct ring_opener *opener);

/*
 * Lets all others map it. returns its region; RING_REGION_PRIVATE if there is none that they can
 * map
 */
uint32_t ring_stage_lend(const struct ring_stage *stage, const struct ring_channel *mesh);

/*
 * Maps all others' stages, whose regions are told as those of outputs. returns 0, also if not all
 * have one; RING_ENOMEM; RING_EPEER, or what map() or open() of transport.h, or reach() of the
 * opener, returned, and whose it is
 */
int ring_stage_find(struct ring_stage *stage, const struct ring_team *team,
		    const struct ring_channel *mesh, const struct ring_whereabouts *where,
		    int *peer);

/* Bytes that this rank's takes. */
size_t ring_stage_bytes(const struct ring_stage *stage);

void ring_stage_free(struct ring_stage *stage);

#endif
