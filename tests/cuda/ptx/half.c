/* SPDX-License-Identifier: MIT */
/*
 * Floats of at most 16 bits, taken apart and put together by ldexp: another way than that of the
 * library's conversions, which are compared with it.
 */
#include <math.h>

#include "machine.h"

struct format {
	int bias, fraction_bits;
	uint32_t most, nan; /* the largest finite number, and what a computed NaN is */
	bool has_infinity;
};

static struct format format_of(enum ptx_type type)
{
	switch (type) {
	case PTX_F16:
		return (struct format){15, 10, 0x7bff, 0x7fff, true};
	case PTX_BF16:
		return (struct format){127, 7, 0x7f7f, 0x7fff, true};
	case PTX_E4M3X2:
		return (struct format){7, 3, 0x7e, 0x7f, false};
	default:
		return (struct format){15, 2, 0x7b, 0x7f, true};
	}
}

static unsigned sign_bit(enum ptx_type type)
{
	return type == PTX_F16 || type == PTX_BF16 ? 15 : 7;
}

double ptx_narrow_value(enum ptx_type type, uint64_t bits)
{
	const struct format format = format_of(type);
	const uint32_t magnitude = (uint32_t)ptx_cut(bits, sign_bit(type));
	const int exponent = (int)(magnitude >> format.fraction_bits);
	const uint32_t fraction = (uint32_t)ptx_cut(magnitude, (unsigned)format.fraction_bits);
	const double whole = exponent ? fraction + ldexp(1, format.fraction_bits) : fraction;
	double x = ldexp(whole, (exponent ? exponent : 1) - format.bias - format.fraction_bits);
	if (magnitude > format.most)
		x = format.has_infinity && fraction == 0 ? INFINITY : NAN;
	return bits >> sign_bit(type) & 1 ? -x : x;
}

/* The magnitude's bits, which go on behind the largest finite number. */
static uint32_t magnitude_bits(struct format format, double x)
{
	int exponent;
	frexp(x, &exponent); /* x = 0.5..1 * 2^exponent */
	exponent = x == 0 || exponent - 1 < 1 - format.bias ? 1 - format.bias : exponent - 1;
	const double steps = nearbyint(ldexp(x, format.fraction_bits - exponent));
	const double normal = ldexp(1, format.fraction_bits);
	/* What rounds up to the next power of two carries into the exponent. */
	return (uint32_t)((exponent + format.bias - 1) * normal + steps);
}

uint64_t ptx_narrow_bits(enum ptx_type type, double x, bool finite)
{
	const struct format format = format_of(type);
	const uint64_t sign = x == x && signbit(x) ? UINT64_C(1) << sign_bit(type) : 0;
	if (x != x)
		return format.nan;
	uint32_t bits = isinf(x) ? format.most + 1 : magnitude_bits(format, fabs(x));
	if (bits > format.most)
		bits = finite ? format.most : format.most + 1;
	return sign | bits;
}

/* ---- arithmetic: of one, or of both halves of a register ------------------------------------- */

static enum ptx_type element_of(enum ptx_type type)
{
	return type == PTX_F16X2 ? PTX_F16 : type == PTX_BF16X2 ? PTX_BF16 : type;
}

static void for_each_half(struct ptx_thread *t, const struct ptx_instruction *i,
			  double operate(const struct ptx_instruction *i, const double x[3]))
{
	const enum ptx_type type = element_of(i->is[PTX_TYPE]);
	uint64_t result = 0;
	for (unsigned at = 0; at < ptx_type_bits(i); at += 16) {
		double x[3] = {0};
		for (unsigned k = 0; k < i->nfrom && k < 3; k++)
			x[k] = ptx_narrow_value(type, ptx_cut(ptx_value(t, i->from[k]) >> at, 16));
		result |= ptx_narrow_bits(type, operate(i, x), false) << at;
	}
	ptx_set(t, i->to[0], result);
}

/* A double holds the result, or is so near that rounding once more changes nothing. */
static double sum(const struct ptx_instruction *i, const double x[3])
{
	(void)i;
	return x[0] + x[1];
}

static double difference(const struct ptx_instruction *i, const double x[3])
{
	(void)i;
	return x[0] - x[1];
}

static double product(const struct ptx_instruction *i, const double x[3])
{
	(void)i;
	return x[0] * x[1];
}

/* The product is exact. What the sum lost is still seen where it decides, by an odd last bit. */
static double product_and_sum(const struct ptx_instruction *i, const double x[3])
{
	(void)i;
	const double product = x[0] * x[1], sum = product + x[2];
	const double other = sum - product, lost = (product - (sum - other)) + (x[2] - other);
	const bool is_odd = ptx_double_bits(sum) & 1;
	return lost == 0 || lost != lost || is_odd ? sum
						   : nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

static double smaller(const struct ptx_instruction *i, const double x[3])
{
	return ptx_least(i, x[0], x[1]);
}

static double larger(const struct ptx_instruction *i, const double x[3])
{
	return -ptx_least(i, -x[0], -x[1]);
}

#define HALF(op, operate)                                                                          \
	void ptx_half_##op(struct ptx_thread *t, const struct ptx_instruction *i)                  \
	{                                                                                          \
		for_each_half(t, i, operate);                                                      \
	}
HALF(add, sum)
HALF(sub, difference)
HALF(mul, product)
HALF(fma, product_and_sum)
HALF(min, smaller)
HALF(max, larger)

/* The sign alone, also of a NaN. */
void ptx_half_neg(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0], ptx_cut(ptx_value(t, i->from[0]) ^ 0x80008000, ptx_type_bits(i)));
}

void ptx_half_abs(struct ptx_thread *t, const struct ptx_instruction *i)
{
	ptx_set(t, i->to[0], ptx_cut(ptx_value(t, i->from[0]) & 0x7fff7fff, ptx_type_bits(i)));
}
