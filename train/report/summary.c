/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/machine.h"

/* A parameter multiplies and adds for each target: forward, and twice backward. */
#define OPERATIONS 6

const char *const train_metric_names[TRAIN_METRICS] = {
#define TRAIN_METRIC_NAME(id, name, formula) name,
	TRAIN_METRIC_LIST(TRAIN_METRIC_NAME)
#undef TRAIN_METRIC_NAME
};

const char *const train_metric_formulas[TRAIN_METRICS] = {
#define TRAIN_METRIC_FORMULA(id, name, formula) formula,
	TRAIN_METRIC_LIST(TRAIN_METRIC_FORMULA)
#undef TRAIN_METRIC_FORMULA
};

/* All ranks' steps as a table, without the first ones. */
struct table {
	const struct train_step *steps;
	size_t each, first;
	int ranks;
};

static const struct train_step *cell(const struct table *table, int rank, size_t step)
{
	return &table->steps[(size_t)rank * table->each + step];
}

/* A field of struct train_step. */
static double field_of(const struct train_step *step, size_t offset)
{
	double value;
	memcpy(&value, (const char *)step + offset, sizeof(value));
	return value;
}

#define MEAN_MS(table, field) (1e3 * mean_of(table, offsetof(struct train_step, field)))

/* Over steps and ranks. */
static double mean_of(const struct table *table, size_t offset)
{
	double sum = 0;
	for (int rank = 0; rank < table->ranks; rank++) {
		for (size_t i = table->first; i < table->each; i++)
			sum += field_of(cell(table, rank, i), offset);
	}
	return sum / ((double)(table->each - table->first) * table->ranks);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

double train_quantile(double *values, size_t count, double share)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	size_t place = (size_t)ceil(share * (double)count);
	return values[place > 0 ? place - 1 : 0];
}

static void summarize_times(struct train_summary *summary, const struct table *table)
{
	size_t count = table->each - table->first;
	double *slowest = calloc(count, sizeof(*slowest));
	double sum = 0, spread = 0;
	for (size_t i = 0; slowest && i < count; i++) {
		double least = INFINITY;
		for (int rank = 0; rank < table->ranks; rank++) {
			double total = cell(table, rank, table->first + i)->total;
			slowest[i] = fmax(slowest[i], total);
			least = fmin(least, total);
		}
		sum += slowest[i];
		spread += slowest[i] - least;
	}
	if (slowest) {
		summary->values[TRAIN_STEP] = 1e3 * sum / (double)count;
		summary->values[TRAIN_SPREAD] = 1e3 * spread / (double)count;
		summary->values[TRAIN_MEDIAN] = 1e3 * train_quantile(slowest, count, 0.5);
		summary->values[TRAIN_P95] = 1e3 * train_quantile(slowest, count, 0.95);
	}
	free(slowest);
}

/* How much more the busiest rank computes in a step than the mean one; 0 if no rank computes. */
static double imbalance_of(const struct table *table, size_t step)
{
	double sum = 0, most = 0;
	for (int rank = 0; rank < table->ranks; rank++) {
		double computed = (double)cell(table, rank, step)->computed;
		sum += computed;
		most = fmax(most, computed);
	}
	return sum > 0 ? most * table->ranks / sum : 0;
}

/* Summarizes the examples, and how evenly ranks shared them. */
static void summarize_work(struct train_summary *summary, const struct table *table)
{
	double examples = 0, tokens = 0, computed = 0, imbalance = 0;
	for (size_t i = table->first; i < table->each; i++) {
		for (int rank = 0; rank < table->ranks; rank++) {
			const struct train_step *step = cell(table, rank, i);
			examples += (double)step->examples;
			tokens += (double)step->tokens;
			computed += (double)step->computed;
		}
		imbalance += imbalance_of(table, i);
	}
	double steps = (double)(table->each - table->first);
	double seconds = summary->values[TRAIN_STEP] * 1e-3 * steps;
	summary->values[TRAIN_SAMPLES] = examples / seconds;
	summary->values[TRAIN_TOKENS] = tokens / seconds;
	if (summary->facts.products > 0)
		summary->values[TRAIN_COULD] = summary->facts.products / OPERATIONS /
					       (double)summary->facts.parameters;
	summary->values[TRAIN_IMBALANCE] = computed > 0 ? imbalance / steps : NAN;
	summary->values[TRAIN_PADDING] = computed > 0 ? 100 * (1 - tokens / computed) : NAN;
}

/* Compares the payload of every step, also of the first ones, with the formula. */
static void summarize_bytes(struct train_summary *summary, const struct table *table)
{
	const struct train_facts *facts = &summary->facts;
	uint64_t formula = facts->promised_bytes * (uint64_t)facts->syncs;
	uint64_t sum = 0;
	summary->payload_is_exact = true;
	for (size_t i = 0; i < table->each; i++) {
		sum = 0;
		for (int rank = 0; rank < table->ranks; rank++)
			sum += cell(table, rank, i)->payload_bytes;
		if (sum != formula)
			summary->payload_is_exact = false;
	}
	summary->values[TRAIN_PAYLOAD] = (double)sum;
	summary->values[TRAIN_FORMULA] = (double)formula;
	summary->values[TRAIN_CALLS] = (double)cell(table, 0, table->each - 1)->calls;
}

static void summarize_communication(struct train_summary *summary, const struct table *table)
{
	const struct train_facts *facts = &summary->facts;
	double *values = summary->values;
	double busy = MEAN_MS(table, busy), hidden = MEAN_MS(table, hidden);
	values[TRAIN_BUSY] = busy;
	values[TRAIN_HIDDEN_MS] = hidden;
	values[TRAIN_HIDDEN] = busy > 0 ? 100 * hidden / busy : NAN;
	values[TRAIN_WAITING] = MEAN_MS(table, waiting);
	values[TRAIN_EXPOSED] = MEAN_MS(table, exposed);
	values[TRAIN_EXTRA] = MEAN_MS(table, extra);
	values[TRAIN_OVERHEAD] = 100 * values[TRAIN_EXPOSED] / values[TRAIN_STEP];
	values[TRAIN_ALONE] = facts->alone_ms;
	if (!(facts->alone_ms > 0)) /* not measured */
		return;
	values[TRAIN_BUS] = values[TRAIN_FORMULA] / facts->ranks / facts->alone_ms * 1e-6;
}

/*
 * The machine is busy if other programs used CPUs, or if some steps took far longer than most with
 * as much work.
 */
static bool is_busy(const struct train_summary *summary)
{
	const struct train_facts *facts = &summary->facts;
	return facts->other_cpus > MACHINE_BUSY_SHARE * facts->host_cpus ||
	       (!facts->lengths[0] &&
		summary->values[TRAIN_P95] > MACHINE_BUSY_SPREAD * summary->values[TRAIN_MEDIAN]);
}

void train_summary_make(struct train_summary *summary, const struct train_facts *facts,
			const struct train_step *steps, size_t each)
{
	summary->facts = *facts;
	summary->payload_is_exact = true;
	double *values = summary->values;
	for (int i = 0; i < TRAIN_METRICS; i++)
		values[i] = NAN;
	values[TRAIN_HELD_OUT] = facts->held_out_loss;
	values[TRAIN_SOURCE] = facts->own_loss;
	values[TRAIN_SOURCE_ERROR] = facts->own_error;
	if (each == 0)
		return;
	const struct table table = {.steps = steps,
				    .each = each,
				    .first = each > TRAIN_SKIPPED ? TRAIN_SKIPPED : 0,
				    .ranks = facts->ranks};
	summarize_times(summary, &table);
	summarize_work(summary, &table);
	values[TRAIN_DATA] = MEAN_MS(&table, data);
	values[TRAIN_FORWARD] = MEAN_MS(&table, forward);
	values[TRAIN_BACKWARD] = MEAN_MS(&table, backward);
	values[TRAIN_OPTIMIZER] = MEAN_MS(&table, optimizer);
	values[TRAIN_AGREE] = MEAN_MS(&table, agree);
	values[TRAIN_HOST] = MEAN_MS(&table, host);
	summary->busy = is_busy(summary);
	values[TRAIN_LOSS] = cell(&table, 0, each - 1)->loss;
	summarize_bytes(summary, &table);
	if (facts->ranks > 1 && strcmp(facts->mode, "off") != 0)
		summarize_communication(summary, &table);
}

/* ---- comparing ---------------------------------------------------------------------------- */

/* Whether two runs do the same work per example. */
static bool alike(const struct train_facts *a, const struct train_facts *b)
{
	return a->parameters == b->parameters && strcmp(a->optimizer, b->optimizer) == 0 &&
	       a->accumulate == b->accumulate;
}

static void compare_with_one_rank(struct train_summary *summary, const struct train_summary *one)
{
	const struct train_facts *facts = &summary->facts;
	double *values = summary->values;
	double ranks = facts->ranks, cores = fmin(facts->ranks, facts->cpus);
	double speedup = values[TRAIN_SAMPLES] / one->values[TRAIN_SAMPLES];
	bool weak = one->facts.batch == facts->batch;
	bool strong = one->facts.global_batch == facts->global_batch;
	if (weak)
		values[TRAIN_WEAK] = speedup / ranks;
	if (strong)
		values[TRAIN_STRONG] = speedup / ranks;
	if (strcmp(facts->scaling, "weak") == 0 ? weak : strong)
		values[TRAIN_CORES] = speedup / cores;
}

void train_summary_compare(struct train_summary *summary, const struct train_summary *others,
			   int count)
{
	const struct train_facts *facts = &summary->facts;
	for (int i = 0; i < count; i++) {
		const struct train_facts *other = &others[i].facts;
		if (!alike(facts, other))
			continue;
		if (other->ranks == 1 && facts->ranks > 1)
			compare_with_one_rank(summary, &others[i]);
		if (other->ranks == facts->ranks && other->batch == facts->batch &&
		    strcmp(other->mode, "off") == 0 && strcmp(facts->mode, "off") != 0)
			summary->values[TRAIN_CONTROL] = summary->values[TRAIN_STEP] -
							 others[i].values[TRAIN_STEP];
	}
}
