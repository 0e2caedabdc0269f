/* SPDX-License-Identifier: MIT */
/* Shifts, fields of bits and bytes, and moving registers: what no arithmetic is. */
#include <time.h>

#include "machine.h"

/* ---- shifts: by at most the width ------------------------------------------------------------ */

static unsigned amount(const struct ptx_thread *t, const struct ptx_instruction *i, unsigned most)
{
	const uint32_t by = (uint32_t)ptx_value(t, i->from[1]);
	return by < most ? by : most;
}

static void shl(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i), by = amount(t, i, bits);
	ptx_set(t, i->to[0], by == bits ? 0 : ptx_cut(ptx_value(t, i->from[0]) << by, bits));
}

static void shr_unsigned(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i), by = amount(t, i, bits);
	ptx_set(t, i->to[0], by == bits ? 0 : ptx_cut(ptx_value(t, i->from[0]), bits) >> by);
}

static void shr_signed(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i), by = amount(t, i, bits - 1);
	const int64_t value = ptx_extended(ptx_value(t, i->from[0]), bits);
	ptx_set(t, i->to[0], ptx_cut((uint64_t)(value >> by), bits));
}

static ptx_step *choose_shl(const struct ptx_instruction *i)
{
	return ptx_type_bits(i) < 16 ? NULL : shl;
}

static ptx_step *choose_shr(const struct ptx_instruction *i)
{
	if (ptx_type_bits(i) < 16)
		return NULL;
	return ptx_types[i->is[PTX_TYPE]].kind == PTX_SIGNED ? shr_signed : shr_unsigned;
}

/* Two words next to each other: one of 32 bits from within. */
static void shf(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t pair = ptx_value(t, i->from[1]) << 32 | ptx_cut(ptx_value(t, i->from[0]), 32);
	uint32_t by = (uint32_t)ptx_value(t, i->from[2]);
	by = i->is[PTX_CLAMP] == PTX_TO_WIDTH ? (by < 32 ? by : 32) : by % 32;
	ptx_set(t, i->to[0],
		ptx_cut(i->is[PTX_SIDE] == PTX_LEFT ? pair << by >> 32 : pair >> by, 32));
}

static ptx_step *choose_shf(const struct ptx_instruction *i)
{
	return i->is[PTX_TYPE] == PTX_B32 && i->is[PTX_SIDE] ? shf : NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void bfi(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i);
	const unsigned at = (uint8_t)ptx_value(t, i->from[2]);
	const unsigned length = (uint8_t)ptx_value(t, i->from[3]);
	const uint64_t field = at < bits ? ptx_cut(UINT64_MAX, length) << at : 0;
	const uint64_t in = at < bits ? ptx_value(t, i->from[0]) << at : 0;
	const uint64_t around = ptx_value(t, i->from[1]);
	ptx_set(t, i->to[0], ptx_cut((around & ~field) | (in & field), bits));
}

/* What lies beyond the last bit is the sign. */
static void bfe(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i);
	const bool is_signed = ptx_types[i->is[PTX_TYPE]].kind == PTX_SIGNED;
	const unsigned at = (uint8_t)ptx_value(t, i->from[1]);
	const unsigned length = (uint8_t)ptx_value(t, i->from[2]);
	const uint64_t from = ptx_value(t, i->from[0]);
	const unsigned last = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
	const bool sign = is_signed && length && from >> last & 1;
	uint64_t field = at < bits ? ptx_cut(ptx_cut(from, bits) >> at, length) : 0;
	if (sign)
		field |= last >= at ? ~ptx_cut(UINT64_MAX, last - at + 1) : UINT64_MAX;
	ptx_set(t, i->to[0], ptx_cut(field, bits));
}

static void clz(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t value = ptx_value(t, i->from[0]);
	const unsigned bits = ptx_type_bits(i);
	ptx_set(t, i->to[0], value ? (unsigned)__builtin_clzll(value) - (64 - bits) : bits);
}

static void popc(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0], (unsigned)__builtin_popcountll(ptx_value(t, i->from[0])));
}

static void brev(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t value = ptx_value(t, i->from[0]);
	const unsigned bits = ptx_type_bits(i);
	uint64_t reversed = 0;
	for (unsigned k = 0; k < bits; k++)
		reversed |= (value >> k & 1) << (bits - 1 - k);
	ptx_set(t, i->to[0], reversed);
}

static ptx_step *of_words(const struct ptx_instruction *i, ptx_step *step)
{
	return ptx_type_bits(i) >= 32 && ptx_types[i->is[PTX_TYPE]].kind < PTX_FLOAT ? step : NULL;
}

#define OF_WORDS(op)                                                                               \
	static ptx_step *choose_##op(const struct ptx_instruction *i)                              \
	{                                                                                          \
		return of_words(i, op);                                                            \
	}
OF_WORDS(bfi)
OF_WORDS(bfe)
OF_WORDS(clz)
OF_WORDS(popc)
OF_WORDS(brev)

/* ---- bytes and bits by table ----------------------------------------------------------------- */

/* Each digit of the selector names a byte of eight, or its sign. */
static void prmt(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t bytes = ptx_value(t, i->from[1]) << 32 |
			       ptx_cut(ptx_value(t, i->from[0]), 32);
	const uint32_t selector = (uint32_t)ptx_value(t, i->from[2]);
	uint32_t result = 0;
	for (unsigned k = 0; k < 4; k++) {
		const unsigned digit = selector >> 4 * k & 15;
		const uint8_t byte = (uint8_t)(bytes >> 8 * (digit & 7));
		result |= (uint32_t)(digit & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * k;
	}
	ptx_set(t, i->to[0], result);
}

static void lop3(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t a = ptx_value(t, i->from[0]), b = ptx_value(t, i->from[1]),
		       c = ptx_value(t, i->from[2]), table = ptx_value(t, i->from[3]);
	uint64_t result = 0;
	for (unsigned k = 0; k < 32; k++) {
		const unsigned row = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1);
		result |= (table >> row & 1) << k;
	}
	ptx_set(t, i->to[0], result);
}

static ptx_step *choose_prmt(const struct ptx_instruction *i)
{
	return i->is[PTX_TYPE] == PTX_B32 ? prmt : NULL;
}

static ptx_step *choose_lop3(const struct ptx_instruction *i)
{
	return i->is[PTX_TYPE] == PTX_B32 ? lop3 : NULL;
}

/* ---- mov ------------------------------------------------------------------------------------- */

static void mov(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0], ptx_cut(ptx_value(t, i->from[0]), ptx_type_bits(i)));
}

/* The first of several is the lowest. */
static void mov_packing(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i) / i->nfrom;
	uint64_t value = 0;
	for (unsigned k = 0; k < i->nfrom; k++)
		value |= ptx_cut(ptx_value(t, i->from[k]), bits) << k * bits;
	ptx_set(t, i->to[0], value);
}

static void mov_unpacking(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i) / i->nto;
	const uint64_t value = ptx_value(t, i->from[0]);
	for (unsigned k = 0; k < i->nto; k++)
		ptx_set(t, i->to[k], ptx_cut(value >> k * bits, bits));
}

static void mov_clock(struct ptx_thread *t, const struct ptx_instruction *i)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t value = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (i->from[0].index == PTX_FIRST_CLOCK + PTX_CLOCK)
		value = t->block->grid->instructions;
	ptx_set(t, i->to[0], ptx_cut(value, ptx_type_bits(i)));
}

static ptx_step *choose_mov(const struct ptx_instruction *i)
{
	const struct ptx_operand from = i->from[0];
	const bool is_clock = from.bank == PTX_REGISTERS && from.index >= PTX_FIRST_CLOCK &&
			      from.index < PTX_FIRST_CLOCK + PTX_CLOCKS;
	if (i->nto > 1)
		return i->nfrom == 1 ? mov_unpacking : NULL;
	return i->nfrom > 1 ? mov_packing : is_clock ? mov_clock : mov;
}

#define TYPED PTX_IN(PTX_TYPE)

const struct ptx_opcode ptx_bits[] = {
	{"shl", "dss", TYPED, NULL, choose_shl},
	{"shr", "dss", TYPED, NULL, choose_shr},
	{"shf", "dsss", TYPED | PTX_IN(PTX_SIDE) | PTX_IN(PTX_CLAMP), NULL, choose_shf},
	{"bfi", "dssss", TYPED, NULL, choose_bfi},
	{"bfe", "dsss", TYPED, NULL, choose_bfe},
	{"clz", "ds", TYPED, NULL, choose_clz},
	{"popc", "ds", TYPED, NULL, choose_popc},
	{"brev", "ds", TYPED, NULL, choose_brev},
	{"prmt", "dsss", TYPED, NULL, choose_prmt},
	{"lop3", "dssss", TYPED, NULL, choose_lop3},
	{"mov", "DS", TYPED, NULL, choose_mov},
	{NULL, NULL, 0, NULL, NULL},
};
