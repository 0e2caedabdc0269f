/* SPDX-License-Identifier: MIT */
/* Making operations, and forgetting them: local calls. */
#include <string.h>

#include "base/datatype.h"
#include "comm/comm.h"

/* Adds it to those of the communicator. returns 0; RING_EINVAL, RING_ENOMEM, with the sentence */
static int add(struct ring_comm *comm, const char *call, const struct ring_made_op *made,
	       enum ring_op *op)
{
	if (!op)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, call, "op is NULL");
	int handle = ring_made_ops_add(&comm->caller.made_ops, made);
	if (handle < 0)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, call,
					"%d operations exist, there is "
					"no room for more; destroy some",
					comm->caller.made_ops.room);
	*op = (enum ring_op)handle;
	return 0;
}

/* `given` is what it is made of. returns 0; RING_EINVAL, with the sentence */
static int check(struct ring_comm *comm, const char *call, enum ring_datatype type,
		 const char *what, bool given)
{
	int err = ring_comm_check(comm, call);
	if (err)
		return err;
	if (ring_datatype_bytes(type) == 0)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, call,
					"the type is not a datatype");
	return given ? 0 : ring_comm_refuse(&comm->failure, RING_EINVAL, call, "%s is NULL", what);
}

int ring_op_create_premul_sum(struct ring_comm *comm, const void *scalar, enum ring_datatype type,
			      enum ring_op *op)
{
	static const char call[] = "ring_op_create_premul_sum";
	int err = check(comm, call, type, "scalar", scalar);
	if (err)
		return err;
	struct ring_made_op made = {.type = type};
	memcpy(&made.scalar, scalar, ring_datatype_bytes(type));
	return add(comm, call, &made, op);
}

int ring_op_create(struct ring_comm *comm, ring_op_function *function, void *context,
		   enum ring_datatype type, enum ring_op *op)
{
	static const char call[] = "ring_op_create";
	int err = check(comm, call, type, "function", function);
	if (err)
		return err;
	return add(comm, call,
		   &(struct ring_made_op){.type = type, .function = {function, context}}, op);
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
