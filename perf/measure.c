/* SPDX-License-Identifier: MIT */
/*
 * Timing: every sample begins at a barrier and is a batch of back-to-back calls, long enough that
 * reading the clock does not count, or one call on a fresh input; a sample's time is that of the
 * slowest rank.
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "samples.h"

/* How many calls make a sample: alike on all ranks. */
static int choose_batch(struct perf_team *team, const struct perf_options *options,
			const struct perf_placed *placed, int *batch)
{
	*batch = 1;
	int err = perf_placed_run(team, placed, options->warmup);
	if (err || options->fresh)
		return err;
	const int probes = 3;
	double seconds = perf_now();
	err = perf_placed_run(team, placed, probes);
	seconds = (perf_now() - seconds) / probes;
	if (!err)
		err = perf_team_max(team, &seconds, 1);
	*batch = perf_batch_calls(seconds);
	return err;
}

/* Writes the input anew, as a training step does, while nobody is in a call. */
static int refresh(struct perf_team *team, const struct perf_placed *placed)
{
	int err = perf_team_barrier(team);
	if (!err && placed->send_bytes > 0)
		memset(placed->send, 0, placed->send_bytes);
	return err;
}

static int time_samples(struct perf_team *team, const struct perf_options *options,
			const struct perf_placed *placed, int batch, double *microseconds)
{
	for (int i = 0; i < options->iterations; i++) {
		int err = options->fresh ? refresh(team, placed) : 0;
		if (!err)
			err = perf_team_barrier(team);
		if (err)
			return err;
		double start = perf_now();
		err = perf_placed_run(team, placed, batch);
		if (err)
			return err;
		microseconds[i] = (perf_now() - start) * 1e6 / batch;
	}
	return perf_team_max(team, microseconds, (size_t)options->iterations);
}

int perf_measure_times(struct perf_team *team, const struct perf_options *options,
		       const struct perf_placed *placed, struct perf_times *times)
{
	int samples = options->iterations;
	double *microseconds = calloc((size_t)samples, sizeof(*microseconds));
	if (!microseconds)
		return perf_team_failed(team, RING_ENOMEM, "timing");
	/* Zeros stay zeros under every operation, so results of calls in place do not overflow. */
	memset(placed->buffers[0].data, 0, placed->call->bytes);
	memset(placed->buffers[1].data, 0, placed->call->bytes);

	int batch;
	int err = choose_batch(team, options, placed, &batch);
	if (!err)
		err = time_samples(team, options, placed, batch, microseconds);
	if (!err) {
		perf_sort(microseconds, samples);
		*times = (struct perf_times){
			.median = perf_quantile(microseconds, samples, 0.5),
			.p10 = perf_quantile(microseconds, samples, 0.1),
			.p90 = perf_quantile(microseconds, samples, 0.9),
			.p99 = perf_quantile(microseconds, samples, 0.99),
			.min = microseconds[0],
			.max = microseconds[samples - 1],
			.samples = samples,
			.calls_per_sample = batch,
		};
	}
	free(microseconds);
	return err;
}

int perf_measure_row(struct perf_team *team, const struct perf_options *options,
		     struct perf_buffer buffers[2], struct perf_row *row)
{
	int err = 0;
	for (int place = 0; place < PERF_PLACES && !err; place++) {
		row->has_place[place] = place == PERF_OUT_OF_PLACE ||
					perf_call_is(&row->call, PERF_BOTH_PLACES);
		row->places[place] = (struct perf_result){0};
		if (!row->has_place[place])
			continue;
		struct perf_placed placed = perf_place(&row->call, (enum perf_place)place, buffers,
						       team->rank);
		err = perf_measure_times(team, options, &placed, &row->places[place].times);
		if (!err)
			err = perf_check_calls(team, options, &placed, &row->places[place].check);
	}
	return err;
}
