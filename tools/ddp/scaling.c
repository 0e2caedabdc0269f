/* SPDX-License-Identifier: MIT */
/* Efficiency over ranks. */
#include "scaling.h"

#include <math.h>
#include <string.h>

/* After each step ring_train's ranks add up losses and tokens, in one more small call. */
#define AGREE_BYTES 16

/* A call without data goes around once only. */
#define LEAST_BYTES 1

const char *model_cause_name(enum model_cause cause)
{
	static const char *const names[MODEL_CAUSES] = {
		"nothing", "the number of buckets, for each pays the latency of a call", "latency",
		"the links between hosts", "bandwidth"};
	return names[cause];
}

const char *model_cause_absence(enum model_cause cause)
{
	static const char *const names[MODEL_CAUSES] = {
		"as it is", "if all buckets together paid the latency of one call",
		"if messages had no latency", "if links between hosts were as those within",
		"if bytes took no time"};
	return names[cause];
}

/* Whether a number of the model is what this cause takes. */
static bool is_of(int number, enum model_cause cause)
{
	enum ring_unit unit = ring_model_numbers[number].unit;
	return cause == (unit == RING_EACH ? MODEL_LATENCY : MODEL_BANDWIDTH);
}

static struct model_machine without(const struct model_machine *machine, enum model_cause away)
{
	struct model_machine changed = *machine;
	if (away == MODEL_SLOW_TIER)
		changed.between = changed.model;
	for (int i = 0; i < RING_MODEL_COUNT; i++)
		if (is_of(i, away)) {
			ring_model_set(&changed.model, i, 0);
			ring_model_set(&changed.between, i, 0);
		}
	return changed;
}

static double call_time(const struct model_machine *machine, int ranks, double bytes)
{
	return model_call_of(machine, RING_KIND_ALL_REDUCE, ranks, bytes).seconds;
}

struct model_step model_training_step(const struct model_training *training,
				      const struct model_machine *machine, int ranks,
				      enum model_cause away)
{
	struct model_machine changed = without(machine, away);
	double fixed = call_time(&changed, ranks, LEAST_BYTES), last = 0;
	for (size_t k = 0; k < training->count; k++) {
		struct model_bucket *bucket = &training->buckets[k];
		bool again = k > 0 && bucket->bytes == bucket[-1].bytes;
		double cost = again ? last : call_time(&changed, ranks, bucket->bytes);
		bucket->cost = last = cost;
		if (away == MODEL_BUCKET_COUNT)
			bucket->cost -= fixed * (1 - 1.0 / (double)training->count);
	}
	struct model_compute compute = training->compute;
	/* All ranks wait for the slowest one. */
	compute.forward += training->jitter * sqrt(2 * log(ranks));
	return model_step_of(&compute, training->buckets, training->count);
}

double model_step_in_mode(const struct model_training *training, const struct model_machine *machine,
			  int ranks, const char *mode, double *exposed)
{
	struct model_step step = model_training_step(training, machine, ranks, MODEL_NO_CAUSE);
	double bytes = 0, agree = call_time(machine, ranks, AGREE_BYTES);
	for (size_t k = 0; k < training->count; k++)
		bytes += training->buckets[k].bytes;
	*exposed = step.communication;
	if (strcmp(mode, "off") == 0)
		*exposed = 0;
	else if (strcmp(mode, "flat") == 0)
		*exposed = call_time(machine, ranks, bytes);
	else if (strcmp(mode, "overlap") == 0) {
		*exposed = step.exposed;
		return step.event + agree;
	}
	return step.compute + *exposed + agree;
}

double model_training_efficiency(const struct model_training *training,
				 const struct model_machine *machine, int ranks,
				 enum model_cause away)
{
	struct model_step step = model_training_step(training, machine, ranks, away);
	return model_compute_total(&training->compute) / step.event;
}

enum model_cause model_training_cause(const struct model_training *training,
				      const struct model_machine *machine, int ranks, bool *enough)
{
	enum model_cause best = MODEL_NO_CAUSE;
	double highest = 0;
	*enough = true;
	for (enum model_cause cause = MODEL_BUCKET_COUNT; cause < MODEL_CAUSES; cause++) {
		double reached = model_training_efficiency(training, machine, ranks, cause);
		if (reached >= MODEL_GOOD_EFFICIENCY)
			return cause;
		if (reached > highest) {
			highest = reached;
			best = cause;
		}
	}
	*enough = false;
	return best;
}
