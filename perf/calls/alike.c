/* SPDX-License-Identifier: MIT */
/*
 * Compares the options that must be equal on all ranks: those that decide which calls are made, on
 * what data and how often. Names of files and timeouts may differ. The library itself compares the
 * options that it needs equal.
 */
#include "alike.h"

#include <stdio.h>

#include "tools/agree.h"
#include "collective.h"
#include "types.h"

static const char *name_or_all(int index, const char *name)
{
	return index == PERF_ALL ? "all" : name;
}

static struct agree_item item_of_sizes(const struct perf_options *options)
{
	char list[PERF_MOST_SIZES * 21 + 1] = "";
	size_t used = 0;
	for (int i = 0; i < options->size_count; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%zu",
					 i > 0 ? "," : "", options->sizes[i]);
	return agree_text("--sizes", used > 0 ? list : NULL);
}

int perf_alike(struct perf_team *team, const struct perf_options *options)
{
	const struct perf_effort *effort = &options->effort;
	const int collective = options->collective, type = options->type, op = options->op;
	const struct agree_item items[] = {
		agree_text("--collective",
			   name_or_all(collective,
				       perf_collectives[collective < 0 ? 0 : collective].name)),
		agree_text("--datatype", name_or_all(type, perf_types[type < 0 ? 0 : type].name)),
		agree_text("--op", name_or_all(op, perf_ops[op < 0 ? 0 : op].name)),
		agree_number("--root", options->root),
		agree_number("--run_cycles", options->cycles),
		agree_number("--minbytes", (int64_t)options->min_bytes),
		agree_number("--maxbytes", (int64_t)options->max_bytes),
		agree_number("--stepbytes", (int64_t)options->step_bytes),
		agree_real("--stepfactor", options->step_factor),
		item_of_sizes(options),
		agree_number("--iters", effort->samples),
		agree_number("--warmup_iters", effort->warmup),
		agree_real("--seconds", effort->seconds),
		agree_real("--rest", effort->rest_s),
		agree_text("buffers", perf_buffers_name(options)),
		agree_number("--check", options->checks),
		agree_number("--seed", (int64_t)options->seed),
		agree_number("--random", options->random),
		agree_text("--device", options->device),
		agree_text("--memory", perf_memory_name(options)),
		agree_number("--in-place", options->in_place),
		agree_number("--explain", options->explain),
		agree_number("--tune", options->tune != NULL),
	};
	int err = agree("ring_perf", perf_team_apart(team), items, sizeof(items) / sizeof(items[0]));
	return err == RING_EMISMATCH && ring_comm_status(perf_team_apart(team)) == 0
		       ? err
		       : perf_team_failed(team, err, "comparing options");
}
