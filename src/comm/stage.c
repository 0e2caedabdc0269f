/* SPDX-License-Identifier: MIT */
/*
 * Making, lending and finding stages; see stage.h. Ranks of one process use one mapping of a stage,
 * which the last of them unmaps: its owner may be gone while they still read.
 */
#include "stage.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/sealed.h"
#include "comm.h"
#include "base/fd.h"
#include "base/fork_lock.h"

struct ring_stage_memory {
	struct ring_shared_memory shared;
	int holders; /* ranks of this process */
	struct ring_stage_memory *next;
};

RING_FORK_LOCK(lock)
static struct ring_stage_memory *stages; /* of the ranks of this process */

/* Where a stage of this process lies; the caller holds it from now on. NULL: it is gone. */
static void *hold(uint64_t region)
{
	pthread_mutex_lock(&lock);
	struct ring_stage_memory *stage = stages;
	while (stage && stage->shared.region != region)
		stage = stage->next;
	if (stage)
		stage->holders++;
	pthread_mutex_unlock(&lock);
	return stage ? stage->shared.memory : NULL;
}

/* Other processes' stages are not held: their links unmap them. */
static void let_go(const void *memory)
{
	pthread_mutex_lock(&lock);
	struct ring_stage_memory **link = &stages, *stage;
	while ((stage = *link) && stage->shared.memory != memory)
		link = &stage->next;
	bool last = stage && --stage->holders == 0;
	if (last)
		*link = stage->next;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	munmap(stage->shared.memory, stage->shared.bytes);
	ring_fd_close(stage->shared.fd);
	free(stage);
}

static size_t bytes_of(const struct ring_comm *comm)
{
	return ring_sealed_memory(ring_staged_bytes(RING_PLACE_BYTES, comm->size));
}

void ring_stage_make(struct ring_comm *comm)
{
	bool used = ring_staged_can(RING_KIND_ALL_REDUCE, comm->size, 0);
	struct ring_stage_memory *made = used ? calloc(1, sizeof(*made)) : NULL;
	if (!made)
		return;
	struct ring_shared_memory *shared = &made->shared;
	shared->bytes = bytes_of(comm);
	if (ring_sealed_create("ringccl-stage", shared->bytes, &shared->fd, &shared->memory)) {
		free(made);
		return;
	}
	shared->region = ring_regions_number();
	made->holders = 1;
	pthread_mutex_lock(&lock);
	made->next = stages;
	stages = made;
	pthread_mutex_unlock(&lock);
	comm->partners.stage.own = made;
}

uint32_t ring_stage_lend(struct ring_comm *comm)
{
	const struct ring_stage_memory *own = comm->partners.stage.own;
	const struct ring_channel *mesh = &comm->channels[0];
	bool lent = own && own->shared.region < RING_REGION_UNUSED;
	for (int r = 0; lent && r < mesh->route_count; r++) {
		struct ring_link *out = mesh->routes[r].out;
		lent = !out || !ring_link_share(out, &own->shared);
	}
	return lent ? (uint32_t)own->shared.region : RING_REGION_PRIVATE;
}

static bool all_have_one(const struct ring_comm *comm)
{
	for (int rank = 0; rank < comm->size; rank++)
		if (comm->partners.reached.where[rank].output_region == RING_REGION_PRIVATE)
			return false;
	return true;
}

static int find(struct ring_comm *comm, int rank, void **place)
{
	uint32_t region = comm->partners.reached.where[rank].output_region;
	struct ring_link *in = comm->channels[0].routes[rank].in;
	if (comm->peers[rank].process == comm->peers[comm->rank].process) {
		*place = hold(region);
		return *place ? 0 : RING_EPEER;
	}
	int err = ring_link_map(in, region, 0, bytes_of(comm), place);
	return err ? err : ring_link_keep(in, region);
}

int ring_stage_find(struct ring_comm *comm, int *peer)
{
	struct ring_stage *stage = &comm->partners.stage;
	int err = 0;
	*peer = comm->rank;
	if (!all_have_one(comm))
		return 0;
	stage->size = (unsigned)comm->size;
	stage->all = calloc(stage->size, sizeof(*stage->all));
	comm->partners.reached.stages = stage->all;
	if (!stage->all)
		return RING_ENOMEM;
	for (int rank = 0; rank < comm->size && !err; rank++) {
		void *place = stage->own->shared.memory;
		err = rank == comm->rank ? 0 : find(comm, rank, &place);
		stage->all[rank] = err ? NULL : place;
		*peer = rank;
	}
	return err;
}

size_t ring_stage_bytes(const struct ring_stage *stage)
{
	return stage->own ? stage->own->shared.bytes : 0;
}

void ring_stage_free(struct ring_stage *stage)
{
	const void *own = stage->own ? stage->own->shared.memory : NULL;
	for (unsigned rank = 0; stage->all && rank < stage->size; rank++)
		if (stage->all[rank] && stage->all[rank] != own)
			let_go(stage->all[rank]);
	if (own)
		let_go(own);
	free(stage->all);
	*stage = (struct ring_stage){0};
}
