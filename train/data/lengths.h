/* SPDX-License-Identifier: MIT */
/*
 * The lengths of examples. In real text many examples are shorter than the context, and a few are
 * long. A length is a function of the example's number alone.
 */
#ifndef TRAIN_LENGTHS_H
#define TRAIN_LENGTHS_H

#include <stdbool.h>
#include <stdint.h>

enum train_distribution { TRAIN_ALL_AS_LONG, TRAIN_LOGNORMAL, TRAIN_EVEN };

struct train_lengths {
	enum train_distribution distribution;
	double median, deviation; /* LOGNORMAL: deviation of the logarithm */
	int low, high;            /* EVEN: all equally often */
};

/*
 * Reads "lognormal:MEDIAN:DEVIATION" or "uniform:LOW:HIGH"; NULL: all examples fill the context.
 * returns false, with a sentence on stderr, if it is neither
 */
bool train_lengths_parse(struct train_lengths *lengths, const char *text);

/* The length of the example with this stream of random numbers: from 1 to `most`. */
int train_length(const struct train_lengths *lengths, uint64_t stream, int most);

#endif
