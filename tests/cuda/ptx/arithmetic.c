/* SPDX-License-Identifier: MIT */
/* Integers and floats of 32 and 64 bits: operations, comparisons, choices. */
#include <math.h>

#include "machine.h"

/* ---- whatever the sign: by width ------------------------------------------------------------- */

#define BITS_STEP(op, width, result)                                                               \
	static void op##_##width(struct ptx_thread *t, const struct ptx_instruction *i)            \
	{                                                                                          \
		const uint64_t a = ptx_value(t, i->from[0]), b = ptx_value(t, i->from[1]),         \
			       c = ptx_value(t, i->from[2]);                                       \
		(void)a, (void)b, (void)c;                                                         \
		ptx_set(t, i->to[0], ptx_cut(result, width));                                      \
	}
#define BITS_STEPS(op, result)                                                                     \
	BITS_STEP(op, 16, result)                                                                  \
	BITS_STEP(op, 32, result)                                                                  \
	BITS_STEP(op, 64, result)
#define BITS_ROWS(op)                                                                              \
	[PTX_B16] = op##_16, [PTX_U16] = op##_16, [PTX_S16] = op##_16, [PTX_B32] = op##_32,        \
	[PTX_U32] = op##_32, [PTX_S32] = op##_32, [PTX_B64] = op##_64, [PTX_U64] = op##_64,        \
	[PTX_S64] = op##_64

BITS_STEPS(add, a + b)
BITS_STEPS(sub, a - b)
BITS_STEPS(mul_low, a *b)
BITS_STEPS(mad_low, a *b + c)
BITS_STEPS(neg, -a)
BITS_STEPS(and, a &b)
BITS_STEPS(or, a | b)
BITS_STEPS(xor, a ^ b)
BITS_STEPS(not, ~a)
BITS_STEPS(choose, c & 1 ? a : b)
BITS_STEP(and, 1, a &b)
BITS_STEP(or, 1, a | b)
BITS_STEP(xor, 1, a ^ b)
BITS_STEP(not, 1, ~a)

/* ---- numbers: by type ------------------------------------------------------------------------ */

/* X(..., type, the number, and one in which products of two fit) */
#define INTEGERS(X, ...)                                                                           \
	X(__VA_ARGS__, U16, uint16_t, uint32_t)                                                    \
	X(__VA_ARGS__, S16, int16_t, int32_t)                                                      \
	X(__VA_ARGS__, U32, uint32_t, uint64_t)                                                    \
	X(__VA_ARGS__, S32, int32_t, int64_t)                                                      \
	X(__VA_ARGS__, U64, uint64_t, unsigned __int128)                                           \
	X(__VA_ARGS__, S64, int64_t, __int128)

#define NUMBER_STEP(op, result, type, number, wide)                                                \
	static void op##_##type(struct ptx_thread *t, const struct ptx_instruction *i)             \
	{                                                                                          \
		const wide a = (number)ptx_value(t, i->from[0]),                                   \
			   b = (number)ptx_value(t, i->from[1]);                                   \
		(void)b;                                                                           \
		const unsigned bits = 8 * sizeof(number);                                          \
		(void)bits;                                                                        \
		ptx_set(t, i->to[0], ptx_cut((uint64_t)(result), bits));                           \
	}
#define NUMBER_STEPS(op, result) INTEGERS(NUMBER_STEP, op, result)
#define NUMBER_ROWS(op)                                                                            \
	[PTX_U16] = op##_U16, [PTX_S16] = op##_S16, [PTX_U32] = op##_U32, [PTX_S32] = op##_S32,    \
	[PTX_U64] = op##_U64, [PTX_S64] = op##_S64

/* A quotient by 0 is unspecified; hardware gives ones. */
NUMBER_STEPS(div, b ? a / b : ~(a - a))
NUMBER_STEPS(rem, b ? a % b : a)
NUMBER_STEPS(min, a < b ? a : b)
NUMBER_STEPS(max, a > b ? a : b)
NUMBER_STEPS(mul_high, (a * b) >> bits)
NUMBER_STEP(abs, a < 0 ? -a : a, S16, int16_t, int32_t)
NUMBER_STEP(abs, a < 0 ? -a : a, S32, int32_t, int64_t)
NUMBER_STEP(abs, a < 0 ? -a : a, S64, int64_t, __int128)

/* The product of two numbers is twice as wide as they are; a third is added to it. */
#define WIDE_STEP(type, number, wide)                                                              \
	static void mul_wide_##type(struct ptx_thread *t, const struct ptx_instruction *i)         \
	{                                                                                          \
		const wide product = (wide)(number)ptx_value(t, i->from[0]) *                      \
				     (number)ptx_value(t, i->from[1]);                             \
		const uint64_t more = i->nfrom > 2 ? ptx_value(t, i->from[2]) : 0;                 \
		ptx_set(t, i->to[0], ptx_cut((uint64_t)product + more, 8 * sizeof(wide)));         \
	}
WIDE_STEP(U16, uint16_t, uint32_t)
WIDE_STEP(S16, int16_t, int32_t)
WIDE_STEP(U32, uint32_t, uint64_t)
WIDE_STEP(S32, int32_t, int64_t)

/* ---- floats ---------------------------------------------------------------------------------- */

#define FLOAT_STEP(op, result, type, number, name)                                                 \
	static void op##_##type(struct ptx_thread *t, const struct ptx_instruction *i)             \
	{                                                                                          \
		const number a = ptx_##name(ptx_value(t, i->from[0])),                             \
			     b = ptx_##name(ptx_value(t, i->from[1])),                             \
			     c = ptx_##name(ptx_value(t, i->from[2]));                             \
		(void)a, (void)b, (void)c;                                                         \
		ptx_set(t, i->to[0], ptx_##name##_bits(result));                                   \
	}
#define FLOAT_STEPS(op, result)                                                                    \
	FLOAT_STEP(op, result, F32, float, float)                                                  \
	FLOAT_STEP(op, result, F64, double, double)
#define FLOAT_ROWS(op) [PTX_F32] = op##_F32, [PTX_F64] = op##_F64
#define HALF_ROWS(op)                                                                              \
	[PTX_F16] = ptx_half_##op, [PTX_BF16] = ptx_half_##op, [PTX_F16X2] = ptx_half_##op,        \
	[PTX_BF16X2] = ptx_half_##op

double ptx_least(const struct ptx_instruction *i, double a, double b)
{
	if (a != a || b != b)
		return i->is[PTX_NAN] || a != a ? (i->is[PTX_NAN] ? NAN : b) : a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

static double greatest(const struct ptx_instruction *i, double a, double b)
{
	return -ptx_least(i, -a, -b);
}

FLOAT_STEPS(add, a + b)
FLOAT_STEPS(sub, a - b)
FLOAT_STEPS(mul, a *b)
FLOAT_STEPS(div, a / b)
FLOAT_STEPS(rcp, 1 / a)
FLOAT_STEP(fma, fmaf(a, b, c), F32, float, float)
FLOAT_STEP(fma, fma(a, b, c), F64, double, double)
FLOAT_STEP(sqrt, sqrtf(a), F32, float, float)
FLOAT_STEP(sqrt, sqrt(a), F64, double, double)
FLOAT_STEP(min, (float)ptx_least(i, a, b), F32, float, float)
FLOAT_STEP(min, ptx_least(i, a, b), F64, double, double)
FLOAT_STEP(max, (float)greatest(i, a, b), F32, float, float)
FLOAT_STEP(max, greatest(i, a, b), F64, double, double)

/* The sign alone, also of a NaN. */
BITS_STEP(negate, 32, a ^ UINT64_C(1) << 31)
BITS_STEP(negate, 64, a ^ UINT64_C(1) << 63)
BITS_STEP(magnitude, 31, a)
BITS_STEP(magnitude, 63, a)

/* ---- comparisons ----------------------------------------------------------------------------- */

static bool combined(const struct ptx_thread *t, const struct ptx_instruction *i, bool holds)
{
	if (i->nfrom < 3)
		return holds;
	const bool with = (ptx_value(t, i->from[2]) & 1) != i->inverted;
	switch (i->is[PTX_COMBINE]) {
	case PTX_AND:
		return holds && with;
	case PTX_OR:
		return holds || with;
	default:
		return holds != with;
	}
}

static void decide(struct ptx_thread *t, const struct ptx_instruction *i, unsigned relation)
{
	const bool holds = (i->is[PTX_RELATION] & relation) != 0;
	ptx_set(t, i->to[0], combined(t, i, holds));
	if (i->nto > 1)
		ptx_set(t, i->to[1], combined(t, i, !holds));
}

#define RELATION(a, b)                                                                             \
	((a) < (b) ? PTX_LESS : (a) > (b) ? PTX_GREATER : (a) == (b) ? PTX_EQUAL : PTX_UNORDERED)
#define COMPARE_STEP(type, number, value)                                                          \
	static void setp_##type(struct ptx_thread *t, const struct ptx_instruction *i)             \
	{                                                                                          \
		const number a = (number)value(ptx_value(t, i->from[0])),                          \
			     b = (number)value(ptx_value(t, i->from[1]));                          \
		decide(t, i, RELATION(a, b));                                                      \
	}
COMPARE_STEP(U16, uint16_t, )
COMPARE_STEP(S16, int16_t, )
COMPARE_STEP(U32, uint32_t, )
COMPARE_STEP(S32, int32_t, )
COMPARE_STEP(U64, uint64_t, )
COMPARE_STEP(S64, int64_t, )
COMPARE_STEP(F32, float, ptx_float)
COMPARE_STEP(F64, double, ptx_double)

static void setp_narrow(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const enum ptx_type type = i->is[PTX_TYPE];
	const double a = ptx_narrow_value(type, ptx_value(t, i->from[0])),
		     b = ptx_narrow_value(type, ptx_value(t, i->from[1]));
	decide(t, i, RELATION(a, b));
}

/* ---- the words ------------------------------------------------------------------------------- */

static ptx_step *const add_steps[PTX_TYPE_COUNT] = {BITS_ROWS(add), FLOAT_ROWS(add), HALF_ROWS(add)};
static ptx_step *const sub_steps[PTX_TYPE_COUNT] = {BITS_ROWS(sub), FLOAT_ROWS(sub), HALF_ROWS(sub)};
static ptx_step *const div_steps[PTX_TYPE_COUNT] = {NUMBER_ROWS(div), FLOAT_ROWS(div)};
static ptx_step *const rem_steps[PTX_TYPE_COUNT] = {NUMBER_ROWS(rem)};
static ptx_step *const min_steps[PTX_TYPE_COUNT] = {NUMBER_ROWS(min), FLOAT_ROWS(min),
						    HALF_ROWS(min)};
static ptx_step *const max_steps[PTX_TYPE_COUNT] = {NUMBER_ROWS(max), FLOAT_ROWS(max),
						    HALF_ROWS(max)};
static ptx_step *const abs_steps[PTX_TYPE_COUNT] = {
	[PTX_S16] = abs_S16,      [PTX_S32] = abs_S32,      [PTX_S64] = abs_S64,
	[PTX_F32] = magnitude_31, [PTX_F64] = magnitude_63, HALF_ROWS(abs)};
static ptx_step *const neg_steps[PTX_TYPE_COUNT] = {
	BITS_ROWS(neg), [PTX_F32] = negate_32, [PTX_F64] = negate_64, HALF_ROWS(neg)};
static ptx_step *const fma_steps[PTX_TYPE_COUNT] = {FLOAT_ROWS(fma), HALF_ROWS(fma)};
static ptx_step *const rcp_steps[PTX_TYPE_COUNT] = {FLOAT_ROWS(rcp)};
static ptx_step *const sqrt_steps[PTX_TYPE_COUNT] = {FLOAT_ROWS(sqrt)};
static ptx_step *const and_steps[PTX_TYPE_COUNT] = {BITS_ROWS(and), [PTX_PRED] = and_1};
static ptx_step *const or_steps[PTX_TYPE_COUNT] = {BITS_ROWS(or), [PTX_PRED] = or_1};
static ptx_step *const xor_steps[PTX_TYPE_COUNT] = {BITS_ROWS(xor), [PTX_PRED] = xor_1};
static ptx_step *const not_steps[PTX_TYPE_COUNT] = {BITS_ROWS(not ), [PTX_PRED] = not_1};
static ptx_step *const selp_steps[PTX_TYPE_COUNT] = {
	BITS_ROWS(choose), [PTX_F32] = choose_32, [PTX_F64] = choose_64, [PTX_F16] = choose_16,
	[PTX_BF16] = choose_16};
static ptx_step *const setp_steps[PTX_TYPE_COUNT] = {
	NUMBER_ROWS(setp),       FLOAT_ROWS(setp),     [PTX_B16] = setp_U16,
	[PTX_B32] = setp_U32,    [PTX_B64] = setp_U64, [PTX_F16] = setp_narrow,
	[PTX_BF16] = setp_narrow};

static ptx_step *const mul_low_steps[PTX_TYPE_COUNT] = {BITS_ROWS(mul_low)};
static ptx_step *const mad_low_steps[PTX_TYPE_COUNT] = {BITS_ROWS(mad_low)};
static ptx_step *const mul_high_steps[PTX_TYPE_COUNT] = {NUMBER_ROWS(mul_high)};
static ptx_step *const mul_wide_steps[PTX_TYPE_COUNT] = {
	[PTX_U16] = mul_wide_U16, [PTX_S16] = mul_wide_S16, [PTX_U32] = mul_wide_U32, [PTX_S32] = mul_wide_S32};
static ptx_step *const mul_float_steps[PTX_TYPE_COUNT] = {FLOAT_ROWS(mul), HALF_ROWS(mul)};

static ptx_step *choose_mul(const struct ptx_instruction *i)
{
	static ptx_step *const *const parts[] = {mul_float_steps, mul_low_steps, mul_high_steps,
						 mul_wide_steps};
	return parts[i->is[PTX_PART]][i->is[PTX_TYPE]];
}

static ptx_step *choose_mad(const struct ptx_instruction *i)
{
	static ptx_step *const none[PTX_TYPE_COUNT];
	static ptx_step *const *const parts[] = {none, mad_low_steps, none, mul_wide_steps};
	return parts[i->is[PTX_PART]][i->is[PTX_TYPE]];
}

/* Floats are rounded to nearest: there is no other way here. */
#define NUMBERS (PTX_IN(PTX_TYPE) | PTX_IN(PTX_ROUND))
#define TYPED PTX_IN(PTX_TYPE)

const struct ptx_opcode ptx_arithmetic[] = {
	{"add", "dss", NUMBERS, add_steps, NULL},
	{"sub", "dss", NUMBERS, sub_steps, NULL},
	{"mul", "dss", NUMBERS | PTX_IN(PTX_PART), NULL, choose_mul},
	{"mad", "dsss", TYPED | PTX_IN(PTX_PART), NULL, choose_mad},
	{"fma", "dsss", NUMBERS, fma_steps, NULL},
	{"div", "dss", NUMBERS, div_steps, NULL},
	{"rem", "dss", TYPED, rem_steps, NULL},
	{"rcp", "ds", NUMBERS, rcp_steps, NULL},
	{"sqrt", "ds", NUMBERS, sqrt_steps, NULL},
	{"min", "dss", TYPED | PTX_IN(PTX_NAN), min_steps, NULL},
	{"max", "dss", TYPED | PTX_IN(PTX_NAN), max_steps, NULL},
	{"abs", "ds", TYPED, abs_steps, NULL},
	{"neg", "ds", TYPED, neg_steps, NULL},
	{"and", "dss", TYPED, and_steps, NULL},
	{"or", "dss", TYPED, or_steps, NULL},
	{"xor", "dss", TYPED, xor_steps, NULL},
	{"not", "ds", TYPED, not_steps, NULL},
	{"selp", "dssp", TYPED, selp_steps, NULL},
	{"setp", "qss?p", TYPED | PTX_IN(PTX_RELATION) | PTX_IN(PTX_COMBINE), setp_steps, NULL},
	{NULL, NULL, 0, NULL, NULL},
};
