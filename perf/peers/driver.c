/* SPDX-License-Identifier: MIT */
/*
 * Measures a peer as ring_perf measures this library: samples that begin at a barrier, batches of calls
 * on hot buffers or single calls on fresh ones, the slowest rank's time, the median; and compares every
 * element with exact integers before and after.
 *
 *	driver time COLLECTIVE BYTES hot|fresh SAMPLES WARMUP [ALGORITHM]
 *	driver first SECONDS    milliseconds since that time of the clock until the first result
 *
 * Rank 0 writes CSV with ring_perf's column names.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../samples.h"
#include "peer.h"

#define PERIOD 1009 /* inputs repeat; a prime, so that parts of ranks do not */
#define POISON 1e9f
#define SUM (-1) /* an origin: all ranks' inputs added up */

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

/* What a rank brings: [*first, *first + *count) of its vector. */
static void input_of(const struct job *job, size_t *first, size_t *count)
{
	*first = is(job, "all_gather") ? own_part(job) : 0;
	*count = is(job, "all_gather") ? job->part : job->count;
	if (is(job, "broadcast") && job->rank != 0)
		*count = 0;
}

/* Counts elements of `result` that are not what `origin` has from element `first` on. */
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

static void run(const struct job *job, int calls)
{
	for (int i = 0; i < calls; i++)
		peer_call(job);
}

static int choose_batch(const struct job *job, bool fresh, int warmup)
{
	const int probes = 3;
	run(job, warmup);
	if (fresh)
		return 1;
	double seconds = perf_now();
	run(job, probes);
	seconds = (perf_now() - seconds) / probes;
	peer_max(&seconds, 1);
	return perf_batch_calls(seconds);
}

static void refresh(const struct job *job)
{
	size_t first, count;
	input_of(job, &first, &count);
	peer_barrier();
	memset(job->data + first, 0, count * sizeof(float));
}

static void measure(const struct job *job, bool fresh, int samples, int warmup)
{
	double *us = calloc((size_t)samples, sizeof(*us));
	if (!us)
		abort();
	double wrong = check(job);
	memset(job->data, 0, job->count * sizeof(float));
	memset(job->result, 0, job->count * sizeof(float));
	int batch = choose_batch(job, fresh, warmup);
	for (int i = 0; i < samples; i++) {
		if (fresh)
			refresh(job);
		peer_barrier();
		double start = perf_now();
		run(job, batch);
		us[i] = (perf_now() - start) * 1e6 / batch;
	}
	peer_max(us, samples);
	perf_sort(us, samples);
	wrong += check(job);
	if (job->rank == 0)
		printf("collective,size,ranks,buffers,time_us,min_us,max_us,samples,"
		       "calls_per_sample,nwrong\n%s,%zu,%d,%s,%.4f,%.4f,%.4f,%d,%d,%.0f\n",
		       job->collective, job->count * sizeof(float), job->size,
		       fresh ? "fresh" : "hot", perf_quantile(us, samples, 0.5), us[0],
		       us[samples - 1], samples, batch, wrong);
	free(us);
}

/* When the slowest rank had its first result, and how long it took to meet the others. */
static void measure_first(const struct job *job, double launched, double started, double joined)
{
	peer_call(job);
	double ms[2] = {(perf_now() - launched) * 1e3, (joined - started) * 1e3};
	peer_max(ms, 2);
	if (job->rank == 0)
		printf("ranks,first_ms,join_ms\n%d,%.3f,%.3f\n", job->size, ms[0], ms[1]);
}

static struct job make_job(int rank, int size, const char *collective, size_t bytes,
			   const char *algorithm)
{
	struct job job = {
		.collective = collective, .algorithm = algorithm, .rank = rank, .size = size};
	bool has_parts = !is(&job, "all_reduce") && !is(&job, "broadcast");
	size_t parts = has_parts ? (size_t)size : 1;
	job.part = bytes / (parts * sizeof(float));
	job.part = job.part > 0 ? job.part : 1; /* as ring_perf does */
	job.count = job.part * parts;
	job.data = aligned_alloc(4096, (job.count * sizeof(float) + 4095) / 4096 * 4096);
	job.result = aligned_alloc(4096, (job.count * sizeof(float) + 4095) / 4096 * 4096);
	if (!job.data || !job.result)
		abort();
	memset(job.data, 0, job.count * sizeof(float));
	return job;
}

int main(int argc, char **argv)
{
	bool first = argc == 3 && strcmp(argv[1], "first") == 0;
	if (!first && (argc < 7 || strcmp(argv[1], "time") != 0)) {
		fprintf(stderr, "driver: see driver.c\n");
		return 2;
	}
	int rank, size;
	double started = perf_now();
	peer_join(&rank, &size);
	double joined = perf_now();
	struct job job = first ? make_job(rank, size, "all_reduce", 8, "")
			       : make_job(rank, size, argv[2], strtoull(argv[3], NULL, 10),
					  argc > 7 ? argv[7] : "");
	bool can = peer_prepare(&job);
	if (can && first)
		measure_first(&job, strtod(argv[2], NULL), started, joined);
	else if (can)
		measure(&job, strcmp(argv[4], "fresh") == 0, atoi(argv[5]), atoi(argv[6]));
	else
		fprintf(stderr, "driver: no %s %s here\n", job.algorithm, job.collective);
	peer_leave();
	free(job.data);
	free(job.result);
	return can ? 0 : 3;
}
