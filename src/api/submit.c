/* SPDX-License-Identifier: MIT */
/* From a request to a call that is on its way, or was run; see submit.h. */
#include "submit.h"

#include <stdlib.h>

#include "check.h"
#include "group.h"
#include "parts.h"
#include "place.h"
#include "queue.h"
#include "tag.h"
#include "user_stream.h"

/* The operation as its record has it; handles differ between ranks. -1: it has none */
static int op_of(const struct ring_request *request, const struct ring_made_op *made)
{
	if (!ring_kind_reduces(ring_kind_even(request->kind)))
		return -1;
	if (!made)
		return request->op;
	return made->function.call ? RING_OP_FUNCTION : RING_OP_PREMUL_SUM;
}

static struct ring_call make_call(const struct ring_comm *comm, const struct ring_request *request)
{
	const struct ring_made_op *made = ring_made_op_find(&comm->caller.made_ops, request->op);
	const int type = request->kind == RING_KIND_BARRIER ? -1 : request->type;
	const int op = op_of(request, made);
	const int root = ring_request_names_rank(request) ? request->root : -1;
	struct ring_call call = {
		.kind = request->kind,
		.operands = {.input = ring_request_reads(request, comm->team.rank) ? request->send
										   : NULL,
			     .output = ring_request_writes(request, comm->team.rank) ? request->recv
										     : NULL,
			     .type = type >= 0 ? type : RING_UINT8,
			     .op = op >= 0 && op != RING_OP_PREMUL_SUM ? op : RING_SUM,
			     .divisor = op == RING_AVG ? (uint64_t)comm->team.size : 1},
		.scaled = op == RING_OP_PREMUL_SUM,
		.count = request->count,
		.root = root,
		.record = ring_record_make(request->kind, 0, request->count, type, op, root),
		.stream = request->stream,
	};
	if (made) {
		call.operands.scalar = made->scalar;
		call.operands.function = made->function;
	}
	return call;
}

/* True for the same call once more, with its memory where it was. */
static bool repeats(const struct ring_checked_call *checked, const struct ring_request *request)
{
	const struct ring_request *before = &checked->request;
	return checked->keeps && request->kind == before->kind && request->send == before->send &&
	       request->recv == before->recv && request->count == before->count &&
	       request->type == before->type && request->op == before->op &&
	       request->root == before->root && request->stream == before->stream &&
	       checked->regions_epoch == ring_region_epoch();
}

/* A device may have got the host's memory. Calls on devices' memory are not kept. */
static bool is_where_it_was(const struct ring_checked_call *checked)
{
	const struct ring_operands *operands = &checked->call.operands;
	const struct ring_device *const *device = ring_devices + 1;
	while (*device && !(*device)->owns(operands->input) && !(*device)->owns(operands->output))
		device++;
	return !*device;
}

/* NULL if no kept call is the same. */
static struct ring_checked_call *find_checked(struct ring_comm *comm,
					      const struct ring_request *request)
{
	for (int i = 0; i < RING_CALLS_KEPT; i++)
		if (repeats(&comm->caller.checked[i], request) &&
		    is_where_it_was(&comm->caller.checked[i]))
			return &comm->caller.checked[i];
	return NULL;
}

/*
 * Checks a call and keeps it. Handles of operations and streams may name others next time, and
 * counts may be others, so such calls are not kept. returns 0; RING_EINVAL, RING_ENOMEM,
 * RING_ESYSTEM, with the sentence
 */
static int prepare(struct ring_comm *comm, const struct ring_request *request,
		   struct ring_checked_call **prepared)
{
	int err = ring_request_check(comm, request);
	if (err)
		return err;
	struct ring_checked_call *checked =
		&comm->caller.checked[comm->caller.next_checked % RING_CALLS_KEPT];
	checked->keeps = false;
	checked->request = *request;
	checked->call = make_call(comm, request);
	checked->regions_epoch = ring_region_epoch();
	if (ring_kind_is_uneven(request->kind))
		err = ring_call_find_parts(comm, request, &checked->call);
	if (!err)
		err = ring_call_find_device(comm, &checked->call);
	if (!err)
		err = ring_call_find_capture(comm, &checked->call);
	if (err)
		return err;
	checked->keeps = !checked->call.scaled && !checked->call.operands.function.call &&
			 !checked->call.parts.to && !ring_kind_is_message(request->kind) &&
			 !request->stream && !checked->call.record.memory;
	comm->caller.next_checked += checked->keeps;
	*prepared = checked;
	return 0;
}

/* The queue needs a copy of a call that it runs later. One for a graph counts nowhere. */
static int post(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_call *copy = ring_call_copy(call, comm->team.size);
	if (!copy)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, ring_kind_name(call->kind),
					"no memory");
	ring_caller_number(&comm->caller, copy);
	int err = ring_call_stop_streams(comm, copy);
	if (!err && !copy->on.capture) {
		ring_queue_add(comm, copy);
		return 0;
	}
	ring_call_let_streams_go(copy);
	ring_caller_take_back(&comm->caller, copy);
	free(copy);
	return err ? ring_comm_refuse(&comm->failure, err, ring_kind_name(call->kind),
				      "the stream cannot wait for it: %s", ring_strerror(err))
		   : 0;
}

int ring_submit(struct ring_comm *comm, const struct ring_request *request, bool internal)
{
	const bool grouped = ring_group_is_open();
	int err = grouped ? ring_group_refused() : 0;
	if (err)
		return err;
	struct ring_checked_call *checked = NULL;
	if (!comm || !ring_team_is_mine(&comm->team))
		err = ring_comm_check(comm, ring_kind_name(request->kind));
	else
		err = ring_comm_failed_in(&comm->failure, comm->caller.sequence + 1);
	if (!err)
		checked = find_checked(comm, request);
	if (!err && !checked)
		err = prepare(comm, request, &checked);
	if (err)
		return grouped ? ring_group_refuse(err) : err;
	struct ring_call *call = &checked->call;
	call->internal = internal;
	ring_tag_put(call);
	if (grouped && !call->on.capture)
		return ring_group_add(comm, call);
	if (call->stream) {
		err = post(comm, call);
		return err && grouped ? ring_group_refuse(err) : err;
	}
	ring_caller_number(&comm->caller, call);
	return ring_queue_run(comm, call);
}
