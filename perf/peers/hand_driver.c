/* SPDX-License-Identifier: MIT */
/*
 * How fast a call could be on one host. Ranks move and add floats by hand, know beforehand what
 * each of them does, and check nothing. This is no library but the limit for one, in four ways:
 *
 *	mapped   all ranks map every vector: each adds its block of all, and writes the sum to all
 *	reached  process_vm_readv(2): each fetches its block of all, adds it, writes the sum back
 *	slots    all ranks map memory between them: each copies its vector in, and the sum out
 *	sockets  TCP, in hand_sockets.c
 *
 * A few bytes fit into the cache line of the count of calls, so that ranks wait only for that line.
 * This program forks DRIVER_RANKS ranks.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hand.h"
#include "hand_sockets.h"
#include "peer.h"

#define RANKS_MAX 64
#define FEW (HAND_LINE - sizeof(uint64_t)) /* bytes beside the count */
#define AREA_BYTES ((size_t)1 << 29)       /* per rank; only touched pages take memory */
#define CHUNK_FLOATS ((size_t)16384)

/* A rank may be a call ahead of another, so it writes to two lines in turn. */
struct line {
	_Alignas(HAND_LINE) _Atomic uint64_t call;
	float few[FEW / sizeof(float)];
};

struct place {
	_Alignas(HAND_LINE) _Atomic uint64_t arrived;
	double value;
	struct line lines[2];
	pid_t pid;
	float *data;
};

static struct place *places; /* [rank], all ranks' */
static char *areas;          /* [rank][AREA_BYTES], all ranks' */
static size_t area_used;
static int rank, size;
static bool crowded, has_sockets, by_sockets;
static uint64_t arrivals, calls;

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void pause_for_others(void)
{
	if (crowded)
		sched_yield();
#if defined(__x86_64__)
	else
		__builtin_ia32_pause();
#endif
}

/* pairs with: the release by which the other rank counts */
static void await(_Atomic uint64_t *count, uint64_t number)
{
	while (atomic_load_explicit(count, memory_order_acquire) < number)
		pause_for_others();
}

static void meet(void)
{
	arrivals++;
	atomic_store_explicit(&places[rank].arrived, arrivals, memory_order_release);
	for (int other = 0; other < size; other++)
		await(&places[other].arrived, arrivals);
}

/* ---- peer.h ---------------------------------------------------------------------------------- */

static void *map_for_all(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		fail("hand_driver: mmap");
	return memory;
}

void peer_join(int *my_rank, int *ranks)
{
	size = atoi(getenv("DRIVER_RANKS"));
	crowded = size > sysconf(_SC_NPROCESSORS_ONLN);
	places = map_for_all(RANKS_MAX * sizeof(*places));
	areas = map_for_all((size_t)size * AREA_BYTES);
	madvise(areas, (size_t)size * AREA_BYTES, MADV_HUGEPAGE);
	has_sockets = hand_sockets_connect(size);
	for (int child = 1; child < size && rank == 0; child++) {
		pid_t pid = fork();
		if (pid < 0)
			fail("hand_driver: fork");
		rank = pid == 0 ? child : 0;
	}
	if (rank > 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	places[rank].pid = getpid();
	meet();
	*my_rank = rank;
	*ranks = size;
}

void *peer_alloc(const char *algorithm, size_t bytes)
{
	char *memory = areas + (size_t)rank * AREA_BYTES + area_used;
	if (strcmp(algorithm, "mapped") != 0)
		return NULL;
	area_used += bytes;
	if (area_used > AREA_BYTES)
		fail("hand_driver: too large");
	return memory;
}

void peer_barrier(void)
{
	if (by_sockets)
		hand_sockets_meet();
	else
		meet();
}

void peer_max(double *values, int count)
{
	for (int i = 0; i < count; i++) {
		places[rank].value = values[i];
		meet();
		for (int other = 0; other < size; other++)
			if (places[other].value > values[i])
				values[i] = places[other].value;
		meet();
	}
}

void peer_leave(void)
{
	while (rank == 0 && wait(NULL) > 0)
		continue;
}

/* ---- moving and adding ----------------------------------------------------------------------- */

static void add_both(float *restrict a, float *restrict b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] = a[i] + b[i];
}

static void check_moved(ssize_t moved, const struct iovec *wanted, const char *what)
{
	if (moved != (ssize_t)wanted->iov_len)
		fail(what);
}

static void fetch(int other, const float *from, float *to, size_t count)
{
	struct iovec here = {to, count * sizeof(float)};
	struct iovec there = {(void *)from, count * sizeof(float)};
	check_moved(process_vm_readv(places[other].pid, &here, 1, &there, 1, 0), &here,
		    "hand_driver: process_vm_readv");
}

static void put(int other, float *to, const float *from, size_t count)
{
	struct iovec here = {(void *)from, count * sizeof(float)};
	struct iovec there = {to, count * sizeof(float)};
	check_moved(process_vm_writev(places[other].pid, &here, 1, &there, 1, 0), &here,
		    "hand_driver: process_vm_writev");
}

static float *area(int owner)
{
	return (float *)(areas + (size_t)owner * AREA_BYTES);
}

/* Adds a chunk of this rank's block from all vectors, and writes the sum to all. */
static void add_mapped(size_t first, size_t count)
{
	float *mine = places[0].data + first;
	if (size == 2) {
		add_both(mine, places[1].data + first, count);
		return;
	}
	for (int other = 1; other < size; other++)
		hand_add(mine, places[other].data + first, count);
	for (int other = 1; other < size; other++)
		memcpy(places[other].data + first, mine, count * sizeof(float));
}

static void reduce_mapped(const struct job *job)
{
	size_t begin, count = hand_block_of(job, rank, &begin), step = size == 2 ? count : 1024;
	meet();
	for (size_t done = 0; done < count; done += step)
		add_mapped(begin + done, count - done < step ? count - done : step);
	meet();
}

static void reduce_reached(const struct job *job)
{
	static float chunk[CHUNK_FLOATS];
	size_t begin, count = hand_block_of(job, rank, &begin), part;
	meet();
	for (size_t done = 0; done < count; done += part, begin += part) {
		part = count - done < CHUNK_FLOATS ? count - done : CHUNK_FLOATS;
		for (int k = 1; k < size; k++) {
			int other = (rank + k) % size;
			fetch(other, places[other].data + begin, chunk, part);
			hand_add(job->data + begin, chunk, part);
		}
		for (int k = 1; k < size; k++) {
			int other = (rank + k) % size;
			put(other, places[other].data + begin, job->data + begin, part);
		}
	}
	meet();
}

static void reduce_by_slots(const struct job *job)
{
	size_t begin, count = hand_block_of(job, rank, &begin);
	for (int owner = 0; owner < size; owner++) {
		size_t first, floats = hand_block_of(job, owner, &first);
		if (owner != rank)
			memcpy(area(rank) + first, job->data + first, floats * sizeof(float));
	}
	meet();
	for (int k = 1; k < size; k++)
		hand_add(job->data + begin, area((rank + k) % size) + begin, count);
	memcpy(area(rank) + begin, job->data + begin, count * sizeof(float));
	meet();
	for (int k = 1; k < size; k++) {
		int owner = (rank + k) % size;
		size_t first, floats = hand_block_of(job, owner, &first);
		memcpy(job->data + first, area(owner) + first, floats * sizeof(float));
	}
	meet();
}

static void gather_reached(const struct job *job)
{
	meet();
	for (int k = 1; k < size; k++) {
		int owner = (rank + k) % size;
		size_t begin = (size_t)owner * job->part;
		fetch(owner, places[owner].data + begin, job->data + begin, job->part);
	}
	meet();
}

static void exchange_reached(const struct job *job)
{
	size_t own = (size_t)rank * job->part;
	meet();
	for (int k = 1; k < size; k++) {
		int other = (rank + k) % size;
		fetch(other, places[other].data + own, job->result + (size_t)other * job->part,
		      job->part);
	}
	memcpy(job->result + own, job->data + own, job->part * sizeof(float));
	meet();
}

/* ---- few bytes ------------------------------------------------------------------------------- */

/* Writes a few floats to this rank's line. returns the line's index */
static int say(const float *few, size_t count)
{
	struct line *line = &places[rank].lines[++calls % 2];
	memcpy(line->few, few, count * sizeof(float));
	atomic_store_explicit(&line->call, calls, memory_order_release);
	return (int)(calls % 2);
}

static const float *hear(int other, int index)
{
	struct line *line = &places[other].lines[index];
	await(&line->call, calls);
	return line->few;
}

static void reduce_few(const struct job *job)
{
	int index = say(job->data, job->count);
	for (int k = 1; k < size; k++)
		hand_add(job->data, hear((rank + k) % size, index), job->count);
}

static void gather_few(const struct job *job)
{
	int index = say(job->data + (size_t)rank * job->part, job->part);
	for (int k = 1; k < size; k++) {
		int other = (rank + k) % size;
		memcpy(job->data + (size_t)other * job->part, hear(other, index),
		       job->part * sizeof(float));
	}
}

static void exchange_few(const struct job *job)
{
	size_t own = (size_t)rank * job->part;
	int index = say(job->data, job->count);
	for (int k = 1; k < size; k++) {
		int other = (rank + k) % size;
		memcpy(job->result + (size_t)other * job->part, hear(other, index) + own,
		       job->part * sizeof(float));
	}
	memcpy(job->result + own, job->data + own, job->part * sizeof(float));
}

/* ---- which call ------------------------------------------------------------------------------ */

static const struct {
	const char *collective, *algorithm;
	void (*few)(const struct job *job);
	void (*many)(const struct job *job);
} ways[] = {
	{"all_reduce", "mapped", reduce_few, reduce_mapped},
	{"all_reduce", "reached", reduce_few, reduce_reached},
	{"all_reduce", "slots", reduce_few, reduce_by_slots},
	{"all_gather", "reached", gather_few, gather_reached},
	{"all_to_all", "reached", exchange_few, exchange_reached},
	{"all_reduce", "sockets", hand_sockets_reduce, hand_sockets_reduce},
	{"broadcast", "sockets", hand_sockets_broadcast, hand_sockets_broadcast},
	{"all_to_all", "sockets", hand_sockets_exchange, hand_sockets_exchange},
};

static void (*call)(const struct job *job);

bool peer_prepare(const struct job *job)
{
	const bool asks_for_sockets = strcmp(job->algorithm, "sockets") == 0;
	call = NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].collective, job->collective) == 0 &&
		    strcmp(ways[i].algorithm, job->algorithm) == 0)
			call = job->count * sizeof(float) <= FEW ? ways[i].few : ways[i].many;
	}
	places[rank].data = job->data;
	by_sockets = asks_for_sockets && has_sockets;
	if (by_sockets)
		hand_sockets_begin(rank, size);
	meet();
	return call && by_sockets == asks_for_sockets;
}

void peer_call(const struct job *job)
{
	call(job);
}
