/* SPDX-License-Identifier: MIT */
/*
 * A 64-bit hash for comparing what should be equal bit for bit. Every step is one-to-one in the
 * state and in the word, so a change within one word always changes the hash; any other change is
 * missed once in 2^64. The hash does not defend against an attacker.
 */
#ifndef TRAIN_HASH_H
#define TRAIN_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t train_hash(const void *data, size_t bytes)
{
	const unsigned char *next = data;
	uint64_t hash = bytes;
	while (bytes > 0) {
		uint64_t word = 0;
		size_t taken = bytes < sizeof(word) ? bytes : sizeof(word);
		memcpy(&word, next, taken);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* odd: 2^64 / the golden ratio */
		hash ^= hash >> 32;                         /* products only carry upwards */
		next += taken;
		bytes -= taken;
	}
	return hash;
}

#endif
