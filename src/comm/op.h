/* SPDX-License-Identifier: MIT */
/*
 * Operations that a program made: pre-multiplied sums, and functions. Handles are
 * RING_OP_PREMUL_SUM and up, the place in the communicator's table added.
 */
#ifndef RING_OP_H
#define RING_OP_H

#include "ringccl.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/channel.h"

struct ring_made_op {
	bool used;
	enum ring_datatype type;
	uint64_t scalar;               /* its first bytes are one element */
	struct ring_function function; /* without call it is a pre-multiplied sum */
};

struct ring_made_ops {
	struct ring_made_op *table;
	int room;
};

/* NULL if op is none that was made and still exists. Valid until the next one is made. */
const struct ring_made_op *ring_made_op_find(const struct ring_made_ops *ops, int op);

/* returns the new operation; RING_ENOMEM: there is no room for more */
int ring_made_ops_add(struct ring_made_ops *ops, const struct ring_made_op *op);

/* returns false: there is no such operation */
bool ring_made_ops_drop(struct ring_made_ops *ops, int op);

void ring_made_ops_free(struct ring_made_ops *ops);

#endif
