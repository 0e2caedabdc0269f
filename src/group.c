/* SPDX-License-Identifier: MIT */
/* Groups: collecting a thread's calls by communicator, and running them. */
#include "group.h"

#include <stdlib.h>

#include "queue.h"
#include "status.h"

/* The calls of one communicator, in the order they were made, by `next`. */
struct member {
	struct ring_comm *comm;
	struct ring_call *calls, **last;
	struct ring_call *batch;  /* once arranged: the sends and receives, by `together` */
	struct ring_call *waited; /* once queued: those without a stream, by `waited` */
	struct member *next;
};

struct group {
	int depth;
	int err; /* of the first call that was refused */
	struct member *members;
	struct ring_creation **creations;
	int creation_count;
};

/* Looked at by every call: the model is the one that costs no call. */
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

static struct member *find_member(struct ring_comm *comm)
{
	struct member **link = &open_group.members;
	while (*link && (*link)->comm != comm)
		link = &(*link)->next;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (*link)
			**link = (struct member){.comm = comm, .last = &(*link)->calls};
	}
	return *link;
}

int ring_group_add(struct ring_comm *comm, const struct ring_call *call)
{
	struct member *member = find_member(comm);
	struct ring_call *copy = member ? malloc(sizeof(*copy)) : NULL;
	if (!copy)
		return ring_group_refuse(RING_ENOMEM);
	*copy = *call;
	*member->last = copy;
	member->last = &copy->next;
	return 0;
}

int ring_group_add_creation(struct ring_creation *creation)
{
	size_t count = (size_t)open_group.creation_count + 1;
	struct ring_creation **creations = realloc(open_group.creations, count * sizeof(*creations));
	if (!creations)
		return ring_group_refuse(RING_ENOMEM);
	creations[open_group.creation_count++] = creation;
	open_group.creations = creations;
	return 0;
}

/* ---- arranging ---- */

/* Takes the sends and receives out of the calls; what is left stays in order. */
static void separate(struct member *member)
{
	struct ring_call **link = &member->calls, **batch = &member->batch;
	while (*link) {
		struct ring_call *call = *link;
		if (!ring_call_is_message(call)) {
			link = &call->next;
			continue;
		}
		*link = call->next;
		call->next = NULL;
		*batch = call;
		batch = &call->together;
	}
}

/* The first of these messages that is of this kind and to or from oneself; NULL if none is. */
static struct ring_call *find_own(struct ring_call *call, enum ring_kind kind, int self)
{
	while (call && (call->kind != kind || call->root != self))
		call = call->together;
	return call;
}

/* What a rank sends to itself is copied by the receive. returns 0; RING_EINVAL */
static int match_own(const struct member *member)
{
	int self = member->comm->rank;
	struct ring_call *send = find_own(member->batch, RING_KIND_SEND, self);
	struct ring_call *recv = find_own(member->batch, RING_KIND_RECV, self);
	while (send && recv && send->count == recv->count &&
	       send->operands.type == recv->operands.type) {
		recv->operands.input = send->operands.input;
		send = find_own(send->together, RING_KIND_SEND, self);
		recv = find_own(recv->together, RING_KIND_RECV, self);
	}
	if (!send && !recv)
		return 0;
	return ring_comm_refuse(member->comm, RING_EINVAL,
				"%s rank %d, which is oneself, has no match in the group",
				send ? "ring_send to" : "ring_recv from", self);
}

/* Nothing has happened yet when this fails. */
static int arrange(struct group *group)
{
	int err = group->err;
	for (struct member *member = group->members; member && !err; member = member->next) {
		separate(member);
		err = ring_comm_failed_in(member->comm, member->comm->sequence + 1);
		if (!err)
			err = match_own(member);
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
	for (const struct ring_call *call = member->batch; call; call = call->together)
		if (call->stream)
			return true;
	for (const struct ring_call *call = member->calls; call; call = call->next)
		if (call->stream)
			return true;
	return false;
}

static void number_calls(struct member *member)
{
	for (struct ring_call *call = member->batch; call; call = call->together)
		ring_call_number(member->comm, call);
	for (struct ring_call *call = member->calls; call; call = call->next)
		ring_call_number(member->comm, call);
}

static void drop_calls(struct member *member)
{
	for (struct ring_call *rest; member->batch; member->batch = rest) {
		rest = member->batch->together;
		free(member->batch);
	}
	for (struct ring_call *rest; member->calls; member->calls = rest) {
		rest = member->calls->next;
		free(member->calls);
	}
}

/* One communicator and no stream: each call in turn. */
static int run_in_turn(struct member *member)
{
	int err = member->batch ? ring_queue_run(member->comm, member->batch) : 0;
	for (struct ring_call *call = member->calls, *rest; call; call = rest) {
		rest = call->next; /* the queue has its own use for it */
		err = first_of(err, ring_queue_run(member->comm, call));
		call->next = rest;
	}
	drop_calls(member);
	return err;
}

/* Hands all calls to the queue and keeps in mind those that must be waited for. */
static void queue_calls(struct member *member)
{
	struct ring_call **waited = &member->waited;
	for (struct ring_call *call = member->batch; call; call = call->together) {
		if (call->stream)
			continue;
		*waited = call;
		waited = &call->waited;
	}
	for (struct ring_call *call = member->calls; call; call = call->next) {
		if (call->stream)
			continue;
		*waited = call;
		waited = &call->waited;
	}
	if (member->batch)
		ring_queue_add(member->comm, member->batch);
	for (struct ring_call *call = member->calls, *rest; call; call = rest) {
		rest = call->next;
		ring_queue_add(member->comm, call);
	}
	member->batch = member->calls = NULL;
}

static int wait_for_calls(struct member *member)
{
	int err = 0;
	for (struct ring_call *call = member->waited, *rest; call; call = rest) {
		rest = call->waited;
		err = first_of(err, ring_queue_wait(member->comm, call));
		free(call);
	}
	return err;
}

/* Several communicators progress at the same time in the threads of their queues. */
static int run_queued(struct group *group)
{
	int err = 0;
	for (struct member *member = group->members; member && !err; member = member->next)
		err = ring_queue_open(member->comm);
	if (err)
		return err;
	for (struct member *member = group->members; member; member = member->next) {
		number_calls(member);
		queue_calls(member);
	}
	for (struct member *member = group->members; member; member = member->next)
		err = first_of(err, wait_for_calls(member));
	return err;
}

static int run_calls(struct group *group)
{
	struct member *only = group->members;
	if (!only)
		return 0;
	if (only->next || has_stream(only))
		return run_queued(group);
	number_calls(only);
	return run_in_turn(only);
}

static void drop_members(struct group *group)
{
	for (struct member *member = group->members, *rest; member; member = rest) {
		rest = member->next;
		drop_calls(member);
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
	if (open_group.depth == 0) {
		struct ring_failure failure = {0};
		ring_fail(&failure, RING_EINVAL, "ring_group_end: this thread has no group open");
		ring_failure_remember(&failure);
		return RING_EINVAL;
	}
	if (--open_group.depth > 0)
		return 0;
	struct group group = open_group;
	open_group = (struct group){0};
	int err = run_creations(&group);
	if (!err)
		err = arrange(&group);
	if (!err)
		err = run_calls(&group);
	drop_members(&group);
	free(group.creations);
	return err;
}
