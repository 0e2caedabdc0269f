/* SPDX-License-Identifier: MIT */
/*
 * Numbered examples for a model: pieces of a text for the GPT, made-up points for the MLP. An example
 * is a function of its number alone.
 */
#ifndef TRAIN_SOURCE_H
#define TRAIN_SOURCE_H

#include "lengths.h"
#include "model.h"
#include "text.h"

struct train_source {
	struct train_shape shape;     /* whom the examples are for */
	struct train_text text;       /* GPT */
	uint64_t seed;                /* MLP: of the classes' centres */
	size_t examples;              /* numbers 0..examples - 1 are to train on */
	size_t held_out;              /* the numbers behind them are for validation */
	int tokens;                   /* targets of an example: context, or 1 */
	struct train_lengths lengths; /* GPT: examples to train on may have less */
};

/* Tokens of an example. */
int train_source_length(const struct train_source *source, uint64_t number);

/* path: as train_text_load; lengths: as train_lengths_parse. returns 0; -1 with a sentence on stderr */
int train_source_open(struct train_source *source, const struct train_shape *shape,
		      const char *path, const struct train_lengths *lengths, uint64_t seed);
void train_source_close(struct train_source *source);

/* Room for a batch, and the batch that is in it. */
struct train_loaded {
	struct train_batch batch;
	uint64_t *examples; /* [rows], or of short rows [tokens] */
	int *lengths;       /* likewise */
	float *features;
	int32_t *tokens, *targets;
	size_t computed; /* tokens that the batch has, padding included */
};

/* What rows of a batch look like. */
enum train_layout {
	TRAIN_FULL,   /* each as long as the context, whatever its own length */
	TRAIN_PADDED, /* each as long as the longest */
	TRAIN_RAGGED, /* each as long as it is */
};

/* returns 0; -1 with a sentence on stderr */
int train_loaded_create(struct train_loaded *loaded, const struct train_source *source, int rows);
void train_loaded_destroy(struct train_loaded *loaded);

/* Fills in the examples whose numbers are in loaded->examples[rows]; rows may be 0. */
void train_source_load(const struct train_source *source, struct train_loaded *loaded, int rows,
		       enum train_layout layout);

/* A number that other examples would hardly have. */
uint64_t train_source_fingerprint(const struct train_source *source);

/* For people: what the examples are. */
void train_source_describe(const struct train_source *source, char *text, size_t bytes);

#endif
