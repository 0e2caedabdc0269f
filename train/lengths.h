/* SPDX-License-Identifier: MIT */
/*
 * How long examples are. Texts of people are not all as long as the context: many are short and a few are long. A
 * length is a function of the example's number alone.
 */
#ifndef TRAIN_LENGTHS_H
#define TRAIN_LENGTHS_H

#include <stdbool.h>
#include <stdint.h>

enum train_distribution { TRAIN_ALL_AS_LONG, TRAIN_LOGNORMAL, TRAIN_EVEN };

struct train_lengths {
	enum train_distribution distribution;
	double median, deviation; /* LOGNORMAL: deviation of the logarithm */
	int low, high;            /* EVEN: as often each */
};

/*
 * Reads "lognormal:MEDIAN:DEVIATION" or "uniform:LOW:HIGH"; NULL: all are as long as the context.
 * returns false, with a sentence on stderr, if it is neither
 */
bool train_lengths_parse(struct train_lengths *lengths, const char *text);

/* Of the example that has this stream of random numbers: from 1 to most. */
int train_length(const struct train_lengths *lengths, uint64_t stream, int most);

#endif
