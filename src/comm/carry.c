/* SPDX-License-Identifier: MIT */
/*
 * Carries one call out, or the sends and receives of a group: chooses how, makes the plans or finds those of a call like it,
 * starts the channels, and has them progress to the end (progress.h).
 */
#include "base/clock.h"
#include "comm.h"
#include "base/datatype.h"
#include "explain.h"
#include "fpenv.h"
#include "progress.h"
#include "engine/trace.h"

#define REPEATS_TOLD 64 /* of calls alike that reach into no memory, every so-manieth asks again */

static void ask(struct ring_comm *comm, const struct ring_call *call)
{
	comm->question = (struct ring_question){
		.kind = call->kind,
		.ranks = comm->size,
		.bytes = call->count * ring_datatype_bytes(call->operands.type),
		.path = comm->placement.path,
		.memory = RING_MEMORY_PRIVATE,
		.scaled = call->scaled,
		.staged = comm->partners.stage.all,
	};
}

static const struct ring_choice *choose(struct ring_comm *comm)
{
	comm->choice = ring_tuning_choose(&comm->placement.tuning, &comm->question);
	return &comm->choice;
}

/*
 * Where the plan of a channel is kept: by whom it may be carried out again, if the call has one channel
 * only; else by the channel, until it has another.
 */
static struct ring_known_plan *keeper(struct ring_comm *comm, struct ring_channel *channel)
{
	if (comm->choice.algorithm == RING_ALGORITHM_DIRECT)
		return &comm->partners.plan;
	if (comm->choice.channels > 1)
		return channel->own;
	struct ring_kept_plan *kept = &comm->kept[comm->next_kept % RING_PLANS_KEPT];
	kept->record = (struct ring_record){0};
	return &kept->known;
}

/* Of the first channel's plan. */
static struct ring_plan_params params_of(struct ring_comm *comm, const struct ring_call *call)
{
	const struct ring_choice *choice = choose(comm);
	return (struct ring_plan_params){
		.kind = call->kind,
		.algorithm = choice->algorithm,
		.size = comm->size,
		.position = comm->placement.position,
		.order = comm->order,
		.root = call->root,
		.scaled = call->scaled,
		.count = call->count,
		.element_bytes = (uint32_t)ring_datatype_bytes(call->operands.type),
		.chunk_bytes = choice->chunk_bytes,
		.past = choice->past,
		.place_bytes = RING_PLACE_BYTES,
		.chunks_per_round = choice->chunks_per_round,
		.boards = comm->placement.path == RING_PATH_MEMORY,
		.workers = choice->workers,
		.channels = choice->channels,
	};
}

/* One plan for each of a collective's channels. returns 0; RING_ENOMEM */
static int plan_collective(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_plan_params params = params_of(comm, call);
	bool rings = params.algorithm == RING_ALGORITHM_RING;
	struct ring_channel **link = &comm->active;
	for (; params.channel < params.channels; params.channel++) {
		struct ring_channel *channel = &comm->channels[params.channel];
		struct ring_plan plan = ring_plan_make(&params);
		int err = rings ? 0 : ring_pairs_want(comm, channel, &plan);
		if (err)
			return err;
		struct ring_known_plan *known = keeper(comm, channel);
		ring_known_plan_set(known, &plan);
		ring_channel_start_known(channel, known, &call->operands, &call->record);
		*link = channel;
		link = &channel->next;
	}
	*link = NULL;
	return 0;
}

/* Sends and receives that were called together. returns 0; RING_ENOMEM */
static int start_messages(struct ring_comm *comm, struct ring_call *call)
{
	int err = 0;
	ask(comm, call);
	choose(comm);
	comm->active = NULL;
	comm->planned = (struct ring_record){0};
	for (; call && !err; call = call->together)
		err = ring_pairs_add(comm, call);
	return err;
}

static void note(struct ring_comm *comm, const struct ring_call *call,
		 enum ring_trace_counter counter)
{
	if (comm->trace)
		ring_trace_add(comm->trace,
			       &(struct ring_trace_record){.time_ns = ring_clock_ns(),
							   .call = call->record.sequence,
							   .index = call->count,
							   .channel = -1,
							   .peer = call->root,
							   .step = (int32_t)call->kind,
							   .counter = counter});
}

static uint64_t calls_together(const struct ring_call *call)
{
	uint64_t calls = 0;
	for (; call; call = call->together)
		calls++;
	return calls;
}

static int run_messages(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	return start_messages(comm, call) ? ring_explain_no_memory(comm)
					  : ring_progress_run(comm, &waiting);
}

/* Programs make the same call again and again: its plans are still there. */
static int run_again(struct ring_comm *comm, const struct ring_call *call,
		     struct ring_waiting *waiting)
{
	for (struct ring_channel *channel = comm->active; channel; channel = channel->next)
		ring_channel_start_again(channel, &call->operands, call->record.sequence);
	return ring_progress_run(comm, waiting);
}

/* Finds the others' buffers. returns 0, or the failure */
static int reach(struct ring_comm *comm, const struct ring_call *call)
{
	int peer, err = ring_partners_reach(comm, call, &peer);
	return err ? ring_explain_unmapped(comm, peer, err) : 0;
}

/* Takes in what all have told. returns 0; RING_EAGAIN; or the failure */
static int hear(struct ring_comm *comm)
{
	int peer, err = ring_partners_heard(comm, &peer);
	return err && err != RING_EAGAIN ? ring_explain_unmapped(comm, peer, err) : err;
}

/* Ranks tell one another where their buffers lie, and find them. returns 0, or the failure */
static int meet(struct ring_comm *comm, const struct ring_call *call, struct ring_waiting *waiting)
{
	int err;
	do {
		if (ring_partners_tell(comm, call))
			return ring_explain_no_memory(comm);
		err = ring_progress_run(comm, waiting);
		if (!err)
			err = hear(comm);
	} while (err == RING_EAGAIN);
	if (err)
		return err;
	comm->question.staged = comm->partners.stage.all;
	comm->question.memory = ring_partners_memory(comm);
	if (call->kind == RING_KIND_BROADCAST)
		comm->question.workers = ring_partners_workers(comm, call->root);
	return comm->question.memory == RING_MEMORY_PRIVATE ? 0 : reach(comm, call);
}

/* The plan of the last call, which was the same and reached into memory in the same way. */
static int run_directly_again(struct ring_comm *comm, const struct ring_call *call,
			      struct ring_waiting *waiting)
{
	ring_channel_start_known(&comm->channels[0], &comm->partners.plan, &call->operands,
				 &call->record);
	return ring_progress_run(comm, waiting);
}

/* returns 0, or the failure */
static int run_planned(struct ring_comm *comm, const struct ring_call *call,
		       struct ring_waiting *waiting)
{
	return plan_collective(comm, call) ? ring_explain_no_memory(comm)
					   : ring_progress_run(comm, waiting);
}

/* A call of ranks that reach into one another's memory, if it turns out that they can. */
static int run_among_partners(struct ring_comm *comm, const struct ring_call *call, bool again)
{
	struct ring_waiting waiting = {0};
	struct ring_question before = comm->question;
	int err = meet(comm, call, &waiting);
	bool direct = comm->choice.algorithm == RING_ALGORITHM_DIRECT;
	bool alike = before.memory == comm->question.memory &&
		     before.workers == comm->question.workers;
	if (!err && again && direct && alike)
		err = run_directly_again(comm, call, &waiting);
	else if (!err)
		err = run_planned(comm, call, &waiting);
	if (err)
		ring_partners_fence(comm, call);
	else
		ring_partners_leave(comm, call);
	return err;
}

/*
 * Whether ranks tell one another where buffers lie. Where that made no difference to a call they do not
 * ask before every one like it, but now and then: the buffers may be others now.
 */
static bool tells(const struct ring_comm *comm)
{
	return comm->reaches && (comm->choice.algorithm == RING_ALGORITHM_DIRECT ||
				 comm->repeats % REPEATS_TOLD == 0);
}

/* The call was carried out, by one channel, whose plan is in its place already. */
static void keep(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_kept_plan *kept = &comm->kept[comm->next_kept++ % RING_PLANS_KEPT];
	kept->record = call->record;
	kept->question = comm->question;
	kept->choice = comm->choice;
	ring_brief_prepare(&kept->brief, &comm->channels[0]);
}

/* Programs take turns between a few calls: a barrier behind every sum. NULL if there is none. */
static struct ring_kept_plan *find_kept(struct ring_comm *comm, const struct ring_record *record)
{
	for (int i = 0; i < RING_PLANS_KEPT; i++)
		if (ring_record_repeats(record, &comm->kept[i].record))
			return &comm->kept[i];
	return NULL;
}

/* How the call is carried, as it is told of it. */
static void choose_kept(struct ring_comm *comm, const struct ring_kept_plan *kept)
{
	comm->question = kept->question;
	comm->choice = kept->choice;
	comm->reaches = false;
}

static int run_on_channel(struct ring_comm *comm, struct ring_waiting *waiting)
{
	comm->channels[0].next = NULL;
	comm->active = &comm->channels[0];
	return ring_progress_run(comm, waiting);
}

static int run_kept(struct ring_comm *comm, const struct ring_call *call,
		    struct ring_kept_plan *kept, struct ring_waiting *waiting)
{
	choose_kept(comm, kept);
	ring_channel_start_known(&comm->channels[0], &kept->known, &call->operands, &call->record);
	return run_on_channel(comm, waiting);
}

/* Somebody is late in a call that this rank began briefly: the engine waits for him. */
static int resume(struct ring_comm *comm, const struct ring_call *call, struct ring_kept_plan *kept)
{
	struct ring_waiting waiting = {0};
	comm->planned = call->record;
	ring_brief_resume(&kept->brief, &comm->channels[0], &call->operands);
	return run_on_channel(comm, &waiting);
}

/* The plan that the channel has stays another call's, to which the question and the choice belong no more: none repeats it. */
static int run_briefly(struct ring_comm *comm, const struct ring_call *call,
		       struct ring_kept_plan *kept)
{
	struct ring_channel *channel = &comm->channels[0];
	choose_kept(comm, kept);
	comm->planned = (struct ring_record){0};
	int done = ring_brief_run(&kept->brief, channel, &call->operands, call->record.sequence);
	if (done < 0)
		return ring_explain_broken(comm, channel, done);
	return done ? 0 : resume(comm, call, kept);
}

static int run_new(struct ring_comm *comm, const struct ring_call *call,
		   struct ring_waiting *waiting)
{
	ask(comm, call);
	comm->reaches = ring_tuning_reaches(&comm->placement.tuning, &comm->question);
	if (comm->reaches)
		return run_among_partners(comm, call, false);
	int err = run_planned(comm, call, waiting);
	if (!err && comm->choice.channels == 1)
		keep(comm, call);
	return err;
}

/* kept: how such calls are carried out; NULL: not known */
static int run_by_engine(struct ring_comm *comm, const struct ring_call *call,
			 struct ring_kept_plan *kept)
{
	struct ring_waiting waiting = {0};
	bool again = ring_record_repeats(&call->record, &comm->planned);
	comm->repeats = again ? comm->repeats + 1 : 0;
	if (again)
		return tells(comm) ? run_among_partners(comm, call, true)
				   : run_again(comm, call, &waiting);
	comm->planned = call->record;
	return kept ? run_kept(comm, call, kept, &waiting) : run_new(comm, call, &waiting);
}

static int run_collective(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_kept_plan *kept = find_kept(comm, &call->record);
	bool briefly = kept && kept->brief.ready && !ring_pairs_are_at_work(&comm->pairs);
	return briefly ? run_briefly(comm, call, kept) : run_by_engine(comm, call, kept);
}

int ring_carry(struct ring_comm *comm, struct ring_call *call)
{
	bool messages = call->kind == RING_KIND_SEND || call->kind == RING_KIND_RECV;
	comm->current = call;
	int err = ring_comm_failed_in(comm, call->turn);
	if (err)
		return err;
	note(comm, call, RING_CALLED);
	ring_memory_recall(comm);
	struct ring_fpenv fpenv = ring_fpenv_enter();
	err = messages ? run_messages(comm, call) : run_collective(comm, call);
	ring_fpenv_leave(fpenv);
	note(comm, call, RING_RETURNED);
	ring_lookout_wake(&comm->lookout); /* what was sent may be under way yet */
	if (err) {
		ring_explain_call(comm, call);
		ring_pairs_give_up(&comm->pairs);
		return err;
	}
	comm->calls += calls_together(call);
	return 0;
}
