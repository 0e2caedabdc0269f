/* SPDX-License-Identifier: MIT */
/*
 * A time begins once all ranks are there. It is the time of a batch of back-to-back calls, or of
 * one call on a fresh input, minus the time that reading the clock takes. A sample is one such
 * time; where a single call is so short that the clock's steps would show, it is the mean of
 * several. Ranks agree on all numbers of calls.
 */
#include "sampling.h"

#include <time.h>
#include <unistd.h>

#include "samples.h"

#define BATCH_SECONDS 200e-6
#define BATCH_CALLS 1000

#define SINGLES_SECONDS 3e-6 /* of a sample: 300 steps of a clock that advances by 10 ns */

#define CLOCK_ROUNDS 10
#define CLOCK_READS 100
#define LEAST_US 0.001 /* if reading the clock seems to take longer than the call */

#define LEAD_SECONDS 30e-6 /* enough for a few ranks to agree when to begin */

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

/* A sample is the mean of `times` times, each of `batch` calls back to back. */
struct dose {
	int times, batch;
	bool roomy; /* each rank has a CPU, so all begin at the same time */
};

/* Seconds from one reading of the clock to the next, undisturbed. */
static double clock_takes(void)
{
	double least = 1;
	for (int round = 0; round < CLOCK_ROUNDS; round++) {
		double start = perf_now(), end = start;
		for (int i = 0; i < CLOCK_READS; i++)
			end = perf_now();
		if ((end - start) / CLOCK_READS < least)
			least = (end - start) / CLOCK_READS;
	}
	return least;
}

/* Whether every host has as many CPUs as there are ranks. */
static int agree_on_room(const struct perf_subject *subject, bool *roomy)
{
	double lacking = subject->ranks - (double)sysconf(_SC_NPROCESSORS_ONLN);
	int err = subject->max(subject->context, &lacking, 1);
	*roomy = lacking <= 0;
	return err;
}

/*
 * Makes rounds of 1, 2, 4, ... calls until they have taken long enough. The fastest round tells how
 * long a call takes: in others two ranks may have shared a CPU, or connections been opened.
 */
static int warm_up(const struct perf_subject *subject, const struct perf_effort *effort,
		   struct dose doses[PERF_BUFFERS])
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
	bool roomy = false;
	if (!err)
		err = agree_on_room(subject, &roomy);
	doses[PERF_HOT] = (struct dose){1, within(batch_calls, 1, BATCH_CALLS), roomy};
	doses[PERF_FRESH] = (struct dose){
		within(batch_calls * SINGLES_SECONDS / BATCH_SECONDS, 1, PERF_TIMES), 1, roomy};
	return err;
}

static void rest(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds};
	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) < 0)
		continue;
}

/*
 * Ranks may leave a barrier one after the other. A late rank has then waited in the barrier, and
 * waits less in the call: Open MPI's barrier over TCP let receivers go 2.4 us after root, and a
 * broadcast of 8 B takes 5. So where each rank has a CPU they begin at a time that they agree on,
 * unless their clocks tell different times. The barrier comes first: over slow links that time has
 * passed when they have agreed, and who asked late would begin late.
 */
static int begin(const struct perf_subject *subject, bool roomy)
{
	int err = subject->barrier(subject->context);
	if (!roomy || err)
		return err;
	double at = perf_now() + LEAD_SECONDS;
	err = subject->max(subject->context, &at, 1);
	bool one_clock = at < perf_now() + LEAD_SECONDS;
	while (one_clock && perf_now() < at)
		continue;
	return err;
}

/* Takes one time, in microseconds per call. */
static int take(const struct perf_subject *subject, const struct perf_effort *effort,
		enum perf_buffers buffers, struct dose dose, double *us)
{
	int err = 0;
	if (buffers == PERF_FRESH) /* no rank may be in a call while inputs are rewritten */
		err = subject->barrier(subject->context);
	if (buffers == PERF_FRESH && !err)
		err = subject->refresh(subject->context);
	if (!err && effort->rest_s > 0)
		rest(effort->rest_s);
	if (!err)
		err = begin(subject, dose.roomy);
	if (err)
		return err;
	double start = perf_now();
	err = subject->run(subject->context, dose.batch);
	*us = (perf_now() - start) * 1e6 / dose.batch;
	return err;
}

/* Takes the times of the samples from `first` to below `end`. */
static int take_all(const struct perf_subject *subject, const struct perf_effort *effort,
		    enum perf_buffers buffers, struct dose dose, int first, int end)
{
	int err = 0;
	for (int i = first * dose.times; i < end * dose.times && !err; i++)
		err = take(subject, effort, buffers, dose, &subject->us[i]);
	return err;
}

/* Takes the first samples, and decides by them how many there is time for. */
static int take_first(const struct perf_subject *subject, const struct perf_effort *effort,
		      enum perf_buffers buffers, struct dose dose, int *samples)
{
	double start = perf_now();
	int err = take_all(subject, effort, buffers, dose, 0, LEAST_SAMPLES);
	double seconds = perf_now() - start;
	if (!err)
		err = subject->max(subject->context, &seconds, 1);
	*samples = within(LEAST_SAMPLES * effort->seconds / seconds, LEAST_SAMPLES, effort->samples);
	return err;
}

/* Makes a sample of its times: their mean, minus the clock's share. */
static void average(double *us, int samples, struct dose dose)
{
	double clock_us = clock_takes() * 1e6 / dose.batch;
	for (int i = 0; i < samples; i++) {
		double sum = 0;
		for (int j = 0; j < dose.times; j++)
			sum += us[i * dose.times + j];
		us[i] = larger(sum / dose.times - clock_us, LEAST_US);
	}
}

static struct perf_times summarize(double *us, int samples, struct dose dose)
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
		.calls_per_sample = dose.times * dose.batch,
	};
}

static int sample(const struct perf_subject *subject, const struct perf_effort *effort,
		  enum perf_buffers buffers, struct dose dose, struct perf_times *times)
{
	int samples = effort->samples, taken = 0, err = 0;
	if (effort->seconds > 0 && samples > LEAST_SAMPLES) {
		taken = LEAST_SAMPLES;
		err = take_first(subject, effort, buffers, dose, &samples);
	}
	if (!err)
		err = take_all(subject, effort, buffers, dose, taken, samples);
	if (!err)
		err = subject->max(subject->context, subject->us, samples * dose.times);
	if (err)
		return err;
	average(subject->us, samples, dose);
	*times = summarize(subject->us, samples, dose);
	return 0;
}

int perf_sample(const struct perf_subject *subject, const struct perf_effort *effort,
		struct perf_times times[PERF_BUFFERS])
{
	struct dose doses[PERF_BUFFERS];
	int err = warm_up(subject, effort, doses);
	for (int kind = 0; kind < PERF_BUFFERS && !err; kind++)
		if (effort->wanted[kind])
			err = sample(subject, effort, (enum perf_buffers)kind, doses[kind],
				     &times[kind]);
	return err;
}
