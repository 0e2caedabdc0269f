/* SPDX-License-Identifier: MIT */
/*
 * Times calls, this library's and those of the libraries that it is compared with: warming up,
 * batches, samples, the slowest rank. The subject knows what is called and how ranks meet.
 */
#ifndef PERF_SAMPLING_H
#define PERF_SAMPLING_H

#include <stdbool.h>

/*
 * Hot: nothing touches the buffers between calls. Fresh: the input is rewritten before each, as in
 * training.
 */
enum perf_buffers { PERF_HOT, PERF_FRESH, PERF_BUFFERS };

extern const char *const perf_buffers_names[PERF_BUFFERS];

/* How much is measured; equal on all ranks. */
struct perf_effort {
	bool wanted[PERF_BUFFERS];
	int warmup;     /* calls before anything is timed                                     */
	int samples;    /* of each kind of buffers                                            */
	double seconds; /* not 0: only as many samples as fit; a tenth of it warms up */
	double rest_s;  /* idle time before each sample */
};

#define PERF_TIMES 32 /* the most times that a sample is the mean of */

/* Microseconds per call; each time is the slowest rank's. */
struct perf_times {
	double median, p10, p90, p99, min, max;
	int samples, calls_per_sample;
};

/*
 * What is measured. All ranks call each function; an error that one returns ends the measurement.
 */
struct perf_subject {
	void *context;
	int ranks;
	int (*run)(void *context, int calls);
	int (*refresh)(void *context); /* rewrites the input */
	int (*barrier)(void *context);
	int (*max)(void *context, double *values, int count); /* over all ranks, to all */
	double *us; /* room for PERF_TIMES times the samples of one kind of buffers */
};

/* Fills in the times of the kinds that are wanted. Collective. returns 0, or the subject's error */
int perf_sample(const struct perf_subject *subject, const struct perf_effort *effort,
		struct perf_times times[PERF_BUFFERS]);

#endif
