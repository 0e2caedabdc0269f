/* SPDX-License-Identifier: MIT */
/*
 * Calls on CUDA streams that GPUs carry out by themselves: what launched_test tries, and
 * wired_test, which is made of the same for ranks that share no memory: pumps move what kernels
 * say, and all of it goes around the ring.
 */
#ifndef CUDA_LAUNCHED_H
#define CUDA_LAUNCHED_H

#include "bench.h"

#ifndef WORLD
#define WORLD 1 /* of the harness */
#endif
#define IS_WIRED (WORLD != 1)
#define RANKS 3
#define MOST ((size_t)64 << 10) /* bytes of a small call */
#define ROOM (4 * RANKS * MOST)
#define LARGE 40000     /* elements of one that is not */
#define TIMEOUT_MS 1500 /* much more than a rank comes behind another */

struct check {
	const char *name;
	int (*run)(struct bench *bench);
	size_t count;                         /* of its calls: a small one, or around the ring */
	int timeout_ms;                       /* 0: as ever */
	uint64_t doomed;                      /* ranks that die */
	bool races;                           /* another round may go otherwise */
	const char *engine;                   /* of rank 1, if not the others'; "": unset */
	int size;                             /* 0: RANKS */
	bool whole_chunks;                    /* as large as they are by default, not CHUNK */
	const char *algorithm, *order, *link; /* options */
	const char *fault;                    /* RING_FAKE_CUDA_FAIL, of all ranks ... */
	bool fails_alone;                     /* ... or rank 1 */
	const char *says;                     /* each rank warns of it */
	size_t lends;                         /* calls before, each on memory of its own */
	const char *limit;                    /* RING_FAKE_CUDA_LIMIT_MS, of all */
	const char *peers, *pins;             /* RING_FAKE_CUDA_PEERS, _PINS, the same */
	const char *apart, *locks;            /* RING_FAKE_CUDA_APART, _LOCKS */
	int world;                            /* 0: WORLD */
	bool threads;                         /* of one process, each with a device */
	int together;                         /* so many of each of several processes; 0: of one */
};

/* Those with the right results, and those that cannot go on; no name after the last. */
extern const struct check launched_results[], launched_ends[];

static inline int await(struct bench *bench, int stream)
{
	return ring_stream_wait(bench->streams[stream],
				ring_stream_position(bench->streams[stream]));
}

static inline int add(struct bench *bench, const void *from, void *to, size_t count,
		      struct ring_stream *stream)
{
	return ring_all_reduce(bench->comm, from, to, count, RING_INT32, RING_SUM, stream);
}

#endif
