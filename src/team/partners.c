/* SPDX-License-Identifier: MIT */
/* Telling where buffers lie, and finding the others'; see partners.h. */
#include "partners.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "call.h"
#include "base/datatype.h"
#include "base/log.h"
#include "base/waits.h"
#include "failure.h"
#include "memory.h"
#include "pairs.h"
#include "team.h"

/* ---- exchanges ------------------------------------------------------------------------------- */

static int allocate(struct ring_reached *reached, size_t size)
{
	if (reached->where)
		return 0;
	reached->where = calloc(size, sizeof(*reached->where));
	reached->inputs = calloc(size, sizeof(*reached->inputs));
	reached->outputs = calloc(size, sizeof(*reached->outputs));
	return reached->where && reached->inputs && reached->outputs ? 0 : RING_ENOMEM;
}

size_t ring_partners_bytes(const struct ring_partners *partners)
{
	const struct ring_reached *reached = &partners->reached;
	size_t each = sizeof(*reached->where) + sizeof(*reached->inputs) + sizeof(*reached->outputs);
	size_t tables = reached->where ? (size_t)partners->team->size * each : 0;
	return tables + ring_stage_bytes(&partners->stage);
}

void ring_partners_free(struct ring_partners *partners)
{
	free(partners->reached.where);
	free(partners->reached.inputs);
	free(partners->reached.outputs);
	ring_stage_free(&partners->stage);
	ring_probe_free(&partners->probe);
	*partners = (struct ring_partners){0};
}

/*
 * The region that a buffer lies in; RING_REGION_PRIVATE if it is private or cannot be lent to all.
 * A device's is not lent before it is known that devices reach one another.
 */
static uint32_t lend(const struct ring_partners *partners, struct ring_region *region)
{
	bool numbered = region && region->number < RING_REGION_UNUSED;
	bool far = numbered && region->lends, tried = partners->probe.phase == RING_PROBE_DONE;
	if (far && !tried)
		return (uint32_t)region->number;
	bool lent = numbered && (!far || partners->probe.reaches) &&
		    !ring_memory_lend(partners->memory, partners->mesh, region);
	return lent ? (uint32_t)region->number : RING_REGION_PRIVATE;
}

static uint64_t place_in(const void *buffer, uint32_t number, const struct ring_region *region)
{
	uintptr_t address = (uintptr_t)buffer;
	return number == RING_REGION_PRIVATE ? address : address - (uintptr_t)region->start;
}

static struct ring_whereabouts locate(const struct ring_partners *partners,
				      const struct ring_call *call)
{
	const struct ring_operands *operands = &call->operands;
	struct ring_whereabouts where = {.input_region = RING_REGION_UNUSED,
					 .output_region = RING_REGION_UNUSED,
					 .cpu = (uint32_t)sched_getcpu()};
	if (operands->input) {
		where.input_region = lend(partners, call->input_region);
		where.input = place_in(operands->input, where.input_region, call->input_region);
	}
	if (operands->output) {
		where.output_region = lend(partners, call->output_region);
		where.output = place_in(operands->output, where.output_region, call->output_region);
	}
	return where;
}

/* Others only talk: a device's calls may ask them to (kernels.h). */
static bool share_memory(const struct ring_team *team)
{
	return team->placement.path == RING_PATH_MEMORY;
}

/* Before the first exchange: room, the plan of all of them, and its links. */
static int prepare(struct ring_partners *partners, struct ring_pairs *pairs)
{
	const struct ring_team *team = partners->team;
	struct ring_plan_params params = {
		.kind = RING_KIND_BARRIER,
		.algorithm = ring_algorithm_of_signals(),
		.size = team->size,
		.position = team->placement.position,
		.order = team->order,
		.element_bytes = 1,
		.channels = 1,
	};
	struct ring_plan plan = ring_plan_make(&params);
	ring_known_plan_set(&partners->signals, &plan);
	int err = allocate(&partners->reached, (size_t)team->size);
	if (share_memory(team) && ring_staged_can(RING_KIND_ALL_REDUCE, team->size, 0))
		ring_stage_make(&partners->stage, ring_staged_bytes(RING_PLACE_BYTES, team->size),
				false);
	return err ? err : ring_pairs_want(pairs, partners->mesh, RING_CHANNEL_MESH, &plan);
}

int ring_partners_tell(struct ring_partners *partners, struct ring_pairs *pairs,
		       const struct ring_call *call)
{
	int err = partners->phase == RING_PARTNERS_LINKING ? prepare(partners, pairs) : 0;
	if (err)
		return err;
	struct ring_whereabouts own = {.input = partners->reaches};
	if (partners->phase == RING_PARTNERS_PROVING)
		own.output_region = ring_stage_lend(&partners->stage, partners->mesh);
	partners->apart = call->device->apart;
	partners->probing = partners->apart && partners->probes &&
			    partners->probe.phase != RING_PROBE_DONE;
	if (partners->probing)
		own = ring_probe_tell(&partners->probe, partners->team, call->device, call->chip,
				      partners->memory, partners->mesh);
	else if (partners->phase == RING_PARTNERS_CALLING)
		own = locate(partners, call);
	ring_partners_say(partners, &call->record, &own);
	return 0;
}

void ring_partners_say(struct ring_partners *partners, const struct ring_record *record,
		       const struct ring_whereabouts *own)
{
	struct ring_channel *channel = partners->mesh;
	partners->reached.where[partners->team->rank] = *own;
	ring_channel_tell(channel, &partners->signals, record, &partners->reached);
	channel->next = NULL;
}

/* ---- what the others can do ------------------------------------------------------------------ */

/* Whether this rank can copy from and to the private memory of all others. */
static bool reaches_all(const struct ring_partners *partners)
{
	const struct ring_team *team = partners->team;
	for (int rank = 0; rank < team->size; rank++) {
		const struct ring_route *route = &partners->mesh->routes[rank];
		if (!ring_team_is_here(team, rank) &&
		    (ring_link_get(route->in, 0, NULL, 0) || ring_link_put(route->out, 0, NULL, 0)))
			return false;
	}
	return true;
}

static bool all_are_shared(const struct ring_partners *partners)
{
	bool shared = true;
	for (int rank = 0; rank < partners->team->size; rank++) {
		const struct ring_whereabouts *where = &partners->reached.where[rank];
		shared = shared && where->input_region != RING_REGION_PRIVATE &&
			 where->output_region != RING_REGION_PRIVATE;
	}
	return shared;
}

int ring_partners_heard(struct ring_partners *partners, int *peer)
{
	const struct ring_team *team = partners->team;
	int err;
	switch (partners->phase) {
	case RING_PARTNERS_LINKING:
		if (!share_memory(team))
			return 0;
		partners->reaches = reaches_all(partners);
		partners->phase = RING_PARTNERS_PROVING;
		return RING_EAGAIN;
	case RING_PARTNERS_PROVING:
		partners->all_reach = true;
		for (int rank = 0; rank < team->size; rank++)
			partners->all_reach = partners->all_reach &&
					      partners->reached.where[rank].input;
		partners->phase = RING_PARTNERS_CALLING;
		err = ring_stage_find(&partners->stage, team, partners->mesh,
				      partners->reached.where, peer);
		partners->reached.stages = partners->stage.all;
		return err ? err : RING_EAGAIN;
	case RING_PARTNERS_CALLING:
		break;
	}
	if (partners->probing)
		ring_probe_hear(&partners->probe, team, partners->mesh, partners->reached.where);
	else if (partners->apart && !partners->probes && all_are_shared(partners))
		partners->probes = true;
	else
		return 0;
	return RING_EAGAIN;
}

enum ring_memory ring_partners_memory(const struct ring_partners *partners,
				      const struct ring_call *call)
{
	if (all_are_shared(partners))
		return RING_MEMORY_SHARED;
	bool reachable = partners->all_reach && !call->device->apart;
	return reachable ? RING_MEMORY_REACHABLE : RING_MEMORY_PRIVATE;
}

uint64_t ring_partners_workers(const struct ring_partners *partners, int root)
{
	const struct ring_team *team = partners->team;
	uint32_t cpus[RING_WORKERS_MOST];
	uint64_t workers = 0;
	int size = team->size, known = 0, position = 0;
	if (size > RING_WORKERS_MOST)
		return 0;
	while (team->order[position] != root)
		position++;
	for (int place = 0; place < size; place++) {
		uint32_t cpu = partners->reached.where[team->order[position]].cpu;
		int i = 0;
		while (i < known && cpus[i] != cpu)
			i++;
		if (i == known) {
			cpus[known++] = cpu;
			workers |= UINT64_C(1) << place;
		}
		position = position + 1 < size ? position + 1 : 0;
	}
	return known == size ? 0 : workers;
}

/* ---- where the others' buffers lie ----------------------------------------------------------- */

/* *here: NULL if it can only be copied from and to. */
static int find(const struct ring_partners *partners, const struct ring_call *call, int rank,
		uint32_t region, uint64_t place, size_t bytes, char **here)
{
	struct ring_link *in = partners->mesh->routes[rank].in;
	void *address = NULL;
	if (call->device->apart && region != RING_REGION_PRIVATE && region != RING_REGION_UNUSED)
		return ring_probe_find(&partners->probe, in, region, place, bytes, here);
	int err = 0;
	if (region == RING_REGION_PRIVATE && ring_team_is_here(partners->team, rank))
		address = (void *)(uintptr_t)place;
	else if (region != RING_REGION_PRIVATE && region != RING_REGION_UNUSED)
		err = ring_link_map(in, region, place, bytes, &address);
	*here = address;
	return err;
}

/* Bytes of the call's buffers. */
static size_t input_bytes(const struct ring_partners *partners, const struct ring_call *call)
{
	size_t bytes = call->count * ring_datatype_bytes(call->operands.type);
	return bytes * (size_t)ring_direct_parts_in(call->kind, partners->team->size);
}

static size_t output_bytes(const struct ring_partners *partners, const struct ring_call *call)
{
	size_t bytes = call->count * ring_datatype_bytes(call->operands.type);
	return bytes * (size_t)ring_direct_parts_out(call->kind, partners->team->size);
}

int ring_partners_reach(struct ring_partners *partners, const struct ring_call *call, int *peer)
{
	const struct ring_team *team = partners->team;
	partners->reached.inputs[team->rank] = (char *)call->operands.input;
	partners->reached.outputs[team->rank] = call->operands.output;
	partners->reached.gates = partners->mesh->routes;
	for (int rank = 0; rank < team->size; rank++) {
		const struct ring_whereabouts *where = &partners->reached.where[rank];
		if (rank == team->rank)
			continue;
		int err = find(partners, call, rank, where->input_region, where->input,
			       input_bytes(partners, call), &partners->reached.inputs[rank]);
		if (!err)
			err = find(partners, call, rank, where->output_region, where->output,
				   output_bytes(partners, call), &partners->reached.outputs[rank]);
		*peer = rank;
		if (err)
			return err;
	}
	return 0;
}

void ring_partners_leave(const struct ring_partners *partners)
{
	const struct ring_team *team = partners->team;
	ring_memory_recall(partners->memory, partners->mesh);
	for (int rank = 0; rank < team->size; rank++) {
		struct ring_link *in = partners->mesh->routes[rank].in;
		if (rank != team->rank)
			ring_link_tidy(in);
	}
}

/* ---- failure --------------------------------------------------------------------------------- */

/*
 * A peer that is still inside, -1 if none is. All are asked in any case, which shuts their gates.
 * One in this process comes first: from it nothing can be taken back.
 */
static int find_inside(const struct ring_partners *partners)
{
	const struct ring_channel *channel = partners->mesh;
	int inside = -1;
	for (int r = 0; r < channel->route_count; r++) {
		struct ring_link *in = channel->routes[r].in;
		bool out = !in || !ring_link_can_reach(in) || !ring_link_revoke(in);
		if (!out && (inside < 0 || ring_team_is_here(partners->team, in->peer)))
			inside = in->peer;
	}
	return inside;
}

static void leave_all(const struct ring_partners *partners)
{
	const struct ring_channel *channel = partners->mesh;
	for (int r = 0; r < channel->route_count; r++) {
		struct ring_link *out = channel->routes[r].out;
		if (out && ring_link_can_reach(out))
			ring_link_leave(out);
	}
}

/*
 * A stopped peer may write to the call's output once it goes on. returns why that cannot be
 * prevented; NULL: it is
 */
static const char *shut_out(const struct ring_partners *partners, const struct ring_call *call,
			    int peer)
{
	struct ring_region *region = call->output_region;
	if (ring_team_is_here(partners->team, peer))
		return "it is a thread of this process";
	if (call->device->apart)
		return "they are memory of a device";
	int err = region && call->operands.output
			  ? ring_memory_take_back(region, call->operands.output,
						  output_bytes(partners, call))
			  : 0;
	if (err == RING_ENOTSUP)
		return "they are memory that another communicator shares, too";
	return err ? "there is no memory for a copy of its own" : NULL;
}

void ring_partners_fence(const struct ring_partners *partners, const struct ring_call *call,
			 struct ring_comm_failure *failure, bool settled)
{
	char who[RING_RANK_TEXT];
	uint64_t until = ring_clock_ms() + RING_FENCE_MS;
	if (settled)
		leave_all(partners);
	int inside = find_inside(partners);
	for (; inside >= 0 && ring_clock_ms() < until; inside = find_inside(partners))
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
	if (inside < 0)
		return;
	const char *why = shut_out(partners, call, inside);
	ring_team_rank_text(partners->team, inside, who);
	ring_log(RING_WARN, "rank %d: %s does not move inside this rank's buffers%s%s",
		 partners->team->rank, who,
		 why ? "; it may still write to them: " : ", which it is shut out of",
		 why ? why : "");
	if (why)
		ring_comm_add(failure, "; %s does not move and may still write to buffers: %s", who,
			      why);
}
