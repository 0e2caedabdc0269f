/* SPDX-License-Identifier: MIT */
/* Planning a way's calls, and starting them on their channels; see start.h. */
#include "start.h"

#include "base/datatype.h"
#include "mixed.h"

/* Of what all ranks know alike: a part, or the vector. */
static uint64_t count_of(const struct ring_comm *comm, const struct ring_call *call)
{
	if (!call->parts.to)
		return call->count;
	return ring_kind_has_own_parts(call->kind)
		       ? 0
		       : ring_parts_longest(&call->parts, comm->team.size);
}

/* Whether the order of additions can be seen in the result. */
static bool shows_order(const struct ring_call *call)
{
	const struct ring_operands *operands = &call->operands;
	return ring_kind_reduces(ring_kind_even(call->kind)) &&
	       (operands->function.call || ring_op_shows_order(operands->op, operands->type));
}

struct ring_question ring_call_question(const struct ring_comm *comm, const struct ring_call *call)
{
	return (struct ring_question){
		.kind = ring_kind_even(call->kind),
		.ranks = comm->team.size,
		.order = comm->team.order,
		.bytes = count_of(comm, call) * ring_datatype_bytes(call->operands.type),
		.path = comm->team.placement.path,
		.memory = RING_MEMORY_PRIVATE, /* until ranks tell more: learn() in carry.c */
		.scaled = call->scaled,
		.in_order = comm->team.config.order[0] && shows_order(call),
		.uneven = call->parts.to != NULL,
		.staged = comm->run.partners.stage.all,
		.apart = call->device->apart || comm->run.mixed,
	};
}

/* For the first channel's plan. */
static struct ring_plan_params params_of(const struct ring_comm *comm, const struct ring_way *way,
					 const struct ring_call *call)
{
	const struct ring_choice *choice = &way->choice;
	return (struct ring_plan_params){
		.kind = ring_kind_even(call->kind),
		.algorithm = choice->algorithm,
		.size = comm->team.size,
		.position = comm->team.placement.position,
		.order = comm->team.order,
		.root = call->root,
		.scaled = call->scaled,
		.in_order = way->question.in_order,
		.count = call->count,
		.parts = call->parts.to ? &call->parts : NULL,
		.element_bytes = (uint32_t)ring_datatype_bytes(call->operands.type),
		.chunk_bytes = choice->chunk_bytes,
		.past = choice->past,
		.place_bytes = RING_PLACE_BYTES,
		.chunks_per_round = choice->chunks_per_round,
		.boards = comm->team.placement.path == RING_PATH_MEMORY &&
			  !ring_mixed_memory(comm, call),
		.apart = call->device->apart || comm->run.mixed,
		.workers = choice->workers,
		.channels = choice->channels,
	};
}

/* Channel `number` for the call's memory. returns 0; RING_ENOMEM, RING_ESYSTEM */
static int find_channel(struct ring_comm *comm, const struct ring_call *call, int number,
			struct ring_channel **channel)
{
	const int16_t memory = ring_mixed_memory(comm, call);
	*channel = &comm->links.channels[number];
	return memory ? ring_far_channel(&comm->run.far, memory, call->device, call->chip, number,
					 channel)
		      : 0;
}

/* The host's rings have their links from the beginning. */
static int want_links(struct ring_comm *comm, struct ring_channel *channel,
		      const struct ring_call *call, const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	const int16_t memory = ring_mixed_memory(comm, call);
	if (memory)
		return ring_pairs_want(&comm->run.pairs, channel,
				       ring_far_link(memory, params->channel), plan);
	return ring_algorithm_has(params->algorithm, RING_GOES_AROUND)
		       ? 0
		       : ring_pairs_want(&comm->run.pairs, channel, RING_CHANNEL_MESH, plan);
}

/* Plans a channel, and starts it. returns 0; RING_ENOMEM, RING_ESYSTEM */
static int plan(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call,
		const struct ring_plan_params *params, struct ring_channel *channel)
{
	struct ring_known_plan *known = params->channel == 0 ? &way->known : channel->own;
	struct ring_plan made = ring_plan_make(params);
	int err = want_links(comm, channel, call, &made);
	if (err)
		return err;
	ring_known_plan_set(known, &made);
	ring_channel_start_known(channel, known, &call->operands, &call->record);
	channel->call.reached = &comm->run.partners.reached;
	return 0;
}

static int plan_all(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_plan_params params = params_of(comm, way, call);
	struct ring_channel **link = &comm->run.active;
	int err = 0;
	for (; params.channel < params.channels && !err; params.channel++) {
		struct ring_channel *channel;
		err = find_channel(comm, call, params.channel, &channel);
		if (err)
			break;
		err = plan(comm, way, call, &params, channel);
		*link = channel;
		link = &channel->next;
	}
	*link = NULL;
	way->planned = !err;
	return err;
}

static void start_again(struct ring_comm *comm, const struct ring_call *call)
{
	for (struct ring_channel *channel = comm->run.active; channel; channel = channel->next)
		ring_channel_start_again(channel, &call->operands, call->record.sequence);
}

static int start_known(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_channel *channel;
	int err = find_channel(comm, call, 0, &channel);
	if (err)
		return err;
	ring_channel_start_known(channel, &way->known, &call->operands, &call->record);
	channel->call.reached = &comm->run.partners.reached;
	channel->next = NULL;
	comm->run.active = channel;
	return 0;
}

int ring_start_way(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	int err = 0;
	if (comm->run.ways.loaded == way && !comm->run.mixed) /* else for other memory, perhaps */
		start_again(comm, call);
	else if (way->planned && way->choice.channels == 1)
		err = start_known(comm, way, call);
	else
		err = plan_all(comm, way, call);
	comm->run.ways.loaded = err ? NULL : way;
	return err;
}

void ring_start_gathering(struct ring_comm *comm, void *all, size_t bytes,
			  const struct ring_record *record)
{
	const struct ring_placement *placement = &comm->team.placement;
	struct ring_plan_params params = {
		.kind = RING_KIND_ALL_GATHER,
		.algorithm = ring_algorithm_of(RING_KIND_ALL_GATHER),
		.size = comm->team.size,
		.position = placement->position,
		.order = comm->team.order,
		.count = bytes,
		.element_bytes = 1,
		.chunk_bytes = placement->tuning.chunk_bytes,
		.chunks_per_round = placement->tuning.chunks_per_round,
		.channels = 1,
	};
	struct ring_operands operands = {
		.input = (const char *)all + (size_t)comm->team.rank * bytes, /* in place */
		.output = all,
		.type = RING_UINT8,
		.divisor = 1,
	};
	struct ring_plan plan = ring_plan_make(&params);
	ring_channel_start(&comm->links.channels[0], &plan, &operands, record);
}
