/* SPDX-License-Identifier: MIT */
/*
 * Numbered examples: pieces of a text for a GPT, synthetic points for an MLP. An example is a
 * function of its number alone.
 */
#ifndef TRAIN_SOURCE_H
#define TRAIN_SOURCE_H

#include "lengths.h"
#include "train/model/model.h"
#include "text.h"

struct train_source {
	struct train_shape shape;     /* the model that the examples are for */
	struct train_text text;       /* GPT */
	uint64_t seed;                /* MLP: of the classes' centres */
	size_t examples;              /* numbers 0..examples - 1 are for training */
	size_t held_out;              /* this many numbers after them are for validation */
	int tokens;                   /* targets of an example: context, or 1 */
	struct train_lengths lengths; /* GPT: examples for training may be shorter */
};

/* Tokens of an example. */
int train_source_length(const struct train_source *source, uint64_t number);

/*
 * path: as for train_text_load; lengths: from train_lengths_parse. returns 0; -1 with a sentence on
 * stderr
 */
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
	size_t computed; /* tokens of the batch, with padding */
};

/* How long the rows of a batch are. */
enum train_layout {
	TRAIN_FULL,   /* each as long as the context, whatever its own length */
	TRAIN_PADDED, /* each as long as the longest */
	TRAIN_RAGGED, /* each as long as its example */
};

/* returns 0; -1 with a sentence on stderr */
int train_loaded_create(struct train_loaded *loaded, const struct train_source *source, int rows);
void train_loaded_destroy(struct train_loaded *loaded);

/* Fills in the examples whose numbers are in loaded->examples[rows]; rows may be 0. */
void train_source_load(const struct train_source *source, struct train_loaded *loaded, int rows,
		       enum train_layout layout);

/* A number that other examples hardly share. */
uint64_t train_source_fingerprint(const struct train_source *source);

/* Describes the examples, for people. */
void train_source_describe(const struct train_source *source, char *text, size_t bytes);

#endif
