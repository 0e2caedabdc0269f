/* SPDX-License-Identifier: MIT */
/*
 * Runs one call, or the sends and receives of a group: starts channels, advances them until all are
 * done, and decides how to wait when nothing moves. What goes wrong meanwhile is explain.c's.
 */
#include <assert.h>
#include <stdlib.h>

#include "clock.h"
#include "comm.h"
#include "datatype.h"
#include "explain.h"
#include "fpenv.h"
#include "receive.h"
#include "trace.h"

#define REPEATS_TOLD 64 /* of calls alike that reach into no memory, every so-manieth asks again */
#define LOOKS_PER_CLOCK 64 /* the clock is read once in so many empty looks */
#define LOOKS_PER_NEAR 8   /* ... and asked whether the CPU is needed by who is waited for */
#define LEFT_GRACE_MS 200  /* a call waits so long for what a departed rank had still sent, ... */
#define LISTEN_MS 250      /* ... so long before it listens to whom its plan does not listen to, */
#define LISTEN_AGAIN_MS 1000 /* ... and so long between, where what they say wakes nobody */

/* How long this call has found nothing to do, and when it must end. */
struct waiting {
	int looks;            /* empty looks in a row */
	uint64_t since_ms;    /* ... about so long; 0: not long enough to read the clock */
	uint64_t deadline_ms; /* 0: never */
	bool told;            /* the neighbours know in which call it waits */
};

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
		.place_bytes = RING_PLACE_BYTES,
		.chunks_per_round = choice->chunks_per_round,
		.boards = comm->placement.path == RING_PATH_MEMORY,
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

static bool all_done(const struct ring_comm *comm)
{
	if (comm->pairs.busy)
		return false;
	for (const struct ring_channel *c = comm->active; c; c = c->next)
		if (!ring_channel_is_done(c))
			return false;
	return true;
}

/* 0, or the failure that ends the current call. */
static int ended(const struct ring_comm *comm)
{
	return ring_comm_failed_in(comm, comm->current->turn);
}

/* Advances everything once. returns the moves, or the failure */
static int advance(struct ring_comm *comm)
{
	int moves = 0;
	if (ring_pairs_are_at_work(&comm->pairs)) {
		struct ring_failure failure = {0};
		int peer = -1;
		moves = ring_pairs_step(comm, &failure, &peer);
		if (moves < 0)
			return ring_explain_unlinked(comm, peer, moves, failure.text);
	}
	for (struct ring_channel *channel = comm->active; channel; channel = channel->next) {
		int moved = ring_channel_advance(channel);
		if (moved < 0)
			return ring_explain_broken(comm, channel, moved);
		moves += moved;
	}
	return moves;
}

/* Fails the call if it waits for a neighbour that said goodbye some time ago. */
static int check_departed(struct ring_comm *comm)
{
	if (!ring_comm_departed(comm, -1, LEFT_GRACE_MS))
		return 0;
	for (const struct ring_channel *c = comm->active; c; c = c->next) {
		int step, peer = ring_channel_is_done(c) ? -1 : ring_channel_waits_for(c, &step);
		if (peer >= 0 && ring_comm_departed(comm, peer, LEFT_GRACE_MS))
			return ring_explain_departed(comm, c, peer);
	}
	return 0;
}

/* Room for every descriptor that the call could sleep on, and the doorbell's. NULL without memory. */
static struct pollfd *room_for_fds(struct ring_comm *comm)
{
	int needed = ring_pairs_max_fds(&comm->pairs) + 1;
	for (const struct ring_channel *c = comm->active; c; c = c->next)
		needed += 2 * c->route_count;
	if (needed > comm->fd_room) {
		struct pollfd *fds = realloc(comm->fds, (size_t)needed * sizeof(*fds));
		if (!fds)
			return NULL;
		comm->fds = fds;
		comm->fd_room = needed;
	}
	return comm->fds;
}

static int gather_fds(const struct ring_comm *comm, int *timeout_ms)
{
	int nfds = 0;
	for (const struct ring_channel *c = comm->active; c; c = c->next)
		nfds += ring_channel_wait_fds(c, comm->fds + nfds);
	return nfds + ring_pairs_wait_fds(comm, comm->fds + nfds, timeout_ms);
}

/* Sleeps on what the last look has left: it may have got a new link from one descriptor to the next. */
static void sleep_for(struct ring_comm *comm, uint32_t ticket, bool with_fds, int timeout_ms)
{
	int nfds = gather_fds(comm, &timeout_ms);
	assert(with_fds == (nfds > 0)); /* links come and go with moves only */
	(void)with_fds;
	ring_bell_sleep(&comm->bell, ticket, comm->fds, nfds, timeout_ms);
}

static bool is_idle(const struct ring_comm *comm, int moves)
{
	return moves == 0 && !all_done(comm) && !ended(comm);
}

/* Announces, looks once more, sleeps. returns moves of the last look, or the failure */
static int sleep_once(struct ring_comm *comm, int timeout_ms)
{
	if (!room_for_fds(comm))
		return ring_explain_no_memory(comm);
	int longest_ms = timeout_ms, nap_ms = ring_bell_nap_ms(&comm->bell);
	bool with_fds = gather_fds(comm, &longest_ms) > 0;
	uint32_t ticket = ring_bell_announce(&comm->bell, with_fds);
	ring_pairs_announce(comm);
	int moves = advance(comm);
	if (nap_ms > 0 && (timeout_ms < 0 || timeout_ms > nap_ms) && is_idle(comm, moves)) {
		sleep_for(comm, ticket, with_fds, nap_ms);
		moves = advance(comm);
	}
	if (is_idle(comm, moves))
		sleep_for(comm, ticket, with_fds, timeout_ms);
	ring_bell_awake(&comm->bell);
	return moves;
}

/* In memory; then boards tell where the others are. */
static bool is_crowded(const struct ring_comm *comm)
{
	return comm->placement.crowded && comm->placement.path == RING_PATH_MEMORY;
}

/*
 * Whether a rank that must move next was last seen on this CPU, or may be there. Where another program is busy on
 * the others, and where a message woke a sleeper next to its sender, spinning would keep the CPU from
 * that rank until this one sleeps; then it is the other's turn to spin.
 */
static bool waits_for_near(const struct ring_comm *comm)
{
	const struct ring_channel *channel = ring_explain_unfinished(comm);
	if (is_crowded(comm))
		return !channel || !ring_channel_waits_elsewhere(channel);
	int step, peer = channel ? ring_channel_waits_for(channel, &step) : -1;
	const struct ring_link *link = peer < 0 ? NULL : ring_channel_link(channel, peer, false);
	return link && link->transport->is_near && link->transport->is_near(link);
}

/*
 * Ranks that all wait for one another have neighbours on the ring whose calls differ: so each tells both of them where it
 * waits, and hears the same of them. returns 0; RING_EMISMATCH, with failed_peer
 */
static int ask_neighbours(struct ring_comm *comm, struct ring_channel *channel,
			  struct waiting *waiting)
{
	struct ring_record theirs;
	const struct ring_record *mine = &channel->opening.record;
	if (!waiting->told && comm->lanes)
		ring_lanes_tell(comm->lanes, mine);
	waiting->told = true;
	int other = ring_comm_find_other_call(comm, mine, &theirs);
	if (other < 0)
		return 0;
	channel->theirs = theirs;
	channel->failed_peer = other;
	return RING_EMISMATCH;
}

/*
 * Finds out whether others make another call, if this rank has waited so long; lowers *timeout_ms to when it will
 * want to know. returns 0, or the failure
 */
static int listen_around(struct ring_comm *comm, struct waiting *waiting, uint64_t waited_ms,
			 int *timeout_ms)
{
	bool wakes = comm->placement.path == RING_PATH_MEMORY;
	bool first = waited_ms < LISTEN_MS;
	int next_ms = first ? LISTEN_MS : wakes ? -1 : LISTEN_AGAIN_MS;
	for (struct ring_channel *c = comm->active; c; c = c->next) {
		enum ring_kind kind = c->plan->params.kind;
		if (kind == RING_KIND_SEND || kind == RING_KIND_RECV || ring_receive_has_agreed(c))
			continue;
		int err = first ? 0 : ring_receive_overhear(c);
		if (!first && !err)
			err = ask_neighbours(comm, c, waiting);
		if (err)
			return ring_explain_broken(comm, c, err);
		if (next_ms > 0 && (*timeout_ms < 0 || *timeout_ms > next_ms))
			*timeout_ms = next_ms;
	}
	return 0;
}

/* Nothing moved: looks again at once, yields, or sleeps. returns moves, or the failure */
static int wait_a_little(struct ring_comm *comm, struct waiting *waiting)
{
	const struct ring_config *config = &comm->config;
	int looks = waiting->looks++;
	int err = ended(comm);
	if (err)
		return err;
	bool asks = looks % LOOKS_PER_NEAR == LOOKS_PER_NEAR - 1 || is_crowded(comm);
	bool near = asks && looks < comm->patience.spins && waits_for_near(comm);
	bool awake = ring_wait_awake(&comm->patience, looks, near);
	if (awake && looks % LOOKS_PER_CLOCK != LOOKS_PER_CLOCK - 1)
		return 0;
	uint64_t now = ring_clock_ms();
	if (!waiting->deadline_ms && config->call_timeout_ms > 0)
		waiting->deadline_ms = now + config->call_timeout_ms; /* it never waited before */
	if (waiting->deadline_ms && now >= waiting->deadline_ms)
		return ring_explain_time_out(comm);
	if (!waiting->since_ms)
		waiting->since_ms = now;
	int timeout_ms = waiting->deadline_ms ? (int)(waiting->deadline_ms - now) : -1;
	err = check_departed(comm);
	if (!err)
		err = listen_around(comm, waiting, now - waiting->since_ms, &timeout_ms);
	if (err || (awake && !ring_wait_is_long(&comm->patience, now - waiting->since_ms)))
		return err;
	if (ring_comm_departed(comm, -1, 0))
		timeout_ms = LEFT_GRACE_MS;
	return sleep_once(comm, timeout_ms);
}

static int run(struct ring_comm *comm, struct waiting *waiting)
{
	for (;;) {
		int moves = advance(comm);
		if (moves < 0)
			return moves;
		if (all_done(comm))
			return 0;
		if (moves == 0)
			moves = wait_a_little(comm, waiting);
		if (moves < 0)
			return moves;
		if (moves > 0) {
			waiting->looks = 0;
			waiting->since_ms = 0;
		}
	}
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
	struct waiting waiting = {0};
	return start_messages(comm, call) ? ring_explain_no_memory(comm) : run(comm, &waiting);
}

/* Programs make the same call again and again: its plans are still there. */
static int run_again(struct ring_comm *comm, const struct ring_call *call, struct waiting *waiting)
{
	for (struct ring_channel *channel = comm->active; channel; channel = channel->next)
		ring_channel_start_again(channel, &call->operands, call->record.sequence);
	return run(comm, waiting);
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
static int meet(struct ring_comm *comm, const struct ring_call *call, struct waiting *waiting)
{
	int err;
	do {
		if (ring_partners_tell(comm, call))
			return ring_explain_no_memory(comm);
		err = run(comm, waiting);
		if (!err)
			err = hear(comm);
	} while (err == RING_EAGAIN);
	if (err)
		return err;
	comm->question.staged = comm->partners.stage.all;
	comm->question.memory = ring_partners_memory(comm);
	return comm->question.memory == RING_MEMORY_PRIVATE ? 0 : reach(comm, call);
}

/* The plan of the last call, which was the same and reached into memory in the same way. */
static int run_directly_again(struct ring_comm *comm, const struct ring_call *call,
			      struct waiting *waiting)
{
	ring_channel_start_known(&comm->channels[0], &comm->partners.plan, &call->operands,
				 &call->record);
	return run(comm, waiting);
}

/*
 * Before a plan that nobody answers, all answer once, with the call's record, unless the last such had the same root.
 * So there are links with root, and a rank that takes itself for root is not gone before others hear of it: but for
 * one root, who makes a call says so. returns 0, or the failure
 */
static int answer_once(struct ring_comm *comm, const struct ring_call *call,
		       const struct ring_plan *wanted, struct waiting *waiting)
{
	struct ring_plan_params params = wanted->params;
	if (!wanted->unanswered || params.root == comm->answered)
		return 0;
	params.algorithm = RING_ALGORITHM_ONE_SHOT;
	params.count = 0;
	struct ring_channel *channel = &comm->channels[0];
	struct ring_plan plan = ring_plan_make(&params);
	if (ring_pairs_want(comm, channel, &plan))
		return ring_explain_no_memory(comm);
	ring_channel_start(channel, &plan, &call->operands, &call->record);
	channel->next = NULL;
	comm->active = channel;
	int err = run(comm, waiting);
	comm->answered = err ? -1 : call->root;
	return err;
}

/* returns 0, or the failure */
static int run_planned(struct ring_comm *comm, const struct ring_call *call, struct waiting *waiting)
{
	struct ring_plan_params params = params_of(comm, call);
	struct ring_plan plan = ring_plan_make(&params);
	int err = answer_once(comm, call, &plan, waiting);
	if (err)
		return err;
	return plan_collective(comm, call) ? ring_explain_no_memory(comm) : run(comm, waiting);
}

/* A call of ranks that reach into one another's memory, if it turns out that they can. */
static int run_among_partners(struct ring_comm *comm, const struct ring_call *call, bool again)
{
	struct waiting waiting = {0};
	enum ring_memory memory = comm->question.memory;
	int err = meet(comm, call, &waiting);
	bool direct = comm->choice.algorithm == RING_ALGORITHM_DIRECT;
	if (!err && again && direct && memory == comm->question.memory)
		err = run_directly_again(comm, call, &waiting);
	else if (!err)
		err = run_planned(comm, call, &waiting);
	if (err)
		ring_partners_fence(comm);
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

static int run_on_channel(struct ring_comm *comm, struct waiting *waiting)
{
	comm->channels[0].next = NULL;
	comm->active = &comm->channels[0];
	return run(comm, waiting);
}

static int run_kept(struct ring_comm *comm, const struct ring_call *call,
		    struct ring_kept_plan *kept, struct waiting *waiting)
{
	int err = answer_once(comm, call, &kept->known.plan, waiting);
	if (err)
		return err;
	choose_kept(comm, kept);
	ring_channel_start_known(&comm->channels[0], &kept->known, &call->operands, &call->record);
	return run_on_channel(comm, waiting);
}

/* Somebody is late in a call that this rank began briefly: the engine waits for him. */
static int resume(struct ring_comm *comm, const struct ring_call *call, struct ring_kept_plan *kept)
{
	struct waiting waiting = {0};
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

static int run_new(struct ring_comm *comm, const struct ring_call *call, struct waiting *waiting)
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
	struct waiting waiting = {0};
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

int ring_progress_run(struct ring_comm *comm, struct ring_call *call)
{
	bool messages = call->kind == RING_KIND_SEND || call->kind == RING_KIND_RECV;
	comm->current = call;
	int err = ended(comm);
	if (err)
		return err;
	note(comm, call, RING_CALLED);
	ring_memory_recall(comm);
	struct ring_fpenv fpenv = ring_fpenv_enter();
	err = messages ? run_messages(comm, call) : run_collective(comm, call);
	ring_fpenv_leave(fpenv);
	note(comm, call, RING_RETURNED);
	if (err) {
		ring_explain_call(comm, call);
		ring_pairs_give_up(&comm->pairs);
		return err;
	}
	comm->calls += calls_together(call);
	return 0;
}
