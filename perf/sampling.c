/* SPDX-License-Identifier: MIT */
/*
 * Every sample begins at a barrier and is a batch of back-to-back calls, long enough that reading the
 * clock does not count, or one call on a fresh input. Ranks agree on all numbers of calls.
 */
#include "sampling.h"

#include <time.h>

#include "samples.h"

#define BATCH_SECONDS 200e-6
#define BATCH_CALLS 1000

#define WARMUP_SHARE 0.1
#define LEAST_SAMPLES 3

const char *const perf_buffers_names[PERF_BUFFERS] = {"hot", "fresh"};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static int within(double number, int least, int most)
{
	return number < least ? least : number > most ? most : (int)number;
}

/*
 * Rounds of 1, 2, 4, ... calls until they have taken long enough. The fastest tells how long a call takes:
 * others may have begun on one CPU, or opened connections.
 */
static int warm_up(const struct perf_subject *subject, const struct perf_effort *effort, int *batch)
{
	double left_s = larger(WARMUP_SHARE * effort->seconds, BATCH_SECONDS);
	double batch_calls = 1;
	int err = subject->run(subject->context, effort->warmup);
	for (int calls = 1; left_s > 0 && !err; calls = within(2 * calls, 1, BATCH_CALLS)) {
		double start = perf_now();
		err = subject->run(subject->context, calls);
		double seconds = perf_now() - start;
		if (!err)
			err = subject->max(subject->context, &seconds, 1);
		left_s -= seconds;
		batch_calls = larger(batch_calls, calls * BATCH_SECONDS / seconds);
	}
	*batch = within(batch_calls, 1, BATCH_CALLS);
	return err;
}

static void rest(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds};
	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) < 0)
		continue;
}

/* Takes samples from the `first` to below `end`; of single calls if the buffers are fresh. */
static int take(const struct perf_subject *subject, double rest_s, enum perf_buffers buffers,
		int batch, int first, int end)
{
	for (int i = first; i < end; i++) {
		int err = 0;
		if (buffers == PERF_FRESH) /* nobody may be in a call then */
			err = subject->barrier(subject->context);
		if (buffers == PERF_FRESH && !err)
			err = subject->refresh(subject->context);
		if (!err && rest_s > 0)
			rest(rest_s);
		if (!err)
			err = subject->barrier(subject->context);
		if (err)
			return err;
		double start = perf_now();
		err = subject->run(subject->context, batch);
		if (err)
			return err;
		subject->us[i] = (perf_now() - start) * 1e6 / batch;
	}
	return 0;
}

/* Takes the first samples, which tell how many there is time for. */
static int take_first(const struct perf_subject *subject, const struct perf_effort *effort,
		      enum perf_buffers buffers, int batch, int *samples)
{
	double start = perf_now();
	int err = take(subject, effort->rest_s, buffers, batch, 0, LEAST_SAMPLES);
	double seconds = perf_now() - start;
	if (!err)
		err = subject->max(subject->context, &seconds, 1);
	*samples = within(LEAST_SAMPLES * effort->seconds / seconds, LEAST_SAMPLES, effort->samples);
	return err;
}

static struct perf_times summarize(double *us, int samples, int batch)
{
	perf_sort(us, samples);
	return (struct perf_times){
		.median = perf_quantile(us, samples, 0.5),
		.p10 = perf_quantile(us, samples, 0.1),
		.p90 = perf_quantile(us, samples, 0.9),
		.p99 = perf_quantile(us, samples, 0.99),
		.min = us[0],
		.max = us[samples - 1],
		.samples = samples,
		.calls_per_sample = batch,
	};
}

static int sample(const struct perf_subject *subject, const struct perf_effort *effort,
		  enum perf_buffers buffers, int batch, struct perf_times *times)
{
	int samples = effort->samples, taken = 0, err = 0;
	if (effort->seconds > 0 && samples > LEAST_SAMPLES) {
		taken = LEAST_SAMPLES;
		err = take_first(subject, effort, buffers, batch, &samples);
	}
	if (!err)
		err = take(subject, effort->rest_s, buffers, batch, taken, samples);
	if (!err)
		err = subject->max(subject->context, subject->us, samples);
	if (!err)
		*times = summarize(subject->us, samples, batch);
	return err;
}

int perf_sample(const struct perf_subject *subject, const struct perf_effort *effort,
		struct perf_times times[PERF_BUFFERS])
{
	int batch;
	int err = warm_up(subject, effort, &batch);
	if (effort->wanted[PERF_HOT] && !err)
		err = sample(subject, effort, PERF_HOT, batch, &times[PERF_HOT]);
	if (effort->wanted[PERF_FRESH] && !err)
		err = sample(subject, effort, PERF_FRESH, 1, &times[PERF_FRESH]);
	return err;
}
