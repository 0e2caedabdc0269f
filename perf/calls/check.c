/* SPDX-License-Identifier: MIT */
/*
 * Each rank checks its own part. All ranks gather the findings and come to the same verdict.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "verify.h"

#define POISON_VALUE 0x5a

/* A checksum of what the call must not change: the buffers without the result. */
static uint64_t sum_of_the_rest(const struct perf_placed *placed)
{
	const unsigned char *input = placed->buffers[0].mirror, *output = placed->buffers[1].mirror;
	size_t bytes = placed->call->bytes, result = placed->recv_bytes;
	size_t before = result > 0 ? (size_t)(placed->result - output) : 0;
	return perf_checksum(input, bytes) ^ perf_checksum(output, before) ^
	       perf_checksum(output + before + result, bytes - before - result);
}

/* What one rank reports of one checked call. */
struct finding {
	uint64_t wrong, reordered, out_of_bounds, sent_bytes, checksum;
};

/* Makes a call, counts what this rank sends, and asks what carried it. */
static int count_call(struct perf_team *team, const struct perf_placed *placed,
		      struct finding *check, struct ring_carried *carried)
{
	struct ring_stats before, after;
	int err = perf_team_stats(team, &before);
	if (!err)
		err = perf_placed_run(team, placed, 1);
	if (!err)
		err = perf_team_stats(team, &after);
	if (err)
		return err;
	*check = (struct finding){.sent_bytes = after.sent_bytes - before.sent_bytes};
	*carried = after.last;
	return 0;
}

static int check_call(struct perf_team *team, const struct perf_placed *placed,
		      struct perf_pattern *pattern, struct finding *check,
		      struct ring_carried *carried)
{
	if (placed->recv_bytes > 0)
		memset(placed->result, POISON_VALUE, placed->recv_bytes);
	perf_pattern_fill(placed->call, pattern, team->rank, placed->input);
	perf_placed_guard(placed);
	uint64_t rest = sum_of_the_rest(placed);
	int err = perf_placed_push(team, placed);
	if (!err)
		err = count_call(team, placed, check, carried);
	if (!err)
		err = perf_placed_pull(team, placed);
	if (err)
		return err;
	pattern->stride = perf_algorithm_stride(perf_algorithm_find(carried->algorithm), team->size);
	struct perf_findings findings = perf_compare(placed->call, pattern, team->rank,
						     placed->result);
	check->wrong = findings.wrong;
	check->reordered = findings.reordered;
	check->out_of_bounds = perf_placed_changed(placed) + (rest != sum_of_the_rest(placed));
	check->checksum = perf_checksum(placed->result, placed->recv_bytes);
	return 0;
}

/* Compares the bytes that each rank sent with the formula in ringccl.h. */
static void judge_payload(const struct perf_team *team, const struct perf_call *call,
			  const struct finding *all, struct perf_check *result)
{
	result->sent_bytes = result->formula_bytes = result->sent_most = 0;
	result->sent_least = UINT64_MAX;
	result->payload_matches = true;
	struct perf_sender sender = {.algorithm = perf_algorithm_find(result->carried.algorithm),
				     .order = team->order};
	for (int position = 0; position < team->size; position++) {
		sender.position = position;
		uint64_t sent = all[team->order[position]].sent_bytes;
		uint64_t formula = team->size > 1 ? call->collective->sent_bytes(call, &sender) : 0;
		result->sent_bytes += sent;
		result->formula_bytes += formula;
		result->payload_matches = result->payload_matches && sent == formula;
		result->sent_least = sent < result->sent_least ? sent : result->sent_least;
		result->sent_most = sent > result->sent_most ? sent : result->sent_most;
	}
}

/* Adds up what all ranks found, and compares their results where these must be equal. */
static int judge(struct perf_team *team, const struct perf_call *call, const struct finding *mine,
		 struct perf_check *result)
{
	size_t n = (size_t)team->size;
	struct finding *all = calloc(n, sizeof(*all));
	int err = all ? perf_team_gather(team, mine, sizeof(*mine), all)
		      : perf_team_failed(team, RING_ENOMEM, "checking");
	bool all_equal = !perf_call_is(call, PERF_RESULTS_DIFFER) &&
			 !perf_call_is(call, PERF_ROOT_RECEIVES);
	for (size_t i = 0; i < n && !err; i++) {
		result->wrong += all[i].wrong;
		result->wrong += all_equal && all[i].checksum != all[0].checksum;
		result->reordered += all[i].reordered;
		result->out_of_bounds += all[i].out_of_bounds;
	}
	if (!err)
		judge_payload(team, call, all, result);
	free(all);
	return err;
}

int perf_check_calls(struct perf_team *team, const struct perf_options *options,
		     const struct perf_placed *placed, struct perf_check *result)
{
	struct perf_pattern pattern = {.random = options->random,
				       .order = team->order,
				       .by_rank = perf_team_adds_by_rank(options)};
	int calls = options->checks > 0 ? options->checks : 1;
	int err = 0;
	for (int i = 0; i < calls && !err; i++) {
		pattern.seed = options->seed * 0x9e3779b97f4a7c15u + (uint64_t)i;
		struct finding check;
		err = options->checks > 0
			      ? check_call(team, placed, &pattern, &check, &result->carried)
			      : count_call(team, placed, &check, &result->carried);
		if (!err)
			err = judge(team, placed->call, &check, result);
	}
	return err;
}
