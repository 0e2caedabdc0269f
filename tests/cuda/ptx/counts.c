/* SPDX-License-Identifier: MIT */
/*
 * What a run costs: a thread goes on behind a load, and stalls where it needs what was loaded. A
 * GPU that stalls waits for all loads that are under way then, so many of them at once are good.
 */
#include "machine.h"

static bool is_flying(const struct ptx_thread *t, struct ptx_operand operand)
{
	return operand.bank == PTX_REGISTERS && t->flying[operand.index];
}

static bool reads_flying(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	bool reads = false;
	for (unsigned k = 0; k < i->nfrom; k++)
		reads |= is_flying(t, i->from[k]);
	return reads;
}

/* Giving it another name does not need it. */
static bool needs_loads(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	return is_flying(t, i->base) || (i->guarded && t->flying[i->guard]) ||
	       (!i->moves && reads_flying(t, i));
}

static void stall(struct ptx_thread *t, struct ptx_counts *counts)
{
	counts->stalls++;
	counts->flights += t->nflying;
	t->nflying = 0;
	memset(t->flying, 0, t->block->grid->function->nregisters);
}

static uint64_t loads(const struct ptx_counts *counts)
{
	uint64_t sum = 0;
	for (unsigned k = 0; k < 5; k++)
		sum += counts->loads[k];
	return sum;
}

static void step(struct ptx_thread *t, const struct ptx_instruction *i, struct ptx_counts *counts)
{
	const uint64_t before = loads(counts);
	const bool renames = i->moves && reads_flying(t, i);
	i->step(t, i);
	const bool loaded = loads(counts) != before;
	t->nflying += loaded;
	for (unsigned k = 0; k < i->nto; k++)
		t->flying[i->to[k].index] = renames || loaded;
}

void ptx_counts_turn(struct ptx_thread *t, unsigned instructions)
{
	struct ptx_counts *counts = t->block->grid->launch->counts;
	while (instructions-- && t->state == PTX_RUNS) {
		const struct ptx_instruction *i = t->next++;
		t->block->grid->instructions++;
		if (t->nflying && needs_loads(t, i))
			stall(t, counts);
		if (!ptx_is_guarded_off(t, i))
			step(t, i, counts);
	}
}
