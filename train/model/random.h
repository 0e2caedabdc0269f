/* SPDX-License-Identifier: MIT */
/* Counter-based random numbers: any number of any stream, without those before it. */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stdint.h>

#ifndef TRAIN_RANDOM /* also of a GPU's functions */
#define TRAIN_RANDOM static inline
#endif

/* A bijection whose values look random: splitmix64. */
TRAIN_RANDOM uint64_t train_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 64 random bits: number `index` of a stream. */
TRAIN_RANDOM uint64_t train_random(uint64_t stream, uint64_t index)
{
	return train_mix(stream + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

#endif
