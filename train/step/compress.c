/* SPDX-License-Identifier: MIT */
/* Converts to and from bfloat16, the upper half of a float. */
#include "compress.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rounds to nearest even; a NaN stays NaN. */
static uint16_t round_to_half(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	return (uint16_t)(isnan(value) ? bits >> 16 | 0x40 : rounded);
}

static float value_of(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void train_compress(uint16_t *halves, float *residuals, const float *gradients, size_t count,
		    float factor)
{
	for (size_t i = 0; i < count; i++) {
		float wanted = factor * gradients[i] + residuals[i];
		halves[i] = round_to_half(wanted);
		float lost = wanted - value_of(halves[i]);
		residuals[i] = fabsf(lost) <= FLT_MAX ? lost : 0;
	}
}

void train_expand(float *gradients, const uint16_t *halves, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gradients[i] = value_of(halves[i]);
}
