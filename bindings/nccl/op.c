/* SPDX-License-Identifier: MIT */
/* Pre-multiplied sums: the library's where it gets the scalar, else those that have it later. */
#include <stdlib.h>

#include "comm.h"
#include "error.h"

static int make(struct ncclComm *comm, const void *scalar, int residence, struct nccl_op *made)
{
	if (residence != NCCL_SCALAR_ON_DEVICE)
		return nccl_result_of(ring_op_create_premul_sum(comm->ring, scalar, made->type,
								&made->ring),
				      comm->ring);
	made->scalar = scalar;
	return NCCL_SUCCESS;
}

/* Numbers are used again only behind all others. */
static int add(struct ncclComm *comm, const void *scalar, int type, int residence, int *op)
{
	struct nccl_op *made = malloc(sizeof(*made));
	if (!made)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "ncclRedOpCreatePreMulSum: no memory");
	*made = (struct nccl_op){.number = NCCL_BUILT_IN_OPS + comm->next_op,
				 .type = type,
				 .next = comm->ops};
	int result = make(comm, scalar, residence, made);
	if (result) {
		free(made);
		return result;
	}
	comm->next_op = (comm->next_op + 1) % (INT32_MAX - NCCL_BUILT_IN_OPS);
	comm->ops = made;
	*op = made->number;
	return NCCL_SUCCESS;
}

NCCL_CALL(int, ncclRedOpCreatePreMulSum, int *op, void *scalar, int type, int residence,
	  struct ncclComm *comm)
{
	bool is_place = residence == NCCL_SCALAR_ON_DEVICE || residence == NCCL_SCALAR_ON_HOST;
	int result = nccl_comm_enter(comm, "ncclRedOpCreatePreMulSum");
	if (result)
		return result;
	if (!scalar || !op || !is_place || nccl_type_bytes(type) == 0)
		result = nccl_refuse(NCCL_INVALID_ARGUMENT,
				     "ncclRedOpCreatePreMulSum: op or scalar is NULL, or %d is no "
				     "type, or %d no residence",
				     type, residence);
	else
		result = add(comm, scalar, type, residence, op);
	nccl_comm_leave(comm);
	return result;
}

static int forget(struct ncclComm *comm, int number)
{
	struct nccl_op **link = &comm->ops;
	while (*link && (*link)->number != number)
		link = &(*link)->next;
	struct nccl_op *op = *link;
	if (!op)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "ncclRedOpDestroy: %d is not an operation that was made here",
				   number);
	*link = op->next;
	int err = op->scalar ? 0 : ring_op_destroy(comm->ring, op->ring);
	free(op);
	return nccl_result_of(err, comm->ring);
}

NCCL_CALL(int, ncclRedOpDestroy, int op, struct ncclComm *comm)
{
	int result = nccl_comm_enter(comm, "ncclRedOpDestroy");
	if (result)
		return result;
	result = forget(comm, op);
	nccl_comm_leave(comm);
	return result;
}
