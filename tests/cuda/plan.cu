/* SPDX-License-Identifier: MIT */
/* Every function of the plan as code of a GPU, for all algorithms; compiles_test compiles it. */
#include "plan/ring_cursor.h"

extern "C" __global__ void plan_entries(struct ring_plan_params params, struct ring_transfer *out,
					struct ring_transfer *in, struct ring_plan_cost *cost)
{
	const struct ring_plan plan = ring_plan_make(&params);
	for (uint64_t i = threadIdx.x; i < plan.outgoing; i += blockDim.x)
		out[i] = ring_plan_outgoing(&plan, i);
	for (uint64_t j = threadIdx.x; j < plan.incoming; j += blockDim.x)
		in[j] = ring_plan_incoming(&plan, j);
	if (threadIdx.x == 0)
		*cost = ring_plan_cost(&plan);
}

extern "C" __global__ void plan_peers(struct ring_plan_params params, int *peers, bool *outgoing)
{
	const struct ring_plan plan = ring_plan_make(&params);
	for (int i = threadIdx.x; i < plan.edges; i += blockDim.x)
		peers[i] = ring_plan_edge(&plan, i, &outgoing[i]);
}

extern "C" __global__ void plan_made(struct ring_plan_params params, struct ring_plan *plan)
{
	params.parts = NULL;
	*plan = ring_ring_make(&params);
}

extern "C" __global__ void plan_around(struct ring_plan_params params, struct ring_transfer *out,
				       struct ring_transfer *in)
{
	params.parts = NULL; /* uneven ones are cut in every entry */
	const struct ring_plan plan = ring_ring_make(&params);
	struct ring_cursor cursor = ring_cursor_first(&plan, true);
	for (; cursor.index < plan.outgoing; ring_cursor_next(&plan, &cursor))
		out[cursor.index] = ring_cursor_entry(&plan, &cursor);
	cursor = ring_cursor_first(&plan, false);
	for (; cursor.index < plan.incoming; ring_cursor_next(&plan, &cursor))
		in[cursor.index] = ring_cursor_entry(&plan, &cursor);
}
