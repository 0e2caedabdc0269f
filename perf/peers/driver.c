/* SPDX-License-Identifier: MIT */
/*
 * Measures a peer as ring_perf measures this library, by the same sampling.c. Then, if CHECKS is
 * not 0, compares every element with exact integers.
 *
 *	driver time COLLECTIVE BYTES,BYTES,... hot|fresh|both SAMPLES WARMUP SECONDS REST \
 *		CHECKS [ALGORITHM]
 *	driver first SECONDS    milliseconds since that time of the clock until the first result
 *
 * Rank 0 writes CSV with ring_perf's column names.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/limits/samples.h"
#include "perf/limits/sampling.h"
#include "peer.h"

#define PERIOD 1009 /* inputs repeat; a prime, so that the parts of ranks differ */
#define POISON 1e9f
#define SUM (-1) /* an origin: the sum of all ranks' inputs */

/* Small enough that sums over all ranks are exact. */
static float value(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 13) % PERIOD);
}

static float expected(int origin, int size, size_t i)
{
	if (origin != SUM)
		return value(origin, i);
	float sum = 0;
	for (int rank = 0; rank < size; rank++)
		sum += value(rank, i);
	return sum;
}

static bool is(const struct job *job, const char *collective)
{
	return strcmp(job->collective, collective) == 0;
}

static size_t own_part(const struct job *job)
{
	return (size_t)job->rank * job->part;
}

/* A rank's input: elements [*first, *first + *count) of its vector. */
static void input_of(const struct job *job, size_t *first, size_t *count)
{
	*first = is(job, "all_gather") ? own_part(job) : 0;
	*count = is(job, "all_gather") ? job->part : job->count;
	if (is(job, "broadcast") && job->rank != 0)
		*count = 0;
}

/* Counts elements of `result` that differ from those of `origin` from element `first` on. */
static uint64_t compare(const struct job *job, const float *result, int origin, size_t first,
			size_t count)
{
	float period[PERIOD];
	uint64_t wrong = 0;
	for (size_t i = 0; i < PERIOD; i++)
		period[i] = expected(origin, job->size, i);
	for (size_t i = 0; i < count; i++)
		wrong += result[i] != period[(first + i) % PERIOD];
	return wrong;
}

static uint64_t compare_parts(const struct job *job)
{
	uint64_t wrong = 0;
	for (int rank = 0; rank < job->size; rank++) {
		size_t part = (size_t)rank * job->part;
		if (is(job, "all_gather"))
			wrong += compare(job, job->data + part, rank, part, job->part);
		else
			wrong += compare(job, job->result + part, rank, own_part(job), job->part);
	}
	return wrong;
}

static uint64_t compare_all(const struct job *job)
{
	if (is(job, "all_gather") || is(job, "all_to_all"))
		return compare_parts(job);
	if (is(job, "reduce_scatter"))
		return compare(job, job->data, SUM, own_part(job), job->part);
	return compare(job, job->data, is(job, "broadcast") ? 0 : SUM, 0, job->count);
}

/* Makes one call; returns how many elements are wrong on the worst rank. */
static double check(const struct job *job)
{
	size_t first, count;
	input_of(job, &first, &count);
	for (size_t i = 0; i < job->count; i++)
		job->data[i] = job->result[i] = POISON;
	for (size_t i = first; i < first + count; i++)
		job->data[i] = value(job->rank, i);
	peer_call(job);
	double wrong = (double)compare_all(job);
	peer_max(&wrong, 1);
	return wrong;
}

/* ---- what sampling.h measures ---------------------------------------------------------------- */

static int run(void *job, int calls)
{
	for (int i = 0; i < calls; i++)
		peer_call(job);
	return 0;
}

static int refresh(void *context)
{
	const struct job *job = context;
	size_t first, count;
	input_of(job, &first, &count);
	memset(job->data + first, 0, count * sizeof(float));
	return 0;
}

static int barrier(void *job)
{
	(void)job;
	peer_barrier();
	return 0;
}

static int max(void *job, double *values, int count)
{
	(void)job;
	peer_max(values, count);
	return 0;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void print_times(const struct job *job, size_t bytes, enum perf_buffers buffers,
			const struct perf_times *times, double wrong)
{
	printf("%s,%zu,%d,%s,%.4f,%.4f,%.4f,%d,%d,%.0f\n", job->collective, bytes, job->size,
	       perf_buffers_names[buffers], times->median, times->min, times->max, times->samples,
	       times->calls_per_sample, wrong);
}

/* Measures one call. Prints its rows at once, in case the next call never ends. */
static void measure(struct job *job, size_t bytes, const struct perf_effort *effort, bool checks)
{
	struct perf_subject subject = {
		.context = job,
		.ranks = job->size,
		.run = run,
		.refresh = refresh,
		.barrier = barrier,
		.max = max,
		.us = calloc((size_t)effort->samples * PERF_TIMES, sizeof(double)),
	};
	if (!subject.us)
		abort();
	struct perf_times times[PERF_BUFFERS];
	memset(job->data, 0, job->count * sizeof(float));
	memset(job->result, 0, job->count * sizeof(float));
	perf_sample(&subject, effort, times);
	double wrong = checks ? check(job) : 0;
	for (int kind = 0; kind < PERF_BUFFERS && job->rank == 0; kind++)
		if (effort->wanted[kind])
			print_times(job, bytes, (enum perf_buffers)kind, &times[kind], wrong);
	fflush(stdout);
	free(subject.us);
}

/* Prints when the slowest rank had its first result, and how long the ranks took to meet. */
static void measure_first(const struct job *job, double launched, double started, double joined)
{
	peer_call(job);
	double ms[2] = {(perf_now() - launched) * 1e3, (joined - started) * 1e3};
	peer_max(ms, 2);
	if (job->rank == 0)
		printf("ranks,first_ms,join_ms\n%d,%.3f,%.3f\n", job->size, ms[0], ms[1]);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void set_bytes(struct job *job, size_t bytes)
{
	bool has_parts = !is(job, "all_reduce") && !is(job, "broadcast");
	size_t parts = has_parts ? (size_t)job->size : 1;
	job->part = bytes / (parts * sizeof(float));
	job->part = job->part > 0 ? job->part : 1; /* as ring_perf does */
	job->count = job->part * parts;
}

__attribute__((weak)) void *peer_alloc(const char *algorithm, size_t bytes)
{
	(void)algorithm;
	(void)bytes;
	return NULL;
}

static float *map_floats(const char *algorithm, size_t count)
{
	size_t bytes = (count * sizeof(float) + 4095) / 4096 * 4096;
	float *floats = peer_alloc(algorithm, bytes);
	if (!floats)
		floats = aligned_alloc(4096, bytes);
	if (!floats)
		abort();
	memset(floats, 0, bytes);
	return floats;
}

/* Makes a job for calls of up to `bytes`. As in ring_perf, all sizes use the same memory. */
static struct job make_job(int rank, int size, const char *collective, size_t bytes,
			   const char *algorithm)
{
	struct job job = {
		.collective = collective, .algorithm = algorithm, .rank = rank, .size = size};
	set_bytes(&job, bytes);
	job.data = map_floats(algorithm, job.count);
	job.result = map_floats(algorithm, job.count);
	return job;
}

static bool prepare(const struct job *job)
{
	bool can = peer_prepare(job);
	if (!can)
		fprintf(stderr, "driver: no %s %s here\n", job->algorithm, job->collective);
	return can;
}

static bool measure_sizes(struct job *job, char **argv)
{
	const struct perf_effort effort = {
		.wanted = {strcmp(argv[4], "fresh") != 0, strcmp(argv[4], "hot") != 0},
		.samples = atoi(argv[5]),
		.warmup = atoi(argv[6]),
		.seconds = strtod(argv[7], NULL),
		.rest_s = strtod(argv[8], NULL),
	};
	if (job->rank == 0)
		puts("collective,size,ranks,buffers,time_us,min_us,max_us,samples,calls_per_sample,"
		     "nwrong");
	for (char *at = argv[3]; *at; at += *at == ',') {
		size_t bytes = strtoull(at, &at, 10);
		set_bytes(job, bytes);
		if (!prepare(job))
			return false;
		measure(job, bytes, &effort, atoi(argv[9]) > 0);
	}
	return true;
}

static size_t last_size(const char *sizes)
{
	const char *comma = strrchr(sizes, ',');
	return strtoull(comma ? comma + 1 : sizes, NULL, 10);
}

int main(int argc, char **argv)
{
	bool first = argc == 3 && strcmp(argv[1], "first") == 0;
	if (!first && (argc < 10 || strcmp(argv[1], "time") != 0)) {
		fprintf(stderr, "driver: see driver.c\n");
		return 2;
	}
	int rank, size;
	double started = perf_now();
	peer_join(&rank, &size);
	double joined = perf_now();
	struct job job = first ? make_job(rank, size, "all_reduce", 8, "")
			       : make_job(rank, size, argv[2], last_size(argv[3]),
					  argc > 10 ? argv[10] : "");
	bool can = first ? prepare(&job) : measure_sizes(&job, argv);
	if (can && first)
		measure_first(&job, strtod(argv[2], NULL), started, joined);
	peer_leave();
	return can ? 0 : 3;
}
