/* SPDX-License-Identifier: MIT */
/* From one type to another. */
#include <math.h>

#include "machine.h"

static enum ptx_kind kind_to(const struct ptx_instruction *i)
{
	return ptx_types[i->is[PTX_TYPE]].kind;
}

static const struct ptx_type_traits *from_traits(const struct ptx_instruction *i)
{
	return &ptx_types[i->is[PTX_FROM]];
}

/* Into a register that may be wider. */
static void set_integer(struct ptx_thread *t, const struct ptx_instruction *i, uint64_t value)
{
	const unsigned bits = ptx_type_bits(i);
	const bool is_signed = kind_to(i) == PTX_SIGNED;
	const uint64_t whole = is_signed ? (uint64_t)ptx_extended(value, bits)
					 : ptx_cut(value, bits);
	ptx_set(t, i->to[0], ptx_cut(whole, i->bits));
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t read_integer(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	const struct ptx_type_traits *from = from_traits(i);
	const uint64_t value = ptx_value(t, i->from[0]);
	return from->kind == PTX_SIGNED ? (uint64_t)ptx_extended(value, from->bits)
					: ptx_cut(value, from->bits);
}

static void integer_to_integer(struct ptx_thread *t, const struct ptx_instruction *i)
{
	set_integer(t, i, read_integer(t, i));
}

static uint64_t float_bits(enum ptx_type type, double x)
{
	return type == PTX_F32   ? ptx_float_bits((float)x)
	       : type == PTX_F64 ? ptx_double_bits(x)
				 : ptx_narrow_bits(type, x, false);
}

/* Rounded once: a double holds all but the longest integers, and those go to float at once. */
static void integer_to_float(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const uint64_t value = read_integer(t, i);
	const bool is_signed = from_traits(i)->kind == PTX_SIGNED;
	const enum ptx_type type = i->is[PTX_TYPE];
	if (type == PTX_F32)
		ptx_set(t, i->to[0],
			ptx_float_bits(is_signed ? (float)(int64_t)value : (float)value));
	else
		ptx_set(t, i->to[0],
			float_bits(type, is_signed ? (double)(int64_t)value : (double)value));
}

/* ---- floats ---------------------------------------------------------------------------------- */

static double read_float(const struct ptx_thread *t, const struct ptx_instruction *i)
{
	const enum ptx_type type = i->is[PTX_FROM];
	const uint64_t value = ptx_value(t, i->from[0]);
	return type == PTX_F32   ? (double)ptx_float(value)
	       : type == PTX_F64 ? ptx_double(value)
				 : ptx_narrow_value(type, value);
}

static double rounded(double x, unsigned round)
{
	switch (round) {
	case PTX_INT_NEAREST:
		return nearbyint(x);
	case PTX_INT_ZERO:
		return trunc(x);
	case PTX_INT_DOWN:
		return floor(x);
	case PTX_INT_UP:
		return ceil(x);
	default:
		return x;
	}
}

/* What is too large becomes the largest; NaN becomes 0, or of 64 bits the sign alone. */
static void float_to_integer(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const unsigned bits = ptx_type_bits(i);
	const double x = rounded(read_float(t, i), i->is[PTX_ROUND]);
	const bool is_signed = kind_to(i) == PTX_SIGNED;
	const double end = ldexp(1, (int)bits - is_signed), least = is_signed ? -end : 0;
	uint64_t value;
	if (x != x)
		value = bits == 64 ? UINT64_C(1) << 63 : 0;
	else if (x >= end)
		value = ptx_cut(UINT64_MAX, bits - is_signed);
	else if (x < least)
		value = is_signed ? UINT64_C(1) << (bits - 1) : 0;
	else
		value = is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
	set_integer(t, i, value);
}

static void float_to_float(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const double x = rounded(read_float(t, i), i->is[PTX_ROUND]);
	ptx_set(t, i->to[0], float_bits(i->is[PTX_TYPE], x));
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static enum ptx_type element_of(enum ptx_type pair)
{
	return pair == PTX_F16X2 ? PTX_F16 : pair == PTX_BF16X2 ? PTX_BF16 : pair;
}

static uint64_t pair_bits(const struct ptx_instruction *i, double upper, double lower)
{
	const enum ptx_type type = element_of(i->is[PTX_TYPE]);
	const bool finite = i->is[PTX_CLAMP] == PTX_SATFINITE;
	return ptx_narrow_bits(type, upper, finite) << ptx_type_bits(i) / 2 |
	       ptx_narrow_bits(type, lower, finite);
}

static void floats_to_pair(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0],
		pair_bits(i, ptx_float(ptx_value(t, i->from[0])),
			  ptx_float(ptx_value(t, i->from[1]))));
}

static void pair_to_pair(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const enum ptx_type type = element_of(i->is[PTX_FROM]);
	const unsigned bits = from_traits(i)->bits / 2;
	const uint64_t pair = ptx_value(t, i->from[0]);
	ptx_set(t, i->to[0],
		pair_bits(i, ptx_narrow_value(type, pair >> bits & ptx_cut(UINT64_MAX, bits)),
			  ptx_narrow_value(type, ptx_cut(pair, bits))));
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool is_rounded_to_integer(const struct ptx_instruction *i)
{
	return i->is[PTX_ROUND] >= PTX_INT_NEAREST;
}

static ptx_step *choose_float(const struct ptx_instruction *i)
{
	const bool narrows = ptx_type_bits(i) < from_traits(i)->bits;
	if (is_rounded_to_integer(i))
		return i->is[PTX_TYPE] == i->is[PTX_FROM] ? float_to_float : NULL;
	return narrows == (i->is[PTX_ROUND] == PTX_NEAREST) ? float_to_float : NULL;
}

static ptx_step *choose_pair(const struct ptx_instruction *i)
{
	if (i->is[PTX_ROUND] != PTX_NEAREST)
		return NULL;
	if (i->nfrom == 2)
		return i->is[PTX_FROM] == PTX_F32 ? floats_to_pair : NULL;
	return from_traits(i)->kind == PTX_PAIR ? pair_to_pair : NULL;
}

static ptx_step *choose_cvt(const struct ptx_instruction *i)
{
	const enum ptx_kind to = kind_to(i), from = from_traits(i)->kind;
	if (!i->is[PTX_FROM] || (i->is[PTX_CLAMP] && to != PTX_PAIR))
		return NULL;
	if (to == PTX_PAIR)
		return choose_pair(i);
	if (i->nfrom > 1 || from == PTX_PAIR || i->is[PTX_ROUND] == PTX_ZERO)
		return NULL;
	if (to == PTX_FLOAT && from == PTX_FLOAT)
		return choose_float(i);
	if (to == PTX_FLOAT)
		return i->is[PTX_ROUND] == PTX_NEAREST ? integer_to_float : NULL;
	if (from == PTX_FLOAT)
		return is_rounded_to_integer(i) ? float_to_integer : NULL;
	return i->is[PTX_ROUND] ? NULL : integer_to_integer;
}

const struct ptx_opcode ptx_conversions[] = {
	{"cvt", "ds?s", PTX_IN(PTX_TYPE) | PTX_IN(PTX_FROM) | PTX_IN(PTX_ROUND) | PTX_IN(PTX_CLAMP),
	 NULL, choose_cvt},
	{NULL, NULL, 0, NULL, NULL},
};
