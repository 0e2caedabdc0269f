/* SPDX-License-Identifier: MIT */
/*
 * Paced links take the time that they should, and a rank that waits for them leaves the CPU alone.
 * Nothing is ever faster than the formula; the best of several calls is hardly slower, but for
 * what others had the CPUs for in every one of them. What is computed and counted is as without them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/harness.h"

#define RANKS 4
#define BYTES_PER_S 100e6
#define CALLS_LEAST 5
#define CALLS_MOST 100 /* on a machine that is now and then busy elsewhere */
#define SLOWER 1.15    /* than the formula at most, at best ... */
#define SKEWED 2       /* ... where a rank that comes late holds up two others */
#define BUSY 0.2       /* of its time at most, in the call that left the CPU alone best */

struct board {
	double start[RANKS], end[RANKS];
	double kept[RANKS]; /* seconds that a rank was ready to run, and others had the CPUs */
	double busy[RANKS]; /* the least share of a CPU that a call took of it */
};

struct job {
	const char *name, *link;
	double latency_s;
	size_t count; /* floats of a rank's block */
	size_t chunk_bytes;
	int (*call)(struct ring_comm *comm, const float *send, float *recv, size_t count);
	double (*formula_s)(const struct job *job);
	double slower;
	bool idle; /* the call's own work is so little that its CPU time is that of waiting */
};

static int reduce_all(struct ring_comm *comm, const float *send, float *recv, size_t count)
{
	return ring_all_reduce(comm, send, recv, RANKS * count, RING_FLOAT32, RING_SUM, NULL);
}

static int gather_at_0(struct ring_comm *comm, const float *send, float *recv, size_t count)
{
	return ring_gather(comm, send, recv, count, RING_FLOAT32, 0, NULL);
}

static int exchange_all(struct ring_comm *comm, const float *send, float *recv, size_t count)
{
	return ring_all_to_all(comm, send, recv, count, RING_FLOAT32, NULL);
}

static double block_s(const struct job *job)
{
	return (double)(job->count * sizeof(float)) / BYTES_PER_S;
}

/* A block waits until the one before is there; cut in pieces, it waits for the wire alone. */
static double whole_s(const struct job *job)
{
	return 2 * (RANKS - 1) * (job->latency_s + block_s(job));
}

static double pieces_s(const struct job *job)
{
	return job->latency_s + 2 * (RANKS - 1) * block_s(job);
}

/* The other blocks pass one wire: that to the root, or that of each rank. */
static double wire_s(const struct job *job)
{
	return job->latency_s + (RANKS - 1) * block_s(job);
}

static const struct job jobs[] = {
	{"all_reduce", "100MB/s,20us", 20e-6, 1 << 17, 1 << 19, reduce_all, whole_s, SLOWER, true},
	{"all_reduce, in pieces", "100MB/s,0.1ms", 1e-4, 1 << 19, 1 << 17, reduce_all, pieces_s,
	 SLOWER, false},
	{"all_reduce, one float", "100MB/s,5ms", 5e-3, 1, 1 << 17, reduce_all, whole_s, SLOWER, true},
	{"gather", "0.8Gbit/s,20us", 20e-6, 1 << 18, 1 << 17, gather_at_0, wire_s, SLOWER, false},
	{"all_to_all", "100MB/s,20us", 20e-6, 1 << 18, 1 << 17, exchange_all, wire_s, SKEWED, false},
};
#define JOBS (sizeof(jobs) / sizeof(jobs[0]))

static double cpu_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Seconds that this thread was ready to run, but others had the CPUs; 0 where the kernel does not count. */
static double kept_so_far_s(void)
{
	unsigned long long ran_ns, kept_ns = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	if (file && fscanf(file, "%llu %llu", &ran_ns, &kept_ns) != 2)
		kept_ns = 0;
	if (file)
		fclose(file);
	return 1e-9 * (double)kept_ns;
}

struct times {
	double all_s;  /* from the first rank's start to the last one's end */
	double kept_s; /* what all ranks together were kept from the CPUs meanwhile, at most */
};

/* Makes one call on all ranks. returns its error */
static int time_call(struct harness_rank *self, struct ring_comm *comm, const struct job *job,
		     const float *send, float *recv, struct times *times)
{
	struct board *board = self->shared;
	harness_barrier(self);
	double kept = kept_so_far_s(), start = harness_clock();
	int err = job->call(comm, send, recv, job->count);
	double end = harness_clock();
	board->start[self->rank] = start;
	board->end[self->rank] = end;
	board->kept[self->rank] = kept_so_far_s() - kept;
	harness_barrier(self);
	*times = (struct times){0};
	for (int r = 0; r < self->size; r++) {
		start = board->start[r] < start ? board->start[r] : start;
		end = board->end[r] > end ? board->end[r] : end;
		times->kept_s += board->kept[r];
	}
	times->all_s = end - start;
	return err;
}

/* Of the rank that was busiest. */
static double share_busy(struct harness_rank *self, double busy)
{
	struct board *board = self->shared;
	board->busy[self->rank] = busy;
	harness_barrier(self);
	for (int r = 0; r < self->size; r++)
		busy = board->busy[r] > busy ? board->busy[r] : busy;
	return busy;
}

static int check_times(struct harness_rank *self, struct ring_comm *comm, const struct job *job,
		       const float *send, float *recv)
{
	double formula_s = job->formula_s(job), most_s = job->slower * formula_s;
	double best_s = 1e9, kept_s = 1e9, least = 1, busy = 1;
	for (int i = 0; i < CALLS_LEAST ||
			(i < CALLS_MOST && (best_s - kept_s > most_s || (job->idle && busy > BUSY)));
	     i++) {
		struct times times;
		double cpu = cpu_s();
		if (time_call(self, comm, job, send, recv, &times))
			return harness_fail(self, "%s: %s", job->name, ring_comm_error(comm));
		double share = (cpu_s() - cpu) / times.all_s;
		least = share < least ? share : least;
		busy = share_busy(self, least);
		best_s = times.all_s < best_s ? times.all_s : best_s;
		kept_s = times.kept_s < kept_s ? times.kept_s : kept_s;
	}
	if (self->rank == 0)
		printf("%-22s %-8s %8.3f ms, formula %8.3f ms, CPU %4.1f %%\n", job->name,
		       self->team->world->name, 1e3 * best_s, 1e3 * formula_s, 100 * busy);
	if (best_s < formula_s)
		return harness_fail(self, "%s took %.6f s, less than %.6f", job->name, best_s,
				    formula_s);
	if (best_s - kept_s > most_s)
		return harness_fail(self, "%s took %.6f s, not %.6f; others had the CPUs for %.6f",
				    job->name, best_s, formula_s, kept_s);
	if (job->idle && busy > BUSY)
		return harness_fail(self, "%s: waiting took %.1f %% of a CPU", job->name,
				    100 * busy);
	return 0;
}

/* The same bits and the same payload as without pacing. */
static int check_alike(struct harness_rank *self, struct ring_comm *comms[2], const struct job *job,
		       const float *send, float *recvs[2])
{
	struct ring_stats stats[2] = {{.size = sizeof(stats[0])}, {.size = sizeof(stats[1])}};
	size_t bytes = RANKS * job->count * sizeof(float);
	for (int i = 0; i < 2; i++) {
		struct ring_stats before = {.size = sizeof(before)};
		memset(recvs[i], 0, bytes);
		if (ring_comm_stats(comms[i], &before) ||
		    job->call(comms[i], send, recvs[i], job->count) ||
		    ring_comm_stats(comms[i], &stats[i]))
			return harness_fail(self, "%s: %s", job->name, ring_comm_error(comms[i]));
		stats[i].sent_bytes -= before.sent_bytes;
		stats[i].received_bytes -= before.received_bytes;
	}
	if (memcmp(recvs[0], recvs[1], bytes))
		return harness_fail(self, "%s: other bits than without pacing", job->name);
	if (stats[0].sent_bytes != stats[1].sent_bytes ||
	    stats[0].received_bytes != stats[1].received_bytes)
		return harness_fail(self, "%s: sent %llu bytes, without pacing %llu", job->name,
				    (unsigned long long)stats[1].sent_bytes,
				    (unsigned long long)stats[0].sent_bytes);
	return 0;
}

static int join_both(struct harness_rank *self, const struct job *job, struct ring_comm *comms[2])
{
	struct ring_options options;
	harness_options(self, &options);
	options.chunk_bytes = job->chunk_bytes;
	options.algorithm = "ring"; /* whose formulas these are */
	if (harness_join(self, &options, &comms[0]))
		return 1;
	options.link = job->link;
	return harness_join(self, &options, &comms[1]);
}

static int be_rank(struct harness_rank *self)
{
	const struct job *job = self->context;
	size_t count = RANKS * job->count;
	float *send = malloc(count * sizeof(float));
	float *recvs[2] = {malloc(count * sizeof(float)), malloc(count * sizeof(float))};
	struct ring_comm *comms[2] = {NULL, NULL};
	uint64_t state = (uint64_t)self->rank;
	int bad = !send || !recvs[0] || !recvs[1] || join_both(self, job, comms);
	for (size_t i = 0; !bad && i < count; i++)
		send[i] = (float)(harness_random(&state) >> 40) * 1e-5f;
	bad = bad || check_alike(self, comms, job, send, recvs) ||
	      check_times(self, comms[1], job, send, recvs[1]);
	ring_comm_destroy(comms[1]);
	ring_comm_destroy(comms[0]);
	free(send);
	free(recvs[0]);
	free(recvs[1]);
	return bad;
}

int main(void)
{
	for (int w = 0; w < HARNESS_WORLDS; w++)
		for (size_t j = 0; j < JOBS; j++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = RANKS,
					       .body = be_rank,
					       .context = (void *)&jobs[j],
					       .shared_bytes = sizeof(struct board)};
			snprintf(team.label, sizeof(team.label), "%s, %s", jobs[j].name,
				 jobs[j].link);
			if (harness_run(&team))
				return 1;
		}
	return 0;
}
