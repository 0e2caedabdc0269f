/* SPDX-License-Identifier: MIT */
/*
 * Carries one collective out: finds the way it goes (way.h), starts it, and has the channels
 * progress to the end (progress.h), beside messages (messages.h). A way runs in one of three
 * manners: on links and boards by the engine, briefly on boards alone, or among partners, which
 * first tell one another where their buffers lie. What a device carries out is only waited for.
 */
#include <stdlib.h>

#include "comm.h"
#include "ending.h"
#include "explain.h"
#include "fpenv.h"
#include "messages.h"
#include "mixed.h"
#include "progress.h"
#include "start.h"

#define CALLS_TOLD                                                                                 \
	64 /* 1 call in this many asks where buffers lie, if asking made no difference before */

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

/* ---- by the device alone --------------------------------------------------------------------- */

/* It runs already, or will as its stream comes there: this waits for its end. */
static int run_by_kernel(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	struct ring_question question = ring_call_question(comm, call);
	const struct ring_device_way way = ring_kernels_way(&comm->kernels, &call->record);
	ring_way_of_kernels(&comm->run.ways, &question, &way);
	comm->run.active = NULL;
	comm->run.ways.loaded = NULL;
	int err = ring_progress_run(comm, &waiting);
	return err ? err : ring_explain_kernel(comm, call);
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

/* Whatever such calls have learned before. */
static void keep_away(struct ring_comm *comm, struct ring_way *way)
{
	struct ring_question question = way->question;
	question.memory = RING_MEMORY_PRIVATE;
	if (way->question.memory != RING_MEMORY_PRIVATE)
		ring_way_choose_again(&comm->run.ways, &comm->team.placement.tuning, way, &question);
}

/* What the choice depends on, now that all have told. */
static void learn(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call)
{
	struct ring_question question = way->question;
	question.staged = comm->run.partners.stage.all;
	question.memory = ring_partners_memory(&comm->run.partners, call);
	if (call->device->apart && question.memory == RING_MEMORY_SHARED)
		question.distance = comm->run.partners.probe.distance;
	if (call->kind == RING_KIND_BROADCAST)
		question.workers = ring_partners_workers(&comm->run.partners, call->root);
	if (question.staged != way->question.staged || question.memory != way->question.memory ||
	    question.workers != way->question.workers)
		ring_way_choose_again(&comm->run.ways, &comm->team.placement.tuning, way, &question);
	if (call->device->apart && !ring_algorithm_has(way->choice.algorithm, RING_NEEDS_REACH))
		keep_away(comm, way); /* ranks on the host's memory, if any, know no more */
}

/* Ranks tell one another where their buffers lie. returns 0, or the failure */
static int tell(struct ring_comm *comm, const struct ring_call *call, struct ring_waiting *waiting)
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
	return err;
}

/* And find them. returns 0, or the failure */
static int meet(struct ring_comm *comm, struct ring_way *way, const struct ring_call *call,
		struct ring_waiting *waiting)
{
	int err = tell(comm, call, waiting);
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
		ring_partners_fence(&comm->run.partners, call, &comm->failure,
				    !call->device->apart || ring_call_settle(comm));
	else
		ring_partners_leave(&comm->run.partners);
	return err;
}

/*
 * A stream that stops for a call keeps the driver from opening memory, so where programs have such
 * streams, which all ranks know, devices do not reach for it. Nor do ranks of a mixed communicator.
 */
static bool may_reach(const struct ring_comm *comm, const struct ring_call *call)
{
	return !comm->run.mixed && !(call->device->apart && comm->run.far.connected);
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
	bool alone = way->choice.channels == 1 && !ring_mixed_memory(comm, call);
	if (!err && way->calls == 0 && !way->reaches && alone)
		ring_brief_prepare(&way->brief, &comm->links.channels[0]);
	return err;
}

static struct ring_way *make_way(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_question question = ring_call_question(comm, call);
	return ring_way_make(&comm->run.ways, &comm->team.placement.tuning, &call->record,
			     &question);
}

/* Links alone: where buffers lie is not told, and no plan is kept. */
static int run_uneven(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_waiting waiting = {0};
	struct ring_question question = ring_call_question(comm, call);
	struct ring_way *way = ring_way_of_parts(&comm->run.ways, &comm->team.placement.tuning,
						 &question);
	ring_way_note(&comm->run.ways, way);
	return run(comm, way, call, &waiting);
}

static int run_collective(struct ring_comm *comm, const struct ring_call *call)
{
	if (call->on.kernel)
		return run_by_kernel(comm, call);
	if (call->parts.to)
		return run_uneven(comm, call);
	struct ring_way *way = ring_way_find(&comm->run.ways, &call->record);
	if (!way)
		way = make_way(comm, call);
	ring_way_note(&comm->run.ways, way);
	if (way->brief.ready && !ring_pairs_are_at_work(&comm->run.pairs))
		return run_briefly(comm, way, call);
	if (!may_reach(comm, call))
		keep_away(comm, way);
	int err = tells(way) && may_reach(comm, call) ? run_among_partners(comm, way, call)
						      : run_by_engine(comm, way, call);
	way->calls++;
	ring_way_note(&comm->run.ways, way); /* messages have ended meanwhile */
	return err;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* What one rank says, all hear. returns 0, or the failure */
static int say(struct ring_comm *comm, const struct ring_call *call,
	       const struct ring_whereabouts *own)
{
	struct ring_waiting waiting = {0};
	ring_partners_say(&comm->run.partners, &call->record, own);
	comm->run.active = comm->run.partners.mesh;
	return ring_progress_run(comm, &waiting);
}

/* Links that are wanted are made. returns 0, or the failure */
static int link_up(struct ring_comm *comm)
{
	struct ring_waiting waiting = {0};
	comm->run.active = NULL;
	comm->run.pairs.connecting = true;
	int err = ring_progress_run(comm, &waiting);
	comm->run.pairs.connecting = false;
	return err;
}

/* Whether all want it, before links to all are made for it. returns 0, or the failure */
static int ask_all(struct ring_comm *comm, const struct ring_call *call, bool *all_want)
{
	const struct ring_team *team = &comm->team;
	struct ring_waiting waiting = {0};
	unsigned char *wishes = calloc((size_t)team->size, sizeof(*wishes));
	if (!wishes)
		return ring_explain_no_memory(&comm->failure);
	wishes[team->rank] = ring_kernels_wish(call->chip);
	ring_start_gathering(comm, wishes, 1, &call->record);
	comm->run.active = &comm->links.channels[0];
	comm->run.active->next = NULL;
	int err = ring_progress_run(comm, &waiting);
	*all_want = !err && ring_kernels_all_want(team, wishes);
	free(wishes);
	return err;
}

/*
 * Tries whether the chips reach one another's memory, unless that is known. What was opened for it
 * is closed behind the next exchange, before anything waits on the chip. As above.
 */
static int probe(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_partners *partners = &comm->run.partners;
	int err = 0;
	while (!err && partners->probe.phase != RING_PROBE_DONE) {
		const struct ring_whereabouts own = ring_probe_tell(&partners->probe, &comm->team,
								    call->connects, call->chip,
								    &comm->memory, partners->mesh);
		err = say(comm, call, &own);
		if (!err)
			ring_probe_hear(&partners->probe, &comm->team, partners->mesh,
					partners->reached.where);
	}
	if (!err)
		ring_partners_leave(partners);
	return err;
}

/* Inboxes by that opener, or pumps. returns 0, or the failure; as ring_kernels_agree() */
static int open_engines(struct ring_comm *comm, const struct ring_call *call,
			const struct ring_opener *opener)
{
	const struct ring_team *team = &comm->team;
	const struct ring_partners *partners = &comm->run.partners;
	int peer = -1;
	struct ring_whereabouts own = ring_kernels_make(&comm->kernels, team, call->connects,
							partners->mesh, opener);
	int err = say(comm, call, &own);
	if (err)
		return err;
	ring_partners_tidy(partners);
	if (ring_kernels_want_links(&comm->kernels, &comm->run.pairs, partners->reached.where))
		return ring_explain_no_memory(&comm->failure);
	err = link_up(comm);
	if (err)
		return err;
	err = ring_kernels_open(&comm->kernels, team, call->chip, partners->mesh, &comm->links.bell,
				partners->reached.where, &own, &peer);
	if (err)
		return ring_explain_unmapped(&comm->failure, peer, err);
	err = say(comm, call, &own);
	return err ? err : ring_kernels_agree(&comm->kernels, team, partners->reached.where);
}

/* Has the device carry out calls by itself, if all ranks' can and should. */
static int open_kernels(struct ring_comm *comm, const struct ring_call *call)
{
	const struct ring_team *team = &comm->team;
	const struct ring_probe *probed = &comm->run.partners.probe;
	struct ring_waiting waiting = {0};
	bool all_want = false;
	if (comm->run.mixed || !ring_kernels_can(team, call->connects))
		return 0;
	int err = ask_all(comm, call, &all_want);
	if (err || !all_want)
		return err;
	err = tell(comm, call, &waiting);
	if (!err && !ring_kernels_need_pumps(team))
		err = probe(comm, call);
	if (!err)
		err = open_engines(comm, call, probed->reaches ? &probed->by_descriptor : NULL);
	return err == RING_EAGAIN ? open_engines(comm, call, NULL) : err;
}

/* Makes all links for a device's memory, as all ranks have agreed by the call. */
static int connect_all(struct ring_comm *comm, const struct ring_call *call)
{
	comm->run.ways.loaded = NULL;
	int err = ring_far_connect(&comm->run.far, &comm->run.pairs, call->connects, call->chip);
	if (err == RING_ENOMEM)
		return ring_explain_no_memory(&comm->failure);
	if (err)
		return ring_explain_device(&comm->failure, call->connects, err);
	err = link_up(comm);
	return err ? err : open_kernels(comm, call);
}

static void lie_as_mixed(const struct ring_comm *comm, struct ring_call *call)
{
	call->record.memory = (int16_t)(comm->run.mixed | (call->record.memory & RING_RECORD_LINKS));
}

/*
 * Nothing has come of the call yet, by the host's channels; they are left as they are for good.
 * returns 0: it is to be run again; the failure
 */
static int begin_anew(struct ring_comm *comm, struct ring_call *call)
{
	comm->run.anew = false;
	if (!ring_call_leave(comm))
		return ring_explain_device(&comm->failure, call->device, RING_ETIMEDOUT);
	ring_pairs_leave(&comm->run.pairs, comm->run.partners.mesh);
	comm->run.active = NULL;
	comm->run.ways.loaded = NULL;
	lie_as_mixed(comm, call);
	return 0;
}

int ring_carry(struct ring_comm *comm, struct ring_call *call)
{
	int err = ring_comm_failed_in(&comm->failure, call->turn);
	if (err && call->on.kernel)
		ring_kernels_stop(&comm->kernels);
	if (err)
		return err;
	if (ring_kind_is_message(call->kind)) {
		ring_messages_start(comm, call);
		return ring_messages_finish(comm, call);
	}
	comm->run.current = call;
	if (comm->run.mixed && !call->on.kernel)
		lie_as_mixed(comm, call);
	ring_call_begin(comm, call);
	ring_memory_recall(&comm->memory, &comm->links.channels[0]);
	ring_partners_tidy(&comm->run.partners);
	struct ring_fpenv fpenv = ring_fpenv_enter();
	bool again;
	do {
		err = run_collective(comm, call);
		again = comm->run.anew;
		if (again)
			err = begin_anew(comm, call);
	} while (again && !err);
	if (!err && call->connects)
		err = connect_all(comm, call);
	ring_fpenv_leave(fpenv);
	comm->run.current = NULL;
	if (err)
		ring_call_fail(comm, call);
	ring_call_end(comm, call, err);
	return err;
}
