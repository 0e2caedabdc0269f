/* SPDX-License-Identifier: MIT */
/* Finding ways, choosing and planning them; see way.h. */
#include "way.h"

#include "base/datatype.h"
#include "comm.h"

static struct ring_question question_of(const struct ring_comm *comm, const struct ring_call *call)
{
	return (struct ring_question){
		.kind = call->kind,
		.ranks = comm->team.size,
		.order = comm->team.order,
		.bytes = call->count * ring_datatype_bytes(call->operands.type),
		.path = comm->team.placement.path,
		.memory = RING_MEMORY_PRIVATE,
		.scaled = call->scaled,
		.staged = comm->run.partners.stage.all,
		.apart = call->device->apart,
	};
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t place_of(const struct ring_question *question)
{
	uint64_t mixed = (question->bytes + question->kind) * UINT64_C(0x9e3779b97f4a7c15);
	return (mixed >> 32) % RING_ANSWERS_KEPT;
}

/* All else that a choice depends on is the same while a communicator lives. */
static const struct ring_answer *answer(struct ring_comm *comm, const struct ring_question *question)
{
	const struct ring_tuning *tuning = &comm->team.placement.tuning;
	struct ring_answer *answer = &comm->run.ways.answers[place_of(question)];
	if (!answer->given || !ring_question_equals(&answer->question, question))
		*answer = (struct ring_answer){
			.given = true,
			.question = *question,
			.reaches = ring_tuning_reaches(tuning, question),
			.choice = ring_tuning_choose(tuning, question),
		};
	return answer;
}

/* ---- finding --------------------------------------------------------------------------------- */

static struct ring_way *make(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_way *way = &comm->run.ways.kept[comm->run.ways.next++ % RING_WAYS_KEPT];
	ring_brief_count(&way->brief);
	way->record = call->record;
	way->calls = 0;
	way->brief.ready = false;
	struct ring_question question = question_of(comm, call);
	way->reaches = answer(comm, &question)->reaches;
	ring_way_choose_again(comm, way, &question);
	return way;
}

struct ring_way *ring_way_find(struct ring_comm *comm, const struct ring_call *call)
{
	for (int i = 0; i < RING_WAYS_KEPT; i++)
		if (ring_record_repeats(&call->record, &comm->run.ways.kept[i].record))
			return &comm->run.ways.kept[i];
	return make(comm, call);
}

struct ring_way *ring_way_of_messages(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_way *way = &comm->run.ways.kept[RING_WAYS_KEPT];
	struct ring_question question = question_of(comm, call);
	ring_way_choose_again(comm, way, &question);
	return way;
}

/* ---- choosing and planning ------------------------------------------------------------------- */

void ring_way_choose_again(struct ring_comm *comm, struct ring_way *way,
			   const struct ring_question *question)
{
	way->question = *question;
	if (ring_kind_is_message(question->kind))
		way->choice = ring_tuning_choose(&comm->team.placement.tuning, question);
	else
		way->choice = answer(comm, question)->choice;
	way->planned = false;
	if (comm->run.ways.loaded == way)
		comm->run.ways.loaded = NULL;
}

/* For the first channel's plan. */
static struct ring_plan_params params_of(const struct ring_comm *comm, const struct ring_way *way,
					 const struct ring_call *call)
{
	const struct ring_choice *choice = &way->choice;
	return (struct ring_plan_params){
		.kind = call->kind,
		.algorithm = choice->algorithm,
		.size = comm->team.size,
		.position = comm->team.placement.position,
		.order = comm->team.order,
		.root = call->root,
		.scaled = call->scaled,
		.count = call->count,
		.element_bytes = (uint32_t)ring_datatype_bytes(call->operands.type),
		.chunk_bytes = choice->chunk_bytes,
		.past = choice->past,
		.place_bytes = RING_PLACE_BYTES,
		.chunks_per_round = choice->chunks_per_round,
		.boards = comm->team.placement.path == RING_PATH_MEMORY && !call->device->has_chips,
		.apart = call->device->apart,
		.workers = choice->workers,
		.channels = choice->channels,
	};
}

/* Channel `number` for the call's memory. returns 0; RING_ENOMEM, RING_ESYSTEM */
static int find_channel(struct ring_comm *comm, const struct ring_call *call, int number,
			struct ring_channel **channel)
{
	*channel = &comm->links.channels[number];
	return call->device->has_chips
		       ? ring_far_channel(comm, call->device, call->chip, number, channel)
		       : 0;
}

/* The host's rings have their links from the beginning. */
static int want_links(struct ring_comm *comm, struct ring_channel *channel,
		      const struct ring_call *call, const struct ring_plan *plan)
{
	const struct ring_plan_params *params = &plan->params;
	if (call->device->has_chips)
		return ring_pairs_want(comm, channel, ring_far_link(call->device, params->channel),
				       plan);
	return ring_algorithm_has(params->algorithm, RING_GOES_AROUND)
		       ? 0
		       : ring_pairs_want(comm, channel, RING_CHANNEL_MESH, plan);
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
	channel->next = NULL;
	comm->run.active = channel;
	return 0;
}

int ring_way_start(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	int err = 0;
	if (comm->run.ways.loaded == way)
		start_again(comm, call);
	else if (way->planned && way->choice.channels == 1)
		err = start_known(comm, way, call);
	else
		err = plan_all(comm, way, call);
	comm->run.ways.loaded = err ? NULL : way;
	return err;
}
