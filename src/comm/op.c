/* SPDX-License-Identifier: MIT */
/* Operations that programs made: a table of scalars and functions. */
#include "op.h"

#include <stdlib.h>
#include <string.h>

#include "plan/record.h"

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

int ring_made_ops_add(struct ring_made_ops *ops, const struct ring_made_op *op)
{
	int place = free_place(ops);
	if (place < 0)
		return RING_ENOMEM;
	ops->table[place] = *op;
	ops->table[place].used = true;
	return RING_OP_PREMUL_SUM + place;
}

bool ring_made_ops_drop(struct ring_made_ops *ops, int op)
{
	bool found = ring_made_op_find(ops, op) != NULL;
	if (found)
		ops->table[op - RING_OP_PREMUL_SUM].used = false;
	return found;
}
