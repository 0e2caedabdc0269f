/* SPDX-License-Identifier: MIT */
/*
 * Making, lending and finding stages; see stage.h. Ranks of one process use one mapping of a stage,
 * which the last of them unmaps.
 */
#include "stage.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/sealed.h"
#include "comm.h"
#include "base/fd.h"

static void unmap(struct ring_region *region)
{
	munmap(region->start, region->bytes);
	ring_fd_close(region->fd);
}

static size_t bytes_of(const struct ring_comm *comm)
{
	return ring_sealed_memory(ring_staged_bytes(RING_PLACE_BYTES, comm->team.size));
}

void ring_stage_make(struct ring_comm *comm)
{
	struct ring_region made = {.bytes = bytes_of(comm), .allocated = true, .free = unmap};
	if (!ring_staged_can(RING_KIND_ALL_REDUCE, comm->team.size, 0) ||
	    ring_sealed_create("ringccl-stage", made.bytes, &made.fd, &made.start))
		return;
	comm->run.partners.stage.own = ring_region_add(&made);
	if (!comm->run.partners.stage.own)
		unmap(&made);
}

uint32_t ring_stage_lend(struct ring_comm *comm)
{
	const struct ring_region *own = comm->run.partners.stage.own;
	const struct ring_channel *mesh = &comm->links.channels[0];
	bool lent = own && own->number < RING_REGION_UNUSED;
	for (int r = 0; lent && r < mesh->route_count; r++) {
		struct ring_link *out = mesh->routes[r].out;
		lent = !out || !ring_link_share(out, own);
	}
	return lent ? (uint32_t)own->number : RING_REGION_PRIVATE;
}

static bool all_have_one(const struct ring_comm *comm)
{
	for (int rank = 0; rank < comm->team.size; rank++)
		if (comm->run.partners.reached.where[rank].output_region == RING_REGION_PRIVATE)
			return false;
	return true;
}

/* A stage of this process is held: its owner may be gone while this rank still reads there. */
static int find(struct ring_comm *comm, int rank, void **place)
{
	uint32_t region = comm->run.partners.reached.where[rank].output_region;
	struct ring_link *in = comm->links.channels[0].routes[rank].in;
	if (comm->team.peers[rank].process == comm->team.peers[comm->team.rank].process) {
		struct ring_region *held = ring_region_hold_number(region);
		comm->run.partners.stage.held[rank] = held;
		*place = held ? held->start : NULL;
		return held ? 0 : RING_EPEER;
	}
	int err = ring_link_map(in, region, 0, bytes_of(comm), place);
	return err ? err : ring_link_keep(in, region);
}

int ring_stage_find(struct ring_comm *comm, int *peer)
{
	struct ring_stage *stage = &comm->run.partners.stage;
	int err = 0;
	*peer = comm->team.rank;
	if (!all_have_one(comm))
		return 0;
	stage->size = (unsigned)comm->team.size;
	stage->all = calloc(stage->size, sizeof(*stage->all));
	stage->held = calloc(stage->size, sizeof(struct ring_region *));
	comm->run.partners.reached.stages = stage->all;
	if (!stage->all || !stage->held)
		return RING_ENOMEM;
	for (int rank = 0; rank < comm->team.size && !err; rank++) {
		void *place = stage->own->start;
		err = rank == comm->team.rank ? 0 : find(comm, rank, &place);
		stage->all[rank] = err ? NULL : place;
		*peer = rank;
	}
	return err;
}

size_t ring_stage_bytes(const struct ring_stage *stage)
{
	return stage->own ? stage->own->bytes : 0;
}

void ring_stage_free(struct ring_stage *stage)
{
	for (unsigned rank = 0; stage->held && rank < stage->size; rank++)
		ring_region_release(stage->held[rank]);
	ring_region_release(stage->own);
	free(stage->held);
	free(stage->all);
	*stage = (struct ring_stage){0};
}
