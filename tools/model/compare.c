/* SPDX-License-Identifier: MIT */
/* Counts, prints and judges the errors of a model. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/statuses.h"

struct model_case *model_cases_add(struct model_cases *cases)
{
	if (cases->count == cases->room) {
		size_t room = cases->room ? 2 * cases->room : 64;
		struct model_case *grown = realloc(cases->at, room * sizeof(*grown));
		if (!grown)
			return NULL;
		cases->at = grown;
		cases->room = room;
	}
	struct model_case *added = &cases->at[cases->count++];
	*added = (struct model_case){0};
	return added;
}

void model_cases_free(struct model_cases *cases)
{
	free(cases->at);
	*cases = (struct model_cases){0};
}

static int compare_sizes(const void *a, const void *b)
{
	double first = fabs(*(const double *)a), second = fabs(*(const double *)b);
	return (first > second) - (first < second);
}

struct model_errors model_errors_of(double errors[], size_t count)
{
	if (count == 0)
		return (struct model_errors){0};
	qsort(errors, count, sizeof(errors[0]), compare_sizes);
	double upper = fabs(errors[count / 2]), lower = fabs(errors[(count - 1) / 2]);
	return (struct model_errors){(lower + upper) / 2, fabs(errors[count - 1])};
}

struct model_errors model_errors_any(void)
{
	return (struct model_errors){INFINITY, INFINITY};
}

bool model_parse_errors(const char *text, struct model_errors *most)
{
	char *end;
	struct model_errors parsed;
	parsed.median = strtod(text, &end);
	if (end == text || *end != ',')
		return false;
	const char *second = end + 1;
	parsed.worst = strtod(second, &end);
	if (end == second || *end || !(parsed.median >= 0) || !(parsed.worst >= 0))
		return false;
	*most = parsed;
	return true;
}

static bool judge(const struct model_errors *errors, const struct model_errors *most)
{
	bool good = errors->median <= most->median && errors->worst <= most->worst;
	if (!good)
		fprintf(stderr,
			"ring_model: the model is off by %.1f %% in the median and %.1f %% at "
			"worst; "
			"at most %.1f %% and %.1f %% are allowed\n",
			100 * errors->median, 100 * errors->worst, 100 * most->median,
			100 * most->worst);
	return good;
}

int model_compare(const struct model_cases *cases, const struct model_errors *most, FILE *out)
{
	double *errors = calloc(cases->count + 1, sizeof(*errors));
	if (!errors || cases->count == 0) {
		fputs(errors ? "ring_model: there is nothing to compare\n"
			     : "ring_model: out of memory\n",
		      stderr);
		free(errors);
		return STATUS_SYSTEM;
	}
	fprintf(out, "# %-52s %14s %14s %9s\n", "case", "predicted (us)", "measured (us)", "error");
	for (size_t i = 0; i < cases->count; i++) {
		const struct model_case *at = &cases->at[i];
		errors[i] = at->predicted / at->measured - 1;
		fprintf(out, "  %-52s %14.2f %14.2f %+8.1f%%\n", at->name, at->predicted * 1e6,
			at->measured * 1e6, 100 * errors[i]);
	}
	struct model_errors summary = model_errors_of(errors, cases->count);
	fprintf(out, "# %zu case%s: median error %.1f %%, worst %.1f %%\n", cases->count,
		cases->count == 1 ? "" : "s", 100 * summary.median, 100 * summary.worst);
	free(errors);
	return judge(&summary, most) ? STATUS_OK : STATUS_FOUND;
}
