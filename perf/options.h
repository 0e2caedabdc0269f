/* SPDX-License-Identifier: MIT */
/*
 * The options of ring_perf. Those that nccl-tests has keep their letters.
 */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf/limits/sampling.h"
#include "tools/statuses.h"

#define PERF_ALL (-1)      /* for collective, type, op and root: each in turn */
#define PERF_MOST_SIZES 32 /* in a list                                       */

struct perf_options {
	int collective; /* index of perf_collectives, or PERF_ALL */
	int type;       /* index of perf_types, or PERF_ALL       */
	int op;         /* index of perf_ops, or PERF_ALL         */
	int root;       /* a rank, or PERF_ALL                    */

	size_t min_bytes, max_bytes;
	size_t step_bytes;             /* used if step_factor is 0 */
	double step_factor;            /* above 1, or 0            */
	size_t sizes[PERF_MOST_SIZES]; /* instead of steps, from small to large */
	int size_count;                /* how many sizes; 0: steps              */

	struct perf_effort effort; /* of each row and place                      */
	int checks;                /* checked calls of each row, fresh data each */
	uint64_t seed;
	bool random;        /* arbitrary floats, not exactly summable ones */
	bool stream;        /* call through a ring_stream                  */
	bool shared;        /* buffers from ring_mem_alloc                 */
	const char *device; /* that has the buffers: "cuda", or in turn "cuda,cpu"; NULL: host */
	int ranks_per_gpu;  /* how many neighbours share a GPU; 1 */
	bool in_place;      /* out of place only what has no in-place form */
	bool verdict;
	bool explain; /* says how calls are carried, and measures nothing */

	int ranks;           /* to start here; 0: the environment says, or two */
	bool threads;        /* ranks are threads of this process              */
	int nthreads, ngpus; /* ranks are nthreads threads times ngpus GPUs; 0: not given */

	const char *transport, *trace; /* as in struct ring_options; NULL */
	double timeout_s;              /* of creation and of each call; 0 leaves the defaults */
	const char *json, *csv;        /* files to write; NULL */
	const char *plot;              /* what the names of plots begin with; NULL */
	const char *compare;           /* the JSON of an earlier run; NULL */
	int cycles;                    /* how often all is measured; 0: without end */
	const char *tune;              /* numbers for RING_TUNING, instead of results; NULL */
	int ignored;                   /* what nccl-tests' other options said */
};

/*
 * Reads the command line. Complaints go to stderr.
 * returns   true to go on; else *status is the exit status
 */
bool perf_options_parse(struct perf_options *options, int argc, char **argv, int *status);

/* How many ranks -t and -g ask for, 0 if neither was given. */
int perf_options_grid(const struct perf_options *options);

/* Where a rank's buffers lie, as the option says; the length of the name. NULL: on the host */
const char *perf_options_device(const struct perf_options *options, int rank, int *length);

/* Some ranks' lie on the host, and others' do not, or they may. */
bool perf_options_mix_devices(const struct perf_options *options);

/* Names for people and files. */
const char *perf_memory_name(const struct perf_options *options);
const char *perf_buffers_name(const struct perf_options *options);

/* The size of the next row after `bytes`; above max_bytes if there is none. */
size_t perf_next_size(const struct perf_options *options, size_t bytes);

#endif
