/* SPDX-License-Identifier: MIT */
/*
 * Prints values with their formulas, and says in plain words which are missing and why.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static bool is_off(const struct train_facts *facts)
{
	return strcmp(facts->mode, "off") == 0;
}

/* A reader of the times must know which faults there were on purpose. */
static void print_faults(FILE *out, const struct train_facts *facts)
{
	if (facts->slow_ms > 0)
		fprintf(out, "on purpose: rank %d comes %g ms late to each step\n",
			facts->slow_rank, facts->slow_ms);
	else if (facts->slow_rank >= 0)
		fprintf(out, "on purpose: rank %d has %g %% of its speed\n", facts->slow_rank,
			100 * facts->slow_share);
	if (facts->extra_bytes > 0)
		fprintf(out, "on purpose: another all-reduce of %" PRIu64 " bytes in each step%s\n",
			facts->extra_bytes, facts->extra_fresh ? ", of fresh memory" : "");
	if (facts->rank0_ms > 0)
		fprintf(out, "on purpose: rank 0 does something else for %g ms after each step\n",
			facts->rank0_ms);
	if (facts->barrier)
		fputs("on purpose: a barrier after each step\n", out);
	if (strcmp(facts->sampler, "none") == 0 && facts->ranks > 1)
		fprintf(out, "without a sampler all ranks train on the same examples: %d do the work of one\n",
			facts->ranks);
}

static void print_head(FILE *out, const struct train_facts *facts)
{
	fprintf(out, "\n%s, %" PRIu64 " parameters, %s; %d rank%s, %d CPU%s, over %s%s%s\n",
		facts->preset, facts->parameters, facts->matmul, facts->ranks,
		facts->ranks == 1 ? "" : "s", facts->cpus, facts->cpus == 1 ? "" : "s",
		facts->transports, facts->link[0] ? ", links as slow as " : "", facts->link);
	fprintf(out, "on %s, %s%s\n", facts->host, facts->cpu,
		facts->hosts > 1 ? ", and other hosts" : "");
	fprintf(out,
		"mode %s%s, %d bucket%s of %" PRIu64 " bytes together; batch %d x %d x %d = %d\n",
		facts->mode, facts->compressed ? ", compressed" : "", facts->buckets,
		facts->buckets == 1 ? "" : "s", facts->gradient_bytes, facts->ranks, facts->batch,
		facts->accumulate, facts->global_batch);
	fprintf(out, "%s", facts->text);
	if (facts->lengths[0])
		fprintf(out, "; lengths %s, batched by %s", facts->lengths, facts->batching);
	fputc('\n', out);
	print_faults(out, facts);
	fputc('\n', out);
}

/* Formats a value with as many decimals as are significant. */
static void format_value(double value, char *text, size_t bytes)
{
	if (value == floor(value) && fabs(value) < 1e15)
		snprintf(text, bytes, "%.0f", value);
	else
		snprintf(text, bytes, "%.*f",
			 fabs(value) < 10     ? 4
			 : fabs(value) < 1000 ? 2
					      : 0,
			 value);
}

static void print_row(FILE *out, int metric, double value, const double *predicted)
{
	char text[32];
	format_value(value, text, sizeof(text));
	fprintf(out, "%-24s %14s", train_metric_names[metric], text);
	if (predicted && isfinite(predicted[metric])) {
		format_value(predicted[metric], text, sizeof(text));
		fprintf(out, " %14s", text);
		if (value != 0)
			fprintf(out, " %+7.1f%%", 100 * (predicted[metric] / value - 1));
		else
			fprintf(out, " %8s", "");
	} else if (predicted) {
		fprintf(out, " %14s %8s", "", "");
	}
	fprintf(out, "  %s\n", train_metric_formulas[metric]);
}

/* For each efficiency that has no value, says which option would give it one. */
static void print_missing(FILE *out, const struct train_summary *summary)
{
	const struct train_facts *facts = &summary->facts;
	if (facts->ranks == 1)
		return;
	bool weak = strcmp(facts->scaling, "weak") == 0;
	if (isnan(summary->values[TRAIN_WEAK]))
		fprintf(out, "weak_efficiency needs %s--reference of 1 rank with --batch %d\n",
			weak ? "--with-reference, or " : "", facts->batch);
	if (isnan(summary->values[TRAIN_STRONG]))
		fprintf(out,
			"strong_efficiency needs %s--reference of 1 rank with --global-batch %d\n",
			weak ? "" : "--with-reference, or ", facts->global_batch);
	if (isnan(summary->values[TRAIN_CONTROL]) && !is_off(facts))
		fprintf(out, "exposed_by_control_ms needs --with-control, or --reference of %d ranks with --mode off\n",
			facts->ranks);
	if (facts->ranks > facts->cpus)
		fprintf(out,
			"%d ranks share %d CPUs: at most %.0f %% of weak or strong efficiency\n",
			facts->ranks, facts->cpus, 100.0 * facts->cpus / facts->ranks);
}

/* Says whether the payload is exactly what the formula promises. */
static void print_payload(FILE *out, const struct train_summary *summary)
{
	const struct train_facts *facts = &summary->facts;
	if (facts->ranks == 1 || is_off(facts))
		return;
	bool shots = facts->promised_bytes >
		     2 * (uint64_t)(facts->ranks - 1) * facts->gradient_bytes;
	fprintf(out, "payload of every step: %s 2(N-1)/N * S per rank%s, %.1f bytes on average\n",
		summary->payload_is_exact ? "exactly" : "NOT",
		shots ? ", and N/2 times that of small buckets" : "",
		summary->values[TRAIN_FORMULA] / facts->ranks);
}

static void print_source(FILE *out, const double *values)
{
	if (isnan(values[TRAIN_SOURCE]) || isnan(values[TRAIN_HELD_OUT]))
		return;
	double above = values[TRAIN_HELD_OUT] - values[TRAIN_SOURCE];
	fprintf(out, "held-out loss is %.4f %s the source's own, whose standard error is %.4f\n",
		fabs(above), above < 0 ? "below" : "above", values[TRAIN_SOURCE_ERROR]);
}

/* On a busy machine, times also measure the other programs. */
static void print_busy(FILE *out, const struct train_summary *summary)
{
	const struct train_facts *facts = &summary->facts;
	const double *values = summary->values;
	if (!summary->busy)
		return;
	fprintf(out, "THIS MACHINE IS BUSY, so times say little: 95 %% of steps took up to %.2f times the median",
		values[TRAIN_P95] / values[TRAIN_MEDIAN]);
	if (isfinite(facts->other_cpus))
		fprintf(out, ", other programs took %.2f of %d CPUs", facts->other_cpus,
			facts->host_cpus);
	if (isfinite(facts->load))
		fprintf(out, ", the load was %.2f before", facts->load);
	fputc('\n', out);
}

/* ---- ranks beside one another ------------------------------------------------------------- */

/* The columns: the parts of a step, and the tokens. */
static const struct column {
	const char *title;
	size_t offset;
} columns[] = {
	{"data", offsetof(struct train_step, data)},
	{"forward", offsetof(struct train_step, forward)},
	{"backward", offsetof(struct train_step, backward)},
	{"exposed", offsetof(struct train_step, exposed)},
	{"waiting", offsetof(struct train_step, waiting)},
	{"optimizer", offsetof(struct train_step, optimizer)},
	{"host", offsetof(struct train_step, host)},
	{"step", offsetof(struct train_step, total)},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_rank(FILE *out, const struct train_step *steps, size_t count, int rank)
{
	fprintf(out, "%4d", rank);
	for (size_t c = 0; c < COLUMNS; c++) {
		double sum = 0, value;
		for (size_t i = 0; i < count; i++) {
			memcpy(&value, (const char *)&steps[i] + columns[c].offset, sizeof(value));
			sum += value;
		}
		fprintf(out, " %9.2f", 1e3 * sum / (double)count);
	}
	double tokens = 0;
	for (size_t i = 0; i < count; i++)
		tokens += (double)steps[i].tokens;
	fprintf(out, " %9.1f\n", tokens / (double)count);
}

/* A late rank shows in the waiting of all others. */
static void print_ranks(FILE *out, const struct train_summary *summary,
			const struct train_step *steps, size_t each)
{
	size_t first = each > TRAIN_SKIPPED ? TRAIN_SKIPPED : 0;
	if (summary->facts.ranks == 1 || each == 0)
		return;
	fputs("\nms of a step, mean\nrank", out);
	for (size_t c = 0; c < COLUMNS; c++)
		fprintf(out, " %9s", columns[c].title);
	fputs("    tokens\n", out);
	for (int rank = 0; rank < summary->facts.ranks; rank++)
		print_rank(out, &steps[(size_t)rank * each + first], each - first, rank);
}

void train_report_print(FILE *out, const struct train_summary *summary,
			const struct train_step *steps, size_t each, const double *predicted)
{
	print_head(out, &summary->facts);
	fprintf(out, "%-24s %14s", "metric", "value");
	if (predicted)
		fprintf(out, " %14s %8s", "predicted", "error");
	fputs("  formula\n", out);
	for (int i = 0; i < TRAIN_METRICS; i++) {
		if (isfinite(summary->values[i]))
			print_row(out, i, summary->values[i], predicted);
	}
	print_ranks(out, summary, steps, each);
	fputc('\n', out);
	if (each > 0) { /* else all was done before, or stopped */
		print_payload(out, summary);
		print_missing(out, summary);
	}
	print_source(out, summary->values);
	print_busy(out, summary);
}
