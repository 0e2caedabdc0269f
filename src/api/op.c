/* SPDX-License-Identifier: MIT */
/* Making operations, and forgetting them: local calls. */
#include "base/datatype.h"
#include "comm/comm.h"

int ring_op_create_premul_sum(struct ring_comm *comm, const void *scalar, enum ring_datatype type,
			      enum ring_op *op)
{
	int err = ring_comm_check(comm, "ring_op_create_premul_sum");
	if (err)
		return err;
	size_t bytes = ring_datatype_bytes(type);
	if (!scalar || !op || bytes == 0)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_op_create_premul_sum",
					"%s",
					bytes == 0 ? "the type is not a datatype"
					: scalar   ? "op is NULL"
						   : "scalar is NULL");
	int made = ring_made_ops_add(&comm->caller.made_ops, type, scalar);
	if (made < 0)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "ring_op_create_premul_sum",
					"%d operations exist, there is "
					"no room for more; destroy some",
					comm->caller.made_ops.room);
	*op = (enum ring_op)made;
	return 0;
}

int ring_op_destroy(struct ring_comm *comm, enum ring_op op)
{
	int err = ring_comm_check(comm, "ring_op_destroy");
	if (err)
		return err;
	if (!ring_made_ops_drop(&comm->caller.made_ops, (int)op))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_op_destroy",
					"%d is not an operation that was made here", (int)op);
	return 0;
}
