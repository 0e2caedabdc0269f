/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/progress.h"
#include "train/model/random.h"

#define TIMES 4 /* in a run */

/* The end of what was written, as far as the model sees it. */
struct window {
	int32_t *tokens, *targets; /* [context] */
	int length, context;
};

static int draw(const train_real *probabilities, int count, uint64_t random)
{
	double left = (double)(random >> 11) * 0x1p-53;
	int token = 0;
	for (; token < count - 1; token++) {
		left -= (double)probabilities[token];
		if (left < 0)
			break;
	}
	return token;
}

static int next_token(struct train_model *model, const struct window *window, uint64_t random)
{
	const int vocabulary = model->shape.vocabulary;
	long counted;
	const struct train_batch batch = {.rows = 1,
					  .tokens = window->tokens,
					  .targets = window->targets,
					  .lengths = &window->length};
	train_model_forward(model, &batch, &counted);
	train_real last[256]; /* --vocabulary has no more */
	train_model_probabilities(model, (size_t)(window->length - 1), last);
	return draw(last, vocabulary, random);
}

static void append(struct window *window, int token)
{
	if (window->length == window->context)
		memmove(window->tokens, window->tokens + 1,
			(size_t)--window->length * sizeof(*window->tokens));
	window->tokens[window->length++] = token;
}

/* Begins with what the text begins with. text[count] becomes characters that a terminal may see. */
static void write_text(struct train_run *run, struct window *window, char *text, int count)
{
	const struct train_text *from = &run->source.text;
	uint64_t stream = train_random(run->state.seed, run->state.step);
	append(window, from->tokens[0]);
	for (int i = 0; i < count; i++) {
		int token = next_token(run->model, window, train_random(stream, (uint64_t)i));
		unsigned char character = token < from->vocabulary ? from->characters[token] : '?';
		text[i] = (char)(isprint(character) || character == '\n' ? character : '.');
		append(window, token);
	}
	text[count] = '\0';
}

static void print_text(const struct train_run *run, char *text)
{
	progress_wipe();
	printf("after step %llu it writes:\n", (unsigned long long)run->state.step);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		printf("    %s\n", line);
	fflush(stdout);
}

static bool is_due(const struct train_run *run, bool last)
{
	uint64_t every = (uint64_t)run->options->steps / TIMES;
	return run->options->sample > 0 &&
	       (last || (every > 0 && run->state.step % every == 0 &&
			 run->state.step < (uint64_t)run->options->steps));
}

int train_sample_if_due(struct train_run *run, bool last)
{
	if (!is_due(run, last))
		return STATUS_OK;
	int count = run->options->sample, context = run->options->shape.context;
	struct window window = {.context = context};
	char *text = malloc((size_t)count + 1);
	window.tokens = calloc((size_t)context, sizeof(*window.tokens));
	window.targets = calloc((size_t)context, sizeof(*window.targets));
	bool has_room = text && window.tokens && window.targets;
	if (has_room) {
		write_text(run, &window, text, count);
		if (run->team->rank == 0)
			print_text(run, text);
	} else {
		fputs("ring_train: out of memory\n", stderr);
	}
	free(window.tokens);
	free(window.targets);
	free(text);
	return has_room ? STATUS_OK : STATUS_SYSTEM;
}
