/* SPDX-License-Identifier: MIT */
/*
 * How times come about, of this library's calls and of those that it is compared with: warming up, batches,
 * samples, the slowest rank. What is called, and how ranks meet, is the subject's business.
 */
#ifndef PERF_SAMPLING_H
#define PERF_SAMPLING_H

#include <stdbool.h>

/* Buffers that nobody touches between calls; inputs that are rewritten before each, as training does. */
enum perf_buffers { PERF_HOT, PERF_FRESH, PERF_BUFFERS };

extern const char *const perf_buffers_names[PERF_BUFFERS];

/* How much is measured, alike on all ranks. */
struct perf_effort {
	bool wanted[PERF_BUFFERS];
	int warmup;     /* calls before anything is timed                                     */
	int samples;    /* of each kind of buffers                                            */
	double seconds; /* 0, or: only as many samples as fit, and a tenth of that to warm up */
	double rest_s;  /* idle before each sample */
};

#define PERF_TIMES 32 /* a sample is the mean of so many times at most */

/* Microseconds of one call; each time is the slowest rank's. */
struct perf_times {
	double median, p10, p90, p99, min, max;
	int samples, calls_per_sample;
};

/* What is measured. All ranks call each of these; they return 0, or what ends the measurement. */
struct perf_subject {
	void *context;
	int ranks;
	int (*run)(void *context, int calls);
	int (*refresh)(void *context); /* rewrites the input */
	int (*barrier)(void *context);
	int (*max)(void *context, double *values, int count); /* over all ranks, to all */
	double *us; /* room for PERF_TIMES times as many as there are samples of one kind of buffers */
};

/* Fills in the times of the kinds that are wanted. Collective. returns 0, or what a part of the subject did */
int perf_sample(const struct perf_subject *subject, const struct perf_effort *effort,
		struct perf_times times[PERF_BUFFERS]);

#endif
