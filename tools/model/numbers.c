/* SPDX-License-Identifier: MIT */
#include "numbers.h"

#include <inttypes.h>

#include "choose/section.h"
#include "plan/record.h"

/* Of all parts together, as ring_perf counts. */
static uint64_t bytes_of(const struct ring_plan_params *params)
{
	uint64_t in = ring_direct_parts_in(params->kind, params->size);
	uint64_t out = ring_direct_parts_out(params->kind, params->size);
	return params->count * params->element_bytes * (in > out ? in : out);
}

static void write_call(FILE *out, const struct model_timed *timed, const struct ring_model *model)
{
	const struct ring_plan_params *params = &timed->params;
	double predicted = model_fit_predict(model, timed);
	fprintf(out, "# %-15s %5d %10" PRIu64 " %-9s %-10s %12.2f %12.2f %+7.1f%%\n",
		ring_kind_name(params->kind), params->size, bytes_of(params),
		ring_algorithm_name(params->algorithm), ring_memory_name(timed->memory), timed->us,
		predicted, 100 * (predicted / timed->us - 1));
}

void model_numbers_write_calls(FILE *out, const struct model_timed *timed, size_t count,
			       const struct model_fit *fit)
{
	fprintf(out, "#\n# %-15s %5s %10s %-9s %-10s %12s %12s %8s\n", "call", "ranks", "bytes",
		"algorithm", "memory", "us", "predicted", "error");
	for (size_t i = 0; i < count; i++)
		write_call(out, &timed[i], &fit->model);
	fprintf(out,
		"#\n# %zu times; half of the predictions are off by %.1f %% at most, nine of ten "
		"by "
		"%.1f %%\n",
		count, 100 * fit->median, 100 * fit->nine_of_ten);
}

void model_numbers_write(FILE *out, int section, const struct model_fit *fit)
{
	for (int i = 0; i < RING_MODEL_COUNT; i++) {
		char text[RING_MODEL_TEXT];
		uint64_t number = ring_model_get(&fit->model, i);
		fprintf(out, "model %s %-8s %-14s # %s%s\n", ring_section_name(section),
			ring_model_numbers[i].name, ring_model_write(i, number, text),
			ring_model_numbers[i].what,
			number > 0 && !fit->known[i] ? "; the times do not tell: the library's"
						     : "");
	}
}
