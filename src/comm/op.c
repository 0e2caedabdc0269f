/* SPDX-License-Identifier: MIT */
/* Pre-multiplied sums: a table of scalars. */
#include "op.h"

#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "base/datatype.h"

#define MADE_OPS_MAX 4096

const struct ring_made_op *ring_made_op_find(const struct ring_made_ops *ops, int op)
{
	int place = op - RING_OP_PREMUL_SUM;
	return place >= 0 && place < ops->room && ops->table[place].used ? &ops->table[place] : NULL;
}

void ring_made_ops_free(struct ring_made_ops *ops)
{
	free(ops->table);
	*ops = (struct ring_made_ops){0};
}

/* The first place that is free, -1 if there is no memory for more. */
static int free_place(struct ring_made_ops *ops)
{
	int place = 0;
	while (place < ops->room && ops->table[place].used)
		place++;
	if (place < ops->room)
		return place;
	int room = ops->room ? 2 * ops->room : 8;
	struct ring_made_op *table = room <= MADE_OPS_MAX
					     ? realloc(ops->table, room * sizeof(*table))
					     : NULL;
	if (!table)
		return -1;
	memset(table + ops->room, 0, (room - ops->room) * sizeof(*table));
	ops->table = table;
	ops->room = room;
	return place;
}

int ring_op_create_premul_sum(struct ring_comm *comm, const void *scalar, enum ring_datatype type,
			      enum ring_op *op)
{
	int err = ring_comm_check(comm, "ring_op_create_premul_sum");
	if (err)
		return err;
	size_t bytes = ring_datatype_bytes(type);
	if (!scalar || !op || bytes == 0)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "ring_op_create_premul_sum: %s",
					bytes == 0 ? "the type is not a datatype"
					: scalar   ? "op is NULL"
						   : "scalar is NULL");
	int place = free_place(&comm->caller.made_ops);
	if (place < 0)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM,
					"ring_op_create_premul_sum: %d operations exist, there is "
					"no room for more; destroy some",
					comm->caller.made_ops.room);
	struct ring_made_op *made = &comm->caller.made_ops.table[place];
	*made = (struct ring_made_op){.used = true, .type = type};
	memcpy(&made->scalar, scalar, bytes);
	*op = (enum ring_op)(RING_OP_PREMUL_SUM + place);
	return 0;
}

int ring_op_destroy(struct ring_comm *comm, enum ring_op op)
{
	int err = ring_comm_check(comm, "ring_op_destroy");
	if (err)
		return err;
	if (!ring_made_op_find(&comm->caller.made_ops, (int)op))
		return ring_comm_refuse(
			&comm->failure, RING_EINVAL,
			"ring_op_destroy: %d is not an operation that was made here", (int)op);
	comm->caller.made_ops.table[(int)op - RING_OP_PREMUL_SUM].used = false;
	return 0;
}
