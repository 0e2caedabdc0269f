/* SPDX-License-Identifier: MIT */
/*
 * Each rank checks its own part; the findings are gathered and judged alike on all ranks.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "verify.h"

#define POISON_VALUE 0x5a

/* A checksum of the input that the call must leave alone: what lies in send, but not in recv. */
static uint64_t sum_of_kept_input(const struct perf_placed *placed)
{
	size_t send_bytes = perf_call_send_bytes(placed->call);
	size_t recv_bytes = perf_call_recv_bytes(placed->call);
	if (placed->place == PERF_OUT_OF_PLACE)
		return perf_checksum(placed->send, send_bytes);
	if (recv_bytes >= send_bytes)
		return 0;
	size_t before = (size_t)(placed->recv - placed->send);
	return perf_checksum(placed->send, before) ^
	       perf_checksum(placed->recv + recv_bytes, send_bytes - before - recv_bytes);
}

/* What one rank reports of one checked call. */
struct finding {
	uint64_t wrong, reordered, out_of_bounds, sent_bytes, checksum;
};

static int check_call(struct perf_team *team, const struct perf_placed *placed,
		      const struct perf_pattern *pattern, bool compares, struct finding *check)
{
	memset(placed->recv, POISON_VALUE, perf_call_recv_bytes(placed->call));
	perf_fill_input(placed->call, pattern, team->rank, placed->send);
	perf_placed_guard(placed);
	uint64_t kept = sum_of_kept_input(placed);

	struct ring_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	int err = ring_comm_stats(team->comm, &before);
	if (!err)
		err = perf_placed_run(team, placed, 1);
	if (!err)
		err = ring_comm_stats(team->comm, &after);
	if (err)
		return perf_team_failed(team, err, "checking");

	*check = (struct finding){.sent_bytes = after.sent_bytes - before.sent_bytes};
	if (!compares)
		return 0;
	struct perf_findings findings = perf_compare(placed->call, pattern, team->rank,
						     placed->recv);
	check->wrong = findings.wrong;
	check->reordered = findings.reordered;
	check->out_of_bounds = perf_placed_changed(placed) + (kept != sum_of_kept_input(placed));
	check->checksum = perf_checksum(placed->recv, perf_call_recv_bytes(placed->call));
	return 0;
}

static int compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/*
 * Compares what the ranks sent with what the positions must send. Which rank sits where does not
 * matter for that: both are sorted.
 */
static void judge_payload(const struct perf_call *call, uint64_t *sent, uint64_t *formula,
			  struct perf_check *result)
{
	size_t n = (size_t)call->size;
	result->sent_bytes = result->formula_bytes = 0;
	for (int i = 0; i < call->size; i++) {
		formula[i] = call->size > 1 ? call->collective->sent_bytes(call, i) : 0;
		result->sent_bytes += sent[i];
		result->formula_bytes += formula[i];
	}
	qsort(sent, n, sizeof(*sent), compare_counts);
	qsort(formula, n, sizeof(*formula), compare_counts);
	result->payload_matches = memcmp(sent, formula, n * sizeof(*sent)) == 0;
	result->sent_least = sent[0];
	result->sent_most = sent[n - 1];
}

/* Adds up what all ranks found; where all must have received the same, they are compared. */
static int judge(struct perf_team *team, const struct perf_call *call, const struct finding *mine,
		 struct perf_check *result)
{
	size_t n = (size_t)team->size;
	struct finding *all = calloc(n, sizeof(*all));
	uint64_t *sent = calloc(2 * n, sizeof(*sent));
	int err = all && sent ? perf_team_gather(team, mine, sizeof(*mine), all)
			      : perf_team_failed(team, RING_ENOMEM, "checking");
	bool all_equal = perf_call_recv_bytes(call) == call->bytes;
	for (size_t i = 0; i < n && !err; i++) {
		result->wrong += all[i].wrong;
		result->wrong += all_equal && all[i].checksum != all[0].checksum;
		result->reordered += all[i].reordered;
		result->out_of_bounds += all[i].out_of_bounds;
		sent[i] = all[i].sent_bytes;
	}
	if (!err)
		judge_payload(call, sent, sent + n, result);
	free(sent);
	free(all);
	return err;
}

int perf_check_calls(struct perf_team *team, const struct perf_options *options,
		     const struct perf_placed *placed, struct perf_check *result)
{
	struct perf_pattern pattern = {.random = options->random, .order = team->order};
	int calls = options->checks > 0 ? options->checks : 1;
	int err = 0;
	for (int i = 0; i < calls && !err; i++) {
		pattern.seed = options->seed * 0x9e3779b97f4a7c15u + (uint64_t)i;
		struct finding check;
		err = check_call(team, placed, &pattern, options->checks > 0, &check);
		if (!err)
			err = judge(team, placed->call, &check, result);
	}
	return err;
}
