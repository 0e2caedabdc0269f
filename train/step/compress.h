/* SPDX-License-Identifier: MIT */
/*
 * Gradients as bfloat16, half the bytes, with error feedback: the rounding error of an element is
 * kept and added to it the next time, so that nothing is lost over many steps.
 */
#ifndef TRAIN_COMPRESS_H
#define TRAIN_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * halves = bfloat16(factor * gradients + residuals), to nearest even; residuals become the rounding
 * errors, at most 2^-8 of the element. Elements that are not finite have no residual.
 *
 * halves, residuals, gradients   of `count` elements each
 */
void train_compress(uint16_t *halves, float *residuals, const float *gradients, size_t count,
		    float factor);

/* gradients = halves */
void train_expand(float *gradients, const uint16_t *halves, size_t count);

#endif
