/* SPDX-License-Identifier: MIT */
/*
 * Makes this library's calls a subject of sampling.h, and measures the places of a row.
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

/* The context of a subject: the calls, and the teams that make them. */
struct calling {
	struct perf_team *team, *start; /* `start` agrees when a sample begins */
	const struct perf_placed *placed;
};

static int run(void *context, int calls)
{
	const struct calling *calling = context;
	return perf_placed_run(calling->team, calling->placed, calls);
}

static int refresh(void *context)
{
	const struct calling *calling = context;
	const struct perf_placed *placed = calling->placed;
	if (placed->send_bytes == 0)
		return 0;
	memset(placed->input, 0, placed->send_bytes);
	return perf_placed_push_input(calling->team, placed);
}

static int barrier(void *context)
{
	const struct calling *calling = context;
	return perf_team_barrier(calling->start);
}

static int max(void *context, double *values, int count)
{
	const struct calling *calling = context;
	return perf_team_max(calling->start, values, (size_t)count);
}

int perf_measure_times(struct perf_team *team, struct perf_team *start,
		       const struct perf_options *options, const struct perf_placed *placed,
		       struct perf_times times[PERF_BUFFERS])
{
	struct calling calling = {.team = team, .start = start, .placed = placed};
	struct perf_subject subject = {
		.context = &calling,
		.ranks = team->size,
		.run = run,
		.refresh = refresh,
		.barrier = barrier,
		.max = max,
		.us = calloc((size_t)options->effort.samples * PERF_TIMES, sizeof(double)),
	};
	if (!subject.us)
		return perf_team_failed(team, RING_ENOMEM, "timing");
	/* Zeros stay zeros under every operation, so results of calls in place do not overflow. */
	memset(placed->buffers[0].mirror, 0, placed->call->bytes);
	memset(placed->buffers[1].mirror, 0, placed->call->bytes);
	int err = perf_placed_push(team, placed);
	if (!err)
		err = perf_sample(&subject, &options->effort, times);
	free(subject.us);
	return err;
}

static bool has_place(const struct perf_options *options, const struct perf_call *call,
		      enum perf_place place)
{
	bool both = perf_call_is(call, PERF_BOTH_PLACES);
	return place == PERF_IN_PLACE ? both : !both || !options->in_place;
}

int perf_measure_rows(struct perf_team *team, struct perf_team *start,
		      const struct perf_options *options, const struct perf_call *call,
		      struct perf_buffer buffers[2], struct perf_row rows[PERF_BUFFERS])
{
	for (int kind = 0; kind < PERF_BUFFERS; kind++)
		rows[kind] = (struct perf_row){.call = *call, .buffers = (enum perf_buffers)kind};
	int err = 0;
	for (int place = 0; place < PERF_PLACES && !err; place++) {
		if (!has_place(options, call, (enum perf_place)place))
			continue;
		struct perf_placed placed = perf_place(call, (enum perf_place)place, buffers,
						       team->rank);
		struct perf_times times[PERF_BUFFERS] = {0};
		struct perf_check check = {0};
		err = perf_measure_times(team, start, options, &placed, times);
		if (!err)
			err = perf_check_calls(team, options, &placed, &check);
		for (int kind = 0; kind < PERF_BUFFERS; kind++) {
			rows[kind].has_place[place] = true;
			rows[kind].places[place] = (struct perf_result){times[kind], check};
		}
	}
	return err;
}
