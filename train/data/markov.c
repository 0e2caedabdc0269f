/* SPDX-License-Identifier: MIT */
/*
 * Draws the table of probabilities, makes text by it, and computes its entropy and loss.
 */
#include "markov.h"

#include <math.h>

#include "train/model/random.h"

#define CHARACTERS TRAIN_MARKOV_CHARACTERS
#define SHARPNESS 2.5  /* of the probabilities; 0 would make all equal */
#define ITERATIONS 500 /* for the frequencies of pairs, far beyond convergence */

/* A number of [0, 1). */
static double uniform(uint64_t stream, uint64_t index)
{
	return (double)(train_random(stream, index) >> 11) * 0x1p-53;
}

/* Finds how often each pair occurs in the long run, by iteration. */
static void find_pair_frequencies(const struct train_markov *source,
				  double pairs[CHARACTERS][CHARACTERS])
{
	for (int a = 0; a < CHARACTERS; a++) {
		for (int b = 0; b < CHARACTERS; b++)
			pairs[a][b] = 1.0 / (CHARACTERS * CHARACTERS);
	}
	for (int i = 0; i < ITERATIONS; i++) {
		double later[CHARACTERS][CHARACTERS] = {0};
		for (int a = 0; a < CHARACTERS; a++) {
			for (int b = 0; b < CHARACTERS; b++) {
				for (int c = 0; c < CHARACTERS; c++)
					later[b][c] += pairs[a][b] * source->next[a][b][c];
			}
		}
		for (int a = 0; a < CHARACTERS; a++) {
			for (int b = 0; b < CHARACTERS; b++)
				pairs[a][b] = later[a][b];
		}
	}
}

static double find_entropy(const struct train_markov *source)
{
	double pairs[CHARACTERS][CHARACTERS], entropy = 0;
	find_pair_frequencies(source, pairs);
	for (int a = 0; a < CHARACTERS; a++) {
		for (int b = 0; b < CHARACTERS; b++) {
			for (int c = 0; c < CHARACTERS; c++) {
				double p = source->next[a][b][c];
				entropy -= pairs[a][b] * p * log(p);
			}
		}
	}
	return entropy;
}

void train_markov_make(struct train_markov *source, uint64_t seed)
{
	uint64_t index = 0;
	source->seed = seed;
	for (int a = 0; a < CHARACTERS; a++) {
		for (int b = 0; b < CHARACTERS; b++) {
			double *row = source->next[a][b], sum = 0;
			for (int c = 0; c < CHARACTERS; c++)
				sum += row[c] = exp(SHARPNESS * (2 * uniform(seed, index++) - 1));
			for (int c = 0; c < CHARACTERS; c++)
				row[c] /= sum;
		}
	}
	source->entropy = find_entropy(source);
}

/* The character of the row that a number of [0, 1) selects. */
static int choose(const double *row, double number)
{
	int c = 0;
	while (c < CHARACTERS - 1 && number >= row[c])
		number -= row[c++];
	return c;
}

void train_markov_write(const struct train_markov *source, int32_t *characters, size_t count)
{
	const uint64_t stream = train_mix(source->seed ^ UINT64_C(0x6d61726b6f76));
	const int run_in = 1000; /* after this many characters the first ones no longer matter */
	int before = 0, last = 0;
	for (size_t i = 0; i < count + (size_t)run_in; i++) {
		int next = choose(source->next[before][last], uniform(stream, i));
		if (i >= (size_t)run_in)
			characters[i - (size_t)run_in] = next;
		before = last;
		last = next;
	}
}

struct train_markov_loss train_markov_own_loss(const struct train_markov *source,
					       const int32_t *characters, size_t begin, size_t count)
{
	double sum = 0, squares = 0;
	for (size_t i = begin; i < begin + count; i++) {
		const int32_t *at = &characters[i];
		double loss = -log(source->next[at[-2]][at[-1]][at[0]]);
		sum += loss;
		squares += loss * loss;
	}
	double mean = sum / (double)count;
	double variance = squares / (double)count - mean * mean;
	return (struct train_markov_loss){mean, sqrt(fmax(variance, 0) / (double)count)};
}
