/* SPDX-License-Identifier: MIT */
/*
 * Floats of 16 and 8 bits. One plain reference for all formats, each described by a few numbers. It
 * shares no code with the library's conversions.
 */
#ifndef PERF_MINIFLOAT_H
#define PERF_MINIFLOAT_H

#include <stddef.h>
#include <stdint.h>

struct perf_minifloat {
	size_t bytes;
	int fraction_bits;  /* without the leading one            */
	int least_exponent; /* of normal numbers                  */
	double largest;
	double beyond; /* what a larger number becomes */
};

/* To nearest, ties to even. */
double perf_minifloat_round(const struct perf_minifloat *format, double value);

/* The bits of a value that the format can represent. */
uint16_t perf_minifloat_bits(const struct perf_minifloat *format, double value);

/* The value of bits; NaN if they are no finite number. */
double perf_minifloat_value(const struct perf_minifloat *format, uint16_t bits);

#endif
