/* SPDX-License-Identifier: MIT */
/*
 * The functions that the page calls, compiled to WebAssembly. They use the plans and the cost model
 * by the same functions as ring_steps and ring_model. Every function returns a text, which the page
 * frees.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/ddp/scaling.h"
#include "tools/ddp/shape.h"
#include "tools/steps/draw.h"
#include "tools/steps/picture.h"
#include "tools/steps/words.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

struct answer {
	char *text;
	size_t length;
	FILE *out;
};

static bool begin(struct answer *answer)
{
	answer->out = open_memstream(&answer->text, &answer->length);
	return answer->out != NULL;
}

static char *finish(struct answer *answer)
{
	return fclose(answer->out) == 0 ? answer->text : NULL;
}

char *EXPORT(page_names)(void);
char *EXPORT(page_style)(void);
char *EXPORT(page_steps)(int kind, int algorithm, int ranks, int root, int count, int chunk,
			 int depth);
char *EXPORT(page_costs)(double parameters, double element_bytes, int buckets, double bandwidth,
			 double latency, double compute, int ranks_per_host,
			 double between_bandwidth, double between_latency);
void EXPORT(page_free)(char *text);

/* Collectives in the first line, algorithms in the second. */
char *page_names(void)
{
	struct answer answer;
	if (!begin(&answer))
		return NULL;
	for (int kind = 0; kind <= RING_KIND_SEND; kind++)
		fprintf(answer.out, "%s%s", kind > 0 ? " " : "",
			steps_kind_name((enum ring_kind)kind));
	for (int i = 0; i < RING_ALGORITHMS; i++)
		fprintf(answer.out, "%s%s", i > 0 ? " " : "\n",
			steps_algorithm_name((enum ring_algorithm)i));
	return finish(&answer);
}

char *page_style(void)
{
	struct answer answer;
	if (!begin(&answer))
		return NULL;
	steps_draw_style(answer.out);
	return finish(&answer);
}

static void show(const struct steps_choice *choice, FILE *out)
{
	struct steps_walk walk = {0};
	struct steps_cells cells = {0};
	struct steps_state state = {0};
	char title[512];
	if (steps_walk_make(choice, &walk) == 0 && steps_cells_make(&walk, &cells) == 0 &&
	    steps_state_make(&walk, &cells, &state) == 0) {
		steps_say_title(&walk, title, sizeof(title));
		fprintf(out, "<h2>%s</h2>\n", title);
		steps_picture_part(&walk, &cells, &state, out);
	} else {
		fputs("<p class=\"refused\">out of memory\n", out);
	}
	steps_state_free(&state);
	steps_cells_free(&cells);
	steps_walk_free(&walk);
}

/* algorithm -1, count 0 and chunk 0: the defaults of ring_steps */
char *page_steps(int kind, int algorithm, int ranks, int root, int count, int chunk, int depth)
{
	struct answer answer;
	char sentence[512];
	struct steps_choice choice = {.kind = (enum ring_kind)kind,
				      .algorithm = STEPS_ANY_ALGORITHM,
				      .ranks = ranks,
				      .root = root,
				      .count = (uint64_t)count,
				      .chunk_bytes = (uint64_t)chunk,
				      .chunks_per_round = 2,
				      .depth = depth};
	if (!begin(&answer))
		return NULL;
	if (algorithm >= 0)
		choice.algorithm = (enum ring_algorithm)algorithm;
	steps_choice_order(&choice);
	steps_choice_complete(&choice);
	if (steps_choice_refuse(&choice, sentence, sizeof(sentence)))
		fprintf(answer.out, "<p class=\"refused\">%s\n", sentence);
	else
		show(&choice, answer.out);
	return finish(&answer);
}

/* The lines of ring_model ddp --csv for equal buckets, on 2 to 1024 ranks. */
char *page_costs(double parameters, double element_bytes, int buckets, double bandwidth,
		 double latency, double compute, int ranks_per_host, double between_bandwidth,
		 double between_latency)
{
	static struct model_tensors tensors; /* too large for a stack */
	static struct model_bucket made[MODEL_BUCKETS_MAX];
	struct answer answer;
	struct model_machine machine = {
		.model = {.hop = model_number_of_seconds(latency),
			  .wire = model_number_of_rate(bandwidth)},
		.between = {.hop = model_number_of_seconds(between_latency),
			    .wire = model_number_of_rate(between_bandwidth)},
		.ranks_per_host = ranks_per_host,
		.path = RING_PATH_NETWORK,
		.algorithm = ring_algorithm_of(RING_KIND_ALL_REDUCE),
		.chunk = MODEL_WHOLE_BLOCKS,
	};
	struct model_training training = {.buckets = made};
	if (!begin(&answer))
		return NULL;
	model_shape_equal(parameters, (size_t)buckets, &tensors);
	tensors.element_bytes = element_bytes;
	training.compute.forward = compute * (1.0 / 3);
	training.compute.backward = compute - training.compute.forward;
	training.count = model_buckets_of(&tensors, 0, 0, training.compute.backward, made);
	for (int ranks = 2; ranks <= 1024; ranks *= 2) {
		struct model_step step = model_training_step(&training, &machine, ranks,
							     MODEL_NO_CAUSE);
		step.compute = model_compute_total(&training.compute);
		fprintf(answer.out, "%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", ranks, step.compute,
			step.communication, step.sum, step.max, step.event, step.exposed);
	}
	return finish(&answer);
}

void page_free(char *text)
{
	free(text);
}
