/* SPDX-License-Identifier: MIT */
/* Before and behind a call; see turn.h. */
#include "turn.h"

#include "device.h"
#include "error.h"
#include "group.h"

static int prepare(struct nccl_turn *turn, const char *call)
{
	int result = nccl_comm_takes_calls(turn->comm, call);
	if (!result)
		result = nccl_group_keep(turn->comm);
	if (!result)
		result = nccl_comm_stream(turn->comm, turn->handle, &turn->stream);
	return result ? result : nccl_group_open_calls();
}

int nccl_turn_begin(struct nccl_turn *turn, const char *call, struct ncclComm *comm, void *stream)
{
	*turn = (struct nccl_turn){.comm = comm, .handle = stream};
	int result = nccl_comm_enter(comm, call);
	if (result)
		return nccl_group_note(result);
	turn->ring = comm->ring;
	result = prepare(turn, call);
	if (!result)
		return NCCL_SUCCESS;
	nccl_comm_leave(comm);
	return nccl_group_note(result);
}

/* The library's operation has the scalar of the moment. */
static int read_scalar(struct nccl_turn *turn, const struct nccl_op *op)
{
	uint64_t value = 0;
	enum ring_op made;
	int result = nccl_device_enter(turn->comm->context);
	if (result)
		return result;
	result = nccl_device_read(&value, op->scalar, nccl_type_bytes(op->type), turn->handle);
	nccl_device_leave();
	if (result)
		return result;
	int err = ring_op_create_premul_sum(turn->ring, &value, op->type, &made);
	turn->op = made;
	turn->made_op = !err;
	return nccl_result_of(err, turn->ring);
}

/* The library has more operations that are built in than NCCL, under numbers of made ones. */
static int take_op(struct nccl_turn *turn, int number, const char *call)
{
	const struct nccl_op *op = turn->comm->ops;
	turn->op = number;
	if (number < NCCL_BUILT_IN_OPS)
		return NCCL_SUCCESS;
	while (op && op->number != number)
		op = op->next;
	if (!op)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: %d is not an operation", call,
				   number);
	turn->op = op->ring;
	return op->scalar ? read_scalar(turn, op) : NCCL_SUCCESS;
}

int nccl_turn_begin_op(struct nccl_turn *turn, const char *call, int op, struct ncclComm *comm,
		       void *stream)
{
	int result = nccl_turn_begin(turn, call, comm, stream);
	if (result)
		return result;
	result = take_op(turn, op, call);
	if (!result)
		return NCCL_SUCCESS;
	nccl_comm_leave(comm);
	return nccl_group_note(result);
}

int nccl_turn_end(struct nccl_turn *turn, int err)
{
	int result = nccl_result_of(err, turn->ring);
	if (turn->made_op)
		ring_op_destroy(turn->ring, turn->op); /* the call has its scalar */
	nccl_comm_leave(turn->comm);
	return nccl_group_note(result);
}
