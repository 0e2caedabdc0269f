/* SPDX-License-Identifier: MIT */
/*
 * Making, lending and finding stages; see stage.h. Ranks of one process use one mapping of a stage,
 * which the last of them unmaps, unless each pins it.
 */
#include "stage.h"

#include <stdlib.h>
#include <unistd.h>

#include "transport/sealed.h"
#include "base/fd.h"
#include "base/held.h"
#include "engine/channel.h"
#include "plan/record.h"
#include "team.h"

static void unmap(struct ring_region *region)
{
	ring_held_end(region->start, region->bytes, ring_held_unmap);
	ring_fd_close(region->fd);
}

void ring_stage_make(struct ring_stage *stage, size_t bytes, bool pinned)
{
	struct ring_region made = {.bytes = ring_sealed_memory(bytes),
				   .allocated = true,
				   .free = unmap};
	stage->bytes = made.bytes;
	stage->pinned = pinned;
	if (ring_sealed_create("ringccl-stage", made.bytes, &made.fd, &made.start))
		return;
	stage->own = ring_region_add(&made);
	if (!stage->own)
		unmap(&made);
}

/* Once nothing of this process uses it; see device.h. */
static void free_far(struct ring_region *region)
{
	ring_fd_close(region->fd);
	region->device->free(region->start);
}

void ring_stage_make_far(struct ring_stage *stage, size_t bytes, const struct ring_device *device,
			 const struct ring_opener *opener)
{
	struct ring_region made = {.bytes = bytes,
				   .device = device,
				   .chip = opener->chip,
				   .allocated = true,
				   .fd = -1,
				   .free = free_far};
	stage->bytes = bytes;
	stage->opener = opener;
	if (device->calls->inboxes(made.chip, bytes, &made.start))
		return;
	if (!device->lending->lend(&made) && made.fd >= 0)
		stage->own = ring_region_add(&made);
	if (!stage->own)
		free_far(&made);
}

uint32_t ring_stage_lend(const struct ring_stage *stage, const struct ring_channel *mesh)
{
	const struct ring_region *own = stage->own;
	bool lent = own && own->number < RING_REGION_UNUSED;
	for (int r = 0; lent && r < mesh->route_count; r++) {
		struct ring_link *out = mesh->routes[r].out;
		lent = !out || !ring_link_share(out, own);
	}
	return lent ? (uint32_t)own->number : RING_REGION_PRIVATE;
}

static bool all_have_one(const struct ring_whereabouts *where, int ranks)
{
	for (int rank = 0; rank < ranks; rank++)
		if (where[rank].output_region == RING_REGION_PRIVATE)
			return false;
	return true;
}

/* No page is pinned twice, so this rank has a mapping of its own, and holds that instead. */
static int map_again(struct ring_region **held, void **place)
{
	const struct ring_region *theirs = *held;
	struct ring_region made = {
		.bytes = theirs->bytes, .allocated = true, .fd = -1, .free = unmap};
	int err = ring_sealed_map(theirs->fd, made.bytes, &made.start);
	struct ring_region *own = err ? NULL : ring_region_add(&made);
	if (!own && !err)
		unmap(&made);
	if (!own)
		return err ? err : RING_ENOMEM;
	ring_region_release(*held);
	*held = own;
	*place = own->start;
	return 0;
}

/* A stage of this process is held: its owner may be gone while this rank still reads there. */
static int hold(const struct ring_stage *stage, struct ring_region **held, uint32_t region,
		void **place)
{
	*held = ring_region_hold_number(region);
	*place = *held ? (*held)->start : NULL;
	if (!*held)
		return RING_EPEER;
	if (stage->opener)
		return stage->opener->reach(stage->opener->chip, *place);
	return stage->pinned ? map_again(held, place) : 0;
}

static int map(const struct ring_stage *stage, struct ring_link *in, uint32_t region, void **place)
{
	int err = stage->opener ? ring_link_open(in, region, 0, stage->bytes, stage->opener, place)
				: ring_link_map(in, region, 0, stage->bytes, place);
	return err ? err : ring_link_keep(in, region);
}

int ring_stage_find(struct ring_stage *stage, const struct ring_team *team,
		    const struct ring_channel *mesh, const struct ring_whereabouts *where, int *peer)
{
	int err = 0;
	*peer = team->rank;
	if (!all_have_one(where, team->size))
		return 0;
	stage->size = (unsigned)team->size;
	stage->all = calloc(stage->size, sizeof(*stage->all));
	stage->held = calloc(stage->size, sizeof(struct ring_region *));
	if (!stage->all || !stage->held)
		return RING_ENOMEM;
	for (int rank = 0; rank < team->size && !err; rank++) {
		void *place = stage->own->start;
		uint32_t region = where[rank].output_region;
		if (rank != team->rank && ring_team_is_here(team, rank))
			err = hold(stage, &stage->held[rank], region, &place);
		else if (rank != team->rank)
			err = map(stage, mesh->routes[rank].in, region, &place);
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
