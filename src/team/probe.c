/* SPDX-License-Identifier: MIT */
/* Trying whether devices reach one another; see probe.h. */
#include "probe.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/waits.h"
#include "memory.h"
#include "team.h"

#define CELL_BYTES 64 /* a token, on a line of its own */

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Waits until the queue's jobs are done. */
static int finish(struct ring_probe *probe)
{
	const uint64_t until = ring_clock_ms() + RING_PROBE_MS;
	uint64_t done = 0;
	int err = probe->device->finished(probe->queue, &done);
	while (!err && done < probe->jobs && ring_clock_ms() < until) {
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
		err = probe->device->finished(probe->queue, &done);
	}
	return err ? err : done < probe->jobs ? RING_ETIMEDOUT : 0;
}

/* A kernel copies a token, as they reach for buffers; the driver's copies may go another way. */
static int copy(struct ring_probe *probe, void *dst, const void *src)
{
	const struct ring_reduction job = {.sources = {src},
					   .nsources = 1,
					   .results = {dst},
					   .nresults = 1,
					   .count = sizeof(uint64_t),
					   .type = RING_UINT8};
	int err = probe->device->reduce(probe->queue, &job);
	probe->jobs += !err;
	return err ? err : finish(probe);
}

static int read_token(struct ring_probe *probe, const void *cell, uint64_t *token)
{
	uint64_t *room = probe->room;
	*room = ~*token;
	int err = copy(probe, room, cell);
	*token = *room;
	return err;
}

static int write_token(struct ring_probe *probe, void *cell, uint64_t token)
{
	*(uint64_t *)probe->room = token;
	return copy(probe, cell, probe->room);
}

/* ---- lending --------------------------------------------------------------------------------- */

static void free_cells(struct ring_region *region)
{
	ring_fd_close(region->fd);
	region->device->free(region->start);
}

/* returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM */
static int make_cells(struct ring_probe *probe, const struct ring_team *team)
{
	struct ring_region made = {.bytes = (size_t)team->size * CELL_BYTES,
				   .device = probe->device,
				   .chip = probe->chip,
				   .allocated = true,
				   .fd = -1,
				   .free = free_cells};
	int err = probe->device->alloc(probe->chip, made.bytes, &made.start);
	if (err)
		return err;
	err = probe->device->lending->lend(&made);
	probe->own = err ? NULL : ring_region_add(&made);
	if (!probe->own)
		free_cells(&made);
	return err ? err : probe->own ? 0 : RING_ENOMEM;
}

static char *cell_of(const struct ring_probe *probe, int rank)
{
	return (char *)probe->own->start + (size_t)rank * CELL_BYTES;
}

/* returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM */
static int open_all(struct ring_probe *probe, const struct ring_team *team)
{
	uint64_t *token;
	if (!probe->device->lending)
		return RING_ENOTSUP;
	probe->opener = (struct ring_opener){.chip = probe->chip,
					     .open = probe->device->lending->open,
					     .close = probe->device->lending->close,
					     .has_closed = probe->device->lending->has_closed,
					     .reach = probe->device->lending->reach};
	probe->by_descriptor = probe->opener;
	probe->by_descriptor.has_closed = NULL;
	probe->tokens = calloc((size_t)team->size, sizeof(*probe->tokens));
	if (!probe->tokens)
		return RING_ENOMEM;
	token = &probe->tokens[team->rank];
	if (getrandom(token, sizeof(*token), 0) != (ssize_t)sizeof(*token))
		return RING_ESYSTEM;
	int err = probe->device->queue_open(probe->chip, &probe->queue);
	if (!err)
		err = ring_rooms_make(probe->device, sizeof(uint64_t), &probe->room);
	if (!err)
		err = make_cells(probe, team);
	return err ? err : write_token(probe, cell_of(probe, team->rank), *token);
}

/* returns what to tell: where the cells are, and the token */
static struct ring_whereabouts lend(struct ring_probe *probe, const struct ring_team *team,
				    struct ring_comm_memory *memory, const struct ring_channel *mesh)
{
	probe->well = !open_all(probe, team) && probe->own->number < RING_REGION_UNUSED &&
		      !ring_memory_lend(memory, mesh, probe->own);
	if (!probe->well)
		return (struct ring_whereabouts){.output_region = RING_REGION_PRIVATE};
	return (struct ring_whereabouts){.input = probe->tokens[team->rank],
					 .output_region = (uint32_t)probe->own->number};
}

/* ---- reaching -------------------------------------------------------------------------------- */

int ring_probe_find(const struct ring_probe *probe, struct ring_link *in, uint32_t region,
		    uint64_t offset, size_t bytes, char **here)
{
	void *address = NULL;
	int err = ring_link_open(in, region, offset, bytes, &probe->opener, &address);
	*here = address;
	return err;
}

static void note_distance(struct ring_probe *probe, enum ring_distance distance)
{
	if (distance < probe->distance)
		probe->distance = distance;
}

/*
 * One rank's cells: reads its token there, and leaves this rank's. returns what went wrong, and
 * whether a driver promised something else; NULL
 */
static const char *try_rank(struct ring_probe *probe, const struct ring_team *team,
			    const struct ring_channel *mesh, int rank, uint32_t region,
			    enum ring_log_level *level)
{
	size_t bytes = (size_t)team->size * CELL_BYTES;
	uint64_t token = probe->tokens[rank], read = token;
	char *cells;
	int err = ring_probe_find(probe, mesh->routes[rank].in, region, 0, bytes, &cells);
	*level = err ? RING_INFO : RING_WARN;
	if (err)
		return "is not open to";
	if (read_token(probe, cells + (size_t)rank * CELL_BYTES, &read))
		return "cannot be read by";
	if (read != token)
		return "is said to be open, but holds other bytes for";
	note_distance(probe, probe->device->lending->distance(probe->chip, cells));
	err = write_token(probe, cells + (size_t)team->rank * CELL_BYTES, probe->tokens[team->rank]);
	return err ? "cannot be written by" : NULL;
}

/* That devices have no way to one another is so on many machines; a lie is not. */
static void tell_people(const struct ring_probe *probe, const struct ring_team *team, int rank,
			const char *why, enum ring_log_level level)
{
	char who[RING_RANK_TEXT];
	ring_log(level,
		 "rank %d: memory of the %s device of %s %s %s device %d of this rank: calls go by "
		 "memory of the host",
		 team->rank, probe->device->name, ring_team_rank_text(team, rank, who), why,
		 probe->device->name, probe->chip);
}

static void write_all(struct ring_probe *probe, const struct ring_team *team,
		      const struct ring_channel *mesh, const struct ring_whereabouts *where)
{
	probe->distance = RING_DISTANCE_NONE;
	for (int rank = 0; rank < team->size && probe->well; rank++) {
		if (rank == team->rank)
			continue;
		probe->tokens[rank] = where[rank].input;
		enum ring_log_level level;
		const char *why = try_rank(probe, team, mesh, rank, where[rank].output_region,
					   &level);
		if (why)
			tell_people(probe, team, rank, why, level);
		probe->well = !why;
	}
}

static void check_all(struct ring_probe *probe, const struct ring_team *team)
{
	for (int rank = 0; rank < team->size && probe->well; rank++) {
		uint64_t read = probe->tokens[rank];
		probe->well = !read_token(probe, cell_of(probe, rank), &read) &&
			      read == probe->tokens[rank];
		if (!probe->well)
			tell_people(
				probe, team, rank,
				"is said to be open both ways, but its jobs leave other bytes in",
				RING_WARN);
	}
}

/* ---- in turn --------------------------------------------------------------------------------- */

/* Others free their cells once they hear that it is not well: no job may be under way there. */
static void settle(struct ring_probe *probe)
{
	if (probe->queue && !probe->well)
		probe->device->queue_close(probe->queue);
	if (!probe->well)
		probe->queue = NULL;
}

struct ring_whereabouts ring_probe_tell(struct ring_probe *probe, const struct ring_team *team,
					const struct ring_device *device, int chip,
					struct ring_comm_memory *memory,
					const struct ring_channel *mesh)
{
	if (probe->phase != RING_PROBE_LENDING)
		return (struct ring_whereabouts){.input = probe->well,
						 .output = (uint64_t)probe->distance};
	probe->device = device;
	probe->chip = chip;
	return lend(probe, team, memory, mesh);
}

static bool all_say(const struct ring_team *team, const struct ring_whereabouts *where, bool lends)
{
	bool all = true;
	for (int rank = 0; rank < team->size; rank++)
		all = all && (lends ? where[rank].output_region != RING_REGION_PRIVATE
				    : where[rank].input != 0);
	return all;
}

void ring_probe_hear(struct ring_probe *probe, const struct ring_team *team,
		     const struct ring_channel *mesh, const struct ring_whereabouts *where)
{
	bool all = all_say(team, where, probe->phase == RING_PROBE_LENDING);
	if (all && probe->phase == RING_PROBE_LENDING) {
		write_all(probe, team, mesh, where);
		settle(probe);
		probe->phase = RING_PROBE_WRITING;
	} else if (all && probe->phase == RING_PROBE_WRITING) {
		for (int rank = 0; rank < team->size; rank++)
			note_distance(probe, (enum ring_distance)where[rank].output);
		check_all(probe, team);
		probe->phase = RING_PROBE_CHECKING;
	} else {
		probe->reaches = all;
		ring_probe_free(probe);
		probe->phase = RING_PROBE_DONE;
		ring_log(RING_INFO, "rank %d: %s devices %s one another's memory", team->rank,
			 probe->device->name, all ? "reach" : "do not all reach");
	}
}

/* Peers let go of the cells when they hear that they are forgotten. */
void ring_probe_free(struct ring_probe *probe)
{
	if (probe->queue)
		probe->device->queue_close(probe->queue);
	if (probe->room)
		ring_rooms_free(probe->device, probe->room);
	if (probe->own) {
		ring_region_forget(probe->own);
		ring_fd_close(probe->own->fd); /* also where a peer has them open for ever */
		probe->own->fd = -1;
	}
	ring_region_release(probe->own);
	free(probe->tokens);
	probe->queue = NULL;
	probe->room = NULL;
	probe->own = NULL;
	probe->tokens = NULL;
}
