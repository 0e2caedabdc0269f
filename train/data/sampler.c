/* SPDX-License-Identifier: MIT */
/*
 * A shuffle without a table, and a division into ranks.
 */
#include "sampler.h"

#include "train/model/random.h"

#define ROUNDS 6

/* A permutation of the numbers of 2 * half_bits bits. */
static uint64_t scramble(uint64_t key, int half_bits, uint64_t number)
{
	const uint64_t mask = (UINT64_C(1) << half_bits) - 1;
	uint64_t left = number >> half_bits, right = number & mask;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t mixed = train_random(key + (uint64_t)round, right) & mask;
		uint64_t next = left ^ mixed;
		left = right;
		right = next;
	}
	return left << half_bits | right;
}

/* The place of `number` in a permutation of [0, count): scrambles until it is below count. */
static size_t shuffle(uint64_t key, size_t count, size_t number)
{
	int half_bits = 1;
	while (count > (uint64_t)1 << 2 * half_bits)
		half_bits++;
	uint64_t place = number;
	do
		place = scramble(key, half_bits, place);
	while (place >= count);
	return (size_t)place;
}

size_t train_sampler_length(const struct train_sampler *sampler)
{
	size_t ranks = (size_t)sampler->ranks;
	return (sampler->examples + (sampler->drops_last ? 0 : ranks - 1)) / ranks;
}

size_t train_sampler_example(const struct train_sampler *sampler, uint64_t epoch, size_t index)
{
	size_t place = index * (size_t)sampler->ranks + (size_t)sampler->rank;
	place %= sampler->examples; /* padding takes the first ones again */
	if (!sampler->shuffles)
		return place;
	return shuffle(train_random(sampler->seed, epoch), sampler->examples, place);
}
