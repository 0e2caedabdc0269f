/* SPDX-License-Identifier: MIT */
/*
 * Reading, changing and writing in one step, which neither other blocks nor the host come between.
 */
#include "machine.h"

/* ---- what becomes of a word ------------------------------------------------------------------ */

static uint64_t add(enum ptx_type type, uint64_t a, uint64_t b)
{
	return type == PTX_F32   ? ptx_float_bits(ptx_float(a) + ptx_float(b))
	       : type == PTX_F64 ? ptx_double_bits(ptx_double(a) + ptx_double(b))
				 : a + b;
}

static bool is_less(enum ptx_type type, uint64_t a, uint64_t b)
{
	const unsigned bits = ptx_types[type].bits;
	return ptx_types[type].kind == PTX_SIGNED ? ptx_extended(a, bits) < ptx_extended(b, bits)
						  : ptx_cut(a, bits) < ptx_cut(b, bits);
}

static uint64_t changed(const struct ptx_instruction *i, uint64_t old, uint64_t b, uint64_t c)
{
	const enum ptx_type type = i->is[PTX_TYPE];
	switch (i->is[PTX_COMBINE]) {
	case PTX_AND:
		return old & b;
	case PTX_OR:
		return old | b;
	case PTX_XOR:
		return old ^ b;
	case PTX_ADD:
		return add(type, old, b);
	case PTX_MIN:
		return is_less(type, b, old) ? b : old;
	case PTX_MAX:
		return is_less(type, old, b) ? b : old;
	case PTX_EXCHANGE:
		return b;
	default:
		return old == ptx_cut(b, ptx_type_bits(i)) ? c : old;
	}
}

/* ---- in place -------------------------------------------------------------------------------- */

#define CHANGE(type)                                                                               \
	do {                                                                                       \
		type is = __atomic_load_n((type *)place, __ATOMIC_RELAXED), becomes;               \
		do                                                                                 \
			becomes = (type)changed(i, is, b, c);                                      \
		while (!__atomic_compare_exchange_n((type *)place, &is, becomes, false,            \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));          \
		*after = becomes;                                                                  \
		return is;                                                                         \
	} while (0)

/* returns what was there */
static uint64_t change(const struct ptx_instruction *i, char *place, uint64_t b, uint64_t c,
		       uint64_t *after)
{
	if (ptx_type_bits(i) == 32)
		CHANGE(uint32_t);
	else
		CHANGE(uint64_t);
}

static uint64_t change_shared(const struct ptx_thread *t, const struct ptx_instruction *i,
			      uint64_t b, uint64_t c, bool *found)
{
	const uint64_t at = ptx_cut(ptx_value(t, i->base) + (uint64_t)i->offset, 56);
	const struct ptx_grid *grid = t->block->grid;
	const unsigned bytes = ptx_type_bits(i) / 8;
	uint64_t after;
	*found = at % bytes == 0 &&
		 at + bytes <= grid->function->shared_bytes + grid->launch->shared_bytes;
	return *found ? change(i, t->block->shared + at, b, c, &after) : 0;
}

static uint64_t change_global(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t b,
			      uint64_t c, bool *found)
{
	const enum ptx_order order = i->is[PTX_ORDER];
	struct ptx_place place;
	uint64_t before = 0, after = 0;
	*found = ptx_access_find(t, i, ptx_value(t, i->base) + (uint64_t)i->offset,
				 ptx_type_bits(i) / 8, &place);
	if (!*found)
		return 0;
	if (order >= PTX_RELEASE)
		ptx_memory_release(t, i->is[PTX_SCOPE]);
	ptx_memory_settle(t, &place);
	before = change(i, place.place, b, c, &after);
	ptx_memory_changed(t, &place, &before, &after);
	if (order == PTX_ACQUIRE || order == PTX_ACQ_REL || order == PTX_SC)
		ptx_memory_acquire(t, i->is[PTX_SCOPE]);
	return before;
}

static void atom(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t b = ptx_value(t, i->from[0]), c = ptx_value(t, i->from[1]);
	const uint64_t address = ptx_value(t, i->base) + (uint64_t)i->offset;
	const bool shared = i->is[PTX_SPACE] == PTX_SHARED || address >> 56 == PTX_SHARED;
	bool found;
	const uint64_t before = shared ? change_shared(t, i, b, c, &found)
				       : change_global(t, i, b, c, &found);
	if (!found)
		ptx_trap(t, i, PTX_ILLEGAL_ADDRESS, "at %#jx", (uintmax_t)address);
	else if (i->nto)
		ptx_set(t, i->to[0], before);
}

static ptx_step *choose_atom(const struct ptx_instruction *i)
{
	const unsigned operation = i->is[PTX_COMBINE], bits = ptx_type_bits(i);
	const bool is_float = ptx_types[i->is[PTX_TYPE]].kind == PTX_FLOAT;
	if (bits < 32 || ptx_types[i->is[PTX_TYPE]].kind == PTX_PAIR || i->is[PTX_VECTOR])
		return NULL;
	if (!operation || operation == PTX_POPULATION || (is_float && operation != PTX_ADD))
		return NULL;
	return (i->nfrom == 2) == (operation == PTX_COMPARE) ? atom : NULL;
}

#define ATOMIC                                                                                     \
	(PTX_IN(PTX_TYPE) | PTX_IN(PTX_SPACE) | PTX_IN(PTX_ORDER) | PTX_IN(PTX_SCOPE) |            \
	 PTX_IN(PTX_COMBINE))

const struct ptx_opcode ptx_atomics[] = {
	{"atom", "dms?s", ATOMIC, NULL, choose_atom},
	{"red", "ms", ATOMIC, NULL, choose_atom},
	{NULL, NULL, 0, NULL, NULL},
};
