/* SPDX-License-Identifier: MIT */
/* Fits of the cost model, against times that known numbers give. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/model_machine.h"
#include "tools/model/numbers.h"

#define SAMPLES_MAX 512

static const int order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct sampling {
	struct model_timed at[SAMPLES_MAX];
	size_t count;
};

/* Sizes 1 KiB .. 16 MiB on ranks that take turns on two CPUs. */
static void sample(struct sampling *sampling, const struct ring_model *model, enum ring_kind kind,
		   enum ring_algorithm algorithm, int ranks)
{
	for (uint64_t bytes = 1024; bytes <= 16 << 20; bytes *= 4) {
		struct model_timed *added = &sampling->at[sampling->count++];
		*added = (struct model_timed){.turns = ranks * RING_TURNS_NONE / 2};
		added->params = (struct ring_plan_params){
			.kind = kind,
			.algorithm = algorithm,
			.size = ranks,
			.order = order,
			.count = model_count_of(kind, ranks, (double)bytes, 4),
			.element_bytes = 4,
			.chunk_bytes = 64 << 10,
			.chunks_per_round = 2,
			.place_bytes = RING_PLACE_BYTES,
			.channels = 1,
		};
		added->us = model_fit_predict(model, added);
	}
}

/* What the library believes of networks, on links of 200 MB/s and 100 us. */
static struct ring_model paced(void)
{
	struct ring_model model = ring_model_built_in[RING_PATH_NETWORK];
	model.hop = model_number_of_seconds(100e-6);
	model.wire = model_number_of_rate(200e6);
	return model;
}

static struct model_fit fit(const struct sampling *sampling)
{
	struct model_fit found;
	assert_true(model_fit(sampling->at, sampling->count,
			      &ring_model_built_in[RING_PATH_NETWORK], &found));
	return found;
}

static void assert_ratio(uint64_t found, uint64_t expected, double tolerance)
{
	assert_near((double)found / (double)expected, 1, tolerance);
}

/* Rings of one call on one number of ranks: what paced links say. */
static void a_few_rows_tell_hop_and_wire(void **state)
{
	(void)state;
	struct ring_model model = paced();
	struct sampling sampling = {.count = 0};
	sample(&sampling, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 3);
	struct model_fit found = fit(&sampling);
	assert_ratio(found.model.hop, model.hop, 0.03);
	assert_ratio(found.model.wire, model.wire, 0.03);
	assert_true(found.median < 0.01);
}

/* What was fitted on 2, 3 and 5 ranks predicts 4, 6 and 8, and other calls and algorithms. */
static void fits_predict_what_they_never_saw(void **state)
{
	(void)state;
	struct ring_model model = paced();
	model.move *= 3;
	model.message *= 4;
	struct sampling seen = {.count = 0}, unseen = {.count = 0};
	for (int ranks = 2; ranks <= 8; ranks++) {
		struct sampling *to = ranks == 2 || ranks == 3 || ranks == 5 ? &seen : &unseen;
		sample(to, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, ranks);
		sample(to, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_ONE_SHOT, ranks);
		sample(&unseen, &model, RING_KIND_ALL_GATHER, RING_ALGORITHM_RING, ranks);
	}
	struct model_fit found = fit(&seen);
	for (size_t i = 0; i < unseen.count; i++)
		assert_near(model_fit_predict(&found.model, &unseen.at[i]) / unseen.at[i].us, 1,
			    0.05);
}

/* What no row depends on stays, and it is said; what is 0 stays 0. */
static void nothing_is_made_up(void **state)
{
	(void)state;
	struct ring_model model = paced(), before = ring_model_built_in[RING_PATH_NETWORK];
	struct sampling sampling = {.count = 0};
	char *text = NULL;
	size_t bytes;
	sample(&sampling, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 3);
	struct model_fit found = fit(&sampling);
	for (int i = 0; i < RING_MODEL_COUNT; i++) {
		bool told = strcmp(ring_model_numbers[i].name, "hop") == 0 ||
			    strcmp(ring_model_numbers[i].name, "wire") == 0;
		assert_int_equal(found.known[i], told);
		if (!told && ring_model_get(&before, i) > 0)
			assert_ratio(ring_model_get(&found.model, i), ring_model_get(&before, i),
				     0.2);
	}
	assert_int_equal(found.model.fetch, 0);
	FILE *out = open_memstream(&text, &bytes);
	model_numbers_write(out, RING_PATH_NETWORK, &found);
	fclose(out);
	assert_non_null(strstr(text, "model network call "));
	assert_non_null(
		strstr(text, "a call, whatever it is; the times do not tell: the library's\n"));
	assert_non_null(strstr(text, "bytes on the way\n"));
	free(text);
}

/* Noise of 10 % either way moves the numbers by less than that. */
static void fits_survive_noise(void **state)
{
	(void)state;
	struct ring_model model = paced();
	struct sampling sampling = {.count = 0};
	for (int ranks = 2; ranks <= 4; ranks++)
		sample(&sampling, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, ranks);
	for (size_t i = 0; i < sampling.count; i++)
		sampling.at[i].us *= i % 2 ? 1.1 : 1 / 1.1;
	struct model_fit found = fit(&sampling);
	assert_ratio(found.model.hop, model.hop, 0.1);
	assert_ratio(found.model.wire, model.wire, 0.1);
	assert_true(found.median > 0.01 && found.worst < 0.25);
}

/* One row that something else slowed down does not bend all others. */
static void fits_survive_a_wild_row(void **state)
{
	(void)state;
	struct ring_model model = paced();
	struct sampling sampling = {.count = 0};
	sample(&sampling, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 2);
	sampling.at[3].us *= 200;
	struct model_fit found = fit(&sampling);
	assert_ratio(found.model.hop, model.hop, 0.2);
	assert_ratio(found.model.wire, model.wire, 0.1);
}

/* Times that no numbers explain, as of a machine that did something else. */
static void fits_that_are_far_off_show_it(void **state)
{
	(void)state;
	struct ring_model model = paced();
	struct sampling sampling = {.count = 0};
	sample(&sampling, &model, RING_KIND_ALL_REDUCE, RING_ALGORITHM_RING, 2);
	for (size_t i = 0; i < sampling.count; i++)
		sampling.at[i].us *= i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 1.0 / 3;
	assert_true(fit(&sampling).median > 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_rows_tell_hop_and_wire),
		cmocka_unit_test(fits_predict_what_they_never_saw),
		cmocka_unit_test(nothing_is_made_up),
		cmocka_unit_test(fits_survive_noise),
		cmocka_unit_test(fits_survive_a_wild_row),
		cmocka_unit_test(fits_that_are_far_off_show_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
