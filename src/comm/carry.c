/* SPDX-License-Identifier: MIT */
/*
 * Carries one call out, or the sends and receives of a group: finds the way it goes (way.h), starts
 * it, and has the channels progress to the end (progress.h). A way runs in one of three manners: on
 * links and boards by the engine, briefly on boards alone, or among partners, which first tell one
 * another where their buffers lie.
 */
#include <time.h>

#include "base/clock.h"
#include "base/datatype.h"
#include "base/waits.h"
#include "comm.h"
#include "explain.h"
#include "fpenv.h"
#include "progress.h"
#include "start.h"
#include "engine/trace.h"

#define CALLS_TOLD                                                                                 \
	64 /* 1 call in so many asks where buffers lie, if asking made no difference before */

static struct ring_trace_record record_of(const struct ring_call *call,
					  enum ring_trace_counter counter)
{
	return (struct ring_trace_record){
		.time_ns = ring_clock_ns(),
		.call = call->record.sequence,
		.index = call->count,
		.channel = call->internal ? RING_TRACE_OWN : RING_TRACE_CALL,
		.peer = call->root,
		.step = (int32_t)call->kind,
		.counter = counter,
		.bytes = call->count * ring_datatype_bytes(call->operands.type),
	};
}

static void note_begin(struct ring_comm *comm, const struct ring_call *call)
{
	if (!comm->team.trace)
		return;
	struct ring_trace_record record = record_of(call, RING_CALLED);
	ring_trace_add(comm->team.trace, &record);
}

static void note_end(struct ring_comm *comm, const struct ring_call *call, int err)
{
	if (!comm->team.trace)
		return;
	struct ring_trace_record record = record_of(call, RING_RETURNED);
	record.block = err;
	record.action = err ? 0 : (int32_t)comm->run.ways.last->choice.algorithm;
	ring_trace_add(comm->team.trace, &record);
}

static uint64_t calls_together(const struct ring_call *call)
{
	uint64_t calls = 0;
	for (; call; call = call->together)
		calls++;
	return calls;
}

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

/* Sends and receives that were called together. returns 0; RING_ENOMEM */
static int start_messages(struct ring_comm *comm, struct ring_call *call)
{
	int err = 0;
	struct ring_question question = question_of(comm, call);
	comm->run.ways.last = ring_way_of_messages(&comm->run.ways, &comm->team.placement.tuning,
						   &question);
	comm->run.active = NULL;
	comm->run.ways.loaded = NULL;
	for (; call && !err; call = call->together)
		err = ring_pairs_add(&comm->run.pairs, call, &comm->run.active);
	return err;
}

static int run_messages(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	return start_messages(comm, call) ? ring_explain_no_memory(&comm->failure)
					  : ring_progress_run(comm, &waiting);
}

/* returns 0, or the failure */
static int run(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call,
	       struct ring_waiting *waiting)
{
	int err = ring_start_way(comm, way, call);
	if (err == RING_ENOMEM)
		return ring_explain_no_memory(&comm->failure);
	return err ? ring_explain_device(&comm->failure, call->device, err)
		   : ring_progress_run(comm, waiting);
}

/* ---- among partners -------------------------------------------------------------------------- */

/* Finds the others' buffers. returns 0, or the failure */
static int reach(struct ring_comm *comm, const struct ring_call *call)
{
	int peer, err = ring_partners_reach(&comm->run.partners, call, &peer);
	return err ? ring_explain_unmapped(&comm->failure, peer, err) : 0;
}

/* Takes in what all have told. returns 0; RING_EAGAIN; or the failure */
static int hear(struct ring_comm *comm)
{
	int peer, err = ring_partners_heard(&comm->run.partners, &peer);
	return err && err != RING_EAGAIN ? ring_explain_unmapped(&comm->failure, peer, err) : err;
}

/* What the choice depends on, now that all have told. */
static void learn(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_question question = way->question;
	question.staged = comm->run.partners.stage.all;
	question.memory = ring_partners_memory(&comm->run.partners);
	if (call->kind == RING_KIND_BROADCAST)
		question.workers = ring_partners_workers(&comm->run.partners, call->root);
	if (question.staged != way->question.staged || question.memory != way->question.memory ||
	    question.workers != way->question.workers)
		ring_way_choose_again(&comm->run.ways, &comm->team.placement.tuning, way, &question);
}

/* Ranks tell one another where their buffers lie, and find them. returns 0, or the failure */
static int meet(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call,
		struct ring_waiting *waiting)
{
	int err;
	comm->run.ways.loaded = NULL; /* telling takes the first channel */
	do {
		if (ring_partners_tell(&comm->run.partners, &comm->run.pairs, call))
			return ring_explain_no_memory(&comm->failure);
		comm->run.active = comm->run.partners.mesh;
		err = ring_progress_run(comm, waiting);
		if (!err)
			err = hear(comm);
	} while (err == RING_EAGAIN);
	if (err)
		return err;
	learn(comm, way, call);
	return way->question.memory == RING_MEMORY_PRIVATE ? 0 : reach(comm, call);
}

/* A call of ranks that reach into one another's memory, if they find that they can. */
static int run_among_partners(struct ring_comm *comm, struct ring_way *way,
			      const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	int err = meet(comm, way, call, &waiting);
	if (!err)
		err = run(comm, way, call, &waiting);
	if (err)
		ring_partners_fence(&comm->run.partners, call, &comm->failure);
	else
		ring_partners_leave(&comm->run.partners);
	return err;
}

/*
 * Whether ranks tell one another where buffers lie. If that made no difference to such calls, they
 * tell only now and then: the buffers may be others by then.
 */
static bool tells(const struct ring_way *way)
{
	return way->reaches && (ring_algorithm_has(way->choice.algorithm, RING_NEEDS_REACH) ||
				way->calls % CALLS_TOLD == 0);
}

/* ---- briefly --------------------------------------------------------------------------------- */

/* A peer is late in a call that this rank began briefly: the engine waits for it. */
static int resume(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	struct ring_channel *channel = &comm->links.channels[0];
	ring_brief_resume(&way->brief, channel, &call->operands);
	channel->next = NULL;
	comm->run.active = channel;
	comm->run.ways.loaded = way;
	return ring_progress_run(comm, &waiting);
}

static int run_briefly(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_channel *channel = &comm->links.channels[0];
	comm->run.ways.loaded = NULL;
	int done = ring_brief_run(&way->brief, channel, &call->operands, call->record.sequence);
	if (done < 0)
		return ring_explain_broken(comm, channel, done);
	return done ? 0 : resume(comm, way, call);
}

/* ---- by the engine --------------------------------------------------------------------------- */

static int run_by_engine(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	int err = run(comm, way, call, &waiting);
	bool alone = way->choice.channels == 1 && !ring_device_finishes_later(call->device);
	if (!err && way->calls == 0 && !way->reaches && alone)
		ring_brief_prepare(&way->brief, &comm->links.channels[0]);
	return err;
}

static struct ring_way *make_way(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_question question = question_of(comm, call);
	return ring_way_make(&comm->run.ways, &comm->team.placement.tuning, &call->record,
			     &question);
}

static int run_collective(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_way *way = ring_way_find(&comm->run.ways, &call->record);
	if (!way)
		way = make_way(comm, call);
	comm->run.ways.last = way;
	if (way->brief.ready && !ring_pairs_are_at_work(&comm->run.pairs))
		return run_briefly(comm, way, call);
	int err = tells(way) ? run_among_partners(comm, way, call) : run_by_engine(comm, way, call);
	way->calls++;
	return err;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Makes all links for a device's memory, as all ranks have agreed by the call. */
static int connect_all(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	comm->run.active = NULL;
	comm->run.ways.loaded = NULL;
	int err = ring_far_connect(&comm->run.far, &comm->run.pairs, call->connects, call->chip);
	if (err == RING_ENOMEM)
		return ring_explain_no_memory(&comm->failure);
	if (err)
		return ring_explain_device(&comm->failure, call->connects, err);
	comm->run.pairs.connecting = true;
	err = ring_progress_run(comm, &waiting);
	comm->run.pairs.connecting = false;
	return err;
}

/* ---- in the end ------------------------------------------------------------------------------ */

/* The first of the call's channels whose device is still at work; NULL if none is. */
static const struct ring_channel *find_unsettled(const struct ring_comm *comm)
{
	const struct ring_channel *channel = comm->run.active;
	while (channel && ring_channel_settled(channel) != RING_EAGAIN)
		channel = channel->next;
	return channel;
}

/* After a failed call its caller may free the buffers: no job may still use them. */
static void settle_devices(struct ring_comm *comm)
{
	uint64_t until = ring_clock_ms() + RING_SETTLE_MS;
	const struct ring_channel *channel = find_unsettled(comm);
	for (; channel && ring_clock_ms() < until; channel = find_unsettled(comm))
		nanosleep(&(struct timespec){.tv_nsec = RING_BUFFERS_LOOK_NS}, NULL);
	if (channel)
		ring_comm_add(&comm->failure,
			      "; the %s device is still at work on rank %d's buffers",
			      channel->device->name, comm->team.rank);
}

/* Nor may a network card still write there. */
static void withdraw_landings(const struct ring_comm *comm)
{
	for (const struct ring_channel *c = comm->run.active; c; c = c->next)
		for (int i = 0; i < c->route_count; i++)
			if (c->routes[i].in)
				ring_link_withdraw(c->routes[i].in);
}

int ring_carry(struct ring_comm *comm, struct ring_call *call)
{
	bool messages = ring_kind_is_message(call->kind);
	comm->run.current = call;
	int err = ring_comm_failed_in(&comm->failure, call->turn);
	if (err)
		return err;
	ring_flag_raise(&comm->run.busy);
	note_begin(comm, call);
	ring_memory_recall(&comm->memory, &comm->links.channels[0]);
	struct ring_fpenv fpenv = ring_fpenv_enter();
	err = messages ? run_messages(comm, call) : run_collective(comm, call);
	if (!err && call->connects)
		err = connect_all(comm, call);
	ring_fpenv_leave(fpenv);
	if (err) {
		settle_devices(comm);
		withdraw_landings(comm);
	}
	ring_flag_lower(&comm->run.busy);
	note_end(comm, call, err);
	ring_lookout_wake(&comm->links.lookout); /* bytes may still be under way */
	if (err) {
		ring_explain_call(comm, call);
		ring_pairs_give_up(&comm->run.pairs);
		return err;
	}
	comm->run.calls += calls_together(call);
	return 0;
}
