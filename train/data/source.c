/* SPDX-License-Identifier: MIT */
/*
 * A text is cut into pieces as long as the context, which share no target. Points lie around the
 * centre of their class, so far from it that a model needs many of them to learn the classes.
 */
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/random.h"

#define POINTS 65536 /* for training; a tenth as many are held out */

/* The stream of random numbers for a purpose and an example. */
static uint64_t stream_of(uint64_t seed, uint64_t purpose, uint64_t number)
{
	return train_random(train_random(seed, purpose), number);
}

enum purpose { CENTRES, POINT, LENGTH };

int train_source_open(struct train_source *source, const struct train_shape *shape,
		      const char *path, const struct train_lengths *lengths, uint64_t seed)
{
	*source = (struct train_source){.shape = *shape, .seed = seed, .lengths = *lengths};
	if (shape->kind == TRAIN_MLP) {
		source->examples = POINTS;
		source->held_out = POINTS / 10;
		source->tokens = 1;
		return 0;
	}
	if (train_text_load(&source->text, path, shape->vocabulary) != 0)
		return -1;
	const struct train_text *text = &source->text;
	size_t context = (size_t)shape->context;
	source->tokens = shape->context;
	/* The target of a token is the next one, so the last token has none. */
	source->examples = (text->count - text->held_out - 1) / context;
	source->held_out = (text->held_out - 1) / context;
	if (source->examples > 0 && source->held_out > 0)
		return 0;
	fprintf(stderr, "ring_train: text %s: too short for a context of %zu\n", text->name,
		context);
	train_source_close(source);
	return -1;
}

void train_source_close(struct train_source *source)
{
	train_text_free(&source->text);
}

int train_loaded_create(struct train_loaded *loaded, const struct train_source *source, int rows)
{
	const struct train_shape *shape = &source->shape;
	size_t inputs = shape->kind == TRAIN_MLP ? (size_t)shape->inputs : 0;
	size_t count = (size_t)rows * (size_t)source->tokens;
	*loaded = (struct train_loaded){
		.examples = calloc(count, sizeof(*loaded->examples)),
		.lengths = calloc(count, sizeof(*loaded->lengths)),
		.features = calloc((size_t)rows * inputs + 1, sizeof(*loaded->features)),
		.tokens = calloc(count, sizeof(*loaded->tokens)),
		.targets = calloc(count, sizeof(*loaded->targets)),
	};
	if (loaded->examples && loaded->lengths && loaded->features && loaded->tokens &&
	    loaded->targets)
		return 0;
	fprintf(stderr, "ring_train: out of memory for a batch of %d\n", rows);
	train_loaded_destroy(loaded);
	return -1;
}

void train_loaded_destroy(struct train_loaded *loaded)
{
	free(loaded->examples);
	free(loaded->lengths);
	free(loaded->features);
	free(loaded->tokens);
	free(loaded->targets);
	*loaded = (struct train_loaded){0};
}

/* Makes four numbers of [-1, 1) from 64 bits. */
static void spread(uint64_t bits, float values[4])
{
	for (int i = 0; i < 4; i++)
		values[i] = (float)(int16_t)(bits >> 16 * i) * 0x1p-15f;
}

/* Makes a point: half its class's centre, half its own. */
static void make_point(const struct train_source *source, uint64_t number, float *features,
		       int32_t *class)
{
	uint64_t own = stream_of(source->seed, POINT, number);
	*class = (int32_t)(own % (uint64_t)source->shape.outputs);
	uint64_t centre = stream_of(source->seed, CENTRES, (uint64_t) * class);
	for (int i = 0; i < source->shape.inputs; i += 4) {
		float here[4], away[4];
		spread(train_random(centre, (uint64_t)i), here);
		spread(train_random(own, (uint64_t)i), away);
		for (int j = 0; j < 4 && i + j < source->shape.inputs; j++)
			features[i + j] = here[j] + away[j];
	}
}

/* Where an example begins in the text; held-out ones are counted in the held-out part. */
static size_t beginning_of(const struct train_source *source, uint64_t number)
{
	size_t context = (size_t)source->shape.context;
	if (number < source->examples)
		return (size_t)number * context;
	size_t held_out = source->text.count - source->text.held_out;
	return held_out + (size_t)(number - source->examples) * context;
}

int train_source_length(const struct train_source *source, uint64_t number)
{
	return train_length(&source->lengths, stream_of(source->seed, LENGTH, number),
			    source->tokens);
}

/* Decides the lengths of rows. returns their sum */
static size_t lay_out(const struct train_source *source, struct train_loaded *loaded, int rows,
		      enum train_layout layout)
{
	int longest = 0;
	size_t sum = 0;
	for (int row = 0; row < rows; row++) {
		int length = layout == TRAIN_FULL
				     ? source->tokens
				     : train_source_length(source, loaded->examples[row]);
		loaded->lengths[row] = length;
		longest = length > longest ? length : longest;
	}
	for (int row = 0; row < rows; row++) {
		if (layout == TRAIN_PADDED)
			loaded->lengths[row] = longest;
		sum += (size_t)loaded->lengths[row];
	}
	return sum;
}

/* Loads a row of `length` tokens, of which `real` count. */
static void load_text(const struct train_source *source, uint64_t number, size_t real,
		      size_t length, int32_t *tokens, int32_t *targets)
{
	const int32_t *at = &source->text.tokens[beginning_of(source, number)];
	memcpy(tokens, at, real * sizeof(*at));
	memcpy(targets, at + 1, real * sizeof(*at));
	for (size_t i = real; i < length; i++) {
		tokens[i] = 0;
		targets[i] = -1;
	}
}

void train_source_load(const struct train_source *source, struct train_loaded *loaded, int rows,
		       enum train_layout layout)
{
	size_t inputs = source->shape.kind == TRAIN_MLP ? (size_t)source->shape.inputs : 0, at = 0;
	loaded->computed = lay_out(source, loaded, rows, layout);
	for (int row = 0; row < rows; row++) {
		uint64_t number = loaded->examples[row];
		size_t length = (size_t)loaded->lengths[row];
		size_t real = layout == TRAIN_PADDED ? (size_t)train_source_length(source, number)
						     : length;
		if (inputs > 0)
			make_point(source, number, &loaded->features[(size_t)row * inputs],
				   &loaded->targets[row]);
		else
			load_text(source, number, real, length, &loaded->tokens[at],
				  &loaded->targets[at]);
		at += length;
	}
	loaded->batch = (struct train_batch){
		.rows = rows,
		.features = loaded->features,
		.tokens = loaded->tokens,
		.targets = loaded->targets,
		.lengths = layout == TRAIN_FULL ? NULL : loaded->lengths,
		.examples = loaded->examples,
	};
}

uint64_t train_source_fingerprint(const struct train_source *source)
{
	uint64_t print = train_random(source->seed, source->examples);
	for (size_t i = 0; i < source->examples && source->lengths.distribution; i++)
		print = train_mix(print + (uint64_t)train_source_length(source, i));
	for (size_t i = 0; i < source->text.count; i++)
		print = train_mix(print + (uint64_t)source->text.tokens[i]);
	return print;
}

void train_source_describe(const struct train_source *source, char *text, size_t bytes)
{
	if (source->shape.kind == TRAIN_MLP) {
		snprintf(text, bytes, "points around %d centres", source->shape.outputs);
		return;
	}
	int used = snprintf(text, bytes, "%s", source->text.name);
	if (source->text.folded > 0 && used > 0 && (size_t)used < bytes)
		snprintf(text + used, bytes - (size_t)used, ", the %d rarest as one",
			 source->text.folded);
}
