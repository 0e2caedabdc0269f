/* SPDX-License-Identifier: MIT */
/*
 * Where a thread goes on, and what the threads of a block or a warp do together: they wait until
 * all have come, and the last one does it for all.
 */

#include "machine.h"

/* ---- one thread ------------------------------------------------------------------------------ */

static void bra(struct ptx_thread *t, const struct ptx_instruction *i)
{
	t->next = t->block->grid->function->code + i->target;
}

static void exit_(struct ptx_thread *t, const struct ptx_instruction *i)
{
	(void)i;
	t->state = PTX_ENDED;
}

static void trap(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_trap(t, i, PTX_LAUNCH_FAILED, "the kernel gave up");
}

static void nanosleep_(struct ptx_thread *t, const struct ptx_instruction *i)
{
	(void)i;
	t->state = PTX_YIELDS;
}

static void nothing(struct ptx_thread *t, const struct ptx_instruction *i)
{
	(void)t, (void)i;
}

/* ---- a block --------------------------------------------------------------------------------- */

static bool takes_part(const struct ptx_thread *t, unsigned barrier)
{
	return t->state == PTX_WAITS && t->barrier == barrier;
}

/* What a reduction over all predicates gives: the barrier's instruction is the one before next. */
static void give_result(struct ptx_thread *t, const struct ptx_barrier *barrier)
{
	const struct ptx_instruction *i = t->next - 1;
	if (i->nto == 0)
		return;
	ptx_set(t, i->to[0],
		i->is[PTX_COMBINE] == PTX_POPULATION ? barrier->population
		: i->is[PTX_COMBINE] == PTX_AND      ? barrier->all
						     : barrier->any);
}

static void open_barrier(struct ptx_block *block, unsigned number)
{
	struct ptx_barrier *barrier = &block->barriers[number];
	ptx_memory_join(block, barrier->wanted ? barrier->warps : UINT32_MAX);
	for (unsigned k = 0; k < block->grid->launch->threads; k++) {
		struct ptx_thread *t = &block->threads[k];
		if (!takes_part(t, number))
			continue;
		give_result(t, barrier);
		ptx_wake(t);
	}
	*barrier = (struct ptx_barrier){0};
}

static void open_if_complete(struct ptx_block *block, unsigned number)
{
	const struct ptx_barrier *barrier = &block->barriers[number];
	const unsigned wanted = barrier->wanted ? barrier->wanted : block->alive;
	if (barrier->arrived && barrier->arrived >= wanted)
		open_barrier(block, number);
}

void ptx_control_left(struct ptx_thread *t)
{
	for (unsigned number = 0; number < PTX_BARRIERS; number++)
		if (!t->block->barriers[number].wanted)
			open_if_complete(t->block, number);
}

static void arrive(struct ptx_thread *t, const struct ptx_instruction *i, unsigned at_source)
{
	const uint64_t number = ptx_value(t, i->from[at_source]);
	const uint64_t wanted = i->nfrom > at_source + 1 ? ptx_value(t, i->from[at_source + 1]) : 0;
	if (number >= PTX_BARRIERS || wanted % PTX_WARP) {
		ptx_trap(t, i, PTX_LAUNCH_FAILED, "no barrier %ju for %ju threads",
			 (uintmax_t)number, (uintmax_t)wanted);
		return;
	}
	struct ptx_barrier *barrier = &t->block->barriers[number];
	barrier->arrived++;
	barrier->wanted = (unsigned)wanted;
	barrier->warps |= UINT32_C(1) << t->number / PTX_WARP;
	t->barrier = (uint8_t)number;
}

static void bar_sync(struct ptx_thread *t, const struct ptx_instruction *i)
{
	t->state = PTX_WAITS;
	arrive(t, i, 0);
	if (t->state == PTX_WAITS)
		open_if_complete(t->block, t->barrier);
}

static void bar_arrive(struct ptx_thread *t, const struct ptx_instruction *i)
{
	arrive(t, i, 0);
	if (t->state == PTX_RUNS)
		open_if_complete(t->block, t->barrier);
}

/* bar.red p, barrier, predicate; and a count of threads never comes from the compiler. */
static void bar_red(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const bool holds = (ptx_value(t, i->from[1]) & 1) != i->inverted;
	const uint64_t number = ptx_value(t, i->from[0]) % PTX_BARRIERS;
	struct ptx_barrier *barrier = &t->block->barriers[number];
	barrier->all = (barrier->arrived == 0 || barrier->all) && holds;
	barrier->any |= holds;
	barrier->population += holds;
	barrier->arrived++;
	t->barrier = (uint8_t)number;
	t->state = PTX_WAITS;
	open_if_complete(t->block, t->barrier);
}

/* ---- a warp ---------------------------------------------------------------------------------- */

struct warp {
	struct ptx_thread *first;
	uint32_t lanes; /* that have not ended */
};

static struct warp warp_of(const struct ptx_thread *t)
{
	struct ptx_block *block = t->block;
	const unsigned from = t->number / PTX_WARP * PTX_WARP;
	struct warp warp = {&block->threads[from], 0};
	for (unsigned k = 0; k < PTX_WARP && from + k < block->grid->launch->threads; k++)
		warp.lanes |= (uint32_t)(warp.first[k].state != PTX_ENDED) << k;
	return warp;
}

/* Waits for the lanes of a mask at the same instruction. returns those, or 0: not all are there */
static uint32_t meet(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t mask)
{
	struct warp warp = warp_of(t);
	const uint32_t lanes = warp.lanes & (uint32_t)mask;
	t->state = PTX_WAITS;
	t->barrier = PTX_BARRIERS;
	for (unsigned k = 0; k < PTX_WARP; k++)
		if (lanes >> k & 1 &&
		    !(takes_part(&warp.first[k], PTX_BARRIERS) && warp.first[k].next == i + 1))
			return 0;
	return lanes;
}

static void wake_lanes(const struct ptx_thread *t, uint32_t lanes)
{
	struct warp warp = warp_of(t);
	for (unsigned k = 0; k < PTX_WARP; k++)
		if (lanes >> k & 1)
			ptx_wake(&warp.first[k]);
}

static void warp_sync(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint32_t lanes = meet(t, i, ptx_value(t, i->from[0]));
	if (!lanes)
		return;
	ptx_memory_join(t->block, UINT32_C(1) << t->number / PTX_WARP);
	wake_lanes(t, lanes);
}

/* The lane whose value one takes; false: its own. */
static bool partner(const struct ptx_instruction *i, unsigned lane, uint64_t by, uint64_t clamp,
		    unsigned *from)
{
	const unsigned segment = (unsigned)(clamp >> 8 & 31), least = lane & segment,
		       limit = least | ((unsigned)clamp & 31 & ~segment), b = (unsigned)by & 31;
	switch (i->is[PTX_LANES]) {
	case PTX_UP:
		*from = lane - b;
		return lane >= b + limit;
	case PTX_DOWN:
		*from = lane + b;
		break;
	case PTX_BUTTERFLY:
		*from = lane ^ b;
		break;
	default:
		*from = least | (b & ~segment);
	}
	return *from <= limit;
}

static void shfl(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint32_t lanes = meet(t, i, ptx_value(t, i->from[3]));
	struct ptx_thread *first = warp_of(t).first;
	uint64_t values[PTX_WARP];
	for (unsigned k = 0; k < PTX_WARP; k++)
		values[k] = lanes >> k & 1 ? ptx_value(&first[k], i->from[0]) : 0;
	for (unsigned k = 0; k < PTX_WARP; k++) {
		if (!(lanes >> k & 1))
			continue;
		unsigned from;
		const bool is_in = partner(i, k, ptx_value(&first[k], i->from[1]),
					   ptx_value(&first[k], i->from[2]), &from);
		ptx_set(&first[k], i->to[0], values[is_in ? from : k]);
		if (i->nto > 1)
			ptx_set(&first[k], i->to[1], is_in);
	}
	wake_lanes(t, lanes);
}

static void vote(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint32_t lanes = meet(t, i, ptx_value(t, i->from[1]));
	struct ptx_thread *first = warp_of(t).first;
	uint32_t ballot = 0;
	for (unsigned k = 0; k < PTX_WARP; k++)
		if (lanes >> k & 1)
			ballot |= (uint32_t)((ptx_value(&first[k], i->from[0]) & 1) != i->inverted)
				  << k;
	const uint64_t result = i->is[PTX_LANES] == PTX_BALLOT ? ballot
				: i->is[PTX_LANES] == PTX_ALL  ? ballot == lanes
							       : ballot != 0;
	for (unsigned k = 0; k < PTX_WARP; k++)
		if (lanes >> k & 1)
			ptx_set(&first[k], i->to[0], result);
	wake_lanes(t, lanes);
}

static void activemask(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0], warp_of(t).lanes);
}

/* ---- the words ------------------------------------------------------------------------------- */

static ptx_step *choose_shfl(const struct ptx_instruction *i)
{
	return i->is[PTX_LANES] >= PTX_UP && i->is[PTX_LANES] <= PTX_INDEX ? shfl : NULL;
}

static ptx_step *choose_vote(const struct ptx_instruction *i)
{
	return i->is[PTX_LANES] >= PTX_ANY ? vote : NULL;
}

#define ALWAYS(step)                                                                               \
	static ptx_step *choose_##step(const struct ptx_instruction *i)                            \
	{                                                                                          \
		(void)i;                                                                           \
		return step;                                                                       \
	}
ALWAYS(bra)
ALWAYS(exit_)
ALWAYS(trap)
ALWAYS(nanosleep_)
ALWAYS(nothing)
ALWAYS(bar_sync)
ALWAYS(bar_arrive)
ALWAYS(bar_red)
ALWAYS(warp_sync)
ALWAYS(activemask)

#define TYPED PTX_IN(PTX_TYPE)
#define HINTED PTX_IN(PTX_HINT)

const struct ptx_opcode ptx_controls[] = {
	{"bra", "l", HINTED, NULL, choose_bra},
	{"exit", "", 0, NULL, choose_exit_},
	{"trap", "", 0, NULL, choose_trap},
	{"nanosleep", "s", TYPED, NULL, choose_nanosleep_},
	{"pmevent", "s", 0, NULL, choose_nothing},
	{"bar.sync", "s?s", HINTED, NULL, choose_bar_sync},
	{"barrier.sync", "s?s", HINTED, NULL, choose_bar_sync},
	{"bar.arrive", "ss", HINTED, NULL, choose_bar_arrive},
	{"barrier.arrive", "ss", HINTED, NULL, choose_bar_arrive},
	{"bar.red", "dsp", TYPED | HINTED | PTX_IN(PTX_COMBINE), NULL, choose_bar_red},
	{"barrier.red", "dsp", TYPED | HINTED | PTX_IN(PTX_COMBINE), NULL, choose_bar_red},
	{"bar.warp", "s", HINTED, NULL, choose_warp_sync},
	{"shfl", "qssss", TYPED | HINTED | PTX_IN(PTX_LANES), NULL, choose_shfl},
	{"vote", "dps", TYPED | HINTED | PTX_IN(PTX_LANES), NULL, choose_vote},
	{"activemask", "d", TYPED, NULL, choose_activemask},
	{NULL, NULL, 0, NULL, NULL},
};
