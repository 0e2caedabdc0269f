/* SPDX-License-Identifier: MIT */
/* Groups: collecting a thread's calls by communicator, and running them. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "comm/messages.h"
#include "queue.h"
#include "user_stream.h"
#include "base/status.h"

/*
 * The calls of one communicator: first the messages, which are one batch by `together`, then the
 * collectives; both in the order in which they were made.
 */
struct member {
	struct ring_comm *comm;
	struct ring_call **calls; /* NULL: the queue has it, for a stream; it may be gone */
	int count, messages;
	struct member *next;
};

struct group {
	int depth;
	int err; /* of the first call that was refused */
	struct member *members;
	struct ring_creation **creations;
	int creation_count;
	struct ring_split *splits; /* in the order in which they were asked for */
};

/* Every call looks at it: this model costs no function call. */
static _Thread_local struct group open_group __attribute__((tls_model("initial-exec")));

bool ring_group_is_open(void)
{
	return open_group.depth > 0;
}

int ring_group_refuse(int err)
{
	if (!open_group.err)
		open_group.err = err;
	return err;
}

int ring_group_refused(void)
{
	return open_group.err;
}

int ring_group_start(void)
{
	open_group.depth++;
	return 0;
}

/* ---- collecting ---- */

/*
 * Makes room for one more element behind `count` of them; the room doubles whenever it is full.
 * returns the array; NULL without memory, and the old one remains
 */
static void *grow(void *array, int count, size_t element_bytes)
{
	bool is_full = (count & (count - 1)) == 0;
	size_t room = count ? 2 * (size_t)count : 1;
	return is_full ? realloc(array, room * element_bytes) : array;
}

static struct member *find_member(struct ring_comm *comm)
{
	struct member **link = &open_group.members;
	while (*link && (*link)->comm != comm)
		link = &(*link)->next;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (*link)
			(*link)->comm = comm;
	}
	return *link;
}

/* Messages go behind messages, collectives behind everything. There is room. */
static void insert(struct member *member, struct ring_call *call)
{
	struct ring_call **calls = member->calls;
	bool message = ring_kind_is_message(call->kind);
	int at = message ? member->messages : member->count;
	memmove(calls + at + 1, calls + at, (size_t)(member->count - at) * sizeof(*calls));
	calls[at] = call;
	if (message && at > 0)
		calls[at - 1]->together = call;
	member->messages += message;
	member->count++;
}

int ring_group_add(struct ring_comm *comm, const struct ring_call *call)
{
	struct member *member = find_member(comm);
	struct ring_call *copy = member ? ring_call_copy(call, comm->team.size) : NULL;
	struct ring_call **calls = copy ? grow(member->calls, member->count, sizeof(*calls)) : NULL;
	if (!calls) {
		free(copy);
		return ring_group_refuse(ring_comm_refuse(&comm->failure, RING_ENOMEM,
							  ring_kind_name(call->kind),
							  "no memory to note it in the group"));
	}
	member->calls = calls;
	insert(member, copy);
	return 0;
}

int ring_group_add_creation(struct ring_creation *creation)
{
	struct ring_creation **creations = grow(open_group.creations, open_group.creation_count,
						sizeof(*creations));
	if (!creations)
		return ring_group_refuse(ring_refuse(
			RING_ENOMEM, "ring_comm_create: no memory to note it in the group"));
	creations[open_group.creation_count++] = creation;
	open_group.creations = creations;
	return 0;
}

void ring_group_add_split(struct ring_split *split)
{
	ring_splits_append(&open_group.splits, split);
}

/* ---- checking ---- */

/* The first of these messages of this kind to or from this rank itself; NULL if there is none. */
static struct ring_call *find_own(struct ring_call *call, enum ring_kind kind, int self)
{
	while (call && (call->kind != kind || call->root != self))
		call = call->together;
	return call;
}

/* What a rank sends to itself is copied by the receive. returns 0; RING_EINVAL */
static int match_own(const struct member *member)
{
	int self = member->comm->team.rank;
	struct ring_call *batch = member->messages ? member->calls[0] : NULL;
	struct ring_call *send = find_own(batch, RING_KIND_SEND, self);
	struct ring_call *recv = find_own(batch, RING_KIND_RECV, self);
	while (send && recv && send->count == recv->count && send->device == recv->device &&
	       send->operands.type == recv->operands.type) {
		recv->operands.input = send->operands.input;
		send = find_own(send->together, RING_KIND_SEND, self);
		recv = find_own(recv->together, RING_KIND_RECV, self);
	}
	if (!send && !recv)
		return 0;
	return ring_comm_refuse(&member->comm->failure, RING_EINVAL,
				ring_kind_name(send ? RING_KIND_SEND : RING_KIND_RECV),
				"rank %d, which is oneself, has no match in the group", self);
}

static int check_stream(struct ring_comm *comm, struct ring_call *call)
{
	int err = ring_stream_check(comm, call->stream, ring_kind_name(call->kind));
	if (!err)
		err = ring_call_find_capture(comm, call);
	if (!err && call->on.capture)
		err = ring_comm_refuse(&comm->failure, RING_ENOTSUP, ring_kind_name(call->kind),
				       "the capture of the stream began within the group");
	return err;
}

/* What the program's streams are like may have changed since the calls were noted. */
static int check_streams(const struct member *member)
{
	int err = 0;
	for (int i = 0; i < member->count && !err; i++)
		if (member->calls[i]->stream)
			err = check_stream(member->comm, member->calls[i]);
	return err;
}

/* Nothing has happened yet when this fails. */
static int check(const struct group *group)
{
	int err = group->err;
	for (struct member *member = group->members; member && !err; member = member->next) {
		err = ring_comm_failed_in(&member->comm->failure, member->comm->caller.sequence + 1);
		if (!err)
			err = match_own(member);
		if (!err)
			err = check_streams(member);
	}
	return err;
}

/* ---- running ---- */

static int first_of(int err, int later)
{
	return err ? err : later;
}

static bool has_stream(const struct member *member)
{
	for (int i = 0; i < member->count; i++)
		if (member->calls[i]->stream)
			return true;
	return false;
}

static void number_calls(const struct member *member)
{
	for (int i = 0; i < member->count; i++)
		ring_caller_number(&member->comm->caller, member->calls[i]);
}

/* The index after the call at `index`, or after its batch, which runs at once. */
static int next_turn(const struct member *member, int index)
{
	return index < member->messages ? member->messages : index + 1;
}

/* One communicator, and no queue: collectives in turn, messages beside them. */
static int run_here(const struct member *member)
{
	struct ring_comm *comm = member->comm;
	struct ring_call *batch = member->messages ? member->calls[0] : NULL;
	int err = 0;
	if (batch)
		ring_messages_start(comm, batch);
	for (int i = member->messages; i < member->count; i++)
		err = first_of(err, ring_carry(comm, member->calls[i]));
	return batch ? first_of(err, ring_messages_finish(comm, batch)) : err;
}

/*
 * No other rank will know that a call of the group was left out, so a device that fails here ends
 * all of them.
 */
static void stop_streams(const struct member *member)
{
	int err = 0;
	for (int i = 0; i < member->count && !err; i = next_turn(member, i))
		err = ring_call_stop_streams(member->comm, member->calls[i]);
	if (err)
		ring_comm_fail(&member->comm->failure, err, member->comm->team.rank,
			       "rank %d: a stream cannot wait for the calls of a group: %s",
			       member->comm->team.rank, ring_strerror(err));
}

/* Hands all calls to the queue, which frees those that belong to a stream. */
static void queue_calls(struct member *member)
{
	for (int i = 0, next; i < member->count; i = next) {
		struct ring_call *call = member->calls[i];
		next = next_turn(member, i);
		for (int j = i; j < next; j++)
			if (member->calls[j]->stream)
				member->calls[j] = NULL;
		ring_queue_add(member->comm, call);
	}
}

static int wait_for_calls(const struct member *member)
{
	int err = 0;
	for (int i = 0; i < member->count; i++)
		if (member->calls[i])
			err = first_of(err, ring_queue_wait(member->comm, member->calls[i]));
	return err;
}

/* Several communicators progress at the same time in the threads of their queues. */
static int run_queued(struct group *group)
{
	int err = 0;
	for (struct member *member = group->members; member && !err; member = member->next)
		err = ring_queue_open(member->comm, "ring_group_end");
	if (err)
		return err;
	for (struct member *member = group->members; member; member = member->next) {
		number_calls(member);
		stop_streams(member);
		queue_calls(member);
	}
	for (struct member *member = group->members; member; member = member->next)
		err = first_of(err, wait_for_calls(member));
	return err;
}

static void note_connections(const struct member *member)
{
	for (int i = 0; i < member->count; i++)
		if (member->calls[i] && member->calls[i]->connects)
			member->comm->caller.connected = member->calls[i]->connects;
}

static int run_calls(struct group *group)
{
	const struct member *only = group->members;
	if (!only)
		return 0;
	if (only->next || only->comm->caller.queue || has_stream(only))
		return run_queued(group);
	number_calls(only);
	return run_here(only);
}

/* A failure of one communicator keeps no other from its splits. */
static int run_calls_and_splits(struct group *group)
{
	int err = run_calls(group);
	return first_of(err, ring_splits_run(group->splits));
}

static void drop_members(struct group *group)
{
	for (struct member *member = group->members, *rest; member; member = rest) {
		rest = member->next;
		for (int i = 0; i < member->count; i++)
			free(member->calls[i]);
		free(member->calls);
		free(member);
	}
}

static int run_creations(struct group *group)
{
	int err = group->err;
	if (!err)
		return ring_creations_run(group->creations, group->creation_count);
	for (int i = 0; i < group->creation_count; i++)
		ring_creation_drop(group->creations[i]);
	return err;
}

int ring_group_end(void)
{
	if (open_group.depth == 0)
		return ring_refuse(RING_EINVAL, "ring_group_end: this thread has no group open");
	if (--open_group.depth > 0)
		return 0;
	struct group group = open_group;
	open_group = (struct group){0};
	int err = run_creations(&group);
	if (!err)
		err = check(&group);
	if (err)
		ring_splits_drop(group.splits);
	else
		err = run_calls_and_splits(&group);
	for (struct member *member = group.members; member && !err; member = member->next)
		note_connections(member);
	drop_members(&group);
	free(group.creations);
	return err;
}
